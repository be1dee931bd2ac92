//! Native histograms, which are in protobuf only. The messages are Prometheus' own, read by a library.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use candor_report::document::latency::Distribution;
use prost::Message;

use super::{PATIENCE, address};
use crate::common::{Candor, Target};

/// io.prometheus.client.MetricFamily, as far as it is used; so are the others.
#[derive(Message)]
struct Family {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<Label>,
    #[prost(message, tag = "2")]
    gauge: Option<Single>,
    #[prost(message, tag = "3")]
    counter: Option<Single>,
    #[prost(message, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Message)]
struct Single {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Message)]
struct Histogram {
    #[prost(uint64, tag = "1")]
    count: u64,
    #[prost(double, tag = "2")]
    sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    span: Vec<Span>,
    #[prost(sint64, repeated, tag = "13")]
    delta: Vec<i64>,
}

#[derive(Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Message)]
struct Span {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

impl Histogram {
    /// The buckets that are not those of zero, by their index.
    fn buckets(&self) -> BTreeMap<i32, i64> {
        let (mut all, mut index, mut count) = (BTreeMap::new(), 0, 0);
        let mut deltas = self.delta.iter();
        for span in &self.span {
            index += span.offset;
            for _ in 0..span.length {
                count += deltas.next().expect("a bucket");
                all.insert(index, count);
                index += 1;
            }
        }
        assert_eq!(deltas.next(), None, "more buckets than spans have");
        all
    }
}

/// The count of a distribution's bucket of zero, and those of the others: i has the times in (b^(i−1), b^i] seconds.
pub(super) fn native_buckets(
    of: &Distribution,
    schema: i32,
    zero_threshold: f64,
) -> (u64, BTreeMap<i32, i64>) {
    let (mut zero, mut buckets) = (0, BTreeMap::new());
    let base = 2f64.powf(2f64.powi(-schema));
    for one in of.decode().unwrap().iter_recorded() {
        let value_s = one.value_iterated_to() as f64 / 1e9;
        if value_s <= zero_threshold {
            zero += one.count_at_value();
            continue;
        }
        let found = (-600..600).find(|index| value_s <= base.powi(*index)).unwrap();
        *buckets.entry(found).or_default() += one.count_at_value() as i64;
    }
    (zero, buckets)
}

fn families(address: &str) -> Vec<Family> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let kind = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let accept = format!("{kind},application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1");
    write!(stream, "GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&response[..end]).unwrap();
    assert!(head.contains(&format!("\r\nContent-Type: {}\r\n", kind.replace(';', "; "))), "{head}");
    let mut rest = &response[end + 4..];
    let mut all = Vec::new();
    while !rest.is_empty() {
        all.push(Family::decode_length_delimited(&mut rest).expect("a family"));
    }
    all
}

#[test]
fn native_histograms_are_those_of_the_result() {
    let target = Target::start(&[]);
    let flags = ["-R", "300", "-c", "4", "-d", "1s", "--linger", "30s", "--tag", "env=a \"b\""];
    let more = ["--out", "prometheus:0", &target.url("/delay/2ms")];
    let run = Candor::start_measuring(&[&flags[..], &more].concat());
    let address = address(&run);
    let during = families(&address);
    assert!(during.iter().any(|one| one.name == "candor_response_seconds"), "{during:?}");
    let is_over = |all: &[Family]| {
        let over = all.iter().find(|one| one.name == "candor_run_over").unwrap();
        over.metric[0].gauge.as_ref().unwrap().value == 1.0
    };
    let last = loop {
        let all = families(&address);
        if is_over(&all) {
            break all;
        }
        assert!(run.started().elapsed() < PATIENCE);
    };
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let document = outcome.document();
    for family in &last {
        assert!(!family.help.is_empty() && !family.metric.is_empty(), "{family:?}");
        for metric in &family.metric {
            assert_eq!((&*metric.label[0].name, &*metric.label[0].value), ("env", "a \"b\""));
            let has =
                [metric.counter.is_some(), metric.gauge.is_some(), metric.histogram.is_some()];
            assert_eq!(has, [family.kind == 0, family.kind == 1, family.kind == 4], "{family:?}");
        }
    }
    let requests = last.iter().find(|one| one.name == "candor_requests_total").unwrap();
    let sum: f64 = requests.metric.iter().map(|one| one.counter.as_ref().unwrap().value).sum();
    assert_eq!(sum, document.ledger("scheduled") as f64);
    for of in ["response", "service", "send_lag"] {
        let family = last.iter().find(|one| one.name == format!("candor_{of}_seconds")).unwrap();
        let histogram = family.metric[0].histogram.as_ref().unwrap();
        let of = document.at(&format!("/latencies/{of}")).clone();
        let of: Distribution = serde_json::from_value(of).unwrap();
        let sum_s = of.mean_ns.unwrap() * of.count as f64 / 1e9;
        assert_eq!(histogram.count, of.count);
        assert!((histogram.sum - sum_s).abs() <= 1e-9 * sum_s, "{} {sum_s}", histogram.sum);
        let expected = native_buckets(&of, histogram.schema, histogram.zero_threshold);
        assert_eq!((histogram.zero_count, histogram.buckets()), expected);
        let classic = histogram.bucket.last().unwrap();
        assert_eq!((classic.cumulative_count, classic.upper_bound), (of.count, f64::INFINITY));
        assert!(histogram.bucket.is_sorted_by_key(|one| one.cumulative_count), "{histogram:?}");
    }
}
