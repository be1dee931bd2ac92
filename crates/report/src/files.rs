//! Writing a result so that it is either there whole or not there at all.
//!
//! The bytes come from the caller; nothing here knows what they mean.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}; nothing was changed there, choose another path or free some space", .path.display())]
pub struct WriteError {
    /// The file that was asked for.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub cause: io::Error,
}

/// Writes `bytes` to `path` by way of a temporary file in the same directory.
///
/// A reader sees the old file or the new one, never half of it. On failure the temporary file is
/// removed. A symbolic link stays one: the file that it names is replaced. A path that is a
/// device or a pipe is written to as it is, because it cannot be replaced.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let with_path = |cause| WriteError { path: path.to_owned(), cause };
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file() && !meta.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(path).map_err(with_path)?;
        return device.write_all(bytes).and_then(|()| device.flush()).map_err(with_path);
    }
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (temporary, file) = create_beside(&place).map_err(with_path)?;
    let written = fill(file, bytes, existing.map(|meta| meta.permissions()))
        .and_then(|()| fs::rename(&temporary, &place));
    if let Err(cause) = written {
        // The first failure is the one to report; a temporary file that stays is the lesser evil.
        let _ = fs::remove_file(&temporary);
        return Err(with_path(cause));
    }
    sync_directory(&place);
    Ok(())
}

/// Creates a new file next to `place`.
fn create_beside(place: &Path) -> io::Result<(PathBuf, File)> {
    let name = place.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let mut attempt = 0u32;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let temporary = place.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
            Ok(file) => return Ok((temporary, file)),
        }
    }
}

fn fill(mut file: File, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// Makes the rename itself durable where the file system allows it; the content already is.
fn sync_directory(place: &Path) {
    let directory = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.json");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(directory.path()), ["result.json"]);
    }

    #[test]
    fn the_error_names_path_and_cause() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing").join("result.json");
        let error = write_atomically(&path, b"x").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("missing/result.json"), "{text}");
        assert!(text.contains("No such file or directory"), "{text}");
    }

    #[test]
    fn a_failed_rename_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"x").is_err());
        assert_eq!(names(directory.path()), ["taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, b"old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error_and_stays_a_device() {
        let error = write_atomically(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
}
