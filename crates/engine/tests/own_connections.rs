//! Users with connections of their own, on simulated time: whose requests are on which connection, when they are made
//! and closed, and what waiting for them costs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::common::*;
use candor_engine::{Control, drive};
use candor_plan::journey::{Journey, OnFailure, Step, Think};
use candor_plan::{Arrivals, Load, Parts, Request, Work};
use candor_record::RunRecord;
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

/// The paths that came on each connection.
type Seen = Rc<RefCell<BTreeMap<u64, Vec<String>>>>;

/// Responds after a time, and closes after each response if asked to.
struct Server {
    seen: Seen,
    delay_ns: u64,
    closes: bool,
    /// Refuses connections before this time.
    refuses_until_ns: u64,
}

impl SimServer for Server {
    fn accepts(&mut self, at_ns: u64) -> bool {
        at_ns >= self.refuses_until_ns
    }

    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("every request comes with its text")
    }

    fn text(&mut self, at_ns: u64, connection: u64, _: u64, request: &[u8]) -> Reaction {
        let text = String::from_utf8_lossy(request);
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        self.seen.borrow_mut().entry(connection).or_default().push(path);
        let at_ns = at_ns + self.delay_ns;
        match self.closes {
            false => Reaction::Answer { at_ns, bytes: ok_bytes() },
            true => Reaction::AnswerAndClose { at_ns, bytes: ok_bytes() },
        }
    }
}

const D: u64 = 5 * MS;
const Z: u64 = 20 * MS;

/// Users of three steps with their number in the path, at most `users` at a time.
fn plan_of(users: u32, load: Load) -> Parts {
    let mut plan = plan(users, load, 10 * S);
    let path = |name: &str| Request { holes: true, ..get(&format!("/{name}/${{seq}}")) };
    let requests = ["a", "b", "c"].map(path).to_vec();
    let step = |request| Step { think: Think::Fixed { ns: Z }, ..Step::plain(request) };
    let journey = Journey {
        name: "buy".to_owned(),
        weight: 1,
        steps: (0..3).map(step).collect(),
        cookies: false,
        on_failure: OnFailure::End,
    };
    plan.work = Work::from(requests).walked(vec![journey], Some(users));
    plan.connections.own = true;
    plan.connections.max = users;
    plan
}

fn run(plan: &Parts, link: Link, closes: bool, refuses_until_ns: u64) -> (RunRecord, Seen) {
    let seen = Seen::default();
    let server = Server { seen: Rc::clone(&seen), delay_ns: D, closes, refuses_until_ns };
    let record = drive(&checked(plan), SimReactor::new(server, link), &Control::default());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    assert!(record.total.journeys[0].balances(), "{:?}", record.total.journeys[0]);
    (record, seen)
}

/// The user of a path.
fn user(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[test]
fn each_user_has_one_connection_which_ends_with_it() {
    let latency_ns = 2 * MS;
    let link = Link { latency_ns, ..Link::default() };
    let (record, seen) = run(&plan_of(1000, open(100, Arrivals::Constant)), link, false, 0);
    let (ledger, users) = (&record.total.ledger, &record.total.journeys[0]);
    assert_eq!((ledger.errors.total(), ledger.unsent, ledger.shed), (0, 0, 0));
    let seen = seen.borrow();
    assert_eq!(seen.len(), 1000, "a connection for each user");
    for (at, paths) in seen.values().enumerate() {
        assert!(paths.iter().all(|path| user(path) == user(&paths[0])), "{paths:?}");
        assert!(paths.len() == 3 || at >= 990, "{paths:?}");
    }
    assert_eq!(users.started, 1000);
    let connections = &record.total.connections;
    assert_eq!(connections.opened, 1000);
    // The last one completes when no request is sent any more, and its connection ends with the run.
    assert_eq!((connections.retired, users.completed), (993, 994));
    // To connect takes a round trip, which the first step waits for; then K round trips and responses, and K−1
    // thoughts.
    let trip_ns = 2 * latency_ns;
    let waits = &record.total.latencies.queue_wait;
    assert_eq!((waits.max_ns(), waits.sum_ns()), (Some(trip_ns), u128::from(1000 * trip_ns)));
    assert_eq!(record.total.latencies.service.max_ns(), Some(trip_ns + D));
    assert_eq!(record.total.latencies.send_lag.max_ns(), Some(0));
    let whole_ns = trip_ns + 3 * (trip_ns + D) + 2 * Z;
    assert_eq!(
        (users.duration.min_ns(), users.duration.max_ns()),
        (Some(whole_ns), Some(whole_ns))
    );
}

#[test]
fn a_connection_that_the_server_closes_is_made_again_for_the_next_step() {
    let (record, seen) =
        run(&plan_of(1000, open(100, Arrivals::Constant)), Link::default(), true, 0);
    let seen = seen.borrow();
    assert!(seen.values().all(|paths| paths.len() == 1));
    let sent = record.total.ledger.sent;
    assert_eq!((record.total.ledger.errors.total(), seen.len() as u64), (0, sent));
    assert_eq!(record.total.connections.opened, sent);
    assert!(record.total.journeys[0].completed >= 990);
}

#[test]
fn users_beyond_the_limit_wait_for_those_before_them() {
    // Each takes 3·5 + 2·20 = 55 ms, and two at a time are let in, of 100 a second: from 0 and from 10 ms on.
    let (record, seen) = run(&plan_of(2, open(100, Arrivals::Constant)), Link::default(), false, 0);
    let users = &record.total.journeys[0];
    assert_eq!(users.completed, 10_000 / 55 + 9_990 / 55);
    assert!(record.intervals.iter().all(|one| one.users <= 2 && one.connections <= 2));
    assert_eq!(record.total.ledger.unsent, 1000 - users.started + unsent_steps(&record));
    assert_eq!(seen.borrow().len() as u64, users.started);
    assert_eq!(users.started + record.total.users_not_begun, 1000);
}

/// Steps of users under way that were due and not sent.
fn unsent_steps(record: &RunRecord) -> u64 {
    let ledger = &record.total.ledger;
    ledger.scheduled - ledger.sent - (1000 - record.total.journeys[0].started)
}

#[test]
fn in_a_closed_load_n_users_have_n_connections_at_a_time() {
    let (record, seen) = run(&plan_of(4, closed(0)), Link::default(), false, 0);
    let users = &record.total.journeys[0];
    assert_eq!(users.completed / 4, 10_000 / 55);
    assert_eq!(seen.borrow().len() as u64, users.started);
    assert!(
        seen.borrow().values().all(|paths| paths.iter().all(|one| user(one) == user(&paths[0])))
    );
}

#[test]
fn a_server_that_refuses_is_asked_again_and_nothing_is_lost() {
    let (record, _) = run(&plan_of(1000, open(100, Arrivals::Constant)), Link::default(), false, S);
    let ledger = &record.total.ledger;
    assert!(record.total.connections.failed.total() > 100, "{:?}", record.total.connections);
    assert_eq!((ledger.errors.total(), ledger.unsent), (0, 0));
    // Back-offs are a quarter of a second at most.
    let waits = &record.total.latencies.queue_wait;
    assert!(
        waits.max_ns() >= Some(S) && waits.max_ns() <= Some(S + 250 * MS),
        "{:?}",
        waits.max_ns()
    );
}

#[test]
fn steps_that_wait_for_a_connection_at_the_end_are_unsent() {
    let plan = plan_of(1000, open(100, Arrivals::Constant));
    let (record, _) = run(&plan, Link::default(), false, 3600 * S);
    let ledger = &record.total.ledger;
    assert_eq!((ledger.scheduled, ledger.sent, ledger.unsent), (1000, 0, 1000));
    assert_eq!((record.total.journeys[0].started, record.total.users_not_begun), (0, 1000));
}
