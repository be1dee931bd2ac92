//! How streams end, and the connection with them (RFC 9113 5.1, 6.4, 6.8).

use candor_protocol::h2::{Error, Settings};
use candor_protocol::{Event, Failure, GoAway, HeaderBytes, Outgoing, Session as _};

use crate::support::*;

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
    session.handle_request(0, Outgoing::Listed(0));
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
    assert_eq!(session.free_places(), 2);
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
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(0));
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
        session.handle_request(id + 1, Outgoing::Listed(0));
        stream = frames(&transmit(&mut session))[0].stream;
    }
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    assert_eq!(feed(&mut session, &empty_answer(stream, OK)), answered(1000, 200, 0));
}

#[test]
fn when_stream_ids_run_out_the_connection_is_over_5_1_1() {
    let settings = Settings { streams: 2, last_stream: 5, ..Settings::default() };
    let mut session = ready_with(&[prepared("GET", b"")], settings);
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(0));
    transmit(&mut session);
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), answered(0, 200, 0));
    assert_eq!(session.free_places(), 1);
    session.handle_request(2, Outgoing::Listed(0));
    transmit(&mut session);
    assert_eq!(feed(&mut session, &empty_answer(3, OK)), answered(1, 200, 0));
    assert_eq!(session.free_places(), 0);
    let mut expected = answered(2, 200, 0).to_vec();
    expected.push(Event::Over);
    assert_eq!(feed(&mut session, &empty_answer(5, OK)), expected);
}

// ---- 6.8: GOAWAY ---------------------------------------------------------------------------------

#[test]
fn goaway_fails_what_was_not_processed_and_lets_the_rest_finish_6_8() {
    let mut session = started(4);
    let word = GoAway { code: 0, last_stream: 3 };
    let refused = |id| request_failed(id, Failure::GoneAway(word));
    let events = [Event::GoAway(word), refused(2), refused(3)];
    assert_eq!(feed(&mut session, &goaway(3, 0)), events);
    assert_eq!((session.free_places(), session.outstanding()), (0, 2));
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
    assert_eq!(session.free_places(), 0);
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
    assert!(session.cancel(0));
    assert_eq!(session.poll_event(), None);
    assert!(session.cancel(1));
    assert_eq!(session.poll_event(), Some(Event::Over), "without any more input");
    assert_eq!(ready(1).poll_event(), None);
}

// ---- the end of the connection -------------------------------------------------------------------

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
    let none = HeaderBytes { received: 0, decoded: 0 };
    assert_eq!(session.poll_event(), Some(Event::HeaderBytes(none)));
    assert_eq!(feed(&mut session, &empty_answer(1, OK)), []);
}
