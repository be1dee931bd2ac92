//! The noise floor: loader and network overhead when the server responds at once, at several
//! rates. Differences between two servers that are smaller than this cannot be seen here.

use serde::Serialize;

use super::Length;
use super::experiment::Experiment;
use super::values::quantile;
use crate::error::LabError;

/// The floor at one rate. Times are nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Floor {
    /// Requests asked for.
    pub rate_per_s: u64,
    /// Requests sent within the run, as a rate.
    pub achieved_per_s: f64,
    /// ready → sent: our own lateness.
    pub send_lag: Spread,
    /// sent → done: the network's round trip and the server's wake-up.
    pub round_trip: Spread,
}

/// The distribution of values.
#[derive(Debug, Clone, Serialize)]
pub struct Spread {
    /// The least.
    pub min_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
    /// The greatest.
    pub max_ns: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let at = |q| quantile(values, q);
        Spread { min_ns: at(0.0), p50_ns: at(0.5), p99_ns: at(0.99), max_ns: at(1.0) }
    }
}

/// Measures it.
pub(super) fn measure(length: Length) -> Result<Vec<Floor>, LabError> {
    let rates: &[u64] = length.pick(&[100, 1000, 5000, 10_000], &[100, 2000]);
    let run_ms = length.pick(2000, 500);
    let mut floors = Vec::new();
    for &rate_per_s in rates {
        let experiment = Experiment::new(
            "--truth delay --service-time 0",
            format!("-R {rate_per_s} -c 10 -t 1 -d {run_ms}ms"),
        );
        let evidence = experiment.make_as_typed(|_| ())?;
        let lag = evidence.sent().iter().map(|one| (one.sent_ns - one.ready_ns) as f64);
        floors.push(Floor {
            rate_per_s,
            achieved_per_s: evidence.record.answered_in_window as f64 * 1e9
                / evidence.record.window_ns as f64,
            send_lag: Spread::of(&lag.collect::<Vec<_>>()),
            round_trip: Spread::of(evidence.service_ns().values()),
        });
    }
    Ok(floors)
}
