//! Waiting for a due time: sleep first, then look at the clock until it comes.
//!
//! A thread that sleeps until a time wakes some microseconds after it: the kernel has to notice,
//! and the core has to wake. How much is learnt here from the thread's own wake-ups, and sleep
//! ends so much earlier; the rest of the time is spent looking for events, over and over
//! ("spinning"). That costs CPU, so it has a budget: a share of the time, beyond which it sleeps
//! to the end and is late, which shows as send lag.
//!
//! Where the kernel tells when a response came, a thread may sleep through it: it wakes for what is due, and reads then.
//! With `--pacing stamps` it has no margin either.
//!
//! Pure: times come in, a decision goes out.

use candor_plan::Pacing;

/// Share of a core that may be spent spinning, as 1/n.
const BUDGET: u64 = 4;
/// Spinning that is allowed in advance: a run that begins with a slow machine may learn.
const CREDIT_NS: u64 = 5_000_000;
/// What is assumed before anything was learnt.
const FIRST_MARGIN_NS: u64 = 60_000;
/// More is not believed to be a property of the machine.
const MOST_MARGIN_NS: u64 = 250_000;
/// Nineteen steps down for one up: the margin settles where 95 % of wake-ups are earlier.
const STEPS_DOWN: u64 = 19;

/// The longest sleep during which nothing that arrives is read: whatever is longer can as well be cut short.
const DOZE_NS: u64 = 1_000_000;
/// To fall asleep and to wake up takes as much CPU as to look for so long: what is due sooner leaves in the same turn.
/// Measured at 4 to 40 µs: bench/results/2026-11-25-stamps.
const NAP_NS: u64 = 14_000;

/// How to wait until a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Sleep until this time, unless something happens.
    SleepUntil(u64),
    /// Look whether something happened, and come again at once.
    Spin,
}

/// Decides how to wait, and learns.
#[derive(Debug)]
pub(crate) struct Pacer {
    mode: Pacing,
    margin_ns: u64,
    spun_ns: u64,
    /// Since when it spins without a break.
    spinning_since_ns: Option<u64>,
}

impl Pacer {
    pub(crate) fn new(mode: Pacing) -> Self {
        Pacer { mode, margin_ns: FIRST_MARGIN_NS, spun_ns: 0, spinning_since_ns: None }
    }

    /// Whether the core is the worker's own, and it never sleeps while it sends by a schedule.
    #[inline]
    pub(crate) fn never_sleeps(&self) -> bool {
        self.mode == Pacing::Spin
    }

    /// How to wait at `now_ns` for a request that is due at `due_ns`. Times are since the
    /// beginning of the run.
    #[inline]
    pub(crate) fn wait(&mut self, now_ns: u64, due_ns: u64) -> Wait {
        match self.mode {
            Pacing::Sleep => Wait::SleepUntil(due_ns),
            Pacing::Spin => self.spin(now_ns),
            Pacing::Stamps if due_ns.saturating_sub(now_ns) < NAP_NS => self.spin(now_ns),
            Pacing::Stamps => {
                self.rest(now_ns);
                Wait::SleepUntil(due_ns)
            }
            Pacing::Auto => {
                self.rest(now_ns);
                let wake_ns = due_ns.saturating_sub(self.margin_ns);
                if wake_ns > now_ns {
                    Wait::SleepUntil(wake_ns)
                } else if self.spun_ns < now_ns / BUDGET + CREDIT_NS {
                    self.spin(now_ns)
                } else {
                    Wait::SleepUntil(due_ns)
                }
            }
        }
    }

    fn spin(&mut self, now_ns: u64) -> Wait {
        self.rest(now_ns);
        self.spinning_since_ns = Some(now_ns);
        Wait::Spin
    }

    /// Whether a sleep from `now_ns` to `until_ns` need not end when something comes: the kernel says when it did.
    pub(crate) fn dozes(&self, now_ns: u64, until_ns: u64) -> bool {
        matches!(self.mode, Pacing::Auto | Pacing::Stamps)
            && until_ns.saturating_sub(now_ns) <= DOZE_NS
    }

    /// Books the time since the last decision, if that was to spin. Also when nothing is waited
    /// for any more.
    pub(crate) fn rest(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.spinning_since_ns.take() {
            self.spun_ns += now_ns.saturating_sub(since_ns);
        }
    }

    /// A sleep that was to end at `asked_ns`, and that nothing cut short, ended at `now_ns`.
    pub(crate) fn woke(&mut self, asked_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(asked_ns);
        let step_ns = self.margin_ns / 64 + 100;
        self.margin_ns = if late_ns > self.margin_ns {
            (self.margin_ns + step_ns * STEPS_DOWN / 4).min(MOST_MARGIN_NS)
        } else {
            self.margin_ns.saturating_sub(step_ns / 4)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn it_sleeps_and_then_spins() {
        let mut pacer = Pacer::new(Pacing::Auto);
        let due_ns = S;
        assert_eq!(pacer.wait(0, due_ns), Wait::SleepUntil(S - FIRST_MARGIN_NS));
        assert_eq!(pacer.wait(S - FIRST_MARGIN_NS, due_ns), Wait::Spin);
        assert_eq!(pacer.wait(S - 1000, due_ns), Wait::Spin);
    }

    #[test]
    fn the_modes_do_what_they_say() {
        assert_eq!(Pacer::new(Pacing::Sleep).wait(5, 10), Wait::SleepUntil(10));
        assert_eq!(Pacer::new(Pacing::Spin).wait(0, S), Wait::Spin);
    }

    #[test]
    fn with_stamps_it_sleeps_through_what_comes_if_that_is_not_for_long() {
        let mut pacer = Pacer::new(Pacing::Stamps);
        assert_eq!(pacer.wait(0, 5), Wait::Spin);
        for (due_ns, dozes) in [(50_000, true), (DOZE_NS, true), (DOZE_NS + 1, false)] {
            assert_eq!(pacer.wait(0, due_ns), Wait::SleepUntil(due_ns));
            assert_eq!(pacer.dozes(0, due_ns), dozes);
        }
        assert!(!Pacer::new(Pacing::Sleep).dozes(0, 50_000));
    }

    #[test]
    fn the_margin_settles_where_nineteen_of_twenty_wake_earlier() {
        // Lateness uniform on 10 to 60 µs.
        let mut pacer = Pacer::new(Pacing::Auto);
        let mut late = 0u64;
        for n in 0..20_000u64 {
            late = (late + 7_919) % 50_000;
            pacer.woke(n, n + 10_000 + late);
        }
        assert!((50_000..68_000).contains(&pacer.margin_ns), "{}", pacer.margin_ns);
        // A machine that got better is noticed.
        for n in 0..20_000u64 {
            pacer.woke(n, n + 3_000);
        }
        assert!(pacer.margin_ns < 6_000, "{}", pacer.margin_ns);
    }

    #[test]
    fn spinning_has_a_budget() {
        let mut pacer = Pacer::new(Pacing::Auto);
        let (mut now_ns, mut spun_ns) = (0, 0);
        // Always something due in 10 µs: without a budget it would never sleep.
        while now_ns < S {
            match pacer.wait(now_ns, now_ns + 10_000) {
                Wait::Spin => {
                    now_ns += 500;
                    spun_ns += 500;
                }
                Wait::SleepUntil(until_ns) => now_ns = until_ns,
            }
        }
        assert!(spun_ns <= S / BUDGET + 2 * CREDIT_NS, "{spun_ns}");
        assert!(spun_ns >= S / BUDGET - CREDIT_NS, "{spun_ns}");
    }
}
