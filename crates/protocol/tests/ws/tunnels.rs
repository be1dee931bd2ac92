//! WebSockets over HTTP/2 (RFC 8441): extended CONNECT, DATA within the windows, and each fault by its name.

use std::io::IoSlice;
use std::sync::Arc;

use candor_protocol::h2;
use candor_protocol::h2::hpack::Decoder;
use candor_protocol::ws::{
    Deflate, Error, Extended, Message, Settings, Setup, Tunnel, Unnegotiated,
};
use candor_protocol::{Event, Failure, GoAway, Input, Malformed, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{
    CLOSE, FIN, PING, PONG, READY, TEXT, close, done, frames, messages, parts, payloads, request,
    text,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const H2_PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// SETTINGS_ENABLE_CONNECT_PROTOCOL = 1.
const ENABLES: [u8; 6] = [0, 8, 0, 0, 0, 1];
/// `:status: 200`.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn headers(block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, block)
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![0, name.len() as u8];
    block.extend(name.bytes());
    block.push(value.len() as u8);
    block.extend(value.bytes());
    block
}

/// What was written: kind, flags, stream, payload.
type Written = Vec<(u8, u8, u32, Vec<u8>)>;

fn written(mut bytes: &[u8]) -> Written {
    let mut all = Vec::new();
    if let Some(rest) = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
        bytes = rest;
    }
    while let [a, b, c, kind, flags, s0, s1, s2, s3, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at(u32::from_be_bytes([0, *a, *b, *c]) as usize);
        all.push((*kind, *flags, u32::from_be_bytes([*s0, *s1, *s2, *s3]), payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a frame is cut off");
    all
}

fn data_of(written: &Written) -> Vec<u8> {
    let is_data = |one: &&(u8, u8, u32, Vec<u8>)| one.0 == DATA;
    written.iter().filter(is_data).flat_map(|one| one.3.clone()).collect()
}

fn transmit(session: &mut Tunnel, most: usize) -> (Vec<u8>, Vec<u32>, bool) {
    let (mut bytes, mut started, mut news) = (Vec::new(), Vec::new(), false);
    loop {
        let mut slices = [IoSlice::new(&[]); 2];
        if session.poll_transmit(0, &mut slices).slices == 0 || bytes.len() >= most {
            return (bytes, started, news);
        }
        let part = slices[0][..slices[0].len().min(most - bytes.len())].to_vec();
        news |= session.handle_transmitted(0, part.len(), &mut |id| started.push(id));
        bytes.extend(part);
    }
}

fn send(session: &mut Tunnel) -> Written {
    written(&transmit(session, usize::MAX).0)
}

fn feed(session: &mut Tunnel, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = session.handle_input(0, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty(), "a session without events must have consumed its input");
    events
}

fn end(session: &mut Tunnel) -> Vec<Event> {
    session.handle_end();
    std::iter::from_fn(|| session.poll_event()).collect()
}

fn fresh(table: &[Message], settings: Settings) -> Tunnel {
    let extended = Extended::new(&request(), "http", "example", &settings);
    let setup = Arc::new(Setup::new(table, settings));
    Tunnel::new(extended.into(), setup, h2::Settings::default(), 7)
}

/// One whose opening was sent.
fn asked(table: &[Message], settings: Settings) -> Tunnel {
    let mut session = fresh(table, settings);
    assert_eq!(feed(&mut session, &frame(SETTINGS, 0, 0, &ENABLES)), [Event::Changed]);
    send(&mut session);
    session
}

fn open(table: &[Message], in_flight: u32) -> Tunnel {
    let mut session = asked(table, Settings { in_flight, ..Settings::default() });
    assert_eq!(feed(&mut session, &headers(OK)), [READY]);
    session
}

fn broken(error: impl Into<Malformed>) -> Event {
    Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
}

fn ws(payload: &str) -> Vec<u8> {
    crate::support::frame(FIN | TEXT, payload.as_bytes())
}

#[test]
fn extended_connect_waits_for_the_setting_8441_3() {
    let settings = Settings { subprotocols: vec!["chat".to_owned()], ..Settings::default() };
    let mut session = fresh(&[], settings);
    let greeting = send(&mut session);
    assert!(greeting.iter().all(|one| one.0 != HEADERS));
    assert_eq!(feed(&mut session, &frame(SETTINGS, 0, 0, &ENABLES)), [Event::Changed]);
    let asked = send(&mut session);
    assert_eq!((asked[0].0, asked[0].1), (SETTINGS, ACK));
    assert_eq!(
        (asked[1].0, asked[1].1, asked[1].2),
        (HEADERS, END_HEADERS, 1),
        "the stream stays open"
    );
    let mut fields = Vec::new();
    let field = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let add = |name: &[u8], value: &[u8]| fields.push((field(name), field(value)));
    Decoder::default().decode(&asked[1].3, add).unwrap();
    let wanted = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "http"),
        (":path", "/echo"),
        (":authority", "example"),
        ("x-a", "b"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-protocol", "chat"),
    ];
    assert_eq!(fields, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for payload in [&[][..], &[0, 8, 0, 0, 0, 0]] {
        let mut session = fresh(&[], Settings::default());
        let said = feed(&mut session, &frame(SETTINGS, 0, 0, payload));
        assert_eq!(said, [broken(Error::NoConnectProtocol)]);
    }
}

#[test]
fn messages_travel_in_data_whatever_the_pieces() {
    let echo = [ws("Hello"), crate::support::frame(FIN | PING, b"p"), ws("more")].concat();
    // Cut anywhere into DATA, some of it padded.
    let (one, two) = echo.split_at(4);
    let padded = [&[3][..], two, &[0; 3]].concat();
    let input =
        [frame(DATA, 0, 1, one), frame(H2_PING, 0, 0, &[0; 8]), frame(DATA, PADDED, 1, &padded)]
            .concat();
    for piece in [1, 5, input.len()] {
        let mut session = open(&[text("Hello")], 2);
        session.handle_request(4, Outgoing::Listed(0));
        let (bytes, started, _) = transmit(&mut session, usize::MAX);
        assert_eq!(started, [4]);
        assert_eq!(messages(&frames(&data_of(&written(&bytes)))), [(TEXT, b"Hello".to_vec())]);
        let mut said: Vec<Event> =
            input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        said.retain(|event| !matches!(event, Event::FirstByte(_)));
        assert_eq!(said, [done(4, 5), parts(1, 4)]);
        assert_eq!(payloads(&frames(&data_of(&send(&mut session))), PONG), [b"p"]);
    }
}

#[test]
fn a_request_begins_with_its_first_byte_behind_the_frames_header() {
    let mut session = open(&[text("Hello")], 1);
    session.handle_request(0, Outgoing::Listed(0));
    assert_eq!(transmit(&mut session, 9).1, Vec::<u32>::new());
    assert_eq!(transmit(&mut session, 1).1, [0]);
}

#[test]
fn what_leaves_stays_within_the_windows() {
    let payload = "x".repeat(100_000);
    let mut session = open(&[text(&payload)], 1);
    session.handle_request(0, Outgoing::Listed(0));
    let mut sent = data_of(&send(&mut session));
    assert_eq!(sent.len(), 65_535, "the default window");
    assert_eq!(feed(&mut session, &frame(WINDOW_UPDATE, 0, 1, &60_000u32.to_be_bytes())), []);
    assert_eq!(data_of(&send(&mut session)), b"", "the connection's window is closed");
    feed(&mut session, &frame(WINDOW_UPDATE, 0, 0, &10_000u32.to_be_bytes()));
    let more = data_of(&send(&mut session));
    assert_eq!(more.len(), 10_000);
    sent.extend(more);
    feed(&mut session, &frame(WINDOW_UPDATE, 0, 0, &60_000u32.to_be_bytes()));
    let more = send(&mut session);
    assert!(more.iter().all(|one| one.3.len() <= 16_384));
    sent.extend(data_of(&more));
    assert_eq!(messages(&frames(&sent)), [(TEXT, payload.into_bytes())]);
}

#[test]
fn the_server_closes_the_websocket_and_its_stream() {
    let mut session = open(&[text("a")], 2);
    session.handle_request(0, Outgoing::Listed(0));
    send(&mut session);
    let said = feed(&mut session, &frame(DATA, END_STREAM, 1, &close(1001, b"")));
    assert_eq!(said[..2], [Event::CloseFrame(1001.into()), crate::support::closed_with(0, 1001)]);
    assert_eq!(said[2], Event::Over);
    session.handle_close();
    let last = send(&mut session);
    assert_eq!(payloads(&frames(&data_of(&last)), CLOSE), [1001u16.to_be_bytes()]);
    assert_eq!(last.last().unwrap().0, GOAWAY);
}

#[test]
fn the_end_of_the_stream_is_the_connections() {
    let mut session = open(&[text("a")], 1);
    session.handle_request(0, Outgoing::Listed(0));
    send(&mut session);
    assert_eq!(feed(&mut session, &frame(DATA, END_STREAM, 1, b"")), [Event::End]);
    let failed = Event::Failed { id: Some(0), failure: Failure::Closed };
    assert_eq!(end(&mut session), [Event::CloseFrame(1006.into()), failed]);
    let mut session = asked(&[], Settings::default());
    let failure = Failure::NotReady("the response that opens a WebSocket");
    assert_eq!(end(&mut session), [Event::Failed { id: None, failure }]);
}

/// What the server gives up of an open one has the outcome of that, and the connection is over.
#[test]
fn an_open_tunnel_that_is_given_up_fails_its_messages() {
    let goaway = GoAway { code: 2, last_stream: 0 };
    for (input, failure) in [
        (frame(RST_STREAM, 0, 1, &8u32.to_be_bytes()), Failure::StreamReset(8)),
        (frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]), Failure::GoneAway(goaway)),
    ] {
        let mut session = open(&[text("a")], 2);
        (0..2).for_each(|id| session.handle_request(id, Outgoing::Listed(0)));
        send(&mut session);
        let begun = frame(DATA, 0, 1, &ws("reply")[..3]);
        assert_eq!(feed(&mut session, &begun), [Event::FirstByte(0)]);
        let failed = [0, 1].map(|id| Event::RequestFailed { id, failure: failure.clone() });
        assert_eq!(feed(&mut session, &input), [&failed[..], &[Event::Over]].concat());
        session.handle_close();
        assert_eq!(send(&mut session).last().unwrap().0, GOAWAY);
    }
}

#[test]
fn each_fault_of_the_opening_has_its_name() {
    let with = |name: &str, value: &str| headers(&[OK, &literal(name, value)].concat());
    let deflated = "permessage-deflate; mystery";
    for (input, event) in [
        (headers(&[0x8d]), broken(Error::Status(404))),
        (with("sec-websocket-protocol", "chat"), broken(Error::Subprotocol)),
        (
            with("sec-websocket-extensions", deflated),
            broken(Error::Extensions(Unnegotiated::Parameter)),
        ),
        (with("Upper", "x"), broken(h2::Error::FieldName)),
        (headers(&literal("x", "y")), broken(h2::Error::Status)),
        (frame(DATA, 0, 1, b"x"), broken(h2::Error::DataBeforeHeaders)),
        (frame(DATA, 0, 3, b"x"), broken(h2::Error::FrameStream)),
        (frame(HEADERS, END_HEADERS, 2, OK), broken(h2::Error::FrameStream)),
        (frame(5, END_HEADERS, 1, &[0, 0, 0, 2]), broken(h2::Error::Push)),
        (frame(CONTINUATION, END_HEADERS, 1, OK), broken(h2::Error::Continuation)),
        (frame(WINDOW_UPDATE, 0, 1, &[0; 4]), broken(h2::Error::StreamWindowUpdateZero)),
        (frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), broken(h2::Error::WindowOverflow)),
        (frame(H2_PING, 0, 0, &[0; 7]), broken(h2::Error::FrameSize)),
        (
            headers(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            broken(h2::Error::Hpack(h2::hpack::Error::Integer)),
        ),
        (
            frame(RST_STREAM, 0, 1, &7u32.to_be_bytes()),
            Event::Failed { id: None, failure: Failure::StreamReset(7) },
        ),
        (
            frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]),
            Event::Failed {
                id: None,
                failure: Failure::GoneAway(GoAway { code: 2, last_stream: 0 }),
            },
        ),
    ] {
        for piece in [1, input.len()] {
            let deflate = Some(Deflate::default());
            let mut session = asked(&[], Settings { deflate, ..Settings::default() });
            let said: Vec<Event> =
                input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            assert_eq!(said, std::slice::from_ref(&event), "{input:x?}");
            assert_eq!(send(&mut session).last().unwrap().0, GOAWAY);
            assert_eq!((session.free_places(), end(&mut session)), (0, vec![]));
        }
    }
    let mut session = fresh(&[], Settings::default());
    assert_eq!(
        feed(&mut session, b"HTTP/1.1 400 Bad Request"),
        [broken(h2::Error::AnswersInHttp1)]
    );
}

#[test]
fn header_blocks_may_be_cut_and_interim_responses_come_first() {
    let mut session = asked(&[], Settings::default());
    let early = literal(":status", "103");
    let input = [
        headers(&early),
        frame(HEADERS, 0, 1, OK),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 1, &literal("x", "y")),
        frame(DATA, 0, 1, &ws("hi")),
    ];
    assert_eq!(feed(&mut session, &input.concat()), [READY, parts(1, 2)]);
}

#[test]
fn windows_of_ours_are_opened_and_enforced() {
    let settings = h2::Settings {
        stream_window_bits: 16,
        connection_window_bits: 16,
        ..h2::Settings::default()
    };
    let extended = Extended::new(&request(), "http", "example", &Settings::default());
    let setup = Arc::new(Setup::new([], Settings::default()));
    let mut session = Tunnel::new(extended.into(), setup, settings, 7);
    feed(
        &mut session,
        &[frame(SETTINGS, 0, 0, &ENABLES), frame(SETTINGS, ACK, 0, b""), headers(OK)].concat(),
    );
    send(&mut session);
    // One long binary message in many frames.
    let message = crate::support::frame(FIN | crate::support::BINARY, &vec![0; 400_000]);
    let mut updates = 0;
    for part in message.chunks(16_000) {
        feed(&mut session, &frame(DATA, 0, 1, part));
        updates += send(&mut session).iter().filter(|one| one.0 == WINDOW_UPDATE).count();
    }
    // Each window after 48,000 bytes.
    assert_eq!(updates, 16);
}

#[test]
fn more_than_the_window_is_refused() {
    let settings = h2::Settings { stream_window_bits: 4, ..h2::Settings::default() };
    let extended = Extended::new(&request(), "http", "example", &Settings::default());
    let setup = Arc::new(Setup::new([], Settings::default()));
    let mut session = Tunnel::new(extended.into(), setup, settings, 7);
    let opening = [frame(SETTINGS, 0, 0, &ENABLES), frame(SETTINGS, ACK, 0, b""), headers(OK)];
    feed(&mut session, &opening.concat());
    assert_eq!(feed(&mut session, &frame(DATA, 0, 1, &ws("x"))), [parts(1, 1)]);
    let said = feed(&mut session, &frame(DATA, 0, 1, &ws("longer than the window")));
    assert_eq!(said, [broken(h2::Error::StreamWindowExceeded)]);
}

#[test]
fn floods_end_the_connection() {
    for piece in [
        frame(H2_PING, 0, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, b""),
        frame(DATA, 0, 1, b""),
        frame(0x42, 0, 0, b""),
    ] {
        let mut session = open(&[], 1);
        let times = (0..20_000).find(|_| feed(&mut session, &piece) == [broken(h2::Error::Flood)]);
        assert!(times.is_some_and(|times| times <= 10_000), "{piece:x?}");
    }
}

fn step() -> impl Strategy<Value = Vec<u8>> {
    let payload = || vec(any::<u8>(), 0..40);
    prop_oneof![
        5 => "[a-z]{0,20}".prop_map(|text| frame(DATA, 0, 1, &ws(&text))),
        2 => payload().prop_map(|payload| frame(DATA, 0, 1, &payload)),
        1 => payload().prop_map(|payload| frame(DATA, PADDED, 1, &payload)),
        1 => Just(frame(DATA, END_STREAM, 1, &close(1000, b""))),
        1 => Just(headers(OK)),
        2 => (0u8..11, any::<u8>(), 0u32..3, payload()).prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
        1 => payload(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn cuts_mean_nothing_over_http2(steps in vec(step(), 0..15), piece in 2usize..30, is_open: bool) {
        let run = |piece: usize| {
            let table = [text("abc")];
            let mut session = if is_open { open(&table, 2) } else { asked(&table, Settings::default()) };
            if is_open {
                (0..2).for_each(|id| session.handle_request(id, Outgoing::Listed(0)));
            }
            send(&mut session);
            let input = steps.concat();
            let mut said = Vec::new();
            for part in input.chunks(piece.min(input.len().max(1))) {
                said.extend(feed(&mut session, part));
            }
            said.extend(end(&mut session));
            let told = crate::sessions::count_parts(&said);
            said.retain(|event| !matches!(event, Event::FirstByte(_) | Event::Part(_)));
            (said, told, send(&mut session))
        };
        let whole = run(usize::MAX);
        prop_assert_eq!(&run(1), &whole);
        prop_assert_eq!(&run(piece), &whole);
    }
}
