//! Which refusals get a line in the audit file: each one once, and a limited number an hour, because refusals need no
//! permission and must not fill a disk.

use crate::S;
use crate::identity::RunKey;
use crate::refusal::Refusal;

/// Lines that may follow each other at once.
pub(super) const BURST: u32 = 60;
/// From one further line to the next.
pub(super) const EVERY_NS: u64 = 60 * S;

/// The account of refusals.
#[derive(Debug)]
pub(super) struct Refusals {
    /// The last one; its repetition is none.
    last: Option<(RunKey, Refusal)>,
    /// Lines that may be written now.
    left: u32,
    counted_ns: u64,
    /// Refusals without a line since the last one.
    unwritten: u64,
}

impl Refusals {
    pub(super) fn new(now_ns: u64) -> Self {
        Refusals { last: None, left: BURST, counted_ns: now_ns, unwritten: 0 }
    }

    /// The detail of the line for a refusal; `None`: it gets none.
    pub(super) fn line(&mut self, now_ns: u64, key: RunKey, why: &Refusal) -> Option<String> {
        let is_same = self.last.as_ref().is_some_and(|(run, last)| *run == key && last == why);
        if is_same {
            return None;
        }
        self.last = Some((key, why.clone()));
        let periods = now_ns.saturating_sub(self.counted_ns) / EVERY_NS;
        self.counted_ns += periods * EVERY_NS;
        let more = u32::try_from(periods).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more).min(BURST);
        if self.left == 0 {
            self.unwritten = self.unwritten.saturating_add(1);
            return None;
        }
        self.left -= 1;
        Some(match std::mem::take(&mut self.unwritten) {
            0 => why.to_string(),
            count => format!("{why}; {count} refusals before it have no line"),
        })
    }
}
