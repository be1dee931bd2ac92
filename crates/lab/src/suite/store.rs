//! The directory of a suite run: what is there already, and what is added.
//!
//! Every trial is a result document in `trials/`, written whole or not at all. `suite.json` says
//! which suite the directory is of; another one is refused, because its trials would be mixed with
//! these. For the same reason one process at a time has the directory, by a lock. Everything else in
//! it is made of the trials and can be made again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_report::experiment::suite::FORMAT;
use candor_report::render::json;
use candor_report::{Document, write_atomically};
use rustix::fs::{FlockOperation, flock};

use crate::error::LabError;

/// The suite's own document.
pub const SUITE_JSON: &str = "suite.json";
/// Where trials are.
const TRIALS: &str = "trials";
/// Where servers' output goes.
const LOGS: &str = "logs";
/// Where profiles go, if there are any.
const PROFILES: &str = "profiles";
/// Who has the directory.
const LOCK: &str = ".lock";

/// The directory of one suite run, which is nobody else's as long as a clone of this lives.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    _lock: Arc<Lock>,
}

/// A file that one process at a time holds, with its number in it. The kernel lets go of it when
/// the process ends, however that comes about, so the file itself means nothing and stays.
#[derive(Debug)]
struct Lock {
    _file: File,
}

impl Lock {
    /// `None`: somebody else has it, and who, if that can be told.
    fn take(path: &Path) -> io::Result<Result<Lock, Option<u32>>> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                file.set_len(0)?;
                file.rewind()?;
                writeln!(file, "{}", std::process::id())?;
                Ok(Ok(Lock { _file: file }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                Ok(Err(text.trim().parse().ok()))
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Store {
    /// Makes the directory, or takes up one of the same suite that nobody else is at.
    pub fn open(directory: &Path, fingerprint: &str) -> Result<Store, LabError> {
        // Looked at first: what is not a suite's gets no lock either.
        check_ours(directory)?;
        make(directory)?;
        let lock = match Lock::take(&directory.join(LOCK)) {
            Ok(Ok(lock)) => lock,
            Ok(Err(holder)) => return Err(held(directory, holder)),
            Err(error) => {
                return Err(LabError::File {
                    what: "cannot lock",
                    path: directory.join(LOCK).display().to_string(),
                    reason: error.to_string(),
                });
            }
        };
        // Whoever had it before may have written it.
        if let Some(text) = check_ours(directory)? {
            check_same(directory, &text, fingerprint)?;
        }
        for part in [TRIALS, LOGS] {
            make(&directory.join(part))?;
        }
        Ok(Store { directory: directory.to_owned(), _lock: Arc::new(lock) })
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

    /// Where a trial's profile goes.
    pub fn profile_of(&self, key: &str, round: u64) -> Result<PathBuf, LabError> {
        let profiles = self.directory.join(PROFILES);
        make(&profiles)?;
        Ok(profiles.join(format!("{key}.r{round}.profile")))
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

/// The text of the suite's document, if there is one. A directory of somebody else's is refused.
fn check_ours(directory: &Path) -> Result<Option<String>, LabError> {
    match fs::read_to_string(directory.join(SUITE_JSON)) {
        Ok(text) => Ok(Some(text)),
        Err(_) if directory.join(SUITE_JSON).exists() => {
            Err(refused(directory, "its suite.json cannot be read"))
        }
        Err(_) => {
            // One in which nothing was measured yet has these, and nothing in them.
            let is_empty =
                |path: PathBuf| fs::read_dir(path).is_ok_and(|mut all| all.next().is_none());
            let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let is_foreign = entries.any(|entry| match entry.file_name().to_str() {
                Some(LOCK) => false,
                Some(TRIALS | LOGS) => !is_empty(entry.path()),
                _ => true,
            });
            match is_foreign {
                true => Err(refused(directory, "it is not empty, and no suite's")),
                false => Ok(None),
            }
        }
    }
}

fn check_same(directory: &Path, text: &str, fingerprint: &str) -> Result<(), LabError> {
    #[derive(serde::Deserialize)]
    struct Probe {
        format: String,
        fingerprint: String,
    }
    let known: Probe = serde_json::from_str(text)
        .map_err(|error| refused(directory, &format!("its suite.json is damaged ({error})")))?;
    if known.format != FORMAT {
        let why = format!("its suite.json is of another version, {}", known.format);
        return Err(refused(directory, &why));
    }
    if known.fingerprint != fingerprint {
        return Err(refused(
            directory,
            "it holds trials of another suite, of an older state of this one, or under other options",
        ));
    }
    Ok(())
}

fn refused(directory: &Path, why: &str) -> LabError {
    LabError::Usage(format!(
        "{}: {why}; name another directory with --out, or take this one away",
        directory.display()
    ))
}

fn held(directory: &Path, holder: Option<u32>) -> LabError {
    let who = holder.map_or("another process".to_owned(), |pid| format!("process {pid}"));
    LabError::Usage(format!(
        "{}: another candor bench ({who}) is measuring into it; wait until it has ended, end it, or name \
         another directory with --out",
        directory.display()
    ))
}

fn make(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(|error| LabError::File {
        what: "cannot make",
        path: path.display().to_string(),
        reason: error.to_string(),
    })
}
