//! Measures a suite: prepares and makes trials, and enters their documents into the suite's.
//! [`crate::matrix`] decides the order: loads that need no peak come first, then those at shares of
//! each cell's own peak.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

use candor_plan::units::{fmt_plural, fmt_share};
use candor_plan::values::Nanos;
use candor_plan::{NS_PER_S, Rate, Secrets, build};
use candor_report::Document;
use candor_report::document::EndReason;
use candor_report::experiment::figures::Figures;
use candor_report::experiment::matrix::{FailedTrial, Note};
use candor_report::experiment::suite::{
    Cell, FORMAT, Kind, Load, PROTOCOLS, Scenario, Server, Suite as SuiteDocument, Trial,
    Utilization,
};
use candor_report::json;
use serde_json::json;

use super::Bench;
use super::matrix::{CellPlan, Matrix, OwnProfile, Selection};
use super::model::{self, PROTOCOL, SCENARIO, ServerKind};
use crate::compare::order;
use crate::error::LabError;
use crate::matrix::run::{Cell as Slot, Trials, Trouble, Watcher};
use crate::matrix::{self, About, Directory};
use crate::trial::Outcome;

/// The mark of a trial that ended early.
const PARTIAL: &str = ".partial";

/// Identifies a suite together with the options typed for it and the content of the files that its
/// runs read, e.g. scripts.
pub fn fingerprint(
    suite: &model::Suite,
    selection: &Selection,
    files: &dyn candor_plan::ReadFile,
) -> String {
    let Selection { duration, warm_up, connections, profile_command, own_profile, .. } = selection;
    let mut typed = json!({
        "duration_ns": duration.map(|one| one.get()),
        "warm_up_ns": warm_up.map(|Nanos(ns)| ns),
        "connections": connections.map(|one| one.get()),
        "profile_command": profile_command,
    });
    if let Some(OwnProfile { tool, scope }) = own_profile {
        typed["own_profile"] = json!([tool, scope]);
    }
    // An unreadable file becomes an error when its plan is made.
    matrix::fingerprint(&suite.head, &typed, suite.files().iter().map(|file| files.read(file).ok()))
}

/// Measures the trials that the directory lacks.
pub fn run(
    suite: &model::Suite,
    matrix: &Matrix,
    about: About,
    directory: &Directory,
    bench: &mut dyn Bench,
    watcher: &mut dyn Watcher<Figures>,
) -> Result<Outcome<SuiteDocument>, LabError> {
    let mut document = document(suite, matrix, about, directory);
    keep_others(&mut document, matrix, directory);
    let seed = suite.head.seed;
    matrix::run::run(
        seed,
        Servers {
            document,
            seed,
            suite,
            matrix,
            directory,
            bench,
            heard: BTreeSet::new(),
            absent: BTreeSet::new(),
        },
        watcher,
    )
}

struct Servers<'a> {
    /// The cells of `matrix`, and then those of the directory that are not to be measured.
    document: SuiteDocument,
    seed: u64,
    suite: &'a model::Suite,
    matrix: &'a Matrix,
    directory: &'a Directory,
    bench: &'a mut dyn Bench,
    /// Servers with a trial.
    heard: BTreeSet<String>,
    /// Servers that are not installed here.
    absent: BTreeSet<String>,
}

impl Trials for Servers<'_> {
    const WHAT: &'static str = "server";
    const GIVE_UP_AFTER: u32 = 2;
    /// Starting a server, the drain.
    const FIRST_OVERHEAD: Duration = Duration::from_millis(500);

    type Document = SuiteDocument;
    type Needs = candor_plan::Options;
    type Made = Figures;

    fn cells(&self) -> Vec<Slot> {
        let cells = self.document.cells.iter().zip(&self.matrix.cells);
        let slots = cells.map(|(cell, plan)| Slot {
            name: cell.name(),
            who: who(plan),
            planned: planned(plan),
            rounds: plan.rounds,
            is_later: plan.of_peak.is_some(),
        });
        slots.collect()
    }

    fn take_up(&mut self, cell: usize, round: u64) -> bool {
        let name = Directory::trial(&self.matrix.cells[cell].key(), round, "");
        let text = self.directory.read(&name);
        let document = text.and_then(|text| Document::from_json(&text).ok());
        document.map(|document| self.enter(cell, round, &document)).is_some()
    }

    /// Options of a trial: the cell's, with the round's seed, and with the rate if it is a share of
    /// the peak.
    fn needs(&mut self, cell: usize, round: u64) -> Result<candor_plan::Options, String> {
        let plan = &self.matrix.cells[cell];
        let mut options = plan.run.clone();
        if options.load.seed.is_none() {
            options.load.seed = Some(order::seed_of_round(self.seed, round));
        }
        let Some(share) = plan.of_peak else { return Ok(options) };
        let key = plan.peak_key().unwrap_or_default();
        let peak = self.matrix.cells.iter().position(|one| one.key() == key);
        let peak_per_s = peak
            .and_then(|peak| self.document.cells[peak].speaker())
            .and_then(|trial| trial.figures.rate_per_s)
            .filter(|rate| *rate > 0.0)
            .ok_or_else(|| format!("its peak is unknown: {key} has no usable trial"))?;
        self.document.cells[cell].peak_per_s = Some(peak_per_s);
        options.load.rate = Some(rate(peak_per_s * share));
        Ok(options)
    }

    fn is_absent(&self, cell: usize) -> bool {
        self.absent.contains(&self.matrix.cells[cell].server.name)
    }

    fn make(
        &mut self,
        cell: usize,
        round: u64,
        options: candor_plan::Options,
    ) -> Result<Figures, Trouble> {
        let plan = &self.matrix.cells[cell];
        let document = match self.bench.trial(plan, round, options) {
            Ok(document) if document.end.reason == EndReason::Interrupted => {
                return Err(Trouble::Everything(LabError::Interrupted));
            }
            Ok(document) => document,
            Err(LabError::Interrupted) => return Err(Trouble::Everything(LabError::Interrupted)),
            Err(why @ LabError::Response { .. }) => return Err(Trouble::Wrong(why.to_string())),
            Err(LabError::NotInstalled { name, said }) if !self.matrix.are_servers_named => {
                let note = Note { what: name.clone(), why: said };
                let told = format!("{}: {}", note.what, note.why);
                self.absent.insert(name);
                // It says all that there is to say of the server.
                self.document.notes.retain(|other| other.what != note.what);
                self.document.notes.push(note);
                return Err(Trouble::Absent(told));
            }
            Err(why) => return Err(Trouble::Cell(why.to_string())),
        };
        let is_whole = !document.end.partial;
        let mark = if is_whole { "" } else { PARTIAL };
        let name = Directory::trial(&plan.key(), round, mark);
        self.directory.write(&name, &json::render(&document)).map_err(Trouble::Everything)?;
        match is_whole {
            true => Ok(self.enter(cell, round, &document)),
            false => Err(Trouble::Cell(why_partial(&document))),
        }
    }

    fn fail(&mut self, failure: FailedTrial) {
        self.document.failures.push(failure);
    }

    fn save(&mut self, is_complete: bool) -> Result<(), LabError> {
        self.document.complete = is_complete;
        self.directory.save(&self.shown())
    }

    fn document(self) -> SuiteDocument {
        self.shown()
    }
}

impl Servers<'_> {
    /// The document without the servers that are not installed: its notes have them.
    fn shown(&self) -> SuiteDocument {
        let mut document = self.document.clone();
        if document.cells.len() > self.matrix.cells.len() {
            in_order(&mut document, self.suite);
        }
        document.servers.retain(|server| !self.absent.contains(&server.name));
        document.cells.retain(|cell| !self.absent.contains(&cell.server));
        document
    }

    fn enter(&mut self, cell: usize, round: u64, document: &Document) -> Figures {
        let file = Directory::trial(&self.matrix.cells[cell].key(), round, "");
        let trial = trial_of(round, file, document);
        let figures = trial.figures.clone();
        self.document.heading.began(&trial.started_at);
        let name = &self.matrix.cells[cell].server.name;
        let is_first = !self.heard.contains(name);
        if let Some(target) = &document.target
            && let Some(server) = self.document.servers.iter_mut().find(|one| one.name == *name)
        {
            server.heard(&target.announced, is_first);
            self.heard.insert(name.clone());
        }
        let cell = &mut self.document.cells[cell];
        if let Some(share) = cell.of_peak
            && cell.peak_per_s.is_none()
        {
            cell.peak_per_s = document.rate.asked_per_s.map(|asked| asked / share);
        }
        cell.trials.push(trial);
        cell.settle();
        figures
    }
}

/// Puts what the directory has beyond the matrix into `document`: cells that are not selected, and rounds beyond those that
/// are. What has no file any more is not kept.
fn keep_others(document: &mut SuiteDocument, matrix: &Matrix, directory: &Directory) {
    let earlier = directory.earlier().and_then(|text| SuiteDocument::from_json(&text).ok());
    let Some(earlier) = earlier else { return };
    for mut cell in earlier.cells {
        let at = document.cells.iter().position(|one| one.is_same(&cell));
        let rounds = at.and_then(|at| matrix.cells.get(at)).map_or(0, |plan| plan.rounds);
        directory.keep(&mut cell.trials, rounds, &mut document.heading, |one| {
            (one.round, &one.file, &one.started_at)
        });
        if let Some(at) = at {
            document.cells[at].trials.append(&mut cell.trials);
            document.cells[at].settle();
        } else if !cell.trials.is_empty() {
            matrix::adopt(&mut document.servers, &earlier.servers, &cell.server, |one| &one.name);
            matrix::adopt(&mut document.scenarios, &earlier.scenarios, &cell.scenario, |one| {
                &one.name
            });
            matrix::adopt(&mut document.loads, &earlier.loads, &cell.load, |one| &one.name);
            cell.settle();
            document.cells.push(cell);
        }
    }
}

/// Brings what was added to the matrix into the order of the suite.
fn in_order(document: &mut SuiteDocument, suite: &model::Suite) {
    let server = |name: &str| suite.servers.iter().position(|one| one.name == name);
    let load = |name: &str| suite.loads.iter().position(|one| one.name == name);
    let scenarios = || suite.scenarios.iter().chain(&suite.others);
    let scenario = |name: &str| scenarios().position(|one| one.name == name);
    let protocol = |name: &str| PROTOCOLS.iter().position(|(id, _)| *id == name);
    document.servers.sort_by_key(|one| server(&one.name));
    document.loads.sort_by_key(|one| load(&one.name));
    document.scenarios.sort_by_key(|one| scenario(&one.name));
    document.cells.sort_by(|a, b| {
        let place = |one: &Cell| {
            let (scenario, protocol) = (scenario(&one.scenario), protocol(&one.protocol));
            (one.of_peak.is_some(), scenario, protocol, server(&one.server), load(&one.load))
        };
        place(a).cmp(&place(b)).then(a.of_peak.partial_cmp(&b.of_peak).unwrap_or(Ordering::Equal))
    });
}

/// The unit that is given up after repeated failures: the server, or, if its command depends on
/// protocol and scenario, the server started for these.
fn who(cell: &CellPlan) -> String {
    let mut who = cell.server.name.clone();
    let ServerKind::Command(command) = &cell.server.kind else { return who };
    for (placeholder, name) in
        [(PROTOCOL, cell.protocol.name()), (SCENARIO, cell.scenario.name.as_str())]
    {
        if command.has(placeholder) {
            who = format!("{who} {name}");
        }
    }
    who
}

/// Why a run ended early.
fn why_partial(document: &Document) -> String {
    let target = document.target.as_ref();
    match target.and_then(|one| Some((one.ended.as_ref()?, one.log_tail.last()))) {
        Some((how, last)) => matrix::ended(how, last),
        None => {
            let sentence = document.verdicts.first().map(|one| one.sentence.clone());
            sentence.unwrap_or_else(|| "it ended early".to_owned())
        }
    }
}

/// The length of a trial by its options.
fn planned(cell: &CellPlan) -> Duration {
    let run = &cell.run;
    let warm_up_ns = run.load.warm_up.map_or(0, |Nanos(ns)| ns);
    let duration_ns = match (run.load.duration, run.load.requests) {
        (Some(duration), _) => duration.get(),
        (None, Some(_)) => 0,
        (None, None) => build::DEFAULT_DURATION_NS,
    };
    Duration::from_nanos(warm_up_ns.saturating_add(duration_ns))
}

/// To a thousandth of a request a second, so that low rates are not rounded away.
fn rate(per_s: f64) -> Rate {
    match per_s {
        high if high >= 1000.0 => Rate::per_second(high.round() as u64),
        low => Rate { events: ((low * 1000.0).round() as u64).max(1), per_ns: 1000 * NS_PER_S },
    }
}

fn trial_of(round: u64, file: String, document: &Document) -> Trial {
    let per_second = document.window_intervals().filter_map(|one| one.answered_per_s).collect();
    let target = document.target.as_ref();
    let utilization = target.into_iter().flat_map(|target| target.utilization());
    Trial {
        round,
        file,
        started_at: document.started_at.clone(),
        figures: Figures::of(document),
        per_second,
        utilization: utilization.map(|(at_s, share)| Utilization { at_s, share }).collect(),
        kinds: kinds(document),
    }
}

/// Requests by kind, if a scenario has only a few; a hundred routes are too many to list.
fn kinds(document: &Document) -> Vec<Kind> {
    const MOST: usize = 10;
    let rows = &document.requests;
    if !(2..=MOST).contains(&rows.len()) {
        return Vec::new();
    }
    rows.iter()
        .map(|row| Kind {
            name: row.name.clone(),
            ok: row.ok,
            p50_ns: row.response.as_ref().and_then(|one| one.percentile_ns("p50")),
            p99_ns: row.response.as_ref().and_then(|one| one.percentile_ns("p99")),
        })
        .collect()
}

fn document(
    suite: &model::Suite,
    matrix: &Matrix,
    about: About,
    directory: &Directory,
) -> SuiteDocument {
    let secrets = about.secrets;
    // In the order of the suite, without names that no cell has.
    let has = |of: &dyn Fn(&CellPlan) -> bool| matrix.cells.iter().any(of);
    let servers =
        suite.servers.iter().filter(|server| has(&|cell| cell.server.name == server.name)).map(
            |server| Server {
                name: server.name.clone(),
                source: source(&server.kind, secrets),
                about: server.about.clone(),
                announced: Default::default(),
            },
        );
    let scenarios = suite
        .scenarios
        .iter()
        .filter(|scenario| has(&|cell| cell.scenario.name == scenario.name))
        .map(|scenario| Scenario { name: scenario.name.clone(), about: scenario.about.clone() });
    let loads = suite.loads.iter().filter(|load| has(&|cell| cell.load.name == load.name));
    let loads = loads.map(|load| Load {
        name: load.name.clone(),
        about: about_load(load, matrix),
        of_peak: load.of_peak.clone(),
    });
    let cells = matrix.cells.iter().map(|plan| Cell {
        server: plan.server.name.clone(),
        scenario: plan.scenario.name.clone(),
        protocol: plan.protocol.to_string(),
        load: plan.load.name.clone(),
        of_peak: plan.of_peak,
        refuses: plan.scenario.refuses,
        peak_per_s: None,
        rounds: Some(plan.rounds).filter(|&rounds| rounds != matrix.rounds),
        trials: Vec::new(),
        representative: None,
        spread: None,
    });
    SuiteDocument {
        format: FORMAT.to_owned(),
        heading: about.heading(&suite.head, matrix.rounds, directory),
        servers: servers.collect(),
        scenarios: scenarios.collect(),
        loads: loads.collect(),
        cells: cells.collect(),
        notes: matrix.notes.clone(),
        failures: Vec::new(),
        complete: false,
    }
}

fn source(kind: &ServerKind, secrets: Secrets) -> String {
    match kind {
        ServerKind::Embedded { arguments } => matrix::embedded(arguments, secrets),
        ServerKind::Url(urls) => {
            urls.all().map(|url| secrets.url(url)).collect::<Vec<_>>().join(", ")
        }
        ServerKind::Command(command) => secrets.command(&command.command).join(" "),
    }
}

/// A load in words, from the first cell that has it: scenarios may have their own connections.
fn about_load(load: &model::Load, matrix: &Matrix) -> String {
    let Some(cell) = matrix.cells.iter().find(|one| one.load.name == load.name) else {
        return String::new();
    };
    let run = &cell.run;
    let connections = run.load.connections.map_or(build::DEFAULT_CONNECTIONS, |one| one.get());
    let kind = match (load.of_peak.as_slice(), run.load.rate, &run.load.load) {
        ([], None, None) => "closed loop".to_owned(),
        ([], Some(rate), _) => format!("open load, {}", candor_plan::units::fmt_rate(rate)),
        ([], None, Some(_)) => "open load, a shape".to_owned(),
        (shares, ..) => {
            let shares: Vec<String> = shares.iter().map(|share| fmt_share(*share)).collect();
            format!("open load at {} of the cell's peak", shares.join(", "))
        }
    };
    let warm_up_ns = run.load.warm_up.map_or(0, |Nanos(ns)| ns);
    let time = candor_plan::units::fmt_duration_ns;
    let duration_ns = run.load.duration.map_or(build::DEFAULT_DURATION_NS, |one| one.get());
    let rounds = match cell.rounds {
        rounds if rounds == matrix.rounds => String::new(),
        rounds => format!(", {} a cell", fmt_plural(rounds, "run")),
    };
    format!(
        "{kind}, {connections} connections, {} measured after {} of warm-up{rounds}",
        time(duration_ns),
        time(warm_up_ns)
    )
}
