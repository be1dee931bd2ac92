//! What a worker's thread costs: CPU time and the times it was pushed aside.
//!
//! Read at the beginning and at the end of a run from the kernel's accounting of the thread, so
//! that it costs the run nothing.

use std::mem::zeroed;

use candor_record::WorkerHealth;
use rustix::time::{ClockId, clock_gettime};

/// The counters of the calling thread at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    wall_ns: u64,
    cpu_ns: u64,
    /// User and system time in the kernel's ticks: coarse, good for the proportion.
    user_ticks: u64,
    system_ticks: u64,
    involuntary_switches: u64,
    waited_ns: Option<u64>,
}

/// The system's monotonic clock, which times everything in a run.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Time on a clock.
pub(crate) fn clock_ns(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Time that the calling thread could have run and waited for a core: the second number of
/// schedstat (the kernel's `Documentation/scheduler/sched-stats.rst`). A thread that sleeps or is
/// stopped does not wait.
pub(crate) fn waited_ns() -> Option<u64> {
    waited_of(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The same from the text of a thread's schedstat.
pub(crate) fn waited_of(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// How often a thread left its core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switches {
    /// To wait for something: an event, a time, a lock.
    pub(crate) voluntary: u64,
    /// Because the kernel had something else to run there.
    pub(crate) involuntary: u64,
}

impl Switches {
    /// Those of the calling thread until now: a system call (getrusage(2)).
    pub(crate) fn now() -> Self {
        // SAFETY: all of it are integers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { zeroed() };
        // SAFETY: the kernel writes one `rusage`, which lives until after the call. It cannot fail
        // with these arguments; if it did, nothing would have been counted.
        let _ = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
    }
}

impl Snapshot {
    pub(crate) fn take() -> Self {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
        // The second field is the name in parentheses, which may hold anything; the 14th and
        // 15th are user and system time (proc(5)).
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let field = |n: usize| {
            after_name.split_ascii_whitespace().nth(n - 3).and_then(|f| f.parse().ok()).unwrap_or(0)
        };
        Snapshot {
            wall_ns: clock_ns(ClockId::Monotonic),
            cpu_ns: clock_ns(ClockId::ThreadCPUTime),
            user_ticks: field(14),
            system_ticks: field(15),
            involuntary_switches: Switches::now().involuntary,
            waited_ns: waited_ns(),
        }
    }

    /// What was spent between `self` and `later`.
    pub(crate) fn until(self, later: Snapshot, core: Option<usize>, waits: u64) -> WorkerHealth {
        let cpu_ns = later.cpu_ns.saturating_sub(self.cpu_ns);
        let user = later.user_ticks.saturating_sub(self.user_ticks);
        let system = later.system_ticks.saturating_sub(self.system_ticks);
        let cpu_user_ns = match user + system {
            0 => 0,
            both => (u128::from(cpu_ns) * u128::from(user) / u128::from(both)) as u64,
        };
        WorkerHealth {
            core: core.map(|core| core as u64),
            wall_ns: later.wall_ns.saturating_sub(self.wall_ns),
            cpu_user_ns,
            cpu_system_ns: cpu_ns - cpu_user_ns,
            involuntary_switches: later
                .involuntary_switches
                .saturating_sub(self.involuntary_switches),
            waited_ns: later
                .waited_ns
                .zip(self.waited_ns)
                .map(|(later_ns, before_ns)| later_ns.saturating_sub(before_ns)),
            waits,
            ..WorkerHealth::default()
        }
    }
}
