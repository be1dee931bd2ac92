//! Ends calls that do not return.
//!
//! One thread checks the [`Seat`]s of all states from time to time. If it sees the same odd number of calls for longer
//! than the limit, it sets a hook in the state, which then fails at its next instruction. Lua's compiler is off, since
//! compiled code would not see the hook.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::raw::StatePointer;
use crate::seat::Seat;

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
        let calls = self.seat.calls();
        if calls != self.seen || calls.is_multiple_of(2) {
            (self.seen, self.since) = (calls, Instant::now());
        } else if self.since.elapsed() >= limit {
            self.seat.fire();
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
