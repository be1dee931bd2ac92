//! The last results, kept for `candor report last`: a bounded number of documents, as `--json` writes
//! them, in the user's state directory. Each is of the working directory that its command ran in, so that shells and
//! jobs in other directories do not see it.
//!
//! It is a convenience: a result that cannot be kept never fails a command.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_files::{Limits, Store};
use candor_plan::redact::{FNV_START, fnv};

use crate::console;
use crate::exit::UserError;

/// Of all working directories together.
const LIMITS: Limits = Limits { files: 100, bytes: 64 << 20 };
/// The word for the last result of the working directory in place of a file; with a number after it, for an earlier one.
const WORD: &str = "last";

/// Keeps a result; returns whether it is kept.
pub(crate) fn keep(quiet: bool, document: impl FnOnce() -> String) -> bool {
    // Without a home directory, there is no place for it.
    let Some(directory) = directory() else { return false };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{:013}-{}{}", since.as_millis(), std::process::id(), end_of_name());
    let kept =
        Store::create(&directory).and_then(|store| store.add(&name, document().as_bytes(), LIMITS));
    if let Err(error) = &kept
        && !quiet
    {
        console::say(format_args!(
            "candor: the result is not kept in {}: {error}; --no-keep turns this off",
            directory.display()
        ));
    }
    kept.is_ok()
}

/// The file for `last`, or for `last-1` the one before it; `None` for other words.
pub(crate) fn find(word: &Path) -> Option<Result<PathBuf, UserError>> {
    let rest = word.to_str()?.strip_prefix(WORD)?;
    let before = match rest.strip_prefix('-') {
        Some(number) => number.parse::<usize>().ok()?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    Some(kept(before))
}

fn kept(before: usize) -> Result<PathBuf, UserError> {
    let none = |why: String| {
        UserError::could_not_run(format!("no result is kept{why}; make a run, or name a file"))
    };
    let directory =
        directory().ok_or_else(|| none(": neither XDG_STATE_HOME nor HOME is set".to_owned()))?;
    let place = directory.display();
    let files = Store::open(&directory).and_then(|store| store.files());
    let files = files.map_err(|error| none(format!(" in {place}: {error}")))?;
    let end = end_of_name();
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.to_string_lossy().ends_with(&end));
    match (here.get(before), elsewhere.first()) {
        (Some(file), _) => Ok(file.clone()),
        (None, Some(other)) if here.is_empty() => {
            let other = other.display();
            Err(none(format!(" of this directory; the last one of another directory is {other}")))
        }
        (None, _) if here.is_empty() => Err(none(format!(" in {place}"))),
        (None, _) => {
            let count = here.len();
            Err(none(format!(" that is {before} before the last; this directory has {count}")))
        }
    }
}

/// The end of the names of results of the working directory.
fn end_of_name() -> String {
    let here = std::env::current_dir().unwrap_or_default();
    format!("-{:016x}.json", fnv(FNV_START, here.as_os_str().as_encoded_bytes()))
}

/// `$XDG_STATE_HOME/candor`, by default `~/.local/state/candor`.
fn directory() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("candor"))
}
