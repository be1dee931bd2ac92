//! The trace: single requests with all their times, in addition to the sums of every run.
//!
//! A worker's [`Tracer`] takes one [`Traced`] for every outcome that the books enter, keeps those
//! that the [`Rule`] chooses, and hands them over in full blocks, whose memory it gets back. It
//! never waits: without an empty block, a request is counted as dropped. Its memory is a fixed
//! number of blocks. This module does no I/O and does not know the writer of the blocks.

pub mod format;
mod rule;
mod sample;
mod tracer;

pub use rule::Rule;
pub use sample::LowestRanks;
pub use tracer::{TraceSettings, Tracer};

use serde::{Deserialize, Serialize};

use crate::errors::ErrorKind;
use crate::figure::figures;
use crate::recorder::Phase;

/// One request from its due time to its outcome. Times are nanoseconds since the run's origin.
///
/// The times depend on the outcome. A request that was shed or left unsent has a due time and, as
/// `done_ns`, the time at which it was given up; the other three are 0. If a request failed before
/// its response began, `first_byte_ns` is 0. If its connection broke before the kernel took the
/// first byte, `sent_ns` equals `done_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traced {
    /// The number of the request, unique in the run: its place in the schedule, or in a closed load
    /// the count of requests before it.
    pub index: u64,
    /// When the schedule says that it should leave. Closed load: equal to `ready_ns`.
    pub due_ns: u64,
    /// First moment that it could leave.
    pub ready_ns: u64,
    /// When its first byte was handed to the kernel.
    pub sent_ns: u64,
    /// When the first byte of its response was read.
    pub first_byte_ns: u64,
    /// When the last byte of its response was read, or when it failed.
    pub done_ns: u64,
    /// Which request of the plan. 0 if it was shed or left unsent.
    pub request: u32,
    /// The number of its connection; a connection that replaces a lost one has the same. 0 if the
    /// request was shed or left unsent.
    pub connection: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Status of a complete response, or 0.
    pub status: u16,
    /// Whether it counts.
    pub phase: Phase,
}

impl Traced {
    /// Whether it was sent, so that it has a `ready_ns` and a `sent_ns`.
    pub fn was_sent(&self) -> bool {
        !matches!(self.outcome, Outcome::Shed | Outcome::Unsent)
    }
}

/// How a scheduled request can end: each ends as exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Got the expected response.
    Ok,
    /// Failed after being sent.
    Failed(ErrorKind),
    /// Dropped unsent because it was too old.
    Shed,
    /// Still in the backlog at the end.
    Unsent,
    /// Sent, but without a complete response when the drain ended.
    Unfinished,
    /// Sent in part and broken off by us as intended, without a response before the break.
    BrokenOff,
}

impl Outcome {
    /// Every outcome, in the order of reports.
    pub fn all() -> impl Iterator<Item = Outcome> {
        let failed = ErrorKind::ALL.into_iter().map(Outcome::Failed);
        let others = [Outcome::Shed, Outcome::Unsent, Outcome::Unfinished, Outcome::BrokenOff];
        [Outcome::Ok].into_iter().chain(failed).chain(others)
    }

    /// The stable id in traces; an error's is that of its kind.
    pub fn id(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed(kind) => kind.id(),
            Outcome::Shed => "shed",
            Outcome::Unsent => "unsent",
            Outcome::Unfinished => "unfinished",
            Outcome::BrokenOff => "broken-off",
        }
    }
}

figures! {
    /// The number of requests traced and not traced. All zero without a trace; otherwise they add up to
    /// the scheduled requests of the whole run, warm-up included.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct TraceCounts {
        /// In the trace.
        pub traced: u64,
        /// Not in it: left out by the rule, or dropped.
        pub not_traced: u64,
        /// Of those, how many the rule chose but no block had room for.
        pub dropped: u64,
    }
}
