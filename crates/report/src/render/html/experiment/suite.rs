//! The page of a suite: its tables, and servers beside each other in charts.

use candor_plan::units::fmt_plural;

use super::super::axis::{Axis, Unit};
use super::super::chart::{Chart, Series, of_values};
use super::super::page::{Section, Tone};
use super::super::svg::COLOURS;
use super::{again, made_by, not_complete, page_of, suite_and_cores};
use crate::experiment::suite::{Cell, Suite};
use crate::render::experiment::suite::{remarks, tables};

/// Charts of a kind at most; what is beyond is in the tables and in the documents of the trials.
const MOST_CHARTS: usize = 12;

/// What stands beside figures of the tables.
const MARKS: &str = "Of each cell one run is shown, the one with the median rate. ± is how far the \
                     rates of the others lie from it at most, † marks a run with warnings (below), ✗ \
                     the share of requests that failed.";

/// The page of a suite.
pub fn render(suite: &Suite) -> String {
    let mut page = page_of("Benchmark results", &suite.heading);
    if !suite.complete {
        not_complete(page.header(), suite.progress());
    }
    remarks(suite).for_each(|remark| page.header().standing(Tone::Doubtful, "DOUBTFUL", remark));
    page.section("throughput", "Throughput", |section| {
        tables::for_each_table(suite, &mut |heading, table| {
            section.heading(heading);
            section.table(&table.into());
        });
        if !suite.cells.is_empty() {
            section.remark(MARKS);
        }
        seconds(section, suite);
    });
    page.section("below", "Latency below the peak", |section| below_the_peak(section, suite));
    page.section("kinds", "Requests by kind", |section| {
        let table = tables::kinds_of(suite);
        if !table.is_empty() {
            section.table(&(&table).into());
        }
    });
    page.section("resources", "Resources", |section| {
        for (heading, table) in tables::resources_of(suite) {
            section.heading(heading);
            section.table(&(&table).into());
        }
    });
    page.section("doubts", "Warnings, failures, what was left out", |section| {
        doubts(section, suite)
    });
    page.section("again", "How it was done", |section| {
        let mut facts = suite_and_cores(&suite.heading);
        facts
            .extend(suite.loads.iter().map(|one| ("Load", format!("{}: {}", one.name, one.about))));
        facts.extend(suite.servers.iter().map(|one| {
            let about =
                if one.about.is_empty() { String::new() } else { format!(" ({})", one.about) };
            ("Server", format!("{}: {}{about}", one.name, one.source))
        }));
        facts.retain(|(_, fact)| !fact.is_empty());
        again(section, &suite.heading.host, &suite.heading.arguments, facts);
    });
    made_by(&mut page, &suite.heading.tool, &suite.format);
    page.finish()
}

/// Groups of cells that differ in their server (and in the share of the peak), in order.
fn groups(suite: &Suite, wanted: impl Fn(&Cell) -> bool) -> Vec<(String, Vec<&Cell>)> {
    let mut groups: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in suite.cells.iter().filter(|cell| wanted(cell) && cell.speaker().is_some()) {
        let name = format!("{}, {}, {}", cell.scenario, cell.protocol, cell.load);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((name, vec![cell])),
        }
    }
    groups
}

/// Answers in every second of the run that is shown, all servers in one chart.
fn seconds(section: &mut Section, suite: &Suite) {
    let groups = groups(suite, |cell| cell.of_peak.is_none());
    for (n, (name, cells)) in groups.iter().enumerate().take(MOST_CHARTS) {
        let series = cells.iter().take(COLOURS).enumerate().filter_map(|(colour, cell)| {
            let per_second = &cell.speaker()?.per_second;
            let points =
                per_second.iter().enumerate().map(|(n, rate)| (n as f64 + 0.5, Some(*rate)));
            Some(Series::line(cell.server.clone(), colour, points))
        });
        let series: Vec<Series> = series.collect();
        let length = series.iter().map(|one| one.at.len()).max().unwrap_or(0);
        let highest = series.iter().map(Series::highest).fold(0.0, f64::max);
        let x = Axis::span("interval of the run", Unit::Count, 0.0, length as f64);
        let y = Axis::linear("a second", Unit::Rate, highest * 1.05);
        let chart = Chart::new(SECONDS[n], &format!("Answers a second: {name}"), x, y)
            .about("Of each server the run that its row in the table is of.");
        section.chart(&series.into_iter().fold(chart, Chart::series));
        if let Some(chart) = schedulers(BUSY[n], name, cells) {
            section.chart(&chart);
        }
    }
    more(section, groups.len());
}

/// How busy the schedulers of each server's runtime were meanwhile; `None` if no server says so.
fn schedulers(id: &'static str, name: &str, cells: &[&Cell]) -> Option<Chart> {
    let series = cells.iter().take(COLOURS).enumerate().filter_map(|(colour, cell)| {
        let looks = &cell.speaker()?.utilization;
        let points = looks.iter().map(|look| (look.at_s, Some(look.share)));
        (!looks.is_empty()).then(|| Series::line(cell.server.clone(), colour, points))
    });
    let series: Vec<Series> = series.collect();
    let length_s = series.iter().filter_map(|one| one.at.last().map(|at| at.0)).fold(0.0, f64::max);
    let x = Axis::span("seconds of the run", Unit::Count, 0.0, length_s);
    let y = Axis::linear("busy", Unit::Share, 1.0);
    let chart = Chart::new(id, &format!("Schedulers at work: {name}"), x, y)
        .about("The mean over the schedulers of each server's runtime, by its own account.");
    (!series.is_empty()).then(|| series.into_iter().fold(chart, Chart::series))
}

/// Latency over the share of each server's own peak.
fn below_the_peak(section: &mut Section, suite: &Suite) {
    let groups = groups(suite, |cell| cell.of_peak.is_some());
    for (n, (name, cells)) in groups.iter().enumerate() {
        if n < MOST_CHARTS {
            section.chart(&shares(BELOW[n], name, cells));
        } else {
            section.heading(name);
        }
        section.text("Response time, from when a request was due:");
        section.table(&(&tables::latencies(cells, |trial| trial.figures.response)).into());
        section.text("Service time, from when it was sent:");
        section.table(&(&tables::latencies(cells, |trial| trial.figures.service)).into());
    }
}

fn shares(id: &'static str, name: &str, cells: &[&Cell]) -> Chart {
    let mut servers: Vec<&str> = Vec::new();
    cells.iter().for_each(|cell| match servers.contains(&cell.server.as_str()) {
        true => {}
        false => servers.push(&cell.server),
    });
    let series: Vec<Series> = servers
        .iter()
        .take(COLOURS)
        .enumerate()
        .map(|(colour, server)| {
            let own = cells.iter().filter(|cell| cell.server == *server);
            let mut points: Vec<(f64, Option<f64>)> = own
                .filter_map(|cell| {
                    let p99_ns = cell.speaker()?.figures.response.p99_ns;
                    Some((cell.of_peak?, p99_ns.map(|ns| ns as f64)))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series::line(*server, colour, points)
        })
        .collect();
    let highest = cells.iter().filter_map(|cell| cell.of_peak).fold(0.0, f64::max);
    let x = Axis::linear("share of the server's own peak", Unit::Share, highest);
    let chart = Chart::new(id, &format!("p99 below the peak: {name}"), x, of_values(&series))
        .about(
            "The 99th percentile of response time, at shares of what each server reached itself.",
        );
    series.into_iter().fold(chart, Chart::series)
}

fn more(section: &mut Section, groups: usize) {
    if groups > MOST_CHARTS {
        let left = fmt_plural((groups - MOST_CHARTS) as u64, "more combination");
        section.remark(&format!("{left} are in the tables and in the documents of the trials."));
    }
}

fn doubts(section: &mut Section, suite: &Suite) {
    let mut facts: Vec<(&str, String)> = Vec::new();
    for cell in &suite.cells {
        let warnings = cell.speaker().map_or(&[][..], |trial| &trial.figures.warnings);
        if !warnings.is_empty() {
            facts.push(("Warning", format!("{}: {}", cell.name(), warnings.join(", "))));
        }
    }
    let failures = suite.failures.iter();
    facts.extend(failures.map(|one| ("Failed", format!("{}: {}", one.trial, one.why))));
    let notes = suite.notes.iter();
    facts.extend(notes.map(|one| ("Left out", format!("{}: {}", one.what, one.why))));
    section.facts(&facts);
}

/// Anchors of charts.
const SECONDS: [&str; MOST_CHARTS] =
    ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12"];
const BUSY: [&str; MOST_CHARTS] =
    ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11", "u12"];
const BELOW: [&str; MOST_CHARTS] =
    ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12"];
