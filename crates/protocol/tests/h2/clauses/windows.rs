//! Flow control, of answers and of bodies (RFC 9113 5.2, 6.9).

use candor_protocol::h2::{Error, Session, Settings};
use candor_protocol::{Outgoing, Session as _};

use crate::support::*;

#[test]
fn windows_are_opened_again_in_large_steps() {
    let settings =
        Settings { stream_window_bits: 16, connection_window_bits: 17, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, Outgoing::Listed(0));
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
        session.handle_request(0, Outgoing::Listed(0));
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
    session.handle_request(0, Outgoing::Listed(0));
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
    session.handle_request(1, Outgoing::Listed(0));
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
