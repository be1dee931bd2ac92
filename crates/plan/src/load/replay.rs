//! Files of due offsets for `replay FILE`: one a line, in ascending order.
//!
//! An offset counts from the beginning of the segment: a number of seconds, or a number with a
//! unit. Blank lines, and everything after a `#`, are skipped. The caller supplies the bytes; the
//! offsets go into a segment.

use std::sync::Arc;

use crate::redact;
use crate::units::{UnitError, parse_duration_ns, print_duration_ns};

/// Why a file is not a list of due offsets. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A line is not an offset.
    #[error("{file}:{line}: \"{}\": {}", redact::refused(text), redact::without_refused(&error.to_string(), text))]
    Offset {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The text there, cut short if long.
        text: String,
        /// The fault.
        error: UnitError,
    },
    /// A line goes back in time.
    #[error("{file}:{line}: {offset} is before {previous} in the line above; sort the offsets")]
    Order {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The offset.
        offset: String,
        /// The one before it.
        previous: String,
    },
    /// The file is not UTF-8.
    #[error("{file}:{line}: not UTF-8 text; write one due offset on each line, in seconds")]
    NotText {
        /// The file.
        file: String,
        /// The line.
        line: usize,
    },
    /// No offset in the file.
    #[error("{file}: no due offset; write one on each line, in seconds")]
    Empty {
        /// The file.
        file: String,
    },
}

/// Parses the bytes of `file` into ascending offsets in nanoseconds. Equal ones are allowed.
pub fn parse_offsets(file: &str, bytes: &[u8]) -> Result<Arc<[u64]>, ReplayError> {
    let mut offsets_ns: Vec<u64> = Vec::new();
    for (index, line_bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let text = std::str::from_utf8(line_bytes)
            .map_err(|_| ReplayError::NotText { file: file.to_owned(), line })?;
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let offset_ns = parse_duration_ns(text).map_err(|error| ReplayError::Offset {
            file: file.to_owned(),
            line,
            text: text.chars().take(40).collect(),
            error,
        })?;
        if let Some(previous_ns) = offsets_ns.last()
            && offset_ns < *previous_ns
        {
            return Err(ReplayError::Order {
                file: file.to_owned(),
                line,
                offset: print_duration_ns(offset_ns),
                previous: print_duration_ns(*previous_ns),
            });
        }
        offsets_ns.push(offset_ns);
    }
    match offsets_ns.is_empty() {
        true => Err(ReplayError::Empty { file: file.to_owned() }),
        false => Ok(offsets_ns.into()),
    }
}
