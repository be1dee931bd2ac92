//! Servers that break rules of WebSockets over HTTP/3, or of the stream beneath: each has its outcome, and is told why.

use candor_protocol::h3::Error as H3Error;
use candor_protocol::h3::qpack::Error as Qpack;
use candor_protocol::ws::{self, QuicTunnel};
use candor_protocol::{Event, Failure, Session as _, h2};
use candor_record::ErrorKind;

use crate::ends::close;
use crate::support::*;
use crate::websocket::*;

const PING: u8 = 9;
const BINARY: u8 = 2;
/// The request that waits in the open ones.
const ID: u32 = 3;

/// An open WebSocket, with a message on its way.
fn waiting() -> Pair<QuicTunnel> {
    let mut pair = opened(&[5], 1, None);
    pair.request([ID]);
    pair.run_for(2 * LATENCY_NS);
    pair.events.clear();
    pair
}

/// What became of it: the end of the connection is the engine's, as the session asks for it.
fn outcome(pair: &mut Pair<QuicTunnel>) -> (Vec<Event>, Option<Failure>) {
    let mut events = pair.take_events();
    if events.contains(&Event::End) {
        events.extend(pair.end());
    }
    let failures: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Failed { failure, .. } => Some(failure.clone()),
            Event::RequestFailed { id: ID, failure } => Some(failure.clone()),
            _ => None,
        })
        .collect();
    assert!(failures.len() <= 1, "{events:?}");
    (events, failures.into_iter().next())
}

/// The server's frames, in one DATA frame.
fn frames(all: &[&[u8]]) -> Vec<u8> {
    frame(DATA, &all.concat())
}

#[test]
fn a_wrong_frame_of_a_websocket_has_its_name_and_its_close_code_6455_7_4() {
    use ws::Error as E;
    let code = |code: u16| [&[FIN | CLOSE, 2][..], &code.to_be_bytes()].concat();
    let idle = IDLE_FRAMES as usize + 1;
    let large = [&[FIN | BINARY, 127, 0, 0, 0, 0, 0, 0x20, 0, 0][..], &[0; 2 << 20]].concat();
    let mut table: Vec<(E, u16, Vec<u8>)> = vec![
        (E::Masked, 1002, vec![FIN | TEXT, 0x81, 1, 2, 3, 4, b'x']),
        (E::ControlFragmented, 1002, vec![PING, 0]),
        (E::ControlLength, 1002, vec![FIN | PING, 126, 0, 126]),
        (E::ReservedBits, 1002, vec![FIN | 0x40 | TEXT, 0]),
        (E::Opcode(3), 1002, vec![FIN | 3, 0]),
        (E::Opcode(11), 1002, vec![FIN | 11, 0]),
        (E::LongLength, 1002, vec![FIN | TEXT, 126, 0, 1, b'x']),
        (E::Length, 1002, vec![FIN | TEXT, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (E::Continuation, 1002, vec![FIN, 0]),
        (E::Interleaved, 1002, vec![TEXT, 0, FIN | TEXT, 0]),
        (E::Utf8, 1007, vec![FIN | TEXT, 1, 0xff]),
        (E::CloseLength, 1002, vec![FIN | CLOSE, 1, 3]),
        (E::CloseReason, 1007, vec![FIN | CLOSE, 3, 3, 0xe8, 0xff]),
        (E::MessageTooLarge, 1009, large),
        (E::Flood, 1008, [FIN | PING, 0].repeat(idle)),
        (E::Flood, 1008, [&[TEXT, 0][..], &[0, 0].repeat(idle)].concat()),
    ];
    for wrong in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, u16::MAX] {
        table.push((E::CloseCode(wrong), 1002, code(wrong)));
    }
    for (error, told, bytes) in table {
        let what = format!("{error:?} {:02x?}", &bytes[..bytes.len().min(8)]);
        let mut pair = waiting();
        pair.server.connection().write(0, &frames(&[&bytes]));
        pair.run_for(30 * LATENCY_NS);
        let (events, failure) = outcome(&mut pair);
        assert_eq!(failure, Some(Failure::Malformed(error.into())), "{what}: {events:?}");
        assert_eq!(pair.client.free_places(), 0);
        // As the engine does then.
        pair.client.handle_close();
        pair.run_for(2 * LATENCY_NS);
        let (_, all) = written(&mut pair);
        assert_eq!(all.last(), Some(&(FIN | CLOSE, told.to_be_bytes().to_vec())), "{what}");
        assert_eq!(pair.told(), Some(0x100), "{what}");
    }
}

#[test]
fn a_wrong_frame_of_http_3_on_an_open_tunnel_fails_its_connection_9114_4_4() {
    let unexpected = || (H3Error::FrameUnexpected, 0x105);
    let trailers = frame(HEADERS, &section(&[("x", "y")]));
    let idle = IDLE_FRAMES as usize + 1;
    let table: Vec<((H3Error, u64), Vec<u8>)> = vec![
        (unexpected(), trailers.clone()),
        (unexpected(), accepts()),
        (unexpected(), frame(HEADERS, &section(&[(":status", "103")]))),
        (unexpected(), frame(4, b"")),
        (unexpected(), frame(7, &[0])),
        ((H3Error::Id, 0x108), frame(5, &[0, 0, 0])),
        ((H3Error::FrameOfH2, 0x105), frame(6, b"12345678")),
        ((H3Error::FrameSize, 0x106), frame(DATA, b"abcd")[..3].to_vec()),
        ((H3Error::Flood, 0x107), frame(DATA, b"").repeat(idle)),
        ((H3Error::Flood, 0x107), [0x21, 0x00].repeat(idle)),
        ((H3Error::FrameTooLarge, 0x107), vec![0x01, 0xbf, 0xff, 0xff, 0xff]),
        ((H3Error::Qpack(Qpack::Integer), 0x200), frame(HEADERS, b"")),
    ];
    for ((error, code), bytes) in table {
        let mut pair = waiting();
        pair.server.connection().write(0, &bytes);
        pair.server.connection().finish(0);
        pair.run_for(4 * LATENCY_NS);
        let (events, failure) = outcome(&mut pair);
        assert_eq!(failure, Some(Failure::Malformed(error.into())), "{bytes:02x?}: {events:?}");
        assert_eq!(pair.told(), Some(code), "{bytes:02x?}");
    }
    // Frames that are not known are passed over, and one byte of DATA is one.
    let mut pair = waiting();
    for byte in [FIN | TEXT, 3, b'a', b'b', b'c'] {
        pair.server.connection().write(0, &[&[0x21, 0x00][..], &frame(DATA, &[byte])].concat());
        pair.run_for(MS);
    }
    pair.run_for(2 * LATENCY_NS);
    assert!(
        pair.take_events().iter().any(|event| matches!(event, Event::Done(one) if one.id == ID))
    );
}

/// What a tunnel that is not opened is: refused by a status, with whatever behind it, or not understood.
#[test]
fn a_tunnel_that_is_not_opened_has_its_name() {
    let malformed = |error: h2::Error| Failure::Malformed(H3Error::from(error).into());
    let refused = || Failure::Malformed(ws::Error::Status(403).into());
    let head = |fields: &[(&str, &str)]| frame(HEADERS, &section(fields));
    let many = vec![("x-name", "a value of some length, again and again"); 1500];
    type Then = fn(&mut candor_testkit::h3::Served);
    let (waits, ends): (Then, Then) = (|_| (), |served| served.finish(0));
    let resets: Then = |served| served.reset(0, 0x10c);
    let stops: Then = |served| served.stop(0, 0x10c);
    let stops_softly: Then = |served| served.stop(0, 0x100);
    let table: Vec<(Failure, Vec<u8>, Then)> = vec![
        (refused(), head(&[(":status", "403")]), waits),
        (refused(), head(&[(":status", "403")]), ends),
        (refused(), head(&[(":status", "403")]), stops),
        (refused(), head(&[(":status", "403")]), stops_softly),
        (
            refused(),
            [head(&[(":status", "403"), ("content-length", "3")]), frame(DATA, b"no more")]
                .concat(),
            ends,
        ),
        (Failure::StreamReset(0x10c), head(&[(":status", "103")]), resets),
        (Failure::StreamReset(0x100), head(&[(":status", "103")]), stops_softly),
        (malformed(h2::Error::Status), head(&[("x", "y")]), waits),
        (malformed(h2::Error::SwitchingProtocols), head(&[(":status", "101")]), waits),
        (malformed(h2::Error::Interim), head(&[(":status", "103")]).repeat(101), waits),
        (
            malformed(h2::Error::HeaderListTooLarge),
            head(&[&[(":status", "200")][..], &many].concat()),
            waits,
        ),
        (Failure::Malformed(H3Error::NoResponse.into()), Vec::new(), ends),
    ];
    for (wanted, bytes, then) in table {
        let mut pair = asked(&[5], 1, &ENABLES, None);
        pair.events.clear();
        let served = pair.server.connection();
        served.write(0, &bytes);
        then(served);
        pair.run_for(20 * LATENCY_NS);
        let (events, failure) = outcome(&mut pair);
        assert_eq!(failure, Some(wanted), "{:02x?}: {events:?}", &bytes[..bytes.len().min(8)]);
        assert!(!events.iter().any(|event| matches!(event, Event::Ready(_))), "{events:?}");
        assert_eq!(pair.client.free_places(), 0);
    }
    // One that is opened, and ends with its head: no request ever had a place.
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.events.clear();
    pair.server.connection().write(0, &accepts());
    pair.server.connection().finish(0);
    pair.run_for(2 * LATENCY_NS);
    let (events, failure) = outcome(&mut pair);
    assert_eq!(
        (events.last(), failure),
        (Some(&Event::CloseFrame(1006.into())), None),
        "{events:?}"
    );
    assert_eq!(pair.client.free_places(), 0);
}

/// A server that goes away refuses the stream, or lets it be; before there is one it refuses all.
#[test]
fn goaway_is_heard_at_any_time() {
    let goaway = |id: u8| frame(7, &[id]);
    let refused = |pair: &mut Pair<QuicTunnel>| {
        pair.run_for(2 * LATENCY_NS);
        let (events, failure) = outcome(pair);
        assert_eq!(failure, Some(Failure::NotProcessed), "{events:?}");
        assert_eq!(pair.client.free_places(), 0);
    };
    for id in [0, 4] {
        let mut pair = begun(&[5], 1, &[&ENABLES[..], &goaway(id)].concat(), None);
        pair.run_for(6 * LATENCY_NS);
        refused(&mut pair);
    }
    let mut pair = asked(&[5], 1, &ENABLES, None);
    pair.events.clear();
    pair.server.connection().write(3, &goaway(0));
    refused(&mut pair);
    // While it is open: the message is answered, until the server takes its word back.
    let mut pair = waiting();
    pair.server.connection().write(3, &goaway(4));
    pair.server.connection().write(0, &says(FIN | TEXT, b"one"));
    pair.run_for(2 * LATENCY_NS);
    let events = pair.take_events();
    assert!(
        events.iter().any(|event| matches!(event, Event::Done(one) if one.id == ID)),
        "{events:?}"
    );
    pair.request([ID]);
    pair.run_for(LATENCY_NS);
    pair.server.connection().write(3, &goaway(0));
    refused(&mut pair);
}

/// Whatever ends an open tunnel from below, the message that waits has the outcome of that.
#[test]
fn each_end_from_below_has_its_outcome() {
    for code in (0x100..=0x111).chain([0, 0x33, u32::MAX]) {
        let wanted = match code {
            0x10b => Failure::NotProcessed,
            code => Failure::StreamReset(code),
        };
        for stops in [false, true] {
            let mut pair = waiting();
            // In the middle of its reply.
            pair.server.connection().write(0, &says(FIN | TEXT, b"one")[..4]);
            pair.run_for(2 * LATENCY_NS);
            assert_eq!(pair.take_events(), [Event::FirstByte(ID)]);
            match stops {
                true => pair.server.connection().stop(0, code),
                false => pair.server.connection().reset(0, code),
            }
            pair.run_for(2 * LATENCY_NS);
            let (events, failure) = outcome(&mut pair);
            assert_eq!(failure, Some(wanted.clone()), "{code:#x} {stops}: {events:?}");
            assert_eq!(pair.client.free_places(), 0);
        }
    }
    // A close frame counts for more than what comes behind it.
    for stops in [false, true] {
        let mut pair = waiting();
        pair.server.connection().write(0, &says(FIN | CLOSE, &[0x03, 0xe9]));
        match stops {
            true => pair.server.connection().stop(0, 0x100),
            false => pair.server.connection().finish(0),
        }
        pair.run_for(2 * LATENCY_NS);
        let events = pair.take_events();
        let [Event::CloseFrame(told), Event::RequestFailed { id: ID, failure }, Event::Over, ..] =
            &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!((told.code, failure.words().0), (1001, ErrorKind::Closed));
    }
    // What the connection ends with is in the outcome; in the middle of a reply, that it was cut.
    type End = fn(&mut Pair<QuicTunnel>);
    let ends: [(End, ErrorKind, ErrorKind); 4] = [
        (|pair| close(pair, 0x100), ErrorKind::Closed, ErrorKind::Truncated),
        (|pair| close(pair, 0x102), ErrorKind::Closed, ErrorKind::Truncated),
        (|pair| pair.server.connection().finish(0), ErrorKind::Closed, ErrorKind::Truncated),
        (
            |pair| {
                pair.loses = Box::new(|_| true);
                pair.run_for(60_000 * MS);
            },
            ErrorKind::IdleTimeout,
            ErrorKind::IdleTimeout,
        ),
    ];
    for (n, (end, whole, cut)) in ends.into_iter().enumerate() {
        for (is_cut, kind) in [(false, whole), (true, cut)] {
            let mut pair = waiting();
            if is_cut {
                // The frame of HTTP/3 is whole.
                pair.server.connection().write(0, &frame(DATA, &[FIN | TEXT, 3, b'o']));
                pair.run_for(2 * LATENCY_NS);
                pair.events.clear();
            }
            end(&mut pair);
            pair.run_for(2 * LATENCY_NS);
            let (events, failure) = outcome(&mut pair);
            let (found, words) = failure.unwrap_or_else(|| panic!("{events:?}")).words();
            assert_eq!(found, kind, "{n} {is_cut}: {events:?}");
            assert!(events.contains(&Event::CloseFrame(1006.into())), "{events:?}");
            assert_eq!(words.to_string().contains("0x102"), n == 1, "{words}");
        }
    }
}
