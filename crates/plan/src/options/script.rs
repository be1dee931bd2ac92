//! The script and its limits.

use std::path::PathBuf;

use super::group::group;
use crate::values::{PositiveNanos, Size, one_or_many};

group! {
    "Script",
    /// The script and its limits.
    pub struct ScriptOptions {
        /// Lua script that makes requests and reads responses, as in wrk
        ///
        /// Hooks: setup, init, delay, request, response, done. docs/scripts.md has an example of
        /// each. The options above are the defaults for its requests.
        #[arg(short, long, value_name = "FILE")]
        pub script: Option<PathBuf>,

        /// Argument for the script's init, from index 1 on; may be repeated
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        #[serde(deserialize_with = "one_or_many")]
        pub script_arg: Vec<String>,

        /// Time limit for one script call; a longer one stops the run [default: 10s]
        #[arg(long, value_name = "TIME")]
        pub script_timeout: Option<PositiveNanos>,

        /// Longest response body to keep for the script's response() [default: 16Mi]
        ///
        /// A longer one is an error of its request, body-limit. All connections of a thread together
        /// keep at most 16 times as much.
        #[arg(long, value_name = "SIZE")]
        pub script_body_limit: Option<Size>,

        /// Run an untrusted script: no files, no processes, no native code
        ///
        /// The script has no io, os, package, ffi, debug and bytecode. Its memory, its instructions
        /// and the time of each call are limited, and it cannot lift these limits; docs/scripts.md
        /// lists them.
        #[arg(long)]
        pub sandbox: bool,
    }
}
