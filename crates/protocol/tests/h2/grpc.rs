//! Calls of gRPC, against peers scripted to the byte.

use candor_grpc::{framed as message, messages};
use candor_plan::CallForm;
use candor_protocol::expect::Mismatch;
use candor_protocol::grpc::{Error, Limits};
use candor_protocol::h2::{Session, Settings};
use candor_protocol::{
    Answer, Deviations, Event, Failure, Last, Outgoing, Part, PartKind, Session as _,
};
use candor_record::ErrorKind;
use proptest::prelude::*;

use crate::support::*;

/// A session with one call sent, on stream 1.
fn called(limits: Limits) -> Session {
    let request = plan_request("POST", &candor_grpc::HEADERS, b"\0\0\0\0\0");
    let request = candor_protocol::h2::prepare(&request, "http", "example");
    let mut session = session(&[request], Settings { streams: 8, ..Settings::default() });
    session.calls(limits);
    transmit(&mut session);
    assert_eq!(feed(&mut session, &frame(SETTINGS, 0, 0, b"")), [READY]);
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    session
}

/// What is said of the call, parts of one kind added up: whole and byte by byte.
fn said_with(limits: Limits, input: &[u8]) -> Vec<Event> {
    let whole = added_up(feed(&mut called(limits), input));
    let mut session = called(limits);
    let single = input.iter().flat_map(|byte| feed(&mut session, &[*byte])).collect();
    assert_eq!(whole, added_up(single), "whole and byte by byte");
    whole
}

fn added_up(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    for event in events {
        match (all.last_mut(), event) {
            (Some(Event::Part(sum)), Event::Part(part)) if sum.id == part.id => {
                sum.bytes += part.bytes;
                sum.count += part.count;
            }
            (_, event) => all.push(event),
        }
    }
    all
}

fn said(input: &[u8]) -> Vec<Event> {
    said_with(Limits::default(), input)
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| literal(name, value)).collect()
}

fn head() -> Vec<u8> {
    headers(1, &[OK, &block(&[("content-type", "application/grpc+proto")])].concat())
}

fn trailers(fields: &[(&str, &str)]) -> Vec<u8> {
    empty_answer(1, &block(fields))
}

fn ok() -> Vec<u8> {
    trailers(&[("grpc-status", "0"), ("grpc-message", "")])
}

fn part(count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(0), kind: PartKind::Message, bytes, count, tokens: 0 })
}

fn ended(status: u16, body_bytes: u64, expected: Result<(), Mismatch>) -> Event {
    let (deviations, last) = (Deviations::default(), Last::No);
    Event::Done(Answer {
        id: 0,
        status: status.try_into().ok(),
        body_bytes,
        expected,
        deviations,
        last,
    })
}

fn failed(kind: ErrorKind, message: &str) -> Event {
    Event::RequestFailed { id: 0, failure: Failure::Call { kind, message: message.into() } }
}

fn wrong(error: Error) -> Event {
    Event::RequestFailed { id: 0, failure: Failure::Malformed(error.into()) }
}

const FIRST: Event = Event::FirstByte(0);

#[test]
fn a_unary_call_is_ok_by_its_trailers() {
    let input = [head(), data(1, &message(b"hello")), ok()].concat();
    assert_eq!(said(&input), [FIRST, part(1, 5), ended(200, 10, Ok(()))]);
}

#[test]
fn messages_are_cut_out_of_frames_of_any_size() {
    let body = [message(b"a"), message(b""), message(&[7; 300]), message(b"zz")].concat();
    for size in [1, 4, 5, 6, 7, 100, 1000] {
        let frames: Vec<u8> = body.chunks(size).flat_map(|piece| data(1, piece)).collect();
        let input = [head(), frames, ok()].concat();
        assert_eq!(said(&input), [FIRST, part(4, 303), ended(200, 323, Ok(()))], "{size}");
    }
    assert_eq!(messages(&body), Some(vec![&b"a"[..], b"", &[7; 300], b"zz"]));
}

#[test]
fn parts_of_one_read_come_together_and_at_their_time() {
    let mut session = called(Limits::default());
    assert_eq!(feed(&mut session, &head()), [FIRST]);
    let three = [message(b"ab"), message(b"c"), message(b"")].concat();
    assert_eq!(feed(&mut session, &data(1, &three)), [part(3, 3)]);
    assert_eq!(feed(&mut session, &data(1, &message(b"half")[..7])), []);
    assert_eq!(feed(&mut session, &data(1, &message(b"half")[7..])), [part(1, 4)]);
    assert_eq!(feed(&mut session, &ok()), [ended(200, 27, Ok(()))]);
}

#[test]
fn every_status_has_its_name() {
    for code in 1..=16u8 {
        let kind = ErrorKind::of_grpc(code).unwrap();
        let fields =
            [("grpc-status", &*code.to_string()), ("grpc-message", "no%20stock: 100%25 %zz")];
        let input = [head(), trailers(&fields)].concat();
        assert_eq!(said(&input), [FIRST, failed(kind, "no stock: 100% %zz")]);
    }
    assert_eq!(ErrorKind::of_grpc(1), Some(ErrorKind::GrpcCancelled));
    assert_eq!(ErrorKind::of_grpc(14).unwrap().id(), "grpc-unavailable");
    assert_eq!(ErrorKind::of_grpc(16), Some(ErrorKind::GrpcUnauthenticated));
    assert_eq!((ErrorKind::of_grpc(0), ErrorKind::of_grpc(17)), (None, None));
    for beyond in ["17", "255", "999999999999999999999999"] {
        let input = [head(), trailers(&[("grpc-status", beyond)])].concat();
        assert_eq!(said(&input), [FIRST, failed(ErrorKind::GrpcUnknown, "")]);
    }
}

#[test]
fn a_message_of_the_servers_is_bounded_and_shown_safely() {
    let fields = [("grpc-message", "a%0d%1b%ff"), ("grpc-status", "5")];
    let input = [head(), trailers(&fields)].concat();
    let kind = ErrorKind::GrpcNotFound;
    assert_eq!(said(&input), [FIRST, failed(kind, "a\u{fffd}\u{fffd}\u{fffd}")]);
    // A name and a value longer than 126 bytes: by RFC 7541 5.1, 127 and 5,000 - 127 in groups of seven bits.
    let mut long = literal("grpc-status", "5");
    long.extend_from_slice(b"\0\x0cgrpc-message\x7f\x89\x26");
    long.extend_from_slice(&[b'x'; 5000]);
    let input = [head(), empty_answer(1, &long)].concat();
    assert_eq!(said(&input), [FIRST, failed(kind, &"x".repeat(1024))]);
}

#[test]
fn messages_of_statuses_do_not_stick() {
    let mut session = called(Limits::default());
    for text in ["one", "two"] {
        let stream = if text == "one" { 1 } else { 3 };
        let fields = block(&[
            ("content-type", "application/grpc"),
            ("grpc-status", "14"),
            ("grpc-message", text),
        ]);
        let input = empty_answer(stream, &[OK, &fields].concat());
        let expected = failed(ErrorKind::GrpcUnavailable, text);
        assert_eq!(feed(&mut session, &input), [FIRST, expected], "{text}");
        session.handle_request(0, Outgoing::Listed(0));
        transmit(&mut session);
    }
    let bare = empty_answer(
        5,
        &[OK, &block(&[("content-type", "application/grpc"), ("grpc-status", "14")])].concat(),
    );
    assert_eq!(feed(&mut session, &bare), [FIRST, failed(ErrorKind::GrpcUnavailable, "")]);
}

#[test]
fn the_same_trailers_again_are_the_same_status() {
    let mut session = called(Limits::default());
    for stream in [1, 3, 5, 7] {
        let mut head = head();
        head[8] = stream;
        let mut ok = ok();
        ok[8] = stream;
        let input = [head, data(stream.into(), &message(b"x")), ok].concat();
        assert_eq!(feed(&mut session, &input), [FIRST, part(1, 1), ended(200, 6, Ok(()))]);
        session.handle_request(0, Outgoing::Listed(0));
        transmit(&mut session);
    }
}

#[test]
fn trailers_only_are_a_status() {
    let fields =
        [("content-type", "application/grpc"), ("grpc-status", "12"), ("grpc-message", "no")];
    let input = empty_answer(1, &[OK, &block(&fields)].concat());
    assert_eq!(said(&input), [FIRST, failed(ErrorKind::GrpcUnimplemented, "no")]);
}

#[test]
fn a_missing_status_is_a_failure_of_its_own() {
    let none = failed(ErrorKind::GrpcNoStatus, "");
    let endings = [trailers(&[("x", "y")]), last_data(1, b"")];
    for ending in endings {
        let input = [head(), data(1, &message(b"m")), ending].concat();
        assert_eq!(said(&input), [FIRST, part(1, 1), none.clone()]);
    }
    let input = [head(), last_data(1, &message(b"m"))].concat();
    assert_eq!(said(&input), [FIRST, part(1, 1), none.clone()]);
    let only = empty_answer(1, &[OK, &block(&[("content-type", "application/grpc")])].concat());
    assert_eq!(said(&only), [FIRST, none]);
}

#[test]
fn statuses_of_http_are_mapped_where_there_is_no_other() {
    let table = [
        ("400", ErrorKind::GrpcInternal),
        ("401", ErrorKind::GrpcUnauthenticated),
        ("403", ErrorKind::GrpcPermissionDenied),
        ("404", ErrorKind::GrpcUnimplemented),
        ("429", ErrorKind::GrpcUnavailable),
        ("502", ErrorKind::GrpcUnavailable),
        ("503", ErrorKind::GrpcUnavailable),
        ("504", ErrorKind::GrpcUnavailable),
        ("500", ErrorKind::GrpcUnknown),
        ("302", ErrorKind::GrpcUnknown),
    ];
    for (status, kind) in table {
        let head = headers(1, &block(&[(":status", status), ("content-type", "text/html")]));
        // A page is not messages, whatever it looks like.
        let input = [head, last_data(1, b"<html>")].concat();
        let expected =
            failed(kind, &format!("the response is HTTP {status} without a grpc-status"));
        assert_eq!(said(&input), [FIRST, expected]);
    }
    let head = empty_answer(1, &block(&[(":status", "503"), ("grpc-status", "8")]));
    assert_eq!(said(&head), [FIRST, failed(ErrorKind::GrpcResourceExhausted, "")]);
}

#[test]
fn a_page_is_not_a_response_to_a_call() {
    for kind in ["text/html", "application/grpcx", "application/grp", "application/json"] {
        let head = headers(1, &[OK, &block(&[("content-type", kind)])].concat());
        let input = [head, last_data(1, b"<html>")].concat();
        assert_eq!(said(&input), [FIRST, wrong(Error::ContentType)], "{kind}");
    }
    let untyped = [headers(1, OK), last_data(1, b"\0\0\0\0\0")].concat();
    assert_eq!(said(&untyped), [FIRST, wrong(Error::NoContentType)]);
}

#[test]
fn lengths_that_lie_are_failures() {
    let limit = Limits { max_message_bytes: 10, ..Limits::default() };
    let at = [head(), data(1, &message(&[0; 10])), ok()].concat();
    assert_eq!(said_with(limit, &at), [FIRST, part(1, 10), ended(200, 15, Ok(()))]);
    for length in [11u32, 1 << 31, u32::MAX] {
        let body = [&b"\0"[..], &length.to_be_bytes()].concat();
        let input = [head(), data(1, &body)].concat();
        assert_eq!(said_with(limit, &input), [FIRST, wrong(Error::MessageTooLong(length))]);
    }
    // Too long for the body, cut in the prefix, cut before the content.
    for body in [&b"\0\0\0\0\x09abc"[..], b"\0\0", b"\0\0\0\0\x01"] {
        let input = [head(), data(1, body), ok()].concat();
        assert_eq!(said(&input), [FIRST, wrong(Error::CutMessage)]);
        assert_eq!(messages(body), None);
        // A status that says why comes first.
        let input = [head(), data(1, body), trailers(&[("grpc-status", "13")])].concat();
        let expected = failed(ErrorKind::GrpcInternal, "");
        assert_eq!(said(&input), [FIRST, expected]);
    }
}

#[test]
fn compression_that_was_not_offered_is_a_failure() {
    let body = b"\x01\0\0\0\x01x";
    let input = [head(), data(1, body)].concat();
    assert_eq!(said(&input), [FIRST, wrong(Error::CompressedWithoutEncoding)]);
    let with = |encoding| {
        let fields = block(&[("content-type", "application/grpc"), ("grpc-encoding", encoding)]);
        [headers(1, &[OK, &fields].concat()), data(1, body)].concat()
    };
    assert_eq!(said(&with("gzip")), [FIRST, wrong(Error::Compressed)]);
    assert_eq!(said(&with("identity")), [FIRST, wrong(Error::CompressedWithoutEncoding)]);
    for flag in [2, 0x80, 0xff] {
        let input = [head(), data(1, &[flag, 0, 0, 0, 0])].concat();
        assert_eq!(said(&input), [FIRST, wrong(Error::Flag(flag))]);
    }
}

#[test]
fn trailers_that_contradict_themselves_are_failures() {
    let table: [(&[(&str, &str)], Error); 7] = [
        (&[("grpc-status", "0"), ("grpc-status", "0")], Error::DoubledStatus),
        (&[("grpc-status", "0"), ("grpc-status", "5")], Error::DoubledStatus),
        (&[("grpc-status", "")], Error::Status),
        (&[("grpc-status", "OK")], Error::Status),
        (&[("grpc-status", "-1")], Error::Status),
        (&[("grpc-status", "0x0")], Error::Status),
        (&[("grpc-status", "x"), ("grpc-status", "0")], Error::Status),
    ];
    for (fields, error) in table {
        let input = [head(), data(1, &message(b"m")), trailers(fields)].concat();
        assert_eq!(said(&input), [FIRST, part(1, 1), wrong(error)], "{fields:?}");
    }
    // A status in front and one behind.
    let fields = block(&[("content-type", "application/grpc"), ("grpc-status", "0")]);
    let front = headers(1, &[OK, &fields].concat());
    assert_eq!(said(&[front.clone(), ok()].concat()), [FIRST, wrong(Error::DoubledStatus)]);
    // In front alone it is none.
    let input = [front, trailers(&[("x", "y")])].concat();
    assert_eq!(said(&input), [FIRST, failed(ErrorKind::GrpcNoStatus, "")]);
}

#[test]
fn trailers_twice_are_an_error_of_the_connection() {
    let input = [head(), ok(), ok()].concat();
    let error = candor_protocol::h2::Error::ClosedStream;
    let failure = Failure::Malformed(error.into());
    assert_eq!(said(&input), [FIRST, ended(200, 0, Ok(())), Event::Failed { id: None, failure }]);
}

#[test]
fn methods_with_one_message_have_exactly_one() {
    let limits = Limits { one_message: true, ..Limits::default() };
    let one = [head(), data(1, &message(b"m")), ok()].concat();
    assert_eq!(said_with(limits, &one), [FIRST, part(1, 1), ended(200, 6, Ok(()))]);
    assert_eq!(
        said_with(limits, &[head(), ok()].concat()),
        [FIRST, wrong(Error::NotOneMessage(0))]
    );
    let two = [head(), data(1, &message(b"m").repeat(2)), ok()].concat();
    assert_eq!(said_with(limits, &two), [FIRST, part(2, 2), wrong(Error::NotOneMessage(2))]);
    let failing = [head(), trailers(&[("grpc-status", "7")])].concat();
    let expected = failed(ErrorKind::GrpcPermissionDenied, "");
    assert_eq!(said_with(limits, &failing), [FIRST, expected]);
}

#[test]
fn grpc_web_and_connect_have_their_status_in_the_body() {
    let frame = |flag: u8, text: &str| {
        let mut frame = message(text.as_bytes());
        frame[0] = flag;
        frame
    };
    let last = |piece: &[u8]| {
        let mut frame = data(1, piece);
        frame[4] |= 1;
        frame
    };
    let head = |status: &[u8], kind: &str| {
        headers(1, &[status, &block(&[("content-type", kind)])].concat())
    };
    let web = Limits { one_message: true, form: CallForm::GrpcWeb, ..Limits::default() };
    let of_web = head(OK, "application/grpc-web+proto");
    let ok = [message(b"m"), frame(0x80, "grpc-status: 0\r\n")].concat();
    let input = [of_web.clone(), last(&ok)].concat();
    let length = ok.len() as u64;
    assert_eq!(said_with(web, &input), [FIRST, part(1, 1), ended(200, length, Ok(()))]);
    let input =
        [of_web.clone(), last(&frame(0x80, "grpc-status: 5\r\ngrpc-message: a\r\n"))].concat();
    assert_eq!(said_with(web, &input), [FIRST, failed(ErrorKind::GrpcNotFound, "a")]);
    let input = [of_web, data(1, &[0x81; 5])].concat();
    assert_eq!(said_with(web, &input), [FIRST, wrong(Error::Flag(0x81))]);
    let connect = Limits { form: CallForm::Connect, ..web };
    let input = [head(OK, "application/proto"), last(b"mm")].concat();
    assert_eq!(said_with(connect, &input), [FIRST, part(1, 2), ended(200, 2, Ok(()))]);
    let json = br#"{"code":"aborted","message":"b"}"#;
    let input = [head(&literal(":status", "409"), "application/json"), last(json)].concat();
    assert_eq!(said_with(connect, &input), [FIRST, failed(ErrorKind::GrpcAborted, "b")]);
    let streams = Limits { one_message: false, ..connect };
    let body = [message(b"m"), message(b"n"), frame(2, "{}")].concat();
    let input = [head(OK, "application/connect+proto"), last(&body)].concat();
    let length = body.len() as u64;
    assert_eq!(said_with(streams, &input), [FIRST, part(2, 2), ended(200, length, Ok(()))]);
}

#[test]
fn the_connection_goes_on_after_a_wrong_response() {
    let mut session = called(Limits::default());
    feed(&mut session, &[head(), data(1, &[9; 5])].concat());
    let told = frames(&transmit(&mut session));
    assert!(told.iter().any(|one| one.kind == RST_STREAM && one.stream == 1), "{told:?}");
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    // What the server goes on to send is swallowed.
    assert_eq!(feed(&mut session, &data(1, &message(b"late"))), []);
    let fields = block(&[("content-type", "application/grpc")]);
    let next =
        [headers(3, &[OK, &fields].concat()), empty_answer(3, &block(&[("grpc-status", "0")]))]
            .concat();
    assert_eq!(feed(&mut session, &next), [FIRST, ended(200, 0, Ok(()))]);
}

/// Most stacks send the message of the server's code as it is, with a blank where that ended in `": "`.
#[test]
fn a_message_may_have_blanks_at_its_ends() {
    for words in ["no stock: ", " no stock", "\tno stock\t"] {
        let fields = [("grpc-status", "5"), ("grpc-message", words)];
        let input = [head(), trailers(&fields)].concat();
        let shown = words.replace('\t', "\u{fffd}");
        assert_eq!(said(&input), [FIRST, failed(ErrorKind::GrpcNotFound, &shown)], "{words:?}");
    }
    // Other fields may not.
    let input = [head(), trailers(&[("grpc-status", "5"), ("x-a", "b ")])].concat();
    assert!(!matches!(
        &said(&input)[1],
        Event::RequestFailed { failure: Failure::Call { .. }, .. }
    ));
}

#[test]
fn a_status_before_a_message_is_none_and_a_missing_type_is_said() {
    let early = block(&[("content-type", "application/grpc"), ("grpc-status", "0")]);
    let input = [headers(1, &[OK, &early].concat()), last_data(1, &message(b"m"))].concat();
    let said = said(&input);
    assert_eq!(said.last(), Some(&failed(ErrorKind::GrpcNoStatus, "")));
}

#[test]
fn a_stream_that_breaks_off_is_what_http_says() {
    let input = [head(), data(1, &message(b"m")), number(RST_STREAM, 1, 2)].concat();
    let reset = "the server reset the stream: INTERNAL_ERROR (0x2)";
    assert_eq!(said(&input), [FIRST, part(1, 1), failed(ErrorKind::GrpcInternal, reset)]);
    for (code, kind) in [
        (0, ErrorKind::GrpcInternal),
        (7, ErrorKind::GrpcUnavailable),
        (8, ErrorKind::GrpcCancelled),
        (0xb, ErrorKind::GrpcResourceExhausted),
        (0xc, ErrorKind::GrpcPermissionDenied),
        (0xd, ErrorKind::GrpcUnknown),
    ] {
        let said = said(&[head(), number(RST_STREAM, 1, code)].concat());
        assert!(
            matches!(&said[1], Event::RequestFailed { failure: Failure::Call { kind: found, .. }, .. } if *found == kind)
        );
    }
    let mut session = called(Limits::default());
    feed(&mut session, &[head(), data(1, b"\0\0")].concat());
    let failure = Failure::Truncated;
    assert_eq!(end(&mut session), [Event::Failed { id: Some(0), failure }]);
}

proptest! {
    /// Any bytes of a body, in frames of any size: whole and byte by byte the same, and the same messages as those of
    /// the whole body.
    #[test]
    fn bodies_are_cut_the_same_way(
        bytes in prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => 0u8..3, 1 => any::<u8>()], 0..60),
        size in 1usize..20,
    ) {
        let frames: Vec<u8> = bytes.chunks(size).flat_map(|piece| data(1, piece)).collect();
        let limits = Limits { max_message_bytes: 1000, ..Limits::default() };
        let events = said_with(limits, &[head(), frames, ok()].concat());
        match (messages(&bytes), events.last()) {
            (Some(whole), Some(Event::Done(answer))) => {
                prop_assert_eq!(&answer.expected, &Ok(()));
                let sum = whole.iter().map(|one| one.len() as u64).sum();
                let count = whole.len() as u32;
                prop_assert!(count == 0 || events.contains(&part(count, sum)));
            }
            (None, Some(Event::RequestFailed { .. })) => {}
            (whole, last) => prop_assert!(false, "{:?} {:?}", whole, last),
        }
    }
}
