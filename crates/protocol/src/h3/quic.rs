//! The QUIC connection of one session: quinn-proto, without a socket.
//!
//! All that is known of quinn-proto is here and in [`crypto`](super::crypto). What the bytes of a stream mean is not known
//! here, and nothing of the server's is believed to be in order before quinn-proto has looked at it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use candor_plan::Congestion;
use candor_record::{Path, PathCounts};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionStats, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, MtuDiscoveryConfig, NoneTokenStore,
    RandomConnectionIdGenerator, ReadError, StreamEvent, StreamId, TransportConfig, VarInt,
    WriteError,
};
use rustls::pki_types::ServerName;

use super::Settings;
use super::crypto::{Client, Left, Line};
use super::error::Error;
use crate::session::MAX_TRANSMIT_BYTES;
use crate::tls::{Connector, HandshakeError};

/// Streams that the server may open at a time: three that it needs, and some of types that are not known.
const SERVER_STREAMS: u32 = 16;
/// Datagrams of one write. More of them would take too long until the next look at what came.
const MOST_DATAGRAMS: usize = 20;
/// Each connection has a socket of its own that is connected to the server, so that the address says nothing.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 443);

/// What the QUIC connections of one thread to one target have in common.
#[derive(Clone)]
pub struct Setup {
    endpoint: Arc<EndpointConfig>,
    transport: Arc<TransportConfig>,
    /// Datagrams of one write.
    most_datagrams: usize,
    tls: Arc<rustls::ClientConfig>,
    name: ServerName<'static>,
    /// Zero of the engine's clock. There is no other way to make an `Instant`, and nothing is measured with it.
    zero: Instant,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Setup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Setup {
    /// With the TLS of a plan.
    pub fn of(connector: &Connector, settings: &Settings) -> Self {
        let (tls, name) = connector.of_thread();
        let mut endpoint = EndpointConfig::default();
        // The socket says which connection a datagram is of.
        endpoint.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(0_u32.into())
            .max_concurrent_uni_streams(SERVER_STREAMS.into())
            .stream_receive_window(settings.stream_window().into())
            .receive_window(settings.connection_window().into())
            .datagram_receive_buffer_size(None);
        let controller: Arc<dyn ControllerFactory + Send + Sync> = match settings.congestion {
            Congestion::Newreno => Arc::new(NewRenoConfig::default()),
            Congestion::Cubic => Arc::new(CubicConfig::default()),
            Congestion::Bbr => Arc::new(BbrConfig::default()),
        };
        transport.congestion_controller_factory(controller);
        let longest = settings.datagram_bytes.min(MAX_TRANSMIT_BYTES as u16);
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(longest);
        transport.mtu_discovery_config(Some(discovery));
        if u64::from(longest) > endpoint.get_max_udp_payload_size() {
            endpoint.max_udp_payload_size(longest).expect("it is above the least");
        }
        let most_datagrams = MOST_DATAGRAMS.min(MAX_TRANSMIT_BYTES / usize::from(longest));
        let (endpoint, transport) = (Arc::new(endpoint), Arc::new(transport));
        Setup { endpoint, transport, most_datagrams, tls, name, zero: Instant::now() }
    }
}

/// What happened on a connection.
#[derive(Debug)]
pub(super) enum Happened {
    /// The handshake is over.
    Connected,
    /// There is something to read on this stream.
    Readable(u64),
    /// There is room to write on this stream.
    Writable(u64),
    /// The server wants no more of this stream, with this error code.
    Stopped(u64, u64),
    /// More streams may be opened.
    Available,
    /// The server has opened streams.
    Opened,
    /// The connection is over.
    Lost(Lost),
}

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum Lost {
    /// By the server, without an error.
    Closed,
    /// By the server, with one.
    ClosedWith(Error),
    /// Nothing came for too long.
    Silent,
    /// The server does not know it.
    Reset,
    /// What came is not QUIC, or no handshake.
    Wrong(Error),
}

/// What a read found.
#[derive(Debug)]
pub(super) enum Read {
    Bytes(Bytes),
    /// Nothing now.
    Nothing,
    End,
    /// The server gave the stream up, with this error code.
    Reset(u64),
}

/// One connection.
pub(super) struct Quic {
    setup: Setup,
    line: Line,
    endpoint: Endpoint,
    /// Since there was a time to begin at.
    connection: Option<(ConnectionHandle, Connection)>,
    /// It could not begin.
    failed: Option<Error>,
    /// Something came.
    is_heard: bool,
    /// Datagrams that wait to be written; those before `written` are with the kernel.
    outgoing: Vec<u8>,
    written: usize,
    segment_bytes: u16,
    ecn: u8,
    /// What is in them, and where.
    left: Vec<(Left, usize)>,
    timeout_ns: Option<u64>,
    /// Until when it has nothing that it may send, unless something comes.
    held_until_ns: u64,
    /// When the datagrams that wait could be put together: later than that they are by us.
    filled_ns: u64,
    /// Probe timeouts that expired.
    probe_timeouts: u64,
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Quic").field("timeout_ns", &self.timeout_ns).finish_non_exhaustive()
    }
}

impl Quic {
    pub(super) fn new(setup: Setup) -> Self {
        Quic {
            endpoint: Endpoint::new(Arc::clone(&setup.endpoint), None, true, None),
            setup,
            line: Line::default(),
            connection: None,
            failed: None,
            is_heard: false,
            outgoing: Vec::new(),
            written: 0,
            segment_bytes: 0,
            ecn: 0,
            left: Vec::new(),
            timeout_ns: None,
            held_until_ns: 0,
            filled_ns: 0,
            probe_timeouts: 0,
        }
    }

    fn at(&self, now_ns: u64) -> Instant {
        self.setup.zero + Duration::from_nanos(now_ns)
    }

    /// Begins the handshake, at the first time that is known.
    #[cold]
    fn begin(&mut self, now: Instant) {
        let Setup { tls, name, transport, .. } = &self.setup;
        let (config, name, line) = (Arc::clone(tls), name.clone(), self.line.clone());
        let mut config = ClientConfig::new(Arc::new(Client { config, name, line }));
        config.transport_config(Arc::clone(transport));
        config.token_store(Arc::new(NoneTokenStore));
        match self.endpoint.connect(now, config, SERVER, "") {
            Ok(begun) => self.connection = Some(begun),
            Err(error) => {
                let of_tls = self.line.told().error.take().map(HandshakeError);
                let other = || Error::Quic(error.to_string().into());
                self.failed = Some(of_tls.map_or_else(other, Error::Handshake));
            }
        }
    }

    /// Whether requests may leave before the handshake is over (RFC 9001 4.6).
    pub(super) fn has_early(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.has_0rtt())
    }

    /// Whether the server took them. If not, no stream is open any more.
    pub(super) fn was_early(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.accepted_0rtt())
    }

    /// Whether anything came from the server.
    pub(super) fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// What was negotiated; once, when the handshake is over.
    pub(super) fn take_facts(&mut self) -> Option<candor_record::Handshake> {
        self.line.told().facts.take()
    }

    /// The path, as it is now.
    pub(super) fn path(&self) -> Option<Path> {
        let (_, connection) = self.connection.as_ref()?;
        let stats = connection.stats();
        let (path, said) = (stats.path, stats.frame_rx);
        let counts = PathCounts {
            connections: 1,
            packets: path.sent_packets,
            lost: path.lost_packets,
            lost_bytes: path.lost_bytes,
            congestion_events: path.congestion_events,
            probe_timeouts: self.probe_timeouts,
            black_holes: path.black_holes_detected,
            window_bytes: path.cwnd,
            datagram_bytes: path.current_mtu.into(),
            stopped_by_window: said.data_blocked + said.stream_data_blocked,
        };
        let ns = |time: Duration| time.as_nanos() as u64;
        Some(Path { rtt_ns: ns(path.rtt), least_rtt_ns: ns(path.min_rtt), counts })
    }

    pub(super) fn handle_datagram(&mut self, now_ns: u64, bytes: &[u8], ecn: u8) {
        let now = self.at(now_ns);
        let Some((_, connection)) = &mut self.connection else { return };
        self.is_heard = true;
        let (bytes, ecn) = (BytesMut::from(bytes), EcnCodepoint::from_bits(ecn));
        // What is said to those who are not the server is not sent.
        let mut reply = Vec::new();
        let event = self.endpoint.handle(now, SERVER, None, ecn, bytes, &mut reply);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            connection.handle_event(event);
        }
        self.settle();
    }

    /// quinn-proto does not say which of its timers expired. The pacer's only wakes it up: what that lets through leaves first,
    /// and the timer is still due then. Where there is nothing of that, packets that ask for an acknowledgement are those that
    /// replace lost ones, or the probes of a timeout (RFC 9002 6.2.4). While the socket takes nothing, that is not known.
    pub(super) fn handle_timeout(&mut self, now_ns: u64) {
        let waits = !self.outgoing.is_empty();
        if self.connection.is_none() || !waits && self.fill(now_ns) {
            return;
        }
        let now = self.at(now_ns);
        let Some((_, connection)) = &mut self.connection else { return };
        let before = connection.stats();
        connection.handle_timeout(now);
        self.settle();
        if !waits && self.fill(now_ns) {
            self.probe_timeouts += u64::from(self.has_probed(&before));
        }
    }

    /// Whether what was put together since then are the probes of a timeout.
    fn has_probed(&self, before: &ConnectionStats) -> bool {
        let Some((_, connection)) = &self.connection else { return false };
        let lost =
            |stats: &ConnectionStats| stats.path.lost_packets + stats.path.lost_plpmtud_probes;
        // Frames that ask for an acknowledgement (RFC 9002 2), of those that a client sends.
        let asking = |stats: &ConnectionStats| {
            let frames = &stats.frame_tx;
            let content = frames.crypto + frames.stream + frames.reset_stream + frames.stop_sending;
            let limits = frames.max_data + frames.max_stream_data + frames.max_streams_uni;
            let blocked = frames.data_blocked + frames.stream_data_blocked;
            let paths = frames.retire_connection_id + frames.path_response;
            content + limits + blocked + paths + frames.ping + frames.immediate_ack
        };
        let after = connection.stats();
        lost(&after) == lost(before) && asking(&after) > asking(before)
    }

    /// When to be called; what the connection and its endpoint have to say to each other is said.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let zero = self.setup.zero;
        let since_zero = |at: Instant| at.saturating_duration_since(zero).as_nanos() as u64;
        self.timeout_ns = connection.poll_timeout().map(since_zero);
    }

    pub(super) fn timeout_ns(&self) -> Option<u64> {
        self.timeout_ns
    }

    /// The next thing that happened.
    pub(super) fn happened(&mut self) -> Option<Happened> {
        if let Some(error) = self.failed.take() {
            return Some(Happened::Lost(Lost::Wrong(error)));
        }
        let (_, connection) = self.connection.as_mut()?;
        loop {
            return Some(match connection.poll()? {
                Event::Connected => {
                    self.line.keep_keys(connection);
                    Happened::Connected
                }
                Event::Stream(StreamEvent::Readable { id }) => Happened::Readable(id.into()),
                Event::Stream(StreamEvent::Writable { id }) => Happened::Writable(id.into()),
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    Happened::Stopped(id.into(), error_code.into_inner())
                }
                Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => Happened::Available,
                Event::Stream(StreamEvent::Opened { .. }) => Happened::Opened,
                Event::ConnectionLost { reason } => match self.lost(reason) {
                    Some(lost) => Happened::Lost(lost),
                    None => return None,
                },
                _ => continue,
            });
        }
    }

    /// Why a connection is over; `None`: we closed it.
    #[cold]
    fn lost(&mut self, reason: ConnectionError) -> Option<Lost> {
        use ConnectionError as C;
        let of_tls = self.line.told().error.take().map(HandshakeError);
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into();
        Some(match reason {
            C::LocallyClosed => return None,
            C::TimedOut => Lost::Silent,
            C::Reset => Lost::Reset,
            C::VersionMismatch => Lost::Wrong(Error::Version),
            C::ApplicationClosed(close) => match close.error_code.into_inner() {
                0 | super::error::NO_ERROR => Lost::Closed,
                code => {
                    let reason = text(&close.reason);
                    Lost::ClosedWith(Error::ClosedByServer { code, reason })
                }
            },
            C::ConnectionClosed(close) => match u64::from(close.error_code) {
                0 => Lost::Closed,
                // RFC 9001 4.8.
                code @ 0x100..=0x1ff => {
                    let alert = rustls::AlertDescription::from(code as u8);
                    let error = HandshakeError(rustls::Error::AlertReceived(alert));
                    Lost::ClosedWith(Error::Handshake(error))
                }
                code => {
                    let reason = text(&close.reason);
                    Lost::ClosedWith(Error::ClosedByQuic { code, reason })
                }
            },
            other => {
                let other = || Error::Quic(other.to_string().into());
                Lost::Wrong(of_tls.map_or_else(other, Error::Handshake))
            }
        })
    }

    /// Puts the next datagrams together, unless some wait. Whether there are any.
    pub(super) fn fill(&mut self, now_ns: u64) -> bool {
        if !self.outgoing.is_empty() {
            return true;
        }
        let now = self.at(now_ns);
        if self.connection.is_none() && self.failed.is_none() {
            self.begin(now);
        }
        let Some((_, connection)) = &mut self.connection else { return false };
        let most = self.setup.most_datagrams;
        let transmit = connection.poll_transmit(now, most, &mut self.outgoing);
        let Some(transmit) = transmit else {
            self.settle();
            self.held_until_ns = self.timeout_ns.unwrap_or(u64::MAX);
            return false;
        };
        self.filled_ns = now_ns.min(self.held_until_ns);
        let mut told = self.line.told();
        // Packets with requests come last.
        let first = transmit.size.saturating_sub(std::mem::take(&mut told.bytes));
        self.left.extend(told.left.drain(..).map(|(left, at)| (left, first + at)));
        drop(told);
        self.outgoing.truncate(transmit.size);
        self.segment_bytes = transmit.segment_size.unwrap_or(transmit.size) as u16;
        self.ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
        self.settle();
        true
    }

    /// The datagrams that wait, the length of each, and their mark.
    pub(super) fn outgoing(&self) -> (&[u8], u16, u8) {
        (&self.outgoing[self.written..], self.segment_bytes, self.ecn)
    }

    /// When they could be put together: of what was held back until then.
    pub(super) fn filled_ns(&self) -> u64 {
        self.filled_ns
    }

    /// From now on, all bytes of this stream are told of.
    pub(super) fn watch(&self, stream: u64) {
        self.line.told().tunnel = Some(stream);
    }

    /// So many bytes of them were taken; `has_left` is told what was among them.
    pub(super) fn handle_transmitted(&mut self, bytes: usize, mut has_left: impl FnMut(Left)) {
        self.written += bytes;
        let written = self.written;
        self.left.retain(|&(left, at)| {
            let waits = at >= written;
            if !waits {
                has_left(left);
            }
            waits
        });
        if self.written >= self.outgoing.len() {
            self.outgoing.clear();
            self.written = 0;
            self.left.clear();
        }
    }

    /// Ends the connection with this error code of HTTP/3.
    pub(super) fn close(&mut self, now_ns: u64, code: u32) {
        let now = self.at(now_ns);
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, code.into(), Bytes::new());
        }
    }

    // ---- streams ----

    /// Opens a stream of requests, if the server allows another.
    pub(super) fn open(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().open(Dir::Bi).map(u64::from)
    }

    /// Opens a stream of our own words.
    pub(super) fn open_one_way(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().open(Dir::Uni).map(u64::from)
    }

    /// The next stream that the server has opened.
    pub(super) fn accept(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().accept(Dir::Uni).map(u64::from)
    }

    /// Writes as much of `chunks` as there is room for, and takes it away. Whether that is all. Of a stream that is gone, all
    /// of it is.
    pub(super) fn write(&mut self, stream: u64, chunks: &mut [Bytes]) -> bool {
        let Some((_, connection)) = &mut self.connection else { return true };
        let mut at = 0;
        loop {
            while chunks.get(at).is_some_and(Bytes::is_empty) {
                at += 1;
            }
            let rest = &mut chunks[at..];
            if rest.is_empty() {
                return true;
            }
            match connection.send_stream(id(stream)).write_chunks(rest) {
                Ok(written) if written.bytes > 0 => {}
                Ok(_) | Err(WriteError::Blocked) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Says that nothing more comes on a stream.
    pub(super) fn finish(&mut self, stream: u64) {
        if let Some((_, connection)) = &mut self.connection {
            // A stream that is gone needs no end.
            let _ = connection.send_stream(id(stream)).finish();
        }
    }

    /// Sends nothing more of a stream.
    pub(super) fn reset(&mut self, stream: u64, code: u32) {
        if let Some((_, connection)) = &mut self.connection {
            let _ = connection.send_stream(id(stream)).reset(code.into());
        }
    }

    /// Wants nothing more of a stream.
    pub(super) fn stop(&mut self, stream: u64, code: u32) {
        if let Some((_, connection)) = &mut self.connection {
            let _ = connection.recv_stream(id(stream)).stop(code.into());
        }
    }

    /// That the server has reset a stream, and its error code, without reading what came before; once.
    pub(super) fn was_reset(&mut self, stream: u64) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        let code = connection.recv_stream(id(stream)).received_reset();
        code.ok().flatten().map(VarInt::into_inner)
    }

    /// Reads what came next on a stream.
    pub(super) fn read(&mut self, stream: u64) -> Read {
        let Some((_, connection)) = &mut self.connection else { return Read::Nothing };
        let mut stream = connection.recv_stream(id(stream));
        let Ok(mut chunks) = stream.read(true) else { return Read::Nothing };
        let read = match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => Read::Bytes(chunk.bytes),
            Ok(None) => Read::End,
            Err(ReadError::Blocked) => Read::Nothing,
            Err(ReadError::Reset(code)) => Read::Reset(code.into_inner()),
        };
        // The engine looks for datagrams to send after every input.
        let _ = chunks.finalize();
        read
    }
}

fn id(stream: u64) -> StreamId {
    VarInt::from_u64(stream).unwrap_or_default().into()
}
