//! Matrices: a suite's cells, each measured in several rounds, into one directory.
//!
//! What suites of servers ([`crate::suite`]) and of client libraries ([`crate::clients`]) have in
//! common. What a cell is, how a trial of it is made and what its document says are theirs. Here are
//! `file`, which reads what every suite's file has; `names`, choice by name; [`run`], in which order
//! cells are measured and what becomes of their trials; and [`directory`], where trials are kept.

pub mod directory;
pub(crate) mod file;
pub(crate) mod names;
pub mod run;

use candor_plan::Secrets;
use candor_report::document::{Host, Tool};
use candor_report::experiment::matrix::Heading;
use candor_report::render::json;
use serde::Serialize;

use crate::error::LabError;
use crate::target::cores::Split;
use crate::target::{Running, TargetSpec};
use file::{FNV_START, fnv};

pub use directory::{Directory, Kind};
pub use file::Head;
pub use run::{Trouble, Watcher};

/// What the caller knows of the whole.
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
    /// Cores of what is measured and of what measures it, in words.
    pub cores: String,
}

impl About {
    /// The heading of a document in which there are no trials yet.
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

/// What came of a matrix.
#[derive(Debug)]
pub struct Outcome<D> {
    /// The document, of all trials that are there.
    pub document: D,
    /// Why it ended before all trials were made.
    pub stopped: Option<LabError>,
}

/// Identifies a suite together with what was `typed` and changes what a trial is, and with what is in the
/// `files` that its trials read (`None`: it cannot be read): a directory holds trials of one only.
///
/// 32 bits tell states of a suite apart, and are few enough that a password in its file cannot be worked
/// out from them.
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

/// Where what a matrix starts has its cores, and where what it prints is kept.
#[derive(Debug, Clone)]
pub struct Place {
    /// Who has which cores.
    pub split: Split,
    /// The matrix' own.
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

/// How a server ended, with the last that it said.
pub(crate) fn ended(how: &str, last: Option<&String>) -> String {
    match last {
        Some(last) => format!("the server ended {how}; the last it said: {last}"),
        None => format!("the server ended {how} without a word"),
    }
}

/// The embedded target as a document names it.
pub(crate) fn embedded(arguments: &[String], secrets: Secrets) -> String {
    let program = ["embedded".to_owned()];
    let words: Vec<String> = program.iter().chain(arguments).cloned().collect();
    secrets.command(&words).join(" ")
}
