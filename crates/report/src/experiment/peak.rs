//! The document of a peak: the highest rate that meets the objectives, and how it was found.
//!
//! Crate `lab` makes it by a search over single runs. It contains all steps of the search, so that
//! latency can be plotted against rate, and so that others can judge the confidence of the result.

use candor_plan::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trial::{Subject, Trial};
use crate::document::{Host, Tool};
use crate::read::{self, ReadError, Saved};

/// The value of [`Peak::format`] that this version writes.
pub const FORMAT: &str = "candor.peak/2";

/// The highest rate that meets the objectives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// `candor.peak/2`. Fields may be added under the same number; none changes its meaning.
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
    /// The plan of the first run; others differ in load, connections and seed.
    pub plan: Parts,
    /// The objectives as typed; empty if the highest throughput was asked for.
    pub objectives: Vec<String>,
    /// The peak; null if there is none.
    pub answer: Option<Answer>,
    /// The result, or why there is none, in sentences.
    pub sentences: Vec<String>,
    /// The closed loop's highest throughput; null if it was not found.
    pub ceiling: Option<Ceiling>,
    /// The limiting side.
    pub limit: Limit,
    /// Where latency begins to climb; null if it was not seen.
    pub knee: Option<Knee>,
    /// Every load, in the order of the search.
    pub steps: Vec<Step>,
    /// Why the search ended early; null if it was completed.
    pub partial: Option<String>,
}

/// The highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Requests per second. With objectives, the highest rate that met them.
    pub rate_per_s: f64,
    /// Lower bound of the peak: with objectives, the highest rate that met them beyond doubt;
    /// otherwise the lower end of a 95 % interval. Null if there is none.
    pub low_per_s: Option<f64>,
    /// Upper bound of the peak: with objectives, the lowest rate that missed them beyond doubt;
    /// otherwise the upper end of a 95 % interval. Null if there is none.
    pub high_per_s: Option<f64>,
    /// The resolution of the search: the distance from the highest rate that met the objectives to
    /// the lowest that did not, divided by the latter. Null without objectives.
    pub bracket_share: Option<f64>,
    /// Its confidence.
    pub confidence: Confidence,
}

/// The confidence of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Both ends are known beyond doubt, and are no more than 5 % apart.
    Good,
    /// Both ends are known, but they are further apart.
    Fair,
    /// An end is unknown.
    Poor,
}

/// The closed loop's highest throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Mean of the runs that confirm it.
    pub rate_per_s: f64,
    /// Lower end of its 95 % interval.
    pub low_per_s: f64,
    /// Upper end.
    pub high_per_s: f64,
    /// The fewest connections that reach it.
    pub connections: u32,
}

/// The limiting side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The side.
    pub who: Who,
    /// The evidence, in one sentence.
    pub why: String,
}

/// The sides that can be the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The loader, or its machine: the target may do more.
    Loader,
    /// The target's CPU.
    TargetCpu,
    /// The target, but not by its CPU, as far as known.
    Target,
    /// Unknown.
    Unknown,
}

/// Where latency begins to climb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The rate at which the percentile is twice its value at rest, interpolated between the two
    /// loads around it.
    pub rate_per_s: f64,
    /// The percentile of response time.
    pub percentile: String,
    /// That percentile at the lowest measured rate.
    pub at_rest_ns: u64,
}

/// A measured load, with one run or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its purpose.
    pub phase: Phase,
    /// Connections.
    pub connections: u32,
    /// The asked rate; null in a closed loop.
    pub rate_per_s: Option<f64>,
    /// The runs.
    pub trials: Vec<Trial>,
    /// The judgement of each objective by all runs together.
    pub judged: Vec<Judged>,
    /// Its outcome.
    pub outcome: StepOutcome,
}

/// The purpose of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Closed loop: to find the connections of the ceiling.
    Ceiling,
    /// Closed loop: repeats the best number, to confirm it.
    Confirm,
    /// Open load: between a rate that is too low and one that is too high.
    Search,
    /// Open load: for the plot of latency against rate.
    Curve,
}

impl Phase {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Ceiling => "ceiling",
            Phase::Confirm => "confirm",
            Phase::Search => "search",
            Phase::Curve => "curve",
        }
    }
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutcome {
    /// There were no objectives.
    Measured,
    /// All objectives were met, beyond doubt.
    Met,
    /// The figures meet the objectives, but not all of their intervals do.
    MetPerhaps,
    /// The figures miss an objective, but not beyond doubt.
    MissedPerhaps,
    /// An objective was missed, beyond doubt.
    Missed,
    /// The rate was not held.
    NotHeld,
}

impl StepOutcome {
    /// Whether the objectives were met, beyond doubt or not.
    pub fn is_met(self) -> bool {
        matches!(self, StepOutcome::Met | StepOutcome::MetPerhaps)
    }

    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            StepOutcome::Measured => "",
            StepOutcome::Met => "met",
            StepOutcome::MetPerhaps => "met?",
            StepOutcome::MissedPerhaps => "missed?",
            StepOutcome::Missed => "missed",
            StepOutcome::NotHeld => "(saturated)",
        }
    }
}

/// An objective, and its judgement by all runs of a step together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The objective.
    pub expression: String,
    /// Whether it was met: `met`, `not-met` or `unsure`.
    pub standing: String,
    /// The measured value, in the unit of the expression.
    pub measured: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Saved for Peak {
    const FORMAT: &'static str = FORMAT;

    fn check(&self) -> Result<(), String> {
        super::at_most("steps", self.steps.len(), 20_000)
    }
}

impl Peak {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }

    /// Open steps by rate, those with the same rate one after the other.
    pub fn curve(&self) -> Vec<&Step> {
        let mut steps: Vec<&Step> =
            self.steps.iter().filter(|step| step.rate_per_s.is_some()).collect();
        let rate = |step: &&Step| step.rate_per_s.unwrap_or(0.0);
        steps.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        steps
    }
}

impl Step {
    /// The runs that count: the undisturbed ones, or all if there are none.
    pub fn counted(&self) -> Vec<&Trial> {
        let calm: Vec<&Trial> = self.trials.iter().filter(|trial| !trial.disturbed).collect();
        if calm.is_empty() { self.trials.iter().collect() } else { calm }
    }

    /// Its representative: the median by rate of the runs that count.
    pub fn representative(&self) -> Option<&Trial> {
        let mut by_rate = self.counted();
        let rate = |trial: &&Trial| trial.figures.rate_per_s.unwrap_or(0.0);
        by_rate.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        by_rate.get((by_rate.len().max(1) - 1) / 2).copied()
    }
}
