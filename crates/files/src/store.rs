//! A store: a bounded number of files that this program keeps for itself, in a directory of the
//! user's own, e.g. the last results.
//!
//! No other user can read them or choose their content: the directory is made with mode 0700 and
//! refused where another user could have put it there, and a file is made with mode 0600 under a
//! new name. Its name becomes visible when the file is whole, so several processes can use a store
//! at once.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::trust::{is_trusted, refuse_foreign_links};

/// Behind the name of a file that is not whole yet.
const PARTIAL: &str = ".partial";
/// Files that are not whole and older than this were left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// How much a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files at most.
    pub files: usize,
    /// Bytes of all files at most.
    pub bytes: u64,
}

/// A directory of files that are kept.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// The store in `directory`, which is made if it is missing.
    pub fn create(directory: &Path) -> io::Result<Store> {
        refuse_foreign_links(directory)?;
        let existing = directory.ancestors().find(|one| one.exists()).unwrap_or(directory);
        // Root in the home of a user would make directories that the user cannot use.
        if !is_trusted(&fs::metadata(existing)?) {
            return Err(foreign(existing));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Store::open(directory)
    }

    /// The store in `directory`, which must be there.
    pub fn open(directory: &Path) -> io::Result<Store> {
        refuse_foreign_links(directory)?;
        let found = fs::metadata(directory)?;
        if !is_trusted(&found) || found.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(foreign(directory));
        }
        Ok(Store { directory: directory.to_owned() })
    }

    /// Adds a file, and removes those that come first by name until `limits` are kept.
    ///
    /// It is not forced to the disk: a command must not wait for that, and the stored files are a
    /// convenience.
    pub fn add(&self, name: &str, bytes: &[u8], limits: Limits) -> io::Result<()> {
        if bytes.len() as u64 > limits.bytes {
            return Err(io::Error::other("it is too large"));
        }
        let mut file = tempfile::Builder::new()
            .prefix(&format!("{name}."))
            .suffix(PARTIAL)
            .tempfile_in(&self.directory)?;
        file.write_all(bytes)?;
        file.persist(self.directory.join(name))?;
        self.prune(limits)
    }

    /// Its files, the last by name first.
    pub fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if !is_partial(&path) {
                files.push(path);
            }
        }
        files.sort_unstable_by(|one, other| other.cmp(one));
        Ok(files)
    }

    fn prune(&self, limits: Limits) -> io::Result<()> {
        let mut bytes = 0u64;
        for (nth, path) in (1..).zip(self.files()?) {
            // Another process may have removed it.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            bytes = bytes.saturating_add(found.len());
            if found.is_file() && (nth > limits.files || bytes > limits.bytes) {
                let _ = fs::remove_file(&path);
            }
        }
        for entry in fs::read_dir(&self.directory)?.flatten() {
            let age = entry.metadata().and_then(|found| found.modified());
            let age = age.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
            if is_partial(&entry.path()) && age.is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

fn is_partial(path: &Path) -> bool {
    path.to_string_lossy().ends_with(PARTIAL)
}

fn foreign(directory: &Path) -> io::Error {
    io::Error::other(format!("other users can change {}", directory.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const LIMITS: Limits = Limits { files: 3, bytes: 10 };

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(store: &Store) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        store.files().unwrap().into_iter().map(name).collect()
    }

    #[test]
    fn directory_and_files_are_the_users_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state/candor");
        assert!(Store::open(&path).is_err());
        let store = Store::create(&path).unwrap();
        store.add("1", b"one", LIMITS).unwrap();
        assert_eq!((mode(&path), mode(&path.join("1"))), (0o700, 0o600));
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(fs::read(path.join("1")).unwrap(), b"one");
        assert_eq!(names(&Store::open(&path).unwrap()), ["1"]);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_too_much() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::create(home.path()).unwrap();
        for name in ["1", "2", "3", "4"] {
            store.add(name, b"x", LIMITS).unwrap();
        }
        assert_eq!(names(&store), ["4", "3", "2"]);
        store.add("5", b"12345678", LIMITS).unwrap();
        assert_eq!(names(&store), ["5", "4", "3"]);
        store.add("6", b"12345678", LIMITS).unwrap();
        assert_eq!(names(&store), ["6"]);
        assert!(store.add("7", b"12345678901", LIMITS).is_err());
        assert_eq!(names(&store), ["6"], "what is too large pushes nothing out");
    }

    #[test]
    fn what_was_left_half_written_goes_after_a_day() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::create(home.path()).unwrap();
        let (old, new) = (home.path().join("1.a.partial"), home.path().join("2.b.partial"));
        for path in [&old, &new] {
            fs::write(path, "x").unwrap();
        }
        let before = SystemTime::now() - 2 * ABANDONED;
        fs::File::options().write(true).open(&old).unwrap().set_modified(before).unwrap();
        store.add("3", b"x", LIMITS).unwrap();
        assert_eq!((old.exists(), new.exists()), (false, true));
        assert_eq!(names(&store), ["3"]);
    }

    #[test]
    fn several_add_at_once() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = home.path();
                scope.spawn(move || {
                    let store = Store::create(path).unwrap();
                    for n in 0..50 {
                        store.add(&format!("{n:02}-{thread}"), b"x", LIMITS).unwrap();
                    }
                });
            }
        });
        let left = fs::read_dir(home.path()).unwrap().count();
        assert_eq!(left, LIMITS.files);
    }

    #[test]
    fn a_directory_that_others_can_change_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("shared");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(Store::create(&path).is_err());
        if !rustix::process::geteuid().is_root() {
            // Only root can give a file away.
            return;
        }
        let theirs = home.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        chown(&theirs, Some(54321), None).unwrap();
        assert!(Store::create(&theirs).is_err());
        assert!(Store::create(&theirs.join("state/candor")).is_err());
        assert!(!theirs.join("state").exists());
        let link = home.path().join("link");
        symlink(home.path(), &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(54321), None).unwrap();
        assert!(Store::create(&link.join("state")).is_err());
    }
}
