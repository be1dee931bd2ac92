//! WebSocket: the response to an opening, frames and compressed messages.

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::BodyExpect;
use candor_protocol::ws::{
    Deflate, Field, Kind, Limits, Message, Opening, Replies, Session, Settings, Setup, accept_of,
};
use candor_protocol::{Event, Input, Outgoing, Session as _};

use crate::h1::request;
use crate::pieces::cuts;

fn settings(choice: u8) -> Settings {
    let field = Field { prefix: b"a"[..].into(), delimiter: b'b' };
    let replies = match choice % 3 {
        0 => Replies::Ordered,
        1 => Replies::Field(field),
        _ => Replies::Nothing,
    };
    let limits = Limits { message_bytes: 1 << 16, ..Limits::default() };
    let deflate = Some(Deflate::default());
    Settings { replies, in_flight: 3, deflate, limits, ..Settings::default() }
}

fn written(session: &mut Session) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut slices = [IoSlice::new(&[]); 1];
        if session.poll_transmit(0, &mut slices).slices == 0 {
            return bytes;
        }
        let part = slices[0].to_vec();
        session.handle_transmitted(0, part.len(), &mut |_| {});
        bytes.extend(part);
    }
}

/// The events of a session, but for those that depend on the pieces, and its output. It is opened before the
/// pieces, or by them.
fn run(choice: u8, pieces: &[&[u8]]) -> (Vec<Event>, Vec<u8>) {
    let settings = settings(choice);
    let table = ["a1b", "a2b", "x"].map(|text| Message {
        payload: text.as_bytes().into(),
        kind: Kind::Text,
        fragment_bytes: None,
        expect: BodyExpect::Any,
    });
    let opening = Opening::new(&request("GET", b""), "example", &settings);
    let mut session = Session::new(&opening, Arc::new(Setup::new(table, settings)), 1);
    let asked = written(&mut session);
    let mut events = Vec::new();
    let mut feed = |session: &mut Session, input: &[u8]| {
        let mut input = Input::Stream(input);
        while let Some(event) = session.handle_input(0, &mut input) {
            events.push(event);
        }
        assert!(input.bytes().is_empty(), "a session without events has consumed its input");
    };
    if choice < 128 {
        let accept = accept_of(&asked[asked.len() - 28..asked.len() - 4]);
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        feed(&mut session, head.as_bytes());
        (0..session.free_places()).for_each(|id| session.handle_request(id, Outgoing::Listed(id)));
        written(&mut session);
    }
    for piece in pieces {
        feed(&mut session, piece);
    }
    session.handle_end();
    events.extend(std::iter::from_fn(|| session.poll_event()));
    session.handle_close();
    events.retain(|event| !matches!(event, Event::FirstByte(_) | Event::Part(_)));
    (events, written(&mut session))
}

/// The first byte chooses how replies are matched, and whether the rest is the response to the opening (from 128
/// on) or frames.
pub(crate) fn session(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let [whole, single, some] = cuts(bytes).map(|pieces| run(*choice, &pieces));
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
    for id in 0..3 {
        let outcomes = whole.0.iter().filter(|event| match event {
            Event::Done(answer) => answer.id == id,
            Event::RequestFailed { id: of, .. } => *of == id,
            Event::Failed { id: of, .. } => *of == Some(id),
            _ => false,
        });
        assert!(outcomes.count() <= 1, "one outcome for each request: {:?}", whole.0);
    }
}
