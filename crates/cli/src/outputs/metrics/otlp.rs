//! `otlp:URL` and `otlp-grpc:URL`: all metrics of a run, sent by OpenTelemetry's protocol over HTTP or over gRPC,
//! <https://opentelemetry.io/docs/specs/otlp/>; at the end its verdicts and objectives as events. The messages and the numbers of their fields are those of
//! <https://github.com/open-telemetry/opentelemetry-proto>.

use std::env;

use candor_plan::Tag;
use candor_plan::escape::percent_decoded;
use candor_plan::url::HttpUrl;
use candor_record::{RunRecord, Stretch};
use candor_report::Document;
use candor_report::document::{Outcome, Severity};

use super::message::{Message, Value, fields};
use super::post::{AGENT, Dialect, Form, Outgoing, Response, secret, url};
use super::pushed::{Pushed, Update};
use super::totals::{Family, Labels, Metrics, Times};
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "otlp";
pub(in crate::outputs) const NAME_GRPC: &str = "otlp-grpc";
/// The variable that has header fields for the receiver, as OpenTelemetry's own exporters read it.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const METRICS: &str = "/v1/metrics";
const EVENTS: &str = "/v1/logs";
/// The methods of metrics and of events.
const METHODS: [&str; 2] = [
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
];
const EXAMPLE_GRPC: &str = "http://127.0.0.1:4317";
/// Totals since a start, in OTLP's words.
const CUMULATIVE: u64 = 2;

struct Otlp {
    metrics: Pushed,
    events: Outgoing,
    tags: Vec<Tag>,
}

/// Over HTTP.
pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    const EXAMPLE: &str = "http://127.0.0.1:4318";
    let refused = |why: String| Err(UserError::usage(format!("--out {NAME}: {why}")));
    let scheme = to.place.file().and_then(|place| place.to_str()?.split_once("://"));
    if scheme.is_some_and(|(scheme, _)| scheme.starts_with("grpc")) {
        return refused(format!("{NAME} is over HTTP; write e.g. {NAME_GRPC}:{EXAMPLE_GRPC}"));
    }
    let base = url(NAME, to.place, EXAMPLE)?;
    let (path, query) = base.path.split_at(base.path.find('?').unwrap_or(base.path.len()));
    let path = path.trim_end_matches('/');
    if path.ends_with(METRICS) || path.ends_with(EVENTS) {
        return refused(format!("Candor adds {METRICS} and {EVENTS} to the URL; leave them out"));
    }
    of(NAME, to, &base, [METRICS, EVENTS].map(|to| format!("{path}{to}{query}")))
}

/// Over gRPC.
pub(in crate::outputs) fn make_grpc(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    let base = url(NAME_GRPC, to.place, EXAMPLE_GRPC)?;
    match base.path.as_str() {
        "/" => of(NAME_GRPC, to, &base, METHODS.map(str::to_owned)),
        _ => Err(UserError::usage(format!(
            "--out {NAME_GRPC}: gRPC has the paths of its methods; leave out the path, e.g. {EXAMPLE_GRPC}"
        ))),
    }
}

/// `paths` are those of metrics and of events.
fn of(
    kind: &'static str,
    to: &Making<'_>,
    base: &HttpUrl,
    paths: [String; 2],
) -> Result<Box<dyn Output>, UserError> {
    let mut head = AGENT.to_owned();
    if let Some(value) = &base.authorization {
        head += &secret(kind, HEADERS, "Authorization", value)?;
    }
    for field in
        env::var(HEADERS).unwrap_or_default().split(',').filter(|one| !one.trim().is_empty())
    {
        let (name, value) = field.split_once('=').unwrap_or_default();
        let value = String::from_utf8_lossy(&percent_decoded(value.trim())).into_owned();
        head += &secret(kind, HEADERS, name.trim(), &value)?;
    }
    let out = |items, path| {
        let judge: fn(&Response, u64) -> _ = |response, _| Some(rejected(&response.body));
        let fields = "Content-Type: application/x-protobuf\r\n";
        let dialect = Dialect { fields, judge, ..Dialect::PLAIN };
        let (fields, is_call) = (head.clone(), kind == NAME_GRPC);
        let form = Form { kind, items, fields, is_call, dialect, other: None };
        Outgoing::new(form, &HttpUrl { path, ..base.clone() })
    };
    let [metrics_path, events_path] = paths;
    Ok(Box::new(Otlp {
        metrics: Pushed::new(out("updates", metrics_path)?, to.tags, metrics),
        events: out("events", events_path)?,
        tags: to.tags.to_vec(),
    }))
}

impl Output for Otlp {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.metrics.stretch(stretch);
    }

    fn settle(&mut self, record: &mut RunRecord) {
        self.metrics.settle(record);
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        self.metrics.end(document);
        let count = document.verdicts.len() + document.expectations.len();
        if count > 0 {
            let at_ns = self.metrics.out.unix_ns(document.time.elapsed_ns);
            self.events.offer(events(document, &self.tags, at_ns), count as u64);
        }
        // Not every receiver of metrics takes events, so they fail no run.
        let events = self.events.end().unwrap_or_else(|lost| Some(format!("candor: {lost}")));
        events.into_iter().for_each(console::say);
        self.metrics.out.end()?.into_iter().for_each(console::say);
        Ok(())
    }
}

/// The number in `partial_success` of a response: points or events that the receiver rejected.
fn rejected(response: &[u8]) -> u64 {
    let success = fields(response).find_map(|one| match one {
        (1, Value::Bytes(success)) => Some(success),
        _ => None,
    });
    let count = |success| {
        fields(success).find_map(|one| match one {
            (1, Value::Number(count)) => Some(count),
            _ => None,
        })
    };
    success.and_then(count).unwrap_or_default()
}

/// An `ExportMetricsServiceRequest`. Requests one behind the other are one request.
fn metrics(update: &Update<'_>) -> Vec<u8> {
    let all =
        update.families.iter().fold(scope(), |all, family| all.message(2, metric(update, family)));
    of_candor(all)
}

/// Everything is of one resource and of one scope, which is first.
fn of_candor(scoped: Message) -> Vec<u8> {
    let service = attribute("service.name", text("candor"));
    let version = attribute("service.version", text(env!("CARGO_PKG_VERSION")));
    let resource = Message::default().message(1, service).message(1, version);
    let of_resource = Message::default().message(1, resource).message(2, scoped);
    Message::default().message(1, of_resource).finish()
}

fn scope() -> Message {
    Message::default().message(1, Message::pair("candor", env!("CARGO_PKG_VERSION")))
}

fn metric(update: &Update<'_>, family: &Family<'_>) -> Message {
    let name = format!("{}.{}", Family::PREFIX, family.what);
    let metric = Message::default().bytes(1, name.as_bytes());
    let metric = metric.bytes(2, family.about.as_bytes()).bytes(3, family.unit.as_bytes());
    let points = |all: &[(Labels<'_>, f64)]| {
        all.iter().fold(Message::default(), |points, (own, value)| {
            points.message(1, point(update, 7, own).double(4, *value))
        })
    };
    match &family.metrics {
        Metrics::Gauges(all) => metric.message(5, points(all)),
        Metrics::Counters(all) => metric.message(7, points(all).count(2, CUMULATIVE).count(3, 1)),
        Metrics::Histogram(times) => {
            let point = histogram(point(update, 1, &Vec::new()), times);
            metric.message(10, Message::default().message(1, point).count(2, CUMULATIVE))
        }
    }
}

/// A point without its value; `field` has its attributes.
fn point(update: &Update<'_>, field: u64, own: &Labels<'_>) -> Message {
    let point = Message::default().fixed(2, update.from_ns).fixed(3, update.at_ns);
    let point = tagged(point, field, update.tags);
    own.iter()
        .fold(point, |point, (name, value)| point.message(field, attribute(name, text(value))))
}

fn tagged(to: Message, field: u64, tags: &[Tag]) -> Message {
    tags.iter().fold(to, |to, tag| to.message(field, attribute(&tag.name, text(&tag.value))))
}

/// Bucket i has the times in (b^i, b^(i+1)], so each has an index one below that of Prometheus.
fn histogram(point: Message, times: &Times) -> Message {
    let (buckets, zero) = times.native();
    let point = point.fixed(4, times.count()).double(5, times.sum_s());
    let point = point.signed(6, Times::SCHEMA.into()).fixed(7, zero).double(14, Times::ZERO_S);
    let Some((first, last)) = buckets.keys().next().zip(buckets.keys().next_back()) else {
        return point;
    };
    let counts = (*first..=*last).map(|index| buckets.get(&index).copied().unwrap_or_default());
    let counts = counts.fold(Message::default(), Message::varint).finish();
    point.message(8, Message::default().signed(1, i64::from(*first) - 1).bytes(2, &counts))
}

/// An `ExportLogsServiceRequest` with verdicts and objectives.
fn events(document: &Document, tags: &[Tag], at_ns: u64) -> Vec<u8> {
    // The numbers of severity are INFO, WARN and ERROR.
    let event = |name: &str, severity: (u64, &str), sentence: &str| {
        let event = Message::default().fixed(1, at_ns).count(2, severity.0);
        let event = event.bytes(3, severity.1.as_bytes()).message(5, text(sentence));
        tagged(event.bytes(12, name.as_bytes()), 6, tags)
    };
    let mut all = scope();
    for one in &document.verdicts {
        let severity = match one.severity {
            Severity::Note => (9, "note"),
            Severity::Warning => (13, "warning"),
            Severity::Invalid => (17, "invalid"),
        };
        let event = event("candor.verdict", severity, &one.sentence);
        let event = event.message(6, attribute("id", text(&one.id)));
        let event = event.message(6, attribute("remedy", text(&one.remedy)));
        all.add(
            2,
            one.evidence.iter().fold(event, |event, (name, value)| {
                event.message(6, attribute(&format!("evidence.{name}"), number(*value)))
            }),
        );
    }
    for one in &document.expectations {
        let severity = match one.outcome {
            Outcome::Met => 9,
            Outcome::CannotTell => 13,
            Outcome::NotMet => 17,
        };
        let outcome = one.outcome.word();
        let event = event("candor.objective", (severity, outcome), &one.sentence);
        let event = event.message(6, attribute("objective", text(&one.expression)));
        let event = event.message(6, attribute("outcome", text(outcome)));
        all.add(
            2,
            one.measured.iter().fold(event, |event, value| {
                event.message(6, attribute("measured", number(*value)))
            }),
        );
    }
    of_candor(all)
}

/// A `KeyValue`.
fn attribute(name: &str, value: Message) -> Message {
    Message::default().bytes(1, name.as_bytes()).message(2, value)
}

/// An `AnyValue`, of a text and of a number.
fn text(value: &str) -> Message {
    Message::default().bytes(1, value.as_bytes())
}

fn number(value: f64) -> Message {
    Message::default().double(4, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_says_how_much_was_rejected() {
        let success = |success: Message| Message::default().message(1, success).finish();
        let some = success(Message::default().count(1, 300).bytes(2, b"out of order"));
        assert_eq!(rejected(&some), 300);
        assert_eq!(rejected(&success(Message::default().count(1, u64::MAX))), u64::MAX);
        let none = success(Message::default().bytes(2, b"a warning"));
        let cut = [&some[..3], &[0xff; 20]].concat();
        for nothing in [&[][..], b"{}", &success(Message::default()), &none, &some[..3], &cut] {
            assert_eq!(rejected(nothing), 0, "{nothing:?}");
        }
    }
}
