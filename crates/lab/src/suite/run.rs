//! Measuring a suite: in which order, what is there already, and what every trial came to.
//!
//! Loads that need no peak come first, round by round, the cells of a round in an order that is
//! drawn for it, so that drift of the machine meets all servers alike. Then come the loads at shares
//! of each cell's own peak, in rounds again. A trial that cannot be made is a failure in the document
//! and the suite goes on; a server that fails again and again is given up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use candor_plan::units::fmt_share;
use candor_plan::values::Nanos;
use candor_plan::{NS_PER_S, Rate, build};
use candor_report::Document;
use candor_report::document::{EndReason, Host, Tool};
use candor_report::experiment::figures::Figures;
use candor_report::experiment::suite::{
    Cell, FORMAT, Failure, Kind, Load, Scenario, Server, Suite as SuiteDocument, Trial,
};
use candor_stats::bootstrap::Random;

use super::matrix::{CellPlan, Matrix, Selection};
use super::model::{self, ServerKind};
use super::store::{SUITE_JSON, Store};
use super::{Bench, Watcher, file};
use crate::compare::order;
use crate::error::LabError;

/// A server that failed so often without a single success in between is not started again.
const GIVE_UP_AFTER: u32 = 2;
/// What a trial costs beside its own length, until it is known better: starting a server, the drain.
const FIRST_OVERHEAD: Duration = Duration::from_millis(500);

/// What the caller knows of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The tool.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// The machine of the loader.
    pub host: Host,
    /// Cores of targets and of the loader, in words.
    pub cores: String,
}

/// What came of a suite.
#[derive(Debug)]
pub struct Outcome {
    /// The document, of all trials that are there.
    pub suite: SuiteDocument,
    /// Why it ended before all trials were made.
    pub stopped: Option<LabError>,
}

/// Identifies a suite together with options that were typed: a directory holds trials of one only.
pub fn fingerprint(suite: &model::Suite, selection: &Selection) -> String {
    let mut typed = format!("{:?}", selection.run);
    if let Some(command) = &selection.profile_command {
        typed.push_str(command);
    }
    format!("{:016x}", file::fnv(suite.fingerprint, typed.as_bytes()))
}

/// Measures what is not there yet.
pub fn run(
    suite: &model::Suite,
    matrix: &Matrix,
    fingerprint: &str,
    about: About,
    store: &Store,
    bench: &mut dyn Bench,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, LabError> {
    let mut run = Run {
        document: document(suite, matrix, fingerprint, about),
        suite,
        matrix,
        store,
        pace: Pace::default(),
        failed: BTreeMap::new(),
    };
    run.take_up(watcher);
    run.save()?;
    let stopped = run.measure(bench, watcher);
    run.document.complete = stopped.is_none();
    run.save()?;
    Ok(Outcome { suite: run.document, stopped })
}

struct Run<'a> {
    document: SuiteDocument,
    suite: &'a model::Suite,
    matrix: &'a Matrix,
    store: &'a Store,
    pace: Pace,
    /// Failures in a row, by server.
    failed: BTreeMap<String, u32>,
}

impl Run<'_> {
    /// Reads the trials that are there.
    fn take_up(&mut self, watcher: &mut dyn Watcher) {
        for (index, plan) in self.matrix.cells.iter().enumerate() {
            for round in 1..=self.matrix.rounds {
                if let Some(document) = self.store.trial(&plan.key(), round) {
                    self.enter(index, round, &document);
                }
            }
        }
        let (made, all) = self.document.progress();
        if made > 0 {
            watcher.note(&format!("{made} of {all} trials are there already"));
        }
    }

    fn measure(&mut self, bench: &mut dyn Bench, watcher: &mut dyn Watcher) -> Option<LabError> {
        let cells = &self.matrix.cells;
        let peaks_from = cells.iter().position(|one| one.of_peak.is_some()).unwrap_or(cells.len());
        for phase in [0..peaks_from, peaks_from..cells.len()] {
            for round in 1..=self.matrix.rounds {
                let mut order: Vec<usize> = phase.clone().collect();
                let mixed = order::mix(self.suite.seed, round ^ ((phase.start as u64) << 32));
                order::shuffle(&mut order, &mut Random::new(mixed));
                for index in order {
                    if !self.has(index, round)
                        && let Err(why) = self.trial(index, round, bench, watcher)
                    {
                        return Some(why);
                    }
                }
            }
        }
        None
    }

    fn has(&self, index: usize, round: u64) -> bool {
        self.document.cells[index].trials.iter().any(|one| one.round == round)
    }

    /// One trial. An error here ends the suite; a failed trial does not.
    fn trial(
        &mut self,
        index: usize,
        round: u64,
        bench: &mut dyn Bench,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        let plan = &self.matrix.cells[index];
        let name = format!("{} round {round}", self.document.cells[index].name());
        let given_up = self.failed.get(&plan.server.name).is_some_and(|n| *n >= GIVE_UP_AFTER);
        let options = match self.options(index, round) {
            Ok(_) if given_up => {
                Err("its server was given up after failing again and again".to_owned())
            }
            other => other,
        };
        let options = match options {
            Ok(options) => options,
            Err(why) => {
                self.fail(&name, &why, watcher);
                return Ok(());
            }
        };
        let (made, all) = self.document.progress();
        let number = made + self.document.failures.len() as u64 + 1;
        watcher.begins(&name, number, all, self.left());
        let begun = Instant::now();
        match bench.trial(plan, round, options) {
            Ok(document) if document.end.reason == EndReason::Interrupted => {
                Err(LabError::Interrupted)
            }
            Ok(document) if document.end.partial => {
                // It is kept to be looked at, under a name that no later run takes for a trial.
                self.store.keep(&format!("{}.partial", plan.key()), round, &document)?;
                *self.failed.entry(plan.server.name.clone()).or_default() += 1;
                self.fail(&name, &why_partial(&document), watcher);
                Ok(())
            }
            Ok(document) => {
                self.store.keep(&plan.key(), round, &document)?;
                self.failed.remove(&plan.server.name);
                self.pace.learn(planned(plan), begun.elapsed());
                self.enter(index, round, &document);
                self.save()?;
                if let Some(trial) =
                    self.document.cells[index].trials.iter().find(|t| t.round == round)
                {
                    watcher.done(&name, &trial.figures);
                }
                Ok(())
            }
            Err(LabError::Interrupted) => Err(LabError::Interrupted),
            Err(why) => {
                *self.failed.entry(plan.server.name.clone()).or_default() += 1;
                self.fail(&name, &why.to_string(), watcher);
                Ok(())
            }
        }
    }

    fn fail(&mut self, name: &str, why: &str, watcher: &mut dyn Watcher) {
        watcher.failed(name, why);
        self.document.failures.push(Failure { trial: name.to_owned(), why: why.to_owned() });
    }

    /// Options of a trial: the cell's, the round's seed, and the rate if it is a share of the peak.
    fn options(&mut self, index: usize, round: u64) -> Result<candor_plan::Options, String> {
        let plan = &self.matrix.cells[index];
        let mut options = plan.run.clone();
        if options.seed.is_none() {
            options.seed = Some(order::seed_of_round(self.suite.seed, round));
        }
        let Some(share) = plan.of_peak else { return Ok(options) };
        let key = plan.peak_key().unwrap_or_default();
        let peak = self.matrix.cells.iter().position(|one| one.key() == key);
        let peak_per_s = peak
            .and_then(|index| self.document.cells[index].speaker())
            .and_then(|trial| trial.figures.rate_per_s)
            .filter(|rate| *rate > 0.0)
            .ok_or_else(|| format!("its peak is not known: {key} has no usable trial"))?;
        self.document.cells[index].peak_per_s = Some(peak_per_s);
        options.rate = Some(rate(peak_per_s * share));
        Ok(options)
    }

    fn enter(&mut self, index: usize, round: u64, document: &Document) {
        let file = Store::name_of(&self.matrix.cells[index].key(), round);
        let cell = &mut self.document.cells[index];
        if let Some(share) = cell.of_peak
            && cell.peak_per_s.is_none()
        {
            cell.peak_per_s = document.rate.asked_per_s.map(|asked| asked / share);
        }
        cell.trials.push(trial_of(round, file, document));
        cell.settle();
        let started = &document.started_at;
        if self.document.started_at.is_empty() || *started < self.document.started_at {
            self.document.started_at.clone_from(started);
        }
    }

    fn save(&self) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(&self.document)
            .map_err(|error| LabError::Usage(format!("the suite's document: {error}")))?;
        self.store.write(SUITE_JSON, &(text + "\n"))
    }

    /// How long what is missing will take.
    fn left(&self) -> Duration {
        let cells = self.matrix.cells.iter().zip(&self.document.cells);
        cells
            .map(|(plan, cell)| {
                let missing = self.matrix.rounds.saturating_sub(cell.trials.len() as u64);
                let missing = u32::try_from(missing).unwrap_or(u32::MAX);
                (planned(plan) + self.pace.overhead()).saturating_mul(missing)
            })
            .sum()
    }
}

/// Why a run ended before it had done what it should.
fn why_partial(document: &Document) -> String {
    let target = document.target.as_ref();
    match target.and_then(|one| Some((one.ended.as_ref()?, one.log_tail.last()))) {
        Some((how, Some(last))) => format!("the server ended {how}; the last it said: {last}"),
        Some((how, None)) => format!("the server ended {how} without a word"),
        None => {
            let sentence = document.verdicts.first().map(|one| one.sentence.clone());
            sentence.unwrap_or_else(|| "it ended early".to_owned())
        }
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

/// The length of a trial by its options.
fn planned(cell: &CellPlan) -> Duration {
    let run = &cell.run;
    let warm_up_ns = run.warm_up.map_or(0, |Nanos(ns)| ns);
    let duration_ns = match (run.duration, run.requests) {
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
    Trial {
        round,
        file,
        started_at: document.started_at.clone(),
        figures: Figures::of(document),
        per_second,
        kinds: kinds(document),
    }
}

/// Requests by kind, where a scenario has a few; a hundred routes are no kinds.
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
    fingerprint: &str,
    about: About,
) -> SuiteDocument {
    // In the order of the suite, what is not measured left out.
    let has = |of: &dyn Fn(&CellPlan) -> bool| matrix.cells.iter().any(of);
    let servers =
        suite.servers.iter().filter(|server| has(&|cell| cell.server.name == server.name)).map(
            |server| Server {
                name: server.name.clone(),
                source: source(&server.kind),
                about: server.about.clone(),
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
        peak_per_s: None,
        trials: Vec::new(),
        representative: None,
        spread: None,
    });
    SuiteDocument {
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
        fingerprint: fingerprint.to_owned(),
        servers: servers.collect(),
        scenarios: scenarios.collect(),
        loads: loads.collect(),
        cells: cells.collect(),
        notes: matrix.notes.clone(),
        failures: Vec::new(),
        complete: false,
    }
}

fn source(kind: &ServerKind) -> String {
    match kind {
        ServerKind::Embedded { arguments } if arguments.is_empty() => "embedded".to_owned(),
        ServerKind::Embedded { arguments } => format!("embedded {}", arguments.join(" ")),
        ServerKind::Url(urls) => {
            urls.all().map(|url| candor_plan::redact::url(url)).collect::<Vec<_>>().join(", ")
        }
        ServerKind::Command(command) => candor_plan::redact::arguments(&command.command).join(" "),
    }
}

/// A load in words, from the first cell that has it: scenarios may have their own connections.
fn about_load(load: &model::Load, matrix: &Matrix) -> String {
    let Some(cell) = matrix.cells.iter().find(|one| one.load.name == load.name) else {
        return String::new();
    };
    let run = &cell.run;
    let connections = run.connections.map_or(build::DEFAULT_CONNECTIONS, |one| one.get());
    let kind = match (load.of_peak.as_slice(), run.rate, &run.load) {
        ([], None, None) => "closed loop".to_owned(),
        ([], Some(rate), _) => format!("open load, {}", candor_plan::units::fmt_rate(rate)),
        ([], None, Some(_)) => "open load, a shape".to_owned(),
        (shares, ..) => {
            let shares: Vec<String> = shares.iter().map(|share| fmt_share(*share)).collect();
            format!("open load at {} of the cell's peak", shares.join(", "))
        }
    };
    let warm_up_ns = run.warm_up.map_or(0, |Nanos(ns)| ns);
    let time = candor_plan::units::fmt_duration_ns;
    let duration_ns = run.duration.map_or(build::DEFAULT_DURATION_NS, |one| one.get());
    format!(
        "{kind}, {connections} connections, {} measured after {} of warm-up",
        time(duration_ns),
        time(warm_up_ns)
    )
}
