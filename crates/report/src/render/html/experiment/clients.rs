//! The page of a matrix of client libraries: its tables, and clients beside each other over the number
//! of callers.

use candor_plan::units::{fmt_count, fmt_plural};

use super::super::axis::{Axis, Unit};
use super::super::chart::{Chart, Series, of_values};
use super::super::page::{Section, Tone};
use super::super::svg::COLOURS;
use super::{again, made_by, not_complete, page_of, suite_and_cores};
use crate::experiment::clients::{Cell, Clients, Trial};
use crate::render::experiment::clients::{MARKS, asked, tables, what};

/// Charts of a kind at most; what is beyond is in the tables.
const MOST_CHARTS: usize = 12;

/// The page of a matrix of client libraries.
pub fn render(clients: &Clients) -> String {
    let mut page = page_of("HTTP client libraries", &clients.heading);
    if !clients.complete {
        not_complete(page.header(), clients.progress());
    }
    let wrong = clients.wrong();
    if wrong > 0 {
        let sentence = format!(
            "In {} the driver and the server do not count the same requests.",
            fmt_plural(wrong, "trial")
        );
        page.header().standing(Tone::Bad, "COUNTS DO NOT AGREE", &sentence);
    }
    page.section("rates", "Rate by concurrency", |section| {
        charts(
            section,
            clients,
            &RATES,
            "Right answers a second",
            |series| {
                let highest = series.iter().map(Series::highest).fold(0.0, f64::max);
                Axis::linear("a second", Unit::Rate, highest * 1.05)
            },
            |trial| Some(trial.rate_per_s),
        );
        for (heading, table) in tables::rates(clients) {
            section.heading(&heading);
            section.table(&(&table).into());
        }
    });
    page.section("latency", "Latency by concurrency", |section| {
        charts(section, clients, &LATENCIES, "p99 of the latency", of_values, |trial| {
            trial.latency.p99_ns.map(|ns| ns as f64)
        });
    });
    page.section("cpu", "CPU by concurrency", |section| {
        charts(
            section,
            clients,
            &COSTS,
            "CPU µs a request",
            |series| {
                let highest = series.iter().map(Series::highest).fold(0.0, f64::max);
                Axis::linear("µs a request", Unit::Count, highest * 1.05)
            },
            |trial| trial.cpu_us_per_request,
        );
    });
    page.section("cells", "Every cell", |section| {
        if !clients.cells.is_empty() {
            section.table(&(&tables::cells(clients)).into());
            section.remark(MARKS);
        }
    });
    page.section("doubts", "Overhead, doubts, what was left out", |section| {
        let mut facts: Vec<(&str, String)> = Vec::new();
        for (name, lines) in [
            ("Driver overhead", tables::overheads(clients)),
            ("Counts do not agree", tables::wrong(clients)),
            ("Failed", tables::failures(clients)),
            ("Left out", tables::notes(clients)),
        ] {
            facts.extend(lines.into_iter().map(|(what, line)| (name, format!("{what}: {line}"))));
        }
        section.facts(&facts);
    });
    page.section("again", "How it was done", |section| {
        let mut facts = suite_and_cores(&clients.heading);
        facts.extend([("Asked", asked(clients)), ("Server", clients.server.clone())]);
        facts.extend(clients.clients.iter().map(|one| {
            ("Client", format!("{}: {}: {}", one.name, what(one), one.command.join(" ")))
        }));
        facts.retain(|(_, fact)| !fact.is_empty());
        again(section, &clients.heading.host, &clients.heading.arguments, facts);
    });
    made_by(&mut page, &clients.heading.tool, &clients.format);
    page.finish()
}

/// A chart over the number of callers for each pool, with as many clients as there are colours; the
/// others in charts of their own.
fn charts(
    section: &mut Section,
    clients: &Clients,
    ids: &[&'static str; MOST_CHARTS],
    what: &str,
    y: impl Fn(&[Series]) -> Axis,
    pick: impl Fn(&Trial) -> Option<f64>,
) {
    let names: Vec<&str> =
        clients.clients.iter().filter(|one| !one.is_null).map(|one| one.name.as_str()).collect();
    let pools = tables::pools(clients);
    let mut groups =
        pools.iter().flat_map(|pool| names.chunks(COLOURS).map(move |few| (*pool, few)));
    for (id, (pool, few)) in ids.iter().zip(groups.by_ref()) {
        let of_pool = |cell: &&Cell| pool.is_none_or(|pool| cell.pool == pool);
        let cells: Vec<&Cell> = tables::sending(clients).filter(of_pool).collect();
        let series: Vec<Series> = few
            .iter()
            .enumerate()
            .map(|(colour, name)| {
                let own = cells.iter().filter(|cell| cell.client == *name);
                let mut points: Vec<(f64, Option<f64>)> = own
                    .map(|cell| (cell.concurrency as f64, cell.speaker().and_then(&pick)))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series::line(*name, colour, points)
            })
            .collect();
        let pool = pool.map_or(clients.pools.clone(), |pool| format!("of {}", fmt_count(pool)));
        let callers = cells.iter().map(|cell| cell.concurrency as f64);
        let x = Axis::around("callers", Unit::Count, callers);
        let chart = Chart::new(id, &format!("{what}, pool {pool}"), x, y(&series))
            .about("Of each client and concurrency the run that its row in the table is of.");
        section.chart(&series.into_iter().fold(chart, Chart::series));
    }
    let left = groups.count();
    if left > 0 {
        let left = fmt_plural(left as u64, "more chart");
        section.remark(&format!("What {left} would show is in the tables."));
    }
}

/// Anchors of charts.
const RATES: [&str; MOST_CHARTS] =
    ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12"];
const LATENCIES: [&str; MOST_CHARTS] =
    ["l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l11", "l12"];
const COSTS: [&str; MOST_CHARTS] =
    ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"];
