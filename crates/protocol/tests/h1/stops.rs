//! Requests that stop on their way: what may be written when, what they wait for, and what an
//! answer means that comes before the rest.

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::{Delivery, Pieces};
use candor_protocol::expect::Mismatch;
use candor_protocol::h1::{Limits, Prepared, Session, Stop, Until, prepare};
use candor_protocol::{Answer, Deviations, Event, Hold, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{answered, closed, end, feed, plan_request, truncated, unasked};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

fn request(body: &[u8], delivery: Delivery) -> Prepared {
    let request = candor_plan::Request { delivery, ..plan_request("POST", &[], body) };
    prepare(&request, "example")
}

fn waiting() -> Delivery {
    Delivery { continue_ns: Some(1000), ..Delivery::default() }
}

fn breaking(after: u64) -> Delivery {
    Delivery { break_off_after: Some(after), ..Delivery::default() }
}

/// A session with request 0 handed in, as id 7.
fn begun(body: &[u8], delivery: Delivery) -> Session {
    let table: Arc<[Prepared]> = [request(body, delivery)].into();
    let mut session = Session::new(table, 1, Limits::default());
    session.handle_request(7, 0);
    session
}

/// Writes all that is offered, and returns it.
fn write(session: &mut Session) -> String {
    let mut all = Vec::new();
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(&mut slices);
        let bytes: Vec<u8> =
            slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
        if bytes.is_empty() {
            return String::from_utf8(all).expect("a request of text");
        }
        session.handle_transmitted(bytes.len(), &mut |_| {});
        all.extend(bytes);
    }
}

#[test]
fn a_body_waits_for_a_100_9110_10_1_1() {
    let mut session = begun(b"hello", waiting());
    let head = write(&mut session);
    assert!(head.ends_with("\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"), "{head}");
    assert_eq!(session.take_hold(), Some(Hold::Continue { wait_ns: 1000 }));
    assert_eq!(session.take_hold(), None);
    assert_eq!(write(&mut session), "");
    assert_eq!(feed(&mut session, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), []);
    assert_eq!(write(&mut session), "");
    assert_eq!(feed(&mut session, CONTINUE), [Event::Continue]);
    assert!(!session.is_cut_short());
    assert_eq!(write(&mut session), "hello");
    assert_eq!(session.take_hold(), None);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
    // The next one waits again.
    session.handle_request(8, 0);
    assert_eq!(write(&mut session), head);
    assert_eq!(session.take_hold(), Some(Hold::Continue { wait_ns: 1000 }));
}

#[test]
fn a_body_that_nobody_asks_for_leaves_when_the_time_is_over() {
    let mut session = begun(b"hello", waiting());
    write(&mut session);
    assert!(session.take_hold().is_some());
    session.handle_hold_over();
    assert_eq!(write(&mut session), "hello");
    // It comes after all, and changes nothing.
    assert_eq!(feed(&mut session, CONTINUE), []);
    session.handle_hold_over();
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
}

#[test]
fn a_final_answer_in_place_of_a_100_ends_the_connection() {
    let mut session = begun(b"hello", waiting());
    write(&mut session);
    assert!(session.take_hold().is_some());
    let refused = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(feed(&mut session, refused), answered(7, 417, 0, true));
    assert!(session.is_cut_short() && !session.is_broken_off());
    assert_eq!(session.free_slots(), 0);
    session.handle_hold_over();
    assert_eq!(write(&mut session), "");
    assert_eq!(end(&mut session), []);
}

#[test]
fn a_100_that_overtakes_the_end_of_the_header_lifts_the_stop() {
    let mut session = begun(b"hello", waiting());
    let mut slices = [IoSlice::new(&[]); 4];
    assert!(session.poll_transmit(&mut slices) > 0);
    session.handle_transmitted(10, &mut |_| {});
    assert_eq!(feed(&mut session, CONTINUE), [Event::Continue]);
    assert!(write(&mut session).ends_with("\r\n\r\nhello"));
    assert_eq!(session.take_hold(), None);
}

#[test]
fn a_100_that_nobody_waits_for_is_nothing() {
    let mut session = begun(b"hello", Delivery::default());
    write(&mut session);
    assert_eq!(feed(&mut session, CONTINUE), []);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
}

#[test]
fn nothing_follows_where_a_request_breaks_off() {
    let mut session = begun(b"hello", breaking(3));
    let all = write(&mut session);
    assert!(all.ends_with("\r\nContent-Length: 5\r\n\r\nhel"), "{all}");
    assert!(!session.is_broken_off());
    assert_eq!(session.take_hold(), Some(Hold::BrokenOff));
    assert!(session.is_broken_off() && session.is_cut_short());
    session.handle_hold_over();
    assert_eq!(write(&mut session), "");
    assert_eq!(end(&mut session), [closed(7)]);
}

#[test]
fn an_answer_to_what_broke_off_is_the_last() {
    let mut session = begun(b"hello", breaking(0));
    write(&mut session);
    assert_eq!(session.take_hold(), Some(Hold::BrokenOff));
    let refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    // Whatever it says, none was expected.
    assert_eq!(feed(&mut session, refused), heard(7, 400, 0));
    let mut session = begun(b"hello", breaking(0));
    write(&mut session);
    assert_eq!(session.take_hold(), Some(Hold::BrokenOff));
    assert_eq!(feed(&mut session, b"HTTP/1.1 200 OK\r\n\r\n"), [Event::FirstByte(7)]);
    assert_eq!(end(&mut session), heard(7, 200, 0)[1..]);
    // Before the break it is an answer like any other.
    let mut session = begun(b"hello", breaking(0));
    write(&mut session);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, true));
    let mut session = begun(b"hello", breaking(0));
    write(&mut session);
    assert_eq!(feed(&mut session, b"HTTP/1.1 400 Ba"), []);
    assert_eq!(end(&mut session), [truncated(7)]);
}

/// An answer that comes after the break.
fn heard(id: u32, status: u16, body_bytes: u64) -> [Event; 2] {
    let expected = Err(Mismatch::BrokenOff);
    let deviations = Deviations::default();
    let answer = Answer { id, status, body_bytes, expected, deviations, last: true };
    [Event::FirstByte(id), Event::Done(answer)]
}

#[test]
fn what_waits_and_breaks_off_does_both() {
    let both = Delivery { continue_ns: Some(9), ..breaking(2) };
    let mut session = begun(b"hello", both);
    write(&mut session);
    assert_eq!(session.take_hold(), Some(Hold::Continue { wait_ns: 9 }));
    assert_eq!(feed(&mut session, CONTINUE), [Event::Continue]);
    assert_eq!(write(&mut session), "he");
    assert_eq!(session.take_hold(), Some(Hold::BrokenOff));
}

#[test]
fn a_request_that_stops_waits_for_the_rest_of_the_one_before() {
    let plain = request(b"0123456789", Delivery::default());
    let table: Arc<[Prepared]> = [plain, request(b"hello", waiting())].into();
    let mut session = Session::new(Arc::clone(&table), 1, Limits::default());
    session.handle_request(1, 0);
    let mut slices = [IoSlice::new(&[]); 4];
    assert!(session.poll_transmit(&mut slices) > 0);
    session.handle_transmitted(table[0].head.len() + 4, &mut |_| {});
    assert_eq!(feed(&mut session, OK), answered(1, 200, 2, false));
    session.handle_request(2, 1);
    assert_eq!(session.take_hold(), None);
    let head = String::from_utf8(table[1].head.clone()).unwrap();
    assert_eq!(write(&mut session), format!("456789{head}"));
    assert_eq!(session.take_hold(), Some(Hold::Continue { wait_ns: 1000 }));
    session.handle_hold_over();
    assert_eq!(write(&mut session), "hello");
    assert_eq!(feed(&mut session, OK), answered(2, 200, 2, false));
    assert_eq!(feed(&mut session, OK), [unasked()]);
}

/// Any way for a request with a body of 30 bytes to leave, in fewer pieces than `pieces`.
fn delivery(pieces: u32) -> impl Strategy<Value = Delivery> {
    let pieces = (2..pieces, 1u64..1000).prop_map(|(count, gap_ns)| Pieces { count, gap_ns });
    (
        proptest::option::of(1u64..50),
        proptest::option::of(pieces),
        proptest::option::of(1u64..50),
        proptest::option::of(0u64..30),
    )
        .prop_map(|(chunk_bytes, pieces, continue_ns, break_off_after)| Delivery {
            chunk_bytes,
            continue_ns: continue_ns.filter(|_| pieces.is_none()),
            pieces,
            break_off_after,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    /// Stops go up and lie within; pieces differ by a byte at most, and their times are even. There may
    /// be more pieces asked for than there are bytes.
    #[test]
    fn stops_cut_a_request_evenly(delivery in delivery(400)) {
        let Prepared { head, body, stops, .. } = request(&[b'x'; 30], delivery);
        let length = head.len() + body.len();
        prop_assert!(stops.windows(2).all(|two| two[0].at < two[1].at), "{:?}", stops);
        prop_assert!(stops.iter().all(|one| (1..length).contains(&one.at)));
        let end = match stops.last() {
            Some(Stop { at, until: Until::Never }) => *at,
            _ => length,
        };
        prop_assert_eq!(delivery.break_off_after.is_some(), end < length);
        if let Some(pieces) = delivery.pieces {
            let mut places = vec![0];
            for (n, one) in stops.iter().enumerate() {
                places.push(one.at);
                if let Until::Due { after_ns } = one.until {
                    prop_assert_eq!(after_ns, pieces.gap_ns * (n as u64 + 1));
                }
            }
            if places.last() != Some(&end) {
                places.push(end);
            }
            let lengths: Vec<_> = places.windows(2).map(|two| two[1] - two[0]).collect();
            prop_assert_eq!(lengths.len(), end.min(pieces.count as usize));
            prop_assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
        }
    }

    /// However the socket takes the bytes: each stop holds until it is lifted and is told once, and
    /// what was written in the end is the request, or as much of it as does not break off.
    #[test]
    fn stops_hold_however_bytes_are_taken(
        delivery in delivery(12),
        room in 1usize..4,
        accepts in vec(1usize..40, 1..60),
    ) {
        let prepared = request(&[b'x'; 30], delivery);
        let wire = [&prepared.head[..], &prepared.body[..]].concat();
        let mut session = begun(&[b'x'; 30], delivery);
        let mut accepts = accepts.into_iter().cycle();
        let (mut sent, mut starts) = (Vec::new(), 0);
        for stop in prepared.stops.iter().map(Some).chain([None]) {
            let limit = stop.map_or(wire.len(), |stop| stop.at);
            while sent.len() < limit {
                prop_assert_eq!(session.take_hold(), None);
                let mut slices = vec![IoSlice::new(&[]); room];
                let used = session.poll_transmit(&mut slices);
                let bytes: Vec<u8> =
                    slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
                prop_assert!(!bytes.is_empty() && sent.len() + bytes.len() <= limit);
                let taken = accepts.next().unwrap().min(bytes.len());
                sent.extend_from_slice(&bytes[..taken]);
                session.handle_transmitted(taken, &mut |id| { assert_eq!(id, 7); starts += 1; });
            }
            prop_assert_eq!(session.poll_transmit(&mut [IoSlice::new(&[])]), 0);
            let wanted = stop.map(|stop| match stop.until {
                Until::Due { after_ns } => Hold::Due { id: 7, after_ns },
                Until::Continue { wait_ns } => Hold::Continue { wait_ns },
                Until::Never => Hold::BrokenOff,
            });
            prop_assert_eq!(session.take_hold(), wanted);
            prop_assert_eq!(session.take_hold(), None);
            prop_assert_eq!(session.is_broken_off(), wanted == Some(Hold::BrokenOff));
            if session.is_broken_off() {
                break;
            }
            session.handle_hold_over();
        }
        prop_assert_eq!(starts, 1);
        prop_assert_eq!(&sent[..], &wire[..sent.len()]);
        prop_assert_eq!(sent.len() == wire.len(), delivery.break_off_after.is_none());
        prop_assert_eq!(session.is_cut_short(), delivery.break_off_after.is_some());
    }

    /// Whole or byte by byte, an answer says the same at every stop, and is the connection's last
    /// unless the rest was let go before it. After the break none was expected.
    #[test]
    fn answers_at_a_stop_depend_on_the_bytes_alone(
        delivery in delivery(12),
        passed in 0usize..14,
        hints in 0usize..3,
        continues in any::<bool>(),
    ) {
        let mut input = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(hints);
        if continues {
            input.extend_from_slice(CONTINUE);
        }
        input.extend_from_slice(OK);
        let at_stop = || {
            let mut session = begun(&[b'x'; 30], delivery);
            write(&mut session);
            for _ in 0..passed {
                session.take_hold();
                session.handle_hold_over();
                write(&mut session);
            }
            session
        };
        let (mut whole, mut cut) = (at_stop(), at_stop());
        let stops = request(&[b'x'; 30], delivery).stops;
        let waits = stops.get(passed).is_some_and(|stop| matches!(stop.until, Until::Continue { .. }));
        let left = stops.len().saturating_sub(passed) - usize::from(waits && continues);
        let is_last = left > 0 || delivery.break_off_after.is_some();
        let mut wanted = Vec::new();
        wanted.extend((waits && continues).then_some(Event::Continue));
        let is_broken_off = delivery.break_off_after.is_some() && passed >= stops.len();
        wanted.extend(match is_broken_off {
            true => heard(7, 200, 2),
            false => answered(7, 200, 2, is_last),
        });
        prop_assert_eq!(&feed(&mut whole, &input), &wanted);
        let bytes: Vec<Event> = input.chunks(1).flat_map(|byte| feed(&mut cut, byte)).collect();
        prop_assert_eq!(&bytes, &wanted);
        prop_assert_eq!(whole.is_cut_short(), is_last);
    }
}
