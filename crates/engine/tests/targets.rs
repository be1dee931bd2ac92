//! Several targets on simulated time: none waits for another's place, and what goes where is known exactly.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::*;
use candor_engine::reactor::Route;
use candor_engine::{Control, drive, drive_part};
use candor_plan::journey::{Journey, OnFailure, Step, Think};
use candor_plan::{Arrivals, Load, Parts, Request, Target};
use candor_record::{RunRecord, Workers};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

/// Answers each path after its time, or never; some targets take no connections. Notes the attempts at each.
#[derive(Clone, Default)]
struct Sites {
    delays_ns: Vec<(&'static str, Option<u64>)>,
    refuses: Vec<u16>,
    attempts: Rc<RefCell<[u32; 3]>>,
}

impl SimServer for Sites {
    fn accepts_route(&mut self, to: Route) -> bool {
        self.attempts.borrow_mut()[usize::from(to.target)] += 1;
        !self.refuses.contains(&to.target)
    }

    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("every request comes with its text")
    }

    fn text(&mut self, at_ns: u64, _: u64, _: u64, request: &[u8]) -> Reaction {
        let text = String::from_utf8_lossy(request);
        let path = text.split(' ').nth(1).unwrap();
        let host = text.split("Host: ").nth(1).unwrap().split("\r\n").next().unwrap();
        assert_eq!(host, if path.starts_with("/b") { "b" } else { "sim" }, "{path}");
        match self.delays_ns.iter().find(|(one, _)| *one == path).unwrap().1 {
            Some(delay_ns) => Reaction::Answer { at_ns: at_ns + delay_ns, bytes: ok_bytes() },
            None => Reaction::Never,
        }
    }
}

fn sites(delays_ns: &[(&'static str, Option<u64>)]) -> Sites {
    Sites { delays_ns: delays_ns.to_vec(), ..Sites::default() }
}

/// Requests to two targets: those whose path begins with `/b` go to the second.
fn to_two(connections: u32, load: Load, duration_ns: u64, paths: &[&str]) -> Parts {
    let mut parts = plan(connections, load, duration_ns);
    let other = Target { name: "b".to_owned(), authority: "b".to_owned(), ..parts.target.clone() };
    parts.others = vec![other];
    let request = |path: &&str| Request { target: path.starts_with("/b").into(), ..get(path) };
    parts.work = paths.iter().map(request).collect::<Vec<_>>().into();
    parts
}

fn run(parts: &Parts, server: Sites) -> RunRecord {
    let record =
        drive(&checked(parts), SimReactor::new(server, Link::default()), &Control::default());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    record
}

fn counts(record: &RunRecord) -> Vec<(u64, u64)> {
    record.total.requests.iter().map(|one| (one.sent, one.ok)).collect()
}

#[test]
fn a_target_that_stalls_blocks_no_other() {
    let parts = to_two(2, open(1000, Arrivals::Constant), 2 * S, &["/a", "/b"]);
    let record = run(&parts, sites(&[("/a", Some(MS)), ("/b", None)]));
    // Both places of the second have a request for ever, and nothing else of it leaves.
    assert_eq!(counts(&record), [(1000, 1000), (2, 0)]);
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.unsent, ledger.unfinished), (1002, 998, 2));
    let latencies = &record.total.latencies;
    assert_eq!(latencies.response.sum_ns(), u128::from(1000 * MS));
    assert_eq!(latencies.queue_wait.sum_ns(), 0);
}

#[test]
fn a_target_without_connections_blocks_no_other() {
    let parts = to_two(2, open(1000, Arrivals::Poisson), 2 * S, &["/a", "/b", "/b2"]);
    let server = sites(&[("/a", Some(MS / 10)), ("/b", Some(0)), ("/b2", Some(0))]);
    let record = run(&parts, Sites { refuses: vec![1], ..server });
    let [(sent, ok), (0, 0), (0, 0)] = counts(&record)[..] else { panic!("{:?}", counts(&record)) };
    assert_eq!(sent, ok);
    let ledger = &record.total.ledger;
    // About a third of what was due was for it.
    assert!(ledger.unsent.abs_diff(2 * sent) < 100, "{ledger:?}");
    assert!(record.total.connections.failed.total() > 4);
    // Two places for 333/s of 0.1 ms each: hardly one of them waits.
    assert!(record.total.latencies.queue_wait.sum_ns() < u128::from(20 * MS));
}

#[test]
fn late_requests_of_each_target_leave_in_the_order_of_their_due_times() {
    // One place each: 500/s to a server of 4 ms, and 500/s to one of 1 ms.
    let parts = to_two(1, open(1000, Arrivals::Constant), S, &["/a", "/b"]);
    let record = run(&parts, sites(&[("/a", Some(4 * MS)), ("/b", Some(MS))]));
    let [a, b] = counts(&record)[..] else { unreachable!() };
    assert_eq!((a.0, b), (250, (500, 500)));
    assert_eq!(record.total.ledger.unsent, 250);
    // The nth of the first leaves at 4n ms, and was due at 2n ms.
    let waits_ns: u64 = (0..250).map(|nth| 2 * nth * MS).sum();
    assert_eq!(record.total.latencies.queue_wait.sum_ns(), u128::from(waits_ns));
}

#[test]
fn in_a_closed_load_each_connection_sends_the_requests_of_its_target() {
    let parts = to_two(2, closed(0), S, &["/a", "/b", "/b2"]);
    let server = [("/a", Some(MS)), ("/b", Some(2 * MS)), ("/b2", Some(6 * MS))];
    let record = run(&parts, sites(&server));
    // Two connections take turns: of 250 requests each, half are slow.
    let [a, b, b2] = counts(&record)[..] else { unreachable!() };
    assert_eq!(a.0, 2000);
    assert!(b.0.abs_diff(250) <= 2 && b2.0.abs_diff(250) <= 2, "{b:?} {b2:?}");
}

#[test]
fn more_connections_are_made_to_the_target_that_needs_them() {
    let mut parts = to_two(1, open(1000, Arrivals::Constant), S, &["/a", "/b"]);
    parts.connections.max = 10;
    let server = sites(&[("/a", Some(MS)), ("/b", Some(8 * MS))]);
    let attempts = Rc::clone(&server.attempts);
    let record = run(&parts, server);
    assert_eq!(counts(&record), [(500, 500), (500, 500)]);
    let [a, b, _] = *attempts.borrow();
    assert!(a == 1 && (4..=10).contains(&b), "{a} {b}");
}

#[test]
fn a_target_has_as_many_connections_as_it_says() {
    let mut parts = to_two(2, closed(0), S, &["/a", "/b"]);
    parts.others[0].connections = Some(5);
    let server = sites(&[("/a", Some(MS)), ("/b", Some(MS))]);
    let attempts = Rc::clone(&server.attempts);
    let record = run(&parts, server);
    assert_eq!(
        (counts(&record), *attempts.borrow()),
        (vec![(2000, 2000), (5000, 5000)], [2, 5, 0])
    );
}

fn journey(name: &str, steps: &[u32], think: Think) -> Journey {
    let step = |request: &u32| Step { think, ..Step::plain(*request) };
    Journey {
        name: name.to_owned(),
        weight: 1,
        steps: steps.iter().map(step).collect(),
        cookies: false,
        on_failure: OnFailure::End,
    }
}

#[test]
fn users_go_from_target_to_target() {
    let mut parts = to_two(4, open(100, Arrivals::Constant), 2 * S, &["/b", "/a", "/b2"]);
    let all = vec![journey("all", &[0, 1, 2], Think::Fixed { ns: 20 * MS })];
    parts.work = parts.work.walked(all, None);
    let server = [("/a", Some(3 * MS)), ("/b", Some(MS)), ("/b2", Some(2 * MS))];
    let record = run(&parts, sites(&server));
    let journey = &record.total.journeys[0];
    assert_eq!((journey.started, journey.failed.len()), (200, 0));
    // A user is under way for 46 ms, and those who come in the last of them are when the run ends.
    let took_ns = 46 * MS;
    assert_eq!(journey.duration.sum_ns(), u128::from(journey.completed * took_ns));
    assert_eq!(record.total.latencies.queue_wait.sum_ns(), 0);
}

#[test]
fn users_of_a_target_that_stalls_keep_nobody_from_another() {
    let mut parts = to_two(2, open(100, Arrivals::Constant), 2 * S, &["/b", "/a", "/a2"]);
    let both = vec![journey("stalls", &[0, 1], Think::None), journey("goes on", &[2], Think::None)];
    parts.work = parts.work.walked(both, None);
    let server = [("/a", Some(MS)), ("/a2", Some(MS)), ("/b", None)];
    let record = run(&parts, sites(&server));
    let [stalls, goes_on] = &record.total.journeys[..] else { unreachable!() };
    assert_eq!((stalls.started, stalls.completed), (2, 0));
    assert_eq!(goes_on.started, goes_on.completed);
    assert_eq!(goes_on.duration.sum_ns(), u128::from(goes_on.completed * MS));
    let ledger = &record.total.ledger;
    assert_eq!(ledger.scheduled, 200, "{ledger:?}");
    assert_eq!(ledger.unsent, 200 - 2 - goes_on.completed);
}

#[test]
fn users_in_a_closed_load_share_all_places() {
    let mut parts = to_two(3, closed(0), S, &["/a", "/b"]);
    parts.work = parts.work.walked(vec![journey("both", &[0, 1], Think::None)], Some(3));
    let record = run(&parts, sites(&[("/a", Some(MS)), ("/b", Some(4 * MS))]));
    let journey = &record.total.journeys[0];
    assert_eq!((journey.completed, journey.started), (600, 600));
}

#[test]
fn shares_of_several_threads_come_to_the_whole() {
    let mut parts = to_two(4, open(999, Arrivals::Poisson), S, &["/a", "/b", "/b2"]);
    parts.threads.count = Some(1);
    let server = || sites(&[("/a", Some(MS)), ("/b", Some(0)), ("/b2", Some(MS))]);
    let whole = run(&parts, server());
    parts.threads.count = Some(4);
    let reactors = |_| SimReactor::new(server(), Link::default());
    let shared = drive_part(&checked(&parts), Workers::all(4), reactors, &Control::default());
    assert_eq!(counts(&shared), counts(&whole));
    assert_eq!(shared.total.ledger.scheduled, whole.total.ledger.scheduled);
}
