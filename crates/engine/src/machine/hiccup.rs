//! The hiccup watch: threads that only sleep, and measure how late they wake.
//!
//! After Gil Tene's jHiccup. A watcher has nothing to do, so when it is late it was not let: the machine
//! stood still, the process was stopped, or something else had its core. There is one for each core of the loader's
//! threads, and for each core that a target on this machine may use; where threads are not kept to cores, there is one
//! for all. What they see stands beside the results, so that a pause of our own is not taken for one of the server.
//! They begin with the run's time and end with the run; they share a few words with the others, and the list of pauses.
//!
//! Not every late wake-up is a pause. The run's own thread may have had the core, or the target: that is their own
//! work, and no excuse for their times. So the kernel is asked how long a watcher waited for its core. A *pause* is at
//! least a millisecond of lateness that is no such wait, because then nothing ran there; or a wait during which a
//! thread of the run waited for that core too. How long that was the kernel tells only afterwards, so that such a
//! wake-up is *in doubt* until the next.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use candor_record::{Hiccup, Hiccups, LEAST_PAUSE_NS};
use rustix::event::Timespec;
use rustix::thread::nanosleep;
use rustix::time::ClockId;

use super::keep_to_cores;
use crate::control::Control;
use crate::thread::{clock_ns, waited_of};

/// How long it sleeps: a pause that long is never missed, and what matters is tens of milliseconds.
/// A sleep costs some 15 µs on a virtual machine: at 1 ms that would be 1.5 % of a core, beside a
/// worker that is to cost as little as can be.
const SLEEP_NS: u64 = 4_000_000;
/// After this number of sleeps the kernel's counters of stolen time are read again: what came long before a hiccup is
/// no cause of it.
const REFRESH: u32 = 32;
/// The most cores to watch.
const MOST_CORES: usize = 16;
/// A pause is known this long after its end: a watcher wakes within that time, and once more if it was in doubt.
pub(crate) const KNOWN_AFTER_NS: u64 = 5 * SLEEP_NS;

/// What one watcher watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    /// Its core; `None`: any.
    core: Option<usize>,
    /// The workers on it, by their places.
    workers: std::ops::Range<usize>,
}

impl Post {
    /// The posts of a run: the core of each of its `workers`, by their places, or `None` if they are not kept to
    /// cores; and the cores of the target.
    pub(crate) fn all(workers: &[Option<usize>], target: &[usize]) -> Vec<Post> {
        let own: Option<Vec<usize>> = workers.iter().copied().collect();
        let Some(own) = own else { return vec![Post { core: None, workers: 0..workers.len() }] };
        let others = target.iter().filter(|core| !own.contains(core));
        let others = others.map(|&core| Post { core: Some(core), workers: 0..0 });
        let each =
            (0..).zip(&own).map(|(at, &core)| Post { core: Some(core), workers: at..at + 1 });
        each.chain(others).take(MOST_CORES).collect()
    }
}

/// Watches until `over` is set. Time begins at `origin_ns` on the monotonic clock, which is 0
/// until it is known; by then `threads` has the id of each worker's thread. `control` is told of pauses.
pub(crate) fn watch(
    post: &Post,
    threads: &[AtomicI32],
    origin_ns: &AtomicU64,
    over: &AtomicBool,
    control: &Control,
) -> Hiccups {
    if let Some(core) = post.core {
        // Where that fails, it watches some core.
        keep_to_cores(&[core]);
    }
    // Or the kernel may round each sleep up by 50 µs. Failing shows as that much lateness.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let clocks = Clocks::read();
    let mut counters: Option<Counters> = None;
    let mut doubt = Doubt::default();
    let mut log = Log { seen: Hiccups::new(), control, stolen_ns: stolen_ns(), sleeps: 0 };
    while !over.load(Ordering::Relaxed) {
        let asked_ns = clock_ns(ClockId::Monotonic) + SLEEP_NS;
        // A signal may cut it short: then it is not late.
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: SLEEP_NS as _ });
        let woke_ns = clock_ns(ClockId::Monotonic);
        let origin_ns = origin_ns.load(Ordering::Relaxed);
        if origin_ns == 0 || asked_ns < origin_ns {
            continue;
        }
        let counters = counters.get_or_insert_with(|| Counters::of(&threads[post.workers.clone()]));
        let late = Late { from_ns: asked_ns - origin_ns, to_ns: woke_ns.max(asked_ns) - origin_ns };
        for found in doubt.woke(late, counters.read()).into_iter().flatten() {
            log.enter(found);
        }
    }
    log.seen.cpu_ns = clock_ns(ClockId::ThreadCPUTime);
    clocks.until(&Clocks::read(), &mut log.seen);
    log.seen
}

/// A late wake-up, from when it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Late {
    from_ns: u64,
    to_ns: u64,
}

/// How long threads waited for their cores until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Waits {
    own_ns: u64,
    /// All workers of the post together.
    workers_ns: u64,
}

/// What a wake-up came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    late: Late,
    /// How much of it the watcher waited for its core.
    waited_ns: u64,
    /// Whether others than the run's own threads, or nothing at all, had the core.
    is_foreign: bool,
}

/// Tells late wake-ups by foreign causes from those by the run's own work.
#[derive(Debug, Default)]
struct Doubt {
    before: Option<Waits>,
    /// The last wake-up, if it is in doubt, and how long workers had waited before it.
    open: Option<(Found, u64)>,
}

impl Doubt {
    /// The watcher woke, and these are the waits until now. Returns what the wake-up before it came to, if that was
    /// in doubt, and what this one came to, unless it is.
    fn woke(&mut self, late: Late, now: Waits) -> [Option<Found>; 2] {
        let before = self.before.replace(now).unwrap_or(now);
        let waited_since =
            |before_ns: u64| now.workers_ns.saturating_sub(before_ns) >= LEAST_PAUSE_NS;
        let settled = self.open.take().map(|(found, workers_ns)| {
            let is_foreign = waited_since(workers_ns);
            Found { is_foreign, ..found }
        });
        let late_ns = late.to_ns - late.from_ns;
        let waited_ns = now.own_ns.saturating_sub(before.own_ns).min(late_ns);
        let is_short = late_ns < LEAST_PAUSE_NS;
        let is_still = late_ns - waited_ns >= LEAST_PAUSE_NS;
        let is_foreign = is_short || is_still || waited_since(before.workers_ns);
        let found = Found { late, waited_ns, is_foreign };
        if !is_foreign {
            self.open = Some((found, before.workers_ns));
        }
        [settled, is_foreign.then_some(found)]
    }
}

/// Where a watcher enters what it found.
struct Log<'a> {
    seen: Hiccups,
    control: &'a Control,
    stolen_ns: Option<u64>,
    sleeps: u32,
}

impl Log<'_> {
    fn enter(&mut self, found: Found) {
        let Found { late: Late { from_ns, to_ns }, waited_ns, is_foreign } = found;
        let late_ns = to_ns - from_ns - if is_foreign { 0 } else { waited_ns };
        self.seen.late.record(late_ns);
        self.control.saw_hiccup(late_ns);
        if late_ns >= LEAST_PAUSE_NS {
            self.control.pauses().add(from_ns, to_ns);
        }
        let is_worst = self.seen.is_among_worst(late_ns);
        self.sleeps += 1;
        if is_worst || self.sleeps.is_multiple_of(REFRESH) {
            let before_ns = std::mem::replace(&mut self.stolen_ns, stolen_ns());
            if is_worst {
                let stolen = self.stolen_ns.zip(before_ns);
                self.seen.keep(Hiccup {
                    at_ns: to_ns,
                    late_ns,
                    waited_ns,
                    stolen_ns: stolen.map_or(0, |(now_ns, then_ns)| now_ns.saturating_sub(then_ns)),
                });
            }
        }
    }
}

/// The kernel's accounts of the waits of a watcher and of its workers, kept open: reading one takes a microsecond.
struct Counters {
    own: Option<File>,
    workers: Vec<File>,
}

impl Counters {
    /// Those of the calling thread, and of these.
    fn of(workers: &[AtomicI32]) -> Self {
        let of_thread = |id: &AtomicI32| {
            File::open(format!("/proc/self/task/{}/schedstat", id.load(Ordering::Relaxed))).ok()
        };
        Counters {
            own: File::open("/proc/thread-self/schedstat").ok(),
            workers: workers.iter().filter_map(of_thread).collect(),
        }
    }

    fn read(&self) -> Waits {
        Waits {
            own_ns: self.own.as_ref().map_or(0, waited_ns),
            workers_ns: self.workers.iter().map(waited_ns).sum(),
        }
    }
}

/// Time that a thread could have run and waited for a core; 0 when it has ended.
fn waited_ns(account: &File) -> u64 {
    let mut text = [0; 64];
    let read = account.read_at(&mut text, 0).unwrap_or(0);
    std::str::from_utf8(&text[..read]).ok().and_then(waited_of).unwrap_or(0)
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
        let posts = Post::all(&[None], &[]);
        let seen = std::thread::scope(|scope| {
            let watch = scope.spawn(|| watch(&posts[0], &[0.into()], &origin_ns, &over, &control));
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

    const MS: u64 = 1_000_000;

    /// What the wake-ups come to; each is given by its lateness, and by the waits of the watcher and of the workers
    /// since the one before.
    fn found(wake_ups: &[(u64, u64, u64)]) -> Vec<(u64, bool)> {
        let mut doubt = Doubt::default();
        let (mut at_ns, mut waits) = (0, Waits::default());
        doubt.woke(Late { from_ns: 0, to_ns: 0 }, waits);
        let mut all = Vec::new();
        for &(late_ns, own_ns, workers_ns) in wake_ups {
            at_ns += SLEEP_NS;
            waits.own_ns += own_ns;
            waits.workers_ns += workers_ns;
            let late = Late { from_ns: at_ns, to_ns: at_ns + late_ns };
            at_ns += late_ns;
            let found = doubt.woke(late, waits).into_iter().flatten();
            all.extend(found.map(|one| (one.late.to_ns - one.late.from_ns, one.is_foreign)));
        }
        all
    }

    #[test]
    fn a_machine_that_stood_still_paused() {
        // Nobody waited: nothing ran. Short waits before or after do not change that.
        assert_eq!(found(&[(5 * MS, 0, 0)]), [(5 * MS, true)]);
        assert_eq!(found(&[(5 * MS, 4 * MS, 0)]), [(5 * MS, true)]);
    }

    #[test]
    fn own_work_is_no_pause() {
        let calm = (50_000, 20_000, 30_000);
        assert_eq!(found(&[(3 * MS, 3 * MS, 0), calm]), [(3 * MS, false), (50_000, true)]);
        assert_eq!(found(&[(3 * MS, 2 * MS + 1, 0), calm]), [(3 * MS, false), (50_000, true)]);
        // Nor is a wait that the counters know only with the end of the run.
        assert_eq!(found(&[(3 * MS, 3 * MS, 0)]), []);
    }

    #[test]
    fn work_of_others_is_a_pause_if_a_worker_waited_too() {
        assert_eq!(found(&[(3 * MS, 3 * MS, 2 * MS)]), [(3 * MS, true)]);
        // The worker gets the core after the watcher: its wait is accounted for then.
        let later = (10_000, 0, 3 * MS);
        assert_eq!(found(&[(3 * MS, 3 * MS, 0), later]), [(3 * MS, true), (10_000, true)]);
        // Two in a row.
        let again = (2 * MS, 2 * MS, 3 * MS);
        assert_eq!(found(&[(3 * MS, 3 * MS, 0), again]), [(3 * MS, true), (2 * MS, true)]);
    }

    #[test]
    fn a_post_for_each_core_of_the_loader_and_of_the_target() {
        let cores = |posts: &[Post]| posts.iter().map(|one| one.core).collect::<Vec<_>>();
        let posts = Post::all(&[Some(3), Some(2)], &[0, 1, 2]);
        assert_eq!(cores(&posts), [Some(3), Some(2), Some(0), Some(1)]);
        let workers: Vec<_> = posts.iter().map(|one| one.workers.clone()).collect();
        assert_eq!(workers, [0..1, 1..2, 0..0, 0..0]);
        let many: Vec<usize> = (0..100).collect();
        assert_eq!(Post::all(&[Some(7)], &many).len(), MOST_CORES);
        let unpinned = Post::all(&[None, None], &[0, 1]);
        assert_eq!(unpinned, [Post { core: None, workers: 0..2 }]);
    }

    #[test]
    fn the_kernel_accounts_for_the_waits_of_a_thread() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let counters = Counters::of(&[own.into()]);
        assert!(counters.own.is_some() && counters.workers.len() == 1);
        let Waits { own_ns, workers_ns } = counters.read();
        assert!(own_ns <= workers_ns, "the same thread, read one after the other");
        assert!(Counters::of(&[i32::MAX.into()]).workers.is_empty());
    }
}
