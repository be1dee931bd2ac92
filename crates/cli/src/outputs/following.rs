//! The record of a run so far, for findings before its end.

use candor_engine::collecting;
use candor_plan::Plan;
use candor_record::{Collector, RunRecord, Stretch};

/// The time between two records.
const EVERY_NS: u64 = 1_000_000_000;
/// With many intervals, records are rarer: for each interval, the time between them grows by this.
const EVERY_NS_EACH: u64 = 1_000_000;

/// Follows a run.
pub(super) struct Following {
    window_end_ns: u64,
    so_far: Collector,
    intervals: u64,
    looked_ns: u64,
}

impl Following {
    pub(super) fn new(plan: &Plan) -> Self {
        Following {
            window_end_ns: match plan.stop.duration_ns {
                Some(length_ns) => plan.recording.warm_up_ns.saturating_add(length_ns),
                None => u64::MAX,
            },
            so_far: Collector::new(collecting(plan)),
            intervals: 0,
            looked_ns: 0,
        }
    }

    /// An interval is over. Returns the record so far, if one is due.
    pub(super) fn follow(&mut self, stretch: &Stretch<'_>) -> Option<RunRecord> {
        let end_ns = stretch.summary.end_ns;
        self.so_far.follow(stretch, self.window_end_ns);
        self.intervals += 1;
        let every_ns = EVERY_NS.max(self.intervals * EVERY_NS_EACH);
        if end_ns < self.looked_ns.saturating_add(every_ns) {
            return None;
        }
        self.looked_ns = end_ns;
        Some(self.so_far.so_far())
    }
}
