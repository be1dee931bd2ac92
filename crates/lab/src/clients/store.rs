//! The directory of a matrix of client libraries: what is there already, and what is added.
//!
//! Every trial is a document in `trials/`, written whole or not at all. `clients.json` says which suite
//! the directory is of; another one is refused, because its trials would be mixed with these. A trial
//! whose counts do not agree with the server's has a name of its own, which no later run takes for a
//! trial: it is made again.

use std::fs;
use std::path::{Path, PathBuf};

use candor_report::experiment::clients::{FORMAT, TrialFile};
use candor_report::render::json;
use candor_report::write_atomically;

use crate::error::LabError;

/// The document of the whole.
pub const CLIENTS_JSON: &str = "clients.json";
/// Where trials are.
const TRIALS: &str = "trials";
/// Where output goes that is meant for people.
const LOGS: &str = "logs";

/// The directory of one matrix.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Makes the directory, or takes up one of the same suite.
    pub fn open(directory: &Path, fingerprint: &str) -> Result<Store, LabError> {
        let store = Store { directory: directory.to_owned() };
        match fs::read_to_string(directory.join(CLIENTS_JSON)) {
            Ok(text) => store.check_same(&text, fingerprint)?,
            Err(_) if directory.join(CLIENTS_JSON).exists() => {
                return Err(store.refused("its clients.json cannot be read"));
            }
            Err(_) => {
                let mut entries = fs::read_dir(directory).into_iter().flatten();
                if entries.next().is_some() {
                    return Err(store.refused("it is not empty, and not of client libraries"));
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
            .map_err(|error| self.refused(&format!("its clients.json is damaged ({error})")))?;
        if known.format != FORMAT {
            let why = format!("its clients.json is of another version, {}", known.format);
            return Err(self.refused(&why));
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
    pub fn name_of(key: &str, round: u64, agrees: bool) -> String {
        let wrong = if agrees { "" } else { ".wrong" };
        format!("{TRIALS}/{key}.r{round}{wrong}.json")
    }

    /// Where the output of a server or a driver goes.
    pub fn log_of(&self, name: &str) -> PathBuf {
        self.directory.join(LOGS).join(format!("{name}.log"))
    }

    /// A trial that is there, whole, and right.
    pub fn trial(&self, key: &str, round: u64) -> Option<TrialFile> {
        let path = self.directory.join(Self::name_of(key, round, true));
        let trial = TrialFile::from_json(&fs::read_to_string(path).ok()?).ok()?;
        (trial.trial.agrees() && trial.trial.round == round).then_some(trial)
    }

    /// Keeps a trial. A right one takes the place of a wrong one.
    pub fn keep(&self, key: &str, trial: &TrialFile) -> Result<(), LabError> {
        let (round, agrees) = (trial.trial.round, trial.trial.agrees());
        self.write(&Self::name_of(key, round, agrees), &json::any(trial))?;
        if agrees {
            let _ = fs::remove_file(self.directory.join(Self::name_of(key, round, false)));
        }
        Ok(())
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
