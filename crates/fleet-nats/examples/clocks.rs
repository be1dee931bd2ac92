//! How exactly runs know the clocks of their agents: many short runs, and what each says of each agent's clock.
//! `bench/fleet` compares that with the truth, which it knows because it made the clocks.
//!
//! ```text
//! clocks OPERATOR URL AGENTS RUNS
//! ```
//!
//! `OPERATOR` is the operator's folder of a fleet, and all agents of that fleet have to be up. Standard output is CSV,
//! a line for each agent of each run, with times of the coordinator's monotonic clock and offsets to it, in
//! nanoseconds: `origin_ns` is the origin of the run, `own_origin_ns` the same by the agent's clock, as it was told;
//! `bound_ns` is the bound of this when it was told, `document_bound_ns` that of the result.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_fleet::coordinator::{Coordinator, Event, OnLoss, Outcome, Settings, Wanted};
use candor_fleet::message::{Command, Go};
use candor_fleet::{AgentName, Message, OperatorKey, RunId, RunKey, Threads, Timings};
use candor_fleet_nats::{Arrival, Broker, Certificates, Link};
use candor_plan::Plan;
use candor_plan::options::{Options, ReadFile};
use rustix::time::{ClockId, clock_gettime};

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [operator, url, agents, runs] = &arguments[..] else {
        panic!("usage: clocks OPERATOR URL AGENTS RUNS");
    };
    let (operator, agents) = (PathBuf::from(operator), agents.parse().unwrap());
    println!("run,agent,origin_ns,own_origin_ns,offset_ns,bound_ns,document_bound_ns,drift_ppb");
    for run in 0..runs.parse::<u64>().unwrap() {
        let id = RunId((u128::from(run) << 64 | u128::from(unix_ns())).to_le_bytes());
        let settings = settings(id, plan(url, agents), agents, key(&operator));
        let (outcome, orders, origin_ns) = measured(settings, &broker(&operator), id);
        let record = outcome.record.unwrap_or_else(|| panic!("{:?}", outcome.verdict));
        for machine in record.machines {
            let agent = machine.agent.unwrap();
            let Go { origin_ns: own_ns, offset_ns, bound_ns } = orders[&agent.name];
            let bound_at_end_ns = agent.clock_bound_ns.unwrap();
            let drift_ppb = agent.clock_drift_ppb.map_or(String::new(), |ppb| ppb.to_string());
            println!(
                "{run},{},{origin_ns},{own_ns},{offset_ns},{bound_ns},{bound_at_end_ns},{drift_ppb}",
                agent.name
            );
        }
    }
}

/// A run that is as short as can be, with a request for each agent.
fn plan(url: &str, agents: usize) -> Plan {
    let text = format!(
        "url = \"{url}\"\nrate = \"{}/s\"\nduration = \"100ms\"\ninterval = \"100ms\"\nconnections = {agents}\n",
        10 * agents
    );
    Options::from_toml("plan.toml", &text).unwrap().build(&NoFiles).unwrap().0
}

fn key(operator: &Path) -> OperatorKey {
    let text = fs::read_to_string(operator.join("signing.key")).unwrap();
    let seed = std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap());
    OperatorKey::from_seed(&seed)
}

fn broker(operator: &Path) -> Broker {
    let text = fs::read_to_string(operator.join("member.toml")).unwrap();
    let url = text.lines().find_map(|line| line.strip_prefix("broker = \""));
    Broker {
        urls: vec![url.unwrap().trim_end_matches('"').to_owned()],
        tls: Some(Certificates {
            ca: operator.join("ca.pem"),
            certificate: operator.join("cert.pem"),
            key: operator.join("key.pem"),
        }),
        patience: Duration::from_secs(10),
    }
}

/// Those of `candor run`, but for what is only waited for.
fn settings(id: RunId, plan: Plan, agents: usize, operator: OperatorKey) -> Settings {
    Settings {
        key: RunKey { run: id, epoch: 0 },
        plan,
        rows: None,
        wanted: Wanted::Count(agents),
        threads: Threads::ByCores,
        on_loss: OnLoss::Continue,
        operator,
        nonce: id.0,
        expires_unix_s: unix_ns() / 1_000_000_000 + 60,
        timings: Timings { lead_ns: 500_000_000, linger_ns: 700_000_000, ..Timings::default() },
    }
}

/// Makes a run: its outcome, the order to start that each agent got, and the origin of time.
fn measured(
    settings: Settings,
    broker: &Broker,
    id: RunId,
) -> (Outcome, BTreeMap<String, Go>, u64) {
    let link = Link::of_coordinator(broker, id).unwrap();
    let mut coordinator = Coordinator::new(settings, monotonic_ns());
    let (mut outcome, mut orders) = (None, BTreeMap::new());
    while let Some(due_ns) = coordinator.poll_timeout() {
        if due_ns <= monotonic_ns() {
            coordinator.handle_timeout(monotonic_ns(), &mut |_| {});
        }
        while let Some((to, message)) = coordinator.poll_transmit() {
            if let Message::Lease { order, .. } = &message
                && let Command::Go(go) = order.command
            {
                orders.insert(to.to_string(), go);
            }
            link.send(&to, &message);
        }
        while let Some(event) = coordinator.poll_event() {
            if let Event::Over(over) = event {
                outcome = Some(*over);
            }
        }
        let left = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        take(&mut coordinator, link.recv(left.min(Duration::from_millis(20))));
    }
    (outcome.unwrap(), orders, coordinator.origin_ns())
}

fn take(coordinator: &mut Coordinator, arrival: Option<Arrival>) {
    match arrival {
        Some(Arrival::Message { from: Some(from), message }) => {
            coordinator.handle_message(monotonic_ns(), &from, *message);
        }
        Some(Arrival::Unreadable { from, why }) => {
            panic!("{}: {why}", from.map_or(String::new(), AgentName::into));
        }
        _ => {}
    }
}

fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}
