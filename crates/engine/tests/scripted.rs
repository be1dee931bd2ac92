//! Whose requests and responses a script is called for, on simulated time: numbers of users, and when they leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::common::*;
use candor_engine::script::{Calls, DataRows, Destination, Failed, Next, Script, Scripts, Whose};
use candor_engine::{Control, drive_scripted};
use candor_plan::{Arrivals, Parts, Request, Timeouts};
use candor_protocol::Captured;
use candor_protocol::made::Batch;
use candor_record::RunRecord;
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

/// A call for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    Make(Whose),
    Answer(Whose),
    Leave(u64),
}

/// A script that notes its calls. A text has `requests` requests, whose path is the user's number.
struct Noting {
    requests: usize,
    reads: bool,
    calls: Arc<Mutex<Vec<Called>>>,
}

impl Noting {
    fn note(&self, call: Called) {
        self.calls.lock().expect("the calls").push(call);
    }
}

impl Script for Noting {
    fn request(&self) -> Option<&Request> {
        None
    }

    fn destination(&self) -> Option<Destination> {
        None
    }

    fn calls(&self) -> Calls {
        Calls { make: true, answer: self.reads, delay: false }
    }

    fn body_limit(&self) -> u64 {
        1 << 20
    }

    fn take_rows(&mut self, _: DataRows) {
        unreachable!("the plan has no data");
    }

    fn make(&mut self, whose: Whose, batch: &mut Batch) -> Result<Next, Failed> {
        self.note(Called::Make(whose));
        let one = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", whose.user);
        batch.fill(one.repeat(self.requests).as_bytes()).map_err(|_| Failed)?;
        Ok(Next::Go)
    }

    fn answer(&mut self, whose: Whose, status: u16, answer: Captured<'_>) -> Result<Next, Failed> {
        self.note(Called::Answer(whose));
        // The body of a response is the path that was requested.
        assert_eq!((status, answer.body), (200, format!("/{}", whose.user).as_bytes()));
        Ok(Next::Go)
    }

    fn delay_ns(&mut self, _: Whose) -> Result<u64, Failed> {
        unreachable!("it was not asked for");
    }

    fn leave(&mut self, user: u64) {
        self.note(Called::Leave(user));
    }

    fn refuse_upgrade(&mut self) {
        unreachable!("there is no upgrade");
    }
}

/// Responds with the path that was requested; each request for which `is_bad` holds, by its number in the run, has this
/// reaction instead.
struct Echo {
    seen: u64,
    is_bad: fn(u64) -> bool,
    bad: fn(u64) -> Reaction,
}

impl SimServer for Echo {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("requests are asked for with their text");
    }

    fn text(&mut self, at_ns: u64, _: u64, _: u64, request: &[u8]) -> Reaction {
        let number = self.seen;
        self.seen += 1;
        if (self.is_bad)(number) {
            return (self.bad)(at_ns);
        }
        let text = String::from_utf8_lossy(request);
        let path = text.split(' ').nth(1).unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", path.len());
        Reaction::Answer { at_ns: at_ns + 5 * MS, bytes: (head + path).into_bytes() }
    }
}

const GOOD: Echo = Echo { seen: 0, is_bad: |_| false, bad: |_| Reaction::Never };

/// How a server fails at a time, and the name of that.
type Failure = (fn(u64) -> Reaction, &'static str);

/// The run, and the calls of its script.
fn run(plan: &Parts, requests: usize, reads: bool, server: Echo) -> (RunRecord, Vec<Called>) {
    let calls = Arc::default();
    let script: Box<dyn Script> = Box::new(Noting { requests, reads, calls: Arc::clone(&calls) });
    let reactor = SimReactor::new(server, Link::default());
    let (control, scripts) = (Control::default(), Scripts::new([script]));
    let record = drive_scripted(&checked(plan), reactor, &control, &scripts, &mut ());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    let calls = calls.lock().expect("the calls").clone();
    (record, calls)
}

/// Users in the order in which they are made, each of whom leaves once, and the most that were there at a time.
/// Users who are left over have requests that failed after the last call.
fn lives(calls: &[Called]) -> (Vec<u64>, usize) {
    let (mut made, mut present, mut most) = (Vec::new(), BTreeSet::new(), 0);
    for call in calls {
        match call {
            Called::Make(whose) => {
                made.push(whose.user);
                assert!(present.insert(whose.user), "{whose:?} is there already");
                most = most.max(present.len());
            }
            Called::Answer(whose) => assert!(present.contains(&whose.user), "{whose:?} has left"),
            Called::Leave(user) => assert!(present.remove(user), "{user} leaves twice"),
        }
    }
    assert!(present.len() <= 2, "{present:?}");
    (made, most)
}

fn open_plan() -> Parts {
    plan(4, open(200, Arrivals::Constant), S)
}

#[test]
fn in_an_open_load_each_request_is_a_user_who_leaves_after_its_response() {
    for reads in [true, false] {
        let (record, calls) = run(&open_plan(), 1, reads, GOOD);
        assert_eq!(record.total.ledger.ok, 200);
        let (made, most) = lives(&calls);
        assert_eq!(made, (0..200).collect::<Vec<u64>>());
        assert_eq!(most, 1);
        let answered = calls.iter().filter(|call| matches!(call, Called::Answer(_))).count();
        assert_eq!(answered, if reads { 200 } else { 0 });
        assert_eq!(calls.iter().filter(|call| matches!(call, Called::Leave(_))).count(), 200);
    }
}

#[test]
fn users_of_requests_that_failed_leave_too() {
    let failures: [Failure; 4] = [
        (|at_ns| Reaction::Reset { at_ns: at_ns + MS }, "reset"),
        (|_| Reaction::Never, "timeout"),
        (|at_ns| Reaction::AnswerAndClose { at_ns, bytes: Vec::new() }, "closed"),
        (|at_ns| Reaction::Answer { at_ns, bytes: b"nonsense\r\n\r\n".to_vec() }, "malformed"),
    ];
    for (bad, what) in failures {
        for requests in [1, 2] {
            let mut plan = open_plan();
            plan.timeouts = Timeouts { request_ns: 8 * MS, ..plan.timeouts };
            let server = Echo { seen: 0, is_bad: |number| number % 5 == 3, bad };
            let (record, calls) = run(&plan, requests, true, server);
            let ledger = &record.total.ledger;
            assert!(ledger.sent - ledger.ok >= 30, "{what}: {ledger:?}");
            // Users are in flight or have left by the time of each call: there are 4 connections.
            let (_, most) = lives(&calls);
            assert!(most <= 4, "{what}: {most}");
        }
    }
}

#[test]
fn requests_of_one_text_have_one_user() {
    let mut plan = open_plan();
    plan.connections.count = 1;
    plan.connections.max = 1;
    let (record, calls) = run(&plan, 3, true, GOOD);
    assert_eq!(record.total.ledger.sent, 200);
    let (made, _) = lives(&calls);
    assert_eq!(made, (0..200).step_by(3).collect::<Vec<u64>>());
    let mut answered = BTreeMap::new();
    for call in &calls {
        if let Called::Answer(whose) = call {
            *answered.entry(whose.user).or_insert(0) += 1;
        }
    }
    // The last text has two requests that the load does not.
    assert_eq!(answered.remove(&198), Some(2));
    assert!(answered.values().all(|count| *count == 3), "{answered:?}");
}

#[test]
fn in_a_closed_load_each_connection_is_a_user_who_stays() {
    let mut plan = plan(3, closed(0), S);
    plan.connections.pipeline = 2;
    let close = |at_ns| Reaction::AnswerAndClose { at_ns: at_ns + MS, bytes: ok_bytes() };
    let is_bad = |number| number % 7 == 6;
    let (record, calls) = run(&plan, 1, false, Echo { seen: 0, is_bad, bad: close });
    assert!(record.total.ledger.sent - record.total.ledger.ok > 10);
    let mut users = BTreeSet::new();
    for call in calls {
        match call {
            Called::Make(whose) => {
                assert_eq!(u64::from(whose.connection), whose.user);
                users.insert(whose.user);
            }
            other => unreachable!("{other:?}"),
        }
    }
    assert_eq!(users, (0..3).collect());
    let (_, calls) = run(&plan, 1, true, GOOD);
    let answers = calls.iter().filter_map(|call| match call {
        Called::Answer(whose) => Some(*whose),
        _ => None,
    });
    let mut count = 0;
    for whose in answers {
        assert_eq!(u64::from(whose.connection), whose.user);
        count += 1;
    }
    assert!(count > 500, "{count}");
}
