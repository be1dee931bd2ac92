//! The battery of `candor verify`: experiments with known results, compared with measured values.
//!
//! Each check starts the truth server as a process of its own, runs a load against it with the
//! engine of every run, and compares the loader's trace of single requests with the schedule, the
//! server's log and theory. The server is a process and not a thread, like the servers that users
//! measure: the two share only a socket and the machine's clock, and a pause of the loader does not
//! stop the server.
//!
//! The findings of a check are [`Line`]s: values, judged here and printed by cli. Nothing here
//! prints.
//!
//! - `checks/`: one file for each check, and the table of them. An experiment and its judge are two
//!   functions; judges are pure, so tests give them simulated and falsified runs.
//! - `experiment.rs`: making an experiment; `evidence.rs`: its evidence, and the comparisons.
//! - `parts.rs`: the same for responses that come in parts.
//! - `witness.rs`: the pauses of the machine, and what they excuse; `settle.rs`: doing an experiment again.
//! - `line.rs`: expected beside measured. `noise.rs`: the noise floor of this machine.

mod checks;
mod evidence;
mod experiment;
mod line;
mod noise;
mod parts;
mod settle;
mod values;
mod witness;

use std::num::NonZeroU32;

use candor_plan::{Pacing, ReactorChoice};
use serde::Serialize;

use crate::error::LabError;

pub use checks::{CHECKS, Check};
pub use line::{Answer, Line};
pub use noise::Floor;

/// The length of the checks, in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// All requests, in under two minutes.
    Full,
    /// The same checks with fewer requests, in under half a minute.
    Quick,
}

impl Length {
    /// One of two values.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Length::Full => full,
            Length::Quick => quick,
        }
    }
}

/// The selection and settings of a verification.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Full or quick.
    pub length: Length,
    /// How a load waits for due times, if it can in this way; otherwise it spins.
    pub pacing: Pacing,
    /// How a load asks the kernel, if it can in this way.
    pub reactor: ReactorChoice,
    /// Ids of the checks to make; empty: all of them.
    pub only: Vec<String>,
    /// Requests of each Poisson run; `None`: as many as fit.
    pub poisson_requests: Option<u64>,
    /// Service time of the server in Poisson runs.
    pub poisson_service_ns: u64,
    /// Queues that they fill side by side.
    pub poisson_queues: NonZeroU32,
}

/// The findings of a check.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Which check.
    pub id: &'static str,
    /// The subject of the check.
    pub title: &'static str,
    /// The worst answer of its lines.
    pub answer: Answer,
    /// The expected and measured values.
    pub lines: Vec<Line>,
}

/// Makes the selected checks one after the other; calls `done` after each.
pub fn run(settings: &Settings, mut done: impl FnMut(&Finding)) -> Result<Vec<Finding>, LabError> {
    let wanted =
        |check: &&Check| settings.only.is_empty() || settings.only.iter().any(|id| id == check.id);
    let mut findings = Vec::new();
    for check in CHECKS.iter().filter(wanted) {
        let mut lines = (check.run)(settings)?;
        if candor_engine::core_count() == 1 {
            lines = lines.into_iter().map(unwitnessed).collect();
        }
        let answer = Line::worst(&lines);
        let finding = Finding { id: check.id, title: check.title, answer, lines };
        done(&finding);
        findings.push(finding);
    }
    Ok(findings)
}

/// A line where neither process could spin.
fn unwitnessed(line: Line) -> Line {
    if line.exact || line.is_yes() {
        return line;
    }
    let why = "on one core, nothing sees the machine pause".to_owned();
    Line { detail: Some(why), ..line.cannot_tell() }
}

/// The machine's noise floor; see [`Floor`].
pub fn noise_floor(length: Length) -> Result<Vec<Floor>, LabError> {
    noise::measure(length)
}
