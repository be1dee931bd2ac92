//! Reads a file by position, a block at a time, and steps through its rows.
//!
//! A file can change at any time, so every block is followed by a look at the file's length and time
//! of modification. What was read before is never taken for what is there now.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::MOST_ROW_BYTES;
use crate::fault::{Problem, Wrong};
use crate::format::Format;
use crate::step::{Scratch, Step};
use crate::values::Values;

/// An open file, as it was when it was opened.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Source {
    pub(crate) fn new(file: File, metadata: &Metadata) -> Self {
        Source { file, length: metadata.len(), modified: modified(metadata) }
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether length and time of modification are as they were.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let now = self.file.metadata().map_err(unreadable)?;
        match now.len() == self.length && modified(&now) == self.modified {
            true => Ok(()),
            false => Err(Problem::Changed),
        }
    }

    /// Fills `bytes` from the file.
    pub(crate) fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), Problem> {
        match self.file.read_exact_at(bytes, at) {
            Ok(()) => self.check(),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Problem::Changed),
            Err(error) => Err(unreadable(error)),
        }
    }
}

fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

pub(crate) fn unreadable(error: io::Error) -> Problem {
    Problem::Unreadable(error.to_string())
}

/// A part of a file, and the memory to decode its rows.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Grows to the largest block that was needed, and keeps that size.
    block: Vec<u8>,
    /// The bytes of it that are of the file.
    filled: usize,
    /// Where in the file they begin.
    start: u64,
    scratch: Scratch,
}

impl Reader {
    /// Decodes the row at a place of the file, which is before its end, or skips what is no row
    /// there. `ahead`: the bytes to read if the block has none for this place. Nothing is added to
    /// `out` unless it is a row.
    pub(crate) fn step(
        &mut self,
        source: &Source,
        format: &Format,
        at: u64,
        ahead: usize,
        out: &mut Values,
    ) -> Result<Step, Wrong> {
        let mark = out.mark();
        let mut step = self.with_bytes(source, format, at, ahead, |bytes, is_last, scratch| {
            out.return_to(mark);
            format.step(bytes, is_last, out, scratch)
        });
        if let Ok(Step::Row { length, .. }) = &step
            && *length > MOST_ROW_BYTES
        {
            step = Err(Problem::Long.into());
        }
        if !matches!(step, Ok(Step::Row { .. })) {
            out.return_to(mark);
        }
        step
    }

    /// The same over a row that has been checked before. `unused` gets parts of it.
    pub(crate) fn skip(
        &mut self,
        source: &Source,
        format: &Format,
        at: u64,
        ahead: usize,
        unused: &mut Values,
    ) -> Result<Step, Wrong> {
        self.with_bytes(source, format, at, ahead, |bytes, is_last, _| {
            format.skip(bytes, is_last, unused)
        })
    }

    /// Takes a step over the bytes at a place, with more of them while they are not enough.
    fn with_bytes(
        &mut self,
        source: &Source,
        format: &Format,
        at: u64,
        ahead: usize,
        mut step: impl FnMut(&[u8], bool, &mut Scratch) -> Result<Step, Wrong>,
    ) -> Result<Step, Wrong> {
        loop {
            let known = self.from(at).len();
            let is_last = at + known as u64 == source.length;
            if known > 0 {
                let bytes = &self.block[self.filled - known..self.filled];
                match step(bytes, is_last, &mut self.scratch)? {
                    Step::More if known > MOST_ROW_BYTES => return Err(format.too_long(bytes)),
                    Step::More => {}
                    step => return Ok(step),
                }
            }
            // One byte more than a row may have shows that it is too long.
            let size = ahead.max(2 * known).clamp(1, MOST_ROW_BYTES + 1);
            self.load(source, at, size)?;
        }
    }

    /// The bytes of the file that the block has from a place on.
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        let block = &self.block[..self.filled];
        let from = at.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| block.get(from..)).unwrap_or_default()
    }

    /// Whether a place is in the block, or so near after it that reading on is likely.
    pub(crate) fn is_near(&self, at: u64, distance: usize) -> bool {
        at >= self.start && at - self.start <= (self.filled + distance) as u64
    }

    /// Forgets what it has read.
    pub(crate) fn forget(&mut self) {
        self.filled = 0;
    }

    fn load(&mut self, source: &Source, at: u64, size: usize) -> Result<(), Problem> {
        let left = source.length.saturating_sub(at);
        let size = usize::try_from(left).map_or(size, |left| left.min(size));
        if self.block.len() < size {
            // Exactly: a vector that doubles would take up to twice the memory.
            self.block.reserve_exact(size - self.block.len());
            self.block.resize(size, 0);
        }
        self.filled = 0;
        if size == 0 {
            return Err(Problem::Changed);
        }
        source.read(&mut self.block[..size], at)?;
        (self.filled, self.start) = (size, at);
        Ok(())
    }
}
