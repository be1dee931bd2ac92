//! Temporary files: one directory for each process, which no other user can enter.
//!
//! Its name is random and it is made new, with mode 0700, so that no other user can prepare it or
//! know the names in it. It is removed with its content when its last holder is dropped; if a
//! signal ends the process first, the keeper of a managed target removes it.
//!
//! A file that must outlive the process (a result whose own file cannot be written, the log of a
//! target that failed) is a [`refuge`] instead: a file of its own.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::{Builder, TempDir};

use crate::trust::check_keeps;

/// The prefix of every name in the system's temporary directory.
const PREFIX: &str = "candor-";

/// The directory of this process.
#[derive(Debug)]
pub struct Private {
    directory: TempDir,
    named: AtomicU64,
}

/// The directory of this process: a new one, unless other code in the process holds it already.
pub fn private() -> io::Result<Arc<Private>> {
    static HELD: Mutex<Weak<Private>> = Mutex::new(Weak::new());
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(private) = held.upgrade() {
        return Ok(private);
    }
    let (parent, mode) = (temporary_directory(), Permissions::from_mode(0o700));
    check_keeps(&parent)?;
    let directory = Builder::new().prefix(PREFIX).permissions(mode).tempdir_in(parent)?;
    let private = Arc::new(Private { directory, named: AtomicU64::new(0) });
    *held = Arc::downgrade(&private);
    Ok(private)
}

impl Private {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A name in it that nothing else has, ending in `kind`.
    pub fn name(&self, kind: &str) -> PathBuf {
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        self.path().join(format!("{number}.{kind}"))
    }
}

/// A new file in the system's temporary directory, readable by this user alone, which stays when the
/// process ends: `candor-RANDOM-NAME`.
pub fn refuge(name: &OsStr) -> io::Result<(File, PathBuf)> {
    let mut suffix = std::ffi::OsString::from("-");
    suffix.push(name);
    let file = Builder::new().prefix(PREFIX).suffix(&suffix).tempfile_in(temporary_directory())?;
    Ok(file.keep()?)
}

/// The system's temporary directory, without links.
#[expect(clippy::disallowed_methods, reason = "the one place that makes private names in it")]
fn temporary_directory() -> PathBuf {
    let directory = std::env::temp_dir();
    fs::canonicalize(&directory).unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn there_is_one_directory_as_long_as_somebody_holds_it() {
        let first = private().unwrap();
        let second = private().unwrap();
        assert_eq!(first.path(), second.path());
        assert_eq!(mode(first.path()), 0o700);
        assert_ne!(first.name("a"), second.name("a"));
        let path = first.path().to_owned();
        fs::write(first.name("a"), "x").unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
        let next = private().unwrap();
        assert_ne!(next.path(), path, "a name is used once");
    }

    #[test]
    fn a_refuge_is_new_and_the_users_alone() {
        let (first, second) = (refuge("r".as_ref()).unwrap().1, refuge("r".as_ref()).unwrap().1);
        assert_ne!(first, second);
        assert_eq!(mode(&first), 0o600);
        assert!(first.to_str().unwrap().ends_with("-r"));
        for file in [first, second] {
            fs::remove_file(file).unwrap();
        }
    }

    #[test]
    fn a_temporary_directory_in_which_others_can_replace_files_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for (mode, keeps) in [(0o755, true), (0o1777, true), (0o777, false), (0o770, false)] {
            fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_keeps(directory.path()).is_ok(), keeps, "{mode:o}");
        }
    }
}
