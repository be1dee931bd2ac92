//! The page of a matrix of client libraries: its tables, and clients beside each other over the number of
//! callers.
//!
//! Of each cell one run is shown as a whole row. A cell without a run whose counts agree with the server's
//! has no figures in a table, only what is wrong with it.

use std::collections::BTreeSet;

use candor_plan::units::{
    fmt_count, fmt_digits, fmt_duration_ns, fmt_plural, fmt_share, fmt_short,
};

use super::found::{compact, counted, found};
use super::matrix::{self, MOST_CHARTS, WHISKERS, in_brackets, lines, spread};
use super::{or_nothing, time};
use crate::page::axis::{Axis, Unit};
use crate::page::bars::{Bar, Bars, Group};
use crate::page::chart::{COLOURS, Chart, Series, from_zero, of_values};
use crate::page::{Column, Depth, Kind, NOTHING, Page, Section, Table};
use candor_report::Tone;
use candor_report::experiment::clients::{Cell, Clients, Trial};
use candor_report::findings;

/// Kinds of errors that a row has at most.
const MOST_KINDS: usize = 3;

/// What stands beside figures of the tables.
const MARKS: &str = "Each row is one run of the cell: the one with the median rate among those whose counts \
     agree with the server's. ± is the largest distance of the other runs' rates from it. Errors are shares \
     of the requests that ended in the window, by kind. CPU is the driver's, user and kernel, over the whole \
     cell, divided by its requests; overhead is the cost of the same driver's null client with as many \
     callers.";

/// What is said of a trial whose counts are not the server's.
const DISAGREE: &str = "COUNTS DO NOT AGREE";

/// How to read the numbers.
const READING: [&str; 5] = [
    "Rates count correct responses that ended in the window.",
    "A latency counts from before the library was called until it returned, so waiting for a connection of \
     the pool is in it.",
    "These are closed loops: while a library is slow it is asked less. Latencies are those under the load \
     that it took.",
    "A percentile that the requests do not bound is not printed.",
    "Units and columns of results.csv are in candor's docs/clients.md.",
];

/// The page of a matrix of client libraries.
pub fn page(clients: &Clients, depth: Depth) -> Page {
    let heading = &clients.heading;
    let mut page =
        matrix::page(depth, "HTTP client libraries", heading, clients.complete, clients.progress());
    let wrong = clients.wrong();
    if wrong > 0 {
        let wrong = fmt_plural(wrong, "trial");
        let sentence =
            format!("In {wrong} the driver and the server do not count the same requests.");
        page.header.standing(Tone::Bad, "NOT TO BE TRUSTED", sentence);
    }
    found(&mut page, depth, &findings::clients(clients));
    if depth == Depth::Short {
        short(page.section("figures", ""), clients);
        return page;
    }
    page.section("rates", "Rate by concurrency").full(|section| {
        let y: fn(&[Series]) -> Axis = |series| from_zero("a second", Unit::Rate, series);
        let rate = |trial: &Trial| Some(trial.rate_per_s);
        charts(section, clients, "r", "Correct responses per second", y, rate, fmt_short);
        rates(clients).into_iter().for_each(|(heading, table)| section.headed(heading, table));
    });
    charts(
        page.section("latency", "Latency by concurrency"),
        clients,
        "l",
        "p99 of the latency",
        of_values,
        |trial| trial.latency.p99_ns.map(|ns| ns as f64),
        |ns| fmt_duration_ns(ns as u64),
    );
    charts(
        page.section("cpu", "CPU by concurrency"),
        clients,
        "c",
        "CPU µs a request",
        |series| from_zero("µs a request", Unit::Count, series),
        |trial| trial.cpu_us_per_request,
        |us| format!("{} µs", fmt_digits(us)),
    );
    let section = page.section("cells", "Every cell");
    section.table(cells(clients));
    section.full(|section| section.remark(if clients.cells.is_empty() { "" } else { MARKS }));
    let section = page.section("doubts", "Overhead, doubts, omissions");
    overheads(section, clients);
    for what in disagreements(clients) {
        section.fact(DISAGREE, Some(Tone::Bad), what);
    }
    matrix::missing(section, &clients.failures, &clients.notes);
    let facts = [("Asked", asked(clients)), ("Server", clients.server.clone())].into_iter();
    let facts = facts.chain(clients.clients.iter().map(|one| {
        let about = in_brackets(&one.about);
        let what = format!("{} {}, {}{about}", one.library, one.version, one.runtime);
        ("Client", format!("{}: {what}: {}", one.name, one.command.join(" ")))
    }));
    let each = "a fresh driver for each run, one at a time, against one server";
    matrix::end(&mut page, heading, &clients.format, &READING, each, facts);
    page
}

/// Rates on one screen, and what is not to be trusted.
fn short(section: &mut Section, clients: &Clients) {
    let mut tables = rates(clients).into_iter();
    if let Some((heading, table)) = tables.next() {
        section.heading(heading);
        compact(section, table, "more client", "more column");
    }
    if tables.len() > 0 {
        section.remark(format!("and {}", fmt_plural(tables.len() as u64, "more pool")));
    }
    counted(section, DISAGREE, Some(Tone::Bad), 1, disagreements(clients));
    matrix::missing_shortly(section, &clients.failures, &clients.notes);
}

/// The trials whose counts are not the server's.
fn disagreements(clients: &Clients) -> impl Iterator<Item = String> {
    clients.cells.iter().flat_map(|cell| {
        cell.wrong().map(|trial| {
            let why = trial.disagreement.as_deref().unwrap_or_default();
            format!("{} round {}: {why}", cell.name(), trial.round)
        })
    })
}

/// What every cell was asked for.
fn asked(clients: &Clients) -> String {
    let asked = &clients.asked;
    let path = asked.path.as_deref().map_or(String::new(), |path| format!("GET {path}, "));
    let body = asked
        .expect_body_bytes
        .map_or(String::new(), |bytes| format!(" with {}", fmt_plural(bytes, "byte")));
    format!(
        "Each run: {path}warm-up {}, window {}, timeout {}; right is status {}{body}; pools: {}",
        fmt_duration_ns(asked.warm_up_ns),
        fmt_duration_ns(asked.duration_ns),
        fmt_duration_ns(asked.timeout_ns),
        asked.expect_status,
        clients.pools
    )
}

/// Names of the clients that send something.
fn names(clients: &Clients) -> Vec<&str> {
    let sending = clients.clients.iter().filter(|one| !one.is_null);
    sending.map(|one| one.name.as_str()).collect()
}

/// Their cells, of one pool if there is one.
fn sending(clients: &Clients, pool: Option<u64>) -> Vec<&Cell> {
    let is_null = |cell: &Cell| clients.client(&cell.client).is_some_and(|one| one.is_null);
    let cells = clients.cells.iter().filter(|cell| !is_null(cell));
    cells.filter(|cell| pool.is_none_or(|pool| cell.pool == pool)).collect()
}

/// Pools that cells have in common; `None` where each concurrency has its own.
fn pools(clients: &Clients) -> Vec<Option<u64>> {
    if !clients.pools.starts_with(|c: char| c.is_ascii_digit()) {
        return vec![None];
    }
    let pools: BTreeSet<u64> = sending(clients, None).iter().map(|cell| cell.pool).collect();
    pools.into_iter().map(Some).collect()
}

/// A chart over the number of callers for each pool, with as many clients as there are colours; the others
/// in charts of their own.
fn charts(
    section: &mut Section,
    clients: &Clients,
    anchor: &str,
    what: &str,
    y: fn(&[Series]) -> Axis,
    pick: fn(&Trial) -> Option<f64>,
    written: fn(f64) -> String,
) {
    let all = sending(clients, None);
    if all.iter().all(|cell| cell.concurrency == all[0].concurrency) {
        return section.bars(bars(clients, anchor, what, pick, written));
    }
    let (names, pools) = (names(clients), pools(clients));
    let groups = pools.iter().flat_map(|pool| names.chunks(COLOURS).map(move |few| (*pool, few)));
    let mut groups = groups.zip(1..);
    for ((pool, few), n) in groups.by_ref().take(MOST_CHARTS) {
        let cells = sending(clients, pool);
        let own = cells.iter().filter(|cell| few.contains(&&*cell.client));
        let series =
            lines(own.map(|cell| {
                (&*cell.client, (cell.concurrency as f64, cell.speaker().and_then(pick)))
            }));
        let pool = pool.map_or(clients.pools.clone(), |pool| format!("of {}", fmt_count(pool)));
        let callers = cells.iter().map(|cell| cell.concurrency as f64);
        let x = Axis::around("callers", Unit::Count, callers);
        let chart =
            Chart::new(format!("{anchor}{n}"), format!("{what}, pool {pool}"), x, y(&series))
                .about("Of each client and concurrency the run that its row in the table is of.");
        section.chart(chart.all(series));
    }
    let left = groups.count();
    if left > 0 {
        let left = fmt_plural(left as u64, "more chart");
        section.full(|section| section.remark(format!("What {left} would show is in the tables.")));
    }
}

/// Clients beside each other, a group for each pool, where all have as many callers.
fn bars(
    clients: &Clients,
    anchor: &str,
    what: &str,
    pick: fn(&Trial) -> Option<f64>,
    written: fn(f64) -> String,
) -> Bars {
    let bar = |cell: &Cell| {
        let agreeing = cell.trials.iter().filter(|one| one.agrees());
        let all: Vec<f64> = agreeing.filter_map(pick).collect();
        let value = pick(cell.speaker()?)?;
        let low = all.iter().copied().fold(value, f64::min);
        let high = all.iter().copied().fold(value, f64::max);
        Some(Bar {
            name: cell.client.clone(),
            colour: clients.clients.iter().position(|one| one.name == cell.client).unwrap_or(0),
            value,
            ends: (all.len() > 1).then_some((low, high)),
            label: written(value),
        })
    };
    let group = |pool: Option<u64>| Group {
        name: pool.map_or(String::new(), |pool| format!("pool of {}", fmt_count(pool))),
        bars: sending(clients, pool).into_iter().filter_map(bar).collect(),
    };
    Bars {
        id: anchor.to_owned(),
        title: what.to_owned(),
        about: WHISKERS.to_owned(),
        groups: pools(clients).into_iter().take(MOST_CHARTS).map(group).collect(),
    }
}

/// Rates at a glance: clients by concurrency, a table for each pool if pools are a list of sizes.
fn rates(clients: &Clients) -> Vec<(String, Table)> {
    let table = |pool: Option<u64>| {
        let cells = sending(clients, pool);
        let concurrencies: BTreeSet<u64> = cells.iter().map(|cell| cell.concurrency).collect();
        let columns =
            concurrencies.iter().map(|c| Column::figures(format!("c = {}", fmt_count(*c))));
        let columns = std::iter::once(Column::new("client", Kind::Code)).chain(columns);
        let mut table = Table::new(columns);
        for client in names(clients) {
            let rates = concurrencies.iter().map(|concurrency| {
                let cell = cells
                    .iter()
                    .find(|cell| cell.client == client && cell.concurrency == *concurrency);
                or_nothing(cell.and_then(|cell| cell.speaker()), |one| fmt_short(one.rate_per_s))
            });
            table.row(std::iter::once(client.to_owned()).chain(rates));
        }
        let of = match pool {
            None => format!("= {}", clients.pools),
            Some(pool) => format!("of {}", fmt_count(pool)),
        };
        (format!("Requests a second, pool {of}"), table)
    };
    pools(clients).into_iter().map(table).collect()
}

/// Every cell, one row each.
fn cells(clients: &Clients) -> Table {
    let names = [
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
    let columns = std::iter::once(Column::new("client", Kind::Code));
    let mut table = Table::new(columns.chain(names.map(Column::figures)));
    for cell in &clients.cells {
        let mut row =
            vec![cell.client.clone(), cell.pool.to_string(), cell.concurrency.to_string()];
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
        row.push(match (cell.wrong().count(), cell.trials.len()) {
            (_, 0) => "not measured".to_owned(),
            (0, _) => "yes".to_owned(),
            (wrong, all) if wrong == all => "NO".to_owned(),
            (wrong, all) => format!("NO in {wrong} of {all}"),
        });
        table.row(row);
    }
    table
}

fn rate_with_spread(cell: &Cell, trial: &Trial) -> String {
    let comparable = cell.trials.iter().filter(|one| one.agrees()).count();
    let rate = trial.rate_per_s;
    let ends = cell.spread.map(|one| (one.rate_low_per_s, one.rate_high_per_s));
    let far = spread(rate, ends.filter(|_| comparable > 1));
    let far = far.map_or(String::new(), |far| format!(" ±{:.0} %", far * 100.0));
    fmt_count(rate.round() as u64) + &far
}

/// Shares of errors by kind, the most frequent first.
fn errors(trial: &Trial) -> String {
    let all = trial.ok.saturating_add(trial.failed());
    if trial.errors.is_empty() || all == 0 {
        return fmt_share(0.0);
    }
    let kinds = trial.errors.iter().take(MOST_KINDS);
    let mut kinds: Vec<String> = kinds
        .map(|one| format!("{} {}", fmt_share(one.count as f64 / all as f64), one.kind))
        .collect();
    kinds.extend((trial.errors.len() > MOST_KINDS).then(|| "…".to_owned()));
    kinds.join(", ")
}

/// What each null client costs, for the clients that name it.
fn overheads(section: &mut Section, clients: &Clients) {
    for null in clients.clients.iter().filter(|one| one.is_null) {
        let own = clients.cells.iter().filter(|cell| cell.client == null.name);
        let costs = own.filter_map(|cell| {
            let cost = us(Some(cell.speaker()?.cpu_us_per_request?));
            Some(format!("{cost} µs per request at c={}", cell.concurrency))
        });
        let costs: Vec<String> = costs.collect();
        let partners =
            clients.clients.iter().filter(|one| one.null_client.as_ref() == Some(&null.name));
        let partners: Vec<&str> = partners.map(|one| one.name.as_str()).collect();
        let of = match partners.is_empty() {
            true => String::new(),
            false => format!("the driver's share in {}: ", partners.join(", ")),
        };
        if !costs.is_empty() {
            section.fact("Overhead", None, format!("{}: {of}{}", null.name, costs.join(", ")));
        }
    }
}

/// What happened, in a line: for progress.
pub fn in_words(trial: &Trial) -> String {
    let rate = format!("{}/s", fmt_count(trial.rate_per_s.round() as u64));
    let p99 = time(trial.latency.p99_ns);
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

fn us(us: Option<f64>) -> String {
    or_nothing(us, fmt_digits)
}
