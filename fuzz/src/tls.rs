//! TLS: bytes before the handshake is over, and any records after it.

use std::cell::OnceCell;
use std::io::{IoSlice, Read};
use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{Tls as TlsPlan, TlsVersion, Trust};
use candor_protocol::tls::{Connector, Tls};
use candor_protocol::{Event, Input, Outgoing, Session, h1};
use candor_testkit::peer::{Sealer, server_config};
use rustls::version::{TLS12, TLS13};
use rustls::{ContentType, ServerConfig, ServerConnection};

use crate::h1::request;
use crate::pieces::cuts;

/// Kinds of records (RFC 8446 5.1).
const KINDS: [ContentType; 5] = [
    ContentType::ApplicationData,
    ContentType::Handshake,
    ContentType::Alert,
    ContentType::ChangeCipherSpec,
    ContentType::Heartbeat,
];

type Make = Box<dyn Fn() -> Tls>;

thread_local! {
    static MAKE: OnceCell<Make> = const { OnceCell::new() };
    static SERVERS: OnceCell<[Arc<ServerConfig>; 2]> = const { OnceCell::new() };
}

fn client() -> Tls {
    MAKE.with(|make| make.get_or_init(sessions)())
}

fn sessions() -> Make {
    let plan = TlsPlan {
        trust: Trust::Anybody,
        server_name: "example.com".to_owned(),
        identity: None,
        alpn: vec!["http/1.1".to_owned()],
        min: TlsVersion::V12,
        max: TlsVersion::V13,
        ciphers: vec![],
        groups: vec![],
        resumption: true,
        early_data: false,
    };
    let table: Arc<[h1::Prepared]> = [h1::prepare(&request("GET", b""), "example.com")].into();
    let connector = Connector::new(&plan, || Ok(Vec::new())).expect("a plan without files");
    let make = move |_: &str| -> Box<dyn Session> {
        Box::new(h1::Session::new(Arc::clone(&table), 1, h1::Limits::default()))
    };
    Box::new(connector.sessions(Rc::new(make)))
}

/// The client's output.
fn written(client: &mut Tls) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = client.poll_transmit(0, &mut slices).slices as usize;
        if used == 0 {
            return bytes;
        }
        let before = bytes.len();
        slices[..used].iter().for_each(|slice| bytes.extend_from_slice(slice));
        client.handle_transmitted(0, bytes.len() - before, &mut |_| {});
    }
}

fn feed(client: &mut Tls, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = client.handle_input(0, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty(), "a session without events has consumed its input");
    events
}

/// Any bytes in place of the server's part of the handshake.
pub(crate) fn handshake(bytes: &[u8]) {
    let [whole, single, some] = cuts(bytes).map(|pieces| {
        let mut client = client();
        written(&mut client);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(feed(&mut client, piece));
            written(&mut client);
        }
        client.handle_end();
        events.extend(std::iter::from_fn(|| client.poll_event()));
        // The words may say how much was there; that it failed must not depend on it.
        events.iter().map(std::mem::discriminant).collect::<Vec<_>>()
    });
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
}

/// The first byte chooses the version; then records: kind and length in a byte each, and the bytes
/// to encrypt.
pub(crate) fn records(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let [whole, single] = [usize::MAX, 1].map(|piece| talk(usize::from(choice % 2), bytes, piece));
    assert_eq!(whole, single, "whole and byte by byte");
}

fn talk(version: usize, mut bytes: &[u8], piece: usize) -> Vec<Event> {
    let config = SERVERS.with(|servers| {
        let make =
            || [&TLS13, &TLS12].map(|one| server_config(&[one], &["http/1.1"], |_| ()).into());
        Arc::clone(&servers.get_or_init(make)[version])
    });
    let mut client = client();
    let mut server = ServerConnection::new(config).expect("a server");
    for _ in 0..4 {
        let said = written(&mut client);
        server.read_tls(&mut &said[..]).expect("reading from memory");
        server.process_new_packets().expect("what our client said");
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).expect("writing to memory");
        }
        feed(&mut client, &answer);
    }
    assert_eq!(client.free_places(), 1, "a handshake with a right server");
    client.handle_request(0, Outgoing::Listed(0));
    let said = written(&mut client);
    server.read_tls(&mut &said[..]).expect("reading from memory");
    server.process_new_packets().expect("what our client said");
    let _ = server.reader().read(&mut [0; 4096]);
    let mut keys = Sealer::new(server).expect("keys of an established connection");
    let mut input = Vec::new();
    while let [kind, length, rest @ ..] = bytes {
        let (payload, after) = rest.split_at(rest.len().min(usize::from(*length)));
        input.extend(keys.seal(KINDS[usize::from(*kind) % KINDS.len()], payload));
        bytes = after;
    }
    let mut events = Vec::new();
    for part in input.chunks(piece.min(input.len().max(1))) {
        events.extend(feed(&mut client, part));
        written(&mut client);
    }
    client.handle_end();
    events.extend(std::iter::from_fn(|| client.poll_event()));
    events
}
