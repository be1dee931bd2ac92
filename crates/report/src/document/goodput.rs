//! Goodput: the responses under the plan's limits.

use candor_plan::Parts;
use candor_record::RunRecord;
use serde::{Deserialize, Serialize};

use super::counts::LedgerCounts;

/// The good responses of measured requests: as expected, and under every limit of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Goodput {
    /// How many there are.
    pub good: u64,
    /// Their share of the requests that were due, in [0, 1]; null if none was.
    pub share: Option<f64>,
    /// How many, by the time from the beginning of the window to the end of the run.
    pub per_s: Option<f64>,
}

impl Goodput {
    /// `None`: the plan has no limits.
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        plan.recording.goodput?;
        let good = record.total.good;
        let due = LedgerCounts::of(&record.total.ledger).accounted();
        let time_ns = record.elapsed_ns.saturating_sub(record.warm_up_ns);
        Some(Goodput {
            good,
            share: (due > 0).then(|| good as f64 / due as f64),
            per_s: (time_ns > 0).then(|| good as f64 * 1e9 / time_ns as f64),
        })
    }
}
