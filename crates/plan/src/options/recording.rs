//! The recording of a run: histograms, intervals, traces, time stamps.

use super::group::group;
use crate::run::{By, Goodput, KernelTimestamps, Trace};
use crate::values::{Digits, PositiveNanos, typed};

group! {
    "Recording",
    /// The recording of a run: histograms, intervals, traces, time stamps.
    pub struct RecordingOptions {
        /// Significant digits of the histograms, 1 to 5 [default: 3]
        #[arg(long, value_name = "N")]
        pub digits: Option<Digits>,

        /// Length of an interval of the time series [default: 1s]
        ///
        /// At least 10ms, and short enough for at most 300,000 intervals in a run: each takes 2 KiB of the
        /// loader's memory, up to 8 KiB where response times spread widely. Use e.g. 10s for a run of hours.
        #[arg(long, value_name = "TIME")]
        pub interval: Option<PositiveNanos>,

        /// Give each target, or each address, a row of the report
        ///
        /// Each row has connections, requests, errors and response times. A plan with several targets has rows for
        /// them anyway; with this the short report shows them instead of steps.
        #[arg(long, value_name = "WHAT")]
        #[serde(deserialize_with = "typed")]
        pub by: Option<By>,

        /// Count the responses that are under all of these limits, e.g. ttft<300ms,tpot<50ms,response<2s
        ///
        /// Limits are of response, first-event, gap, ttft, itl and tpot. Of gap and itl each is below the limit. A
        /// request that has no such figure is not held to it. Failed requests are not good. Use goodput in --expect
        /// and --objective.
        #[arg(long, value_name = "LIMITS")]
        #[serde(deserialize_with = "typed")]
        pub goodput: Option<Goodput>,

        /// Which requests --trace keeps: all, a share (1/100), or a number (10k) [default: all]
        ///
        /// The choice depends only on the seed and a request's place in the schedule, never on its
        /// outcome.
        #[arg(long, value_name = "WHICH")]
        #[serde(deserialize_with = "typed")]
        pub trace_sample: Option<Trace>,

        /// Take the kernel's time stamps of sends and receives on one connection in N [N: 10]
        ///
        /// Splits service time into the time inside the loader's machine and the time outside.
        /// Linux and TCP only, with epoll.
        #[arg(
            long,
            value_name = "1/N",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "1/10"
        )]
        #[serde(deserialize_with = "typed")]
        pub kernel_timestamps: Option<KernelTimestamps>,
    }
}
