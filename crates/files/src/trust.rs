//! The owner of a path, and the users who can change the file behind it.
//!
//! The kernel has the same rules for some directories (`fs.protected_symlinks`,
//! `fs.protected_regular`), but a system can turn them off, and containers often do.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More links behind each other than this are a circle, as for the kernel.
const MOST_LINKS: usize = 40;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const WRITABLE_BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Place {
    /// The file itself: no link, unless it leads to a device or a pipe.
    pub(crate) path: PathBuf,
    /// The directory that it is in, if other users can write it.
    shared: Option<Metadata>,
}

impl Place {
    /// Follows the user's own links; refuses links where another user could have put one, and files
    /// of another user there.
    pub(crate) fn of(path: &Path) -> io::Result<Place> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let directory = directory_of(&path);
            refuse_foreign_links(directory)?;
            let shared = Some(fs::metadata(directory)?).filter(is_shared);
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Place { path, shared });
                }
                Err(error) => return Err(error),
            };
            let place = Place { path, shared };
            place.check(&found)?;
            if !found.is_symlink() || leads_to_device(&place.path) {
                return Ok(place);
            }
            path = directory_of(&place.path).join(fs::read_link(&place.path)?);
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    /// Whether other users can write the directory.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Refuses what another user could have put there.
    pub(crate) fn check(&self, found: &Metadata) -> io::Result<()> {
        let Some(directory) = &self.shared else { return Ok(()) };
        if found.is_symlink() || (found.is_file() && found.nlink() > 1) {
            return Err(io::Error::other("it is a link, and other users can write its directory"));
        }
        // Where one other user alone can write, files of this user are to be expected.
        let is_expected = found.uid() == directory.uid() && directory.mode() & WRITABLE_BY_ALL == 0;
        if is_trusted(found) || is_expected {
            return Ok(());
        }
        Err(io::Error::other("it belongs to another user, and other users can write its directory"))
    }
}

/// Refuses a directory on whose way a link of another user leads elsewhere.
pub(crate) fn refuse_foreign_links(directory: &Path) -> io::Result<()> {
    for part in directory.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        if fs::symlink_metadata(part).is_ok_and(|part| part.is_symlink() && !is_trusted(&part)) {
            return Err(io::Error::other(format!("{} is a link of another user", part.display())));
        }
    }
    Ok(())
}

/// Refuses a directory in which another user could replace what this process has put there.
pub(crate) fn check_keeps(directory: &Path) -> io::Result<()> {
    let found = fs::metadata(directory)?;
    let is_sticky = found.mode() & STICKY != 0;
    if is_trusted(&found) && (is_sticky || !is_shared(&found)) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "other users can replace files in the temporary directory {}; set TMPDIR to a directory of \
         your own",
        directory.display()
    )))
}

/// The directory that a path is in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether a user other than this one and root can put files into a directory.
fn is_shared(directory: &Metadata) -> bool {
    !is_trusted(directory) || directory.mode() & WRITABLE_BY_OTHERS != 0
}

/// Whether it belongs to this user or to root.
pub(crate) fn is_trusted(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw()
}

/// Devices and pipes are written as they are: `/dev/stdout` leads to a target without a path.
fn leads_to_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
