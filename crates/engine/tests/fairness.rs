//! Servers that send without end: what they cost the others, the clock and the stop, on simulated
//! time.

use std::rc::Rc;

use crate::common::*;
use candor_engine::{Control, drive};
use candor_plan::Arrivals;
use candor_record::{EndReason, ErrorKind, Quantile, RunRecord};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

/// What one read of an endless response, and everything that is done with it, takes.
const READ_NS: u64 = MS;
/// A turn of the worker's loop, after which it looks at the stop and at time-outs.
const TURN_NS: u64 = 500_000;

/// The first `greedy` connections get chunks of one byte, without end; others are answered after 5 ms.
fn server(greedy: u64) -> impl FnMut(u64, u64, u64) -> Reaction {
    move |at_ns, connection, _| match connection <= greedy {
        false => Reaction::Answer { at_ns: at_ns + 5 * MS, bytes: ok_bytes() },
        true => Reaction::Endless {
            at_ns,
            bytes: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            block: b"1\r\nx\r\n".repeat(128 * 1024 / 6 + 1),
            read_ns: READ_NS,
        },
    }
}

fn measured(connections: u32, rate: u64, greedy: u64) -> RunRecord {
    let mut plan = plan(connections, open(rate, Arrivals::Constant), S);
    plan.timeouts.request_ns = 600 * MS;
    plan.stop.drain_ns = 100 * MS;
    let record = drive(
        &checked(&plan),
        SimReactor::new(server(greedy), Link::default()),
        &Control::default(),
    );
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    record
}

#[test]
fn one_endless_response_delays_the_others_by_one_read_at_most() {
    let record = measured(100, 1000, 1);
    let ledger = &record.total.ledger;
    let lost = ledger.error(ErrorKind::Timeout) + ledger.unfinished;
    assert_eq!((ledger.scheduled, ledger.ok), (1000, 1000 - lost));
    // The connection is replaced by an honest one when its request has timed out.
    assert_eq!((lost, ledger.error(ErrorKind::Timeout)), (1, 1));
    let latencies = &record.total.latencies;
    let bound_ns = READ_NS + READ_NS / 1000;
    assert!(latencies.send_lag.max_ns() <= Some(bound_ns), "{:?}", latencies.send_lag.max_ns());
    assert!(latencies.service.max_ns() <= Some(5 * MS + 2 * bound_ns));
    assert_eq!(latencies.queue_wait.max_ns(), Some(0));
}

/// The share of a flood shrinks to what is read in 100 µs: ten floods take a millisecond of each turn of all, and not ten.
#[test]
fn floods_take_less_the_longer_they_last() {
    let record = measured(100, 1000, 10);
    let ledger = &record.total.ledger;
    assert_eq!((ledger.scheduled, ledger.error(ErrorKind::Timeout)), (1000, 10));
    let service = &record.total.latencies.service;
    let median_ns = service.quantile_ns(Quantile::nearest(0.5)).unwrap();
    assert!(median_ns <= 5 * MS + 300_000, "{median_ns}");
    let lag = &record.total.latencies.send_lag;
    assert!(lag.quantile_ns(Quantile::nearest(0.9)) <= Some(300_000), "{:?}", lag.max_ns());
}

#[test]
fn half_of_the_connections_endless_and_the_other_half_is_served() {
    let record = measured(100, 1000, 50);
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::Timeout), 50, "each is replaced by an honest one");
    assert_eq!(ledger.ok, 1000 - 50);
    assert!(record.total.latencies.send_lag.max_ns() <= Some(TURN_NS + 2 * READ_NS));
}

#[test]
fn the_end_and_time_outs_are_kept_to_whatever_arrives() {
    let record = measured(20, 1000, u64::MAX);
    assert_eq!(record.end, EndReason::Duration);
    let ledger = &record.total.ledger;
    // Each connection loses its first request after 600 ms, and is replaced.
    assert_eq!(ledger.error(ErrorKind::Timeout), 20);
    assert_eq!((ledger.ok, ledger.unfinished), (0, 20));
    let end_ns = record.intervals.last().map_or(0, |last| last.end_ns);
    let late_ns = end_ns.saturating_sub(S + 100 * MS);
    assert!(late_ns <= TURN_NS + 2 * READ_NS, "late by {late_ns} ns");
}

#[test]
fn a_stop_is_heard_whatever_arrives() {
    let control = Rc::new(Control::default());
    let (told, mut endless) = (Rc::clone(&control), server(u64::MAX));
    let stopping = move |at_ns, connection, nth| {
        if at_ns > S {
            // A signal, and a second one: as the first time-outs have brought new requests.
            told.stop();
            told.stop();
        }
        endless(at_ns, connection, nth)
    };
    let mut plan = plan(5, closed(0), 3600 * S);
    plan.timeouts.request_ns = 2 * S;
    let record = drive(&checked(&plan), SimReactor::new(stopping, Link::default()), &control);
    assert_eq!(record.end, EndReason::Interrupted);
    assert_eq!(record.total.ledger.error(ErrorKind::Timeout), 5);
    assert_eq!(record.total.ledger.unfinished, 5);
    let end_ns = record.intervals.last().map_or(0, |last| last.end_ns);
    assert!(end_ns <= 2 * S + 2 * (TURN_NS + 2 * READ_NS), "{end_ns}");
}

/// A backlog of a billion is counted by arithmetic, with the ages that the requests had.
#[test]
fn a_huge_backlog_is_counted_without_looking_at_each_request() {
    let mut plan = plan(1, open(1_000_000_000, Arrivals::Constant), S);
    plan.stop.drain_ns = 0;
    let nobody = |_, _, _| Reaction::Never;
    let record =
        drive(&checked(&plan), SimReactor::new(nobody, Link::default()), &Control::default());
    let (ledger, censored) = (&record.total.ledger, &record.total.censored);
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!((ledger.scheduled, ledger.unsent, ledger.unfinished), (S, S - 1, 1));
    assert_eq!(censored.count(), S);
    assert_eq!((censored.min_ns(), censored.max_ns()), (Some(1), Some(S)));
    // Ages are spread evenly from 1 ns to a second.
    let median_ns = censored.quantile_ns(Quantile::nearest(0.5)).map_or(0, |ns| ns);
    assert!(median_ns.abs_diff(S / 2) <= S / 1000, "{median_ns}");
    assert!((censored.mean_ns().unwrap_or(0.0) - 0.5e9).abs() < 1e6);
}

/// Poisson arrivals are counted one by one, and all of them however often the run is stopped: the
/// schedule is what it is.
#[test]
fn a_backlog_is_counted_whole_when_a_run_is_stopped_twice() {
    let control = Rc::new(Control::default());
    let told = Rc::clone(&control);
    let stopping = move |at_ns: u64, _, nth| {
        if nth == 1 {
            told.stop();
            told.stop();
        }
        Reaction::Answer { at_ns: at_ns + 200 * MS, bytes: ok_bytes() }
    };
    let plan = plan(1, open(10_000_000, Arrivals::Poisson), 100 * S);
    let record = drive(&checked(&plan), SimReactor::new(stopping, Link::default()), &control);
    assert_eq!(record.end, EndReason::Interrupted);
    let ledger = &record.total.ledger;
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!((ledger.ok, ledger.unfinished), (1, 1));
    // Within eight standard deviations of the mean.
    let due = record.window_ns as f64 / 100.0;
    assert!((ledger.scheduled as f64 - due).abs() < 8.0 * due.sqrt(), "{ledger:?} {due}");
}
