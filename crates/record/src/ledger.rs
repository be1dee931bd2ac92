//! The ledger: every scheduled request ends in exactly one place.
//!
//! ```text
//! scheduled = sent + shed + unsent
//! sent      = ok + broken off + errors (by kind) + unfinished
//! ```
//! `scheduled` and `sent` are counted when they happen, the outcomes when they happen; that the
//! equations hold is therefore a check and not a definition.

use crate::errors::{ErrorKind, Tally};

/// Counts of every outcome. See the module for the two equations.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Requests that the load asked for.
    pub scheduled: u64,
    /// Requests whose first byte was handed to the kernel.
    pub sent: u64,
    /// Dropped unsent because they were older than `--shed-after`.
    pub shed: u64,
    /// Due, and still in the backlog when the run ended.
    pub unsent: u64,
    /// Answered as expected.
    pub ok: u64,
    /// Broken off by us, as it was meant to be, and not answered before.
    pub broken_off: u64,
    /// Failed after being sent, by [`ErrorKind`].
    pub errors: Tally<{ ErrorKind::ALL.len() }>,
    /// Sent, and not answered when the drain ended.
    pub unfinished: u64,
}

impl Ledger {
    /// Whether both equations hold.
    pub fn balances(&self) -> bool {
        self.scheduled == self.sent + self.shed + self.unsent
            && self.sent == self.ok + self.broken_off + self.errors.total() + self.unfinished
    }

    /// Count of one kind of error.
    pub fn error(&self, kind: ErrorKind) -> u64 {
        self.errors.count(kind as usize)
    }

    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &Ledger) {
        self.scheduled += other.scheduled;
        self.sent += other.sent;
        self.shed += other.shed;
        self.unsent += other.unsent;
        self.ok += other.ok;
        self.broken_off += other.broken_off;
        self.errors.merge(&other.errors);
        self.unfinished += other.unfinished;
    }
}
