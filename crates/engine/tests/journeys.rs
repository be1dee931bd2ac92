//! Users on simulated time, against closed forms: R users a second, K steps, D a response, Z a think time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::common::*;
use candor_engine::{Control, drive};
use candor_plan::journey::{Capture, Journey, OnFailure, Step, Think};
use candor_plan::{Arrivals, DataFormat, DataOrder, DataSet, Kept, Parts, Request, Work};
use candor_record::{
    EndReason, ErrorKind, Failures, JourneyCounts, RunRecord, StepFailure, Workers,
};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

const Z: Think = Think::Fixed { ns: 20 * MS };

/// A server that answers what `answer` makes of a request, after the time that it says.
pub(crate) struct Answering<F>(pub(crate) F);

impl<F: FnMut(u64, &str) -> (u64, Vec<u8>)> SimServer for Answering<F> {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("every request comes with its text")
    }

    fn text(&mut self, at_ns: u64, _: u64, _: u64, request: &[u8]) -> Reaction {
        let (delay_ns, bytes) = (self.0)(at_ns, &String::from_utf8_lossy(request));
        Reaction::Answer { at_ns: at_ns + delay_ns, bytes }
    }
}

/// Answers everything after `delay_ns`.
fn delay(delay_ns: u64) -> impl SimServer {
    Answering(move |_, _: &str| (delay_ns, ok_bytes()))
}

/// A response with these header lines.
pub(crate) fn with_fields(fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n").into_bytes()
}

pub(crate) fn refused() -> Vec<u8> {
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_vec()
}

fn run(plan: &Parts, server: impl SimServer) -> RunRecord {
    let plan = checked(plan);
    let record = drive(&plan, SimReactor::new(server, Link::default()), &Control::default());
    assert_balance(&record);
    record
}

pub(crate) fn assert_balance(record: &RunRecord) {
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    assert!(record.total.warm_up.balances(), "{:?}", record.total.warm_up);
    for journey in &record.total.journeys {
        assert!(journey.balances(), "{journey:?}");
    }
    assert_eq!(record.total.users_unaccounted, 0);
    let latencies = &record.total.latencies;
    assert_eq!(
        latencies.response.sum_ns(),
        latencies.queue_wait.sum_ns() + latencies.send_lag.sum_ns() + latencies.service.sum_ns()
    );
}

fn step(request: u32, think: Think) -> Step {
    Step { think, ..Step::plain(request) }
}

pub(crate) fn journey(steps: Vec<Step>) -> Journey {
    Journey { name: "buy".to_owned(), weight: 1, steps, cookies: false, on_failure: OnFailure::End }
}

pub(crate) fn capture(variable: &str, source: &str) -> Capture {
    Capture { variable: variable.to_owned(), source: source.to_owned() }
}

/// A GET whose path has holes.
pub(crate) fn hole(path: &str) -> Request {
    Request { holes: true, ..get(path) }
}

/// `base` with one journey of a step for each of these requests.
/// Limits the users at a time.
fn at_most(plan: &mut Parts, users: Option<u32>) {
    plan.work = plan.work.walked(plan.work.journeys().to_vec(), users);
}

fn of(base: Parts, requests: Vec<Request>, think: Think) -> Parts {
    let steps = (0..requests.len() as u32).map(|request| step(request, think)).collect();
    let mut plan = base;
    plan.work = Work::from(requests).walked(vec![journey(steps)], None);
    plan
}

fn buy(record: &RunRecord) -> &JourneyCounts {
    &record.total.journeys[0]
}

#[test]
fn a_journey_takes_k_responses_and_the_thoughts_between() {
    // R=100/s, K=3, D=5 ms, Z=20 ms: 55 ms each; those who come in the last 55 ms are under way at the end.
    let requests = vec![get("/a"), get("/b"), get("/c")];
    let plan = of(plan(50, open(100, Arrivals::Constant), 10 * S), requests, Z);
    let record = run(&plan, delay(5 * MS));
    let users = buy(&record);
    assert_eq!((users.started, users.completed, users.unfinished), (1000, 995, 5));
    for (histogram, expected_ns) in [(&users.duration, 55 * MS), (&users.active, 15 * MS)] {
        assert_eq!(
            (histogram.min_ns(), histogram.max_ns()),
            (Some(expected_ns), Some(expected_ns))
        );
    }
    let latencies = &record.total.latencies;
    assert_eq!(latencies.response.max_ns(), Some(5 * MS), "a step is due when the thought is over");
    assert_eq!(latencies.queue_wait.max_ns(), Some(0));
    assert_eq!(latencies.send_lag.max_ns(), Some(0));
    // The second step is due 25 ms after the first, and the third 25 ms after that.
    let sent: Vec<u64> = record.total.requests.iter().map(|one| one.sent).collect();
    assert_eq!(sent, [1000, 998, 995]);
    for one in &record.total.requests {
        let times = one.step.as_ref().unwrap();
        assert_eq!(times.service.max_ns(), Some(5 * MS));
        assert_eq!(times.statuses[0].count, one.ok);
    }
    // Little: R · 55 ms are under way, at any time.
    let under_way: BTreeSet<u64> = record.intervals[1..10].iter().map(|one| one.users).collect();
    assert_eq!(under_way, [5].into());
}

#[test]
fn under_poisson_arrivals_the_number_under_way_is_poisson() {
    // M/G/∞: mean and variance R · (K·D + (K−1)·Z), whatever the distribution of the thoughts.
    let requests = vec![get("/a"), get("/b")];
    let think = Think::Exponential { mean_ns: 90 * MS };
    let mut plan = of(plan(1000, open(200, Arrivals::Poisson), 300 * S), requests, think);
    plan.recording.interval_ns = S;
    let record = run(&plan, delay(5 * MS));
    let expected = 200.0 * 0.1;
    let counts: Vec<f64> = record.intervals[1..300].iter().map(|one| one.users as f64).collect();
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // 4σ of the mean of 299 numbers, a second apart, ten times as long as a user stays; and of their variance.
    assert!((mean - expected).abs() < 4.0 * (expected / n).sqrt(), "{mean}");
    assert!((variance / expected - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{variance}");
    let users = buy(&record);
    let mean_ns = users.duration.mean_ns().unwrap();
    assert!((mean_ns / 1e8 - 1.0).abs() < 4.0 * 0.9 / (users.completed as f64).sqrt(), "{mean_ns}");
    assert_eq!(users.active.max_ns(), Some(10 * MS));
}

#[test]
fn a_step_that_waits_for_a_connection_shows_it() {
    // Two users every 100 ms share a connection: the second waits for the first, at each step.
    let requests = vec![get("/a"), get("/b")];
    let plan = of(plan(1, open(20, Arrivals::Constant), S), requests, Think::None);
    let record = run(&plan, delay(40 * MS));
    // One comes every 50 ms and needs 80: of those two steps, the one that was due first goes first.
    let latencies = &record.total.latencies;
    assert_eq!(latencies.service.max_ns(), Some(40 * MS));
    assert!(latencies.queue_wait.max_ns().unwrap() >= 40 * MS);
    assert_eq!(record.total.ledger.sent, 25, "the connection is never idle");
    assert!(record.total.ledger.unsent > 0);
    let waits = |request: usize| {
        let one = record.total.requests[request].step.as_ref().unwrap();
        one.queue_wait.max_ns().unwrap()
    };
    assert!(waits(0) > 0 && waits(1) > 0);
}

#[test]
fn in_a_closed_load_n_users_run_again_and_again() {
    // N=20 over 4 connections with time to spare: N / (K·D + (K−1)·Z + think time) a second.
    let requests = vec![get("/a"), get("/b")];
    let mut plan = of(plan(4, closed(10 * MS), 10 * S), requests, Think::Fixed { ns: 80 * MS });
    at_most(&mut plan, Some(20));
    let record = run(&plan, delay(MS));
    let users = buy(&record);
    // The first 20 come at once and wait for each other; from then on nobody waits.
    let expected = 20.0 * 10.0 / 0.092;
    assert!((users.completed as f64 / expected - 1.0).abs() < 0.01, "{}", users.completed);
    assert_eq!(users.active.min_ns(), Some(2 * MS));
}

#[test]
fn by_default_a_closed_load_has_a_user_for_each_connection() {
    let plan = of(plan(7, closed(0), S), vec![get("/a"), get("/b")], Think::None);
    let record = run(&plan, delay(10 * MS));
    assert_eq!(record.total.ledger.sent, 7 * 100);
    assert_eq!(buy(&record).completed, 7 * 50);
    assert_eq!(record.total.latencies.queue_wait.max_ns(), Some(0));
}

#[test]
fn a_count_is_of_users() {
    for load in [closed(0), open(100, Arrivals::Constant)] {
        let mut plan = of(plan(3, load, 100 * S), vec![get("/a"), get("/b")], Z);
        (plan.stop.count, plan.stop.duration_ns) = (Some(10), None);
        let record = run(&plan, delay(5 * MS));
        let users = buy(&record);
        assert_eq!((users.started, users.completed, users.unfinished), (10, 10, 0));
        assert_eq!((record.total.ledger.sent, record.end), (20, EndReason::Count));
    }
}

/// A service with tokens: each belongs to the user who logged in, and every answer takes another time.
fn service(rejected: Rc<RefCell<u64>>) -> impl SimServer {
    let mut number = 0u64;
    Answering(move |_, request: &str| {
        number += 1;
        let delay_ns = MS + candor_pace::draw(5, 5, number) % (30 * MS);
        let path = request.split(' ').nth(1).unwrap_or_default();
        let answer = match path.strip_prefix("/login/") {
            Some(user) => with_fields(&format!("X-Token: t{user}.{number}\r\n")),
            None => {
                let (user, token) = path
                    .strip_prefix("/cart/")
                    .and_then(|rest| rest.split_once('/'))
                    .unwrap_or_default();
                if token.starts_with(&format!("t{user}.")) {
                    ok_bytes()
                } else {
                    *rejected.borrow_mut() += 1;
                    refused()
                }
            }
        };
        (delay_ns, answer)
    })
}

#[test]
fn a_token_never_crosses_users() {
    let rejected = Rc::new(RefCell::new(0));
    let requests = vec![hole("/login/${seq}"), hole("/cart/${seq}/${token}")];
    let mut plan = of(plan(200, open(1000, Arrivals::Poisson), 10 * S), requests, Z);
    plan.work.journeys_mut()[0].steps[0].captures = vec![capture("token", "header:X-Token")];
    plan.work.journeys_mut()[0].steps[1].repeat = (1, 3);
    let record = run(&plan, service(Rc::clone(&rejected)));
    assert_eq!(*rejected.borrow(), 0);
    assert_eq!(record.total.ledger.errors.total(), 0);
    let users = buy(&record);
    assert!(users.completed > 9_500, "{users:?}");
    // On average twice: 1 to 3 with the same probability.
    let carts = record.total.requests[1].sent as f64 / record.total.requests[0].sent as f64;
    assert!((carts - 2.0).abs() < 0.05, "{carts}");
}

#[test]
fn cookies_are_the_users_own() {
    let server = Answering(|_, request: &str| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let sent = request.lines().find_map(|line| line.strip_prefix("Cookie: "));
        let answer = match path.strip_prefix("/login/") {
            Some(user) if sent.is_none() => {
                with_fields(&format!("Set-Cookie: id={user}; Path=/\r\n"))
            }
            Some(_) => refused(),
            None => {
                let user = path.strip_prefix("/home/").unwrap_or_default();
                if sent == Some(&format!("id={user}")) { ok_bytes() } else { refused() }
            }
        };
        (3 * MS, answer)
    });
    let requests = vec![hole("/login/${seq}"), hole("/home/${seq}")];
    let mut plan = of(plan(20, open(100, Arrivals::Constant), S), requests, Z);
    plan.work.journeys_mut()[0].cookies = true;
    let record = run(&plan, server);
    assert_eq!(record.total.ledger.errors.total(), 0, "{:?}", record.total.ledger);
    assert_eq!(buy(&record).started, 100);
}

#[test]
fn a_step_that_fails_ends_the_journey_with_its_reason() {
    let failing = |on_failure| {
        let requests = vec![get("/a"), get("/b"), get("/c")];
        let mut plan = of(plan(5, open(10, Arrivals::Constant), S), requests, Think::None);
        plan.work.journeys_mut()[0].on_failure = on_failure;
        run(
            &plan,
            Answering(|_, request: &str| {
                (MS, if request.starts_with("GET /b") { refused() } else { ok_bytes() })
            }),
        )
    };
    let failure = Failures { request: 1, why: StepFailure::Error(ErrorKind::Status), count: 10 };
    let ended = failing(OnFailure::End);
    assert_eq!((buy(&ended).completed, &buy(&ended).failed), (0, &vec![failure]));
    assert_eq!(ended.total.requests[2].sent, 0);
    assert_eq!(ended.total.requests[1].step.as_ref().unwrap().statuses[0].status, 403);
    let gone_on = failing(OnFailure::GoOn);
    assert_eq!((buy(&gone_on).completed, &buy(&gone_on).failed), (10, &vec![]));
    assert_eq!(buy(&gone_on).passed_over, [failure]);
    assert_eq!(gone_on.total.requests[2].sent, 10);
}

#[test]
fn what_was_not_captured_is_counted_and_a_step_without_it_is_not_sent() {
    let captured = |on_failure| {
        let requests = vec![get("/a"), hole("/b/${id}"), get("/c")];
        let mut plan = of(plan(5, open(10, Arrivals::Constant), S), requests, Think::None);
        plan.work.journeys_mut()[0].on_failure = on_failure;
        plan.work.journeys_mut()[0].steps[0].captures =
            vec![capture("other", "header:Content-Length"), capture("id", "json:$.id")];
        run(&plan, delay(MS))
    };
    let missing = Failures { request: 0, why: StepFailure::Capture(1), count: 10 };
    let ended = captured(OnFailure::End);
    assert_eq!(buy(&ended).failed, [missing]);
    let ledger = &ended.total.ledger;
    assert_eq!((ledger.sent, ledger.ok, ledger.error(ErrorKind::Capture)), (10, 0, 10));
    let example = ledger.errors.example(ErrorKind::Capture as usize).unwrap();
    assert!(example.contains("capture id: "), "{example}");
    let gone_on = captured(OnFailure::GoOn);
    let unset = Failures { request: 1, why: StepFailure::Unset(1), count: 10 };
    assert_eq!(buy(&gone_on).passed_over, [missing, unset]);
    let sent: Vec<u64> = gone_on.total.requests.iter().map(|one| one.sent).collect();
    assert_eq!((sent, buy(&gone_on).completed), (vec![10, 0, 10], 10));
}

#[test]
fn a_condition_decides_whether_a_step_is_made() {
    let requests = vec![hole("/a/${seq}"), get("/b"), get("/c")];
    let mut plan = of(plan(5, open(100, Arrivals::Constant), S), requests, Think::None);
    plan.work.journeys_mut()[0].steps[0].captures = vec![capture("id", "header:X-Id")];
    plan.work.journeys_mut()[0].steps[1].when = Some("${id}".to_owned());
    plan.work.journeys_mut()[0].on_failure = OnFailure::GoOn;
    plan.work.journeys_mut()[0].steps[2].repeat = (0, 1);
    let record = run(
        &plan,
        Answering(|_, request: &str| {
            let is_even = request.as_bytes()["GET /a/".len()..]
                .split(|byte| *byte == b' ')
                .next()
                .is_some_and(|number| number.last().is_some_and(|digit| digit % 2 == 0));
            (MS, if is_even { with_fields("X-Id: 7\r\n") } else { ok_bytes() })
        }),
    );
    let sent: Vec<u64> = record.total.requests.iter().map(|one| one.sent).collect();
    assert_eq!(sent[..2], [100, 50]);
    assert!((30..=70).contains(&sent[2]), "{sent:?}");
    assert_eq!(buy(&record).completed, 100);
}

#[test]
fn steps_that_are_overdue_are_shed_and_end_their_journeys() {
    let mut plan = of(plan(1, open(100, Arrivals::Constant), S), vec![get("/a"), get("/b")], Z);
    if let candor_plan::Load::Open(open) = &mut plan.load {
        open.shed_after_ns = Some(15 * MS);
    }
    let record = run(&plan, delay(25 * MS));
    let (users, ledger) = (buy(&record), &record.total.ledger);
    let of_steps = users.failures();
    assert!(users.failed.iter().all(|one| (one.request, one.why) == (1, StepFailure::Shed)));
    assert!(of_steps > 0 && ledger.shed > of_steps, "{users:?} {ledger:?}");
    // Who was shed on arrival has not begun, nor who waited when the run ended: 100 have come.
    assert_eq!(users.started, record.total.requests[0].sent);
    assert_eq!(users.started + record.total.users_not_begun, 100);
    assert!(ledger.sent <= 40, "one at a time: {}", ledger.sent);
}

#[test]
fn users_are_limited_and_the_others_wait_in_the_schedule() {
    let mut plan = of(
        plan(50, open(100, Arrivals::Constant), 2 * S),
        vec![get("/a"), get("/b")],
        Think::Fixed { ns: 100 * MS },
    );
    at_most(&mut plan, Some(5));
    let record = run(&plan, delay(MS));
    assert!(record.intervals.iter().all(|one| one.users <= 5));
    // 5 users of 102 ms each: 49 a second of the 100 that come.
    assert_eq!((buy(&record).started, record.total.users_not_begun), (100, 100));
    assert!(record.total.ledger.unsent >= 100);
}

#[test]
fn a_journey_without_a_step_to_make_is_over_at_once() {
    for load in [closed(0), open(1000, Arrivals::Constant)] {
        let mut plan = of(plan(2, load, 20 * MS), vec![get("/a")], Think::None);
        plan.work.journeys_mut()[0].steps[0].when = Some(String::new());
        let record = run(&plan, delay(MS));
        let users = buy(&record);
        assert!(users.completed > 0 && users.completed == users.started, "{users:?}");
        assert_eq!(record.total.ledger.sent, 0);
    }
}

/// What `plan`'s users ask for in these parts of a run, in any order, and the users of each journey.
fn requests_of(plan: &Parts, parts: &[Workers]) -> (Vec<String>, Vec<u64>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut plan = plan.clone();
    plan.threads.count = Some(parts[0].of);
    let plan = checked(&plan);
    let mut completed = vec![0; plan.work.journeys().len()];
    for part in parts {
        let reactors = |_| {
            let seen = Rc::clone(&seen);
            let server = Answering(move |_, request: &str| {
                let line = request.lines().next().unwrap_or_default().to_owned();
                let user = line.split('/').nth(2).unwrap_or_default().to_owned();
                seen.borrow_mut().push(line);
                (MS, with_fields(&format!("X-Token: t{user}\r\n")))
            });
            SimReactor::new(server, Link::default())
        };
        let record = candor_engine::drive_part(&plan, *part, reactors, &Control::default());
        assert_balance(&record);
        for (sum, one) in completed.iter_mut().zip(&record.total.journeys) {
            *sum += one.completed;
        }
    }
    let mut lines = seen.take();
    lines.sort();
    (lines, completed)
}

/// Journeys with weights, captures, random values, repetitions, thoughts and a row of data for each of 300 users.
fn varied(load: candor_plan::Load) -> Parts {
    let requests = vec![
        hole("/a/${seq}/${users.name}/${uuid}"),
        hole("/b/${seq}/${users.name}/${token}/${random 1..1000000}"),
        hole("/c/${seq}/${users.name}/${choice x,y,z}"),
    ];
    let mut plan = of(plan(40, load, 100 * S), requests, Think::Exponential { mean_ns: 5 * MS });
    plan.work.journeys_mut()[0].steps[0].captures = vec![capture("token", "header:X-Token")];
    plan.work.journeys_mut()[0].steps[1].repeat = (1, 4);
    let last = plan.work.journeys_mut()[0].steps.pop().expect("it has steps");
    let look = Journey { name: "look".to_owned(), weight: 2, ..journey(vec![last]) };
    let all = [plan.work.journeys(), &[look]].concat();
    plan.work = plan.work.walked(all, None);
    let rows: String = (0..300).map(|row| format!("user-{row}\n")).collect();
    plan.data = vec![DataSet {
        name: "users".to_owned(),
        file: "users.csv".into(),
        format: DataFormat::Csv,
        order: DataOrder::Once,
        columns: vec!["name".to_owned()],
        content: Some(Kept::Whole(format!("name\n{rows}").into_bytes().into())),
    }];
    plan
}

/// A run in any parts, as those of a fleet are, has the users of a run on one thread: each with the same number,
/// journey, row of data and random values.
#[test]
fn the_users_of_all_parts_are_those_of_one_thread() {
    let part = |first, count, of| Workers { first, count, of };
    let splits = [
        vec![Workers::all(4)],
        vec![part(0, 1, 2), part(1, 1, 2)],
        vec![part(3, 4, 7), part(0, 3, 7)],
        vec![part(0, 5, 13), part(5, 1, 13), part(6, 7, 13)],
    ];
    for load in [open(1000, Arrivals::Constant), open(1000, Arrivals::Poisson), closed(0)] {
        for count in [None, Some(200)] {
            // Rows are used once, so they end the run: or the count does before.
            let mut plan = varied(load.clone());
            plan.stop.count = count;
            at_most(&mut plan, (!load.is_open()).then_some(17));
            let users = count.unwrap_or(300);
            let (one, journeys) = requests_of(&plan, &[Workers::all(1)]);
            assert_eq!(journeys.iter().sum::<u64>(), users, "{load:?}");
            assert!(journeys.iter().all(|count| *count > 50), "{journeys:?}");
            assert!(
                one.len() > users as usize * 4 / 3 && one.windows(2).all(|two| two[0] != two[1]),
                "each is told from all others"
            );
            let names: BTreeSet<&str> =
                one.iter().filter_map(|line| line.split('/').nth(3)).collect();
            assert_eq!(names.len() as u64, users, "each has a row of its own");
            for parts in &splits {
                assert_eq!(requests_of(&plan, parts), (one.clone(), journeys.clone()), "{parts:?}");
            }
        }
    }
}

/// A data set of one column, `name`, with these rows.
fn rows(name: &str, rows: impl Iterator<Item = String>) -> DataSet {
    let lines: String = rows.map(|row| format!("{row}\n")).collect();
    DataSet {
        name: name.to_owned(),
        file: format!("{name}.csv").into(),
        format: DataFormat::Csv,
        order: DataOrder::Rotation,
        columns: vec!["name".to_owned()],
        content: Some(Kept::Whole(format!("name\n{lines}").into_bytes().into())),
    }
}

/// 7 users who log in once and come 5 times each.
fn coming_again(on_failure: OnFailure) -> Parts {
    let requests = vec![
        hole("/login/${users.name}"),
        hole("/cart/${users.name}/${token}/${products.name}"),
        hole("/pay/${users.name}/${token}/${cart}"),
    ];
    let mut plan = of(plan(7, closed(3 * MS), 100 * S), requests, Z);
    plan.stop.count = Some(7 * 5);
    let journey = &mut plan.work.journeys_mut()[0];
    (journey.cookies, journey.on_failure) = (true, on_failure);
    let [login, cart, pay] = &mut journey.steps[..] else { unreachable!() };
    (login.once, login.captures) = (true, vec![capture("token", "header:X-Token")]);
    cart.captures = vec![capture("cart", "header:X-Cart")];
    pay.when = Some("${cart}".to_owned());
    plan.data = vec![
        rows("users", (0..20).map(|row| format!("user-{row}"))),
        rows("products", (0..35).map(|row| format!("product-{row}"))),
    ];
    plan
}

/// What a shop with sessions has seen.
#[derive(Default)]
struct Shop {
    logins: Vec<String>,
    /// The cookie that each user has to send next.
    cookies: BTreeMap<String, String>,
    products: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Shop {
    /// Refuses the first `refusals` logins of each user. A cart is for the first visit, and every visit has a new
    /// cookie of the session.
    fn respond(&mut self, request: &str, refusals: usize) -> Vec<u8> {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let sent = request.lines().find_map(|line| line.strip_prefix("Cookie: "));
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let user = parts[1].to_owned();
        if parts[0] == "login" {
            self.logins.push(user.clone());
            if self.logins.iter().filter(|one| **one == user).count() <= refusals {
                return refused();
            }
            self.cookies.insert(user.clone(), "id=0".to_owned());
            return with_fields(&format!("X-Token: t-{user}\r\nSet-Cookie: id=0; Path=/\r\n"));
        }
        let expected = self.cookies.get(&user).cloned();
        if parts[2] != format!("t-{user}") || sent != expected.as_deref() {
            self.wrong.push(request.to_owned());
        }
        if parts[0] == "pay" {
            self.cookies.insert(user, "id=1".to_owned());
            return ok_bytes();
        }
        self.products.insert(parts[3].to_owned());
        if expected.as_deref() == Some("id=0") {
            self.cookies.insert(user, "id=1; cart=7".to_owned());
            let fields = "X-Cart: c\r\nSet-Cookie: id=1; Path=/\r\nSet-Cookie: cart=7; Path=/\r\n";
            return with_fields(fields);
        }
        ok_bytes()
    }
}

#[test]
fn a_user_makes_some_steps_once_and_keeps_what_they_captured() {
    let part = |first, count| Workers { first, count, of: 3 };
    for parts in [vec![Workers::all(1)], vec![part(0, 1), part(1, 2)]] {
        let mut plan = coming_again(OnFailure::GoOn);
        plan.threads.count = Some(parts[0].of);
        let plan = checked(&plan);
        let shop = Rc::new(RefCell::new(Shop::default()));
        let mut sent = [0; 3];
        for part in parts {
            let reactors = |_| {
                let shop = Rc::clone(&shop);
                let server = Answering(move |_, request: &str| {
                    (5 * MS, shop.borrow_mut().respond(request, 0))
                });
                SimReactor::new(server, Link::default())
            };
            let record = candor_engine::drive_part(&plan, part, reactors, &Control::default());
            assert_balance(&record);
            for (sum, one) in sent.iter_mut().zip(&record.total.requests) {
                *sum += one.sent;
            }
        }
        let shop = shop.take();
        assert_eq!(
            shop.wrong, [""; 0],
            "each has its token and its cookies, and no cart of before"
        );
        // The cart of the first iteration is forgotten in the others.
        assert_eq!(sent, [7, 35, 7]);
        let logins: BTreeSet<&String> = shop.logins.iter().collect();
        assert_eq!((logins.len(), logins.first().unwrap().as_str()), (7, "user-0"));
        assert!(logins.contains(&"user-6".to_owned()), "{logins:?}");
        assert_eq!(shop.products.len(), 35, "a row for each iteration");
    }
}

#[test]
fn a_step_made_once_is_made_again_until_it_succeeds() {
    let shop = Rc::new(RefCell::new(Shop::default()));
    let of_server = Rc::clone(&shop);
    let server =
        Answering(move |_, request: &str| (5 * MS, of_server.borrow_mut().respond(request, 1)));
    let mut plan = coming_again(OnFailure::End);
    let mut journeys = plan.work.journeys().to_vec();
    journeys[0].steps.truncate(2);
    journeys[0].steps[1].captures.clear();
    plan.work = Work::from(plan.work.requests()[..2].to_vec()).walked(journeys, None);
    let record = run(&plan, server);
    let sent: Vec<u64> = record.total.requests.iter().map(|one| one.sent).collect();
    assert_eq!(sent, [14, 28]);
    let failure = Failures { request: 0, why: StepFailure::Error(ErrorKind::Status), count: 7 };
    assert_eq!((buy(&record).started, &buy(&record).failed), (35, &vec![failure]));
    assert_eq!(buy(&record).completed, 28);
}
