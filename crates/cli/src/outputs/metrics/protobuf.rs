//! Metrics as Prometheus' protobuf, delimited: it has native histograms beside the classic ones. The messages and the numbers of
//! their fields are those of <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>.

use candor_plan::Tag;

use super::message::Message;
use super::totals::{Family, Metrics, Times};

pub(super) const TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// All families. Each metric has the tags.
pub(super) fn bytes(families: &[Family<'_>], tags: &[Tag]) -> Vec<u8> {
    let mut all = Message::default();
    for family in families {
        let Family { about, metrics, .. } = family;
        let metric = |own: &[(&str, &str)]| {
            let tags = tags.iter().map(|tag| (tag.name.as_str(), tag.value.as_str()));
            tags.chain(own.iter().copied()).fold(Message::default(), |metric, (name, value)| {
                metric.message(1, Message::pair(name, value))
            })
        };
        // The type, and the field of a metric that has the value.
        let (kind, field, values) = match metrics {
            Metrics::Counters(values) => (0, 3, &values[..]),
            Metrics::Gauges(values) => (1, 2, &values[..]),
            Metrics::Histogram(_) => (4, 7, &[][..]),
        };
        let family = Message::default().bytes(1, family.name().as_bytes());
        let family = family.bytes(2, format!("{about}.").as_bytes()).count(3, kind);
        let family = values.iter().fold(family, |family, (labels, value)| {
            family.message(4, metric(labels).message(field, Message::default().double(1, *value)))
        });
        let family = match metrics {
            Metrics::Histogram(times) => {
                family.message(4, metric(&[]).message(field, histogram(times)))
            }
            Metrics::Counters(_) | Metrics::Gauges(_) => family,
        };
        all = all.delimited(&family.finish());
    }
    all.finish()
}

fn histogram(times: &Times) -> Message {
    let message = Message::default().count(1, times.count()).double(2, times.sum_s());
    let infinite = (f64::INFINITY, times.count());
    let message = times.classic().chain([infinite]).fold(message, |message, (edge_s, below)| {
        message.message(3, Message::default().count(1, below).double(2, edge_s))
    });
    let (buckets, zero) = times.native();
    let message = message.signed(5, Times::SCHEMA.into());
    let mut message = message.double(6, Times::ZERO_S).count(7, zero);
    // Runs of buckets: how many are empty before each, and how many it has.
    let mut spans: Vec<(i32, u64)> = Vec::new();
    let mut next = 0;
    let mut last = 0;
    for (index, count) in buckets {
        match spans.last_mut() {
            Some((_, length)) if *index == next => *length += 1,
            _ => spans.push((index - next, 1)),
        }
        next = index + 1;
        message = message.signed(13, *count as i64 - last);
        last = *count as i64;
    }
    spans.into_iter().fold(message, |message, (offset, length)| {
        message.message(12, Message::default().signed(1, offset.into()).count(2, length))
    })
}
