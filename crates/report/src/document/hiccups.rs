//! The results of the hiccup watch: how late a thread of the loader woke that only sleeps.

use candor_record::Hiccup;
use serde::{Deserialize, Serialize};

use super::latency::Distribution;

/// The lateness of a sleeping thread of the loader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hiccups {
    /// The lateness of all wake-ups.
    pub late: Distribution,
    /// The worst moments of a millisecond or more, the latest first, ten at most.
    pub worst: Vec<Hiccup>,
    /// The CPU share of the watch.
    pub cpu_share: Option<f64>,
    /// How far the wall clock was moved against the monotonic clock, on which all times are
    /// measured.
    pub wall_clock_moved_ns: i64,
    /// How long the machine was suspended.
    pub suspended_ns: u64,
}

/// Why a thread woke late, as far as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Something else had the cores.
    Waited,
    /// The hypervisor ran something else.
    Stolen,
    /// The process was stopped, or the machine was paused.
    Stopped,
}

impl Cause {
    /// The cause of at least half of a hiccup.
    pub fn of(hiccup: &Hiccup) -> Self {
        if hiccup.stolen_ns >= hiccup.late_ns / 2 {
            Cause::Stolen
        } else if hiccup.waited_ns >= hiccup.late_ns / 2 {
            Cause::Waited
        } else {
            Cause::Stopped
        }
    }
}

impl Hiccups {
    pub(super) fn of(seen: &candor_record::Hiccups) -> Self {
        Hiccups {
            late: Distribution::of(&seen.late),
            worst: seen.worst.clone(),
            cpu_share: (seen.wall_ns > 0).then(|| seen.cpu_ns as f64 / seen.wall_ns as f64),
            wall_clock_moved_ns: seen.wall_clock_moved_ns,
            suspended_ns: seen.suspended_ns,
        }
    }

    /// The longest hiccup.
    pub fn longest_ns(&self) -> u64 {
        self.late.max_ns.unwrap_or(0)
    }
}
