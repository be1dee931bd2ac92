//! Calls of gRPC-Web and Connect over HTTP/1.1, against responses written to the byte: whole and byte by byte the same.

use candor_grpc::{Codec, encode_text, framed as message};
use candor_plan::CallForm;
use candor_protocol::grpc::{Error, Limits};
use candor_protocol::h1::{Limits as OfHttp, Session, prepare};
use candor_protocol::{Event, Failure, Outgoing, Session as _};
use candor_record::ErrorKind;
use proptest::prelude::*;

use super::support::{end, feed, fresh, plan_request};

/// A session with two calls sent.
fn started(limits: Limits) -> Session {
    let request = plan_request("POST", &[], b"\0\0\0\0\0");
    let table = [prepare(&request, "example")];
    let bytes = 2 * (table[0].head.len() + table[0].body.len());
    let mut session = fresh(table.into(), 2, OfHttp::default());
    session.calls(limits);
    for id in 0..2 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    session.handle_transmitted(0, bytes, &mut |_| {});
    session
}

/// What is said of the calls that have a response, in words.
fn told(limits: Limits, pieces: &[&[u8]]) -> Vec<String> {
    let mut session = started(limits);
    let mut all: Vec<Event> = pieces.iter().flat_map(|piece| feed(&mut session, piece)).collect();
    all.extend(end(&mut session));
    let (mut count, mut bytes, mut words) = (0, 0, Vec::new());
    for event in all {
        match event {
            Event::Part(part) => (count, bytes) = (count + part.count, bytes + part.bytes),
            // The second call has no response, or its connection broke before.
            Event::FirstByte(_) | Event::Failed { failure: Failure::Closed, .. } => {}
            event => {
                if count > 0 {
                    words.push(format!("{count} messages, {bytes} bytes"));
                }
                (count, bytes) = (0, 0);
                words.push(outcome(&event));
            }
        }
    }
    words
}

fn outcome(event: &Event) -> String {
    let (goes_on, failure) = match event {
        Event::Done(answer) if answer.expected.is_ok() => return "ok".to_owned(),
        Event::RequestFailed { failure, .. } => ("", failure),
        Event::Failed { failure, .. } => ("over: ", failure),
        other => return format!("{other:?}"),
    };
    let what = match failure {
        Failure::Call { kind, message } => format!("{} {message}", kind.id()),
        Failure::Malformed(error) => error.to_string(),
        other => format!("{other:?}"),
    };
    format!("{goes_on}{}", what.trim_end())
}

/// The same for a response that is whole and byte by byte the same, and a good one behind it.
fn said(form: CallForm, one_message: bool, input: &[u8]) -> Vec<String> {
    said_in(Codec::Proto, form, one_message, input)
}

fn said_in(codec: Codec, form: CallForm, one_message: bool, input: &[u8]) -> Vec<String> {
    let limits = Limits { max_message_bytes: 1000, one_message, form, codec };
    let whole = told(limits, &[input]);
    let single: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(whole, told(limits, &single), "whole and byte by byte");
    whole
}

fn response(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn end_frame(flag: u8, text: &str) -> Vec<u8> {
    let mut frame = message(text.as_bytes());
    frame[0] = flag;
    frame
}

fn web(body: &[u8]) -> Vec<u8> {
    response("200 OK", "Content-Type: application/grpc-web+proto\r\n", body)
}

fn connect(body: &[u8]) -> Vec<u8> {
    response("200 OK", "Content-Type: application/connect+proto\r\n", body)
}

fn text(body: &[u8]) -> Vec<u8> {
    response("200 OK", "Content-Type: application/grpc-web-text+proto\r\n", body)
}

fn base64(body: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    encode_text(body, &mut text);
    text
}

const TEXT: CallForm = CallForm::GrpcWebText;
const WEB: CallForm = CallForm::GrpcWeb;
const CONNECT: CallForm = CallForm::Connect;

#[test]
fn grpc_web_has_its_status_in_the_last_frame() {
    let ok = [message(b"hello"), end_frame(0x80, "grpc-status: 0\r\ngrpc-message:\r\n")].concat();
    let two = [web(&ok), web(&ok)].concat();
    let good = ["1 messages, 5 bytes", "ok"];
    assert_eq!(said(WEB, true, &two), [good, good].concat());
    let failing = end_frame(0x80, "Grpc-Status:5\r\nGrpc-Message: no%20such\r\n");
    let input = [web(&failing), web(&ok)].concat();
    assert_eq!(said(WEB, true, &input), [&["grpc-not-found no such"], &good[..]].concat());
    // Without a body, the header has it.
    let fields = "Content-Type: application/grpc-web\r\nGRPC-Status: 7\r\ngrpc-message: a\r\n";
    let input = [response("200 OK", fields, b""), web(&ok)].concat();
    assert_eq!(said(WEB, true, &input), [&["grpc-permission-denied a"], &good[..]].concat());
    let chunked = b"HTTP/1.1 200 OK\r\ncontent-type: application/grpc-web\r\nTransfer-Encoding: chunked\r\n\r\n\
        7\r\n\0\0\0\0\x01a\0\r\n5\r\n\0\0\0\x01b\r\n";
    let last = end_frame(0x80, "grpc-status:0\r\n");
    let last = [format!("{:x}\r\n", last.len()).as_bytes(), &last, b"\r\n0\r\n\r\n"].concat();
    assert_eq!(said(WEB, false, &[&chunked[..], &last].concat()), ["2 messages, 2 bytes", "ok"]);
}

#[test]
fn grpc_web_that_is_wrong_has_its_name() {
    let ok = end_frame(0x80, "grpc-status: 0\r\n");
    let says =
        |body: &[u8], words: &[&str]| assert_eq!(said(WEB, true, &web(body)), words, "{body:?}");
    let one = message(b"m");
    let status = &Error::Status.to_string();
    says(&[&one[..], &ok].concat(), &["1 messages, 1 bytes", "ok"]);
    says(&ok, &[&Error::NotOneMessage(0).to_string()]);
    says(&one, &["1 messages, 1 bytes", "grpc-no-status"]);
    says(b"", &["grpc-no-status"]);
    says(&end_frame(0x80, "garbage"), &[&Error::End.to_string()]);
    says(&end_frame(0x80, ""), &["grpc-no-status"]);
    says(&end_frame(0x80, "grpc-status: x\r\n"), &[status]);
    let doubled = end_frame(0x80, "grpc-status: 0\r\ngrpc-status: 0\r\n");
    says(&doubled, &[&Error::DoubledStatus.to_string()]);
    says(&ok[..ok.len() - 1], &["grpc-no-status"]);
    // What cannot be read on ends the connection.
    let over = |error: Error| format!("over: {error}");
    says(&[&ok[..], &one].concat(), &[&over(Error::AfterEnd)]);
    says(&end_frame(0x80, &"x".repeat(1001)), &[&over(Error::MessageTooLong(1001))]);
    says(&[0x81, 0, 0, 0, 0], &[&over(Error::Flag(0x81))]);
    says(
        &[&one[..], &[0, 255, 0, 0, 0]].concat(),
        &["1 messages, 1 bytes", &over(Error::MessageTooLong(0xff00_0000))],
    );
    let page = response("200 OK", "Content-Type: text/html\r\n", b"hello");
    let other = Error::OtherType("application/grpc-web").to_string();
    assert_eq!(said(WEB, true, &page), [other]);
    let gone = response("503 No", "", b"");
    let unavailable = "grpc-unavailable the response is HTTP 503 without a grpc-status";
    assert_eq!(said(WEB, true, &gone), [unavailable]);
}

#[test]
fn a_unary_call_of_connect_is_a_message_or_an_error() {
    let ok = |body: &[u8]| response("200 OK", "Content-Type: application/proto\r\n", body);
    let error = |status: &str, body: &str| {
        response(status, "Content-Type: application/json; charset=utf-8\r\n", body.as_bytes())
    };
    let input = [ok(b"hello"), ok(b"")].concat();
    let good = ["1 messages, 5 bytes", "ok", "1 messages, 0 bytes", "ok"];
    assert_eq!(said(CONNECT, true, &input), good);
    let says = |input: &[u8], words: &str| assert_eq!(said(CONNECT, true, input), [words]);
    says(&error("404 No", r#"{"code":"not_found","message":"no such"}"#), "grpc-not-found no such");
    says(&error("499 No", r#"{"code":"canceled"}"#), "grpc-cancelled");
    let of_http = "grpc-unavailable the response is HTTP 503 without an error of Connect";
    for garbage in [r#"{"code":"ok"}"#, r#"{"code":5}"#, "{", "[1]", ""] {
        says(&error("503 No", garbage), of_http);
    }
    says(&response("503 No", "", b"<html>"), of_http);
    let over = |error: Error| format!("over: {error}");
    says(&error("404 No", &" ".repeat(20_000)), &over(Error::EndTooLong));
    says(&ok(&[0; 1001]), &over(Error::MessageTooLong(1001)));
    let other = Error::OtherType("application/proto").to_string();
    says(&error("200 OK", "{}"), &other);
    says(&connect(&end_frame(2, "{}")), &other);
    let zipped = "Content-Type: application/proto\r\nContent-Encoding: gzip\r\n";
    says(&response("200 OK", zipped, b"x"), &over(Error::Compressed));
    // Fields of gRPC say nothing of it.
    let fields = "Content-Type: application/proto\r\ngrpc-status: 5\r\n";
    assert_eq!(said(CONNECT, true, &response("200 OK", fields, b"x"))[1], "ok");
}

#[test]
fn the_text_form_of_grpc_web_is_the_same_in_base64() {
    let (one, ok) = (message(b"hello"), end_frame(0x80, "grpc-status: 0\r\n"));
    let good = ["1 messages, 5 bytes", "ok"];
    let whole = base64(&[&one[..], &ok].concat());
    assert_eq!(said(TEXT, true, &[text(&whole), text(&whole)].concat()), [good, good].concat());
    // In pieces, each with its own padding; and more than is decoded at once.
    let pieces = [&base64(&one)[..], &base64(&ok[..7]), &base64(&ok[7..])].concat();
    assert_eq!(said(TEXT, true, &text(&pieces)), good);
    let many = [message(&[7; 995]).repeat(3), ok].concat();
    assert_eq!(said(TEXT, false, &text(&base64(&many))), ["3 messages, 2985 bytes", "ok"]);
    let failing = base64(&end_frame(0x80, "grpc-status: 5\r\n"));
    assert_eq!(said(TEXT, true, &text(&failing)), ["grpc-not-found"]);
    let over = |error: Error| format!("over: {error}");
    let cut = &base64(&one)[..9];
    assert_eq!(said(TEXT, true, &text(cut)), ["grpc-no-status"]);
    let open = [&whole[..], b"A"].concat();
    let says = said(TEXT, true, &text(&open));
    assert_eq!(says, [good[0], &Error::CutMessage.to_string()]);
    let garbage = [&base64(&one[..9])[..], b"-"].concat();
    assert_eq!(said(TEXT, true, &text(&garbage)), [over(Error::NotText)]);
    assert_eq!(said(TEXT, true, &text(&one)), [over(Error::NotText)]);
    let other = Error::OtherType("application/grpc-web-text").to_string();
    assert_eq!(said(TEXT, true, &web(&one)), [other]);
}

#[test]
fn connect_in_json_has_types_of_its_own() {
    let says = |one_message: bool, kind: &str, body: &[u8]| {
        let input = response("200 OK", &format!("Content-Type: {kind}\r\n"), body);
        said_in(Codec::Json, CONNECT, one_message, &input)
    };
    let good = ["1 messages, 9 bytes", "ok"];
    let json = br#"{"seq":1}"#;
    assert_eq!(says(true, "application/json", json), good);
    assert_eq!(says(false, "application/json; charset=utf-8", json), good);
    let stream = [message(json), end_frame(2, "{}")].concat();
    assert_eq!(says(false, "application/connect+json", &stream), good);
    let failing = end_frame(2, r#"{"error":{"code":"internal"}}"#);
    assert_eq!(says(false, "application/connect+json", &failing), ["grpc-internal"]);
    let (one, some) = ("application/json", "application/json or application/connect+json");
    for (one_message, kind, types) in [
        (true, "application/proto", one),
        (true, "application/connect+json", one),
        (false, "application/connect+proto", some),
    ] {
        assert_eq!(says(one_message, kind, json), [Error::OtherType(types).to_string()]);
    }
}

#[test]
fn a_stream_of_connect_ends_with_json() {
    let says = |body: &[u8], words: &[&str]| {
        assert_eq!(said(CONNECT, false, &connect(body)), words, "{body:?}");
    };
    let two = [message(b"a"), message(b"bc")].concat();
    let with = |text: &str| [&two[..], &end_frame(2, text)].concat();
    const TWO: &str = "2 messages, 3 bytes";
    says(&with("{}"), &[TWO, "ok"]);
    says(&with(r#"{"metadata":{"a":["b"]}}"#), &[TWO, "ok"]);
    let failing = r#"{"error":{"code":"unavailable","message":"a\u0007"}}"#;
    says(&with(failing), &[TWO, "grpc-unavailable a\u{fffd}"]);
    says(&with(r#"{"error":{"code":"none"}}"#), &[TWO, "grpc-unknown"]);
    for garbage in ["", "[]", "{", "null", "grpc-status: 0"] {
        says(&with(garbage), &[TWO, &Error::End.to_string()]);
    }
    says(&two, &[TWO, "grpc-no-status"]);
    says(
        &[&with("{}")[..], b"x"].concat(),
        &[TWO, "over: the body goes on after the frame with the status"],
    );
    says(&[3, 0, 0, 0, 0], &["over: a message begins with the byte 0x03 instead of 0 or 1"]);
}

#[test]
fn the_second_response_says_nothing_of_the_first() {
    let failing = end_frame(0x80, "grpc-status: 9\r\ngrpc-message: first\r\n");
    let silent = end_frame(0x80, "grpc-status: 9\r\n");
    let input = [web(&failing), web(&silent)].concat();
    let kind = ErrorKind::GrpcFailedPrecondition.id();
    assert_eq!(said(WEB, true, &input), [format!("{kind} first"), kind.to_owned()]);
}

proptest! {
    /// Any body, whole or byte by byte, is read the same.
    #[test]
    fn any_body_is_read_the_same_in_pieces(
        body in proptest::collection::vec(prop_oneof![0u8..4, Just(0x80), any::<u8>()], 0..60),
        form in prop_oneof![Just(WEB), Just(TEXT), Just(CONNECT)],
        is_text in any::<bool>(),
    ) {
        let input = match form {
            WEB => web(&body),
            TEXT if is_text => text(&base64(&body)),
            TEXT => text(&body),
            _ => connect(&body),
        };
        said(form, false, &input);
    }
}
