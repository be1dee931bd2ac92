//! Messages to agents and coordinators, and policies of agents.

use std::net::IpAddr;

use candor_fleet::agent::{self, Agent, Now};
use candor_fleet::coordinator::{self, Coordinator, OnLoss, Stage, Wanted};
use candor_fleet::{
    AgentName, Message, OperatorKey, Policy, RunId, RunKey, Threads, Timings, codec,
};
use candor_plan::Plan;
use candor_record::{Workers, wire};

use crate::records::PLAN;

const S: u64 = 1_000_000_000;
const UNIX_S: u64 = 1_800_000_000;
/// The life of the agent that messages in the corpus are for, and the run.
const BOOT: u64 = 7;
const KEY: RunKey = RunKey { run: RunId([9; 16]), epoch: 1 };

/// An agent and its coordinator, without anything between them.
struct Pair {
    now_ns: u64,
    name: AgentName,
    agent: Agent,
    coordinator: Coordinator,
    starts: u32,
    /// Whether messages arrive.
    is_connected: bool,
    /// The broker's copy has this message, again and again.
    copy: Option<Message>,
    /// The bytes of every message.
    said: Vec<Vec<u8>>,
}

fn operator() -> OperatorKey {
    OperatorKey::from_seed(&[1; 32])
}

/// The settings of the coordinator.
fn run() -> coordinator::Settings {
    coordinator::Settings {
        key: KEY,
        plan: PLAN.clone(),
        rows: None,
        wanted: Wanted::Count(1),
        threads: Threads::ByCores,
        on_loss: OnLoss::Stop,
        operator: operator(),
        nonce: [1; 16],
        expires_unix_s: UNIX_S + 60,
        timings: Timings::default(),
    }
}

impl Pair {
    fn new() -> Self {
        let text = format!(
            "operators = [\"{}\"]\n[[target]]\nnetworks = [\"127.0.0.0/8\"]\n",
            operator().public()
        );
        let name: AgentName = "a1".parse().expect("it is a name");
        let settings = agent::Settings {
            name: name.clone(),
            boot: BOOT,
            cores: 2,
            policy: Policy::from_toml("policy.toml", &text).expect("it is a policy"),
            timings: Timings::default(),
            most_bytes: 1 << 20,
        };
        Pair {
            now_ns: S,
            name,
            agent: Agent::new(settings, S),
            coordinator: Coordinator::new(run(), S),
            starts: 0,
            is_connected: true,
            copy: None,
            said: Vec::new(),
        }
    }

    /// An agent that is never heard, and a coordinator that recalls its run, with this in the broker's copy.
    fn recalled(message: Message) -> Self {
        let pair = Pair::new();
        let shares = vec![(pair.name.clone(), BOOT, Workers::all(1))];
        Pair {
            coordinator: Coordinator::recall(run(), shares, S),
            is_connected: false,
            copy: Some(message),
            ..pair
        }
    }

    fn now(&self) -> Now {
        Now { ns: self.now_ns, unix_s: UNIX_S }
    }

    /// Exchanges all messages, and acts as the host.
    fn talk(&mut self) {
        loop {
            let now = self.now();
            if let Some((_, message)) = self.agent.poll_transmit() {
                self.said.push(codec::encode(&message));
                if self.is_connected {
                    self.coordinator.handle_message(self.now_ns, &self.name, message);
                }
            } else if let Some((_, message)) = self.coordinator.poll_transmit() {
                self.said.push(codec::encode(&message));
                if self.is_connected {
                    self.agent.handle_message(now, message);
                }
            } else if let Some(event) = self.agent.poll_event() {
                match event {
                    agent::Event::Prepare { key, .. } => {
                        self.agent.handle_prepared(now, key, Ok(8));
                    }
                    agent::Event::Start { .. } => self.starts += 1,
                    agent::Event::Read { key, bytes, digest } => {
                        self.agent.handle_read(now, key, agent::read_plan(&bytes, digest));
                    }
                    agent::Event::Stop { key, .. } => {
                        self.agent.handle_ended(now, key, Err("it was stopped".to_owned()));
                    }
                    agent::Event::Resolve { key, .. } => {
                        let none: &[IpAddr] = &[];
                        self.agent.handle_resolved(now, key, Ok(none));
                    }
                    _ => {}
                }
            } else if self.coordinator.poll_event().is_none() {
                break;
            }
        }
    }

    /// Lets this time pass.
    fn pass(&mut self, time_ns: u64) {
        let end_ns = self.now_ns + time_ns;
        while self.now_ns < end_ns {
            let due = [self.agent.poll_timeout(), self.coordinator.poll_timeout()];
            let next_ns = due.into_iter().flatten().min().unwrap_or(end_ns);
            self.now_ns = next_ns.clamp(self.now_ns + 1, end_ns);
            self.agent.handle_timeout(self.now());
            self.coordinator.handle_timeout(self.now_ns, &mut |_| {});
            let fetch = self.coordinator.poll_fetch();
            if let (Some((from, after)), Some(message)) = (fetch, self.copy.clone()) {
                let found = Some((after + 1, Ok(message)));
                self.coordinator.handle_stored(self.now_ns, &from, after, found);
            }
            self.talk();
        }
    }

    /// Lets time pass until the run reaches a stage.
    fn reach(&mut self, stage: Stage) {
        while self.coordinator.stage() < stage {
            self.pass(S / 100);
        }
    }
}

/// Bytes as a message. A decoded message survives another round trip. In no stage of a run does it start
/// an agent again or keep the run from ending, nor does a copy of it at the broker.
pub(crate) fn message(bytes: &[u8]) {
    let Ok(message) = codec::decode(bytes) else { return };
    assert_eq!(codec::decode(&codec::encode(&message)).as_ref(), Ok(&message));
    for stage in [Stage::Gathering, Stage::Preparing, Stage::Armed, Stage::Running] {
        let mut pair = Pair::new();
        pair.reach(stage);
        pair.coordinator.handle_message(pair.now_ns, &pair.name.clone(), message.clone());
        pair.agent.handle_message(pair.now(), message.clone());
        pair.talk();
        pair.pass(S / 2);
        // Without messages both must end by themselves.
        pair.is_connected = false;
        pair.pass(60 * S);
        assert!(pair.starts <= 1, "it started {} times", pair.starts);
        assert_eq!(pair.coordinator.stage(), Stage::Over, "{message:?}");
        assert_eq!(pair.agent.phase(), None, "{message:?}");
    }
    let mut pair = Pair::recalled(message.clone());
    pair.pass(120 * S);
    assert_eq!(pair.coordinator.stage(), Stage::Over, "{message:?}");
}

/// Text as a policy: an error is a sentence, and a policy says the same of a plan each time.
pub(crate) fn policy(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Policy::from_toml("policy.toml", &text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(policy) => {
            let addresses: [IpAddr; 2] =
                ["127.0.0.1", "10.0.0.1"].map(|one| one.parse().expect("it is an address"));
            let pinned: Result<Plan, _> = policy.pin(&PLAN, 0, &addresses);
            assert_eq!(pinned.is_ok(), policy.pin(&PLAN, 0, &addresses).is_ok());
            if let Ok(pinned) = pinned {
                assert_eq!(pinned.target.resolved, addresses);
                let bytes = wire::to_bytes(&pinned);
                assert_eq!(wire::from_bytes::<Plan>(&bytes).as_ref(), Ok(&pinned));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use candor_fleet::message::{Ends, Segment};
    use candor_fleet::{Head, Refusal};
    use candor_record::Interval;

    use super::*;

    /// The messages of a run, the first of each kind: so the corpus was made. `CANDOR_RENEW` makes it
    /// again, after a change of the messages that is meant.
    #[test]
    fn the_corpus_has_messages_of_every_kind() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/messages");
        let mut pair = Pair::new();
        pair.reach(Stage::Running);
        pair.pass(S);
        let head = Head { key: KEY, boot: BOOT };
        let interval = Interval { index: Some(0), ..Interval::new(3, 1, 0) };
        let segment =
            Segment { sequence: 0, ends: Ends::Interval, bytes: wire::to_bytes(&interval) };
        let others = [
            Message::Segment { head, segment },
            Message::Refused { head, why: Refusal::Late },
            Message::Settled { head },
            Message::Kill { run: KEY.run },
            Message::Recall { head },
            Message::Keep { head },
        ];
        pair.said.extend(others.iter().map(codec::encode));
        let mut kinds = BTreeSet::new();
        for bytes in pair.said {
            // The byte of the version is followed by that of the kind.
            if kinds.insert(bytes[1]) && std::env::var_os("CANDOR_RENEW").is_some() {
                std::fs::write(folder.join(format!("kind-{}", bytes[1])), &bytes)
                    .expect("it is written");
            }
            let path = folder.join(format!("kind-{}", bytes[1]));
            let kept = std::fs::read(&path).unwrap_or_default();
            assert!(codec::decode(&kept).is_ok(), "{} is stale: CANDOR_RENEW=1", path.display());
        }
        assert_eq!(kinds.len(), 14, "{kinds:?}");
    }
}
