//! `remote-write:URL`: all metrics of a run, sent to what takes Prometheus' remote write 1.0,
//! <https://prometheus.io/docs/specs/prw/remote_write_spec/>. Its histograms are classic: the version has no others, and a
//! receiver that does not know native ones refuses the whole request.

use candor_record::{RunRecord, Stretch};
use candor_report::Document;

use super::message::Message;
use super::post::{AGENT, Form, Outgoing, url_and_token};
use super::pushed::{Pushed, Update};
use super::totals::Metrics;
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "remote-write";
/// The variable that has a token for the receiver.
const TOKEN: &str = "REMOTE_WRITE_TOKEN";
/// The bytes of a literal of Snappy: as many as two bytes can count.
const LITERAL_BYTES: usize = 1 << 16;

struct RemoteWrite(Pushed);

pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    const EXAMPLE: &str = "http://127.0.0.1:9090/api/v1/write";
    let (url, authorization) = url_and_token(NAME, to.place, EXAMPLE, (TOKEN, "Bearer"))?;
    let fields = authorization
        + AGENT
        + "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n"
        + "X-Prometheus-Remote-Write-Version: 0.1.0\r\n";
    let form = Form { kind: NAME, items: "updates", fields, pack: snappy, rejected: |_| 0 };
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

/// A `prometheus.WriteRequest`. Requests one behind the other are one request.
fn request(update: &Update<'_>) -> Vec<u8> {
    let at_ms = update.at_ns / 1_000_000;
    let tags: Vec<(&str, &str)> = update.tags.iter().map(|tag| (&*tag.name, &*tag.value)).collect();
    let mut request = Message::default();
    for family in update.families {
        let (name, about) = (family.name(), family.about);
        family.series(|name, own, value| {
            let mut labels = [&[("__name__", name)], &tags[..], own].concat();
            labels.sort_unstable();
            let series = labels.into_iter().fold(Message::default(), |series, (name, value)| {
                series.message(1, Message::pair(name, value))
            });
            let sample = Message::default().double(1, value).count(2, at_ms);
            request.add(1, series.message(2, sample));
        });
        let kind = match family.metrics {
            Metrics::Counters(_) => 1,
            Metrics::Gauges(_) => 2,
            Metrics::Histogram(_) => 3,
        };
        let about = format!("{about}.");
        let metadata = Message::default().count(1, kind).bytes(2, name.as_bytes());
        request.add(3, metadata.bytes(4, about.as_bytes()));
    }
    request.finish()
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
