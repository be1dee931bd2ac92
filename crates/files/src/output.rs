//! Outputs: files whose path the user named.
//!
//! Links of the user's own are followed. In a directory that other users can write, e.g. `/tmp`, a
//! link is refused, and so is a file of another user: that user would choose the file to overwrite,
//! or own the new content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use tempfile::TempPath;

use crate::trust::{Place, directory_of, refuse_foreign_links};

/// How long a pipe may have no reader.
const READER_PATIENCE: Duration = Duration::from_secs(1);

/// Behind the name of a file that is not whole yet.
const PARTIAL: &str = ".partial";

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}; nothing was changed there, choose another path or free some space", .path.display())]
pub struct WriteError {
    /// The file that was asked for.
    pub path: PathBuf,
    /// The system's message.
    #[source]
    pub cause: io::Error,
}

/// Writes `bytes` to `path` through a [`Draft`], which is removed on failure.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let write = || {
        let mut draft = Draft::create(path)?;
        draft.file().write_all(bytes)?;
        draft.finish()
    };
    write().map_err(|cause| WriteError { path: path.to_owned(), cause })
}

/// Opens a file that is written from its beginning, and in its place.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open(path, OpenOptions::new().write(true).create(true))?;
    // Only now: the existing file may not be ours to truncate.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens a file that is written behind its end.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true).create(true))
}

/// Opens an output with these options, which must not truncate.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let place = Place::of(path)?;
    let link = if place.is_shared() { OFlags::NOFOLLOW } else { OFlags::empty() };
    let is_pipe = fs::metadata(&place.path).is_ok_and(|found| found.file_type().is_fifo());
    let wait = if is_pipe { OFlags::NONBLOCK } else { OFlags::empty() };
    options.custom_flags((link | wait).bits().cast_signed());
    let file =
        if is_pipe { open_pipe(&place.path, options)? } else { options.open(&place.path)? };
    // Another user may have been quick between the look and the opening.
    place.check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a named pipe as soon as it has a reader. The system would wait for one whatever signal comes.
fn open_pipe(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                if begun.elapsed() >= READER_PATIENCE {
                    let why = "nobody reads this pipe; start its reader first";
                    return Err(io::Error::new(error.kind(), why));
                }
                thread::sleep(Duration::from_millis(5));
            }
            opened => {
                let file = opened?;
                fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                return Ok(file);
            }
        }
    }
}

/// Says why another user could choose the content of `path`, if so; for files that another program
/// will write.
pub fn check(path: &Path) -> io::Result<()> {
    Place::of(path).map(drop)
}

/// Makes a directory for outputs, and those that it is in. One that is there is taken unless
/// another user could have put it there.
pub fn create_directory(path: &Path) -> io::Result<()> {
    refuse_foreign_links(directory_of(path))?;
    fs::create_dir_all(path)?;
    Place::of(path).map(drop)
}

/// A file on its way to its place.
///
/// It grows beside its place under a name of its own, `NAME.RANDOM.partial`, which is made new and
/// never opened if it exists. [`Draft::finish`] gives it its own name, so a reader sees the old file
/// or the whole new one. A link of the user's own stays one: the file that it names is replaced. A
/// device or a pipe cannot be replaced and is written as it is.
#[derive(Debug)]
pub struct Draft {
    place: PathBuf,
    file: File,
    /// `None`: it is a device or a pipe.
    partial: Option<TempPath>,
}

impl Draft {
    /// Begins it. When this is dropped, the partial file is removed.
    pub fn create(path: &Path) -> io::Result<Draft> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let file = open(path, OpenOptions::new().write(true))?;
            return Ok(Draft { place: path.to_owned(), file, partial: None });
        }
        let place = Place::of(path)?.path;
        let mut name =
            place.file_name().ok_or_else(|| io::Error::other("the path names no file"))?.to_owned();
        name.push(".");
        let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let (file, partial) = tempfile::Builder::new()
            .prefix(&name)
            .suffix(PARTIAL)
            .make_in(directory_of(&place), new)?
            .into_parts();
        Ok(Draft { place, file, partial: Some(partial) })
    }

    /// Where its bytes go.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Where its bytes are, until it is finished.
    pub fn path(&self) -> &Path {
        self.partial.as_deref().unwrap_or(&self.place)
    }

    /// From now on the partial file stays, unless this is [discarded](Draft::discard).
    pub fn outlive(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.disable_cleanup(true);
        }
    }

    /// Gives it its own name, durably, and the permissions of the file that it replaces.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(partial) = &self.partial else { return self.file.flush() };
        if let Ok(existing) = fs::metadata(&self.place) {
            self.file.set_permissions(existing.permissions())?;
        }
        self.file.sync_all()?;
        fs::rename(partial, &self.place)?;
        self.outlive();
        // Makes the name durable where the file system allows it; the content already is.
        if let Ok(directory) = File::open(directory_of(&self.place)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }

    /// Removes the partial file.
    pub fn discard(self) {
        if let Some(mut partial) = self.partial {
            partial.disable_cleanup(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

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
    fn a_pipe_is_written_once_it_has_a_reader() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let error = create(&path).unwrap_err();
        assert!(error.to_string().contains("nobody reads this pipe"), "{error}");
        let reader = thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        // More than the pipe holds: it waits for the reader, as any output does.
        let bytes = vec![7; 1 << 20];
        write_atomically(&path, &bytes).unwrap();
        assert_eq!(reader.join().unwrap(), bytes);
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

    #[test]
    fn a_draft_that_outlives_stays_until_it_is_discarded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        drop(Draft::create(&path).unwrap());
        assert_eq!(names(directory.path()), [""; 0]);
        let begin = || {
            let mut draft = Draft::create(&path).unwrap();
            draft.outlive();
            draft
        };
        let kept = begin().path().to_owned();
        let name = kept.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("trace.") && name.ends_with(".partial"), "{name}");
        assert_eq!(names(directory.path()), [name]);
        begin().discard();
        assert_eq!(names(directory.path()), [name]);
    }

    #[test]
    fn links_and_permissions_survive_in_a_directory_of_ones_own() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, b"old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("real", &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        append(&link).unwrap().write_all(b"er").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"newer");
    }

    #[test]
    fn a_full_device_is_an_error_and_stays_a_device() {
        let error = write_atomically(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }

    /// Every way to write a file or a directory.
    fn written(path: &Path) -> Vec<(&'static str, io::Result<()>)> {
        vec![
            ("check", check(path)),
            ("write_atomically", write_atomically(path, b"ours").map_err(|error| error.cause)),
            ("create", create(path).and_then(|mut file| file.write_all(b"ours"))),
            ("append", append(path).and_then(|mut file| file.write_all(b"ours"))),
        ]
    }

    fn assert_refused(path: &Path, word: &str) {
        for (way, outcome) in written(path) {
            let error = outcome.expect_err(way).to_string();
            assert!(error.contains(word), "{way}: {error}");
        }
    }

    /// A directory like /tmp, and a file of the user's elsewhere.
    fn shared(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        fs::write(&precious, b"precious").unwrap();
        let shared = directory.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        (directory, precious)
    }

    #[test]
    fn no_link_is_followed_where_others_can_write() {
        for mode in [0o1777, 0o777, 0o775] {
            let (directory, precious) = shared(mode);
            let shared = directory.path().join("shared");
            let (soft, hard, nowhere) =
                (shared.join("soft"), shared.join("hard"), shared.join("nowhere"));
            symlink(&precious, &soft).unwrap();
            fs::hard_link(&precious, &hard).unwrap();
            symlink(directory.path().join("new"), &nowhere).unwrap();
            // A link of the user's own that leads to such a link.
            let own = directory.path().join("own");
            symlink(&soft, &own).unwrap();
            for path in [&soft, &hard, &nowhere, &own] {
                assert_refused(path, "it is a link");
            }
            assert_eq!(fs::read(&precious).unwrap(), b"precious");
            assert!(!directory.path().join("new").exists());
            let into = shared.join("into");
            symlink(directory.path(), &into).unwrap();
            assert!(create_directory(&into).is_err());
            // Files that the user makes there are the user's.
            for (way, outcome) in written(&shared.join("own")) {
                outcome.expect(way);
            }
            create_directory(&shared.join("a/b")).unwrap();
            create_directory(&shared.join("a/b")).unwrap();
        }
    }

    #[test]
    fn files_of_others_are_not_written_where_others_can_write() {
        if !rustix::process::geteuid().is_root() {
            // Only root can give a file away.
            return;
        }
        const STRANGER: Option<u32> = Some(54321);
        let (directory, precious) = shared(0o1777);
        let shared = directory.path().join("shared");
        let theirs = shared.join("theirs");
        fs::write(&theirs, b"theirs").unwrap();
        chown(&theirs, STRANGER, None).unwrap();
        assert_refused(&theirs, "it belongs to another user");
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        let folder = shared.join("folder");
        fs::create_dir(&folder).unwrap();
        chown(&folder, STRANGER, None).unwrap();
        let error = create_directory(&folder).unwrap_err().to_string();
        assert!(error.contains("it belongs to another user"), "{error}");
        // In a directory that is theirs alone, their files are to be expected, but no links.
        fs::write(folder.join("file"), b"theirs").unwrap();
        chown(folder.join("file"), STRANGER, None).unwrap();
        check(&folder.join("file")).unwrap();
        symlink(&precious, folder.join("link")).unwrap();
        assert_refused(&folder.join("link"), "it is a link");
        // A link on the way.
        let way = shared.join("way");
        symlink(directory.path(), &way).unwrap();
        std::os::unix::fs::lchown(&way, STRANGER, None).unwrap();
        assert_refused(&way.join("precious"), "is a link of another user");
        assert!(create_directory(&way.join("new")).is_err());
        assert!(!directory.path().join("new").exists());
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }
}
