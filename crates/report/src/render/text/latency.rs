//! The latency table.
//!
//! Open load: response and service time side by side, then what lies between them. Closed load:
//! response time is service time and our own lag, so it has no column of its own.

use candor_plan::units::{fmt_count, fmt_duration_ns};

use super::super::style::Tone;
use super::page::Page;
use crate::document::Document;
use crate::document::latency::Distribution;
use crate::document::plan::LoadKind;

const ROWS: [&str; 9] = ["min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"];
const COLUMN: usize = 14;

/// Percentiles of what was timed.
pub(super) fn table(page: &mut Page, document: &Document) {
    let latencies = &document.latencies;
    if latencies.response.count == 0 {
        page.entry("Latency", "Nothing was answered as expected, so nothing was timed.");
        never_answered(page, document);
        page.blank();
        return;
    }
    let open = document.plan.load.kind == LoadKind::Open;
    let columns: Vec<(&str, &str, &Distribution)> = if open {
        vec![
            ("response", "due→done", &latencies.response),
            ("service", "sent→done", &latencies.service),
            ("queue wait", "due→ready", &latencies.queue_wait),
            ("send lag", "ready→sent", &latencies.send_lag),
            ("first byte", "sent→first", &latencies.first_byte),
        ]
    } else {
        vec![
            ("service", "sent→done", &latencies.service),
            ("send lag", "ready→sent", &latencies.send_lag),
            ("first byte", "sent→first", &latencies.first_byte),
        ]
    };
    // The first column has its interval beside it.
    let line = |beside: &str, cells: &mut dyn Iterator<Item = String>| {
        let mut line = cells.next().map_or(String::new(), |cell| format!("{cell:>COLUMN$}"));
        line += &format!("{beside:>BESIDE$}");
        line.extend(cells.map(|cell| format!("{cell:>COLUMN$}")));
        line
    };
    let heading = line("95 % interval", &mut columns.iter().map(|column| column.0.to_owned()));
    page.row("Latency", Some(Tone::Heading), &heading);
    let measured = line("", &mut columns.iter().map(|column| column.1.to_owned()));
    page.row("", Some(Tone::Faint), &measured);
    let first = columns[0].2;
    for row in ROWS {
        let cells = line(&interval(first, row), &mut columns.iter().map(|c| cell(c.2, row)));
        page.row(&format!("  {row}"), None, &cells);
    }
    if ROWS.iter().any(|row| columns.iter().any(|column| cell(column.2, row) == NOTHING)) {
        let note = format!(
            "{NOTHING} {} samples are too few to tell it, or lie too far apart.",
            fmt_count(first.count)
        );
        page.toned_entry("", Some(Tone::Faint), &note);
    }
    clumps(page, first);
    if !open {
        page.toned_entry(
            "",
            Some(Tone::Faint),
            "Closed load: response = service + our send lag. While the server stalls nothing is \
             sent, so a stall shows in few samples; use --rate to see it as users do.",
        );
    }
    never_answered(page, document);
    page.blank();
}

pub(super) const NOTHING: &str = "–";
/// Width of the column of intervals.
const BESIDE: usize = 17;

/// The interval of a percentile; empty where there is none.
fn interval(distribution: &Distribution, row: &str) -> String {
    let Some(interval) = distribution.interval_ns(row) else { return String::new() };
    match (interval.low_ns, interval.high_ns) {
        (Some(low_ns), Some(high_ns)) => {
            format!("{}–{}", fmt_duration_ns(low_ns), fmt_duration_ns(high_ns))
        }
        (Some(low_ns), None) => format!("≥ {}", fmt_duration_ns(low_ns)),
        (None, Some(high_ns)) => format!("≤ {}", fmt_duration_ns(high_ns)),
        (None, None) => String::new(),
    }
}

/// Says so where samples are worth much less than their number.
fn clumps(page: &mut Page, distribution: &Distribution) {
    let open = ROWS.iter().find(|row| {
        distribution.percentile_ns(row).is_some()
            && distribution.interval_ns(row).is_some_and(|one| one.high_ns.is_none())
    });
    let Some((row, interval)) = open.and_then(|row| Some((row, distribution.interval_ns(row)?)))
    else {
        return;
    };
    let note = format!(
        "≥ slow requests came in clumps: at {row}, {} samples are worth {}, so this run does not \
         bound it for others.",
        fmt_count(distribution.count),
        fmt_count(interval.effective_samples)
    );
    page.toned_entry("", Some(Tone::Faint), &note);
}

pub(super) fn cell(distribution: &Distribution, row: &str) -> String {
    let value_ns = match row {
        "min" => distribution.min_ns,
        "max" => distribution.max_ns,
        "mean" => distribution.mean_ns.map(|ns| ns.round() as u64),
        percentile => distribution.percentile_ns(percentile),
    };
    value_ns.map_or_else(|| NOTHING.to_owned(), fmt_duration_ns)
}

fn never_answered(page: &mut Page, document: &Document) {
    let censored = &document.latencies.censored;
    if let Some(max_ns) = censored.max_ns {
        let text = format!(
            "Not in the table: {} never answered, up to {} after they were due.",
            fmt_count(censored.count),
            fmt_duration_ns(max_ns)
        );
        page.toned_entry("", Some(Tone::Doubtful), &text);
    }
}

/// Time to connect, in a line.
pub(super) fn connect(page: &mut Page, document: &Document) {
    let connect = &document.latencies.connect;
    if connect.count == 0 {
        return;
    }
    let figures: Vec<_> = ["min", "p50", "p99", "max"]
        .into_iter()
        .map(|row| (row, cell(connect, row)))
        .filter(|(_, cell)| cell != NOTHING)
        .map(|(row, cell)| format!("{row} {cell}"))
        .collect();
    page.entry("Connect", &format!("{}, of {}", figures.join(", "), fmt_count(connect.count)));
}
