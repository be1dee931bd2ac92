//! The tenths of a second whose responses the recorder counts.

use crate::interval::Interval;
use crate::rates::SLOT_NS;

/// The slot that a recorder is in.
#[derive(Debug)]
pub(crate) struct Slots {
    end_ns: u64,
    /// Responses of the slot in intervals before the current one.
    before: u64,
    /// Responses of the current interval before the slot.
    base: u64,
}

impl Slots {
    /// The first slot of a window that begins at `from_ns`.
    pub(crate) fn new(from_ns: u64) -> Self {
        Slots { end_ns: from_ns.saturating_add(SLOT_NS), before: 0, base: 0 }
    }

    /// When the slot ends.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The slot is over: enters it into the current interval and begins the next.
    pub(crate) fn close(&mut self, current: &mut Interval) {
        let answered = current.answered();
        current.rates.record(self.before + (answered - self.base));
        (self.before, self.base) = (0, answered);
        self.end_ns = self.end_ns.saturating_add(SLOT_NS);
    }

    /// The current interval is over, but the slot may not be.
    pub(crate) fn carry(&mut self, done: &Interval) {
        self.before += done.answered() - self.base;
        self.base = 0;
    }

    /// Ends the slots: the window ends before this one would.
    pub(crate) fn stop(&mut self) {
        self.end_ns = u64::MAX;
    }
}
