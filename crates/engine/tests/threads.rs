//! Many threads on simulated time: what each of them has is what is due to it, and together they have what one has.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::common::*;
use candor_engine::{Control, drive_part};
use candor_plan::{Arrivals, Load, Parts};
use candor_record::{RunRecord, Workers};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

const THREADS: u32 = 64;
const CONNECTIONS: u32 = 200;

/// What one thread sent: when each request came, and on which connections.
type Sent = Rc<RefCell<(Vec<u64>, BTreeSet<u64>)>>;

/// A run in these parts, one after the other, and what each of its threads sent. A response takes 1 ms.
fn run(load: Load, threads: u32, split: &[Workers]) -> (Vec<RunRecord>, Vec<Sent>) {
    let mut parts: Parts = plan(CONNECTIONS, load, S);
    parts.threads.count = Some(threads);
    let sent: Vec<Sent> = (0..threads).map(|_| Sent::default()).collect();
    let reactor = |worker: u32| {
        let log = Rc::clone(&sent[worker as usize]);
        let server = move |at_ns: u64, connection: u64, _: u64| {
            let (times, connections) = &mut *log.borrow_mut();
            times.push(at_ns);
            connections.insert(connection);
            Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
        };
        SimReactor::new(server, Link::default())
    };
    let plan = checked(&parts);
    let records =
        split.iter().map(|&own| drive_part(&plan, own, reactor, &Control::default())).collect();
    (records, sent)
}

fn all_times(sent: &[Sent]) -> Vec<u64> {
    let mut times: Vec<u64> = sent.iter().flat_map(|one| one.borrow().0.clone()).collect();
    times.sort_unstable();
    times
}

/// Least and greatest of a figure of each thread.
fn bounds(sent: &[Sent], figure: fn(&(Vec<u64>, BTreeSet<u64>)) -> usize) -> (usize, usize) {
    let all = || sent.iter().map(|one| figure(&one.borrow()));
    (all().min().unwrap(), all().max().unwrap())
}

#[test]
fn sixty_four_threads_send_what_one_sends_and_each_its_share() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let load = open(10_000, arrivals);
        let (one, sent_by_one) = run(load.clone(), 1, &[Workers::all(1)]);
        let (all, sent) = run(load, THREADS, &[Workers::all(THREADS)]);
        let (one, all) = (&one[0].total.ledger, &all[0].total.ledger);
        assert!(one.balances() && all.balances());
        assert_eq!(
            (all.scheduled, all.sent, all.ok),
            (one.scheduled, one.sent, one.ok),
            "{arrivals:?}"
        );
        // Of random arrivals a few wait for one of the three connections of a thread.
        let delay = |(one, other): (&u64, &u64)| one.saturating_sub(*other);
        let times = (all_times(&sent), all_times(&sent_by_one));
        let late = times.0.iter().zip(&times.1).map(delay).filter(|&ns| ns > 0).count();
        let most = if arrivals == Arrivals::Constant { 0 } else { all.sent as usize / 20 };
        assert!(late <= most, "{late} of {} are late", all.sent);
        // Even arrivals go round. Random ones are each thread's own: five standard deviations.
        let share = all.sent as usize / THREADS as usize;
        let (least, most) = bounds(&sent, |(times, _)| times.len());
        match arrivals {
            Arrivals::Constant => assert!(share <= least && most <= share + 1, "{least} to {most}"),
            Arrivals::Poisson => {
                assert!(share.abs_diff(least).max(share.abs_diff(most)) < 63, "{least} to {most}")
            }
        }
        let (least, most) = bounds(&sent, |(_, connections)| connections.len());
        assert!(most <= 4, "of {CONNECTIONS} connections one has {least} to {most}");
    }
}

#[test]
fn in_a_closed_loop_all_connections_are_as_busy() {
    let (records, sent) = run(closed(0), THREADS, &[Workers::all(THREADS)]);
    let ledger = &records[0].total.ledger;
    assert!(ledger.balances());
    assert_eq!(
        ledger.ok,
        u64::from(CONNECTIONS) * 1000,
        "each connection has one every millisecond"
    );
    assert_eq!(bounds(&sent, |(_, connections)| connections.len()), (3, 4));
    for one in &sent {
        let (times, connections) = &*one.borrow();
        assert_eq!(times.len() / connections.len(), 1000);
    }
}

/// As `--part I/N` and fleets make them.
#[test]
fn parts_of_sixty_four_threads_are_the_whole() {
    let load = open(10_000, Arrivals::Poisson);
    let (whole, sent) = run(load.clone(), THREADS, &[Workers::all(THREADS)]);
    let part = |first, count| Workers { first, count, of: THREADS };
    let split = [part(48, 16), part(0, 1), part(1, 31), part(32, 16)];
    let (records, sent_by_parts) = run(load, THREADS, &split);
    assert_eq!(
        records.iter().map(|one| one.total.ledger.ok).sum::<u64>(),
        whole[0].total.ledger.ok
    );
    for (one, other) in sent.iter().zip(&sent_by_parts) {
        assert_eq!(one.borrow().0, other.borrow().0);
    }
}
