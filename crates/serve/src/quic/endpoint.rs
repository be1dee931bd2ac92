//! The connections of a UDP port, without the socket: which datagram is of which, and what needs no connection.

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

/// The endpoint of a port.
pub(crate) struct Endpoint(quinn_proto::Endpoint);

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
        Ok(Endpoint(quinn_proto::Endpoint::new(own, Some(config), false, None)))
    }

    /// Takes a datagram.
    pub(crate) fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) -> Datagram {
        let mut reply = Vec::new();
        match self.0.handle(now, from, None, None, BytesMut::from(bytes), &mut reply) {
            None => Datagram::Nothing,
            Some(DatagramEvent::ConnectionEvent(handle, event)) => Datagram::Of(handle, event),
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
        match self.0.accept(incoming, now, &mut reply, None) {
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
        let transmit = self.0.refuse(incoming, &mut reply);
        answer(transmit.destination, transmit.size, reply)
    }

    /// Carries what a connection has to say about itself, both ways.
    pub(crate) fn settle(&mut self, session: &mut Session) {
        while let Some(event) = session.quic.poll_endpoint_events() {
            // This is said by `forget`, once, whether the connection was drained or not.
            if event.is_drained() {
                continue;
            }
            if let Some(event) = self.0.handle_event(session.handle, event) {
                session.quic.handle_event(event);
            }
        }
    }

    /// Knows a connection no more: what still comes for it is met with a stateless reset (RFC 9000 10.3).
    pub(crate) fn forget(&mut self, session: &Session) {
        self.0.handle_event(session.handle, EndpointEvent::drained());
    }
}

fn answer(to: SocketAddr, size: usize, mut bytes: Vec<u8>) -> Reply {
    bytes.truncate(size);
    (to, bytes)
}
