//! Outputs: what a run leaves, and where; what is shown while it goes on. Not part of a plan. This module does not know
//! the kinds of output.

use std::path::PathBuf;
use std::str::FromStr;

use crate::values::{ValueError, from_text, refuse};
use crate::watch::Watch;

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
    /// Labels of metrics.
    pub tags: Vec<Tag>,
    /// How long the final metrics are there at most, until they were read once more; `None`: they are not waited for.
    pub linger_ns: Option<u64>,
    /// Figures of the server's own that are asked for during the run.
    pub watch: Vec<Watch>,
}

/// A label of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its name: a letter, then letters, digits and underscores.
    pub name: String,
    /// A text that every format of metrics can have.
    pub value: String,
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

from_text! {
    Out: "an output such as \"json:run.json\"",
    Tag: "a label such as \"env=staging\"",
}

impl Tag {
    /// The most bytes of a value.
    pub const MOST_BYTES: usize = 200;
}

impl FromStr for Tag {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
        };
        match text.split_once('=') {
            // These are labels of the metrics themselves.
            Some((name @ ("le" | "objective" | "outcome" | "quantile"), _)) => {
                refuse(format!("`{name}`: metrics have this label already; choose another name"))
            }
            Some((name, _)) if !is_name(name) => refuse(format!(
                "`{name}` is not the name of a label; write a letter, then letters, digits and _"
            )),
            Some((name, value)) if value.is_empty() || value.len() > Tag::MOST_BYTES => {
                refuse(format!("{name}: the value must have 1 to {} bytes", Tag::MOST_BYTES))
            }
            Some((name, value)) if value.chars().any(|c| c.is_control() || c == '\\') => {
                refuse(format!("{name}: control characters and \\ cannot be in the value"))
            }
            Some((name, value)) => Ok(Tag { name: name.to_owned(), value: value.to_owned() }),
            None => refuse(format!("`{text}` is not a label; write NAME=VALUE")),
        }
    }
}

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
    fn a_label_has_a_name_of_prometheus() {
        let tag = |text: &str| text.parse::<Tag>().ok().map(|tag| (tag.name, tag.value));
        let both = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(tag("env=a=b"), both("env", "a=b"));
        assert_eq!(tag("git_rev1=é"), both("git_rev1", "é"));
        let long = "x".repeat(Tag::MOST_BYTES);
        assert_eq!(tag(&format!("a={long}")), both("a", &long));
        let long = &format!("a=x{long}");
        for wrong in ["", "env", "=x", "1a=x", "a-b=x", "le=x", "outcome=x", "__a=x", "a=", long] {
            assert_eq!(tag(wrong), None, "{wrong}");
        }
        assert!(tag("a=x\ny").is_none() && tag("a=x\\").is_none());
    }

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
