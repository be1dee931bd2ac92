//! HTTP/1.1: responses, chunks, and requests that a script made.

use std::num::NonZeroU16;
use std::sync::Arc;

use candor_plan::{BodyExpect, Delivery, Expect, Request, StatusSet};
use candor_protocol::h1::{Limits, Prepared, Session, prepare};
use candor_protocol::made::Batch;
use candor_protocol::{CaptureRoom, Codings, Event, Input, Keep, Outgoing, Session as _};

use crate::pieces::cuts;

/// A request that expects any response.
pub(crate) fn request(method: &str, body: &[u8]) -> Request {
    Request {
        target: 0,
        name: method.to_owned(),
        method: method.to_owned(),
        path: "/".to_owned(),
        headers: vec![],
        body: body.into(),
        delivery: Delivery::default(),
        expect: Expect { status: StatusSet { ranges: vec![(100, 999)] }, body: BodyExpect::Any },
        stream: None,
        weight: 1,
        holes: false,
        literal_body: false,
        call: None,
        reply: None,
        redacted: None,
    }
}

/// All events of these pieces and of the end of the connection, for two requests in flight.
fn events(methods: [&str; 2], pieces: &[&[u8]]) -> Vec<Event> {
    let table: Arc<[Prepared]> =
        methods.map(|method| prepare(&request(method, b""), "example")).into();
    let bytes = table.iter().map(|one| one.head.len() + one.body.len()).sum();
    let mut session = Session::new(table, 2, Limits::default());
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(1));
    session.handle_transmitted(0, bytes, &mut |_| {});
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = Input::Stream(piece);
        while let Some(event) = session.handle_input(0, &mut input) {
            events.push(event);
        }
        assert!(input.bytes().is_empty(), "a session without events has consumed its input");
    }
    session.handle_end();
    events.extend(std::iter::from_fn(|| session.poll_event()));
    events
}

/// The first byte chooses the requests, the others are the server's bytes.
pub(crate) fn response(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let methods = [["GET", "GET"], ["HEAD", "GET"], ["POST", "HEAD"]][usize::from(*choice) % 3];
    let [whole, single, some] = cuts(bytes).map(|pieces| events(methods, &pieces));
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
    let outcomes = |id| {
        whole.iter().filter(move |event| match event {
            Event::Done(answer) => answer.id == id,
            Event::RequestFailed { id: of, .. } => *of == id,
            Event::Failed { id: of, .. } => *of == Some(id),
            _ => false,
        })
    };
    for id in 0..2 {
        assert!(outcomes(id).count() <= 1, "one outcome for each request: {whole:?}");
    }
    agree_with_httparse(bytes, &whole);
}

/// Where both read a first response that is final, they read the same status.
fn agree_with_httparse(bytes: &[u8], events: &[Event]) {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut fields);
    let Ok(httparse::Status::Complete(_)) = head.parse(bytes) else { return };
    let (Some(code), Some(Event::Done(first))) = (
        head.code.filter(|code| *code >= 200),
        events.iter().find(|event| matches!(event, Event::Done(_) | Event::Failed { .. })),
    ) else {
        return;
    };
    assert_eq!(first.status.map_or(0, NonZeroU16::get), code);
}

/// A chunked body: the data, cut in any way, and as httparse counts it.
pub(crate) fn chunks(bytes: &[u8]) {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let whole_input = [&head[..], bytes].concat();
    let done = |pieces: &[&[u8]]| events(["GET", "GET"], pieces);
    let [whole, single, some] = cuts(&whole_input).map(|pieces| done(&pieces));
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
    if let Some(Event::Done(answer)) = whole.get(1)
        && let Some(length) = body_by_httparse(bytes)
    {
        assert_eq!(answer.body_bytes, length);
    }
}

/// The first byte chooses a content coding, the others are the body: what it decodes to, and what is wrong with it, is
/// the same however it is cut, and within a bound.
pub(crate) fn codings(bytes: &[u8]) {
    const MOST_BYTES: usize = 64 << 10;
    let [choice, body @ ..] = bytes else { return };
    let coding = ["gzip", "br", "zstd"][usize::from(*choice) % 3];
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n"
    );
    let decoded = |pieces: &[&[u8]]| {
        let room = CaptureRoom::for_requests([Keep::Whole].into(), Codings::Decoded, MOST_BYTES, 2);
        let mut session =
            Session::new([prepare(&request("GET", b""), "example")].into(), 1, Limits::default());
        session.capture(&room);
        session.handle_request(0, Outgoing::Listed(0));
        session.handle_transmitted(0, MOST_BYTES, &mut |_| {});
        let mut events = Vec::new();
        for piece in pieces {
            let mut input = Input::Stream(piece);
            while let Some(event) = session.handle_input(0, &mut input) {
                events.push(event);
            }
        }
        let last = events.pop().expect("the response is complete, or given up");
        let capture = session.take_captured();
        let kept = capture.as_ref().map_or(&b""[..], |capture| capture.get().body);
        assert!(kept.len() <= MOST_BYTES && room.held_bytes() <= 4 * MOST_BYTES);
        // How much of a damaged body was decoded depends on how it came.
        let is_right = matches!(&last, Event::Done(answer) if answer.expected.is_ok());
        let kept = is_right.then(|| kept.to_vec());
        (last, kept)
    };
    let [whole, single, some] = cuts(&[head.as_bytes(), body].concat()).map(|all| decoded(&all));
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
}

fn body_by_httparse(mut bytes: &[u8]) -> Option<u64> {
    let mut sum = 0;
    loop {
        let Ok(httparse::Status::Complete((at, size))) = httparse::parse_chunk_size(bytes) else {
            return None;
        };
        if size == 0 {
            return Some(sum);
        }
        sum += size;
        bytes = bytes.get(at..)?.get(usize::try_from(size).ok()?..)?;
        bytes = bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n"))?;
    }
}

/// The text that a script returns: its requests are the text, and httparse reads their heads.
pub(crate) fn made(bytes: &[u8]) {
    let mut batch = Batch::new(0);
    if batch.fill(bytes).is_err() {
        assert_eq!(batch.left(), 0);
        return;
    }
    let all = batch.left();
    assert!(all > 0);
    let mut bodies = 0;
    for _ in 0..all {
        let Some(one) = batch.take() else { panic!("a request that was announced") };
        assert!(!one.method().is_empty() && !one.path().is_empty());
        assert!(one.fields().all(|(name, _)| !name.is_empty()));
        bodies += one.body().len();
        let _ = (one.closes(), one.upgrades());
    }
    assert!(batch.take().is_none() && bodies <= bytes.len());
    // The same text again is the same requests.
    assert_eq!(batch.fill(bytes), Ok(()));
    assert_eq!(batch.left(), all);
}
