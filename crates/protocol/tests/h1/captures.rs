//! Responses that are kept for a script, and their bounds.

use candor_protocol::h1::{Limits, Session};
use candor_protocol::{CaptureRoom, Codings, Event, Failure, Keep, NotKept, Session as _};

use crate::support::{end, feed, prepared, started};

const LIMIT: usize = 1000;

fn capturing(requests: usize, room: &CaptureRoom) -> Session {
    let requests = vec![prepared("GET", &[]); requests];
    let mut session = started(&requests, Limits::default());
    session.capture(room);
    session
}

/// A body of `bytes`, framed in each way that there is.
fn framed(bytes: usize) -> [String; 3] {
    let body = "x".repeat(bytes);
    let chunks: String = body
        .as_bytes()
        .chunks(97)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), "x".repeat(chunk.len())))
        .collect();
    [
        format!("HTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: {bytes}\r\n\r\n{body}"),
        format!("HTTP/1.1 200 OK\r\nX-Y: z\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\nX-Y: z\r\n\r\n{body}"),
    ]
}

#[test]
fn the_beginning_of_a_longer_body_is_kept_and_the_rest_is_passed_over() {
    for cut in [1, 7, usize::MAX] {
        for text in framed(LIMIT + 500) {
            let room =
                CaptureRoom::for_requests([Keep::Beginning].into(), Codings::Kept, LIMIT, 16);
            let mut session = capturing(1, &room);
            let mut events = Vec::new();
            text.as_bytes().chunks(cut).for_each(|piece| events.extend(feed(&mut session, piece)));
            events.extend(end(&mut session));
            let Some(Event::Done(answer)) = events.last() else { panic!("{events:?}") };
            assert_eq!(answer.body_bytes, LIMIT as u64 + 500);
            assert_eq!(session.take_captured().unwrap().get().body.len(), LIMIT);
        }
    }
}

#[test]
fn a_body_of_the_limit_is_kept_and_one_byte_more_is_not() {
    for cut in [1, 7, usize::MAX] {
        for text in framed(LIMIT) {
            let room = CaptureRoom::new(LIMIT, 16);
            let mut session = capturing(1, &room);
            let mut events = Vec::new();
            text.as_bytes().chunks(cut).for_each(|piece| events.extend(feed(&mut session, piece)));
            events.extend(end(&mut session));
            assert!(matches!(&events[..], [Event::FirstByte(0), Event::Done(_)]), "{events:?}");
            let kept = session.take_captured().unwrap();
            assert_eq!(kept.get().body.len(), LIMIT);
            assert!(kept.get().fields.starts_with(b"X-Y: z\r\n"));
            drop(kept);
            assert!(session.take_captured().is_none());
            assert_eq!(room.held_bytes(), 0);
        }
        for text in framed(LIMIT + 1) {
            let room = CaptureRoom::new(LIMIT, 16);
            let mut session = capturing(2, &room);
            let mut events = Vec::new();
            text.as_bytes().chunks(cut).for_each(|piece| events.extend(feed(&mut session, piece)));
            let failure = Failure::NotKept(NotKept::Body(LIMIT));
            let failed = Event::Failed { id: Some(0), failure };
            assert_eq!(events.last(), Some(&failed), "{events:?}");
            assert_eq!(room.held_bytes(), 0, "given back before the connection is");
            assert_eq!(session.free_places(), 0);
            assert_eq!(end(&mut session), [], "the engine has what is left");
        }
    }
}

#[test]
fn an_endless_body_holds_no_more_than_the_limit() {
    let room = CaptureRoom::new(LIMIT, 16);
    let mut session = capturing(1, &room);
    feed(&mut session, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut most = 0;
    for _ in 0..10_000 {
        feed(&mut session, b"5\r\nhello\r\n");
        most = most.max(room.held_bytes());
    }
    assert!((LIMIT..3 * LIMIT).contains(&most), "{most}");
    assert_eq!(room.held_bytes(), 0);
}

#[test]
fn all_connections_of_a_worker_share_one_room() {
    let room = CaptureRoom::new(100 << 10, 2);
    let mut sessions: Vec<Session> = (0..50).map(|_| capturing(1, &room)).collect();
    let mut failed = 0;
    for session in &mut sessions {
        // Header blocks count as bodies do.
        let fields = "a: b\r\n".repeat(5_000);
        let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 9\r\n\r\n12345678");
        let events = feed(session, head.as_bytes());
        let failure = Failure::NotKept(NotKept::Together(200 << 10));
        failed += usize::from(events.contains(&Event::Failed { id: Some(0), failure }));
        assert!(room.held_bytes() <= 200 << 10);
    }
    assert!((44..=48).contains(&failed), "{failed}");
    // There is room again when those that have it are done.
    for session in sessions.iter_mut().take(2) {
        assert!(matches!(feed(session, b"9")[..], [Event::Done(_)]));
        session.take_captured();
    }
    let mut next = capturing(1, &room);
    let [_, Event::Done(_)] = &feed(&mut next, framed(9)[0].as_bytes())[..] else { panic!() };
    assert_eq!(next.take_captured().unwrap().get().body.len(), 9);
    drop((sessions, next));
    assert_eq!(room.held_bytes(), 0);
}

#[test]
fn interim_responses_are_not_kept() {
    let room = CaptureRoom::new(LIMIT, 16);
    let mut session = capturing(1, &room);
    let text = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nB: c\r\nContent-Length: 0\r\n\r\n";
    feed(&mut session, text.as_bytes());
    let kept = session.take_captured().unwrap();
    let kept = kept.get();
    assert_eq!((kept.fields, kept.body), (&b"B: c\r\nContent-Length: 0\r\n\r\n"[..], &b""[..]));
}
