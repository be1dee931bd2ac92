//! The short page of a run, to be read in ten seconds: 25 lines for a healthy run, 35 for others. It omits
//! the obvious, and has nothing that the full page lacks. A screen of 80×24 has room for what comes first: the outcome,
//! the ledger, the times, and the most serious finding.

use candor_plan::units::{
    fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share,
};
use candor_plan::{By, describe};

use super::course::Rows;
use super::fleet;
use super::loader::used;
use super::{bounds, connections, streams, users, words};
use crate::page::{Block, Column, Depth, Finding, NOTHING, Page, Section, Table, share_of};
use candor_report::Tone;
use candor_report::document::Verdict;
use candor_report::document::counts::RequestRow;
use candor_report::document::{Document, MachineRow};
use candor_report::shorten;

/// Rows of the table of latencies.
const ROWS: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
/// The most findings, kinds of errors and objectives to show; the rest is counted.
const FINDINGS: usize = 3;
const ERRORS: usize = 3;
const OBJECTIVES: usize = 4;
/// The most kinds of handshakes: those of several targets may differ.
const HANDSHAKES: usize = 3;
/// The most steps of journeys to show, and the longest name of one.
const STEPS: usize = 6;
const STEP_NAME: usize = 24;
/// The most cells of a strip, and the fewest intervals for one.
const STRIP: usize = 72;
const FEWEST: usize = 5;
/// The most characters of a long text: a URL, an example of an error.
const LONG: usize = 78;

/// The short page.
pub(super) fn page(document: &Document) -> Page {
    let mut page = Page::new(Depth::Short, title(document));
    let (tone, word, _) = words::verdict(document);
    page.header.standing(tone, word, outcome(document));
    ledger(&mut page.header, document);
    if let Some(users) = &document.users {
        let section = page.section("users", "");
        let what = if document.plan.work.are_requests() { "with redirects" } else { "users" };
        section.fact(what, None, users::in_short(users));
        section.toned(Some(Tone::Doubtful), users::worst(users, document).unwrap_or_default());
    }
    latency(page.section("latency", ""), document);
    course(page.section("course", ""), document);
    findings(page.section("findings", ""), document);
    steps(page.section("steps", ""), document);
    if let Some(one) = &document.streams {
        page.section("streams", "").fact("events", None, streams::in_short(one));
    }
    if let Some(goodput) = words::goodput(document) {
        page.section("goodput", "").fact("goodput", None, goodput);
    }
    troubles(page.section("troubles", ""), document);
    if let Some(resources) = &document.target {
        page.again.fact("Target", None, used(resources));
    }
    if let Some(agents) = fleet::summary(document) {
        page.again.fact("Fleet", None, agents);
    }
    page.again.fact("Loader", None, loader(document));
    page
}

/// `GET http://127.0.0.1:8080/ · open 1,000/s · 50 connections · 30 s`
fn title(document: &Document) -> String {
    let mut parts = vec![shorten(&words::what(document), LONG)];
    parts.extend(words::how(document).iter().map(|part| describe::in_short(part)));
    // Omits details of the loader.
    parts.retain(|part| !part.ends_with(" thread") && !part.ends_with(" threads"));
    parts.join(" · ")
}

/// `1,000/s of 1,000/s · 30,000 ok · 0 errors · 3.1 MB/s`
fn outcome(document: &Document) -> String {
    let ledger = &document.ledger;
    if document.nothing_worked() {
        return words::failures(document).join(" · ");
    }
    let mut parts = Vec::new();
    let achieved = document.rate.achieved_per_s.map_or("no rate".to_owned(), fmt_per_second);
    let feed = words::feed(document);
    if !document.is_feed() {
        parts.push(match document.rate.asked_per_s.filter(|_| document.plan.load.is_open()) {
            Some(asked) => format!("{achieved} of {}", fmt_per_second(asked)),
            None => achieved,
        });
        parts.push(words::ok(document));
        parts.extend(late(document));
    }
    parts.extend(feed);
    parts.push(match (ledger.sent, ledger.errors) {
        (0, _) => words::nothing_sent(document).to_owned(),
        (_, 0) => "0 errors".to_owned(),
        (sent, errors) => format!("{} ({})", fmt_plural(errors, "error"), share_of(errors, sent)),
    });
    let elapsed_s = document.time.elapsed_ns as f64 / 1e9;
    if elapsed_s > 0.0 {
        let per_s = document.bytes.received as f64 / elapsed_s;
        parts.push(format!("{}/s", fmt_bytes(per_s as u64)));
    }
    parts.extend(words::ended(document).map(str::to_owned));
    parts.join(" · ")
}

/// Responses of an open load that came when its window was over, where the rate lacks them.
fn late(document: &Document) -> Option<String> {
    let (ledger, rate) = (&document.ledger, &document.rate);
    let (asked, achieved) = (rate.asked_per_s?, rate.achieved_per_s?);
    let late = ledger.ok.saturating_sub(rate.answered_in_window);
    let is_open = document.plan.load.is_open() && late > 0;
    let is_seen = fmt_per_second(achieved) != fmt_per_second(asked);
    (is_open && is_seen).then(|| format!("{} of them after the window", fmt_count(late)))
}

/// Response time with its interval, and service time, which a closed loop would report.
fn latency(section: &mut Section, document: &Document) {
    let latencies = &document.latencies;
    if latencies.response.count == 0 {
        return section.text(words::untimed(document));
    }
    let (first, second) = match document.plan.has_due_times() {
        true => (("response", &latencies.response), Some(&latencies.service)),
        false => (("service", &latencies.service), None),
    };
    let names = [first.0, "± 95 %"].into_iter().chain(second.map(|_| "service"));
    let mut table =
        Table::new(std::iter::once(Column::words("")).chain(names.map(Column::figures)));
    for row in ROWS {
        let mut cells = vec![row.to_owned(), words::cell(first.1, row), bounds::text(first.1, row)];
        cells.extend(second.map(|service| words::cell(service, row)));
        table.row(cells);
    }
    section.table(table);
    section.remark(words::untouched(document).unwrap_or_default());
    let never = words::never_answered(document);
    section.toned(Some(Tone::Doubtful), never.unwrap_or_default());
}

/// The steps of journeys, the requests to several targets or to each address, each with its times.
fn steps(section: &mut Section, document: &Document) {
    let by = document.plan.recording.by;
    let addresses = document.addresses.iter();
    let (rows, what): (Vec<&RequestRow>, _) = match (by, &document.users) {
        (Some(By::Address), _) => {
            (addresses.filter_map(|one| one.requests.as_ref()).collect(), "address")
        }
        (None, Some(_)) if document.plan.work.are_requests() => {
            (document.requests.iter().collect(), "request")
        }
        (None, Some(_)) => (document.requests.iter().collect(), "step"),
        _ => (document.targets.iter().collect(), "target"),
    };
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new(
        std::iter::once(Column::words(what))
            .chain(["ok", "errors", "p50", "p99", "max"].map(Column::figures)),
    );
    let mut slowest = rows.clone();
    if slowest.len() > STEPS {
        slowest.retain(|one| one.sent > 0);
        slowest.sort_by_key(|one| std::cmp::Reverse(one.response.as_ref().map(|all| all.max_ns)));
        slowest.truncate(STEPS);
    }
    for one in &slowest {
        let times = ["p50", "p99", "max"].map(|row| match &one.response {
            Some(response) => words::cell(response, row),
            None => NOTHING.to_owned(),
        });
        let counts = [one.ok, one.errors].map(fmt_count);
        let name = shorten(&one.name, STEP_NAME);
        table.row(std::iter::once(name).chain(counts).chain(times));
    }
    section.table(table);
    let left = rows.len() - slowest.len();
    if left > 0 {
        let left = match what {
            "address" => format!("{} more", fmt_count(left as u64)),
            _ => fmt_plural(left as u64, what),
        };
        section.remark(format!("the {} slowest; and {left}", slowest.len()));
    }
}

/// The rate and the tail over time, a character for each slice of the run.
fn course(section: &mut Section, document: &Document) {
    let shortest_ns = document.plan.recording.interval_ns / 2;
    let all: Vec<_> = document
        .window_intervals()
        .filter(|one| one.end_ns.saturating_sub(one.start_ns) >= shortest_ns)
        .collect();
    if all.len() < FEWEST {
        return;
    }
    let slices: Vec<Rows> = Rows::chunks(&all, all.len().div_ceil(STRIP)).collect();
    let rates: Vec<_> = slices.iter().map(|rows| rows.per_s(|one| one.answered)).collect();
    let p99 = |rows: &Rows| rows.highest(|one| one.response.p99_ns).map(|ns| ns as f64);
    let tails: Vec<_> = slices.iter().map(p99).collect();
    for (name, values, written) in [
        ("rate", rates, fmt_per_second as fn(f64) -> String),
        ("p99", tails, |ns| fmt_duration_ns(ns as u64)),
    ] {
        if let Some((strip, highest)) = strip(&values) {
            section.fact(name, None, format!("{strip}  up to {}", written(highest)));
        }
    }
}

/// A bar for each value, relative to the highest; `None` if there is no value above zero.
fn strip(values: &[Option<f64>]) -> Option<(String, f64)> {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let sign = |value: &Option<f64>| match value {
        None => ' ',
        Some(value) => SIGNS[((value / highest * 7.0).round() as usize).min(7)],
    };
    (highest > 0.0).then(|| (values.iter().map(sign).collect(), highest))
}

/// The ledger, unless it is trivial.
fn ledger(section: &mut Section, document: &Document) {
    let ledger = &document.ledger;
    let elsewhere = [ledger.shed, ledger.unsent, ledger.unfinished, ledger.unaccounted];
    let went_elsewhere = elsewhere.iter().any(|one| *one > 0);
    if went_elsewhere || !ledger.balances() {
        let all = [
            (ledger.ok, "ok"),
            (ledger.broken_off, "broken off"),
            (ledger.errors, if ledger.errors == 1 { "error" } else { "errors" }),
            (ledger.unfinished, "unfinished"),
            (ledger.shed, "shed"),
            (ledger.unsent, "unsent"),
            (ledger.unaccounted, "unaccounted"),
        ];
        let sum: u64 =
            all.iter().map(|(count, _)| count).fold(0, |sum, one| sum.saturating_add(*one));
        let sign = if sum == ledger.scheduled { "=" } else { "≠" };
        let parts = words::counted(all).collect::<Vec<_>>().join(" + ");
        section.fact("Ledger", None, format!("{} due {sign} {parts}", fmt_count(ledger.scheduled)));
    }
}

/// Objectives, errors, statuses, TLS.
fn troubles(section: &mut Section, document: &Document) {
    // The missed ones first: there may not be room for all.
    let (met, missed): (Vec<_>, Vec<_>) = document.expectations.iter().partition(|one| one.met());
    for one in missed.iter().chain(&met).take(OBJECTIVES) {
        section.fact("Objective", Some(words::gate(one.outcome).0), &one.sentence);
    }
    let (objectives, misses) = (document.expectations.len(), missed.len());
    if objectives > OBJECTIVES {
        let (more, missed) = (objectives - OBJECTIVES, misses.saturating_sub(OBJECTIVES));
        section.fact("Objective", None, format!("and {more} more, of which {missed} missed"));
    }
    let mut errors: Vec<_> = document.errors.iter().collect();
    errors.sort_by_key(|one| std::cmp::Reverse(one.count));
    // The most frequent one gets two lines.
    for (one, room) in errors.iter().take(ERRORS).zip([2 * LONG, LONG, LONG]) {
        let example = one.example.as_ref().unwrap_or(&one.sentence);
        let text = format!("{} {}: {example}{}", fmt_count(one.count), one.kind, one.advice());
        section.fact("Errors", Some(Tone::Bad), shorten(&text, room));
    }
    if errors.len() > ERRORS {
        // Counts of a saved result may be anything.
        let rest = errors[ERRORS..].iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
        let kinds = fmt_plural((errors.len() - ERRORS) as u64, "more kind");
        section.fact("Errors", None, format!("{} of {kinds}", fmt_count(rest)));
    }
    if let Some(one) = document.connect_errors.iter().max_by_key(|one| one.count) {
        let example = one.example.as_ref().unwrap_or(&one.sentence);
        let text = format!("{} failed: {example}", fmt_plural(one.count, "attempt"));
        section.fact("Connect", Some(Tone::Bad), shorten(&text, LONG) + &one.advice());
    }
    if let Some(statuses) = words::statuses_by_class(&document.statuses) {
        section.fact("Statuses", None, shorten(&statuses, LONG));
    }
    for one in document.connections.handshakes.iter().take(HANDSHAKES) {
        section.fact("TLS", None, connections::handshakes(one));
    }
}

/// The most serious findings, then the number of the others. Where it is said why no request succeeded, that there is
/// no rate says nothing more.
fn findings(section: &mut Section, document: &Document) {
    let has_cause = document.nothing_worked()
        && document.verdicts.iter().any(|one| one.id == "errors-dominate");
    let told = || document.verdicts.iter().filter(|one| !(has_cause && one.id == "no-rate"));
    for verdict in told().take(FINDINGS) {
        section.blocks.push(Block::Finding(Finding::of(verdict)));
    }
    let rest: Vec<&str> = told().skip(FINDINGS).map(|Verdict { id, .. }| id.as_str()).collect();
    if !rest.is_empty() {
        let text = format!("and {} more: {}", rest.len(), rest.join(", "));
        section.remark(shorten(&text, LONG));
    }
}

/// `ok: 4 % CPU, p99 send lag 1 ms`
fn loader(document: &Document) -> String {
    // Its finding has a share of its own: of the time that the threads got.
    let is_told = document.verdicts.iter().any(|one| one.id == "loader-cpu");
    let workers = document.workers.iter().filter(|_| !is_told);
    let shares = workers.filter_map(|worker| worker.cpu_share);
    let mut parts = Vec::new();
    parts
        .extend(shares.max_by(f64::total_cmp).map(|busiest| format!("{} CPU", fmt_share(busiest))));
    let lag_ns = document.latencies.send_lag.percentile_ns("p99");
    parts.extend(lag_ns.map(|ns| format!("p99 send lag {}", fmt_duration_ns(ns))));
    let jitter = |machine: &MachineRow| machine.hiccups.as_ref().map(|one| one.longest_ns());
    let longest_ns = document.machines.iter().filter_map(jitter).max().filter(|ns| *ns > 0);
    parts.extend(longest_ns.map(|ns| format!("scheduling jitter up to {}", fmt_duration_ns(ns))));
    let doubtful = document.verdicts.iter().find(|one| one.subject().is_loader());
    let standing = doubtful.map_or("ok".to_owned(), |one| format!("see {}", one.id));
    match parts.is_empty() {
        true => standing,
        false => format!("{standing}: {}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::Style;
    use candor_report::testing;

    fn short(document: &Document) -> String {
        page(document).text(Style::PLAIN)
    }

    #[test]
    fn short_pages_are_these() {
        let mut managed = testing::healthy_open();
        managed.set_target(testing::watched(), false);
        for (name, document) in [
            ("open", testing::healthy_open()),
            ("closed", testing::healthy_closed()),
            ("broken", testing::broken()),
            ("stalled", testing::stalled_open()),
            ("empty", testing::empty_run().document()),
            ("target", managed),
        ] {
            testing::golden(&format!("golden/short-{name}.txt"), &short(&document));
        }
    }

    /// 25 lines for a healthy run with strips, 35 for the worst run of these tests; 100 columns.
    #[test]
    fn a_short_page_fits_on_a_screen() {
        for document in [testing::healthy_open(), testing::healthy_closed()] {
            assert!(short(&document).lines().count() <= 22, "{}", short(&document));
        }
        let every = testing::every_document().into_iter().chain(testing::provoked());
        for document in every.chain([testing::full()]) {
            let text = short(&document);
            // The command line adds a blank line, and a line about where to find more.
            assert!(text.lines().count() <= 33, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }

    /// 24 lines of 80 columns, of which the last two are of the shell and of the command line.
    #[test]
    fn what_matters_is_on_the_first_screen() {
        let every = testing::every_document().into_iter().chain(testing::provoked());
        for document in every.chain([testing::full()]) {
            let text = page(&document).text(Style::PLAIN.within(80));
            let screen: Vec<&str> = text.lines().take(22).collect();
            let has = |what: &str| screen.iter().any(|line| line.trim_start().starts_with(what));
            let (_, word, _) = words::verdict(&document);
            assert!(has(word), "{word}: {text}");
            assert_eq!(has("Ledger"), text.contains("\nLedger "), "{text}");
            assert!(has("max ") || document.latencies.response.count == 0, "{text}");
            let first = text.lines().find(|line| {
                ["INVALID", "warning", "note"].iter().any(|word| line.trim().starts_with(word))
            });
            assert!(first.is_none_or(|line| screen.contains(&line)), "{text}");
        }
    }

    /// Saved results are untrusted.
    #[test]
    fn counts_beyond_all_measure_are_told() {
        let mut document = testing::broken();
        let ledger = &mut document.ledger;
        (ledger.shed, ledger.unsent, ledger.unfinished) = (u64::MAX, u64::MAX, u64::MAX);
        let one = document.errors[0].clone();
        document.errors =
            vec![candor_report::document::counts::ErrorCount { count: u64::MAX, ..one }; 6];
        let text = short(&document);
        assert!(text.contains("≠") && text.contains("of 3 more kinds"), "{text}");
    }

    #[test]
    fn objectives_that_have_no_room_are_counted() {
        let mut document = testing::full();
        let one = document.expectations.first().cloned().expect("it has objectives");
        document.expectations = vec![one; 7];
        let text = short(&document);
        assert!(text.contains("and 3 more, of which "), "{text}");
    }

    #[test]
    fn a_strip_is_as_high_as_its_values() {
        let some = |values: &[f64]| values.iter().map(|one| Some(*one)).collect::<Vec<_>>();
        assert_eq!(strip(&some(&[0.0, 0.5, 1.0])), Some(("▁▅█".to_owned(), 1.0)));
        assert_eq!(strip(&[Some(3.0), None]), Some(("█ ".to_owned(), 3.0)));
        assert_eq!(strip(&some(&[0.0])), None);
        assert_eq!(strip(&[None]), None);
    }
}
