//! Peaks for people: the answer in sentences, latency against rate as a plot in text, every step
//! in a table of text and of Markdown, and every run as CSV.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_share};

use super::super::lines::{Lines, escaped};
use super::plot;
use super::table::{Align, Table};
use super::trials;
use crate::experiment::peak::{Confidence, Peak, Phase, Step};

/// The report.
pub fn text(peak: &Peak) -> String {
    let mut out = Lines::default();
    headline(peak).iter().for_each(|line| out.line(line));
    out.blank();
    for sentence in said(peak) {
        trials::wrapped(&sentence).iter().for_each(|line| out.line(format!("  {line}")));
    }
    if let Some(plot) = latency_against_rate(peak) {
        out.blank();
        out.append(plot);
    }
    out.blank();
    out.append(table(peak).text());
    out.finish()
}

/// The same as Markdown.
pub fn markdown(peak: &Peak) -> String {
    let mut out = Lines::default();
    out.heading(1, "Peak");
    headline(peak).iter().for_each(|line| out.line(escaped(line)));
    out.blank();
    said(peak).iter().for_each(|sentence| out.line(format!("- {}", escaped(sentence))));
    if let Some(plot) = latency_against_rate(peak) {
        out.blank();
        out.code(plot);
    }
    out.blank();
    out.append(table(peak).markdown());
    out.finish()
}

/// Every run, one row each. Units are in the names of the columns; a field is empty where the run
/// does not tell.
pub fn csv(peak: &Peak) -> String {
    let mut out = Lines::default();
    out.line(format!("step,phase,outcome,{}", trials::CSV_COLUMNS));
    for (at, step) in peak.steps.iter().enumerate() {
        for trial in &step.trials {
            let (phase, outcome) = (phase(step.phase), step.outcome.word());
            out.line(format!("{at},{phase},{outcome},{}", trials::csv_row(trial)));
        }
    }
    out.finish()
}

/// What was looked for, a line each.
pub(in crate::render) fn headline(peak: &Peak) -> Vec<String> {
    let sought = match peak.objectives.as_slice() {
        [] => "the highest throughput".to_owned(),
        objectives => format!("the highest rate with {}", objectives.join(" and ")),
    };
    let tool = &peak.tool;
    let mut lines = vec![
        format!("Peak of {}: {sought}", trials::subject(&peak.subject)),
        format!("{} {} · {}", tool.name, tool.version, peak.started_at),
    ];
    lines.extend(trials::cores(&peak.subject));
    lines
}

pub(in crate::render) fn said(peak: &Peak) -> Vec<String> {
    let mut said = peak.sentences.clone();
    let sureness = peak.answer.map(|answer| match answer.confidence {
        Confidence::Good => "How sure: good.",
        Confidence::Fair => "How sure: fair; both ends are known, and further than 5 % apart.",
        Confidence::Poor => "How sure: poor; an end is not known.",
    });
    said.extend(sureness.map(str::to_owned));
    let runs = peak.steps.iter().flat_map(|step| &step.trials).map(|trial| &trial.figures);
    said.extend(trials::remarks(runs).map(str::to_owned));
    said
}

/// p99, or what few samples leave of it, against the rate of open loads.
fn latency_against_rate(peak: &Peak) -> Option<Lines> {
    let curve = peak.curve();
    let wanted = peak.knee.as_ref().map_or("p99", |knee| knee.percentile.as_str());
    let points = |name: &str| -> Vec<(f64, f64)> {
        let of = |step: &&Step| {
            let trial = step.representative()?;
            let named = trial.figures.response.named();
            let value = named.into_iter().find(|(known, _)| *known == name)?.1?;
            Some((step.rate_per_s?, value as f64))
        };
        curve.iter().filter_map(of).collect()
    };
    let name = [wanted, "p90", "p50"].into_iter().find(|name| points(name).len() > 1)?;
    let knee = peak.knee.as_ref().filter(|knee| knee.percentile == name);
    let marks: Vec<(f64, char)> = [
        knee.map(|knee| (knee.rate_per_s, '┆')),
        peak.answer.map(|answer| (answer.rate_per_s, '│')),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut plot = plot::log_y(
        &format!("{name} response time against rate"),
        &points(name),
        &marks,
        &|ns| fmt_duration_ns(ns.round() as u64),
        &|rate| fmt_per_second(rate.round()),
    )?;
    if !marks.is_empty() {
        let knee = if knee.is_some() { "┆ the knee, " } else { "" };
        plot.line(format!("  {knee}│ the peak"));
    }
    Some(plot)
}

pub(in crate::render) fn table(peak: &Peak) -> Table {
    let has_target = peak
        .steps
        .iter()
        .any(|step| step.trials.iter().any(|trial| trial.figures.target_cpu_share.is_some()));
    let mut columns: Vec<(String, Align)> = vec![
        ("".to_owned(), Align::Left),
        ("load".to_owned(), Align::Right),
        ("conns".to_owned(), Align::Right),
        ("runs".to_owned(), Align::Right),
    ];
    columns.extend(trials::columns(has_target));
    columns.push(("".to_owned(), Align::Left));
    let mut table = Table::new(columns);
    let closed = peak.steps.iter().filter(|step| step.rate_per_s.is_none());
    for step in closed.chain(peak.curve()) {
        let Some(trial) = step.representative() else { continue };
        let mut cells = vec![
            phase(step.phase).to_owned(),
            step.rate_per_s.map_or("closed".to_owned(), fmt_per_second),
            step.connections.to_string(),
            step.trials.len().to_string(),
        ];
        cells.extend(trials::cells(trial, has_target));
        cells.push(judged(step));
        table.row(cells);
    }
    table
}

/// The outcome in a word, and how certain it is for whoever asks why.
fn judged(step: &Step) -> String {
    let mut words = vec![step.outcome.word().to_owned()];
    let findings = step.trials.iter().flat_map(|trial| &trial.loader_findings);
    let mut findings: Vec<&str> = findings.map(String::as_str).collect();
    findings.sort_unstable();
    findings.dedup();
    words.extend(findings.into_iter().map(str::to_owned));
    match step.trials.iter().filter(|trial| trial.disturbed).count() {
        0 => {}
        disturbed => words.push(format!("{disturbed} disturbed")),
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Ceiling => "ceiling",
        Phase::Confirm => "confirm",
        Phase::Search => "search",
        Phase::Curve => "curve",
    }
}

/// How far the ends of the answer are apart, for a headline elsewhere.
pub fn answer(peak: &Peak) -> String {
    match &peak.answer {
        None => "no answer".to_owned(),
        Some(answer) => {
            let share = answer.bracket_share.map(|share| format!(" (within {})", fmt_share(share)));
            fmt_per_second(answer.rate_per_s) + &share.unwrap_or_default()
        }
    }
}
