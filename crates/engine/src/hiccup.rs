//! The hiccup watch: a thread that only sleeps, and measures how late it wakes.
//!
//! After Gil Tene's jHiccup. It has nothing to do, so when it is late it was not let: the machine
//! stood still, the process was stopped, or something else had the cores. What it sees stands
//! beside the results, so that a pause of our own is not taken for one of the server. It begins
//! with the run's time and ends with the run; it shares two words with the others.
//!
//! Each late wake-up is given what the kernel says of the cause: how long this thread waited for
//! a core (it was awake: others had them), and what the hypervisor took from the cores. A process
//! that was stopped, or a machine that stood still, is neither.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use candor_record::{Hiccup, Hiccups};
use rustix::event::Timespec;
use rustix::thread::nanosleep;
use rustix::time::ClockId;

use crate::control::Control;
use crate::health::{clock_ns, waited_ns};

/// How long it sleeps: a pause that long is never missed, and what matters is tens of milliseconds.
/// A sleep costs some 15 µs on a virtual machine: at 1 ms that would be 1.5 % of a core, beside a
/// worker that is to cost as little as can be.
const SLEEP_NS: u64 = 4_000_000;
/// After this number of sleeps the kernel's counters are read again: what came long before a hiccup is
/// no cause of it.
const REFRESH: u32 = 32;

/// Watches until `over` is set. Time begins at `origin_ns` on the monotonic clock, which is 0
/// until it is known. `control` is told of the longest hiccup so far.
pub(crate) fn watch(origin_ns: &AtomicU64, over: &AtomicBool, control: &Control) -> Hiccups {
    // Or the kernel may round each sleep up by 50 µs. Failing shows as that much lateness.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut seen = Hiccups::new();
    let clocks = Clocks::read();
    let mut counters = Counters::read();
    let mut sleeps = 0;
    while !over.load(Ordering::Relaxed) {
        let asked_ns = clock_ns(ClockId::Monotonic) + SLEEP_NS;
        // A signal may cut it short: then it is not late.
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: SLEEP_NS as _ });
        let woke_ns = clock_ns(ClockId::Monotonic);
        let origin_ns = origin_ns.load(Ordering::Relaxed);
        if origin_ns == 0 || asked_ns < origin_ns {
            continue;
        }
        let late_ns = woke_ns.saturating_sub(asked_ns);
        seen.late.record(late_ns);
        control.saw_hiccup(late_ns);
        let is_worst = seen.is_among_worst(late_ns);
        sleeps += 1;
        if is_worst || sleeps % REFRESH == 0 {
            let now = Counters::read();
            if is_worst {
                seen.keep(Hiccup {
                    at_ns: woke_ns - origin_ns,
                    late_ns,
                    waited_ns: now.waited_ns.saturating_sub(counters.waited_ns).min(late_ns),
                    stolen_ns: now.stolen_ns.saturating_sub(counters.stolen_ns),
                });
            }
            counters = now;
        }
    }
    seen.cpu_ns = clock_ns(ClockId::ThreadCPUTime);
    clocks.until(&Clocks::read(), &mut seen);
    seen
}

/// Clocks that go at the same pace unless one is set, or the machine sleeps.
struct Clocks {
    monotonic_ns: u64,
    boot_ns: u64,
    real_ns: u64,
}

impl Clocks {
    fn read() -> Self {
        Clocks {
            monotonic_ns: clock_ns(ClockId::Monotonic),
            boot_ns: clock_ns(ClockId::Boottime),
            real_ns: clock_ns(ClockId::Realtime),
        }
    }

    /// Notes what they did until `end`.
    fn until(&self, end: &Clocks, seen: &mut Hiccups) {
        let since = |ns: u64, start: u64| ns as i64 - start as i64;
        let monotonic_ns = since(end.monotonic_ns, self.monotonic_ns);
        let boot_ns = since(end.boot_ns, self.boot_ns);
        seen.wall_ns = monotonic_ns.max(0) as u64;
        // The one goes on while the machine sleeps, the other does not.
        seen.suspended_ns = (boot_ns - monotonic_ns).max(0) as u64;
        seen.wall_clock_moved_ns = since(end.real_ns, self.real_ns) - boot_ns;
    }
}

/// What the kernel says of causes.
struct Counters {
    waited_ns: u64,
    stolen_ns: u64,
}

impl Counters {
    fn read() -> Self {
        Counters { waited_ns: waited_ns().unwrap_or(0), stolen_ns: stolen_ns().unwrap_or(0) }
    }
}

/// Time that the hypervisor took from all cores: the eighth number of the first line, in
/// hundredths of a second (proc(5)).
fn stolen_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = text.lines().next()?.split_ascii_whitespace().nth(8)?.parse().ok()?;
    Some(ticks * 10_000_000)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_is_set_is_told_from_a_machine_that_sleeps() {
        const S: u64 = 1_000_000_000;
        let start = Clocks { monotonic_ns: 50 * S, boot_ns: 70 * S, real_ns: 1_700_000_000 * S };
        // 10 s of run; the machine sleeps for `slept_ns`, and the wall clock is set by `set_ns`.
        let seen = |slept_ns: u64, set_ns: i64| {
            let mut seen = Hiccups::new();
            let real_ns = (start.real_ns + 10 * S + slept_ns) as i64 + set_ns;
            let end = Clocks {
                monotonic_ns: start.monotonic_ns + 10 * S,
                boot_ns: start.boot_ns + 10 * S + slept_ns,
                real_ns: real_ns as u64,
            };
            start.until(&end, &mut seen);
            assert_eq!(seen.wall_ns, 10 * S);
            (seen.suspended_ns, seen.wall_clock_moved_ns)
        };
        assert_eq!(seen(0, 0), (0, 0));
        assert_eq!(seen(0, 3600 * S as i64), (0, 3600 * S as i64));
        assert_eq!(seen(0, -7200 * S as i64), (0, -7200 * S as i64));
        assert_eq!(seen(3 * S, 0), (3 * S, 0), "asleep, and nobody set the clock");
        assert_eq!(seen(3 * S, -2 * S as i64), (3 * S, -2 * S as i64));
    }

    #[test]
    fn it_watches_from_the_origin_to_the_end_and_costs_little() {
        let (origin_ns, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let control = Control::default();
        let seen = std::thread::scope(|scope| {
            let watch = scope.spawn(|| watch(&origin_ns, &over, &control));
            std::thread::sleep(Duration::from_millis(30));
            let begun_ns = clock_ns(ClockId::Monotonic);
            origin_ns.store(begun_ns, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(300));
            over.store(true, Ordering::Relaxed);
            watch.join().unwrap()
        });
        // How many depends on the machine; that none is from before the origin does not.
        assert!((1..=330).contains(&seen.late.count()), "{}", seen.late.count());
        assert!(seen.wall_ns >= 200_000_000, "{}", seen.wall_ns);
        assert!(seen.cpu_ns < seen.wall_ns / 10, "{} of {}", seen.cpu_ns, seen.wall_ns);
        assert!(seen.wall_clock_moved_ns.abs() < 20_000_000, "{}", seen.wall_clock_moved_ns);
        assert_eq!(Some(control.worst_hiccup_ns()), seen.late.max_ns());
        assert!(seen.worst.iter().all(|one| one.waited_ns <= one.late_ns));
    }
}
