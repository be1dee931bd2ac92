//! The paths of connections over QUIC.

use candor_record::PathCounts;
use serde::{Deserialize, Serialize};

use super::latency::Distribution;

/// The paths of connections over QUIC that ended, warm-up and drain included: each as it was at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paths {
    /// Smoothed round-trip times.
    pub rtt: Distribution,
    /// The shortest round-trip time of each.
    pub least_rtt: Distribution,
    /// Their counts.
    #[serde(flatten)]
    pub counts: PathCounts,
}

impl Paths {
    pub(crate) fn of(paths: &candor_record::Paths) -> Self {
        Paths {
            rtt: Distribution::of(&paths.rtt),
            least_rtt: Distribution::of(&paths.least_rtt),
            counts: paths.counts,
        }
    }
}
