//! Form against real outputs, figures against the document.

use candor_testkit::wrk_form::{form, line, transcript};

use super::json::HistFormat;
use super::text::{Percentiles, calibration, opening, report};
use super::{json, units};
use crate::v1::tests::decode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_record::StatusCount;
use candor_report::document::Document;
use candor_report::testing;
use hdrhistogram::serialization::Deserializer;

fn whole(document: &Document, percentiles: Percentiles, calibrated: bool) -> String {
    let calibration = if calibrated { calibration(document) } else { String::new() };
    opening(document) + &calibration + &report(document, percentiles).unwrap()
}

/// The same run with every kind of trouble.
fn troubled(mut document: Document) -> Document {
    let broken = testing::broken();
    document.errors = broken.errors;
    document.connect_errors = broken.connect_errors;
    document.statuses.push(StatusCount { status: 503, count: 7 });
    document.statuses.push(StatusCount { status: 400, count: 1 });
    document
}

#[test]
fn the_form_of_wrk() {
    let document = testing::healthy_closed();
    assert_eq!(
        form(&whole(&document, Percentiles::Recorded, false)),
        form(transcript("wrk-latency"))
    );
    assert_eq!(
        form(&whole(&troubled(document), Percentiles::None, false)),
        form(transcript("wrk-errors"))
    );
}

#[test]
fn the_form_of_wrk2() {
    let document = testing::healthy_open();
    assert_eq!(
        form(&whole(&document, Percentiles::Recorded, true)),
        form(transcript("wrk2-latency"))
    );
    assert_eq!(
        form(&whole(&document, Percentiles::Both, true)),
        form(transcript("wrk2-u_latency"))
    );
    assert_eq!(
        form(&whole(&troubled(document), Percentiles::None, true)),
        form(transcript("wrk2-errors"))
    );
}

#[test]
fn the_figures_are_those_of_the_document() {
    let document = testing::healthy_open();
    let text = whole(&document, Percentiles::Both, true);
    let response = &document.latencies.response;
    let median_us =
        response.quantile_ns(candor_stats::Quantile::P50).unwrap().unwrap() as f64 / 1e3;
    let printed = text.lines().find_map(|line| line.strip_prefix(" 50.000%")).unwrap().trim();
    let printed_us: f64 = printed.strip_suffix("us").unwrap().parse().unwrap();
    assert!((printed_us / median_us - 1.0).abs() < 0.003, "{printed} {median_us}");
    for (label, latency) in [("Recorded", response), ("Uncorrected", &document.latencies.service)] {
        let block = text.split(&format!("HdrHistogram - {label}")).nth(1).unwrap();
        let ms = |ns: f64| format!("{:12.3}", ns / 1e6);
        let mean = ms(latency.mean_ns.unwrap());
        let max = ms(latency.max_ns.unwrap() as f64);
        let stdev = ms(latency.stdev_ns.unwrap());
        let footer = format!(
            "#[Mean    = {mean}, StdDeviation   = {stdev}]\n#[Max     = {max}, Total count    = {:12}]\n",
            latency.count
        );
        assert!(block.contains(&footer), "{footer}{block}");
    }
    let mean = units::time_us(response.mean_ns.unwrap() / 1e3);
    let max = units::time_us(response.max_ns.unwrap() as f64 / 1e3);
    let row = text.lines().find(|line| line.starts_with("    Latency ")).unwrap();
    assert!(row.contains(&mean) && row.contains(&max), "{row}");
    let rate = document.thread_rate.unwrap();
    let row = text.lines().find(|line| line.starts_with("    Req/Sec ")).unwrap();
    assert!(row.contains(&units::metric(rate.mean_per_s.unwrap())), "{row}");
    let achieved = document.rate.achieved_per_s.unwrap();
    assert!(text.contains(&format!("Requests/sec: {achieved:9.2}\n")), "{text}");
    let answered = document.rate.answered_in_window;
    assert!(text.contains(&format!("  {answered} requests in 3.00s, ")), "{text}");
}

#[test]
fn the_url_stands_as_it_was_typed() {
    let mut document = testing::healthy_closed();
    document.plan.target.url = "http://h:8080/".to_owned();
    for typed in ["http://h:8080", "http://h:8080/"] {
        document.arguments = vec!["wrk".to_owned(), "-t2".to_owned(), typed.to_owned()];
        assert!(opening(&document).contains(&format!(" test @ {typed}\n")), "{typed}");
    }
}

#[test]
fn troubles_are_sorted_into_the_words_of_wrk() {
    let document = troubled(testing::healthy_closed());
    let text = report(&document, Percentiles::None).unwrap();
    let errors = super::figures::Errors::of(&document);
    let with_status: u64 =
        document.statuses.iter().filter(|s| s.status > 399).map(|s| s.count).sum();
    assert!(text.contains(&format!("  Non-2xx or 3xx responses: {with_status}\n")), "{text}");
    // No failure is lost: each failed request is in one of the words, or has a wrong status or
    // body.
    let other = ["status", "body"]
        .map(|kind| candor_report::document::counts::count_of(&document.errors, kind));
    let all: u64 = document.errors.iter().map(|one| one.count).sum();
    assert_eq!(errors.read + errors.write + errors.timeout + other.iter().sum::<u64>(), all);
    assert!(errors.connect > 0 && errors.read > 0 && errors.timeout > 0, "{errors:?}");
}

#[test]
fn a_run_without_answers_has_the_form_too() {
    let document = testing::empty_run().document();
    let text = report(&document, Percentiles::Both).unwrap();
    assert!(text.contains("    Latency     0.00us    0.00us   0.00us"), "{text}");
    assert!(text.contains("       0.000     1.000000            0          inf\n"), "{text}");
    assert!(text.contains("Requests/sec:      0.00\n"), "{text}");
    assert_eq!(line(text.lines().last().unwrap()), line("Transfer/sec:       0.00B"));
}

#[test]
fn the_object_of_the_fork_is_json_whatever_went_wrong() {
    let parsed = |document: &Document| -> serde_json::Value {
        let text = json::report(document, HistFormat::V1).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let document = testing::healthy_open();
    let value = parsed(&document);
    let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["hist", "rps", "rx_bps", "total_req"], "no errors, no key for them");
    assert_eq!(value["total_req"], document.rate.answered_in_window);
    let rps = value["rps"].as_f64().unwrap();
    assert!((rps - document.rate.achieved_per_s.unwrap()).abs() < 0.006);
    assert!(value["rx_bps"].as_str().unwrap().ends_with('B'));
    let hdr = decode(value["hist"].as_str().unwrap());
    assert_eq!(hdr.len(), document.latencies.response.count);
    assert_eq!((hdr.low(), hdr.high()), (1, 86_400_000_000));
    let text = json::report(&document, HistFormat::V2).unwrap();
    let second: serde_json::Value = serde_json::from_str(&text).unwrap();
    let bytes = BASE64.decode(second["hist"].as_str().unwrap()).unwrap();
    let same: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(same, hdr);
    let max_us = document.latencies.response.max_ns.unwrap() / 1000;
    assert!(hdr.equivalent(hdr.max(), max_us), "{} {max_us}", hdr.max());

    let mut only_statuses = document.clone();
    only_statuses.statuses.push(StatusCount { status: 503, count: 7 });
    assert_eq!(parsed(&only_statuses)["errors"], serde_json::json!({"http_error": 7}));
    let errors = parsed(&troubled(document))["errors"].clone();
    assert_eq!(errors["http_error"], 8 + testing_statuses());
    assert!(errors["read"].as_u64().unwrap() > 0 && errors["timeout"].as_u64().unwrap() > 0);
}

fn testing_statuses() -> u64 {
    testing::healthy_open()
        .statuses
        .iter()
        .filter(|one| one.status > 399)
        .map(|one| one.count)
        .sum()
}
