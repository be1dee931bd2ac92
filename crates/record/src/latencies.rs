//! The times of requests with the expected response, as histograms.

use serde::{Deserialize, Serialize};

use crate::figure::figures;
use crate::histogram::Histogram;

figures! {
    /// The histograms of requests with the expected response. `response = queue wait + send lag +
    /// service`, exactly, for every request.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Latencies {
        /// due → done.
        pub response: Histogram,
        /// due → ready: no connection was free.
        pub queue_wait: Histogram,
        /// ready → sent: the loader was late.
        pub send_lag: Histogram,
        /// sent → done.
        pub service: Histogram,
        /// sent → first byte of the response.
        pub first_byte: Histogram,
    }
}
