//! The document of a peak: the highest rate that meets the objectives, and how it was found.
//!
//! Crate `lab` makes it by a search over single runs. All steps of the search are in it, so that
//! latency can be plotted against rate, and so that others can judge how sure the answer is.

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
    /// What made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The machine of the loader.
    pub host: Host,
    /// What was measured.
    pub subject: Subject,
    /// The plan of the first run; others differ in load, connections and seed.
    pub plan: Parts,
    /// What had to be met, as it was written; empty: the highest throughput was asked for.
    pub objectives: Vec<String>,
    /// The answer; null: there is none.
    pub answer: Option<Answer>,
    /// The answer, or why there is none, in sentences.
    pub sentences: Vec<String>,
    /// The closed loop's highest throughput; null: it was not found.
    pub ceiling: Option<Ceiling>,
    /// What was the limit.
    pub limit: Limit,
    /// Where latency begins to climb; null: it was not seen.
    pub knee: Option<Knee>,
    /// Every load that was tried, in order.
    pub steps: Vec<Step>,
    /// Why the search ended before it was done; null: it was done.
    pub partial: Option<String>,
}

/// The highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Requests per second. With objectives, the highest rate that met them.
    pub rate_per_s: f64,
    /// The peak is not below this: with objectives, the highest rate that met them beyond doubt;
    /// else the lower end of a 95 % interval. Null: not even that is sure.
    pub low_per_s: Option<f64>,
    /// The peak is not above this: with objectives, the lowest rate that missed them beyond doubt;
    /// else the upper end of a 95 % interval. Null: no rate did.
    pub high_per_s: Option<f64>,
    /// How far the search went: the distance from the highest rate that met the objectives to the
    /// lowest that did not, by the latter. Null without objectives.
    pub bracket_share: Option<f64>,
    /// How sure it is.
    pub confidence: Confidence,
}

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Both ends are known beyond doubt, and are no more than 5 % apart.
    Good,
    /// Both ends are known, but they are further apart.
    Fair,
    /// An end is not known.
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

/// What was the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Who.
    pub who: Who,
    /// Why this is thought, in one sentence.
    pub why: String,
}

/// Who was the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The loader, or its machine: the target may do more.
    Loader,
    /// The target's CPU.
    TargetCpu,
    /// The target, by something else than its CPU, as far as that is known.
    Target,
    /// It was not found out.
    Unknown,
}

/// Where latency begins to climb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The rate at which the percentile is twice what it is at rest, on the line between the two
    /// loads around it.
    pub rate_per_s: f64,
    /// Of which percentile of response time.
    pub percentile: String,
    /// That percentile at the lowest rate that was tried.
    pub at_rest_ns: u64,
}

/// A load that was tried, with one run or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What it was for.
    pub phase: Phase,
    /// Connections.
    pub connections: u32,
    /// The rate that was asked for; null: a closed loop.
    pub rate_per_s: Option<f64>,
    /// The runs.
    pub trials: Vec<Trial>,
    /// Of each objective, what the runs together say.
    pub judged: Vec<Judged>,
    /// What became of it.
    pub outcome: StepOutcome,
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Closed loop: how many connections it takes.
    Ceiling,
    /// Closed loop: the same number again, to be sure.
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

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutcome {
    /// There was nothing to be met.
    Measured,
    /// All objectives were met, beyond doubt.
    Met,
    /// The figures meet them, but the other side is within their intervals.
    MetPerhaps,
    /// The figures miss one, but the other side is within their intervals.
    MissedPerhaps,
    /// One was missed, beyond doubt.
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

/// An objective and what the runs of a step together say of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The objective.
    pub expression: String,
    /// Whether it was met: `met`, `not-met` or `unsure`.
    pub standing: String,
    /// What was measured, in the unit of the expression.
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

    /// Open steps by rate, several of the same rate one after the other.
    pub fn curve(&self) -> Vec<&Step> {
        let mut steps: Vec<&Step> =
            self.steps.iter().filter(|step| step.rate_per_s.is_some()).collect();
        let rate = |step: &&Step| step.rate_per_s.unwrap_or(0.0);
        steps.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        steps
    }
}

impl Step {
    /// The runs that count: those that were not disturbed, or all if there are no others.
    pub fn counted(&self) -> Vec<&Trial> {
        let calm: Vec<&Trial> = self.trials.iter().filter(|trial| !trial.disturbed).collect();
        if calm.is_empty() { self.trials.iter().collect() } else { calm }
    }

    /// The run that stands for it: of those that count, the one in the middle by rate.
    pub fn representative(&self) -> Option<&Trial> {
        let mut by_rate = self.counted();
        let rate = |trial: &&Trial| trial.figures.rate_per_s.unwrap_or(0.0);
        by_rate.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        by_rate.get((by_rate.len().max(1) - 1) / 2).copied()
    }
}
