//! How long is waited before something is given up.

use super::group::group;
use crate::values::PositiveNanos;

group! {
    "Time-outs",
    /// How long is waited before something is given up.
    pub struct TimeoutsOptions {
        /// For an answer, from sending its request to its last byte [default: 30s]
        ///
        /// Ends the connection; the request is counted as a time-out.
        #[arg(long, value_name = "TIME")]
        pub timeout: Option<PositiveNanos>,

        /// For a connection to be established [default: 10s]
        #[arg(long, value_name = "TIME")]
        pub connect_timeout: Option<PositiveNanos>,

        /// For a server to ask for a body that --expect-continue holds back [default: 1s]
        ///
        /// Then the body is sent without being asked for (RFC 9110 10.1.1).
        #[arg(long, value_name = "TIME")]
        pub continue_timeout: Option<PositiveNanos>,

        /// For the next byte of an answer [default: only --timeout counts]
        #[arg(long, value_name = "TIME")]
        pub idle_timeout: Option<PositiveNanos>,
    }
}
