//! `remote-write:URL` and `remote-write2:URL`: all metrics of a run, sent to what takes Prometheus' remote write, 1.0 or
//! 2.0 first, <https://prometheus.io/docs/specs/prw/remote_write_spec/> and `remote_write_spec_2_0/`. A receiver that does
//! not take the one says so, and gets the other. The histograms of both are classic: 1.0 has no others, and a receiver that
//! does not store native ones refuses the whole request.

use std::collections::HashMap;

use candor_record::{RunRecord, Stretch};
use candor_report::Document;

use super::message::{Message, Value, fields, messages};
use super::post::{AGENT, Dialect, Form, Outgoing, Response, url_and_token};
use super::pushed::{Pushed, Update};
use super::totals::Metrics;
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "remote-write";
pub(in crate::outputs) const NAME_2: &str = "remote-write2";
/// The variable that has a token for the receiver.
const TOKEN: &str = "REMOTE_WRITE_TOKEN";
/// The bytes of a literal of Snappy: as many as two bytes can count.
const LITERAL_BYTES: usize = 1 << 16;

/// Fields of a `prometheus.WriteRequest`, and of its series.
const SERIES: u64 = 1;
const METADATA: u64 = 3;
const LABEL: u64 = 1;

const FIRST: Dialect = Dialect {
    name: "version 1.0",
    fields: "Content-Type: application/x-protobuf\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n",
    pack: |updates| (snappy(updates), 0),
    judge: |response, _| (response.status != 415).then_some(0),
};
const SECOND: Dialect = Dialect {
    name: "version 2.0",
    fields: concat!(
        "Content-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request\r\n",
        "X-Prometheus-Remote-Write-Version: 2.0.0\r\n"
    ),
    pack: |updates| {
        let (request, samples) = second(&updates);
        (snappy(request), samples)
    },
    judge: unwritten,
};

struct RemoteWrite(Pushed);

/// Version 1.0 first.
pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    of(NAME, (FIRST, SECOND), to)
}

/// Version 2.0 first.
pub(in crate::outputs) fn make_2(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    of(NAME_2, (SECOND, FIRST), to)
}

fn of(
    kind: &'static str,
    (dialect, other): (Dialect, Dialect),
    to: &Making<'_>,
) -> Result<Box<dyn Output>, UserError> {
    const EXAMPLE: &str = "http://127.0.0.1:9090/api/v1/write";
    let (url, authorization) = url_and_token(kind, to.place, EXAMPLE, (TOKEN, "Bearer"))?;
    let fields = authorization + AGENT + "Content-Encoding: snappy\r\n";
    let form = Form { kind, items: "updates", fields, is_call: false, dialect, other: Some(other) };
    Ok(Box::new(RemoteWrite(Pushed::new(Outgoing::new(form, &url)?, to.tags, request))))
}

impl Output for RemoteWrite {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.0.stretch(stretch);
    }

    fn settle(&mut self, record: &mut RunRecord) {
        self.0.settle(record);
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        self.0.end(document);
        if let Some(lost) = self.0.out.end()? {
            console::say(lost);
        }
        Ok(())
    }
}

/// How many of these samples a receiver of 2.0 did not write. It says how many it wrote, also with an error that it decided
/// on. One of 1.0 does not, and some respond to any content with a success, or with 400.
fn unwritten(response: &Response, samples: u64) -> Option<u64> {
    let written = response.field("X-Prometheus-Remote-Write-Samples-Written");
    match response.status {
        200..=299 | 400 => Some(samples.saturating_sub(written?.parse().ok()?)),
        415 => None,
        _ => Some(0),
    }
}

/// A `prometheus.WriteRequest`, of families with their metadata first. Requests one behind the other are one request.
fn request(update: &Update<'_>) -> Vec<u8> {
    let at_ms = update.at_ns / 1_000_000;
    let tags: Vec<(&str, &str)> = update.tags.iter().map(|tag| (&*tag.name, &*tag.value)).collect();
    let mut request = Message::default();
    for family in update.families {
        let (name, about) = (family.name(), family.about);
        let kind = match family.metrics {
            Metrics::Counters(_) => 1,
            Metrics::Gauges(_) => 2,
            Metrics::Histogram(_) => 3,
        };
        let about = format!("{about}.");
        let metadata = Message::default().count(1, kind).bytes(2, name.as_bytes());
        request.add(METADATA, metadata.bytes(4, about.as_bytes()));
        family.series(|name, own, value| {
            let mut labels = [&[("__name__", name)], &tags[..], own].concat();
            labels.sort_unstable();
            let series = labels.into_iter().fold(Message::default(), |series, (name, value)| {
                series.message(LABEL, Message::pair(name, value))
            });
            let sample = Message::default().double(1, value).count(2, at_ms);
            request.add(SERIES, series.message(2, sample));
        });
    }
    request.finish()
}

/// The same as an `io.prometheus.write.v2.Request`, and the number of its samples. Each text is in it once, and each series
/// has the metadata of its family.
fn second(first: &[u8]) -> (Vec<u8>, u64) {
    let mut symbols = Symbols::default();
    symbols.place(b"");
    let (mut all, mut samples) = (Message::default(), 0);
    let (mut kind, mut about) = (0, 0);
    for (field, part) in messages(first) {
        if field == METADATA {
            let number = fields(part).find_map(|one| match one {
                (1, Value::Number(kind)) => Some(kind),
                _ => None,
            });
            let text = messages(part).find(|(field, _)| *field == 4);
            kind = number.unwrap_or_default();
            about = text.map_or(0, |(_, text)| symbols.place(text));
            continue;
        }
        let (mut labels, mut series) = (Message::default(), Message::default());
        for (field, part) in messages(part) {
            if field == LABEL {
                labels =
                    messages(part).fold(labels, |to, (_, text)| to.varint(symbols.place(text)));
            } else {
                series = series.bytes(2, part);
                samples += 1;
            }
        }
        let metadata = Message::default().count(1, kind).count(3, about);
        all.add(5, series.message(1, labels).message(5, metadata));
    }
    let request = symbols.texts.iter().fold(Message::default(), |to, text| to.bytes(4, text));
    ([request.finish(), all.finish()].concat(), samples)
}

/// Texts, each once.
#[derive(Default)]
struct Symbols<'a> {
    texts: Vec<&'a [u8]>,
    places: HashMap<&'a [u8], u64>,
}

impl<'a> Symbols<'a> {
    fn place(&mut self, text: &'a [u8]) -> u64 {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as u64 - 1
        })
    }
}

/// A block of Snappy, of literals alone: <https://github.com/google/snappy/blob/main/format_description.txt>.
fn snappy(bytes: Vec<u8>) -> Vec<u8> {
    let mut block = Message::default().varint(bytes.len() as u64).finish();
    for literal in bytes.chunks(LITERAL_BYTES) {
        let [low, high, ..] = (literal.len() - 1).to_le_bytes();
        block.extend([61 << 2, low, high]);
        block.extend_from_slice(literal);
    }
    block
}
