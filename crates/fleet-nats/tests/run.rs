//! A whole run over a real broker, with agents that send nothing but know their schedule: it completes, also
//! if the broker is away for a second in the middle.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod peer;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use candor_fleet::agent::{self, Agent, Event, Now, read_plan, record_bytes};
use candor_fleet::coordinator::{self, Coordinator, OnLoss, Outcome, Stage, Verdict, Wanted};
use candor_fleet::{AgentName, OperatorKey, Policy, RunId, RunKey, Threads, Timings, planned};
use candor_fleet_nats::{Arrival, Broker, Link};
use candor_plan::Plan;
use candor_plan::options::{Options, ReadFile};
use candor_record::{
    Collector, CollectorSettings, EndReason, Interval, Machine, WorkerReport, Workers, wire,
};
use peer::Server;

const KEY: RunKey = RunKey { run: RunId([5; 16]), epoch: 0 };
const AGENTS: usize = 3;
/// The longest that a run may take here.
const LIMIT: Duration = Duration::from_secs(30);

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn plan() -> Plan {
    let text = "url = \"http://127.0.0.1:1/\"\nrate = \"900/s\"\nduration = \"3s\"\ninterval = \"500ms\"\n\
                connections = 30\ndrain = \"1s\"\n";
    Options::from_toml("plan.toml", text).unwrap().build(&NoFiles).unwrap().0
}

fn operator() -> OperatorKey {
    OperatorKey::from_seed(&[7; 32])
}

/// Nanoseconds since the test began, from which the clocks of agents differ.
fn now_ns(began: Instant) -> u64 {
    began.elapsed().as_nanos() as u64
}

/// The host of an agent: makes the intervals of its share when they are over, as if each request had been
/// sent when it was due.
struct Host {
    key: RunKey,
    plan: Plan,
    workers: Workers,
    origin_ns: u64,
    collector: Collector,
    index: u64,
}

impl Host {
    fn new(key: RunKey, plan: Plan, workers: Workers) -> Self {
        let collector = Collector::new(CollectorSettings {
            digits: plan.recording.digits,
            requests: 1,
            journeys: 0,
            warm_up_ns: 0,
            connections_asked: workers.count.into(),
            workers,
        });
        Host { key, plan, workers, origin_ns: u64::MAX, collector, index: 0 }
    }

    fn end_ns(&self, index: u64) -> u64 {
        let end_ns = index * self.plan.recording.interval_ns;
        end_ns.min(self.plan.stop.duration_ns.unwrap())
    }

    /// When the present interval is over.
    fn next_ns(&self) -> u64 {
        self.origin_ns.saturating_add(self.end_ns(self.index + 1))
    }

    /// The present interval, and whether it is the last one.
    fn interval(&mut self) -> (Vec<u8>, bool) {
        let (start_ns, end_ns) = (self.end_ns(self.index), self.end_ns(self.index + 1));
        let before = |ns| planned(&self.plan, self.workers, Some(ns)).measured;
        let count = before(end_ns) - before(start_ns);
        let mut interval = Interval::new(self.plan.recording.digits, 1, 0);
        (interval.index, interval.start_ns, interval.end_ns) = (Some(self.index), start_ns, end_ns);
        (interval.ledger.scheduled, interval.ledger.sent) = (count, count);
        interval.ledger.ok = count;
        let bytes = wire::to_bytes(&interval);
        self.collector.deliver(0, interval);
        self.index += 1;
        (bytes, end_ns == self.plan.stop.duration_ns.unwrap())
    }

    fn record(mut self) -> Vec<u8> {
        for worker in 0..self.workers.count as usize {
            let end_ns = self.plan.stop.duration_ns.unwrap();
            self.collector.worker_ended(worker, WorkerReport::new(end_ns, EndReason::Duration));
        }
        record_bytes(&self.collector.finish(Machine::default(), Default::default()))
    }
}

/// Drives an agent until its run is settled. Its clock is `ahead_ns` ahead.
fn drive_agent(broker: &Broker, name: AgentName, began: Instant, ahead_ns: u64) {
    let now = || Now {
        ns: now_ns(began) + ahead_ns,
        unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs(),
    };
    let text = format!(
        "operators = [\"{}\"]\n[[target]]\nnetworks = [\"127.0.0.0/8\"]\n",
        operator().public()
    );
    let settings = agent::Settings {
        name: name.clone(),
        boot: ahead_ns,
        cores: 4,
        policy: Policy::from_toml("policy.toml", &text).unwrap(),
        timings: Timings::default(),
        most_bytes: 1 << 20,
    };
    let link = Link::of_agent(broker, name).unwrap();
    let mut agent = Agent::new(settings, now().ns);
    let (mut host, mut has_run): (Option<Host>, bool) = (None, false);
    while !(has_run && agent.phase().is_none()) {
        assert!(began.elapsed() < LIMIT, "{:?}", agent.phase());
        if agent.poll_timeout().is_some_and(|due_ns| due_ns <= now().ns) {
            agent.handle_timeout(now());
        }
        if let Some(mut one) = host.take_if(|one| one.next_ns() <= now().ns) {
            let key = one.key;
            let (bytes, is_last) = one.interval();
            agent.handle_interval(now(), key, &bytes);
            match is_last {
                true => agent.handle_ended(now(), key, Ok(&one.record())),
                false => host = Some(one),
            }
        }
        while let Some(event) = agent.poll_event() {
            match event {
                Event::Read { key, bytes, digest } => {
                    agent.handle_read(now(), key, read_plan(&bytes, digest));
                }
                Event::Prepare { key, plan, workers } => {
                    host = Some(Host::new(key, *plan, workers));
                    agent.handle_prepared(now(), key, Ok(workers.count));
                }
                Event::Start { go, .. } => {
                    host.as_mut().unwrap().origin_ns = go.origin_ns;
                    has_run = true;
                }
                Event::SendUntil { .. } | Event::Audit(_) => {}
                other => panic!("{other:?}"),
            }
        }
        while let Some((to, message)) = agent.poll_transmit() {
            link.send(to, &message);
        }
        if let Some(Arrival::Message { message, .. }) = link.recv(Duration::from_millis(5)) {
            agent.handle_message(now(), *message);
        }
    }
}

/// Drives a coordinator to the end; `each` sees the stage.
fn drive_coordinator(broker: &Broker, began: Instant, mut each: impl FnMut(Stage)) -> Outcome {
    let now = || now_ns(began) + 1_000_000_000;
    let settings = coordinator::Settings {
        key: KEY,
        plan: plan(),
        rows: None,
        wanted: Wanted::Count(AGENTS),
        threads: Threads::ByCores,
        on_loss: OnLoss::Stop,
        operator: operator(),
        nonce: [9; 16],
        expires_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 60,
        timings: Timings { linger_ns: 1_000_000_000, ..Timings::default() },
    };
    let link = Link::of_coordinator(broker, KEY.run).unwrap();
    let mut coordinator = Coordinator::new(settings, now());
    let mut outcome = None;
    while coordinator.poll_timeout().is_some() {
        assert!(began.elapsed() < LIMIT, "{:?}", coordinator.stage());
        coordinator.handle_timeout(now(), &mut |_| {});
        match link.recv(Duration::from_millis(5)) {
            Some(Arrival::Message { from: Some(from), message }) => {
                coordinator.handle_message(now(), &from, *message);
            }
            Some(Arrival::Unreadable { from, why }) => panic!("{from:?}: {why}"),
            _ => {}
        }
        while let Some((to, message)) = coordinator.poll_transmit() {
            link.send(&to, &message);
        }
        while let Some(event) = coordinator.poll_event() {
            if let coordinator::Event::Over(over) = event {
                outcome = Some(*over);
            }
        }
        each(coordinator.stage());
    }
    outcome.unwrap()
}

/// Runs a fleet and checks that it is complete and counts each request of the schedule once.
fn run(server: &mut Server, mut each: impl FnMut(&mut Server, Stage)) {
    let (broker, began) = (server.broker(), Instant::now());
    let outcome = std::thread::scope(|scope| {
        for at in 0..AGENTS as u64 {
            let broker = &broker;
            let name: AgentName = format!("a{at}").parse().unwrap();
            scope.spawn(move || drive_agent(broker, name, began, (at + 1) * 77_000_000_000));
        }
        drive_coordinator(&broker, began, |stage| each(server, stage))
    });
    assert_eq!((&outcome.verdict, &outcome.losses), (&Verdict::Complete, &vec![]));
    let record = outcome.record.unwrap();
    let all = planned(&plan(), Workers::all(record.of.of), None).measured;
    assert_eq!((all, record.total.ledger.ok), (2700, 2700));
    assert!(record.total.ledger.balances());
    assert_eq!((record.machines.len(), record.intervals.len()), (AGENTS, 6));
    // All clocks are this machine's, so the bound is a round trip over loopback.
    for machine in &record.machines {
        let bound_ns = machine.agent.as_ref().unwrap().clock_bound_ns.unwrap();
        assert!(bound_ns < 100_000_000, "{bound_ns}");
    }
}

#[test]
fn a_run_over_a_broker_is_complete() {
    run(&mut Server::start(), |_, _| {});
}

#[test]
fn a_broker_that_is_away_for_a_second_changes_nothing() {
    let mut server = Server::start();
    let mut away: Option<Instant> = None;
    let mut is_back = false;
    run(&mut server, |server, stage| match away {
        None if stage == Stage::Running => {
            server.kill();
            away = Some(Instant::now());
        }
        Some(since) if !is_back && since.elapsed() > Duration::from_secs(1) => {
            server.start_again();
            is_back = true;
        }
        _ => {}
    });
    assert!(is_back);
}
