//! Several operators ask for agents at the same time: each of their runs gets agents while there are enough, and
//! one that gets none says who has them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::common::{MS, Rng, S, UNIX_S, operator, plan, policy};
use candor_fleet::agent::{self, Agent, Event, Now, To, read_plan};
use candor_fleet::coordinator::{
    self, Coordinator, OnLoss, Settings, Stage, Verdict, Void, Wanted,
};
use candor_fleet::{AgentName, Message, RunId, RunKey, Threads, Timings};

/// All clocks are one, and messages are late by up to this.
const WAY_NS: u64 = 60 * MS;

/// A message: when it is due, its number, whether it goes to an agent, from where and to where.
type Due = Reverse<(u64, usize, bool, usize, usize)>;

struct Net {
    now_ns: u64,
    rng: Rng,
    agents: Vec<(AgentName, Agent)>,
    coordinators: Vec<Coordinator>,
    ends: Vec<Option<Verdict>>,
    queue: BinaryHeap<Due>,
    messages: Vec<Message>,
}

impl Net {
    fn new(seed: u64, agents: usize, wanted: &[Wanted]) -> Net {
        let mut rng = Rng(seed);
        let agent = |at: usize, boot| {
            let name: AgentName = format!("a{at}").parse().unwrap();
            let settings = agent::Settings {
                name: name.clone(),
                boot,
                cores: 2,
                policy: policy(),
                timings: Timings::default(),
                most_bytes: 1 << 20,
            };
            (name, Agent::new(settings, S + boot % S))
        };
        let agents = (0..agents).map(|at| agent(at, rng.next())).collect();
        let text =
            "url = \"http://127.0.0.1:1/\"\nrate = \"40/s\"\nduration = \"60s\"\nconnections = 8\n";
        let coordinator = |wanted: &Wanted| {
            let settings = Settings {
                key: RunKey { run: RunId(u128::from(rng.next()).to_le_bytes()), epoch: 0 },
                plan: plan(text),
                rows: None,
                wanted: wanted.clone(),
                threads: Threads::ByCores,
                on_loss: OnLoss::Stop,
                operator: operator(),
                nonce: u128::from(rng.next()).to_le_bytes(),
                expires_unix_s: UNIX_S + 120,
                timings: Timings::default(),
            };
            Coordinator::new(settings, S)
        };
        let coordinators: Vec<_> = wanted.iter().map(coordinator).collect();
        Net {
            now_ns: S,
            rng,
            agents,
            ends: vec![None; coordinators.len()],
            coordinators,
            queue: BinaryHeap::new(),
            messages: Vec::new(),
        }
    }

    fn send(&mut self, to_agent: bool, from: usize, to: usize, message: Message) {
        let at_ns = self.now_ns + 1 + self.rng.below(WAY_NS);
        let number = self.messages.len();
        self.messages.push(message);
        self.queue.push(Reverse((at_ns, number, to_agent, from, to)));
    }

    fn now(&self) -> Now {
        Now { ns: self.now_ns, unix_s: UNIX_S }
    }

    /// Goes on for this time.
    fn run(&mut self, time_ns: u64) {
        let until_ns = self.now_ns + time_ns;
        while self.now_ns < until_ns {
            self.now_ns += 5 * MS;
            while self.queue.peek().is_some_and(|one| one.0.0 <= self.now_ns) {
                let Some(Reverse((_, number, to_agent, from, to))) = self.queue.pop() else {
                    break;
                };
                let message = self.messages[number].clone();
                match to_agent {
                    true => {
                        let now = self.now();
                        self.agents[to].1.handle_message(now, message);
                    }
                    false => {
                        let name = self.agents[from].0.clone();
                        self.coordinators[to].handle_message(self.now_ns, &name, message);
                    }
                }
            }
            for at in 0..self.agents.len() {
                self.drive_agent(at);
            }
            for at in 0..self.coordinators.len() {
                self.drive_coordinator(at);
            }
        }
    }

    fn drive_agent(&mut self, at: usize) {
        let now = self.now();
        if self.agents[at].1.poll_timeout().is_some_and(|due_ns| due_ns <= now.ns) {
            self.agents[at].1.handle_timeout(now);
        }
        while let Some(event) = self.agents[at].1.poll_event() {
            match event {
                Event::Read { key, bytes, digest } => {
                    self.agents[at].1.handle_read(now, key, read_plan(&bytes, digest));
                }
                Event::Prepare { key, .. } => self.agents[at].1.handle_prepared(now, key, Ok(1)),
                _ => {}
            }
        }
        while let Some((to, message)) = self.agents[at].1.poll_transmit() {
            for coordinator in 0..self.coordinators.len() {
                let run = self.coordinators[coordinator].key().run;
                if to == To::Coordinators || to == To::Coordinator(run) {
                    self.send(false, at, coordinator, message.clone());
                }
            }
        }
    }

    fn drive_coordinator(&mut self, at: usize) {
        self.coordinators[at].handle_timeout(self.now_ns, &mut |_| {});
        while let Some((name, message)) = self.coordinators[at].poll_transmit() {
            let to = self.agents.iter().position(|(one, _)| *one == name).unwrap();
            self.send(true, at, to, message);
        }
        while let Some(event) = self.coordinators[at].poll_event() {
            if let coordinator::Event::Over(outcome) = event {
                self.ends[at] = Some(outcome.verdict);
            }
        }
    }

    fn running(&self) -> usize {
        self.coordinators.iter().filter(|one| one.stage() == Stage::Running).count()
    }
}

#[test]
fn two_runs_at_once_take_different_agents() {
    for seed in 0..100 {
        for wanted in [[2, 2], [1, 3], [3, 1]] {
            let mut net = Net::new(seed, 4, &wanted.map(Wanted::Count));
            net.run(15 * S);
            assert_eq!(net.running(), 2, "{seed} {wanted:?}: {:?}", net.ends);
        }
    }
}

#[test]
fn a_run_waits_for_the_agents_that_it_names() {
    let names =
        |names: &[&str]| Wanted::Named(names.iter().map(|one| one.parse().unwrap()).collect());
    for seed in 0..40 {
        let mut net = Net::new(seed, 3, &[names(&["a0", "a1"]), names(&["a1", "a2"])]);
        net.run(10 * S);
        assert_eq!(net.running(), 1, "{seed}");
        let winner = net.coordinators.iter().position(|one| one.stage() == Stage::Running).unwrap();
        let run = net.coordinators[winner].key().run.to_string();
        net.run(25 * S);
        let Some(Verdict::Void(why @ Void::TooFewAgents { found: 1, wanted: 2, .. })) =
            &net.ends[1 - winner]
        else {
            panic!("{seed}: {:?}", net.ends)
        };
        assert!(why.to_string().ends_with(&format!("; a1 is in run {run}")), "{why}");
        assert_eq!(net.running(), 1, "{seed}");
    }
}

#[test]
fn agents_that_are_missing_are_named() {
    let wanted = Wanted::Named(vec!["a0".parse().unwrap(), "zz".parse().unwrap()]);
    let mut net = Net::new(1, 2, &[wanted]);
    net.run(35 * S);
    let Some(Verdict::Void(why)) = &net.ends[0] else { panic!("{:?}", net.ends) };
    let words = "1 of 2 agents were free in time; start agents, or ask for fewer; zz is not heard; heard are a0, a1";
    assert_eq!(why.to_string(), words);
}

/// Two agents of one name are not used, until one of them is gone.
#[test]
fn a_name_is_one_agents() {
    let mut net = Net::new(1, 2, &[Wanted::Count(2)]);
    net.agents[1].0 = "a0".parse().unwrap();
    net.run(35 * S);
    let Some(Verdict::Void(why)) = &net.ends[0] else { panic!("{:?}", net.ends) };
    assert!(why.to_string().contains("two agents with the name a0"), "{why}");
}
