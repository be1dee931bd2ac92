//! The page of a run: what the text report has, and its course in pictures.

mod charts;
mod loader;

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second, fmt_share};

use super::super::words::{self, NOTHING, ROWS, Standing};
use super::course::Course;
use super::page::{Column, Page, Section, Table, Tone};
use crate::document::Document;
use crate::document::counts::ErrorCount;
use crate::expect::{Judgement, Outcome};
use crate::verdicts::{Severity, Verdict};

/// The page of a run.
pub fn render(document: &Document) -> String {
    let mut page = Page::new(&words::what(document));
    header(page.header(), document);
    page.section("findings", "Findings", |section| findings(section, document));
    page.section("latency", "Latency", |section| latency(section, document));
    page.section("course", "Over time", |section| course(section, document));
    page.section("requests", "Requests", |section| requests(section, document));
    page.section("connections", "Connections", |section| connections(section, document));
    page.section("target", "Target", |section| loader::target(section, document));
    page.section("loader", "Loader", |section| loader::loader(section, document));
    page.section("plan", "What was asked", |section| loader::plan(section, document));
    page.footer(&format!(
        "Made by {} from a {} document.",
        words::identity(document),
        document.format
    ));
    page.finish()
}

impl From<Standing> for Tone {
    fn from(standing: Standing) -> Tone {
        match standing {
            Standing::Good => Tone::Good,
            Standing::Doubtful => Tone::Doubtful,
            Standing::Bad => Tone::Bad,
        }
    }
}

fn header(header: &mut Section, document: &Document) {
    header.text(&words::how(document).join(" · "));
    header.remark(&words::identity(document));
    let verdict = words::verdict(document);
    header.standing(verdict.standing.into(), verdict.word, &verdict.sentence);
    let open = document.plan.load.is_open();
    let (name, timed) = match open {
        true => ("response time", &document.latencies.response),
        false => ("service time", &document.latencies.service),
    };
    let about = |row: &str| match words::interval(timed, row) {
        interval if interval.is_empty() => format!("{name} at {row}"),
        interval => format!("{name}, 95 %: {interval}"),
    };
    let achieved = document.rate.achieved_per_s.map_or(NOTHING.to_owned(), fmt_per_second);
    let asked = match document.rate.asked_per_s.filter(|_| open) {
        Some(asked) => format!("of {} asked", fmt_per_second(asked)),
        None => "as fast as it went".to_owned(),
    };
    let ledger = &document.ledger;
    let errors = match ledger.sent {
        0 => "nothing was sent".to_owned(),
        sent => format!("{} of what was sent", fmt_share(ledger.errors as f64 / sent as f64)),
    };
    header.figures(&[
        ("Rate", achieved, asked),
        ("Median", words::cell(timed, "p50"), about("p50")),
        ("p99", words::cell(timed, "p99"), about("p99")),
        ("Longest", words::cell(timed, "max"), format!("{name} of {}", fmt_count(timed.count))),
        ("Errors", fmt_count(ledger.errors), errors),
    ]);
}

/// What is to be known before the numbers are trusted, and what was expected of them.
fn findings(section: &mut Section, document: &Document) {
    for Judgement { outcome, sentence, .. } in &document.expectations {
        let (tone, word) = match outcome {
            Outcome::Met => (Tone::Good, "Met"),
            Outcome::NotMet => (Tone::Bad, "Not met"),
            Outcome::NotMeasurable => (Tone::Bad, "Not measurable"),
        };
        section.standing(tone, word, sentence);
    }
    for Verdict { id, severity, sentence, evidence, remedy, .. } in &document.verdicts {
        let (tone, word) = match severity {
            Severity::Invalid => (Tone::Bad, "invalid"),
            Severity::Warning => (Tone::Doubtful, "warning"),
            Severity::Note => (Tone::Plain, "note"),
        };
        let evidence: Vec<_> =
            evidence.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
        section.finding(tone, word, id, sentence, remedy, &evidence);
    }
    if document.verdicts.is_empty() {
        section.text("Nothing was found against the numbers.");
    }
}

/// The table of percentiles, and their curves.
fn latency(section: &mut Section, document: &Document) {
    let latencies = &document.latencies;
    if latencies.response.count == 0 {
        section.text(words::UNTIMED);
        section.facts(&Vec::from_iter(words::never_answered(document).map(|text| ("Never", text))));
        return;
    }
    match charts::percentiles(document) {
        Ok(chart) => section.chart(&chart),
        Err(error) => section.text(&format!("There are no curves: {error}.")),
    }
    let columns = words::columns(document);
    let first = columns[0].2;
    let names = columns.iter().map(|(name, about, _)| Column::figures(name).about(about));
    let mut names: Vec<Column> = names.collect();
    names.insert(0, Column::words(""));
    names.insert(2, Column::figures("95 % interval").about(&format!("of {}", columns[0].0)));
    let mut table = Table::new(names);
    for row in ROWS {
        let mut cells: Vec<_> = columns.iter().map(|column| words::cell(column.2, row)).collect();
        cells.insert(0, row.to_owned());
        cells.insert(2, words::interval(first, row));
        table.row(cells);
    }
    section.table(&table);
    let closed = (!document.plan.load.is_open()).then(|| words::CLOSED.to_owned());
    let notes = [words::missing(&columns), words::clumps(first), closed];
    for note in notes.into_iter().flatten().chain(words::never_answered(document)) {
        section.remark(&note);
    }
    kernel(section, document);
}

/// Service time in its parts.
fn kernel(section: &mut Section, document: &Document) {
    let Some(kernel) = &document.kernel else { return };
    section.heading("Service time, by the kernel's time stamps");
    if kernel.service.count > 0 {
        let columns = words::kernel_columns(kernel);
        let names = columns.iter().map(|(name, about, _)| Column::figures(name).about(about));
        let mut table = Table::new(std::iter::once(Column::words("")).chain(names));
        for row in ["min", "p50", "p99", "max", "mean"] {
            let cells = columns.iter().map(|column| words::cell(column.2, row));
            table.row(std::iter::once(row.to_owned()).chain(cells));
        }
        section.table(&table);
    }
    section.remark(&words::kernel_note(kernel));
}

/// The intervals, in pictures and figure by figure.
fn course(section: &mut Section, document: &Document) {
    let course = match Course::of(document) {
        Ok(course) => course,
        Err(error) => return section.text(&format!("There are no charts: {error}.")),
    };
    section.facts(&Vec::from_iter(course.note().map(|note| ("Points", note))));
    for chart in charts::over_time(document, &course) {
        section.chart(&chart);
    }
    let most = 120;
    if (1..=most).contains(&document.intervals.len()) {
        section.details("Every interval in figures", |details| {
            details.table(&intervals(document));
        });
    }
}

fn intervals(document: &Document) -> Table {
    let mut table = Table::new(
        [
            "from",
            "to",
            "answered",
            "rate",
            "errors",
            "shed",
            "connections",
            "backlog",
            "p50",
            "p99",
            "max",
        ]
        .map(Column::figures),
    );
    let time = |ns: Option<u64>| ns.map_or(NOTHING.to_owned(), fmt_duration_ns);
    for row in &document.intervals {
        table.row([
            fmt_duration_ns(row.start_ns),
            fmt_duration_ns(row.end_ns),
            fmt_count(row.answered),
            row.answered_per_s.map_or(NOTHING.to_owned(), fmt_per_second),
            fmt_count(row.errors),
            fmt_count(row.shed),
            fmt_count(row.connections),
            fmt_count(row.backlog),
            time(row.response.p50_ns),
            time(row.response.p99_ns),
            time(row.response.max_ns),
        ]);
    }
    table
}

/// Where every request went: ledger, errors, statuses, each request of several.
fn requests(section: &mut Section, document: &Document) {
    ledger(section, document);
    errors(section, "Errors", &document.errors, document.ledger.sent);
    if !document.statuses.is_empty() {
        section.facts(&[("Statuses", words::statuses(&document.statuses))]);
    }
    if !document.broken_off_statuses.is_empty() {
        let heard = words::statuses(&document.broken_off_statuses);
        section.facts(&[("Answered after the break", heard)]);
    }
    if !document.requests.is_empty() {
        section.heading("Each request");
        let figures = ["sent", "ok", "errors", "p50", "p99", "max"].map(Column::figures);
        let mut table = Table::new(std::iter::once(Column::words("name")).chain(figures));
        for one in &document.requests {
            let time = |row| {
                one.response.as_ref().map_or(NOTHING.to_owned(), |timed| words::cell(timed, row))
            };
            let counts = [one.sent, one.ok, one.errors].map(fmt_count);
            let times = ["p50", "p99", "max"].map(time);
            table.row(std::iter::once(one.name.clone()).chain(counts).chain(times));
        }
        section.table(&table);
    }
}

fn ledger(section: &mut Section, document: &Document) {
    let ledger = &document.ledger;
    section.heading("Ledger");
    let mut table = Table::new([
        Column::words(""),
        Column::figures("requests"),
        Column::figures("share"),
        Column::words("meaning"),
    ]);
    let broken_off = ("+ broken off", ledger.broken_off, ledger.sent, "by us, as the plan says");
    let rows = [
        ("scheduled", ledger.scheduled, ledger.scheduled, "what the load asked for"),
        ("= sent", ledger.sent, ledger.scheduled, "their first byte was handed to the kernel"),
        ("+ shed", ledger.shed, ledger.scheduled, "dropped unsent: too old"),
        ("+ unsent", ledger.unsent, ledger.scheduled, "due, and still waiting when the run ended"),
        ("sent", ledger.sent, ledger.sent, ""),
        ("= ok", ledger.ok, ledger.sent, "answered as expected"),
        ("+ errors", ledger.errors, ledger.sent, "failed after being sent"),
        ("+ unfinished", ledger.unfinished, ledger.sent, "not answered when the drain ended"),
    ];
    let has_broken_off = ledger.broken_off > 0;
    let (before, after) = rows.split_at(6);
    let rows = before.iter().chain(has_broken_off.then_some(&broken_off)).chain(after);
    for &(name, count, of, meaning) in rows {
        let share = if of > 0 { fmt_share(count as f64 / of as f64) } else { NOTHING.to_owned() };
        table.row([name.to_owned(), fmt_count(count), share, meaning.to_owned()]);
    }
    section.table(&table);
    section.remark(match ledger.balances() {
        true => "Both equations hold: every request that was due ended in exactly one place.",
        false => "≠ The equations do not hold. That is a fault of the loader.",
    });
    if let Some(warm_up) = words::warm_up(document) {
        section.remark(&warm_up);
    }
}

fn errors(section: &mut Section, heading: &str, errors: &[ErrorCount], of: u64) {
    if errors.is_empty() {
        return;
    }
    section.heading(heading);
    let mut table = Table::new([
        Column::words("kind"),
        Column::figures("count"),
        Column::figures("share"),
        Column::words("meaning"),
        Column::words("the first one"),
    ]);
    for one in errors {
        let share =
            if of > 0 { fmt_share(one.count as f64 / of as f64) } else { NOTHING.to_owned() };
        let example = one.example.clone().unwrap_or_default();
        table.row([one.kind.clone(), fmt_count(one.count), share, one.sentence.clone(), example]);
    }
    section.table(&table);
}

/// Connections, handshakes, bytes.
fn connections(section: &mut Section, document: &Document) {
    let mut facts = vec![("Connections", words::connections(document))];
    facts.extend(words::connect(document).map(|text| ("Time to connect", text)));
    let handshakes = document.connections.handshakes.iter();
    facts.extend(handshakes.map(|one| ("TLS", words::handshakes(one))));
    facts.extend(words::handshake_time(document).map(|text| ("TLS", text)));
    facts.push(("Bytes", words::bytes(document)));
    section.facts(&facts);
    errors(section, "Attempts to connect that failed", &document.connect_errors, 0);
    errors(section, "Connections that were lost", &document.connections.losses, 0);
}

#[cfg(test)]
mod tests;
