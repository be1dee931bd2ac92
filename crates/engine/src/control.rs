//! The messages between a run and its caller: stop, and the course of the run.
//!
//! A few atomics, which workers look at between two waits and write to at the ends of a run.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// How a run is told to stop from outside, and where it stands, for code that runs alongside.
/// Safe to use from a signal handler's thread.
#[derive(Debug, Default)]
pub struct Control {
    stops: AtomicU8,
    /// On the monotonic clock; 0: there is none yet.
    origin_ns: AtomicU64,
    /// Workers that may still send.
    sending: AtomicU32,
    /// The longest that a sleeping thread of the run was woken late until now.
    hiccup_ns: AtomicU64,
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
    pub fn is_stopping(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 0
    }

    /// Whether it was asked more than once.
    pub fn is_impatient(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 1
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

    /// So many workers will send.
    pub(crate) fn will_send(&self, workers: u32) {
        self.sending.store(workers, Ordering::Relaxed);
    }

    /// Time begins here.
    pub(crate) fn begins(&self, origin_ns: u64) {
        self.origin_ns.store(origin_ns, Ordering::Release);
    }

    /// One worker sends nothing any more.
    pub(crate) fn has_sent(&self) {
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
