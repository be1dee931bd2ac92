//! Measures a matrix of client libraries: makes trials and enters them into the document.
//! [`crate::matrix`] decides the order.
//!
//! A trial whose counts disagree with the server's is in the document with the reason, and never
//! represents its cell.

use std::time::Duration;
use std::{fs, iter};

use candor_plan::Secrets;
use candor_report::document::latency::Distribution;
use candor_report::document::rfc3339;
use candor_report::experiment::clients::{
    Asked, Cell, Client, Clients, ErrorCount, FORMAT, TRIAL_FORMAT, Trial, TrialFile,
};
use candor_report::experiment::figures::Percentiles;
use candor_report::experiment::matrix::FailedTrial;
use candor_report::json;

use super::judge::disagreement;
use super::matrix::{Matrix, Selection};
use super::model::{self, Server, Suite};
use super::protocol::Answer;
use super::{Bench, CellPlan, Measured};
use crate::error::LabError;
use crate::matrix::run::{Cell as Slot, Trials, Trouble, Watcher};
use crate::matrix::{self, About, Directory};
use crate::trial::Outcome;

/// The mark of a trial whose counts do not agree with the server's. Such a trial is repeated.
const WRONG: &str = ".wrong";

/// Identifies a suite together with the options typed for it.
pub fn fingerprint(suite: &Suite, selection: &Selection) -> String {
    let Selection { duration, warm_up, timeout, embedded, .. } = selection;
    matrix::fingerprint(&suite.head, &(duration, warm_up, timeout, embedded), iter::empty())
}

/// Measures the trials that the directory lacks.
pub fn run(
    suite: &Suite,
    matrix: &Matrix,
    selection: &Selection,
    about: About,
    directory: &Directory,
    bench: &mut dyn Bench,
    watcher: &mut dyn Watcher<Trial>,
) -> Result<Outcome<Clients>, LabError> {
    let mut document = document(suite, matrix, selection, about, directory);
    keep_others(&mut document, matrix, directory);
    let libraries = Libraries { document, suite, matrix, directory, bench };
    matrix::run::run(suite.head.seed, libraries, watcher)
}

struct Libraries<'a> {
    /// The cells of `matrix`, and then those of the directory that are not to be measured.
    document: Clients,
    suite: &'a Suite,
    matrix: &'a Matrix,
    directory: &'a Directory,
    bench: &'a mut dyn Bench,
}

impl Trials for Libraries<'_> {
    const WHAT: &'static str = "client";
    const GIVE_UP_AFTER: u32 = 3;
    /// The time to start a driver.
    const FIRST_OVERHEAD: Duration = Duration::from_secs(1);

    type Document = Clients;
    type Needs = ();
    type Made = Trial;

    fn cells(&self) -> Vec<Slot> {
        let cells = self.document.cells.iter().take(self.matrix.cells.len()).map(|cell| Slot {
            name: cell.name(),
            who: cell.client.clone(),
            planned: self.matrix.asked.warm_up + self.matrix.asked.duration,
            rounds: self.matrix.rounds,
            is_later: false,
        });
        cells.collect()
    }

    fn take_up(&mut self, cell: usize, round: u64) -> bool {
        let name = Directory::trial(&self.matrix.cells[cell].key(), round, "");
        let kept = self.directory.read(&name).and_then(|text| TrialFile::from_json(&text).ok());
        let kept = kept.filter(|kept| kept.trial.agrees() && kept.trial.round == round);
        kept.map(|kept| self.enter(cell, kept.trial)).is_some()
    }

    fn needs(&mut self, _: usize, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn make(&mut self, cell: usize, round: u64, (): ()) -> Result<Trial, Trouble> {
        let plan = &self.matrix.cells[cell];
        let file = trial_file(plan, round, self.bench.trial(plan, &self.matrix.asked)?);
        self.directory.write(&file.trial.file, &json::any(&file)).map_err(Trouble::Everything)?;
        if file.trial.agrees() {
            // It replaces a wrong one.
            let wrong = Directory::trial(&plan.key(), round, WRONG);
            let _ = fs::remove_file(self.directory.path().join(wrong));
        }
        self.enter(cell, file.trial.clone());
        Ok(file.trial)
    }

    fn fail(&mut self, failure: FailedTrial) {
        self.document.failures.push(failure);
    }

    fn save(&mut self, is_complete: bool) -> Result<(), LabError> {
        self.document.complete = is_complete;
        self.directory.save(&self.shown())
    }

    fn document(self) -> Clients {
        self.shown()
    }
}

impl Libraries<'_> {
    /// The document, in the order of the suite where cells were added to the matrix.
    fn shown(&self) -> Clients {
        let mut document = self.document.clone();
        if document.cells.len() > self.matrix.cells.len() {
            let client = |name: &str| self.suite.clients.iter().position(|one| one.name == name);
            document.clients.sort_by_key(|one| client(&one.name));
            document.cells.sort_by_key(|one| (client(&one.client), one.concurrency, one.pool));
        }
        document
    }

    fn enter(&mut self, cell: usize, trial: Trial) {
        self.document.heading.began(&trial.started_at);
        let cell = &mut self.document.cells[cell];
        cell.trials.push(trial);
        cell.settle();
    }
}

/// Puts what the directory has beyond the matrix into `document`: cells that are not selected, and rounds beyond those that
/// are. What has no file any more is not kept.
fn keep_others(document: &mut Clients, matrix: &Matrix, directory: &Directory) {
    let earlier = directory.earlier().and_then(|text| Clients::from_json(&text).ok());
    let Some(earlier) = earlier else { return };
    for mut cell in earlier.cells {
        let key = |one: &Cell| (one.client.clone(), one.pool, one.concurrency);
        let at = document.cells.iter().position(|one| key(one) == key(&cell));
        let rounds = at.map_or(0, |_| matrix.rounds);
        directory.keep(&mut cell.trials, rounds, &mut document.heading, |one| {
            (one.round, &one.file, &one.started_at)
        });
        if let Some(at) = at {
            document.cells[at].trials.append(&mut cell.trials);
            document.cells[at].settle();
        } else if !cell.trials.is_empty() {
            matrix::adopt(&mut document.clients, &earlier.clients, &cell.client, |one| &one.name);
            cell.settle();
            document.cells.push(cell);
        }
    }
}

/// A trial with its latencies, computed from the driver's figures by division only.
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
        file: Directory::trial(&plan.key(), round, disagreement.as_ref().map_or("", |_| WRONG)),
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

fn document(
    suite: &Suite,
    matrix: &Matrix,
    selection: &Selection,
    about: About,
    directory: &Directory,
) -> Clients {
    let secrets = about.secrets;
    let clients = matrix.clients.iter().map(|present| Client {
        name: present.client.name.clone(),
        about: present.client.about.clone(),
        command: secrets.command(&present.client.command),
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
        heading: about.heading(&suite.head, matrix.rounds, directory),
        server: match selection.embedded {
            true => "embedded".to_owned(),
            false => source(&suite.server, secrets),
        },
        asked: asked(&matrix.asked, secrets),
        pools: matrix.pools.clone(),
        clients: clients.collect(),
        cells: cells.collect(),
        notes: matrix.notes.clone(),
        failures: matrix.failures.clone(),
        complete: false,
    }
}

fn asked(asked: &model::Asked, secrets: Secrets) -> Asked {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Asked {
        path: asked.path.as_ref().map(|path| secrets.path(path).into_owned()),
        warm_up_ns: ns(asked.warm_up),
        duration_ns: ns(asked.duration),
        timeout_ns: ns(asked.timeout),
        expect_status: asked.expect_status,
        expect_body_bytes: asked.expect_body_bytes,
    }
}

fn source(server: &Server, secrets: Secrets) -> String {
    match server {
        Server::Embedded { arguments } => matrix::embedded(arguments, secrets),
        Server::Command { command, .. } => secrets.command(command).join(" "),
    }
}
