//! One thread's way to the rows of a table.
//!
//! Going to a row of a small table is a multiplication. In a large one it is a search in the index
//! and, unless the row is in the block that was read last, one read of the file: of a whole block
//! where rows come in order, else of the few rows that the index does not tell apart.

use std::sync::Arc;

use crate::Table;
use crate::fault::{Fault, Problem, Wrong};
use crate::index::Index;
use crate::reader::{Reader, Source};
use crate::step::Step;
use crate::table::Store;
use crate::values::Values;

/// Reads rows of a shared table, one at a time. At first it is at none, and all its values are
/// empty.
///
/// For a large table it has a block of 64 KiB of the file (of up to 1 MiB if a row is as long) and
/// the decoded row. It allocates nothing once these have grown to the longest row, unless a value of
/// JSON has objects or lists inside others.
#[derive(Debug)]
pub struct Rows {
    table: Arc<Table>,
    /// The number of the row's first value in a table in memory.
    first: usize,
    filed: Filed,
}

impl Rows {
    /// A way to the rows of this table.
    pub fn new(table: Arc<Table>) -> Self {
        Rows { table, first: usize::MAX, filed: Filed::default() }
    }

    /// Reads a row, from 0.
    ///
    /// # Errors
    /// The table has no such row; the file cannot be read, or changed after it was opened. The
    /// values are then empty. Rows that are in memory have no error but the first.
    pub fn go_to(&mut self, row: u64) -> Result<(), Fault> {
        let rows = self.table.rows();
        let outcome = match &self.table.store {
            _ if row >= rows => Err(Problem::NoRow { row, rows }),
            Store::Held(_) => {
                // Less than 2³² values are held.
                self.first = row as usize * self.table.format.columns();
                return Ok(());
            }
            Store::Filed(source, index) => {
                let outcome = self.filed.read(&self.table, source, index, row);
                outcome.map_err(|wrong| wrong.problem)
            }
        };
        outcome.map_err(|problem| {
            self.first = usize::MAX;
            self.filed.forget();
            Fault::whole(&self.table.file, of_open_file(problem))
        })
    }

    /// The value in a column, from 0, of the row gone to last; empty if there is no such column.
    #[inline]
    pub fn value(&self, column: usize) -> &[u8] {
        match &self.table.store {
            Store::Held(_) if column >= self.table.format.columns() => &[],
            Store::Held(values) => values.value(self.first.saturating_add(column)),
            Store::Filed(..) => self.filed.values.value(column),
        }
    }
}

/// Every row was right when the file was opened: one that is not has changed.
fn of_open_file(problem: Problem) -> Problem {
    match problem {
        problem @ (Problem::NoRow { .. } | Problem::Unreadable(_)) => problem,
        _ => Problem::Changed,
    }
}

/// A row of a table in a file.
#[derive(Debug, Default)]
struct Filed {
    values: Values,
    reader: Reader,
    /// The row after the last one read, and its place.
    next: Option<(u64, u64)>,
}

impl Filed {
    fn read(
        &mut self,
        table: &Table,
        source: &Source,
        index: &Index,
        row: u64,
    ) -> Result<(), Wrong> {
        let (mut number, mut at) = index.before(row).ok_or(Problem::Changed)?;
        if let Some((next, place)) = self.next
            && (number..=row).contains(&next)
        {
            (number, at) = (next, place);
        }
        let ahead = self.ahead(table.limits.block_bytes, source, index, row, at);
        while at < source.length() {
            self.values.clear();
            let (reader, values) = (&mut self.reader, &mut self.values);
            let step = match number < row {
                true => reader.skip(source, &table.format, at, ahead, values)?,
                false => reader.step(source, &table.format, at, ahead, values)?,
            };
            let length = match step {
                Step::Row { length, .. } if index.agrees(number, at) => {
                    number += 1;
                    length
                }
                Step::Skip { length } | Step::Unusable { length } => length,
                Step::Row { .. } | Step::More => break,
            };
            at += length as u64;
            if number > row {
                self.next = Some((number, at));
                return Ok(());
            }
        }
        Err(Problem::Changed.into())
    }

    /// How much to read for a row whose search begins at a place of the file.
    fn ahead(&self, block: usize, source: &Source, index: &Index, row: u64, at: u64) -> usize {
        if self.reader.is_near(at, block) {
            return block;
        }
        let end = index.after(row).unwrap_or(source.length());
        usize::try_from(end.saturating_sub(at)).map_or(block, |ahead| ahead.min(block))
    }

    fn forget(&mut self) {
        self.values.clear();
        self.reader.forget();
        self.next = None;
    }
}
