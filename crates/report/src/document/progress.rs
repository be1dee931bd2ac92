//! Progress of a command while it works, for programs that watch it (`--progress json`): an object a
//! line, each of which stands by itself. The results themselves are in documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The value of each line's `format` that this version writes.
pub const FORMAT: &str = "candor.progress/1";

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// `candor.progress/1`. Kinds and fields may be added under the same number.
    pub format: String,
    /// Since the run or the experiment began.
    pub elapsed_ns: u64,
    /// How long it takes in all, as far as that can be known.
    pub total_ns: Option<u64>,
    /// What is told.
    #[serde(flatten)]
    pub of: Of,
}

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Of {
    /// A run goes on: its last interval.
    Run {
        /// The step of an experiment that it is; null: it is no experiment.
        step: Option<String>,
        /// Complete responses by time.
        rate_per_s: Option<f64>,
        /// Requests that were due by time; null in a closed load.
        asked_per_s: Option<f64>,
        /// Median response time; null with too few samples, here and below.
        p50_ns: Option<u64>,
        /// 99 % of responses were faster.
        p99_ns: Option<u64>,
        /// The slowest response.
        max_ns: Option<u64>,
        /// Connections established.
        connections: u64,
        /// Requests due and not sent.
        backlog: u64,
        /// Responses as expected, of the run until now.
        ok: u64,
        /// Failed requests, of the run until now.
        errors: u64,
        /// Shed requests, of the run until now.
        shed: u64,
    },
    /// A step of an experiment goes on that has no figures yet.
    Step {
        /// What it is.
        what: String,
        /// Its number, from 1.
        number: u64,
        /// How many there are; null: it depends on what is found.
        of: Option<u64>,
    },
    /// A step of an experiment is over.
    Done {
        /// What it was.
        what: String,
        /// What came of it, in half a sentence.
        outcome: String,
        /// It could not be made.
        failed: bool,
        /// Its number, from 1.
        number: u64,
        /// How many there are; null: it depends on what is found.
        of: Option<u64>,
    },
    /// Nothing is sent yet: connections are made, or a target is started.
    Waiting {},
}
