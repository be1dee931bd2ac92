//! A part of a run, for runs on several machines: which threads this process runs, and when it
//! begins.

use std::time::{SystemTime, UNIX_EPOCH};

use candor_engine::Part;
use candor_plan::Plan;
use candor_record::Workers;
use clap::Args;

use crate::exit::UserError;

/// The part of a run that this process makes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Part of a run")]
pub(crate) struct PartFlags {
    /// Run only the first, second, … of N equal parts of the run's threads
    ///
    /// Needs --threads, the number of threads of all parts together. All parts need the same options
    /// and the same seed; `candor report --merge` merges their results.
    #[arg(long, value_name = "I/N", value_parser = parse)]
    part: Option<(u32, u32)>,

    /// Begin at this time, in seconds since 1970, so that all parts begin together
    #[arg(long, value_name = "TIME", requires = "part")]
    begin_at: Option<f64>,
}

impl PartFlags {
    /// The part of a run of `plan`; `None`: the whole run.
    pub(crate) fn of(&self, plan: &Plan) -> Result<Option<Part>, UserError> {
        let Some((which, parts)) = self.part else { return Ok(None) };
        let Some(of) = plan.threads.count else {
            return Err(UserError::usage(
                "--part: the parts must agree on the threads of the whole run; write --threads",
            ));
        };
        if of % parts != 0 {
            return Err(UserError::usage(format!(
                "--part: {of} threads do not make {parts} equal parts; write --threads as a multiple of {parts}"
            )));
        }
        let count = of / parts;
        let workers = Workers { first: (which - 1) * count, count, of };
        Ok(Some(Part { workers, begins_at_ns: self.begin_at.map_or(Ok(0), begins_at_ns)? }))
    }
}

impl PartFlags {
    /// When the run begins, in milliseconds since 1970; `None`: at once.
    pub(crate) fn begins_unix_ms(&self) -> Option<u64> {
        self.begin_at.map(|unix_s| (unix_s * 1e3) as u64)
    }
}

fn parse(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let parsed = text.split_once('/').and_then(|(which, of)| Some((number(which)?, number(of)?)));
    parsed
        .filter(|(which, of)| which <= of)
        .ok_or_else(|| "not a part; use e.g. 1/2, the first of two".to_owned())
}

/// Converts a time of the wall clock to the monotonic one.
fn begins_at_ns(unix_s: f64) -> Result<u64, UserError> {
    const LONGEST_S: f64 = 86_400.0;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let in_s = unix_s - now.as_secs_f64();
    if !(0.0..=LONGEST_S).contains(&in_s) {
        return Err(UserError::usage(format!(
            "--begin-at {unix_s}: that is {} now and must be within a day from now; use e.g. \
             $(($(date +%s) + 10))",
            if in_s < 0.0 { "before" } else { "long after" }
        )));
    }
    Ok(candor_engine::monotonic_ns().saturating_add((in_s * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(parse("1/2"), Ok((1, 2)));
        assert_eq!(parse("4/4"), Ok((4, 4)));
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_to_begin_is_soon() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let monotonic_ns = candor_engine::monotonic_ns();
        let begins_ns = begins_at_ns(now + 5.0).unwrap_or(0);
        assert!((4_900_000_000..=5_100_000_000).contains(&(begins_ns - monotonic_ns)));
        assert!(begins_at_ns(now - 5.0).is_err() && begins_at_ns(now + 1e6).is_err());
        assert!(begins_at_ns(f64::NAN).is_err());
    }
}
