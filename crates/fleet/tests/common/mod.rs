//! A simulated fleet: a network that loses, doubles, delays and reorders, clocks that are apart and
//! go at different speeds, machines that die and come back, and hosts that "send" by the real schedule.
//!
//! Time is true time; each machine sees its own. Everything is a function of the seed.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

pub(crate) mod host;
pub(crate) mod lone;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use candor_fleet::agent::{self, Agent, Now, To};
use candor_fleet::audit::Line;
use candor_fleet::coordinator::{self, Coordinator, OnLoss, Outcome, Stage, Wanted};
use candor_fleet::{
    AgentName, DataFile, Digest, Message, OperatorKey, Policy, Refusal, RunId, RunKey, Shares,
    Threads, Timings, codec,
};
use candor_plan::Plan;
use candor_plan::options::{Options, ReadFile};
use host::Host;

pub(crate) const S: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;
/// Seconds since 1970, at the beginning of true time.
pub(crate) const UNIX_S: u64 = 1_800_000_000;

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A machine's clock: `base + t + t · ppm / 10⁶`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimClock {
    pub(crate) base_ns: u64,
    pub(crate) ppm: i64,
}

impl SimClock {
    pub(crate) fn at(&self, true_ns: u64) -> u64 {
        let drift_ns = true_ns as i128 * i128::from(self.ppm) / 1_000_000;
        (i128::from(self.base_ns) + i128::from(true_ns) + drift_ns) as u64
    }

    /// The first moment at which it shows `own_ns` or more.
    pub(crate) fn when(&self, own_ns: u64) -> u64 {
        let passed = i128::from(own_ns) - i128::from(self.base_ns);
        let mut true_ns = (passed.max(0) * 1_000_000 / i128::from(1_000_000 + self.ppm)) as u64;
        true_ns = true_ns.saturating_sub(2);
        while self.at(true_ns) < own_ns {
            true_ns += 1;
        }
        true_ns
    }
}

pub(crate) struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

pub(crate) fn plan(toml: &str) -> Plan {
    Options::from_toml("plan.toml", toml).unwrap().build(&NoFiles).unwrap().0
}

/// Faults of network and machines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Lost and doubled messages, per thousand.
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// Messages that are late by up to three seconds, per thousand.
    pub(crate) late: u64,
    /// The longest way of a message; `None`: a short one.
    pub(crate) way_ns: Option<u64>,
    /// Bytes a second from the coordinator to all agents together; messages wait for each other.
    pub(crate) rate: Option<u64>,
    /// How long a host reads the plan, as if it were large.
    pub(crate) read_ns: u64,
    /// The user's signals: the first one stops the run, the others end it.
    pub(crate) signals: Vec<u64>,
    /// Machines without network, from when to when.
    pub(crate) cut_off: Vec<(usize, u64, u64)>,
    /// Agents that die, at which of their inputs, and after how long they come back.
    pub(crate) crashes: Vec<(usize, u64, Option<u64>)>,
    /// Agents that die for good, and when.
    pub(crate) deaths: Vec<(usize, u64)>,
    /// The coordinator dies at this input; how long after that another one recalls the results.
    pub(crate) coordinator_dies: Option<(u64, Option<u64>)>,
    /// The broker keeps nothing in a stream.
    pub(crate) has_no_stream: bool,
    /// An agent whose host does not prepare, and one whose host does not end.
    pub(crate) stuck_before: Option<usize>,
    pub(crate) stuck_after: Option<usize>,
}

pub(crate) struct Node {
    pub(crate) name: AgentName,
    pub(crate) clock: SimClock,
    pub(crate) agent: Option<Agent>,
    pub(crate) boot: u64,
    pub(crate) host: Option<Host>,
    /// Hosts of earlier lives and runs.
    pub(crate) past: Vec<Host>,
    pub(crate) audit: Vec<Line>,
    /// What its host made of a plan's bytes.
    pub(crate) reading: Option<Result<Box<Plan>, Refusal>>,
    /// Data files of its machine, the pieces of the one that comes, and what its host found missing.
    pub(crate) files: BTreeMap<Digest, Vec<u8>>,
    pub(crate) pieces: BTreeMap<u32, Vec<u8>>,
    pub(crate) missing: Vec<DataFile>,
    inputs: u64,
    woken_for: Option<u64>,
    /// Leases that a living coordinator gave: when, and until when each lasts by this clock.
    pub(crate) given: Vec<(u64, u64)>,
    /// When it was busy last.
    pub(crate) busy_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    ToAgent(usize, Vec<u8>),
    ToCoordinator(usize, Vec<u8>),
    WakeAgent(usize),
    WakeCoordinator,
    /// The stream's reply to the fetch of this agent's message after this number.
    Stored(usize, u64),
    Host(usize, host::Step),
    Boot(usize),
    Die(usize),
    Recall,
    Signal,
}

/// A coordinator's messages have a path of their own: this index, beside those of agents.
pub(crate) const COORDINATOR: usize = usize::MAX;

pub(crate) struct World {
    pub(crate) now_ns: u64,
    pub(crate) rng: Rng,
    pub(crate) nodes: Vec<Node>,
    /// The broker's stream: what agents sent to their coordinator, in the order of arrival.
    pub(crate) stream: Vec<(usize, Vec<u8>)>,
    /// What the coordinator's host keeps for a recall.
    shares: Shares,
    pub(crate) clock: SimClock,
    pub(crate) coordinator: Option<Coordinator>,
    pub(crate) plan: Plan,
    pub(crate) faults: Faults,
    pub(crate) key: RunKey,
    pub(crate) on_loss: OnLoss,
    pub(crate) outcome: Option<Box<Outcome>>,
    pub(crate) stages: Vec<(u64, Stage)>,
    /// When an agent was said to be lost.
    pub(crate) lost: Vec<(u64, AgentName, coordinator::Loss)>,
    pub(crate) messages: u64,
    /// When each interval was shown.
    pub(crate) shown: Vec<u64>,
    /// How far the coordinators were from each other in a run with two.
    pub(crate) origin_ns: u64,
    queue: BinaryHeap<Reverse<(u64, u64, What)>>,
    sequence: u64,
    coordinator_inputs: u64,
    pub(crate) signals: usize,
    /// When a link with a rate is free, the bytes that it carried, and the longest wait for it.
    link_free_ns: u64,
    pub(crate) carried: u64,
    /// Data files of the coordinator's machine.
    pub(crate) files: BTreeMap<Digest, Vec<u8>>,
    pub(crate) longest_wait_ns: u64,
    coordinator_woken_for: Option<u64>,
    threads: Threads,
    wanted: Wanted,
    pub(crate) base_delay_ns: u64,
}

pub(crate) fn operator() -> OperatorKey {
    OperatorKey::from_seed(&[7; 32])
}

pub(crate) fn policy() -> Policy {
    let key = operator().public();
    let text = format!("operators = [\"{key}\"]\n[[target]]\nnetworks = [\"127.0.0.0/8\"]\n");
    Policy::from_toml("policy.toml", &text).unwrap()
}

impl World {
    pub(crate) fn new(
        seed: u64,
        agents: usize,
        plan: Plan,
        faults: Faults,
        on_loss: OnLoss,
    ) -> Self {
        let mut rng = Rng(seed);
        let clock = SimClock { base_ns: 40 * S + rng.below(1000 * S), ppm: 0 };
        let nodes = (0..agents).map(|at| Node {
            name: format!("agent-{at}").parse().unwrap(),
            clock: SimClock {
                base_ns: 30 * S + rng.below(100_000 * S),
                ppm: rng.below(401) as i64 - 200,
            },
            agent: None,
            boot: 0,
            host: None,
            past: Vec::new(),
            audit: Vec::new(),
            reading: None,
            files: BTreeMap::new(),
            pieces: BTreeMap::new(),
            missing: Vec::new(),
            inputs: 0,
            woken_for: None,
            given: Vec::new(),
            busy_ns: 0,
        });
        let nodes: Vec<Node> = nodes.collect();
        let mut world = World {
            now_ns: 0,
            nodes,
            stream: Vec::new(),
            shares: Shares::new(),
            clock,
            coordinator: None,
            plan,
            faults,
            key: RunKey { run: RunId(u128::from(rng.next()).to_le_bytes()), epoch: 0 },
            on_loss,
            outcome: None,
            stages: Vec::new(),
            lost: Vec::new(),
            messages: 0,
            shown: Vec::new(),
            origin_ns: 0,
            queue: BinaryHeap::new(),
            sequence: 0,
            coordinator_inputs: 0,
            signals: 0,
            link_free_ns: 0,
            carried: 0,
            files: BTreeMap::new(),
            longest_wait_ns: 0,
            coordinator_woken_for: None,
            threads: Threads::ByCores,
            wanted: Wanted::Count(agents),
            base_delay_ns: 200_000 + rng.below(20 * MS),
            rng,
        };
        for at in 0..world.nodes.len() {
            let delay_ns = world.rng.below(S);
            world.later(delay_ns, What::Boot(at));
        }
        for (at, when_ns) in world.faults.deaths.clone() {
            world.later(when_ns, What::Die(at));
        }
        for when_ns in world.faults.signals.clone() {
            world.later(when_ns, What::Signal);
        }
        let own_ns = world.clock.at(0);
        world.coordinator = Some(Coordinator::new(world.settings(), own_ns));
        world.later(0, What::WakeCoordinator);
        world
    }

    pub(crate) fn settings(&self) -> coordinator::Settings {
        coordinator::Settings {
            key: self.key,
            plan: self.plan.clone(),
            rows: None,
            wanted: self.wanted.clone(),
            threads: self.threads.clone(),
            on_loss: self.on_loss,
            operator: operator(),
            nonce: self.key.run.0,
            expires_unix_s: UNIX_S + 600,
            timings: Timings::default(),
        }
    }

    fn later(&mut self, delay_ns: u64, what: What) {
        self.sequence += 1;
        self.queue.push(Reverse((self.now_ns + delay_ns, self.sequence, what)));
    }

    pub(crate) fn now_of(&self, at: usize) -> Now {
        Now { ns: self.nodes[at].clock.at(self.now_ns), unix_s: UNIX_S + self.now_ns / S }
    }

    fn is_cut_off(&self, at: usize) -> bool {
        let now_ns = self.now_ns;
        let hits = |(who, from_ns, to_ns): &(usize, u64, u64)| {
            (*who == at || *who == COORDINATOR) && (*from_ns..*to_ns).contains(&now_ns)
        };
        self.faults.cut_off.iter().any(hits)
    }

    /// Sends bytes from or to agent `at`, with all that the network does to them.
    fn transmit(&mut self, at: usize, make: fn(usize, Vec<u8>) -> What, message: &Message) {
        self.messages += 1;
        let bytes = codec::encode(message);
        let mut wait_ns = 0;
        if let (Some(rate), What::ToAgent(..)) = (self.faults.rate, make(at, Vec::new())) {
            let takes_ns = bytes.len() as u64 * S / rate;
            self.link_free_ns = self.link_free_ns.max(self.now_ns) + takes_ns;
            wait_ns = self.link_free_ns - self.now_ns;
            self.carried += bytes.len() as u64;
            self.longest_wait_ns = self.longest_wait_ns.max(wait_ns);
        }
        if self.is_cut_off(at) || self.rng.below(1000) < self.faults.lost {
            return;
        }
        let copies = if self.rng.below(1000) < self.faults.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let mut delay_ns = match self.faults.way_ns {
                None => self.base_delay_ns / 2 + self.rng.below(self.base_delay_ns),
                Some(way_ns) => way_ns - self.rng.below(way_ns / 10),
            };
            if self.rng.below(1000) < self.faults.late {
                delay_ns += self.rng.below(3 * S);
            }
            delay_ns += wait_ns;
            self.later(delay_ns, make(at, bytes.clone()));
        }
    }

    /// Goes on until everything has ended, or `limit_ns`.
    pub(crate) fn run(&mut self, limit_ns: u64) {
        while let Some(Reverse((at_ns, _, what))) = self.queue.pop() {
            self.now_ns = at_ns;
            assert!(self.now_ns < limit_ns, "it does not end: {:?}", self.state());
            self.step(what);
            if self.is_over() {
                break;
            }
        }
    }

    pub(crate) fn state(&self) -> Vec<String> {
        let agent = |node: &Node| format!("{:?}", node.agent.as_ref().map(|one| one.phase()));
        let stage = format!("{:?}", self.coordinator.as_ref().map(Coordinator::stage));
        self.nodes.iter().map(agent).chain([stage]).collect()
    }

    /// No coordinator has anything to say, or will come, and all agents are free.
    fn is_over(&self) -> bool {
        let coordinator = self.coordinator.as_ref().is_none_or(|one| one.poll_timeout().is_none());
        let is_idle = |node: &Node| node.agent.as_ref().is_none_or(|one| one.phase().is_none());
        let comes = |one: &Reverse<(u64, u64, What)>| matches!(one.0.2, What::Recall);
        coordinator && self.nodes.iter().all(is_idle) && !self.queue.iter().any(comes)
    }

    fn step(&mut self, what: What) {
        match what {
            What::Boot(at) => {
                let boot = self.rng.next();
                let now = self.now_of(at);
                let node = &mut self.nodes[at];
                node.boot = boot;
                let settings = agent::Settings {
                    name: node.name.clone(),
                    boot,
                    cores: 2 + (at as u32 % 3) * 2,
                    policy: policy(),
                    timings: Timings::default(),
                    most_bytes: 64 << 20,
                };
                node.agent = Some(Agent::new(settings, now.ns));
                node.woken_for = None;
                self.after_agent(at);
            }
            What::Die(at) => self.die(at, None),
            What::Signal => {
                let own_ns = self.clock.at(self.now_ns);
                if let Some(coordinator) = &mut self.coordinator {
                    self.signals += 1;
                    match self.signals {
                        1 => coordinator.stop(own_ns),
                        _ => coordinator.end_soon(own_ns),
                    }
                    self.after_coordinator();
                }
            }
            What::ToAgent(at, bytes) => {
                let now = self.now_of(at);
                if self.dies(at) || self.nodes[at].agent.is_none() {
                    return;
                }
                let message = codec::decode(&bytes).unwrap();
                if let Message::Reserve { head, reserve } = &message
                    && head.boot == self.nodes[at].boot
                {
                    // The first lease is counted from the moment that the agent agrees.
                    let busy = self.nodes[at].agent.as_ref().unwrap().phase().is_some();
                    if !busy {
                        self.nodes[at].given.push((self.now_ns, now.ns + reserve.lease_ns));
                    }
                }
                self.nodes[at].agent.as_mut().unwrap().handle_message(now, message);
                self.after_agent(at);
            }
            What::WakeAgent(at) => {
                let now = self.now_of(at);
                self.nodes[at].woken_for = None;
                if self.dies(at) {
                    return;
                }
                if let Some(agent) = &mut self.nodes[at].agent {
                    if agent.poll_timeout().is_some_and(|due_ns| due_ns <= now.ns) {
                        agent.handle_timeout(now);
                    }
                    self.after_agent(at);
                }
            }
            What::Host(at, step) => {
                if !self.dies(at) && self.nodes[at].agent.is_some() {
                    self.host_step(at, step);
                    self.after_agent(at);
                }
            }
            What::ToCoordinator(at, bytes) => {
                let message = codec::decode(&bytes).unwrap();
                if !matches!(message, Message::Hello(_)) && !self.faults.has_no_stream {
                    self.stream.push((at, bytes));
                }
                if self.coordinator_dies() {
                    return;
                }
                let own_ns = self.clock.at(self.now_ns);
                let Some(coordinator) = &mut self.coordinator else { return };
                let name = self.nodes[at].name.clone();
                coordinator.handle_message(own_ns, &name, message);
                self.after_coordinator();
            }
            What::WakeCoordinator => {
                self.coordinator_woken_for = None;
                if self.coordinator_dies() {
                    return;
                }
                let own_ns = self.clock.at(self.now_ns);
                let (now_ns, shown) = (self.now_ns, &mut self.shown);
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.handle_timeout(own_ns, &mut |_| shown.push(now_ns));
                    self.after_coordinator();
                }
            }
            What::Stored(at, after) => {
                let own_ns = self.clock.at(self.now_ns);
                let mut behind = self.stream.iter().zip(1..).skip(after as usize);
                let found = behind.find(|((from, _), _)| *from == at);
                let found = found.map(|((_, bytes), number)| (number, codec::decode(bytes)));
                let name = self.nodes[at].name.clone();
                let Some(coordinator) = &mut self.coordinator else { return };
                coordinator.handle_stored(own_ns, &name, after, found);
                self.after_coordinator();
            }
            What::Recall => {
                let own_ns = self.clock.at(self.now_ns);
                let shares = self.shares.clone();
                self.coordinator = Some(Coordinator::recall(self.settings(), shares, own_ns));
                self.coordinator_woken_for = None;
                self.after_coordinator();
            }
        }
    }

    /// Whether this input is the last of an agent's life.
    fn dies(&mut self, at: usize) -> bool {
        let node = &mut self.nodes[at];
        node.inputs += 1;
        let inputs = node.inputs;
        let crash = self.faults.crashes.iter().find(|(who, when, _)| *who == at && *when == inputs);
        let Some(&(_, _, back)) = crash else { return false };
        self.die(at, back);
        true
    }

    fn die(&mut self, at: usize, back: Option<u64>) {
        let node = &mut self.nodes[at];
        if node.agent.take().is_none() {
            return;
        }
        if let Some(mut host) = node.host.take() {
            host.send_until(node.clock.at(self.now_ns));
            node.past.push(host);
        }
        if let Some(delay_ns) = back {
            self.later(delay_ns, What::Boot(at));
        }
    }

    fn coordinator_dies(&mut self) -> bool {
        self.coordinator_inputs += 1;
        match self.faults.coordinator_dies {
            Some((when, recall)) if when == self.coordinator_inputs && self.outcome.is_none() => {
                self.coordinator = None;
                if let Some(delay_ns) = recall {
                    self.later(delay_ns, What::Recall);
                }
                true
            }
            _ => false,
        }
    }

    fn after_agent(&mut self, at: usize) {
        loop {
            let Some(agent) = &mut self.nodes[at].agent else { return };
            if let Some((to, message)) = agent.poll_transmit() {
                if let To::Coordinator(run) = to {
                    assert_eq!(run, self.key.run);
                }
                self.transmit(at, What::ToCoordinator, &message);
            } else if let Some(event) = agent.poll_event() {
                self.host_event(at, event);
            } else {
                break;
            }
        }
        let node = &mut self.nodes[at];
        if node.agent.as_ref().is_some_and(|one| one.phase().is_some()) {
            node.busy_ns = self.now_ns;
        }
        let node = &self.nodes[at];
        let due_ns = node.agent.as_ref().and_then(Agent::poll_timeout);
        let due_ns = due_ns.map(|own_ns| node.clock.when(own_ns).max(self.now_ns));
        if due_ns.is_some_and(|due_ns| node.woken_for.is_none_or(|known_ns| due_ns < known_ns)) {
            self.nodes[at].woken_for = due_ns;
            self.later(due_ns.unwrap() - self.now_ns, What::WakeAgent(at));
        }
    }

    fn after_coordinator(&mut self) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let mut out = Vec::new();
        while let Some(one) = coordinator.poll_transmit() {
            out.push(one);
        }
        let mut fetches = Vec::new();
        while let Some(one) = coordinator.poll_fetch() {
            fetches.push(one);
        }
        while let Some(event) = coordinator.poll_event() {
            match event {
                coordinator::Event::Stage(stage) => {
                    self.stages.push((self.now_ns, stage));
                    if stage == Stage::Reserving {
                        self.shares = coordinator.shares();
                    }
                }
                coordinator::Event::Lost(name, why) => self.lost.push((self.now_ns, name, why)),
                coordinator::Event::Over(outcome) => {
                    assert!(self.outcome.is_none(), "a run ends once");
                    self.origin_ns = coordinator.origin_ns();
                    self.outcome = Some(outcome);
                }
                coordinator::Event::Piece { to, head, file, index } => {
                    let begins = index as usize * codec::PIECE_BYTES;
                    let bytes = &self.files[&file.digest][begins..];
                    let bytes = bytes[..bytes.len().min(codec::PIECE_BYTES)].to_vec();
                    out.push((to, Message::Chunk { head, of: file.digest, index, bytes }));
                }
                coordinator::Event::Suspect(_)
                | coordinator::Event::HeardAgain(_)
                | coordinator::Event::Gathers(_)
                | coordinator::Event::Sending { .. }
                | coordinator::Event::Awaits(_) => {}
            }
        }
        let due_ns =
            coordinator.poll_timeout().map(|own_ns| self.clock.when(own_ns).max(self.now_ns));
        if due_ns.is_some_and(|due| self.coordinator_woken_for.is_none_or(|known| due < known)) {
            self.coordinator_woken_for = due_ns;
            self.later(due_ns.unwrap() - self.now_ns, What::WakeCoordinator);
        }
        let place = |name| self.nodes.iter().position(|node| node.name == name).unwrap();
        let out: Vec<_> = out.into_iter().map(|(name, one)| (place(name), one)).collect();
        let fetches: Vec<_> = fetches.into_iter().map(|(name, one)| (place(name), one)).collect();
        for (at, message) in out {
            if let Message::Lease { order, .. } = &message
                && let Some(beat_ns) = order.beat_ns
            {
                self.nodes[at].given.push((self.now_ns, beat_ns + order.lease_ns));
            }
            self.transmit(at, What::ToAgent, &message);
        }
        for (at, after) in fetches {
            // There and back.
            let is_lost = |rng: &mut Rng, lost| rng.below(1000) < lost;
            let lost = self.faults.lost;
            if !self.is_cut_off(COORDINATOR)
                && !is_lost(&mut self.rng, lost)
                && !is_lost(&mut self.rng, lost)
            {
                let delay_ns = self.base_delay_ns + self.rng.below(self.base_delay_ns);
                self.later(delay_ns, What::Stored(at, after));
            }
        }
    }
}
