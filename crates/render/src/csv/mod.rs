//! Documents as CSV (RFC 4180): the intervals of a run, its requests and steps, the runs of an experiment, one row
//! each.
//!
//! The first line names the columns, with units. A field without a figure is empty.

mod board;
mod clients;
mod steps;
mod suite;
mod trials;

pub use board::csv as board;
pub use clients::{COLUMNS as CLIENTS_COLUMNS, csv as clients};
pub use steps::steps;
pub use suite::{COLUMNS as SUITE_COLUMNS, csv as suite};
pub use trials::{comparison, history, peak, sweep};

use candor_record::{Brief, IntervalSummary};

use super::visible;
use crate::intervals::{self, Figure, Read};
use candor_report::document::Document;

/// The columns of a distribution, behind its name.
const FIGURES: [&str; 8] =
    ["count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];

/// The intervals of a run, with every figure of the table. `in_window` is 1 for the measured window and 0 for the drain.
/// Times count from the beginning of the run, warm-up included. `users` are those under way at its end, `parts` the
/// events of streams and the messages in it. With `unsent`, `broken_off` and `unfinished` every row has the ledger of
/// its time: what was sent up to its end, less what has an outcome, is `in_flight`; `touched` are those that a pause of
/// the loader's machine touched. A run of streams also has the columns of events, and a run over QUIC
/// in which requests were held back those of blocked time.
pub fn run(document: &Document) -> String {
    let has_streams = document.streams.is_some();
    let is_there = |one: &&Figure| match one.read {
        Read::OfEvents(_) => has_streams,
        Read::Blocked(_) => document.latencies.blocked.is_some(),
        _ => true,
    };
    let all: Vec<&Figure> = intervals::FIGURES.iter().filter(is_there).collect();
    let names: String = all.iter().map(|one| names(one)).collect();
    let rows = document
        .intervals
        .iter()
        .map(|row| all.iter().flat_map(|figure| fields(figure, row)).collect::<Vec<_>>());
    table(names.trim_start_matches(','), rows)
}

/// The names of a figure's columns, each behind a comma.
fn names(figure: &Figure) -> String {
    match figure.read {
        Read::Spread(_) | Read::OfEvents(_) | Read::Blocked(_) => figures(&[figure.id]),
        _ => format!(",{}", figure.id),
    }
}

/// A figure of an interval in its columns.
fn fields(figure: &Figure, row: &IntervalSummary) -> Vec<String> {
    let tenths = |value: Option<f64>| value.map(|x| format!("{x:.1}")).unwrap_or_default();
    match figure.read {
        Read::Number(read) | Read::Time(read) | Read::Count(read) | Read::Level(read) => {
            vec![read(row).to_string()]
        }
        Read::PerSecond(read) => vec![tenths(read(row))],
        Read::Share(read) => vec![float(read(row))],
        Read::Spread(read) | Read::OfEvents(read) | Read::Blocked(read) => {
            let Brief { count, min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns } =
                *read(row);
            let mut fields = vec![count.to_string(), whole(min_ns), tenths(mean_ns)];
            fields.extend([p50_ns, p90_ns, p99_ns, p999_ns, max_ns].map(whole));
            fields
        }
    }
}

/// The names of the columns of these distributions, each behind a comma.
fn figures(series: &[&str]) -> String {
    series.iter().flat_map(|one| FIGURES.map(|figure| format!(",{one}_{figure}"))).collect()
}

/// A line of names, and a line for each row. Text is quoted if necessary, and every character is visible.
fn table(columns: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = columns.to_owned() + "\n";
    for row in rows {
        debug_assert_eq!(row.len(), columns.split(',').count());
        let fields: Vec<String> = row.iter().map(|field| quoted(field)).collect();
        out.extend([&fields.join(","), "\n"]);
    }
    out
}

/// A field. A text that a spreadsheet would take for a formula gets an apostrophe in front, which makes it text there.
pub(super) fn quoted(text: &str) -> String {
    let mut text = visible(text);
    if text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err() {
        text = format!("'{text}").into();
    }
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}

fn whole(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn flag(is: bool) -> String {
    u8::from(is).to_string()
}

/// To four decimals.
fn float(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.4}")).unwrap_or_default()
}

/// The trials, each with whether it is the representative.
fn with_representative<T>(trials: &[T], place: Option<u64>) -> impl Iterator<Item = (&T, bool)> {
    trials.iter().zip(0..).map(move |(trial, at)| (trial, place == Some(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::testing;

    /// Those of suites and of clients have rows of their own.
    #[test]
    fn every_column_is_documented() {
        const SUITES: &str = include_str!("../../../../docs/suites.md");
        const CLIENTS: &str = include_str!("../../../../docs/clients.md");
        for (columns, page, (before, behind)) in [
            (SUITE_COLUMNS, SUITES, ("| `", "` |")),
            (CLIENTS_COLUMNS, CLIENTS, ("| `", "` |")),
            (board::COLUMNS, SUITES, ("`", "`")),
        ] {
            for column in columns.split(',') {
                assert!(page.contains(&format!("{before}{column}{behind}")), "{column}");
            }
        }
    }

    #[test]
    fn every_row_has_every_column() {
        for document in testing::every_document() {
            let text = run(&document);
            let columns = 15 + 3 * 8 + 9 + if document.streams.is_some() { 2 * 8 } else { 0 };
            assert_eq!(text.lines().count(), document.intervals.len() + 1);
            for line in text.lines() {
                assert_eq!(line.split(',').count(), columns, "{line}");
            }
        }
        testing::golden("golden/open.csv", &run(&testing::healthy_open()));
    }
}
