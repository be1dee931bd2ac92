//! Measuring a matrix of client libraries: in which order, what is there already, and what every trial
//! came to.
//!
//! Round by round, the cells of a round in an order that is drawn for it, so that drift of the machine
//! meets all clients alike. A trial that cannot be made is a failure in the document and the run goes
//! on; a client that fails again and again is given up. A trial whose counts do not agree with the
//! server's is in the document with what is wrong, and never speaks for its cell.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use candor_plan::redact;
use candor_report::document::latency::Distribution;
use candor_report::document::{Host, Tool, rfc3339};
use candor_report::experiment::clients::{
    Asked, Cell, Client, Clients, ErrorCount, FORMAT, TRIAL_FORMAT, Trial, TrialFile,
};
use candor_report::experiment::figures::Percentiles;
use candor_report::experiment::suite::Failure;
use candor_report::render::json;

use super::judge::disagreement;
use super::matrix::{Matrix, Selection};
use super::model::{self, Server, Suite};
use super::protocol::Answer;
use super::store::{CLIENTS_JSON, Store};
use super::{Bench, CellPlan, Measured, Trouble, Watcher};
use crate::compare::order;
use crate::error::LabError;
use crate::suite::file::fnv;

/// A client that failed so often without a single success in between is not started again.
const GIVE_UP_AFTER: u32 = 3;
/// What a trial costs beside its own length, until it is known better: starting a driver.
const FIRST_OVERHEAD: Duration = Duration::from_secs(1);

/// What the caller knows of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The tool.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// The machine.
    pub host: Host,
    /// Cores of the server and of the drivers, in words.
    pub cores: String,
}

/// What came of a matrix.
#[derive(Debug)]
pub struct Outcome {
    /// The document, of all trials that are there.
    pub clients: Clients,
    /// Why it ended before all trials were made.
    pub stopped: Option<LabError>,
}

/// Identifies a suite together with options that were typed and change what a trial is: a directory
/// holds trials of one only.
pub fn fingerprint(suite: &Suite, selection: &Selection) -> String {
    let Selection { duration, warm_up, timeout, embedded, .. } = selection;
    let typed = format!("{duration:?} {warm_up:?} {timeout:?} {embedded}");
    format!("{:016x}", fnv(suite.fingerprint, typed.as_bytes()))
}

/// Measures what is not there yet.
pub fn run(
    suite: &Suite,
    matrix: &Matrix,
    selection: &Selection,
    about: About,
    store: &Store,
    bench: &mut dyn Bench,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, LabError> {
    let mut run = Run {
        document: document(suite, matrix, selection, about),
        seed: suite.seed,
        matrix,
        store,
        pace: Pace::default(),
        failed: BTreeMap::new(),
        in_vain: 0,
    };
    run.take_up(watcher);
    run.save()?;
    let stopped = run.measure(bench, watcher);
    run.document.complete = stopped.is_none();
    run.save()?;
    Ok(Outcome { clients: run.document, stopped })
}

struct Run<'a> {
    document: Clients,
    seed: u64,
    matrix: &'a Matrix,
    store: &'a Store,
    pace: Pace,
    /// Failures in a row, by client.
    failed: BTreeMap<String, u32>,
    /// Trials that were tried or given up in vain.
    in_vain: u64,
}

impl Run<'_> {
    /// Reads the trials that are there.
    fn take_up(&mut self, watcher: &mut dyn Watcher) {
        for (index, plan) in self.matrix.cells.iter().enumerate() {
            for round in 1..=self.matrix.rounds {
                if let Some(file) = self.store.trial(&plan.key(), round) {
                    self.enter(index, file.trial);
                }
            }
        }
        let (made, all) = self.document.progress();
        if made > 0 {
            watcher.note(&format!("{made} of {all} trials are there already"));
        }
    }

    fn measure(&mut self, bench: &mut dyn Bench, watcher: &mut dyn Watcher) -> Option<LabError> {
        for round in 1..=self.matrix.rounds {
            for index in order::of_round(self.matrix.cells.len(), self.seed, round) {
                let is_there =
                    self.document.cells[index].trials.iter().any(|one| one.round == round);
                if !is_there && let Err(why) = self.trial(index, round, bench, watcher) {
                    return Some(why);
                }
            }
        }
        None
    }

    /// One trial. An error here ends everything; a failed trial does not.
    fn trial(
        &mut self,
        index: usize,
        round: u64,
        bench: &mut dyn Bench,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        let plan = &self.matrix.cells[index];
        let client = &plan.client.name;
        let name = format!("{} round {round}", self.document.cells[index].name());
        if self.failed.get(client).is_some_and(|times| *times >= GIVE_UP_AFTER) {
            self.fail(&name, "its client was given up after failing again and again", watcher);
            return Ok(());
        }
        let (made, all) = self.document.progress();
        let number = made + self.in_vain + 1;
        watcher.begins(&name, number, all, self.left());
        let begun = Instant::now();
        match bench.trial(plan, &self.matrix.asked) {
            Ok(measured) => {
                self.failed.remove(client);
                self.pace.learn(self.planned(), begun.elapsed());
                let file = trial_file(plan, round, measured);
                self.store.keep(&plan.key(), &file)?;
                watcher.done(&name, &file.trial);
                self.enter(index, file.trial);
                self.save()
            }
            Err(Trouble::Everything(why)) => Err(why),
            Err(Trouble::Cell(why)) => {
                *self.failed.entry(client.clone()).or_default() += 1;
                self.fail(&name, &why, watcher);
                Ok(())
            }
        }
    }

    fn fail(&mut self, name: &str, why: &str, watcher: &mut dyn Watcher) {
        self.in_vain += 1;
        watcher.failed(name, why);
        self.document.failures.push(Failure { trial: name.to_owned(), why: why.to_owned() });
    }

    fn enter(&mut self, index: usize, trial: Trial) {
        let started = &trial.started_at;
        if self.document.started_at.is_empty() || *started < self.document.started_at {
            self.document.started_at.clone_from(started);
        }
        let cell = &mut self.document.cells[index];
        cell.trials.push(trial);
        cell.settle();
    }

    fn save(&self) -> Result<(), LabError> {
        self.store.write(CLIENTS_JSON, &json::any(&self.document))
    }

    /// The length of a trial.
    fn planned(&self) -> Duration {
        self.matrix.asked.warm_up + self.matrix.asked.duration
    }

    /// How long what is missing will take.
    fn left(&self) -> Duration {
        let (made, all) = self.document.progress();
        let missing = all.saturating_sub(made + self.in_vain);
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        (self.planned() + self.pace.overhead()).saturating_mul(missing)
    }
}

/// What trials cost beside their length, from those that were made.
#[derive(Debug, Default)]
struct Pace {
    trials: u32,
    beside: Duration,
}

impl Pace {
    fn learn(&mut self, planned: Duration, took: Duration) {
        self.trials += 1;
        self.beside += took.saturating_sub(planned);
    }

    fn overhead(&self) -> Duration {
        self.beside.checked_div(self.trials).unwrap_or(FIRST_OVERHEAD)
    }
}

/// A trial with its latencies: nothing of it is made up here, only divided.
fn trial_file(plan: &CellPlan, round: u64, measured: Measured) -> TrialFile {
    let Measured { started_unix_ms, answer, server_answered, cpu_s } = measured;
    let total = answer.total();
    let disagreement = disagreement(&total, server_answered, plan.client.is_null);
    let latency = Distribution::of(&answer.latency);
    let window_s = answer.window_ns as f64 / 1e9;
    let (ended, failed) = (answer.inside.all(), answer.inside.all() - answer.inside.ok);
    let requests = total.all();
    let trial = Trial {
        round,
        file: Store::name_of(&plan.key(), round, disagreement.is_none()),
        started_at: rfc3339(started_unix_ms),
        window_s,
        rate_per_s: answer.inside.ok as f64 / window_s,
        ok: answer.inside.ok,
        errors: errors(&answer),
        failed_share: (ended > 0).then(|| failed as f64 / ended as f64),
        latency: Percentiles::of(&latency),
        outside: answer.outside.all(),
        requests,
        server_answered,
        disagreement,
        cpu_s,
        cpu_us_per_request: (requests > 0).then(|| cpu_s * 1e6 / requests as f64),
    };
    TrialFile {
        format: TRIAL_FORMAT.to_owned(),
        client: plan.client.name.clone(),
        pool: plan.pool,
        concurrency: plan.concurrency,
        trial,
        latency,
    }
}

/// Errors of the window, the most frequent kind first.
fn errors(answer: &Answer) -> Vec<ErrorCount> {
    let mut errors: Vec<ErrorCount> = answer
        .inside
        .errors
        .iter()
        .map(|(kind, &count)| ErrorCount {
            kind: kind.clone(),
            count,
            example: answer.examples.get(kind).cloned(),
        })
        .collect();
    errors.sort_by_key(|one| std::cmp::Reverse(one.count));
    errors
}

fn document(suite: &Suite, matrix: &Matrix, selection: &Selection, about: About) -> Clients {
    let clients = matrix.clients.iter().map(|present| Client {
        name: present.client.name.clone(),
        about: present.client.about.clone(),
        command: redact::arguments(&present.client.command),
        library: present.described.client.clone(),
        version: present.described.version.clone(),
        runtime: present.described.runtime.clone(),
        is_null: present.client.is_null,
        null_client: present.client.null_client.clone(),
    });
    let cells = matrix.cells.iter().map(|plan| Cell {
        client: plan.client.name.clone(),
        pool: plan.pool,
        concurrency: plan.concurrency,
        trials: Vec::new(),
        representative: None,
        spread: None,
    });
    Clients {
        format: FORMAT.to_owned(),
        tool: about.tool,
        arguments: about.arguments,
        name: suite.name.clone(),
        about: suite.about.clone(),
        file: suite.file.clone(),
        started_at: String::new(),
        host: about.host,
        cores: about.cores,
        rounds: matrix.rounds,
        seed: suite.seed,
        fingerprint: fingerprint(suite, selection),
        server: match selection.embedded {
            true => "embedded".to_owned(),
            false => source(&suite.server),
        },
        asked: asked(&matrix.asked),
        pools: matrix.pools.clone(),
        clients: clients.collect(),
        cells: cells.collect(),
        notes: matrix.notes.clone(),
        failures: matrix.failures.clone(),
        complete: false,
    }
}

fn asked(asked: &model::Asked) -> Asked {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Asked {
        path: asked.path.clone(),
        warm_up_ns: ns(asked.warm_up),
        duration_ns: ns(asked.duration),
        timeout_ns: ns(asked.timeout),
        expect_status: asked.expect_status,
        expect_body_bytes: asked.expect_body_bytes,
    }
}

fn source(server: &Server) -> String {
    match server {
        Server::Embedded { arguments } if arguments.is_empty() => "embedded".to_owned(),
        Server::Embedded { arguments } => format!("embedded {}", arguments.join(" ")),
        Server::Command { command, .. } => redact::arguments(command).join(" "),
    }
}
