//! The document of a board: servers beside each other in the profiles of a suite, each with a score and a rank.
//!
//! [`crate::findings::board`] makes it from the suite's document, which stays beside it as a file. A *profile* is
//! a scenario over a protocol under a load. It is scored by throughput, or, where a rate was asked for, by the
//! server's CPU time per request, since all servers respond at the same rate there.

use serde::{Deserialize, Serialize};

use super::matrix::{FailedTrial, Heading, Note};
use super::suite::Server;
use crate::read::{self, ReadError, Saved};

/// The value of [`Board::format`] that this version writes.
pub const FORMAT: &str = "candor.board/1";

/// A board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Board {
    /// `candor.board/1`. Fields may be added under the same number.
    pub format: String,
    /// The suite, and how it was measured.
    #[serde(flatten)]
    pub heading: Heading,
    /// Servers, in the order of the suite.
    pub servers: Vec<Server>,
    /// Scores over all profiles of a measure, one for each measure of the board.
    pub standings: Vec<Standing>,
    /// The profiles, in the order of the suite's tables.
    pub profiles: Vec<Profile>,
    /// Omitted combinations, with the reasons.
    pub notes: Vec<Note>,
    /// Failed trials, the latest failure of each.
    pub failures: Vec<FailedTrial>,
    /// Whether every trial was made or failed for good.
    pub complete: bool,
}

/// What a profile is scored by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Correct responses per second: more is better.
    Throughput,
    /// CPU time of the server per correct response at the asked rate: less is better.
    CpuPerRequest,
}

impl Measure {
    /// Both, in the order of the board.
    pub const ALL: [Measure; 2] = [Measure::Throughput, Measure::CpuPerRequest];
}

/// Scores over all profiles of a measure: of the geometric means of servers' figures in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Standing {
    /// The measure.
    pub measure: Measure,
    /// How many profiles it is over.
    pub profiles: u64,
    /// The servers, by rank; those without a score come last.
    pub rows: Vec<Total>,
}

/// A server's score over all profiles of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Total {
    /// Name of the server.
    pub server: String,
    /// Its score; null if it has none in one of the profiles.
    pub score: Option<Score>,
    /// Why there is none.
    pub unscored: Option<String>,
    /// Whether the loader was the limit in one of them, so that the server may be better.
    pub lower_bound: bool,
}

/// A scenario over a protocol under a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Profile {
    /// Name of the scenario.
    pub scenario: String,
    /// The protocol: `h1`, `h2`, `h1-tls`, `h2-tls`, `h3`.
    pub protocol: String,
    /// Name of the load.
    pub load: String,
    /// What it is scored by.
    pub measure: Measure,
    /// The servers, by rank; those without a score come last.
    pub rows: Vec<Row>,
}

impl Profile {
    /// `baseline h1 closed`.
    pub fn name(&self) -> String {
        let Profile { scenario, protocol, load, .. } = self;
        format!("{scenario} {protocol} {load}")
    }
}

/// A server in a profile. Its figures are those of the run that represents it: the one with the median rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Name of the server.
    pub server: String,
    /// Its score; null if one of its runs cannot be used, or a check of it failed.
    pub score: Option<Score>,
    /// Why there is none.
    pub unscored: Option<String>,
    /// Whether the loader was the limit, so that the server may be better.
    pub lower_bound: bool,
    /// Runs that it is of.
    pub rounds: u64,
    /// Correct responses per second.
    pub rate_per_s: Option<f64>,
    /// The asked rate; null in a closed load.
    pub asked_per_s: Option<f64>,
    /// The former divided by the latter.
    pub rate_ratio: Option<f64>,
    /// Response time, from when a request was due: median.
    pub p50_ns: Option<u64>,
    /// Its 99th percentile.
    pub p99_ns: Option<u64>,
    /// CPU time of all processes of the server per correct response, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Its largest resident memory.
    pub rss_peak_bytes: Option<u64>,
    /// CPU time divided by wall time of the loader's busiest thread, 1 for a whole core.
    pub loader_cpu_share: Option<f64>,
    /// Requests without the expected response, as a share.
    pub failed_share: Option<f64>,
}

/// A score and a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Score {
    /// 1, and 1 more for each server that is certainly better.
    pub rank: u64,
    /// Whether another server has the same rank.
    pub shared: bool,
    /// The figure as a percentage of the best one, or, where less is better, the best one as a percentage of it.
    pub value: f64,
    /// The lower end of its interval; null with a single round.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Saved for Board {
    const FORMAT: &'static str = FORMAT;
    const KNOWN: Option<&'static [&'static str]> =
        Some(&["servers", "standings", "profiles", "notes", "failures"]);

    fn check(&self) -> Result<(), String> {
        let rows = self.profiles.iter().map(|one| one.rows.len()).sum();
        super::at_most("rows of profiles", rows, 20_000)
    }
}

impl Board {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }
}
