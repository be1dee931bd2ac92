//! What is in the directory of a suite run: a result document for each trial, what servers printed, and
//! their profiles.

use std::path::{Path, PathBuf};

use candor_report::Document;
use candor_report::experiment::suite::FORMAT;
use candor_report::render::json;

use crate::error::LabError;
use crate::matrix::Directory;
use crate::matrix::directory::{Kind, TRIALS};

/// The suite's own document.
pub const SUITE_JSON: &str = "suite.json";
/// Where profiles go, if there are any.
const PROFILES: &str = "profiles";

const KIND: Kind = Kind {
    command: "candor bench",
    document: SUITE_JSON,
    format: FORMAT,
    foreign: "it is not empty, and no suite's",
};

/// The trials of one suite run.
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
    pub fn name_of(key: &str, round: u64) -> String {
        format!("{TRIALS}/{key}.r{round}.json")
    }

    /// Where a trial's profile goes.
    pub fn profile_of(&self, key: &str, round: u64) -> Result<PathBuf, LabError> {
        Ok(self.directory.folder(PROFILES)?.join(format!("{key}.r{round}.profile")))
    }

    /// A trial that is there and whole.
    pub fn trial(&self, key: &str, round: u64) -> Option<Document> {
        Document::from_json(&self.directory.read(&Self::name_of(key, round))?).ok()
    }

    /// Keeps a trial.
    pub fn keep(&self, key: &str, round: u64, document: &Document) -> Result<(), LabError> {
        self.directory.write(&Self::name_of(key, round), &json::render(document))
    }
}
