//! The tables of a matrix of client libraries, and what is told below them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_share};

use super::super::super::lines::code;
use super::super::suite::tables::short_rate;
use super::super::table::{Align, Table};
use crate::experiment::clients::{Cell, Clients, Trial};

const NOTHING: &str = "–";
/// Kinds of errors that a row has at most.
const MOST_KINDS: usize = 3;

/// A line of a list: what it is about, and what is said of it.
pub(in crate::render) type Line = (String, String);

/// Rates at a glance: clients by concurrency, a table for each pool if pools are a list of sizes.
pub(in crate::render) fn rates(clients: &Clients) -> Vec<(String, Table)> {
    pools(clients)
        .into_iter()
        .map(|pool| {
            let heading = match pool {
                None => format!("Requests a second, pool = {}", clients.pools),
                Some(pool) => format!("Requests a second, pool of {}", fmt_count(pool)),
            };
            (heading, rates_of(clients, pool))
        })
        .filter(|(_, table)| !table.is_empty())
        .collect()
}

/// Pools that cells have in common; `None` where each concurrency has its own.
pub(in crate::render) fn pools(clients: &Clients) -> Vec<Option<u64>> {
    match clients.pools.starts_with(|c: char| c.is_ascii_digit()) {
        true => sending(clients)
            .map(|cell| cell.pool)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(Some)
            .collect(),
        false => vec![None],
    }
}

/// Cells of clients that send something.
pub(in crate::render) fn sending(clients: &Clients) -> impl Iterator<Item = &Cell> {
    clients.cells.iter().filter(|cell| clients.client(&cell.client).is_none_or(|one| !one.is_null))
}

fn rates_of(clients: &Clients, pool: Option<u64>) -> Table {
    let cells: Vec<&Cell> =
        sending(clients).filter(|cell| pool.is_none_or(|pool| cell.pool == pool)).collect();
    let concurrencies: BTreeSet<u64> = cells.iter().map(|cell| cell.concurrency).collect();
    let mut columns = vec![("client".to_owned(), Align::Left)];
    columns.extend(concurrencies.iter().map(|c| (format!("c = {}", fmt_count(*c)), Align::Right)));
    let mut table = Table::new(columns);
    for client in clients.clients.iter().filter(|one| !one.is_null) {
        let mut row = vec![code(&client.name)];
        row.extend(concurrencies.iter().map(|concurrency| {
            let cell = cells
                .iter()
                .find(|cell| cell.client == client.name && cell.concurrency == *concurrency);
            let speaker = cell.and_then(|cell| cell.speaker());
            speaker.map_or(NOTHING.to_owned(), |trial| short_rate(trial.rate_per_s))
        }));
        table.row(row);
    }
    table
}

/// Every cell, one row each.
pub(in crate::render) fn cells(clients: &Clients) -> Table {
    let left = ["client"];
    let names = [
        "client",
        "pool",
        "concurrency",
        "requests/s",
        "errors",
        "p50",
        "p99",
        "p99.9",
        "max",
        "CPU µs/request",
        "overhead",
        "counts agree",
    ];
    let align = |name: &str| if left.contains(&name) { Align::Left } else { Align::Right };
    let mut table = Table::new(names.map(|name| (name.to_owned(), align(name))).into());
    for cell in &clients.cells {
        let mut row = vec![code(&cell.client), cell.pool.to_string(), cell.concurrency.to_string()];
        match cell.speaker() {
            Some(trial) => {
                let latency = &trial.latency;
                row.extend([rate_with_spread(cell, trial), errors(trial)]);
                row.extend(
                    [latency.p50_ns, latency.p99_ns, latency.p999_ns, latency.max_ns].map(time),
                );
                row.extend([trial.cpu_us_per_request, clients.overhead_us(cell)].map(us));
            }
            None => row.extend([NOTHING; 8].map(str::to_owned)),
        }
        row.push(agreement(cell));
        table.row(row);
    }
    table
}

fn rate_with_spread(cell: &Cell, trial: &Trial) -> String {
    let rate = trial.rate_per_s;
    let mut text = fmt_count(rate.round() as u64);
    let comparable = cell.trials.iter().filter(|one| one.agrees()).count();
    if let Some(spread) = cell.spread.filter(|_| comparable > 1 && rate > 0.0) {
        let far = (spread.rate_high_per_s - rate).max(rate - spread.rate_low_per_s) / rate;
        let _ = write!(text, " ±{:.0} %", far * 100.0);
    }
    text
}

/// Shares of errors by kind, the most frequent first.
fn errors(trial: &Trial) -> String {
    let all = trial.ok + trial.failed();
    if trial.errors.is_empty() || all == 0 {
        return fmt_share(0.0);
    }
    let mut kinds: Vec<String> = trial
        .errors
        .iter()
        .take(MOST_KINDS)
        .map(|one| format!("{} {}", fmt_share(one.count as f64 / all as f64), one.kind))
        .collect();
    if trial.errors.len() > MOST_KINDS {
        kinds.push("…".to_owned());
    }
    kinds.join(", ")
}

fn agreement(cell: &Cell) -> String {
    let wrong = cell.wrong().count();
    match (wrong, cell.trials.len()) {
        (_, 0) => "not measured".to_owned(),
        (0, _) => "yes".to_owned(),
        (wrong, all) if wrong == all => "NO".to_owned(),
        (wrong, all) => format!("NO in {wrong} of {all}"),
    }
}

/// What each null client costs, for the clients that name it.
pub(in crate::render) fn overheads(clients: &Clients) -> Vec<Line> {
    let nulls = clients.clients.iter().filter(|one| one.is_null);
    nulls
        .filter_map(|null| {
            let costs: Vec<String> = clients
                .cells
                .iter()
                .filter(|cell| cell.client == null.name)
                .filter_map(|cell| {
                    let cost = cell.speaker()?.cpu_us_per_request?;
                    Some(format!("{} µs per request at c={}", us(Some(cost)), cell.concurrency))
                })
                .collect();
            let partners: Vec<&str> = clients
                .clients
                .iter()
                .filter(|one| one.null_client.as_ref() == Some(&null.name))
                .map(|one| one.name.as_str())
                .collect();
            let of = match partners.is_empty() {
                true => String::new(),
                false => format!("the driver's share in {}: ", partners.join(", ")),
            };
            (!costs.is_empty()).then(|| (null.name.clone(), format!("{of}{}", costs.join(", "))))
        })
        .collect()
}

/// Every trial whose counts do not agree with the server's.
pub(in crate::render) fn wrong(clients: &Clients) -> Vec<Line> {
    let of = |cell: &Cell| {
        cell.wrong()
            .map(|trial| {
                let why = trial.disagreement.clone().unwrap_or_default();
                (format!("{} round {}", cell.name(), trial.round), why)
            })
            .collect::<Vec<_>>()
    };
    clients.cells.iter().flat_map(of).collect()
}

/// Trials that could not be made.
pub(in crate::render) fn failures(clients: &Clients) -> Vec<Line> {
    clients.failures.iter().map(|one| (one.trial.clone(), one.why.clone())).collect()
}

/// What was left out.
pub(in crate::render) fn notes(clients: &Clients) -> Vec<Line> {
    clients.notes.iter().map(|one| (one.what.clone(), one.why.clone())).collect()
}

/// What happened, in a line: for progress.
pub fn in_words(trial: &Trial) -> String {
    let rate = format!("{}/s", fmt_count(trial.rate_per_s.round() as u64));
    let p99 = trial.latency.p99_ns.map_or(NOTHING.to_owned(), fmt_duration_ns);
    let failed = match trial.failed() {
        0 => String::new(),
        failed => format!(", {} ({})", fmt_plural(failed, "error"), errors(trial)),
    };
    let wrong = match &trial.disagreement {
        None => String::new(),
        Some(why) => format!("; COUNTS DO NOT AGREE: {why}"),
    };
    format!("{rate}, p99 {p99}, CPU {} µs/request{failed}{wrong}", us(trial.cpu_us_per_request))
}

fn time(ns: Option<u64>) -> String {
    ns.map_or(NOTHING.to_owned(), fmt_duration_ns)
}

/// Three digits that matter.
fn us(us: Option<f64>) -> String {
    match us {
        None => NOTHING.to_owned(),
        Some(us) if us >= 99.95 => format!("{us:.0}"),
        Some(us) if us >= 9.995 => format!("{us:.1}"),
        Some(us) => format!("{us:.2}"),
    }
}
