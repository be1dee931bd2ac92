//! Names that resolve to other addresses during the run, in simulated time.

use std::cell::RefCell;
use std::collections::HashMap;

use candor_engine::Control;
use candor_engine::reactor::Route;
use candor_plan::{Endpoint, Parts};
use candor_record::{AddressCounts, RunRecord, Workers};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

use crate::common::{MS, S, checked, closed, plan};

/// What is gone at a time, and how many addresses there are or were.
type Course = fn(u64) -> (Vec<u32>, usize);

/// When a request came, on which connection, at which address.
type Heard = RefCell<Vec<(u64, u64, u32)>>;

/// Servers that respond after 80 ms.
struct Servers<'a> {
    course: Course,
    count: usize,
    of: HashMap<u64, u32>,
    heard: &'a Heard,
}

impl SimServer for Servers<'_> {
    fn addresses(&self) -> usize {
        self.count
    }

    fn gone(&mut self, at_ns: u64) -> Vec<u32> {
        let (gone, count) = (self.course)(at_ns);
        self.count = count;
        gone
    }

    fn goes(&mut self, connection: u64, to: Route) {
        self.of.insert(connection, to.address);
    }

    fn request(&mut self, at_ns: u64, connection: u64, _: u64) -> Reaction {
        self.heard.borrow_mut().push((at_ns, connection, self.of[&connection]));
        Reaction::Answer { at_ns: at_ns + 80 * MS, bytes: ok_bytes() }
    }
}

/// Runs a plan with names by one worker, and returns what servers heard too.
fn run(mut parts: Parts, course: Course) -> (RunRecord, Vec<(u64, u64, u32)>) {
    parts.target.endpoint = Endpoint::Tcp { host: "h.example".to_owned(), port: 80 };
    parts.connections.dns_refresh_ns = Some(S);
    let heard = Heard::default();
    let reactors = |_| {
        let (_, count) = course(0);
        let servers = Servers { course, count, of: HashMap::new(), heard: &heard };
        SimReactor::new(servers, Link::default())
    };
    let (plan, control) = (checked(&parts), Control::default());
    let record = candor_engine::drive_part(&plan, Workers::all(1), reactors, &control);
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    assert_eq!(record.total.ledger.ok, record.total.ledger.sent);
    (record, heard.into_inner())
}

/// The first of two is gone after a second, and another one is there.
fn moved(at_ns: u64) -> (Vec<u32>, usize) {
    if at_ns < S { (vec![], 2) } else { (vec![0], 3) }
}

/// Opened, and for how long it was watched.
fn rows(record: &RunRecord) -> Vec<(u64, u64)> {
    let row = |one: &AddressCounts| (one.opened, one.watched_ns);
    record.workers[0].addresses.iter().map(row).collect()
}

#[test]
fn connections_to_an_address_that_is_gone_end_after_what_they_have() {
    let (record, heard) = run(plan(4, closed(0), 2 * S), moved);
    let to = |address| heard.iter().filter(move |one| one.2 == address);
    // Each connection sends every 80 ms. The name is looked at after exactly a second.
    assert_eq!(to(0).map(|one| one.0).max(), Some(960 * MS));
    assert_eq!(to(0).count(), 2 * 13);
    // The two that take their places go to the new address first, and the others stay what they were.
    assert_eq!(to(2).map(|one| one.0).min(), Some(1040 * MS));
    assert_eq!(to(2).count(), 12);
    assert_eq!(to(1).count(), 2 * 25 + 12);
    assert_eq!(rows(&record), [(2, S), (3, 2 * S), (1, S)]);
    let connections = &record.total.connections;
    assert_eq!((connections.retired, connections.lost.total()), (2, 0));
}

#[test]
fn idle_connections_are_replaced_at_once() {
    // Each user thinks for longer than the run; a new connection has a user who does not.
    let (record, heard) = run(plan(2, closed(10 * S), 2 * S), moved);
    assert_eq!(
        heard.iter().map(|one| (one.0, one.2)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (S, 2)]
    );
    assert_eq!(rows(&record), [(1, S), (1, 2 * S), (1, S)]);
}

/// A name that has another address at every look, of a few: what is sent is responded to, and what is known is bounded.
#[test]
fn a_name_that_flaps_costs_no_request() {
    fn flaps(at_ns: u64) -> (Vec<u32>, usize) {
        let there = (at_ns / (250 * MS) % 3) as u32;
        ((0..3).filter(|one| *one != there).collect(), 3)
    }
    let (record, heard) = run(plan(3, closed(0), 6 * S), flaps);
    assert_eq!(record.workers[0].addresses.len(), 3);
    // To begin with all are there.
    for (at_ns, _, address) in heard.into_iter().filter(|one| one.0 > 250 * MS) {
        // It was there, or the look is this very moment or the next.
        let looked_ns = at_ns / (250 * MS) * (250 * MS);
        let is_there = |at_ns: u64| !flaps(at_ns).0.contains(&address);
        assert!(
            is_there(looked_ns) || is_there(looked_ns.saturating_sub(MS)),
            "{at_ns}: {address}"
        );
    }
}
