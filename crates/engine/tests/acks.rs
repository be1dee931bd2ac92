//! Early acknowledgements: a wait for the acknowledgement moves with it, and a server that takes as long does not.

use crate::common::*;
use candor_engine::{Control, drive};
use candor_record::{AckCounts, RunRecord};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

const DELAY_NS: u64 = 40 * MS;
/// The most early acknowledgements of a thread.
const MOST: u64 = 12;

fn run(connections: u32, pipeline: u32, server: impl SimServer) -> RunRecord {
    let mut plan = plan(connections, closed(0), 3 * S);
    plan.connections.pipeline = pipeline;
    drive(&checked(&plan), SimReactor::new(server, Link::default()), &Control::default())
}

/// A response in two pieces, cut after `at` bytes.
fn pieces(at: usize) -> (Vec<u8>, Vec<u8>) {
    let mut first = ok_bytes();
    let rest = first.split_off(at);
    (first, rest)
}

fn held(at_ns: u64) -> Reaction {
    let (first, rest) = pieces(20);
    Reaction::Held { at_ns, first, rest, delay_ns: DELAY_NS }
}

#[test]
fn a_wait_for_the_acknowledgement_moves_with_it() {
    for connections in [1, 6] {
        let record = run(connections, 1, |at_ns: u64, _: u64, _: u64| held(at_ns));
        assert_eq!(record.total.acks, AckCounts { tried: MOST, moved: MOST }, "{connections}");
        // All other responses took the whole delay: the figures are as good as those without.
        let service = &record.total.latencies.service;
        let short = service.count() - service.hdr().count_between(DELAY_NS, u64::MAX);
        assert_eq!(short, MOST, "{connections}");
    }
}

/// The first of two pipelined requests has its response at once, and that to the second is held back.
#[test]
fn responses_that_are_written_one_by_one_move_too() {
    let record = run(2, 2, |at_ns: u64, _: u64, nth: u64| match nth % 2 {
        0 => Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() },
        _ => Reaction::Held {
            at_ns: at_ns + MS,
            first: Vec::new(),
            rest: ok_bytes(),
            delay_ns: DELAY_NS,
        },
    });
    assert_eq!(record.total.acks, AckCounts { tried: MOST, moved: MOST });
}

/// Pieces at these times after the request.
fn written_at(times_ms: &'static [u64]) -> impl SimServer {
    move |at_ns: u64, _: u64, _: u64| {
        let (first, rest) = pieces(20);
        let length = rest.len().div_ceil(times_ms.len() - 1);
        let all = std::iter::once(&first[..]).chain(rest.chunks(length));
        let timed = times_ms.iter().zip(all);
        Reaction::Answers(timed.map(|(ms, one)| (at_ns + ms * MS, one.to_vec())).collect())
    }
}

#[test]
fn what_a_server_writes_over_time_does_not_move() {
    let servers: [&[u64]; 5] =
        [&[0, 40], &[0, 10, 20, 30, 40], &[0, 20, 40], &[0, 200], &[0, 50, 100, 150, 200]];
    for times_ms in servers {
        for connections in [1, 6] {
            let record = run(connections, 1, written_at(times_ms));
            let AckCounts { tried, moved } = record.total.acks;
            assert_eq!(moved, 0, "{times_ms:?} {connections}");
            assert!(tried > 0, "{times_ms:?} {connections}");
        }
    }
}

/// Nothing is tried where nothing has come, or where nothing is awaited any more.
#[test]
fn silence_before_a_response_is_let_alone() {
    let late = |at_ns: u64, _: u64, _: u64| Reaction::Answer {
        at_ns: at_ns + DELAY_NS,
        bytes: ok_bytes(),
    };
    assert!(run(6, 1, late).total.acks.is_empty());
    let quick =
        |at_ns: u64, _: u64, _: u64| Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() };
    assert!(run(6, 1, quick).total.acks.is_empty());
}
