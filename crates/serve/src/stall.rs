//! Times in which no response begins: planned ones, and one on demand.
//!
//! A response that is ready in a stall is held until the stall's end, and all held responses leave
//! together. A response that began before continues. The end is computed once, when the stall
//! begins, and does not move with the number of responses held.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::PlannedStall;

#[derive(Debug)]
pub(crate) struct Stall {
    start: Instant,
    planned: Vec<PlannedStall>,
    // End of the stall on demand, in nanoseconds from the start; 0: there was none.
    until_ns: AtomicU64,
}

impl Stall {
    pub(crate) fn new(planned: Vec<PlannedStall>) -> Self {
        Stall { start: Instant::now(), planned, until_ns: AtomicU64::new(0) }
    }

    /// Stalls from now on. Does not shorten a longer stall.
    pub(crate) fn begin(&self, lasts: Duration) {
        let until = self.start.elapsed() + lasts;
        self.until_ns.fetch_max(until.as_nanos().try_into().unwrap_or(u64::MAX), Relaxed);
    }

    /// Returns when there is no stall; at once, without reading the clock, if there never was one.
    pub(crate) async fn over(&self) {
        if self.planned.is_empty() && self.until_ns.load(Relaxed) == 0 {
            return;
        }
        while let Some(end) = self.end_at(self.start.elapsed()) {
            tokio::time::sleep_until((self.start + end).into()).await;
        }
    }

    /// The end of the stall at `now`; both count from the start.
    fn end_at(&self, now: Duration) -> Option<Duration> {
        let on_demand = Duration::from_nanos(self.until_ns.load(Relaxed));
        self.planned
            .iter()
            .filter(|stall| stall.at <= now)
            .map(|stall| stall.at + stall.lasts)
            .chain([on_demand])
            .filter(|&end| now < end)
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn a_planned_stall_holds_from_its_beginning_to_its_end() {
        let stall = Stall::new(vec![PlannedStall { at: secs(10), lasts: secs(2) }]);
        assert_eq!(stall.end_at(secs(9)), None);
        assert_eq!(stall.end_at(secs(10)), Some(secs(12)));
        assert_eq!(stall.end_at(secs(11)), Some(secs(12)));
        assert_eq!(stall.end_at(secs(12)), None);
    }

    #[test]
    fn the_longest_of_several_stalls_counts() {
        let stall = Stall::new(vec![PlannedStall { at: secs(0), lasts: secs(5) }]);
        stall.begin(secs(60));
        stall.begin(secs(1));
        let end = stall.end_at(secs(1)).unwrap();
        assert!(secs(60) <= end && end < secs(61), "{end:?}");
    }
}
