//! The sections of the page around the latency table.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_share};

use super::super::shorten;
use super::super::style::Tone;
use super::super::words::{self, Standing};
use super::page::Page;
use crate::document::Document;
use crate::document::counts::{ErrorCount, LedgerCounts, count_of};
use crate::expect::Outcome;
use crate::verdicts::Severity;

/// Characters of a request's name in its table.
const NAME: usize = 24;

/// What was run.
pub(super) fn headline(page: &mut Page, document: &Document) {
    page.line(Some(Tone::Heading), &words::what(document));
    page.line(None, &words::how(document).join(" · "));
    page.line(Some(Tone::Faint), &words::identity(document));
    page.blank();
}

/// Did it hold: the one line that matters most.
pub(super) fn outcome(page: &mut Page, document: &Document) {
    let words::Verdict { standing, word, sentence } = words::verdict(document);
    let tone = match standing {
        Standing::Good => Tone::Good,
        Standing::Doubtful => Tone::Doubtful,
        Standing::Bad => Tone::Bad,
    };
    let found = match document.verdicts.len() {
        0 => String::new(),
        some => format!(" {} below.", fmt_plural(some as u64, "finding")),
    };
    page.toned_entry(word, Some(tone), &format!("{sentence}{found}"));
    page.blank();
}

/// Where every scheduled request went.
pub(super) fn ledger(page: &mut Page, document: &Document) {
    let ledger = &document.ledger;
    let (first, second) = equations(ledger);
    page.row("Ledger", None, &first);
    page.row("", None, &second);
    if let Some(warm_up) = words::warm_up(document) {
        page.toned_entry("", Some(Tone::Faint), &warm_up);
    }
    page.blank();
}

fn equations(ledger: &LedgerCounts) -> (String, String) {
    let width = fmt_count(ledger.scheduled.max(ledger.sent)).len();
    let sign = |holds| if holds { '=' } else { '≠' };
    let first = format!(
        "scheduled {:>width$} {} sent {} + shed {} + unsent {}",
        fmt_count(ledger.scheduled),
        sign(ledger.scheduled == ledger.scheduled_parts()),
        fmt_count(ledger.sent),
        fmt_count(ledger.shed),
        fmt_count(ledger.unsent)
    );
    let broken_off = match ledger.broken_off {
        0 => String::new(),
        count => format!(" + broken off {}", fmt_count(count)),
    };
    let second = format!(
        "sent      {:>width$} {} ok {}{broken_off} + errors {} + unfinished {}",
        fmt_count(ledger.sent),
        sign(ledger.sent == ledger.sent_parts()),
        fmt_count(ledger.ok),
        fmt_count(ledger.errors),
        fmt_count(ledger.unfinished)
    );
    (first, second)
}

/// Errors of requests and of connecting, with one example each.
pub(super) fn errors(page: &mut Page, document: &Document) {
    kinds(page, "Errors", &document.errors, document.ledger.sent);
    kinds(page, "No connect", &document.connect_errors, 0);
    let unexpected = count_of(&document.errors, "status") > 0;
    if unexpected || document.statuses.len() > 1 {
        page.entry("Statuses", &words::statuses(&document.statuses));
    }
    if !document.broken_off_statuses.is_empty() {
        let heard = words::statuses(&document.broken_off_statuses);
        page.entry("Broken off", &format!("answered after the break: {heard}"));
    }
}

fn kinds(page: &mut Page, heading: &str, errors: &[ErrorCount], of: u64) {
    for (at, one) in errors.iter().enumerate() {
        let share = if of > 0 {
            format!(" ({})", fmt_share(one.count as f64 / of as f64))
        } else {
            String::new()
        };
        let heading = if at == 0 { heading } else { "" };
        page.toned_entry(
            heading,
            Some(Tone::Bad),
            &format!("{} {}{share}: {}", fmt_count(one.count), one.kind, one.sentence),
        );
        if let Some(example) = &one.example {
            page.toned_entry("", Some(Tone::Faint), &format!("  e.g. {example}"));
        }
    }
}

/// Each request of a plan that has several.
pub(super) fn requests(page: &mut Page, document: &Document) {
    if document.requests.is_empty() {
        return;
    }
    page.blank();
    let heading = format!(
        "{:<NAME$}{:>12}{:>12}{:>10}{:>9}{:>9}{:>9}",
        "name", "sent", "ok", "errors", "p50", "p99", "max"
    );
    page.row("Requests", Some(Tone::Heading), &heading);
    for one in &document.requests {
        let figure = |pick: &dyn Fn(&crate::document::latency::Distribution) -> Option<u64>| {
            one.response.as_ref().and_then(pick).map_or_else(|| "–".to_owned(), fmt_duration_ns)
        };
        let row = format!(
            "{:<NAME$}{:>12}{:>12}{:>10}{:>9}{:>9}{:>9}",
            shorten(&one.name, NAME - 1),
            fmt_count(one.sent),
            fmt_count(one.ok),
            fmt_count(one.errors),
            figure(&|response| response.percentile_ns("p50")),
            figure(&|response| response.percentile_ns("p99")),
            figure(&|response| response.max_ns),
        );
        page.row("", None, &row);
    }
    page.blank();
}

/// Connections and bytes.
pub(super) fn traffic(page: &mut Page, document: &Document) {
    let connections = &document.connections;
    page.entry("Connections", &words::connections(document));
    for one in &connections.losses {
        let example = one.example.as_ref().map_or(String::new(), |text| format!(": {text}"));
        page.entry("", &format!("{} {}{example}", fmt_count(one.count), one.sentence));
    }
    for one in &connections.goaways {
        let what = fmt_plural(one.count, "GOAWAY");
        let (name, code, last) = (&one.name, one.code, fmt_count(one.last_stream.into()));
        page.entry("", &format!("{what} {name} ({code:#x}), the first with last stream {last}"));
    }
    tls(page, document);
    page.entry("Bytes", &words::bytes(document));
    if let Some(memory) = words::memory(document) {
        page.entry("Memory", &memory);
    }
    page.blank();
}

/// What the handshakes came to, and how long they took.
fn tls(page: &mut Page, document: &Document) {
    for (at, one) in document.connections.handshakes.iter().enumerate() {
        page.entry(if at == 0 { "TLS" } else { "" }, &words::handshakes(one));
    }
    if let Some(time) = words::handshake_time(document) {
        page.entry("", &time);
    }
}

/// How much to trust it.
pub(super) fn trust(page: &mut Page, document: &Document) {
    for (at, part) in words::loader(document).iter().enumerate() {
        page.entry(if at == 0 { "Trust" } else { "" }, part);
    }
    for verdict in &document.verdicts {
        let (word, tone) = match verdict.severity {
            Severity::Invalid => ("INVALID", Tone::Bad),
            Severity::Warning => ("warning", Tone::Doubtful),
            Severity::Note => ("note", Tone::Heading),
        };
        page.toned_entry(
            &format!("  {word}"),
            Some(tone),
            &format!("{}: {}", verdict.id, verdict.sentence),
        );
        page.entry("", &format!("  → {}", verdict.remedy));
    }
    for host in words::hosts(document) {
        page.toned_entry("Host", Some(Tone::Faint), &host);
    }
}

/// What the user expected.
pub(super) fn expectations(page: &mut Page, document: &Document) {
    if document.expectations.is_empty() {
        return;
    }
    page.blank();
    for (at, judgement) in document.expectations.iter().enumerate() {
        let heading = if at == 0 { "Expected" } else { "" };
        let tone = if judgement.outcome == Outcome::Met { Tone::Good } else { Tone::Bad };
        page.toned_entry(heading, Some(tone), &judgement.sentence);
    }
}

/// The command line once more, for whoever wants to repeat the run.
pub(super) fn again(page: &mut Page, document: &Document) {
    let Some(words) = words::again(&document.arguments) else { return };
    page.blank();
    page.command("Again", Some(Tone::Faint), &words);
    if let Some(note) = words::left_out(&words) {
        page.entry("", note);
    }
}
