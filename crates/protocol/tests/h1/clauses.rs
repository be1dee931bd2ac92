//! One test a clause of RFC 9112 (HTTP/1.1) and RFC 9110 (HTTP semantics).

use candor_plan::{BodyExpect, StatusSet};
use candor_protocol::expect::Mismatch;
use candor_protocol::h1::{Error, Limits, prepare};
use candor_protocol::{Answer, CaptureRoom, Event, Failure, Session as _};

use crate::support::{
    FOLDED, NOT_CHUNKED_LAST, answer, answer_to, answered, closed, complete, deviating, end, feed,
    plan_request, prepared, refused, run, started, truncated, unasked,
};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What `fields` of a 200 are refused for.
fn refused_fields(fields: &str) -> Error {
    refused(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes())
}

/// The events of a 200 with `fields` and `body`, up to the end of the connection.
fn with_fields(fields: &str, body: &str) -> Vec<Event> {
    let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}");
    run(&[prepared("GET", &[])], Limits::default(), [text.as_bytes()])
}

fn refused_chunks(chunks: &str) -> Error {
    refused(format!("{CHUNKED}{chunks}").as_bytes())
}

#[test]
fn lines_may_end_in_lf_alone_9112_2_2() {
    assert_eq!(answer("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"), complete(200, 2, false));
    assert_eq!(answer("HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi"), complete(200, 2, false));
}

#[test]
fn a_bare_cr_is_refused_9112_2_2() {
    assert_eq!(refused_fields("A: b\rc"), Error::ControlCharacter);
    assert_eq!(refused_fields("A: b\r"), Error::ControlCharacter);
    assert_eq!(refused(b"HTTP/1.1 200 O\rK\r\n\r\n"), Error::ControlCharacter);
    assert_eq!(refused_fields("Content-Length: 5\rContent-Length: 6"), Error::ControlCharacter);
}

#[test]
fn space_before_the_first_field_is_refused_9112_2_2() {
    assert_eq!(refused_fields(" Content-Length: 5"), Error::FieldSpace);
}

#[test]
fn empty_lines_before_the_status_line_are_refused() {
    assert_eq!(refused(b"\r\nHTTP/1.1 200 OK\r\n\r\n"), Error::StatusLine);
    assert_eq!(refused(b"\nHTTP/1.1 200 OK\r\n\r\n"), Error::StatusLine);
}

#[test]
fn status_lines_9112_4() {
    for good in ["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 200 OK", "HTTP/1.1 200 a\tb \u{e9}"] {
        let text = format!("{good}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(answer(&text), complete(200, 0, false), "{good:?}");
    }
    for bad in [
        "",
        " ",
        "HTTP/1.1",
        "HTTP/1.1 ",
        "HTTP/1.1 20",
        "HTTP/1.1 2000",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 200OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1\t200 OK",
        "http/1.1 200 OK",
        "HTTP/1 200 OK",
        "HTTP/11 200 OK",
        "HTTP/1.x 200 OK",
        "ICY 200 OK",
        " HTTP/1.1 200 OK",
        "HTTP/1.10 200 OK",
    ] {
        assert_eq!(refused(format!("{bad}\r\n\r\n").as_bytes()), Error::StatusLine, "{bad:?}");
    }
    assert_eq!(refused(b"HTTP/1.1 200 O\0K\r\n\r\n"), Error::ControlCharacter);
}

#[test]
fn status_codes_are_100_to_999_9110_15() {
    assert_eq!(answer("HTTP/1.1 999\r\nContent-Length: 0\r\n\r\n"), complete(999, 0, false));
    for code in ["000", "099"] {
        assert_eq!(refused(format!("HTTP/1.1 {code}\r\n\r\n").as_bytes()), Error::StatusCode);
    }
}

#[test]
fn major_version_1_only_9110_2_5() {
    for version in ["0.9", "2.0", "3.0", "9.9"] {
        let text = format!("HTTP/{version} 200 OK\r\n\r\n");
        assert_eq!(refused(text.as_bytes()), Error::Version);
    }
    assert_eq!(answer("HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n"), complete(200, 0, false));
}

#[test]
fn what_is_not_http_is_refused_without_waiting_for_a_line_end() {
    assert_eq!(refused(b"SSH-2.0"), Error::StatusLine);
    for record in
        [&b"\x15\x03\x01\x00\x02\x02\x46"[..], b"\x15\x03\x03\x00\x02\x02\x0a", b"\x16\x03\x01"]
    {
        assert_eq!(refused(record), Error::AnswersInTls);
    }
    assert_eq!(refused(b"\x15\x03\x05"), Error::StatusLine);
    assert_eq!(refused(b"\x15\x02"), Error::StatusLine);
    assert_eq!(answer("\x15\x03"), []);
    assert_eq!(refused(b"HTTQ"), Error::StatusLine);
    assert_eq!(answer("HTTP/"), []);
}

#[test]
fn field_names_are_tokens_9112_5() {
    for bad in ["A", ": b", "A\0: b", "A(: b", "A\u{e9}: b", "A\rB: c", "A b: c\x01", "\"a\": b"] {
        let error = refused_fields(&format!("Ok: 1\r\n{bad}"));
        let wanted = if bad.starts_with("A b") { Error::FieldSpace } else { Error::FieldName };
        assert_eq!(error, wanted, "{bad:?}");
    }
    let all = "!#$%&'*+-.^_`|~09azAZ: x\r\nContent-Length: 0";
    assert_eq!(with_fields(all, ""), complete(200, 0, false));
}

#[test]
fn space_before_the_colon_is_refused_9112_5_1() {
    assert_eq!(refused_fields("Content-Length : 5"), Error::FieldSpace);
    assert_eq!(refused_fields("Transfer-Encoding\t: chunked"), Error::FieldSpace);
    assert_eq!(refused_fields("Anything : 5"), Error::FieldSpace);
}

#[test]
fn values_hold_no_nul_9110_5_5() {
    assert_eq!(refused_fields("A: b\0c"), Error::ControlCharacter);
    assert_eq!(with_fields("A: \x01\x7f\u{ff}\r\nContent-Length: 0", ""), complete(200, 0, false));
}

#[test]
fn folds_are_read_as_blanks_9112_5_2() {
    let folded = |fields, body: &str| {
        let wanted = deviating(0, 200, body.len() as u64, FOLDED, false);
        assert_eq!(with_fields(fields, body), wanted, "{fields:?}");
    };
    folded("A: b\r\n c\r\n\t\r\n d: e\r\nContent-Length: 1", "x");
    folded("Content-Length:\r\n 2", "hi");
    folded("Content-Length: 2\r\n ,\n\t2", "hi");
    folded("A: b\r\n \r\nContent-Length: 2", "hi");
    assert_eq!(
        with_fields("Transfer-Encoding: gzip,\r\n chunked", "2\r\nhi\r\n0\r\n\r\n"),
        deviating(0, 200, 2, FOLDED, false)
    );
    assert_eq!(
        with_fields("Connection: x,\r\n close\r\nContent-Length: 0", ""),
        deviating(0, 200, 0, FOLDED, true)
    );
    for (field, error) in [
        ("Content-Length: 1\r\n 2", Error::ContentLength),
        ("Content-Length: 1,\r\n 2", Error::ContentLengthsDiffer),
        ("Transfer-Encoding: chun\r\n ked", Error::TransferEncoding),
        ("Transfer-Encoding: chunked\r\n y", Error::TransferEncoding),
        ("A\r\n : b", Error::FieldSpace),
        ("A: b\r\n c\0", Error::ControlCharacter),
        ("A: b\r\r\n c", Error::ControlCharacter),
    ] {
        assert_eq!(refused_fields(field), error, "{field:?}");
    }
}

#[test]
fn a_folded_line_hides_no_field_9112_5_2() {
    let events = with_fields("A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 2", "hi");
    assert_eq!(events, deviating(0, 200, 2, FOLDED, false));
}

#[test]
fn a_script_sees_blanks_in_the_place_of_folds_9112_5_2() {
    let text = "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nhi";
    for step in [1, 9, text.len()] {
        let mut session = started(&[prepared("GET", &[])], Limits::default());
        session.capture(&CaptureRoom::new(1024, 16));
        for piece in text.as_bytes().chunks(step) {
            feed(&mut session, piece);
        }
        let captured = session.take_captured();
        let captured = captured.as_ref().map(|kept| (kept.get().fields, kept.get().body));
        let wanted = (&b"A: b   c\r\nContent-Length: 2\r\n\r\n"[..], &b"hi"[..]);
        assert_eq!(captured, Some(wanted), "by {step}");
    }
}

#[test]
fn head_204_and_304_have_no_body_9112_6_3_1() {
    let next = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked", "A: b"] {
        for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
            let text = format!("HTTP/1.1 {status} X\r\n{framing}\r\n\r\n{next}");
            let requests = [prepared(method, &[]), prepared("GET", &[])];
            let wanted = [answered(0, status, 0, false), answered(1, 200, 0, false)].concat();
            let events = run(&requests, Limits::default(), [text.as_bytes()]);
            assert_eq!(events, wanted, "{method} {status} {framing}");
        }
    }
}

#[test]
fn connect_2xx_makes_a_tunnel_9112_6_3_2() {
    let connect = prepared("CONNECT", &[]);
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    let text = format!("HTTP/1.1 299 OK\r\n{both}tunnelled bytes");
    assert_eq!(answer_to(&connect, text.as_bytes()), complete(299, 0, true));
    let text = "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno";
    assert_eq!(answer_to(&connect, text.as_bytes()), complete(407, 2, false));
}

#[test]
fn length_beside_transfer_encoding_is_refused_9112_6_3_3() {
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\ncontent-length: 5",
        "Transfer-Encoding: gzip\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, gzip\r\nContent-Length: 5",
        "Transfer-Encoding:\r\n chunked\r\nContent-Length:\r\n 5",
        "Transfer-Encoding: identity\r\nContent-Length: 0",
    ] {
        assert_eq!(refused_fields(fields), Error::LengthAndTransferEncoding, "{fields:?}");
    }
}

#[test]
fn transfer_encoding_in_http_1_0_is_refused_9112_6_1() {
    for value in ["chunked", "gzip", "chunked, gzip"] {
        let text = format!("HTTP/1.0 200 OK\r\nTransfer-Encoding: {value}\r\n\r\n0\r\n\r\n");
        assert_eq!(refused(text.as_bytes()), Error::TransferEncodingInHttp10, "{value:?}");
    }
}

#[test]
fn chunked_is_found_at_the_end_of_the_codings_9112_6_3_4() {
    for value in
        ["chunked", "CHUNKED", " chunked\t", ", chunked ,", "gzip, chunked", "a;b=c,chunked"]
    {
        let events = with_fields(&format!("Transfer-Encoding: {value}"), "2\r\nhi\r\n0\r\n\r\n");
        assert_eq!(events, complete(200, 2, false), "{value:?}");
    }
    let two = "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked";
    assert_eq!(with_fields(two, "0\r\n\r\n"), complete(200, 0, false));
}

#[test]
fn without_chunked_the_body_ends_with_the_connection_9112_6_3_4() {
    for value in [
        "gzip",
        "identity",
        "xchunked",
        "gzip;q=1",
        "chunked, gzip",
        "gzip, chunked, br",
        "chunked, identity;a=b",
        "chunked\r\nTransfer-Encoding: gzip",
    ] {
        let events = with_fields(&format!("Transfer-Encoding: {value}"), "0\r\n\r\n");
        assert_eq!(events, deviating(0, 200, 5, NOT_CHUNKED_LAST, true), "{value:?}");
    }
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n";
    assert_eq!(answer_to(&prepared("HEAD", &[]), head), complete(200, 0, false), "has no body");
}

#[test]
fn chunked_is_plain_and_once_9112_6_1_7_1() {
    for value in [
        "",
        ",",
        "chunked, chunked",
        "chunked, gzip, chunked",
        "chunked;a=b",
        "chunked;a=b, gzip",
        "\u{b}chunked",
        "chun ked",
        "\"chunked\"",
        ";a",
        "chunked\r\nTransfer-Encoding: chunked",
        "gzip\r\nTransfer-Encoding:",
        "chunked\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    ] {
        let fields = format!("Transfer-Encoding: {value}");
        assert_eq!(refused_fields(&fields), Error::TransferEncoding, "{value:?}");
    }
}

#[test]
fn content_length_is_a_number_9110_8_6() {
    for value in [
        "",
        " ",
        "-1",
        "+1",
        "1 2",
        "0x1",
        "1.0",
        "1e2",
        "a",
        "1,",
        ",1",
        "1,,1",
        "1;2",
        "\u{660}",
        "18446744073709551616",
        "99999999999999999999999999",
        "1\u{b}",
        "\"1\"",
    ] {
        let error = refused_fields(&format!("Content-Length: {value}"));
        assert_eq!(error, Error::ContentLength, "{value:?}");
    }
    assert_eq!(with_fields("Content-Length:\t 007 ", "1234567"), complete(200, 7, false));
    let most = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx";
    assert_eq!(answer(most), [Event::FirstByte(0)]);
}

#[test]
fn content_length_may_repeat_but_not_differ_9110_8_6() {
    for same in ["2, 2", "2,2 ,2", "2\r\nContent-Length: 2", "2\r\nA: b\r\nCONTENT-LENGTH: 2, 02"] {
        let events = with_fields(&format!("Content-Length: {same}"), "hi");
        assert_eq!(events, complete(200, 2, false), "{same:?}");
    }
    for differ in
        ["2, 3", "2\r\nContent-Length: 3", "0\r\nContent-Length: 5", "2,2\r\ncontent-length: 20"]
    {
        let error = refused_fields(&format!("Content-Length: {differ}"));
        assert_eq!(error, Error::ContentLengthsDiffer, "{differ:?}");
    }
}

#[test]
fn without_framing_the_body_ends_with_the_connection_9112_6_3_8() {
    let mut session = started(&[prepared("GET", &[])], Limits::default());
    let events = feed(&mut session, b"HTTP/1.1 200 OK\r\n\r\nup to ");
    assert_eq!(events, [Event::FirstByte(0)]);
    assert_eq!(session.free_places(), 0);
    assert_eq!(feed(&mut session, b"the end"), []);
    assert_eq!(end(&mut session), answered(0, 200, 13, true)[1..]);
    assert_eq!((session.free_places(), session.outstanding()), (0, 0));
}

#[test]
fn chunks_9112_7_1() {
    let body = "5\r\nalive\r\n0002;a=\"\\\"\r\";b\r\n\r\n\r\n0\r\n\r\n";
    let good = body.replace("\r\";", "\";");
    assert_eq!(answer(&format!("{CHUNKED}{good}")), complete(200, 7, false));
    assert_eq!(refused_chunks(body), Error::ChunkExtension);
    assert_eq!(refused_chunks("5\nalive\r\n"), Error::ChunkEnd);
    assert_eq!(refused_chunks("5\r\nalive\n"), Error::ChunkEnd);
    assert_eq!(refused_chunks("5\r\nalive!\r\n"), Error::ChunkEnd);
    assert_eq!(refused_chunks("5\r\nalive\rx"), Error::ChunkEnd);
    assert_eq!(refused_chunks("0x5\r\n"), Error::ChunkSize);
    assert_eq!(refused_chunks("-5\r\n"), Error::ChunkSize);
    assert_eq!(refused_chunks("\r\n"), Error::ChunkSize);
    assert_eq!(refused_chunks("10000000000000005\r\n"), Error::ChunkSize);
    assert_eq!(refused_chunks("5;\r\n"), Error::ChunkExtension);
}

#[test]
fn trailers_are_fields_and_change_nothing_9112_7_1_2() {
    let trailers = "0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\nA: b\n c\r\n\r\n";
    assert_eq!(answer(&format!("{CHUNKED}{trailers}")), complete(200, 0, false));
    for bad in ["nonsense", "A : b", ": b", " A: b", "A: \0", "A: b\r c"] {
        assert_eq!(refused_chunks(&format!("0\r\n{bad}\r\n\r\n")), Error::Trailer, "{bad:?}");
    }
}

#[test]
fn an_answer_cut_short_is_no_answer_9112_8() {
    let requests = [prepared("GET", &[]), prepared("GET", &[])];
    for text in [
        "H",
        "HTTP/1.1 200 OK\r",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
        "HTTP/1.1 100 Wait\r\n",
    ] {
        let events = run(&requests, Limits::default(), [text.as_bytes()]);
        let outcomes: Vec<_> =
            events.into_iter().filter(|event| !matches!(event, Event::FirstByte(_))).collect();
        assert_eq!(outcomes, [truncated(0), closed(1)], "{text:?}");
    }
    for text in ["", "HTTP/1.1 100 Wait\r\n\r\n"] {
        let events = run(&requests, Limits::default(), [text.as_bytes()]);
        assert_eq!(events, [closed(0), closed(1)], "{text:?}");
    }
}

#[test]
fn persistence_9112_9_3() {
    for (version, connection, last) in [
        ("1.1", "", false),
        ("1.1", "Connection: close\r\n", true),
        ("1.1", "connection: Keep-Alive,  ClOsE\r\n", true),
        ("1.1", "Connection: keep-alive\r\nConnection: close\r\n", true),
        ("1.1", "Connection: closed, xclose\r\n", false),
        ("1.0", "", true),
        ("1.0", "Connection: keep-alive\r\n", false),
        ("1.0", "Connection: Upgrade,KEEP-ALIVE\r\n", false),
        ("1.0", "Connection: keep-alive, close\r\n", true),
    ] {
        let text = format!("HTTP/{version} 200 OK\r\n{connection}Content-Length: 2\r\n\r\nhi");
        assert_eq!(answer(&text), complete(200, 2, last), "{version} {connection:?}");
    }
}

#[test]
fn what_follows_the_last_answer_is_ignored_9112_9_6() {
    let text = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200";
    let requests = [prepared("GET", &[]), prepared("GET", &[])];
    let wanted = [&answered(0, 200, 0, true)[..], &[closed(1)]].concat();
    assert_eq!(run(&requests, Limits::default(), [text.as_bytes()]), wanted);
}

#[test]
fn interim_answers_are_no_answers_9110_15_2() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 5\r\n\r\n";
    let text = format!("HTTP/1.1 100 Continue\r\n\r\n{interim}");
    assert_eq!(answer(&text), []);
    let text = format!("{text}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(answer(&text), complete(200, 2, false));
}

#[test]
fn interim_answers_are_bounded_for_each_request() {
    let flood = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
    let text = format!("{flood}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let requests = [prepared("GET", &[]), prepared("GET", &[])];
    let wanted = [answered(0, 200, 0, false), answered(1, 200, 0, false)].concat();
    let twice = text.repeat(2);
    assert_eq!(run(&requests, Limits::default(), [twice.as_bytes()]), wanted);
    assert_eq!(
        refused(format!("{flood}HTTP/1.1 102 X\r\n").as_bytes()),
        Error::TooManyInterimAnswers
    );
}

#[test]
fn switching_protocols_must_have_been_asked_for_9110_15_2_2() {
    let text = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nother protocol";
    assert_eq!(refused(text), Error::UnaskedUpgrade);
    let asking = prepared("GET", &[("Connection", "upgrade"), ("Upgrade", "x")]);
    assert_eq!(answer_to(&asking, text), complete(101, 0, true));
}

#[test]
fn an_answer_that_nobody_asked_for_belongs_to_no_request() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let mut session = started(&[prepared("GET", &[])], Limits::default());
    assert_eq!(feed(&mut session, text), complete(200, 0, false));
    assert_eq!(session.free_places(), 1);
    assert_eq!(feed(&mut session, text), [unasked()]);
    assert_eq!((session.free_places(), session.outstanding()), (0, 0));
    assert_eq!(feed(&mut session, text), []);
    assert_eq!(end(&mut session), []);
}

#[test]
fn a_malformed_answer_is_the_end_of_what_is_said() {
    let mut session = started(&[prepared("GET", &[]), prepared("GET", &[])], Limits::default());
    let failure = Failure::Malformed(Error::FieldName.into());
    assert_eq!(
        feed(&mut session, b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\nHTTP/1.1 200 OK\r\n"),
        [Event::FirstByte(0), Event::Failed { id: Some(0), failure }]
    );
    assert_eq!((session.free_places(), session.outstanding()), (0, 1));
    assert_eq!(feed(&mut session, b"HTTP/1.1 200 OK\r\n"), []);
    assert_eq!(end(&mut session), []);
}

#[test]
fn pipelined_answers_come_in_order_9112_9_3_2() {
    let requests = [prepared("GET", &[]), prepared("HEAD", &[]), prepared("GET", &[])];
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n{CHUNKED}1\r\nx\r\n0\r\n\r\n"
    );
    let wanted =
        [answered(0, 200, 2, false), answered(1, 404, 0, false), answered(2, 200, 1, false)]
            .concat();
    assert_eq!(run(&requests, Limits::default(), [text.as_bytes()]), wanted);
}

#[test]
fn every_part_is_bounded() {
    let limits = Limits {
        header_block_bytes: 100,
        line_bytes: 40,
        chunk_line_bytes: 8,
        trailer_bytes: 60,
        interim_answers: 2,
    };
    let refused = |text: String| {
        let events = run(&[prepared("GET", &[])], limits, [text.as_bytes()]);
        match events.last() {
            Some(Event::Failed { failure: Failure::Malformed(error), .. }) => error.get().copied(),
            _ => None,
        }
    };
    let status = "HTTP/1.1 200 OK\r\n"; // 17 bytes
    let line = |bytes: usize| format!("A:{}\r\n", "x".repeat(bytes - 4));
    assert_eq!(refused(format!("{status}{}\r\n", line(40))), None);
    assert_eq!(refused(format!("{status}{}\r\n", line(41))), Some(Error::LineTooLong));
    assert_eq!(refused(format!("HTTP/1.1 200 {}", "x".repeat(28))), Some(Error::LineTooLong));
    assert_eq!(refused(format!("{status}{}{}\r\n", line(40), line(41))), Some(Error::LineTooLong));
    let block = format!("{status}{}{}{}\r\n", line(30), line(30), line(21));
    assert_eq!((block.len(), refused(block)), (100, None));
    let block = format!("{status}{}{}{}\r\n", line(30), line(30), line(22));
    assert_eq!((block.len(), refused(block)), (101, Some(Error::HeaderBlockTooLarge)));
    let chunked = format!("{status}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(refused(format!("{chunked}000001\r\nx")), None);
    assert_eq!(refused(format!("{chunked}0000001\r\n")), Some(Error::ChunkLineTooLong));
    let trailers = |last: usize| format!("{chunked}0\r\n{}{}\r\n", line(30), line(last));
    assert_eq!(refused(trailers(28)), None);
    assert_eq!(refused(trailers(29)), Some(Error::TrailersTooLarge));
    assert_eq!(refused(format!("{chunked}0\r\n{}", line(41))), Some(Error::LineTooLong));
}

#[test]
fn the_default_bounds_leave_room_for_large_but_sane_blocks() {
    let fields: String =
        (0..60).map(|index| format!("X-{index}: {}\r\n", "v".repeat(1000))).collect();
    assert_eq!(with_fields(&format!("{fields}Content-Length: 0"), ""), complete(200, 0, false));
    let flood = "X: y\r\n".repeat(20_000);
    assert_eq!(refused_fields(&flood), Error::HeaderBlockTooLarge);
}

#[test]
fn the_answer_is_compared_with_the_expected_one() {
    let mut request = plan_request("GET", &[], b"");
    request.expect.status.ranges = vec![(200, 200)];
    request.expect.body = BodyExpect::Exact(b"alive"[..].into());
    let request = prepare(&request, "example");
    let verdict = |text: &str| match answer_to(&request, text.as_bytes()).last() {
        Some(Event::Done(Answer { expected, .. })) => *expected,
        other => panic!("{other:?}"),
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(verdict(&format!("{head}alive")), Ok(()));
    assert_eq!(verdict(&format!("{CHUNKED}2\r\nal\r\n3\r\nive\r\n0\r\n\r\n")), Ok(()));
    assert_eq!(verdict(&format!("{head}alIve")), Err(Mismatch::Content { offset: 2 }));
    assert_eq!(
        verdict("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Err(Mismatch::Length { got: 0, expected: 5 })
    );
    assert_eq!(
        verdict("HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nalive"),
        Err(Mismatch::Status(404))
    );
}

/// What nginx, Go, Apache and Tomcat write to a request in clear text on a port of HTTPS, in one read or with the body
/// in another one than the head.
#[test]
fn a_port_of_https_that_says_so_is_named() {
    let verdict = |status: u16, fields: &str, body: &str, is_cut: bool| {
        let head = format!("HTTP/1.1 {status} Bad Request\r\n{fields}\r\n");
        let whole = format!("{head}{body}");
        let (first, rest) = whole.as_bytes().split_at(if is_cut { head.len() } else { 0 });
        let mut request = plan_request("GET", &[], b"");
        request.expect.status = StatusSet::below_400();
        let request = prepare(&request, "example");
        match run(&[request], Limits::default(), [first, rest]).last() {
            Some(Event::Done(answer)) => answer.expected,
            other => panic!("{other:?}"),
        }
    };
    for words in [
        "<center>The plain HTTP request was sent to HTTPS port</center>",
        "Client sent an HTTP request to an HTTPS server.\n",
        "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
        "Bad Request\nThis combination of host and port requires TLS.\n",
    ] {
        let counted = format!("Content-Length: {}\r\n", words.len());
        for (fields, is_cut) in [(&*counted, false), (&counted, true), ("", false), ("", true)] {
            let of = |status: u16| verdict(status, fields, words, is_cut);
            assert_eq!(of(400), Err(Mismatch::NotTls(400)), "{words}");
            assert_eq!((of(403), of(200)), (Err(Mismatch::Status(403)), Ok(())));
        }
    }
    assert_eq!(verdict(400, "", "no such item", false), Err(Mismatch::Status(400)));
}

#[test]
fn a_check_does_not_leak_into_the_next_answer() {
    let requests = [prepared("GET", &[]), prepared("GET", &[])];
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".repeat(2);
    let wanted = [answered(0, 200, 2, false), answered(1, 200, 2, false)].concat();
    assert_eq!(run(&requests, Limits::default(), [text.as_bytes()]), wanted);
}
