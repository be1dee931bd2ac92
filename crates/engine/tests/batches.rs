//! Sends that leave together, on simulated time: what their stamps say beside when they left.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::trace::drive_traced;
use crate::common::*;
use candor_plan::{Arrivals, Parts};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

/// A batch takes 50 µs, as far as the last one tells, unless the machine holds it up.
const BOUND_NS: u64 = 60_000;

/// How long after the stamp of its sending each request left, in order, if the n-th send takes `takes_ns(n)`.
fn late_ns(plan: &Parts, takes_ns: fn(u64) -> u64) -> Vec<u64> {
    let arrivals = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&arrivals);
    let server = move |at_ns: u64, _: u64, _: u64| {
        log.borrow_mut().push(at_ns);
        Reaction::Answer { at_ns: at_ns + 5 * MS, bytes: ok_bytes() }
    };
    let link = Link { queued_for_ns: Some(takes_ns), ..Link::default() };
    let (record, traced) = drive_traced(plan, SimReactor::new(server, link));
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    let mut sent: Vec<u64> =
        traced.iter().map(|one| one.sent_ns).filter(|&ns| ns < u64::MAX).collect();
    sent.sort_unstable();
    let arrivals = arrivals.borrow();
    assert_eq!((sent.len(), record.total.ledger.sent), (arrivals.len(), arrivals.len() as u64));
    // The first is alone, so that its stamp is exact.
    let origin_ns = arrivals[0] - sent[0];
    let late = |(sent_ns, at_ns): (&u64, &u64)| {
        (at_ns - origin_ns).checked_sub(*sent_ns).expect("no stamp is later than what it stamps")
    };
    sent.iter().zip(&*arrivals).map(late).collect()
}

#[test]
fn a_stamp_is_before_its_send_by_less_than_a_batch_takes() {
    let takes_ns = |n| 4_000 + n % 3 * 1_000;
    let closed = late_ns(&plan(100, closed(0), 2 * S), takes_ns);
    assert!(closed.iter().all(|&ns| ns <= BOUND_NS), "{:?}", closed.iter().max());
    // Not all are stamped with the beginning: of ten in a batch, the last would be 45 µs late.
    let mean_ns = closed.iter().sum::<u64>() / closed.len() as u64;
    assert!((1..10_000).contains(&mean_ns), "{mean_ns}");
    // One at a time, stamps are exact.
    let open = late_ns(&plan(50, open(1000, Arrivals::Constant), 2 * S), takes_ns);
    assert_eq!(open, [0; 2000]);
}

/// Whatever holds the machine up, in a batch or between two sends: no stamp is later, and the next batch is as before.
#[test]
fn a_pause_moves_no_stamp_behind_its_send() {
    let takes_ns = |n| 4_000 + n % 3 * 1_000 + if n % 101 == 50 { 3_000_000 } else { 0 };
    let late = late_ns(&plan(100, closed(0), 5 * S), takes_ns);
    let held_up = late.iter().filter(|&&ns| ns > BOUND_NS).count();
    // At most a batch each time.
    assert!(held_up > 0 && held_up <= (late.len() / 101 + 1) * 12, "{held_up} of {}", late.len());
}

/// A machine on which everything takes longer has smaller batches, down to one.
#[test]
fn slow_sends_leave_by_themselves() {
    let late = late_ns(&plan(100, closed(0), S), |_| 60_000);
    assert_eq!(late.iter().max(), Some(&0));
}
