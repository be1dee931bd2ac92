//! Prometheus' remote write 1.0, read by libraries: Snappy, and the messages of `prompb`.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Command;

use prost::Message;

use super::exposition::Exposition;
use super::native::Label;
use super::receiver::Reply::{Close, Garbage, Status};
use super::receiver::{Request, receiver};
use super::{USAGE, assert_histogram};
use crate::common::{CANDOR, Candor, Target, candor};

/// prometheus.WriteRequest, as far as it is used; so are the others.
#[derive(Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<Series>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Metadata>,
}

#[derive(Message)]
struct Series {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Message)]
struct Metadata {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "4")]
    help: String,
}

fn decoded(request: &Request) -> WriteRequest {
    for line in [
        "POST /api/v1/write?x=y HTTP/1.1\r\n",
        "\r\nContent-Type: application/x-protobuf\r\n",
        "\r\nContent-Encoding: snappy\r\n",
        "\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n",
        "\r\nUser-Agent: candor/",
    ] {
        assert!(request.head.contains(line), "{}", request.head);
    }
    assert!(request.body != [0], "nothing is sent");
    let bytes = snap::raw::Decoder::new().decompress_vec(&request.body).expect("Snappy");
    WriteRequest::decode(&bytes[..]).expect("a WriteRequest")
}

/// The samples of each series, in the order in which they came.
fn samples(requests: &[Request]) -> BTreeMap<String, Vec<(i64, f64)>> {
    let mut all: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
    for series in requests.iter().flat_map(|one| decoded(one).timeseries) {
        assert!(series.labels.is_sorted_by(|one, next| one.name < next.name), "{series:?}");
        let (first, labels) = series.labels.split_first().unwrap();
        assert_eq!(first.name, "__name__");
        let labels = labels.iter().map(|one| format!("{}=\"{}\"", one.name, one.value));
        let name = format!("{}{{{}}}", first.value, labels.collect::<Vec<_>>().join(","));
        let samples = series.samples.iter().map(|one| (one.timestamp, one.value));
        all.entry(name).or_default().extend(samples);
    }
    all
}

#[test]
fn updates_wait_for_the_receiver_and_the_last_one_is_the_result() {
    let target = Target::start(&[]);
    let (address, requests) = receiver(&[Status(500), Garbage, Close]);
    let out = format!("remote-write:http://{address}/api/v1/write?x=y");
    let load = ["-R", "100", "-c", "1", "-d", "3500ms", "--shed-after", "100ms"];
    let shown = ["--interval", "100ms", "--tag", "env=a b", "--expect", "service p50 < 1h"];
    let to = ["--json", "result.json", "--out", &out, &target.url("/delay/20ms")];
    let outcome = candor(&[&load[..], &shown, &to].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("lost"), "{}", outcome.stderr);
    let document = outcome.document();
    let requests: Vec<Request> = requests.try_iter().collect();
    let all = samples(&requests);
    for (series, samples) in &all {
        assert!(samples.is_sorted_by(|one, next| one.0 < next.0), "{series} {samples:?}");
        let is_total = series.contains("_total{") || series.contains("_bucket{");
        assert!(!is_total || samples.is_sorted_by_key(|one| one.1), "{series} {samples:?}");
    }
    let labels = "env=\"a b\"";
    let over = &all[&format!("candor_run_over{{{labels}}}")];
    assert_eq!(over.len(), document.list("/intervals").len() + 1, "an update is missing");
    assert!(over.iter().rev().skip(1).all(|one| one.1 == 0.0), "{over:?}");

    let last = all.iter().map(|(series, samples)| (series.clone(), samples.last().unwrap().1));
    let last = Exposition::of(last.collect());
    let requests_of = |what: &str| format!("candor_requests_total{{{labels},outcome=\"{what}\"}}");
    let count = |place: &str| document.ledger(place) as f64;
    assert!(count("shed") > 0.0, "{}", document.at("/ledger"));
    let objective = format!("{labels},objective=\"service p50 < 1h\"");
    for (series, value) in [
        (format!("candor_requests_scheduled_total{{{labels}}}"), count("scheduled")),
        (requests_of("ok"), count("ok")),
        (requests_of("shed"), count("shed")),
        (requests_of("timeout"), 0.0),
        (format!("candor_objective{{{objective},outcome=\"met\"}}"), 1.0),
        (format!("candor_objective{{{objective},outcome=\"not met\"}}"), 0.0),
        (format!("candor_run_over{{{labels}}}"), 1.0),
    ] {
        assert_eq!(last.get(&series), Some(value), "{series}");
    }
    for of in ["response", "service", "send_lag"] {
        assert_histogram(&last, &format!("candor_{of}_seconds"), labels, &document, of);
    }

    let kinds = requests.iter().flat_map(|one| decoded(one).metadata);
    let kinds: BTreeMap<String, i32> = kinds
        .inspect(|one| assert!(one.help.ends_with('.'), "{one:?}"))
        .map(|one| (one.name, one.kind))
        .collect();
    assert_eq!(kinds["candor_requests_total"], 1);
    assert_eq!((kinds["candor_backlog"], kinds["candor_response_seconds"]), (2, 3));
}

#[test]
fn updates_that_are_refused_are_lost_and_the_totals_are_not() {
    let target = Target::start(&[]);
    let (address, requests) = receiver(&[Status(400)]);
    let run = |out: &str| {
        let mut command = Command::new(CANDOR);
        command.env("REMOTE_WRITE_TOKEN", "key");
        let flags = ["-n", "100", "-R", "100", "-c", "1", "--interval", "100ms", "--out", out];
        let url = target.url("/");
        Candor::start_as(command, |directory, command| {
            command.args(flags).args(["--json", "result.json", &url]).current_dir(directory);
        })
        .finish()
    };
    let some = run(&format!("remote-write:http://{address}/api/v1/write?x=y"));
    assert_eq!(some.code(), 0, "{}", some.stderr);
    let words = "updates were lost: the server's status was 400";
    assert!(some.stderr.contains("--out remote-write: 1 of ") && some.stderr.contains(words));
    let requests: Vec<Request> = requests.try_iter().collect();
    assert!(requests[0].head.contains("\r\nAuthorization: Bearer key\r\n"), "{}", requests[0].head);
    let sent = &samples(&requests)["candor_requests_sent_total{}"];
    assert_eq!(sent.last().unwrap().1, some.document().ledger("sent") as f64);

    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let none = run(&format!("remote-write:http://{gone}/api/v1/write"));
    assert_eq!(none.code(), 1, "{}", none.stderr);
    assert!(none.stderr.contains("updates were lost: Connection refused"), "{}", none.stderr);
    run("remote-write").assert_refused(USAGE, &["remote-write:http://127.0.0.1:9090/api/v1/write"]);
    run("remote-write:http://127.0.0.1:9").assert_refused(USAGE, &["the URL has no path"]);
}
