//! Load: when a plan's requests leave. In a closed load after the response before them, in an open one by a schedule of
//! segments.
//!
//! This module draws no due times (that is pace's), and knows nothing of what is sent.

mod grammar;
mod replay;

pub use grammar::{LoadError, MAX_STEPS, Part, Shape};
pub use replay::parse_offsets;

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, Refusal, conflict, need};
use crate::kept::Kept;
#[cfg(doc)]
use crate::run::Recording;
use crate::run::WAITS;
use crate::units::{NS_PER_S, Rate, is_time};
use crate::values::named;

/// The longest time between bursts, and the longest time of a rate.
const NEVER_NS: u64 = 1_000_000_000 * NS_PER_S;

/// How requests are timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// The next request leaves when the last one ended and the think time is over.
    Closed {
        /// Pause between a response and the next request on that connection.
        think_time_ns: u64,
    },
    /// A schedule decides.
    Open(OpenLoad),
}

impl Load {
    /// Whether a schedule decides.
    pub fn is_open(&self) -> bool {
        matches!(self, Load::Open(_))
    }

    /// Whether its values fit each other.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match self {
            Load::Closed { .. } => Ok(()),
            Load::Open(open) => open.check(),
        }
    }

    /// Why a thread cannot sleep through responses, if so.
    pub(crate) fn unstamped(&self) -> Option<Refusal> {
        match self {
            Load::Closed { .. } => Some(("a closed load", WAITS)),
            Load::Open(OpenLoad { shed_after_ns: Some(_), .. }) => Some((
                "--shed-after",
                "what is shed depends on when a response was read; leave one of them out",
            )),
            Load::Open(_) => None,
        }
    }

    /// Leaves out what a result has only as a number.
    pub(crate) fn redact(&mut self) {
        let Load::Open(open) = self else { return };
        for segment in &mut open.segments {
            if let Segment::Replay { offsets_ns, .. } = segment {
                *offsets_ns = offsets_ns.redacted();
            }
        }
    }

    /// Whether something was left out of it.
    pub(crate) fn is_left_out(&self) -> bool {
        let is_missing = |one: &Segment| matches!(one, Segment::Replay { offsets_ns, .. } if offsets_ns.is_left_out());
        self.segments().iter().any(is_missing)
    }

    /// The schedule's segments; none in a closed load.
    pub fn segments(&self) -> &[Segment] {
        match self {
            Load::Open(open) => &open.segments,
            Load::Closed { .. } => &[],
        }
    }
}

/// A schedule: segments one after the other, and the process that draws arrivals from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoad {
    /// At least one. Only the last may have no end. A warm-up is the first segment
    /// ([`Recording::warm_up_ns`] long), which the plan adds: a hold at the initial rate of the
    /// load, or its burst.
    pub segments: Vec<Segment>,
    /// How arrivals are drawn within a segment.
    pub arrivals: Arrivals,
    /// Requests older than this are dropped unsent, and counted. Zero: no queue, so a request
    /// that finds no free connection when it is due is dropped.
    pub shed_after_ns: Option<u64>,
}

impl OpenLoad {
    fn check(&self) -> Result<(), PlanError> {
        need(!self.segments.is_empty(), "load.segments", "has at least one segment")?;
        for (index, one) in self.segments.iter().enumerate() {
            one.check()?;
            let is_last = index + 1 == self.segments.len();
            need(
                is_last || one.duration_ns().is_some(),
                "load.segments",
                "ends, but for the last",
            )?;
        }
        let has_rate = |one: &Segment| matches!(one, Segment::Hold { .. } | Segment::Ramp { .. });
        if self.arrivals == Arrivals::Poisson && !self.segments.iter().all(has_rate) {
            return Err(conflict(
                "--arrivals poisson",
                "burst or replay",
                "their due times are fixed; leave --arrivals out",
            ));
        }
        Ok(())
    }

    /// Length of all segments together; `None` if the last has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        self.segments
            .iter()
            .map(Segment::duration_ns)
            .try_fold(0u64, |sum, one| one.map(|one| sum.saturating_add(one)))
    }
}

/// How arrivals are drawn from a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// A Poisson process with the segment's rate; not for bursts and replays.
    #[value(help = "Random gaps, as of independent users")]
    Poisson,
}

named!(Arrivals: "\"constant\" or \"poisson\"");

/// One part of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// A constant rate. `step` in the load grammar becomes a sequence of these.
    Hold {
        /// The rate, above zero.
        rate: Rate,
        /// How long; `None`: as long as the run.
        duration_ns: Option<u64>,
    },
    /// A rate that changes linearly.
    Ramp {
        /// Rate at the beginning; may be zero.
        from: Rate,
        /// Rate at the end; may be zero, but not both.
        to: Rate,
        /// How long, above zero.
        duration_ns: u64,
    },
    /// `size` requests at once, repeatedly.
    Burst {
        /// Requests in a burst, at least 1.
        size: u64,
        /// From one burst to the next, above zero.
        every_ns: u64,
        /// How long; `None`: as long as the run.
        duration_ns: Option<u64>,
    },
    /// Due offsets from a file.
    Replay {
        /// Offsets from the segment's beginning, in ascending order, at least one.
        offsets_ns: Kept<u64>,
        /// How long: to the last offset, plus one nanosecond so that this offset is within.
        duration_ns: u64,
    },
}

impl Segment {
    fn check(&self) -> Result<(), PlanError> {
        let is_rate =
            |rate: &Rate| (1..=NEVER_NS).contains(&rate.per_ns) && rate.events <= rate.per_ns;
        let has_time = self.duration_ns().is_none_or(is_time);
        need(has_time, "a segment's duration_ns", "is a time above zero")?;
        match self {
            Segment::Hold { rate, .. } => {
                need(is_rate(rate) && rate.events > 0, "a hold's rate", "is above zero, to 10⁹/s")
            }
            Segment::Ramp { from, to, .. } => {
                let fits = is_rate(from) && is_rate(to) && from.events.max(to.events) > 0;
                need(fits, "a ramp's rates", "are not both zero, to 10⁹/s")
            }
            Segment::Burst { size, every_ns, .. } => {
                let fits = *size > 0 && (1..=NEVER_NS).contains(every_ns);
                need(fits, "a burst", "has requests and a time between")
            }
            Segment::Replay { offsets_ns, duration_ns } => {
                let offsets_ns = offsets_ns.whole();
                let ends =
                    offsets_ns.last().is_some_and(|last| last.checked_add(1) == Some(*duration_ns));
                need(offsets_ns.is_sorted() && ends, "a replay's offsets_ns", "rise to its end")
            }
        }
    }

    /// Due offsets in ascending order, as a segment.
    pub fn replay(offsets_ns: impl Into<Kept<u64>>) -> Self {
        let offsets_ns = offsets_ns.into();
        let duration_ns = offsets_ns.whole().last().map_or(0, |last| last.saturating_add(1));
        Segment::Replay { offsets_ns, duration_ns }
    }

    /// How long the segment lasts; `None`: without end.
    pub fn duration_ns(&self) -> Option<u64> {
        match self {
            Segment::Hold { duration_ns, .. } | Segment::Burst { duration_ns, .. } => *duration_ns,
            Segment::Ramp { duration_ns, .. } | Segment::Replay { duration_ns, .. } => {
                Some(*duration_ns)
            }
        }
    }
}
