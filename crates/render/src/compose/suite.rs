//! The page of a suite: what was found, servers beside each other at a glance, its tables, and courses of runs
//! folded away.
//!
//! Tables have the form of those that servers publish: throughput by scenario and server, latency at shares
//! of each server's own peak, resources. Of each cell one run is shown as a whole row, the one with the
//! median rate, with the spread over runs beside it.

use candor_plan::units::{fmt_bytes, fmt_digits, fmt_plural, fmt_short};

use super::found::{compact, found};
use super::matrix::{self, MOST_CHARTS, in_brackets, lines, spread};
use super::trials::marks;
use super::{glance, or_nothing, time, trials};
use crate::page::axis::{Axis, Unit};
use crate::page::chart::{COLOURS, Chart, Points, Series, from_zero, of_values};
use crate::page::{Column, Depth, Kind, NOTHING, Page, Section, Table};
use candor_report::Tone;
use candor_report::experiment::figures::{Figures, Percentiles};
use candor_report::experiment::matrix::grouped;
use candor_report::experiment::suite::{Cell, PROTOCOLS, SATURATED_BELOW, Server, Suite, Trial};
use candor_report::findings::{self, Place};

/// What stands beside figures of the tables.
const MARKS: &str = "Each row is one run of the cell: the one with the median rate. ± is the largest distance of \
     the other runs' rates from it, † marks a run with warnings (below), ✗ the share of requests that failed. \
     Candor's docs/suites.md describes the columns of results.csv and their units.";

/// What resources are.
const RESOURCES: &str = "All processes of a server together, sampled every 100 ms in the measured window: peak \
     resident memory, peak memory by the runtime's own account, CPU time as a share of one core, utilisation \
     by the schedulers' own account (busy waiting costs CPU time and is not in it), and responses per CPU \
     second. Compare servers that are not equally busy by the last.";

/// How to read the numbers.
const READING: [&str; 5] = [
    "Rates count correct responses: a wrong status or body is a failure.",
    "Each request is timed by itself, also in pipelined and multiplexed scenarios.",
    "Rates of a closed load are the servers' peaks; their latencies are those of a saturated \
     server. Read latencies below the peak.",
    "Findings compare two servers round by round. The interval is Student's, of the ratio of their figures; \
     where it contains 1, no server is ahead. Each interval stands alone: of twenty equal pairs, \
     one is called different by chance.",
    "For a closer look at two servers use candor compare: it makes more rounds and tests them together.",
];

/// The page of a suite.
pub fn page(suite: &Suite, depth: Depth) -> Page {
    let heading = &suite.heading;
    let mut page =
        matrix::page(depth, "Benchmark results", heading, suite.complete, suite.progress());
    let all = suite.cells.iter().flat_map(|cell| &cell.trials).map(|trial| &trial.figures);
    trials::remarks(all)
        .for_each(|remark| page.header.standing(Tone::Doubtful, "DOUBTFUL", remark));
    found(&mut page, depth, &findings::suite(suite));
    let places = findings::places(suite);
    if depth == Depth::Short {
        short(page.section("figures", ""), suite, &places);
        return page;
    }
    glance::glance(page.section("glance", "At a glance"), suite, &places);
    // How busy schedulers are is what a suite of such servers is run for.
    let has_schedulers =
        suite.cells.iter().filter_map(Cell::speaker).any(|trial| !trial.utilization.is_empty());
    if has_schedulers {
        page.section("course", "Over time").full(|section| seconds(section, suite));
    }
    let section = page.section("throughput", "Throughput");
    throughput(section, suite, &places);
    section.full(|section| section.remark(if suite.cells.is_empty() { "" } else { MARKS }));
    page.section("below", "Latency below the peak").full(|section| below(section, suite));
    page.section("kinds", "Requests by kind").full(|section| section.table(kinds(suite)));
    page.section("resources", "Resources").full(|section| resources(section, suite));
    if !has_schedulers {
        page.section("course", "Over time")
            .details("Responses in every second", |section| seconds(section, suite));
    }
    let section = page.section("doubts", "Warnings, failures, omissions");
    section.full(|section| warnings(section, suite));
    matrix::missing(section, &suite.failures, &suite.notes);
    let loads = suite.loads.iter().map(|one| ("Load", format!("{}: {}", one.name, one.about)));
    let servers = suite.servers.iter().map(|one| {
        let about = in_brackets(&runs_on(one));
        ("Server", format!("{}: {}{about}", one.name, one.source))
    });
    let each = "one server at a time, in a fresh process for each run";
    matrix::end(&mut page, heading, &suite.format, &READING, each, loads.chain(servers));
    page
}

/// The runs that are shown and have the same warnings, together.
fn warnings(section: &mut Section, suite: &Suite) {
    let warned = suite.cells.iter().filter_map(|cell| {
        let warnings = &cell.speaker()?.figures.warnings;
        (!warnings.is_empty()).then(|| (warnings.join(", "), cell.name()))
    });
    let all = grouped(warned).into_iter();
    section.facts(all.map(|(ids, names)| ("Warning", format!("{ids}: {}", names.join("; ")))));
}

/// Rates of all servers, or their p99 where the rate was asked for, on one screen.
fn short(section: &mut Section, suite: &Suite, places: &[Place<'_>]) {
    let servers: Vec<&str> = suite.servers.iter().map(|one| one.name.as_str()).collect();
    let names: Vec<String> = match servers[..] {
        [_] => ["responses/s", "p50", "p99", "CPU/request"].map(str::to_owned).into(),
        _ => servers.iter().map(|one| (*one).to_owned()).collect(),
    };
    let columns = [Column::words("")].into_iter().chain(names.into_iter().map(Column::figures));
    let mut table = Table::new(columns);
    let figure = |place: &Place<'_>, cell: &Cell| match cell.speaker() {
        Some(trial) if place.is_open => format!("p99 {}", time(trial.figures.response.p99_ns)),
        _ => rate(cell),
    };
    for place in places {
        let of = |server: &str| place.cells.iter().find(|cell| cell.server == server);
        let mut row = vec![format!("{}{}", place.name, place.over)];
        match servers[..] {
            [server] => {
                let cell = of(server);
                let figures = cell.and_then(|cell| cell.speaker()).map(|trial| &trial.figures);
                let ns = |pick: fn(&Percentiles) -> Option<u64>| {
                    time(figures.and_then(|figures| pick(&figures.response)))
                };
                row.extend([
                    or_nothing(cell, |cell| rate(cell)),
                    ns(|one| one.p50_ns),
                    ns(|one| one.p99_ns),
                    or_nothing(figures.and_then(|figures| figures.target_cpu_us), |us| {
                        format!("{} µs", fmt_digits(us))
                    }),
                ]);
            }
            _ => row.extend(
                servers.iter().map(|server| or_nothing(of(server), |cell| figure(place, cell))),
            ),
        }
        table.row(row);
    }
    if servers.len() > 1 && places.iter().any(|place| !place.is_open) {
        section.heading("Responses a second");
    }
    compact(section, table, "more combination", "more server");
    matrix::missing_shortly(section, &suite.failures, &suite.notes);
}

/// What its author says of a server, and what it says of itself.
fn runs_on(server: &Server) -> String {
    let said = server.announced.iter().filter(|(key, _)| *key != "server");
    let said = said.map(|(key, value)| format!("{key} {value}"));
    let about = Some(server.about.clone()).filter(|about| !about.is_empty());
    about.into_iter().chain(said).collect::<Vec<_>>().join(", ")
}

/// A table for each protocol.
fn throughput(section: &mut Section, suite: &Suite, places: &[Place<'_>]) {
    for (protocol, heading) in PROTOCOLS {
        section.headed(heading, throughput_over(suite, places, protocol));
    }
}

/// Whether a scenario is measured under several loads that are no shares of a peak.
fn has_loads(suite: &Suite) -> bool {
    suite.loads.iter().filter(|load| load.of_peak.is_empty()).count() > 1
}

/// Rates and latencies by scenario, load and server.
fn throughput_over(suite: &Suite, places: &[Place<'_>], protocol: &str) -> Table {
    let is_there =
        |name: &&str| suite.cells.iter().any(|one| one.server == *name && one.protocol == protocol);
    let servers = suite.servers.iter().map(|one| one.name.as_str());
    let servers: Vec<&str> = servers.filter(is_there).collect();
    let mut columns = vec![Column::new("scenario", Kind::Code)];
    columns.extend(has_loads(suite).then(|| Column::new("load", Kind::Code)));
    columns.push(Column::figures("in flight"));
    columns.extend(servers.iter().map(|name| Column::figures(format!("{name} req/s"))));
    columns.extend(servers.iter().map(|name| Column::figures(format!("{name} p50 / p99"))));
    let mut table = Table::new(columns);
    for place in places.iter().filter(|place| place.protocol == protocol) {
        let of = |server: &&str| place.cells.iter().find(|cell| cell.server == **server).copied();
        let cells: Vec<Option<&Cell>> = servers.iter().map(of).collect();
        let speakers = || cells.iter().map(|cell| cell.and_then(Cell::speaker));
        let in_flight = speakers().flatten().map(|trial| trial.figures.in_flight_most).max();
        let mut row = vec![place.cells[0].scenario.clone()];
        row.extend(has_loads(suite).then(|| place.cells[0].load.clone()));
        row.push(or_nothing(in_flight, |most| most.to_string()));
        row.extend(cells.iter().map(|cell| or_nothing(*cell, rate_with_spread)));
        row.extend(speakers().map(|trial| {
            or_nothing(trial, |trial| {
                let response = &trial.figures.response;
                format!("{} / {}", time(response.p50_ns), time(response.p99_ns))
            })
        }));
        table.row(row);
    }
    table
}

/// `307 k ±3 % †`.
fn rate_with_spread(cell: &Cell) -> String {
    let marks = cell.speaker().map_or(String::new(), |trial| marks(&trial.figures));
    rate(cell) + &marks
}

/// `307 k ±3 %`.
fn rate(cell: &Cell) -> String {
    let Some(trial) = cell.speaker() else { return NOTHING.to_owned() };
    let Some(rate) = trial.figures.rate_per_s else { return NOTHING.to_owned() };
    let ends = cell.spread.map(|one| (one.rate_low_per_s, one.rate_high_per_s));
    let far = spread(rate, ends.filter(|_| cell.trials.len() > 1));
    let far = far.map_or(String::new(), |far| format!(" ±{}", percent(far)));
    fmt_short(rate) + &far
}

/// Requests by kind, for scenarios that have several.
fn kinds(suite: &Suite) -> Table {
    let figures = ["answered", "p50", "p99"].map(Column::figures).into_iter();
    let mut table =
        Table::new(["scenario", "server", "request"].map(Column::words).into_iter().chain(figures));
    for cell in suite.cells.iter().filter(|cell| cell.of_peak.is_none()) {
        for kind in cell.speaker().map(|trial| trial.kinds.as_slice()).unwrap_or_default() {
            table.row([
                format!("{} {}", cell.scenario, cell.protocol),
                cell.server.clone(),
                kind.name.clone(),
                kind.ok.to_string(),
                time(kind.p50_ns),
                time(kind.p99_ns),
            ]);
        }
    }
    table
}

/// What servers used while they were measured at their peak, a table for each protocol.
fn resources(section: &mut Section, suite: &Suite) {
    let names = ["req/s", "rss", "runtime", "cpu%", "schedulers", "req per CPU-s"];
    let mut is_told = false;
    for (protocol, heading) in PROTOCOLS {
        let mut columns = vec![Column::new("scenario", Kind::Code)];
        columns.extend(has_loads(suite).then(|| Column::new("load", Kind::Code)));
        columns.push(Column::words("server"));
        columns.extend(names.map(Column::figures));
        let mut table = Table::new(columns);
        let at_peak = |cell: &&Cell| cell.protocol == protocol && cell.of_peak.is_none();
        let cells = suite.cells.iter().filter(at_peak);
        for (cell, trial) in cells.filter_map(|cell| Some((cell, cell.speaker()?))) {
            let figures = &trial.figures;
            if figures.target_cpu_share.is_none() && figures.rss_peak_bytes.is_none() {
                continue;
            }
            let mut row = vec![cell.scenario.clone()];
            row.extend(has_loads(suite).then(|| cell.load.clone()));
            row.push(cell.server.clone());
            row.extend([
                or_nothing(figures.rate_per_s, fmt_short),
                or_nothing(figures.rss_peak_bytes, fmt_bytes),
                or_nothing(figures.runtime_memory_peak_bytes, fmt_bytes),
                or_nothing(figures.target_cpu_share, percent),
                or_nothing(figures.scheduler_utilization, percent),
                or_nothing(figures.requests_per_cpu_s, fmt_short),
            ]);
            table.row(row);
        }
        if !table.rows.is_empty() && !std::mem::replace(&mut is_told, true) {
            section.remark(RESOURCES);
        }
        section.headed(heading, table);
    }
}

/// Groups of cells that differ in their server (and in the share of the peak), in order.
fn groups(suite: &Suite, wanted: impl Fn(&Cell) -> bool) -> Vec<(String, Vec<&Cell>)> {
    let cells = suite.cells.iter().filter(|cell| wanted(cell) && cell.speaker().is_some());
    grouped(
        cells.map(|cell| (format!("{}, {}, {}", cell.scenario, cell.protocol, cell.load), cell)),
    )
}

/// Answers in every second of the run that is shown, all servers in one chart, and how busy the schedulers
/// of their runtimes were meanwhile.
fn seconds(section: &mut Section, suite: &Suite) {
    let groups = groups(suite, |cell| cell.of_peak.is_none());
    for ((name, cells), n) in groups.iter().zip(1..).take(MOST_CHARTS) {
        let lines = |points: fn(&Trial) -> Points| -> Vec<Series> {
            let shown = cells.iter().take(COLOURS).enumerate();
            shown
                .filter_map(|(colour, cell)| {
                    Some(Series::line(cell.server.clone(), colour, points(cell.speaker()?)))
                })
                .collect()
        };
        let series = lines(|trial| {
            let rates = trial.per_second.iter().enumerate();
            rates.map(|(n, rate)| (n as f64 + 0.5, Some(*rate))).collect()
        });
        let length = series.iter().map(|one| one.at.len()).max().unwrap_or(0);
        let x = Axis::span("interval of the run", Unit::Count, 0.0, length as f64);
        let y = from_zero("a second", Unit::Rate, &series);
        let chart = Chart::new(format!("s{n}"), format!("Answers a second: {name}"), x, y)
            .about("Of each server the run that its row in the table is of.");
        section.chart(chart.all(series));
        let series = lines(|trial| {
            trial.utilization.iter().map(|one| (one.at_s, Some(one.share))).collect()
        });
        let length_s = series.iter().filter_map(|one| one.at.last()).copied().fold(0.0, f64::max);
        let x = Axis::span("seconds of the run", Unit::Count, 0.0, length_s);
        let y = Axis::linear("busy", Unit::Share, 1.0);
        let chart = Chart::new(format!("u{n}"), format!("Schedulers at work: {name}"), x, y)
            .about("The mean over the schedulers of each server's runtime, by its own account.");
        section.chart(chart.all(series));
    }
    if groups.len() > MOST_CHARTS {
        let left = fmt_plural((groups.len() - MOST_CHARTS) as u64, "more combination");
        section.remark(format!("{left} are in the tables and in the documents of the trials."));
    }
}

/// Both latencies at shares of each server's own peak.
fn below(section: &mut Section, suite: &Suite) {
    let groups = groups(suite, |cell| cell.of_peak.is_some());
    if !groups.is_empty() {
        section.remark(
            "Open load: requests leave by a schedule, whatever the server does, at shares of what the \
             same server reached in the same scenario above. Rows that achieved less than 99 % of the \
             target rate are marked (saturated).",
        );
    }
    for ((name, cells), n) in groups.iter().zip(1..) {
        section.heading(name);
        if n <= MOST_CHARTS {
            section.chart(shares(&format!("b{n}"), name, cells));
        }
        section.text(
            "Response time, from when a request was due: what a user would have felt (wrk2's \
             \"corrected\", \"Recorded Latency\").",
        );
        section.table(latencies(cells, |figures| &figures.response));
        section.text(
            "Service time, from when a request was sent: what a closed loop would have reported \
             (\"uncorrected\"). Far below the response time means that requests had to wait.",
        );
        section.table(latencies(cells, |figures| &figures.service));
    }
}

/// Percentiles of these cells.
fn latencies(cells: &[&Cell], of: fn(&Figures) -> &Percentiles) -> Table {
    let columns = ["of peak", "target", "achieved"].map(Column::figures).into_iter();
    let columns = std::iter::once(Column::words("server")).chain(columns);
    let mut table = Table::new(columns.chain(trials::percentiles()));
    for (cell, trial) in cells.iter().filter_map(|cell| Some((cell, cell.speaker()?))) {
        let figures = &trial.figures;
        let saturated = figures.achieved_share.is_some_and(|share| share < SATURATED_BELOW);
        let achieved = figures.asked_per_s.zip(figures.achieved_share);
        let achieved = or_nothing(achieved, |(asked, share)| fmt_short(asked * share));
        let saturated = if saturated { " (saturated)" } else { "" };
        let row = [
            cell.server.clone(),
            or_nothing(cell.of_peak, percent),
            or_nothing(figures.asked_per_s, fmt_short),
            format!("{achieved}{saturated}{}", marks(figures)),
        ];
        table.row(row.into_iter().chain(of(figures).named().map(|(_, ns)| time(ns))));
    }
    table
}

fn shares(id: &str, name: &str, cells: &[&Cell]) -> Chart {
    let point = |cell: &&Cell| {
        let p99_ns = cell.speaker()?.figures.response.p99_ns;
        Some((cell.of_peak?, p99_ns.map(|ns| ns as f64)))
    };
    let points = cells.iter().filter_map(|cell| Some((&*cell.server, point(cell)?)));
    let series = lines(points);
    let highest = cells.iter().filter_map(|cell| cell.of_peak).fold(0.0, f64::max);
    let x = Axis::linear("share of the server's own peak", Unit::Share, highest);
    let title = format!("p99 below the peak: {name}");
    Chart::new(id, title, x, of_values(&series))
        .about(
            "The 99th percentile of response time, at shares of what each server reached itself.",
        )
        .all(series)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        size if size < 9.95 && percent.fract().abs() > 1e-9 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_one_decimal_where_it_matters() {
        assert_eq!(
            (percent(0.031), percent(0.9), percent(1.5)),
            ("3.1 %".into(), "90 %".into(), "150 %".into())
        );
    }
}
