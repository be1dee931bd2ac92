//! Whole runs on simulated time: what is counted, what ends them, and whose each time is. Those that a formula knows whole
//! are in `closed_forms.rs`.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::trace::drive_traced;
use crate::common::*;
use candor_engine::{Control, drive};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, Load, Pacing, Parts, Rate, Segment};
use candor_record::{DeviationKind, EndReason, ErrorKind, LossKind, Quantile, RunRecord};
use candor_testkit::sim::{Fifo, Link, Reaction, SimReactor, SimServer, ok_bytes};
use proptest::prelude::*;

pub(super) fn run(plan: &Parts, server: impl SimServer) -> RunRecord {
    run_over(plan, server, Link::default())
}

pub(super) fn run_over(plan: &Parts, server: impl SimServer, link: Link) -> RunRecord {
    let (record, _) = drive_traced(plan, SimReactor::new(server, link));
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    assert!(record.total.warm_up.balances(), "{:?}", record.total.warm_up);
    let (measured, latencies) = (&record.total.ledger, &record.total.latencies);
    assert_eq!(measured.ok, latencies.response.count());
    assert_eq!(
        latencies.response.sum_ns(),
        latencies.queue_wait.sum_ns() + latencies.send_lag.sum_ns() + latencies.service.sum_ns()
    );
    record
}

/// A server that answers any number at once, each after `delay_ns`.
pub(super) fn delay(delay_ns: u64) -> impl SimServer {
    move |at_ns, _, _| Reaction::Answer { at_ns: at_ns + delay_ns, bytes: ok_bytes() }
}

#[test]
fn max_connections_are_opened_for_a_backlog() {
    let mut plan = plan(2, open(100, Arrivals::Constant), 20 * S);
    plan.connections.max = 10;
    let record = run(&plan, delay(95 * MS));
    // Ten in flight at a time are needed for 100/s at 95 ms.
    assert_eq!(record.total.connections.opened, 10);
    assert_eq!(record.total.ledger.ok, 2000);
    let last = &record.intervals[18];
    assert_eq!((last.connections, last.backlog), (10, 0));
}

#[test]
fn warm_up_is_sent_and_kept_out() {
    let mut warm = plan(10, open(100, Arrivals::Constant), 10 * S);
    warm.recording.warm_up_ns = 2 * S;
    let record = run(&warm, delay(MS));
    assert_eq!((record.total.warm_up.ok, record.total.ledger.ok), (200, 1000));
    assert_eq!(record.intervals[0].start_ns, 2 * S);

    let mut warm = plan(10, closed(0), 10 * S);
    warm.recording.warm_up_ns = 2 * S;
    let record = run(&warm, delay(10 * MS));
    assert_eq!((record.total.warm_up.sent, record.total.ledger.sent), (2000, 10_000));
}

#[test]
fn a_count_ends_the_run_in_both_loads() {
    for load in [closed(0), open(500, Arrivals::Constant), open(500, Arrivals::Poisson)] {
        let mut plan = plan(7, load, S);
        plan.stop.duration_ns = None;
        plan.stop.count = Some(1234);
        let record = run(&plan, delay(3 * MS));
        assert_eq!(record.total.ledger.ok, 1234);
        assert_eq!(record.answered_in_window, 1234);
        assert_eq!(record.end, EndReason::Count);
    }
}

#[test]
fn fewer_requests_than_connections_are_that_many() {
    let mut plan = plan(50, closed(0), S);
    plan.stop.count = Some(10);
    let record = run(&plan, delay(MS));
    assert_eq!((record.total.ledger.ok, record.end), (10, EndReason::Count));
}

/// More falls due at each look at the clock than is shed between two of them. The worker must go
/// on to see the stop, and count what is left without having shed it first.
#[test]
fn a_flood_of_sheds_does_not_keep_a_worker_from_the_stop() {
    let mut plan = plan(2, open(200_000_000, Arrivals::Constant), 20 * MS);
    if let Load::Open(load) = &mut plan.load {
        load.shed_after_ns = Some(0);
    }
    let link = Link { look_ns: MS / 10, ..Link::default() };
    // Without a trace, which would drop most of them.
    let record = drive(&checked(&plan), SimReactor::new(delay(MS), link), &Control::default());
    let ledger = &record.total.ledger;
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!(ledger.scheduled, 4_000_000);
    // Each round sheds a few thousand of twenty thousand.
    assert!(ledger.shed > 100_000 && ledger.unsent > 2_000_000, "{ledger:?}");
    assert!(ledger.ok >= 2 && ledger.ok == ledger.sent, "{ledger:?}");
    assert!(record.elapsed_ns < 25 * MS, "{}", record.elapsed_ns);
}

#[test]
fn bursts_wait_for_their_turn() {
    // 20 at once on 4 connections of 10 ms: five rounds.
    let segments = vec![Segment::Burst { size: 20, every_ns: S, duration_ns: None }];
    let load = Load::Open(candor_plan::OpenLoad {
        segments,
        arrivals: Arrivals::Constant,
        shed_after_ns: None,
    });
    let record = run(&plan(4, load, 5 * S), delay(10 * MS));
    let latencies = &record.total.latencies;
    assert_eq!(record.total.ledger.ok, 100);
    assert_eq!(latencies.response.max_ns(), Some(50 * MS));
    assert_eq!(latencies.queue_wait.max_ns(), Some(40 * MS));
    assert_eq!(latencies.service.max_ns(), Some(10 * MS));
}

#[test]
fn pipelined_requests_are_each_timed_by_themselves() {
    let mut plan = plan(1, closed(0), S);
    plan.connections.pipeline = 4;
    plan.stop.duration_ns = None;
    plan.stop.count = Some(400);
    let record = run(&plan, Fifo::new(MS));
    let service = &record.total.latencies.service;
    assert_eq!(record.total.ledger.ok, 400);
    // One server, four at once: they take 1, 2, 3 and 4 ms, and then the next four leave.
    assert_eq!(service.max_ns(), Some(4 * MS));
    assert_eq!(service.min_ns(), Some(MS));
    assert_eq!(service.mean_ns(), Some(2.5e6));
    assert_eq!(record.elapsed_ns, 400 * MS);
}

#[test]
fn a_batch_of_more_pieces_than_one_call_takes_leaves_at_once() {
    // Two requests in turn, so that each of the forty is a piece by itself.
    let mut plan = plan(1, closed(0), S);
    plan.work = vec![get("/"), get("/other")].into();
    plan.connections.pipeline = 40;
    plan.stop.duration_ns = None;
    plan.stop.count = Some(400);
    let record = run(&plan, delay(MS));
    assert_eq!(record.total.ledger.ok, 400);
    assert_eq!(record.total.latencies.service.max_ns(), Some(MS));
    assert_eq!(record.elapsed_ns, 10 * MS);
}

#[test]
fn connections_are_made_at_the_rate_that_was_asked() {
    // 50 at 100/s: the last attempt is made 490 ms after the first. Each answers once and is
    // retired, so every request needs a new connection, and 100/s are all that can be had.
    let mut plan = plan(50, closed(0), 2 * S);
    plan.connections.connect_rate = Some(Rate::per_second(100));
    plan.connections.requests_per_connection = Some(1);
    let record =
        run(&plan, |at_ns: u64, _, _| Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() });
    // 50 from before the run, and one each 10 ms within its two seconds.
    let ok = record.total.ledger.ok;
    assert!((248..=251).contains(&ok), "{ok}");
    assert_eq!(record.total.connections.retired, ok);
}

#[test]
fn a_connection_is_retired_after_its_share() {
    let mut plan = plan(3, closed(0), S);
    plan.connections.requests_per_connection = Some(10);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(300);
    let seen = Rc::new(RefCell::new(std::collections::HashMap::<u64, u64>::new()));
    let log = Rc::clone(&seen);
    let record = run(&plan, move |at_ns: u64, connection, _| {
        *log.borrow_mut().entry(connection).or_default() += 1;
        Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
    });
    assert_eq!(record.total.ledger.ok, 300);
    assert!(seen.borrow().values().all(|&n| n <= 10));
    assert_eq!(record.total.connections.lost.total(), 0);
    assert_eq!(record.total.connections.retired, 30);
}

#[test]
fn a_request_that_is_never_answered_times_out_and_costs_its_connection() {
    let mut plan = plan(2, closed(0), 10 * S);
    plan.timeouts.request_ns = S;
    let record = run(&plan, |at_ns: u64, _, nth| match nth {
        3 => Reaction::Never,
        _ => Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() },
    });
    let ledger = &record.total.ledger;
    // Three answers of 1 ms and a time-out of 1 s, ten times on two connections; the last time
    // falls into the drain.
    assert_eq!((ledger.ok, ledger.error(ErrorKind::Timeout)), (2 * 30, 2 * 10));
    assert_eq!(record.total.connections.lost.total(), 20);
    assert_eq!(record.total.censored.count(), 20);
    assert!(ledger.errors.example(ErrorKind::Timeout as usize).unwrap().contains("within 1 s"));
}

#[test]
fn silence_longer_than_the_idle_time_out_is_its_own_error() {
    let mut plan = plan(1, closed(0), 5 * S);
    plan.timeouts.idle_ns = Some(100 * MS);
    let record = run(&plan, |at_ns: u64, _, nth| match nth {
        0 => Reaction::Answer { at_ns: at_ns + 90 * MS, bytes: ok_bytes() },
        _ => Reaction::Never,
    });
    let ledger = &record.total.ledger;
    assert!(ledger.error(ErrorKind::IdleTimeout) >= 25, "{ledger:?}");
    assert_eq!(ledger.errors.total(), ledger.error(ErrorKind::IdleTimeout));
}

#[test]
fn what_is_in_flight_at_the_end_is_unfinished_with_its_age() {
    let mut plan = plan(10, open(10, Arrivals::Constant), 2 * S);
    plan.stop.drain_ns = 500 * MS;
    let record = run(&plan, |at_ns: u64, _, _| {
        if at_ns < S {
            Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
        } else {
            Reaction::Never
        }
    });
    let ledger = &record.total.ledger;
    assert_eq!((ledger.ok, ledger.unfinished, ledger.unsent), (10, 10, 0));
    assert_eq!(record.total.censored.max_ns(), Some(1500 * MS));
    assert_eq!(record.total.censored.min_ns(), Some(600 * MS));
    assert_eq!(record.elapsed_ns, 2500 * MS);
}

#[test]
fn a_server_that_comes_back_is_used_within_a_quarter_of_a_second() {
    // It refuses and resets from 4 s to 7 s.
    struct Restart(Fifo);
    impl SimServer for Restart {
        fn accepts(&mut self, at_ns: u64) -> bool {
            !(4 * S..7 * S).contains(&at_ns)
        }
        fn request(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
            if (4 * S..7 * S).contains(&at_ns) {
                return Reaction::Reset { at_ns };
            }
            self.0.request(at_ns, connection, nth)
        }
    }
    let record = run(&plan(20, open(500, Arrivals::Constant), 10 * S), Restart(Fifo::new(1000)));
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::Reset), 20, "one for each connection: {ledger:?}");
    assert_eq!(ledger.ok, 5000 - 20);
    assert!(record.total.latencies.response.max_ns().unwrap() < 3_300 * MS);
    let first_after = record.intervals.iter().find(|i| i.start_ns == 7 * S).unwrap();
    assert!(first_after.ok > 1500, "the backlog of three seconds is worked off: {first_after:?}");
    assert_eq!(first_after.connections, 20);
}

#[test]
fn connections_that_are_accepted_and_closed_do_not_make_it_spin() {
    let attempts = Rc::new(RefCell::new(0));
    let count = Rc::clone(&attempts);
    let record = run(&plan(1, closed(0), 10 * S), move |at_ns: u64, _, _| {
        *count.borrow_mut() += 1;
        Reaction::AnswerAndClose { at_ns, bytes: vec![] }
    });
    assert!(*attempts.borrow() < 60, "{} attempts in 10 s", attempts.borrow());
    assert_eq!(record.total.ledger.error(ErrorKind::Closed), *attempts.borrow());
}

#[test]
fn our_own_pause_is_send_lag_and_not_the_servers_time() {
    let link = Link { pause: Some((5 * S, 500 * MS)), ..Link::default() };
    let record = run_over(&plan(50, open(1000, Arrivals::Constant), 10 * S), delay(MS), link);
    let latencies = &record.total.latencies;
    assert_eq!(record.total.ledger.ok, 10_000);
    assert!(latencies.send_lag.max_ns().unwrap() >= 499 * MS);
    assert!(latencies.response.max_ns().unwrap() >= 499 * MS);
    // Only the one in flight when it began was read late.
    assert!(latencies.service.quantile_ns(Quantile::nearest(0.999)).unwrap() < 2 * MS);
}

#[test]
fn latency_of_the_link_and_pieces_change_nothing_but_time() {
    let base = plan(4, open(200, Arrivals::Poisson), 5 * S);
    let link = Link { latency_ns: 2 * MS, send_limit_bytes: 7, piece_bytes: 3, ..Link::default() };
    let record = run_over(&base, delay(MS), link);
    assert_eq!(record.total.ledger.ok, record.total.ledger.scheduled);
    assert!(record.total.latencies.service.min_ns().unwrap() >= 5 * MS);
    let first_byte = &record.total.latencies.first_byte;
    assert!(first_byte.max_ns() < record.total.latencies.service.max_ns());
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let control = Rc::new(Control::default());
    let stop = Rc::clone(&control);
    let server = move |at_ns: u64, _: u64, _: u64| {
        if at_ns >= 3 * S {
            stop.stop();
        }
        Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
    };
    let plan = plan(10, open(100, Arrivals::Constant), 60 * S);
    let record = drive(&checked(&plan), SimReactor::new(server, Link::default()), &control);
    assert_eq!(record.end, EndReason::Interrupted);
    assert!(record.total.ledger.balances());
    assert_eq!(record.total.ledger.ok, 301);
    assert!(record.window_ns < 3_100 * MS);
}

#[test]
fn a_count_without_a_server_is_given_up() {
    struct Gone;
    impl SimServer for Gone {
        fn accepts(&mut self, at_ns: u64) -> bool {
            at_ns < S
        }
        fn request(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
            if at_ns < S {
                Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
            } else {
                Reaction::Reset { at_ns }
            }
        }
    }
    let mut plan = plan(3, closed(0), S);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(1_000_000);
    let record = run(&plan, Gone);
    assert_eq!(record.end, EndReason::GaveUp);
    assert!(record.elapsed_ns < 12 * S);
    assert_eq!(record.total.ledger.ok, 3000);
}

#[test]
fn pacing_spins_for_the_last_stretch_within_its_budget() {
    let link = Link { look_ns: 400, ..Link::default() };
    for (pacing, most_ns) in [(Pacing::Auto, 400), (Pacing::Spin, 400), (Pacing::Sleep, 0)] {
        let mut plan = plan(5, open(100, Arrivals::Poisson), 10 * S);
        plan.threads.pacing = pacing;
        let record = run_over(&plan, delay(MS), link);
        let send_lag = &record.total.latencies.send_lag;
        assert!(send_lag.max_ns().unwrap() <= most_ns, "{pacing:?}: {:?}", send_lag.max_ns());
        assert_eq!(record.total.ledger.ok, record.total.ledger.scheduled);
    }
}

#[test]
fn a_worker_that_spins_knows_when_it_was_held_up() {
    let (from_ns, length_ns) = (300 * MS, 20 * MS);
    let held_up_if = |asked, pacing, load, look_ns| {
        let mut plan = plan(5, load, S);
        plan.threads.pacing = pacing;
        plan.recording.held_up = asked;
        let link = Link { look_ns, pause: Some((from_ns, length_ns)), ..Link::default() };
        run_over(&plan, delay(MS), link).machine().held_up.clone()
    };
    let held_up = |pacing, load, look_ns| held_up_if(true, pacing, load, look_ns);
    let look_ns = 400;
    for load in [open(1000, Arrivals::Constant), closed(0)] {
        let noted = held_up(Pacing::Spin, load, look_ns);
        let &[(noted_from_ns, noted_to_ns)] = &noted[..] else { panic!("{noted:?}") };
        assert!((from_ns - 100_000..=from_ns).contains(&noted_from_ns), "{noted_from_ns}");
        let to_ns = from_ns + length_ns;
        assert!((to_ns - look_ns..=to_ns).contains(&noted_to_ns), "{noted_to_ns}");
    }
    // Whoever sleeps does not know what kept it.
    for pacing in [Pacing::Auto, Pacing::Sleep] {
        assert_eq!(held_up(pacing, open(1000, Arrivals::Constant), look_ns), []);
    }
    assert_eq!(held_up(Pacing::Auto, closed(0), look_ns), []);
    // Nor whoever is not asked.
    assert_eq!(held_up_if(false, Pacing::Spin, closed(0), look_ns), []);
}

#[test]
fn responses_that_deviate_are_counted_beside_their_outcome() {
    let folded = b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok";
    let both = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked,\r\n gzip\r\n\r\nno";
    let server = |at_ns: u64, _, nth: u64| match nth % 3 {
        0 => Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() },
        1 => Reaction::Answer { at_ns: at_ns + MS, bytes: folded.to_vec() },
        _ => Reaction::AnswerAndClose { at_ns: at_ns + MS, bytes: both.to_vec() },
    };
    let record = run(&plan(1, closed(0), 200 * MS), server);
    let ledger = &record.total.ledger;
    let deviations = &record.total.deviations;
    let closed = deviations.count(DeviationKind::NotChunkedLast as usize);
    assert!(closed > 20 && closed == ledger.error(ErrorKind::Status), "{ledger:?}");
    let folded = deviations.count(DeviationKind::Folded as usize);
    assert!((2 * closed..=2 * closed + 1).contains(&folded), "{folded} {ledger:?}");
    let example = deviations.example(DeviationKind::NotChunkedLast as usize);
    assert!(example.is_some_and(|text| text.ends_with(": status 503")), "{example:?}");
}

/// Answers that nobody asked for yet are no answers to what is asked then.
#[test]
fn an_answer_that_a_full_read_left_behind_is_for_no_later_request() {
    let mut twice = ok_bytes();
    twice.extend(ok_bytes());
    let server =
        move |at_ns: u64, _, _| Reaction::Answer { at_ns: at_ns + MS, bytes: twice.clone() };
    // The first answer fills the read that it comes with.
    let link = Link { read_bytes: ok_bytes().len(), ..Link::default() };
    let record = run_over(&plan(1, closed(0), 100 * MS), server, link);
    let lost = record.total.connections.lost.count(LossKind::Malformed as usize);
    assert!(lost > 5, "{lost}");
    let ledger = &record.total.ledger;
    assert!((lost..=lost + 1).contains(&ledger.ok), "{lost} lost, {ledger:?}");
    assert_eq!(ledger.errors.total(), 0);
}

#[test]
fn an_answer_that_was_there_when_its_request_was_due_is_no_answer() {
    // Requests are due at 0, 10, 20 ms, …, and the connections take turns. At 20 ms the answer
    // on the first comes, and one that nobody asked for on the second, which is free: the request
    // of 20 ms leaves on it, and the loader has not read what is there.
    let server = |at_ns: u64, connection: u64, nth: u64| match (connection, nth) {
        (1, 0) => Reaction::Answer { at_ns: 20 * MS, bytes: ok_bytes() },
        (2, 0) => Reaction::Answers(vec![(at_ns + MS, ok_bytes()), (20 * MS, ok_bytes())]),
        _ => Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() },
    };
    let record = run(&plan(2, open(100, Arrivals::Constant), 100 * MS), server);
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.ok, ledger.error(ErrorKind::Malformed)), (10, 9, 1));
    assert_eq!(record.total.latencies.service.min_ns(), Some(MS));
}

/// What a hostile server does with the n-th request it sees.
fn reaction(kind: u8, at_ns: u64) -> Reaction {
    let at_ns = at_ns + u64::from(kind) * 10_000;
    match kind % 16 {
        0 => Reaction::Never,
        1 => Reaction::Reset { at_ns },
        2 => Reaction::AnswerAndClose { at_ns, bytes: vec![] },
        3 => Reaction::AnswerAndClose { at_ns, bytes: b"HTTP/1.1 200 OK\r\nContent-".to_vec() },
        4 => Reaction::AnswerAndClose {
            at_ns,
            bytes: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".to_vec(),
        },
        5 => Reaction::Answer { at_ns, bytes: b"nonsense\r\n\r\n".to_vec() },
        6 => Reaction::Answer {
            at_ns,
            bytes: b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        },
        7 => Reaction::AnswerAndClose { at_ns, bytes: b"HTTP/1.0 200 OK\r\n\r\nall".to_vec() },
        8 => Reaction::AnswerAndClose {
            at_ns,
            bytes: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx".to_vec(),
        },
        9 => {
            let mut twice = ok_bytes();
            twice.extend(ok_bytes());
            Reaction::Answer { at_ns, bytes: twice }
        }
        _ => Reaction::Answer { at_ns, bytes: ok_bytes() },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the server does, the ledger balances, the run ends in time, and no more answers
    /// are ok than the server gave.
    #[test]
    fn the_ledger_balances_under_any_behaviour(
        kinds in prop::collection::vec(any::<u8>(), 1..40),
        connections in 1u32..6,
        pipeline in 1u32..4,
        per_connection in prop::option::of(1u64..5),
        is_open in any::<bool>(),
        shed in prop::option::of(0u64..200),
        piece_bytes in 0usize..9,
        send_limit_bytes in 0usize..30,
        max in 0u32..4,
    ) {
        let load = if is_open { open(300, Arrivals::Poisson) } else { closed(MS) };
        let mut plan = plan(connections, load, 3 * S);
        plan.connections.pipeline = pipeline;
        plan.connections.max = connections + max;
        plan.connections.requests_per_connection = per_connection;
        plan.timeouts.request_ns = 400 * MS;
        plan.timeouts.idle_ns = Some(300 * MS);
        plan.stop.drain_ns = 200 * MS;
        if let Load::Open(load) = &mut plan.load {
            load.shed_after_ns = shed.map(|ms| ms * MS);
        }
        let answers = Rc::new(RefCell::new((0u64, 0u64)));
        let log = Rc::clone(&answers);
        let mut n = 0;
        let server = move |at_ns: u64, _: u64, _: u64| {
            n += 1;
            let kind = kinds[n % kinds.len()];
            let mut log = log.borrow_mut();
            log.0 += 1;
            log.1 += match kind % 16 {
                9 => 2,
                7.. => 1,
                _ => 0,
            };
            reaction(kind, at_ns)
        };
        let link = Link { piece_bytes, send_limit_bytes, ..Link::default() };
        let record = run_over(&plan, server, link);
        let ledger = &record.total.ledger;
        let (requests, good) = *answers.borrow();
        prop_assert!(ledger.ok <= good, "ok {} of {good} good answers", ledger.ok);
        prop_assert!(requests <= ledger.sent);
        prop_assert!(record.elapsed_ns <= 3 * S + 250 * MS);
        if let Load::Open(load) = &plan.load {
            let limit = Limit { end_ns: Some(3 * S), ..Limit::default() };
            let all = Schedule::new(load, plan.seed, Share { worker: 0, workers: 1 }, limit);
            prop_assert_eq!(ledger.scheduled, all.count() as u64);
        }
    }
}

/// Everything that can become of a request on one run's wire is in its trace, by its own name.
/// (`drive_traced` holds every trace against the ledger; this is that the outcomes do occur.)
#[test]
fn outcomes_of_all_sorts_are_traced() {
    let mut plan = plan(2, open(200, Arrivals::Constant), 3 * S);
    plan.timeouts.request_ns = 400 * MS;
    plan.timeouts.idle_ns = Some(300 * MS);
    plan.stop.drain_ns = 50 * MS;
    if let Load::Open(load) = &mut plan.load {
        load.shed_after_ns = Some(100 * MS);
    }
    let mut n = 0u8;
    let server = move |at_ns: u64, _: u64, _: u64| {
        n = n.wrapping_add(1);
        reaction(n, at_ns)
    };
    let (_, trace) = drive_traced(&plan, SimReactor::new(server, Link::default()));
    let found: std::collections::BTreeSet<&str> =
        trace.iter().map(|one| one.outcome.id()).collect();
    for id in ["ok", "status", "idle-timeout", "closed", "truncated", "reset", "malformed", "shed"]
    {
        assert!(found.contains(id), "{id} is not in {found:?}");
    }
}

/// Ages count from the beginning of the run, however long it took to make the connections before it.
#[test]
fn connections_that_took_long_to_make_are_young_when_the_run_begins() {
    let mut plan = plan(3, open(100, Arrivals::Constant), S);
    // Made at 0, 1 and 2 s before the run.
    plan.connections.connect_rate = Some(Rate::per_second(1));
    plan.connections.lifetime_ns = Some(5 * S);
    let record = run(&plan, delay(MS));
    let connections = &record.total.connections;
    assert_eq!((connections.opened, connections.retired), (3, 0));
    plan.connections.lifetime_ns = Some(400 * MS);
    // All three are needed: a request takes 25 ms, and one is due every 10 ms.
    let record = run(&plan, delay(25 * MS));
    let connections = &record.total.connections;
    // At 400 ms they are as old as they may become, and those requests are lost that were due at 380, 390
    // and 400 ms. The next connection may be made a second after the third, when the run ends.
    let ledger = &record.total.ledger;
    assert_eq!(record.total.latencies.queue_wait.max_ns(), Some(0));
    assert_eq!((ledger.ok, ledger.errors.total(), ledger.unsent), (38, 3, 59));
    assert_eq!((connections.opened, connections.retired), (3, 3));
}

/// A connection is given up when nothing came for the idle timeout while a response was awaited, and
/// not before: each piece that comes counts.
#[test]
fn silence_counts_from_the_last_byte() {
    let mut plan = plan(1, closed(0), 2 * S);
    plan.timeouts.idle_ns = Some(100 * MS);
    // Pieces of ten bytes, a microsecond apart, the last of them in time.
    let link = Link { piece_bytes: 10, ..Link::default() };
    let record = run_over(&plan, delay(99 * MS), link);
    assert_eq!(record.total.ledger.error(ErrorKind::IdleTimeout), 0);
    assert!(record.total.ledger.ok >= 20, "{:?}", record.total.ledger);
    // One that takes longer is given up, at that time exactly: with a back-off of 0, 10, 20, 40, 80, 160,
    // 250 and 250 ms between them, the tenth is sent after 1.96 s.
    let record = run(&plan, delay(101 * MS));
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.error(ErrorKind::IdleTimeout)), (10, 10));
}
