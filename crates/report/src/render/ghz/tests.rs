//! The form to the byte, figures against the document.

use candor_record::ErrorKind;
use serde_json::Value;

use super::{json, summary};
use crate::document::Document;
use crate::document::counts::ErrorCount;
use crate::testing;

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

/// Without figures: digits, bars and padding.
fn form(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' | '.' if form.ends_with('#') => {}
            '0'..='9' => form.push('#'),
            '∎' => {}
            c => form.push(c),
        }
    }
    form
}

#[test]
fn the_summary_has_the_form_of_ghz() {
    let text = summary::summary(&testing::healthy_closed(), Some("n")).unwrap();
    let (head, rest) = text.split_once("Response time histogram:\n").unwrap();
    assert_eq!(
        form(head),
        "\nSummary:\n  Name:\t\tn\n  Count:\t#\n  Total:\t# s\n  Slowest:\t# ms\n  Fastest:\t# ms\n  Average:\t# ms\n  Requests/sec:\t#\n\n"
    );
    let (bars, rest) = rest.split_once("\nLatency distribution:\n").unwrap();
    assert_eq!(bars.lines().count(), 11);
    assert!(bars.lines().all(|line| form(line).replace(' ', "") == "#[#]|"), "{bars}");
    assert!(bars.contains(&"∎".repeat(40)) && !bars.contains(&"∎".repeat(41)), "{bars}");
    let (percentiles, rest) = rest.split_once("\n\n").unwrap();
    let shown: Vec<&str> =
        percentiles.lines().map(|line| line.trim_start().split(" % in ").next().unwrap()).collect();
    assert_eq!(shown, ["10", "25", "50", "75", "90", "95", "99"]);
    assert!(percentiles.lines().all(|line| line.ends_with(" ms ")), "{percentiles}");
    assert_eq!(form(rest), "Status code distribution:\n  [OK]   # responses   \n\n\n");
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
