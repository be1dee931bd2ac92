//! The identities of the ledger in every row of every output of a run, whatever happened in it.

use candor_record::{
    Collector, CollectorSettings, EndReason, ErrorKind, RunRecord, Stretch, Workers,
};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use serde_json::Value;

use candor_report::json;

use super::wrk::json::HistFormat;
use super::{csv, h2load, hlog, wrk};
use candor_report::document::Document;
use candor_report::document::live::Line;
use candor_report::testing::{self, Outcome, Run, Simulated};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
/// Of the simulated run: half a second of warm-up, then three seconds.
const END_NS: u64 = 3_500 * MS;

fn outcome() -> impl Strategy<Value = Outcome> {
    let failed = (0..ErrorKind::ALL.len(), 0..900 * MS).prop_map(|(kind, after_ns)| {
        let kind = ErrorKind::ALL[kind];
        let status = matches!(kind, ErrorKind::Status | ErrorKind::Body).then_some(503);
        Outcome::Failed { kind, status, after_ns }
    });
    prop_oneof![
        6 => (0..2 * S).prop_map(|service_ns| Outcome::Ok { service_ns }),
        2 => failed,
        1 => Just(Outcome::Unfinished),
        1 => Just(Outcome::Unsent),
        1 => (0..500 * MS).prop_map(|after_ns| Outcome::Shed { after_ns }),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let request = (0..END_NS, 0..400 * MS, 0..50 * MS, outcome());
    let one = request.prop_map(|(due_ns, queue_wait_ns, send_lag_ns, outcome)| Simulated {
        due_ns,
        queue_wait_ns,
        send_lag_ns,
        request: 0,
        outcome,
    });
    prop::collection::vec(one, 0..120).prop_map(|mut requests| {
        // What comes later than the drain is unfinished.
        for one in &mut requests {
            if let Outcome::Ok { service_ns } | Outcome::Failed { after_ns: service_ns, .. } =
                one.outcome
                && one.due_ns + one.queue_wait_ns + one.send_lag_ns + service_ns >= END_NS
            {
                one.outcome = Outcome::Unfinished;
                (one.queue_wait_ns, one.send_lag_ns) = (0, 0);
            }
        }
        requests.sort_by_key(|one| one.due_ns);
        Run { requests, ..testing::healthy_open_run() }
    })
}

/// What one row of an output has of the ledger.
struct Row {
    sent: u64,
    outcomes: u64,
    in_flight: u64,
    connections: u64,
}

impl Row {
    fn of(field: impl Fn(&str) -> u64) -> Self {
        let outcomes = ["ok", "errors", "broken_off", "unfinished"].map(&field);
        Row {
            sent: field("sent"),
            outcomes: outcomes.into_iter().sum(),
            in_flight: field("in_flight"),
            connections: field("connections"),
        }
    }
}

/// What was sent up to the end of each row has an outcome or is in flight, beside requests of the warm-up.
fn check(rows: &[Row], document: &Document) {
    let (mut sent, mut outcomes) = (0, 0);
    for row in rows {
        sent += row.sent;
        outcomes += row.outcomes;
        let warm_up = row.in_flight - (sent - outcomes);
        assert!(warm_up <= document.warm_up.sent, "{warm_up} of the warm-up");
        assert!(row.in_flight == 0 || row.connections > 0);
    }
    assert_eq!(rows.last().map_or(0, |row| row.in_flight), 0);
    assert_eq!((sent, outcomes), (document.ledger.sent, document.ledger.sent));
}

fn of_csv(document: &Document) -> Vec<Row> {
    let text = csv::run(document);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().unwrap();
    let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    lines.map(|line| Row::of(|name| line[at(name)].parse().unwrap())).collect()
}

fn of_ndjson(document: &Document) -> Vec<Row> {
    let line = |summary: &candor_record::IntervalSummary| {
        let summary = Box::new(summary.clone());
        let text = json::line(&Line::Interval { summary, machines: Vec::new() });
        let line: Value = serde_json::from_str(&text).unwrap();
        Row::of(|name| line[name].as_u64().unwrap())
    };
    document.intervals.iter().map(line).collect()
}

/// The samples of each line, and of all.
fn of_hlog(document: &Document) -> Vec<u64> {
    let text = hlog::render(document);
    let samples = |entry| match entry {
        LogEntry::Interval(interval) => {
            let encoded = serde_json::json!(interval.encoded_histogram());
            let encoded: candor_record::Encoded = serde_json::from_value(encoded).unwrap();
            Some(encoded.decode().unwrap().len())
        }
        _ => None,
    };
    IntervalLogIterator::new(text.as_bytes()).filter_map(|entry| samples(entry.unwrap())).collect()
}

/// The reports of wrk's fork that are printed while a run goes on: one for each interval.
fn of_wrk(run: &Run, record: &RunRecord) -> Vec<Value> {
    let mut documents = Vec::new();
    run.watch(&mut |stretch: &Stretch<'_>| {
        let mut part = Collector::new(CollectorSettings {
            digits: run.plan.recording.digits,
            requests: 1,
            journeys: 0,
            warm_up_ns: run.plan.recording.warm_up_ns,
            connections_asked: 16,
            workers: Workers::all(stretch.workers.len() as u32),
        });
        part.follow(stretch, record.warm_up_ns + record.window_ns);
        documents.push(Document::new(&testing::facts(), &run.checked(), &part.so_far()));
    });
    let report =
        |one| serde_json::from_str(&wrk::json::report(one, HistFormat::V1).unwrap()).unwrap();
    documents.iter().map(report).collect()
}

/// The numbers of h2load's line of requests, by their names.
fn of_h2load(document: &Document) -> impl Fn(&str) -> u64 {
    let text = h2load::text::summary(document, false).unwrap();
    let line = text.lines().find(|line| line.starts_with("requests: ")).unwrap().to_owned();
    move |name| {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == name).unwrap();
        words[at - 1].parse().unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_of_every_output_has_the_ledger(run in run()) {
        let record = run.record();
        let document = Document::new(&testing::facts(), &run.checked(), &record);
        prop_assert_eq!(document.end.reason, EndReason::Duration);
        check(&of_csv(&document), &document);
        check(&of_ndjson(&document), &document);
        let ledger = &document.ledger;

        let ok: Vec<u64> = document.intervals.iter().map(|row| row.ok).collect();
        prop_assert_eq!(of_hlog(&document), ok);

        let number = |report: &Value, name: &str| report[name].as_u64().unwrap_or(0);
        let parts = of_wrk(&run, &record);
        let whole: Value = serde_json::from_str(&wrk::json::report(&document, HistFormat::V1).unwrap()).unwrap();
        let sum: u64 = parts.iter().map(|part| number(part, "total_req")).sum();
        prop_assert_eq!(sum, number(&whole, "total_req"));
        for kind in ["read", "write", "timeout", "http_error"] {
            let sum: u64 = parts.iter().map(|part| number(&part["errors"], kind)).sum();
            prop_assert_eq!(sum, number(&whole["errors"], kind), "{}", kind);
        }

        let h2load = of_h2load(&document);
        prop_assert_eq!(h2load("total"), ledger.scheduled);
        prop_assert_eq!(h2load("started"), ledger.sent);
        prop_assert_eq!(h2load("done") + ledger.unfinished, h2load("started"));
        prop_assert_eq!(h2load("done"), h2load("succeeded") + h2load("failed"));
        prop_assert!(h2load("timeout") <= h2load("errored") && h2load("errored") <= h2load("failed"));
    }
}
