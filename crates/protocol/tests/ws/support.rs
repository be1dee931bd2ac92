//! Drives sessions: messages in, pieces of frames in, events and frames out. The peer is scripted.

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::{BodyExpect, Request};
use candor_protocol::ws::{
    Error, Kind, Message, Opening, Session, Settings, Setup, accept_of, mask,
};
use candor_protocol::{
    Abilities, Answer, Deviations, Event, Failure, Input, Last, Outgoing, Part, PartKind,
    Session as _,
};

pub(crate) const FIN: u8 = 0x80;
pub(crate) const RSV1: u8 = 0x40;
pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

pub(crate) const READY: Event = Event::Ready(Abilities { multiplexes: true, takes_made: true });

/// The request that opens.
pub(crate) fn request() -> Request {
    Request {
        name: "echo".to_owned(),
        path: "/echo".to_owned(),
        ..candor_testkit::plans::request("GET", &[("X-A", "b")], b"")
    }
}

/// A message that must come back as it is.
pub(crate) fn message(kind: Kind, payload: &[u8]) -> Message {
    let expect = BodyExpect::Exact(payload.into());
    Message { payload: payload.into(), kind, fragment_bytes: None, expect }
}

pub(crate) fn text(payload: &str) -> Message {
    message(Kind::Text, payload.as_bytes())
}

/// A session that has asked, and its key.
pub(crate) fn asked(table: &[Message], settings: Settings) -> (Session, String) {
    asked_as(Setup::new(table, settings))
}

/// The same as it was set up.
pub(crate) fn asked_as(setup: Setup) -> (Session, String) {
    let opening = Opening::new(&request(), "example", setup.settings());
    let mut session = Session::new(&opening, Arc::new(setup), 7);
    let head = String::from_utf8(transmit(&mut session)).unwrap();
    let key = head.split_once("Sec-WebSocket-Key: ").unwrap().1[..24].to_owned();
    (session, key)
}

/// The response that opens, with more lines.
pub(crate) fn switching(key: &str, lines: &str) -> String {
    let accept = accept_of(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{lines}\r\n"
    )
}

/// A session that is open.
pub(crate) fn open(table: &[Message], settings: Settings) -> Session {
    open_with(table, settings, "")
}

pub(crate) fn open_with(table: &[Message], settings: Settings, lines: &str) -> Session {
    let (mut session, key) = asked(table, settings);
    assert_eq!(session.free_places(), 0);
    assert_eq!(feed(&mut session, switching(&key, lines).as_bytes()), [READY]);
    session
}

/// Hands in each message of the table, ids from 0, and writes them; the frames.
pub(crate) fn send_all(session: &mut Session, count: u32) -> Vec<Frame> {
    (0..count).for_each(|id| session.handle_request(id, Outgoing::Listed(id)));
    frames(&transmit(session))
}

/// Writes everything; the bytes.
pub(crate) fn transmit(session: &mut Session) -> Vec<u8> {
    transmit_started(session).0
}

pub(crate) fn transmit_started(session: &mut Session) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut started) = (Vec::new(), Vec::new());
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        if session.poll_transmit(0, &mut slices).slices == 0 {
            return (bytes, started);
        }
        let part = slices[0].to_vec();
        session.handle_transmitted(0, part.len(), &mut |id| started.push(id));
        bytes.extend(part);
    }
}

/// Writes at most so many bytes.
pub(crate) fn transmit_some(session: &mut Session, most: usize) -> (Vec<u8>, Vec<u32>, bool) {
    let mut started = Vec::new();
    let mut slices = [IoSlice::new(&[]); 1];
    session.poll_transmit(0, &mut slices);
    let part = slices[0][..slices[0].len().min(most)].to_vec();
    let news = session.handle_transmitted(0, part.len(), &mut |id| started.push(id));
    (part, started, news)
}

/// All events of one piece of input.
pub(crate) fn feed(session: &mut Session, input: &[u8]) -> Vec<Event> {
    feed_at(session, 0, input)
}

pub(crate) fn feed_at(session: &mut Session, now_ns: u64, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = session.handle_input(now_ns, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty(), "a session without events must have consumed its input");
    events
}

/// All events that need no input.
pub(crate) fn events(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// All events of the end of the connection.
pub(crate) fn end(session: &mut Session) -> Vec<Event> {
    session.handle_end();
    events(session)
}

/// A server's frame; `first` is its first byte.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        0..126 => frame.push(payload.len() as u8),
        126..0x10000 => {
            frame.push(126);
            frame.extend((payload.len() as u16).to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// A server's close frame.
pub(crate) fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes(), reason].concat())
}

/// A server's message in frames of these payloads; `first` has opcode and reserved bits.
pub(crate) fn fragments<'a>(first: u8, parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let parts: Vec<&[u8]> = parts.into_iter().collect();
    let last = parts.len() - 1;
    let head =
        |at: usize| if at == 0 { first } else { CONTINUATION } | if at == last { FIN } else { 0 };
    parts.iter().enumerate().map(|(at, part)| frame(head(at), part)).collect()
}

/// A frame that a session wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) first: u8,
    pub(crate) mask: [u8; 4],
    /// Without the mask.
    pub(crate) payload: Vec<u8>,
}

/// All frames of `bytes`, which holds whole ones.
pub(crate) fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        assert!(second & 0x80 != 0, "a client masks (RFC 6455 5.3)");
        let (length, rest) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => (u64::from_be_bytes(*rest.first_chunk().expect("a length")), &rest[8..]),
            length => (u64::from(length), rest),
        };
        let (key, rest) = rest.split_first_chunk::<4>().expect("a mask");
        let (payload, rest) = rest.split_at(length as usize);
        let mut payload = payload.to_vec();
        mask(*key, &mut payload);
        frames.push(Frame { first: *first, mask: *key, payload });
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a frame is cut off");
    frames
}

/// The payload of all frames of one kind.
pub(crate) fn payloads(frames: &[Frame], opcode: u8) -> Vec<Vec<u8>> {
    frames.iter().filter(|one| one.first & 0xf == opcode).map(|one| one.payload.clone()).collect()
}

/// The messages that frames are, without fragments.
pub(crate) fn messages(frames: &[Frame]) -> Vec<(u8, Vec<u8>)> {
    let mut messages: Vec<(u8, Vec<u8>)> = Vec::new();
    for frame in frames {
        match frame.first & 0xf {
            CONTINUATION => {
                messages.last_mut().expect("a message").1.extend(&frame.payload);
            }
            TEXT | BINARY => messages.push((frame.first & !FIN, frame.payload.clone())),
            _ => {}
        }
    }
    messages
}

pub(crate) fn done(id: u32, body_bytes: u64) -> Event {
    let (expected, deviations) = (Ok(()), Deviations::default());
    Event::Done(Answer { id, status: None, body_bytes, expected, deviations, last: Last::No })
}

pub(crate) fn parts(count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: None, kind: PartKind::Message, bytes, count, tokens: 0 })
}

pub(crate) fn broken(error: Error) -> Event {
    Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
}

pub(crate) fn closed_with(id: u32, code: u16) -> Event {
    Event::RequestFailed { id, failure: Failure::ClosedWith(code.into()) }
}
