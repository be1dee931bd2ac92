//! The ledger: every scheduled request ends in exactly one place.
//!
//! ```text
//! scheduled = sent + shed + unsent + unaccounted
//! sent      = ok + broken off + errors (by kind) + unfinished
//! ```
//! Both sides are counted independently, when the events happen, so the equations are a check and
//! not a definition.

use serde::{Deserialize, Serialize};

use crate::errors::{ErrorKind, Tally};
use crate::figure::figures;

figures! {
    /// Counts of every outcome. See the module for the two equations.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Ledger {
        /// Requests that the load asked for.
        pub scheduled: u64,
        /// Requests whose first byte was handed to the kernel.
        pub sent: u64,
        /// Dropped unsent because they were older than `--shed-after`.
        pub shed: u64,
        /// Due, and still in the backlog when the run ended.
        pub unsent: u64,
        /// Got the expected response.
        pub ok: u64,
        /// Broken off by us as intended, without a response before the break.
        pub broken_off: u64,
        /// Failed after being sent, by [`ErrorKind`].
        pub errors: Tally<{ ErrorKind::ALL.len() }>,
        /// Sent, but without a complete response when the drain ended, or when the records of a lost agent end.
        pub unfinished: u64,
        /// Scheduled for a lost agent, after its last interval that arrived.
        pub unaccounted: u64,
    }
}

impl Ledger {
    /// Whether both equations hold.
    pub fn balances(&self) -> bool {
        let sum = |parts: &[u64]| parts.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
        self.scheduled == sum(&[self.sent, self.shed, self.unsent, self.unaccounted])
            && self.sent == self.outcomes()
    }

    /// Requests that were sent and have an outcome.
    pub(crate) fn outcomes(&self) -> u64 {
        let parts = [self.ok, self.broken_off, self.errors.total(), self.unfinished];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Count of one kind of error.
    pub fn error(&self, kind: ErrorKind) -> u64 {
        self.errors.count(kind as usize)
    }
}
