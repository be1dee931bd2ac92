//! Outputs: what a run leaves, and where; what is shown while it goes on. Not part of a plan. This module does not know
//! the kinds of output.

use std::path::PathBuf;
use std::str::FromStr;

use crate::values::{ValueError, from_text, refuse};

/// The outputs of a run: the places of results, and the objectives. They are not part of the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The kinds of output and their places.
    pub list: Vec<Out>,
    /// How much of the report is printed.
    pub report: ReportDepth,
    /// Print no progress.
    pub quiet: bool,
    /// Keep the result for `candor report last`.
    pub keep: bool,
    /// Whether there is a live view.
    pub tui: Tui,
    /// The form of progress without a live view.
    pub progress: ProgressForm,
    /// Objectives as text, such as `p99 < 5ms`.
    pub expect: Vec<String>,
    /// Conditions that end the run, as text, such as `error-rate > 5% for 10s`.
    pub abort_if: Vec<String>,
    /// A run in which no request succeeded is no error of its own.
    pub allow_failures: bool,
    /// Exit with an error if the result is not trustworthy.
    pub strict: bool,
}

/// One output of a run or an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    /// Its kind, such as `json`.
    pub kind: String,
    /// Where it goes.
    pub place: Place,
}

/// Where an output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The standard output, written `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// How much of a report is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportDepth {
    /// One screen with the main findings
    #[default]
    Short,
    /// All sections
    Full,
    /// Nothing
    None,
}

/// Whether there is a live view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tui {
    /// Where the standard error is a terminal
    #[default]
    Auto,
    /// Always; an error without a terminal
    On,
    /// Never
    Off,
}

/// The form of progress without a live view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressForm {
    /// Lines of text
    #[default]
    Line,
    /// One JSON object a line (candor.progress/1)
    Json,
    /// Nothing
    Off,
}

impl Out {
    /// The kind of a trace. A plan with this output selects the traced requests.
    pub const TRACE: &str = "trace";

    /// An output of this kind to a path, which may be `-`.
    pub fn new(kind: &str, path: PathBuf) -> Self {
        let place = if path.as_os_str() == "-" { Place::Stdout } else { Place::File(path) };
        Out { kind: kind.to_owned(), place }
    }
}

impl Place {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Place::Stdout => None,
            Place::File(path) => Some(path),
        }
    }
}

from_text! { Out: "an output such as \"json:run.json\"", }

impl FromStr for Out {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (kind, path) = text.split_once(':').unwrap_or((text, "-"));
        if kind.is_empty() || path.is_empty() {
            return refuse(format!(
                "`{text}` is not an output; write KIND or KIND:FILE, such as ndjson or json:run.json"
            ));
        }
        Ok(Out::new(kind, path.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_and_a_place() {
        let out = |text: &str| text.parse::<Out>().map(|out| (out.kind, out.place)).ok();
        let file = |path: &str| Place::File(path.into());
        assert_eq!(out("json:run.json"), Some(("json".to_owned(), file("run.json"))));
        assert_eq!(out("json:a:b"), Some(("json".to_owned(), file("a:b"))));
        assert_eq!(out("ndjson:-"), Some(("ndjson".to_owned(), Place::Stdout)));
        assert_eq!(out("ndjson"), Some(("ndjson".to_owned(), Place::Stdout)));
        assert_eq!((out(""), out(":x"), out("json:")), (None, None, None));
    }
}
