//! The beginning of a connection: preface, settings, an upgrade (RFC 9113 3.4, 6.5).

use candor_protocol::h2::{Error, Session, Settings};
use candor_protocol::{Event, Outgoing, Session as _};

use crate::support::*;

#[test]
fn a_connection_begins_with_preface_settings_and_window() {
    let settings =
        Settings { stream_window_bits: 20, connection_window_bits: 24, ..Settings::default() };
    let mut session = session(&[prepared("GET", b"")], settings);
    assert!(!session.is_ready());
    assert_eq!(session.free_places(), 0);
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
    assert_eq!(feed(&mut session, &setting(3, 7)), [READY]);
    assert!(session.is_ready());
    assert_eq!(session.free_places(), 7);
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
    assert_eq!((session.outstanding(), session.free_places()), (1, 0));
    let kinds: Vec<u8> = frames(&transmit(&mut session)).iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [SETTINGS, WINDOW_UPDATE]);
    let input = [frame(SETTINGS, 0, 0, b""), empty_answer(1, OK)].concat();
    let [first, done] = answered(9, 200, 0);
    assert_eq!(feed(&mut session, &input), [READY, first, done]);
    transmit(&mut session);
    session.handle_request(10, Outgoing::Listed(0));
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
    assert_eq!(session.free_places(), 10);
    assert_eq!(feed(&mut session, &setting(3, 2)), [Event::Changed]);
    assert_eq!(session.free_places(), 2);
    session.handle_request(0, Outgoing::Listed(0));
    assert_eq!(session.free_places(), 1);
    assert_eq!(feed(&mut session, &setting(3, 0)), [Event::Changed]);
    assert_eq!(session.free_places(), 0);
    assert_eq!(feed(&mut session, &setting(3, 100)), [Event::Changed]);
    assert_eq!(session.free_places(), 9);
}
