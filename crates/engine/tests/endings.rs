//! The steps that users make when the run is over, on simulated time.

use std::cell::RefCell;

use candor_engine::{Control, drive_part};
use candor_plan::journey::{Journey, OnFailure, Step, Think};
use candor_plan::{Parts, Target, Work};
use candor_record::{EndReason, Failures, RunRecord, StepFailure, Workers};
use candor_testkit::sim::{Link, SimReactor, ok_bytes};

use crate::common::*;
use crate::journeys::{Answering, assert_balance, capture, hole, journey, refused, with_fields};

const D: u64 = 5 * MS;

/// Users who log in once, fill carts, and log out when the run is over.
fn shop(users: u32, duration_ns: u64, think: Think) -> Parts {
    let mut plan = plan(users, closed(0), duration_ns);
    let requests = vec![get("/login"), hole("/cart/${token}"), hole("/logout/${token}")];
    let login =
        Step { once: true, captures: vec![capture("token", "header:X-Token")], ..Step::plain(0) };
    let cart = Step { think, ..Step::plain(1) };
    let logout = Step { ending: true, ..Step::plain(2) };
    plan.work = Work::from(requests).walked(vec![journey(vec![login, cart, logout])], None);
    plan
}

/// What a server heard: when, and the path.
type Heard = Vec<(u64, String)>;

/// Runs it on one worker, or several; the server says of each path how long it takes and what its response is.
fn run_on(
    plan: &Parts,
    control: &Control,
    of: u32,
    answer: impl Fn(u64, &str) -> (u64, Vec<u8>),
) -> (RunRecord, Heard) {
    let heard = RefCell::new(Heard::new());
    let reactors = |_| {
        let server = Answering(|at_ns: u64, request: &str| {
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer = answer(at_ns, &path);
            heard.borrow_mut().push((at_ns, path));
            answer
        });
        SimReactor::new(server, Link::default())
    };
    let mut plan = plan.clone();
    plan.threads.count = Some(of);
    let record = drive_part(&checked(&plan), Workers::all(of), reactors, control);
    assert_balance(&record);
    (record, heard.into_inner())
}

fn run(plan: &Parts) -> (RunRecord, Heard) {
    run_on(plan, &Control::default(), 1, well)
}

fn well(_: u64, path: &str) -> (u64, Vec<u8>) {
    (D, if path == "/login" { with_fields("X-Token: t\r\n") } else { ok_bytes() })
}

/// When the users logged out.
fn logouts(heard: &Heard) -> Vec<u64> {
    heard.iter().filter(|(_, path)| path == "/logout/t").map(|(at_ns, _)| *at_ns).collect()
}

fn sent(record: &RunRecord) -> Vec<u64> {
    record.total.requests.iter().map(|one| one.sent).collect()
}

#[test]
fn who_is_under_way_ends_after_the_response() {
    // Carts leave each 5 ms from 5 ms on, the last one at 100 ms.
    let (record, heard) = run(&shop(7, 103 * MS, Think::None));
    assert_eq!(logouts(&heard), [105 * MS; 7]);
    assert_eq!(sent(&record), [7, 7 * 20, 7]);
    let users = &record.total.journeys[0];
    assert_eq!((users.started, users.completed, users.unfinished), (7 * 20, 7 * 20, 0));
    assert_eq!((record.total.ledger.ok, record.end), (7 * 22, EndReason::Duration));
}

#[test]
fn who_thinks_ends_at_once() {
    // Two carts, before which they think: to 55 ms, to 85 ms, and one of the third iteration at 90 ms.
    let mut plan = shop(7, 100 * MS, Think::Fixed { ns: 20 * MS });
    plan.work.journeys_mut()[0].steps[1].repeat = (2, 2);
    let (record, heard) = run(&plan);
    assert_eq!((logouts(&heard), sent(&record)), (vec![100 * MS; 7], vec![7, 7 * 5, 7]));
    let users = &record.total.journeys[0];
    assert_eq!((users.started, users.completed, users.unfinished), (21, 14, 7));
    // Between two iterations: those end at 10, 35, 60 and 85 ms.
    let mut plan = shop(7, 100 * MS, Think::None);
    plan.load = closed(20 * MS);
    let (record, heard) = run(&plan);
    assert_eq!((logouts(&heard), sent(&record)), (vec![100 * MS; 7], vec![7, 7 * 4, 7]));
    let users = &record.total.journeys[0];
    assert_eq!((users.started, users.completed, users.unfinished), (28, 28, 0));
}

#[test]
fn any_number_of_threads_has_the_same_users() {
    let mut plan = shop(7, 100 * S, Think::None);
    (plan.stop.duration_ns, plan.stop.count) = (None, Some(35));
    let (record, heard) = run_on(&plan, &Control::default(), 3, well);
    assert_eq!((sent(&record), logouts(&heard).len()), (vec![7, 35, 7], 7));
    assert_eq!(record.total.journeys[0].completed, 35);
}

#[test]
fn a_run_that_is_stopped_ends_its_users_too_and_one_that_is_stopped_twice_does_not() {
    for (stops, expected) in [(1, 3), (2, 0)] {
        let control = Control::default();
        let answer = |at_ns: u64, path: &str| {
            if at_ns == 50 * MS && !control.is_stopping() {
                (0..stops).for_each(|_| control.stop());
            }
            well(at_ns, path)
        };
        let (record, heard) = run_on(&shop(3, 10 * S, Think::None), &control, 1, answer);
        assert_eq!(record.end, EndReason::Interrupted);
        assert_eq!(logouts(&heard).len(), expected);
        assert_eq!(record.total.ledger.unfinished, if stops == 1 { 0 } else { 3 });
    }
}

#[test]
fn what_has_no_time_in_the_drain_is_unsent() {
    // One connection, 3 users, 30 ms each, and 50 ms.
    let mut plan = shop(1, 100 * MS, Think::None);
    plan.work = plan.work.walked(plan.work.journeys().to_vec(), Some(3));
    plan.stop.drain_ns = 50 * MS;
    let slow = |at_ns: u64, path: &str| match path {
        "/logout/t" => (30 * MS, ok_bytes()),
        _ => well(at_ns, path),
    };
    let (record, heard) = run_on(&plan, &Control::default(), 1, slow);
    assert_eq!(logouts(&heard).len(), 2);
    let ledger = &record.total.ledger;
    // And the carts of the users who waited when the run ended.
    let carts = record.total.journeys[0].unfinished;
    assert_eq!((ledger.unfinished, ledger.unsent), (1, 1 + carts));
}

/// Steps to several targets have a queue for each, and a place that is free when the time is over stays free.
#[test]
fn users_who_wait_for_a_place_at_one_of_several_targets_end_too() {
    let mut plan = shop(1, 100 * MS, Think::None);
    plan.work = plan.work.walked(plan.work.journeys().to_vec(), Some(3));
    plan.others = vec![Target { name: "b".to_owned(), ..plan.target.clone() }];
    for (cart, logout) in [(1, 1), (0, 1), (1, 0)] {
        let mut requests = plan.work.requests().to_vec();
        (requests[1].target, requests[2].target) = (cart, logout);
        let journeys = plan.work.journeys().to_vec();
        plan.work = Work::from(requests).walked(journeys, Some(3));
        let (record, heard) = run(&plan);
        assert_eq!(
            (logouts(&heard).len(), record.total.ledger.unfinished),
            (3, 0),
            "{cart} {logout}"
        );
    }
}

#[test]
fn who_was_not_let_in_has_nothing_to_leave() {
    let no = |at_ns: u64, path: &str| match path {
        "/login" => (D, refused()),
        _ => well(at_ns, path),
    };
    for on_failure in [OnFailure::End, OnFailure::GoOn] {
        let mut plan = shop(2, 103 * MS, Think::None);
        plan.work.journeys_mut()[0].on_failure = on_failure;
        let (record, heard) = run_on(&plan, &Control::default(), 1, no);
        assert!(heard.iter().all(|(_, path)| path == "/login"));
        let failures = &record.total.journeys[0].passed_over;
        let unset = |one: &&Failures| one.request == 2;
        let logout = failures.iter().find(unset).unwrap();
        assert_eq!((logout.why, logout.count), (StepFailure::Unset(0), 2));
    }
}

#[test]
fn connections_are_made_for_it() {
    let mut plan = shop(4, 103 * MS, Think::None);
    plan.connections.requests_per_connection = Some(1);
    let (record, heard) = run(&plan);
    assert_eq!((logouts(&heard).len(), sent(&record)[2]), (4, 4));
}

#[test]
fn each_journey_that_was_begun_is_ended() {
    let mut plan = shop(2, 103 * MS, Think::None);
    let second = vec![get("/look"), get("/bye"), get("/really")];
    let requests = [plan.work.requests().to_vec(), second].concat();
    let last = |request| Step { ending: true, ..Step::plain(request) };
    let second = Journey {
        name: "look".to_owned(),
        ..journey(vec![Step::plain(3), last(4), Step { repeat: (2, 2), ..last(5) }])
    };
    let journeys = vec![plan.work.journeys()[0].clone(), second];
    plan.work = Work::from(requests).walked(journeys, None);
    let (record, _) = run(&plan);
    let sent = sent(&record);
    // Over twenty iterations of each user both were begun.
    assert_eq!((sent[0], sent[2], sent[4], sent[5]), (2, 2, 2, 4));
}
