//! Streams of events over HTTP/1.1: the same events whatever the pieces, before the outcome of their response.

use candor_plan::{StatusSet, StreamForm, Streaming, Tokens};
use candor_protocol::expect::Mismatch;
use candor_protocol::h1::{Limits, Session, prepare};
use candor_protocol::parts::{MOST_TEXT_BYTES, Rules};
use candor_protocol::{Answer, Event, Failure, NotKept, Outgoing, Part, PartKind, Session as _};
use proptest::prelude::*;

use super::support::{end, feed, fresh, plan_request};

fn stream(form: StreamForm) -> Streaming {
    Streaming::new(form)
}

/// A session with `count` GETs in flight whose responses are streams.
fn started(stream: &Streaming, count: u32) -> Session {
    let mut request = plan_request("GET", &[], b"");
    request.expect.status = StatusSet::below_400();
    request.stream = Some(stream.clone());
    let table = [prepare(&request, "example")];
    let bytes = table[0].head.len();
    let mut session = fresh(table.into(), count, Limits::default());
    session.split(&Rules::table(&[request], None).expect("a stream"));
    for id in 0..count {
        session.handle_request(id, Outgoing::Listed(0));
    }
    session.handle_transmitted(0, bytes * count as usize, &mut |_| {});
    session
}

/// All events of pieces and the end, with parts that follow each other as one, and first bytes left out.
fn joined<'a>(stream: &Streaming, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut session = started(stream, 2);
    let mut all: Vec<Event> = Vec::new();
    for piece in pieces {
        all.extend(feed(&mut session, piece));
    }
    all.extend(end(&mut session));
    let mut joined: Vec<Event> = Vec::new();
    for event in all {
        match (joined.last_mut(), event) {
            (_, Event::FirstByte(_)) => {}
            (Some(Event::Part(last)), Event::Part(more)) if last.id == more.id => {
                last.count += more.count;
                last.bytes += more.bytes;
                last.tokens += more.tokens;
            }
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn part(id: u32, count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(id), kind: PartKind::Event, bytes, count, tokens: 0 })
}

/// The same where each event is a token.
fn tokens(id: u32, count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(id), kind: PartKind::Event, bytes, count, tokens: count })
}

fn outcome(events: &[Event]) -> Option<&Result<(), Mismatch>> {
    events.iter().find_map(|event| match event {
        Event::Done(Answer { expected, .. }) => Some(expected),
        _ => None,
    })
}

fn chunked(chunks: &[&str]) -> String {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    let chunk = |one: &&str| format!("{:x}\r\n{one}\r\n", one.len());
    head + &chunks.iter().map(chunk).collect::<String>() + "0\r\n\r\n"
}

#[test]
fn parts_come_as_they_end_and_before_the_outcome() {
    let mut session = started(&stream(StreamForm::Sse), 1);
    let body = chunked(&["data: a\n", "\ndata: bb\n\ndata: c", "\n\n"]);
    let (first, rest) = body.split_at(body.find("\r\n\r\n").expect("a head") + 4);
    assert_eq!(feed(&mut session, first.as_bytes()), [Event::FirstByte(0)]);
    assert_eq!(feed(&mut session, &rest.as_bytes()[..13]), []);
    let (second, third) = rest.as_bytes()[13..].split_at(26);
    assert_eq!(feed(&mut session, second), [part(0, 2, 3)]);
    let last = feed(&mut session, third);
    assert_eq!(last[0], part(0, 1, 1));
    assert!(matches!(last[1..], [Event::Done(Answer { id: 0, expected: Ok(()), .. })]));
}

#[test]
fn each_chunk_is_a_part_and_a_body_without_chunks_is_one() {
    let chunks = stream(StreamForm::Chunks);
    let body = chunked(&["a", "bb", "ccc"]);
    assert_eq!(joined(&chunks, [body.as_bytes()])[0], part(0, 3, 6));
    let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(joined(&chunks, [&plain[..]])[0], part(0, 1, 5));
    let empty = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert!(matches!(joined(&chunks, [&empty[..]])[0], Event::Done(_)));
}

#[test]
fn a_stream_that_ends_with_the_connection_is_complete() {
    let lines = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Ndjson) };
    let body = b"HTTP/1.1 200 OK\r\n\r\n1\n2\nend";
    let events = joined(&lines, [&body[..]]);
    assert_eq!(events[0], part(0, 2, 2));
    assert_eq!(outcome(&events), Some(&Ok(())));
}

#[test]
fn tokens_come_before_the_outcome() {
    let counted = Streaming { tokens: Some(Tokens::Events), ..stream(StreamForm::Ndjson) };
    let events = joined(&counted, [chunked(&["1\n2\n", "3\n"]).as_bytes()]);
    assert_eq!(
        events[..2],
        [tokens(0, 3, 3), Event::Tokens { id: 0, output: Some(3), input: None }]
    );
    assert_eq!(outcome(&events), Some(&Ok(())));
}

#[test]
fn responses_behind_each_other_have_their_own_events() {
    let named = Streaming { error: Some("bad".to_owned()), ..stream(StreamForm::Ndjson) };
    let both = chunked(&["bad\n"]) + &chunked(&["good\n", "fine\n"]);
    let events = joined(&named, [both.as_bytes()]);
    assert!(matches!(
        &events[..2],
        [
            Event::Part(Part { id: Some(0), count: 1, .. }),
            Event::Done(Answer { id: 0, expected: Err(Mismatch::ErrorEvent(1)), .. }),
        ]
    ));
    assert!(matches!(
        &events[2..],
        [
            Event::Part(Part { id: Some(1), count: 2, .. }),
            Event::Done(Answer { id: 1, expected: Ok(()), .. }),
        ]
    ));
}

#[test]
fn other_responses_have_no_events() {
    let ended = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Ndjson) };
    let refused = b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\n1\n2\n3\n";
    let events = joined(&ended, [&refused[..]]);
    assert_eq!(outcome(&events), Some(&Err(Mismatch::Status(500))));
    assert!(!events.iter().any(|event| matches!(event, Event::Part(_))));
}

#[test]
fn an_event_beyond_the_bound_is_a_failure_by_name() {
    let ended = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Sse) };
    let mut session = started(&ended, 1);
    feed(&mut session, b"HTTP/1.1 200 OK\r\n\r\ndata: fine\n\ndata: ");
    let events = feed(&mut session, &vec![b'x'; MOST_TEXT_BYTES + 1]);
    let failure = Failure::NotKept(NotKept::Event(MOST_TEXT_BYTES));
    assert_eq!(events, [Event::Failed { id: Some(0), failure }]);
    assert_eq!(feed(&mut session, b"more"), []);
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        chunks in proptest::collection::vec(
            proptest::sample::select(vec![
                "data: a\n\n", "data:", "x\n", "\n", "\r\n\r\n", ": ping\n\n", "event: error\ndata: b\n\n",
                "data: [DONE]\n\n", "{\"n\":3}\n",
            ]),
            0..8,
        ),
        form in proptest::sample::select(vec![StreamForm::Sse, StreamForm::Ndjson, StreamForm::Chunks]),
        broken in proptest::sample::select(vec!["", "zz\r\n"]),
        at in 0..200usize,
    ) {
        let asked = Streaming {
            error: Some("^event: error".to_owned()),
            end: Some("[DONE]".to_owned()),
            token: vec!["json:$.t".to_owned()],
            tokens: Some(Tokens::At("json:$.n".to_owned())),
            ..stream(form)
        };
        let mut body = chunked(&chunks);
        if !broken.is_empty() {
            body.truncate(body.len() - 5);
            body += broken;
        }
        let body = body.into_bytes();
        for stream in [asked, stream(form)] {
            let whole = joined(&stream, [&body[..]]);
            let (first, second) = body.split_at(at.min(body.len()));
            prop_assert_eq!(&joined(&stream, [first, second]), &whole);
            prop_assert_eq!(&joined(&stream, body.chunks(1)), &whole);
        }
    }
}
