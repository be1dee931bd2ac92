//! Prometheus' remote write 1.0 and 2.0, read by libraries: Snappy, and the messages of `prompb`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::process::Command;

use prost::Message;

use super::exposition::Exposition;
use super::native::Label;
use super::receiver::Reply::{Close, Garbage, Head, Status};
use super::receiver::{Reply, Request, receiver, receiver_then};
use super::{USAGE, assert_histogram};
use crate::common::{CANDOR, Candor, Outcome, Target, candor};

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

/// io.prometheus.write.v2.Request.
#[derive(Message)]
struct SecondRequest {
    #[prost(string, repeated, tag = "4")]
    symbols: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    timeseries: Vec<SecondSeries>,
}

#[derive(Message)]
struct SecondSeries {
    #[prost(uint32, repeated, tag = "1")]
    labels_refs: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(message, optional, tag = "5")]
    metadata: Option<SecondMetadata>,
}

#[derive(Message)]
struct SecondMetadata {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(uint32, tag = "3")]
    help_ref: u32,
}

fn is_second(request: &Request) -> bool {
    request.head.contains("proto=io.prometheus.write.v2.Request")
}

/// A request; one of 2.0 as it would be in 1.0, with metadata of each series instead of each family.
fn decoded(request: &Request) -> WriteRequest {
    let own = match is_second(request) {
        false => [
            "\r\nContent-Type: application/x-protobuf\r\n",
            "\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n",
        ],
        true => [
            "\r\nContent-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request\r\n",
            "\r\nX-Prometheus-Remote-Write-Version: 2.0.0\r\n",
        ],
    };
    let common = [
        "POST /api/v1/write?x=y HTTP/1.1\r\n",
        "\r\nContent-Encoding: snappy\r\n",
        "\r\nUser-Agent: candor/",
    ];
    for line in common.into_iter().chain(own) {
        assert!(request.head.contains(line), "{}", request.head);
    }
    assert!(request.body != [0], "nothing is sent");
    let bytes = snap::raw::Decoder::new().decompress_vec(&request.body).expect("Snappy");
    if !is_second(request) {
        return WriteRequest::decode(&bytes[..]).expect("a WriteRequest");
    }
    let second = SecondRequest::decode(&bytes[..]).expect("a Request");
    assert_eq!(second.symbols[0], "");
    let texts: BTreeSet<&String> = second.symbols.iter().collect();
    assert_eq!(texts.len(), second.symbols.len(), "a text is there twice: {:?}", second.symbols);
    let text = |at: u32| second.symbols[at as usize].clone();
    let mut first = WriteRequest::default();
    for one in second.timeseries {
        let pairs = one.labels_refs.chunks(2);
        let labels = pairs.map(|pair| Label { name: text(pair[0]), value: text(pair[1]) });
        let labels: Vec<Label> = labels.collect();
        let metadata = one.metadata.unwrap();
        let (kind, name, help) = (metadata.kind, labels[0].value.clone(), text(metadata.help_ref));
        first.metadata.push(Metadata { kind, name, help });
        first.timeseries.push(Series { labels, samples: one.samples });
    }
    first
}

/// A receiver of 2.0, which wrote all samples.
const WRITTEN: Reply = Head(|request| {
    if !is_second(request) {
        return "415 X".to_owned();
    }
    let samples: usize = decoded(request).timeseries.iter().map(|one| one.samples.len()).sum();
    format!("204 X\r\nX-Prometheus-Remote-Write-Samples-Written: {samples}")
});

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
    let requests = the_last_update_is_the_result("remote-write", Status(204));
    let kinds = requests.iter().flat_map(|one| decoded(one).metadata);
    let kinds: BTreeMap<String, i32> = kinds
        .inspect(|one| assert!(one.help.ends_with('.'), "{one:?}"))
        .map(|one| (one.name, one.kind))
        .collect();
    assert_eq!(kinds["candor_requests_total"], 1);
    assert_eq!((kinds["candor_backlog"], kinds["candor_response_seconds"]), (2, 3));
}

#[test]
fn so_it_is_with_2_0_whose_series_have_their_metadata() {
    let requests = the_last_update_is_the_result("remote-write2", WRITTEN);
    assert!(requests.iter().all(is_second));
    let kinds = requests.iter().flat_map(|one| decoded(one).metadata);
    let kinds: BTreeMap<String, i32> = kinds
        .inspect(|one| assert!(one.help.ends_with('.'), "{one:?}"))
        .map(|one| (one.name, one.kind))
        .collect();
    assert_eq!((kinds["candor_requests_total"], kinds["candor_backlog"]), (1, 2));
    assert_eq!(kinds["candor_response_seconds_bucket"], 3);
    assert_eq!(kinds["candor_response_seconds_sum"], 3);
}

/// Of a run whose receiver fails thrice, then replies so. Returns what it accepted.
fn the_last_update_is_the_result(kind: &str, reply: Reply) -> Vec<Request> {
    let target = Target::start(&[]);
    let (address, requests) = receiver_then(&[Status(500), Garbage, Close], reply);
    let out = format!("{kind}:http://{address}/api/v1/write?x=y");
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
    requests
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

/// A run with one update in each of some intervals, sent to a receiver.
fn short_run(kind: &str, address: &str) -> Outcome {
    let target = Target::start(&[]);
    let out = format!("{kind}:http://{address}/api/v1/write?x=y");
    let load = ["-n", "100", "-R", "100", "-c", "1", "--interval", "100ms"];
    let to = ["--json", "result.json", "--out", &out, &target.url("/")];
    let outcome = candor(&[&load[..], &to].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    outcome
}

#[test]
fn a_receiver_of_the_other_version_gets_it() {
    // Receivers of 1.0 refuse 2.0, or see an empty request in it.
    let unconfirmed = Head(|one| (if is_second(one) { "204 X" } else { "204 Y" }).to_owned());
    let bad = Head(|one| (if is_second(one) { "400 X" } else { "204 X" }).to_owned());
    let foreign = Head(|one| (if is_second(one) { "415 X" } else { "204 X" }).to_owned());
    for (kind, reply, sent, is_second_at_last) in [
        ("remote-write", WRITTEN, "version 1.0; version 2.0 was sent", true),
        ("remote-write2", foreign, "version 2.0; version 1.0 was sent", false),
        ("remote-write2", bad, "version 2.0; version 1.0 was sent", false),
        ("remote-write2", unconfirmed, "version 2.0; version 1.0 was sent", false),
    ] {
        let (address, requests) = receiver_then(&[], reply);
        let outcome = short_run(kind, &address);
        assert!(outcome.stderr.contains(sent), "{kind}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("lost"), "{kind}: {}", outcome.stderr);
        let requests: Vec<Request> = requests.try_iter().collect();
        let (last, others) = requests.split_last().unwrap();
        assert_eq!(is_second(last), is_second_at_last);
        let strange = others.iter().filter(|one| is_second(one) != is_second_at_last).count();
        assert!(strange <= 1, "{kind}: {strange}");
        let taken: Vec<Request> =
            requests.into_iter().filter(|one| is_second(one) == is_second_at_last).collect();
        let over = &samples(&taken)["candor_run_over{}"];
        assert_eq!(over.len(), outcome.document().list("/intervals").len() + 1, "{kind}");
        let sent = &samples(&taken)["candor_requests_sent_total{}"];
        assert_eq!(sent.last().unwrap().1, outcome.document().ledger("sent") as f64, "{kind}");
    }
}

#[test]
fn what_a_receiver_of_2_0_did_not_write_is_lost() {
    const HEADER: &str = "X-Prometheus-Remote-Write-Samples-Written: 2";
    let some = Head(|_| format!("204 X\r\n{HEADER}"));
    let bad = Head(|_| format!("400 X\r\n{HEADER}"));
    for (first, words) in
        [(some, "the server rejected "), (bad, "status was 400, and it rejected ")]
    {
        let first: &'static [Reply] = Box::leak(Box::new([WRITTEN, first]));
        let (address, requests) = receiver_then(first, WRITTEN);
        let outcome = short_run("remote-write2", &address);
        let lost = format!("--out remote-write2: 1 of {} updates were lost: ", {
            outcome.document().list("/intervals").len() + 1
        });
        assert!(outcome.stderr.contains(&lost), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("was sent"), "{}", outcome.stderr);
        assert!(requests.try_iter().all(|one| is_second(&one)));
    }
}
