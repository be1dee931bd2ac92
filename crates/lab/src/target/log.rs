//! The output of a target or profiler, in a file: the user's file, or a temporary one in the private
//! directory of this process that is kept only after a failure.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candor_files::{Private, append, private, refuge};

use crate::error::LabError;

/// Lines of the end that are shown.
const TAIL_LINES: usize = 10;
/// A line longer than this is cut.
const LINE_CHARACTERS: usize = 400;
/// The part of the file's end to read for them.
const TAIL_BYTES: u64 = 16 * 1024;

/// The part of the output in which a line is looked for.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// Where output goes.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// Where the output of this target begins.
    begins_at: u64,
    /// The temporary directory, if the file is kept only on a failure.
    scratch: Option<Private>,
}

impl Log {
    /// Opens this file to append, or makes a temporary one that is kept only on a failure.
    pub(crate) fn open(path: Option<&Path>) -> Result<Log, LabError> {
        let (path, scratch) = match path {
            Some(path) => (std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), None),
            None => {
                let private = private().map_err(LabError::no_temporary)?;
                (private.name("log"), Some(private))
            }
        };
        let begins_at = append(&path).and_then(|file| file.metadata()).map(|file| file.len());
        match begins_at {
            Ok(begins_at) => Ok(Log { path, begins_at, scratch }),
            Err(error) => Err(LabError::File {
                what: "cannot write the log",
                path: path.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a line of the output, among the first megabyte, contains a text.
    pub(crate) fn has_line(&self, text: &str) -> bool {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.begins_at))?;
            let mut bytes = Vec::new();
            file.take(LOOKED_AT_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().any(|line| line.contains(text))
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> Vec<String> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            let from = self.begins_at.max(length.saturating_sub(TAIL_BYTES));
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        last.iter().map(|line| line.chars().take(LINE_CHARACTERS).collect()).collect()
    }

    /// Keeps the file; returns where it will be after this process.
    pub(crate) fn keep(&mut self) -> &Path {
        if self.scratch.is_some()
            && let Ok((file, kept)) = refuge("target.log".as_ref())
            // No other user can read it there either.
            && let Ok(found) = file.metadata()
            && fs::set_permissions(&self.path, found.permissions()).is_ok()
            && fs::rename(&self.path, &kept).is_ok()
        {
            (self.path, self.scratch) = (kept, None);
        }
        &self.path
    }

    /// Removes a temporary file after a success.
    pub(crate) fn forget(&self) {
        if self.scratch.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
