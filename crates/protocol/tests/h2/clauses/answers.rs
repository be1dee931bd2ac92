//! Requests and their answers (RFC 9113 8.1), and what is remembered of either.

use candor_protocol::h2::{Error, Settings, hpack};
use candor_protocol::{Event, Outgoing, Session as _};

use crate::support::*;

#[test]
fn a_request_is_written_and_answered() {
    let mut session = ready(1);
    session.handle_request(5, Outgoing::Listed(0));
    assert_eq!((session.free_places(), session.outstanding()), (0, 1));
    let (bytes, begun) = transmit_started(&mut session);
    assert_eq!(begun, [5]);
    let frames = frames(&bytes);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].kind, frames[0].stream), (HEADERS, 1));
    assert_eq!(frames[0].flags, END_HEADERS | END_STREAM);
    let answer = [headers(1, OK), data(1, b"alive"), last_data(1, b"\r\n")].concat();
    assert_eq!(feed(&mut session, &answer), answered(5, 200, 7));
    assert_eq!((session.free_places(), session.outstanding()), (1, 0));
}

#[test]
fn answers_come_in_any_order() {
    let mut session = started(3);
    let input = [empty_answer(5, OK), headers(1, OK), empty_answer(3, OK), last_data(1, b"x")];
    let [first, done] = answered(0, 200, 1);
    let expected =
        [answered(2, 200, 0).to_vec(), vec![first], answered(1, 200, 0).to_vec(), vec![done]];
    assert_eq!(feed(&mut session, &input.concat()), expected.concat());
}

#[test]
fn a_request_that_repeats_shrinks_and_means_the_same() {
    let request = plan_request("GET", &[("User-Agent", "candor"), ("X-Thing", "some value")], b"");
    let requests = [candor_protocol::h2::prepare(&request, "http", "example.org:8080")];
    let mut session = ready_with(&requests, Settings { streams: 8, ..Settings::default() });
    let mut decoder = hpack::Decoder::default();
    let mut lengths = Vec::new();
    for id in 0..4 {
        session.handle_request(id, Outgoing::Listed(0));
        let frames = frames(&transmit(&mut session));
        let mut fields = Vec::new();
        let take = |name: &[u8], value: &[u8]| {
            fields.push(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
        };
        decoder.decode(&frames[0].payload, take).unwrap();
        let expected = [
            ":method=GET",
            ":scheme=http",
            ":path=/",
            ":authority=example.org:8080",
            "user-agent=candor",
            "x-thing=some value",
        ];
        assert_eq!(fields, expected);
        assert_eq!(frames[0].stream, 2 * id + 1);
        lengths.push(frames[0].payload.len());
    }
    assert_eq!(lengths[2..], [6, 6]);
}

#[test]
fn trailers_and_interim_answers() {
    let mut session = started(2);
    let early = [0x08, 3, b'1', b'0', b'3'];
    let trailers = literal("x-checksum", "1");
    let input = [
        headers(1, &early),
        headers(1, &early),
        headers(1, OK),
        data(1, b"abc"),
        empty_answer(1, &trailers),
    ];
    assert_eq!(feed(&mut session, &input.concat()), answered(0, 200, 3));
    assert_eq!(feed(&mut session, &empty_answer(3, OK)), answered(1, 200, 0));
}

#[test]
fn answers_that_are_not_valid_fail_by_themselves_8_1_1() {
    let with = |name: &str, value: &str| [OK, &literal(name, value)[..]].concat();
    let status = |value: &str| literal(":status", value);
    for (block, error) in [
        (with("X-Upper", "1"), Error::FieldName),
        (with("", "1"), Error::FieldName),
        (with("a b", "1"), Error::FieldName),
        (with("x", "a\rb"), Error::FieldValue),
        (with("x", "a\nb"), Error::FieldValue),
        (with("x", "a\0b"), Error::FieldValue),
        (with("x", " a"), Error::FieldValue),
        (with("x", "a\t"), Error::FieldValue),
        (with("connection", "close"), Error::ConnectionField),
        (with("transfer-encoding", "chunked"), Error::ConnectionField),
        (with("keep-alive", "1"), Error::ConnectionField),
        (with("proxy-connection", "1"), Error::ConnectionField),
        (with("upgrade", "h2c"), Error::ConnectionField),
        (with(":status", "200"), Error::PseudoField),
        (with(":path", "/"), Error::PseudoField),
        (with(":unknown", "/"), Error::PseudoField),
        ([literal("a", "b"), status("200")].concat(), Error::PseudoField),
        (literal("a", "b"), Error::Status),
        (vec![], Error::Status),
        (status("20"), Error::Status),
        (status("099"), Error::Status),
        (status("2000"), Error::Status),
        (status("2x0"), Error::Status),
        (status("101"), Error::SwitchingProtocols),
        (with("content-length", "x"), Error::ContentLength),
        (with("content-length", "1, 2"), Error::ContentLength),
        (with("content-length", "18446744073709551616"), Error::ContentLength),
    ] {
        let mut session = started(2);
        assert_refused(&mut session, &headers(1, &block), 0, error);
        // Late frames of it are swallowed, and the other answer is not touched.
        let late = [data(1, b"late"), empty_answer(1, &literal("x", "y"))].concat();
        assert_eq!(feed(&mut session, &late), []);
        assert_eq!(feed(&mut session, &empty_answer(3, OK)), answered(1, 200, 0));
    }
}

#[test]
fn the_body_must_be_as_long_as_content_length_says_8_1_1() {
    let ten = [OK, &literal("content-length", "10")[..]].concat();
    let error = Error::ContentLengthDiffers;
    let head = headers(1, &ten);
    assert_refused(&mut started(1), &[&head[..], &data(1, b"12345678901")].concat(), 0, error);
    assert_refused(&mut started(1), &[&head[..], &last_data(1, b"123456789")].concat(), 0, error);
    assert_refused(&mut started(1), &empty_answer(1, &ten), 0, error);
    let exact = [&head[..], &data(1, b"1234567890"), &last_data(1, b"")].concat();
    assert_eq!(feed(&mut started(1), &exact), answered(0, 200, 10));
}

#[test]
fn head_204_and_304_have_no_body_whatever_content_length_says() {
    let settings = Settings::default();
    let ten = [OK, &literal("content-length", "10")[..]].concat();
    let not_modified = [&[0x8b][..], &literal("content-length", "10")[..]].concat();
    let started = |method: &str| {
        let mut session = ready_with(&[prepared(method, b"")], settings);
        session.handle_request(0, Outgoing::Listed(0));
        transmit(&mut session);
        session
    };
    assert_eq!(feed(&mut started("HEAD"), &empty_answer(1, &ten)), answered(0, 200, 0));
    assert_eq!(feed(&mut started("GET"), &empty_answer(1, &not_modified)), answered(0, 304, 0));
    let body = [headers(1, &ten), data(1, b"1234567890")].concat();
    assert_refused(&mut started("HEAD"), &body, 0, Error::UnexpectedBody);
}

#[test]
fn the_order_of_an_answers_frames_is_checked() {
    let interim = [0x08, 3, b'1', b'0', b'3'];
    for (input, error) in [
        (data(1, b"x"), Error::DataBeforeHeaders),
        (last_data(1, b""), Error::DataBeforeHeaders),
        ([headers(1, &interim), last_data(1, b"x")].concat(), Error::DataBeforeHeaders),
        (empty_answer(1, &interim), Error::Interim),
        (headers(1, &interim).repeat(101), Error::Interim),
        ([headers(1, OK), headers(1, &literal("a", "b"))].concat(), Error::Trailers),
        ([headers(1, OK), empty_answer(1, OK)].concat(), Error::PseudoField),
    ] {
        assert_refused(&mut started(1), &input, 0, error);
    }
}

// ---- what is remembered --------------------------------------------------------------------------

#[test]
fn a_block_seen_before_means_what_the_table_makes_of_it_now() {
    let mut session = ready(1);
    let mut exchange = |block: &[u8], body: &[u8]| {
        session.handle_request(0, Outgoing::Listed(0));
        let stream = frames(&transmit(&mut session))[0].stream;
        feed(&mut session, &[headers(stream, block), last_data(stream, body)].concat())
    };
    // Content-Length enters the table with 3, is referred to, enters again with 5.
    assert_eq!(exchange(&[0x88, 0x5c, 1, b'3'], b"abc"), answered(0, 200, 3));
    assert_eq!(exchange(&[0x88, 0xbe], b"abc"), answered(0, 200, 3));
    assert_eq!(exchange(&[0x88, 0xbe], b"abc"), answered(0, 200, 3));
    assert_eq!(exchange(&[0x88, 0x5c, 1, b'5'], b"abcde"), answered(0, 200, 5));
    assert_eq!(exchange(&[0x88, 0xbe], b"abcde"), answered(0, 200, 5));
    assert_eq!(exchange(&[0x88, 0xbf], b"abc"), answered(0, 200, 3));
    // The same block again and again is one entry each time, so the index of 3 moves on.
    assert_eq!(exchange(&[0x88, 0x5c, 1, b'5'], b"abcde"), answered(0, 200, 5));
    assert_eq!(exchange(&[0x88, 0xc0], b"abc"), answered(0, 200, 3));
    let error = malformed(0, Error::ContentLengthDiffers);
    assert_eq!(exchange(&[0x88, 0xbf], b"abc"), [Event::FirstByte(0), error]);
}

#[test]
fn more_kinds_of_answers_than_are_remembered_are_told_apart() {
    let mut session = ready(1);
    for n in 0..100usize {
        session.handle_request(0, Outgoing::Listed(0));
        let stream = frames(&transmit(&mut session))[0].stream;
        let length = (n * n) % 7;
        let block = [OK, &literal("content-length", &length.to_string())[..]].concat();
        let answer = [headers(stream, &block), last_data(stream, &b"1234567"[..length])];
        assert_eq!(feed(&mut session, &answer.concat()), answered(0, 200, length as u64));
    }
}

#[test]
fn a_request_made_as_it_is_sent_is_what_was_asked_for() {
    let mut made = prepared("GET", b"");
    let mut session = ready(30);
    let mut decoder = hpack::Decoder::default();
    for n in 0..30usize {
        let (path, count) = (format!("/item/{}", n % 7), n.to_string());
        let mut headers = vec![("X-Count", count.as_str()), ("Accept", "*/*"), ("Cookie", "a=b")];
        headers.truncate(n % 4);
        if n % 5 == 0 {
            headers.insert(0, ("Host", "elsewhere"));
        }
        headers.push(("Connection", "close"));
        let method = if n % 3 == 0 { "PUT" } else { "GET" };
        let parts = candor_protocol::h2::Parts {
            method,
            scheme: "https",
            authority: "here",
            path: &path,
            headers: &headers,
        };
        made.set_parts(&parts);
        session.handle_prepared(n as u32, 0, &made);
        let frames = frames(&transmit(&mut session));
        let mut expected = vec![
            (":method".to_owned(), method.to_owned()),
            (":scheme".to_owned(), "https".to_owned()),
            (":path".to_owned(), path.clone()),
            (":authority".to_owned(), if n % 5 == 0 { "elsewhere" } else { "here" }.to_owned()),
        ];
        let rest = headers.iter().filter(|(name, _)| !matches!(*name, "Host" | "Connection"));
        expected.extend(rest.map(|(name, value)| (name.to_lowercase(), value.to_string())));
        if method == "PUT" {
            expected.push(("content-length".to_owned(), "0".to_owned()));
        }
        let mut got = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        decoder
            .decode(&frames[0].payload, |name, value| got.push((text(name), text(value))))
            .unwrap();
        assert_eq!(got, expected);
    }
}
