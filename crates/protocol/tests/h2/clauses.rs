//! The session, clause by clause (RFC 9113).

use candor_protocol::h2::{Error, Session, Settings, hpack};
use candor_protocol::{Event, Failure, GoAway, Session as _};

use crate::support::*;

fn payload_of(frames: &[Frame], kind: u8) -> Vec<&[u8]> {
    frames.iter().filter(|f| f.kind == kind).map(|f| &f.payload[..]).collect()
}

// ---- 3.4, 6.5: the beginning ----------------------------------------------------------------

#[test]
fn a_connection_begins_with_preface_settings_and_window() {
    let settings =
        Settings { stream_window_bits: 20, connection_window_bits: 24, ..Settings::default() };
    let mut session = session(&[prepared("GET", b"")], settings);
    assert!(!session.is_ready());
    assert_eq!(session.free_slots(), 0);
    let bytes = transmit(&mut session);
    assert!(bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0"));
    let frames = frames(&bytes);
    assert_eq!(frames.iter().map(|f| f.kind).collect::<Vec<_>>(), [SETTINGS, WINDOW_UPDATE]);
    // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE 2^20 - 1.
    assert!(frames[0].payload.starts_with(&[0, 2, 0, 0, 0, 0, 0, 4, 0, 0x0f, 0xff, 0xff]));
    assert_eq!(frames[1].payload, ((1u32 << 24) - 1 - 65_535).to_be_bytes());
}

#[test]
fn the_session_is_ready_when_settings_have_come_and_acknowledges_them() {
    let mut session =
        session(&[prepared("GET", b"")], Settings { streams: 10, ..Settings::default() });
    transmit(&mut session);
    assert_eq!(feed(&mut session, &setting(3, 7)), [Event::Ready]);
    assert!(session.is_ready());
    assert_eq!(session.free_slots(), 7);
    let ack = Frame { kind: SETTINGS, flags: ACK, stream: 0, payload: vec![] };
    assert_eq!(frames(&transmit(&mut session)), [ack]);
}

#[test]
fn an_upgraded_connection_has_its_first_answer_on_stream_1() {
    let table = [prepared("POST", b"sent by HTTP/1.1")];
    let settings = Settings { streams: 3, stream_window_bits: 16, ..Settings::default() };
    // ENABLE_PUSH 0, MAX_HEADER_LIST_SIZE 65536; 65,535 is everybody's window.
    assert_eq!(settings.http2_settings(), "AAIAAAAAAAYAAQAA");
    let mut session = Session::upgraded(table.into(), settings, 9, 0);
    assert_eq!((session.outstanding(), session.free_slots()), (1, 0));
    let kinds: Vec<u8> = frames(&transmit(&mut session)).iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [SETTINGS, WINDOW_UPDATE]);
    let input = [frame(SETTINGS, 0, 0, b""), empty_answer(1, OK)].concat();
    let [first, done] = answered(9, 200, 0);
    assert_eq!(feed(&mut session, &input), [Event::Ready, first, done]);
    transmit(&mut session);
    session.handle_request(10, 0);
    assert_eq!(frames(&transmit(&mut session))[0].stream, 3);
    // INITIAL_WINDOW_SIZE 2^31 - 1.
    let settings = Settings { stream_window_bits: 31, header_table_bytes: 1, ..settings };
    assert!(settings.http2_settings().contains("AAR_____"));
    assert_eq!(settings.http2_settings().len(), 32);
}

#[test]
fn what_is_not_http_2_is_named() {
    for (bytes, error) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Error::AnswersInHttp1),
        (b"\x15\x03\x01\x00\x02\x02\x46\0\0", Error::AnswersInTls),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Error::NoSettings),
        (&frame(PING, 0, 0, &[0; 8]), Error::NoSettings),
        (&frame(SETTINGS, ACK, 0, b""), Error::NoSettings),
    ] {
        let mut session = session(&[prepared("GET", b"")], Settings::default());
        transmit(&mut session);
        assert_broken(&mut session, bytes, error);
    }
}

#[test]
fn settings_are_checked_6_5() {
    for (bytes, error) in [
        (setting(2, 1), Error::SettingValue),
        (setting(4, 1 << 31), Error::SettingWindow),
        (setting(5, 16_383), Error::SettingValue),
        (setting(5, 1 << 24), Error::SettingValue),
        (frame(SETTINGS, 0, 0, &[0; 5]), Error::FrameSize),
        (frame(SETTINGS, ACK, 0, &[0; 6]), Error::FrameSize),
        (frame(SETTINGS, 0, 1, b""), Error::FrameStream),
    ] {
        assert_broken(&mut started(1), &bytes, error);
    }
    let unknown = setting(0x99, 5);
    assert_eq!(feed(&mut started(1), &unknown), []);
}

#[test]
fn a_higher_limit_of_streams_makes_places_and_a_lower_one_takes_them() {
    let mut session = ready(10);
    assert_eq!(session.free_slots(), 10);
    assert_eq!(feed(&mut session, &setting(3, 2)), []);
    assert_eq!(session.free_slots(), 2);
    session.handle_request(0, 0);
    assert_eq!(session.free_slots(), 1);
    assert_eq!(feed(&mut session, &setting(3, 0)), []);
    assert_eq!(session.free_slots(), 0);
    assert_eq!(feed(&mut session, &setting(3, 100)), [Event::Places]);
    assert_eq!(session.free_slots(), 9);
}

// ---- 8.1: requests and answers ----------------------------------------------------------------

#[test]
fn a_request_is_written_and_answered() {
    let mut session = ready(1);
    session.handle_request(5, 0);
    assert_eq!((session.free_slots(), session.outstanding()), (0, 1));
    let (bytes, begun) = transmit_started(&mut session);
    assert_eq!(begun, [5]);
    let frames = frames(&bytes);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].kind, frames[0].stream), (HEADERS, 1));
    assert_eq!(frames[0].flags, END_HEADERS | END_STREAM);
    let answer = [headers(1, OK), data(1, b"alive"), last_data(1, b"\r\n")].concat();
    assert_eq!(feed(&mut session, &answer), answered(5, 200, 7));
    assert_eq!((session.free_slots(), session.outstanding()), (1, 0));
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
        session.handle_request(id, 0);
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
        session.handle_request(0, 0);
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

// ---- 5.1, 6.4: streams end ----------------------------------------------------------------

#[test]
fn frames_on_idle_streams_are_an_error_5_1() {
    for bytes in [
        headers(3, OK),
        headers(2, OK),
        data(3, b"x"),
        number(RST_STREAM, 3, 8),
        number(RST_STREAM, 2, 8),
        number(WINDOW_UPDATE, 3, 8),
    ] {
        assert_broken(&mut started(1), &bytes, Error::IdleStream);
    }
    // A request that was handed in and not written yet cannot have an answer.
    let mut session = ready(1);
    session.handle_request(0, 0);
    assert_broken(&mut session, &empty_answer(1, OK), Error::IdleStream);
}

#[test]
fn frames_on_streams_the_server_ended_are_an_error_5_1() {
    for bytes in [headers(1, OK), data(1, b"x")] {
        let mut session = started(2);
        feed(&mut session, &empty_answer(1, OK));
        assert_broken(&mut session, &bytes, Error::ClosedStream);
    }
    // These may have been on their way.
    let mut session = started(2);
    feed(&mut session, &empty_answer(1, OK));
    let late =
        [number(RST_STREAM, 1, 0), number(WINDOW_UPDATE, 1, 5), frame(PRIORITY, 0, 1, &[0; 5])];
    assert_eq!(feed(&mut session, &late.concat()), []);
}

#[test]
fn a_reset_is_its_requests_own_outcome_6_4() {
    let mut session = started(2);
    let reset = request_failed(0, Failure::StreamReset(2));
    assert_eq!(feed(&mut session, &number(RST_STREAM, 1, 2)), [reset]);
    let refused = request_failed(1, Failure::NotProcessed);
    assert_eq!(feed(&mut session, &number(RST_STREAM, 3, 7)), [refused]);
    assert_eq!(session.free_slots(), 2);
}

#[test]
fn a_cancelled_request_is_reset_and_its_answer_swallowed() {
    let mut session = started(2);
    assert!(session.cancel(0));
    assert_eq!(session.outstanding(), 1);
    let reset = Frame { kind: RST_STREAM, flags: 0, stream: 1, payload: 8u32.to_be_bytes().into() };
    assert_eq!(frames(&transmit(&mut session)), [reset]);
    // Its header block goes into the dynamic table nevertheless: index 62.
    let block = [OK, &[0x40, 1, b'x', 1, b'y'][..]].concat();
    let late = [headers(1, &block), data(1, b"late"), last_data(1, b"")].concat();
    assert_eq!(feed(&mut session, &late), []);
    assert_eq!(feed(&mut session, &empty_answer(3, &[0x88, 0xbe])), answered(1, 200, 0));
}

#[test]
fn a_request_cancelled_before_it_was_written_is_not_begun() {
    let mut session = ready(2);
    session.handle_request(0, 0);
    session.handle_request(1, 0);
    assert!(session.cancel(0));
    assert_eq!(transmit_started(&mut session).1, [1]);
}

#[test]
fn a_stream_that_takes_long_is_not_mistaken_for_another() {
    let mut session = started(2);
    // Stream 1 stays open while a thousand others come and go.
    let mut stream = 3;
    for id in 1..1000 {
        assert_eq!(feed(&mut session, &empty_answer(stream, OK)), answered(id, 200, 0));
        session.handle_request(id + 1, 0);
        stream = frames(&transmit(&mut session))[0].stream;
    }
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    assert_eq!(feed(&mut session, &empty_answer(stream, OK)), answered(1000, 200, 0));
}

#[test]
fn when_stream_ids_run_out_the_connection_is_over_5_1_1() {
    let settings = Settings { streams: 2, last_stream: 5, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, 0);
    session.handle_request(1, 0);
    transmit(&mut session);
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    assert_eq!(session.free_slots(), 1);
    session.handle_request(2, 0);
    transmit(&mut session);
    assert_eq!(feed(&mut session, &empty_answer(3, OK)), answered(1, 200, 0));
    assert_eq!(session.free_slots(), 0);
    let mut expected = answered(2, 200, 0).to_vec();
    expected.push(Event::Over);
    assert_eq!(feed(&mut session, &empty_answer(5, OK)), expected);
}

// ---- 6.8: GOAWAY ----------------------------------------------------------------------------

#[test]
fn goaway_fails_what_was_not_processed_and_lets_the_rest_finish_6_8() {
    let mut session = started(4);
    let word = GoAway { code: 0, last_stream: 3 };
    let refused = |id| request_failed(id, Failure::GoneAway(word));
    let events = [Event::GoAway(word), refused(2), refused(3)];
    assert_eq!(feed(&mut session, &goaway(3, 0)), events);
    assert_eq!((session.free_slots(), session.outstanding()), (0, 2));
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    let mut expected = answered(1, 200, 0).to_vec();
    expected.push(Event::Over);
    assert_eq!(feed(&mut session, &empty_answer(3, OK)), expected);
}

#[test]
fn goaway_on_an_idle_connection_ends_it() {
    for last_stream in [0, 0x7fff_ffff] {
        let word = Event::GoAway(GoAway { code: 11, last_stream });
        assert_eq!(feed(&mut ready(1), &goaway(last_stream, 11)), [word, Event::Over]);
    }
}

#[test]
fn a_graceful_shutdown_in_two_steps_6_8() {
    let mut session = started(2);
    let [soon, now] = [0x7fff_ffff, 1].map(|last_stream| GoAway { code: 0, last_stream });
    assert_eq!(feed(&mut session, &goaway(0x7fff_ffff, 0)), [Event::GoAway(soon)]);
    assert_eq!(session.free_slots(), 0);
    let events = [Event::GoAway(now), request_failed(1, Failure::GoneAway(now))];
    assert_eq!(feed(&mut session, &goaway(1, 0)), events);
    let mut expected = answered(0, 200, 0).to_vec();
    expected.push(Event::Over);
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), expected);
}

#[test]
fn the_last_request_cancelled_after_a_goaway_ends_the_connection_at_once() {
    let mut session = started(2);
    feed(&mut session, &goaway(3, 0));
    assert!(session.cancel(0) && !session.is_over());
    assert!(session.cancel(1) && session.is_over(), "without any more input");
    assert!(!ready(1).is_over());
}

// ---- the end of the connection ---------------------------------------------------------------

#[test]
fn the_end_of_the_connection_fails_everything() {
    let mut session = started(2);
    feed(&mut session, &headers(3, OK));
    let failed = |id, failure| Event::Failed { id: Some(id), failure };
    assert_eq!(end(&mut session), [failed(0, Failure::Closed), failed(1, Failure::Truncated)]);
}

#[test]
fn a_goodbye_is_goaway() {
    let mut session = started(1);
    session.handle_close();
    let goaway = Frame { kind: GOAWAY, flags: 0, stream: 0, payload: vec![0; 8] };
    assert_eq!(frames(&transmit(&mut session)), [goaway]);
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), []);
}

// ---- 5.2, 6.9: flow control ---------------------------------------------------------------

#[test]
fn windows_are_opened_again_in_large_steps() {
    let settings =
        Settings { stream_window_bits: 16, connection_window_bits: 17, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, 0);
    transmit(&mut session);
    feed(&mut session, &headers(1, OK));
    let mut steps = Vec::new();
    for _ in 0..16 {
        feed(&mut session, &data(1, &[0; 16_000]));
        for frame in frames(&transmit(&mut session)) {
            assert_eq!(frame.kind, WINDOW_UPDATE);
            steps.push((frame.stream, u32::from_be_bytes(frame.payload.try_into().unwrap())));
        }
    }
    let of = |stream| steps.iter().filter(move |step| step.0 == stream).map(|step| step.1);
    assert_eq!(of(1).collect::<Vec<_>>(), [48_000; 5]);
    assert_eq!(of(0).collect::<Vec<_>>(), [80_000; 3]);
}

#[test]
fn a_server_that_exceeds_a_window_is_told_6_9_1() {
    let settings =
        Settings { stream_window_bits: 17, connection_window_bits: 16, ..Settings::default() };
    let started = |settings| {
        let mut session = ready_with(&[prepared("GET", b"")], settings);
        session.handle_request(0, 0);
        transmit(&mut session);
        feed(&mut session, &headers(1, OK));
        session
    };
    // A frame larger than what is left of the window, which takes a large frame to do.
    let large = Settings { max_frame_bytes: 1 << 20, ..settings };
    assert_broken(&mut started(large), &data(1, &[0; 65_536]), Error::WindowExceeded);
    let large = Settings {
        stream_window_bits: 16,
        connection_window_bits: 30,
        max_frame_bytes: 1 << 20,
        ..settings
    };
    let error = Error::StreamWindowExceeded;
    assert_refused(&mut started(large), &data(1, &[0; 65_536]), 0, error);
    // A window below the default counts from the server's acknowledgement on.
    let small = Settings { stream_window_bits: 10, ..settings };
    let mut session = started(small);
    assert_eq!(feed(&mut session, &data(1, &[0; 10_000])), []);
    assert_eq!(feed(&mut session, &frame(SETTINGS, ACK, 0, b"")), []);
    assert_refused(&mut session, &data(1, &[0; 1_024]), 0, error);
}

/// A session with a body of `bytes` handed in.
fn uploading(bytes: usize) -> Session {
    let settings = Settings { streams: 2, ..Settings::default() };
    let mut session = ready_with(&[prepared("POST", &vec![b'x'; bytes])], settings);
    session.handle_request(0, 0);
    session
}

fn sent(session: &mut Session) -> (usize, bool) {
    let frames = frames(&transmit(session));
    let data: Vec<_> = frames.iter().filter(|frame| frame.kind == DATA).collect();
    assert!(data.iter().all(|frame| frame.payload.len() <= 16_384));
    let ended = data.last().is_some_and(|frame| frame.flags == END_STREAM);
    (data.iter().map(|frame| frame.payload.len()).sum(), ended)
}

#[test]
fn bodies_keep_to_the_servers_windows_6_9() {
    let mut session = uploading(200_000);
    assert_eq!(sent(&mut session), (65_535, false));
    feed(&mut session, &number(WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!(sent(&mut session), (0, false));
    feed(&mut session, &number(WINDOW_UPDATE, 1, 10));
    assert_eq!(sent(&mut session), (10, false));
    feed(&mut session, &number(WINDOW_UPDATE, 1, 1_000_000));
    assert_eq!(sent(&mut session), (200_000 - 65_545, true));
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    // The stream of the next has its window, and takes what is left of the connection's.
    session.handle_request(1, 0);
    assert_eq!(sent(&mut session), (65_535, false));
}

#[test]
fn a_smaller_initial_window_counts_for_open_streams_too_6_9_2() {
    let mut session = uploading(200_000);
    feed(&mut session, &number(WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!(sent(&mut session), (65_535, false));
    feed(&mut session, &setting(4, 65_435));
    feed(&mut session, &number(WINDOW_UPDATE, 1, 100));
    assert_eq!(sent(&mut session), (0, false));
    feed(&mut session, &number(WINDOW_UPDATE, 1, 1));
    assert_eq!(sent(&mut session), (1, false));
    feed(&mut session, &setting(4, 65_535));
    assert_eq!(sent(&mut session), (100, false));
}

#[test]
fn windows_cannot_grow_beyond_31_bits_6_9_1() {
    let most = 0x7fff_ffff;
    let mut session = started(2);
    assert_broken(&mut session, &number(WINDOW_UPDATE, 0, most), Error::WindowOverflow);
    assert_broken(&mut started(1), &number(WINDOW_UPDATE, 0, 0), Error::WindowUpdateZero);
    let overflow = Error::StreamWindowOverflow;
    assert_refused(&mut started(2), &number(WINDOW_UPDATE, 1, most), 0, overflow);
    let zero = Error::StreamWindowUpdateZero;
    assert_refused(&mut started(2), &number(WINDOW_UPDATE, 1, 0), 0, zero);
    let mut session = started(1);
    feed(&mut session, &number(WINDOW_UPDATE, 1, most - 65_535));
    assert_broken(&mut session, &setting(4, 65_536), Error::SettingWindow);
}

#[test]
fn an_answer_before_the_end_of_the_body_is_an_answer_8_1() {
    let mut session = uploading(200_000);
    sent(&mut session);
    let answer = [empty_answer(1, OK), number(RST_STREAM, 1, 0)].concat();
    assert_eq!(feed(&mut session, &answer), answered(0, 200, 0));
    let reset = frames(&transmit(&mut session));
    assert_eq!(payload_of(&reset, RST_STREAM), [8u32.to_be_bytes()]);
    assert_eq!(reset.len(), 1);
}

// ---- 4, 6: frames ---------------------------------------------------------------------------

#[test]
fn frames_of_wrong_form_are_refused() {
    for (bytes, error) in [
        (frame(DATA, 0, 0, b"x"), Error::FrameStream),
        (frame(HEADERS, END_HEADERS, 0, OK), Error::FrameStream),
        (frame(PRIORITY, 0, 0, &[0; 5]), Error::FrameStream),
        (frame(PRIORITY, 0, 7, &[0; 4]), Error::FrameSize),
        (frame(RST_STREAM, 0, 0, &[0; 4]), Error::FrameStream),
        (frame(RST_STREAM, 0, 1, &[0; 3]), Error::FrameSize),
        (frame(PING, 0, 1, &[0; 8]), Error::FrameStream),
        (frame(PING, 0, 0, &[0; 7]), Error::FrameSize),
        (frame(GOAWAY, 0, 1, &[0; 8]), Error::FrameStream),
        (frame(GOAWAY, 0, 0, &[0; 7]), Error::FrameSize),
        (frame(WINDOW_UPDATE, 0, 1, &[0; 3]), Error::FrameSize),
        (frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x88]), Error::Push),
        (frame(CONTINUATION, END_HEADERS, 1, OK), Error::Continuation),
        (frame(DATA, 0, 1, &[0; 16_385]), Error::FrameSize),
        (frame(HEADERS, PADDED, 1, &[1, 0x88][..1]), Error::Padding),
        (frame(HEADERS, WITH_PRIORITY, 1, &[0; 4]), Error::FrameSize),
        (headers(1, &[0xff]), Error::Hpack(hpack::Error::Integer)),
        (headers(1, &[0xbe]), Error::Hpack(hpack::Error::Index)),
        (headers(1, &[0x80]), Error::Hpack(hpack::Error::Index)),
        (headers(1, &[0x88, 0x20]), Error::Hpack(hpack::Error::TableSize)),
        (headers(1, &[0x3f, 0xe2, 0x1f]), Error::Hpack(hpack::Error::TableSize)),
    ] {
        assert_broken(&mut started(1), &bytes, error);
    }
    let padded = [headers(1, OK), frame(DATA, PADDED, 1, &[1, b'x'])].concat();
    assert_eq!(feed(&mut started(1), &padded), [Event::FirstByte(0)]);
    let padded = [headers(1, OK), frame(DATA, PADDED, 1, &[2, b'x'])].concat();
    assert_broken(&mut started(1), &padded, Error::Padding);
    assert_refused(&mut started(1), &frame(PRIORITY, 0, 1, &[0; 4]), 0, Error::PriorityLength);
}

#[test]
fn unknown_frames_and_priorities_are_ignored() {
    let mut session = started(1);
    let input = [
        frame(0x42, 0xff, 9, &[1; 1000]),
        frame(0xff, 0, 0, b""),
        frame(PRIORITY, 0, 9, &[0; 5]),
        frame(PING, ACK, 0, &[0; 8]),
        frame(
            HEADERS,
            END_HEADERS | END_STREAM | PADDED | WITH_PRIORITY,
            1,
            &[2, 0, 0, 0, 3, 9, 0x88, 0, 0],
        ),
    ];
    assert_eq!(feed(&mut session, &input.concat()), answered(0, 200, 0));
    assert_eq!(transmit(&mut session), b"");
}

#[test]
fn a_header_block_may_be_cut_anywhere_and_nothing_may_come_between_6_10() {
    let block = [OK, &literal("server", "x")[..]].concat();
    for first in 0..=block.len() {
        for second in first..=block.len() {
            let input = [
                frame(HEADERS, END_STREAM, 1, &block[..first]),
                frame(CONTINUATION, 0, 1, &block[first..second]),
                frame(CONTINUATION, END_HEADERS, 1, &block[second..]),
            ];
            assert_eq!(feed(&mut started(1), &input.concat()), answered(0, 200, 0));
        }
    }
    for between in [
        frame(PING, 0, 0, &[0; 8]),
        data(1, b""),
        frame(0x42, 0, 0, b""),
        frame(CONTINUATION, END_HEADERS, 3, OK),
        headers(1, OK),
    ] {
        let input = [frame(HEADERS, 0, 1, b""), between].concat();
        assert_broken(&mut started(2), &input, Error::Continuation);
    }
}

#[test]
fn a_large_request_goes_on_in_continuation_frames() {
    let long = "!".repeat(20_000);
    let request = plan_request("GET", &[("x-long", &long)], b"");
    let requests = [candor_protocol::h2::prepare(&request, "http", "example")];
    let mut session = ready_with(&requests, Settings::default());
    session.handle_request(0, 0);
    let frames = frames(&transmit(&mut session));
    assert_eq!(frames.iter().map(|f| f.kind).collect::<Vec<_>>(), [HEADERS, CONTINUATION]);
    assert_eq!(frames.iter().map(|f| f.flags).collect::<Vec<_>>(), [END_STREAM, END_HEADERS]);
    let block: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.clone()).collect();
    let mut last = Vec::new();
    let take = |_: &[u8], value: &[u8]| last = value.to_vec();
    hpack::Decoder::default().decode(&block, take).unwrap();
    assert_eq!(last, long.as_bytes());
}

#[test]
fn a_tunnel_is_not_asked_for_more_8_5() {
    let mut session = ready_with(&[prepared("CONNECT", b"")], Settings::default());
    session.handle_request(0, 0);
    transmit(&mut session);
    assert_eq!(feed(&mut session, &headers(1, OK)), answered(0, 200, 0));
    assert_eq!(payload_of(&frames(&transmit(&mut session)), RST_STREAM), [8u32.to_be_bytes()]);
    assert_eq!(feed(&mut session, &data(1, b"tunnelled")), []);
}

// ---- what is remembered ----------------------------------------------------------------------

#[test]
fn a_block_seen_before_means_what_the_table_makes_of_it_now() {
    let mut session = ready(1);
    let mut exchange = |block: &[u8], body: &[u8]| {
        session.handle_request(0, 0);
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
        session.handle_request(0, 0);
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
