//! One run in the document of an experiment, and the target.

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use crate::document::Document;
use crate::document::Severity;
use crate::document::target::Resources;
use crate::verdicts;

/// The target of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Subject {
    /// The URL, without user information.
    pub url: String,
    /// A remark about it, e.g. `embedded`.
    pub note: Option<String>,
    /// The command of a managed target, secrets redacted; empty for any other.
    pub command: Vec<String>,
    /// The cores it could use; empty if unknown.
    pub cores: Vec<u64>,
    /// The cores of the loader; empty means all.
    pub loader_cores: Vec<u64>,
}

impl Subject {
    /// The target of the run of `document`.
    pub fn of(document: &Document) -> Self {
        let target = document.target.clone().unwrap_or_default();
        let Resources { command, cores, loader_cores, .. } = target;
        let note = document.target_note.clone();
        Subject { url: document.plan.target.url.clone(), note, command, cores, loader_cores }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Its name, also that of its file if results were kept.
    pub name: String,
    /// Its figures.
    pub figures: Figures,
    /// Whether the asked rate was held: the responses within the window were 99 % of the due
    /// requests, not counting those that may still be in flight at its end, and most requests did not
    /// fail. Always true in a closed load.
    pub held: bool,
    /// Findings that suggest that the loader was the limit.
    pub loader_findings: Vec<String>,
    /// Whether the loader's own machine paused during the run: by a verdict (`host-hiccup`,
    /// `clock-jump`), or because requests left late although the loader was not busy (`send-lag`
    /// without `loader-cpu`). Such a run says little about the target.
    #[serde(default)]
    pub disturbed: bool,
    /// Whether it met the objectives of a search by its own figures; null without objectives.
    #[serde(default)]
    pub met: Option<bool>,
}

fn is_disturbed(document: &Document) -> bool {
    let warnings = || document.verdicts.iter().filter(|one| one.severity >= Severity::Warning);
    let has = |id: &str| warnings().any(|one| one.id == id);
    let has_paused = warnings().any(|one| one.subject() == verdicts::Subject::Pause);
    has_paused || (has("send-lag") && !has("loader-cpu"))
}

impl Trial {
    /// The run of `document`.
    pub fn of(name: String, document: &Document) -> Self {
        let is_missed = document.verdicts.iter().any(|one| one.id == "target-not-met");
        let limits =
            document.verdicts.iter().filter(|one| one.subject() == verdicts::Subject::Limit);
        let is_open = document.plan.load.is_open();
        let most_failed = document.ledger.failed_share().is_none_or(|share| share > 0.5);
        Trial {
            name,
            figures: Figures::of(document),
            held: !(is_open && (most_failed || is_missed)),
            loader_findings: limits.map(|one| one.id.clone()).collect(),
            disturbed: is_disturbed(document),
            met: None,
        }
    }
}
