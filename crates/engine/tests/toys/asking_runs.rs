//! Runs of [`Asking`]: exact times under loss, and a peer on real sockets.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use candor_engine::reactor::socket::{Address, Dialer};
use candor_engine::reactor::{Start as _, epoll};
use candor_engine::{Control, drive_sessions};
use candor_plan::{Arrivals, Parts};
use candor_protocol::Transport;
use candor_record::{ConnectErrorKind, ErrorKind, Histogram, Outcome, RunRecord, Traced};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer};

use crate::asking::{ANSWER, Asking, BYTES, HELLO, MOST_ASKED, REQUEST};
use crate::common::trace::drive_sessions_traced;
use crate::common::{MS, S, checked, closed, open, plan};

/// One way.
const LATENCY_NS: u64 = MS;
/// From question to answer, at the server.
const DELAY_NS: u64 = 500_000;
/// From the first time that a question is asked to the second.
const AGAIN_NS: u64 = 10 * MS;
const ROUND_TRIP_NS: u64 = 2 * LATENCY_NS + DELAY_NS;

/// Answers every datagram after [`DELAY_NS`].
struct Answering;

impl SimServer for Answering {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        Reaction::Never
    }

    fn datagram(&mut self, at_ns: u64, _: u64, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        assert_eq!(bytes.len(), BYTES);
        vec![(at_ns + DELAY_NS, [&[bytes[0] | ANSWER], &bytes[1..]].concat())]
    }
}

fn run(plan: &Parts, places: u32, loses: fn(u64) -> bool) -> (RunRecord, Vec<Traced>) {
    let link = Link { latency_ns: LATENCY_NS, loses: Some(loses), ..Link::default() };
    let sessions = move || Asking::new(places, AGAIN_NS);
    drive_sessions_traced(plan, SimReactor::new(Answering, link), sessions)
}

/// When a question that is asked first at 0 is asked for the `nth` time, from 0.
fn asked_ns(nth: u32) -> u64 {
    AGAIN_NS * ((1 << nth) - 1)
}

/// One in three, in no order.
fn scattered(number: u64) -> bool {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number >= 2 && (mixed >> 40).is_multiple_of(3)
}

/// A request a second on one connection: nothing overlaps, so datagram follows datagram, and what the
/// link does to each of them says when each request ends.
#[test]
fn every_response_time_under_loss_is_the_closed_form() {
    const REQUESTS: u64 = 1000;
    let plan = plan(1, open(1, Arrivals::Constant), REQUESTS * S);
    let (record, trace) = run(&plan, 1, scattered);
    // The first two are the hello and its answer.
    let (mut number, mut sent, mut received) = (2, 1, 1);
    let (mut expected, mut lost) = (Histogram::new(3), Vec::new());
    for request in 0..REQUESTS {
        let mut answer_ns = None;
        for nth in 0..MOST_ASKED {
            sent += 1;
            number += 1;
            if scattered(number - 1) {
                continue;
            }
            number += 1;
            if !scattered(number - 1) {
                received += 1;
                answer_ns = Some(asked_ns(nth) + ROUND_TRIP_NS);
                break;
            }
        }
        match answer_ns {
            Some(ns) => expected.record(ns),
            None => lost.push(request),
        }
    }
    assert!(lost.len() > 10 && expected.count() > 900, "the link does something: {lost:?}");
    let total = &record.total;
    assert_eq!(total.latencies.response.hdr(), expected.hdr());
    assert_eq!(total.latencies.response.sum_ns(), expected.sum_ns());
    assert_eq!(total.ledger.error(ErrorKind::NotProcessed), lost.len() as u64);
    assert_eq!((total.datagrams.sent, total.datagrams.received), (sent, received));
    // What answers has no status, and what is given up is so when it would be asked once more.
    assert_eq!(total.statuses, []);
    let given_up = trace.iter().filter(|one| one.outcome != Outcome::Ok);
    for (one, request) in given_up.zip(&lost) {
        assert_eq!(one.index, *request);
        assert_eq!(one.done_ns - one.sent_ns, asked_ns(MOST_ASKED));
    }
}

/// Asked again before the answer can be there: the second answer says nothing.
#[test]
fn a_question_asked_too_soon_is_answered_twice_and_counts_once() {
    let link = Link { latency_ns: LATENCY_NS, loses: Some(|_| false), ..Link::default() };
    let plan = plan(1, open(10, Arrivals::Constant), 10 * S);
    let sessions = || Asking::new(1, MS);
    let (record, _) = drive_sessions_traced(&plan, SimReactor::new(Answering, link), sessions);
    let total = &record.total;
    assert_eq!((total.ledger.ok, total.ledger.errors.total()), (100, 0));
    assert_eq!(total.latencies.response.max_ns(), Some(ROUND_TRIP_NS));
    assert_eq!(total.latencies.response.min_ns(), Some(ROUND_TRIP_NS));
    // Each at 0 and at 1 ms, with an answer after 2.5 ms; the hello like the requests.
    assert_eq!((total.datagrams.sent, total.datagrams.received), (202, 202));
}

/// Eight places: eight questions leave in one call and come in one call, and each is a request.
#[test]
fn a_window_of_questions_is_one_call_and_eight_requests() {
    let mut plan = plan(1, closed(0), S);
    plan.connections.pipeline = 8;
    let (record, trace) = run(&plan, 8, |_| false);
    let rounds = S.div_ceil(ROUND_TRIP_NS);
    assert_eq!(record.total.ledger.sent, 8 * rounds);
    assert_eq!(record.total.ledger.ok, 8 * rounds);
    assert!(trace.iter().all(|one| one.done_ns - one.sent_ns == ROUND_TRIP_NS));
    assert!(trace.iter().all(|one| one.sent_ns % ROUND_TRIP_NS == 0));
}

/// The hello is asked again too, and a connection is one when it is answered.
#[test]
fn a_handshake_under_loss_takes_its_time_and_then_fails() {
    let plan = plan(1, open(10, Arrivals::Constant), S);
    let (record, _) = run(&plan, 1, |number| number < 2);
    assert_eq!(record.total.ledger.ok, 10);
    // The run begins when its connection is one.
    assert_eq!(record.machine().origin_monotonic_ns, asked_ns(2) + ROUND_TRIP_NS);

    let (record, _) = run(&plan, 1, |_| true);
    let failed = &record.total.connections.failed;
    assert!(failed.count(ConnectErrorKind::Handshake as usize) > 1, "it is tried again");
    assert_eq!(record.total.ledger.unsent, 10);
    let example = failed.example(ConnectErrorKind::Handshake as usize).unwrap();
    assert_eq!(example, "sim: the server did not send its answer to a hello");
}

/// Over UDP, against a peer that counts: every other question of a request is ignored once.
#[test]
fn over_real_sockets_the_peer_counts_what_the_ledger_says() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let address = socket.local_addr().unwrap();
    let (heard, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let peer = std::thread::spawn({
        let (heard, is_over) = (Arc::clone(&heard), Arc::clone(&is_over));
        move || {
            let mut buffer = [0; 64];
            let mut ignored = std::collections::HashSet::new();
            while is_over.load(Ordering::Relaxed) == 0 {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                heard.fetch_add(1, Ordering::Relaxed);
                let question = &mut buffer[..length];
                let number = u32::from_be_bytes(question[1..].try_into().unwrap());
                let is_first = question[0] == REQUEST && ignored.insert((from, number));
                assert!(question[0] == HELLO || question[0] == REQUEST);
                if !is_first || number % 2 == 0 {
                    question[0] |= ANSWER;
                    socket.send_to(question, from).unwrap();
                }
            }
        }
    });
    let mut plan = plan(4, closed(0), 0);
    plan.connections.pipeline = 8;
    plan.stop.duration_ns = None;
    plan.stop.count = Some(400);
    let dialer = Dialer {
        targets: [[Address::Tcp(address).into()].into()].into(),
        names: None,
        sources: [].into(),
        nodelay: true,
        transports: [Transport::Datagrams].into(),
    };
    let reactor = epoll::Unstarted::new(dialer).unwrap().start();
    let sessions = || Asking::new(8, 5 * MS);
    let plan = checked(&plan);
    let record = drive_sessions(&plan, reactor, &Control::default(), &mut (), sessions);
    is_over.store(1, Ordering::Relaxed);
    peer.join().unwrap();
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (400, 400), "{:?}", total.ledger);
    assert_eq!(total.datagrams.sent, heard.load(Ordering::Relaxed));
    // Half were asked twice at least.
    assert!(total.datagrams.sent >= 4 + 600, "{:?}", total.datagrams);
    assert_eq!(total.datagrams.dropped, 0);
}
