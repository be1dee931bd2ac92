//! Sweeps for people: both latencies of each rate in tables of text and of Markdown, latency
//! against rate as a plot in text, and every run as CSV.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};

use super::super::lines::{Lines, escaped};
use super::table::{Align, Table};
use super::{plot, trials};
use crate::experiment::figures::Percentiles;
use crate::experiment::sweep::{Row, Sweep};

/// The report.
pub fn text(sweep: &Sweep) -> String {
    let mut out = Lines::default();
    headline(sweep).iter().for_each(|line| out.line(line));
    for (title, table) in tables(sweep) {
        out.blank();
        out.line(title);
        out.append(table.text());
    }
    if let Some(plot) = latency_against_rate(sweep) {
        out.blank();
        out.append(plot);
    }
    out.blank();
    for note in notes(sweep) {
        trials::wrapped(&note).iter().for_each(|line| out.line(line));
    }
    out.finish()
}

/// The same as Markdown.
pub fn markdown(sweep: &Sweep) -> String {
    let mut out = Lines::default();
    out.heading(1, "Sweep");
    headline(sweep).iter().for_each(|line| out.line(escaped(line)));
    for (title, table) in tables(sweep) {
        out.blank();
        out.heading(2, title);
        out.append(table.markdown());
    }
    if let Some(plot) = latency_against_rate(sweep) {
        out.blank();
        out.code(plot);
    }
    out.blank();
    notes(sweep).iter().for_each(|note| out.line(format!("- {}", escaped(note))));
    out.finish()
}

/// Every run, one row each. Units are in the names of the columns; a field is empty where the run
/// does not tell.
pub fn csv(sweep: &Sweep) -> String {
    let mut out = Lines::default();
    out.line(format!("rate_per_s,fraction,round,shown,{}", trials::CSV_COLUMNS));
    for row in &sweep.rows {
        for (round, trial) in row.trials.iter().enumerate() {
            let fraction = row.fraction.map(|share| share.to_string()).unwrap_or_default();
            let shown = u8::from(row.representative == Some(round as u64));
            let run = trials::csv_row(trial);
            out.line(format!("{},{fraction},{},{shown},{run}", row.rate_per_s, round + 1));
        }
    }
    out.finish()
}

/// What was measured, a line each.
pub(in crate::render) fn headline(sweep: &Sweep) -> Vec<String> {
    let rounds = fmt_plural(sweep.rounds.into(), "round");
    let peak = match (sweep.peak_per_s, &sweep.peak_from) {
        (Some(peak), Some(from)) => format!(" · peak {} ({from})", fmt_per_second(peak)),
        (Some(peak), None) => format!(" · peak {}", fmt_per_second(peak)),
        _ => String::new(),
    };
    let (tool, connections) = (&sweep.tool, sweep.plan.connections.count);
    let how = format!(
        "{} {} · {} · {rounds} in random order, {}{peak}",
        tool.name,
        tool.version,
        sweep.started_at,
        fmt_plural(connections.into(), "connection")
    );
    let mut lines = vec![format!("Sweep of {}", trials::subject(&sweep.subject)), how];
    lines.extend(trials::cores(&sweep.subject));
    lines
}

pub(in crate::render) fn tables(sweep: &Sweep) -> [(&'static str, Table); 2] {
    let of = |pick: fn(&crate::experiment::figures::Figures) -> &Percentiles| {
        let has_target = sweep
            .rows
            .iter()
            .filter_map(Row::shown)
            .any(|trial| trial.figures.target_cpu_share.is_some());
        let mut columns = vec![
            ("rate".to_owned(), Align::Right),
            ("of peak".to_owned(), Align::Right),
            ("achieved".to_owned(), Align::Right),
        ];
        let names = Percentiles::default().named().map(|(name, _)| (name.to_owned(), Align::Right));
        columns.extend(names);
        columns.push(("p99 of all runs".to_owned(), Align::Right));
        columns.push(("failed".to_owned(), Align::Right));
        if has_target {
            columns.push(("target CPU".to_owned(), Align::Right));
        }
        columns.push(("".to_owned(), Align::Left));
        let mut table = Table::new(columns);
        for row in &sweep.rows {
            let Some(trial) = row.shown() else { continue };
            let figures = &trial.figures;
            let dash = || "–".to_owned();
            let mut cells = vec![
                fmt_per_second(row.rate_per_s),
                row.fraction.map_or(dash(), fmt_share),
                figures.rate_per_s.map_or(dash(), fmt_per_second),
            ];
            cells.extend(pick(figures).named().map(|(_, ns)| trials::time(ns)));
            let all = row.trials.iter().filter_map(|trial| pick(&trial.figures).p99_ns);
            let ends = all.clone().min().zip(all.max());
            cells.push(ends.map_or(dash(), |(low, high)| {
                format!("{}–{}", fmt_duration_ns(low), fmt_duration_ns(high))
            }));
            cells.push(figures.failed_share.map_or(dash(), fmt_share));
            if has_target {
                cells.push(figures.target_cpu_share.map_or(dash(), fmt_share));
            }
            cells.push(if row.saturated { "(saturated)".to_owned() } else { String::new() });
            table.row(cells);
        }
        table
    };
    [
        ("Response time (due → done)", of(|figures| &figures.response)),
        ("Service time (sent → done)", of(|figures| &figures.service)),
    ]
}

fn latency_against_rate(sweep: &Sweep) -> Option<Lines> {
    let points: Vec<(f64, f64)> = sweep
        .rows
        .iter()
        .filter_map(|row| Some((row.rate_per_s, row.shown()?.figures.response.p99_ns? as f64)))
        .collect();
    plot::log_y(
        "p99 response time against rate",
        &points,
        &[],
        &|ns| fmt_duration_ns(ns.round() as u64),
        &|rate| fmt_per_second(rate.round()),
    )
}

pub(in crate::render) fn notes(sweep: &Sweep) -> Vec<String> {
    let mut notes = vec![
        "Each row is one run, the middle one of its rate by p99; all runs are in the document and \
         in the CSV."
            .to_owned(),
    ];
    if sweep.rows.iter().any(|row| row.saturated) {
        notes.push(
            "(saturated): less than 99 % of the rate was achieved, so response times grow with \
             the length of the run."
                .to_owned(),
        );
    }
    let runs = sweep.rows.iter().flat_map(|row| &row.trials).map(|trial| &trial.figures);
    notes.extend(trials::remarks(runs).map(str::to_owned));
    if let Some(why) = &sweep.partial {
        notes.push(format!("The sweep is not done: {why}."));
    }
    let mut findings: Vec<&str> = sweep
        .rows
        .iter()
        .flat_map(|row| &row.trials)
        .flat_map(|trial| &trial.loader_findings)
        .map(String::as_str)
        .collect();
    findings.sort_unstable();
    findings.dedup();
    if !findings.is_empty() {
        notes.push(format!(
            "The loader may have made some of these numbers ({}): see the CSV and the runs.",
            findings.join(", ")
        ));
    }
    notes
}
