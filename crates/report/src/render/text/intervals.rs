//! The course of the run as a table: requests per second in each interval.
//!
//! A long run has more intervals than a page has room for; then each row stands for several that
//! follow one another. The intervals themselves are in the document and in the CSV.

use candor_plan::HttpVersion;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second};

use super::super::style::Tone;
use super::page::Page;
use crate::document::Document;
use candor_record::IntervalSummary;

/// Rows at most.
const ROWS: usize = 12;

/// Intervals that are too short for a rate, such as the rest of a second.
const SHORTEST_SHARE: u64 = 10;

/// The table; nothing of a run that has one interval only.
pub(super) fn course(page: &mut Page, document: &Document) {
    let length_ns = document.plan.recording.interval_ns;
    let is_whole = |one: &&IntervalSummary| {
        one.end_ns.saturating_sub(one.start_ns) >= length_ns / SHORTEST_SHARE
    };
    let all: Vec<&IntervalSummary> = document.window_intervals().filter(is_whole).collect();
    if all.len() < 2 {
        return;
    }
    let open = document.plan.load.is_open();
    let streams = document.plan.target.http != HttpVersion::H1;
    let last = if open { "backlog" } else { "" };
    let in_flight = if streams { "streams" } else { "in flight" };
    let heading = format!(
        "{:>9} – {:<9}{:>13}{:>11}{:>13}{in_flight:>11}{last:>11}",
        "from", "to", "answered", "errors", "connections"
    );
    page.row("Over time", Some(Tone::Heading), &heading);
    let each = all.len().div_ceil(ROWS);
    for rows in all.chunks(each) {
        page.row("", None, &row(rows, open));
    }
    page.blank();
}

/// Intervals that follow one another: sums, and the state at the end of the last.
fn row(rows: &[&IntervalSummary], open: bool) -> String {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return String::new() };
    let answered: u64 = rows.iter().map(|one| one.answered).sum();
    let errors: u64 = rows.iter().map(|one| one.errors).sum();
    let seconds: f64 = rows.iter().map(|one| (one.end_ns - one.start_ns) as f64 / 1e9).sum();
    let backlog = if open { fmt_count(last.backlog) } else { String::new() };
    format!(
        "{:>9} – {:<9}{:>13}{:>11}{:>13}{:>11}{backlog:>11}",
        fmt_duration_ns(first.start_ns),
        fmt_duration_ns(last.end_ns),
        fmt_per_second(answered as f64 / seconds),
        fmt_count(errors),
        fmt_count(last.connections),
        fmt_count(last.in_flight),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::Style;
    use super::super::render;
    use crate::document::Document;
    use crate::testing;

    fn table(document: &Document) -> Vec<String> {
        let text = render(document, Style::Plain);
        let lines = text.lines().skip_while(|line| !line.starts_with("Over time"));
        lines.skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn each_interval_has_its_requests_per_second() {
        let document = testing::healthy_open();
        let lines = table(&document);
        assert_eq!(lines.len(), document.window_intervals().count());
        for (line, one) in lines.iter().zip(document.window_intervals()) {
            let rate = candor_plan::units::fmt_per_second(one.answered_per_s.unwrap());
            assert!(line.contains(&rate), "{rate} is not in {line}");
        }
    }

    #[test]
    fn many_intervals_share_rows_and_none_is_lost() {
        let mut document = testing::healthy_closed();
        let one = document.window_intervals().next().unwrap().clone();
        document.intervals = (0..601u64)
            .map(|index| {
                let mut row = one.clone();
                (row.index, row.errors, row.in_window) = (index, 1, true);
                (row.start_ns, row.end_ns) = (index * 1_000_000_000, (index + 1) * 1_000_000_000);
                row
            })
            .collect();
        let lines = table(&document);
        assert_eq!(lines.len(), 12);
        let errors = lines.iter().map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // from, unit, dash, to, unit, rate, errors
            let at = fields.iter().position(|field| field.ends_with("/s")).unwrap() + 1;
            fields[at].parse::<u64>().unwrap()
        });
        assert_eq!(errors.sum::<u64>(), 601);
        assert!(
            lines[0].trim_start().starts_with("0 ns") && lines[11].contains("601 s"),
            "{lines:#?}"
        );
    }
}
