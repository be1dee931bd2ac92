//! Whatever the server sends: cuts mean nothing, each request has one outcome, and memory is bounded.

use candor_protocol::ws::{Deflate, Field, Limits, Message, Replies, Settings};
use candor_protocol::{Event, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::compression::Peer;
use crate::sessions::count_parts;
use crate::support::*;

const LIMITS: Limits =
    Limits { header_block_bytes: 2000, interim_answers: 2, message_bytes: 5000, idle_frames: 20 };

fn settings(mode: u8) -> Settings {
    let field = Field { prefix: b"a"[..].into(), delimiter: b'b' };
    let replies = match mode % 3 {
        0 => Replies::Ordered,
        1 => Replies::Field(field),
        _ => Replies::Nothing,
    };
    Settings {
        replies,
        in_flight: 3,
        limits: LIMITS,
        deflate: Some(Deflate::default()),
        ..Settings::default()
    }
}

/// Something that a server might send: sound, nearly sound, or any bytes.
fn step() -> impl Strategy<Value = Vec<u8>> {
    let payload = || vec(prop_oneof![Just(b'a'), Just(b'b'), any::<u8>()], 0..40);
    let word = || "[abµ€]{0,40}";
    prop_oneof![
        6 => word().prop_map(|text| frame(FIN | TEXT, text.as_bytes())),
        3 => payload().prop_map(|payload| frame(FIN | BINARY, &payload)),
        2 => (word(), 0usize..20).prop_map(|(text, cut)| {
            let bytes = text.as_bytes();
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            fragments(TEXT, [one, two]).concat()
        }),
        2 => word().prop_map(|text| {
            frame(FIN | RSV1 | TEXT, &Peer::new(true).deflate(text.as_bytes()))
        }),
        1 => payload().prop_map(|payload| frame(FIN | RSV1 | BINARY, &payload)),
        2 => payload().prop_map(|payload| frame(FIN | PING, &payload)),
        1 => payload().prop_map(|payload| frame(FIN | PONG, &payload)),
        1 => (900u16..5000, payload()).prop_map(|(code, reason)| close(code, &reason)),
        1 => (any::<u8>(), payload()).prop_map(|(first, payload)| frame(first, &payload)),
        1 => payload(),
    ]
}

/// What is said and written, when the input is cut into such pieces.
fn run(mode: u8, steps: &[Vec<u8>], piece: usize) -> (Vec<Event>, Vec<Frame>) {
    let table: Vec<Message> = ["a1b", "a2b", "a1b"].map(text).into();
    let lines = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let mut session = open_with(&table, settings(mode), lines);
    (0..3).for_each(|id| session.handle_request(id, Outgoing::Listed(id)));
    transmit(&mut session);
    let mut said = events(&mut session);
    let input = steps.concat();
    for part in input.chunks(piece.min(input.len().max(1))) {
        said.extend(feed(&mut session, part));
    }
    said.extend(end(&mut session));
    let written = frames(&transmit(&mut session));
    (said, written)
}

/// Without what depends on the pieces: first bytes, and in how many events parts are told.
fn settled(said: &[Event]) -> (Vec<Event>, (u32, u64)) {
    let is_kept = |event: &&Event| !matches!(event, Event::FirstByte(_) | Event::Part(_));
    (said.iter().filter(is_kept).cloned().collect(), count_parts(said))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn cuts_mean_nothing_and_every_request_has_one_outcome(
        mode in 0u8..3,
        steps in vec(step(), 0..20),
        piece in 2usize..30,
    ) {
        let (whole, written) = run(mode, &steps, usize::MAX);
        for piece in [1, piece] {
            let (said, wrote) = run(mode, &steps, piece);
            prop_assert_eq!(settled(&said), settled(&whole));
            prop_assert_eq!(&wrote, &written);
        }
        for id in 0..3 {
            let outcomes = whole.iter().filter(|event| match event {
                Event::Done(answer) => answer.id == id,
                Event::RequestFailed { id: of, .. } => *of == id,
                Event::Failed { id: of, .. } => *of == Some(id),
                _ => false,
            });
            let is_dead = whole.iter().any(|event| matches!(event, Event::Failed { id: None, .. }));
            prop_assert!(outcomes.count() == 1 || is_dead, "{:?}", whole);
        }
        prop_assert!(payloads(&written, CLOSE).len() <= 1);
    }

    #[test]
    fn any_bytes_are_read_without_harm(mode in 0u8..3, bytes in vec(any::<u8>(), 0..200)) {
        let whole = run(mode, std::slice::from_ref(&bytes), usize::MAX);
        let single = run(mode, &[bytes], 1);
        prop_assert_eq!(settled(&whole.0), settled(&single.0));
    }

    #[test]
    fn any_response_to_the_opening_is_read_without_harm(bytes in "(HTTP/1.1 101|[A-Z/1. \r\n:a]{0,30}){0,6}") {
        let said = |piece: usize| {
            let (mut session, _) = asked(&[], settings(0));
            let parts = bytes.as_bytes().chunks(piece);
            let mut said: Vec<Event> = parts.flat_map(|part| feed(&mut session, part)).collect();
            said.extend(end(&mut session));
            said
        };
        prop_assert_eq!(said(1), said(1000));
    }
}
