//! Streams of events over HTTP/2: the same events whatever the pieces, before the outcome of their response.

use candor_plan::{StatusSet, StreamForm, Streaming, Tokens};
use candor_protocol::expect::Mismatch;
use candor_protocol::h2::{Session, Settings, prepare};
use candor_protocol::parts::{MOST_TEXT_BYTES, Rules};
use candor_protocol::{Answer, Event, Failure, NotKept, Outgoing, Part, PartKind, Session as _};
use proptest::prelude::*;

use super::support::*;

fn stream(form: StreamForm) -> Streaming {
    Streaming::new(form)
}

/// Two GETs in flight whose responses are streams.
fn started(stream: &Streaming) -> Session {
    let mut request = plan_request("GET", &[], b"");
    request.expect.status = StatusSet::below_400();
    request.stream = Some(stream.clone());
    let settings = Settings { streams: 2, ..Settings::default() };
    let mut session = ready_with(&[prepare(&request, "http", "example")], settings);
    session.split(&Rules::table(&[request], None).unwrap());
    for id in 0..2 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    session
}

fn part(id: u32, count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(id), kind: PartKind::Event, bytes, count, tokens: 0 })
}

/// The same where each event is a token.
fn tokens(id: u32, count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(id), kind: PartKind::Event, bytes, count, tokens: count })
}

/// What became of a request.
fn outcome(events: &[Event], of: u32) -> Option<Result<(), Mismatch>> {
    events.iter().find_map(|event| match event {
        Event::Done(Answer { id, expected, .. }) if *id == of => Some(*expected),
        _ => None,
    })
}

#[test]
fn streams_share_a_connection_and_have_their_own_events() {
    let asked = Streaming {
        error: Some("bad".to_owned()),
        tokens: Some(Tokens::Events),
        ..stream(StreamForm::Sse)
    };
    let mut session = started(&asked);
    assert_eq!(feed(&mut session, &headers(1, OK)), [Event::FirstByte(0)]);
    assert_eq!(feed(&mut session, &headers(3, OK)), [Event::FirstByte(1)]);
    let mixed = [data(1, b"data: a\n"), data(3, b"data: bad\n\ndata"), data(1, b"\n")].concat();
    assert_eq!(feed(&mut session, &mixed), [tokens(1, 1, 3), tokens(0, 1, 1)]);
    let rest = [last_data(3, b": c\n\n"), last_data(1, b"data: dd\n\n")].concat();
    let events = feed(&mut session, &rest);
    assert_eq!(
        events[..2],
        [tokens(1, 1, 1), Event::Tokens { id: 1, output: Some(2), input: None }]
    );
    assert_eq!(
        events[3..5],
        [tokens(0, 1, 2), Event::Tokens { id: 0, output: Some(2), input: None }]
    );
    assert_eq!(outcome(&events, 1), Some(Err(Mismatch::ErrorEvent(1))));
    assert_eq!(outcome(&events, 0), Some(Ok(())));
    assert_eq!(session.outstanding(), 0);
}

#[test]
fn each_data_frame_with_a_payload_is_a_chunk() {
    let mut session = started(&stream(StreamForm::Chunks));
    feed(&mut session, &headers(1, OK));
    let padded = frame(DATA, PADDED, 1, b"\x02cc\0\0");
    let frames = [data(1, b"a"), data(1, b""), padded, frame(DATA, PADDED, 1, b"\x01\0")].concat();
    let events = feed(&mut session, &frames);
    assert_eq!(events, [part(0, 1, 1), part(0, 1, 2)]);
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &literal("a", "b"));
    let events = feed(&mut session, &trailers);
    assert_eq!((events.len(), outcome(&events, 0)), (1, Some(Ok(()))));
}

#[test]
fn a_stream_without_its_end_is_not_the_expected_one() {
    let ended = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Ndjson) };
    let mut session = started(&ended);
    let both = [headers(1, OK), headers(3, OK), last_data(1, b"1\nend\n"), last_data(3, b"1\n2")];
    let events = feed(&mut session, &both.concat());
    assert_eq!(outcome(&events, 0), Some(Ok(())));
    assert_eq!(outcome(&events, 1), Some(Err(Mismatch::Unended(2))));
    assert!(events.contains(&part(1, 2, 2)), "the last line needs no end: {events:?}");
    // A response without a body has no end either.
    let mut session = started(&ended);
    let events = feed(&mut session, &empty_answer(1, OK));
    assert_eq!(events[0], Event::FirstByte(0));
    assert_eq!(outcome(&events, 0), Some(Err(Mismatch::Unended(0))));
}

#[test]
fn an_event_beyond_the_bound_fails_its_request_alone() {
    let ended = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Sse) };
    let mut session = started(&ended);
    feed(&mut session, &headers(1, OK));
    let piece = data(1, &[b"data:", &[b'x'; 16_000][..]].concat());
    let more = data(1, &[b'x'; 16_000]);
    let mut events = feed(&mut session, &piece);
    for _ in 0..4 {
        events.extend(feed(&mut session, &more));
    }
    let failure = Failure::NotKept(NotKept::Event(MOST_TEXT_BYTES));
    assert_eq!(events, [Event::RequestFailed { id: 0, failure }]);
    assert_eq!(session.outstanding(), 1);
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        contents in proptest::collection::vec(
            proptest::sample::select(vec![
                "data: a\n\n", "data:", "x\n", "\n", "\r\n\r\n", ": ping\n\n", "event: error\ndata: b\n\n", "",
                "data: [DONE]\n\n", "{\"n\":3}\n",
            ]),
            0..8,
        ),
        form in proptest::sample::select(vec![StreamForm::Sse, StreamForm::Ndjson, StreamForm::Chunks]),
        at in 0..200usize,
    ) {
        let asked = Streaming {
            error: Some("^event: error".to_owned()),
            end: Some("[DONE]".to_owned()),
            token: vec!["json:$.t".to_owned()],
            tokens: Some(Tokens::At("json:$.n".to_owned())),
            ..stream(form)
        };
        let mut body = headers(1, OK);
        for content in contents {
            body.extend(data(1, content.as_bytes()));
        }
        body.extend(last_data(1, b""));
        let run = |stream: &Streaming, pieces: Vec<&[u8]>| {
            let mut session = started(stream);
            let events: Vec<Event> =
                pieces.into_iter().flat_map(|piece| feed(&mut session, piece)).collect();
            let parts = events.iter().filter_map(|event| match event {
                Event::Part(Part { count, bytes, tokens, .. }) => {
                    Some((u64::from(*count), *bytes, *tokens))
                }
                _ => None,
            });
            let parts = parts.fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
            let others = events.into_iter().filter(|event| !matches!(event, Event::Part(_)));
            (parts, others.collect::<Vec<_>>())
        };
        for stream in [asked, stream(form)] {
            let whole = run(&stream, vec![&body[..]]);
            let (first, second) = body.split_at(at.min(body.len()));
            prop_assert_eq!(&run(&stream, vec![first, second]), &whole);
            prop_assert_eq!(&run(&stream, body.chunks(1).collect()), &whole);
        }
    }
}
