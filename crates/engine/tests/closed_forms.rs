//! Loads whose result is known by calculation. See "Truth, in closed form" in docs/internals.md: R is a rate, D a service
//! time, S a stall, T the length of a run.

use crate::common::*;
use crate::simulated::{delay, run};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, Load};
use candor_record::{EndReason, Histogram, Quantile};
use candor_testkit::sim::Fifo;

fn assert_within(value: f64, expected: f64, share: f64, what: &str) {
    let off = (value - expected).abs() / expected;
    assert!(off <= share, "{what}: {value} is {off:.4} off {expected}");
}

#[test]
fn a_constant_rate_is_sent_exactly() {
    let record = run(&plan(50, open(1000, Arrivals::Constant), 10 * S), delay(5 * MS));
    let ledger = &record.total.ledger;
    assert_eq!((ledger.scheduled, ledger.ok), (10_000, 10_000));
    let latencies = &record.total.latencies;
    assert_eq!(latencies.service.min_ns(), Some(5 * MS));
    assert_eq!(latencies.service.max_ns(), Some(5 * MS));
    assert_eq!(latencies.response.max_ns(), Some(5 * MS));
    assert_eq!(latencies.queue_wait.max_ns(), Some(0));
    assert_eq!(latencies.send_lag.max_ns(), Some(0));
    assert_eq!(record.end, EndReason::Duration);
    // The last five arrivals, of the last 5 ms, are answered after the window.
    assert_eq!(record.answered_in_window, 9_995);
    assert_eq!(record.intervals.len(), 11);
}

#[test]
fn a_closed_loop_of_n_gives_n_over_d_plus_z() {
    let (n, d, z) = (20, 10 * MS, 30 * MS);
    let record = run(&plan(n, closed(z), 10 * S), delay(d));
    let expected = u64::from(n) * 10 * S / (d + z);
    assert_eq!(record.total.ledger.sent, expected);
    assert_eq!(record.total.latencies.service.max_ns(), Some(d));
    assert_eq!(record.total.latencies.response.max_ns(), Some(d));
}

#[test]
fn a_stall_shows_in_response_time_as_the_closed_form_says() {
    // R=1000/s, S=2 s, T=30 s, ρ→0: p95 0.50 s, p99 1.70 s, mean +67 ms.
    let server = Fifo::new(1000).with_stall(10 * S, 12 * S);
    let record = run(&plan(50, open(1000, Arrivals::Constant), 30 * S), server);
    let response = &record.total.latencies.response;
    assert_eq!(response.count(), 30_000);
    assert_within(
        response.quantile_ns(Quantile::nearest(0.95)).unwrap() as f64,
        0.5e9,
        0.005,
        "p95",
    );
    assert_within(
        response.quantile_ns(Quantile::nearest(0.99)).unwrap() as f64,
        1.7e9,
        0.005,
        "p99",
    );
    assert_within(response.mean_ns().unwrap(), 66.7e6, 0.005, "mean");
    // Service time shows it only for the 50 that were in flight.
    let service = &record.total.latencies.service;
    assert!(service.quantile_ns(Quantile::nearest(0.998)).unwrap() < 2 * MS);
    assert!(service.max_ns().unwrap() > 1_900 * MS);
}

#[test]
fn overload_grows_a_backlog_as_the_closed_form_says() {
    // R=200, D=10 ms, T=10 s: request n waits D + n(D − 1/R); the last 10 s; 100/s are served,
    // and the backlog grows to 1000.
    let mut plan = plan(1, open(200, Arrivals::Constant), 10 * S);
    plan.stop.drain_ns = 0;
    let record = run(&plan, Fifo::new(10 * MS));
    let ledger = &record.total.ledger;
    assert_eq!((ledger.scheduled, ledger.sent), (2000, 1000));
    assert_eq!((ledger.ok, ledger.unfinished, ledger.unsent), (1000, 0, 1000));
    let latencies = &record.total.latencies;
    // The last one answered is n = 999, done at 10 s sharp.
    assert_eq!(latencies.response.max_ns(), Some(10 * MS + 999 * 5 * MS));
    assert_eq!(latencies.response.mean_ns(), Some(999.0 / 2.0 * 5e6 + 10e6));
    assert_eq!(record.total.censored.count(), 1000);
    assert_eq!(record.total.censored.max_ns(), Some(5 * S));
    // The gauge is of the last time that the worker looked, one request ago at most.
    for (second, interval) in record.intervals.iter().take(9).enumerate() {
        let grown = (second as u64 + 1) * 100;
        assert!((grown - 1..=grown).contains(&interval.backlog), "{}", interval.backlog);
    }
}

#[test]
fn every_response_time_is_lindleys_under_poisson_arrivals() {
    // W[n+1] = max(0, W[n] + D − A[n]): no statistics in it. The histogram of the run is the
    // histogram of the sample path, bucket by bucket.
    for rho_percent in [30u64, 50, 70, 95] {
        let d = 10 * MS;
        let plan = plan(200, open(rho_percent, Arrivals::Poisson), 200 * S);
        let record = run(&plan, Fifo::new(d));
        let Load::Open(load) = &plan.load else { unreachable!() };
        let limit = Limit { end_ns: Some(200 * S), ..Limit::default() };
        let schedule = Schedule::new(load, plan.seed, Share { worker: 0, workers: 1 }, limit);
        let mut expected = Histogram::new(3);
        let mut server = Fifo::new(d);
        for due in schedule {
            expected.record(server.done_ns(due.due_ns) - due.due_ns);
        }
        let response = &record.total.latencies.response;
        assert_eq!(response.hdr(), expected.hdr(), "ρ = 0.{rho_percent}");
        assert_eq!(response.sum_ns(), expected.sum_ns());
    }
}

#[test]
fn shedding_without_a_queue_follows_erlang_b() {
    // R=100, D=50 ms, c=5: 28.5 % find no connection.
    let mut plan = plan(5, open(100, Arrivals::Poisson), 2000 * S);
    let Load::Open(load) = &mut plan.load else { unreachable!() };
    load.shed_after_ns = Some(0);
    plan.recording.interval_ns = 100 * S;
    let record = run(&plan, delay(50 * MS));
    let ledger = &record.total.ledger;
    let share = ledger.shed as f64 / ledger.scheduled as f64;
    // Standard error with about a thousand independent busy periods is below 0.3 %.
    assert!((share - 0.285).abs() < 0.009, "{share}");
    assert_eq!(record.total.latencies.queue_wait.max_ns(), Some(0));
}
