//! From the realtime clock, which the kernel's stamps are of, to the monotonic one.
//!
//! The offset between the two is measured by reading realtime between two readings of the
//! monotonic clock, the tightest of a few, and again every few milliseconds: the two drift apart
//! by nothing, since both follow the same corrections, but realtime can be set. A change larger
//! than the readings allow is such a step. Readings are handed in, so that this can be tested.

use rustix::time::ClockId;

use crate::thread::clock_ns;

/// The time between measurements.
const EVERY_NS: u64 = 10_000_000;
/// Readings of which the tightest counts.
const READINGS: usize = 4;

/// The offset, as last measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Realtime {
    measured: Option<Measured>,
    steps: u64,
    worst_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Realtime less monotonic time.
    offset_ns: i128,
    /// Half of the time between the two monotonic readings.
    error_ns: u64,
    at_ns: u64,
}

/// One reading: monotonic, realtime, monotonic.
pub(super) type Reading = (u64, u64, u64);

impl Realtime {
    /// Measures the offset again if it is time.
    pub(super) fn keep_up(&mut self, now_ns: u64, mut read: impl FnMut() -> Reading) {
        let is_fresh =
            self.measured.is_some_and(|last| now_ns.saturating_sub(last.at_ns) < EVERY_NS);
        if is_fresh {
            return;
        }
        let readings = (0..READINGS).map(|_| read());
        let Some((before, realtime, after)) = readings.min_by_key(|(a, _, b)| b - a) else {
            return;
        };
        let error_ns = (after - before).div_ceil(2);
        let offset_ns = i128::from(realtime) - i128::from(before + (after - before) / 2);
        if let Some(last) = self.measured {
            let allowed_ns = u128::from(last.error_ns + error_ns + 1_000);
            self.steps += u64::from(offset_ns.abs_diff(last.offset_ns) > allowed_ns);
        }
        self.worst_ns = self.worst_ns.max(error_ns);
        self.measured = Some(Measured { offset_ns, error_ns, at_ns: now_ns });
    }

    /// The monotonic time of a stamp.
    pub(super) fn monotonic_ns(&self, stamp_ns: u64) -> Option<u64> {
        let last = self.measured?;
        u64::try_from(i128::from(stamp_ns) - last.offset_ns).ok()
    }

    /// How often realtime was set.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The largest error of a measurement.
    pub(super) fn worst_ns(&self) -> u64 {
        self.worst_ns
    }
}

/// Reads both clocks.
pub(super) fn read_clocks() -> Reading {
    let monotonic = || clock_ns(ClockId::Monotonic);
    (monotonic(), clock_ns(ClockId::Realtime), monotonic())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSET_NS: u64 = 1_700_000_000_000_000_000;

    fn reading(at_ns: u64, width_ns: u64, offset_ns: u64) -> Reading {
        (at_ns, at_ns + width_ns / 2 + offset_ns, at_ns + width_ns)
    }

    #[test]
    fn the_tightest_reading_counts() {
        let mut clock = Realtime::default();
        assert_eq!(clock.monotonic_ns(OFFSET_NS), None);
        let mut widths = [9_000, 60, 700, 800].into_iter();
        // The wide readings are off by as much as they may be.
        clock.keep_up(0, || match widths.next().unwrap() {
            60 => reading(1_000, 60, OFFSET_NS),
            wide => reading(1_000, wide, OFFSET_NS + wide / 2),
        });
        assert_eq!(clock.monotonic_ns(OFFSET_NS + 5_000_000), Some(5_000_000));
        assert_eq!((clock.worst_ns(), clock.steps()), (30, 0));
        clock.keep_up(EVERY_NS - 1, || panic!("it is fresh"));
    }

    #[test]
    fn a_step_is_noticed_and_a_wobble_is_none() {
        let mut clock = Realtime::default();
        clock.keep_up(0, || reading(0, 60, OFFSET_NS));
        clock.keep_up(EVERY_NS, || reading(EVERY_NS, 60, OFFSET_NS + 50));
        assert_eq!(clock.steps(), 0);
        let set_back = OFFSET_NS - 3_000_000_000;
        clock.keep_up(2 * EVERY_NS, || reading(2 * EVERY_NS, 60, set_back));
        assert_eq!(clock.steps(), 1);
        assert_eq!(clock.monotonic_ns(set_back + 25_000_000), Some(25_000_000));
    }
}
