//! Requests that stop on their way, and runs that are one burst, on simulated time: every time is
//! known to the nanosecond.

use crate::common::trace::drive_traced;
use crate::common::*;
use candor_plan::{Arrivals, Delivery, Load, OpenLoad, Parts, Pieces, Segment};
use candor_record::{EndReason, ErrorKind, Outcome, RunRecord, StatusCount};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};
use proptest::prelude::*;

fn run(plan: &Parts, server: impl SimServer, link: Link) -> RunRecord {
    let (record, _) = drive_traced(plan, SimReactor::new(server, link));
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    record
}

/// Answers each request after `delay_ns`, and does `at_head` when it has the head alone. It closes
/// when it reads the end.
struct Server<H> {
    delay_ns: u64,
    at_head: H,
}

/// Does this when it reads the end.
struct AtEnd<E>(E);

impl<E: FnMut(u64) -> Reaction> SimServer for AtEnd<E> {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("no request is sent whole")
    }

    fn end(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
        self.0(at_ns)
    }
}

impl<H: FnMut(u64) -> Reaction> SimServer for Server<H> {
    fn request(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
        Reaction::Answer { at_ns: at_ns + self.delay_ns, bytes: ok_bytes() }
    }

    fn head(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
        (self.at_head)(at_ns)
    }
}

/// The same, and it does what it does at a head when it reads the end.
struct Fickle<H>(Server<H>);

impl<H: FnMut(u64) -> Reaction> SimServer for Fickle<H> {
    fn request(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        self.0.request(at_ns, connection, nth)
    }

    fn head(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        self.0.head(at_ns, connection, nth)
    }

    fn end(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        self.0.head(at_ns, connection, nth)
    }
}

fn says(bytes: &'static [u8], after_ns: u64) -> impl FnMut(u64) -> Reaction {
    move |at_ns| Reaction::Answer { at_ns: at_ns + after_ns, bytes: bytes.to_vec() }
}

/// `n` connections in a closed loop for a second, with a body of 100 bytes that leaves like this.
fn delivered(n: u32, delivery: Delivery) -> Parts {
    let mut plan = plan(n, closed(0), S);
    plan.work.requests_mut()[0].body = [b'x'; 100].into();
    plan.work.requests_mut()[0].delivery = delivery;
    plan
}

fn in_pieces(count: u32, gap_ns: u64) -> Delivery {
    Delivery { pieces: Some(Pieces { count, gap_ns }), ..Delivery::default() }
}

fn waiting(continue_ns: u64) -> Delivery {
    Delivery { continue_ns: Some(continue_ns), ..Delivery::default() }
}

fn breaking(after: u64) -> Delivery {
    Delivery { break_off_after: Some(after), ..Delivery::default() }
}

#[test]
fn pieces_take_their_gaps_and_the_server_its_time() {
    let (gap, d) = (MS, 3 * MS);
    let server = Server { delay_ns: d, at_head: |_| Reaction::Never };
    let record = run(&delivered(4, in_pieces(5, gap)), server, Link::default());
    let service = &record.total.latencies.service;
    let whole = 4 * gap + d;
    assert_eq!((service.min_ns(), service.max_ns()), (Some(whole), Some(whole)));
    // The last that began in the second are awaited.
    assert_eq!(record.total.ledger.ok, 4 * S.div_ceil(whole));
    assert_eq!(record.total.latencies.send_lag.max_ns(), Some(0));
    assert_eq!(record.total.connections.opened, 4);
}

#[test]
fn a_late_piece_moves_none_behind_it() {
    // The loader stands still from 1.5 to 3.7 ms: pieces 2 and 3 leave at 3.7, piece 4 at 4.
    let link = Link { pause: Some((3 * MS / 2, 22 * MS / 10)), ..Link::default() };
    let mut plan = delivered(1, in_pieces(5, MS));
    plan.stop.count = Some(1);
    let server = Server { delay_ns: 0, at_head: |_| Reaction::Never };
    let record = run(&plan, server, link);
    assert_eq!(record.total.latencies.service.max_ns(), Some(4 * MS));
}

#[test]
fn pieces_keep_an_open_load_on_its_schedule() {
    let mut plan = delivered(20, in_pieces(10, MS));
    plan.load = open(1000, Arrivals::Constant);
    let server = Server { delay_ns: 0, at_head: |_| Reaction::Never };
    let record = run(&plan, server, Link::default());
    assert_eq!((record.total.ledger.scheduled, record.total.ledger.ok), (1000, 1000));
    let latencies = &record.total.latencies;
    assert_eq!(
        (latencies.response.min_ns(), latencies.response.max_ns()),
        (Some(9 * MS), Some(9 * MS))
    );
}

#[test]
fn a_body_leaves_with_the_100() {
    let (wait, d) = (5 * MS, 3 * MS);
    let at_head = says(b"HTTP/1.1 100 Continue\r\n\r\n", wait);
    let record = run(&delivered(2, waiting(S)), Server { delay_ns: d, at_head }, Link::default());
    let service = &record.total.latencies.service;
    assert_eq!((service.min_ns(), service.max_ns()), (Some(wait + d), Some(wait + d)));
    assert_eq!(record.total.ledger.ok, 2 * S / (wait + d));
    assert_eq!(record.total.connections.opened, 2);
}

#[test]
fn a_body_that_nobody_asks_for_leaves_after_the_time_out() {
    let server = Server { delay_ns: 3 * MS, at_head: |_| Reaction::Never };
    let record = run(&delivered(2, waiting(100 * MS)), server, Link::default());
    let service = &record.total.latencies.service;
    assert_eq!((service.min_ns(), service.max_ns()), (Some(103 * MS), Some(103 * MS)));
    assert_eq!(record.total.ledger.ok, 2 * 10);
}

#[test]
fn a_refusal_in_place_of_the_100_costs_the_connection_and_no_body() {
    let at_head = says(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", 10 * MS);
    let record = run(&delivered(1, waiting(S)), Server { delay_ns: 0, at_head }, Link::default());
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.error(ErrorKind::Status)), (100, 100));
    let connections = &record.total.connections;
    // Each is replaced at once, and counted as ours.
    assert_eq!((connections.opened, connections.retired), (100, 100));
    assert_eq!(connections.lost.total() + connections.closed_by_server, 0);
    let head = record.total.bytes.sent / ledger.sent;
    assert!(head < 100, "{head} bytes a request: the body was sent");
}

#[test]
fn what_breaks_off_is_counted_apart_and_replaced_at_once() {
    let link = Link { latency_ns: MS, ..Link::default() };
    let server = Server { delay_ns: 0, at_head: |_| Reaction::Never };
    let record = run(&delivered(3, breaking(40)), server, link);
    let ledger = &record.total.ledger;
    // Connecting takes 2 ms each time, and so does the server's own end; the first are there at the
    // beginning.
    assert_eq!((ledger.sent, ledger.broken_off), (3 * 250, 3 * 250));
    assert_eq!((ledger.ok, ledger.errors.total(), ledger.unfinished), (0, 0, 0));
    let connections = &record.total.connections;
    assert_eq!((connections.retired, connections.closed_by_server), (3 * 250, 0));
    assert_eq!(connections.lost.total(), 0);
    assert_eq!(record.total.broken_off_statuses, []);
}

#[test]
fn an_answer_after_the_break_is_heard_and_counted_apart() {
    let mut plan = delivered(2, breaking(40));
    plan.recording.warm_up_ns = S / 2;
    let (way, d) = (MS, 3 * MS);
    let link = Link { latency_ns: way, ..Link::default() };
    let refusal = b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno";
    let server = AtEnd(|at_ns: u64| Reaction::Answer { at_ns: at_ns + d, bytes: refusal.to_vec() });
    let (record, traced) = drive_traced(&plan, SimReactor::new(server, link));
    // There and back, the server's time, and there and back to connect again.
    let (first, each) = (record.total.warm_up.broken_off, 4 * way + d);
    let ledger = &record.total.ledger;
    assert!(ledger.balances() && record.total.warm_up.balances());
    assert_eq!((ledger.sent, ledger.broken_off), (ledger.scheduled, ledger.scheduled));
    assert_eq!(ledger.broken_off + first, 2 * (3 * S / 2).div_ceil(each));
    // Of the measured ones.
    assert_eq!(
        record.total.broken_off_statuses,
        [StatusCount { status: 400, count: ledger.broken_off }]
    );
    assert_eq!(record.total.statuses, []);
    assert_eq!(
        record.total.connections.lost.total() + record.total.connections.closed_by_server,
        0
    );
    for one in &traced {
        assert_eq!((one.outcome, one.status), (Outcome::BrokenOff, 400));
        assert_eq!(one.done_ns - one.sent_ns, 2 * way + d);
    }
}

#[test]
fn what_becomes_of_the_connection_after_the_break_is_no_error() {
    let half = || b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nno".to_vec();
    let until_the_end = || b"HTTP/1.0 408 No\r\n\r\nlate".to_vec();
    let reactions: [(&str, Reaction, &[u16]); 4] = [
        ("an answer that ends early", closes(half()), &[]),
        ("one that ends with the connection", closes(until_the_end()), &[408]),
        ("a reset", Reaction::Reset { at_ns: MS }, &[]),
        ("silence", Reaction::Never, &[]),
    ];
    for (what, reaction, heard) in reactions {
        let mut plan = delivered(1, breaking(40));
        plan.timeouts.request_ns = 50 * MS;
        let later = |at_ns: u64| match reaction.clone() {
            Reaction::AnswerAndClose { bytes, .. } => Reaction::AnswerAndClose { at_ns, bytes },
            Reaction::Reset { .. } => Reaction::Reset { at_ns: at_ns + MS },
            other => other,
        };
        let record = run(&plan, AtEnd(later), Link { latency_ns: MS, ..Link::default() });
        let ledger = &record.total.ledger;
        assert_eq!(ledger.broken_off, ledger.sent, "{what}: {ledger:?}");
        assert_eq!(ledger.unfinished + ledger.errors.total(), 0, "{what}");
        let statuses = record.total.broken_off_statuses.iter().map(|one| one.status);
        assert_eq!(statuses.collect::<Vec<_>>(), heard, "{what}");
        assert_eq!(record.total.connections.retired, ledger.sent, "{what}");
        if what == "silence" {
            // A request may take 50 ms, and connecting takes 2.
            assert_eq!(ledger.sent, S.div_ceil(52 * MS));
        }
    }
    // What is no HTTP is none, whenever it comes.
    let nonsense = |at_ns| Reaction::Answer { at_ns, bytes: b"nonsense\r\n\r\n".to_vec() };
    let link = Link { latency_ns: MS, ..Link::default() };
    let record = run(&delivered(1, breaking(40)), AtEnd(nonsense), link);
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::Malformed), ledger.sent);
}

fn closes(bytes: Vec<u8>) -> Reaction {
    Reaction::AnswerAndClose { at_ns: 0, bytes }
}

#[test]
fn the_end_of_the_run_leaves_nothing_broken_off_unfinished() {
    let mut plan = delivered(3, breaking(40));
    plan.stop.drain_ns = 10 * MS;
    let record = run(&plan, AtEnd(|_| Reaction::Never), Link::default());
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.broken_off, ledger.unfinished), (3, 3, 0));
    assert_eq!(record.elapsed_ns, S + 10 * MS);
}

#[test]
fn an_answer_before_the_break_is_an_answer() {
    // The body breaks off in its second piece, and the answer comes with the first.
    let delivery =
        Delivery { pieces: Some(Pieces { count: 2, gap_ns: 10 * MS }), ..breaking(100 - 1) };
    let at_head = says(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", MS);
    let mut plan = delivered(1, delivery);
    plan.work.requests_mut()[0].expect.status.ranges = vec![(400, 400)];
    let record = run(&plan, Server { delay_ns: 0, at_head }, Link::default());
    let ledger = &record.total.ledger;
    assert_eq!((ledger.ok, ledger.broken_off), (1000, 0));
    assert_eq!(record.total.connections.retired, 1000);
}

#[test]
fn one_burst_times_connecting_and_ends_when_all_are_answered() {
    let mut plan = plan(50, one_burst(50), S);
    plan.connections.once = true;
    plan.connections.requests_per_connection = Some(1);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(50);
    let (way, d) = (2 * MS, 3 * MS);
    let server = Server { delay_ns: d, at_head: |_| Reaction::Never };
    let link = Link { latency_ns: way, ..Link::default() };
    let record = run(&plan, server, link);
    assert_eq!((record.end, record.total.ledger.ok), (EndReason::Count, 50));
    let latencies = &record.total.latencies;
    // There and back to connect, there and back for the request.
    assert_eq!(latencies.response.min_ns(), Some(4 * way + d));
    assert_eq!(latencies.response.max_ns(), Some(4 * way + d));
    assert_eq!(latencies.queue_wait.max_ns(), Some(2 * way));
    assert_eq!(latencies.send_lag.max_ns(), Some(0));
    let connections = &record.total.connections;
    assert_eq!((connections.opened, connections.retired), (50, 50));
    assert_eq!(record.window_ns, 4 * way + d);
}

/// Refuses for a while.
struct Closed {
    until_ns: u64,
}

impl SimServer for Closed {
    fn accepts(&mut self, at_ns: u64) -> bool {
        at_ns >= self.until_ns
    }

    fn request(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
        Reaction::Answer { at_ns, bytes: ok_bytes() }
    }
}

#[test]
fn a_burst_at_a_closed_door_knocks_again_or_gives_up() {
    let mut plan = plan(5, one_burst(5), S);
    plan.connections.once = true;
    plan.connections.requests_per_connection = Some(1);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(5);
    let record = run(&plan, Closed { until_ns: 100 * MS }, Link::default());
    assert_eq!((record.end, record.total.ledger.ok), (EndReason::Count, 5));
    assert!(record.total.latencies.response.min_ns() >= Some(100 * MS));
    assert!(record.total.connections.failed.total() > 0);
    let record = run(&plan, Closed { until_ns: u64::MAX }, Link::default());
    assert_eq!((record.end, record.total.ledger.unsent), (EndReason::GaveUp, 5));
}

fn one_burst(size: u64) -> Load {
    Load::Open(OpenLoad {
        segments: vec![Segment::Burst { size, every_ns: 1_000_000 * S, duration_ns: None }],
        arrivals: Arrivals::Constant,
        shed_after_ns: None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Whatever the server does at the head and at the end of a request, and however the kernel takes
    /// it: every request is in one place, and the run ends in time.
    #[test]
    fn the_ledger_balances_however_requests_leave(
        pieces in proptest::option::of((2u32..6, 1u64..20)),
        continue_ms in proptest::option::of(1u64..50),
        break_off in proptest::option::of(0u64..100),
        send_limit_bytes in prop_oneof![Just(0usize), 1usize..60],
        piece_bytes in prop_oneof![Just(0usize), 1usize..30],
        fates in proptest::collection::vec(0u8..7, 1..12),
        rate in proptest::option::of(1u64..400),
    ) {
        let mut plan = delivered(3, Delivery {
            chunk_bytes: None,
            pieces: pieces.map(|(count, ms)| Pieces { count, gap_ns: ms * MS }),
            continue_ns: continue_ms.filter(|_| pieces.is_none()).map(|ms| ms * MS),
            break_off_after: break_off,
        });
        if let Some(rate) = rate {
            plan.load = open(rate, Arrivals::Constant);
        }
        plan.timeouts.request_ns = 200 * MS;
        plan.timeouts.idle_ns = Some(150 * MS);
        let mut nth = 0;
        let mut fate = move |at_ns: u64| {
            nth += 1;
            let bytes = |text: &[u8]| Reaction::Answer { at_ns: at_ns + MS, bytes: text.to_vec() };
            match fates[nth % fates.len()] {
                0 => bytes(b"HTTP/1.1 100 Continue\r\n\r\n"),
                1 => bytes(b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"),
                2 => Reaction::AnswerAndClose { at_ns, bytes: ok_bytes() },
                3 => Reaction::AnswerAndClose { at_ns, bytes: Vec::new() },
                4 => Reaction::Reset { at_ns: at_ns + MS },
                5 => Reaction::Never,
                _ => bytes(&ok_bytes()),
            }
        };
        let server = Fickle(Server { delay_ns: MS, at_head: &mut fate });
        // Connecting takes time: otherwise a client that always goes away never gets anywhere.
        let link = Link { latency_ns: MS / 10, send_limit_bytes, piece_bytes, ..Link::default() };
        let record = run(&plan, server, link);
        prop_assert!(record.total.ledger.sent > 0);
        prop_assert!(record.elapsed_ns <= S + plan.stop.drain_ns);
    }
}
