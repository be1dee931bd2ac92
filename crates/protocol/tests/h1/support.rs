//! Drives sessions: requests in, pieces of input in, all events out.

use std::num::NonZeroU16;
use std::sync::Arc;

use candor_plan::BodyExpect;
use candor_protocol::h1::{Error, Limits, Prepared, Session, prepare};
use candor_protocol::{
    Abilities, Answer, Deviations, Event, Failure, Input, Last, Outgoing, Session as _,
};
pub(crate) use candor_testkit::plans::request as plan_request;

pub(crate) fn prepared(method: &str, headers: &[(&str, &str)]) -> Prepared {
    prepare(&plan_request(method, headers, b""), "example")
}

/// A GET whose answer must have this body.
pub(crate) fn get_expecting(body: &[u8]) -> Prepared {
    let mut request = plan_request("GET", &[], b"");
    request.expect.body = BodyExpect::Exact(body.into());
    prepare(&request, "example")
}

/// A session on a connection that was just established.
pub(crate) fn fresh(table: Arc<[Prepared]>, pipeline: u32, limits: Limits) -> Session {
    let mut session = Session::new(table, pipeline, limits);
    let abilities = Abilities { multiplexes: false, takes_made: true };
    assert_eq!(events(&mut session), [Event::Ready(abilities)]);
    session
}

/// All events that need no input.
pub(crate) fn events(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// A session with each of `requests` handed in (ids from 0) and written.
pub(crate) fn started(requests: &[Prepared], limits: Limits) -> Session {
    let table: Arc<[Prepared]> = requests.into();
    let bytes = table.iter().map(|request| request.head.len() + request.body.len()).sum();
    let mut session = fresh(table, requests.len() as u32, limits);
    for index in 0..requests.len() as u32 {
        session.handle_request(index, Outgoing::Listed(index));
    }
    session.handle_transmitted(0, bytes, &mut |_| {});
    session
}

/// All events of one piece of input.
pub(crate) fn feed(session: &mut Session, input: &[u8]) -> Vec<Event> {
    feed_at(session, 0, input)
}

/// The same, at a time.
pub(crate) fn feed_at(session: &mut Session, now_ns: u64, input: &[u8]) -> Vec<Event> {
    let mut input = Input::Stream(input);
    let mut events = Vec::new();
    while let Some(event) = session.handle_input(now_ns, &mut input) {
        events.push(event);
    }
    assert!(input.bytes().is_empty(), "a session without events must have consumed its input");
    events
}

/// All events of the end of the connection.
pub(crate) fn end(session: &mut Session) -> Vec<Event> {
    session.handle_end();
    events(session)
}

/// All events of `pieces` and, after them, of the end of the connection.
pub(crate) fn run<'a>(
    requests: &[Prepared],
    limits: Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Event> {
    let mut session = started(requests, limits);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(feed(&mut session, piece));
    }
    events.extend(end(&mut session));
    events
}

/// The events of an answer to one request, whole, without the end of the connection.
pub(crate) fn answer_to(request: &Prepared, input: &[u8]) -> Vec<Event> {
    feed(&mut started(std::slice::from_ref(request), Limits::default()), input)
}

/// The events of an answer to a GET.
pub(crate) fn answer(input: &str) -> Vec<Event> {
    answer_to(&prepared("GET", &[]), input.as_bytes())
}

/// What `input`, as the answer to a GET, is refused for.
pub(crate) fn refused(input: &[u8]) -> Error {
    let events = answer_to(&prepared("GET", &[]), input);
    let error = match events.last() {
        Some(Event::Failed { id: Some(0), failure: Failure::Malformed(error) }) => error.get(),
        _ => None,
    };
    let Some(error) = error else {
        panic!("{:?} was not refused: {events:?}", String::from_utf8_lossy(input));
    };
    *error
}

/// First byte and completion of a right answer to request 0.
pub(crate) fn complete(status: u16, body_bytes: u64, last: bool) -> Vec<Event> {
    answered(0, status, body_bytes, last).into()
}

/// First byte and completion of a right answer.
pub(crate) fn answered(id: u32, status: u16, body_bytes: u64, last: bool) -> [Event; 2] {
    deviating(id, status, body_bytes, Deviations::default(), last)
}

/// The same of an answer that the RFC forbids and has clients read.
pub(crate) fn deviating(
    id: u32,
    status: u16,
    body_bytes: u64,
    deviations: Deviations,
    last: bool,
) -> [Event; 2] {
    let expected = Ok(());
    let last = if last { Last::ByPeer } else { Last::No };
    let status = NonZeroU16::new(status);
    let answer = Answer { id, status, body_bytes, expected, deviations, last };
    [Event::FirstByte(id), Event::Done(answer)]
}

/// Header fields that are folded.
pub(crate) const FOLDED: Deviations = Deviations { folded: true, not_chunked_last: false };
/// A body that ends with the connection, because of its transfer coding.
pub(crate) const NOT_CHUNKED_LAST: Deviations =
    Deviations { folded: false, not_chunked_last: true };

pub(crate) fn closed(id: u32) -> Event {
    Event::Failed { id: Some(id), failure: Failure::Closed }
}

pub(crate) fn truncated(id: u32) -> Event {
    Event::Failed { id: Some(id), failure: Failure::Truncated }
}

pub(crate) fn unasked() -> Event {
    Event::Failed { id: None, failure: Failure::Malformed(Error::AnswerWithoutRequest.into()) }
}
