//! Documents as CSV (RFC 4180): the intervals of a run, its requests and steps, the runs of an experiment, one row
//! each.
//!
//! The first line names the columns, with units. A field without a figure is empty.

mod clients;
mod steps;
mod suite;
mod trials;

pub use clients::{COLUMNS as CLIENTS_COLUMNS, csv as clients};
pub use steps::steps;
pub use suite::{COLUMNS as SUITE_COLUMNS, csv as suite};
pub use trials::{comparison, peak, sweep};

use candor_record::{Brief, IntervalSummary};

use super::visible;
use candor_report::document::Document;

const COLUMNS: &str = "index,in_window,start_ns,end_ns,sent,ok,errors,answered,shed,bytes_sent,bytes_received,\
    connections,backlog,in_flight,answered_per_s";
/// The columns of a distribution, behind its name.
const FIGURES: [&str; 8] =
    ["count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];

/// The intervals of a run. `in_window` is 1 for the measured window and 0 for the drain. Times count from
/// the beginning of the run, warm-up included. Latency columns repeat for `response`, `service` and
/// `send_lag`. `users` are those under way at its end, `parts` the events of streams and the messages in it. With `unsent`,
/// `broken_off` and `unfinished` every row has the ledger of its time: what was sent up to its end, less what has an
/// outcome, is `in_flight`; `touched` are those
/// that a pause of the loader's machine touched. A run of
/// streams also has the columns of `first_event` and `gap`.
pub fn run(document: &Document) -> String {
    let has_streams = document.streams.is_some();
    let of_streams = if has_streams { figures(&["first_event", "gap"]) } else { String::new() };
    let columns = COLUMNS.to_owned()
        + &figures(&["response", "service", "send_lag"])
        + ",users,parts,unsent,broken_off,unfinished,connect_errors,availability,touched"
        + &of_streams;
    table(&columns, document.intervals.iter().map(|interval| row(interval, has_streams)))
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

fn row(interval: &IntervalSummary, has_streams: bool) -> Vec<String> {
    let mut row: Vec<String> = [
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
    ]
    .map(|count| count.to_string())
    .into();
    let tenths = |value: Option<f64>| value.map(|x| format!("{x:.1}")).unwrap_or_default();
    row.push(tenths(interval.answered_per_s));
    let add = |row: &mut Vec<String>, brief: &Brief| {
        let Brief { count, min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, .. } = *brief;
        row.extend([count.to_string(), whole(min_ns), tenths(mean_ns)]);
        row.extend([p50_ns, p90_ns, p99_ns, p999_ns, max_ns].map(whole));
    };
    for brief in [&interval.response, &interval.service, &interval.send_lag] {
        add(&mut row, brief);
    }
    let IntervalSummary { users, parts, unsent, broken_off, unfinished, connect_errors, .. } =
        *interval;
    let counts = [users, parts, unsent, broken_off, unfinished, connect_errors];
    row.extend(counts.map(|count| count.to_string()));
    row.push(float(interval.availability));
    row.push(interval.touched.to_string());
    if has_streams {
        add(&mut row, &interval.first_event);
        add(&mut row, &interval.gap);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::testing;

    #[test]
    fn every_row_has_every_column() {
        for document in testing::every_document() {
            let text = run(&document);
            let columns = 15 + 3 * 8 + 8 + if document.streams.is_some() { 2 * 8 } else { 0 };
            assert_eq!(text.lines().count(), document.intervals.len() + 1);
            for line in text.lines() {
                assert_eq!(line.split(',').count(), columns, "{line}");
            }
        }
        testing::golden("golden/open.csv", &run(&testing::healthy_open()));
    }
}
