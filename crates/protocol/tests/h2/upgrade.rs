//! HTTP/2 by an upgrade from HTTP/1.1 (RFC 7540 3.2).

use std::io::IoSlice;

use candor_protocol::h2::{Asking, Error, Settings, Upgrade};
use candor_protocol::{Abilities, Event, Failure, Input, Outgoing, Session as _};

use crate::support::{
    END_STREAM, HEADERS, OK, SETTINGS, answered, empty_answer, frame, frames, plan_request,
    prepared,
};

const SWITCHING: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

fn session() -> Upgrade {
    let settings = Settings { streams: 3, stream_window_bits: 16, ..Settings::default() };
    let headers = [("X-A", "b"), ("Connection", "keep-alive")];
    let asking = Asking::new(&plan_request("POST", &headers, b"body"), "example", &settings);
    let table = [prepared("POST", b"body")].into();
    let mut session = Upgrade::new(table, [asking].into(), settings);
    // The first request needs no handshake.
    let abilities = Abilities { multiplexes: true, takes_made: false };
    assert_eq!(session.poll_event(), Some(Event::Ready(abilities)));
    session
}

fn transmit(session: &mut Upgrade) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut started) = (Vec::new(), Vec::new());
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(0, &mut slices).slices as usize;
        if used == 0 {
            return (bytes, started);
        }
        // A few bytes at a time, as a full socket takes them.
        let part = slices[0][..slices[0].len().min(7)].to_vec();
        session.handle_transmitted(0, part.len(), &mut |id| started.push(id));
        bytes.extend(part);
    }
}

fn feed(session: &mut Upgrade, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = session.handle_input(0, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty());
    events
}

fn end(session: &mut Upgrade) -> Vec<Event> {
    session.handle_end();
    std::iter::from_fn(|| session.poll_event()).collect()
}

#[test]
fn the_first_request_asks_and_is_answered_on_the_first_stream() {
    let input = [SWITCHING, &frame(SETTINGS, 0, 0, b""), &empty_answer(1, OK)].concat();
    for piece in [1, 5, input.len()] {
        let mut session = session();
        assert_eq!((session.free_places(), session.outstanding()), (1, 0));
        session.handle_request(7, Outgoing::Listed(0));
        assert_eq!((session.free_places(), session.outstanding()), (0, 1));
        let (bytes, started) = transmit(&mut session);
        assert_eq!(started, [7]);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "POST / HTTP/1.1\r\nHost: example\r\nX-A: b\r\nConnection: Upgrade, HTTP2-Settings\r\n\
             Upgrade: h2c\r\nHTTP2-Settings: AAIAAAAAAAYAAQAA\r\nContent-Length: 4\r\n\r\nbody"
        );
        let events: Vec<Event> =
            input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        let [first, done] = answered(7, 200, 0);
        assert_eq!(events, [Event::Changed, first, done]);
        assert_eq!(session.free_places(), 3);
        session.handle_request(8, Outgoing::Listed(0));
        let (bytes, started) = transmit(&mut session);
        assert_eq!(started, [8]);
        let sent = frames(&bytes);
        assert_eq!(
            (sent[0].kind, sent.iter().find(|f| f.kind == HEADERS).unwrap().stream),
            (SETTINGS, 3)
        );
        assert!(sent.last().unwrap().flags & END_STREAM != 0);
    }
}

#[test]
fn interim_answers_come_before_the_upgrade() {
    let mut session = session();
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    let input = [b"HTTP/1.1 100 Continue\r\n\r\n", SWITCHING, &frame(SETTINGS, 0, 0, b"")];
    assert_eq!(feed(&mut session, &input.concat()), [Event::Changed]);
}

#[test]
fn a_server_that_does_not_upgrade_is_named() {
    let missing = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    for (input, error) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..], Error::NotUpgraded(200)),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", Error::NotUpgraded(400)),
        (missing, Error::NotUpgraded(101)),
        (b"SSH-2.0-x", Error::Upgrade),
        (b"HTTP/1.1 abc\r\n\r\n", Error::Upgrade),
        (&frame(SETTINGS, 0, 0, b""), Error::Upgrade),
    ] {
        for piece in [1, input.len()] {
            let mut session = session();
            session.handle_request(3, Outgoing::Listed(0));
            transmit(&mut session);
            let events: Vec<Event> =
                input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            let failure = Failure::Malformed(error.into());
            assert_eq!(events, [Event::Failed { id: Some(3), failure }], "{piece}");
            assert_eq!((session.free_places(), session.outstanding()), (0, 0));
            assert_eq!(end(&mut session), []);
        }
    }
}

#[test]
fn an_end_before_the_answer_fails_the_request() {
    for (said, failure) in [(&b""[..], Failure::Closed), (b"HTTP/1.1 1", Failure::Truncated)] {
        let mut session = session();
        session.handle_request(3, Outgoing::Listed(0));
        transmit(&mut session);
        feed(&mut session, said);
        assert!(!session.cancel(3), "without its answer the connection is of no use");
        assert_eq!(end(&mut session), [Event::Failed { id: Some(3), failure }]);
    }
    assert_eq!(end(&mut session()), []);
}

#[test]
fn a_header_block_without_an_end_is_bounded() {
    let mut session = session();
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    feed(&mut session, b"HTTP/1.1 101 Switching Protocols\r\n");
    let mut events = Vec::new();
    for _ in 0..100 {
        events.extend(feed(&mut session, &[b'x'; 1000]));
    }
    let failure = Failure::Malformed(Error::HeaderBlockTooLarge.into());
    assert_eq!(events, [Event::Failed { id: Some(0), failure }]);
}
