//! An agent alone: a test is its coordinator and its host.

use candor_fleet::agent::{Agent, Event, Now, Settings, read_plan};
use candor_fleet::audit::What;
use candor_fleet::message::{Command, Have, Order, Phase, Reserve};
use candor_fleet::{
    Caps, Demand, Digest, Grant, Head, Message, Policy, Refusal, RunId, RunKey, SignedGrant,
    Timings,
};
use candor_plan::Plan;
use candor_record::{Workers, wire};

use super::{S, UNIX_S, operator, plan};

pub(crate) const BOOT: u64 = 77;
/// The agent's share, and the rest.
pub(crate) const SHARE: Workers = Workers { first: 0, count: 1, of: 2 };
pub(crate) const OTHER: Workers = Workers { first: 1, count: 1, of: 2 };
pub(crate) const NOW: Now = Now { ns: 100 * S, unix_s: UNIX_S };

pub(crate) fn key(epoch: u32) -> RunKey {
    RunKey { run: RunId([5; 16]), epoch }
}

pub(crate) fn head(epoch: u32) -> Head {
    Head { key: key(epoch), boot: BOOT }
}

pub(crate) fn policy(rest: &str) -> Policy {
    let text = format!("operators = [\"{}\"]\n{rest}", operator().public());
    Policy::from_toml("policy.toml", &text).unwrap()
}

pub(crate) const LOOPBACK: &str = "[[target]]\nnetworks = [\"127.0.0.0/8\"]\n";

pub(crate) fn agent(policy: Policy) -> Agent {
    let settings = Settings {
        name: "a1".parse().unwrap(),
        boot: BOOT,
        cores: 4,
        policy,
        timings: Timings::default(),
        most_bytes: 1 << 20,
    };
    Agent::new(settings, NOW.ns)
}

pub(crate) fn usual() -> Plan {
    plan("url = \"http://127.0.0.1:8080/\"\nrate = \"100/s\"\nduration = \"5s\"\nconnections = 4\n")
}

pub(crate) fn grant(plan: &Plan, epoch: u32) -> Grant {
    let demand = Demand::of(plan, Workers::all(1));
    let target = match &plan.target.endpoint {
        candor_plan::Endpoint::Tcp { host, port } => vec![(host.clone(), *port)],
        candor_plan::Endpoint::Unix { .. } => Vec::new(),
    };
    Grant {
        key: key(epoch),
        plan: Digest::of(&wire::to_bytes(plan)),
        targets: target,
        caps: Caps {
            rate: demand.rate,
            connections: Some(demand.connections),
            duration_ns: demand.duration_ns,
        },
        agents: vec![("a1".parse().unwrap(), BOOT, SHARE)],
        expires_unix_s: UNIX_S + 60,
        nonce: [epoch as u8; 16],
    }
}

pub(crate) fn reserve(plan: &Plan, epoch: u32, grant: SignedGrant) -> Message {
    let bytes = wire::to_bytes(plan);
    let reserve = Reserve {
        lease_ns: 5 * S,
        workers: SHARE,
        plan: Digest::of(&bytes),
        plan_bytes: bytes.len() as u32,
        grant,
    };
    Message::Reserve { head: head(epoch), reserve }
}

pub(crate) fn order(epoch: u32, command: Command) -> Message {
    let order = Order { beat_ns: None, lease_ns: 5 * S, command, have: Have::default() };
    Message::Lease { head: head(epoch), order }
}

/// An agent's messages, without hellos, and its events.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) refused: Option<Refusal>,
    pub(crate) phase: Option<Phase>,
    pub(crate) events: Vec<Event>,
    pub(crate) audit: Vec<(What, String)>,
    pub(crate) wanted: Vec<u32>,
}

pub(crate) fn said(agent: &mut Agent) -> Said {
    let mut said = Said::default();
    while let Some((_, message)) = agent.poll_transmit() {
        match message {
            Message::Refused { why, .. } => said.refused = Some(why),
            Message::Beat { beat, .. } => said.phase = Some(beat.phase),
            Message::Want { chunks, .. } => said.wanted = chunks,
            _ => {}
        }
    }
    while let Some(event) = agent.poll_event() {
        match event {
            Event::Audit(line) => said.audit.push((line.what, line.detail)),
            event => said.events.push(event),
        }
    }
    said
}

/// Takes an agent as far as it goes with a plan: until it wants a name, is to prepare, or refuses.
pub(crate) fn fetch(agent: &mut Agent, plan: &Plan, epoch: u32) -> Said {
    fetch_with(agent, plan, epoch, &grant(plan, epoch))
}

/// The same with another grant.
pub(crate) fn fetch_with(agent: &mut Agent, plan: &Plan, epoch: u32, grant: &Grant) -> Said {
    let now = NOW;
    agent.handle_message(now, reserve(plan, epoch, operator().sign(grant)));
    agent.handle_message(now, order(epoch, Command::Prepare));
    agent.handle_timeout(now);
    let before = said(agent);
    if before.refused.is_some() {
        return before;
    }
    let bytes = wire::to_bytes(plan);
    for index in before.wanted {
        let begins = index as usize * candor_fleet::codec::PIECE_BYTES;
        let end = bytes.len().min(begins + candor_fleet::codec::PIECE_BYTES);
        let bytes = bytes[begins..end].to_vec();
        let of = Digest::of(&wire::to_bytes(plan));
        agent.handle_message(now, Message::Chunk { head: head(epoch), of, index, bytes });
    }
    for event in said(agent).events {
        let Event::Read { key, bytes, digest } = event else { panic!("{event:?}") };
        agent.handle_read(now, key, read_plan(&bytes, digest));
    }
    said(agent)
}
