//! Temporary files: one directory for each process, which no other user can enter.
//!
//! Its name is random and it is made new, with mode 0700, so that no other user can prepare it or
//! know the names in it. It is removed with its content when its last holder is dropped; if the process
//! ends first, the keeper of a managed target removes it, and if that ends too, the next process of the
//! same user that makes a directory here. A lock says whether a directory is in use.
//!
//! A file that must outlive the process (a result whose own file cannot be written, the log of a
//! target that failed) is a [`refuge`] instead: a file of its own.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::{Builder, TempDir};

use crate::trust::check_keeps;

/// The prefix of every name in the system's temporary directory.
const PREFIX: &str = "candor-";
/// The same of directories.
const DIRECTORY: &str = "candor-private-";
/// Tries to make one: another process may remove it before it is locked.
const TRIES: u32 = 10;
/// How long a process that ends waits for a directory that is being made or removed.
const LAST_WAIT: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A holder of the directory of this process.
#[derive(Debug)]
pub struct Private {
    path: PathBuf,
}

/// The directory that there is.
#[derive(Debug)]
struct Held {
    directory: TempDir,
    in_use: InUse,
    holders: usize,
}

static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// As long as this lives, no other process removes the directory as a dead one's.
#[derive(Debug)]
pub struct InUse(File);

impl InUse {
    /// Of the directory at this path, unless it is being removed.
    pub fn of(path: &Path) -> io::Result<InUse> {
        let directory = File::open(path)?;
        flock(&directory, FlockOperation::NonBlockingLockShared)?;
        match fs::metadata(path)?.ino() == directory.metadata()?.ino() {
            true => Ok(InUse(directory)),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Removes the directory, which is at this path, unless another process still uses it after `patience`.
    pub fn give_up(&self, path: &Path, patience: Duration) {
        let end = Instant::now() + patience;
        let is_mine = || flock(&self.0, FlockOperation::NonBlockingLockExclusive).is_ok();
        let mut mine = is_mine();
        while !mine && Instant::now() < end {
            thread::sleep(LOOK_AGAIN);
            mine = is_mine();
        }
        if mine {
            // By another name first: who makes files there finds it no more, but for what is being made at this moment.
            let mut gone = path.as_os_str().to_owned();
            gone.push("-gone");
            let _ = fs::rename(path, &gone);
            let _ = (0..TRIES).find(|_| fs::remove_dir_all(&gone).is_ok());
        }
    }
}

/// The process ends at once: removes its directory, unless a keeper uses it, which does so later. From then on none can
/// be made.
pub fn give_up() {
    let end = Instant::now() + LAST_WAIT;
    let held = loop {
        match HELD.try_lock() {
            Ok(held) => break held,
            Err(TryLockError::Poisoned(held)) => break held.into_inner(),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOOK_AGAIN),
            // The file system hangs; the next process removes what is there.
            Err(TryLockError::WouldBlock) => return,
        }
    };
    if let Some(held) = &*held {
        held.in_use.give_up(held.directory.path(), Duration::ZERO);
    }
    mem::forget(held);
}

/// The directory of this process: a new one, unless other code in the process holds it already.
pub fn private() -> io::Result<Private> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_none() {
        *held = Some(make()?);
    }
    let held = held.as_mut().expect("it was made if there was none");
    held.holders += 1;
    Ok(Private { path: held.directory.path().to_owned() })
}

/// Whether this is in the directory of this process, and is gone when that is.
pub fn is_private(path: &Path) -> bool {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.as_ref().is_some_and(|one| path.starts_with(one.directory.path()))
}

/// A new directory, locked.
fn make() -> io::Result<Held> {
    let (parent, mode) = (temporary_directory(), Permissions::from_mode(0o700));
    check_keeps(&parent)?;
    remove_dead(&parent);
    let make = || -> io::Result<Held> {
        let mode = mode.clone();
        let directory = Builder::new().prefix(DIRECTORY).permissions(mode).tempdir_in(&parent)?;
        // Between these two another process may take it for a dead one's.
        let in_use = InUse::of(directory.path())?;
        Ok(Held { directory, in_use, holders: 0 })
    };
    let mut made = make();
    for _ in 1..TRIES {
        if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            made = make();
        }
    }
    made
}

/// Removes directories of this user's processes that ended without doing so.
fn remove_dead(parent: &Path) {
    let own = geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(DIRECTORY) {
            continue;
        }
        let is_own = |found: &Metadata| {
            found.is_dir() && found.uid() == own && found.permissions().mode() & 0o777 == 0o700
        };
        // The metadata of an entry are those of a link itself.
        if entry.metadata().is_ok_and(|found| is_own(&found))
            && let Ok(directory) = File::open(entry.path())
        {
            InUse(directory).give_up(&entry.path(), Duration::ZERO);
        }
    }
}

impl Private {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name in it that nothing else has, ending in `kind`.
    pub fn name(&self, kind: &str) -> PathBuf {
        static NAMED: AtomicU64 = AtomicU64::new(0);
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        self.path().join(format!("{number}.{kind}"))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = &mut *held {
            directory.holders -= 1;
            if directory.holders == 0 {
                *held = None;
            }
        }
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
    fn a_dead_process_leaves_its_directory_to_the_next_one() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("0.log"), "x").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let dead = make("candor-private-dead", 0o700);
        let alive = make("candor-private-alive", 0o700);
        let held = InUse::of(&alive).unwrap();
        // Not made by this program, or not for this purpose.
        let others = [make("candor-private-open", 0o755), make("candor-abc-target.log", 0o700)];
        let link = parent.path().join("candor-private-link");
        std::os::unix::fs::symlink(&others[0], &link).unwrap();
        remove_dead(parent.path());
        assert!(!dead.exists() && alive.join("0.log").exists());
        assert!(others.iter().all(|one| one.join("0.log").exists()) && link.exists());
        // One of two gives it up, and then the other.
        let other = InUse::of(&alive).unwrap();
        held.give_up(&alive, Duration::ZERO);
        assert!(alive.exists());
        other.give_up(&alive, Duration::ZERO);
        assert!(!alive.exists() && InUse::of(&alive).is_err());
    }

    #[test]
    fn a_process_that_is_just_ending_is_waited_for() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("candor-private-ending");
        fs::create_dir(&path).unwrap();
        let (starter, keeper) = (InUse::of(&path).unwrap(), InUse::of(&path).unwrap());
        let ending = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(starter);
        });
        keeper.give_up(&path, Duration::from_mins(1));
        ending.join().unwrap();
        assert!(!path.exists());
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
