//! One run of an experiment as the experiment's document has it, and what was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use crate::document::Document;
use crate::document::target::Resources;
use crate::verdicts::{Severity, Verdict};

/// What an experiment measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The URL, without user information.
    pub url: String,
    /// What is worth knowing of it, such as `embedded`.
    pub note: Option<String>,
    /// The command of a managed target, secrets redacted; empty: it was not ours.
    pub command: Vec<String>,
    /// The cores it could use; empty: not known.
    pub cores: Vec<u64>,
    /// The cores of the loader; empty: all.
    pub loader_cores: Vec<u64>,
}

impl Subject {
    /// What the run of `document` measured.
    pub fn of(document: &Document) -> Self {
        let target = document.target.clone().unwrap_or_default();
        let Resources { command, cores, loader_cores, .. } = target;
        let note = document.target_note.clone();
        Subject { url: document.plan.target.url.clone(), note, command, cores, loader_cores }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its name, and that of its file if results were kept.
    pub name: String,
    /// Its figures.
    pub figures: Figures,
    /// Whether the asked rate was held: the answers within the window were 99 % of what was due,
    /// but for what is rightly in flight at its end. Always so in a closed load.
    pub held: bool,
    /// Whether something was found that speaks for the loader as the limit, and what.
    pub loader_findings: Vec<String>,
    /// The loader's own machine paused while it was made: it said so (`host-hiccup`,
    /// `clock-jump`), or requests left late by a loader that was not busy (`send-lag` without
    /// `loader-cpu`). Such a run says little of the target.
    #[serde(default)]
    pub disturbed: bool,
}

/// Verdicts that say that the loader's machine paused.
const PAUSES: [&str; 2] = ["host-hiccup", "clock-jump"];

fn is_disturbed(document: &Document) -> bool {
    let has = |wanted: &str| {
        let one = |one: &&Verdict| one.id == wanted && one.severity >= Severity::Warning;
        document.verdicts.iter().find(one).is_some()
    };
    PAUSES.into_iter().any(has) || (has("send-lag") && !has("loader-cpu"))
}

/// Verdicts that say that the loader may have made the numbers.
const LOADER_FINDINGS: [&str; 3] = ["loader-cpu", "send-lag", "shared-core"];

impl Trial {
    /// The run of `document`.
    pub fn of(name: String, document: &Document) -> Self {
        let ids = || document.verdicts.iter().map(|one| one.id.as_str());
        let is_open = document.plan.load.is_open();
        Trial {
            name,
            figures: Figures::of(document),
            held: !(is_open && ids().any(|id| id == "target-not-met")),
            loader_findings: ids()
                .filter(|id| LOADER_FINDINGS.contains(id))
                .map(str::to_owned)
                .collect(),
            disturbed: is_disturbed(document),
        }
    }
}
