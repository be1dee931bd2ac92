//! Malicious servers: each case costs bounded memory, and gets the error it deserves.

use std::time::{Duration, Instant};

use candor_protocol::h2::{Error, Session, Settings};
use candor_protocol::{Event, Outgoing, Session as _};

use crate::support::*;

/// What a session may have waiting to be written, whatever the server does: a few times what an
/// honest connection has.
const MOST_PENDING: usize = 256 << 10;

/// Feeds `piece` until the session gives up; how often that took, and what was left to write.
fn flood(session: &mut Session, piece: &[u8], most: usize) -> (Event, usize, usize) {
    for times in 1..=most {
        let said = feed(session, piece).pop();
        if let Some(event) = said.filter(|event| !matches!(event, Event::GoAway(_))) {
            return (event, times, transmit(session).len());
        }
    }
    panic!("{most} times and no error");
}

#[test]
fn floods_of_frames_that_carry_nothing_end_the_connection() {
    for piece in [
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, ACK, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, b""),
        setting(4, 1000),
        frame(SETTINGS, ACK, 0, b""),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(PRIORITY, 0, 99, &[0; 5]),
        frame(0x42, 0, 0, b""),
        frame(0x42, 0, 1, &[0; 100]),
        data(1, b""),
        frame(DATA, PADDED, 5, &[3, 0, 0, 0]),
        number(RST_STREAM, 3, 8),
        number(WINDOW_UPDATE, 3, 1),
        number(WINDOW_UPDATE, 1, 1),
        number(WINDOW_UPDATE, 0, 1),
        headers(5, &literal("x", "y")),
    ] {
        let mut session = started(3);
        // Stream 1 is being answered, 3 was ended by the server, 5 by us.
        feed(&mut session, &[headers(1, OK), empty_answer(3, OK)].concat());
        assert!(session.cancel(2));
        transmit(&mut session);
        let (event, times, pending) = flood(&mut session, &piece, 20_000);
        assert_eq!(event, broken(Error::Flood), "{piece:?}");
        assert!((5_000..=10_001).contains(&times), "{times} times {piece:?}");
        assert!(pending < MOST_PENDING, "{pending} bytes for {piece:?}");
    }
}

/// How long a session with `streams` uploads takes for settings that flip the window, in one read.
fn time_for_flips(streams: u32) -> Duration {
    let request = prepared("POST", &[b'x'; 100_000]);
    let mut session = ready_with(&[request], Settings { streams, ..Settings::default() });
    for id in 0..streams {
        session.handle_request(id, Outgoing::Listed(0));
        transmit(&mut session);
    }
    let flips = [setting(4, 0), setting(4, 65_535)].concat().repeat(4_000);
    let begun = Instant::now();
    assert_eq!(feed(&mut session, &flips), []);
    begun.elapsed()
}

/// The work for a setting does not grow with the streams that it is for: otherwise a read of 120 kB keeps a worker
/// for seconds, deaf to the clock and to signals.
#[test]
fn settings_that_flip_the_window_cost_the_same_for_any_number_of_streams() {
    let least = |streams| (0..3).map(|_| time_for_flips(streams)).min().unwrap_or_default();
    let (one, most) = (least(1), least(1 << 16));
    // Looking at each stream for each setting would be ten thousands of times the time.
    assert!(most < 100 * one, "{most:?} for 65,536 streams, {one:?} for one");
}

/// Streams that wait for their window are looked at when a setting opens it. That counts as what it costs: here each
/// has sent more than any of the settings allows.
#[test]
fn settings_that_open_the_windows_of_many_streams_again_and_again_are_a_flood() {
    const STREAMS: u32 = 1 << 16;
    let request = prepared("POST", &[b'x'; 20]);
    let mut session = ready_with(&[request], Settings { streams: STREAMS, ..Settings::default() });
    feed(&mut session, &[setting(4, 16), number(WINDOW_UPDATE, 0, 20 * STREAMS)].concat());
    (0..STREAMS).for_each(|id| session.handle_request(id, Outgoing::Listed(0)));
    transmit(&mut session);
    let (event, times, pending) =
        flood_unwritten(&mut session, &[setting(4, 0), setting(4, 1)].concat(), 1000);
    assert_eq!(event, broken(Error::Flood));
    assert!(times <= 10, "{times}");
    assert!(pending < MOST_PENDING, "{pending}");
}

/// As [`flood`], where nothing is written in between.
fn flood_unwritten(session: &mut Session, piece: &[u8], most: usize) -> (Event, usize, usize) {
    for times in 1..=most {
        if let Some(event) = feed(session, piece).pop() {
            return (event, times, transmit(session).len());
        }
    }
    panic!("{most} times and no error");
}

/// A setting may open a window that WINDOW_UPDATE has opened before, but not beyond what a window may be.
#[test]
fn windows_of_settings_and_updates_add_up_6_9_2() {
    let open = |by: u32, window: u32| {
        let request = prepared("POST", &[b'x'; 10]);
        let mut session = ready_with(&[request], Settings { streams: 2, ..Settings::default() });
        (0..2).for_each(|id| session.handle_request(id, Outgoing::Listed(0)));
        transmit(&mut session);
        assert_eq!(feed(&mut session, &number(WINDOW_UPDATE, 3, by)), []);
        feed(&mut session, &setting(4, window))
    };
    // Ten bytes of each were sent.
    let most = 0x7fff_ffff;
    assert_eq!(open(most - 65_535 + 10, 65_535), []);
    assert_eq!(open(most - 65_535 + 10, 65_536), [broken(Error::SettingWindow)]);
    assert_eq!(open(5, most), []);
    assert_eq!(open(11, most), [broken(Error::SettingWindow)]);
}

#[test]
fn a_server_that_answers_may_ping_for_ever() {
    let mut session = started(1);
    let pings = frame(PING, 0, 0, &[0; 8]).repeat(1000);
    for id in 0..100 {
        assert_eq!(feed(&mut session, &pings), []);
        assert_eq!(transmit(&mut session).len(), 17 * 1000);
        assert_eq!(feed(&mut session, &empty_answer(2 * id + 1, OK)), answered(id, 200, 0));
        session.handle_request(id + 1, Outgoing::Listed(0));
        transmit(&mut session);
    }
}

#[test]
fn a_server_that_only_lets_us_write_window_updates_is_stopped() {
    // A window of one byte: each byte of content makes us say something, and it reads none of it.
    let settings = Settings { stream_window_bits: 1, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    feed(&mut session, &[frame(SETTINGS, ACK, 0, b""), headers(1, OK)].concat());
    let (event, _, pending) = flood(&mut session, &data(1, b"x"), 1_000_000);
    assert_eq!(event, broken(Error::Flood));
    assert!(pending < (1 << 20) + 100, "{pending}");
}

#[test]
fn floods_of_continuation_frames_end_the_connection() {
    for part in [0, 1, 1000, 16_384] {
        let mut session = started(1);
        feed(&mut session, &frame(HEADERS, 0, 1, OK));
        let piece = frame(CONTINUATION, 0, 1, &vec![0; part]);
        let (event, times, _) = flood(&mut session, &piece, 1000);
        assert_eq!(event, broken(Error::HeaderBlockTooLarge));
        assert!(times <= 257, "{times}");
    }
    // One large frame, where large ones were asked for.
    let settings = Settings { max_frame_bytes: 1 << 20, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    let large = headers(1, &vec![0x88; 100_000]);
    assert_broken(&mut session, &large, Error::HeaderBlockTooLarge);
}

#[test]
fn a_bomb_of_indices_fails_its_answer_and_not_the_connection() {
    // 3,900 bytes enter the table, and then come out of it 16,000 times: 62 MB from 20 kB.
    let mut bomb = vec![0x88, 0x40, 1, b'x', 0x7f, 0xbd, 0x1d];
    bomb.extend_from_slice(&[b'y'; 127 + 0x3d + 29 * 128]);
    let mut session = started(2);
    let first = headers(1, &bomb);
    assert_eq!(feed(&mut session, &first), [Event::FirstByte(0)]);
    let refs = [&[0x88][..], &[0xbe; 16_000]].concat();
    assert_refused(&mut session, &headers(3, &refs), 1, Error::HeaderListTooLarge);
    assert_eq!(feed(&mut session, &last_data(1, b"ok")), [done(0, 200, 2)]);
}

#[test]
fn goaway_again_and_again_is_a_flood() {
    let mut session = started(1);
    let (event, _, _) = flood(&mut session, &goaway(0x7fff_ffff, 0), 20_000);
    assert_eq!(event, broken(Error::Flood));
}

#[test]
fn a_frame_that_is_announced_and_never_comes_takes_no_memory_in_advance() {
    let mut session = started(1);
    // 16,384 bytes of HEADERS are announced, one comes.
    let bytes = &frame(HEADERS, END_HEADERS, 1, &[0; 16_384])[..10];
    assert_eq!(feed(&mut session, bytes), []);
    assert_eq!(end(&mut session).len(), 1);
}

/// 65,536 requests end together in three ways: each is found in a few steps, where a search through
/// all of them, for each of them, took half a minute.
#[test]
fn very_many_requests_that_end_together_take_no_search_each() {
    const STREAMS: u32 = 65_536;
    let ids = |events: Vec<Event>| -> Vec<u32> {
        let id = |event| match event {
            Event::Failed { id: Some(id), .. } | Event::RequestFailed { id, .. } => Some(id),
            _ => None,
        };
        events.into_iter().filter_map(id).collect()
    };
    let mut ended = started(STREAMS);
    assert!(ids(end(&mut ended)).into_iter().eq(0..STREAMS), "in the order of their streams");

    let mut refused = started(STREAMS);
    let goaway = frame(GOAWAY, 0, 0, &[0; 8]);
    assert_eq!(ids(feed(&mut refused, &goaway)).len() as u32, STREAMS);

    // The socket is full, so that none of them has left.
    let mut late = ready(STREAMS);
    (0..STREAMS).for_each(|id| late.handle_request(id, Outgoing::Listed(0)));
    assert!((0..STREAMS).all(|id| late.cancel(id)));
    assert_eq!(late.outstanding(), 0);
}
