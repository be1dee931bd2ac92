//! The intervals as CSV (RFC 4180, without quotes: every field is a number), one row an interval.
//!
//! The first line names the columns; units are in the names. `in_window` is 1 for the measured
//! window and 0 for the drain. Times count from the beginning of the run, warm-up included. A
//! field is empty where there are no samples, or too few for the percentile. Latency columns
//! repeat for `response`, `service` and `send_lag`.

use std::fmt::Write;

use super::visible;
use crate::document::Document;
use candor_record::{Brief, IntervalSummary};

const COLUMNS: [&str; 15] = [
    "index",
    "in_window",
    "start_ns",
    "end_ns",
    "sent",
    "ok",
    "errors",
    "answered",
    "shed",
    "bytes_sent",
    "bytes_received",
    "connections",
    "backlog",
    "in_flight",
    "answered_per_s",
];
const LATENCY_COLUMNS: [&str; 8] =
    ["count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];

/// The intervals of the document.
pub fn render(document: &Document) -> String {
    let mut columns: Vec<String> = COLUMNS.map(str::to_owned).into();
    for series in ["response", "service", "send_lag"] {
        columns.extend(LATENCY_COLUMNS.map(|column| format!("{series}_{column}")));
    }
    let mut text = columns.join(",") + "\n";
    for interval in &document.intervals {
        text.push_str(&row(interval));
        text.push('\n');
    }
    text
}

/// A field of CSV that is text: quoted where it has to be, and nothing of it is hidden.
pub(super) fn quoted(text: &str) -> String {
    let text = visible(text);
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}

fn row(interval: &IntervalSummary) -> String {
    let counts = [
        interval.index,
        u64::from(interval.in_window),
        interval.start_ns,
        interval.end_ns,
        interval.sent,
        interval.ok,
        interval.errors,
        interval.answered,
        interval.shed,
        interval.bytes_sent,
        interval.bytes_received,
        interval.connections,
        interval.backlog,
        interval.in_flight,
    ];
    let mut row = counts.map(|count| count.to_string()).join(",");
    row.push(',');
    if let Some(rate) = interval.answered_per_s {
        let _ = write!(row, "{rate:.1}");
    }
    for brief in [&interval.response, &interval.service, &interval.send_lag] {
        latency(&mut row, brief);
    }
    row
}

fn latency(row: &mut String, brief: &Brief) {
    let mut field = |value: Option<String>| {
        row.push(',');
        row.push_str(&value.unwrap_or_default());
    };
    let mean_ns = brief.mean_ns.map(|mean_ns| {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{mean_ns:.1}");
        text
    });
    field(Some(brief.count.to_string()));
    field(brief.min_ns.map(|ns| ns.to_string()));
    field(mean_ns);
    for ns in [brief.p50_ns, brief.p90_ns, brief.p99_ns, brief.p999_ns, brief.max_ns] {
        field(ns.map(|ns| ns.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_row_has_every_column() {
        for document in testing::every_document() {
            let text = render(&document);
            let columns = COLUMNS.len() + 3 * LATENCY_COLUMNS.len();
            assert_eq!(text.lines().count(), document.intervals.len() + 1);
            for line in text.lines() {
                assert_eq!(line.split(',').count(), columns, "{line}");
            }
        }
        testing::golden("golden/open.csv", &render(&testing::healthy_open()));
    }
}
