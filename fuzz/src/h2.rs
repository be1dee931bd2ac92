//! HTTP/2: frames, and header compression.

use std::io::IoSlice;

use candor_protocol::h2::hpack::{Decoder, Encoder, Error, Fields};
use candor_protocol::h2::{Prepared, Session, Settings, prepare};
use candor_protocol::{Event, Input, Outgoing, Session as _};

use crate::h1::request;
use crate::pieces::cuts;

pub(crate) const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

pub(crate) fn written(session: &mut Session) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(0, &mut slices).slices as usize;
        if used == 0 {
            return bytes;
        }
        let before = bytes.len();
        slices[..used].iter().for_each(|slice| bytes.extend_from_slice(slice));
        session.handle_transmitted(0, bytes.len() - before, &mut |_| {});
    }
}

/// The events of a session with three requests, and its output after the input.
fn run(pieces: &[&[u8]]) -> (Vec<Event>, Vec<u8>) {
    let table: [Prepared; 3] = [("GET", &b""[..]), ("POST", &[b'b'; 70_000]), ("HEAD", b"")]
        .map(|(method, body)| prepare(&request(method, body), "http", "example"));
    let settings = Settings { streams: 4, stream_window_bits: 4, ..Settings::default() };
    let mut session = Session::new(table.as_slice().into(), settings);
    written(&mut session);
    let mut events = Vec::new();
    let mut feed = |session: &mut Session, input: &[u8]| {
        let mut input = Input::Stream(input);
        while let Some(event) = session.handle_input(0, &mut input) {
            events.push(event);
        }
        assert!(input.bytes().is_empty(), "a session without events has consumed its input");
    };
    feed(&mut session, SETTINGS);
    for id in 0..3 {
        session.handle_request(id, Outgoing::Listed(id));
    }
    written(&mut session);
    for piece in pieces {
        feed(&mut session, piece);
    }
    session.handle_end();
    events.extend(std::iter::from_fn(|| session.poll_event()));
    (events, written(&mut session))
}

/// Frames as they come; or, where the first byte is even, frames of right lengths: kind, flags,
/// stream and length in a byte each, and the payload.
pub(crate) fn frames(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let bytes = if choice % 2 == 0 { shaped(bytes) } else { bytes.to_vec() };
    let [whole, single, some] = cuts(&bytes).map(|pieces| run(&pieces));
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

fn shaped(mut bytes: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let [kind, flags, stream, length, rest @ ..] = bytes {
        let (payload, after) = rest.split_at(rest.len().min(usize::from(*length)));
        frames.extend_from_slice(&[0, 0, payload.len() as u8, kind % 12, *flags, 0, 0, 0]);
        frames.push(stream % 10);
        frames.extend_from_slice(payload);
        bytes = after;
    }
    frames
}

type List = Vec<(Vec<u8>, Vec<u8>)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<List, Error> {
    let mut list = List::new();
    decoder.decode(block, |name, value| list.push((name.to_vec(), value.to_vec())))?;
    Ok(list)
}

/// Blocks, each with its length in a byte, of one connection: two decoders agree, a block that is
/// complete in itself means the same when it is repeated, and our encoder's form of a list decodes
/// to the list.
pub(crate) fn hpack(mut bytes: &[u8]) {
    let (mut decoder, mut other) = (Decoder::default(), Decoder::default());
    let (mut encoder, mut reader) = (Encoder::default(), Decoder::default());
    while let [length, rest @ ..] = bytes {
        let (block, after) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = after;
        let list = decode(&mut decoder, block);
        assert_eq!(list, decode(&mut other, block));
        let Ok(list) = list else { return };
        if decoder.stands_alone() {
            decoder.repeat(block);
            assert_eq!(decode(&mut other, block), Ok(list.clone()));
        }
        let mut fields = Fields::default();
        list.iter().for_each(|(name, value)| fields.push(name, value));
        let mut encoded = Vec::new();
        encoder.encode(&fields, &mut encoded);
        assert_eq!(decode(&mut reader, &encoded), Ok(list));
    }
}
