//! The form to the byte, figures against the document.

use candor_record::ErrorKind;
use candor_testkit::ghz_form::{form, transcript};
use serde_json::Value;

use super::{json, summary};
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
    let ours = summary::summary(&testing::healthy_closed(), None).unwrap();
    assert_eq!(form(&ours), form(transcript("ghz-ok")));
    let mut document = with_errors();
    document.errors[0].example = Some("gRPC status NOT_FOUND: nothing here".to_owned());
    document.errors[0].count = 66;
    document.errors[1].kind = ErrorKind::GrpcPermissionDenied.id().to_owned();
    document.errors[1].example = Some("gRPC status PERMISSION_DENIED: no entry".to_owned());
    document.errors[1].count = 67;
    document.ledger.ok = 67;
    let ours = summary::summary(&document, None).unwrap();
    let (ours, real) = (form(&ours), form(transcript("ghz-errors")));
    let at = |lines: &[String]| lines.iter().position(|line| line.starts_with("Status")).unwrap();
    assert_eq!(ours[at(&ours)..], real[at(&real)..]);
    // The longest bar, and a name.
    let named = summary::summary(&testing::healthy_closed(), Some("n")).unwrap();
    assert!(named.starts_with("\nSummary:\n  Name:\t\tn\n  Count:\t"), "{named}");
    assert!(named.contains(&"∎".repeat(40)) && !named.contains(&"∎".repeat(41)), "{named}");
}

#[test]
fn errors_are_by_status_and_by_what_they_say() {
    let text = summary::summary(&with_errors(), None).unwrap();
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
            serde_json::from_str(&json::report(&document, None, None, true).unwrap()).unwrap();
        let bars = report["histogram"].as_array().unwrap();
        let sum: u64 = bars.iter().map(|bar| bar["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, document.ledger.ok);
        assert_eq!(report["count"], document.ledger.ok + document.ledger.errors);
        assert_eq!(report["slowest"], document.latencies.response.max_ns.unwrap_or(0));
        assert!(summary::summary(&document, None).is_ok());
    }
}
