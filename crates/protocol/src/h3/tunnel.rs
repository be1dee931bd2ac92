//! A session whose one stream is a tunnel, opened by extended CONNECT (RFC 9220). Plain runs have none of this.
//!
//! What goes through it, and what becomes of a server that opens none, is its user's business: it takes what came, and
//! gives what is to leave.

use bytes::Bytes;

use super::error::code;
use super::session::Session;
use super::streams::Stream;
use crate::capture::Capture;

/// What there is of the tunnel of a session.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Whether the server's settings enable extended CONNECT; `None`: they have not come.
    pub(super) is_allowed: Option<bool>,
    stream: Option<u64>,
    /// The server has refused it, with this status.
    pub(super) refused: Option<u16>,
    /// The server has opened it, with these fields.
    pub(super) opened: Option<Option<Box<Capture>>>,
    /// What came through it.
    pub(super) came: Vec<u8>,
    /// Up to where its stream was sent.
    pub(super) sent: u64,
}

/// Memory for what came that is kept.
const KEPT_BYTES: usize = 64 << 10;

impl Session {
    /// Makes this a session with a tunnel: the first request of its table opens it, and there is no other.
    pub(crate) fn tunnel(&mut self) {
        self.tunnel = Some(Box::default());
    }

    /// Whether the server takes extended CONNECT; `None`: that is not known yet, or there is no stream for it.
    pub(crate) fn takes_tunnel(&self) -> Option<bool> {
        let is_allowed = self.tunnel.as_ref()?.is_allowed?;
        (!is_allowed || self.streams.spare() > 0 && !self.closing).then_some(is_allowed)
    }

    /// Opens its stream. What is to be written first.
    pub(crate) fn open_tunnel(&mut self) -> Bytes {
        let stream = Stream { is_connect: true, ..Stream::default() };
        let (id, [head, _]) = (self.streams.begin(stream), self.table[0].chunks());
        if let (Some(tunnel), Some(id)) = (&mut self.tunnel, id) {
            tunnel.stream = Some(id);
            self.quic.watch(id);
        }
        head
    }

    /// Writes as much as there is room for, and takes it away. Whether that is all.
    pub(crate) fn write_tunnel(&mut self, chunks: &mut [Bytes]) -> bool {
        let stream = self.tunnel.as_ref().and_then(|tunnel| tunnel.stream);
        stream.is_none_or(|stream| self.quic.write(stream, chunks))
    }

    /// Up to where its stream has left.
    pub(crate) fn tunnel_sent(&self) -> u64 {
        self.tunnel.as_ref().map_or(0, |tunnel| tunnel.sent)
    }

    /// When that could leave, if it was held back: later than that it is by us.
    pub(crate) fn filled_ns(&self) -> u64 {
        self.quic.filled_ns()
    }

    /// The status of a response that does not open it.
    pub(crate) fn refused_tunnel(&self) -> Option<u16> {
        self.tunnel.as_ref()?.refused
    }

    /// That the server has opened it, once: the fields of its response, if they are kept.
    pub(crate) fn take_opened(&mut self) -> Option<Option<Box<Capture>>> {
        self.tunnel.as_mut()?.opened.take()
    }

    /// What came through it since the last call. The memory is wanted back.
    pub(crate) fn take_came(&mut self) -> Vec<u8> {
        self.tunnel.as_mut().map_or(Vec::new(), |tunnel| std::mem::take(&mut tunnel.came))
    }

    /// Gives back the memory of what came.
    pub(crate) fn give_back(&mut self, mut came: Vec<u8>) {
        came.clear();
        if let Some(tunnel) = &mut self.tunnel
            && came.capacity() <= KEPT_BYTES
        {
            tunnel.came = came;
        }
    }

    /// The tunnel is of no use any more: ends the connection.
    pub(crate) fn end_tunnel(&mut self) {
        self.is_dead = true;
        self.closing = true;
        self.goodbye.get_or_insert(code::REQUEST_CANCELLED);
    }
}
