//! Requests on their way out: what is written, in which order, and when a request has begun.

use std::io::IoSlice;
use std::sync::Arc;

use candor_protocol::h1::{Limits, Prepared, Session, prepare};
use candor_protocol::{Event, Last, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{answered, closed, end, feed, fresh, plan_request, unasked};

fn head(method: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
    let prepared = prepare(&plan_request(method, headers, body), "example:8080");
    assert_eq!(&prepared.body[..], body);
    String::from_utf8_lossy(&prepared.head).into_owned()
}

#[test]
fn host_comes_from_the_authority_unless_the_request_has_one_9110_7_2() {
    assert_eq!(
        head("GET", &[("X-One", "1"), ("x-Two", " 2 ")], b""),
        "GET / HTTP/1.1\r\nHost: example:8080\r\nX-One: 1\r\nx-Two:  2 \r\n\r\n"
    );
    assert_eq!(
        head("GET", &[("A", "1"), ("hOsT", "other")], b""),
        "GET / HTTP/1.1\r\nA: 1\r\nhOsT: other\r\n\r\n"
    );
}

#[test]
fn content_length_is_added_where_it_is_needed_9110_8_6() {
    let with = |length: &str| format!("Host: example:8080\r\nContent-Length: {length}\r\n\r\n");
    for method in ["POST", "PUT", "PATCH"] {
        assert!(head(method, &[], b"").ends_with(&with("0")), "{method}");
        assert!(head(method, &[], b"seven b").ends_with(&with("7")), "{method}");
    }
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "post"] {
        assert!(head(method, &[], b"").ends_with("Host: example:8080\r\n\r\n"), "{method}");
        assert!(head(method, &[], b"x").ends_with(&with("1")), "{method}");
    }
    let own = head("POST", &[("content-length", "99")], b"seven b");
    assert!(own.ends_with("\r\ncontent-length: 99\r\n\r\n"), "{own}");
    let own = head("POST", &[("transfer-encoding", "chunked")], b"0\r\n\r\n");
    assert!(own.ends_with("\r\ntransfer-encoding: chunked\r\n\r\n"), "{own}");
}

#[test]
fn method_and_target_go_out_as_given() {
    let mut request = plan_request("M-SEARCH", &[], b"");
    request.path = "/a%20b/../c?x=%7B#é".to_owned();
    let prepared = prepare(&request, "h");
    assert!(prepared.head.starts_with("M-SEARCH /a%20b/../c?x=%7B#é HTTP/1.1\r\n".as_bytes()));
    assert!(!prepared.is_head && !prepared.is_connect && !prepared.closes && !prepared.upgrades);
}

#[test]
fn what_a_request_means_for_its_answer_is_known() {
    let of = |method: &str, headers: &[(&str, &str)]| {
        let one = prepare(&plan_request(method, headers, b""), "h");
        (one.is_head, one.is_connect, one.closes, one.upgrades)
    };
    assert_eq!(of("HEAD", &[]), (true, false, false, false));
    assert_eq!(of("CONNECT", &[]), (false, true, false, false));
    assert_eq!(of("GET", &[("connection", "te, Close")]), (false, false, true, false));
    assert_eq!(of("GET", &[("Connection", "closed")]), (false, false, false, false));
    assert_eq!(of("GET", &[("UPGRADE", "websocket")]), (false, false, false, true));
}

/// A table of requests that cannot be confused with each other.
fn table(bodies: &[usize]) -> Arc<[Prepared]> {
    let one = |(index, length): (usize, &usize)| {
        let mut request = plan_request("GET", &[], &vec![b'a' + index as u8; *length]);
        request.path = format!("/{index}");
        prepare(&request, "example")
    };
    bodies.iter().enumerate().map(one).collect()
}

fn wire(request: &Prepared) -> Vec<u8> {
    [&request.head[..], &request.body[..]].concat()
}

/// What the session offers, in up to `room` slices.
fn offered(session: &mut Session, room: usize) -> Vec<u8> {
    let mut slices = vec![IoSlice::new(&[]); room];
    let used = session.poll_transmit(0, &mut slices).slices as usize;
    assert!(slices[..used].iter().all(|slice| !slice.is_empty()));
    slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect()
}

fn written(session: &mut Session, bytes: usize) -> Vec<u32> {
    let mut started = Vec::new();
    session.handle_transmitted(0, bytes, &mut |id| started.push(id));
    started
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    /// However the socket takes the bytes and whenever requests come: all bytes, in order, and
    /// each request begins once, with its first byte.
    #[test]
    fn partial_writes_lose_and_repeat_nothing(
        bodies in vec(prop_oneof![3 => Just(0usize), 2 => 1usize..40], 1..4),
        repeated in 0u32..6,
        picks in vec(any::<Index>(), 1..9),
        steps in vec((any::<bool>(), 1usize..7, 0usize..200), 1..200),
    ) {
        let repeat = |request: &Prepared| request.clone().repeated(repeated);
        let table: Arc<[Prepared]> = table(&bodies).iter().map(repeat).collect();
        let picks: Vec<usize> = picks.iter().map(|pick| pick.index(bodies.len())).collect();
        let mut session = fresh(Arc::clone(&table), picks.len() as u32, Limits::default());
        let (mut sent, mut wanted, mut begun, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut handed = 0u32;
        let finish = std::iter::repeat_n((true, 20, usize::MAX), picks.len() + 1);
        for (hand_in, room, accept) in steps.into_iter().chain(finish) {
            if hand_in && let Some(pick) = picks.get(handed as usize) {
                starts.push((wanted.len(), handed + 100));
                wanted.extend(wire(&table[*pick]));
                session.handle_request(handed + 100, Outgoing::Listed(*pick as u32));
                handed += 1;
            }
            let bytes = offered(&mut session, room);
            let accepted = bytes.len().min(accept);
            let from = sent.len();
            sent.extend_from_slice(&bytes[..accepted]);
            let now = written(&mut session, accepted);
            let due: Vec<u32> = starts
                .iter()
                .filter(|(at, _)| (from..sent.len()).contains(at))
                .map(|(_, id)| *id)
                .collect();
            prop_assert_eq!(&now, &due);
            begun.extend(now);
        }
        prop_assert_eq!(sent, wanted);
        prop_assert_eq!(begun, (100..100 + handed).collect::<Vec<_>>());
        prop_assert_eq!(offered(&mut session, 20), b"");
        prop_assert_eq!(session.outstanding(), handed);
    }
}

#[test]
fn slots_are_free_until_the_pipeline_is_full() {
    let table = table(&[0, 0]);
    let mut session = fresh(Arc::clone(&table), 2, Limits::default());
    assert_eq!((session.free_places(), session.outstanding()), (2, 0));
    session.handle_request(7, Outgoing::Listed(0));
    session.handle_request(8, Outgoing::Listed(1));
    assert_eq!((session.free_places(), session.outstanding()), (0, 2));
    let both = [wire(&table[0]), wire(&table[1])].concat();
    assert_eq!(offered(&mut session, 2), both);
    assert_eq!(written(&mut session, both.len()), [7, 8]);
    let events = feed(&mut session, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(events, answered(7, 200, 0, false));
    assert_eq!((session.free_places(), session.outstanding()), (1, 1));
}

#[test]
fn a_batch_of_the_same_request_is_one_piece() {
    let prepared = table(&[0, 3]).iter().map(|one| one.clone().repeated(3)).collect();
    let table: Arc<[Prepared]> = prepared;
    let pieces = |requests: &[u32]| {
        let mut session = fresh(Arc::clone(&table), 4, Limits::default());
        (0..)
            .zip(requests)
            .for_each(|(id, request)| session.handle_request(id, Outgoing::Listed(*request)));
        let mut slices = [IoSlice::new(&[]); 16];
        let used = session.poll_transmit(0, &mut slices).slices as usize;
        slices[..used].iter().map(|slice| slice.len()).collect::<Vec<_>>()
    };
    let (head, with_body) = (table[0].head.len(), table[1].head.len());
    assert_eq!(pieces(&[0]), [head]);
    assert_eq!(pieces(&[0, 0, 0]), [3 * head]);
    // More than it was told of, another one, one with a body: one by one.
    assert_eq!(pieces(&[0, 0, 0, 0]), [head; 4]);
    assert_eq!(pieces(&[1, 1]), [with_body, 3, with_body, 3]);
    assert_eq!(pieces(&[0, 1]), [head, with_body, 3]);
    let long = Prepared { head: vec![b'x'; 40_000], batch: Box::default(), ..table[0].clone() }
        .repeated(9);
    assert_eq!(long.batch.len(), 0);
}

#[test]
fn bytes_before_the_request_was_begun_are_no_answer_to_it() {
    let mut session = fresh(table(&[0]), 1, Limits::default());
    session.handle_request(1, Outgoing::Listed(0));
    assert_eq!(feed(&mut session, b"HTTP/1.1 408 Too late\r\n\r\n"), [unasked()]);
    assert_eq!((session.free_places(), session.outstanding()), (0, 1));
    assert_eq!(offered(&mut session, 4), b"");
    assert_eq!(end(&mut session), []);
}

#[test]
fn a_response_that_is_complete_before_its_request_ends_the_connection_9112_9_5() {
    for pipeline in [1, 3] {
        let table = table(&[10, 0]);
        let mut session = fresh(Arc::clone(&table), pipeline, Limits::default());
        session.handle_request(1, Outgoing::Listed(0));
        (2..=pipeline).for_each(|id| session.handle_request(id, Outgoing::Listed(1)));
        let first = wire(&table[0]);
        assert_eq!(written(&mut session, first.len() - 3), [1]);
        // While it is on its way, the server may want the rest.
        let head = b"HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(feed(&mut session, head), [Event::FirstByte(1)]);
        assert_eq!(offered(&mut session, 8)[..3], first[first.len() - 3..]);
        let [_, mut by_us] = answered(1, 413, 2, false);
        if let Event::Done(answer) = &mut by_us {
            answer.last = Last::ByUs;
        }
        assert_eq!(feed(&mut session, b"no"), [by_us]);
        assert_eq!((session.free_places(), offered(&mut session, 8).len()), (0, 0));
        // Those behind it were never begun.
        let behind: Vec<Event> = (2..=pipeline).map(closed).collect();
        assert_eq!(end(&mut session), behind);
    }
}

#[test]
fn a_response_to_a_whole_request_leaves_the_connection_to_those_that_are_written_behind_it() {
    let table = table(&[0, 10]);
    let mut session = fresh(Arc::clone(&table), 2, Limits::default());
    session.handle_request(1, Outgoing::Listed(0));
    session.handle_request(2, Outgoing::Listed(1));
    assert_eq!(written(&mut session, wire(&table[0]).len() + 4), [1, 2]);
    let events = feed(&mut session, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(events, answered(1, 200, 0, false));
    assert_eq!(session.free_places(), 1);
}

#[test]
fn a_last_answer_stops_what_was_not_begun_9112_9_6() {
    let table = table(&[10, 0, 0]);
    let mut session = fresh(Arc::clone(&table), 4, Limits::default());
    (0..3).for_each(|index| session.handle_request(index, Outgoing::Listed(index)));
    let first = wire(&table[0]);
    assert_eq!(written(&mut session, first.len() - 3), [0]);
    let head = b"HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(session.free_places(), 1);
    assert_eq!(feed(&mut session, head), [Event::FirstByte(0)]);
    assert_eq!(session.free_places(), 0);
    assert_eq!(offered(&mut session, 8), &first[first.len() - 3..]);
    assert_eq!(written(&mut session, 3), [0u32; 0]);
    assert_eq!(offered(&mut session, 8), b"");
    assert_eq!(feed(&mut session, b"no"), answered(0, 413, 2, true)[1..]);
    assert_eq!(end(&mut session), [closed(1), closed(2)]);
}

#[test]
fn a_request_that_closes_is_the_last_9112_9_6() {
    let closing = prepare(&plan_request("GET", &[("Connection", "close")], b""), "example");
    let mut session = fresh([closing.clone()].into(), 4, Limits::default());
    session.handle_request(1, Outgoing::Listed(0));
    assert_eq!(session.free_places(), 0);
    assert_eq!(offered(&mut session, 4), wire(&closing));
    written(&mut session, closing.head.len());
    let events = feed(&mut session, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(events, answered(1, 200, 0, true));
}
