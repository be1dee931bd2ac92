//! Ends calls that do not return.
//!
//! Each state has a [`Seat`] that counts the calls begun and ended; an odd number means that a call is
//! running. One thread checks the seats from time to time. If it sees the same odd number for longer than the
//! limit, it sets a hook in the state, which then fails at its next instruction. So a call costs two stores
//! and no reading of the clock. Lua's compiler is off, since compiled code would not see the hook. In a
//! sandbox the hook counts instructions from the beginning, and Rust code that works for a script counts its
//! work by [`Seat::spend`].

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::raw::StatePointer;

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
}

struct WatchedSeat {
    seat: Arc<Seat>,
    state: StatePointer,
    seen: u64,
    since: Instant,
}

/// The thread that checks the seats. States must stay open until it is dropped.
pub(crate) struct Watch {
    watched: Arc<Mutex<Vec<WatchedSeat>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn new(limit: Duration) -> std::io::Result<Self> {
        let watched: Arc<Mutex<Vec<WatchedSeat>>> = Arc::default();
        let over: Arc<AtomicBool> = Arc::default();
        let pause = (limit / 4).clamp(Duration::from_millis(1), Duration::from_millis(100));
        let (list, end) = (Arc::clone(&watched), Arc::clone(&over));
        let look = move || {
            while !end.load(Ordering::Relaxed) {
                std::thread::park_timeout(pause);
                let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
                list.iter_mut().for_each(|one| one.look(limit));
            }
        };
        let thread = std::thread::Builder::new().name("script-watch".to_owned()).spawn(look)?;
        Ok(Watch { watched, over, thread: Some(thread) })
    }

    pub(crate) fn add(&self, seat: Arc<Seat>, state: StatePointer) {
        let one = WatchedSeat { seat, state, seen: 0, since: Instant::now() };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    }
}

impl WatchedSeat {
    fn look(&mut self, limit: Duration) {
        let calls = self.seat.calls.load(Ordering::Relaxed);
        if calls != self.seen || calls.is_multiple_of(2) {
            (self.seen, self.since) = (calls, Instant::now());
        } else if self.since.elapsed() >= limit {
            self.seat.fired.store(true, Ordering::Relaxed);
            self.state.interrupt();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It returns nothing; it only has to end before the states close.
            let _ = thread.join();
        }
    }
}
