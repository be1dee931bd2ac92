//! The document of a sweep: latency at listed rates, or at fractions of a peak.

use candor_plan::Parts;
use serde::{Deserialize, Serialize};

use super::trial::{Subject, Trial};
use crate::document::{Host, Tool};
use crate::read::{self, ReadError, Saved};

/// The value of [`Sweep::format`] that this version writes.
pub const FORMAT: &str = "candor.sweep/3";

/// Latency against rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sweep {
    /// `candor.sweep/3`. Fields may be added under the same number; none changes its meaning.
    pub format: String,
    /// The program that made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The machine of the loader.
    pub host: Host,
    /// The target.
    pub subject: Subject,
    /// The plan of the first run; others differ in rate and seed.
    pub plan: Parts,
    /// The peak that rates are fractions of, in requests per second; null if rates were listed.
    pub peak_per_s: Option<f64>,
    /// The source of the peak, e.g. a file's name, or that it was measured before.
    pub peak_from: Option<String>,
    /// Rounds: how often to measure each rate.
    pub rounds: u32,
    /// Seed of the order of runs within rounds.
    pub seed: u64,
    /// Each rate, from low to high.
    pub rows: Vec<Row>,
    /// Where latency begins to climb; null if the rates do not enclose it, or if there are too few rounds to tell.
    #[serde(default)]
    pub knee: Option<Knee>,
    /// Why the sweep ended early; null if it was completed.
    pub partial: Option<String>,
}

/// The rate at which a percentile of response time is twice its value at the lowest rate, as a 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Knee {
    /// The percentile.
    pub percentile: String,
    /// Its median over the rounds at the lowest rate, in nanoseconds.
    pub at_rest_ns: u64,
    /// The lower end, one of the rates.
    pub low_per_s: f64,
    /// The upper end.
    pub high_per_s: f64,
    /// The rounds that tell.
    pub rounds: u64,
}

/// One rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// The asked rate in requests per second.
    pub rate_per_s: f64,
    /// As a share of the peak; null if the rate was listed.
    pub fraction: Option<f64>,
    /// Its runs, in the order in which they were made.
    pub trials: Vec<Trial>,
    /// The index of the representative: the median by p99 response time, of the runs that were held if most were, and
    /// not if most were not, and of the undisturbed ones among them if there are any. Null without runs.
    pub representative: Option<u64>,
    /// Whether most of the runs achieved less than 99 % of the rate, other than by errors.
    pub saturated: bool,
}

impl Row {
    /// The representative.
    pub fn shown(&self) -> Option<&Trial> {
        self.trials.get(usize::try_from(self.representative?).ok()?)
    }

    /// Whether no request succeeded in any of its runs: then it is not saturated, but broken.
    pub fn nothing_worked(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|trial| trial.figures.nothing_worked())
    }

    /// Whether most of its runs held the rate, and few of their requests failed.
    pub fn is_held(&self) -> bool {
        !self.nothing_worked() && !self.most(|trial| !trial.held || trial.figures.fails())
    }

    /// Whether it was not held because of errors.
    pub fn fails(&self) -> bool {
        !self.is_held() && !self.saturated
    }

    fn most(&self, is: impl Fn(&Trial) -> bool) -> bool {
        2 * self.trials.iter().filter(|trial| is(trial)).count() > self.trials.len()
    }

    /// Chooses the representative, and determines whether the rate was held.
    pub fn settle(&mut self) {
        let p99 =
            |index: &u64| self.trials[*index as usize].figures.response.p99_ns.unwrap_or(u64::MAX);
        let is_calm = |index: &u64| !self.trials[*index as usize].disturbed;
        // One that says of the rate what most say.
        let was_held = self.most(|trial| trial.held);
        let is_typical = |index: &u64| self.trials[*index as usize].held == was_held;
        let mut order: Vec<u64> = (0..self.trials.len() as u64).filter(is_typical).collect();
        if order.iter().any(is_calm) {
            order.retain(is_calm);
        }
        order.sort_by_key(p99);
        self.representative = order.get((order.len().max(1) - 1) / 2).copied();
        self.saturated = self.most(|trial| !trial.held && !trial.figures.mostly_failed());
    }
}

impl Saved for Sweep {
    const FORMAT: &'static str = FORMAT;

    fn check(&self) -> Result<(), String> {
        super::at_most("rows", self.rows.len(), 20_000)
    }
}

impl Sweep {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }
}
