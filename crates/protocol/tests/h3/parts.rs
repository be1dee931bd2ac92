//! Parts of responses: events of streams and messages of calls, with the times at which they came, and what ends them.

use candor_plan::{CallForm, Request, StatusSet, StreamForm, Streaming, Tokens};
use candor_protocol::expect::Mismatch;
use candor_protocol::grpc::{self, Limits};
use candor_protocol::h3::{self, Session, Settings};
use candor_protocol::parts::{MOST_TEXT_BYTES, Rules};
use candor_protocol::{CaptureRoom, Event, Failure, NotKept, Part, PartKind, Session as _};
use candor_record::ErrorKind;
use candor_testkit::h3::Server;
use proptest::prelude::*;

use crate::support::*;

/// Of which a server may have no more.
pub(crate) const IDLE_FRAMES: u32 = 50;
/// The server's window for a stream.
pub(crate) const WINDOW: usize = 3_000;

/// Two requests in flight, of a session that was asked of parts by `ask`; the server writes as the test says.
fn started(request: &Request, ask: impl FnOnce(&mut Session)) -> Pair {
    let change = |transport: &mut quinn_proto::TransportConfig| {
        transport.stream_receive_window((WINDOW as u32).into());
    };
    let server = Server::new(&["example.com"], &["h3"], change, |_, _| None);
    let limits = h3::Limits { idle_frames: IDLE_FRAMES, ..h3::Limits::default() };
    let settings = Settings { streams: 2, limits, ..Settings::default() };
    let mut session = session(only(&server), std::slice::from_ref(request), settings);
    ask(&mut session);
    let mut pair = Pair::new(session, server).ready();
    pair.request(0..2);
    pair.run_for(LATENCY_NS);
    pair
}

/// Requests with this body, for streams.
pub(crate) fn streaming_to(body: &[u8], stream: &Streaming) -> Pair {
    let mut request = plan_request("POST", &[], body);
    request.expect.status = StatusSet::below_400();
    request.stream = Some(stream.clone());
    started(&request, |session| {
        session.split(&Rules::table(std::slice::from_ref(&request), None).unwrap());
    })
}

pub(crate) fn streaming(stream: &Streaming) -> Pair {
    streaming_to(b"", stream)
}

pub(crate) fn called(limits: Limits, room: Option<&CaptureRoom>) -> Pair {
    called_with(b"\0\0\0\0\0", limits, room)
}

/// Calls with this body.
pub(crate) fn called_with(body: &[u8], limits: Limits, room: Option<&CaptureRoom>) -> Pair {
    let request = plan_request("POST", &candor_grpc::HEADERS, body);
    started(&request, |session| {
        session.calls(limits);
        if let Some(room) = room {
            session.capture(room);
        }
    })
}

impl Pair {
    /// The server writes this on a stream of the client's, and the client reads it.
    pub(crate) fn written(&mut self, stream: u64, bytes: &[u8]) -> Vec<Event> {
        self.server.connection().write(stream, bytes);
        self.run_for(LATENCY_NS);
        self.take_events()
    }

    /// The same, and the stream ends.
    pub(crate) fn ended(&mut self, stream: u64, bytes: &[u8]) -> Vec<Event> {
        self.server.connection().write(stream, bytes);
        self.server.connection().finish(stream);
        self.run_for(LATENCY_NS);
        self.take_events()
    }
}

pub(crate) fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, &section(&[&[(":status", "200")], fields].concat()))
}

pub(crate) fn data(bytes: &[u8]) -> Vec<u8> {
    frame(DATA, bytes)
}

fn part(id: u32, kind: PartKind, count: u32, bytes: u64, tokens: u32) -> Event {
    Event::Part(Part { id: Some(id), kind, bytes, count, tokens })
}

fn event(id: u32, count: u32, bytes: u64) -> Event {
    part(id, PartKind::Event, count, bytes, 0)
}

fn message(id: u32, count: u32, bytes: u64) -> Event {
    part(id, PartKind::Message, count, bytes, 0)
}

/// What became of a request.
pub(crate) fn outcome(events: &[Event], of: u32) -> Option<Result<(), Mismatch>> {
    events.iter().find_map(|event| match event {
        Event::Done(answer) if answer.id == of => Some(answer.expected),
        _ => None,
    })
}

#[test]
fn each_event_has_the_time_of_its_datagram() {
    let tokens = Streaming { tokens: Some(Tokens::Events), ..Streaming::new(StreamForm::Sse) };
    let mut pair = streaming(&tokens);
    let begin_ns = pair.now_ns;
    pair.server.connection().write(0, &head(&[]));
    pair.run_for(3 * MS);
    pair.server.connection().write(0, &data(b"data: a\n\nda"));
    pair.run_for(4 * MS);
    let both = [data(b"ta: bc\n"), data(b"\ndata: d\n\n")].concat();
    pair.server.connection().write(0, &both);
    pair.run_for(5 * MS);
    pair.server.connection().finish(0);
    pair.run_for(2 * LATENCY_NS);
    let at = |ms: u64| begin_ns + LATENCY_NS + ms * MS;
    let told = |count, bytes| part(0, PartKind::Event, count, bytes, count);
    assert_eq!(
        pair.events,
        [
            (at(0), Event::FirstByte(0)),
            (at(3), told(1, 1)),
            (at(7), told(2, 3)),
            (at(12), Event::Tokens { id: 0, output: Some(3), input: None }),
            (at(12), done(0, 200, 28)),
        ]
    );
    // The other one is open still, and the place of this one is free.
    assert_eq!(pair.client.free_places(), 1);
}

#[test]
fn each_data_frame_with_a_payload_is_a_chunk() {
    let mut pair = streaming(&Streaming::new(StreamForm::Chunks));
    assert_eq!(pair.written(0, &head(&[])), [Event::FirstByte(0)]);
    let frames = [data(b"a"), data(b""), data(b"bc")].concat();
    let (whole, cut) = (&frames[..], data(b"cut"));
    assert_eq!(pair.written(0, whole), [event(0, 1, 1), event(0, 1, 2)]);
    assert_eq!(pair.written(0, &cut[..3]), []);
    assert_eq!(pair.written(0, &cut[3..]), [event(0, 1, 3)]);
    let trailers = frame(HEADERS, &section(&[("a", "b")]));
    assert_eq!(pair.ended(0, &trailers), [done(0, 200, 6)]);
}

#[test]
fn a_stream_without_its_end_is_not_the_expected_one() {
    let ended = Streaming { end: Some("end".to_owned()), ..Streaming::new(StreamForm::Ndjson) };
    let mut pair = streaming(&ended);
    let events = pair.ended(0, &[head(&[]), data(b"1\nend\n")].concat());
    assert_eq!(outcome(&events, 0), Some(Ok(())));
    let events = pair.ended(4, &[head(&[]), data(b"1\n2")].concat());
    assert_eq!(outcome(&events, 1), Some(Err(Mismatch::Unended(2))));
    assert_eq!(events[1..3], [event(1, 1, 1), event(1, 1, 1)], "the last line needs no end");
}

#[test]
fn an_event_beyond_the_bound_fails_its_request_alone() {
    let ended = Streaming { end: Some("end".to_owned()), ..Streaming::new(StreamForm::Sse) };
    let mut pair = streaming(&ended);
    let long = [&b"data: a\n\ndata:"[..], &[b'x'; MOST_TEXT_BYTES + 1]].concat();
    pair.server.connection().write(0, &[head(&[]), data(&long)].concat());
    pair.run_for(20 * LATENCY_NS);
    let failure = Failure::NotKept(NotKept::Event(MOST_TEXT_BYTES));
    let wanted = [Event::FirstByte(0), event(0, 1, 1), failed(0, failure)];
    assert_eq!(pair.take_events(), wanted);
    assert_eq!(pair.server.connection().given_up, [(0, 0x10c)]);
    let events = pair.ended(4, &[head(&[]), data(b"data: end\n\n")].concat());
    assert_eq!(outcome(&events, 1), Some(Ok(())));
}

#[test]
fn calls_are_what_their_status_says() {
    let grpc = [("content-type", "application/grpc+proto")];
    let framed = candor_grpc::framed;
    let mut pair = called(Limits::default(), None);
    let begin = [head(&grpc), data(&framed(b"hello")), data(&framed(b"")[..3])].concat();
    assert_eq!(pair.written(0, &begin), [Event::FirstByte(0), message(0, 1, 5)]);
    assert_eq!(pair.written(0, &data(&framed(b"")[3..])), [message(0, 1, 0)]);
    let trailers = |fields: &[(&str, &str)]| frame(HEADERS, &section(fields));
    assert_eq!(pair.ended(0, &trailers(&[("grpc-status", "0")])), [done(0, 200, 15)]);
    // Trailers alone, with the server's words.
    let alone = [&grpc[..], &[("grpc-status", "5"), ("grpc-message", "no%20stock")]].concat();
    let failure = |kind, message: &str| Failure::Call { kind, message: message.into() };
    let wanted = [Event::FirstByte(1), failed(1, failure(ErrorKind::GrpcNotFound, "no stock"))];
    assert_eq!(pair.ended(4, &head(&alone)), wanted);

    let mut pair = called(Limits::default(), None);
    let whole = [head(&grpc), data(&framed(b"m"))].concat();
    let events = pair.ended(0, &whole);
    assert_eq!(events[2], failed(0, failure(ErrorKind::GrpcNoStatus, "")));
    pair.written(4, &whole);
    pair.server.connection().reset(4, 0x10c);
    pair.run_for(LATENCY_NS);
    let reset = "the server reset the stream: H3_REQUEST_CANCELLED (0x10c)";
    assert_eq!(pair.take_events(), [failed(1, failure(ErrorKind::GrpcCancelled, reset))]);
}

/// The status is in the last frame of the body, or the body is the message.
#[test]
fn calls_of_the_web_are_read_as_over_http_2() {
    let web = Limits { form: CallForm::GrpcWeb, ..Limits::default() };
    let mut pair = called(web, None);
    let end = [&[0x80, 0, 0, 0, 16][..], b"grpc-status: 0\r\n"].concat();
    let head_of = |kind: &str| head(&[("content-type", kind)]);
    let body = [candor_grpc::framed(b"hello"), end].concat();
    let whole = [head_of("application/grpc-web+proto"), data(&body)].concat();
    assert_eq!(pair.ended(0, &whole), [Event::FirstByte(0), message(0, 1, 5), done(0, 200, 31)]);
    let connect = Limits { form: CallForm::Connect, one_message: true, ..Limits::default() };
    let mut pair = called(connect, None);
    let whole = [head_of("application/proto"), data(b"abc")].concat();
    assert_eq!(pair.ended(0, &whole), [Event::FirstByte(0), message(0, 1, 3), done(0, 200, 3)]);
}

#[test]
fn a_wrong_message_fails_its_call_alone() {
    let grpc = [("content-type", "application/grpc")];
    let mut pair = called(Limits { max_message_bytes: 4, ..Limits::default() }, None);
    let long = [candor_grpc::framed(b"abc"), candor_grpc::framed(b"hello")].concat();
    let failure = Failure::Malformed(grpc::Error::MessageTooLong(5).into());
    let events = pair.written(0, &[head(&grpc), data(&long)].concat());
    assert_eq!(events, [Event::FirstByte(0), message(0, 1, 3), failed(0, failure)]);
    pair.run_for(LATENCY_NS);
    assert_eq!(pair.server.connection().given_up, [(0, 0x10c)]);
    let rest = frame(HEADERS, &section(&[("grpc-status", "0")]));
    let events = pair.ended(4, &[head(&grpc), data(b"\0\0\0\0\x01a"), rest].concat());
    assert_eq!(outcome(&events, 1), Some(Ok(())));
}

/// A call that failed by its status keeps nothing, so that the next one does not get its response.
#[test]
fn what_is_kept_of_calls_belongs_to_them() {
    let grpc = [("content-type", "application/grpc")];
    let room = CaptureRoom::new(100, 4);
    let mut pair = called(Limits::default(), Some(&room));
    let call = |text: &[u8], status: &str| {
        let trailers = frame(HEADERS, &section(&[("grpc-status", status)]));
        [head(&grpc), data(&candor_grpc::framed(text)), trailers].concat()
    };
    pair.ended(0, &call(b"bad", "13"));
    assert!(pair.client.take_captured().is_none());
    pair.ended(4, &call(b"good", "0"));
    let kept = pair.client.take_captured().unwrap();
    assert_eq!(kept.get().body, candor_grpc::framed(b"good"));
    drop((kept, pair));
    assert_eq!(room.held_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However the bytes of a stream are cut into datagrams, its parts and its outcome are the same.
    #[test]
    fn pieces_make_no_difference(
        contents in prop::collection::vec(
            prop::sample::select(vec![
                "data: a\n\n", "data:", "x\n", "\n", "\r\n\r\n", ": ping\n\n",
                "event: error\ndata: b\n\n", "", "data: [DONE]\n\n", "{\"n\":3}\n",
            ]),
            0..8,
        ),
        form in prop::sample::select(vec![StreamForm::Sse, StreamForm::Ndjson, StreamForm::Chunks]),
        cut in 1..40usize,
    ) {
        let asked = Streaming {
            error: Some("^event: error".to_owned()),
            end: Some("[DONE]".to_owned()),
            token: vec!["json:$.t".to_owned()],
            tokens: Some(Tokens::At("json:$.n".to_owned())),
            ..Streaming::new(form)
        };
        let mut body = head(&[]);
        contents.iter().for_each(|content| body.extend(data(content.as_bytes())));
        let run = |cut: usize| {
            let mut pair = streaming(&asked);
            let mut events = Vec::new();
            for piece in body.chunks(cut) {
                events.extend(pair.written(0, piece));
            }
            events.extend(pair.ended(0, b""));
            let mut sum = (0, 0, 0);
            events.retain(|event| match event {
                Event::Part(Part { count, bytes, tokens, .. }) => {
                    sum = (sum.0 + count, sum.1 + bytes, sum.2 + tokens);
                    false
                }
                _ => true,
            });
            (sum, events)
        };
        prop_assert_eq!(run(cut), run(usize::MAX));
    }
}
