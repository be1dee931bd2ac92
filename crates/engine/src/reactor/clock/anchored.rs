//! Time from a counter that ticks evenly: a straight line, begun anew every millisecond.
//!
//! A line begins at an *anchor*, a reading of the kernel's clock together with one of the counter,
//! and rises at the rate that the last ten milliseconds had. Over a schedule of minutes any rate
//! is wrong; over a millisecond what can go wrong is bounded:
//!
//! | | ns |
//! |---|---|
//! | the two were not read at the same instant. The anchor takes the counter's *later* reading, so that this can only put the line behind | ≤ 500, typically 40 |
//! | the rate is not known exactly: two anchors, each ≤ 500 off, 10 ms or more apart, are ≤ 50 ppm; in a millisecond | ≤ 50 |
//! | the line rises by 50 ppm less than was measured, so that the line above can only put it behind | ≤ 50 |
//! | the kernel changes the rate of its clock (NTP, `adjtime`), by at most 500 ppm | ≤ 500, ahead or behind, until the next anchor |
//!
//! So a reading is at most 500 ns ahead, and about 1 µs behind. A kernel that slews harder than
//! that (chrony can, when it finds a machine far off) is found out at the next anchor: the line
//! missed it. From then on every reading is the kernel's.
//!
//! A line that ran ahead is not followed by a jump back: no reading is below one that was made
//! before. Pure: readings come in through an argument.

/// How far a reading may be ahead of the kernel's clock.
pub const AHEAD_NS: u64 = 500;
/// How far it may be behind.
pub const BEHIND_NS: u64 = 1_100;

/// How long a line is valid.
const GOOD_FOR_NS: u64 = 1_000_000;
/// The rate is measured over this time at least.
const RATE_OVER_NS: u64 = 10_000_000;
/// An anchor's readings may be so far apart.
const WIDEST_NS: u64 = 500;
/// Attempts at an anchor; a reading that was interrupted is too wide.
const ATTEMPTS: usize = 4;
/// The line rises by one part in this number less than measured: 50 ppm.
const SLOWER: u64 = 20_000;
/// A line that has missed its next anchor by more than this was no line. Either anchor may be
/// [`WIDEST_NS`] behind, and the kernel may have changed its rate.
const MISSED_NS: u64 = 1_300;
/// After this number of failed anchors in a row, no further one is tried.
const FAILURES: u32 = 100;
/// A rate that differs from the previous one by one part in this number is rejected: 2000 ppm.
const FARTHEST: u64 = 500;
/// Rates are in nanoseconds per tick, times two to this.
const SHIFT: u32 = 32;

/// Counter, nanoseconds of the kernel's clock, counter: read one after the other.
pub(super) type Reading = (u64, u64, u64);

/// The line.
#[derive(Debug, Default)]
pub(super) struct Anchored {
    /// Where it begins.
    ticks: u64,
    ns: u64,
    /// Nanoseconds per tick, shifted; 0: not known.
    rate: u64,
    /// Ticks from its beginning to where it ends; 0: there is none.
    good_for: u64,
    /// What was told last: nothing earlier is.
    told_ns: u64,
    /// An earlier anchor, from which the rate is measured.
    base: Option<(u64, u64)>,
    /// Anchors that could not be made since the last one that could.
    failures: u32,
    /// It was found to be wrong, and is not used any more.
    is_wrong: bool,
}

impl Anchored {
    /// The time when the counter is at `ticks`. `read` is called if a line has to be begun.
    #[inline]
    pub(super) fn now_ns(&mut self, ticks: u64, read: impl FnMut() -> Reading) -> u64 {
        // Of a counter that went back too, this is large.
        let passed = ticks.wrapping_sub(self.ticks);
        if passed < self.good_for {
            self.told_ns = self.told_ns.max(self.line_ns(passed));
            return self.told_ns;
        }
        self.begin(read)
    }

    /// The line's value after this number of ticks. The product is below 2^62: a line is a
    /// millisecond long.
    #[inline]
    fn line_ns(&self, passed: u64) -> u64 {
        self.ns + ((passed * self.rate) >> SHIFT)
    }

    /// Whether it reads the counter at all.
    pub(super) fn is_trusted(&self) -> bool {
        !self.is_wrong
    }

    /// Begins a line, if that can be done well now. The time, in any case, as the kernel tells it.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, mut read: impl FnMut() -> Reading) -> u64 {
        let mut reading = read();
        if !self.is_wrong {
            let mut attempts = 1;
            while self.is_wide(reading) && attempts < ATTEMPTS {
                reading = read();
                attempts += 1;
            }
            let (_, ns, ticks) = reading;
            if self.is_wide(reading) {
                self.failures += 1;
                self.is_wrong = self.failures >= FAILURES;
                self.good_for = 0;
            } else {
                self.failures = 0;
                self.anchor(ticks, ns);
            }
        }
        self.told_ns = self.told_ns.max(reading.1);
        self.told_ns
    }

    /// Whether the readings are too far apart for an anchor. Before there is a rate, a tick is
    /// taken for a nanosecond, which is longer than it is.
    fn is_wide(&self, (before, _, after): Reading) -> bool {
        let rate = if self.rate == 0 { 1 << SHIFT } else { self.rate };
        after.wrapping_sub(before) > (WIDEST_NS << SHIFT) / rate
    }

    fn anchor(&mut self, ticks: u64, ns: u64) {
        self.is_wrong = self.has_missed(ticks, ns);
        self.measure_rate(ticks, ns);
        (self.ticks, self.ns) = (ticks, ns);
        self.good_for = match self.rate {
            rate if rate > 0 && !self.is_wrong => (GOOD_FOR_NS << SHIFT) / rate,
            _ => 0,
        };
    }

    /// Whether the present line, drawn on to its next anchor, misses it. If that is far away,
    /// the line was not used lately, and nothing is known of it and nothing lost.
    fn has_missed(&self, ticks: u64, ns: u64) -> bool {
        let passed = ticks.wrapping_sub(self.ticks);
        self.good_for > 0
            && passed <= self.good_for + self.good_for / 4
            && self.line_ns(passed).abs_diff(ns) > MISSED_NS
    }

    /// A rate that is far from the one before is none: the machine was suspended, and one of the
    /// two clocks went on.
    fn measure_rate(&mut self, ticks: u64, ns: u64) {
        let Some((base_ticks, base_ns)) = self.base else {
            self.base = Some((ticks, ns));
            return;
        };
        let (passed_ticks, passed_ns) = (ticks.wrapping_sub(base_ticks), ns - base_ns);
        if passed_ns < RATE_OVER_NS {
            return;
        }
        self.base = Some((ticks, ns));
        let rate = (u128::from(passed_ns) << SHIFT) / u128::from(passed_ticks.max(1));
        // A counter that ticks less than once in 4 ns is none.
        let Some(rate) = u64::try_from(rate).ok().filter(|rate| rate >> SHIFT < 4) else { return };
        let rate = rate - rate / SLOWER;
        if self.rate == 0 || rate.abs_diff(self.rate) < self.rate / FARTHEST {
            self.rate = rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A counter and a kernel's clock that follows it at a rate that can be changed.
    struct Machine {
        ticks: f64,
        ns: f64,
        ticks_per_ns: f64,
        /// Parts per million by which the kernel's clock is fast.
        slew: f64,
        /// Nanoseconds that a reading of both takes.
        width_ns: f64,
    }

    impl Machine {
        fn new(ticks_per_ns: f64) -> Self {
            Machine { ticks: 1e12, ns: 5e12, ticks_per_ns, slew: 0.0, width_ns: 40.0 }
        }

        fn pass(&mut self, ns: f64) {
            self.ticks += ns * self.ticks_per_ns;
            self.ns += ns * (1.0 + self.slew * 1e-6);
        }

        /// The kernel's clock is read at the beginning, which puts the anchor behind most.
        fn read(&mut self) -> Reading {
            let (before, ns) = (self.ticks as u64, self.ns as u64);
            self.pass(self.width_ns);
            (before, ns, self.ticks as u64)
        }

        /// Reads `clock`; how far it is ahead of what the kernel's was as it was asked.
        fn ahead_ns(&mut self, clock: &mut Anchored) -> f64 {
            let (ticks, ns) = (self.ticks as u64, self.ns);
            clock.now_ns(ticks, || self.read()) as f64 - ns
        }
    }

    /// A clock that has a line.
    fn settled(machine: &mut Machine) -> Anchored {
        let mut clock = Anchored::default();
        for _ in 0..40 {
            machine.ahead_ns(&mut clock);
            machine.pass(500_000.0);
        }
        assert!(clock.good_for > 0);
        clock
    }

    #[test]
    fn a_line_stays_within_its_bounds_and_reads_the_kernel_once_a_millisecond() {
        let mut machine = Machine::new(2.5);
        let mut clock = settled(&mut machine);
        let mut reads = 0;
        for _ in 0..100_000 {
            machine.pass(1_000.0);
            let (ticks, ns) = (machine.ticks as u64, machine.ns);
            let told_ns = clock.now_ns(ticks, || {
                reads += 1;
                machine.read()
            });
            assert!((-200.0..=1.0).contains(&(told_ns as f64 - ns)), "{}", told_ns as f64 - ns);
        }
        assert!((95..=101).contains(&reads), "{reads} in 100 ms");
    }

    #[test]
    fn a_kernel_that_slews_hard_is_found_out_and_time_does_not_go_back() {
        let mut machine = Machine::new(3.0);
        let mut clock = settled(&mut machine);
        machine.slew = -80_000.0;
        let mut last_ns = 0;
        for n in 0..10_000 {
            machine.pass(1_000.0);
            let (ticks, ns) = (machine.ticks as u64, machine.ns);
            let told_ns = clock.now_ns(ticks, || machine.read());
            assert!(told_ns >= last_ns);
            last_ns = told_ns;
            // The line that was there ran on; there was no other.
            assert!(told_ns as f64 - ns <= if n < 2_200 { 90_000.0 } else { 1.0 }, "{n}");
        }
        assert!(!clock.is_trusted());
    }

    #[test]
    fn a_machine_that_was_suspended_has_its_rate_back_at_once() {
        for counter_stops in [false, true] {
            let mut machine = Machine::new(2.0);
            let mut clock = settled(&mut machine);
            match counter_stops {
                true => machine.ticks = 1_000.0,
                false => machine.ticks += 3.6e12,
            }
            for _ in 0..50_000 {
                machine.pass(1_000.0);
                let ahead_ns = machine.ahead_ns(&mut clock);
                assert!((-200.0..=1.0).contains(&ahead_ns), "{ahead_ns}");
            }
            assert!(clock.is_trusted());
        }
    }

    #[test]
    fn a_counter_that_is_dear_to_read_is_given_up() {
        let mut machine = Machine { width_ns: 3_000.0, ..Machine::new(2.0) };
        let mut clock = Anchored::default();
        for _ in 0..200 {
            machine.pass(1_000.0);
            // Of four attempts the last one counts; of a clock that was given up, the only one.
            assert!([0.0, 9_000.0].contains(&machine.ahead_ns(&mut clock).round()));
        }
        assert!(!clock.is_trusted());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Whatever the pauses, the width of readings and the slewing that NTP may do.
        #[test]
        fn readings_keep_the_promise(
            ticks_per_ns in 0.8..5.0f64,
            steps in prop::collection::vec(
                (0.0..3_000_000.0f64, -250.0..250.0f64, 20.0..700.0f64, 1..60u32), 1..60,
            ),
        ) {
            let mut machine = Machine::new(ticks_per_ns);
            let mut clock = settled(&mut machine);
            let mut last_ns = 0;
            for (pause_ns, slew, width_ns, readings) in steps {
                machine.pass(pause_ns);
                (machine.slew, machine.width_ns) = (slew, width_ns);
                for _ in 0..readings {
                    machine.pass(pause_ns / 50.0);
                    let (ticks, before_ns) = (machine.ticks as u64, machine.ns);
                    let told_ns = clock.now_ns(ticks, || machine.read());
                    let after_ns = machine.ns;
                    prop_assert!(told_ns >= last_ns);
                    prop_assert!(told_ns as f64 <= after_ns + AHEAD_NS as f64 + 1.0);
                    prop_assert!(told_ns as f64 >= before_ns - BEHIND_NS as f64 - 1.0);
                    last_ns = told_ns;
                }
            }
        }
    }
}
