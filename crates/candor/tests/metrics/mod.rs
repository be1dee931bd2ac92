//! Metrics of a run while it goes on, each figure compared with the result of the same run: scraped, and sent.

pub(crate) mod calls;
mod dashboard;
mod exposition;
mod native;
mod otlp;
mod receiver;
mod remote_write;
mod sent;
mod watch;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use candor_report::document::latency::Distribution;
use candor_testkit::process::wait_until;
use rustix::process::Signal;

use crate::common::{Candor, Document, Target, candor};
use exposition::Exposition;

const USAGE: i32 = 2;
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a run with port 0 said that its metrics are.
fn address(run: &Candor) -> String {
    let said = || fs::read_to_string(run.directory().join(".stderr")).unwrap();
    let found = || Some(said().split_once("http://")?.1.split_once("/metrics")?.0.to_owned());
    assert!(wait_until(PATIENCE, || found().is_some()), "{}", said());
    found().unwrap()
}

/// The response to a request, head and body; `None` if there is nobody, or the connection ends before.
fn response(address: &str, request: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.to_owned(), body.to_owned()))
}

fn scrape(address: &str) -> Option<Exposition> {
    let (head, body) = response(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let format = "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains(format), "{head}");
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    Some(Exposition::strict(&body))
}

/// Scrapes until the final values were there.
fn scrape_all(address: &str, over: &str) -> Vec<Exposition> {
    let until = Instant::now() + PATIENCE;
    let mut scrapes: Vec<Exposition> = Vec::new();
    while scrapes.last().is_none_or(|one| one.get(over) != Some(1.0)) {
        assert!(Instant::now() < until, "{scrapes:?}");
        scrapes.extend(scrape(address));
        thread::sleep(Duration::from_millis(10));
    }
    scrapes
}

/// Compares the buckets, the sum and the count of a histogram with the document's.
fn assert_histogram(last: &Exposition, name: &str, labels: &str, document: &Document, of: &str) {
    let of: Distribution =
        serde_json::from_value(document.at(&format!("/latencies/{of}")).clone()).unwrap();
    let hdr = of.decode().unwrap();
    let at = |suffix: &str, more: &str| {
        let labels = [labels, more].into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>();
        let series = format!("{name}{suffix}{{{}}}", labels.join(","));
        last.get(&series).unwrap_or_else(|| panic!("{series} is not there"))
    };
    assert_eq!(at("_count", ""), of.count as f64, "{name}");
    let sum_s = of.mean_ns.unwrap() * of.count as f64 / 1e9;
    assert!((at("_sum", "") - sum_s).abs() <= 1e-9 * sum_s, "{name}: {sum_s}");
    for edge in ["0.0001", "0.0005", "0.001", "0.005", "0.01", "0.025", "0.05", "0.1", "1", "60"] {
        let edge_ns = edge.parse::<f64>().unwrap() * 1e9;
        let below = hdr.iter_recorded().filter(|one| one.value_iterated_to() as f64 <= edge_ns);
        let below: u64 = below.map(|one| one.count_at_value()).sum();
        assert_eq!(at("_bucket", &format!("le=\"{edge}\"")), below as f64, "{name} {edge}");
    }
}

#[test]
fn every_figure_that_is_scraped_is_that_of_the_result() {
    let target = Target::start(&[]);
    // One connection and 20 ms for a response: more is due than can be sent.
    let load = ["-R", "100", "-c", "1", "-d", "1s", "--warm-up", "200ms", "--shed-after", "100ms"];
    let shown =
        ["--interval", "100ms", "--linger", "30s", "--tag", "env=a \"b\"", "--tag", "rev=7"];
    let expect = [
        "--expect",
        "service p50 < 1h",
        "--expect",
        "p50 < 1ns",
        "--expect",
        "service p99.99 < 1s",
    ];
    let url = target.url("/delay/20ms");
    let out = ["--out", "prometheus:0", &url];
    let run = Candor::start_measuring(&[&load[..], &shown, &expect, &out].concat());
    let labels = "env=\"a \\\"b\\\"\",rev=\"7\"";
    let named = |name: &str| format!("candor_{name}{{{labels}}}");
    let scrapes = scrape_all(&address(&run), &named("run_over"));
    let outcome = run.finish();
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("not scraped"), "{}", outcome.stderr);
    let document = outcome.document();
    let last = scrapes.last().unwrap();
    let requests = |what: &str| format!("candor_requests_total{{{labels},outcome=\"{what}\"}}");
    let count = |place: &str| document.ledger(place) as f64;
    assert!(count("shed") > 0.0 && count("ok") > 0.0, "{}", document.at("/ledger"));
    for (series, value) in [
        (named("requests_scheduled_total"), count("scheduled")),
        (named("requests_sent_total"), count("sent")),
        (requests("ok"), count("ok")),
        (requests("shed"), count("shed")),
        (requests("unsent"), count("unsent")),
        (requests("unfinished"), count("unfinished")),
        (requests("timeout"), 0.0),
        (named("connect_errors_total"), 0.0),
        (named("in_flight"), 0.0),
    ] {
        assert_eq!(last.get(&series), Some(value), "{series}");
    }
    let outcomes = last.all().filter(|(series, _)| series.starts_with("candor_requests_total{"));
    assert_eq!(outcomes.map(|(_, value)| value).sum::<f64>(), count("scheduled"));
    for of in ["response", "service", "send_lag"] {
        assert_histogram(last, &format!("candor_{of}_seconds"), labels, &document, of);
    }
    let objectives =
        last.all().filter(|(series, one)| series.starts_with("candor_objective{") && *one == 1.0);
    let objectives: Vec<&str> = objectives.map(|(series, _)| series).collect();
    let objective = |text: &str, outcome: &str| {
        format!("candor_objective{{{labels},objective=\"{text}\",outcome=\"{outcome}\"}}")
    };
    assert_eq!(
        objectives,
        [
            objective("p50 < 1ns", "not met"),
            objective("service p50 < 1h", "met"),
            objective("service p99.99 < 1s", "cannot tell"),
        ]
    );
    assert_eq!(last.all().filter(|(series, _)| series.starts_with("candor_objective{")).count(), 9);

    let judged = document.list("/expectations").iter().map(|one| one["outcome"].as_str().unwrap());
    assert_eq!(judged.collect::<Vec<_>>(), ["met", "not-met", "cannot-tell"]);

    let workers = document.list("/workers").iter();
    let used_ns = workers
        .map(|one| one["cpu_user_ns"].as_u64().unwrap() + one["cpu_system_ns"].as_u64().unwrap());
    let cpu = named("loader_cpu_seconds_total");
    assert!(last.get(&cpu).unwrap() >= used_ns.sum::<u64>() as f64 / 1e9);
    for series in [requests("ok"), requests("shed"), cpu, named("response_seconds_count")] {
        assert!(scrapes.iter().filter_map(|one| one.get(&series)).is_sorted(), "{series}");
    }
    let intervals = document.list("/intervals");
    let seen = |name: &str, field: &str| {
        scrapes.iter().filter_map(|one| one.get(&named(name))).all(|value| {
            value == 0.0 || intervals.iter().any(|one| one[field].as_f64() == Some(value))
        })
    };
    assert!(seen("backlog", "backlog") && seen("connections", "connections"));
    let ok = scrapes.iter().filter_map(|one| one.get(&requests("ok")));
    assert!(ok.filter(|ok| (1.0..count("ok")).contains(ok)).count() > 0, "never seen under way");
}

#[test]
fn failures_are_scraped_by_their_kind() {
    let target = Target::start(&[]);
    let flags = ["-R", "100", "-c", "2", "-d", "500ms", "--linger", "30s", "--out", "prometheus:0"];
    let run = Candor::start_measuring(&[&flags[..], &[&target.url("/status/503")]].concat());
    let scrapes = scrape_all(&address(&run), "candor_run_over");
    let outcome = run.finish();
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    let errors = outcome.document().errors();
    let last = scrapes.last().unwrap();
    let status = last.get("candor_requests_total{outcome=\"status\"}");
    assert_eq!(status, Some(errors["status"] as f64));
    assert_eq!(last.get("candor_requests_total{outcome=\"ok\"}"), Some(0.0));
    assert_eq!(last.get("candor_response_seconds_count"), Some(0.0));
}

#[test]
fn slow_and_hostile_scrapers_are_given_up_and_others_are_answered() {
    let target = Target::start(&[]);
    let flags = ["-R", "200", "-c", "2", "-d", "5s", "--out", "prometheus:0"];
    let run = Candor::start_measuring(&[&flags[..], &[&target.url("/")]].concat());
    let address = address(&run);
    let idle: Vec<TcpStream> = (0..6).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut long = TcpStream::connect(&address).unwrap();
    let _ = long.write_all(&[b'x'; 20_000]);
    // They have four threads and two seconds each.
    assert!(scrape(&address).is_some());
    let status = |request: &str| response(&address, request).unwrap().0;
    assert!(status("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    let post = status("POST /metrics HTTP/1.1\r\n\r\n");
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("\r\nAllow: GET\r\n"), "{post}");
    let threads = fs::read_dir(format!("/proc/{}/task", run.pid())).unwrap().flatten();
    let names = threads.filter_map(|one| fs::read_to_string(one.path().join("comm")).ok());
    assert_eq!(names.filter(|name| name == "metrics\n").count(), 4);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let document = outcome.document();
    // A busy machine may leave some unsent.
    assert_eq!(document.ledger("sent"), document.ledger("ok"), "{}", document.at("/ledger"));
    for word in [
        "scrapes of the metrics were given up",
        "6 took longer than 2 s",
        "1 had more than 8192 bytes",
    ] {
        assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
    drop((idle, long));
}

#[test]
fn metrics_need_an_address_and_names_that_can_be() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let refused = |flags: &[&str], words: &[&str]| {
        let outcome = candor(&[flags, &["-d", "100ms", &url]].concat());
        outcome.assert_refused(USAGE, words);
    };
    refused(
        &["--out", "prometheus"],
        &["--out prometheus needs an address", "prometheus:127.0.0.1:9464"],
    );
    refused(&["--out", "prometheus:here"], &["--out prometheus:here: not an address"]);
    refused(&["--out", "prometheus:70000"], &["not an address"]);
    refused(&["--linger", "1s"], &["--linger is for metrics", "add --out prometheus:ADDRESS"]);
    refused(
        &["--linger", "1s", "--out", "statsd:9"],
        &["--linger is for metrics that are scraped"],
    );
    let metrics = |flags: &[&str], words: &[&str]| {
        refused(&[&["--out", "prometheus:0"], flags].concat(), words);
    };
    metrics(&["--tag", "le=1"], &["`le`: metrics have this label already"]);
    metrics(&["--tag", "a-b=1"], &["`a-b` is not the name of a label"]);
    metrics(&["--tag", "a=1", "--tag", "a=2"], &["--tag a: there are two of this name"]);
    let many: Vec<String> = (0..17).map(|n| format!("--tag=a{n}=1")).collect();
    metrics(&many.iter().map(String::as_str).collect::<Vec<_>>(), &["17 tags", "at most 16"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("prometheus:{}", taken.local_addr().unwrap());
    refused(&["--out", &place], &[&place, "cannot listen", "choose another address"]);
    let peak = candor(&["peak", "--tag", "a=1", &url]);
    peak.assert_refused(USAGE, &["--tag", "single run"]);
}

#[test]
fn final_metrics_wait_no_longer_than_they_may() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let run = ["-c", "1", "-d", "200ms", "--out", "prometheus:0"];
    let without = candor(&[&run[..], &[&url]].concat());
    assert_eq!(without.code(), 0, "{}", without.stderr);
    assert!(!without.stderr.contains("scraped"), "{}", without.stderr);
    let limited = candor(&[&run[..], &["--linger", "100ms", &url]].concat());
    assert_eq!(limited.code(), 0, "{}", limited.stderr);
    assert!(limited.stderr.contains("the final metrics were not scraped"), "{}", limited.stderr);

    // A signal ends the wait; what the run found stays, and was printed before.
    let waiting = Candor::start(&[&run[..], &["--linger", "10m", &url]].concat());
    let path = |name| waiting.directory().join(name);
    let (said, printed) = (path(".stderr"), path(".stdout"));
    let waits = || fs::read_to_string(&said).unwrap().contains("waiting until the final metrics");
    assert!(wait_until(PATIENCE, waits));
    assert!(!fs::read_to_string(printed).unwrap().is_empty(), "the report");
    waiting.signal(Signal::TERM);
    let ended = waiting.finish();
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("the final metrics were not scraped"), "{}", ended.stderr);
}
