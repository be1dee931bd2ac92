//! The record of a whole run: what the report is made from.

use crate::batches::Batch;
use crate::collector::IntervalSummary;
use crate::hiccups::Hiccups;
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::trace::TraceCounts;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Its duration was over, or its schedule.
    Duration,
    /// Its number of requests was reached.
    Count,
    /// A signal.
    Interrupted,
    /// No request could be sent for too long.
    GaveUp,
    /// Its script stopped at least one thread, as scripts may.
    Stopped,
    /// Its script failed.
    ScriptFailed,
}

/// What one engine thread cost.
#[derive(Debug, Clone, Default)]
pub struct WorkerHealth {
    /// The core it was pinned to.
    pub core: Option<usize>,
    /// Wall time of the measured window and the drain, on this worker.
    pub wall_ns: u64,
    /// CPU time in user mode over `wall_ns`.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel over `wall_ns`.
    pub cpu_system_ns: u64,
    /// Time that it could have run and waited for a core over `wall_ns`; `None` if the kernel does
    /// not say.
    pub waited_ns: Option<u64>,
    /// Times the kernel took the core away over `wall_ns`.
    pub involuntary_switches: u64,
    /// Times that the worker waited for events over `wall_ns`.
    pub waits: u64,
    /// Of a worker that never sleeps: how long it looked for events and found none over `wall_ns`.
    /// That was CPU time which it did not need.
    pub spun_ns: u64,
    /// Requests that left together.
    pub sent_together: SentTogether,
}

/// Requests of several connections that left in one call. All of a call have the time stamp of its
/// beginning, so that the last of them left up to the length of the call after its stamp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentTogether {
    /// Calls that had more than one.
    pub calls: u64,
    /// What they sent.
    pub sends: u64,
    /// The length of all of them.
    pub took_ns: u64,
    /// The length of the longest.
    pub longest_ns: u64,
}

impl SentTogether {
    /// A call with so many sends took so long.
    pub fn add(&mut self, sends: u64, took_ns: u64) {
        self.calls += 1;
        self.sends += sends;
        self.took_ns += took_ns;
        self.longest_ns = self.longest_ns.max(took_ns);
    }
}

/// Memory of the loader's process, by the kernel's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What it had in memory when all connections were made and nothing was sent.
    pub connected_bytes: u64,
    /// How much of that is a connection's, on average.
    pub per_connection_bytes: u64,
    /// The most that it ever had.
    pub peak_bytes: u64,
}

/// What one worker measured, as far as it is kept apart from the others'.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// Answered as expected, measured.
    pub ok: u64,
    /// Sum of their response times.
    pub response_sum_ns: u128,
}

impl WorkerFigures {
    /// Adds an interval of this worker.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ok += interval.ledger.ok;
        self.response_sum_ns += interval.latencies.response.sum_ns();
    }

    /// Mean response time; `None` without answers.
    pub fn response_mean_ns(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.response_sum_ns as f64 / self.ok as f64)
    }
}

/// What happened in a run, all workers together.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The origin of all times, on the reactor's own clock: CLOCK_MONOTONIC in a real run.
    pub origin_monotonic_ns: u64,
    /// Sum of all intervals, warm-up and drain included. Its `start_ns` is 0.
    pub total: Interval,
    /// Finished intervals in order, without the warm-up. Those that begin at or after
    /// `warm_up_ns + window_ns` are of the drain.
    pub intervals: Vec<IntervalSummary>,
    /// The same stretch of time in a bounded number of batches.
    pub batches: Vec<Batch>,
    /// Where the measured window begins, from the beginning of the run.
    pub warm_up_ns: u64,
    /// Length of the measured window: as planned, or as far as it came.
    pub window_ns: u64,
    /// Complete answers (expected or not) of measured requests within the window.
    pub answered_in_window: u64,
    /// Connections asked for.
    pub connections_asked: u64,
    /// Fewest connections established at the end of any interval of the window.
    pub connections_least: u64,
    /// Why it ended.
    pub end: RunEnd,
    /// Length of the whole run from its first due time to the last event.
    pub elapsed_ns: u64,
    /// Service time by the kernel's time stamps, if they were asked for and can be had.
    pub kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub trace: TraceCounts,
    /// Each worker's cost.
    pub workers: Vec<WorkerHealth>,
    /// Each worker's figures, in the same order.
    pub figures: Vec<WorkerFigures>,
    /// A sample of due times of each worker, each with the one that followed it; empty in a closed
    /// load.
    pub gaps: Vec<Vec<(u64, u64)>>,
    /// From when to when workers were held up by the machine, in order; known only of workers that
    /// never sleep ([`HeldUp`](crate::HeldUp)).
    pub held_up: Vec<(u64, u64)>,
    /// What the hiccup watch saw, if there was one.
    pub hiccups: Option<Hiccups>,
    /// Answers that each connection had in the measured window, those that replaced it included.
    pub connection_answers: Vec<u64>,
    /// The loader's memory, in a real run.
    pub memory: Option<Memory>,
}

impl RunRecord {
    /// The record of a part of a run: finished intervals that follow one another, and their sum.
    /// Those that begin at `window_end_ns` or later are of the drain. What a worker costs is
    /// known at the end only.
    pub fn of_part(
        intervals: Vec<IntervalSummary>,
        total: Interval,
        window_end_ns: u64,
        connections_asked: u64,
        figures: Vec<WorkerFigures>,
    ) -> Self {
        let begin_ns = intervals.first().map_or(window_end_ns, |first| first.start_ns);
        let in_window = || intervals.iter().filter(|one| one.start_ns < window_end_ns);
        let reached_ns = in_window().map(|one| one.end_ns).max().unwrap_or(begin_ns);
        RunRecord {
            origin_monotonic_ns: 0,
            warm_up_ns: begin_ns,
            window_ns: reached_ns.saturating_sub(begin_ns),
            answered_in_window: in_window().map(|one| one.answered).sum(),
            connections_asked,
            connections_least: in_window().map(|one| one.connections).min().unwrap_or(0),
            end: RunEnd::Duration,
            elapsed_ns: total.end_ns,
            kernel: None,
            trace: TraceCounts::default(),
            workers: vec![WorkerHealth::default(); figures.len()],
            figures,
            gaps: Vec::new(),
            held_up: Vec::new(),
            hiccups: None,
            connection_answers: Vec::new(),
            memory: None,
            batches: Vec::new(),
            intervals,
            total,
        }
    }
}
