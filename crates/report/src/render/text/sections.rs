//! The sections of the page around the latency table.

use candor_plan::units::{
    fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share,
};

use super::super::shorten;
use super::super::style::Tone;
use super::page::Page;
use crate::document::counts::{ErrorCount, LedgerCounts, count_of};
use crate::document::plan::LoadKind;
use crate::document::{Document, EndReason};
use crate::expect::{Judgement, Outcome};
use crate::verdicts::Severity;

/// Characters of a request's name in its table.
const NAME: usize = 24;

/// What was run.
pub(super) fn headline(page: &mut Page, document: &Document) {
    let plan = &document.plan;
    let note = document.target_note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    let what = match plan.requests.as_slice() {
        [one] => format!("{} {}{note}", one.method, plan.url),
        several => format!("{} requests to {}{note}", several.len(), plan.url),
    };
    page.line(Some(Tone::Heading), &what);
    let connections = &plan.connections;
    let mut parts = vec![plan.load.description.clone()];
    parts.push(match connections.max > connections.count {
        true => format!(
            "{} to {}",
            fmt_count(connections.count.into()),
            fmt_plural(connections.max.into(), "connection")
        ),
        false => fmt_plural(connections.count.into(), "connection"),
    });
    if connections.pipeline > 1 {
        parts.push(format!("{} in a pipeline", connections.pipeline));
    }
    if connections.streams > 1 {
        parts.push(format!("{} streams each", connections.streams));
    }
    parts.push(fmt_plural(document.workers.len() as u64, "thread"));
    let mut window = fmt_duration_ns(document.time.window_ns);
    if document.time.warm_up_ns > 0 {
        window += &format!(" after {} of warm-up", fmt_duration_ns(document.time.warm_up_ns));
    }
    parts.push(window);
    page.line(None, &parts.join(" · "));
    let identity = format!(
        "{} {} · {} · seed {}",
        document.tool.name, document.tool.version, document.started_at, plan.seed
    );
    page.line(Some(Tone::Faint), &identity);
    page.blank();
}

/// Did it hold: the one line that matters most.
pub(super) fn outcome(page: &mut Page, document: &Document) {
    let achieved = document.rate.achieved_per_s.map_or("nothing".to_owned(), fmt_per_second);
    let mut sentence =
        match document.rate.asked_per_s.filter(|_| document.plan.load.kind == LoadKind::Open) {
            Some(asked) => format!("Asked {}, achieved {achieved}", fmt_per_second(asked)),
            None => format!("Achieved {achieved}"),
        };
    let scheduled = document.ledger.scheduled;
    if document.plan.load.kind == LoadKind::Open && scheduled > 0 {
        let share = document.rate.answered_in_window as f64 / scheduled as f64;
        sentence += &format!(" ({} of what was due)", fmt_share(share));
    }
    sentence += &match document.ledger.errors {
        0 if document.ledger.sent == 0 => ", nothing was sent".to_owned(),
        0 => ", no errors".to_owned(),
        errors => format!(", {}", fmt_plural(errors, "error")),
    };
    match document.end.reason {
        EndReason::Interrupted => sentence += ", interrupted",
        EndReason::GaveUp => sentence += ", given up",
        EndReason::Stopped => sentence += ", stopped by its script",
        EndReason::ScriptFailed => sentence += ", until its script failed",
        EndReason::TargetEnded => sentence += ", until the target ended",
        EndReason::Duration | EndReason::Count => {}
    }
    let worst = document.verdicts.iter().map(|verdict| verdict.severity).max();
    let (tone, word) = match worst {
        Some(Severity::Invalid) => (Tone::Bad, "INVALID"),
        _ if document.ledger.ok == 0 => (Tone::Bad, "NO ANSWERS"),
        _ if !document.expectations.iter().all(Judgement::met) => (Tone::Bad, "NOT MET"),
        Some(Severity::Warning) => (Tone::Doubtful, "DOUBTFUL"),
        _ if document.plan.load.kind == LoadKind::Closed => (Tone::Good, "OK"),
        Some(Severity::Note) | None => (Tone::Good, "HELD"),
    };
    let found = match document.verdicts.len() {
        0 => String::new(),
        some => format!(" {} below.", fmt_plural(some as u64, "finding")),
    };
    page.toned_entry(word, Some(tone), &format!("{sentence}.{found}"));
    page.blank();
}

/// Where every scheduled request went.
pub(super) fn ledger(page: &mut Page, document: &Document) {
    let ledger = &document.ledger;
    let (first, second) = equations(ledger);
    page.row("Ledger", None, &first);
    page.row("", None, &second);
    let warm_up = &document.warm_up;
    if warm_up.scheduled > 0 {
        let errors: Vec<_> = document
            .warm_up_errors
            .iter()
            .map(|one| format!("{} {}", one.kind, fmt_count(one.count)))
            .collect();
        let errors =
            if errors.is_empty() { String::new() } else { format!(" ({})", errors.join(", ")) };
        page.toned_entry(
            "",
            Some(Tone::Faint),
            &format!(
                "warm-up apart: {} scheduled, {} ok, {}{errors}",
                fmt_count(warm_up.scheduled),
                fmt_count(warm_up.ok),
                fmt_plural(warm_up.errors, "error")
            ),
        );
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
    let second = format!(
        "sent      {:>width$} {} ok {} + errors {} + unfinished {}",
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
        let statuses: Vec<_> = document
            .statuses
            .iter()
            .map(|one| format!("{} × {}", one.status, fmt_count(one.count)))
            .collect();
        page.entry("Statuses", &statuses.join(", "));
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
    let mut parts = vec![
        format!("{} asked", fmt_count(connections.asked)),
        format!("at least {} at a time", fmt_count(connections.least)),
        format!("{} opened", fmt_count(connections.opened)),
    ];
    for (number, what) in [
        (connections.closed_by_server, "closed by the server"),
        (connections.retired, "retired"),
        (connections.lost, "lost"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", fmt_count(number)));
        }
    }
    page.entry("Connections", &parts.join(", "));
    for one in &connections.losses {
        let example = one.example.as_ref().map_or(String::new(), |text| format!(": {text}"));
        page.entry("", &format!("{} {}{example}", fmt_count(one.count), one.sentence));
    }
    tls(page, document);
    let elapsed_s = document.time.elapsed_ns as f64 / 1e9;
    let one = |name: &str, number: u64| {
        let per_s = if elapsed_s > 0.0 {
            format!(" ({}/s)", fmt_bytes((number as f64 / elapsed_s) as u64))
        } else {
            String::new()
        };
        format!("{name} {}{per_s}", fmt_bytes(number))
    };
    let all = &document.bytes;
    page.entry(
        "Bytes",
        &[one("sent", all.sent), one("received", all.received), one("bodies", all.bodies)]
            .join(", "),
    );
    if let Some(memory) = &document.memory {
        let (peak, each) = (fmt_bytes(memory.peak_bytes), fmt_bytes(memory.per_connection_bytes));
        page.entry("Memory", &format!("loader {peak} at most, {each} for each connection"));
    }
    page.blank();
}

/// What the handshakes came to, and how long they took.
fn tls(page: &mut Page, document: &Document) {
    for (at, one) in document.connections.handshakes.iter().enumerate() {
        let mut parts = vec![one.version.clone(), one.cipher.clone()];
        parts.extend(one.group.clone());
        parts.push(one.alpn.clone().unwrap_or_else(|| "no ALPN".to_owned()));
        let parts = parts.join(", ");
        let resumed = match one.resumed {
            0 => String::new(),
            some => format!(", {} resumed", fmt_count(some)),
        };
        let count = fmt_plural(one.full, "full handshake");
        page.entry(if at == 0 { "TLS" } else { "" }, &format!("{parts}: {count}{resumed}"));
    }
    if let Some(handshake) = &document.latencies.handshake {
        let mut figures: Vec<String> = ["p50", "p99"]
            .iter()
            .filter_map(|name| {
                let ns = handshake.percentile_ns(name)?;
                Some(format!("{name} {}", fmt_duration_ns(ns)))
            })
            .collect();
        figures.extend(handshake.mean_ns.map(|ns| format!("mean {}", fmt_duration_ns(ns as u64))));
        figures.extend(handshake.max_ns.map(|ns| format!("max {}", fmt_duration_ns(ns))));
        page.entry("", &format!("handshake {}", figures.join(", ")));
    }
}

/// How much to trust it.
pub(super) fn trust(page: &mut Page, document: &Document) {
    let shares = document.workers.iter().filter_map(|worker| worker.cpu_share);
    let mut parts = Vec::new();
    if document.verdicts.is_empty() {
        parts.push("nothing found against the numbers".to_owned());
    }
    if let Some(busiest) = shares.max_by(f64::total_cmp) {
        let switches: u64 = document.workers.iter().map(|worker| worker.involuntary_switches).sum();
        parts.push(format!(
            "loader CPU {} of a core (busiest of {}), core taken away {}",
            fmt_share(busiest),
            document.workers.len(),
            fmt_plural(switches, "time")
        ));
    }
    if let Some(lag_ns) = document.latencies.send_lag.percentile_ns("p99") {
        parts.push(format!("p99 send lag {}", fmt_duration_ns(lag_ns)));
    }
    if let Some(hiccups) = document.hiccups.as_ref().filter(|one| one.late.count > 0) {
        let late = &hiccups.late;
        let p99 = late
            .percentile_ns("p99")
            .map_or(String::new(), |p99_ns| format!("p99 {}, ", fmt_duration_ns(p99_ns)));
        let longest = fmt_duration_ns(hiccups.longest_ns());
        let at = hiccups.worst.first().map_or(String::new(), |worst| {
            let from_ns = worst.at_ns.saturating_sub(worst.late_ns);
            format!(" ({} into the run)", fmt_duration_ns(from_ns))
        });
        parts.push(format!("a sleeping thread woke late by {p99}at most {longest}{at}"));
    }
    for (at, part) in parts.iter().enumerate() {
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
    let host = &document.host;
    let cores = host.cores.map(|cores| format!("{cores} cores"));
    let governor = host.governor.as_ref().map(|governor| format!("governor {governor}"));
    let machine: Vec<_> =
        [host.cpu.clone(), cores, host.kernel.clone(), host.virtualisation.clone(), governor]
            .into_iter()
            .flatten()
            .collect();
    if !machine.is_empty() {
        page.toned_entry("Host", Some(Tone::Faint), &machine.join(", "));
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
    let Some((_, arguments)) = document.arguments.split_first() else { return };
    let mut words = vec!["candor".to_owned()];
    words.extend(arguments.iter().map(|argument| quoted(argument)));
    page.blank();
    page.command("Again", Some(Tone::Faint), &words);
}

/// An argument as a POSIX shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn arguments_are_quoted_where_a_shell_would_take_them_apart() {
        for plain in ["-c", "--rate=20k/s", "http://host:80/a%20b", "10.0.0.1,10.0.0.2"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("p99 < 5ms"), "'p99 < 5ms'");
        assert_eq!(quoted("http://h/?a=1&b=2"), "'http://h/?a=1&b=2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("Cookie: [redacted]"), "'Cookie: [redacted]'");
        assert_eq!(quoted("$HOME ~ *"), "'$HOME ~ *'");
    }
}
