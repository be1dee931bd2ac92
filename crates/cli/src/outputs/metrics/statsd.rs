//! `statsd:ADDRESS`: the counts and gauges of each finished interval as datagrams of StatsD. It has no times: a receiver
//! would make percentiles of percentiles. Sending never waits; a datagram that the kernel refuses is counted.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use candor_record::{RunRecord, Stretch};
use candor_report::Document;

use super::totals::{Family, Labels, Metrics, SECONDS, Totals};
use super::{addresses, joined, place};
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "statsd";
/// The most bytes of a datagram, which fit into a frame of Ethernet with every header.
const DATAGRAM_BYTES: usize = 1400;

struct Statsd {
    socket: Socket,
    tags: String,
    totals: Totals,
    /// The counters that were sent, by name.
    counted: BTreeMap<String, u64>,
}

struct Socket {
    to: UdpSocket,
    sent: u64,
    failed: u64,
    why: Option<io::Error>,
}

pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    let text = place(NAME, to.place, "127.0.0.1:8125")?;
    let address = addresses(NAME, text)?[0];
    if let Some(tag) = to.tags.iter().find(|tag| tag.value.contains([',', '|', '#'])) {
        return Err(UserError::usage(format!(
            "--tag {}: with --out {NAME} the value cannot contain `,`, `|` or `#`; choose another",
            tag.name
        )));
    }
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    let socket = socket.map_err(|error| {
        UserError::usage(format!(
            "--out {NAME}:{text}: cannot send there: {error}; nothing was run, choose another address"
        ))
    })?;
    let tags = joined(to.tags, ",", |tag| format!("{}:{}", tag.name, tag.value));
    // Tags are an extension; without any, every receiver understands the lines.
    let tags = if tags.is_empty() { tags } else { format!("|#{tags}") };
    let socket = Socket { to: socket, sent: 0, failed: 0, why: None };
    Ok(Box::new(Statsd { socket, tags, totals: Totals::default(), counted: BTreeMap::new() }))
}

impl Statsd {
    /// Sends what was counted since the last time, and the gauges, in as few datagrams as they need.
    fn send(&mut self) {
        let mut datagram = String::new();
        let mut add = |line: String| {
            if datagram.len() + line.len() > DATAGRAM_BYTES {
                self.socket.send(&std::mem::take(&mut datagram));
            }
            datagram += &line;
        };
        for family in self.totals.families() {
            let is_counter = matches!(family.metrics, Metrics::Counters(_));
            let (Metrics::Counters(all) | Metrics::Gauges(all)) = &family.metrics else { continue };
            for (labels, value) in all {
                let (name, value) = (name(&family, labels), whole(&family, *value));
                let (name, value, kind) = match is_counter {
                    false => (name, value, 'g'),
                    true => {
                        let before = self.counted.insert(name.clone(), value).unwrap_or_default();
                        (name, value.saturating_sub(before), 'c')
                    }
                };
                if !is_counter || value > 0 {
                    add(format!("{name}:{value}|{kind}{}\n", self.tags));
                }
            }
        }
        self.socket.send(&datagram);
    }
}

/// Receivers count in whole numbers, so seconds are milliseconds.
fn whole(family: &Family<'_>, value: f64) -> u64 {
    (value * if family.unit == SECONDS { 1e3 } else { 1.0 }).round() as u64
}

/// The values of labels are words of the name.
fn name(family: &Family<'_>, labels: &Labels<'_>) -> String {
    let mut name = format!("{}.{}", Family::PREFIX, family.what);
    if family.unit == SECONDS {
        name += "_ms";
    }
    for (_, value) in labels {
        name.push('.');
        for c in value.chars() {
            match c {
                '<' => name += "lt",
                '>' => name += "gt",
                '=' => name += "eq",
                c if c.is_ascii_alphanumeric() || c == '-' => name.push(c),
                _ => name.push('_'),
            }
        }
    }
    name
}

impl Socket {
    fn send(&mut self, datagram: &str) {
        self.sent += 1;
        if let Err(error) = self.to.send(datagram.as_bytes()) {
            self.failed += 1;
            self.why = Some(error);
        }
    }
}

impl Output for Statsd {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.totals.add(stretch.interval);
        self.send();
    }

    fn settle(&mut self, record: &mut RunRecord) {
        self.totals = Totals::whole(&record.total);
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        self.totals.end(&document.expectations);
        // A receiver keeps the last value of a gauge.
        self.totals.leave();
        self.send();
        let Socket { sent, failed, why, .. } = &self.socket;
        if let Some(why) = why {
            console::say(format_args!(
                "candor: --out {NAME}: {failed} of {sent} datagrams were refused: {why}"
            ));
        }
        Ok(())
    }
}
