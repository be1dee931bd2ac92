//! Data files: tables whose rows requests take their values from.
//!
//! [`columns_of`] reads the names of a file's columns from its first bytes, for the plan.
//! [`Table::open`] checks the whole file once, row by row, so that a broken row is an error before
//! the run and not in its middle. Each thread then reads rows through a [`Rows`] of its own, and
//! [`Selection`] says which row an index of the load has.
//!
//! A small file is held in memory, decoded. A large one stays where it is: memory has a sparse
//! index of its rows and a block of the file for each thread, so that memory does not grow with the
//! file. This crate writes no file, reads no clock, and does not know what a request is.
#![forbid(unsafe_code)]

mod access_log;
mod csv;
mod fault;
mod format;
mod index;
mod json;
mod names;
mod reader;
mod request_line;
mod rows;
mod select;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod urls;
mod values;

use candor_plan::DataFormat;

pub use fault::{Fault, Problem};
pub use rows::Rows;
pub use select::Selection;
pub use table::{Table, columns_of, site_of};

/// The longest row, in bytes of the file.
pub const MOST_ROW_BYTES: usize = 1 << 20;
/// The most columns of a file.
pub const MOST_COLUMNS: usize = 10_000;
/// How much of a file [`columns`] has to see, in bytes, if the file has as much.
pub const HEAD_BYTES: usize = MOST_ROW_BYTES + 4;

/// The columns of a file that begins with `head`: its first [`HEAD_BYTES`] bytes, or all of it if it
/// is shorter.
///
/// # Errors
/// The first row cannot be read, or a column cannot have its name. The fault has a line and no file
/// (see [`Fault::of`]).
pub fn columns(format: DataFormat, head: &[u8]) -> Result<Vec<String>, Fault> {
    let is_whole = head.len() < HEAD_BYTES;
    match format::beginning(format, head, is_whole) {
        Ok(beginning) => Ok(beginning.columns),
        Err(wrong) => Err(wrong.on_line(1)),
    }
}
