//! The summary.

use std::fmt::Write;

use super::Run;
use super::figures::Figures;
use candor_report::document::latency::DecodeError;
use candor_report::visible;

const BAR: &str = "∎";
/// Of the longest bar.
const LONGEST: u64 = 40;

/// The summary of a run.
pub fn summary(run: &Run<'_>) -> Result<String, DecodeError> {
    let figures = Figures::of(run)?;
    let mut out = "\nSummary:\n".to_owned();
    if let Some(name) = run.name {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(out, "  Name:\t\t{}", visible(name));
    }
    let _ = write!(
        out,
        "  Count:\t{}\n  Total:\t{}\n  Slowest:\t{}\n  Fastest:\t{}\n  Average:\t{}\n  Requests/sec:\t{:.2}\n\n\
         Response time histogram:\n{}\nLatency distribution:",
        figures.count,
        time(figures.total_ns),
        time(figures.slowest_ns),
        time(figures.fastest_ns),
        time(figures.average_ns),
        figures.per_s,
        histogram(&figures.histogram),
    );
    for (percentage, ns) in &figures.percentiles {
        let _ = write!(out, "\n  {percentage} % in {} ", time(*ns));
    }
    out.push_str("\n\n");
    if !figures.statuses.is_empty() {
        out.push_str("Status code distribution:\n");
        let rows = figures.statuses.iter();
        out += &table(
            rows.map(|(status, count)| (format!("[{status}]"), format!("{count} responses"))),
        );
    }
    out.push('\n');
    if !figures.errors.is_empty() {
        out.push_str("Error distribution:\n");
        let rows = figures.errors.iter();
        out += &table(rows.map(|(says, count)| (format!("[{count}]"), visible(says).into_owned())));
    }
    out.push('\n');
    Ok(out)
}

fn time(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ns {
        0..10_000 => format!("{ns} ns"),
        _ if ms < 1000.0 => format!("{ms:.2} ms"),
        _ => format!("{:.2} s", ms / 1000.0),
    }
}

fn histogram(bars: &[(f64, u64)]) -> String {
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut out = String::new();
    for (mark_s, count) in bars {
        let length = (count * LONGEST + most / 2).checked_div(most).unwrap_or(0) as usize;
        let _ = writeln!(out, "  {:.3} [{count}]\t|{}", mark_s * 1000.0, BAR.repeat(length));
    }
    out
}

/// Two columns with three blanks behind each.
fn table(rows: impl Iterator<Item = (String, String)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = |pick: fn(&(String, String)) -> &String| {
        rows.iter().map(|row| pick(row).chars().count()).max().unwrap_or(0) + 3
    };
    let (one, other) = (width(|row| &row.0), width(|row| &row.1));
    rows.iter().map(|(first, second)| format!("  {first:<one$}{second:<other$}\n")).collect()
}
