//! The times of requests with the expected response, as histograms.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, figures};
use crate::histogram::Histogram;

figures! {
    /// The histograms of requests with the expected response. `response = queue wait + send lag +
    /// blocked + service`, exactly, for every request.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Latencies {
        /// due → done.
        pub response: Histogram,
        /// due → ready: no connection was free.
        pub queue_wait: Histogram,
        /// ready → sent, without [blocked](Blocked) time: the loader was late.
        pub send_lag: Histogram,
        /// sent → done.
        pub service: Histogram,
        /// sent → first byte of the response.
        pub first_byte: Histogram,
    }
}

figures! {
    /// How long the transport held something back that was ready to leave, by cause.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Blocked {
        /// The congestion window was full, or the next packet was not due yet by its pacing.
        pub congestion_ns: u64,
        /// The peer's limits for data were reached (RFC 9000 4.1), or our own buffer for data that is not acknowledged.
        pub flow_control_ns: u64,
    }
}

impl Blocked {
    /// All of it.
    #[inline]
    pub fn total_ns(&self) -> u64 {
        self.congestion_ns.saturating_add(self.flow_control_ns)
    }

    /// No more in all than `most_ns`.
    pub fn at_most(self, most_ns: u64) -> Self {
        let flow_control_ns = self.flow_control_ns.min(most_ns);
        let congestion_ns = self.congestion_ns.min(most_ns - flow_control_ns);
        Blocked { congestion_ns, flow_control_ns }
    }
}

figures! {
    /// The requests with the expected response that were blocked before they were sent.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct BlockedCounts {
        /// For how long each of them was: those that were not blocked are not in it.
        pub time: Histogram,
        /// The sum of that by cause.
        pub by: Blocked,
    }
}

impl BlockedCounts {
    /// None so far.
    pub fn new(digits: u8) -> Self {
        Figure::new(digits)
    }

    /// Adds one.
    pub(crate) fn add(this: &mut Option<Box<Self>>, digits: u8, one: Blocked) {
        let all = this.get_or_insert_with(|| Figure::new(digits));
        all.time.record(one.total_ns());
        all.by.merge(&one);
    }
}
