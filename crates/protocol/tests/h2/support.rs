//! Drives sessions: requests in, pieces of frames in, events and frames out.

use std::io::IoSlice;
use std::num::NonZeroU16;

use candor_protocol::h2::{Error, Prepared, Session, Settings, prepare};
use candor_protocol::{
    Abilities, Answer, Deviations, Event, Failure, Input, Last, Outgoing, Session as _,
};
pub(crate) use candor_testkit::plans::request as plan_request;

pub(crate) fn prepared(method: &str, body: &[u8]) -> Prepared {
    prepare(&plan_request(method, &[], body), "http", "example")
}

pub(crate) fn session(requests: &[Prepared], settings: Settings) -> Session {
    Session::new(requests.into(), settings)
}

/// A session that is ready for `streams` GETs, everything written.
pub(crate) fn ready(streams: u32) -> Session {
    ready_with(&[prepared("GET", b"")], Settings { streams, ..Settings::default() })
}

pub(crate) fn ready_with(requests: &[Prepared], settings: Settings) -> Session {
    let mut session = session(requests, settings);
    transmit(&mut session);
    assert_eq!(feed(&mut session, &frame(SETTINGS, 0, 0, b"")), [READY]);
    transmit(&mut session);
    session
}

/// The same, with requests 0 to `streams` handed in and written, on streams 1, 3, 5 and so on.
pub(crate) fn started(streams: u32) -> Session {
    let mut session = ready(streams);
    for id in 0..streams {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    session
}

/// Writes everything; the bytes.
pub(crate) fn transmit(session: &mut Session) -> Vec<u8> {
    transmit_started(session).0
}

pub(crate) fn transmit_started(session: &mut Session) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut started) = (Vec::new(), Vec::new());
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(0, &mut slices).slices as usize;
        if used == 0 {
            return (bytes, started);
        }
        let before = bytes.len();
        for slice in &slices[..used] {
            bytes.extend_from_slice(slice);
        }
        session.handle_transmitted(0, bytes.len() - before, &mut |id| started.push(id));
    }
}

/// All events of one piece of input.
pub(crate) fn feed(session: &mut Session, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = session.handle_input(0, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty(), "a session without events must have consumed its input");
    events
}

/// All events of the end of the connection.
pub(crate) fn end(session: &mut Session) -> Vec<Event> {
    session.handle_end();
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// The first settings of the peer came.
pub(crate) const READY: Event = Event::Ready(Abilities { multiplexes: true, takes_made: true });

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

/// `:status: 200` by the static table.
pub(crate) const OK: &[u8] = &[0x88];

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A whole header block in one frame, with more to come.
pub(crate) fn headers(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, block)
}

/// A whole answer without a body.
pub(crate) fn empty_answer(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, block)
}

pub(crate) fn data(stream: u32, content: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, content)
}

pub(crate) fn last_data(stream: u32, content: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, content)
}

pub(crate) fn setting(id: u16, value: u32) -> Vec<u8> {
    let mut payload = id.to_be_bytes().to_vec();
    payload.extend_from_slice(&value.to_be_bytes());
    frame(SETTINGS, 0, 0, &payload)
}

pub(crate) fn number(kind: u8, stream: u32, value: u32) -> Vec<u8> {
    frame(kind, 0, stream, &value.to_be_bytes())
}

/// A GOAWAY of the server's.
pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    let mut payload = last.to_be_bytes().to_vec();
    payload.extend_from_slice(&code.to_be_bytes());
    frame(GOAWAY, 0, 0, &payload)
}

/// A field as a literal without indexing, no Huffman code.
pub(crate) fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![0];
    for text in [name, value] {
        assert!(text.len() < 127);
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    }
    block
}

/// A frame that a session wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// All frames of `bytes`, which holds whole ones.
pub(crate) fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    if let Some(rest) = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
        bytes = rest;
    }
    while let [a, b, c, kind, flags, s0, s1, s2, s3, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
        let payload = rest[..length].to_vec();
        frames.push(Frame { kind: *kind, flags: *flags, stream, payload });
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "a frame is cut off");
    frames
}

/// First byte and completion of a right answer.
pub(crate) fn answered(id: u32, status: u16, body_bytes: u64) -> [Event; 2] {
    [Event::FirstByte(id), done(id, status, body_bytes)]
}

pub(crate) fn done(id: u32, status: u16, body_bytes: u64) -> Event {
    let (status, deviations) = (NonZeroU16::new(status), Deviations::default());
    Event::Done(Answer { id, status, body_bytes, expected: Ok(()), deviations, last: Last::No })
}

pub(crate) fn request_failed(id: u32, failure: Failure) -> Event {
    Event::RequestFailed { id, failure }
}

pub(crate) fn malformed(id: u32, error: Error) -> Event {
    request_failed(id, Failure::Malformed(error.into()))
}

pub(crate) fn broken(error: Error) -> Event {
    Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
}

/// The connection must be given up for `error`, with GOAWAY and its code.
#[track_caller]
pub(crate) fn assert_broken(session: &mut Session, input: &[u8], error: Error) {
    assert_eq!(feed(session, input).last(), Some(&broken(error)));
    let goaway = frames(&transmit(session)).pop().expect("a goodbye");
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&error.code().to_be_bytes());
    assert_eq!(goaway, Frame { kind: GOAWAY, flags: 0, stream: 0, payload: payload.to_vec() });
    assert_eq!(session.free_places(), 0);
    assert_eq!(feed(session, &frame(PING, 0, 0, &[0; 8])), []);
    assert_eq!(end(session), []);
    assert_eq!(transmit(session), b"");
}

/// Request `id` alone must fail for `error`, with RST_STREAM and its code; the connection must
/// go on.
#[track_caller]
pub(crate) fn assert_refused(session: &mut Session, input: &[u8], id: u32, error: Error) {
    assert_eq!(feed(session, input).last(), Some(&malformed(id, error)));
    let reset = frames(&transmit(session)).pop().expect("RST_STREAM");
    assert_eq!((reset.kind, reset.stream), (RST_STREAM, 2 * id + 1));
    assert_eq!(reset.payload, error.code().to_be_bytes());
    assert_eq!(feed(session, &frame(PING, 0, 0, &[7; 8])), []);
    let pong = Frame { kind: PING, flags: ACK, stream: 0, payload: vec![7; 8] };
    assert_eq!(frames(&transmit(session)), [pong]);
}

/// What frames of this kind carry.
pub(crate) fn payload_of(frames: &[Frame], kind: u8) -> Vec<&[u8]> {
    frames.iter().filter(|f| f.kind == kind).map(|f| &f.payload[..]).collect()
}
