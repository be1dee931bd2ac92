//! The directory of a matrix, which belongs to one suite and is used by one process at a time.
//!
//! Every trial is a file in `trials/`, written whole or not at all. The document of the whole names
//! the suite of the directory and its machine; another suite or machine is refused, because its trials would be mixed
//! with these. For the same reason a lock admits one process at a time. It also has the rows of what the present
//! command did not select. Everything else in the directory is made from the trials and that document. The two kinds of
//! suites define the content of a trial's file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_files::{create_directory, write_atomically};
use candor_report::document::Host;
use candor_report::experiment::history::machine_in_words;
use candor_report::experiment::matrix::Heading;
use candor_report::json;
use candor_report::read::text_of;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::error::LabError;

/// The folder of trials.
const TRIALS: &str = "trials";
/// The folder for the output of servers and drivers.
const LOGS: &str = "logs";
/// The lock, which names the process that holds it.
const LOCK: &str = ".lock";

/// The contents of directories of one kind of suite: [`crate::suite::KIND`],
/// [`crate::clients::KIND`].
#[derive(Debug)]
pub struct Kind {
    /// The command that measures into it.
    pub(crate) command: &'static str,
    /// The name of the document of the whole.
    pub(crate) document: &'static str,
    /// The document's format.
    pub(crate) format: &'static str,
    /// The error for a directory that another program made.
    pub(crate) foreign: &'static str,
}

/// The directory of one matrix, locked for as long as a clone of this lives.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    kind: &'static Kind,
    fingerprint: String,
    _lock: Arc<Lock>,
}

/// A lock file, which one process at a time holds, with that process's id in it. The kernel
/// releases the lock when the process ends in any way, so a leftover file means nothing.
#[derive(Debug)]
struct Lock {
    _file: File,
}

impl Lock {
    /// The inner error: another process holds the lock, with its id if known.
    fn take(path: &Path) -> io::Result<Result<Lock, Option<u32>>> {
        let mut file =
            candor_files::open(path, OpenOptions::new().read(true).write(true).create(true))?;
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

impl Directory {
    /// Makes the directory, or opens one of the same suite that no other process uses, with trials of this machine.
    pub fn open(
        path: &Path,
        kind: &'static Kind,
        fingerprint: &str,
        host: &Host,
    ) -> Result<Self, LabError> {
        // Checked first: a directory that is not ours gets no lock either.
        kind.check_ours(path)?;
        make(path)?;
        let lock = match Lock::take(&path.join(LOCK)) {
            Ok(Ok(lock)) => lock,
            Ok(Err(holder)) => return Err(kind.held(path, holder)),
            Err(error) => {
                return Err(LabError::File {
                    what: "cannot lock",
                    path: path.join(LOCK).display().to_string(),
                    reason: error.to_string(),
                });
            }
        };
        // The previous owner may have written it while we waited for the lock.
        if let Some(text) = kind.check_ours(path)? {
            kind.check_same(path, &text, fingerprint, host)?;
        }
        for part in [TRIALS, LOGS] {
            make(&path.join(part))?;
        }
        let (path, fingerprint) = (path.to_owned(), fingerprint.to_owned());
        Ok(Directory { path, kind, fingerprint, _lock: Arc::new(lock) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies the suite of its trials.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Path of a trial's file within the directory. A file with a `mark` is kept for inspection only;
    /// later runs do not count it as a trial.
    pub fn trial(key: &str, round: u64, mark: &str) -> String {
        format!("{TRIALS}/{key}.r{round}{mark}.json")
    }

    /// Where the output of a server or a driver goes.
    pub(crate) fn log_of(&self, name: &str) -> PathBuf {
        self.path.join(LOGS).join(format!("{name}.log"))
    }

    /// Creates an optional folder in it.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, LabError> {
        let folder = self.path.join(name);
        make(&folder)?;
        Ok(folder)
    }

    /// The text of a file in it, if there is one.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        text_of(&self.path.join(name)).ok()
    }

    /// The text of the document of the whole as it was left, if there is one.
    pub(crate) fn earlier(&self) -> Option<String> {
        self.read(self.kind.document)
    }

    /// Keeps of a cell's earlier trials those that the command does not make, beyond its `rounds`, and whose files are still
    /// there. `of` says round, file and begin of a trial.
    pub(crate) fn keep<T>(
        &self,
        trials: &mut Vec<T>,
        rounds: u64,
        heading: &mut Heading,
        of: impl Fn(&T) -> (u64, &str, &str),
    ) {
        trials.retain(|trial| {
            let (round, file, started_at) = of(trial);
            let name = file.strip_prefix(TRIALS).and_then(|rest| rest.strip_prefix('/'));
            let is_ours = name.is_some_and(|name| !name.contains('/'));
            let is_kept = round > rounds && is_ours && self.path.join(file).is_file();
            if is_kept {
                heading.began(started_at);
            }
            is_kept
        });
    }

    /// Writes the document of the whole.
    pub(crate) fn save(&self, document: &impl Serialize) -> Result<(), LabError> {
        self.write(self.kind.document, &json::any(document))
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        write_atomically(&self.path.join(name), text.as_bytes()).map_err(|error| LabError::File {
            what: "cannot write",
            path: error.path.display().to_string(),
            reason: format!("{}; finished trials are kept", error.cause),
        })
    }
}

impl Kind {
    /// The text of the document of the whole, if there is one. Refuses a directory that is not
    /// Candor's.
    fn check_ours(&self, path: &Path) -> Result<Option<String>, LabError> {
        match text_of(&path.join(self.document)) {
            Ok(text) => Ok(Some(text)),
            Err(_) if path.join(self.document).exists() => {
                Err(refused(path, &format!("its {} cannot be read", self.document)))
            }
            Err(_) => {
                // A directory without measurements has only these, and they are empty.
                let is_empty =
                    |path: PathBuf| fs::read_dir(path).is_ok_and(|mut all| all.next().is_none());
                let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
                let is_foreign = entries.any(|entry| match entry.file_name().to_str() {
                    Some(LOCK) => false,
                    Some(TRIALS | LOGS) => !is_empty(entry.path()),
                    _ => true,
                });
                match is_foreign {
                    true => Err(refused(path, self.foreign)),
                    false => Ok(None),
                }
            }
        }
    }

    fn check_same(
        &self,
        path: &Path,
        text: &str,
        fingerprint: &str,
        host: &Host,
    ) -> Result<(), LabError> {
        #[derive(serde::Deserialize)]
        struct Probe {
            format: String,
            fingerprint: String,
            host: Host,
        }
        let document = self.document;
        let known: Probe = serde_json::from_str(text)
            .map_err(|error| refused(path, &format!("its {document} is damaged ({error})")))?;
        if known.format != self.format {
            let why = format!("its {document} has another version, {}", known.format);
            return Err(refused(path, &why));
        }
        if known.fingerprint != fingerprint {
            return Err(refused(
                path,
                "it has trials of another suite, of an older state of this one, with other \
                 options, or of an earlier version of candor",
            ));
        }
        let (before, now) = (&known.host, host);
        let [before, now] = [before, now].map(|one| machine_in_words(std::iter::once(one)));
        if before != now {
            let why = format!("its trials are of another machine ({before}; this one: {now})");
            return Err(refused(path, &why));
        }
        Ok(())
    }

    fn held(&self, path: &Path, holder: Option<u32>) -> LabError {
        LabError::Held { path: path.to_owned(), command: self.command, holder }
    }
}

fn refused(path: &Path, why: &str) -> LabError {
    LabError::NotOurs { path: path.to_owned(), why: why.to_owned() }
}

fn make(path: &Path) -> Result<(), LabError> {
    create_directory(path)
        .map_err(|error| LabError::NoDirectory { path: path.to_owned(), reason: error.to_string() })
}
