//! Form against real outputs, figures against the document.

use candor_plan::{Arrivals, HttpVersion, Load, OpenLoad, Rate, Segment};
use candor_testkit::h2load_form::{form, transcript};

use super::text;
use candor_record::StatusCount;
use candor_report::document::Document;
use candor_report::document::counts::HandshakeCount;
use candor_report::testing;

fn whole(document: &Document) -> String {
    text::opening(document)
        + &text::connected(document)
        + &text::progress(document, 0, text::done(document))
        + &text::closing(document)
        + &text::summary(document, false).unwrap()
}

/// A run of a number of requests over HTTP/1.1, on one thread.
fn counted() -> Document {
    let mut document = testing::healthy_closed();
    document.plan.threads.count = Some(1);
    document.plan.stop.count = Some(document.ledger.scheduled);
    document.plan.stop.duration_ns = None;
    document
}

/// A run for a duration, over HTTP/2 in clear text.
fn timed() -> Document {
    let mut document = testing::healthy_closed();
    document.plan.threads.count = Some(1);
    document.plan.target.http = HttpVersion::H2;
    document.bytes.headers = 1_000_000;
    document.bytes.headers_decoded = 3_000_000;
    document
}

#[test]
fn the_form_of_a_number_of_requests() {
    assert_eq!(form(&whole(&counted())), form(transcript("h2load-h1")));
}

#[test]
fn the_form_of_a_duration() {
    assert_eq!(form(&whole(&timed())), form(transcript("h2load-h2")));
}

/// The form is that of h2load.cc: `{:>10}-{:>10} [{40 columns}]({:6.2}/{:6.2}%)`.
#[test]
fn a_histogram_stands_below_each_line_of_times() {
    let document = timed();
    let text = text::summary(&document, true).unwrap();
    let bars: Vec<&str> = text.lines().filter(|line| line.contains(" [")).collect();
    assert!(!bars.is_empty() && bars.len().is_multiple_of(10), "{text}");
    let request = &bars[..10];
    let widest = request.iter().filter(|line| line.contains(&"/".repeat(40)));
    assert_eq!(widest.count(), 1, "{text}");
    for line in request {
        assert_eq!(line.find(" ["), Some(21), "{line}");
        assert_eq!(line.find("]("), Some(63), "{line}");
    }
    assert!(request[9].ends_with("/100.00%)"), "{text}");
    assert!(!text::summary(&document, false).unwrap().contains(" ["));
}

#[test]
fn the_figures_are_those_of_the_document() {
    let document = timed();
    let text = whole(&document);
    let ledger = document.ledger;
    assert!(text.contains(&format!(
        "requests: {0} total, {0} started, {0} done, {0} succeeded, 0 failed, 0 errored, 0 timeout\n",
        ledger.ok
    )));
    assert!(text.contains(&format!("status codes: {} 2xx, 0 3xx, 0 4xx, 0 5xx\n", ledger.ok)));
    let achieved = document.rate.achieved_per_s.unwrap();
    assert!(text.contains(&format!("finished in 3.00s, {achieved:.2} req/s, ")), "{text}");
    let (total, bodies) = (document.bytes.received, document.bytes.bodies);
    assert!(text.contains(&format!(
        "({total}) total, 976.56KB (1000000) headers (space savings 66.67%), "
    )));
    assert!(text.contains(&format!("({bodies}) data\n")), "{text}");
    let service = &document.latencies.service;
    let mean_us = (service.mean_ns.unwrap() / 1e3) as u64;
    let row = text.lines().find(|line| line.starts_with("time for request:")).unwrap();
    assert!(row.contains(&format!(" {mean_us}us ")), "{row}");
    let max_ms = service.max_ns.unwrap() as f64 / 1e6;
    assert!(row.contains(&format!(" {max_ms:.2}ms ")), "{row}");
    let rate = document.connection_rate.unwrap();
    let row = text.lines().find(|line| line.starts_with("req/s ")).unwrap();
    assert!(row.contains(&format!(" {:.2} ", rate.mean_per_s)), "{row}");
}

#[test]
fn every_request_that_is_done_is_in_one_word() {
    let mut document = testing::broken();
    document.plan.threads.count = Some(2);
    document.statuses.push(StatusCount { status: 301, count: 3 });
    document.ledger.ok += 3;
    let line = super::figures::requests(&document);
    let number = |word: &str| -> u64 {
        let at = line.find(&format!(" {word}")).unwrap();
        line[..at].rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(number("done"), number("succeeded") + number("failed"));
    let unsuccessful: u64 =
        document.statuses.iter().filter(|one| one.status >= 400).map(|one| one.count).sum();
    assert_eq!(number("failed"), unsuccessful + number("errored"));
    assert!(number("timeout") > 0 && number("errored") > number("timeout"), "{line}");
}

#[test]
fn progress_is_told_once_for_each_tenth() {
    let mut document = counted();
    document.plan.stop.count = Some(25);
    let all = text::progress(&document, 0, 25);
    assert_eq!(all.lines().count(), 12, "{all}");
    assert!(all.starts_with("progress: 8% done\nprogress: 16% done\n"), "{all}");
    let parts = text::progress(&document, 0, 7) + &text::progress(&document, 7, 25);
    assert_eq!(parts, all);
    document.plan.stop.count = Some(3);
    assert_eq!(text::progress(&document, 0, 3).lines().count(), 3);
}

#[test]
fn threads_share_clients_and_requests_and_scripts_have_their_lines() {
    let mut document = counted();
    document.plan.threads.count = Some(3);
    document.plan.stop.count = Some(100);
    let text = text::opening(&document);
    assert!(text.contains("spawning thread #0: 6 total client(s). 34 total requests\n"), "{text}");
    assert!(text.contains("spawning thread #2: 5 total client(s). 33 total requests\n"), "{text}");
    document.plan.connections.connect_during_run = true;
    document.plan.connections.connect_rate = Some(Rate::per_second(3));
    let text = text::opening(&document);
    let rate = "Up to 1 client(s) will be created every 1s 34 total requests\n";
    assert!(text.contains(rate), "{text}");
    document.plan.load = Load::Open(OpenLoad {
        segments: vec![Segment::replay([0; 60])],
        arrivals: Arrivals::Constant,
        shed_after_ns: None,
    });
    assert!(text::opening(&document).contains("20 total requests\n"));
}

#[test]
fn what_tls_came_to_stands_before_the_protocol() {
    let mut document = counted();
    document.connections.handshakes = vec![HandshakeCount {
        version: "TLSv1.3".to_owned(),
        cipher: "TLS13_AES_128_GCM_SHA256".to_owned(),
        group: Some("X25519".to_owned()),
        alpn: Some("h2".to_owned()),
        full: 1,
        resumed: 0,
        early_data_accepted: 0,
        early_data_rejected: 0,
        retried: 0,
    }];
    assert_eq!(
        text::connected(&document),
        "TLS Protocol: TLSv1.3\nCipher: TLS_AES_128_GCM_SHA256\nServer Temp Key: X25519 253 bits\nApplication protocol: h2\n"
    );
}

#[test]
fn a_run_without_answers_has_the_form_too() {
    let text = text::summary(&testing::empty_run().document(), false).unwrap();
    assert!(
        text.contains(
            "time for request:        0us         0us         0us         0us     0.00%\n"
        ),
        "{text}"
    );
}

#[test]
fn the_rate_of_an_interval_is_its_own() {
    let interval = &testing::healthy_open().intervals[1];
    let line = text::rate(interval, 1_500_000_000_000_000_000);
    let rate =
        line.strip_prefix("RPSI 1500000000000000000 ").and_then(|rest| rest.strip_suffix('\n'));
    let length_s = (interval.end_ns - interval.start_ns) as f64 / 1e9;
    assert_eq!(rate, Some(&*format!("{:.2}", interval.answered as f64 / length_s)));
}
