//! The result document: everything about a run, in one versioned value.
//!
//! It is made once, from the plan, the record and the caller's [`Facts`], and every rendering is
//! made only from it. So `candor report` can render a saved result again later. It has numbers with
//! their units in their names; its only texts for a screen are sentences of errors and verdicts.
//! This module reads no file and no clock.
//!
//! Parts: [`plan`](Document::plan) the plan, [`counts`] counts, [`latency`] latencies, [`kernel`] those by the kernel,
//! [`hiccups`] the pauses of the loader's machine, [`target`] the resources of a managed target, [`profile`]
//! its profiler. Nothing is judged here: of verdicts and judgements there are the values alone ([`Verdict`],
//! [`Judgement`]).

pub mod addresses;
mod asked;
mod check;
pub mod counts;
mod failures;
pub mod goodput;
pub mod hiccups;
mod judged;
pub mod kernel;
pub mod latency;
pub mod live;
mod lost;
pub mod part;
pub mod paths;
pub mod profile;
pub mod progress;
pub mod realised;
pub mod streams;
pub mod target;
mod time;
pub mod users;
pub mod watched;

use std::collections::BTreeMap;

use candor_plan::redact::Typed;
use candor_plan::{Load, Parts};
use candor_record::{
    AckCounts, Agent, Alternative, Batches, Bytes, CredentialCounts, DatagramCounts, DeviationKind,
    IntervalSummary, Lost as LostAgent, Machine, NameCounts, PartCounts, RateSamples, RunRecord,
    SLOT_NS, StatusCount, WorkerReport, Workers,
};
pub use candor_record::{EndReason, Host, Memory, Throttled};
use serde::{Deserialize, Serialize};

use addresses::AddressRow;
use asked::asked_between;
use counts::{Connections, ErrorCount, LedgerCounts, RequestRow};
use goodput::Goodput;
use hiccups::Hiccups;
pub use judged::{Judgement, Outcome, Severity, Verdict};
use kernel::{Kernel, TraceSummary};
use latency::Latencies;
pub(crate) use lost::{Lost, is_long};
use part::Part;
use paths::Paths;
use realised::Realised;
use streams::Streams;
pub use time::rfc3339;
use users::Users;
use watched::Watched;

/// The value of [`Document::format`] that this version writes.
pub const FORMAT: &str = "candor.result/3";

/// The facts of the caller.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Version of the tool, such as `0.1.0`.
    pub version: String,
    /// The command line.
    pub typed: Typed,
    /// When the run began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// This machine, for documents of experiments; the record of a run has its own machines.
    pub host: Host,
    /// A remark about the target, e.g. `embedded`.
    pub target_note: Option<String>,
    /// How long the target takes for a response at least, by itself; `None`: unknown.
    pub target_delay_ns: Option<u64>,
}

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Document {
    /// `candor.result/3`. Fields may be added under the same number; none changes its meaning.
    pub format: String,
    /// The program that made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// The same in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The machines of the loader, by their workers; at least one.
    pub machines: Vec<MachineRow>,
    /// What the user says of it, by name; omitted if that is nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// A remark about the target, e.g. `embedded`.
    pub target_note: Option<String>,
    /// How long the target takes for a response at least, by itself; omitted if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_delay_ns: Option<u64>,
    /// The plan of the run, without values that may be secret and without long lists.
    pub plan: Parts,
    /// How it ended.
    pub end: Ending,
    /// Its lengths.
    pub time: Lengths,
    /// Measured requests: each in exactly one place.
    pub ledger: LedgerCounts,
    /// Warm-up requests, counted separately.
    pub warm_up: LedgerCounts,
    /// Asked and achieved.
    pub rate: Rates,
    /// Whether the gaps between due times match the asked process; null if there is nothing to
    /// compare: in a closed load, in bursts and replays.
    #[serde(default)]
    pub realised: Option<Realised>,
    /// The histograms.
    pub latencies: Latencies,
    /// Service time by the kernel's time stamps; null if not requested.
    pub kernel: Option<Kernel>,
    /// The summary of the trace; null without one.
    pub trace: Option<TraceSummary>,
    /// Complete responses to measured requests, by status.
    pub statuses: Vec<StatusCount>,
    /// Complete responses to measured requests that had been broken off before, by status. They are
    /// counted only here. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_off_statuses: Vec<StatusCount>,
    /// Complete responses to measured requests that deviate from RFC 9112 and were read as it
    /// prescribes, by kind. They are counted by their outcome too. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<ErrorCount>,
    /// Failed measured requests by kind, without kinds that did not occur.
    pub errors: Vec<ErrorCount>,
    /// Failed warm-up requests by kind.
    pub warm_up_errors: Vec<ErrorCount>,
    /// Failed attempts to connect by kind, warm-up included. They do not lose a request.
    pub connect_errors: Vec<ErrorCount>,
    /// Connections.
    pub connections: Connections,
    /// Bytes, warm-up and drain included.
    pub bytes: Bytes,
    /// Parts of responses, warm-up and drain included, of protocols that have them.
    #[serde(default, skip_serializing_if = "PartCounts::is_empty")]
    pub parts: PartCounts,
    /// Early acknowledgements, which tell a target that waits for them from one that takes as long; omitted if
    /// there were none.
    #[serde(default, skip_serializing_if = "AckCounts::is_empty")]
    pub acks: AckCounts,
    /// Streams of events, of a plan with streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
    /// Good responses, of a plan with limits for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Datagrams, warm-up and drain included, of protocols over them.
    #[serde(default, skip_serializing_if = "DatagramCounts::is_empty")]
    pub datagrams: DatagramCounts,
    /// Paths of connections over QUIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// Each request of the plan, if it has several.
    pub requests: Vec<RequestRow>,
    /// Each target of the plan, if it has several or is asked for them: all requests to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<RequestRow>,
    /// Each address of the targets, if there are several or is asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRow>,
    /// How names were resolved again during the run, if they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameCounts>,
    /// How the credentials of requests were taken, of a plan that has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<CredentialCounts>,
    /// Where requests went by Alt-Svc, of a plan that asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// Users, of a plan with journeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Users>,
    /// The time series of the run.
    pub intervals: Vec<IntervalSummary>,
    /// The resources of each engine thread.
    pub workers: Vec<WorkerRow>,
    /// How evenly single threads got responses. Null in results of older versions.
    #[serde(default)]
    pub thread_rate: Option<ThreadRate>,
    /// How evenly connections got responses. Null in results of older versions.
    #[serde(default)]
    pub connection_rate: Option<ConnectionRate>,
    /// The resources of a managed target in the measured window; null without one.
    #[serde(default)]
    pub target: Option<target::Resources>,
    /// The profiler of the target in the measured window; null if none was requested. Figures of a
    /// profiled target are not comparable.
    #[serde(default)]
    pub profile: Option<profile::Profile>,
    /// Figures that the server had of itself, at the end of each interval. Omitted if none were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<Watched>,
    /// For a part of a run: the data for merging. Omitted for a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Findings about how far the numbers can be trusted. Empty if there are none.
    pub verdicts: Vec<Verdict>,
    /// The expectations of the user and whether they were met.
    pub expectations: Vec<Judgement>,
}

/// The program that made a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// `candor`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    /// This program.
    pub fn of(facts: &Facts) -> Self {
        Tool { name: "candor".to_owned(), version: facts.version.clone() }
    }
}

/// One machine of the loader, and its behaviour during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineRow {
    /// Its description.
    pub host: Host,
    /// Its first worker, as an index into [`Document::workers`].
    pub first_worker: u32,
    /// The number of its workers.
    pub workers: u32,
    /// The results of its hiccup watch; null if there was none.
    pub hiccups: Option<Hiccups>,
    /// Memory of the loader; null if it was not read.
    pub memory: Option<Memory>,
    /// How its limit of CPU time held it up; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// Its agent, in a run on many machines; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ending {
    /// Why.
    pub reason: EndReason,
    /// Whether it ended before the plan was carried out.
    pub partial: bool,
}

/// The lengths of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lengths {
    /// The warm-up.
    pub warm_up_ns: u64,
    /// The measured window, as far as it came.
    pub window_ns: u64,
    /// All of it: warm-up, window and drain.
    pub elapsed_ns: u64,
}

/// Asked and achieved rates over the measured window, which is taken to last until the next request would have been
/// due if it ends before: N requests of even arrivals at the rate R stand for N/R. Null if the window has no length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rates {
    /// Mean of the planned schedule over the window; null in a closed load.
    pub asked_per_s: Option<f64>,
    /// Scheduled requests divided by that length. With constant arrivals this is the
    /// asked rate, with Poisson arrivals it is the drawn one.
    pub scheduled_per_s: Option<f64>,
    /// Complete responses within the window divided by that length. Includes responses with an
    /// unexpected status or body, but not those during the drain.
    pub achieved_per_s: Option<f64>,
    /// Complete responses within the window.
    pub answered_in_window: u64,
}

/// The resources of one engine thread over the window and the drain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkerRow {
    /// The core it was pinned to.
    pub core: Option<u64>,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time in user mode.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel.
    pub cpu_system_ns: u64,
    /// CPU time divided by wall time, 1 for a whole core; null without wall time.
    pub cpu_share: Option<f64>,
    /// Time that it was runnable but waited for a core; null if the kernel does not report it.
    #[serde(default)]
    pub waited_ns: Option<u64>,
    /// Number of preemptions.
    pub involuntary_switches: u64,
    /// Number of waits for events.
    pub waits: u64,
    /// How long it polled without finding events (`--pacing spin`): time that it did not need,
    /// whether it ran or was stalled.
    #[serde(default)]
    pub spun_ns: u64,
    /// Sends that left together, with io_uring; null: each left by itself.
    #[serde(default)]
    pub batches: Option<Batches>,
    /// Mean response time of its requests; null without expected responses.
    #[serde(default)]
    pub response_mean_ns: Option<f64>,
}

/// Responses of a single thread per second, sampled in each slot of the measured window. All but
/// the first two fields are null without samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ThreadRate {
    /// Length of a slot.
    pub slot_ns: u64,
    /// Samples: slots of all threads.
    pub samples: u64,
    /// Mean.
    pub mean_per_s: Option<f64>,
    /// Standard deviation.
    pub stdev_per_s: Option<f64>,
    /// The highest.
    pub max_per_s: Option<f64>,
    /// Share within one standard deviation of the mean, in [0, 1].
    pub within_stdev: Option<f64>,
}

impl ThreadRate {
    fn of(rates: &RateSamples) -> Self {
        ThreadRate {
            slot_ns: SLOT_NS,
            samples: rates.count(),
            mean_per_s: rates.mean_per_s(),
            stdev_per_s: rates.stdev_per_s(),
            max_per_s: rates.max_per_s(),
            within_stdev: rates.within_stdev(),
        }
    }
}

/// Responses of single connections per second of the measured window; a connection includes those
/// that replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConnectionRate {
    /// Connections.
    pub connections: u64,
    /// The lowest.
    pub min_per_s: f64,
    /// The highest.
    pub max_per_s: f64,
    /// Mean.
    pub mean_per_s: f64,
    /// Standard deviation, of the sample; 0 with one connection.
    pub stdev_per_s: f64,
    /// Share within one standard deviation of the mean, in [0, 1].
    pub within_stdev: f64,
}

impl ConnectionRate {
    /// `None` without connections, or without a window.
    fn of(record: &RunRecord) -> Option<Self> {
        let window_s = record.window_ns as f64 / 1e9;
        let answers: Vec<u64> =
            record.workers.iter().flat_map(|worker| worker.answers.iter().copied()).collect();
        if answers.is_empty() || window_s <= 0.0 {
            return None;
        }
        let n = answers.len() as f64;
        let rates = || answers.iter().map(|&count| count as f64 / window_s);
        let mean = rates().sum::<f64>() / n;
        let squares: f64 = rates().map(|rate| (rate - mean).powi(2)).sum();
        let stdev = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        // Equal rates must not be excluded by rounding.
        let reach = stdev + mean * 1e-9;
        let within = rates().filter(|rate| (rate - mean).abs() <= reach).count();
        Some(ConnectionRate {
            connections: answers.len() as u64,
            min_per_s: rates().fold(f64::INFINITY, f64::min),
            max_per_s: rates().fold(0.0, f64::max),
            mean_per_s: mean,
            stdev_per_s: stdev,
            within_stdev: within as f64 / n,
        })
    }
}

impl Document {
    /// The document of a run of `plan`, with `shown` as its plan, before anything is judged of it.
    pub(crate) fn unjudged(
        facts: &Facts,
        arguments: Vec<String>,
        shown: Parts,
        plan: &Parts,
        record: &RunRecord,
    ) -> Self {
        let total = &record.total;
        Document {
            format: FORMAT.to_owned(),
            tool: Tool::of(facts),
            arguments,
            started_at: time::rfc3339(facts.started_unix_ms),
            started_unix_ms: facts.started_unix_ms,
            machines: MachineRow::all(record),
            tags: BTreeMap::new(),
            target_note: facts.target_note.clone(),
            target_delay_ns: facts.target_delay_ns,
            plan: shown,
            end: Ending::new(record.end),
            time: Lengths {
                warm_up_ns: record.warm_up_ns,
                window_ns: record.window_ns,
                elapsed_ns: record.elapsed_ns,
            },
            ledger: LedgerCounts::of(&total.ledger),
            warm_up: LedgerCounts::of(&total.warm_up),
            rate: Rates::of(plan, record),
            realised: Realised::of(&plan.load, record),
            latencies: Latencies::of(record),
            kernel: Kernel::of(plan, record),
            trace: TraceSummary::of(plan, record),
            statuses: counts::statuses(&total.statuses),
            broken_off_statuses: counts::statuses(&total.broken_off_statuses),
            deviations: counts::by_kind(
                &total.deviations,
                DeviationKind::ALL.map(|kind| (kind.id(), kind.sentence())),
            ),
            errors: counts::errors(&total.ledger.errors),
            warm_up_errors: counts::errors(&total.warm_up.errors),
            connect_errors: counts::connect_errors(plan, &total.connections.failed),
            connections: Connections::of(record),
            bytes: total.bytes,
            parts: total.parts,
            acks: total.acks,
            streams: Streams::of(plan, record),
            goodput: Goodput::of(plan, record),
            datagrams: total.datagrams,
            paths: total.paths.as_deref().map(Paths::of),
            requests: RequestRow::all(plan, total),
            targets: RequestRow::of_targets(plan, total),
            addresses: AddressRow::all(plan, record),
            names: NameCounts::of_all(record.machines.iter().flat_map(|one| &one.names)),
            credentials: record.credentials.clone(),
            alternatives: record.alternatives.clone(),
            users: Users::of(plan, record),
            intervals: record.intervals.clone(),
            workers: record.workers.iter().map(WorkerRow::of).collect(),
            thread_rate: Some(ThreadRate::of(&total.rates)),
            connection_rate: ConnectionRate::of(record),
            target: None,
            profile: None,
            watched: Vec::new(),
            part: Part::of(record),
            verdicts: Vec::new(),
            expectations: Vec::new(),
        }
    }

    /// The outcome of all expectations together.
    pub fn gate(&self) -> Outcome {
        Outcome::of_all(self.expectations.iter().map(|one| one.outcome))
    }

    /// A count of the measured window, per second; `None` if the window has no length.
    pub fn per_s(&self, count: u64) -> Option<f64> {
        Some(count as f64 / self.rated_s()?)
    }

    /// How long the requests of the measured window stand for: what a rate is computed over. The window, or longer if
    /// it ends before the next request would have been due. `None` if the window has no length.
    pub fn rated_s(&self) -> Option<f64> {
        let Lengths { warm_up_ns, window_ns, .. } = self.time;
        rated_s(&self.plan.load, warm_up_ns, window_ns)
    }

    /// Users whose journey ended with a step that failed, and those who came to the end.
    pub fn journeys(&self) -> (u64, u64) {
        let all = self.users.iter().flat_map(|users| &users.journeys);
        all.fold((0, 0), |(failed, completed), one| {
            (one.failed.saturating_add(failed), one.completed.saturating_add(completed))
        })
    }

    /// Whether journeys ended, and all of them with a step that failed. A chain of redirects is one.
    pub fn all_journeys_failed(&self) -> bool {
        matches!(self.journeys(), (1.., 0))
    }

    /// Whether no measured request ended as intended, or no journey. An endless response of which parts came is no failure.
    pub fn nothing_worked(&self) -> bool {
        let ledger = &self.ledger;
        let is_streaming = self.parts.count > 0 && ledger.errors == 0;
        let is_empty = ledger.scheduled == 0 && self.warm_up.succeeded() > 0;
        self.all_journeys_failed() || ledger.succeeded() == 0 && !is_streaming && !is_empty
    }

    /// Whether more than half of the sent requests failed, or had no response; or of the journeys; or the target
    /// went away and did not come back; or of one of several targets nothing worked. Unsent ones do not count: an overload
    /// is a finding about the target.
    pub fn mostly_failed(&self) -> bool {
        let failed = self.ledger.errors.saturating_add(self.ledger.unfinished);
        let (journeys, completed) = self.journeys();
        !self.is_feed()
            && (failed > self.ledger.sent / 2
                || journeys > completed
                || Lost::of(self).is_some()
                || self.failed_targets().next().is_some())
    }

    /// Targets, of several, of which no request succeeded, though some were sent or it took no connection.
    pub fn failed_targets(&self) -> impl Iterator<Item = &RequestRow> {
        let several = self.targets.iter().filter(|_| self.targets.len() > 1);
        several.filter(|one| one.ok == 0 && (one.errors > 0 || self.took_no_connection(&one.name)))
    }

    /// Whether a target refused all attempts to connect.
    pub(crate) fn took_no_connection(&self, target: &str) -> bool {
        let own = || self.addresses.iter().filter(|one| one.target == target);
        own().all(|one| one.opened == 0) && own().any(|one| one.failed > 0)
    }

    /// Whether it is a feed: parts of responses came, and no response ended, neither well nor badly.
    pub fn is_feed(&self) -> bool {
        let ledger = &self.ledger;
        let ended = ledger.succeeded().saturating_add(ledger.errors);
        self.parts.count > 0 && ended == 0 && ledger.unfinished > 0
    }

    /// Parts of responses that came in the measured window, per second; `None` if the window has no length.
    pub fn parts_per_s(&self) -> Option<f64> {
        let parts = self.window_intervals().map(|one| one.parts).fold(0u64, u64::saturating_add);
        self.per_s(parts)
    }

    /// Share of the measured window in which the target took connections, in [0, 1]; `None`: results of older
    /// versions do not have it.
    pub fn availability(&self) -> Option<f64> {
        let (mut available_ns, mut all_ns) = (0.0, 0.0);
        for one in self.window_intervals() {
            let length_ns = one.end_ns.saturating_sub(one.start_ns) as f64;
            available_ns += one.availability? * length_ns;
            all_ns += length_ns;
        }
        (all_ns > 0.0).then(|| available_ns / all_ns)
    }

    /// Correct responses per second of the measured window, and requests that were broken off as intended; `None`
    /// if the window has no length.
    ///
    /// Correct responses during the drain cannot be distinguished from those before, so this is the lower one of
    /// two bounds.
    pub fn correct_per_s(&self) -> Option<f64> {
        let achieved = self.rate.achieved_per_s?;
        let answered = achieved.min(self.per_s(self.ledger.ok)?);
        Some(answered + self.per_s(self.ledger.broken_off)?)
    }

    /// The workers of one of the machines.
    pub fn workers_of(&self, machine: &MachineRow) -> &[WorkerRow] {
        let all = &self.workers;
        let from = (machine.first_worker as usize).min(all.len());
        &all[from..from.saturating_add(machine.workers as usize).min(all.len())]
    }

    /// The hiccups of all watched machines.
    pub fn hiccups(&self) -> impl Iterator<Item = &Hiccups> {
        self.machines.iter().filter_map(|machine| machine.hiccups.as_ref())
    }

    /// Whether a verdict is that the numbers cannot be true.
    pub fn is_invalid(&self) -> bool {
        self.verdicts.iter().any(|one| one.severity == Severity::Invalid)
    }

    /// The agents that were lost, with their machines.
    pub fn lost_agents(&self) -> impl Iterator<Item = (&MachineRow, &Agent, &LostAgent)> {
        self.machines.iter().filter_map(|machine| {
            let agent = machine.agent.as_ref()?;
            Some((machine, agent, agent.lost.as_ref()?))
        })
    }

    /// The intervals of the measured window, without the drain.
    pub fn window_intervals(&self) -> impl DoubleEndedIterator<Item = &IntervalSummary> {
        self.intervals.iter().filter(|one| one.in_window)
    }
}

impl Ending {
    fn new(reason: EndReason) -> Self {
        let partial = matches!(
            reason,
            EndReason::Interrupted
                | EndReason::GaveUp
                | EndReason::ScriptFailed
                | EndReason::DataFailed
                | EndReason::AgentLost
                | EndReason::Aborted
        );
        Ending { reason, partial }
    }
}

impl MachineRow {
    fn all(record: &RunRecord) -> Vec<Self> {
        let row = |machine: &Machine| {
            let Workers { first, count, .. } = machine.workers.unwrap_or(record.of);
            MachineRow {
                host: machine.host.clone(),
                first_worker: first.saturating_sub(record.of.first),
                workers: count,
                hiccups: machine.hiccups.as_ref().map(Hiccups::of),
                memory: machine.memory,
                throttled: machine.throttled,
                agent: machine.agent.clone(),
            }
        };
        record.machines.iter().map(row).collect()
    }
}

impl Rates {
    fn of(plan: &Parts, record: &RunRecord) -> Self {
        let rated_s = rated_s(&plan.load, record.warm_up_ns, record.window_ns);
        let per_s = |count: u64| Some(count as f64 / rated_s?);
        Rates {
            // With journeys it is the users' rate that is asked for.
            asked_per_s: asked_per_s(plan, record).filter(|_| plan.work.journeys().is_empty()),
            scheduled_per_s: per_s(record.total.ledger.scheduled),
            achieved_per_s: per_s(record.answered_in_window),
            answered_in_window: record.answered_in_window,
        }
    }
}

/// The mean rate of the schedule over the window of a record; `None` in a closed load, and without a window.
fn asked_per_s(plan: &Parts, record: &RunRecord) -> Option<f64> {
    let RunRecord { warm_up_ns: from_ns, window_ns, .. } = *record;
    let asked = asked_between(&plan.load, from_ns, from_ns.saturating_add(window_ns))?;
    let per_s = asked * record.of.share() * 1e9 / window_ns as f64;
    // A whole rate over a window of any length.
    let is_whole = (per_s - per_s.round()).abs() < per_s * 1e-12;
    (window_ns > 0).then_some(if is_whole { per_s.round() } else { per_s })
}

/// How long the requests of a window stand for, in seconds; `None` if it has no length.
fn rated_s(load: &Load, from_ns: u64, window_ns: u64) -> Option<f64> {
    let rated_ns = asked::rated_ns(load, from_ns, from_ns.saturating_add(window_ns));
    (window_ns > 0).then_some(rated_ns / 1e9)
}

impl WorkerRow {
    fn of(worker: &WorkerReport) -> Self {
        let health = &worker.health;
        let cpu_ns = health.cpu_user_ns.saturating_add(health.cpu_system_ns);
        WorkerRow {
            core: health.core,
            wall_ns: health.wall_ns,
            cpu_user_ns: health.cpu_user_ns,
            cpu_system_ns: health.cpu_system_ns,
            cpu_share: (health.wall_ns > 0).then(|| cpu_ns as f64 / health.wall_ns as f64),
            waited_ns: health.waited_ns,
            involuntary_switches: health.involuntary_switches,
            waits: health.waits,
            spun_ns: health.spun_ns,
            batches: health.batches,
            response_mean_ns: worker.figures.response_mean_ns(),
        }
    }
}

#[cfg(test)]
mod tests;
