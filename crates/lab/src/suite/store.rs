//! The directory of a suite run: what is there already, and what is added.
//!
//! Every trial is a result document in `trials/`, written whole or not at all. `suite.json` says
//! which suite the directory is of; another one is refused, because its trials would be mixed with
//! these. Everything else in the directory is made of the trials and can be made again.

use std::fs;
use std::path::{Path, PathBuf};

use candor_report::experiment::suite::FORMAT;
use candor_report::render::json;
use candor_report::{Document, write_atomically};

use crate::error::LabError;

/// The suite's own document.
pub const SUITE_JSON: &str = "suite.json";
/// Where trials are.
const TRIALS: &str = "trials";
/// Where servers' output goes.
const LOGS: &str = "logs";

/// The directory of one suite run.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Makes the directory, or takes up one of the same suite.
    pub fn open(directory: &Path, fingerprint: &str) -> Result<Store, LabError> {
        let store = Store { directory: directory.to_owned() };
        match fs::read_to_string(directory.join(SUITE_JSON)) {
            Ok(text) => store.check_same(&text, fingerprint)?,
            Err(_) if directory.join(SUITE_JSON).exists() => {
                return Err(store.refused("its suite.json cannot be read"));
            }
            Err(_) => {
                let mut entries = fs::read_dir(directory).into_iter().flatten();
                if entries.next().is_some() {
                    return Err(store.refused("it is not empty, and no suite's"));
                }
            }
        }
        for part in [TRIALS, LOGS] {
            let path = directory.join(part);
            fs::create_dir_all(&path).map_err(|error| LabError::File {
                what: "cannot make",
                path: path.display().to_string(),
                reason: error.to_string(),
            })?;
        }
        Ok(store)
    }

    fn check_same(&self, text: &str, fingerprint: &str) -> Result<(), LabError> {
        #[derive(serde::Deserialize)]
        struct Probe {
            format: String,
            fingerprint: String,
        }
        let known: Probe = serde_json::from_str(text)
            .map_err(|error| self.refused(&format!("its suite.json is damaged ({error})")))?;
        if known.format != FORMAT {
            return Err(
                self.refused(&format!("its suite.json is of another version, {}", known.format))
            );
        }
        if known.fingerprint != fingerprint {
            return Err(self.refused(
                "it holds trials of another suite, of an older state of this one, or under other options",
            ));
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> LabError {
        LabError::Usage(format!(
            "{}: {why}; name another directory with --out, or take this one away",
            self.directory.display()
        ))
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Name of a trial's file, from the directory.
    pub fn name_of(key: &str, round: u64) -> String {
        format!("{TRIALS}/{key}.r{round}.json")
    }

    /// Where a server's output goes.
    pub fn log_of(&self, server: &str) -> PathBuf {
        self.directory.join(LOGS).join(format!("{server}.log"))
    }

    /// A trial that is there and whole.
    pub fn trial(&self, key: &str, round: u64) -> Option<Document> {
        let text = fs::read_to_string(self.directory.join(Self::name_of(key, round))).ok()?;
        Document::from_json(&text).ok()
    }

    /// Keeps a trial.
    pub fn keep(&self, key: &str, round: u64, document: &Document) -> Result<(), LabError> {
        self.write(&Self::name_of(key, round), &json::render(document))
    }

    /// Writes a file of the directory.
    pub fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        write_atomically(&self.directory.join(name), text.as_bytes()).map_err(|error| {
            LabError::File {
                what: "cannot write",
                path: error.path.display().to_string(),
                reason: format!("{}; trials that were made are kept", error.cause),
            }
        })
    }
}
