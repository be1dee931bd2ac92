//! The document of a peak: the highest rate that meets the objectives, and how it was found.
//!
//! Crate `lab` makes it by a search over single runs. It contains all steps of the search, so that
//! latency can be plotted against rate, and so that others can judge the confidence of the result.

use candor_plan::Parts;
use serde::{Deserialize, Serialize};

use super::trial::{Subject, Trial};
use crate::document::{Host, Tool};
use crate::read::{self, ReadError, Saved};

/// The value of [`Peak::format`] that this version writes.
pub const FORMAT: &str = "candor.peak/3";

/// The highest rate that meets the objectives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peak {
    /// `candor.peak/3`. Fields may be added under the same number; none changes its meaning.
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
    /// Every load, in the order of their first runs. Names of runs are numbered in the order of time.
    pub steps: Vec<Step>,
    /// The most time that the search could take, in nanoseconds; null if nothing bounded it.
    #[serde(default)]
    pub most_time_ns: Option<u64>,
    /// Why the search cannot tell the peak with 95 % confidence, and what would help; null if it can.
    #[serde(default)]
    pub cannot_tell: Option<String>,
    /// Why the search ended early; null if it was completed.
    pub partial: Option<String>,
}

/// The highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Answer {
    /// Requests per second. With objectives, the highest rate that met them.
    pub rate_per_s: f64,
    /// Lower end of a 95 % interval of the peak: with objectives, the highest rate that met them in so many
    /// repetitions that chance does not explain it. Null if they did not suffice.
    pub low_per_s: Option<f64>,
    /// Upper end of a 95 % interval of the peak: with objectives, the lowest rate that missed them in so many
    /// repetitions that chance does not explain it. Null if they did not suffice.
    pub high_per_s: Option<f64>,
    /// The repetitions of the lower end; null without objectives.
    #[serde(default)]
    pub low_repeated: Option<Repeated>,
    /// The repetitions of the upper end.
    #[serde(default)]
    pub high_repeated: Option<Repeated>,
    /// The resolution of the search: the distance from the highest rate that met the objectives to
    /// the lowest that did not, divided by the latter. Null without objectives.
    pub bracket_share: Option<f64>,
    /// Its confidence.
    pub confidence: Confidence,
}

/// An end of the interval, and how often a repetition agreed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeated {
    /// The rate, in requests per second.
    pub rate_per_s: f64,
    /// Runs since the rate was chosen as an end that agree: met at the lower end, missed at the upper one.
    pub agreed: u64,
    /// All of its runs since then.
    pub of: u64,
}

/// The confidence of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Repetitions confirm both ends, and these are no more than 5 % apart.
    Good,
    /// Repetitions confirm both ends, but these are further apart.
    Fair,
    /// An end is not confirmed, or the ends are so far apart that they say nothing.
    Poor,
}

/// The closed loop's highest throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Median of the runs that confirm it.
    pub rate_per_s: f64,
    /// Lower end of its 95 % interval; with fewer than eight runs the lowest of them.
    pub low_per_s: f64,
    /// Upper end.
    pub high_per_s: f64,
    /// The fewest connections that reach it.
    pub connections: u32,
    /// The runs that confirm it; 0 in documents of older versions.
    #[serde(default)]
    pub runs: u64,
}

/// The limiting side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limit {
    /// The side.
    pub who: Who,
    /// The evidence, in one sentence.
    pub why: String,
}

/// The sides that can be the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The loader, or its machine: the target may do more.
    Loader,
    /// The target's CPU.
    TargetCpu,
    /// The target, but not by its CPU, as far as known.
    Target,
    /// The connections, as far as known: more of them were not tried.
    Connections,
    /// Unknown.
    Unknown,
}

/// A measured load, with one run or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepOutcome {
    /// There were no objectives.
    Measured,
    /// Each of its runs met all objectives.
    Met,
    /// Most of its runs met all objectives.
    MetPerhaps,
    /// Half or more of its runs missed an objective, but not all of them.
    MissedPerhaps,
    /// Each of its runs missed an objective.
    Missed,
    /// Most of its runs did not hold the rate.
    NotHeld,
}

impl StepOutcome {
    /// Whether most runs met the objectives.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Whether the runs have enough samples to meet it, if all of them are as good as can be.
    #[serde(default = "enough")]
    pub enough: bool,
}

fn enough() -> bool {
    true
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

    /// Whether runs were made, and no request of any of them succeeded.
    pub fn nothing_worked(&self) -> bool {
        let mut trials = self.steps.iter().flat_map(|step| &step.trials);
        !self.steps.is_empty() && trials.all(|trial| trial.figures.nothing_worked())
    }

    /// Whether its answer is confirmed: with objectives, that repetitions met them at this rate.
    pub fn is_confirmed(&self) -> bool {
        self.answer.is_some_and(|answer| answer.low_per_s.is_some())
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

/// At most this many more disturbed runs of a load are left out than undisturbed ones count.
const MORE_DISTURBED: usize = 2;

impl Step {
    /// The runs that count: the undisturbed ones, and the disturbed ones that are too many to be made again; all if
    /// there are no others.
    pub fn counted(&self) -> Vec<&Trial> {
        let counted: Vec<&Trial> =
            self.counts().filter(|(_, counts)| *counts).map(|one| one.0).collect();
        if counted.is_empty() { self.trials.iter().collect() } else { counted }
    }

    /// Whether the last run does not count, so that another is made in its place.
    pub fn is_made_again(&self) -> bool {
        self.counts().last().is_some_and(|(_, counts)| !counts)
    }

    /// Each run, and whether it counts.
    fn counts(&self) -> impl Iterator<Item = (&Trial, bool)> {
        let (mut calm, mut left_out) = (0, 0);
        self.trials.iter().map(move |trial| {
            let is_left_out = trial.disturbed && left_out < calm + MORE_DISTURBED;
            left_out += usize::from(is_left_out);
            calm += usize::from(!trial.disturbed);
            (trial, !is_left_out)
        })
    }

    /// Its representative: of the runs that count the median by p99 of response time, in a closed loop by rate.
    pub fn representative(&self) -> Option<&Trial> {
        let mut runs = self.counted();
        let rate = |trial: &&Trial| trial.figures.rate_per_s.unwrap_or(0.0);
        match self.rate_per_s {
            None => runs.sort_by(|a, b| rate(a).total_cmp(&rate(b))),
            Some(_) => runs.sort_by_key(|one| one.figures.response.p99_ns.unwrap_or(u64::MAX)),
        }
        runs.get((runs.len().max(1) - 1) / 2).copied()
    }

    /// How many of the runs that count met the objectives; `None` if none was judged.
    pub fn met(&self) -> Option<usize> {
        let counted = self.counted();
        let is_judged = counted.iter().any(|trial| trial.met.is_some());
        is_judged.then(|| counted.iter().filter(|trial| trial.met == Some(true)).count())
    }
}
