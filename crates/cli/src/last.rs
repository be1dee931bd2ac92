//! The last results, kept for `candor report last`: a bounded number of documents, as `--json` writes
//! them, in the user's state directory.
//!
//! It is a convenience: a result that cannot be kept never fails a command.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_files::{Limits, Store};

use crate::console;
use crate::exit::UserError;

const LIMITS: Limits = Limits { files: 10, bytes: 64 << 20 };
/// The word for the last result in place of a file; with a number after it, for an earlier one.
const WORD: &str = "last";

/// Keeps a result; returns whether it is kept.
pub(crate) fn keep(quiet: bool, document: impl FnOnce() -> String) -> bool {
    // Without a home directory, there is no place for it.
    let Some(directory) = directory() else { return false };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{:013}-{}.json", since.as_millis(), std::process::id());
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
    match files.get(before) {
        Some(file) => Ok(file.clone()),
        None => Err(none(match before {
            0 => format!(" in {place}"),
            before => format!(" that is {before} before the last; {place} has {}", files.len()),
        })),
    }
}

/// `$XDG_STATE_HOME/candor`, by default `~/.local/state/candor`.
fn directory() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("candor"))
}
