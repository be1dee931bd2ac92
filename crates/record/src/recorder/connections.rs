//! What a recorder is told of connections: their bytes and datagrams, their beginnings and ends, and the time without
//! any.

use super::Recorder;
use crate::errors::{ConnectErrorKind, LossKind, Reason};
use crate::figure::count;
use crate::interval::{CloseReason, GoAways, Handshake};
use crate::paths::{Path, Paths};

impl Recorder {
    /// Bytes were written.
    #[inline]
    pub fn bytes_sent(&mut self, bytes: u64) {
        self.current.bytes.sent += bytes;
    }

    /// Bytes were read.
    #[inline]
    pub fn bytes_received(&mut self, bytes: u64) {
        self.current.bytes.received += bytes;
    }

    /// Datagrams left.
    pub fn datagrams_sent(&mut self, count: u64) {
        self.current.datagrams.sent += count;
    }

    /// Datagrams were read, `congested` of them with a mark of congestion.
    pub fn datagrams_received(&mut self, count: u64, congested: u64) {
        self.current.datagrams.received += count;
        self.current.datagrams.congested += congested;
    }

    /// The kernel dropped datagrams because a receive buffer was full.
    pub fn datagrams_dropped(&mut self, count: u64) {
        self.current.datagrams.dropped += count;
    }

    /// A connection over QUIC ended, and its path was this.
    pub fn path(&mut self, path: &Path) {
        let digits = self.settings.digits;
        let fresh = || Box::new(Paths::new(digits));
        self.current.paths.get_or_insert_with(fresh).add(path);
    }

    /// The server announced the end of a connection.
    pub fn goaway(&mut self, now_ns: u64, code: u32, last_stream: u32) {
        self.advance(now_ns);
        count(&mut self.current.connections.goaways, GoAways { code, count: 1, last_stream });
    }

    /// The server closed a WebSocket with this code, or with none (1005, 1006), and this reason, if it is not empty.
    pub fn close_frame(&mut self, now_ns: u64, code: u16, reason: &str) {
        self.advance(now_ns);
        if !reason.is_empty() {
            let one = CloseReason { code, reason: reason.into(), count: 1 };
            count(&mut self.current.connections.close_reasons, one);
        }
        count(&mut self.current.connections.close_codes, (code, 1));
    }

    /// The bytes of header blocks that a connection has read, at its end.
    pub fn header_bytes(&mut self, received: u64, decoded: u64) {
        self.current.bytes.headers += received;
        self.current.bytes.headers_decoded += decoded;
    }

    /// A body that was received as `coded` bytes was decoded to `decoded`.
    pub fn decoded(&mut self, coded: u64, decoded: u64) {
        self.current.bytes.coded += coded;
        self.current.bytes.decoded += decoded;
    }

    /// A connection was established, `took_ns` after the attempt began.
    pub fn connected(&mut self, now_ns: u64, took_ns: u64) {
        self.advance(now_ns);
        self.current.connect.record(took_ns);
        self.current.connections.opened += 1;
        self.current.connections.refused_ns += self.absence.until(now_ns);
        self.absence = Absence::default();
        self.established += 1;
    }

    /// A TLS handshake succeeded, `took_ns` after the TCP connection was established, which took
    /// `connect_ns`.
    pub fn handshake(&mut self, now_ns: u64, connect_ns: u64, took_ns: u64, handshake: &Handshake) {
        self.advance(now_ns);
        self.current.handshake.record(took_ns);
        self.current.secured.record(connect_ns.saturating_add(took_ns));
        count(&mut self.current.connections.handshakes, (handshake.clone(), 1));
    }

    /// An attempt to connect failed.
    pub fn connect_failed<E: Into<Reason>>(
        &mut self,
        now_ns: u64,
        kind: ConnectErrorKind,
        example: impl FnOnce() -> E,
    ) {
        self.advance(now_ns);
        self.current.connections.failed.add(kind as usize, example);
        if self.established == 0 && !kind.is_local() {
            self.absence.is_refusal = true;
            self.absence.since_ns.get_or_insert(now_ns);
        }
    }

    /// An established connection ended; `example` has details if it was lost.
    pub fn disconnected<E: Into<Reason>>(
        &mut self,
        now_ns: u64,
        why: Disconnect,
        example: impl FnOnce() -> E,
    ) {
        self.advance(now_ns);
        self.established -= 1;
        if self.established == 0 && why != Disconnect::RunOver {
            let is_loss = why != Disconnect::Retired;
            self.absence = Absence { since_ns: Some(now_ns), is_refusal: false, is_loss };
        }
        let connections = &mut self.current.connections;
        match why {
            Disconnect::ByServer => connections.closed_by_server += 1,
            Disconnect::Retired => connections.retired += 1,
            Disconnect::Lost(kind) => connections.lost.add(kind as usize, example),
            Disconnect::RunOver => {}
        }
    }
}

/// The time without any connection, as far as it is not in an interval yet. It counts from the end of the last
/// connection, if an attempt to make another one then fails, or goes on for longer than until the first packet is
/// sent again: a connection that is replaced at once is no absence.
#[derive(Debug, Default)]
pub(super) struct Absence {
    since_ns: Option<u64>,
    /// Whether the target refused an attempt since.
    is_refusal: bool,
    /// Whether the last connection ended by itself, so that another one is wanted.
    is_loss: bool,
}

/// How long an attempt to connect may go on before it is an absence of the target: the first time-out of TCP (RFC 6298
/// 2.1).
const PATIENCE_NS: u64 = 1_000_000_000;

impl Absence {
    /// What of it is due to the target until now; later calls count from now on.
    pub(super) fn until(&mut self, now_ns: u64) -> u64 {
        let Some(since_ns) = self.since_ns else { return 0 };
        let age_ns = now_ns.saturating_sub(since_ns);
        self.is_refusal |= self.is_loss && age_ns >= PATIENCE_NS;
        if !self.is_refusal {
            return 0;
        }
        self.since_ns = Some(now_ns);
        age_ns
    }
}

/// Why an established connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// The server closed it in order.
    ByServer,
    /// We closed it, at the limit of requests per connection.
    Retired,
    /// It was lost.
    Lost(LossKind),
    /// The run is over.
    RunOver,
}
