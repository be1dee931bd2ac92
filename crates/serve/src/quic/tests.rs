//! What a client may say and what it must not, against a connection in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use candor_protocol::h3::frames::{self, kind};
use candor_protocol::h3::qpack::Block;
use hyper::{HeaderMap, StatusCode};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir,
    EndpointConfig, Event, ReadError, StreamId,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::endpoint::{Datagram, Endpoint};
use super::session::{Happened, Read, Session, data_header, head_frame};
use crate::Certificate;
use crate::tls::Tls;

const SERVER: &str = "127.0.0.1:443";
const CLIENT: &str = "127.0.0.1:5000";
const CONTROL: [u8; 3] = [0, 4, 0];

/// A client of quinn-proto, a server of ours, and what the server read of each request.
struct Pair {
    client: quinn_proto::Endpoint,
    handle: ConnectionHandle,
    quic: Connection,
    endpoint: Endpoint,
    session: Option<Session>,
    /// Method, path and body of requests that came whole.
    requests: Vec<(String, String, Vec<u8>)>,
    open: Vec<(u64, String, String, Vec<u8>)>,
    lost: Option<ConnectionError>,
    /// Nothing of the server's arrives once the client's handshake is over.
    is_cut: bool,
}

impl Pair {
    fn new() -> Self {
        let pair = Pair::connect(false);
        assert!(pair.session.is_some() && pair.lost.is_none());
        pair
    }

    fn connect(is_cut: bool) -> Self {
        let tls = Tls::new(&Certificate::SelfSigned(None)).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&tls.certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h3".to_vec()];
        let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()));
        let own = Arc::new(EndpointConfig::default());
        let mut client = quinn_proto::Endpoint::new(own, None, false, None);
        let server = SERVER.parse().unwrap();
        let (handle, quic) = client.connect(Instant::now(), config, server, "localhost").unwrap();
        let endpoint = Endpoint::new(tls.quic.clone(), 10).unwrap();
        let (requests, open) = (Vec::new(), Vec::new());
        let (session, lost) = (None, None);
        let mut pair =
            Pair { client, handle, quic, endpoint, session, requests, open, lost, is_cut };
        pair.exchange();
        pair
    }

    /// Carries datagrams until both sides have said all that they may say now.
    fn exchange(&mut self) {
        let (client, server): (SocketAddr, SocketAddr) =
            (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
        loop {
            let now = Instant::now();
            let mut is_quiet = true;
            self.quic.handle_timeout(now);
            self.session.iter_mut().for_each(|session| session.handle_timeout(now));
            while let Some(event) = self.quic.poll_endpoint_events() {
                if let Some(event) = self.client.handle_event(self.handle, event) {
                    self.quic.handle_event(event);
                }
            }
            let mut bytes = Vec::new();
            if let Some(transmit) = self.quic.poll_transmit(now, 1, &mut bytes) {
                is_quiet = false;
                match self.endpoint.handle(now, client, &bytes[..transmit.size]) {
                    Datagram::First(incoming) => {
                        self.session = self.endpoint.accept(now, incoming).ok();
                    }
                    Datagram::Of(_, event) => self.session.as_mut().unwrap().handle_event(event),
                    _ => {}
                }
            }
            self.serve();
            if let Some(session) = &mut self.session {
                self.endpoint.settle(session);
                while session.poll_transmit(now, &mut bytes).is_some() {
                    is_quiet = false;
                    if self.is_cut && !self.quic.is_handshaking() {
                        continue;
                    }
                    let datagram = BytesMut::from(&bytes[..]);
                    let mut reply = Vec::new();
                    let event = self.client.handle(now, server, None, None, datagram, &mut reply);
                    if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                        self.quic.handle_event(event);
                    }
                }
            }
            while let Some(event) = self.quic.poll() {
                if let Event::ConnectionLost { reason } = event {
                    self.lost = Some(reason);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Answers each request that came whole with 200 and `ok`.
    fn serve(&mut self) {
        let Some(session) = &mut self.session else { return };
        while let Some(happened) = session.poll() {
            let (Happened::Begun(id) | Happened::Stirred(id)) = happened else { continue };
            loop {
                let at = self.open.iter().position(|one| one.0 == id);
                match (session.read(id), at) {
                    (Read::Head(head), None) => {
                        let (method, path) = (head.method.to_string(), head.uri.path().to_owned());
                        self.open.push((id, method, path, Vec::new()));
                    }
                    (Read::Data(bytes), Some(at)) => self.open[at].3.extend_from_slice(&bytes),
                    (Read::End, Some(at)) => {
                        let (_, method, path, body) = self.open.remove(at);
                        self.requests.push((method, path, body));
                        let head = head_frame(StatusCode::OK, &HeaderMap::new());
                        let mut chunks = [head, data_header(2), Bytes::from_static(b"ok")];
                        assert!(session.write(id, &mut chunks));
                        session.finish(id);
                        break;
                    }
                    _ => break,
                }
            }
        }
    }

    /// Says these bytes on a new stream.
    fn say(&mut self, dir: Dir, bytes: &[u8], ends: bool) -> StreamId {
        let id = self.quic.streams().open(dir).unwrap();
        self.quic.send_stream(id).write(bytes).unwrap();
        if ends {
            self.quic.send_stream(id).finish().unwrap();
        }
        self.exchange();
        id
    }

    /// What came on a stream: bytes, or the code of its reset.
    fn heard(&mut self, id: StreamId) -> Result<Vec<u8>, u64> {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => all.extend_from_slice(&chunk.bytes),
                Ok(None) | Err(ReadError::Blocked) => break Ok(all),
                Err(ReadError::Reset(code)) => break Err(code.into_inner()),
            }
        };
        let _ = chunks.finalize();
        end
    }

    /// The code with which the server closed the connection.
    fn closed(&self) -> Option<u64> {
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) => Some(close.error_code.into_inner()),
            _ => None,
        }
    }
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frames::write_header(&mut out, kind, payload.len());
    out.extend_from_slice(payload);
    out
}

fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Block::default();
    fields.iter().for_each(|(name, value)| block.push(name.as_bytes(), value.as_bytes()));
    frame(kind::HEADERS, block.bytes())
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/x?y")];

fn get_with(more: &[(&str, &str)]) -> Vec<u8> {
    head(&[&GET[..], more].concat())
}

#[test]
fn requests_are_read_and_answered_however_they_are_cut() {
    let mut pair = Pair::new();
    pair.say(Dir::Uni, &CONTROL, false);
    let trailers = head(&[("x-sum", "1")]);
    let unknown = frame(0x21, b"grease");
    let all = [
        unknown.clone(),
        get_with(&[("content-length", "4")]),
        frame(kind::DATA, b"ab"),
        unknown,
        frame(kind::DATA, b""),
        frame(kind::DATA, b"cd"),
        trailers,
    ]
    .concat();
    let expected = ("GET".to_owned(), "/x".to_owned(), b"abcd".to_vec());
    let whole = pair.say(Dir::Bi, &all, true);
    let id = pair.quic.streams().open(Dir::Bi).unwrap();
    for byte in &all {
        pair.quic.send_stream(id).write(&[*byte]).unwrap();
        pair.exchange();
    }
    pair.quic.send_stream(id).finish().unwrap();
    pair.exchange();
    assert_eq!(pair.requests, [expected.clone(), expected]);
    let answer = [head(&[(":status", "200")]), frame(kind::DATA, b"ok")].concat();
    assert_eq!((pair.heard(whole), pair.heard(id)), (Ok(answer.clone()), Ok(answer)));
    assert_eq!(pair.closed(), None);
}

/// RFC 9114 4.1.2: the stream is reset, and the connection goes on.
#[test]
fn a_malformed_request_loses_its_stream() {
    let mut pair = Pair::new();
    let table: [(Vec<u8>, u64); 9] = [
        (head(&GET[..3]), 0x10e),
        (head(&[GET[0], GET[1], GET[3]]), 0x10e),
        (head(&[GET[0], GET[1], GET[2], GET[3], GET[3]]), 0x10e),
        (head(&[("a", "b"), GET[0], GET[1], GET[2], GET[3]]), 0x10e),
        (get_with(&[("Upper", "b")]), 0x10e),
        (get_with(&[("content-length", "x")]), 0x10e),
        ([get_with(&[("content-length", "1")]), frame(kind::DATA, b"ab")].concat(), 0x10e),
        ([get_with(&[("content-length", "3")]), frame(kind::DATA, b"ab")].concat(), 0x10e),
        (Vec::new(), 0x10d),
    ];
    for (bytes, code) in table {
        let id = pair.say(Dir::Bi, &bytes, true);
        assert_eq!(pair.heard(id), Err(code), "{bytes:?}");
    }
    assert!(pair.requests.is_empty() && pair.closed().is_none());
    pair.say(Dir::Bi, &get_with(&[]), true);
    assert_eq!(pair.requests.len(), 1);
}

/// RFC 9114 8.1: rules whose breach ends the connection.
#[test]
fn a_client_that_breaks_a_rule_is_told_which() {
    let longest = {
        let mut out = Vec::new();
        frames::write_header(&mut out, kind::HEADERS, 70_000);
        out
    };
    let flood = frame(0x21, b"").repeat(10_001);
    let table: [(Dir, Vec<u8>, bool, u64); 12] = [
        (Dir::Bi, frame(kind::DATA, b"a"), false, 0x105),
        (Dir::Bi, frame(kind::SETTINGS, b""), false, 0x105),
        (Dir::Bi, frame(0x2, b""), false, 0x105),
        (Dir::Bi, longest, false, 0x107),
        (Dir::Bi, flood, false, 0x107),
        (Dir::Bi, get_with(&[])[..5].to_vec(), true, 0x106),
        (Dir::Bi, frame(kind::HEADERS, &[0xff, 0xff]), false, 0x200),
        (Dir::Bi, frame(kind::HEADERS, &[0, 0, 0x80]), false, 0x200),
        (Dir::Uni, vec![0, 0x7, 1, 0], false, 0x10a),
        (Dir::Uni, CONTROL.to_vec(), true, 0x104),
        (Dir::Uni, vec![1, 0], false, 0x103),
        (Dir::Uni, vec![2, 0x3f, 0x45], false, 0x201),
    ];
    for (dir, bytes, ends, code) in table {
        let mut pair = Pair::new();
        pair.say(dir, &bytes, ends);
        // What is longer than a burst is paced.
        for _ in 0..1000 {
            if pair.lost.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            pair.exchange();
        }
        assert_eq!(pair.closed(), Some(code), "{:?}", &bytes[..bytes.len().min(20)]);
    }
    let mut pair = Pair::new();
    pair.say(Dir::Uni, &CONTROL, false);
    pair.say(Dir::Uni, &CONTROL, false);
    assert_eq!(pair.closed(), Some(0x103));
    // Streams of unknown types are of no use, and no fault.
    let mut pair = Pair::new();
    pair.say(Dir::Uni, &[0x21, 1, 2, 3], true);
    assert_eq!(pair.closed(), None);
}

/// A connection that is to end when the client has all of it is asked whether that is so.
#[test]
fn what_is_on_its_way_is_not_acknowledged() {
    let mut pair = Pair::new();
    let id = pair.say(Dir::Bi, &get_with(&[])[..3], false);
    let session = pair.session.as_mut().unwrap();
    assert!(session.write(id.into(), &mut [Bytes::from_static(b"x")]));
    assert!(!session.is_acknowledged());
    let mut pair = Pair::new();
    pair.say(Dir::Bi, &get_with(&[]), true);
    // Its acknowledgement may wait for a time, which does not pass here.
    pair.quic.ping();
    pair.exchange();
    assert_eq!(pair.requests.len(), 1);
}

/// Whether the client knows that the server has its handshake or not.
#[test]
fn a_reset_is_known_at_once() {
    for is_cut in [false, true] {
        let mut pair = Pair::connect(is_cut);
        pair.say(Dir::Bi, &get_with(&[]), true);
        let session = pair.session.take().unwrap();
        assert!(session.is_made());
        let (to, reset) = pair.endpoint.reset(Instant::now(), &session).unwrap();
        assert_eq!(to, CLIENT.parse().unwrap());
        let (from, bytes) = (SERVER.parse().unwrap(), BytesMut::from(&reset[..]));
        let event = pair.client.handle(Instant::now(), from, None, None, bytes, &mut Vec::new());
        let Some(DatagramEvent::ConnectionEvent(_, event)) = event else { panic!("{is_cut}") };
        pair.quic.handle_event(event);
        pair.exchange();
        assert!(matches!(pair.lost, Some(ConnectionError::Reset)), "{is_cut}: {:?}", pair.lost);
    }
}
