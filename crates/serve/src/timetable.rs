//! When the parts of a response leave: computed from its beginning, so that a late part does not delay
//! the ones that follow. Pure.

use std::time::Duration;

use crate::PlannedStall;
use crate::options::parse_stall;
use crate::units::parse_duration;

/// The times of parts, from the beginning of their response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Timetable {
    /// When part 0 leaves.
    pub(crate) first: Duration,
    /// From one part to the next.
    pub(crate) every: Duration,
    /// A time in which no part leaves.
    pub(crate) stall: Option<PlannedStall>,
}

impl Timetable {
    /// `due(k) = first + k · every`; a part that is due in the stall, `at <= due(k) < at + lasts`,
    /// leaves at its end.
    pub(crate) fn due(&self, index: u64) -> Duration {
        let every_ns = self.every.as_nanos() as u64;
        let due = self.first.saturating_add(Duration::from_nanos(every_ns.saturating_mul(index)));
        match self.stall {
            Some(PlannedStall { at, lasts }) if at <= due && due < at + lasts => at + lasts,
            _ => due,
        }
    }

    /// Takes a parameter of a query; false if it is not one of these.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "first" => self.first = parse_duration(value)?,
            "every" => self.every = parse_duration(value)?,
            "stall" => {
                let stall = parse_stall(value).map_err(|error| format!("`stall={value}`: {error}"));
                self.stall = Some(stall?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Hands each parameter of `query` to `take`, which tells whether it knows its name.
///
/// # Errors
///
/// The first parameter that is not understood.
pub(crate) fn each_parameter(
    query: &str,
    mut take: impl FnMut(&str, &str) -> Result<bool, String>,
) -> Result<(), String> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !take(name, value)? {
            return Err(format!("`{name}` is not a parameter of this path"));
        }
    }
    Ok(())
}

/// A number of `what` from 1 to `most`.
pub(crate) fn parse_count(text: &str, what: &str, most: u64) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("`{text}`: {what} must be a number from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn parts_are_computed_from_the_beginning() {
        let times = Timetable { first: MS(5), every: MS(10), stall: None };
        assert_eq!([0, 1, 2, 1000].map(|k| times.due(k)), [MS(5), MS(15), MS(25), MS(10_005)]);
        // No overflow, however far away.
        assert!(times.due(u64::MAX) >= times.due(u64::MAX - 1));
    }

    #[test]
    fn parts_due_in_a_stall_leave_at_its_end() {
        let mut times = Timetable::default();
        for (name, value) in [("first", "0"), ("every", "10ms"), ("stall", "25ms@10ms")] {
            assert_eq!(times.take(name, value), Ok(true));
        }
        let due = [0, 1, 2, 3, 4].map(|k| times.due(k));
        assert_eq!(due, [MS(0), MS(35), MS(35), MS(35), MS(40)]);
        assert_eq!(times.take("last", "1ms"), Ok(false));
        assert!(times.take("stall", "25ms").is_err_and(|error| error.contains("stall=25ms")));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let mut times = Timetable::default();
        let mut read = |query| each_parameter(query, |name, value| times.take(name, value));
        assert_eq!(read("first=1ms&&every=2ms"), Ok(()));
        assert!(read("speed=9").is_err_and(|error| error.contains("`speed`")));
        assert!(read("first").is_err());
        assert_eq!(parse_count("5", "COUNT", 5), Ok(5));
        for wrong in ["0", "6", "", "-1", "1e1"] {
            assert!(parse_count(wrong, "COUNT", 5).is_err_and(|error| error.contains("1 to 5")));
        }
    }
}
