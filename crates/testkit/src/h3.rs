//! A QUIC server without sockets and without a clock, on quinn-proto, whose streams a test writes byte by byte.
//!
//! QUIC is somebody else's implementation, HTTP/3 is the test's: by itself the server says no more than the settings of a
//! control stream, and calls [`Server::answers`] for each request that is complete. What it must not do is read frames: what
//! a request says is left to those who ask.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, HashedConnectionIdGenerator, StreamEvent, StreamId, TransportConfig,
    VarInt, WriteError,
};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// A control stream whose settings are all the default.
pub const SETTINGS: [u8; 3] = [0x00, 0x04, 0x00];

/// What is answered to the request on a stream, by its bytes; `None`: nothing by itself.
pub type Answers = Box<dyn FnMut(u64, &[u8]) -> Option<Vec<u8>>>;

/// The server.
pub struct Server {
    endpoint: Endpoint,
    own: (Arc<EndpointConfig>, Arc<quinn_proto::ServerConfig>),
    tls: rustls::ServerConfig,
    zero: Instant,
    /// The connections that are not gone.
    pub connections: BTreeMap<usize, Served>,
    /// Why the last of those that are gone was over.
    pub lost: Option<ConnectionError>,
    replies: Vec<(SocketAddr, Vec<u8>)>,
    /// Answers requests.
    pub answers: Answers,
    /// What its control stream begins with; empty: it has none.
    pub greeting: Vec<u8>,
    /// Demands a proof of the address of each connection (Retry), and how often it did.
    pub retries: bool,
    /// Retries so far.
    pub retried: u64,
    /// Requests that came whole.
    pub requests: u64,
    /// Its certificate in PEM form.
    pub pem: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// A connection.
pub struct Served {
    handle: ConnectionHandle,
    /// QUIC's.
    pub quic: Connection,
    /// What came on each stream of the client's that has not ended.
    pub streams: BTreeMap<u64, Vec<u8>>,
    unsent: BTreeMap<u64, (Vec<u8>, bool)>,
    /// Streams that the client reset, or wanted nothing more of, and its error codes.
    pub given_up: Vec<(u64, u64)>,
    /// Why it is over.
    pub lost: Option<ConnectionError>,
}

impl Server {
    /// A server of these protocols, with a fresh certificate for these names.
    ///
    /// # Panics
    /// If that cannot be; a test has no use for the error.
    pub fn new(
        names: &[&str],
        alpn: &[&str],
        change: impl FnOnce(&mut TransportConfig),
        answers: impl FnMut(u64, &[u8]) -> Option<Vec<u8>> + 'static,
    ) -> Self {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().expect("a key");
        let made =
            CertificateParams::new(names).expect("names").self_signed(&key).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let mut tls =
            rustls::ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
                .with_protocol_versions(&[&rustls::version::TLS13])
                .expect("versions of the provider")
                .with_no_client_auth()
                .with_single_cert(vec![made.der().clone()], key)
                .expect("a key that was just made");
        tls.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        tls.max_early_data_size = u32::MAX;
        let crypto = QuicServerConfig::try_from(tls.clone()).expect("the suite of first packets");
        let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        change(&mut transport);
        config.transport_config(Arc::new(transport));
        let mut of_endpoint = EndpointConfig::default();
        // Of a key that it keeps over a restart.
        of_endpoint.cid_generator(|| Box::new(HashedConnectionIdGenerator::from_key(7)));
        let own = (Arc::new(of_endpoint), Arc::new(config));
        Server {
            endpoint: Endpoint::new(Arc::clone(&own.0), Some(Arc::clone(&own.1)), true, None),
            own,
            tls,
            zero: Instant::now(),
            connections: BTreeMap::new(),
            lost: None,
            replies: Vec::new(),
            answers: Box::new(answers),
            greeting: SETTINGS.to_vec(),
            retries: false,
            retried: 0,
            requests: 0,
            pem: made.pem(),
        }
    }

    /// Knows no connection any more, as if it had been restarted with the key of its resets.
    pub fn forget(&mut self) {
        self.connections.clear();
        self.endpoint =
            Endpoint::new(Arc::clone(&self.own.0), Some(Arc::clone(&self.own.1)), true, None);
    }

    /// Refuses early data from now on, of the tickets that it gave out too.
    ///
    /// # Panics
    /// If TLS cannot be configured so.
    pub fn refuse_early_data(&mut self) {
        self.tls.max_early_data_size = 0;
        let crypto = QuicServerConfig::try_from(self.tls.clone()).expect("the same suites");
        let mut config = quinn_proto::ServerConfig::clone(&self.own.1);
        config.crypto = Arc::new(crypto);
        self.own.1 = Arc::new(config);
        self.endpoint.set_server_config(Some(Arc::clone(&self.own.1)));
    }

    fn at(&self, now_ns: u64) -> Instant {
        self.zero + Duration::from_nanos(now_ns)
    }

    /// The connection that was made last.
    ///
    /// # Panics
    /// Without one.
    pub fn connection(&mut self) -> &mut Served {
        self.connections.values_mut().last().expect("a connection")
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8], ecn: u8) {
        let now = self.at(now_ns);
        let (bytes, ecn) = (BytesMut::from(bytes), EcnCodepoint::from_bits(ecn));
        let mut reply = Vec::new();
        match self.endpoint.handle(now, from, None, ecn, bytes, &mut reply) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(served) = self.connections.get_mut(&handle.0) {
                    served.quic.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming))
                if self.retries && !incoming.remote_address_validated() =>
            {
                let transmit = self.endpoint.retry(incoming, &mut reply).expect("the first try");
                reply.truncate(transmit.size);
                self.replies.push((from, reply));
                self.retried += 1;
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok((handle, quic)) = self.endpoint.accept(incoming, now, &mut reply, None) {
                    let (streams, unsent) = (BTreeMap::new(), BTreeMap::new());
                    let given_up = Vec::new();
                    let served = Served { handle, quic, streams, unsent, given_up, lost: None };
                    self.connections.insert(handle.0, served);
                } else if !reply.is_empty() {
                    self.replies.push((from, reply));
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                reply.truncate(transmit.size);
                self.replies.push((from, reply));
            }
        }
        self.proceed();
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<(SocketAddr, Vec<u8>, u8)> {
        if let Some((to, bytes)) = self.replies.pop() {
            return Some((to, bytes, 0));
        }
        let now = self.at(now_ns);
        let mut bytes = Vec::new();
        let found = self.connections.values_mut().find_map(|served| {
            let transmit = served.quic.poll_transmit(now, 1, &mut bytes)?;
            Some((transmit.destination, transmit.ecn.map_or(0, |ecn| ecn as u8)))
        });
        self.settle();
        let (to, ecn) = found?;
        Some((to, bytes, ecn))
    }

    /// When to be called next.
    pub fn poll_timeout(&mut self) -> Option<u64> {
        let zero = self.zero;
        let all = self.connections.values_mut().filter_map(|served| served.quic.poll_timeout());
        all.min().map(|at| at.saturating_duration_since(zero).as_nanos() as u64)
    }

    /// That time has come.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        let now = self.at(now_ns);
        self.connections.values_mut().for_each(|served| served.quic.handle_timeout(now));
        self.proceed();
    }

    fn settle(&mut self) {
        let Server { endpoint, lost, connections, .. } = self;
        connections.retain(|_, served| {
            let mut is_drained = false;
            while let Some(event) = served.quic.poll_endpoint_events() {
                is_drained |= event.is_drained();
                if let Some(event) = endpoint.handle_event(served.handle, event) {
                    served.quic.handle_event(event);
                }
            }
            if is_drained {
                *lost = served.lost.take();
            }
            !is_drained
        });
    }

    fn proceed(&mut self) {
        let Server { connections, answers, requests, greeting, .. } = self;
        for served in connections.values_mut() {
            while let Some(event) = served.quic.poll() {
                match event {
                    Event::Connected if !greeting.is_empty() => {
                        let id = served.quic.streams().open(Dir::Uni).expect("a stream");
                        served.write(id.into(), greeting);
                    }
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        while let Some(id) = served.quic.streams().accept(dir) {
                            served.streams.insert(id.into(), Vec::new());
                            served.read(id.into(), answers, requests);
                        }
                    }
                    Event::Stream(StreamEvent::Readable { id }) => {
                        served.read(id.into(), answers, requests);
                    }
                    Event::Stream(StreamEvent::Writable { id }) => served.flush(id.into()),
                    Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                        served.given_up.push((id.into(), error_code.into_inner()));
                    }
                    Event::ConnectionLost { reason } => served.lost = Some(reason),
                    _ => {}
                }
            }
        }
        self.settle();
    }
}

impl Served {
    fn read(&mut self, id: u64, answers: &mut Answers, requests: &mut u64) {
        let mut stream = self.quic.recv_stream(of(id));
        let Ok(mut chunks) = stream.read(true) else { return };
        let bytes = self.streams.entry(id).or_default();
        let is_over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break true,
                Err(quinn_proto::ReadError::Reset(code)) => {
                    self.given_up.push((id, code.into_inner()));
                    break false;
                }
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        if is_over && id.is_multiple_of(4) {
            *requests += 1;
            let request = self.streams.remove(&id).unwrap_or_default();
            if let Some(answer) = answers(id, &request) {
                self.write(id, &answer);
                self.finish(id);
            }
        }
    }

    /// Writes on a stream, as soon as there is room.
    pub fn write(&mut self, id: u64, bytes: &[u8]) {
        self.unsent.entry(id).or_default().0.extend_from_slice(bytes);
        self.flush(id);
    }

    /// Ends a stream, behind what was written.
    pub fn finish(&mut self, id: u64) {
        self.unsent.entry(id).or_default().1 = true;
        self.flush(id);
    }

    fn flush(&mut self, id: u64) {
        let Some((bytes, ends)) = self.unsent.get_mut(&id) else { return };
        while !bytes.is_empty() {
            match self.quic.send_stream(of(id)).write(bytes) {
                Ok(written) => drop(bytes.drain(..written)),
                Err(WriteError::Blocked) => return,
                Err(_) => bytes.clear(),
            }
        }
        if *ends {
            let _ = self.quic.send_stream(of(id)).finish();
        }
        self.unsent.remove(&id);
    }

    /// Opens a stream that goes one way, and writes on it.
    ///
    /// # Panics
    /// If the client allows none.
    pub fn open(&mut self, bytes: &[u8]) -> u64 {
        let id = self.quic.streams().open(Dir::Uni).expect("a stream").into();
        self.write(id, bytes);
        id
    }

    /// Gives a stream up.
    pub fn reset(&mut self, id: u64, code: u32) {
        let _ = self.quic.send_stream(of(id)).reset(code.into());
    }

    /// Wants no more of a stream.
    pub fn stop(&mut self, id: u64, code: u32) {
        let _ = self.quic.recv_stream(of(id)).stop(code.into());
    }
}

fn of(id: u64) -> StreamId {
    VarInt::from_u64(id).expect("an id").into()
}
