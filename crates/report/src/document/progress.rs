//! Progress of a command for other programs (`--progress json`): one self-contained object a line.
//! The results themselves are in documents.

use serde::{Deserialize, Serialize};

/// The value of each line's `format` that this version writes.
pub const FORMAT: &str = "candor.progress/1";

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line {
    /// `candor.progress/1`. Kinds and fields may be added under the same number.
    pub format: String,
    /// Time since the run or the experiment began.
    pub elapsed_ns: u64,
    /// Its total time, if known.
    pub total_ns: Option<u64>,
    /// The kind of line, with its fields.
    #[serde(flatten)]
    pub of: Of,
}

/// The kinds of lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Of {
    /// A running run: its last interval.
    Run {
        /// Its step in an experiment; null outside of experiments.
        step: Option<String>,
        /// Complete responses per second.
        rate_per_s: Option<f64>,
        /// Parts of responses per second where no response ended, as of a feed; omitted elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        events_per_s: Option<f64>,
        /// Requests due per second; null in a closed load.
        asked_per_s: Option<f64>,
        /// Median response time; null with too few samples, here and below.
        p50_ns: Option<u64>,
        /// 99th percentile of the response time.
        p99_ns: Option<u64>,
        /// The slowest response.
        max_ns: Option<u64>,
        /// Connections established.
        connections: u64,
        /// Requests due and not sent.
        backlog: u64,
        /// Expected responses in the run so far.
        ok: u64,
        /// Failed requests in the run so far.
        errors: u64,
        /// Shed requests in the run so far.
        shed: u64,
    },
    /// A running step of an experiment, without figures yet.
    Step {
        /// Its description.
        what: String,
        /// Its number, from 1.
        number: u64,
        /// The number of steps; null if it depends on the results.
        of: Option<u64>,
    },
    /// A finished step of an experiment.
    Done {
        /// Its description.
        what: String,
        /// Its outcome, in half a sentence.
        outcome: String,
        /// Whether it failed.
        failed: bool,
        /// Its number, from 1.
        number: u64,
        /// The number of steps; null if it depends on the results.
        of: Option<u64>,
    },
    /// Nothing is sent yet: connections are being opened, or a target is being started.
    Waiting {},
}
