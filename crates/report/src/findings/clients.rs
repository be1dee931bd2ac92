//! What a matrix of client libraries found. What is not to be trusted has no part in it.

use candor_plan::units::{fmt_count, fmt_share};

use super::contest::{Contest, Entrant, Measure, told};
use super::{Finding, Kind, Noun, list};
use crate::experiment::clients::{Cell, Clients, ErrorCount, Trial};
use crate::experiment::matrix::grouped;

/// A client that fails more of its requests than this is broken.
const FAILED_ABOVE: f64 = 0.01;

/// Everything that the matrix found, the most telling first.
pub fn findings(clients: &Clients) -> Vec<Finding> {
    let is_null = |cell: &&Cell| clients.client(&cell.client).is_some_and(|one| one.is_null);
    let cells: Vec<&Cell> = clients.cells.iter().filter(|cell| !is_null(cell)).collect();
    // Where each concurrency has its pool, callers alone name a place.
    let pools = grouped(cells.iter().map(|cell| (cell.concurrency, cell.pool)));
    let is_listed = pools.iter().any(|(_, pools)| pools.iter().any(|pool| *pool != pools[0]));
    let place = |cell: &Cell| match is_listed {
        true => format!("c = {}, pool {}", fmt_count(cell.concurrency), fmt_count(cell.pool)),
        false => format!("c = {}", fmt_count(cell.concurrency)),
    };
    let plural = if is_listed { "combinations" } else { "concurrencies" };
    let noun = Noun { before: "at", plural };
    let mut found = failing(&cells, place);
    let fields = grouped(cells.iter().map(|cell| ((cell.concurrency, cell.pool), *cell)));
    for measure in [Measure::Rate, Measure::Cpu] {
        let contests: Vec<Contest<'_>> = fields
            .iter()
            .map(|(_, cells)| Contest {
                place: place(cells[0]),
                entrants: cells.iter().filter_map(|cell| entrant(cell, measure)).collect(),
            })
            .collect();
        found.extend(told(&contests, measure, noun, ""));
    }
    found.sort_by_key(|one| one.kind);
    found
}

fn entrant(cell: &Cell, measure: Measure) -> Option<Entrant<'_>> {
    let pick = |trial: &Trial| match measure {
        Measure::Rate => Some(trial.rate_per_s),
        Measure::P99 => trial.latency.p99_ns.map(|ns| ns as f64),
        Measure::Cpu => trial.cpu_us_per_request,
    };
    let shown = cell.speaker().filter(|trial| !fails(trial))?;
    let agreeing = cell.trials.iter().filter(|one| one.agrees());
    Entrant::of(&cell.client, pick(shown), agreeing.map(|one| (one.round, pick(one))), false)
}

fn fails(trial: &Trial) -> bool {
    trial.failed_share.is_some_and(|share| share > FAILED_ABOVE)
}

/// Clients that fail requests, each with its places.
fn failing(cells: &[&Cell], place: impl Fn(&Cell) -> String) -> Vec<Finding> {
    let failing = cells.iter().filter_map(|cell| {
        let trial = cell.speaker().filter(|trial| fails(trial))?;
        let all = trial.ok.saturating_add(trial.failed()).max(1) as f64;
        let share =
            |one: &ErrorCount| format!("{} {}", fmt_share(one.count as f64 / all), one.kind);
        let kinds: Vec<String> = trial.errors.iter().map(share).collect();
        Some((cell.client.as_str(), format!("{} at {}", list(&kinds), place(cell))))
    });
    grouped(failing)
        .into_iter()
        .map(|(client, shares)| Finding {
            kind: Kind::Broken,
            sentence: format!("{client} fails requests: {}.", list(&shares)),
        })
        .collect()
}
