//! A coordinator and agents that violate the protocol: the run ends once, with a reason.

use crate::common::{MS, S, UNIX_S, operator, plan};
use candor_fleet::agent::record_bytes;
use candor_fleet::coordinator::{
    Coordinator, Event, Loss, OnLoss, Outcome, Settings, Stage, Verdict, Void, Wanted,
};
use candor_fleet::message::{Beat, Command, Echo, Ends, Final, Hello, Phase, Segment};
use candor_fleet::{
    AgentName, Digest, Head, Message, Outbox, Refusal, RunId, RunKey, Threads, Timings,
};
use candor_plan::Plan;
use candor_record::{
    Collector, CollectorSettings, EndReason, Interval, Machine, RunRecord, WorkerReport, Workers,
    wire,
};

const KEY: RunKey = RunKey { run: RunId([3; 16]), epoch: 0 };
const STEP_NS: u64 = 50 * MS;

fn usual() -> Plan {
    plan(
        "url = \"http://127.0.0.1:1/\"\nrate = \"40/s\"\nduration = \"4s\"\ninterval = \"1s\"\n\
         digits = 1\nconnections = 8\ndrain = \"1s\"\n",
    )
}

/// A scripted agent: it sends the messages of a test.
struct Scripted {
    name: AgentName,
    head: Head,
    workers: Workers,
    phase: Phase,
    outbox: Outbox,
    is_silent: bool,
}

struct Run {
    now_ns: u64,
    coordinator: Coordinator,
    agents: Vec<Scripted>,
    /// Messages to each agent since the last look at them.
    heard: Vec<(usize, Message)>,
    outcomes: Vec<Outcome>,
}

impl Run {
    fn new(agents: usize, on_loss: OnLoss) -> Self {
        let settings = Settings {
            key: KEY,
            plan: usual(),
            rows: None,
            wanted: Wanted::Count(agents),
            threads: Threads::Given(vec![1; agents]),
            on_loss,
            operator: operator(),
            nonce: [1; 16],
            expires_unix_s: UNIX_S + 60,
            timings: Timings::default(),
        };
        let scripted = |at: usize| Scripted {
            name: format!("a{at}").parse().unwrap(),
            head: Head { key: KEY, boot: at as u64 },
            workers: Workers::all(1),
            phase: Phase::Reserved,
            outbox: Outbox::default(),
            is_silent: false,
        };
        let mut run = Run {
            now_ns: 100 * S,
            coordinator: Coordinator::new(settings, 100 * S),
            agents: (0..agents).map(scripted).collect(),
            heard: Vec::new(),
            outcomes: Vec::new(),
        };
        for at in 0..agents {
            run.say_hello(at, None);
        }
        run
    }

    fn say(&mut self, at: usize, message: Message) {
        self.coordinator.handle_message(self.now_ns, &self.agents[at].name, message);
    }

    fn say_hello(&mut self, at: usize, busy: Option<RunKey>) {
        let hello = Hello {
            boot: self.agents[at].head.boot,
            version: String::new(),
            cores: 2,
            policy: Digest::of(b""),
            clock_ns: self.now_ns,
            busy,
            kept: Vec::new(),
        };
        self.say(at, Message::Hello(hello));
    }

    fn say_segment(&mut self, at: usize, segment: Segment) {
        let head = self.agents[at].head;
        self.say(at, Message::Segment { head, segment });
    }

    /// An interval of this agent with `requests` requests, as a segment.
    fn interval(&mut self, at: usize, index: u64, requests: u64) -> Segment {
        let mut interval = Interval { index: Some(index), ..Interval::new(1, 1, 0) };
        (interval.start_ns, interval.end_ns) = (index * S, (index + 1) * S);
        (interval.ledger.scheduled, interval.ledger.sent) = (requests, requests);
        interval.ledger.ok = requests;
        self.agents[at].outbox.push(self.now_ns, Ends::Interval, &wire::to_bytes(&interval));
        self.agents[at].outbox.take_unsent().remove(0)
    }

    /// The record of this agent, if these were its intervals.
    fn record(&self, at: usize, requests: u64) -> RunRecord {
        let workers = self.agents[at].workers;
        let mut collector = Collector::new(CollectorSettings {
            digits: 1,
            requests: 1,
            journeys: 0,
            warm_up_ns: 0,
            connections_asked: 1,
            workers,
        });
        for worker in 0..workers.count as usize {
            collector.worker_ended(worker, WorkerReport::new(4 * S, EndReason::Duration));
        }
        let mut record = collector.finish(Machine::default(), Default::default());
        (record.total.ledger.scheduled, record.total.ledger.sent) = (requests, requests);
        record.total.ledger.ok = requests;
        record
    }

    /// The segment with a record, and the phase after it.
    fn end(&mut self, at: usize, record: &RunRecord) -> Segment {
        let outbox = &mut self.agents[at].outbox;
        outbox.push(self.now_ns, Ends::Record, &record_bytes(record));
        let segment = outbox.take_unsent().remove(0);
        self.agents[at].phase = Phase::Delivering(outbox.last(false));
        segment
    }

    /// One tick: agents obey, and beat each half of a second.
    fn step(&mut self) {
        self.now_ns += STEP_NS;
        self.coordinator.handle_timeout(self.now_ns, &mut |_| {});
        self.listen();
        if self.now_ns.is_multiple_of(S / 2) {
            for at in 0..self.agents.len() {
                self.beat(at);
            }
        }
        self.listen();
    }

    fn beat(&mut self, at: usize) {
        let Scripted { head, phase, is_silent, .. } = self.agents[at];
        // Agents beat once they are reserved.
        if self.coordinator.stage() > Stage::Gathering && !is_silent {
            let beat = Beat { sent_ns: self.now_ns, phase, segments: 0 };
            self.say(at, Message::Beat { head, beat });
        }
    }

    fn listen(&mut self) {
        while let Some((name, message)) = self.coordinator.poll_transmit() {
            let at = self.agents.iter().position(|one| one.name == name).unwrap();
            match &message {
                Message::Reserve { reserve, .. } => self.agents[at].workers = reserve.workers,
                Message::Probe { head, sent_ns } => {
                    let now_ns = self.now_ns;
                    let echo = Echo { sent_ns: *sent_ns, received_ns: now_ns, replied_ns: now_ns };
                    self.say(at, Message::Echo { head: *head, echo });
                }
                Message::Lease { order, .. } => match (order.command, self.agents[at].phase) {
                    (Command::Prepare, Phase::Reserved) => {
                        let plan = Digest::of(&wire::to_bytes(&usual()));
                        self.agents[at].phase = Phase::Prepared { plan, connections: 1 };
                        self.beat(at);
                    }
                    (Command::Go(go), Phase::Prepared { .. }) => {
                        self.agents[at].phase = Phase::Armed { origin_ns: go.origin_ns };
                    }
                    _ => {}
                },
                _ => {}
            }
            self.heard.push((at, message));
        }
        while let Some(event) = self.coordinator.poll_event() {
            if let Event::Over(outcome) = event {
                self.outcomes.push(*outcome);
            }
        }
    }

    fn reach(&mut self, stage: Stage) {
        while self.coordinator.stage() < stage {
            assert!(self.now_ns < 200 * S, "{:?}", self.coordinator.stage());
            self.step();
        }
        self.listen();
    }

    /// Calls `each` before each step until the coordinator has finished.
    fn finish(mut self, mut each: impl FnMut(&mut Run)) -> (Outcome, Vec<(usize, Message)>, u64) {
        let began_ns = self.now_ns;
        while self.coordinator.poll_timeout().is_some() {
            assert!(self.now_ns < began_ns + 600 * S, "it does not end");
            each(&mut self);
            self.step();
        }
        assert_eq!(self.outcomes.len(), 1, "a run ends once");
        (self.outcomes.remove(0), self.heard, self.now_ns - began_ns)
    }
}

fn losses(outcome: &Outcome) -> Vec<Loss> {
    outcome.losses.iter().map(|(_, why, _)| why.clone()).collect()
}

/// The control: agents that keep to the protocol complete the run, and each is told that it is settled.
#[test]
fn honest_agents_complete_a_run() {
    let mut run = Run::new(2, OnLoss::Stop);
    run.reach(Stage::Running);
    for at in 0..2 {
        for index in 0..4 {
            let segment = run.interval(at, index, 20);
            run.say_segment(at, segment);
        }
        let record = run.record(at, 80);
        let segment = run.end(at, &record);
        run.say_segment(at, segment);
    }
    let (outcome, heard, _) = run.finish(|_| {});
    assert_eq!((&outcome.verdict, losses(&outcome)), (&Verdict::Complete, vec![]));
    let record = outcome.record.unwrap();
    assert_eq!((record.total.ledger.ok, record.intervals.len()), (160, 4));
    for at in 0..2 {
        assert!(heard.iter().any(|(to, one)| *to == at && matches!(one, Message::Settled { .. })));
    }
}

/// Results that differ from their digest void the run: once, and no agent may forget its results.
#[test]
fn a_wrong_digest_voids_the_run_once() {
    let mut run = Run::new(2, OnLoss::Stop);
    run.reach(Stage::Running);
    for at in 0..2 {
        let segment = run.interval(at, 0, 5);
        run.say_segment(at, segment);
        let record = run.record(at, 5);
        let segment = run.end(at, &record);
        run.say_segment(at, segment);
    }
    let Phase::Delivering(last) = run.agents[0].phase else { unreachable!() };
    let wrong = Final { digest: Digest::of(b"another"), ..last };
    run.agents[0].phase = Phase::Delivering(wrong);
    let name = run.agents[0].name.clone();
    let (outcome, heard, took_ns) = run.finish(|_| {});
    assert_eq!(outcome.verdict, Verdict::Void(Void::Damaged(name)));
    assert!(!heard.iter().any(|(_, one)| matches!(one, Message::Settled { .. })));
    assert!(took_ns <= 5 * S, "{took_ns}");
}

/// An agent that changes its phase all the time and delivers nothing is overdue.
#[test]
fn phases_that_go_forth_and_back_are_no_progress() {
    let mut run = Run::new(1, OnLoss::Stop);
    run.reach(Stage::Running);
    let mut steps = 0u32;
    let (outcome, ..) = run.finish(|run| {
        steps += 1;
        let last = Final { segments: steps, digest: Digest::of(b""), lapsed: false };
        run.agents[0].phase = match steps / 10 % 3 {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Delivering(last),
        };
    });
    assert_eq!(losses(&outcome), [Loss::Overdue]);
}

/// An agent that delivers intervals without end: the plan bounds their number.
#[test]
fn intervals_without_end_are_not_taken() {
    let mut run = Run::new(1, OnLoss::Stop);
    run.reach(Stage::Running);
    run.agents[0].phase = Phase::Running;
    let mut index = 0;
    let (outcome, ..) = run.finish(|run| {
        for _ in 0..2 {
            let segment = run.interval(0, index, 1);
            run.say_segment(0, segment);
            index += 1;
        }
    });
    assert_eq!(losses(&outcome), [Loss::Overdue]);
    // 4 s, the drain of 1 s, and the 30 s that a run may be overdue.
    let intervals = outcome.record.unwrap().intervals.len();
    assert!((35..=40).contains(&intervals), "{intervals} of {index}");
}

/// Damaged results: their agent is lost, but its earlier intervals count, and those of other agents.
#[test]
fn damaged_results_cost_their_agent_only() {
    type Damage = fn(&mut Run);
    let damages: [(Damage, &str); 5] = [
        (
            |run| {
                let segment = Segment { sequence: 1, ends: Ends::Interval, bytes: vec![9; 40] };
                run.say_segment(1, segment);
            },
            "Wire",
        ),
        (
            |run| {
                let segment = run.interval(1, 0, 7);
                run.say_segment(1, segment);
            },
            "not in order",
        ),
        (
            |run| {
                let record = run.record(1, 8);
                let segment = run.end(1, &record);
                run.say_segment(1, segment);
            },
            "not those of its intervals",
        ),
        (
            |run| {
                let mut record = run.record(1, 7);
                record.machines.push(Machine::default());
                let segment = run.end(1, &record);
                run.say_segment(1, segment);
            },
            "not of one machine",
        ),
        (
            |run| {
                let record = run.record(1, 7);
                let segment = run.end(1, &record);
                run.say_segment(1, segment);
                let segment = run.interval(1, 3, 1);
                run.say_segment(1, segment);
            },
            "follows the end",
        ),
    ];
    for (damage, words) in damages {
        let mut run = Run::new(2, OnLoss::Continue);
        run.reach(Stage::Running);
        for at in 0..2 {
            let segment = run.interval(at, 0, 7);
            // A segment that arrives twice counts once.
            run.say_segment(at, segment.clone());
            run.say_segment(at, segment);
        }
        damage(&mut run);
        let record = run.record(0, 7);
        let segment = run.end(0, &record);
        run.say_segment(0, segment);
        let (outcome, ..) = run.finish(|_| {});
        let losses = losses(&outcome);
        let [Loss::Damaged(why)] = losses.as_slice() else { panic!("{words}: {losses:?}") };
        if words != "Wire" {
            assert!(why.contains(words), "{why}, not {words}");
        }
        assert_eq!(outcome.verdict, Verdict::Degraded);
        let total = outcome.record.unwrap().total;
        assert!(total.ledger.balances(), "{words}: {:?}", total.ledger);
        assert_eq!(total.ledger.ok, 14, "{words}");
    }
}

/// Before the start any loss voids the run: a refusal, another plan, another life, silence.
#[test]
fn a_run_that_cannot_start_as_planned_is_void() {
    type Trouble = fn(&mut Run);
    type Check = fn(&Void) -> bool;
    let troubles: [(Stage, Trouble, Check); 5] = [
        (
            Stage::Reserving,
            |run| {
                let head = run.agents[1].head;
                run.say(1, Message::Refused { head, why: Refusal::Share });
            },
            |void| matches!(void, Void::Refused { why: Refusal::Share, .. }),
        ),
        (
            Stage::Preparing,
            |run| {
                let plan = Digest::of(b"another");
                run.agents[1].phase = Phase::Prepared { plan, connections: 1 };
            },
            |void| matches!(void, Void::OtherPlan(_)),
        ),
        (
            // Its own life is not heard any more.
            Stage::Preparing,
            |run| {
                run.agents[1].head.boot = 99;
                run.say_hello(1, None);
            },
            |void| matches!(void, Void::Lost { why: Loss::Restarted, .. }),
        ),
        (
            Stage::Armed,
            |run| run.say_hello(1, None),
            |void| matches!(void, Void::Lost { why: Loss::Dropped, .. }),
        ),
        (
            Stage::Armed,
            |run| run.agents[1].phase = Phase::Armed { origin_ns: 1 },
            |void| matches!(void, Void::Late { what: "armed", .. }),
        ),
    ];
    for (stage, trouble, is_it) in troubles {
        let mut run = Run::new(2, OnLoss::Continue);
        run.reach(stage);
        let (outcome, heard, _) = run.finish(trouble);
        let Verdict::Void(void) = &outcome.verdict else { panic!("{stage:?}: {outcome:?}") };
        assert!(is_it(void), "{stage:?}: {void:?}");
        assert_eq!(outcome.may_have_sent, stage >= Stage::Armed, "{stage:?}");
        // The other agent is told to stop.
        let is_stop = |(to, one): &(usize, Message)| {
            *to == 0
                && matches!(one, Message::Lease { order, .. } if order.command == Command::Stop)
        };
        assert!(heard.iter().any(is_stop), "{stage:?}");
    }
}

/// An agent that was silent for longer than its lease, and comes back: it is told to stop, and the reply
/// to its beat does not extend its lease.
#[test]
fn a_lost_agent_gets_no_lease() {
    let mut run = Run::new(2, OnLoss::Continue);
    run.reach(Stage::Running);
    run.agents[1].is_silent = true;
    // The first lease is longer than those after the way of messages is known.
    for _ in 0..10 * S / STEP_NS {
        run.step();
    }
    run.agents[1].is_silent = false;
    run.heard.clear();
    run.beat(1);
    run.listen();
    let orders: Vec<_> = (run.heard.iter())
        .filter_map(|(to, one)| match one {
            Message::Lease { order, .. } if *to == 1 => Some((order.command, order.beat_ns)),
            _ => None,
        })
        .collect();
    assert_eq!(orders, [(Command::Stop, None)]);
    run.heard.clear();
    run.beat(0);
    run.listen();
    let is_extended = |(to, one): &(usize, Message)| {
        *to == 0 && matches!(one, Message::Lease { order, .. } if order.beat_ns == Some(run.now_ns))
    };
    assert!(run.heard.iter().any(is_extended), "{:?}", run.heard);
}

/// A run that goes on after its end, although every agent delivers in time, is stopped: after its 4 s, the
/// drain of 1 s and the 30 s of patience.
#[test]
fn a_run_that_does_not_end_is_stopped() {
    let mut run = Run::new(1, OnLoss::Stop);
    run.reach(Stage::Running);
    run.agents[0].phase = Phase::Running;
    let began_ns = run.coordinator.origin_ns();
    let is_stop = |(_, one): &(usize, Message)| matches!(one, Message::Lease { order, .. } if order.command == Command::Stop);
    for index in 0.. {
        let segment = run.interval(0, index, 1);
        run.say_segment(0, segment);
        for _ in 0..S / STEP_NS {
            run.step();
        }
        if run.heard.iter().any(is_stop) {
            break;
        }
    }
    let took_ns = run.now_ns - began_ns;
    assert!((35 * S..37 * S).contains(&took_ns), "{took_ns}");
    assert_eq!(run.coordinator.stage(), Stage::Settling);
}
