//! One step through a file: what a format's reader has found at a place, and the memory that it works with.
//!
//! All formats return these values; `format.rs` chooses among them.

/// What the bytes at a place of the file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A row, with its line breaks.
    Row { length: usize, lines: u64 },
    /// One line without content.
    Skip { length: usize },
    /// One line of an access log whose request cannot be repeated.
    Unusable { length: usize },
    /// The beginning of something longer.
    More,
}

/// Memory that rows are decoded with, kept from row to row.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Where in the row each column's text is; the end 0 for a column that was not found.
    pub(crate) spans: Vec<(u32, u32)>,
}
