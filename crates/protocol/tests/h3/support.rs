//! A session, a QUIC server, and a link between them on which time is the test's.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_plan::{Pem, Request, Trust};
use candor_protocol::h3::qpack::Block;
use candor_protocol::h3::{Session, Settings, Setup, prepare};
use candor_protocol::tls::Connector;
use candor_protocol::{
    Answer, Deviations, Event, Failure, Input, Last, MAX_SEGMENTS, Outgoing, RequestId,
};
use candor_testkit::h3::Server;
pub(crate) use candor_testkit::plans::request as plan_request;
use candor_testkit::plans::tls;
use tracing::field::Field;
use tracing::{Metadata, span};

pub(crate) const MS: u64 = 1_000_000;
/// One way.
pub(crate) const LATENCY_NS: u64 = 10 * MS;
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);

pub(crate) const DATA: u64 = 0;
pub(crate) const HEADERS: u64 = 1;

pub(crate) fn session(trust: Trust, requests: &[Request], settings: Settings) -> Session {
    let table: Vec<_> = requests.iter().map(|one| prepare(one, "https", "example.com")).collect();
    Session::new(table.into(), settings, setup(trust, &settings))
}

/// What QUIC connections to the server have in common.
pub(crate) fn setup(trust: Trust, settings: &Settings) -> Setup {
    let connector = Connector::new(&tls("example.com", "h3", trust), || Ok(Vec::new())).unwrap();
    Setup::of(&connector, settings)
}

/// Trusts the server's certificate and no other.
pub(crate) fn only(server: &Server) -> Trust {
    Trust::Only(Pem { file: "ca.pem".to_owned(), text: server.pem.as_bytes().into() })
}

/// Both sides.
pub(crate) struct Pair<S = Session> {
    pub(crate) now_ns: u64,
    pub(crate) client: S,
    pub(crate) server: Server,
    /// Which datagrams are lost, counted from 0 over both directions.
    pub(crate) loses: Box<dyn FnMut(u64) -> bool>,
    pub(crate) sent: u64,
    /// When they arrive, whether at the client, and what.
    way: VecDeque<(u64, bool, Vec<u8>, u8)>,
    /// What the session said, and when.
    pub(crate) events: Vec<(u64, Event)>,
    /// The requests that left, and when.
    pub(crate) started: Vec<(u64, RequestId)>,
    /// Probe timeouts of the client, by what its QUIC writes into its log.
    pub(crate) probe_timeouts: Arc<AtomicU64>,
}

impl Pair {
    /// For GETs, this many at a time, to a server that answers so.
    pub(crate) fn of_gets(
        streams: u32,
        answers: impl FnMut(u64, &[u8]) -> Option<Vec<u8>> + 'static,
    ) -> Self {
        let settings = Settings { streams, ..Settings::default() };
        Pair::of(&[plan_request("GET", &[], b"")], settings, answers)
    }

    pub(crate) fn of(
        requests: &[Request],
        settings: Settings,
        answers: impl FnMut(u64, &[u8]) -> Option<Vec<u8>> + 'static,
    ) -> Self {
        let server = Server::new(&["example.com"], &["h3"], |_| (), answers);
        Pair::new(session(only(&server), requests, settings), server)
    }
}

impl<S: candor_protocol::Session> Pair<S> {
    pub(crate) fn new(client: S, server: Server) -> Self {
        Pair {
            now_ns: 0,
            client,
            server,
            loses: Box::new(|_| false),
            sent: 0,
            way: VecDeque::new(),
            events: Vec::new(),
            started: Vec::new(),
            probe_timeouts: Arc::default(),
        }
    }

    /// After the handshake, nothing on its way, no event and no time kept.
    pub(crate) fn ready(mut self) -> Self {
        self.run_for(20 * LATENCY_NS);
        let are_ready = self.events.iter().any(|(_, event)| matches!(event, Event::Ready(_)));
        assert!(are_ready, "{:?}", self.events);
        self.events.clear();
        self
    }

    /// Hands requests of the table over.
    pub(crate) fn request(&mut self, ids: impl IntoIterator<Item = RequestId>) {
        for id in ids {
            assert!(self.client.free_places() > 0, "no place for {id}");
            self.client.handle_request(id, Outgoing::Listed(0));
        }
    }

    pub(crate) fn run_for(&mut self, ns: u64) {
        let until_ns = self.now_ns + ns;
        loop {
            self.flush();
            let arrival_ns = self.way.iter().map(|one| one.0).min();
            let times = [arrival_ns, self.client.poll_timeout(), self.server.poll_timeout()];
            let next_ns = times.into_iter().flatten().min().unwrap_or(u64::MAX).max(self.now_ns);
            if next_ns > until_ns {
                self.now_ns = until_ns;
                return;
            }
            self.now_ns = next_ns;
            self.arrive();
            if self.client.poll_timeout().is_some_and(|at_ns| at_ns <= next_ns) {
                let log = Log(Arc::clone(&self.probe_timeouts));
                tracing::subscriber::with_default(log, || self.client.handle_timeout(next_ns));
            }
            if self.server.poll_timeout().is_some_and(|at_ns| at_ns <= next_ns) {
                self.server.handle_timeout(next_ns);
            }
        }
    }

    /// Everything that has been said so far, and no time.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        self.events.drain(..).map(|(_, event)| event).collect()
    }

    fn arrive(&mut self) {
        let Some(at) = self.way.iter().position(|one| one.0 <= self.now_ns) else { return };
        let Some((_, to_client, bytes, ecn)) = self.way.remove(at) else { return };
        if !to_client {
            return self.server.handle(self.now_ns, CLIENT, &bytes, ecn);
        }
        self.feed(&bytes, ecn);
    }

    /// Gives the session a datagram.
    pub(crate) fn feed(&mut self, bytes: &[u8], ecn: u8) {
        let mut input = Input::Datagram { bytes, ecn };
        while let Some(event) = self.client.handle_input(self.now_ns, &mut input) {
            self.events.push((self.now_ns, event));
        }
        assert!(input.bytes().is_empty(), "a session without events must have consumed its input");
    }

    fn say(&mut self, to_client: bool, bytes: Vec<u8>, ecn: u8) {
        let number = self.sent;
        self.sent += 1;
        if !(self.loses)(number) {
            self.way.push_back((self.now_ns + LATENCY_NS, to_client, bytes, ecn));
        }
    }

    /// Writes what both have to say, and asks for events.
    pub(crate) fn flush(&mut self) {
        loop {
            while let Some(event) = self.client.poll_event() {
                self.events.push((self.now_ns, event));
            }
            let mut slices = [IoSlice::new(&[]); 4];
            let transmit = self.client.poll_transmit(self.now_ns, &mut slices);
            let bytes: Vec<u8> =
                transmit.of(&slices).iter().flat_map(|slice| slice.iter().copied()).collect();
            if bytes.is_empty() {
                break;
            }
            let each = usize::from(transmit.segment_bytes);
            assert!(bytes.len().div_ceil(each) <= MAX_SEGMENTS, "{} of {each}", bytes.len());
            let (now_ns, started) = (self.now_ns, &mut self.started);
            self.client
                .handle_transmitted(now_ns, bytes.len(), &mut |id| started.push((now_ns, id)));
            for datagram in bytes.chunks(each) {
                self.say(false, datagram.to_vec(), transmit.ecn);
            }
        }
        while let Some((_, bytes, ecn)) = self.server.poll_transmit(self.now_ns) {
            self.say(true, bytes, ecn);
        }
    }

    /// The error code of HTTP/3 with which the client closed the connection, if it did.
    pub(crate) fn told(&self) -> Option<u64> {
        let lives = self.server.connections.values().next();
        match lives.map_or(&self.server.lost, |served| &served.lost) {
            Some(quinn_proto::ConnectionError::ApplicationClosed(close)) => {
                Some(close.error_code.into_inner())
            }
            _ => None,
        }
    }

    /// The end of the connection by the engine's word: all that is said then.
    pub(crate) fn end(&mut self) -> Vec<Event> {
        self.client.handle_end();
        std::iter::from_fn(|| self.client.poll_event()).collect()
    }
}

/// Counts the probe timeouts in the log of quinn-proto, which says of them nowhere else.
struct Log(Arc<AtomicU64>);

impl tracing::Subscriber for Log {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "quinn_proto::connection" && about.is_event()
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            let is_one = field.name() == "message" && format!("{value:?}") == "PTO fired";
            self.0.fetch_add(u64::from(is_one), Ordering::Relaxed);
        });
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// A frame.
pub(crate) fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![kind as u8];
    match payload.len() {
        length @ 0..0x40 => out.push(length as u8),
        length => out.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes()),
    }
    out.extend_from_slice(payload);
    out
}

/// A field section.
pub(crate) fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Block::default();
    fields.iter().for_each(|(name, value)| block.push(name.as_bytes(), value.as_bytes()));
    block.bytes().to_vec()
}

/// A response of 200 with this body.
pub(crate) fn ok(body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let head = section(&[(":status", "200"), ("content-length", &length)]);
    [frame(HEADERS, &head), frame(DATA, body)].concat()
}

/// The outcome of a request with the expected response.
pub(crate) fn done(id: RequestId, status: u16, body_bytes: u64) -> Event {
    Event::Done(Answer {
        id,
        status: NonZeroU16::new(status),
        body_bytes,
        expected: Ok(()),
        deviations: Deviations::default(),
        last: Last::No,
    })
}

pub(crate) fn failed(id: RequestId, failure: Failure) -> Event {
    Event::RequestFailed { id, failure }
}

/// Requests of a table that have one body each.
pub(crate) fn shared(bytes: usize) -> Arc<[u8]> {
    (0..bytes).map(|n| (n % 251) as u8).collect()
}
