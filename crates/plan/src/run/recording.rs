//! What a run records: histograms and intervals, traces of single requests, the kernel's time stamps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Goodput, ReactorChoice, Stop, Threads};
use crate::error::{PlanError, conflict, need, value};
use crate::units::{MAX_DURATION_NS, NS_PER_S, fmt_count, fmt_duration_ns};
use crate::values::{Count, SmallCount, Typed, ValueError, named, refuse};

/// The shortest interval: finer ones cost memory, and have too few requests to mean anything.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
/// The most intervals of a run, at 2 to 8 KiB each: enough for three and a half days at 1 s.
const MOST_INTERVALS: u64 = 300_000;

/// What a run records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    /// Significant decimal digits of the histograms, 1 to 5.
    pub digits: u8,
    /// Length of an interval, above zero.
    pub interval_ns: u64,
    /// Requests due (closed load: sent) before this are counted separately and not recorded.
    pub warm_up_ns: u64,
    /// Which single requests are traced, if any.
    pub trace: Option<Trace>,
    /// The kernel's own time stamps, if requested.
    pub kernel_timestamps: Option<KernelTimestamps>,
    /// Whether threads that never sleep record when the machine stalled them, which takes a system
    /// call in each turn of their loop.
    pub held_up: bool,
    /// By what requests are told apart in rows, beside the plan's own.
    #[serde(default)]
    pub by: Option<By>,
    /// The limits that a response is under to count as a good one, if good ones are counted.
    #[serde(default)]
    pub goodput: Option<Goodput>,
}

impl Recording {
    /// Whether its values fit each other, the time of the run, and its threads.
    pub(crate) fn check(&self, stop: &Stop, threads: &Threads) -> Result<(), PlanError> {
        need((1..=5).contains(&self.digits), "recording.digits", "is from 1 to 5")?;
        let trace = match self.trace {
            None | Some(Trace::All) => true,
            Some(Trace::OneIn(n)) => n > 0,
            Some(Trace::Count(n)) => (1..=Trace::MOST).contains(&n),
        };
        need(trace, "recording.trace", "is a share, or a count to 10,000,000")?;
        if let Some(stamps) = self.kernel_timestamps {
            need(stamps.one_in > 0, "recording.kernel_timestamps", "is a share")?;
            if threads.reactor == ReactorChoice::Uring {
                let why = "the stamps are read with epoll; leave one of them out";
                return Err(conflict("--kernel-timestamps", "--reactor uring", why));
            }
        }
        need(self.warm_up_ns <= MAX_DURATION_NS, "recording.warm_up_ns", "is at most 366 days")?;
        self.check_intervals(stop)
    }

    /// Each interval takes memory until the run ends, so their length and their number are limited.
    fn check_intervals(&self, stop: &Stop) -> Result<(), PlanError> {
        let interval_ns = self.interval_ns;
        let shown = fmt_duration_ns(interval_ns);
        let wrong = |problem| Err(value("--interval", problem));
        if interval_ns < SHORTEST_INTERVAL_NS {
            let shortest = fmt_duration_ns(SHORTEST_INTERVAL_NS);
            return wrong(format!(
                "{shown} is too short: each interval takes memory until the run ends; write at least {shortest}"
            ));
        }
        let Some(window_ns) = stop.duration_ns else { return Ok(()) };
        let run_ns = window_ns.saturating_add(self.warm_up_ns).saturating_add(stop.drain_ns);
        let count = run_ns.div_ceil(interval_ns);
        if count <= MOST_INTERVALS {
            return Ok(());
        }
        let least = fmt_duration_ns(run_ns.div_ceil(MOST_INTERVALS).next_multiple_of(NS_PER_S));
        wrong(format!(
            "{shown} makes {} intervals of a run of {}, and at most {} are kept; write at least {least}",
            fmt_count(count),
            fmt_duration_ns(run_ns),
            fmt_count(MOST_INTERVALS)
        ))
    }
}

/// By what requests are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Their target.
    #[value(help = "Their target")]
    Target,
    /// The address of their target that their connection goes to.
    #[value(help = "The address of their target that their connection goes to")]
    Address,
}

named!(By: "\"target\" or \"address\"");

/// Which requests are traced: a pure function of the seed and of a request's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    /// Every one.
    All,
    /// On average one request in this number, at least 1.
    OneIn(u64),
    /// A simple random sample of this size, from 1 to [`Trace::MOST`].
    Count(u64),
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trace::All => f.write_str("all"),
            Trace::OneIn(n) => write!(f, "1/{n}"),
            Trace::Count(count) => count.fmt(f),
        }
    }
}

impl Trace {
    /// The largest sample of a given size: it is kept in memory until the run ends.
    pub const MOST: u64 = 10_000_000;
}

impl FromStr for Trace {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.trim() == "all" {
            return Ok(Trace::All);
        }
        if let Some(n) = one_in(text) {
            let n: Count = n?;
            return Ok(Trace::OneIn(n.get()));
        }
        let Ok(count) = text.trim().parse::<Count>() else {
            return refuse("write all, a share such as 1/100, or a number such as 10k");
        };
        match count.get() {
            too_many if too_many > Trace::MOST => refuse(
                "a sample of a given size is kept in memory; write at most 10M, or a share such as 1/10",
            ),
            count => Ok(Trace::Count(count)),
        }
    }
}

impl Typed for Trace {
    const EXPECTING: &'static str =
        "\"all\", a share such as \"1/100\", or a count such as \"10k\"";
}

/// On which connections the kernel stamps what it sends and receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelTimestamps {
    /// One connection in this number, at least 1.
    pub one_in: u32,
}

impl FromStr for KernelTimestamps {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some(n) = one_in(text) else {
            return refuse("write a share of the connections, such as 1/10, or 1/1 for all");
        };
        let n: SmallCount = n?;
        Ok(KernelTimestamps { one_in: n.get() })
    }
}

impl Typed for KernelTimestamps {
    const EXPECTING: &'static str = "a share such as \"1/10\"";
}

/// The text after `1/`; `None` without that prefix.
fn one_in<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Option<Result<T, ValueError>> {
    let (one, n) = text.split_once('/')?;
    if one.trim() != "1" {
        return Some(refuse("a share is written as 1/N"));
    }
    Some(n.trim().parse().map_err(|error: T::Err| ValueError(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_counts() {
        assert_eq!("all".parse(), Ok(Trace::All));
        assert_eq!("1/100".parse(), Ok(Trace::OneIn(100)));
        assert_eq!(" 1 / 1k ".parse(), Ok(Trace::OneIn(1000)));
        assert_eq!("10k".parse(), Ok(Trace::Count(10_000)));
        assert_eq!("1/10".parse(), Ok(KernelTimestamps { one_in: 10 }));
        for bad in ["", "some", "2/3", "1/0", "1/", "0", "-1", "11M", "1/x"] {
            assert!(bad.parse::<Trace>().is_err(), "{bad}");
            assert!(bad.parse::<KernelTimestamps>().is_err(), "{bad}");
        }
    }
}
