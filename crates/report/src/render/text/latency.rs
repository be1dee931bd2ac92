//! The latency table.
//!
//! Open load: response and service time side by side, then what lies between them. Closed load:
//! response time is service time and our own lag, so it has no column of its own.

use super::super::style::Tone;
use super::super::words::{self, ROWS};
use super::page::Page;
use crate::document::Document;

const COLUMN: usize = 14;
/// Width of the column of intervals.
const BESIDE: usize = 17;

/// Percentiles of what was timed.
pub(super) fn table(page: &mut Page, document: &Document) {
    if document.latencies.response.count == 0 {
        page.entry("Latency", words::UNTIMED);
        never_answered(page, document);
        page.blank();
        return;
    }
    let columns = words::columns(document);
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
        let cells =
            line(&words::interval(first, row), &mut columns.iter().map(|c| words::cell(c.2, row)));
        page.row(&format!("  {row}"), None, &cells);
    }
    let closed = (!document.plan.load.is_open()).then(|| words::CLOSED.to_owned());
    for note in [words::missing(&columns), words::clumps(first), closed].into_iter().flatten() {
        page.toned_entry("", Some(Tone::Faint), &note);
    }
    never_answered(page, document);
    page.blank();
}

fn never_answered(page: &mut Page, document: &Document) {
    if let Some(text) = words::never_answered(document) {
        page.toned_entry("", Some(Tone::Doubtful), &text);
    }
}

/// Time to connect, in a line.
pub(super) fn connect(page: &mut Page, document: &Document) {
    if let Some(connect) = words::connect(document) {
        page.entry("Connect", &connect);
    }
}
