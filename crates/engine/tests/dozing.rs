//! A worker that sleeps through responses, on simulated time: they count from when they arrived.

use crate::common::*;
use candor_engine::{Control, drive};
use candor_plan::{Arrivals, Pacing};
use candor_record::RunRecord;
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

const US: u64 = 1_000;
/// From one request to the next; a worker dozes for up to a millisecond.
const GAP_NS: u64 = 500 * US;
const SERVICE_NS: u64 = 300 * US;
const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";

/// A request each [`GAP_NS`] for half a second, to a server that reacts [`SERVICE_NS`] later.
fn record(react: fn(u64) -> Reaction) -> RunRecord {
    let mut plan = plan(4, open(S / GAP_NS, Arrivals::Constant), S / 2);
    plan.threads.pacing = Pacing::Stamps;
    let server = |at_ns: u64, _: u64, _: u64| react(at_ns + SERVICE_NS);
    let reactor = SimReactor::dozing(server, Link::default());
    let record = drive(&checked(&plan), reactor, &Control::default());
    assert_eq!(record.total.ledger.ok, 1000, "{:?}", record.total.ledger);
    record
}

/// By how much all service times together are longer than the server's.
fn excess_ns(record: &RunRecord) -> u128 {
    record.total.latencies.service.sum_ns() - u128::from(1000 * SERVICE_NS)
}

#[test]
fn responses_that_are_slept_through_count_from_their_arrival() {
    let record = record(|at_ns| Reaction::Answer { at_ns, bytes: ok_bytes() });
    assert_eq!(excess_ns(&record), 0);
}

/// The first of them is read when the next request is due. From then on the worker wakes for them.
#[test]
fn the_end_of_a_connection_that_ends_a_response_is_waited_for() {
    let record = record(|at_ns| Reaction::AnswerAndClose { at_ns, bytes: ENDLESS.to_vec() });
    assert_eq!(excess_ns(&record), u128::from(GAP_NS - SERVICE_NS));
}

/// Such an end ends no response: the worker sleeps on.
#[test]
fn ends_after_whole_responses_are_slept_through() {
    let record = record(|at_ns| Reaction::AnswerAndClose { at_ns, bytes: ok_bytes() });
    assert_eq!(excess_ns(&record), 0);
}
