//! The seat of a state: its calls, and whether the current one has exceeded a limit.
//!
//! A seat counts the calls begun and ended; an odd number means that a call is running. So a call costs two stores and
//! no reading of the clock. In a sandbox it counts instructions too: those that the hook sees, and those of Rust code
//! that works for a script, by [`Seat::spend`]. It ends no call; `watch.rs` and the hook in `raw.rs` do.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The calls of one state.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    calls: AtomicU64,
    /// Whether the current call has taken too long.
    fired: AtomicBool,
    /// Instructions of the current call; counted in a sandbox only.
    instructions: AtomicU64,
    /// The limit of a call; 0 for none.
    most_instructions: u64,
    /// The error of a call that took too long, and of one with too many instructions.
    late: CString,
    much: CString,
}

impl Seat {
    pub(crate) fn new(limit: Duration, most_instructions: Option<u64>) -> Self {
        let most_instructions = most_instructions.unwrap_or(0);
        let words = |text: String| CString::new(text).unwrap_or_default();
        let limit_ms = limit.as_millis();
        Seat {
            most_instructions,
            late: words(format!("it ran for longer than {limit_ms} ms")),
            much: words(format!(
                "it took more than {most_instructions} instructions, which is the sandbox's limit"
            )),
            ..Seat::default()
        }
    }

    /// Whether instructions are counted.
    pub(crate) fn counts(&self) -> bool {
        self.most_instructions > 0
    }

    /// Charges the current call for work worth this number of instructions. Returns the error if
    /// the call has to end.
    pub(crate) fn spend(&self, instructions: u64) -> Option<&CStr> {
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
        self.excess()
    }

    /// Whether the current or the last call exceeded the time limit.
    pub(crate) fn is_late(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }

    /// The exceeded limit of the current or the last call.
    pub(crate) fn excess(&self) -> Option<&CStr> {
        let count = self.instructions.load(Ordering::Relaxed);
        if self.is_late() {
            Some(&self.late)
        } else if self.counts() && count > self.most_instructions {
            Some(&self.much)
        } else {
            None
        }
    }

    /// A call begins.
    #[inline]
    pub(crate) fn enter(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.most_instructions > 0 {
            self.instructions.store(0, Ordering::Relaxed);
        }
    }

    /// It has ended.
    #[inline]
    pub(crate) fn leave(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The number of calls begun and ended.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The current call has taken too long.
    pub(crate) fn fire(&self) {
        self.fired.store(true, Ordering::Relaxed);
    }
}
