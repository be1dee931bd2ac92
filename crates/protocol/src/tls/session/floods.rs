//! A peer that speaks TLS by the record, to send what no server's library would.

use std::io::IoSlice;
use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{BodyExpect, Delivery, Expect, Request, StatusSet, TlsVersion, Trust};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::kernel::KernelConnection;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::ConnectionState;

use crate::tls::handshake::encode;
use crate::tls::records::{ALERT, DATA, HANDSHAKE, Half, record_length};
use crate::tls::{Connector, Error, Tls};
use crate::{Event, Failure, Input, Outgoing, Session, h1};

const ASKED: &[u8] = &[24, 0, 0, 1, 1];
const NOT_ASKED: &[u8] = &[24, 0, 0, 1, 0];
/// Lifetime, age, nonce, ticket, extensions (RFC 8446 4.6.1).
const TICKET: &[u8] = &[4, 0, 0, 14, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, b't', 0, 0];
const USER_CANCELED: &[u8] = &[1, 90];
const HELLO_REQUEST: &[u8] = &[0, 0, 0, 0];
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A client, and a server that sends records as the test says.
struct Peer {
    client: Tls,
    write: Half,
    read: Half,
    kernel: KernelConnection<ServerConnectionData>,
}

impl Peer {
    /// Both, after a handshake.
    fn new(max: TlsVersion) -> Self {
        let mut client = client(max);
        let mut server = UnbufferedServerConnection::new(server()).unwrap();
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        loop {
            transmit(&mut client, &mut to_server);
            let mut is_over = false;
            loop {
                let status = server.process_tls_records(&mut to_server);
                let discard = status.discard;
                let goes_on = match status.state.unwrap() {
                    ConnectionState::EncodeTlsData(mut data) => {
                        encode(&mut to_client, |space| data.encode(space)).unwrap();
                        true
                    }
                    ConnectionState::TransmitTlsData(data) => {
                        data.done();
                        true
                    }
                    ConnectionState::WriteTraffic(_) => {
                        is_over = true;
                        false
                    }
                    _ => false,
                };
                to_server.drain(..discard);
                if !goes_on {
                    break;
                }
            }
            let bytes = std::mem::take(&mut to_client);
            let mut input = Input::Stream(&bytes);
            while client.handle_input(0, &mut input).is_some() {}
            if is_over && client.free_places() > 0 {
                break;
            }
        }
        let (secrets, kernel) = server.dangerous_into_kernel_connection().unwrap();
        let version = kernel.protocol_version();
        let write = Half::new(version, secrets.tx).unwrap();
        let read = Half::new(version, secrets.rx).unwrap();
        Peer { client, write, read, kernel }
    }

    /// One record; after a KeyUpdate in it the server has the next key, if TLS knows of that.
    fn record(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write.seal(kind, &[IoSlice::new(content)], &mut bytes).unwrap();
        if kind == HANDSHAKE
            && content.first() == Some(&24)
            && let Ok(next) = self.kernel.update_tx_secret()
        {
            self.write = Half::new(self.kernel.protocol_version(), next).unwrap();
        }
        bytes
    }

    /// What the client has to say to bytes, in pieces of this size.
    fn give(&mut self, bytes: &[u8], step: usize) -> Vec<Event> {
        let mut events = Vec::new();
        for piece in bytes.chunks(step) {
            let mut input = Input::Stream(piece);
            while let Some(event) = self.client.handle_input(0, &mut input) {
                events.push(event);
            }
        }
        events
    }

    fn say(&mut self, kind: u8, content: &[u8]) -> Vec<Event> {
        let record = self.record(kind, content);
        self.give(&record, usize::MAX)
    }

    /// The records that the client has written since, decrypted.
    fn heard(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut bytes = Vec::new();
        transmit(&mut self.client, &mut bytes);
        let mut rest = &bytes[..];
        let mut all = Vec::new();
        while let Some(length) = record_length(rest).unwrap() {
            let (record, after) = rest.split_at(length);
            let mut plain = vec![0; length];
            let (kind, length) = self.read.open(record, &mut plain).unwrap();
            plain.truncate(length);
            if kind == HANDSHAKE {
                let next = self.kernel.update_rx_secret().unwrap();
                self.read = Half::new(self.kernel.protocol_version(), next).unwrap();
            }
            all.push((kind, plain));
            rest = after;
        }
        all
    }

    /// How many times the client takes such a record in a row, of at most 1000.
    fn takes(&mut self, kind: u8, content: &[u8]) -> usize {
        for taken in 0..1000 {
            match &self.say(kind, content)[..] {
                [] => {}
                events => {
                    assert_eq!(events, [failed(Error::Idle)]);
                    return taken;
                }
            }
        }
        1000
    }
}

fn failed(error: Error) -> Event {
    Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
}

fn transmit(client: &mut Tls, to_server: &mut Vec<u8>) {
    loop {
        let mut slices = [IoSlice::new(&[]); 1];
        if client.poll_transmit(0, &mut slices).slices == 0 {
            return;
        }
        let length = slices[0].len();
        to_server.extend_from_slice(&slices[0]);
        client.handle_transmitted(0, length, &mut |_| {});
    }
}

fn client(max: TlsVersion) -> Tls {
    let plan = candor_plan::Tls {
        trust: Trust::Anybody,
        server_name: "example.com".to_owned(),
        identity: None,
        alpn: vec!["http/1.1".to_owned()],
        min: TlsVersion::V12,
        max,
        ciphers: vec![],
        groups: vec![],
        resumption: true,
        early_data: false,
    };
    let request = Request {
        target: 0,
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: vec![],
        body: [].into(),
        delivery: Delivery::default(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        stream: None,
        weight: 1,
        holes: false,
        literal_body: false,
        call: None,
        reply: None,
        redacted: None,
    };
    let table: Arc<[h1::Prepared]> = [h1::prepare(&request, "example.com")].into();
    let connector = Connector::new(&plan, || Ok(Vec::new())).unwrap();
    let make = move |_: &str| -> Box<dyn Session> {
        Box::new(h1::Session::new(Arc::clone(&table), 1, h1::Limits::default()))
    };
    connector.sessions(Rc::new(make))()
}

fn server() -> Arc<ServerConfig> {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .unwrap();
    config.enable_secret_extraction = true;
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

#[test]
fn many_requests_for_a_new_key_get_one_answer_8446_4_6_3() {
    let mut peer = Peer::new(TlsVersion::V13);
    for _ in 0..20 {
        assert_eq!(peer.say(HANDSHAKE, ASKED), []);
    }
    assert_eq!(peer.heard(), [(HANDSHAKE, NOT_ASKED.to_vec())]);
    assert_eq!(peer.say(HANDSHAKE, NOT_ASKED), []);
    assert_eq!(peer.heard(), []);
    // What follows is under the new keys, both ways.
    peer.client.handle_request(7, Outgoing::Listed(0));
    let heard = peer.heard();
    assert!(matches!(&heard[..], [(DATA, request)] if request.starts_with(b"GET / ")), "{heard:?}");
    assert!(matches!(&peer.say(DATA, OK)[..], [.., Event::Done(_)]));
}

#[test]
fn an_answer_that_waits_for_the_kernel_stays_the_only_one() {
    let mut peer = Peer::new(TlsVersion::V13);
    let mut longest = 0;
    for _ in 0..20 {
        assert_eq!(peer.say(HANDSHAKE, ASKED), []);
        let mut slices = [IoSlice::new(&[]); 1];
        assert_eq!(peer.client.poll_transmit(0, &mut slices).slices, 1);
        longest = longest.max(slices[0].len());
    }
    assert_eq!(longest, 5 + NOT_ASKED.len() + 1 + 16);
    assert_eq!(peer.heard().len(), 2, "one that waited, one for all others");
}

#[test]
fn records_without_data_are_bounded() {
    for (max, kind, content, most) in [
        (TlsVersion::V13, HANDSHAKE, ASKED, 32),
        (TlsVersion::V13, HANDSHAKE, NOT_ASKED, 32),
        (TlsVersion::V13, HANDSHAKE, TICKET, 32),
        (TlsVersion::V13, ALERT, USER_CANCELED, 64),
        (TlsVersion::V13, DATA, b"", 64),
        (TlsVersion::V12, HANDSHAKE, HELLO_REQUEST, 32),
        (TlsVersion::V12, DATA, b"", 64),
    ] {
        let mut peer = Peer::new(max);
        assert_eq!(peer.takes(kind, content), most, "{max:?} {kind} {content:?}");
    }
    // A ticket of 65,535 bytes, a byte in each record.
    let mut peer = Peer::new(TlsVersion::V13);
    assert_eq!(peer.say(HANDSHAKE, &[4, 0, 0xff, 0xff]), []);
    assert_eq!(peer.takes(HANDSHAKE, b"x"), 63);
}

#[test]
fn tickets_are_bounded_within_a_record_too() {
    let mut peer = Peer::new(TlsVersion::V13);
    assert_eq!(peer.say(HANDSHAKE, &TICKET.repeat(900)), [failed(Error::Idle)]);
}

#[test]
fn data_makes_room_for_new_keys_and_tickets() {
    let mut peer = Peer::new(TlsVersion::V13);
    for id in 0..200 {
        peer.client.handle_request(id, Outgoing::Listed(0));
        peer.heard();
        for _ in 0..10 {
            assert_eq!(peer.say(HANDSHAKE, ASKED), []);
        }
        assert_eq!(peer.say(HANDSHAKE, &TICKET.repeat(4)), []);
        assert!(matches!(&peer.say(DATA, OK)[..], [.., Event::Done(_)]), "{id}");
    }
    // A byte of data pays for one of them, not for all.
    let mut peer = Peer::new(TlsVersion::V13);
    peer.client.handle_request(0, Outgoing::Listed(0));
    peer.heard();
    assert_eq!(peer.say(DATA, b"HTTP/1.1 200 OK\r\n\r\n").len(), 1);
    let each = (0..1000).find(|_| {
        let mut events = peer.say(HANDSHAKE, NOT_ASKED);
        events.extend(peer.say(DATA, b"x"));
        events == [failed(Error::Idle)]
    });
    assert_eq!(each, Some(63));
}

#[test]
fn nothing_stands_behind_a_key_update_in_its_record_8446_5_1() {
    for behind in [ASKED, TICKET, b"\x04"] {
        for step in [1, 7, usize::MAX] {
            let mut peer = Peer::new(TlsVersion::V13);
            let record = peer.record(HANDSHAKE, &[NOT_ASKED, behind].concat());
            assert_eq!(peer.give(&record, step), [failed(Error::Message)], "{behind:?}");
            assert_eq!(peer.heard(), []);
        }
    }
    // Before it there may be whole messages.
    let mut peer = Peer::new(TlsVersion::V13);
    let mut record = Vec::new();
    let content = [TICKET, NOT_ASKED].concat();
    peer.write.seal(HANDSHAKE, &[IoSlice::new(&content)], &mut record).unwrap();
    assert_eq!(peer.give(&record, usize::MAX), []);
}

#[test]
fn a_message_in_parts_is_not_interrupted_nor_empty_8446_5_1() {
    let mut peer = Peer::new(TlsVersion::V13);
    for part in TICKET.chunks(5) {
        assert_eq!(peer.say(HANDSHAKE, part), []);
    }
    for (kind, content) in [(DATA, OK), (DATA, b""), (ALERT, USER_CANCELED), (ALERT, &[1, 0])] {
        let mut peer = Peer::new(TlsVersion::V13);
        assert_eq!(peer.say(HANDSHAKE, &TICKET[..5]), []);
        assert_eq!(peer.say(kind, content), [failed(Error::Message)], "{kind} {content:?}");
    }
    let mut peer = Peer::new(TlsVersion::V13);
    assert_eq!(peer.say(HANDSHAKE, b""), [failed(Error::Record)]);
}

#[test]
fn messages_that_are_too_long_or_have_no_place_end_the_connection() {
    for (max, content) in [
        (TlsVersion::V13, &[4, 1, 0, 1][..]),
        (TlsVersion::V13, HELLO_REQUEST),
        // A server hello, a certificate request, a KeyUpdate of another length and value.
        (TlsVersion::V13, &[2, 0, 0, 0]),
        (TlsVersion::V13, &[13, 0, 0, 0]),
        (TlsVersion::V13, &[24, 0, 0, 2, 0, 0]),
        (TlsVersion::V13, &[24, 0, 0, 1, 2]),
        (TlsVersion::V12, &[24, 0, 0, 1, 0]),
        (TlsVersion::V12, TICKET),
        (TlsVersion::V12, &[2, 0, 0, 0]),
    ] {
        let mut peer = Peer::new(max);
        assert_eq!(peer.say(HANDSHAKE, content), [failed(Error::Message)], "{max:?} {content:?}");
    }
}

/// RFC 8446 5: after the server's Finished one has no place any more.
#[test]
fn a_change_of_ciphers_after_the_handshake_ends_the_connection() {
    for max in [TlsVersion::V12, TlsVersion::V13] {
        let mut peer = Peer::new(max);
        let events = peer.give(&[20, 3, 3, 0, 1, 1], usize::MAX);
        assert!(matches!(&events[..], [Event::Failed { id: None, .. }]), "{events:?}");
    }
}

/// What a server can make of a handshake that it never ends: rustls bounds it, and we hold no more
/// than one of its messages.
#[test]
fn records_without_end_before_the_handshake_are_bounded() {
    let fragments = [&[22, 3, 3, 0, 1, 2, 22, 3, 3, 0, 1, 0, 22, 3, 3, 0, 1, 0xff][..]; 1].concat();
    let begins =
        |kind: u8, content: &[u8]| [&[kind, 3, 3, 0, content.len() as u8][..], content].concat();
    for (first, then) in [
        (vec![], begins(20, &[1])),
        (vec![], begins(21, &[1, 90])),
        (vec![], begins(23, &[0])),
        (vec![], begins(22, HELLO_REQUEST)),
        // A server hello of 65,280 bytes, a byte in each record; one of 16 MiB.
        (fragments, begins(22, &[0])),
        (begins(22, &[2, 0xff, 0xff, 0xff]), begins(22, &[0; 255])),
    ] {
        let mut client = client(TlsVersion::V13);
        let read = then.repeat((16 << 10) / then.len());
        let mut most = 0;
        let mut fails = client.handle_input(0, &mut Input::Stream(&first)).is_some();
        for _ in 0..100 {
            fails |= client.handle_input(0, &mut Input::Stream(&read)).is_some();
            most = most.max(client.incoming.capacity());
        }
        assert!(fails && most <= 1 << 20, "{then:?}: {most} bytes, failed: {fails}");
    }
}
