//! Candor's additions to another tool's output: the ledger, and every verdict. For the standard
//! error.

use std::fmt::Write;

use candor_plan::units::{fmt_count, fmt_plural};
use candor_report::Document;
use candor_report::document::Severity;
use candor_report::visible;

/// A line for the ledger, one for responses that `tool` counts separately, one for each verdict.
pub(crate) fn render(document: &Document, tool: &str) -> String {
    let ledger = &document.ledger;
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "candor: scheduled {} = sent {} + shed {} + unsent {}; sent {} = answered {}{} + errors {} + unfinished {}",
        fmt_count(ledger.scheduled),
        fmt_count(ledger.sent),
        fmt_count(ledger.shed),
        fmt_count(ledger.unsent),
        fmt_count(ledger.sent),
        fmt_count(ledger.ok),
        match ledger.broken_off {
            0 => String::new(),
            count => format!(" + broken off {}", fmt_count(count)),
        },
        fmt_count(ledger.errors),
        fmt_count(ledger.unfinished),
    );
    let above_399: u64 =
        document.statuses.iter().filter(|one| one.status > 399).map(|one| one.count).sum();
    if above_399 > 0 {
        let _ = writeln!(
            text,
            "candor: {} had a status of 400 or above; as in {tool} they are in the latencies",
            fmt_plural(above_399, "response")
        );
    }
    for verdict in &document.verdicts {
        let severity = match verdict.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Invalid => "invalid",
        };
        let _ = writeln!(
            text,
            "candor: {severity} [{}]: {} {}",
            verdict.id,
            // The sentence may quote a server or a log.
            visible(&verdict.sentence),
            verdict.remedy
        );
    }
    text
}
