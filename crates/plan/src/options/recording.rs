//! What is kept of a run.

use super::group::group;
use crate::model::{KernelTimestamps, Trace};
use crate::values::{Digits, PositiveNanos, typed};

group! {
    "Recording",
    /// What is kept of a run.
    pub struct RecordingOptions {
        /// Significant digits of the histograms, 1 to 5 [default: 3]
        #[arg(long, value_name = "N")]
        pub digits: Option<Digits>,

        /// Length of the intervals of which a series is kept [default: 1s]
        ///
        /// At least 10ms, and at most 300,000 in a run: each takes about 2 KiB of the loader's memory. For
        /// a run of hours, 10s will do.
        #[arg(long, value_name = "TIME")]
        pub interval: Option<PositiveNanos>,

        /// Which requests --trace keeps: all, a share such as 1/100, or a number such as 10k
        /// [default: all]
        ///
        /// The choice depends on the seed and a request's place in the schedule, and on nothing that
        /// happens to it.
        #[arg(long, value_name = "WHICH")]
        #[serde(deserialize_with = "typed")]
        pub trace_sample: Option<Trace>,

        /// Let the kernel stamp what leaves and what arrives, on one connection in N [N: 10]
        ///
        /// Parts service time into the time within the loader's machine and the time outside. Linux
        /// and TCP only, with epoll.
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
