//! WebSockets over HTTP/3 (RFC 9220): extended CONNECT, DATA within the windows, times, and each fault by its name.

use std::sync::Arc;

use candor_plan::BodyExpect;
use candor_protocol::h3::frames::{Frames, Piece};
use candor_protocol::h3::qpack::Decoder;
use candor_protocol::h3::{self, Error as H3Error};
use candor_protocol::ws::{self, Asking, Kind, Message, QuicTunnel, Setup};
use candor_protocol::{Abilities, Event, Failure, GoAway, Session as _};
use candor_record::Blocked;
use candor_testkit::h3::Server;
use proptest::prelude::*;

use crate::support::*;

/// A control stream whose settings enable extended CONNECT.
pub(crate) const ENABLES: [u8; 5] = [0x00, 0x04, 2, 0x08, 1];
const READY: Event = Event::Ready(Abilities { multiplexes: true, takes_made: true });
pub(crate) const FIN: u8 = 0x80;
pub(crate) const TEXT: u8 = 1;
pub(crate) const CLOSE: u8 = 8;
/// Of which a server may have no more, frames of HTTP/3 and of WebSockets.
pub(crate) const IDLE_FRAMES: u32 = 50;
const LIMITS: ws::Limits = ws::Limits {
    header_block_bytes: 64 << 10,
    interim_answers: 100,
    message_bytes: 1 << 20,
    idle_frames: IDLE_FRAMES,
};

/// Both sides, up to when the server has the request that opens; messages of these lengths, this many at a time.
pub(crate) fn asked(
    lengths: &[usize],
    in_flight: u32,
    greeting: &[u8],
    window: Option<u32>,
) -> Pair<QuicTunnel> {
    let mut pair = begun(lengths, in_flight, greeting, window);
    pair.run_for(6 * LATENCY_NS);
    assert_eq!(pair.client.free_places(), 0);
    pair
}

/// Both sides, before anything was sent.
pub(crate) fn begun(
    lengths: &[usize],
    in_flight: u32,
    greeting: &[u8],
    window: Option<u32>,
) -> Pair<QuicTunnel> {
    let change = |transport: &mut quinn_proto::TransportConfig| {
        if let Some(window) = window {
            transport.stream_receive_window(window.into());
        }
    };
    let mut server = Server::new(&["example.com"], &["h3"], change, |_, _| None);
    server.greeting = greeting.to_vec();
    let message = |length: &usize| Message {
        payload: vec![b'm'; *length].into(),
        kind: Kind::Text,
        fragment_bytes: None,
        expect: BodyExpect::Any,
    };
    let own = ws::Settings { in_flight, limits: LIMITS, ..ws::Settings::default() };
    let table: Vec<_> = lengths.iter().map(message).collect();
    let setup = Arc::new(Setup::new(table, own));
    let request = candor_plan::Request {
        path: "/echo".to_owned(),
        ..plan_request("GET", &[("X-A", "b"), ("Connection", "close")], b"")
    };
    let asking = Asking::new(&request, "https", "example.com", setup.settings());
    let limits = h3::Limits { idle_frames: IDLE_FRAMES, ..h3::Limits::default() };
    let settings = h3::Settings { limits, ..h3::Settings::default() };
    let quic = (settings, crate::support::setup(only(&server), &settings));
    Pair::new(QuicTunnel::new(&asking, setup, quic, 7), server)
}

/// The same with a WebSocket that is open.
pub(crate) fn opened(lengths: &[usize], in_flight: u32, window: Option<u32>) -> Pair<QuicTunnel> {
    let mut pair = asked(lengths, in_flight, &ENABLES, window);
    pair.server.connection().write(0, &accepts());
    pair.run_for(2 * LATENCY_NS);
    assert!(pair.events.iter().any(|(_, event)| *event == READY), "{:?}", pair.events);
    pair.events.clear();
    pair.started.clear();
    pair
}

pub(crate) fn accepts() -> Vec<u8> {
    frame(HEADERS, &section(&[(":status", "200")]))
}

/// A frame of the server's, of less than 126 bytes.
pub(crate) fn says(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(DATA, &[&[first, payload.len() as u8], payload].concat())
}

pub(crate) type Fields = Vec<(String, String)>;
/// The first byte of each, and its payload without its mask.
pub(crate) type WebSocketFrames = Vec<(u8, Vec<u8>)>;

/// What the client has written on its stream: the fields, and the frames of the WebSocket.
pub(crate) fn written(pair: &mut Pair<QuicTunnel>) -> (Fields, WebSocketFrames) {
    let bytes = pair.server.connection().streams.get(&0).cloned().unwrap_or_default();
    let (mut frames, mut input) = (Frames::default(), &bytes[..]);
    let (mut fields, mut data) = (Vec::new(), Vec::new());
    while let Some(piece) = frames.next(&mut input, 1 << 20).unwrap() {
        match piece {
            Piece::Frame(HEADERS, section) => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let mut take = |name: &[u8], value: &[u8]| fields.push((text(name), text(value)));
                Decoder::new(0).decode(&section, &mut take).unwrap();
            }
            Piece::Data(bytes) => data.extend_from_slice(bytes),
            other => panic!("{other:?}"),
        }
    }
    let (mut all, mut rest) = (Vec::new(), &data[..]);
    while let [first, length, behind @ ..] = rest {
        assert!(length & 0x80 != 0, "a client masks");
        let (length, behind) = match length & 0x7f {
            126 => (usize::from(u16::from_be_bytes([behind[0], behind[1]])), &behind[2..]),
            127 => (u64::from_be_bytes(behind[..8].try_into().unwrap()) as usize, &behind[8..]),
            length => (usize::from(length), behind),
        };
        let (mask, behind) = behind.split_at(4);
        if behind.len() < length {
            break;
        }
        let plain = behind[..length].iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b);
        all.push((*first, plain.collect()));
        rest = &behind[length..];
    }
    (fields, all)
}

fn answered(id: u32, body_bytes: u64) -> Event {
    match done(id, 200, body_bytes) {
        Event::Done(answer) => Event::Done(candor_protocol::Answer { status: None, ..answer }),
        other => other,
    }
}

#[test]
fn it_is_opened_when_the_settings_allow_it_and_messages_have_their_times_9220() {
    let mut pair = asked(&[5], 2, &ENABLES, None);
    let (fields, _) = written(&mut pair);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let wanted = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "https"),
        (":path", "/echo"),
        (":authority", "example.com"),
        ("x-a", "b"),
        ("sec-websocket-version", "13"),
    ];
    assert_eq!(fields, wanted);
    let begin_ns = pair.now_ns;
    pair.events.clear();
    pair.server.connection().write(0, &accepts());
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.events, [(begin_ns + LATENCY_NS, READY)]);
    pair.events.clear();
    let sent_ns = pair.now_ns;
    pair.request([7]);
    pair.run_for(3 * MS);
    pair.request([8]);
    pair.run_for(LATENCY_NS);
    assert_eq!(pair.client.free_places(), 0);
    assert_eq!(pair.started, [(sent_ns, 7), (sent_ns + 3 * MS, 8)]);
    let (_, frames) = written(&mut pair);
    assert_eq!(frames, [(FIN | TEXT, b"mmmmm".to_vec()), (FIN | TEXT, b"mmmmm".to_vec())]);
    let said_ns = pair.now_ns;
    // Cut in the middle of the first one; the third answers nothing.
    let three = [says(FIN | TEXT, b"one"), says(FIN | TEXT, b"2"), says(FIN | TEXT, b"!")].concat();
    pair.server.connection().write(0, &three[..5]);
    pair.run_for(MS);
    pair.server.connection().write(0, &three[5..]);
    pair.run_for(2 * LATENCY_NS);
    let at = |ms: u64| said_ns + LATENCY_NS + ms * MS;
    let told: Vec<_> = pair.events.iter().map(|(at_ns, event)| (*at_ns, event.clone())).collect();
    assert_eq!(
        told[..3],
        [(at(0), Event::FirstByte(7)), (at(1), answered(7, 3)), (at(1), answered(8, 1))]
    );
    assert!(matches!(&told[3..], [(_, Event::Part(part))] if part.id.is_none() && part.bytes == 1));
}

#[test]
fn a_server_that_opens_none_is_named() {
    let failed = |pair: &mut Pair<QuicTunnel>| {
        let events = pair.take_events();
        let failure = events.iter().find_map(|event| match event {
            Event::Failed { id: None, failure } => Some(failure.clone()),
            _ => None,
        });
        failure.unwrap_or_else(|| panic!("{events:?}"))
    };
    let malformed = |error: ws::Error| Failure::Malformed(error.into());
    let mut pair = asked(&[5], 1, &candor_testkit::h3::SETTINGS, None);
    assert_eq!(failed(&mut pair), malformed(ws::Error::NoConnectProtocol));

    let heads: [(&[(&str, &str)], ws::Error); 3] = [
        (&[(":status", "404"), ("content-length", "100")], ws::Error::Status(404)),
        (&[(":status", "200"), ("sec-websocket-protocol", "v9")], ws::Error::Subprotocol),
        (
            &[(":status", "200"), ("sec-websocket-extensions", "x")],
            ws::Error::Extensions(ws::Unnegotiated::Extension),
        ),
    ];
    for (head, error) in heads {
        let mut pair = asked(&[5], 1, &ENABLES, None);
        pair.server.connection().write(0, &frame(HEADERS, &section(head)));
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(failed(&mut pair), malformed(error), "{head:?}");
    }
    // A refusal with a body, of which more is to come, and whole.
    for is_whole in [false, true] {
        let mut pair = asked(&[5], 1, &ENABLES, None);
        let head = section(&[(":status", "400")]);
        let served = pair.server.connection();
        served.write(0, &[frame(HEADERS, &head), frame(DATA, b"no such path")].concat());
        if is_whole {
            served.finish(0);
        }
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(failed(&mut pair), malformed(ws::Error::Status(400)), "{is_whole}");
    }
    // A body that is no WebSocket.
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.server.connection().write(0, &ok(b"no socket"));
    pair.server.connection().finish(0);
    pair.run_for(2 * LATENCY_NS);
    assert!(
        matches!(failed(&mut pair), Failure::Malformed(why) if why.get::<ws::Error>().is_some())
    );
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.server.connection().reset(0, 0x10c);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(failed(&mut pair), Failure::StreamReset(0x10c));
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.server.connection().stop(0, 0x10c);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(failed(&mut pair), Failure::StreamReset(0x10c));
    // DATA before the response is an error of the connection.
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.server.connection().write(0, &says(FIN | TEXT, b"early"));
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(failed(&mut pair), Failure::Malformed(H3Error::FrameUnexpected.into()));
}

#[test]
fn each_end_has_its_outcome() {
    // By the server's close frame.
    let mut pair = opened(&[5], 1, None);
    pair.request([3]);
    pair.run_for(LATENCY_NS);
    pair.server.connection().write(0, &says(FIN | CLOSE, &[0x03, 0xe9]));
    pair.server.connection().finish(0);
    pair.run_for(LATENCY_NS);
    let events = pair.take_events();
    let [Event::CloseFrame(told), Event::RequestFailed { id: 3, .. }, Event::Over, rest @ ..] =
        &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((told.code, rest.iter().all(|event| *event == Event::End)), (1001, true));
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(written(&mut pair).1.last(), Some(&(FIN | CLOSE, vec![0x03, 0xe9])));

    // By the end of the stream, or of the connection, without one.
    for ends_connection in [false, true] {
        let mut pair = opened(&[5], 1, None);
        pair.request([3]);
        pair.run_for(LATENCY_NS);
        let now = std::time::Instant::now();
        match ends_connection {
            true => pair.server.connection().quic.close(now, 0x100_u32.into(), bytes::Bytes::new()),
            false => pair.server.connection().finish(0),
        }
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(pair.take_events(), [Event::End]);
        let failure = Failure::Closed;
        let wanted = [Event::CloseFrame(1006.into()), Event::Failed { id: Some(3), failure }];
        assert_eq!(pair.end(), wanted);
    }
    // A reset of the stream fails what waits.
    let mut pair = opened(&[5], 1, None);
    pair.request([3]);
    pair.run_for(LATENCY_NS);
    pair.server.connection().reset(0, 0x102);
    pair.run_for(2 * LATENCY_NS);
    let outcome = failed(3, Failure::StreamReset(0x102));
    assert_eq!(pair.take_events(), [outcome, Event::Over]);
    // A GOAWAY that allows the stream ends nothing.
    let mut pair = opened(&[5], 1, None);
    let control = 3;
    pair.server.connection().write(control, &[0x07, 1, 4]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [Event::GoAway(GoAway { code: 0, last_stream: 0 })]);
    assert_eq!(pair.client.free_places(), 1);
}

#[test]
fn our_close_frame_leaves_before_the_connection_is_closed() {
    let mut pair = opened(&[5], 1, None);
    pair.client.handle_close();
    let events = {
        pair.run_for(2 * LATENCY_NS);
        pair.take_events()
    };
    assert!(matches!(events[..], [Event::HeaderBytes(_), Event::Path(_)]), "{events:?}");
    assert_eq!(written(&mut pair).1, [(FIN | CLOSE, vec![0x03, 0xe8])]);
    assert!(pair.server.connection().lost.is_some());
}

/// A message that the server's window stops is not sent before it has room, and the wait has its cause.
#[test]
fn messages_wait_for_the_window_of_the_server() {
    let mut pair = opened(&[30_000, 5], 3, Some(20_000));
    pair.request([0]);
    pair.run_for(MS);
    let late_ns = pair.now_ns;
    pair.client.handle_request(1, candor_protocol::Outgoing::Listed(1));
    pair.run_for(20 * LATENCY_NS);
    let [(_, 0), (sent_ns, 1)] = pair.started[..] else { panic!("{:?}", pair.started) };
    assert!(sent_ns >= late_ns + LATENCY_NS, "{sent_ns} {late_ns}");
    let by = Blocked { flow_control_ns: sent_ns - late_ns, congestion_ns: 0 };
    assert_eq!(pair.take_events(), [Event::Blocked { id: 1, by }]);
    let (_, frames) = written(&mut pair);
    assert_eq!(frames.iter().map(|one| one.1.len()).collect::<Vec<_>>(), [30_000, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// However the server's bytes are cut into datagrams, and whatever is lost, messages are the same.
    #[test]
    fn pieces_make_no_difference(cut in 1..30usize, every in 3..20u64) {
        let mut bytes = accepts();
        for n in 0..12u8 {
            bytes.extend(says(FIN | TEXT, &vec![b'a' + n; usize::from(n) * 9]));
        }
        let mut pair = asked(&[5], 1, &ENABLES, None);
        // Scattered, not every n-th: a cycle of n datagrams would lose the same one for ever.
        pair.loses = Box::new(move |n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % every == 1);
        for piece in bytes.chunks(cut) {
            pair.server.connection().write(0, piece);
            pair.run_for(MS);
        }
        pair.run_for(5_000 * MS);
        let (mut count, mut sum) = (0, 0);
        for event in pair.take_events() {
            match event {
                Event::Part(part) => (count, sum) = (count + part.count, sum + part.bytes),
                Event::Secured(_) | Event::Changed => {}
                other => prop_assert_eq!(other, READY),
            }
        }
        prop_assert_eq!((count, sum), (12, 9 * 66));
    }

    /// Whatever comes through an open tunnel, or instead of one, there is an end, and no more memory than came.
    #[test]
    fn any_bytes_have_an_outcome(bytes in prop::collection::vec(any::<u8>(), 0..200), is_open: bool) {
        let mut pair = match is_open {
            true => opened(&[5], 1, None),
            false => asked(&[5], 1, &ENABLES, None),
        };
        if is_open {
            pair.request([1]);
            pair.run_for(LATENCY_NS);
        }
        let payload = if is_open { frame(DATA, &bytes) } else { bytes };
        pair.server.connection().write(0, &payload);
        pair.server.connection().finish(0);
        pair.run_for(10 * LATENCY_NS);
        let mut events = pair.take_events();
        let ends = |event: &Event| matches!(event, Event::End | Event::Over | Event::Failed { .. });
        prop_assert!(events.iter().any(ends), "{:?}", events);
        events.extend(pair.end());
        let outcomes = events.iter().filter(|event| match event {
            Event::Done(answer) => answer.id == 1,
            Event::RequestFailed { id, .. } => *id == 1,
            Event::Failed { .. } => true,
            _ => false,
        });
        prop_assert!(outcomes.count() >= usize::from(is_open), "{:?}", events);
    }
}
