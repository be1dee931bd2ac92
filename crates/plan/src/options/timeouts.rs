//! How long to wait before giving up.

use super::group::group;
use crate::values::PositiveNanos;

group! {
    "Timeouts",
    /// How long to wait before giving up.
    pub struct TimeoutsOptions {
        /// Limit for a response, from sending the request to the last byte [default: 30s]
        ///
        /// Closes the connection; the request is counted as a timeout.
        #[arg(long, value_name = "TIME")]
        pub timeout: Option<PositiveNanos>,

        /// Limit for establishing a connection [default: 10s]
        #[arg(long, value_name = "TIME")]
        pub connect_timeout: Option<PositiveNanos>,

        /// With --expect-continue, how long to wait for the server to ask for the body [default:
        /// 1s]
        ///
        /// Then the body is sent unasked (RFC 9110 10.1.1).
        #[arg(long, value_name = "TIME")]
        pub continue_timeout: Option<PositiveNanos>,

        /// Limit for the next byte of a response [default: none but --timeout]
        #[arg(long, value_name = "TIME")]
        pub idle_timeout: Option<PositiveNanos>,
    }
}
