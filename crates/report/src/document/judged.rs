//! What is judged of a document, as values that it keeps: how far it can be trusted, and whether it is as expected.
//! They are found in [`verdicts`](crate::verdicts) and [`expect`](crate::expect).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::Document;

/// A finding about how far a result can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Its stable id.
    pub id: String,
    /// Its severity.
    pub severity: Severity,
    /// The finding, in one sentence.
    pub sentence: String,
    /// The numbers behind it, units in their names.
    pub evidence: BTreeMap<String, f64>,
    /// The remedy.
    pub remedy: String,
    /// The machine that it is about, as an index into [`Document::machines`]. Omitted if it is about
    /// the run, or if the run had one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<u32>,
}

/// The severity of a finding, from harmless to fatal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The numbers may be misleading.
    Warning,
    /// The numbers cannot be right.
    Invalid,
}

/// An expectation and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The expectation as the user wrote it.
    pub expression: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The measured value in nanoseconds, per second, as a share or as a count, depending on the
    /// expression; null if there is none.
    pub measured: Option<f64>,
    /// The measurement, in one sentence.
    pub sentence: String,
}

/// The outcome of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Met.
    Met,
    /// Not met.
    NotMet,
    /// Neither can be told: there are too few samples, or the result does not have the figure.
    #[serde(alias = "not-measurable")]
    CannotTell,
}

impl Outcome {
    /// The outcome of several conditions that must all be met.
    pub fn of_all(all: impl IntoIterator<Item = Outcome>) -> Outcome {
        all.into_iter().fold(Outcome::Met, |sum, one| match (sum, one) {
            (Outcome::NotMet, _) | (_, Outcome::NotMet) => Outcome::NotMet,
            (Outcome::CannotTell, _) | (_, Outcome::CannotTell) => Outcome::CannotTell,
            (Outcome::Met, Outcome::Met) => Outcome::Met,
        })
    }

    /// In words, in the middle of a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Met => "met",
            Outcome::NotMet => "not met",
            Outcome::CannotTell => "cannot tell",
        }
    }
}

impl Judgement {
    /// Whether the expectation was met.
    pub fn met(&self) -> bool {
        self.outcome == Outcome::Met
    }
}
