//! Metrics as Prometheus' protobuf, delimited: it has native histograms beside the classic ones. The messages and the numbers of
//! their fields are those of <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>.

use candor_plan::Tag;

use super::totals::{Family, Metrics, Times};

pub(super) const TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// A message under way.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn count(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }

    /// A number that may be negative, as sint32 or sint64.
    fn signed(self, field: u64, value: i64) -> Self {
        self.count(field, ((value << 1) ^ (value >> 63)) as u64)
    }

    fn double(self, field: u64, value: f64) -> Self {
        let mut message = self.varint(field << 3 | 1);
        message.0.extend_from_slice(&value.to_le_bytes());
        message
    }

    fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        message.0.extend_from_slice(bytes);
        message
    }

    fn message(self, field: u64, one: Message) -> Self {
        self.bytes(field, &one.0)
    }
}

/// All families. Each metric has the tags.
pub(super) fn bytes(families: &[Family<'_>], tags: &[Tag]) -> Vec<u8> {
    let mut all = Message::default();
    for Family { name, about, metrics } in families {
        let metric = |own: &[(&str, &str)]| {
            let tags = tags.iter().map(|tag| (tag.name.as_str(), tag.value.as_str()));
            tags.chain(own.iter().copied()).fold(Message::default(), |metric, (name, value)| {
                let label = Message::default().bytes(1, name.as_bytes());
                metric.message(1, label.bytes(2, value.as_bytes()))
            })
        };
        // The type, and the field of a metric that has the value.
        let (kind, field, values) = match metrics {
            Metrics::Counters(values) => (0, 3, &values[..]),
            Metrics::Gauges(values) => (1, 2, &values[..]),
            Metrics::Histogram(_) => (4, 7, &[][..]),
        };
        let family = Message::default().bytes(1, name.as_bytes());
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
        all = all.varint(family.0.len() as u64);
        all.0.extend(family.0);
    }
    all.0
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
