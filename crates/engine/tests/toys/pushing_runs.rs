//! Runs of [`Pushing`]: parts of answers, and parts that nobody asked for.

use candor_plan::Arrivals;
use candor_record::{LossKind, PartCounts, RunRecord};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer};

use crate::common::trace::drive_sessions_traced;
use crate::common::{MS, S, open, plan};
use crate::pushing::Pushing;

/// Answers a request with three parts and the end, a millisecond apart, and pushes two messages
/// afterwards.
struct Ticking;

impl SimServer for Ticking {
    fn request(&mut self, at_ns: u64, _: u64, nth: u64) -> Reaction {
        let say = |after_ms: u64, text: &str| (at_ns + after_ms * MS, text.as_bytes().to_vec());
        match nth {
            // The hello.
            0 => Reaction::Never,
            _ => Reaction::Answers(vec![
                say(1, "+a\n+bc\n"),
                say(2, "+def\n"),
                say(3, ".\n"),
                say(50, "*tick\n"),
                say(100, "*tock\n"),
            ]),
        }
    }
}

/// Eight requests a second for four seconds, in pieces of so many bytes (0: whole).
fn run(takes_unasked: bool, piece_bytes: usize) -> RunRecord {
    let plan = plan(1, open(8, Arrivals::Constant), 4 * S);
    let reactor = SimReactor::new(Ticking, Link { piece_bytes, ..Link::default() });
    drive_sessions_traced(&plan, reactor, move || Pushing::new(takes_unasked)).0
}

#[test]
fn parts_are_told_whether_asked_for_or_not() {
    for piece_bytes in [0, 1] {
        let record = run(true, piece_bytes);
        let ledger = &record.total.ledger;
        assert_eq!((ledger.sent, ledger.ok), (32, 32));
        let parts = PartCounts { count: 32 * 5, bytes: 32 * (6 + 8), unasked: 32 * 2 };
        assert_eq!(record.total.parts, parts);
        let service = &record.total.latencies.service;
        // A byte comes a microsecond after the one before it.
        let last_byte_ns = if piece_bytes == 0 { 0 } else { 1000 };
        assert_eq!(service.min_ns(), Some(3 * MS + last_byte_ns));
        assert_eq!(service.max_ns(), Some(3 * MS + last_byte_ns));
    }
}

#[test]
fn a_session_that_expects_none_fails_and_the_run_goes_on() {
    let record = run(false, 0);
    let total = &record.total;
    assert_eq!((total.ledger.ok, total.parts.unasked), (32, 0));
    // By the first push after each request.
    assert_eq!(total.connections.lost.count(LossKind::Malformed as usize), 32);
}
