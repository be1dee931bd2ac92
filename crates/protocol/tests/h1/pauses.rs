//! Requests that pause on their way: what may be written when, what they wait for, and what a response
//! means that comes before the rest.

use std::io::IoSlice;
use std::num::NonZeroU16;
use std::sync::Arc;

use candor_plan::{Delivery, Pieces};
use candor_protocol::expect::Mismatch;
use candor_protocol::h1::{Limits, Pause, Prepared, Session, Until, prepare};
use candor_protocol::{Answer, Deviations, Event, Last, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{
    answered, closed, end, events, feed, feed_at, fresh, plan_request, truncated, unasked,
};

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
    let mut session = fresh(table, 1, Limits::default());
    session.handle_request(7, Outgoing::Listed(0));
    session
}

/// Writes all that is offered at this time, and returns it.
fn write(session: &mut Session, now_ns: u64) -> String {
    let mut all = Vec::new();
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(now_ns, &mut slices).slices as usize;
        let bytes: Vec<u8> =
            slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
        if bytes.is_empty() {
            return String::from_utf8(all).expect("a request of text");
        }
        session.handle_transmitted(now_ns, bytes.len(), &mut |_| {});
        all.extend(bytes);
    }
}

/// Writes `bytes` of what is offered at time 0.
fn write_some(session: &mut Session, bytes: usize) {
    let mut slices = [IoSlice::new(&[]); 4];
    assert!(session.poll_transmit(0, &mut slices).slices > 0);
    session.handle_transmitted(0, bytes, &mut |_| {});
}

/// A right response that ends the connection, because the rest of its request is not written.
fn cut_short(id: u32, status: u16, body_bytes: u64) -> [Event; 2] {
    let (expected, deviations, last) = (Ok(()), Deviations::default(), Last::ByUs);
    let status = NonZeroU16::new(status);
    let answer = Answer { id, status, body_bytes, expected, deviations, last };
    [Event::FirstByte(id), Event::Done(answer)]
}

/// A response that comes after the break.
fn heard(id: u32, status: u16, body_bytes: u64) -> [Event; 2] {
    let (expected, deviations, last) =
        (Err(Mismatch::BrokenOff), Deviations::default(), Last::ByUs);
    let status = NonZeroU16::new(status);
    let answer = Answer { id, status, body_bytes, expected, deviations, last };
    [Event::FirstByte(id), Event::Done(answer)]
}

#[test]
fn a_body_waits_for_a_100_9110_10_1_1() {
    let mut session = begun(b"hello", waiting());
    let head = write(&mut session, 20);
    assert!(head.ends_with("\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"), "{head}");
    assert_eq!(session.poll_timeout(), Some(1020));
    assert_eq!(write(&mut session, 30), "");
    assert_eq!(feed(&mut session, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), []);
    assert_eq!(write(&mut session, 40), "");
    assert_eq!(session.poll_timeout(), Some(1020));
    assert_eq!(feed(&mut session, CONTINUE), [Event::Changed]);
    assert_eq!(session.poll_timeout(), None);
    assert_eq!(write(&mut session, 50), "hello");
    assert_eq!(session.poll_timeout(), None);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
    // The next one waits again.
    session.handle_request(8, Outgoing::Listed(0));
    assert_eq!(write(&mut session, 60), head);
    assert_eq!(session.poll_timeout(), Some(1060));
}

#[test]
fn a_body_that_nobody_asks_for_leaves_when_the_time_is_over() {
    let mut session = begun(b"hello", waiting());
    write(&mut session, 0);
    session.handle_timeout(999);
    assert_eq!(write(&mut session, 999), "");
    session.handle_timeout(1000);
    assert_eq!(session.poll_timeout(), None);
    assert_eq!(write(&mut session, 1000), "hello");
    // It comes after all, and changes nothing.
    assert_eq!(feed(&mut session, CONTINUE), []);
    session.handle_timeout(2000);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
}

#[test]
fn a_final_response_in_place_of_a_100_ends_the_connection() {
    let mut session = begun(b"hello", waiting());
    write(&mut session, 0);
    let refused = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(feed(&mut session, refused), cut_short(7, 417, 0));
    assert_eq!(events(&mut session), []);
    assert_eq!(session.free_places(), 0);
    session.handle_timeout(1000);
    assert_eq!(write(&mut session, 1000), "");
    assert_eq!(end(&mut session), []);
}

#[test]
fn a_100_that_overtakes_the_end_of_the_header_lifts_the_pause() {
    let mut session = begun(b"hello", waiting());
    write_some(&mut session, 10);
    assert_eq!(feed(&mut session, CONTINUE), [Event::Changed]);
    assert!(write(&mut session, 0).ends_with("\r\n\r\nhello"));
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn a_100_that_nobody_waits_for_is_nothing() {
    let mut session = begun(b"hello", Delivery::default());
    write(&mut session, 0);
    assert_eq!(feed(&mut session, CONTINUE), []);
    assert_eq!(feed(&mut session, OK), answered(7, 200, 2, false));
}

/// Pieces are due by the first byte, so that one that is late does not delay the others.
#[test]
fn pieces_leave_at_their_times() {
    let pieces = Some(Pieces { count: 5, gap_ns: 100 });
    let mut session = begun(b"", Delivery { pieces, ..Delivery::default() });
    let mut sent = write(&mut session, 7);
    for (due_ns, at_ns) in [(107, 107), (207, 290), (307, 307), (407, 1000)] {
        assert_eq!(session.poll_timeout(), Some(due_ns));
        session.handle_timeout(due_ns - 1);
        assert_eq!(write(&mut session, due_ns - 1), "");
        session.handle_timeout(at_ns);
        let piece = write(&mut session, at_ns);
        assert!(!piece.is_empty());
        sent += &piece;
    }
    assert_eq!(session.poll_timeout(), None);
    assert!(sent.ends_with("\r\n\r\n"), "{sent}");
}

#[test]
fn nothing_follows_where_a_request_breaks_off() {
    let mut session = begun(b"hello", breaking(3));
    assert_eq!(events(&mut session), []);
    let all = write(&mut session, 0);
    assert!(all.ends_with("\r\nContent-Length: 5\r\n\r\nhel"), "{all}");
    assert_eq!(events(&mut session), [Event::BrokenOff]);
    assert_eq!(session.poll_timeout(), None);
    session.handle_timeout(u64::MAX);
    assert_eq!(write(&mut session, u64::MAX), "");
    assert_eq!(end(&mut session), [closed(7)]);
}

#[test]
fn a_response_to_what_broke_off_is_the_last() {
    let mut session = begun(b"hello", breaking(0));
    write(&mut session, 0);
    let refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    // Whatever it says, none was expected.
    assert_eq!(feed(&mut session, refused), heard(7, 400, 0));
    let mut session = begun(b"hello", breaking(0));
    write(&mut session, 0);
    assert_eq!(events(&mut session), [Event::BrokenOff]);
    assert_eq!(feed(&mut session, b"HTTP/1.1 200 OK\r\n\r\n"), [Event::FirstByte(7)]);
    assert_eq!(end(&mut session), heard(7, 200, 0)[1..]);
    // Before the break it is a response like any other.
    let mut session = begun(b"hello", breaking(0));
    write_some(&mut session, 10);
    assert_eq!(feed(&mut session, OK), cut_short(7, 200, 2));
    let mut session = begun(b"hello", breaking(0));
    write(&mut session, 0);
    assert_eq!(feed(&mut session, b"HTTP/1.1 400 Ba"), []);
    assert_eq!(end(&mut session), [Event::BrokenOff, truncated(7)]);
}

#[test]
fn a_request_can_wait_and_break_off() {
    let both = Delivery { continue_ns: Some(9), ..breaking(2) };
    let mut session = begun(b"hello", both);
    write(&mut session, 0);
    assert_eq!(session.poll_timeout(), Some(9));
    assert_eq!(feed_at(&mut session, 5, CONTINUE), [Event::Changed]);
    assert_eq!(events(&mut session), []);
    assert_eq!(write(&mut session, 5), "he");
    assert_eq!(events(&mut session), [Event::BrokenOff]);
}

#[test]
fn a_request_that_pauses_waits_for_the_rest_of_the_one_before() {
    let plain = request(b"0123456789", Delivery::default());
    let table: Arc<[Prepared]> = [plain, request(b"hello", waiting())].into();
    let mut session = fresh(Arc::clone(&table), 2, Limits::default());
    session.handle_request(1, Outgoing::Listed(0));
    write_some(&mut session, table[0].head.len() + 4);
    session.handle_request(2, Outgoing::Listed(1));
    assert_eq!(session.poll_timeout(), None);
    let head = String::from_utf8(table[1].head.clone()).unwrap();
    assert_eq!(write(&mut session, 70), format!("456789{head}"));
    assert_eq!(session.poll_timeout(), Some(1070));
    session.handle_timeout(1070);
    assert_eq!(write(&mut session, 1070), "hello");
    assert_eq!(feed(&mut session, OK), answered(1, 200, 2, false));
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
    fn pauses_cut_a_request_evenly(delivery in delivery(400)) {
        let Prepared { head, body, pauses, .. } = request(&[b'x'; 30], delivery);
        let length = head.len() + body.len();
        prop_assert!(pauses.windows(2).all(|two| two[0].at < two[1].at), "{:?}", pauses);
        prop_assert!(pauses.iter().all(|one| (1..length).contains(&one.at)));
        let end = match pauses.last() {
            Some(Pause { at, until: Until::Never }) => *at,
            _ => length,
        };
        prop_assert_eq!(delivery.break_off_after.is_some(), end < length);
        if let Some(pieces) = delivery.pieces {
            let mut places = vec![0];
            for (n, one) in pauses.iter().enumerate() {
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

    /// However the socket takes the bytes: each pause holds until it is lifted and is told once, and
    /// what was written in the end is the request, or as much of it as does not break off.
    #[test]
    fn pauses_hold_however_bytes_are_taken(
        delivery in delivery(12),
        room in 1usize..4,
        accepts in vec(1usize..40, 1..60),
    ) {
        let prepared = request(&[b'x'; 30], delivery);
        let wire = [&prepared.head[..], &prepared.body[..]].concat();
        let mut session = begun(&[b'x'; 30], delivery);
        let mut accepts = accepts.into_iter().cycle();
        let (mut sent, mut starts, mut now_ns) = (Vec::new(), 0, 0);
        for pause in prepared.pauses.iter().map(Some).chain([None]) {
            let limit = pause.map_or(wire.len(), |pause| pause.at);
            let mut tells = 0;
            while sent.len() < limit {
                prop_assert_eq!(session.poll_timeout(), None);
                let mut slices = vec![IoSlice::new(&[]); room];
                let used = session.poll_transmit(now_ns, &mut slices).slices as usize;
                let bytes: Vec<u8> =
                    slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
                prop_assert!(!bytes.is_empty() && sent.len() + bytes.len() <= limit);
                let taken = accepts.next().unwrap().min(bytes.len());
                sent.extend_from_slice(&bytes[..taken]);
                let mut start = |id| { assert_eq!(id, 7); starts += 1; };
                tells += u32::from(session.handle_transmitted(now_ns, taken, &mut start));
            }
            prop_assert_eq!(session.poll_transmit(now_ns, &mut [IoSlice::new(&[])]).slices, 0);
            prop_assert_eq!(tells, u32::from(pause.is_some()), "told once, when it is there");
            let breaks_off = pause.is_some_and(|pause| pause.until == Until::Never);
            let told: &[Event] = if breaks_off { &[Event::BrokenOff] } else { &[] };
            prop_assert_eq!(events(&mut session), told);
            // The first byte was written at time 0.
            let due_ns = pause.and_then(|pause| match pause.until {
                Until::Due { after_ns } => Some(after_ns),
                Until::Continue { wait_ns } => Some(now_ns + wait_ns),
                Until::Never => None,
            });
            prop_assert_eq!(session.poll_timeout(), due_ns);
            now_ns = due_ns.unwrap_or(now_ns);
            session.handle_timeout(now_ns);
            if breaks_off {
                break;
            }
        }
        prop_assert_eq!(starts, 1);
        prop_assert_eq!(&sent[..], &wire[..sent.len()]);
        prop_assert_eq!(sent.len() == wire.len(), delivery.break_off_after.is_none());
    }

    /// Whole or byte by byte, a response says the same at every pause, and is the connection's last
    /// unless the rest was written before it. After the break none was expected.
    #[test]
    fn responses_at_a_stop_depend_on_the_bytes_alone(
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
        let at_pause = || {
            let mut session = begun(&[b'x'; 30], delivery);
            write(&mut session, 0);
            for _ in 0..passed {
                let now_ns = session.poll_timeout().unwrap_or(0);
                session.handle_timeout(now_ns);
                write(&mut session, now_ns);
            }
            session
        };
        let (mut whole, mut cut) = (at_pause(), at_pause());
        let pauses = request(&[b'x'; 30], delivery).pauses;
        let waits = pauses.get(passed).is_some_and(|pause| matches!(pause.until, Until::Continue { .. }));
        let left = pauses.len().saturating_sub(passed) - usize::from(waits && continues);
        // What a 100 asks for was not written when the response came behind it.
        let is_early = waits && continues;
        let is_last = left > 0 || is_early || delivery.break_off_after.is_some();
        let mut wanted = Vec::new();
        wanted.extend((waits && continues).then_some(Event::Changed));
        let is_broken_off = delivery.break_off_after.is_some() && passed + 1 >= pauses.len();
        wanted.extend(match is_broken_off {
            true => heard(7, 200, 2),
            false if is_last => cut_short(7, 200, 2),
            false => answered(7, 200, 2, false),
        });
        prop_assert_eq!(&feed(&mut whole, &input), &wanted);
        let bytes: Vec<Event> = input.chunks(1).flat_map(|byte| feed(&mut cut, byte)).collect();
        prop_assert_eq!(&bytes, &wanted);
    }
}
