//! TLS against rustls as a server, in memory: every cipher, cut at every byte, ended in every way.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

use std::io::{IoSlice, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{BodyExpect, Expect, Pem, Request, StatusSet, Tls as TlsPlan, TlsVersion, Trust};
use candor_protocol::tls::{Connector, Tls};
use candor_protocol::{Abilities, Event, Failure, Input, Outgoing, Session, h1, h2};
use candor_record::{Cause, Handshake};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nalive\r\n";
const UNTIL_END: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nalive\r\n";

/// The session of HTTP/1.1 within is ready.
const READY: Event = Event::Ready(Abilities { multiplexes: false, takes_made: true });

struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    pem: String,
}

fn identity(change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    Identity { certificate: made.der().clone(), pem: made.pem(), key }
}

fn plan(trust: Trust) -> TlsPlan {
    TlsPlan {
        trust,
        server_name: "example.com".to_owned(),
        identity: None,
        alpn: vec!["http/1.1".to_owned()],
        min: TlsVersion::V12,
        max: TlsVersion::V13,
        ciphers: vec![],
        groups: vec![],
        resumption: false,
        early_data: false,
    }
}

fn only(identity: &Identity) -> Trust {
    Trust::Only(Pem { file: "ca.pem".to_owned(), text: identity.pem.as_bytes().into() })
}

type Make = Box<dyn Fn() -> Tls>;

fn clients(plan: &TlsPlan) -> Make {
    let request = Request {
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Length(7) },
        ..candor_testkit::plans::request("GET", &[], b"")
    };
    let table: Arc<[h1::Prepared]> = [h1::prepare(&request, "example.com")].into();
    let connector = Connector::new(plan, || Ok(Vec::new())).unwrap();
    let make = move |_: &str| -> Box<dyn Session> {
        Box::new(h1::Session::new(Arc::clone(&table), 1, h1::Limits::default()))
    };
    Box::new(connector.sessions(Rc::new(make)))
}

fn server(identity: &Identity) -> Arc<ServerConfig> {
    let key = PrivatePkcs8KeyDer::from(identity.key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A client and a server, and what is on its way to the client.
struct Pair {
    client: Tls,
    server: ServerConnection,
    request: Vec<u8>,
    to_client: Vec<u8>,
    events: Vec<Event>,
    started: Vec<u32>,
    /// How many bytes the client is given, and takes, at a time.
    step: usize,
}

impl Pair {
    fn new(client: Tls, server: &Arc<ServerConfig>, step: usize) -> Self {
        let server = ServerConnection::new(Arc::clone(server)).unwrap();
        let (request, to_client) = (Vec::new(), Vec::new());
        Pair { client, server, request, to_client, events: vec![], started: vec![], step }
    }

    /// Moves what the client has to say to the server, as the engine does: for as long as it says that
    /// there is more.
    fn upload(&mut self) {
        let mut more = true;
        while more {
            let mut slices = [IoSlice::new(&[]); 4];
            let transmit = self.client.poll_transmit(0, &mut slices);
            let Some(first) = transmit.of(&slices).first() else { break };
            let bytes = first[..first.len().min(self.step)].to_vec();
            more = transmit.more || bytes.len() < first.len();
            assert!(self.server.read_tls(&mut &bytes[..]).unwrap() == bytes.len());
            let started = &mut self.started;
            self.client.handle_transmitted(0, bytes.len(), &mut |id| started.push(id));
            let _ = self.server.process_new_packets();
        }
        let mut plain = vec![0; 4096];
        while let Some(mut early) = self.server.early_data()
            && let Ok(length @ 1..) = early.read(&mut plain)
        {
            self.request.extend_from_slice(&plain[..length]);
        }
        while let Ok(length @ 1..) = self.server.reader().read(&mut plain) {
            self.request.extend_from_slice(&plain[..length]);
        }
    }

    /// Moves what the server has to say to the client, piece by piece.
    fn download(&mut self) {
        while self.server.wants_write() {
            self.server.write_tls(&mut self.to_client).unwrap();
        }
        for piece in std::mem::take(&mut self.to_client).chunks(self.step) {
            let mut input = Input::Stream(piece);
            while let Some(event) = self.client.handle_input(0, &mut input) {
                self.events.push(event);
            }
            assert!(input.bytes().is_empty());
        }
    }

    fn shake_hands(&mut self) {
        for _ in 0..6 {
            self.upload();
            self.download();
        }
    }

    fn ask(&mut self, id: u32, answer: &[u8]) {
        assert_eq!(self.client.free_places(), 1);
        self.client.handle_request(id, Outgoing::Listed(0));
        assert!(!self.started.contains(&id));
        self.upload();
        assert!(self.started.contains(&id), "told when its record was taken");
        self.answer(answer);
    }

    fn answer(&mut self, answer: &[u8]) {
        assert!(self.request.ends_with(b"\r\n\r\n"));
        self.server.writer().write_all(answer).unwrap();
        self.download();
    }

    /// What the handshake came to, if it is over.
    fn handshake(&self) -> Option<&Handshake> {
        self.events.iter().find_map(|event| match event {
            Event::Secured(handshake) => Some(&**handshake),
            _ => None,
        })
    }

    fn dones(&self) -> usize {
        let right = |one: &&Event| matches!(one, Event::Done(answer) if answer.expected.is_ok());
        self.events.iter().filter(right).count()
    }
}

#[test]
fn every_cipher_of_both_versions_carries_requests_in_pieces_of_any_size() {
    let identity = identity(|_| ());
    let config = server(&identity);
    for suite in aws_lc_rs::ALL_CIPHER_SUITES {
        let name = suite.suite().as_str().unwrap();
        if name.contains("RSA") {
            // The certificate is one of ECDSA; its suites have the same ciphers.
            continue;
        }
        for step in [1, 7, 100_000] {
            let plan = TlsPlan { ciphers: vec![name.to_owned()], ..plan(only(&identity)) };
            let mut pair = Pair::new(clients(&plan)(), &config, step);
            assert_eq!((pair.client.poll_event(), pair.client.free_places()), (None, 0));
            pair.shake_hands();
            assert!(matches!(&pair.events[..], [Event::Secured(_), READY]), "{name}");
            let facts = pair.handshake().unwrap();
            assert_eq!((&*facts.cipher, &*facts.alpn, facts.resumed), (name, "http/1.1", false));
            for id in 0..3 {
                pair.ask(id, ANSWER);
            }
            assert_eq!(pair.dones(), 3, "{name} in steps of {step}: {:?}", pair.events);
        }
    }
}

/// A server that says nothing before it has heard the preface (RFC 9113 3.4), not even a ticket.
#[test]
fn http_2_speaks_first() {
    let identity = identity(|_| ());
    let mut config = Arc::unwrap_or_clone(server(&identity));
    config.send_tls13_tickets = 0;
    let connector =
        Connector::new(&TlsPlan { alpn: vec!["h2".to_owned()], ..plan(only(&identity)) }, || {
            Ok(Vec::new())
        })
        .unwrap();
    let make = move |alpn: &str| -> Box<dyn Session> {
        assert_eq!(alpn, "h2");
        Box::new(h2::Session::new([].into(), h2::Settings::default()))
    };
    for step in [1, 100_000] {
        let client = connector.sessions(Rc::new(make))();
        let mut pair = Pair::new(client, &Arc::new(config.clone()), step);
        // As the engine does: the client is asked for bytes after input, and not again without any.
        pair.upload();
        while pair.server.wants_write() {
            pair.download();
            pair.upload();
        }
        assert!(pair.request.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "{step}");
    }
}

#[test]
fn a_server_may_change_its_key_and_ask_for_another_of_ours() {
    let identity = identity(|_| ());
    let mut pair = Pair::new(clients(&plan(only(&identity)))(), &server(&identity), 100);
    pair.shake_hands();
    for id in 0..4 {
        pair.server.refresh_traffic_keys().unwrap();
        pair.ask(id, ANSWER);
    }
    assert_eq!(pair.dones(), 4, "{:?}", pair.events);
}

#[test]
fn a_handshake_that_is_cut_at_any_byte_is_no_connection() {
    let identity = identity(|_| ());
    let make = clients(&plan(only(&identity)));
    let config = server(&identity);
    let mut whole = Pair::new(make(), &config, 100_000);
    whole.upload();
    let mut flight = Vec::new();
    while whole.server.wants_write() {
        whole.server.write_tls(&mut flight).unwrap();
    }
    for cut in 0..flight.len() - 1 {
        let mut client = make();
        let mut input = Input::Stream(&flight[..cut]);
        // The flight is for another client's hello, so what it decrypts to is nonsense: an
        // error, or nothing yet, but never a connection.
        let mut is_refused = false;
        while let Some(event) = client.handle_input(0, &mut input) {
            assert!(matches!(event, Event::Failed { id: None, .. }), "{cut}: {event:?}");
            is_refused = true;
        }
        assert!(input.bytes().is_empty() && client.free_places() == 0);
        client.handle_end();
        let awaited = Failure::NotReady("its part of the TLS handshake");
        let failed = Event::Failed { id: None, failure: awaited };
        assert_eq!(client.poll_event(), (!is_refused).then_some(failed), "{cut}");
        assert_eq!(client.poll_event(), None);
        client.handle_close();
    }
}

#[test]
fn a_changed_byte_anywhere_ends_the_connection_and_not_the_program() {
    let identity = identity(|_| ());
    let make = clients(&plan(only(&identity)));
    let config = server(&identity);
    for at in 0..ANSWER.len() + 22 {
        let mut pair = Pair::new(make(), &config, 100_000);
        pair.shake_hands();
        pair.client.handle_request(7, Outgoing::Listed(0));
        pair.upload();
        pair.server.writer().write_all(ANSWER).unwrap();
        pair.server.write_tls(&mut pair.to_client).unwrap();
        pair.to_client[at] ^= 0x10;
        pair.download();
        assert_eq!(pair.dones(), 0, "byte {at}");
    }
}

#[test]
fn an_answer_that_ends_with_the_connection_needs_the_servers_word_for_it() {
    let identity = identity(|_| ());
    let make = clients(&plan(only(&identity)));
    let config = server(&identity);
    for says_so in [true, false] {
        let mut pair = Pair::new(make(), &config, 100_000);
        pair.shake_hands();
        pair.ask(1, UNTIL_END);
        if says_so {
            pair.server.send_close_notify();
            pair.download();
            assert_eq!(pair.events.last(), Some(&Event::End));
        }
        pair.client.handle_end();
        match pair.client.poll_event() {
            Some(Event::Done(answer)) => assert!(says_so && answer.id == 1),
            Some(Event::Failed { id: Some(1), failure: Failure::Truncated }) => assert!(!says_so),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_end_is_said_with_close_notify() {
    let identity = identity(|_| ());
    let mut pair = Pair::new(clients(&plan(only(&identity)))(), &server(&identity), 100_000);
    pair.shake_hands();
    pair.client.handle_close();
    pair.upload();
    // What follows a close_notify is the end and no error.
    assert_eq!(pair.server.reader().read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_session_is_taken_up_again_only_if_asked() {
    let identity = identity(|_| ());
    let config = server(&identity);
    for (max, resumption) in
        [(TlsVersion::V13, true), (TlsVersion::V13, false), (TlsVersion::V12, true)]
    {
        let make = clients(&TlsPlan { resumption, max, ..plan(only(&identity)) });
        let mut resumed = Vec::new();
        for _ in 0..2 {
            let mut pair = Pair::new(make(), &config, 9);
            pair.shake_hands();
            pair.ask(1, ANSWER);
            assert_eq!(pair.dones(), 1);
            resumed.push(pair.handshake().unwrap().resumed);
        }
        assert_eq!(resumed, [false, resumption], "{max:?}");
    }
}

#[test]
fn requests_leave_in_the_first_flight_only_if_asked_and_once_more_if_refused() {
    let identity = identity(|_| ());
    // What the server takes in the second connection, and what became of the early data.
    for (asked, allowed, taken) in [
        (true, &[4096, 4096][..], Some(true)),
        (true, &[4096, 0], Some(false)),
        // The ticket allows less than a request: the rest follows after the handshake.
        (true, &[10, 10], Some(true)),
        (true, &[0, 0], None),
        (false, &[4096, 4096], None),
    ] {
        for step in [1, 9, 100_000] {
            let mut config = Arc::unwrap_or_clone(server(&identity));
            // Early data needs a server that forgets a ticket when it was used.
            config.session_storage = rustls::server::ServerSessionMemoryCache::new(32);
            let plan = TlsPlan { resumption: true, early_data: asked, ..plan(only(&identity)) };
            let make = clients(&plan);
            config.max_early_data_size = allowed[0];
            let mut first = Pair::new(make(), &Arc::new(config.clone()), step);
            assert_eq!(first.client.free_places(), 0, "there is no ticket yet");
            first.shake_hands();
            first.ask(1, ANSWER);
            assert_eq!(first.dones(), 1);
            assert_eq!(first.handshake().unwrap().early_data, None);

            config.max_early_data_size = allowed[1];
            let mut second = Pair::new(make(), &Arc::new(config), step);
            let is_early = taken.is_some();
            assert_eq!(
                second.client.poll_event(),
                is_early.then_some(READY),
                "{asked} {allowed:?}"
            );
            if is_early {
                assert_eq!(second.client.free_places(), 1);
                second.client.handle_request(2, Outgoing::Listed(0));
                second.upload();
                assert_eq!(second.started, [2], "in the first flight");
            }
            second.shake_hands();
            assert!(!second.events.contains(&READY) || !is_early, "it was ready before");
            if is_early {
                second.answer(ANSWER);
            } else {
                second.ask(2, ANSWER);
            }
            assert_eq!(second.dones(), 1, "{allowed:?} {:?}", second.events);
            let text = String::from_utf8(second.request.clone()).unwrap();
            assert_eq!(text.matches("GET / HTTP/1.1").count(), 1, "{text}");
            assert_eq!(text.matches("\r\n\r\n").count(), 1, "{text}");
            let facts = second.handshake().unwrap();
            assert_eq!((facts.resumed, facts.early_data), (true, taken), "{asked} {allowed:?}");
        }
    }
}

/// A server that takes early data may answer and leave before our last flight has come.
#[test]
fn an_answer_and_the_end_may_come_with_the_servers_flight() {
    let identity = identity(|_| ());
    for (step, answer) in [(1, ANSWER), (100_000, ANSWER), (1, UNTIL_END), (100_000, UNTIL_END)] {
        let mut config = Arc::unwrap_or_clone(server(&identity));
        config.session_storage = rustls::server::ServerSessionMemoryCache::new(32);
        config.max_early_data_size = 4096;
        config.send_half_rtt_data = true;
        let config = Arc::new(config);
        let plan = TlsPlan { resumption: true, early_data: true, ..plan(only(&identity)) };
        let make = clients(&plan);
        let mut first = Pair::new(make(), &config, step);
        first.shake_hands();
        first.ask(1, ANSWER);
        let mut second = Pair::new(make(), &config, step);
        second.client.handle_request(2, Outgoing::Listed(0));
        second.upload();
        second.server.writer().write_all(answer).unwrap();
        second.server.send_close_notify();
        second.download();
        assert!(second.events.contains(&Event::End), "{:?}", second.events);
        second.client.handle_end();
        second.events.extend(std::iter::from_fn(|| second.client.poll_event()));
        assert_eq!(second.dones(), 1, "{step} {:?}", second.events);
    }
}

/// Why a handshake fails, in our words.
/// What a failed handshake says, and the cause that a change of the plan can remove.
fn failure(plan: &TlsPlan, identity: &Identity) -> (String, Option<Cause>) {
    let mut pair = Pair::new(clients(plan)(), &server(identity), 100_000);
    pair.shake_hands();
    assert_eq!(pair.client.free_places(), 0);
    match &pair.events[..] {
        [Event::Failed { id: None, failure: Failure::Malformed(error) }] => {
            (error.to_string(), error.cause())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_fault_of_a_certificate_has_its_own_words_and_cause() {
    let good = identity(|_| ());
    let other = identity(|_| ());
    let expired = identity(|params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let early = identity(|params| params.not_before = date_time_ymd(2150, 1, 1));
    let wrong_name = TlsPlan { server_name: "example.org".to_owned(), ..plan(only(&good)) };
    for (plan, identity, words, cause) in [
        (
            plan(only(&other)),
            &good,
            "is not signed by a trusted CA: it is self-signed",
            Cause::Issuer,
        ),
        (plan(only(&expired)), &expired, "expired", Cause::Expired),
        (plan(only(&early)), &early, "not valid yet", Cause::NotYetValid),
        (wrong_name, &good, "is not for example.org, but for example.com", Cause::CertificateName),
    ] {
        let (message, why) = failure(&plan, identity);
        assert!(message.contains(words), "{message}");
        assert_eq!(why, Some(cause), "{message}");
        let trusting = TlsPlan { trust: Trust::Anybody, ..plan };
        let mut pair = Pair::new(clients(&trusting)(), &server(identity), 100);
        pair.shake_hands();
        assert_eq!(pair.events.last(), Some(&READY), "{words}");
    }
}

#[test]
fn a_self_signed_certificate_of_an_authority_is_believed_if_it_is_named() {
    let own = identity(|params| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    let mut pair = Pair::new(clients(&plan(only(&own)))(), &server(&own), 100);
    pair.shake_hands();
    assert_eq!(pair.events.last(), Some(&READY), "{:?}", pair.events);
    let wrong_name = TlsPlan { server_name: "example.org".to_owned(), ..plan(only(&own)) };
    assert!(failure(&wrong_name, &own).0.contains("example.org"));
    let other = identity(|_| ());
    assert!(!failure(&plan(only(&other)), &own).0.is_empty());
}

#[test]
fn a_server_without_tls_is_told_from_one_with_another_protocol() {
    let identity = identity(|_| ());
    let make = clients(&plan(only(&identity)));
    for (bytes, words) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "there is no TLS on this port"),
        (b"220 mail ready\r\n", "there is no TLS on this port"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "not TLS"),
    ] {
        let mut client = make();
        let mut input = Input::Stream(bytes);
        match client.handle_input(0, &mut input) {
            Some(Event::Failed { failure: Failure::Malformed(error), .. }) => {
                assert!(error.to_string().contains(words), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_offered_is_refused_with_the_names_that_can() {
    let trust = || Trust::Anybody;
    let error = |plan: TlsPlan| Connector::new(&plan, || Ok(vec![])).unwrap_err().to_string();
    let unknown = error(TlsPlan { ciphers: vec!["RC4".to_owned()], ..plan(trust()) });
    assert!(
        unknown.contains("\"RC4\" is not the name of") && unknown.contains("TLS13_AES_128_GCM")
    );
    let unknown = error(TlsPlan { groups: vec!["x".to_owned()], ..plan(trust()) });
    assert!(unknown.contains("X25519"), "{unknown}");
    let nothing = error(TlsPlan {
        ciphers: vec!["TLS13_AES_128_GCM_SHA256".to_owned()],
        max: TlsVersion::V12,
        ..plan(trust())
    });
    assert!(nothing.contains("nothing is left to offer"), "{nothing}");
    let no_pem = Trust::Only(Pem { file: "x".to_owned(), text: (*b"hello").into() });
    assert!(error(plan(no_pem)).contains("x holds no certificate in PEM form"));
    let no_name = TlsPlan { server_name: "a b".to_owned(), ..plan(trust()) };
    assert!(error(no_name).contains("\"a b\" is not a name that TLS can ask a server for"));
}
