//! The messages between a run and its caller: when to begin and to stop, and the course of the run.
//!
//! A few atomics, which workers look at between two waits and write to at the ends of a run; the pauses of the
//! machine, behind a lock, which they look at when an interval is over; and the credentials of requests.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use candor_record::Pauses;

use crate::credentials::Credentials;

/// The time to begin of a run that waits for it.
const HELD: u64 = u64::MAX;
/// From one look to the next while a run waits for its time.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How a run is told to stop from outside, and where it stands, for code that runs alongside.
/// Safe to use from a signal handler's thread.
#[derive(Debug, Default)]
pub struct Control {
    stops: AtomicU8,
    /// On the monotonic clock; 0: there is none yet.
    origin_ns: AtomicU64,
    /// Workers that may still send.
    sending: AtomicU32,
    /// Requests sent in intervals that are over.
    sent: AtomicU64,
    /// The longest that a sleeping thread of the run was woken late until now.
    hiccup_ns: AtomicU64,
    /// The pauses of the machine until now, from the beginning of the run.
    pauses: Mutex<Pauses>,
    /// The cores of a target on this machine, whose pauses matter too.
    target_cores: OnceLock<Vec<usize>>,
    /// The credentials that change meanwhile.
    credentials: OnceLock<Arc<Credentials>>,
    /// Time does not begin before this, on the monotonic clock.
    begins_at_ns: AtomicU64,
    /// Nothing is sent at this time of the monotonic clock or later: its distance from the latest time,
    /// which is 0 if there is no end.
    send_less_ns: AtomicU64,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Connections are being made.
    Before,
    /// Requests are sent, or will be at the origin, which is near.
    Sending {
        /// Where the run's time begins, on the system's monotonic clock.
        origin_monotonic_ns: u64,
    },
    /// Nothing is sent any more: the measured window is over, the drain goes on or is over too.
    SentAll,
}

impl Control {
    /// Asks the run to stop: the first time in order, with a drain; the second time at once.
    pub fn stop(&self) {
        let _ = self.stops.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
    }

    /// Whether it was asked to stop.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 0
    }

    /// Whether it was asked more than once.
    pub fn is_impatient(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 1
    }

    /// Holds the run once its connections are made, until [`Control::begin_at`] or a stop.
    pub fn hold(&self) {
        self.begins_at_ns.store(HELD, Ordering::Relaxed);
    }

    /// Lets a held run begin, at this time of the monotonic clock.
    pub fn begin_at(&self, origin_ns: u64) {
        self.begins_at_ns.store(origin_ns, Ordering::Relaxed);
    }

    /// Nothing is sent at this time of the monotonic clock or later. Each worker looks at its clock
    /// before it sends, so this holds even if the whole process was suspended meanwhile.
    pub fn send_until(&self, until_ns: u64) {
        self.send_less_ns.store(u64::MAX - until_ns, Ordering::Relaxed);
    }

    /// The end of the permission to send.
    #[inline]
    pub(crate) fn sends_until_ns(&self) -> u64 {
        u64::MAX - self.send_less_ns.load(Ordering::Relaxed)
    }

    /// Whether the run is held.
    pub(crate) fn is_held(&self) -> bool {
        self.begins_at_ns.load(Ordering::Relaxed) == HELD
    }

    /// Waits while the run is held. Returns when time may begin; `None` if it was stopped first.
    pub(crate) fn wait_to_begin(&self) -> Option<u64> {
        loop {
            match self.begins_at_ns.load(Ordering::Relaxed) {
                HELD if self.is_stopping() => return None,
                HELD => thread::sleep(LOOK_AGAIN),
                begins_at_ns => return Some(begins_at_ns),
            }
        }
    }

    /// Where the run is.
    pub fn course(&self) -> Course {
        // The origin is set last: a thread that sees it sees that workers send.
        match (self.origin_ns.load(Ordering::Acquire), self.sending.load(Ordering::Relaxed)) {
            (0, _) => Course::Before,
            (_, 0) => Course::SentAll,
            (origin_monotonic_ns, _) => Course::Sending { origin_monotonic_ns },
        }
    }

    /// The longest hiccup of the loader's machine until now.
    pub fn worst_hiccup_ns(&self) -> u64 {
        self.hiccup_ns.load(Ordering::Relaxed)
    }

    /// A sleeping thread was woken so late.
    pub(crate) fn saw_hiccup(&self, late_ns: u64) {
        self.hiccup_ns.fetch_max(late_ns, Ordering::Relaxed);
    }

    /// The pauses of the machine until now. Watchers add them, and workers look at them, between turns.
    pub(crate) fn pauses(&self) -> MutexGuard<'_, Pauses> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The target runs on these cores of this machine: their pauses are watched too. Only the first call counts.
    pub fn watch_target(&self, cores: &[usize]) {
        let _ = self.target_cores.set(cores.to_vec());
    }

    /// The cores of a target on this machine, if they are known.
    pub(crate) fn target_cores(&self) -> Option<&[usize]> {
        self.target_cores.get().map(Vec::as_slice)
    }

    /// Requests of the run have these credentials. Comes before the run; only the first call counts.
    pub fn give(&self, credentials: Arc<Credentials>) {
        let _ = self.credentials.set(credentials);
    }

    /// The credentials of the run, if it has some.
    pub(crate) fn credentials(&self) -> Option<Arc<Credentials>> {
        self.credentials.get().cloned()
    }

    /// So many workers will send. The engine and the coordinator of a fleet call this and the next two.
    pub fn will_send(&self, workers: u32) {
        self.sending.store(workers, Ordering::Relaxed);
    }

    /// Time begins here.
    pub fn begins(&self, origin_ns: u64) {
        self.origin_ns.store(origin_ns, Ordering::Release);
    }

    /// How many requests were sent, at least: those of intervals that are over.
    pub fn least_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// An interval with so many sent requests is over. The engine calls this.
    pub fn sent_more(&self, count: u64) {
        self.sent.fetch_add(count, Ordering::Relaxed);
    }

    /// One worker sends nothing any more.
    pub fn has_sent(&self) {
        let one_less = |n: u32| n.checked_sub(1);
        let _ = self.sending.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Course};

    #[test]
    fn stopping_has_two_steps() {
        let control = Control::default();
        assert!(!control.is_stopping());
        control.stop();
        assert!(control.is_stopping() && !control.is_impatient());
        for _ in 0..1000 {
            control.stop();
        }
        assert!(control.is_impatient());
    }

    /// Under Miri memory is as weak as the orderings allow, and threads interleave by its seed.
    #[test]
    fn whoever_sees_the_origin_sees_the_workers() {
        let control = Control::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                control.will_send(1);
                control.begins(7);
            });
            scope.spawn(|| (0..10).for_each(|_| assert_ne!(control.course(), Course::SentAll)));
        });
    }

    #[test]
    fn a_held_run_waits_for_its_time_or_a_stop() {
        let control = Control::default();
        assert_eq!((control.is_held(), control.wait_to_begin()), (false, Some(0)));
        control.hold();
        assert!(control.is_held());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.wait_to_begin());
            control.begin_at(7);
            assert_eq!(waiting.join().ok(), Some(Some(7)));
        });
        control.hold();
        control.stop();
        assert_eq!(control.wait_to_begin(), None);
    }

    #[test]
    fn it_says_where_the_run_is() {
        let control = Control::default();
        assert_eq!(control.course(), Course::Before);
        control.will_send(2);
        assert_eq!(control.course(), Course::Before);
        control.begins(7);
        control.has_sent();
        assert_eq!(control.course(), Course::Sending { origin_monotonic_ns: 7 });
        (0..5).for_each(|_| control.has_sent());
        assert_eq!(control.course(), Course::SentAll);
    }
}
