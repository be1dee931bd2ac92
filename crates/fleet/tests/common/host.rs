//! The host of a simulated agent: it "sends" each request of its share when it is due, and makes the
//! intervals and the record of that as an engine would.

use candor_fleet::agent::{Event, read_plan, record_bytes};
use candor_fleet::{Digest, RunKey};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Load, Plan};
use candor_record::{
    Collector, CollectorSettings, EndReason, Interval, Machine, WorkerReport, Workers, wire,
};

use super::{MS, What, World};
use candor_fleet::DataFile;

/// The longest that a response takes.
const SLOWEST_NS: u64 = 80 * MS;

/// A later step of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Read(RunKey),
    Found(RunKey),
    Sealed(RunKey, Digest),
    Prepared(RunKey),
    /// The interval of this number is over, unless the run was stopped since.
    Boundary(RunKey, u64),
    Drained(RunKey, u64),
}

/// A request: when it was due, from the origin, and when its response came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) due_ns: u64,
    pub(crate) done_ns: u64,
}

pub(crate) struct Host {
    pub(crate) key: RunKey,
    pub(crate) workers: Workers,
    plan: Plan,
    /// The origin, by the agent's clock; `None` until it starts.
    pub(crate) origin_ns: Option<u64>,
    /// Its share of the schedule, by due time.
    all: Vec<Request>,
    /// How many of them have left.
    pub(crate) sent: usize,
    /// The agent's last word on how long it may send.
    pub(crate) until_ns: u64,
    collector: Collector,
    begins_ns: u64,
    index: Option<u64>,
    /// Its intervals, as their indices and ends.
    pub(crate) closed: Vec<(Option<u64>, u64)>,
    pub(crate) window_end_ns: u64,
    is_stopped: bool,
    /// When it was told to wait for no response, from the origin.
    pub(crate) cut_ns: u64,
    /// Steps of an earlier turn are ignored.
    turn: u64,
}

impl Host {
    fn new(key: RunKey, plan: Plan, workers: Workers) -> Self {
        let settings = CollectorSettings {
            digits: plan.recording.digits,
            requests: plan.work.requests().len(),
            journeys: plan.work.journeys().len(),
            warm_up_ns: plan.recording.warm_up_ns,
            connections_asked: workers.count.into(),
            workers,
        };
        let warm_up_ns = plan.recording.warm_up_ns;
        let window_end_ns = warm_up_ns + plan.stop.duration_ns.unwrap();
        let mut all = Vec::new();
        if let Load::Open(load) = &plan.load {
            let limit = Limit { end_ns: Some(window_end_ns), measured_count: None, warm_up_ns };
            for worker in workers.indices() {
                let share = Share { worker, workers: workers.of };
                // The time of a response is a function of the request alone.
                all.extend(Schedule::new(load, plan.seed, share, limit).map(|due| Request {
                    due_ns: due.due_ns,
                    done_ns: due.due_ns + MS + due.due_ns.wrapping_mul(0x9e37_79b9) % SLOWEST_NS,
                }));
            }
        }
        all.sort_by_key(|one| one.due_ns);
        Host {
            key,
            workers,
            origin_ns: None,
            all,
            sent: 0,
            until_ns: 0,
            collector: Collector::new(settings),
            begins_ns: 0,
            index: (warm_up_ns == 0).then_some(0),
            closed: Vec::new(),
            window_end_ns,
            is_stopped: false,
            cut_ns: u64::MAX,
            turn: 0,
            plan,
        }
    }

    /// Everything that has left.
    pub(crate) fn requests(&self) -> &[Request] {
        &self.all[..self.sent]
    }

    /// Sends all that is due before this time of the agent's clock.
    pub(crate) fn send_until(&mut self, own_ns: u64) {
        let Some(origin_ns) = self.origin_ns else { return };
        let end_ns = own_ns.saturating_sub(origin_ns).min(self.window_end_ns);
        if !self.is_stopped {
            self.sent = self.sent.max(self.all.partition_point(|one| one.due_ns < end_ns));
        }
    }

    /// The end of the interval that goes on.
    fn boundary_ns(&self) -> u64 {
        let recording = &self.plan.recording;
        let end_ns = match self.index {
            None => recording.warm_up_ns,
            Some(_) => self.begins_ns + recording.interval_ns,
        };
        end_ns.min(self.window_end_ns)
    }

    /// Closes the interval that goes on, at `end_ns` from the origin.
    fn close(&mut self, end_ns: u64) -> Vec<u8> {
        let recording = &self.plan.recording;
        let mut interval = Interval::new(
            recording.digits,
            self.plan.work.requests().len(),
            self.plan.work.journeys().len(),
        );
        (interval.index, interval.start_ns, interval.end_ns) = (self.index, self.begins_ns, end_ns);
        let within = self.begins_ns..end_ns;
        for one in self.requests() {
            let is_warm_up = one.due_ns < recording.warm_up_ns;
            let ledger = if is_warm_up { &mut interval.warm_up } else { &mut interval.ledger };
            if within.contains(&one.due_ns) {
                ledger.scheduled += 1;
                ledger.sent += 1;
                interval.requests[0].sent += u64::from(!is_warm_up);
                // With journeys it is all that a user does.
                let users = interval.journeys.iter_mut().filter(|_| !is_warm_up);
                users.for_each(|users| users.started += 1);
            }
            if within.contains(&one.done_ns) {
                ledger.ok += 1;
                let users = interval.journeys.iter_mut().filter(|_| !is_warm_up);
                users.for_each(|users| users.completed += 1);
                if !is_warm_up {
                    interval.latencies.response.record(one.done_ns - one.due_ns);
                    interval.latencies.service.record(one.done_ns - one.due_ns);
                    interval.requests[0].ok += 1;
                    interval.add_status(200, 1);
                }
            }
        }
        if end_ns == self.cut_ns {
            for one in self.requests().iter().filter(|one| one.done_ns >= end_ns) {
                let is_warm_up = one.due_ns < recording.warm_up_ns;
                let ledger = if is_warm_up { &mut interval.warm_up } else { &mut interval.ledger };
                ledger.unfinished += 1;
                let users = interval.journeys.iter_mut().filter(|_| !is_warm_up);
                users.for_each(|users| users.unfinished += 1);
            }
        }
        self.closed.push((self.index, end_ns));
        self.begins_ns = end_ns;
        self.index = Some(self.index.map_or(0, |index| index + 1));
        let bytes = wire::to_bytes(&interval);
        self.collector.deliver(0, interval);
        self.collector.settle();
        bytes
    }

    fn record(&mut self) -> Vec<u8> {
        let end = match self.is_stopped {
            true => EndReason::Interrupted,
            false => EndReason::Duration,
        };
        for worker in 0..self.workers.count as usize {
            self.collector.worker_ended(worker, WorkerReport::new(self.window_end_ns, end));
        }
        let collector = self.collector.clone();
        record_bytes(&collector.finish(Machine::default(), Default::default()))
    }
}

impl World {
    /// A host obeys its agent.
    pub(super) fn host_event(&mut self, at: usize, event: Event) {
        let own_ns = self.now_of(at).ns;
        match event {
            Event::Resolve { .. } => unreachable!("targets are addresses here"),
            Event::Read { key, bytes, digest } => {
                self.nodes[at].reading = Some(read_plan(&bytes, digest));
                self.later(self.faults.read_ns, What::Host(at, Step::Read(key)));
            }
            Event::Find { key, files } => {
                let node = &mut self.nodes[at];
                let is_missing = |file: &DataFile| !node.files.contains_key(&file.digest);
                node.missing = files.into_iter().filter(is_missing).collect();
                node.pieces.clear();
                self.later(self.faults.read_ns, What::Host(at, Step::Found(key)));
            }
            Event::Piece { index, bytes, .. } => {
                let before = self.nodes[at].pieces.insert(index, bytes);
                assert!(before.is_none(), "a piece is kept once");
            }
            Event::Seal { key, of } => {
                self.later(self.faults.read_ns, What::Host(at, Step::Sealed(key, of)));
            }
            Event::Prepare { key, plan, workers } => {
                assert!(self.nodes[at].host.is_none(), "a host has one run");
                self.nodes[at].host = Some(Host::new(key, *plan, workers));
                if self.faults.stuck_before != Some(at) {
                    let delay_ns = self.rng.below(300 * MS);
                    self.later(delay_ns, What::Host(at, Step::Prepared(key)));
                }
            }
            Event::Start { key, go } => {
                let host = self.nodes[at].host.as_mut().unwrap();
                assert_eq!((host.key, host.origin_ns), (key, None), "a run starts once");
                host.origin_ns = Some(go.origin_ns);
                let end_ns = go.origin_ns + host.boundary_ns();
                self.at_own(at, end_ns, Step::Boundary(key, 0));
            }
            Event::SendUntil { until_ns, .. } => {
                self.nodes[at].host.as_mut().unwrap().until_ns = until_ns;
            }
            Event::Stop { key, at_once: false } => self.stop_host(at, key, own_ns),
            Event::Stop { key, at_once: true } => self.cut_host(at, key, own_ns),
            Event::Abandon { .. } => {
                let node = &mut self.nodes[at];
                if let Some(mut host) = node.host.take() {
                    host.send_until(own_ns);
                    node.past.push(host);
                }
            }
            Event::Audit(line) => self.nodes[at].audit.push(line),
        }
    }

    fn at_own(&mut self, at: usize, own_ns: u64, step: Step) {
        let due_ns = self.nodes[at].clock.when(own_ns).max(self.now_ns);
        self.later(due_ns - self.now_ns, What::Host(at, step));
    }

    fn stop_host(&mut self, at: usize, key: RunKey, own_ns: u64) {
        let now = self.now_of(at);
        let node = &mut self.nodes[at];
        let host = node.host.as_mut().unwrap();
        assert_eq!(host.key, key);
        let origin_ns = host.origin_ns.unwrap();
        host.send_until(own_ns);
        let end_ns = own_ns.saturating_sub(origin_ns).max(host.begins_ns);
        if std::mem::replace(&mut host.is_stopped, true) || end_ns >= host.window_end_ns {
            return;
        }
        host.window_end_ns = end_ns;
        host.turn += 1;
        let (bytes, turn) = (host.close(end_ns), host.turn);
        node.agent.as_mut().unwrap().handle_interval(now, key, &bytes);
        self.at_own(at, origin_ns + end_ns + SLOWEST_NS + 2 * MS, Step::Drained(key, turn));
    }

    /// The host waits for no response.
    fn cut_host(&mut self, at: usize, key: RunKey, own_ns: u64) {
        self.stop_host(at, key, own_ns);
        let host = self.nodes[at].host.as_mut().unwrap();
        host.cut_ns = own_ns.saturating_sub(host.origin_ns.unwrap()).max(host.begins_ns);
        host.turn += 1;
        let step = Step::Drained(key, host.turn);
        self.later(0, What::Host(at, step));
    }

    pub(super) fn host_step(&mut self, at: usize, step: Step) {
        let now = self.now_of(at);
        let is_stuck = self.faults.stuck_after == Some(at);
        let node = &mut self.nodes[at];
        if let Step::Read(key) = step {
            let read = node.reading.take();
            if let (Some(read), Some(agent)) = (read, &mut node.agent) {
                agent.handle_read(now, key, read);
            }
            return;
        }
        match step {
            Step::Found(key) => {
                let missing = std::mem::take(&mut node.missing);
                if let Some(agent) = &mut node.agent {
                    agent.handle_found(now, key, Ok(missing));
                }
                return;
            }
            Step::Sealed(key, of) => {
                let pieces = std::mem::take(&mut node.pieces);
                let bytes: Vec<u8> = pieces.into_values().flatten().collect();
                let is_right = Digest::of(&bytes) == of;
                if is_right {
                    node.files.insert(of, bytes);
                }
                if let Some(agent) = &mut node.agent {
                    let sealed = if is_right { Ok(()) } else { Err("another digest".to_owned()) };
                    agent.handle_sealed(now, key, sealed);
                }
                return;
            }
            _ => {}
        }
        let (Some(host), Some(agent)) = (&mut node.host, &mut node.agent) else { return };
        match step {
            Step::Prepared(key) if host.key == key => {
                agent.handle_prepared(now, key, Ok(host.workers.count));
            }
            Step::Boundary(key, turn) if host.key == key && host.turn == turn => {
                let origin_ns = host.origin_ns.unwrap();
                let end_ns = host.boundary_ns();
                host.send_until(origin_ns + end_ns);
                let bytes = host.close(end_ns);
                agent.handle_interval(now, key, &bytes);
                if end_ns == host.window_end_ns {
                    agent.handle_draining(now, key);
                    let drained_ns = origin_ns + end_ns + SLOWEST_NS + 2 * MS;
                    self.at_own(at, drained_ns, Step::Drained(key, turn));
                } else {
                    let next_ns = origin_ns + host.boundary_ns();
                    self.at_own(at, next_ns, Step::Boundary(key, turn));
                }
            }
            Step::Drained(key, turn) if host.key == key && host.turn == turn && !is_stuck => {
                let end_ns = host.cut_ns.min(host.window_end_ns + SLOWEST_NS + 2 * MS);
                let bytes = host.close(end_ns);
                agent.handle_interval(now, key, &bytes);
                let record = host.record();
                agent.handle_ended(now, key, Ok(&record));
                node.past.push(node.host.take().unwrap());
            }
            _ => {}
        }
    }
}
