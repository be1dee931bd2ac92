//! The run itself: when it ends, how long it waits, its connections, what it records, its threads. None of it knows what
//! is sent or where.

mod connections;
mod goodput;
mod recording;
mod threads;

pub use connections::{Congestion, Connections, Frames, Quic, Windows};
pub use goodput::Goodput;
pub use recording::{By, KernelTimestamps, Recording, Trace};
pub use threads::{Pacing, ReactorChoice, Threads};
pub(crate) use threads::{SEVERAL_IN_A_READ, WAITS};

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, need};
use crate::units::{MAX_DURATION_NS, is_time};

/// When a run ends. At least one of duration and count is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// Length of the measured window, warm-up not included.
    pub duration_ns: Option<u64>,
    /// Number of measured requests, warm-up not included.
    pub count: Option<u64>,
    /// How long to wait, after the end, for requests in flight.
    pub drain_ns: u64,
    /// Without a duration: how long the run may go without any response before it is given up.
    pub give_up_ns: u64,
}

impl Stop {
    /// Whether there is an end, in time.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        need(is_time(self.give_up_ns), "stop.give_up_ns", ABOVE_ZERO)?;
        need(self.duration_ns.is_none_or(is_time), "stop.duration_ns", ABOVE_ZERO)?;
        let ends = self.count.or(self.duration_ns).is_some() && self.count != Some(0);
        need(ends, "stop", "has a duration, or a count above zero")?;
        need(self.drain_ns <= MAX_DURATION_NS, "stop.drain_ns", "is at most 366 days")
    }
}

/// How long to wait before giving up. All above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeouts {
    /// For a connection to be established.
    pub connect_ns: u64,
    /// From sending a request to the last byte of its response.
    pub request_ns: u64,
    /// For the next byte while a response is awaited; `None`: only the request timeout counts.
    pub idle_ns: Option<u64>,
}

impl Timeouts {
    /// Whether they are times.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        need(is_time(self.connect_ns), "timeouts.connect_ns", ABOVE_ZERO)?;
        need(is_time(self.request_ns), "timeouts.request_ns", ABOVE_ZERO)?;
        need(self.idle_ns.is_none_or(is_time), "timeouts.idle_ns", ABOVE_ZERO)
    }
}

const ABOVE_ZERO: &str = "is a time above zero, to 366 days";
