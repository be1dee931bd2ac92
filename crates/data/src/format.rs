//! The formats of files: what a file begins with, and the step from one row to the next.
//!
//! A step sees a part of the file and says whether it is enough. It gives the same rows and the same
//! faults however the file was cut into parts. The formats themselves are in `csv.rs`, `json.rs` and
//! `urls.rs`, which know nothing of each other.

use candor_plan::DataFormat;

use crate::fault::{Problem, Wrong};
use crate::names::Names;
use crate::step::{Scratch, Step};
use crate::values::Values;
use crate::{csv, json, urls};

/// A format, with what its rows need to know of the first one.
#[derive(Debug)]
pub(crate) enum Format {
    /// Comma-separated values, with this many columns.
    Csv(usize),
    /// JSON lines with these members.
    Json(Names),
    /// URLs.
    Urls,
}

impl Format {
    /// Decodes the row that `bytes` begin with, or skips what is no row. `is_last`: the file ends
    /// with these bytes. Unless it is a row, `out` has a part of one that is to be removed.
    #[inline]
    pub(crate) fn step(
        &self,
        bytes: &[u8],
        is_last: bool,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<Step, Wrong> {
        match self {
            Format::Csv(columns) => csv::row(bytes, is_last, *columns, out),
            Format::Json(names) => json::row(bytes, is_last, names, out, scratch),
            Format::Urls => urls::row(bytes, is_last, out),
        }
    }

    /// The same step over a row that has been checked before, without its values. What it adds to
    /// `out` is to be removed.
    pub(crate) fn skip(
        &self,
        bytes: &[u8],
        is_last: bool,
        out: &mut Values,
    ) -> Result<Step, Wrong> {
        match self {
            Format::Csv(_) => Ok(csv::skip(bytes, is_last)),
            Format::Json(_) => json::skip(bytes, is_last),
            Format::Urls => urls::skip(bytes, is_last, out),
        }
    }

    /// What is wrong with a row that begins with `bytes` and does not end in time.
    pub(crate) fn too_long(&self, bytes: &[u8]) -> Wrong {
        match self {
            Format::Csv(_) => csv::too_long(bytes),
            _ => Problem::Long.into(),
        }
    }

    /// The number of its columns.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Format::Csv(columns) => *columns,
            Format::Json(names) => names.list().len(),
            Format::Urls => urls::COLUMNS.len(),
        }
    }
}

/// What a file begins with.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) columns: Vec<String>,
    pub(crate) format: Format,
    /// The byte where rows begin.
    pub(crate) rows_at: usize,
    /// The line breaks before that.
    pub(crate) lines: u64,
}

/// Reads the columns. `is_last`: the file ends with `head`.
pub(crate) fn beginning(
    format: DataFormat,
    head: &[u8],
    is_last: bool,
) -> Result<Beginning, Wrong> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(Problem::Utf16.into());
    }
    let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    if format == DataFormat::Urls && head.len() > mark {
        // There is no header, and comments of any length may come before the first row.
        urls::row(&head[mark..], is_last, &mut Values::default())?;
        let columns = urls::COLUMNS.map(str::to_owned).to_vec();
        return Ok(Beginning { columns, format: Format::Urls, rows_at: mark, lines: 0 });
    }
    let (mut at, mut lines) = (mark, 0);
    loop {
        let bytes = &head[at..];
        if bytes.is_empty() && is_last {
            return Err(Problem::Empty.into());
        }
        let mut names = Names::default();
        let step = match format {
            DataFormat::JsonLines => json::header(bytes, is_last, &mut names),
            _ => csv::header(bytes, is_last, &mut names),
        };
        match step.map_err(|wrong| wrong.after(lines))? {
            Step::Row { length, lines: own } => {
                let columns = names.list().to_vec();
                let (format, rows_at, lines) = match format {
                    DataFormat::JsonLines => (Format::Json(names), mark, 0),
                    _ => (Format::Csv(columns.len()), at + length, lines + own),
                };
                return Ok(Beginning { columns, format, rows_at, lines });
            }
            Step::Skip { length } | Step::Unusable { length } => {
                at += length;
                lines += 1;
            }
            Step::More if format == DataFormat::Csv => {
                return Err(csv::too_long(bytes).after(lines));
            }
            Step::More => return Err(Wrong { lines, problem: Problem::Long }),
        }
    }
}
