//! Connections: how many, how they are opened, used and closed.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::SEVERAL_IN_A_READ;
use crate::error::{PlanError, Refusal, conflict, need, value};
use crate::units::{Rate, is_time};
use crate::values::{is_small, named};

/// The limit of a server's fields: each connection stores the table that the server fills.
const LARGEST_TABLE: u32 = 1 << 20;
/// Names are not resolved more often than this.
const LEAST_REFRESH_NS: u64 = 100_000_000;
/// What every path of QUIC takes (RFC 9000 14), and the longest payload of UDP.
const LEAST_DATAGRAM: u16 = 1200;
const LONGEST_DATAGRAM: u16 = 65_527;
/// The limit of our own fields: every server allows this.
const LARGEST_OWN_TABLE: u32 = 4096;

/// Connections: their number, how they are opened, how they are used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connections {
    /// Open from the beginning, at least 1.
    pub count: u32,
    /// In an open load, more are opened up to this many while requests wait; at least `count`.
    pub max: u32,
    /// HTTP/1.1: requests in flight on one connection at the same time, at least 1.
    pub pipeline: u32,
    /// HTTP/2 and HTTP/3: streams open on one connection at the same time, at least 1. WebSocket: messages that wait for
    /// their replies.
    pub streams: u32,
    /// HTTP/2 and HTTP/3: the number of bytes that the server may send before we grant more.
    pub windows: Windows,
    /// HTTP/2: sizes of frames and of tables for header fields.
    pub frames: Frames,
    /// HTTP/3: how QUIC sends.
    #[serde(default)]
    pub quic: Quic,
    /// The number of requests after which we close a connection, at least 1.
    pub requests_per_connection: Option<u64>,
    /// The age at which we close a connection, even with requests in flight; above zero.
    pub lifetime_ns: Option<u64>,
    /// The highest rate of connection attempts; `None`: unlimited.
    pub connect_rate: Option<Rate>,
    /// The run begins with the first connection, and the others are opened during the run.
    pub connect_during_run: bool,
    /// All connections are opened at the start of the run and not before it, and none is replaced
    /// once it was established.
    pub once: bool,
    /// Each user has a connection of its own, made when its first step is due and closed when the user leaves.
    /// Then `count` and `max` are the number of users at a time.
    #[serde(default)]
    pub own: bool,
    /// Set TCP_NODELAY.
    pub nodelay: bool,
    /// How often names are resolved again during the run; `None`: never.
    #[serde(default)]
    pub dns_refresh_ns: Option<u64>,
    /// Local addresses to connect from, in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
}

impl Connections {
    /// Whether its values fit each other.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let Connections { count, max, pipeline, streams, windows, frames, quic, .. } = *self;
        let all = [count, max, pipeline, streams].into_iter().all(is_small);
        need(all, "connections", "are counts from 1 to 1,000,000")?;
        if max < count {
            return Err(value(
                "--max-connections",
                format!(
                    "{max} is below the {count} connections that are open from the start; raise it, or lower --connections"
                ),
            ));
        }
        let bits = [windows.stream_bits, windows.connection_bits];
        need(bits.iter().all(|bits| (1..=30).contains(bits)), "windows", "have 1 to 30 bits")?;
        if !(1 << 14..1 << 24).contains(&frames.max_bytes) {
            let problem = "a frame has 16384 to 16777215 bytes; write e.g. 64KiB";
            return Err(value("--max-frame-size", problem));
        }
        if !(LEAST_DATAGRAM..=LONGEST_DATAGRAM).contains(&quic.datagram_bytes) {
            let problem = "a datagram of QUIC has 1200 to 65527 bytes; write e.g. 1452";
            return Err(value("--mtu", problem));
        }
        for (option, bytes, most) in [
            ("--header-table-size", frames.header_table_bytes, LARGEST_TABLE),
            ("--encoder-header-table-size", frames.encoder_table_bytes, LARGEST_OWN_TABLE),
        ] {
            if bytes > most {
                return Err(value(option, format!("too large; write at most {most} bytes")));
            }
        }
        let used = self.requests_per_connection != Some(0);
        need(used, "requests_per_connection", "is above zero")?;
        let is_rate = |rate: Rate| rate.events > 0 && rate.events <= rate.per_ns;
        need(self.connect_rate.is_none_or(is_rate), "connect_rate", "is above zero")?;
        if let Some(every_ns) = self.dns_refresh_ns {
            need(is_time(every_ns), "dns_refresh_ns", "is a time above zero, to 366 days")?;
            if every_ns < LEAST_REFRESH_NS {
                let problem = "too often for a name server; write at least 100ms";
                return Err(value("--dns-refresh", problem));
            }
            if self.once {
                let why = "no connection is replaced there; leave one of them out";
                return Err(conflict("--dns-refresh", "--once", why));
            }
        }
        let lifetime = self.lifetime_ns.is_none_or(is_time);
        need(lifetime, "connections.lifetime_ns", "is a time above zero, to 366 days")
    }

    /// Why a thread cannot sleep through responses, if so.
    pub(crate) fn unstamped(&self) -> Option<Refusal> {
        (self.pipeline > 1).then_some(("--pipeline", SEVERAL_IN_A_READ))
    }

    /// Why they all go to one target, if they have to.
    pub(crate) fn alone(&self) -> Option<Refusal> {
        if self.once {
            let why = "each connection has one request there; write a plan for each target";
            return Some(("--once", why));
        }
        let why = "a user has one connection, to one target; leave it out";
        self.own.then_some(("connection = \"own\"", why))
    }

    /// Whether connections are opened during the run.
    pub fn during_run(&self) -> bool {
        self.connect_during_run || self.once
    }

    /// The most requests that one connection can have in flight, in any version of HTTP.
    pub fn places(&self) -> u32 {
        self.pipeline.max(self.streams)
    }
}

/// The receive windows of HTTP/2 and HTTP/3, as powers of two from 16 to 30 (the window is 2^bits − 1 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Windows {
    /// Of each stream.
    pub stream_bits: u8,
    /// Of the connection.
    pub connection_bits: u8,
}

/// How QUIC sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quic {
    /// How the congestion window grows and shrinks.
    pub congestion: Congestion,
    /// The longest datagram that the discovery of the path's MTU may come to: 1200 to 65527 bytes.
    pub datagram_bytes: u16,
}

impl Default for Quic {
    /// A datagram of 1,452 bytes fills a frame of Ethernet over IPv6.
    fn default() -> Self {
        Quic { congestion: Congestion::Cubic, datagram_bytes: 1452 }
    }
}

/// An algorithm of congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Congestion {
    /// RFC 9002 7
    Newreno,
    /// RFC 9438
    Cubic,
    /// By bandwidth and round-trip time, not by loss
    Bbr,
}

named!(Congestion: "\"newreno\", \"cubic\" or \"bbr\"");

/// HTTP/2's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The largest frame that we accept, from 2^14 to 2^24 − 1 bytes.
    pub max_bytes: u32,
    /// The size of the table for the server's header fields, of HPACK or of QPACK.
    pub header_table_bytes: u32,
    /// The size of the HPACK table for our header fields, if the server allows it.
    pub encoder_table_bytes: u32,
}

impl Default for Frames {
    /// The initial values of both sides (RFC 9113 6.5.2).
    fn default() -> Self {
        Frames { max_bytes: 16_384, header_table_bytes: 4096, encoder_table_bytes: 4096 }
    }
}
