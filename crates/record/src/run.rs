//! The record of a whole run: what the report is made from.
//!
//! Everything here can travel ([`crate::wire`]). Only the [`Collector`](crate::Collector) makes a
//! [`RunRecord`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::batches::Batch;
use crate::hiccups::Hiccups;
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::summary::IntervalSummary;
use crate::trace::TraceCounts;

/// Why a run ended. Of several workers' reasons the last in this order is the run's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its duration was over, or its schedule.
    Duration,
    /// Its number of requests was reached.
    Count,
    /// Its script stopped at least one thread, as scripts may.
    Stopped,
    /// No request could be sent for too long.
    GaveUp,
    /// A signal.
    Interrupted,
    /// Its script failed.
    ScriptFailed,
    /// The managed target ended. No worker says so: it is who watches the target that knows.
    TargetEnded,
    /// An agent of the fleet was lost. No worker says so: it is the coordinator that knows.
    AgentLost,
}

/// Which of a run's workers something is of: a process, a machine, a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// The first of them.
    pub first: u32,
    /// How many they are, at least 1.
    pub count: u32,
    /// How many the whole run has.
    pub of: u32,
}

impl Workers {
    /// All of a run's.
    pub fn all(of: u32) -> Self {
        Workers { first: 0, count: of, of }
    }

    /// Whether they are all of a run's.
    pub fn is_all(self) -> bool {
        self.count == self.of
    }

    /// Their indices.
    pub fn indices(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }

    /// What part of the whole run they are, in (0, 1].
    pub fn share(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }
}

/// What one engine thread cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHealth {
    /// The core it was pinned to.
    pub core: Option<u64>,
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
}

/// Memory of the loader's process, by the kernel's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// What it had in memory when all connections were made and nothing was sent.
    pub connected_bytes: u64,
    /// How much of that is a connection's, on average.
    pub per_connection_bytes: u64,
    /// The most that it ever had.
    pub peak_bytes: u64,
}

/// What one worker measured, as far as it is kept apart from the others'.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Answered as expected, measured.
    pub ok: u64,
    /// Sum of their response times.
    pub response_sum_ns: u128,
}

impl WorkerFigures {
    /// Adds an interval of this worker.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ok = self.ok.saturating_add(interval.ledger.ok);
        let sum_ns = interval.latencies.response.sum_ns();
        self.response_sum_ns = self.response_sum_ns.saturating_add(sum_ns);
    }

    /// Mean response time; `None` without answers.
    pub fn response_mean_ns(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.response_sum_ns as f64 / self.ok as f64)
    }
}

/// How a worker's run ended, and what is known of it besides its intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Where the measured window ended, from the beginning of the run.
    pub window_end_ns: u64,
    /// Why.
    pub end: EndReason,
    /// What the thread cost.
    pub health: WorkerHealth,
    /// What it measured. The collector fills it from the intervals.
    pub figures: WorkerFigures,
    /// A sample of due times, each with the one that followed it; empty in a closed load.
    pub gaps: Vec<(u64, u64)>,
    /// Responses that each of its connections had in the measured window, those of the connections
    /// that replaced it included.
    pub answers: Vec<u64>,
    /// From when to when the machine held the thread up, in order; known only of threads that never
    /// sleep ([`HeldUp`](crate::HeldUp)).
    pub held_up: Vec<(u64, u64)>,
    /// Service time by the kernel's time stamps, if they were asked for and can be had.
    pub kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub trace: TraceCounts,
}

impl WorkerReport {
    /// Of a worker whose window ended there, before anything else is known of it.
    pub fn new(window_end_ns: u64, end: EndReason) -> Self {
        WorkerReport {
            window_end_ns,
            end,
            health: WorkerHealth::default(),
            figures: WorkerFigures::default(),
            gaps: Vec::new(),
            answers: Vec::new(),
            held_up: Vec::new(),
            kernel: None,
            trace: TraceCounts::default(),
        }
    }
}

/// What machine it is. What could not be found out is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Model of the CPU.
    pub cpu: Option<String>,
    /// Cores that the loader may use.
    pub cores: Option<u32>,
    /// Operating system and kernel version.
    pub kernel: Option<String>,
    /// Kind of virtual machine or container; `none` on bare metal.
    pub virtualisation: Option<String>,
    /// The CPU frequency governor.
    pub governor: Option<String>,
    /// Memory of the machine.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// One machine of a run: what it is, and what it did meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// What it is.
    pub host: Host,
    /// Which workers of the run were on it; the collector fills it.
    pub workers: Option<Workers>,
    /// The origin of all times, on this machine's own clock: CLOCK_MONOTONIC in a real run.
    pub origin_monotonic_ns: u64,
    /// What the hiccup watch saw, if there was one.
    pub hiccups: Option<Hiccups>,
    /// The loader's memory, in a real run.
    pub memory: Option<Memory>,
    /// From when to when its workers were held up by it, in order; the collector fills it.
    pub held_up: Vec<(u64, u64)>,
    /// Its agent, if a coordinator had the run made; the coordinator fills it.
    pub agent: Option<Agent>,
}

/// What a coordinator knows of the agent on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// How far its clock can be off the coordinator's, after the correction.
    pub clock_bound_ns: Option<u64>,
    /// How much faster its clock goes than the coordinator's, in parts of 10⁹; null if not known to
    /// better than that.
    pub clock_drift_ppb: Option<i64>,
    /// Where what is known of it ends, if it was lost; null if it was not.
    pub lost: Option<Lost>,
}

/// How an agent was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// Why, as a sentence.
    pub why: String,
    /// The end of its last interval that arrived, from the beginning of the run.
    pub known_to_ns: u64,
}

/// What happened in a run, or in a part of its workers: all that a document says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Whose record it is.
    pub of: Workers,
    /// The machines, by their workers.
    pub machines: Vec<Machine>,
    /// What each worker says, in order.
    pub workers: Vec<WorkerReport>,
    /// Sum of all intervals, warm-up and drain included. Its `start_ns` is 0.
    pub total: Interval,
    /// Finished intervals in order, without the warm-up.
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
    pub end: EndReason,
    /// Length of the whole run from its first due time to the last event.
    pub elapsed_ns: u64,
    /// Service time by the kernel's time stamps, if they were asked for and can be had.
    pub kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub trace: TraceCounts,
    /// Of a part of a run: its intervals whole, as bytes, the warm-up first. They are what parts
    /// are merged from.
    pub whole: Vec<Vec<u8>>,
}

impl RunRecord {
    /// The machine of the first worker; there is one.
    pub fn machine(&self) -> &Machine {
        &self.machines[0]
    }
}
