//! The checks of suites, boards and client libraries: a group for each row of their tables, a check for each cell.

use candor_report::document::Outcome;
use candor_report::experiment::board::{self, Board};
use candor_report::experiment::clients::{self, Clients};
use candor_report::experiment::figures::Percentiles;
use candor_report::experiment::matrix::{FailedTrial, Heading, grouped};
use candor_report::experiment::suite::{self, Suite, protocol_name};
use candor_report::findings::{self, Finding, Kind};

use super::{Check, Checks, Group, Warning};
use crate::compose;
use crate::page::{Depth, Page};

impl Checks {
    /// Of a suite: that requests of each cell succeed, and that each trial was made.
    pub fn of_suite(suite: &Suite) -> Self {
        let cells = suite.cells.iter().map(|cell| {
            let group = format!("{}, {}", cell.scenario, protocol_name(&cell.protocol));
            let share = cell.of_peak.map(|one| format!(" {:.0} %", one * 100.0));
            let name = format!("{}, {}{}", cell.server, cell.load, share.unwrap_or_default());
            (group, check_of_suite(name, cell))
        });
        let figures = suite.cells.iter().filter_map(|cell| {
            let figures = &cell.speaker()?.figures;
            Some(figures_of(&cell.name(), figures.rate_per_s, &figures.response))
        });
        let trials = suite.cells.iter().flat_map(|one| &one.trials);
        let time_s = trials.map(|one| one.figures.window_s).sum();
        let report = compose::suite(suite, Depth::Short);
        of_matrix(&suite.heading, cells, &suite.failures, findings::suite(suite), time_s, report)
            .with(figures)
    }

    /// Of a board: that each server has a score in each profile, and that each trial was made.
    pub fn of_board(board: &Board) -> Self {
        let rows = board.profiles.iter().flat_map(|profile| {
            profile.rows.iter().map(|row| (profile.name(), check_of_board(row)))
        });
        let figures = board.profiles.iter().flat_map(|profile| {
            profile.rows.iter().map(|row| {
                let cell = format!("{} {}", profile.name(), row.server);
                let times = Percentiles {
                    p50_ns: row.p50_ns,
                    p99_ns: row.p99_ns,
                    ..Percentiles::default()
                };
                figures_of(&cell, row.rate_per_s, &times)
            })
        });
        let report = compose::board(board, Depth::Short);
        of_matrix(&board.heading, rows, &board.failures, Vec::new(), 0.0, report).with(figures)
    }

    /// Of client libraries: that requests of each cell succeed, and that the server counted as many.
    pub fn of_clients(clients: &Clients) -> Self {
        let cells = clients.cells.iter().map(|cell| {
            let name = format!("pool {}, {} callers", cell.pool, cell.concurrency);
            (cell.client.clone(), check_of_clients(name, cell))
        });
        let figures = clients.cells.iter().filter_map(|cell| {
            let trial = cell.speaker()?;
            Some(figures_of(&cell.name(), Some(trial.rate_per_s), &trial.latency))
        });
        let trials = clients.cells.iter().flat_map(|one| &one.trials);
        let time_s = trials.map(|one| one.window_s).sum();
        let report = compose::clients(clients, Depth::Short);
        let found = findings::clients(clients);
        of_matrix(&clients.heading, cells, &clients.failures, found, time_s, report).with(figures)
    }

    fn with(mut self, figures: impl Iterator<Item = Vec<(String, f64)>>) -> Self {
        self.figures = figures.flatten().collect();
        self
    }
}

fn of_matrix(
    heading: &Heading,
    cells: impl Iterator<Item = (String, Check)>,
    failures: &[FailedTrial],
    found: Vec<Finding>,
    time_s: f64,
    report: Page,
) -> Checks {
    let groups = grouped(cells).into_iter().map(|(name, list)| Group { name, list });
    let failed: Vec<Check> =
        failures.iter().map(|one| Check::unless(one.trial.clone(), Some(one.line()))).collect();
    let trials = (!failed.is_empty()).then(|| Group { name: "trials".to_owned(), list: failed });
    let deserves_a_look =
        |kind| matches!(kind, Kind::Slowed | Kind::Bound | Kind::Unclear | Kind::Saturated);
    let warnings = found.into_iter().filter(|one| deserves_a_look(one.kind));
    Checks {
        title: format!("candor {}", heading.name),
        file: heading.file.clone(),
        started_at: heading.started_at.clone(),
        time_s,
        groups: groups.chain(trials).collect(),
        warnings: warnings
            .map(|one| Warning { name: "finding".to_owned(), sentence: one.sentence })
            .collect(),
        figures: Vec::new(),
        report,
    }
}

fn check_of_suite(name: String, cell: &suite::Cell) -> Check {
    let all_failed =
        !cell.trials.is_empty() && cell.trials.iter().all(|one| one.figures.nothing_worked());
    let why = cell.trials.first().map_or("", |one| &one.figures.failures);
    judged(name, cell.trials.len(), cell.representative.is_some(), || {
        all_failed.then(|| format!("no request succeeded ({why})"))
    })
}

fn check_of_board(row: &board::Row) -> Check {
    Check::unless(
        row.server.clone(),
        row.unscored.as_ref().map(|why| format!("{}: {why}", row.server)),
    )
}

fn check_of_clients(name: String, cell: &clients::Cell) -> Check {
    let all_failed =
        !cell.trials.is_empty() && cell.trials.iter().all(|one| one.ok == 0 && one.failed() > 0);
    let wrong = cell.wrong().find_map(|one| one.disagreement.as_ref());
    judged(name, cell.trials.len(), cell.representative.is_some(), || match wrong {
        _ if all_failed => Some("no request succeeded".to_owned()),
        wrong => wrong.map(|why| format!("the counts of client and server disagree: {why}")),
    })
}

/// Met if there is a trial that represents the cell, and no failure.
fn judged(
    name: String,
    trials: usize,
    has_one: bool,
    failure: impl FnOnce() -> Option<String>,
) -> Check {
    let cannot_tell = |why: &str| (Outcome::CannotTell, format!("cannot tell: {why}"));
    let (outcome, why) = match failure() {
        Some(failure) => (Outcome::NotMet, failure),
        None if trials == 0 => cannot_tell("it was not measured"),
        None if !has_one => cannot_tell("no trial of it can be used"),
        None => (Outcome::Met, String::new()),
    };
    let sentence = if why.is_empty() { why } else { format!("{name}: {why}.") };
    Check { name, outcome, sentence }
}

fn figures_of(cell: &str, rate: Option<f64>, latency: &Percentiles) -> Vec<(String, f64)> {
    let cell = super::forms::label(cell);
    let rate = rate.map(|per_s| (format!("candor_requests_per_second{{cell=\"{cell}\"}}"), per_s));
    let times = [("p50", latency.p50_ns), ("p99", latency.p99_ns)];
    let times = times.into_iter().filter_map(|(name, ns)| {
        let figure = format!("candor_response_seconds{{cell=\"{cell}\",quantile=\"{name}\"}}");
        Some((figure, ns? as f64 / 1e9))
    });
    rate.into_iter().chain(times).collect()
}
