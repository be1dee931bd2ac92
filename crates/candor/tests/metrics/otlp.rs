//! OpenTelemetry's protocol over HTTP and over gRPC, read by a library. The messages are those of opentelemetry-proto 1.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::process::Command;
use std::sync::mpsc::Receiver;

use candor_report::document::latency::Distribution;
use prost::{Message, Oneof};

use super::USAGE;
use super::calls::{Reply, service, service_of};
use super::native::native_buckets;
use super::receiver::Reply::{Body, Close, Head, Status};
use super::receiver::{Request, certified, receiver, receiver_of, run_trusting};
use crate::common::{CANDOR, Candor, Document, Outcome, Target, candor};

/// ExportMetricsServiceRequest and ExportLogsServiceRequest, as far as they are used; so are the others.
#[derive(Message)]
struct Export<T: Message + Default + Debug> {
    #[prost(message, repeated, tag = "1")]
    of_resources: Vec<OfResource<T>>,
}

#[derive(Message)]
struct OfResource<T: Message + Default + Debug> {
    #[prost(message, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    of_scopes: Vec<OfScope<T>>,
}

#[derive(Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Message)]
struct OfScope<T: Message + Default + Debug> {
    #[prost(message, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    all: Vec<T>,
}

#[derive(Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Message, Clone)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Message, Clone)]
struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 4")]
    any: Option<Any>,
}

#[derive(Oneof, Clone, PartialEq)]
enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(double, tag = "4")]
    Number(f64),
}

#[derive(Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(message, tag = "5")]
    gauge: Option<Numbers>,
    #[prost(message, tag = "7")]
    sum: Option<Numbers>,
    #[prost(message, tag = "10")]
    exponential: Option<Exponential>,
}

#[derive(Message)]
struct Numbers {
    #[prost(message, repeated, tag = "1")]
    points: Vec<Point>,
    #[prost(int32, tag = "2")]
    temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Message)]
struct Point {
    #[prost(fixed64, tag = "2")]
    from_ns: u64,
    #[prost(fixed64, tag = "3")]
    at_ns: u64,
    #[prost(double, tag = "4")]
    value: f64,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Message)]
struct Exponential {
    #[prost(message, repeated, tag = "1")]
    points: Vec<Histogram>,
    #[prost(int32, tag = "2")]
    temporality: i32,
}

#[derive(Message)]
struct Histogram {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    from_ns: u64,
    #[prost(fixed64, tag = "3")]
    at_ns: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, tag = "5")]
    sum: f64,
    #[prost(sint32, tag = "6")]
    scale: i32,
    #[prost(fixed64, tag = "7")]
    zero_count: u64,
    #[prost(message, tag = "8")]
    positive: Option<Buckets>,
    #[prost(double, tag = "14")]
    zero_threshold: f64,
}

#[derive(Message)]
struct Buckets {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    counts: Vec<u64>,
}

#[derive(Message)]
struct Event {
    #[prost(fixed64, tag = "1")]
    at_ns: u64,
    #[prost(int32, tag = "2")]
    severity: i32,
    #[prost(message, tag = "5")]
    body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(string, tag = "12")]
    name: String,
}

/// The methods of metrics and of events.
const METHODS: [&str; 2] = [
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
];

/// What requests with this line had, in the order in which it came.
fn exported<T: Message + Default + Debug>(requests: &[Request], line: &str) -> Vec<T> {
    let mut all = Vec::new();
    for request in requests.iter().filter(|one| one.head.starts_with(&format!("{line}\r\n"))) {
        assert!(!request.body.is_empty(), "nothing is sent");
        for one in Export::<T>::decode(&request.body[..]).expect("OTLP").of_resources {
            let resource = texts(&one.resource.unwrap().attributes);
            assert_eq!(resource["service.name"], "candor");
            for of_scope in one.of_scopes {
                assert_eq!(of_scope.scope.unwrap().name, "candor");
                all.extend(of_scope.all);
            }
        }
    }
    all
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |one: &KeyValue| match &one.value.as_ref()?.any {
        Some(Any::Text(text)) => Some((one.key.clone(), text.clone())),
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}

/// The last value of a metric with these attributes.
fn last(metrics: &[Metric], name: &str, attributes: &[(&str, &str)]) -> f64 {
    let wanted = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let wanted: BTreeMap<String, String> = wanted.collect();
    let of_name = metrics.iter().rev().filter(|one| one.name == name);
    let points = of_name.flat_map(|one| &one.gauge.as_ref().or(one.sum.as_ref()).unwrap().points);
    let found = points.clone().find(|one| texts(&one.attributes) == wanted);
    found.unwrap_or_else(|| panic!("{name} {attributes:?}")).value
}

fn assert_histogram(metrics: &[Metric], of: &str, document: &Document) {
    let name = format!("candor.{of}");
    let metric = metrics.iter().rfind(|one| one.name == name).unwrap();
    let exponential = metric.exponential.as_ref().unwrap();
    assert_eq!((exponential.temporality, &*metric.unit), (2, "s"));
    let [histogram] = &exponential.points[..] else { panic!("{exponential:?}") };
    assert_eq!(texts(&histogram.attributes)["env"], "a b");
    let of: Distribution =
        serde_json::from_value(document.at(&format!("/latencies/{of}")).clone()).unwrap();
    let sum_s = of.mean_ns.unwrap() * of.count as f64 / 1e9;
    assert_eq!(histogram.count, of.count, "{name}");
    assert!((histogram.sum - sum_s).abs() <= 1e-9 * sum_s, "{name} {sum_s}");
    let positive = histogram.positive.as_ref().unwrap();
    // Bucket i has the values in (b^i, b^(i+1)].
    let buckets = (positive.offset + 1..).zip(positive.counts.iter().map(|count| *count as i64));
    let buckets = buckets.filter(|(_, count)| *count > 0).collect();
    let expected = native_buckets(&of, histogram.scale, histogram.zero_threshold);
    assert_eq!((histogram.zero_count, buckets), expected, "{name}");
}

#[test]
fn metrics_and_events_are_those_of_the_result() {
    let (address, requests) = receiver(&[Status(503), Close]);
    let outcome = run(&format!("otlp:http://me:pa55@{address}/base/?x=y"));
    let requests: Vec<Request> = requests.try_iter().collect();
    for request in &requests {
        for line in [
            "Content-Type: application/x-protobuf",
            "api-key: a b",
            "x-scope: y",
            "Authorization: Basic bWU6cGE1NQ==",
        ] {
            assert!(request.head.contains(&format!("\r\n{line}\r\n")), "{}", request.head);
        }
    }
    let line = |path: &str| format!("POST /base{path}?x=y HTTP/1.1");
    assert_exported(&outcome, &requests, [line("/v1/metrics"), line("/v1/logs")]);
}

#[test]
fn the_same_is_sent_by_calls_of_grpc() {
    const UNAVAILABLE: Reply = Reply::Fails(&[("grpc-status", "14")]);
    const ODD: &[Reply] = &[UNAVAILABLE, Reply::Close, Reply::Http("503"), Reply::Garbage];
    let (address, requests) = service(ODD, Reply::Takes(b""), None);
    let outcome = run(&format!("otlp-grpc:http://me:pa55@{address}"));
    let requests: Vec<Request> = requests.try_iter().collect();
    for request in &requests {
        let authority = format!(":authority: {address}");
        for line in [&*authority, "api-key: a b", "x-scope: y", "authorization: Basic bWU6cGE1NQ=="]
        {
            assert!(request.head.contains(&format!("\r\n{line}\r\n")), "{}", request.head);
        }
    }
    assert_exported(&outcome, &requests, METHODS.map(|path| format!("POST {path} HTTP/2")));
}

/// A run whose metrics and events go there, and whose tags and objectives are those of [`assert_exported`].
fn run(out: &str) -> Outcome {
    let target = Target::start(&[]);
    let flags = ["-R", "100", "-c", "1", "-d", "2500ms", "--interval", "100ms"];
    let shown = ["--shed-after", "100ms", "--tag", "env=a b", "--expect", "p50 < 1ns"];
    let url = target.url("/delay/20ms");
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(flags).args(shown).args(["--json", "result.json", "--out", out, &url]);
        command
            .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-scope = y")
            .current_dir(directory);
    });
    run.finish()
}

/// What came with these lines, metrics and events, is what the document says.
fn assert_exported(
    outcome: &Outcome,
    requests: &[Request],
    [metrics_line, events_line]: [String; 2],
) {
    assert_eq!(outcome.code(), 3, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("lost"), "{}", outcome.stderr);
    let document = outcome.document();
    let metrics: Vec<Metric> = exported(requests, &metrics_line);
    let over = metrics.iter().filter(|one| one.name == "candor.run_over");
    let over: Vec<&Point> = over.map(|one| &one.gauge.as_ref().unwrap().points[0]).collect();
    assert_eq!(over.len(), document.list("/intervals").len() + 1, "an update is missing");
    assert!(over.is_sorted_by(|one, next| one.at_ns < next.at_ns && one.from_ns == next.from_ns));
    assert!(over.iter().rev().skip(1).all(|one| one.value == 0.0), "{over:?}");
    for metric in &metrics {
        assert!(!metric.description.is_empty(), "{metric:?}");
        let kinds = [metric.gauge.is_some(), metric.sum.is_some(), metric.exponential.is_some()];
        assert_eq!(kinds.iter().filter(|one| **one).count(), 1, "{metric:?}");
        if let Some(sum) = &metric.sum {
            assert_eq!((sum.temporality, sum.is_monotonic), (2, true), "{metric:?}");
            assert!(sum.points.iter().all(|one| one.from_ns == over[0].from_ns), "{metric:?}");
        }
    }
    let env = ("env", "a b");
    let count = |place: &str| document.ledger(place) as f64;
    assert!(count("shed") > 0.0, "{}", document.at("/ledger"));
    for (name, attributes, value) in [
        ("requests.scheduled", &[env][..], count("scheduled")),
        ("requests.sent", &[env], count("sent")),
        ("requests", &[env, ("outcome", "ok")], count("ok")),
        ("requests", &[env, ("outcome", "shed")], count("shed")),
        ("requests", &[env, ("outcome", "timeout")], 0.0),
        ("in_flight", &[env], 0.0),
        ("objective", &[env, ("objective", "p50 < 1ns"), ("outcome", "not met")], 1.0),
        ("objective", &[env, ("objective", "p50 < 1ns"), ("outcome", "met")], 0.0),
        ("run_over", &[env], 1.0),
    ] {
        assert_eq!(last(&metrics, &format!("candor.{name}"), attributes), value, "{name}");
    }
    for of in ["response", "service", "send_lag"] {
        assert_histogram(&metrics, of, &document);
    }

    let events: Vec<Event> = exported(requests, &events_line);
    let (objectives, verdicts): (Vec<_>, Vec<_>) =
        events.iter().partition(|one| one.name == "candor.objective");
    let sentences = |all: &[&Event]| -> Vec<String> {
        let text = |one: &&Event| match one.body.as_ref().unwrap().any.clone() {
            Some(Any::Text(text)) => text,
            other => panic!("{other:?}"),
        };
        all.iter().map(text).collect()
    };
    let said = |place: &str| -> Vec<String> {
        document
            .list(place)
            .iter()
            .map(|one| one["sentence"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(!verdicts.is_empty() && verdicts.iter().all(|one| one.name == "candor.verdict"));
    assert_eq!(sentences(&verdicts), said("/verdicts"));
    assert_eq!(sentences(&objectives), said("/expectations"));
    for (event, verdict) in verdicts.iter().zip(document.list("/verdicts")) {
        let severity = match verdict["severity"].as_str().unwrap() {
            "note" => 9,
            "warning" => 13,
            _ => 17,
        };
        let attributes = texts(&event.attributes);
        assert_eq!((event.severity, event.at_ns > over[0].from_ns), (severity, true));
        assert_eq!(
            (&*attributes["id"], &*attributes["env"]),
            (verdict["id"].as_str().unwrap(), "a b")
        );
        for (name, value) in verdict["evidence"].as_object().unwrap() {
            let name = format!("evidence.{name}");
            let found = event.attributes.iter().find(|one| one.key == name).unwrap();
            let found = found.value.as_ref().unwrap().any.clone();
            assert_eq!(found, Some(Any::Number(value.as_f64().unwrap())), "{name}");
        }
    }
    assert_eq!(
        (objectives[0].severity, &*texts(&objectives[0].attributes)["outcome"]),
        (17, "not met")
    );
}

/// A run with an objective.
fn short(target: &Target, out: &str) -> Outcome {
    let load = ["-c", "1", "-d", "300ms", "--interval", "100ms", "--expect", "p50 < 1h"];
    candor(&[&load[..], &["--out", out, &target.url("/")]].concat())
}

#[test]
fn what_a_receiver_does_not_take_is_said() {
    let target = Target::start(&[]);
    let run = |out: &str| short(&target, out);
    let address = receiver_of("/v1/metrics");
    let only = run(&format!("otlp:http://{address}"));
    assert_eq!(only.code(), 0, "{}", only.stderr);
    assert!(
        only.stderr.contains("events were lost: the server's status was 404"),
        "{}",
        only.stderr
    );
    assert!(!only.stderr.contains("updates were lost"), "{}", only.stderr);
    let address = receiver_of("/v1/logs");
    let none = run(&format!("otlp:http://{address}"));
    assert_eq!(none.code(), 1, "{}", none.stderr);
    assert!(
        none.stderr.contains("updates were lost: the server's status was 404"),
        "{}",
        none.stderr
    );

    // It accepts a request, and rejects two of its points.
    let (address, _requests) = receiver(&[Body(b"\x0a\x02\x08\x02")]);
    let some = run(&format!("otlp:http://{address}"));
    assert_eq!(some.code(), 0, "{}", some.stderr);
    let words = ["--out otlp: 1 of ", "updates were lost: the server rejected 2 values"];
    assert!(words.iter().all(|word| some.stderr.contains(word)), "{}", some.stderr);

    let refused = |out: &str, words: &[&str]| run(out).assert_refused(USAGE, words);
    refused("otlp", &["--out otlp needs an address", "otlp:http://127.0.0.1:4318"]);
    refused("otlp:grpc://127.0.0.1:4317", &["over HTTP", "otlp-grpc:http://127.0.0.1:4317"]);
    refused("otlp-grpc", &["--out otlp-grpc needs an address", "otlp-grpc:http://127.0.0.1:4317"]);
    refused("otlp-grpc:http://127.0.0.1:4317/v1/metrics", &["leave out the path"]);
    refused(
        "otlp:http://127.0.0.1:4318/v1/metrics",
        &["Candor adds /v1/metrics", "leave them out"],
    );
}

#[test]
fn what_a_service_does_not_take_is_said() {
    let target = Target::start(&[]);
    let said = |address: &str, code: i32, words: &[&str]| {
        let outcome = short(&target, &format!("otlp-grpc:http://{address}"));
        assert_eq!(outcome.code(), code, "{}", outcome.stderr);
        for word in words {
            assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
        }
        outcome.stderr
    };
    let [metrics, events] = METHODS;
    let only = said(&service_of(metrics), 0, &["events were lost: gRPC status UNIMPLEMENTED"]);
    assert!(!only.contains("updates were lost"), "{only}");
    said(&service_of(events), 1, &["updates were lost: gRPC status UNIMPLEMENTED: no such method"]);

    const REJECTS: &[Reply] = &[Reply::Takes(b"\x0a\x02\x08\x02")];
    let (address, _calls) = service(REJECTS, Reply::Takes(b""), None);
    said(&address, 0, &["--out otlp-grpc: 1 of ", "the server rejected 2 values"]);
    let (address, _calls) = service(&[], Reply::Hang, None);
    said(&address, 1, &["updates were lost: timed out"]);
    let (address, _calls) = service(&[], Reply::Http("404"), None);
    said(&address, 1, &["updates were lost: gRPC status UNIMPLEMENTED"]);
}

#[test]
fn a_receiver_that_asks_for_time_gets_it() {
    // A google.rpc.Status with a RetryInfo of 30 s.
    const WHEN: &str = "CAgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIHg";
    const ASKS: &[Reply] =
        &[Reply::Fails(&[("grpc-status", "8"), ("grpc-status-details-bin", WHEN)])];
    const REFUSES: &[Reply] = &[Reply::Fails(&[
        ("grpc-status", "8"),
        ("grpc-message", "key-7Gq2ZpX9 is over its quota"),
    ])];
    let target = Target::start(&[]);
    let run = |out: &str| {
        let url = target.url("/");
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            command.args(["-c", "1", "-d", "2500ms", "--interval", "100ms", "--out", out, &url]);
            command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=key-7Gq2ZpX9");
            command.current_dir(directory);
        });
        run.finish()
    };
    // It is asked again only at the end, and gets all of it then.
    let assert_waited = |out: &str, requests: Receiver<Request>, line: &str| {
        let later = run(out);
        assert_eq!(later.code(), 0, "{}", later.stderr);
        assert!(!later.stderr.contains("lost"), "{}", later.stderr);
        let updates = requests.try_iter().filter(|one| one.head.starts_with(line)).count();
        assert!((1..5).contains(&updates), "{updates} requests");
    };
    let (address, calls) = service(ASKS, Reply::Takes(b""), None);
    let line = format!("POST {} HTTP/2", METHODS[0]);
    assert_waited(&format!("otlp-grpc:http://{address}"), calls, &line);
    let (address, requests) = receiver(&[Head(|_| "429 X\r\nRetry-After: 30".to_owned())]);
    assert_waited(&format!("otlp:http://{address}"), requests, "POST /v1/metrics HTTP/1.1");

    // Without a time for the next call an exhausted service has decided.
    let (address, _calls) = service(REFUSES, Reply::Takes(b""), None);
    let refused = run(&format!("otlp-grpc:http://{address}"));
    assert_eq!(refused.code(), 0, "{}", refused.stderr);
    let words = "updates were lost: gRPC status RESOURCE_EXHAUSTED";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    assert!(!refused.stderr.contains("7Gq2ZpX9"), "{}", refused.stderr);
}

#[test]
fn calls_go_over_tls_to_a_service_that_the_system_trusts() {
    let (config, certificate) = certified();
    let (address, calls) = service(&[], Reply::Takes(b""), Some(config));
    let target = Target::start(&[]);
    let (out, url) = (format!("otlp-grpc:https://{address}"), target.url("/"));
    let trusted = run_trusting(&certificate, &out, &url);
    assert_eq!(trusted.code(), 0, "{}", trusted.stderr);
    let calls: Vec<Request> = calls.try_iter().collect();
    assert!(calls.iter().any(|one| one.head.contains("\r\n:scheme: https\r\n")), "{}", calls.len());
    let stranger = run_trusting(&certified().1, &out, &url);
    assert_eq!(stranger.code(), 1, "{}", stranger.stderr);
}
