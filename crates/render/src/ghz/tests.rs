//! The form to the byte, figures against the document.

use candor_record::trace::Outcome;
use candor_record::{ErrorKind, Phase, Traced};
use candor_testkit::ghz_form::{form, transcript};
use serde_json::Value;

use super::{Run, csv, ended, influx, json, summary};
use candor_report::document::Document;
use candor_report::document::counts::ErrorCount;
use candor_report::testing;

fn with_errors() -> Document {
    let mut document = testing::healthy_closed();
    let error = |kind: ErrorKind, count, example: Option<&str>| ErrorCount {
        kind: kind.id().to_owned(),
        count,
        sentence: kind.sentence().to_owned(),
        example: example.map(str::to_owned),
        remedy: None,
    };
    document.errors = vec![
        error(ErrorKind::GrpcNotFound, 3, Some("gRPC status NOT_FOUND: no such order")),
        error(ErrorKind::Timeout, 12, None),
    ];
    document.ledger.errors = 15;
    document
}

#[test]
fn the_summary_has_the_form_of_ghz() {
    let ours = summary::summary(&Run::of(&testing::healthy_closed())).unwrap();
    assert_eq!(form(&ours), form(transcript("ghz-ok")));
    let mut document = with_errors();
    document.errors[0].example = Some("gRPC status NOT_FOUND: nothing here".to_owned());
    document.errors[0].count = 66;
    document.errors[1].kind = ErrorKind::GrpcPermissionDenied.id().to_owned();
    document.errors[1].example = Some("gRPC status PERMISSION_DENIED: no entry".to_owned());
    document.errors[1].count = 67;
    document.ledger.ok = 67;
    let ours = summary::summary(&Run::of(&document)).unwrap();
    let (ours, real) = (form(&ours), form(transcript("ghz-errors")));
    let at = |lines: &[String]| lines.iter().position(|line| line.starts_with("Status")).unwrap();
    assert_eq!(ours[at(&ours)..], real[at(&real)..]);
    // The longest bar, and a name.
    let healthy = testing::healthy_closed();
    let named = summary::summary(&Run { name: Some("n"), ..Run::of(&healthy) }).unwrap();
    assert!(named.starts_with("\nSummary:\n  Name:\t\tn\n  Count:\t"), "{named}");
    assert!(named.contains(&"∎".repeat(40)) && !named.contains(&"∎".repeat(41)), "{named}");
}

#[test]
fn errors_are_by_status_and_by_what_they_say() {
    let text = summary::summary(&Run::of(&with_errors())).unwrap();
    assert!(!text.contains("Name:"), "{text}");
    let (_, rest) = text.split_once("Status code distribution:\n").unwrap();
    let (statuses, errors) = rest.split_once("\nError distribution:\n").unwrap();
    let first: Vec<&str> = statuses.lines().map(|line| line.split(']').next().unwrap()).collect();
    assert_eq!(first, ["  [DeadlineExceeded", "  [NotFound", "  [OK"]);
    let second: Vec<&str> = errors.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(second.len(), 2);
    assert!(
        second[0].starts_with("  [12]   rpc error: code = DeadlineExceeded desc = "),
        "{errors}"
    );
    assert_eq!(second[1].trim_end(), "  [3]    rpc error: code = NotFound desc = no such order");
}

#[test]
fn every_call_is_in_one_bar() {
    for document in [testing::healthy_closed(), testing::empty_run().document()] {
        let report: Value =
            serde_json::from_str(&json::report(&Run::of(&document), true).unwrap()).unwrap();
        let bars = report["histogram"].as_array().unwrap();
        let sum: u64 = bars.iter().map(|bar| bar["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, document.ledger.ok);
        assert_eq!(report["count"], document.ledger.ok + document.ledger.errors);
        assert_eq!(report["slowest"], document.latencies.response.max_ns.unwrap_or(0));
        assert!(summary::summary(&Run::of(&document)).is_ok());
    }
}

fn call(index: u64, due_ns: u64, done_ns: u64, outcome: Outcome) -> Traced {
    let (ready_ns, sent_ns, first_byte_ns) = (due_ns, due_ns, done_ns);
    let (request, connection, status, phase) = (0, 0, 200, Phase::Measured);
    Traced {
        index,
        due_ns,
        ready_ns,
        sent_ns,
        first_byte_ns,
        done_ns,
        request,
        connection,
        outcome,
        status,
        phase,
    }
}

#[test]
fn single_calls_have_the_forms_of_ghz() {
    let document = with_errors();
    let calls = vec![
        call(0, 0, 3_000_000, Outcome::Ok),
        call(1, 0, 1_000_000, Outcome::Ok),
        call(2, 1_000_000, 2_500_000, Outcome::Failed(ErrorKind::GrpcNotFound)),
        call(3, 0, 9_000_000, Outcome::Unfinished),
    ];
    // In the order of their ends, without the first; what has not ended is no call.
    let calls = ended(calls, 1);
    assert_eq!(calls.iter().map(|call| call.index).collect::<Vec<_>>(), [2, 0]);
    let run = Run { calls: &calls, chosen: true, ..Run::of(&document) };
    assert_eq!(
        csv(&run),
        "\nduration (ms),status,error\n1.50,NotFound,rpc error: code = NotFound desc = no such order\n3.00,OK,\n"
    );
    let report: Value = serde_json::from_str(&json::report(&run, false).unwrap()).unwrap();
    assert_eq!(report["count"], 2);
    assert_eq!((&report["fastest"], &report["slowest"]), (&3_000_000.into(), &3_000_000.into()));
    // As in ghz, the average has the errors too.
    assert_eq!(report["average"], 2_250_000);
    assert_eq!(report["statusCodeDistribution"]["NotFound"], 1);
    assert_eq!(report["details"][0]["status"], "NotFound");
    assert_eq!(report["details"][1]["latency"], 3_000_000);
    let counted = Run { count_errors: true, ..run };
    let report: Value = serde_json::from_str(&json::report(&counted, false).unwrap()).unwrap();
    assert_eq!(report["fastest"], 1_500_000);
    assert_eq!(report["latencyDistribution"][2]["latency"], 1_500_000);
    let bars = report["histogram"].as_array().unwrap();
    assert_eq!(bars.iter().map(|bar| bar["count"].as_u64().unwrap()).sum::<u64>(), 2);
    let tags = [("name", influx::quoted("a run")), ("n", "2".to_owned())];
    let started = u128::from(document.started_unix_ms) * 1_000_000;
    let details = influx::details(&run, &tags);
    let lines: Vec<&str> = details.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[1],
        format!(
            r#"ghz_detail,name="a\ run",n=2,hasError=false latency=3000000,error="",status="OK" {}"#,
            started + 3_000_000
        )
    );
    assert!(
        lines[0]
            .contains(r#"hasError=true latency=1500000,error="rpc\ error:\ code\ \=\ NotFound"#)
    );
    let point = influx::summary(&run, &tags).unwrap();
    let begin = r#"ghz_run,name="a\ run",n=2,errors=1,has_errors=true count=2,total="#;
    assert!(point.starts_with(begin), "{point}");
    assert!(point.contains(",average=2250000,fastest=3000000,slowest=3000000,rps="), "{point}");
    assert!(point.contains(",median=3000000,p95=3000000,errors=1 "), "{point}");
    assert_eq!(influx::json(r#"{"a":"b c"}"#), r#""{\"a\":\"b\ c\"}""#);
}
