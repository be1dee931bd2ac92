//! The results of the hiccup watch: how late a thread woke that only sleeps.
//!
//! Engine fills it; report draws the conclusions.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::pauses::LEAST_PAUSE_NS;

/// The number of worst moments to keep.
const MOST: usize = 10;

/// The lateness of sleeping threads, one for each core that is watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hiccups {
    /// Every lateness.
    pub late: Histogram,
    /// The worst ones of a millisecond or more, the latest first.
    pub worst: Vec<Hiccup>,
    /// How long it watched.
    pub wall_ns: u64,
    /// The CPU time of the watch, all threads together.
    pub cpu_ns: u64,
    /// How far the wall clock was moved against the monotonic clock.
    pub wall_clock_moved_ns: i64,
    /// How long the machine was suspended.
    pub suspended_ns: u64,
}

/// One late wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hiccup {
    /// When it woke, from the beginning of the run.
    pub at_ns: u64,
    /// How late that was.
    pub late_ns: u64,
    /// How much of that time the thread was runnable but waited for a core.
    pub waited_ns: u64,
    /// How much time the hypervisor took from this machine's cores in that time.
    pub stolen_ns: u64,
}

impl Hiccups {
    /// No hiccups yet.
    pub fn new() -> Self {
        Hiccups {
            late: Histogram::new(3),
            worst: Vec::with_capacity(MOST + 1),
            wall_ns: 0,
            cpu_ns: 0,
            wall_clock_moved_ns: 0,
            suspended_ns: 0,
        }
    }

    /// Whether a wake-up with this lateness is among the worst.
    pub fn is_among_worst(&self, late_ns: u64) -> bool {
        late_ns >= LEAST_PAUSE_NS
            && (self.worst.len() < MOST
                || self.worst.last().is_some_and(|one| one.late_ns < late_ns))
    }

    /// Adds another thread's. What both saw of the clocks is kept once.
    pub fn merge(&mut self, other: &Hiccups) {
        self.late.merge(&other.late);
        other.worst.iter().for_each(|one| self.keep(*one));
        self.wall_ns = self.wall_ns.max(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }

    /// Keeps a moment if it is among the worst.
    pub fn keep(&mut self, one: Hiccup) {
        if self.is_among_worst(one.late_ns) {
            let place = self.worst.partition_point(|other| other.late_ns >= one.late_ns);
            self.worst.insert(place, one);
            self.worst.truncate(MOST);
        }
    }
}

impl Default for Hiccups {
    fn default() -> Self {
        Hiccups::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_kept_in_order() {
        let mut hiccups = Hiccups::new();
        for i in 0..1000u64 {
            let late_ns = i * 7919 % 1000 * 10_000;
            hiccups.keep(Hiccup { at_ns: i, late_ns, waited_ns: 0, stolen_ns: 0 });
        }
        let kept: Vec<_> = hiccups.worst.iter().map(|one| one.late_ns).collect();
        let wanted: Vec<_> = (990..1000u64).rev().map(|i| i * 10_000).collect();
        assert_eq!(kept, wanted);
        assert!(!hiccups.is_among_worst(9_900_000) && hiccups.is_among_worst(9_999_999));
        assert!(!Hiccups::new().is_among_worst(999_999), "a millisecond is the least");
    }
}
