//! The record of a whole run, from which the report is made.
//!
//! All types here can be serialised ([`crate::wire`]). Only the [`Collector`](crate::Collector)
//! makes a [`RunRecord`].

use serde::{Deserialize, Serialize};

use crate::addresses::{AddressCounts, NameCounts};
use crate::alternatives::Alternative;
use crate::batches::Batch;
use crate::credentials::CredentialCounts;
use crate::hiccups::Hiccups;
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::summary::IntervalSummary;
use crate::trace::TraceCounts;

/// Why a run ended. If workers have different reasons, the last one in this order is the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its duration or its schedule was over.
    Duration,
    /// Its number of requests was reached.
    Count,
    /// Every row of its data was used, where rows are used once.
    RowsUsed,
    /// Its script stopped at least one thread, as scripts may.
    Stopped,
    /// No response came for too long.
    GaveUp,
    /// A signal.
    Interrupted,
    /// Its script failed.
    ScriptFailed,
    /// A data file changed, or could not be read any more.
    DataFailed,
    /// The managed target ended. The watch of the target reports this, never a worker.
    TargetEnded,
    /// An agent of the fleet was lost, or its permission to send was over.
    AgentLost,
    /// A condition of the user ended it. Who watches the intervals reports this, never a worker.
    Aborted,
}

/// A range of a run's workers: those of a process, a machine or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workers {
    /// The first of them.
    pub first: u32,
    /// The number of workers in the range, at least 1.
    pub count: u32,
    /// The number of workers of the whole run.
    pub of: u32,
}

impl Workers {
    /// All workers of a run.
    pub fn all(of: u32) -> Self {
        Workers { first: 0, count: of, of }
    }

    /// Whether the range is the whole run.
    pub fn is_all(self) -> bool {
        self.count == self.of
    }

    /// Their indices.
    pub fn indices(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }

    /// Their share of the whole run, in (0, 1].
    pub fn share(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }
}

/// The resources that one engine thread used.
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
    /// Time that it was runnable but waited for a core over `wall_ns`; `None` if the kernel does
    /// not report it.
    pub waited_ns: Option<u64>,
    /// Number of preemptions over `wall_ns`.
    pub involuntary_switches: u64,
    /// Number of waits for events over `wall_ns`.
    pub waits: u64,
    /// For a worker that never sleeps: how long it polled without finding events over `wall_ns`.
    /// That is CPU time that it did not need.
    pub spun_ns: u64,
    /// Sends that left together; `None`: each leaves by itself.
    pub batches: Option<Batches>,
}

/// Sends that were handed to the kernel together: the time of a send is off by less than its batch took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batches {
    /// Number of batches of two sends and more, warm-up and drain included.
    pub count: u64,
    /// Sends in them.
    pub sends: u64,
    /// Time that handing them over took, altogether.
    pub took_ns: u64,
    /// The longest that one took.
    pub longest_ns: u64,
}

impl Batches {
    /// One more, of this many sends.
    #[inline]
    pub fn add(&mut self, sends: u64, took_ns: u64) {
        self.count += 1;
        self.sends += sends;
        self.took_ns += took_ns;
        self.longest_ns = self.longest_ns.max(took_ns);
    }
}

/// Memory of the loader's process, as the kernel accounts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Its resident memory when all connections were open and nothing was sent yet.
    pub connected_bytes: u64,
    /// The memory of a connection in that, on average.
    pub per_connection_bytes: u64,
    /// Its maximum.
    pub peak_bytes: u64,
}

/// The figures that are kept for each worker separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Measured requests with the expected response.
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

    /// Mean response time; `None` without responses.
    pub fn response_mean_ns(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.response_sum_ns as f64 / self.ok as f64)
    }
}

/// How a worker's run ended, and its data besides the intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Where the measured window ended, from the beginning of the run.
    pub window_end_ns: u64,
    /// Why.
    pub end: EndReason,
    /// The resources that the thread used.
    pub health: WorkerHealth,
    /// Its figures, which the collector fills from the intervals.
    pub figures: WorkerFigures,
    /// A sample of due times, each with the one that followed it; empty in a closed load.
    pub gaps: Vec<(u64, u64)>,
    /// The number of responses on each of its connections in the measured window, including those
    /// on connections that replaced it.
    pub answers: Vec<u64>,
    /// The stalls of the thread by the machine, from when to when, in order; only for threads that
    /// never sleep ([`HeldUp`](crate::HeldUp)).
    pub held_up: Vec<(u64, u64)>,
    /// Service time by the kernel's time stamps, if they were requested and are available.
    pub kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub trace: TraceCounts,
    /// What happened at each address, if they were told apart.
    pub addresses: Vec<AddressCounts>,
}

impl WorkerReport {
    /// A report of a worker whose window ended there, with nothing else known yet.
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
            addresses: Vec::new(),
        }
    }
}

/// The description of a machine. Unknown facts are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// One machine of a run: its description, and its behaviour during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its description.
    pub host: Host,
    /// The workers of the run on this machine; the collector fills it.
    pub workers: Option<Workers>,
    /// The origin of all times, on this machine's own clock: CLOCK_MONOTONIC in a real run.
    pub origin_monotonic_ns: u64,
    /// The results of the hiccup watch, if there was one.
    pub hiccups: Option<Hiccups>,
    /// The loader's memory, in a real run.
    pub memory: Option<Memory>,
    /// The stalls of its workers by the machine, from when to when, in order; the collector fills
    /// it.
    pub held_up: Vec<(u64, u64)>,
    /// How its limit of CPU time held it up; `None`: it had none.
    pub throttled: Option<Throttled>,
    /// How names were resolved again from it, if they were.
    pub names: Vec<NameCounts>,
    /// Its agent, in a run on many machines; the coordinator fills it.
    pub agent: Option<Agent>,
}

/// How a limit of CPU time held processes up, as the kernel's control groups count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// Periods in which the time ran out.
    pub periods: u64,
    /// For how long they waited then, all cores together.
    pub waited_ns: u64,
}

/// The agent on a machine, as its coordinator saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// The largest possible error of its clock at the start, after the correction.
    pub clock_bound_ns: Option<u64>,
    /// How much faster its clock runs than the coordinator's, in parts of 10⁹; null if the error of
    /// that figure is larger.
    pub clock_drift_ppb: Option<i64>,
    /// How it was lost; null if it was not.
    pub lost: Option<Lost>,
}

impl Agent {
    /// An agent of whom only the name is known.
    pub fn named(name: &str) -> Self {
        Agent { name: name.to_owned(), clock_bound_ns: None, clock_drift_ppb: None, lost: None }
    }
}

/// How an agent was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// Why, as a sentence.
    pub why: String,
    /// The end of its last interval that arrived, from the beginning of the run.
    pub known_to_ns: u64,
}

/// The record of a run, or of a part of its workers: the source of its document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The workers of this record.
    pub of: Workers,
    /// The machines, by their workers.
    pub machines: Vec<Machine>,
    /// The report of each worker, in order.
    pub workers: Vec<WorkerReport>,
    /// Sum of all intervals, warm-up and drain included. Its `start_ns` is 0.
    pub total: Interval,
    /// Finished intervals in order, without the warm-up.
    pub intervals: Vec<IntervalSummary>,
    /// The same time in a bounded number of batches.
    pub batches: Vec<Batch>,
    /// Where the measured window begins, from the beginning of the run.
    pub warm_up_ns: u64,
    /// Length of the measured window: as planned, or as far as it came.
    pub window_ns: u64,
    /// Complete responses (expected or not) to measured requests within the window.
    pub answered_in_window: u64,
    /// Connections asked for.
    pub connections_asked: u64,
    /// Fewest connections established at the end of any interval of the window.
    pub connections_least: u64,
    /// Why it ended.
    pub end: EndReason,
    /// Length of the whole run from its first due time to the last event.
    pub elapsed_ns: u64,
    /// Service time by the kernel's time stamps, if they were requested and are available.
    pub kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub trace: TraceCounts,
    /// For a part of a run: its whole intervals as bytes, the warm-up first. Parts are merged from
    /// them.
    pub whole: Vec<Vec<u8>>,
    /// How its credentials were taken; who takes them fills it. It does not travel: agents take none.
    #[serde(skip)]
    pub credentials: Vec<CredentialCounts>,
    /// Where its targets' origins led by Alt-Svc; who asks them fills it. It does not travel: the coordinator asks.
    #[serde(skip)]
    pub alternatives: Vec<Alternative>,
}

impl RunRecord {
    /// The machine of the first worker; there is always one.
    pub fn machine(&self) -> &Machine {
        &self.machines[0]
    }
}
