//! The page of a run: outcome, ledger, latency, time series, participants, and how to rerun it.

mod charts;
mod course;
mod fleet;
mod loader;
mod short;
mod streams;
mod users;

use candor_plan::HttpVersion;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_record::{Brief, IntervalSummary};

use super::words::{self, ROWS};
use super::{bounds, connections, or_nothing, time};
use crate::intervals::{self, Read};
use crate::page::{
    Block, Column, Depth, Figure, Finding, Kind, Page, Section, Sum, Table, Term, share_of,
};
use crate::targets::connections_to;
use candor_report::Tone;
use candor_report::document::Document;
use candor_report::document::Judgement;
use candor_report::document::counts::{ErrorCount, ReasonCount, RequestRow};
use candor_report::document::latency::Distribution;
use candor_report::shorten;
use course::{Course, Rows};

/// The most characters of a request's name in a table; the plan has the whole name.
const NAME: usize = 24;
/// The most rows of the time series. An interval shorter than this fraction of the others has no rate.
const COURSE: usize = 12;
const SHORTEST_SHARE: u64 = 10;
/// The most intervals to show as figures.
const MOST_INTERVALS: usize = 120;

/// The page of a run.
pub fn page(document: &Document, depth: Depth) -> Page {
    if depth == Depth::Short {
        return short::page(document);
    }
    let mut page = Page::new(depth, words::what(document));
    header(&mut page.header, document);
    findings(&mut page.findings, document);
    ledger(page.section("ledger", "Ledger"), document);
    latency(page.section("latency", "Latency"), document);
    streams::section(page.section("streams", "Streams"), document);
    let users = if document.plan.work.are_requests() { "Redirects" } else { "Users" };
    users::section(page.section("users", users), document);
    requests(page.section("requests", "Requests"), document);
    course(page.section("course", "Over time"), document);
    connections(page.section("connections", "Connections"), document);
    fleet::fleet(page.section("fleet", "Fleet"), document);
    loader::target(page.section("target", "Target"), document);
    loader::loader(page.section("loader", "Loader"), document);
    loader::plan(&mut page.again, document);
    page.footer =
        format!("Made by {} from a {} document.", words::identity(document), document.format);
    page
}

fn header(header: &mut Section, document: &Document) {
    header.text(words::how(document).join(" · "));
    header.remark(words::identity(document));
    let (tone, word, sentence) = words::verdict(document);
    header.standing(tone, word, sentence);
    let open = document.plan.has_due_times();
    let (name, timed) = match open {
        true => ("response time", &document.latencies.response),
        false => ("service time", &document.latencies.service),
    };
    let about = |row: &str| match bounds::text(timed, row) {
        interval if interval.is_empty() => format!("{name} at {row}"),
        interval => format!("{name}, 95 %: {interval}"),
    };
    let asked = match document.rate.asked_per_s.filter(|_| open) {
        Some(asked) => format!("of {} asked", fmt_per_second(asked)),
        None => match document.users.as_ref().and_then(|users| users.asked_per_s) {
            Some(first) if document.plan.work.are_requests() => {
                format!("{} asked, plus redirects", fmt_per_second(first))
            }
            Some(users) => format!("with users at {}", fmt_per_second(users)),
            None => "as fast as it went".to_owned(),
        },
    };
    let ledger = &document.ledger;
    let errors = match ledger.sent {
        0 => words::nothing_sent(document).to_owned(),
        sent => format!("{} of what was sent", share_of(ledger.errors, sent)),
    };
    header.blocks.push(Block::Figures(vec![
        Figure("Rate", or_nothing(document.rate.achieved_per_s, fmt_per_second), asked),
        Figure("Median", words::cell(timed, "p50"), about("p50")),
        Figure("p99", words::cell(timed, "p99"), about("p99")),
        Figure(
            "Longest",
            words::cell(timed, "max"),
            format!("{name} of {}", fmt_count(timed.count)),
        ),
        Figure("Errors", fmt_count(ledger.errors), errors),
    ]));
}

/// Objectives, and findings about how far the numbers can be trusted.
fn findings(section: &mut Section, document: &Document) {
    (section.anchor, section.heading) = ("findings", "Findings");
    for one in &document.expectations {
        let Judgement { sentence, outcome, .. } = one;
        section.fact("Expected", Some(words::gate(*outcome).0), sentence);
    }
    let found = document.verdicts.iter().map(Finding::of).map(Block::Finding);
    section.blocks.extend(found);
    if document.verdicts.is_empty() {
        section.full(|section| section.text("There are no findings against the numbers."));
    }
}

/// The outcomes of all requests.
fn ledger(section: &mut Section, document: &Document) {
    let ledger = &document.ledger;
    let mut parts = vec![Term("ok", ledger.ok, "response as expected")];
    if ledger.broken_off > 0 {
        parts.push(Term("broken off", ledger.broken_off, "by us, as planned"));
    }
    parts.push(Term("errors", ledger.errors, "failed after being sent"));
    parts.push(Term("unfinished", ledger.unfinished, "no response when the drain ended"));
    let due = "due, and still waiting when the run ended";
    let mut left = vec![
        Term("sent", ledger.sent, "their first byte was handed to the kernel"),
        Term("shed", ledger.shed, "dropped unsent: too old"),
        Term("unsent", ledger.unsent, due),
    ];
    if ledger.unaccounted > 0 {
        let lost = "scheduled for an agent that was lost";
        left.push(Term("unaccounted", ledger.unaccounted, lost));
    }
    section.blocks.push(Block::Sums(vec![
        Sum { total: Term("scheduled", ledger.scheduled, "requests of the load"), parts: left },
        Sum { total: Term("sent", ledger.sent, ""), parts },
    ]));
    section.remark(words::warm_up(document).unwrap_or_default());
    section.full(|section| {
        section.remark(match ledger.balances() {
            true => "Both equations hold: every request that was due ended in exactly one place.",
            false => "≠ The equations do not hold, which is a bug in Candor.",
        });
    });
    errors(section, "Errors", &document.errors, ledger.sent);
    if let Some(statuses) = words::statuses_by_class(&document.statuses) {
        section.fact("Statuses", None, statuses);
    }
    if !document.broken_off_statuses.is_empty() {
        let heard = words::statuses(&document.broken_off_statuses);
        section.fact("Broken off", None, format!("responses after the break: {heard}"));
    }
}

/// Errors by kind, each with an example.
fn errors(section: &mut Section, heading: &str, errors: &[ErrorCount], of: u64) {
    let mut columns = vec![Column::words("kind"), Column::figures("count")];
    columns.extend((of > 0).then(|| Column::figures("share")));
    columns.extend(["meaning", "the first one"].map(|name| Column::new(name, Kind::Sentences)));
    let mut table = Table::new(columns);
    for one in errors {
        let mut row = vec![one.kind.clone(), fmt_count(one.count)];
        row.extend((of > 0).then(|| share_of(one.count, of)));
        let example = one.example.as_ref().map(|text| format!("e.g. {text}{}", one.advice()));
        row.extend([one.sentence.clone(), example.unwrap_or_default()]);
        table.row(row);
    }
    section.headed(heading, table);
}

/// Percentiles and their curves. Open load: response and service time side by side, then the parts between
/// them. Closed load: response time is service time plus our own lag, so it has no column.
fn latency(section: &mut Section, document: &Document) {
    if document.latencies.response.count == 0 {
        section.text(words::untimed(document));
    } else {
        section.full(|section| match charts::percentiles(document) {
            Ok(chart) => section.chart(chart),
            Err(error) => section.text(format!("There are no curves: {error}.")),
        });
        let columns = words::columns(document);
        let first = columns[0].2;
        let mut table = percentiles(&columns, &ROWS);
        let interval = Column::figures("95 % interval").about(&format!("of {}", columns[0].0));
        table.columns.insert(2, interval);
        for row in &mut table.rows {
            let interval = bounds::text(first, &row[0]);
            row.insert(2, interval);
        }
        section.table(table);
        let closed = !document.plan.has_due_times();
        let closed = closed.then(|| words::CLOSED.to_owned());
        let untouched = words::untouched(document).map(|text| text + ".");
        let notes = [untouched, words::missing(&columns), bounds::meanings(first), closed];
        notes.into_iter().flatten().for_each(|note| section.remark(note));
    }
    let never = words::never_answered(document);
    section.toned(Some(Tone::Doubtful), never.unwrap_or_default());
    if let Some(goodput) = words::goodput(document) {
        section.fact("Goodput", None, goodput);
    }
    if let Some(kernel) = &document.kernel {
        section.heading("Kernel");
        if kernel.service.count > 0 {
            let rows = ["min", "p50", "p99", "max", "mean"];
            section.table(percentiles(&words::kernel_columns(kernel), &rows));
        }
        section.remark(words::kernel_note(kernel));
    }
}

/// Distributions side by side.
fn percentiles(columns: &[(&str, &str, &Distribution)], rows: &[&str]) -> Table {
    let names = columns.iter().map(|(name, about, _)| Column::figures(*name).about(about));
    let mut table = Table::new(std::iter::once(Column::words("")).chain(names));
    for row in rows {
        let cells = columns.iter().map(|column| words::cell(column.2, row));
        table.row(std::iter::once((*row).to_owned()).chain(cells));
    }
    table
}

/// Each target of a plan with several, each address of several, then each request.
fn requests(section: &mut Section, document: &Document) {
    section.table(targets(document));
    section.table(addresses(document));
    section.table(rows(&document.requests));
    section.full(|section| steps(section, document));
}

fn rows(rows: &[RequestRow]) -> Table {
    let figures = ["sent", "ok", "errors", "p50", "p99", "max"].map(Column::figures);
    let mut table = Table::new(std::iter::once(Column::words("name")).chain(figures));
    for one in rows {
        let figure = |row| or_nothing(one.response.as_ref(), |timed| words::cell(timed, row));
        let counts = [one.sent, one.ok, one.errors].map(fmt_count);
        let name = match &one.journey {
            None => shorten(&one.name, NAME - 1),
            Some(journey) => shorten(&format!("{journey}: {}", one.name), NAME + 8),
        };
        let figures = counts.into_iter().chain(["p50", "p99", "max"].map(figure));
        table.row(std::iter::once(name).chain(figures));
    }
    table
}

/// The columns of connections, and of requests, to one target or address.
const TO_CONNECTIONS: [&str; 3] = ["connections", "failed", "lost"];
const TO_REQUESTS: [&str; 7] = ["sent", "ok", "errors", "ok a second", "p50", "p99", "max"];

/// The targets of a plan with several: connections, and requests.
fn targets(document: &Document) -> Table {
    let known: &[&str] = if document.addresses.is_empty() { &[] } else { &TO_CONNECTIONS };
    let figures = known.iter().chain(&TO_REQUESTS).map(|name| Column::figures(*name));
    let mut table = Table::new(std::iter::once(Column::words("target")).chain(figures));
    for one in &document.targets {
        let connections = connections_to(document, &one.name).map(fmt_count);
        let cells = connections.into_iter().filter(|_| !known.is_empty());
        let name = shorten(&one.name, NAME - 1);
        table.row(std::iter::once(name).chain(cells).chain(requests_to(Some(one), document)));
    }
    table
}

/// The addresses of targets: connections, and requests if they are told apart.
fn addresses(document: &Document) -> Table {
    let rows = &document.addresses;
    let has_requests = rows.iter().any(|one| one.requests.is_some());
    let is_several = rows.iter().any(|one| one.target != rows[0].target);
    let mut columns = vec![Column::words("address")];
    columns.extend(is_several.then(|| Column::words("target")));
    columns.extend(TO_CONNECTIONS.into_iter().chain(["down"]).map(Column::figures));
    columns.extend(TO_REQUESTS.map(Column::figures).into_iter().filter(|_| has_requests));
    let mut table = Table::new(columns);
    for one in rows {
        let mut cells = vec![shorten(&one.address, NAME - 1)];
        cells.extend(is_several.then(|| shorten(&one.target, NAME - 1)));
        cells.extend([one.opened, one.failed, one.lost].map(fmt_count));
        cells.push(or_nothing(one.down, fmt_share));
        if has_requests {
            cells.extend(requests_to(one.requests.as_ref(), document));
        }
        table.row(cells);
    }
    table
}

fn requests_to(one: Option<&RequestRow>, document: &Document) -> [String; 7] {
    let Some(one) = one else { return [const { String::new() }; 7] };
    let times = |name| or_nothing(one.response.as_ref(), |timed| words::cell(timed, name));
    let [sent, ok, errors] = [one.sent, one.ok, one.errors].map(fmt_count);
    let rate = or_nothing(document.per_s(one.ok), fmt_per_second);
    [sent, ok, errors, rate, times("p50"), times("p99"), times("max")]
}

/// Statuses of each step, and where its response time comes from.
fn steps(section: &mut Section, document: &Document) {
    let figures = ["service p50", "service p99", "queue wait p99", "send lag p99"];
    let columns = [Column::words("step"), Column::words("statuses")];
    let mut table = Table::new(columns.into_iter().chain(figures.map(Column::figures)));
    for one in &document.requests {
        let Some(step) = &one.step else { continue };
        let cells = [
            words::cell(&step.service, "p50"),
            words::cell(&step.service, "p99"),
            words::cell(&step.queue_wait, "p99"),
            words::cell(&step.send_lag, "p99"),
        ];
        let name = shorten(&one.name, NAME - 1);
        table.row([name, words::statuses(&step.statuses)].into_iter().chain(cells));
    }
    section.table(table);
}

/// The intervals, in figures and in pictures.
fn course(section: &mut Section, document: &Document) {
    section.table(rates(document));
    section.full(|section| match Course::of(document) {
        Ok(course) => {
            section.remark(course.note().unwrap_or_default());
            charts::over_time(document, &course).into_iter().for_each(|one| section.chart(one));
        }
        Err(error) => section.text(format!("There are no charts: {error}.")),
    });
    if (1..=MOST_INTERVALS).contains(&document.intervals.len()) {
        section.details("Every interval in figures", |section| section.table(every(document)));
    }
}

/// Requests per second in each interval. In a long run, a row covers several consecutive intervals. Empty
/// for a run with only one interval.
fn rates(document: &Document) -> Table {
    let open = document.plan.has_due_times();
    let streams = document.plan.target.http != HttpVersion::H1;
    let mut columns: Vec<_> =
        ["from – to", "responses", "errors", "connections"].map(Column::figures).into();
    columns.push(Column::figures(if streams { "streams" } else { "in flight" }));
    columns.extend(open.then(|| Column::figures("backlog")));
    let mut table = Table::new(columns);
    let shortest_ns = document.plan.recording.interval_ns / SHORTEST_SHARE;
    let is_whole = |one: &&IntervalSummary| one.end_ns.saturating_sub(one.start_ns) >= shortest_ns;
    let all: Vec<&IntervalSummary> = document.window_intervals().filter(is_whole).collect();
    if all.len() < 2 {
        return table;
    }
    for rows in Rows::chunks(&all, all.len().div_ceil(COURSE)) {
        // Sums, and the state at the end of the last interval.
        let last = rows.last();
        let (from, to) = (fmt_duration_ns(rows.first().start_ns), fmt_duration_ns(last.end_ns));
        let mut row = vec![
            format!("{from} – {to:<8}"),
            or_nothing(rows.per_s(|one| one.answered), fmt_per_second),
            fmt_count(rows.sum(|one| one.errors)),
            fmt_count(last.connections),
            fmt_count(last.in_flight),
        ];
        row.extend(open.then(|| fmt_count(last.backlog)));
        table.row(row);
    }
    table
}

fn every(document: &Document) -> Table {
    let figures = intervals::in_table();
    let names = figures.iter().map(|one| one.name).chain(["p50", "p99", "max"]);
    let mut table = Table::new(names.map(Column::figures));
    for row in &document.intervals {
        let Brief { p50_ns, p99_ns, max_ns, .. } = row.response;
        let times = [p50_ns, p99_ns, max_ns].map(time);
        table.row(figures.iter().map(|one| cell(one, row)).chain(times));
    }
    table
}

fn cell(figure: &intervals::Figure, row: &IntervalSummary) -> String {
    match figure.read {
        Read::Number(read) | Read::Count(read) | Read::Level(read) => fmt_count(read(row)),
        Read::Time(read) => fmt_duration_ns(read(row)),
        Read::PerSecond(read) => or_nothing(read(row), fmt_per_second),
        Read::Share(read) => or_nothing(read(row), fmt_share),
        Read::Spread(read) | Read::OfEvents(read) | Read::Blocked(read) => time(read(row).p99_ns),
    }
}

/// Connections, handshakes, bytes.
fn connections(section: &mut Section, document: &Document) {
    let connections = &document.connections;
    let mut facts = vec![("Connections", connections::counts(document))];
    facts.extend(connections.goaways.iter().map(|one| {
        let what = fmt_plural(one.count, "GOAWAY");
        let (name, code, last) = (&one.name, one.code, fmt_count(one.last_stream.into()));
        ("Connections", format!("{what} {name} ({code:#x}), the first with last stream {last}"))
    }));
    facts.extend(connections.close_codes.iter().map(|one| {
        let what = fmt_plural(one.count, "close frame");
        let with = |one: &ReasonCount| format!("“{}” ({})", one.reason, fmt_count(one.count));
        let reasons: Vec<String> = one.reasons.iter().map(with).collect();
        let colon = if reasons.is_empty() { "" } else { ": " };
        let reasons = reasons.join(", ");
        ("Connections", format!("{what} of the server with code {}{colon}{reasons}", one.code))
    }));
    facts.extend(words::connect(document).map(|text| ("Connect", text)));
    facts.extend(connections.handshakes.iter().map(|one| ("TLS", connections::handshakes(one))));
    facts.extend(connections::handshake_time(document).map(|text| ("TLS", text)));
    facts.extend(document.names.iter().map(|one| ("Name", words::name(one))));
    facts.extend(document.alternatives.iter().map(|one| ("Alt-Svc", words::alternative(one))));
    facts.extend(document.credentials.iter().map(|one| ("Credential", words::credential(one))));
    facts.push(("Bytes", connections::bytes(document)));
    facts.extend(connections::datagrams(document).map(|text| ("Datagrams", text)));
    facts.extend(connections::paths(document).map(|text| ("Paths", text)));
    facts.extend(connections::blocked(document).map(|text| ("Blocked", text)));
    facts.extend(words::memory(document).map(|text| ("Memory", text)));
    section.facts(facts);
    errors(section, "No connect", &document.connect_errors, 0);
    errors(section, "Lost", &connections.losses, 0);
}

#[cfg(test)]
mod tests;
