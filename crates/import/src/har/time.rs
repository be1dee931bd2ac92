//! The order of a recording, and think times: from the end of what was loaded to the next request of the user.

use std::collections::BTreeMap;

/// A shorter gap is the browser's, not the user's.
const LEAST_MS: f64 = 500.0;
/// A longer gap is a break.
const MOST_MS: f64 = 120_000.0;
/// A response that took longer was waited for by the page, not by the user: a poll, an event stream.
const LONG_POLL_MS: f64 = 20_000.0;

/// Follows the recording in the order of its entries.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// When everything so far had ended, in ms.
    ended_ms: Option<f64>,
    /// The same, at the step before.
    is_begun: bool,
}

impl Clock {
    /// The think time before a request that is a step.
    pub(super) fn think(&mut self, started: &str) -> Option<String> {
        let was_begun = std::mem::replace(&mut self.is_begun, true);
        let gap_ms = epoch_ms(started)? - self.ended_ms?;
        if !was_begun || gap_ms < LEAST_MS {
            return None;
        }
        Some(rounded(gap_ms.min(MOST_MS)))
    }

    /// An entry of any kind, after [`Clock::think`] if it is a step.
    pub(super) fn pass(&mut self, started: &str, took_ms: f64) {
        let Some(started_ms) = epoch_ms(started) else { return };
        let took_ms = if (0.0..LONG_POLL_MS).contains(&took_ms) { took_ms } else { 0.0 };
        let ended_ms = started_ms + took_ms;
        self.ended_ms = Some(self.ended_ms.map_or(ended_ms, |known| known.max(ended_ms)));
    }
}

/// Puts entries in the order in which they began (HAR 1.2: "reader applications should always make sure the array is
/// sorted"). Entries without a time stay behind the one before them.
#[derive(Debug)]
pub(super) struct Order<T> {
    times_ms: Vec<f64>,
    is_sorted: bool,
    /// The place of each entry, as soon as the first one is taken; none if the file has them in order.
    places: Vec<u32>,
    taken: usize,
    given: u32,
    waiting: BTreeMap<u32, T>,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Order {
            times_ms: Vec::new(),
            is_sorted: true,
            places: Vec::new(),
            taken: 0,
            given: 0,
            waiting: BTreeMap::new(),
        }
    }
}

impl<T> Order<T> {
    /// The first pass: all times, in the order of the file.
    pub(super) fn learn(&mut self, started: &str) {
        let last_ms = self.times_ms.last().copied();
        let time_ms = epoch_ms(started).or(last_ms).unwrap_or(0.0);
        self.is_sorted &= last_ms.is_none_or(|last_ms| last_ms <= time_ms);
        self.times_ms.push(time_ms);
    }

    /// The second pass: the same entries. Gives those whose turn it is.
    pub(super) fn take(&mut self, entry: T, give: &mut dyn FnMut(T)) {
        if self.is_sorted {
            return give(entry);
        }
        if self.places.is_empty() {
            let mut order: Vec<u32> = (0..self.times_ms.len() as u32).collect();
            order.sort_by(|a, b| self.times_ms[*a as usize].total_cmp(&self.times_ms[*b as usize]));
            self.places = vec![0; order.len()];
            for (place, entry) in order.into_iter().enumerate() {
                self.places[entry as usize] = place as u32;
            }
        }
        self.waiting.insert(self.places[self.taken], entry);
        self.taken += 1;
        while let Some(entry) = self.waiting.remove(&self.given) {
            self.given += 1;
            give(entry);
        }
    }
}

/// To half a second below 10 s, to a second above.
fn rounded(gap_ms: f64) -> String {
    let halves = (gap_ms / 500.0).round() as u64;
    match halves {
        20.. => format!("{}s", (gap_ms / 1000.0).round() as u64),
        _ if halves.is_multiple_of(2) => format!("{}s", halves / 2),
        _ => format!("{}.5s", halves / 2),
    }
}

/// `2024-05-01T10:00:00.123Z` or with an offset, in ms since 1970. RFC 3339 section 5.6.
fn epoch_ms(text: &str) -> Option<f64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let mut parts = time.splitn(3, ':');
    let hour: i64 = parts.next()?.parse().ok()?;
    let minute: i64 = parts.next()?.parse().ok()?;
    let second: f64 = parts.next().unwrap_or("0").parse().ok()?;
    let offset = match zone.split_at_checked(1) {
        Some((sign @ ("+" | "-"), rest)) => {
            let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
            let minutes =
                hours.parse::<i64>().ok()?.checked_mul(60)? + minutes.parse::<i64>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
        _ => 0,
    };
    let is_date =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..61.0).contains(&second);
    if !is_date || !is_time || !(-1440..=1440).contains(&offset) {
        return None;
    }
    let minutes = (crate::access_log::days(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some(minutes as f64 * 60_000.0 + second * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_recordings() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2024-02-29T12:30:45.500Z", Some(1_709_209_845_500.0)),
            ("2024-02-29T14:30:45.500+02:00", Some(1_709_209_845_500.0)),
            ("2024-02-29T09:00:45.5-0330", None),
            ("2024-02-29T09:00:45.5-03:30", Some(1_709_209_845_500.0)),
            ("", None),
            ("2024-13-01T00:00:00Z", None),
            ("é2024-13-01T00:00:00Z", None),
            ("2024-01-01", None),
        ];
        for (text, expected) in table {
            assert_eq!(epoch_ms(text), expected, "{text}");
        }
    }

    #[test]
    fn entries_are_given_in_the_order_of_their_times() {
        let at = |second: u32| format!("2024-01-01T00:00:{second:02}Z");
        for (times, expected) in [
            (vec![at(1), at(2), at(2), at(3)], [0, 1, 2, 3]),
            (vec![at(5), at(1), at(3), at(1)], [1, 3, 2, 0]),
            (vec![at(5), String::new(), at(3), at(9)], [2, 0, 1, 3]),
        ] {
            let mut order = Order::default();
            times.iter().for_each(|time| order.learn(time));
            let mut given = Vec::new();
            (0..times.len()).for_each(|entry| order.take(entry, &mut |entry| given.push(entry)));
            assert_eq!(given, expected);
        }
    }

    #[test]
    fn a_gap_is_a_think_time_if_it_is_a_persons() {
        let at = |ms: u32| {
            format!("2024-01-01T00:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1000 % 60, ms % 1000)
        };
        let mut clock = Clock::default();
        let mut step = |start: u32, took: f64| {
            let think = clock.think(&at(start));
            clock.pass(&at(start), took);
            think
        };
        assert_eq!(step(0, 200.0), None);
        // 100 ms after the end of the first; and while another is loaded.
        assert_eq!(step(300, 1000.0), None);
        assert_eq!(step(700, 100.0), None);
        // The end of the slowest counts: 1300.
        assert_eq!(step(3300, 100.0), Some("2s".to_owned()));
        assert_eq!(step(4700, 100.0), Some("1.5s".to_owned()));
        // An event stream does not end before the user goes on.
        assert_eq!(step(4900, 60_000.0), None);
        assert_eq!(step(19_300, 100.0), Some("14s".to_owned()));
        assert_eq!(step(1_000_000, 1.0), Some("120s".to_owned()));
    }
}
