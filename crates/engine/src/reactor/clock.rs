//! The clock of a worker: nanoseconds of CLOCK_MONOTONIC since the origin of the run.
//!
//! Two ways to read it. The kernel's (`clock_gettime` in the vDSO) is exact by definition and costs
//! a fence and a scaling. Where the CPU's time stamp counter ticks evenly on all cores, and the
//! kernel itself keeps time by it, a worker reads that counter and scales it by itself, on a line
//! that [`anchored`] begins anew from the kernel's clock once a millisecond.
//!
//! What is promised of the second way, because stamps of two processes are compared exactly:
//! a reading is never behind CLOCK_MONOTONIC by more than 1 µs, and never ahead of it by more than
//! [`AHEAD_NS`], and that only in the millisecond after the kernel has begun to slew its clock.
//! A message cannot arrive before it was sent by such stamps: between the reading for *sent* and
//! the receiver's own reading lie a send, a wake-up and a read, microseconds on the fastest of
//! machines; and the same the other way round for *done*.
//!
//! Each worker has a clock of its own. It does not go back.

mod anchored;
mod counter;

use rustix::time::{ClockId, clock_gettime};

use anchored::Anchored;
pub use anchored::{AHEAD_NS, BEHIND_NS};

/// Monotonic time since an origin. All clocks of a process agree, as said above.
#[derive(Debug)]
pub struct Clock {
    origin_ns: u64,
    /// What was read last, since the origin.
    last_ns: u64,
    /// No system call was made since.
    is_recent: bool,
    counter: Option<Anchored>,
}

impl Default for Clock {
    /// The best that this machine has.
    fn default() -> Self {
        let counter = counter::is_usable().then(Anchored::default);
        Clock { counter, ..Clock::kernels() }
    }
}

impl Clock {
    /// The kernel's clock, on any machine.
    pub fn kernels() -> Self {
        Clock { origin_ns: 0, last_ns: 0, is_recent: false, counter: None }
    }

    /// Whether it reads the CPU's counter.
    pub fn is_anchored(&self) -> bool {
        self.counter.as_ref().is_some_and(Anchored::is_trusted)
    }

    /// The time.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let monotonic_ns = match &mut self.counter {
            Some(counter) => counter.now_ns(counter::read(), read_both),
            None => monotonic_ns(),
        };
        self.last_ns = monotonic_ns.saturating_sub(self.origin_ns);
        self.is_recent = true;
        self.last_ns
    }

    /// The time, or what it was when it was last read, if nothing was asked of the kernel since:
    /// what lies between is less than a microsecond.
    #[inline]
    pub fn recent_ns(&mut self) -> u64 {
        if self.is_recent { self.last_ns } else { self.now_ns() }
    }

    /// Something was asked of the kernel: time has passed.
    #[inline]
    pub fn time_passed(&mut self) {
        self.is_recent = false;
    }

    /// The origin, on the monotonic clock.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Moves the origin to `origin_ns`, counted from the present one.
    pub fn set_origin_ns(&mut self, origin_ns: u64) {
        self.origin_ns += origin_ns;
        self.is_recent = false;
    }
}

fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The kernel's clock, between two readings of the counter.
fn read_both() -> anchored::Reading {
    (counter::read(), monotonic_ns(), counter::read())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of `clock` are between those of the kernel's before and after, as promised.
    fn check(clock: &mut Clock, readings: u64) {
        let mut last_ns = 0;
        for _ in 0..readings {
            let before_ns = monotonic_ns();
            let now_ns = clock.now_ns();
            let after_ns = monotonic_ns();
            assert!(now_ns + BEHIND_NS >= before_ns, "{} behind", before_ns - now_ns);
            assert!(now_ns <= after_ns + AHEAD_NS, "{} ahead", now_ns - after_ns);
            assert!(now_ns >= last_ns, "{} back", last_ns - now_ns);
            last_ns = now_ns;
        }
    }

    #[test]
    fn readings_lie_between_the_kernels() {
        // Some 200 ms of readings without a pause: a hundred anchors and more.
        check(&mut Clock::default(), 2_000_000);
        check(&mut Clock::kernels(), 10_000);
    }

    #[test]
    fn readings_lie_between_the_kernels_after_pauses() {
        let mut clock = Clock::default();
        for pause_us in [0, 10, 300, 900, 1_100, 5_000, 50_000].into_iter().cycle().take(28) {
            std::thread::sleep(std::time::Duration::from_micros(pause_us));
            check(&mut clock, 100);
        }
    }

    #[test]
    fn clocks_of_threads_agree() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| check(&mut Clock::default(), 300_000));
            }
        });
    }

    #[test]
    fn a_recent_reading_is_good_until_the_kernel_is_asked() {
        let mut clock = Clock::kernels();
        let read_ns = clock.now_ns();
        assert_eq!(clock.recent_ns(), read_ns);
        clock.time_passed();
        assert!(clock.recent_ns() > read_ns);
        let read_ns = clock.now_ns();
        clock.set_origin_ns(read_ns);
        assert!(clock.recent_ns() < read_ns);
    }
}
