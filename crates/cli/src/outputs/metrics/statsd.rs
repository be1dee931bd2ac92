//! `statsd:ADDRESS`: the counts of each finished interval as datagrams of StatsD. It has no times: a receiver would make
//! percentiles of percentiles. Sending never waits; a datagram that the kernel refuses is counted.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use candor_record::Stretch;
use candor_report::Document;

use super::{addresses, joined, outcomes, place};
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "statsd";
/// The most bytes of a datagram, which fit into a frame of Ethernet with every header.
const DATAGRAM_BYTES: usize = 1400;

struct Statsd {
    socket: UdpSocket,
    tags: String,
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
    Ok(Box::new(Statsd { socket, tags, sent: 0, failed: 0, why: None }))
}

impl Statsd {
    /// Sends lines in as few datagrams as they need.
    fn send<'n>(&mut self, figures: impl Iterator<Item = (&'n str, u64, char)>) {
        let mut datagram = String::new();
        for (name, value, kind) in figures {
            let line = format!("candor.{name}:{value}|{kind}{}\n", self.tags);
            if datagram.len() + line.len() > DATAGRAM_BYTES {
                self.send_one(&std::mem::take(&mut datagram));
            }
            datagram += &line;
        }
        self.send_one(&datagram);
    }

    fn send_one(&mut self, datagram: &str) {
        self.sent += 1;
        if let Err(error) = self.socket.send(datagram.as_bytes()) {
            self.failed += 1;
            self.why = Some(error);
        }
    }
}

impl Output for Statsd {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let Stretch { summary, interval, .. } = stretch;
        let counts = [
            ("requests.scheduled", interval.ledger.scheduled),
            ("requests.sent", summary.sent),
            ("connect_errors", summary.connect_errors),
        ];
        let gauges = [
            ("backlog", summary.backlog),
            ("in_flight", summary.in_flight),
            ("connections", summary.connections),
        ];
        let outcomes: Vec<(String, u64)> = outcomes(&interval.ledger)
            .map(|(name, count)| (format!("outcomes.{name}"), count))
            .collect();
        let outcomes = outcomes.iter().map(|(name, count)| (name.as_str(), *count));
        let counts = counts.into_iter().chain(outcomes).filter(|(_, count)| *count > 0);
        let counts = counts.map(|(name, count)| (name, count, 'c'));
        self.send(counts.chain(gauges.map(|(name, value)| (name, value, 'g'))));
    }

    fn end(mut self: Box<Self>, _: &Document) -> Result<(), UserError> {
        // A receiver keeps the last value of a gauge.
        self.send(["backlog", "in_flight", "connections"].map(|name| (name, 0, 'g')).into_iter());
        if let Some(why) = &self.why {
            console::say(format_args!(
                "candor: --out {NAME}: {} of {} datagrams were refused: {why}",
                self.failed, self.sent
            ));
        }
        Ok(())
    }
}
