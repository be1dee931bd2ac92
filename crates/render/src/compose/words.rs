//! Sentences and figures about a run, without any formatting.

use candor_plan::redact::is_shortened;
use candor_plan::units::{
    fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share,
};
use candor_plan::words::quoted;
use candor_record::{Alternative, Batches, CredentialCounts, NameCounts, StatusCount};

use super::time;
use crate::page::{Block, NOTHING, Section, share_of};
use candor_plan::{HaproxyProtocol, Replies, describe};
use candor_report::Tone;
use candor_report::document::Outcome;
use candor_report::document::Severity;
use candor_report::document::counts::{LedgerCounts, count_of};
use candor_report::document::kernel::{Kernel, TraceSummary};
use candor_report::document::latency::{Distribution, Latencies};
use candor_report::document::{Document, EndReason, Host};

/// The rows of a table of latencies.
pub(super) const ROWS: [&str; 9] =
    ["min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"];

/// The request and its target.
pub(super) fn what(document: &Document) -> String {
    let plan = &document.plan;
    let note = document.target_note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    let all = plan.work.requests();
    match &all[..all.len().min(plan.work.count())] {
        [one] if one.call.is_some() => {
            format!("{} {}{note}", one.path.trim_start_matches('/'), plan.target.url)
        }
        [one] if one.is_of_list() => format!("the URLs of a list at {}{note}", plan.target.url),
        [one] => format!("{} {}{note}", one.method, url_of(&plan.target_of(one).url, &one.path)),
        several => {
            let others = match plan.others.len() {
                0 => String::new(),
                count => format!(" and {}", fmt_plural(count as u64, "other target")),
            };
            format!("{} requests to {}{others}{note}", several.len(), plan.target.url)
        }
    }
}

/// A target's URL with the path of a request.
fn url_of(target: &str, path: &str) -> String {
    let host = target.find("://").map_or(0, |at| at + "://".len());
    let origin = target[host..].find(['/', '?']).map_or(target, |at| &target[..host + at]);
    if path.starts_with('/') { format!("{origin}{path}") } else { target.to_owned() }
}

/// Load, connections, threads, time.
pub(super) fn how(document: &Document) -> Vec<String> {
    let connections = &document.plan.connections;
    let mut parts = vec![describe::load(&document.plan)];
    let (count, max) = document.plan.connections_in_all();
    parts.push(match max > count {
        _ if connections.own => format!(
            "a connection for each of at most {}",
            fmt_plural(connections.count.into(), "user")
        ),
        true => format!("{} to {}", fmt_count(count.into()), fmt_plural(max.into(), "connection")),
        false => fmt_plural(count.into(), "connection"),
    });
    let target = &document.plan.target;
    if let Some(proxy) = &target.proxy {
        let from = proxy.variable.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        parts.push(format!("through the proxy {}{from}", target.endpoint));
    }
    match target.haproxy_protocol {
        HaproxyProtocol::Off => {}
        HaproxyProtocol::V1 => parts.push("PROXY protocol v1".to_owned()),
        HaproxyProtocol::V2 => parts.push("PROXY protocol v2".to_owned()),
    }
    if connections.pipeline > 1 {
        parts.push(format!("{} in a pipeline", connections.pipeline));
    }
    if connections.streams > 1 {
        let what = match document.plan.wire.websocket() {
            Some(_) => "messages in flight",
            None => "streams",
        };
        parts.push(format!("{} {what} each", connections.streams));
    }
    parts.push(fmt_plural(document.workers.len() as u64, "thread"));
    let mut window = fmt_duration_ns(document.time.window_ns);
    if document.time.warm_up_ns > 0 {
        window += &format!(" after {} of warm-up", fmt_duration_ns(document.time.warm_up_ns));
    }
    parts.push(window);
    parts
}

/// The non-zero counts with their words, e.g. `5 lost`.
pub(super) fn counted<const N: usize>(all: [(u64, &str); N]) -> impl Iterator<Item = String> {
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{} {what}", fmt_count(count)))
}

/// Responses by status.
pub(super) fn statuses(all: &[StatusCount]) -> String {
    let all = all.iter().map(|one| format!("{} × {}", one.status, fmt_count(one.count)));
    all.collect::<Vec<_>>().join(", ")
}

/// The program, the time and the seed of the run.
pub(super) fn identity(document: &Document) -> String {
    format!(
        "{} {} · {} · seed {}",
        document.tool.name, document.tool.version, document.started_at, document.plan.seed
    )
}

/// Where no request was sent in the measured window.
pub(super) fn nothing_sent(document: &Document) -> &'static str {
    match document.warm_up.sent {
        0 => "nothing was sent",
        _ => "nothing was sent after the warm-up",
    }
}

/// The outcome in a word, and the main sentence: asked, achieved, errors, how it ended.
pub(super) fn verdict(document: &Document) -> (Tone, &'static str, String) {
    let mut sentence = match document.nothing_worked() {
        true => failures(document).join(", "),
        false => achieved(document),
    };
    sentence.push('.');
    if !document.verdicts.is_empty() {
        sentence += &format!(" {} below.", fmt_plural(document.verdicts.len() as u64, "finding"));
    }
    let (tone, word) = standing(document);
    (tone, word, sentence)
}

/// Asked, achieved, errors, and how it ended.
fn achieved(document: &Document) -> String {
    let achieved = document.rate.achieved_per_s.map_or("nothing".to_owned(), fmt_per_second);
    let mut sentence = match document.rate.asked_per_s.filter(|_| document.plan.load.is_open()) {
        _ if document.is_feed() => format!("{} came", feed(document).unwrap_or_default()),
        Some(asked) => format!("Asked {}, achieved {achieved}", fmt_per_second(asked)),
        None => format!("Achieved {achieved}"),
    };
    let scheduled = document.ledger.scheduled;
    if document.plan.load.is_open() && scheduled > 0 && !document.is_feed() {
        let share = document.rate.answered_in_window as f64 / scheduled as f64;
        sentence += &format!(" ({} of what was due)", fmt_share(share));
    }
    sentence += &match document.ledger.errors {
        0 if document.ledger.sent == 0 => format!(", {}", nothing_sent(document)),
        0 => ", no errors".to_owned(),
        errors => {
            let share = share_of(errors, document.ledger.sent);
            format!(", {} ({share})", fmt_plural(errors, "error"))
        }
    };
    sentence.extend(ended(document).map(|how| format!(", {how}")));
    sentence
}

/// What was missed, a line each: that nothing worked, and objectives that were not met or cannot be told.
pub fn misses(document: &Document) -> Vec<String> {
    let failed =
        (document.nothing_worked() || document.mostly_failed()).then(|| why_failed(document));
    let missed = document.expectations.iter().filter(|one| !one.met());
    failed.into_iter().chain(missed.map(|one| one.sentence.clone())).collect()
}

/// Why nothing, or little, worked: the first reason that there is.
fn why_failed(document: &Document) -> String {
    let ledger = &document.ledger;
    let finding = |id: &str| {
        let found = document.verdicts.iter().find(|one| one.id == id);
        found.map(|one| one.sentence.clone())
    };
    let (failed, completed) = document.journeys();
    let all = failed.saturating_add(completed);
    let of_journeys = || format!("{} of {} failed.", fmt_count(failed), fmt_plural(all, "journey"));
    let few = ledger.errors.saturating_add(ledger.unfinished);
    match document.nothing_worked() {
        true if ledger.succeeded() > 0 => of_journeys(),
        true => finding("errors-dominate").unwrap_or_else(|| "No request succeeded.".to_owned()),
        false if few > ledger.sent / 2 => finding("errors-dominate").unwrap_or_else(|| {
            let (few, sent) = (fmt_count(few), fmt_count(ledger.sent));
            format!("{few} of {sent} sent requests failed, or had no response.")
        }),
        false if failed > completed => of_journeys(),
        false => finding("target-lost").or_else(|| finding("target-failed")).unwrap_or_default(),
    }
}

/// What became of the requests of a run in which nothing worked. A rate of failures says nothing.
pub(super) fn failures(document: &Document) -> Vec<String> {
    let ledger = &document.ledger;
    let mut parts = Vec::new();
    if ledger.errors > 0 {
        let share = share_of(ledger.errors, ledger.sent);
        parts.push(format!("{} ({share})", fmt_plural(ledger.errors, "error")));
    }
    parts.extend(counted([
        (ledger.unfinished, "without a response"),
        (ledger.shed, "shed"),
        (ledger.unsent, "unsent"),
    ]));
    let journeys = document.users.iter().flat_map(|users| &users.journeys);
    let failed = journeys.fold(0, |sum: u64, one| sum.saturating_add(one.failed));
    // With redirects each request is a user.
    let what = if document.plan.work.are_requests() { "request" } else { "journey" };
    parts.extend((failed > 0).then(|| format!("{} failed", fmt_plural(failed, what))));
    parts.extend((ledger.sent == 0).then(|| "nothing was sent".to_owned()));
    parts.extend(ended(document).map(str::to_owned));
    parts
}

/// The outcome in a word. Failures come before doubts about figures: there may be none of use.
fn standing(document: &Document) -> (Tone, &'static str) {
    let ledger = &document.ledger;
    let worst = document.verdicts.iter().map(|verdict| verdict.severity).max();
    let has = |id: &str| document.verdicts.iter().any(|one| one.id == id);
    match (worst, document.gate()) {
        _ if document.nothing_worked() && ledger.balances() => (Tone::Bad, "ALL FAILED"),
        (Some(Severity::Invalid), _) => (Tone::Bad, "INVALID"),
        _ if document.mostly_failed() => (Tone::Bad, "FAILED"),
        (_, outcome @ (Outcome::NotMet | Outcome::CannotTell)) => gate(outcome),
        _ if has("errors-dominate") => (Tone::Doubtful, "ERRORS"),
        (Some(Severity::Warning), _) => (Tone::Doubtful, "DOUBTFUL"),
        _ if has("redirects") => (Tone::Doubtful, "REDIRECTS"),
        _ if document.is_feed() => (Tone::Good, "FEED"),
        _ if !document.plan.load.is_open() => (Tone::Good, "OK"),
        (Some(Severity::Note) | None, Outcome::Met) => (Tone::Good, "HELD"),
    }
}

/// The outcome of an objective in a word, with its colour.
pub(super) fn gate(outcome: Outcome) -> (Tone, &'static str) {
    match outcome {
        Outcome::Met => (Tone::Good, "MET"),
        Outcome::NotMet => (Tone::Bad, "NOT MET"),
        Outcome::CannotTell => (Tone::Doubtful, "CANNOT TELL"),
    }
}

/// `6,000 ok`, with the classes of their statuses that are not 2xx.
pub(super) fn ok(document: &Document) -> String {
    let are_wrong = count_of(&document.errors, "status") > 0;
    let mut classes: Vec<String> = document
        .statuses
        .iter()
        .filter(|one| !is_2xx(one) && (one.status < 400 || !are_wrong))
        .map(|one| format!("{}xx", one.status / 100))
        .collect();
    classes.dedup();
    let ok = format!("{} ok", fmt_count(document.ledger.ok));
    match (classes.is_empty(), document.statuses.iter().any(is_2xx)) {
        (true, _) => ok,
        (false, true) => format!("{ok} (2xx, {})", classes.join(", ")),
        (false, false) => format!("{ok} ({})", classes.join(", ")),
    }
}

fn is_2xx(one: &StatusCount) -> bool {
    one.status / 100 == 2
}

/// Responses by status, class by class; `None` if all are 200.
pub(super) fn statuses_by_class(all: &[StatusCount]) -> Option<String> {
    if all.iter().all(|one| one.status == 200) {
        return None;
    }
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|one| one.status);
    let classes = sorted.chunk_by(|a, b| a.status / 100 == b.status / 100);
    let classes = classes.map(|class| format!("{}xx: {}", class[0].status / 100, statuses(class)));
    Some(classes.collect::<Vec<_>>().join(" · "))
}

/// How a run ended, if not as planned.
pub(super) fn ended(document: &Document) -> Option<&'static str> {
    match document.end.reason {
        EndReason::Interrupted => Some("interrupted"),
        EndReason::GaveUp => Some("given up"),
        EndReason::Stopped => Some("stopped by its script"),
        EndReason::ScriptFailed => Some("until its script failed"),
        EndReason::RowsUsed => Some("until every row of its data was used"),
        EndReason::DataFailed => Some("until its data failed"),
        EndReason::TargetEnded => Some("until the target ended"),
        EndReason::AgentLost => Some("an agent was lost"),
        EndReason::Aborted => Some("aborted by a condition"),
        EndReason::Duration | EndReason::Count => None,
    }
}

/// The warm-up, which is counted separately; `None` if there was none.
pub(super) fn warm_up(document: &Document) -> Option<String> {
    let LedgerCounts { scheduled, ok, errors, .. } = document.warm_up;
    let kinds: Vec<_> = document
        .warm_up_errors
        .iter()
        .map(|one| format!("{} {}", one.kind, fmt_count(one.count)))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    (scheduled > 0).then(|| {
        format!(
            "warm-up: {} scheduled, {} ok, {}{kinds}",
            fmt_count(scheduled),
            fmt_count(ok),
            fmt_plural(errors, "error")
        )
    })
}

/// The distributions of the latency table with their names and definitions.
pub(super) fn columns(document: &Document) -> Vec<(&'static str, &'static str, &Distribution)> {
    let latencies = &document.latencies;
    let mut columns = vec![
        ("response", "due→done", &latencies.response),
        ("service", "sent→done", &latencies.service),
        ("queue wait", "due→ready", &latencies.queue_wait),
        ("send lag", "ready→sent", &latencies.send_lag),
        ("first byte", "sent→first", &latencies.first_byte),
    ];
    if let Some(blocked) = &latencies.blocked {
        columns.insert(4, ("blocked", "ready→sent", &blocked.time));
    }
    // There is no queue wait in a closed load: a due request is ready.
    let is_open = document.plan.has_due_times();
    columns.retain(|(name, ..)| is_open || !matches!(*name, "response" | "queue wait"));
    columns
}

/// The figure of a distribution in this row.
pub(super) fn cell(distribution: &Distribution, row: &str) -> String {
    let value_ns = match row {
        "min" => distribution.min_ns,
        "max" => distribution.max_ns,
        "mean" => distribution.mean_ns.map(|ns| ns.round() as u64),
        percentile => distribution.percentile_ns(percentile),
    };
    time(value_ns)
}

/// Why figures are missing; `None` if none are.
pub(super) fn missing(columns: &[(&str, &str, &Distribution)]) -> Option<String> {
    let first = columns.first()?.2;
    ROWS.iter().any(|row| columns.iter().any(|column| cell(column.2, row) == NOTHING)).then(|| {
        format!(
            "{NOTHING} {} samples are too few to determine it, or scatter too much.",
            fmt_count(first.count)
        )
    })
}

/// By which share a percentile without the requests that a pause touched has to differ to be told.
const MATERIAL: f64 = 0.05;

/// The tail of the response time without the requests that a pause touched, where that differs materially, and
/// is of most requests.
pub(super) fn untouched(document: &Document) -> Option<String> {
    let Latencies { response, touched, untouched, .. } = &document.latencies;
    let rest = untouched.as_ref()?;
    let row =
        ["p99", "p90", "p50"].into_iter().find(|row| response.percentile_ns(row).is_some())?;
    let (all_ns, rest_ns) = (response.percentile_ns(row)?, rest.percentile_ns(row)?);
    let differs = all_ns.abs_diff(rest_ns) as f64 > all_ns as f64 * MATERIAL;
    // In a closed load the other figures are service times.
    let of = if document.plan.has_due_times() { "" } else { " of the response time" };
    let whose = if document.machines.len() > 1 { "the agent's machine" } else { "this machine" };
    let is_of_most = *touched < response.count / 2;
    // Who waits for seconds is touched by every pause, and delayed by none.
    let waits = document.verdicts.iter().any(|one| one.id == "backlog-growing");
    (differs && is_of_most && !waits).then(|| {
        format!(
            "{row}{of} without the {} of requests that a pause of {whose} touched: {}",
            share_of(*touched, response.count),
            fmt_duration_ns(rest_ns)
        )
    })
}

/// A note about the limits of closed loads.
pub(super) const CLOSED: &str = "Closed load: response = service + our send lag. While the server stalls nothing is sent, so a \
     stall shows in few samples; use --rate to see it as users do.";

/// A note if no response was timed.
const UNTIMED: &str = "No response was as expected, so nothing was timed.";

/// Where there are no response times: why.
pub(super) fn untimed(document: &Document) -> &'static str {
    match document.is_feed() {
        true => "No response ended, so there are no response times.",
        false => UNTIMED,
    }
}

/// What came where no response ends, or none is awaited: `40/s events`, `40/s messages`.
pub(super) fn feed(document: &Document) -> Option<String> {
    let plan = &document.plan;
    let awaits_none =
        plan.wire.websocket().is_some_and(|socket| socket.replies == Replies::Nothing);
    if !(document.is_feed() || awaits_none && document.parts.count > 0) {
        return None;
    }
    let are_messages = plan.wire.websocket().is_some() || plan.wire.calls().is_some();
    let what = if are_messages { "messages" } else { "events" };
    let per_s = document.parts_per_s().map_or("–".to_owned(), fmt_per_second);
    Some(format!("{per_s} {what}"))
}

/// `540 of 600 requests (90 %) had ttft < 300 ms, tpot < 50 ms, 54/s`
pub(super) fn goodput(document: &Document) -> Option<String> {
    let goodput = document.goodput?;
    let limits = document.plan.recording.goodput?;
    let due = fmt_plural(document.ledger.accounted(), "request");
    let share = goodput.share.map(|share| format!(" ({})", fmt_share(share))).unwrap_or_default();
    let rate = goodput.per_s.map(|per_s| format!(", {}", fmt_per_second(per_s)));
    let good = fmt_count(goodput.good);
    Some(format!("{good} of {due}{share} had {limits}{}", rate.unwrap_or_default()))
}

/// Requests that are in no distribution; `None` if all are.
pub(super) fn never_answered(document: &Document) -> Option<String> {
    let censored = &document.latencies.censored;
    censored.max_ns.map(|max_ns| {
        format!(
            "Not in the table: {} without a response, up to {} after they were due.",
            fmt_count(censored.count),
            fmt_duration_ns(max_ns)
        )
    })
}

/// Time to connect; `None` if nothing was connected.
pub(super) fn connect(document: &Document) -> Option<String> {
    let connect = &document.latencies.connect;
    let figures = figures(connect, ["min", "p50", "p99", "max"]);
    (connect.count > 0).then(|| format!("{figures}, of {}", fmt_count(connect.count)))
}

/// Those of these figures that a distribution has.
pub(super) fn figures(distribution: &Distribution, rows: [&str; 4]) -> String {
    let cells = rows.map(|row| (row, cell(distribution, row)));
    let cells = cells.iter().filter(|(_, cell)| cell != NOTHING);
    cells.map(|(row, cell)| format!("{row} {cell}")).collect::<Vec<_>>().join(", ")
}

/// The parts of service time with their names and definitions.
pub(super) fn kernel_columns(kernel: &Kernel) -> [(&'static str, &'static str, &Distribution); 4] {
    [
        ("service", "sent→done", &kernel.service),
        ("send delay", "sent→device", &kernel.send_delay),
        ("outside", "device→back", &kernel.outside),
        ("read delay", "back→done", &kernel.receive_delay),
    ]
}

/// The requests in the parts, and those that are missing.
pub(super) fn kernel_note(kernel: &Kernel) -> String {
    if is_clock(kernel) {
        return format!(
            "The kernel's stamps say when responses came, within {}. They were read later, by {} \
             (p50) or {} (p99); no figure has that in it.{}",
            fmt_duration_ns(kernel.conversion_error_ns),
            cell(&kernel.receive_delay, "p50"),
            cell(&kernel.receive_delay, "p99"),
            beside_stamps(kernel)
        );
    }
    if kernel.service.count == 0 {
        let reason = kernel.reason.as_deref().unwrap_or("no request has both of its stamps");
        return format!("No time stamps: {reason}.");
    }
    let mut note = format!(
        "Kernel time stamps of {} on {}, within {}.",
        fmt_plural(kernel.service.count, "request"),
        fmt_plural(kernel.connections, "connection"),
        fmt_duration_ns(kernel.conversion_error_ns)
    );
    let left_out: Vec<_> = counted([
        (kernel.without_send_stamp, "without a send stamp"),
        (kernel.without_receive_stamp, "without a receive stamp"),
        (kernel.out_of_order, "out of order"),
    ])
    .collect();
    if !left_out.is_empty() {
        note += &format!(" Left out: {}.", left_out.join(", "));
    }
    note + &beside_stamps(kernel)
}

/// Whether stamps are the clock of the run, as opposed to a sample beside it.
pub(super) fn is_clock(kernel: &Kernel) -> bool {
    kernel.service.count == 0 && kernel.receive_delay.count > 0
}

/// What went otherwise with stamps.
fn beside_stamps(kernel: &Kernel) -> String {
    let mut note = String::new();
    if is_clock(kernel) && kernel.without_receive_stamp > 0 {
        let count = fmt_plural(kernel.without_receive_stamp, "read");
        note += &format!(" {count} had no stamp.");
    }
    if kernel.clock_steps > 0 {
        note += &format!(" The clock was set {}.", fmt_plural(kernel.clock_steps, "time"));
    }
    if kernel.refused > 0 {
        let reason = kernel.reason.as_deref().unwrap_or("no reason given");
        note += &format!(" {} refused: {reason}.", fmt_plural(kernel.refused, "connection"));
    }
    note
}

/// The summary of the trace.
pub(super) fn trace(trace: &TraceSummary) -> String {
    let mut line = format!(
        "{} traced, {} not",
        fmt_plural(trace.counts.traced, "request"),
        fmt_count(trace.counts.not_traced)
    );
    if trace.counts.dropped > 0 {
        line += &format!(
            "; {} of these dropped because the writer did not keep up",
            fmt_count(trace.counts.dropped)
        );
    }
    line
}

/// How a name was resolved again.
pub(super) fn name(one: &NameCounts) -> String {
    let mut parts = vec![format!(
        "{} of {}, asked for {}",
        one.name,
        one.target,
        fmt_plural(one.asked, "time")
    )];
    let counts = [
        (one.failed, "failed"),
        (one.added, "new addresses"),
        (one.gone, "gone"),
        (one.left_out, "left out"),
    ];
    parts.extend(counted(counts));
    if let Some(mean_ns) = one.took_ns.checked_div(one.answered.saturating_add(one.failed)) {
        let [mean, longest] = [mean_ns, one.longest_ns].map(fmt_duration_ns);
        parts.push(format!("{mean} on average, up to {longest}"));
    }
    parts.join(", ")
}

/// Where a target's requests went by Alt-Svc.
pub(super) fn alternative(one: &Alternative) -> String {
    let Alternative { target, origin, endpoint } = one;
    format!("{origin} named {endpoint} for the requests to {target}")
}

/// How the credential of a target was taken.
pub(super) fn credential(one: &CredentialCounts) -> String {
    let CredentialCounts { target, kind, taken, failed, took_ns, longest_ns, problem: _ } = one;
    let times = taken.saturating_add(*failed);
    let mut parts = vec![format!("of {target} by {kind}, taken {}", fmt_plural(*taken, "time"))];
    parts.extend(counted([(*failed, "failed")]));
    if let Some(mean_ns) = took_ns.checked_div(times) {
        let (mean, longest) = (fmt_duration_ns(mean_ns), fmt_duration_ns(*longest_ns));
        parts.push(format!("{mean} on average, up to {longest}"));
    }
    parts.join(", ")
}

/// The memory of the loader; `None` if it was not read.
pub(super) fn memory(document: &Document) -> Option<String> {
    let memories = || document.machines.iter().filter_map(|machine| machine.memory);
    let peak = fmt_bytes(memories().map(|one| one.peak_bytes).max()?);
    let each = fmt_bytes(memories().map(|one| one.per_connection_bytes).max()?);
    Some(format!("loader {peak} at most, {each} for each connection"))
}

/// The outcome of a profiler in parts: the command, its times, its files, its failure.
pub(super) fn profile(document: &Document) -> Vec<String> {
    let Some(profile) = &document.profile else { return Vec::new() };
    let mut parts = vec![profile.command.join(" ")];
    if let (Some(from_s), Some(to_s)) = (profile.from_s, profile.to_s) {
        let window_s = document.time.window_ns as f64 / 1e9;
        parts.push(format!("from {from_s:.2} s to {to_s:.2} s of the {window_s:.2} s measured"));
    }
    if let (Some(file), Some(bytes)) = (&profile.file, profile.file_bytes) {
        let printed = profile.log.as_ref().map(|log| format!("; its output is in {log}"));
        parts.push(format!("{file}, {}{}", fmt_bytes(bytes), printed.unwrap_or_default()));
    } else if let Some(log) = &profile.log {
        parts.push(format!("its output is in {log}"));
    }
    parts.extend(profile.problem.clone());
    parts
}

/// The health of the loader, in sentences.
pub(super) fn loader(document: &Document) -> Vec<String> {
    let shares = document.workers.iter().filter_map(|worker| worker.cpu_share);
    let mut parts = Vec::new();
    if document.verdicts.is_empty() {
        parts.push("no findings against the numbers".to_owned());
    }
    if let Some(busiest) = shares.max_by(f64::total_cmp) {
        let switches: u64 = document.workers.iter().map(|worker| worker.involuntary_switches).sum();
        parts.push(format!(
            "loader CPU {} of a core (busiest of {}), preempted {}",
            fmt_share(busiest),
            document.workers.len(),
            fmt_plural(switches, "time")
        ));
    }
    if let Some(lag_ns) = document.latencies.send_lag.percentile_ns("p99") {
        parts.push(format!("p99 send lag {}", fmt_duration_ns(lag_ns)));
    }
    let batches = || document.workers.iter().filter_map(|worker| worker.batches);
    let sum = |count: fn(&Batches) -> u64| batches().map(|one| count(&one)).sum::<u64>();
    if batches().next().is_some() {
        let longest_ns = batches().map(|one| one.longest_ns).max().unwrap_or(0);
        parts.push(match sum(|one| one.count) {
            0 => "io_uring, each send by itself".to_owned(),
            count => format!(
                "io_uring, {:.1} sends in a batch, which takes {}, up to {}",
                sum(|one| one.sends) as f64 / count as f64,
                fmt_duration_ns(sum(|one| one.took_ns) / count),
                fmt_duration_ns(longest_ns)
            ),
        });
    }
    let worst = document.hiccups().max_by_key(|one| one.longest_ns());
    if let Some(hiccups) = worst.filter(|one| one.late.count > 0) {
        let late = &hiccups.late;
        let p99 = late
            .percentile_ns("p99")
            .map_or(String::new(), |p99_ns| format!("p99 {}, ", fmt_duration_ns(p99_ns)));
        let longest = fmt_duration_ns(hiccups.longest_ns());
        let at = hiccups.worst.first().map_or(String::new(), |worst| {
            let from_ns = worst.at_ns.saturating_sub(worst.late_ns);
            format!(" ({} into the run)", fmt_duration_ns(from_ns))
        });
        parts.push(format!("scheduling jitter {p99}up to {longest}{at}"));
    }
    parts
}

/// The loader's machines, if known.
pub(super) fn hosts(document: &Document) -> Vec<String> {
    document.machines.iter().filter_map(|machine| host(&machine.host)).collect()
}

/// A machine of the loader, if known.
pub(super) fn host(host: &Host) -> Option<String> {
    let cores = host.cores.map(|cores| format!("{cores} cores"));
    let governor = host.governor.as_ref().map(|governor| format!("governor {governor}"));
    let machine: Vec<_> =
        [host.cpu.clone(), cores, host.kernel.clone(), host.virtualisation.clone(), governor]
            .into_iter()
            .flatten()
            .collect();
    (!machine.is_empty()).then(|| machine.join(", "))
}

/// The command line to rerun it, if known.
pub(super) fn again(section: &mut Section, typed: &[String]) {
    let Some((_, arguments)) = typed.split_first() else { return };
    let mut words = vec!["candor".to_owned()];
    words.extend(arguments.iter().map(|argument| quoted(argument)));
    let is_shortened = is_shortened(&words);
    section.blocks.push(Block::Command(words));
    if is_shortened {
        section.remark(
            "Values are redacted: put them back in place of [redacted] and …. --show-secrets \
             keeps them.",
        );
    }
}
