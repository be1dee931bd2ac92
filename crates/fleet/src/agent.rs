//! The agent: runs a share of a plan on its machine, if grant and policy permit it.
//!
//! ```text
//! Idle → Reserved → Preparing → Prepared → Armed → Running → Draining → Delivering → Idle
//!                                             Running → Lapsed → Delivering
//! ```
//!
//! It alone decides whether a grant and a plan are allowed, and when its lease is over. Its decisions
//! go to its host as [`Event`]s: resolve a name, prepare, start, stop; the host reports the results.
//! Nothing here sends load. Only a timely [`Go`] starts load, and only on an agent that is prepared for
//! a granted run.
//!
//! Results are kept until they are settled: in the run at first, and apart from it once the
//! coordinator is silent for too long, so that the agent is free for another run.

mod kept;
mod prepare;
mod refusals;

use std::collections::VecDeque;

use candor_plan::Plan;
use candor_record::{Workers, wire};

use crate::audit::{Line, What};
use crate::file::DataFile;
use crate::grant::{Grant, Nonces};
use crate::identity::{AgentName, Digest, RunId, RunKey};
use crate::lease::Lease;
use crate::message::{
    Beat, Command, Echo, Ends, Go, Head, Hello, Kept, Message, Order, Phase, Reserve,
};
use crate::outbox::Outbox;
use crate::policy::Policy;
use crate::refusal::{MOST_PLAN_BYTES, Refusal, words};
use crate::timings::{MOST_ROUND_TRIP_NS, Timings};
use crate::{MS, S};
use kept::Store;
use prepare::Fetch;
pub use prepare::read_plan;
use refusals::Refusals;

/// The shortest time from an order to start until the start.
const LEAST_LEAD_NS: u64 = 10 * MS;
/// The longest such time.
const MOST_LEAD_NS: u64 = 600 * S;

/// The machine's two clocks, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The monotonic one.
    pub ns: u64,
    /// Seconds since 1970.
    pub unix_s: u64,
}

/// The settings of an agent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its name.
    pub name: AgentName,
    /// Its life: random, and new each time it starts.
    pub boot: u64,
    /// Cores that it may use.
    pub cores: u32,
    /// The policy of its machine.
    pub policy: Policy,
    /// The times of the protocol.
    pub timings: Timings,
    /// The most bytes of results that it keeps. A run with more results is stopped.
    pub most_bytes: u64,
}

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// All coordinators.
    Coordinators,
    /// The coordinator of this run.
    Coordinator(RunId),
}

/// A task of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Resolve a name and report the addresses ([`Agent::handle_resolved`]).
    Resolve {
        /// The run.
        key: RunKey,
        /// The name.
        host: String,
    },
    /// Read the plan ([`read_plan`]), which takes long if it is large, and report it
    /// ([`Agent::handle_read`]).
    Read {
        /// The run.
        key: RunKey,
        /// The plan's bytes.
        bytes: Vec<u8>,
        /// Their digest, as it was announced.
        digest: Digest,
    },
    /// Look which of these data files the machine keeps, make room for the others, and report those
    /// ([`Agent::handle_found`]).
    Find {
        /// The run.
        key: RunKey,
        /// All data files of its plan.
        files: Vec<DataFile>,
    },
    /// Keep this piece of a data file: the bytes from `index` times [`PIECE_BYTES`](crate::codec::PIECE_BYTES) on.
    Piece {
        /// The run.
        key: RunKey,
        /// The file.
        of: Digest,
        /// The piece.
        index: u32,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// All pieces of a data file have come: keep it if it has this digest, which takes long if it is large, and report
    /// that ([`Agent::handle_sealed`]).
    Seal {
        /// The run.
        key: RunKey,
        /// The file.
        of: Digest,
    },
    /// Prepare these workers of the plan with their connections, and report that
    /// ([`Agent::handle_prepared`]).
    Prepare {
        /// The run.
        key: RunKey,
        /// The plan, with the addresses that it may send to.
        plan: Box<Plan>,
        /// The share.
        workers: Workers,
    },
    /// Start the prepared workers at the origin of the order, and hand over their results
    /// ([`Agent::handle_interval`], [`Agent::handle_ended`]).
    Start {
        /// The run.
        key: RunKey,
        /// The order.
        go: Go,
    },
    /// Send nothing at this time or later. The sending threads enforce this by themselves, because a
    /// process that was suspended as a whole gets [`Event::Stop`] late.
    SendUntil {
        /// The run.
        key: RunKey,
        /// The time.
        until_ns: u64,
    },
    /// Send nothing more, wait for responses unless it is to be done at once, and end.
    Stop {
        /// The run.
        key: RunKey,
        /// Wait for no response.
        at_once: bool,
    },
    /// Forget the run at once.
    Abandon {
        /// The run.
        key: RunKey,
    },
    /// Append a line to the audit file.
    Audit(Line),
}

/// An agent. See the module, and the crate for how it is driven.
#[derive(Debug)]
pub struct Agent {
    settings: Settings,
    run: Option<Box<Run>>,
    kept: Store,
    nonces: Nonces,
    refusals: Refusals,
    next_hello_ns: u64,
    transmits: VecDeque<(To, Message)>,
    events: VecDeque<Event>,
}

/// The run that an agent takes part in.
#[derive(Debug)]
struct Run {
    head: Head,
    workers: Workers,
    plan: Digest,
    grant: Grant,
    stage: Stage,
    lease: Lease,
    next_beat_ns: u64,
    /// When the coordinator was last heard.
    heard_ns: u64,
    outbox: Outbox,
    has_lapsed: bool,
    /// Its host was told not to wait for responses.
    is_hurried: bool,
    /// When the host must have ended after a stop, and the plan's drain.
    ends_by_ns: u64,
    drain_ns: u64,
}

#[derive(Debug)]
enum Stage {
    Reserved {
        plan_bytes: u32,
    },
    Fetching {
        fetch: Fetch,
        plan: Vec<u8>,
    },
    Reading,
    Finding(Box<Plan>),
    FetchingData {
        plan: Box<Plan>,
        fetch: Fetch,
        left: VecDeque<DataFile>,
    },
    Resolving {
        plan: Box<Plan>,
        /// Of the target whose name it is.
        number: usize,
    },
    Preparing,
    Prepared {
        connections: u32,
    },
    Armed {
        origin_ns: u64,
    },
    Running,
    Draining,
    Lapsed,
    Delivering,
}

impl Stage {
    /// Whether it sends, or will.
    fn needs_lease(&self) -> bool {
        !matches!(self, Stage::Draining | Stage::Lapsed | Stage::Delivering)
    }
}

impl Run {
    /// It has stopped, and now waits for responses for a limited time.
    fn drain_until(&mut self, now_ns: u64, stage: Stage, timings: &Timings) {
        self.stage = stage;
        let time_ns = self.drain_ns.saturating_add(timings.overdue_ns);
        self.ends_by_ns = now_ns.saturating_add(time_ns);
    }

    /// How long it offers its results to a silent coordinator, before it keeps them and is free.
    fn delivers_until_ns(&self) -> u64 {
        self.heard_ns.saturating_add(self.lease.length_ns())
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::Reserved { .. } => Phase::Reserved,
            Stage::Fetching { .. }
            | Stage::Reading
            | Stage::Finding(_)
            | Stage::FetchingData { .. }
            | Stage::Resolving { .. }
            | Stage::Preparing => Phase::Preparing,
            Stage::Prepared { connections } => Phase::Prepared { plan: self.plan, connections },
            Stage::Armed { origin_ns } => Phase::Armed { origin_ns },
            Stage::Running => Phase::Running,
            Stage::Draining => Phase::Draining,
            Stage::Lapsed => Phase::Lapsed,
            Stage::Delivering => Phase::Delivering(self.outbox.last(self.has_lapsed)),
        }
    }
}

impl Agent {
    /// An agent that has just started.
    pub fn new(settings: Settings, now_ns: u64) -> Self {
        Agent {
            kept: Store::new(settings.most_bytes),
            settings,
            run: None,
            nonces: Nonces::default(),
            refusals: Refusals::new(now_ns),
            next_hello_ns: now_ns,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<(To, Message)> {
        self.transmits.pop_front()
    }

    /// The next task of the host.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The run that it takes part in, and its phase.
    pub fn phase(&self) -> Option<(RunKey, Phase)> {
        self.run.as_ref().map(|run| (run.head.key, run.phase()))
    }

    /// Runs whose results it keeps.
    pub fn kept(&self) -> Vec<Kept> {
        self.kept.list()
    }

    /// When [`Agent::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<u64> {
        let mut next_ns = self.next_hello_ns;
        if let Some(run) = &self.run {
            next_ns = next_ns.min(run.next_beat_ns);
            if run.stage.needs_lease() {
                next_ns = next_ns.min(run.lease.until_ns());
            }
            match &run.stage {
                Stage::Armed { origin_ns } => next_ns = next_ns.min(*origin_ns),
                Stage::Fetching { fetch, .. } | Stage::FetchingData { fetch, .. } => {
                    next_ns = next_ns.min(fetch.next_ns());
                }
                Stage::Draining | Stage::Lapsed => next_ns = next_ns.min(run.ends_by_ns),
                Stage::Delivering => next_ns = next_ns.min(run.delivers_until_ns()),
                _ => {}
            }
        }
        Some(next_ns)
    }

    /// The time of [`Agent::poll_timeout`] is here.
    pub fn handle_timeout(&mut self, now: Now) {
        self.keep_time(now);
        if now.ns >= self.next_hello_ns {
            self.next_hello_ns = now.ns.saturating_add(self.settings.timings.hello_ns);
            let hello = Hello {
                boot: self.settings.boot,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                cores: self.settings.cores,
                policy: self.settings.policy.digest,
                clock_ns: now.ns,
                busy: self.run.as_ref().map(|run| run.head.key),
                kept: self.kept.list(),
            };
            self.transmits.push_back((To::Coordinators, Message::Hello(hello)));
        }
        let Some(run) = &mut self.run else { return };
        if let Stage::Fetching { fetch, .. } | Stage::FetchingData { fetch, .. } = &mut run.stage
            && let Some(chunks) = fetch.want(now.ns)
        {
            let (to, of) = (To::Coordinator(run.head.key.run), fetch.of());
            self.transmits.push_back((to, Message::Want { head: run.head, of, chunks }));
        }
        if now.ns >= run.next_beat_ns {
            self.beat(now.ns);
        }
    }

    /// Does what is due by time alone: the start, the end of a lease, the end of patience. It precedes
    /// every message and report, so that none of them finds an agent whose lease is over.
    fn keep_time(&mut self, now: Now) {
        let Some(run) = &mut self.run else { return };
        let is_over = run.lease.is_over(now.ns);
        match run.stage {
            Stage::Armed { origin_ns }
                if now.ns >= origin_ns && origin_ns < run.lease.until_ns() =>
            {
                run.stage = Stage::Running;
                self.audit(now, What::Started, String::new());
                self.beat(now.ns);
                // Start and end of the lease may both be due.
                self.keep_time(now);
            }
            Stage::Running if is_over => {
                run.has_lapsed = true;
                self.stop(now, Stage::Lapsed, What::Lapsed, "");
            }
            Stage::Draining | Stage::Lapsed if now.ns >= run.ends_by_ns => {
                let detail = "it did not end by itself after it was stopped".to_owned();
                self.abandon(now, What::Ended, detail);
            }
            Stage::Delivering if now.ns >= run.delivers_until_ns() => self.keep_results(now),
            _ if is_over && run.stage.needs_lease() => {
                self.abandon(now, What::Lapsed, String::new());
            }
            _ => {}
        }
    }

    /// A message came.
    pub fn handle_message(&mut self, now: Now, message: Message) {
        self.keep_time(now);
        match message {
            Message::Reserve { head, reserve } if head.boot == self.settings.boot => {
                self.handle_reserve(now, head, reserve);
            }
            Message::Recall { head } if head.boot == self.settings.boot => {
                self.handle_recall(now, head);
            }
            Message::Kill { run }
                if self.run.as_ref().is_some_and(|own| own.head.key.run == run) =>
            {
                self.abandon(now, What::Killed, String::new());
            }
            Message::Chunk { head, of, index, bytes } => {
                self.handle_chunk(now, head, of, index, bytes);
            }
            Message::Probe { head, sent_ns } => {
                if let Some(run) = self.own(head) {
                    run.heard_ns = now.ns;
                    let echo = Echo { sent_ns, received_ns: now.ns, replied_ns: now.ns };
                    let to = To::Coordinator(head.key.run);
                    self.transmits.push_back((to, Message::Echo { head, echo }));
                }
            }
            Message::Lease { head, order } => self.handle_order(now, head, &order),
            Message::Keep { head }
                if self.own(head).is_some_and(|run| matches!(run.stage, Stage::Delivering)) =>
            {
                self.keep_results(now);
            }
            Message::Settled { head }
                if self.own(head).is_some_and(|run| matches!(run.stage, Stage::Delivering)) =>
            {
                self.audit(now, What::Settled, String::new());
                self.run = None;
            }
            // Messages of agents, and messages to another life of this one.
            _ => {}
        }
    }

    /// A line could not be appended to the audit file. An agent that cannot write what it does does nothing; what was
    /// measured is delivered all the same.
    pub fn handle_unwritten(&mut self, now: Now, why: String) {
        if self.run.as_ref().is_some_and(|run| run.stage.needs_lease()) {
            self.refuse_run(now, Refusal::Audit(words(why)));
        }
    }

    /// The agent's host ends, for this reason: the agent leaves its run, and says so.
    pub fn leave(&mut self, now: Now, why: &str) {
        self.refuse_run(now, Refusal::Failed(words(why.to_owned())));
    }

    /// The present run, if it has this head.
    fn own(&mut self, head: Head) -> Option<&mut Run> {
        self.run.as_deref_mut().filter(|run| run.head == head)
    }

    /// The present run, if it has this key.
    fn of_key(&mut self, key: RunKey) -> Option<&mut Run> {
        self.run.as_deref_mut().filter(|run| run.head.key == key)
    }

    fn handle_reserve(&mut self, now: Now, head: Head, reserve: Reserve) {
        match &self.run {
            Some(run) if run.head == head => self.beat(now.ns),
            Some(run) => {
                let other = run.head.key;
                self.refuse(now, head, Refusal::Busy(other));
            }
            None => match self.agree(now, head, reserve) {
                Ok(()) => self.beat(now.ns),
                Err(why) => self.refuse(now, head, why),
            },
        }
    }

    fn agree(&mut self, now: Now, head: Head, reserve: Reserve) -> Result<(), Refusal> {
        let Reserve { lease_ns, workers, plan, plan_bytes, grant } = reserve;
        let operator = grant.operator;
        let grant = grant.verify(&self.settings.policy.operators)?;
        let own = (&self.settings.name, self.settings.boot);
        grant.check(now.unix_s, head.key, plan, own, workers)?;
        let end = u64::from(workers.first) + u64::from(workers.count);
        if workers.count == 0 || end > u64::from(workers.of) {
            return Err(Refusal::Share);
        }
        if plan_bytes > MOST_PLAN_BYTES {
            return Err(Refusal::PlanSize(plan_bytes));
        }
        self.nonces.use_up(now.unix_s, &grant)?;
        let detail = format!(
            "workers {} to {} of {}, plan {plan}, by {operator}",
            workers.first,
            end - 1,
            workers.of
        );
        self.run = Some(Box::new(Run {
            head,
            workers,
            plan,
            grant,
            stage: Stage::Reserved { plan_bytes },
            lease: Lease::new(now.ns, self.lease_of(lease_ns)),
            next_beat_ns: now.ns,
            heard_ns: now.ns,
            outbox: Outbox::default(),
            has_lapsed: false,
            is_hurried: false,
            ends_by_ns: u64::MAX,
            drain_ns: 0,
        }));
        self.audit(now, What::Granted, detail);
        Ok(())
    }

    /// The length of a lease that a coordinator gives: the agent's own, and the way of messages.
    fn lease_of(&self, given_ns: u64) -> u64 {
        given_ns.min(self.settings.timings.lease_ns.saturating_add(MOST_ROUND_TRIP_NS))
    }

    fn refuse(&mut self, now: Now, head: Head, why: Refusal) {
        if let Some(detail) = self.refusals.line(now.ns, head.key, &why) {
            self.line(now, head.key, What::Refused, detail);
        }
        let to = To::Coordinator(head.key.run);
        self.transmits.push_back((to, Message::Refused { head, why }));
    }

    /// Gives the run up and tells the coordinator why.
    fn refuse_run(&mut self, now: Now, why: Refusal) {
        let Some(run) = self.run.take() else { return };
        self.events.push_back(Event::Abandon { key: run.head.key });
        self.refuse(now, run.head, why);
    }

    fn handle_order(&mut self, now: Now, head: Head, order: &Order) {
        let lease_ns = self.lease_of(order.lease_ns);
        let Some(run) = self.own(head) else { return };
        run.heard_ns = now.ns;
        if let Some(beat_ns) = order.beat_ns {
            if run.stage.needs_lease() && run.lease.renew(now.ns, beat_ns, lease_ns) {
                let (key, until_ns) = (head.key, run.lease.until_ns());
                if matches!(run.stage, Stage::Armed { .. } | Stage::Running) {
                    self.events.push_back(Event::SendUntil { key, until_ns });
                }
            }
            let Some(run) = self.own(head) else { return };
            let missing = run.outbox.missing(now.ns, beat_ns, &order.have);
            let to = To::Coordinator(head.key.run);
            let message = |segment| (to, Message::Segment { head, segment });
            self.transmits.extend(missing.into_iter().map(message));
        }
        let Some(run) = self.own(head) else { return };
        match (order.command, &run.stage) {
            (Command::Prepare, Stage::Reserved { plan_bytes }) => {
                let fetch = Fetch::new(run.plan, u64::from(*plan_bytes));
                run.stage = Stage::Fetching { fetch, plan: Vec::new() };
                // The first chunks are due now, by poll_timeout.
            }
            (Command::Go(go), Stage::Prepared { .. }) => self.handle_go(now, go),
            // The beat after the order may have been lost. A reply to a beat gets none, or the two would talk without
            // a pause.
            (Command::Go(_), Stage::Armed { .. }) if order.beat_ns.is_none() => self.beat(now.ns),
            (Command::Stop | Command::End, Stage::Running) => {
                self.stop(now, Stage::Draining, What::Stopped, "");
            }
            (Command::Stop | Command::End, stage) if stage.needs_lease() => {
                self.abandon(now, What::Stopped, String::new());
            }
            _ => {}
        }
        if order.command == Command::End
            && let Some(run) = self.own(head)
            && matches!(run.stage, Stage::Draining | Stage::Lapsed)
            && !std::mem::replace(&mut run.is_hurried, true)
        {
            self.events.push_back(Event::Stop { key: head.key, at_once: true });
        }
    }

    fn handle_go(&mut self, now: Now, go: Go) {
        let lead_ns = go.origin_ns.checked_sub(now.ns);
        if !lead_ns.is_some_and(|lead_ns| (LEAST_LEAD_NS..=MOST_LEAD_NS).contains(&lead_ns)) {
            return self.refuse_run(now, Refusal::Late);
        }
        let Some(run) = &mut self.run else { return };
        run.stage = Stage::Armed { origin_ns: go.origin_ns };
        let (key, until_ns) = (run.head.key, run.lease.until_ns());
        self.events.push_back(Event::SendUntil { key, until_ns });
        self.events.push_back(Event::Start { key, go });
        self.beat(now.ns);
    }

    /// An interval is finished: the bytes of its [`candor_record::Interval`].
    pub fn handle_interval(&mut self, now: Now, key: RunKey, bytes: &[u8]) {
        self.keep_time(now);
        let most_bytes = self.settings.most_bytes;
        let Some(run) = self.of_key(key) else { return };
        if !matches!(run.stage, Stage::Running | Stage::Draining | Stage::Lapsed) {
            return;
        }
        run.outbox.push(now.ns, Ends::Interval, bytes);
        // A run with more results than there is room for ends here, and its results are kept.
        if run.outbox.bytes() > most_bytes && matches!(run.stage, Stage::Running) {
            self.stop(now, Stage::Draining, What::Stopped, "no room for more results");
        }
        self.send_segments();
    }

    /// The window of the run is over; it waits for responses.
    pub fn handle_draining(&mut self, now: Now, key: RunKey) {
        self.keep_time(now);
        if let Some(run) = self.run.as_deref_mut().filter(|run| run.head.key == key)
            && matches!(run.stage, Stage::Running)
        {
            run.drain_until(now.ns, Stage::Draining, &self.settings.timings);
            self.beat(now.ns);
        }
    }

    /// The run has ended: the bytes of its [`candor_record::RunRecord`] without intervals
    /// ([`crate::agent::record_bytes`]), or why it failed.
    pub fn handle_ended(&mut self, now: Now, key: RunKey, ended: Result<&[u8], String>) {
        self.keep_time(now);
        let Some(run) = self.of_key(key) else { return };
        if !matches!(run.stage, Stage::Running | Stage::Draining | Stage::Lapsed) {
            return;
        }
        match ended {
            Ok(bytes) => {
                run.outbox.push(now.ns, Ends::Record, bytes);
                run.stage = Stage::Delivering;
                let detail =
                    format!("{} segments, {} bytes", run.outbox.count(), run.outbox.bytes());
                self.audit(now, What::Ended, detail);
                self.send_segments();
                self.beat(now.ns);
            }
            Err(why) => {
                self.audit(now, What::Ended, why.clone());
                self.refuse_run(now, Refusal::Failed(words(why)));
            }
        }
    }

    fn send_segments(&mut self) {
        let Some(run) = &mut self.run else { return };
        let (head, to) = (run.head, To::Coordinator(run.head.key.run));
        let segments = run.outbox.take_unsent().into_iter();
        let message = |segment| (to, Message::Segment { head, segment });
        self.transmits.extend(segments.map(message));
    }

    fn beat(&mut self, now_ns: u64) {
        let Some(run) = &mut self.run else { return };
        run.next_beat_ns = now_ns.saturating_add(self.settings.timings.beat_ns);
        let beat = Beat { sent_ns: now_ns, phase: run.phase(), segments: run.outbox.count() };
        let to = To::Coordinator(run.head.key.run);
        self.transmits.push_back((to, Message::Beat { head: run.head, beat }));
    }

    /// Ends the sending of a run.
    fn stop(&mut self, now: Now, stage: Stage, what: What, detail: &str) {
        let Some(run) = &mut self.run else { return };
        run.drain_until(now.ns, stage, &self.settings.timings);
        self.events.push_back(Event::Stop { key: run.head.key, at_once: false });
        self.audit(now, what, detail.to_owned());
        self.beat(now.ns);
    }

    fn abandon(&mut self, now: Now, what: What, detail: String) {
        self.audit(now, what, detail);
        if let Some(run) = self.run.take() {
            self.events.push_back(Event::Abandon { key: run.head.key });
        }
    }

    /// Adds a line about the present run.
    fn audit(&mut self, now: Now, what: What, detail: String) {
        if let Some(run) = &self.run {
            self.line(now, run.head.key, what, detail);
        }
    }

    fn line(&mut self, now: Now, key: RunKey, what: What, detail: String) {
        let agent = self.settings.name.to_string();
        self.events.push_back(Event::Audit(Line::new(now.unix_s, agent, key, what, detail)));
    }
}

/// A record without its intervals, as bytes; intervals are sent by themselves.
pub fn record_bytes(record: &candor_record::RunRecord) -> Vec<u8> {
    let bare = candor_record::RunRecord {
        intervals: Vec::new(),
        batches: Vec::new(),
        whole: Vec::new(),
        ..record.clone()
    };
    wire::to_bytes(&bare)
}
