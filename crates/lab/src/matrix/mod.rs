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

use crate::error::LabError;

pub use directory::Directory;
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

/// A fingerprint as a document has it. 32 bits tell states of a suite apart, and are few enough that a
/// password in its file cannot be worked out from them.
pub(crate) fn shown(fingerprint: u64) -> String {
    format!("{:08x}", (fingerprint ^ (fingerprint >> 32)) & 0xffff_ffff)
}

/// The embedded target as a document names it.
pub(crate) fn embedded(arguments: &[String], secrets: Secrets) -> String {
    let program = ["embedded".to_owned()];
    let words: Vec<String> = program.iter().chain(arguments).cloned().collect();
    secrets.command(&words).join(" ")
}
