//! The script, and what it may use.

use std::path::PathBuf;

use super::group::group;
use crate::values::{PositiveNanos, Size, one_or_many};

group! {
    "Script",
    /// The script, and what it may use.
    pub struct ScriptOptions {
        /// Lua script that makes requests and reads answers, as wrk's do
        ///
        /// Its hooks: setup, init, delay, request, response, done. docs/scripts.md has an example of
        /// each. What it does not say, it takes from the options above.
        #[arg(short, long, value_name = "FILE")]
        pub script: Option<PathBuf>,

        /// Argument for the script's init, from index 1 on; may be repeated
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        #[serde(deserialize_with = "one_or_many")]
        pub script_arg: Vec<String>,

        /// Time limit for one script call; a longer one stops the run [default: 10s]
        #[arg(long, value_name = "TIME")]
        pub script_timeout: Option<PositiveNanos>,

        /// Longest response body that is kept for the script's response() [default: 16Mi]
        ///
        /// A longer one ends its request as an error, body-limit. All connections of a thread together
        /// keep 16 times as much.
        #[arg(long, value_name = "SIZE")]
        pub script_body_limit: Option<Size>,

        /// Run an untrusted script: no files, no processes, no native code
        ///
        /// It has no io, os, package, ffi, debug and no bytecode. Its memory, its instructions and the
        /// time of each call have bounds that nothing in it gets around; docs/scripts.md has them.
        #[arg(long)]
        pub sandbox: bool,
    }
}
