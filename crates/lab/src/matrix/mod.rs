//! Matrices: a suite's cells, each measured in several rounds, into one directory.
//!
//! This module has the common parts of suites of servers ([`crate::suite`]) and of client libraries
//! ([`crate::clients`]). Those define cells, trials and documents. The parts here: `file` reads the
//! common tables of suites; `names` selects by name; [`run`] decides the order of cells and the
//! fate of their trials; and [`directory`] stores trials.

pub mod directory;
pub(crate) mod file;
pub(crate) mod names;
pub mod run;

use candor_plan::Secrets;
use candor_report::document::{Host, Tool};
use candor_report::experiment::matrix::Heading;
use candor_report::json;
use serde::Serialize;

use crate::error::LabError;
use crate::target::cores::Split;
use crate::target::{Running, TargetSpec};
use file::{FNV_START, fnv};

pub use directory::{Directory, Kind};
pub use file::Head;
pub use run::{Trouble, Watcher};

/// The caller's facts about the whole matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The tool.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// Whether commands and URLs are shown in full.
    pub secrets: Secrets,
    /// The machine of the loader, or of the drivers.
    pub host: Host,
    /// Cores of the target and of the loader, in words.
    pub cores: String,
}

impl About {
    /// The heading of a document without trials yet.
    pub(crate) fn heading(self, head: &Head, rounds: u64, directory: &Directory) -> Heading {
        Heading {
            tool: self.tool,
            arguments: self.arguments,
            name: head.name.clone(),
            about: head.about.clone(),
            file: head.file.clone(),
            started_at: String::new(),
            host: self.host,
            cores: self.cores,
            rounds,
            seed: head.seed,
            fingerprint: directory.fingerprint().to_owned(),
        }
    }
}

/// Identifies a suite together with the options in `typed` that change a trial, and with the
/// content of the `files` that its trials read (`None`: unreadable): a directory contains trials of
/// one such suite only.
///
/// 32 bits distinguish the states of a suite, but are too few to reveal a password in its file.
pub(crate) fn fingerprint(
    head: &Head,
    typed: &impl Serialize,
    files: impl Iterator<Item = Option<Vec<u8>>>,
) -> String {
    let files = files.map(|bytes| bytes.map(|bytes| fnv(FNV_START, &bytes)));
    let asked = (head.fingerprint, typed, files.collect::<Vec<_>>());
    let all = fnv(FNV_START, json::any(&asked).as_bytes());
    format!("{:08x}", (all ^ (all >> 32)) & 0xffff_ffff)
}

/// Adds the item of this name in `from` to `to`, unless it has one.
pub(crate) fn adopt<T: Clone>(to: &mut Vec<T>, from: &[T], name: &str, of: impl Fn(&T) -> &str) {
    if !to.iter().any(|one| of(one) == name) {
        to.extend(from.iter().find(|one| of(one) == name).cloned());
    }
}

/// The cores and the log files of processes that a matrix starts.
#[derive(Debug, Clone)]
pub struct Place {
    /// The split of cores between target and loader.
    pub split: Split,
    /// The directory of the matrix.
    pub directory: Directory,
}

impl Place {
    /// Starts a server. Its output goes to the log of this name.
    pub(crate) fn start(&self, mut spec: TargetSpec, log: &str) -> Result<Running, LabError> {
        spec.cores = Some(self.split.target.clone());
        spec.log = Some(self.directory.log_of(log));
        Running::start(&spec)
    }
}

/// How a server ended, with the last line of its output.
pub(crate) fn ended(how: &str, last: Option<&String>) -> String {
    match last {
        Some(last) => format!("the server ended {how}; its last output: {last}"),
        None => format!("the server ended {how} without any output"),
    }
}

/// The embedded target as a document names it.
pub(crate) fn embedded(arguments: &[String], secrets: Secrets) -> String {
    let program = ["embedded".to_owned()];
    let words: Vec<String> = program.iter().chain(arguments).cloned().collect();
    secrets.command(&words).join(" ")
}
