//! Runs on many machines.

use candor_record::{Agent, EndReason, Lost};

use super::{MS, healthy_open};
use crate::document::{Document, Ending};
use crate::verdicts;

/// A healthy run of two agents.
pub fn healthy() -> Document {
    let mut document = healthy_open();
    let worker = document.workers[0].clone();
    document.workers.push(worker);
    let mut other = document.machines[0].clone();
    other.first_worker = 1;
    document.machines[0].workers = 1;
    other.workers = 1;
    document.workers.truncate(2);
    document.machines.push(other);
    for (at, machine) in document.machines.iter_mut().enumerate() {
        machine.agent = Some(Agent {
            name: format!("a{at}"),
            clock_bound_ns: Some(69_000 + 1000 * at as u64),
            clock_drift_ppb: (at == 1).then_some(-1200),
            lost: None,
        });
    }
    document.verdicts = verdicts::judge(&document);
    document
}

/// The same, and one of them was lost after two seconds.
pub fn degraded() -> Document {
    let mut document = healthy();
    let why = "it was silent for longer than its lease".to_owned();
    let agent = document.machines[1].agent.as_mut().expect("it has an agent");
    agent.lost = Some(Lost { why, known_to_ns: 2000 * MS });
    document.end = Ending { reason: EndReason::AgentLost, partial: true };
    document.ledger.scheduled += 500;
    document.ledger.unaccounted = 500;
    let window_s = document.time.window_ns as f64 / 1e9;
    document.rate.scheduled_per_s = Some(document.ledger.scheduled as f64 / window_s);
    document.verdicts = verdicts::judge(&document);
    document
}

/// The same, with clocks that are hardly known, and one machine that is far away.
pub fn apart() -> Document {
    let mut document = healthy();
    for (machine, worker) in document.machines.iter_mut().zip(&mut document.workers) {
        let agent = machine.agent.as_mut().expect("it has an agent");
        agent.clock_bound_ns = Some(25 * MS);
        let mean_ns = if agent.name == "a0" { 2e6 } else { 9e6 };
        worker.response_mean_ns = Some(mean_ns);
    }
    document.verdicts = verdicts::judge(&document);
    document
}
