//! Checks that the realised arrivals match the asked process.
//!
//! The engine keeps a sample of the gaps between due times that it took from its schedule. Each gap
//! is measured in arrivals: the expected number between the two due times, for one worker of
//! several. Constant arrivals have gaps of exactly one, up to the rounding of due times to
//! nanoseconds; Poisson arrivals have exponential gaps of mean one, which Anderson and Darling's
//! test judges.

use candor_plan::{Arrivals, Load, Segment};
use candor_record::RunRecord;
use candor_stats::process;
use serde::{Deserialize, Serialize};

use super::asked::asked_between;

/// The realised gaps against the asked process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Realised {
    /// The asked process.
    pub arrivals: Arrivals,
    /// Gaps in the sample.
    pub gaps: u64,
    /// Constant arrivals: the largest deviation of a gap from its nominal value, in nanoseconds.
    pub largest_deviation_ns: Option<f64>,
    /// Poisson arrivals: Anderson and Darling's A² against the exponential distribution.
    pub anderson_darling: Option<f64>,
    /// Poisson arrivals: the probability that a correct process has a larger one.
    pub p: Option<f64>,
}

/// Fewer gaps are not judged.
const FEWEST: usize = 20;
/// Gaps shorter than this are too coarse, in whole nanoseconds, to be judged as a distribution.
const SHORTEST_MEAN_NS: f64 = 50.0;

impl Realised {
    /// The realised gaps of a run with this load.
    pub(super) fn of(load: &Load, record: &RunRecord) -> Option<Self> {
        let Load::Open(open) = load else { return None };
        let smooth = |one: &Segment| matches!(one, Segment::Hold { .. } | Segment::Ramp { .. });
        let count: usize = record.workers.iter().map(|worker| worker.gaps.len()).sum();
        if !open.segments.iter().all(smooth) || count < FEWEST {
            return None;
        }
        // The schedule is divided among all workers, so each has a share of the arrivals.
        let workers = f64::from(record.of.of);
        let pairs = || record.workers.iter().flat_map(|worker| worker.gaps.iter().copied());
        let arrivals =
            |from_ns, to_ns| asked_between(load, from_ns, to_ns).unwrap_or(0.0) / workers;
        let (largest_deviation_ns, anderson_darling) = match open.arrivals {
            Arrivals::Constant => {
                let deviations = pairs().filter_map(|(due_ns, next_ns)| {
                    let found = arrivals(due_ns, next_ns);
                    // The length of a gap of one arrival at this place.
                    (found > 0.0).then(|| (next_ns - due_ns) as f64 * (1.0 - 1.0 / found).abs())
                });
                (deviations.max_by(f64::total_cmp), None)
            }
            Arrivals::Poisson => {
                let span_ns: u64 = pairs().map(|(due_ns, next_ns)| next_ns - due_ns).sum();
                if (span_ns as f64) < SHORTEST_MEAN_NS * count as f64 {
                    return None;
                }
                // Due times are whole nanoseconds: half of one keeps a gap of zero from being
                // infinitely rare.
                let half = |due_ns: u64| arrivals(due_ns, due_ns.saturating_add(1)) / 2.0;
                let sample: Vec<f64> =
                    pairs().map(|(due_ns, next)| arrivals(due_ns, next) + half(due_ns)).collect();
                (None, process::exponential(&sample))
            }
        };
        Some(Realised {
            arrivals: open.arrivals,
            gaps: count as u64,
            largest_deviation_ns,
            anderson_darling,
            p: anderson_darling.map(process::anderson_darling_p),
        })
    }
}
