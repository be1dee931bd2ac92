//! What is in the directory of a matrix of client libraries: a document for each trial, and what the
//! server and the drivers printed.
//!
//! A trial whose counts do not agree with the server's has a name of its own, which no later run takes
//! for a trial: it is made again.

use std::fs;
use std::path::Path;

use candor_report::experiment::clients::{FORMAT, TrialFile};
use candor_report::render::json;

use crate::error::LabError;
use crate::matrix::Directory;
use crate::matrix::directory::{Kind, TRIALS};

/// The document of the whole.
pub const CLIENTS_JSON: &str = "clients.json";

const KIND: Kind = Kind {
    command: "candor clients",
    document: CLIENTS_JSON,
    format: FORMAT,
    foreign: "it is not empty, and not of client libraries",
};

/// The trials of one matrix.
#[derive(Debug, Clone)]
pub struct Store {
    directory: Directory,
}

impl Store {
    /// Makes the directory, or takes up one of the same suite that nobody else is at.
    pub fn open(directory: &Path, fingerprint: &str) -> Result<Store, LabError> {
        Ok(Store { directory: Directory::open(directory, &KIND, fingerprint)? })
    }

    /// The directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Name of a trial's file, from the directory.
    pub fn name_of(key: &str, round: u64, agrees: bool) -> String {
        let wrong = if agrees { "" } else { ".wrong" };
        format!("{TRIALS}/{key}.r{round}{wrong}.json")
    }

    /// A trial that is there, whole, and right.
    pub fn trial(&self, key: &str, round: u64) -> Option<TrialFile> {
        let text = self.directory.read(&Self::name_of(key, round, true))?;
        let trial = TrialFile::from_json(&text).ok()?;
        (trial.trial.agrees() && trial.trial.round == round).then_some(trial)
    }

    /// Keeps a trial. A right one takes the place of a wrong one.
    pub fn keep(&self, key: &str, trial: &TrialFile) -> Result<(), LabError> {
        let (round, agrees) = (trial.trial.round, trial.trial.agrees());
        self.directory.write(&Self::name_of(key, round, agrees), &json::any(trial))?;
        if agrees {
            let _ = fs::remove_file(self.directory.path().join(Self::name_of(key, round, false)));
        }
        Ok(())
    }
}
