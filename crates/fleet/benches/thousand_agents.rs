//! The cost of a coordinator: 1,000 scripted agents, each with intervals of a second and 20,000 samples in
//! each, for a minute of simulated time.
//!
//! Only the coordinator is timed: it decodes messages, handles them and encodes its own.
#![allow(clippy::unwrap_used, reason = "it measures, and fails where it must")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::path::Path;
use std::time::{Duration, Instant};

use candor_fleet::agent::record_bytes;
use candor_fleet::coordinator::{
    Coordinator, Event, OnLoss, Outcome, Settings, Stage, Verdict, Wanted,
};
use candor_fleet::message::{Beat, Command, Echo, Ends, Hello, Order, Phase, Segment};
use candor_fleet::{
    AgentName, Digest, Head, Message, OperatorKey, Outbox, RunId, RunKey, Threads, Timings, codec,
};
use candor_plan::Plan;
use candor_plan::options::{Options, ReadFile};
use candor_record::{
    Collector, CollectorSettings, EndReason, Interval, Machine, WorkerReport, Workers, wire,
};

const AGENTS: usize = 1000;
const SECONDS: u64 = 60;
const SAMPLES: u64 = 20_000;
const S: u64 = 1_000_000_000;
const STEP_NS: u64 = S / 20;

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn plan() -> Plan {
    let text = format!(
        "url = \"http://127.0.0.1/\"\nrate = \"{}/s\"\nduration = \"{SECONDS}s\"\nconnections = {AGENTS}\n\
         interval = \"1s\"\n",
        AGENTS as u64 * SAMPLES
    );
    Options::from_toml("plan.toml", &text).unwrap().build(&NoFiles).unwrap().0
}

fn interval(index: u64) -> Interval {
    let mut interval = Interval { index: Some(index), ..Interval::new(3, 1, 0) };
    (interval.start_ns, interval.end_ns) = (index * S, (index + 1) * S);
    let mut state = index;
    for _ in 0..SAMPLES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
        let service_ns = 80_000 + (-(1.0 - uniform).ln() * 60_000.0) as u64;
        let lag_ns = (state >> 40) % 9_000;
        interval.latencies.service.record(service_ns);
        interval.latencies.first_byte.record(service_ns - 2_000);
        interval.latencies.send_lag.record(lag_ns);
        interval.latencies.queue_wait.record(0);
        interval.latencies.response.record(service_ns + lag_ns);
    }
    (interval.ledger.scheduled, interval.ledger.sent) = (SAMPLES, SAMPLES);
    interval.ledger.ok = SAMPLES;
    interval.add_status(200, SAMPLES);
    interval
}

/// A scripted agent.
struct Seen {
    name: AgentName,
    head: Head,
    workers: Workers,
    phase: Phase,
    next: u32,
    is_settled: bool,
}

fn main() {
    let plan = plan();
    let digest = Digest::of(&wire::to_bytes(&plan));
    let key = RunKey { run: RunId([1; 16]), epoch: 0 };
    let intervals: Vec<Interval> = (0..SECONDS).map(interval).collect();
    let bytes: Vec<Vec<u8>> = intervals.iter().map(wire::to_bytes).collect();
    let largest = bytes.iter().map(Vec::len).max().unwrap();
    let record = |workers: Workers| {
        let mut collector = Collector::new(CollectorSettings {
            digits: 3,
            requests: 1,
            journeys: 0,
            warm_up_ns: 0,
            connections_asked: 1,
            workers,
        });
        intervals.iter().for_each(|one| drop(collector.deliver(0, one.clone())));
        collector.worker_ended(0, WorkerReport::new(SECONDS * S, EndReason::Duration));
        collector.finish(Machine::default(), Default::default())
    };
    let mut template = record(Workers { first: 0, count: 1, of: AGENTS as u32 });

    let mut agents: Vec<Seen> = (0..AGENTS)
        .map(|at| Seen {
            name: format!("agent-{at:04}").parse().unwrap(),
            head: Head { key, boot: at as u64 },
            workers: Workers::all(1),
            phase: Phase::Reserved,
            next: 0,
            is_settled: false,
        })
        .collect();
    let settings = Settings {
        key,
        plan,
        rows: None,
        wanted: Wanted::Count(AGENTS),
        threads: Threads::ByCores,
        on_loss: OnLoss::Stop,
        operator: OperatorKey::from_seed(&[1; 32]),
        nonce: [1; 16],
        expires_unix_s: 1_800_000_000,
        timings: Timings::default(),
    };
    let mut coordinator = Coordinator::new(settings, 0);
    let mut cost = Cost::default();
    let mut now_ns = 0;
    let mut outcome: Option<Box<Outcome>> = None;
    while outcome.is_none() {
        now_ns += STEP_NS;
        assert!(now_ns < 200 * S, "it does not end: {:?}", coordinator.stage());
        let step = now_ns / STEP_NS;
        let mut said: Vec<(usize, Message)> = Vec::new();
        for (at, agent) in agents.iter_mut().enumerate() {
            if coordinator.stage() == Stage::Gathering && step % 20 == at as u64 % 20 {
                let hello = Hello {
                    boot: agent.head.boot,
                    version: String::new(),
                    cores: 2,
                    policy: digest,
                    clock_ns: now_ns,
                    busy: None,
                    kept: Vec::new(),
                };
                said.push((at, Message::Hello(hello)));
            } else if coordinator.stage() > Stage::Gathering && step % 10 == at as u64 % 10 {
                said.push((at, agent.beat(now_ns)));
            }
            // An interval is there a little after its end, of each agent at another time.
            let late_ns = at as u64 * S / 2000;
            let began_ns = coordinator.origin_ns();
            if let Phase::Armed { .. } | Phase::Running = agent.phase
                && now_ns >= began_ns
                && coordinator.stage() == Stage::Running
            {
                agent.phase = Phase::Running;
                let done = now_ns.saturating_sub(began_ns + late_ns) / S;
                while u64::from(agent.next) < done.min(SECONDS) {
                    let bytes = bytes[agent.next as usize].clone();
                    let segment = Segment { sequence: agent.next, ends: Ends::Interval, bytes };
                    said.push((at, Message::Segment { head: agent.head, segment }));
                    agent.next += 1;
                }
                if u64::from(agent.next) == SECONDS {
                    template.of = agent.workers;
                    template.machines[0].workers = Some(agent.workers);
                    let mut outbox = Outbox::default();
                    bytes.iter().for_each(|bytes| outbox.push(0, Ends::Interval, bytes));
                    outbox.push(0, Ends::Record, &record_bytes(&template));
                    let last = outbox.take_unsent().split_off(SECONDS as usize);
                    said.extend(
                        last.into_iter()
                            .map(|segment| (at, Message::Segment { head: agent.head, segment })),
                    );
                    agent.phase = Phase::Delivering(outbox.last(false));
                }
            }
        }
        while !said.is_empty() {
            let mut replies = Vec::new();
            for (at, message) in said.drain(..) {
                let bytes = codec::encode(&message);
                let began = Instant::now();
                let message = codec::decode(&bytes).unwrap();
                coordinator.handle_message(now_ns, &agents[at].name, message);
                cost.add(began, 1, 0);
                replies.extend(cost.replies(&mut coordinator));
            }
            let began = Instant::now();
            coordinator.handle_timeout(now_ns, &mut |_| {});
            cost.add(began, 0, 0);
            replies.extend(cost.replies(&mut coordinator));
            for (name, bytes) in replies {
                let at = agents.binary_search_by(|one| one.name.cmp(&name)).unwrap();
                let reply = agents[at].hear(now_ns, digest, codec::decode(&bytes).unwrap());
                said.extend(reply.map(|message| (at, message)));
            }
            while let Some(event) = coordinator.poll_event() {
                if let Event::Over(over) = event {
                    outcome = Some(over);
                }
            }
        }
    }
    let outcome = outcome.unwrap();
    assert_eq!(outcome.verdict, Verdict::Complete);
    let record = outcome.record.unwrap();
    assert_eq!(record.total.ledger.ok, AGENTS as u64 * SECONDS * SAMPLES);
    assert!(record.total.ledger.balances());
    let cores = cost.time.as_secs_f64() / (now_ns as f64 / S as f64);
    println!("{AGENTS} agents, {SECONDS} s, {largest} bytes an interval of {SAMPLES} samples");
    println!("{} messages in, {} out, {} s of simulated time", cost.came, cost.went, now_ns / S);
    println!("coordinator: {:.2} s, {:.3} of a core", cost.time.as_secs_f64(), cores);
    println!("memory of all of this, at its peak: {} MiB", peak_kib() / 1024);
    assert!(cores < 1.0 && peak_kib() < 1 << 20);
}

impl Seen {
    fn beat(&self, now_ns: u64) -> Message {
        let beat = Beat { sent_ns: now_ns, phase: self.phase, segments: self.next };
        Message::Beat { head: self.head, beat }
    }

    fn hear(&mut self, now_ns: u64, plan: Digest, message: Message) -> Option<Message> {
        match message {
            Message::Reserve { reserve, .. } => self.workers = reserve.workers,
            Message::Probe { head, sent_ns } => {
                let echo = Echo { sent_ns, received_ns: now_ns, replied_ns: now_ns };
                return Some(Message::Echo { head, echo });
            }
            Message::Lease { order: Order { command: Command::Prepare, .. }, .. } => {
                self.phase = Phase::Prepared { plan, connections: 1 };
            }
            Message::Lease { order: Order { command: Command::Go(go), .. }, .. } => {
                self.phase = Phase::Armed { origin_ns: go.origin_ns };
            }
            Message::Settled { .. } => self.is_settled = true,
            _ => return None,
        }
        (!self.is_settled).then(|| self.beat(now_ns + 1))
    }
}

#[derive(Default)]
struct Cost {
    time: Duration,
    came: u64,
    went: u64,
}

impl Cost {
    fn add(&mut self, began: Instant, came: u64, went: u64) {
        self.time += began.elapsed();
        (self.came, self.went) = (self.came + came, self.went + went);
    }

    fn replies(&mut self, coordinator: &mut Coordinator) -> Vec<(AgentName, Vec<u8>)> {
        let began = Instant::now();
        let replies = std::iter::from_fn(|| coordinator.poll_transmit());
        let replies: Vec<_> =
            replies.map(|(name, message)| (name, codec::encode(&message))).collect();
        self.add(began, 0, replies.len() as u64);
        replies
    }
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
