//! The connections of a UDP port, without the socket: which datagram is of which, and what needs no connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ConnectionEvent, ConnectionHandle, DatagramEvent, EndpointConfig, EndpointEvent, Incoming,
    ServerConfig, TransportConfig,
};

use super::session::Session;
use crate::ServeError;

/// Windows for a client's data: of a stream, and of a connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const WINDOW_BYTES: u32 = 4 << 20;
/// The most bytes of responses that a connection keeps until they are acknowledged.
const SEND_WINDOW_BYTES: u64 = 4 << 20;
/// Streams of a client's that go one way: three that it needs, and some of unknown types.
const ONE_WAY_STREAMS: u32 = 16;

/// A datagram to send at once.
pub(crate) type Reply = (SocketAddr, Vec<u8>);

/// What a datagram is.
pub(crate) enum Datagram {
    /// For a connection.
    Of(ConnectionHandle, ConnectionEvent),
    /// The first of a connection.
    First(Incoming),
    /// Answered without a connection.
    Answered(Reply),
    /// Of no use.
    Nothing,
}

/// What a stateless reset is made for, and less than which it is.
const RESET_BYTES: usize = 64;
/// Of the ids of our connections, as quinn makes them.
const ID_BYTES: usize = 8;

/// The endpoint of a port.
pub(crate) struct Endpoint {
    quic: quinn_proto::Endpoint,
    /// By which of our ids a client named its connection last: its stateless reset is known by the same.
    named: BTreeMap<usize, [u8; ID_BYTES]>,
}

impl Endpoint {
    /// Speaks HTTP/3 with this TLS; of a connection there are at most `streams` requests at a time.
    pub(crate) fn new(tls: rustls::ServerConfig, streams: u32) -> Result<Self, ServeError> {
        let crypto = QuicServerConfig::try_from(tls)
            .map_err(|error| ServeError::MakeCertificate(error.to_string()))?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(streams.into())
            .max_concurrent_uni_streams(ONE_WAY_STREAMS.into())
            .stream_receive_window(STREAM_WINDOW_BYTES.into())
            .receive_window(WINDOW_BYTES.into())
            .send_window(SEND_WINDOW_BYTES)
            .datagram_receive_buffer_size(None)
            .enable_segmentation_offload(false);
        config.transport_config(Arc::new(transport)).migration(false);
        let mut own = EndpointConfig::default();
        // A fault resets many connections at once. Each reset is shorter than what it answers, so none goes on.
        own.min_reset_interval(Duration::ZERO);
        let (own, config) = (Arc::new(own), Arc::new(config));
        let quic = quinn_proto::Endpoint::new(own, Some(config), false, None);
        Ok(Endpoint { quic, named: BTreeMap::new() })
    }

    /// Takes a datagram.
    pub(crate) fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) -> Datagram {
        let mut reply = Vec::new();
        match self.quic.handle(now, from, None, None, BytesMut::from(bytes), &mut reply) {
            None => Datagram::Nothing,
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(id) = id(bytes) {
                    self.named.insert(handle.0, id);
                }
                Datagram::Of(handle, event)
            }
            Some(DatagramEvent::NewConnection(incoming)) => Datagram::First(incoming),
            Some(DatagramEvent::Response(transmit)) => {
                Datagram::Answered(answer(transmit.destination, transmit.size, reply))
            }
        }
    }

    /// Makes a connection; otherwise there may be a reply that says why there is none.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        incoming: Incoming,
    ) -> Result<Session, Option<Reply>> {
        let mut reply = Vec::new();
        match self.quic.accept(incoming, now, &mut reply, None) {
            Ok((handle, quic)) => Ok(Session::new(handle, quic)),
            Err(error) => {
                let transmit = error.response.ok_or(None)?;
                Err(Some(answer(transmit.destination, transmit.size, reply)))
            }
        }
    }

    /// Makes none.
    pub(crate) fn refuse(&mut self, incoming: Incoming) -> Reply {
        let mut reply = Vec::new();
        let transmit = self.quic.refuse(incoming, &mut reply);
        answer(transmit.destination, transmit.size, reply)
    }

    /// Carries what a connection has to say about itself, both ways.
    pub(crate) fn settle(&mut self, session: &mut Session) {
        while let Some(event) = session.quic.poll_endpoint_events() {
            // This is said by `forget`, once, whether the connection was drained or not.
            if event.is_drained() {
                continue;
            }
            if let Some(event) = self.quic.handle_event(session.handle, event) {
                session.quic.handle_event(event);
            }
        }
    }

    /// Knows a connection no more: what still comes for it is met with a stateless reset (RFC 9000 10.3).
    pub(crate) fn forget(&mut self, session: &Session) {
        self.quic.handle_event(session.handle, EndpointEvent::drained());
        self.named.remove(&session.handle.0);
    }

    /// Forgets a connection and says so unasked: a client that waits for a response may have nothing more to send that
    /// would be met with the reset (its probes belong to the handshake until that is confirmed, RFC 9002 6.2.1).
    pub(crate) fn reset(&mut self, now: Instant, session: &Session) -> Option<Reply> {
        let named = self.named.get(&session.handle.0).copied();
        self.forget(session);
        let mut asked = [0; RESET_BYTES];
        asked[0] = 0b0100_0000;
        asked[1..=ID_BYTES].copy_from_slice(&named?);
        match self.handle(now, session.quic.remote_address(), &asked) {
            Datagram::Answered(reply) => Some(reply),
            _ => None,
        }
    }
}

/// The id of ours that a datagram begins with, unless its client does not know one yet (RFC 9000 17.2, 17.3).
fn id(bytes: &[u8]) -> Option<[u8; ID_BYTES]> {
    let (first, rest) = bytes.split_first()?;
    let is_long = first & 0x80 != 0;
    let is_handshake = first & 0x30 == 0x20;
    match is_long {
        false => rest.first_chunk().copied(),
        true if is_handshake && rest.get(4) == Some(&(ID_BYTES as u8)) => {
            rest.get(5..)?.first_chunk().copied()
        }
        true => None,
    }
}

fn answer(to: SocketAddr, size: usize, mut bytes: Vec<u8>) -> Reply {
    bytes.truncate(size);
    (to, bytes)
}
