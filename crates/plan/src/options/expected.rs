//! Which responses count as right.

use std::path::PathBuf;

use super::group::group;
use crate::values::{Size, typed};
use crate::work::StatusSet;

group! {
    "Expected responses",
    /// Which responses count as right.
    pub struct ExpectedOptions {
        /// Accepted statuses, e.g. 200, 2xx or 200-299,304 [default: below 400]
        #[arg(long, value_name = "STATUS")]
        #[serde(deserialize_with = "typed")]
        pub expect_status: Option<StatusSet>,

        /// Length that every response body must have
        #[arg(long, value_name = "SIZE")]
        pub expect_body_bytes: Option<Size>,

        /// File that every response body must equal
        #[arg(long, value_name = "FILE")]
        pub expect_body: Option<PathBuf>,
    }
    one_of { expect_body, expect_body_bytes }
}
