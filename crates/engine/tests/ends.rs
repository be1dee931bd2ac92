//! Ends of runs and of connections, on simulated time: whatever ends a run, its ledger has what was due by
//! then; no connection is in a state that neither a timeout nor an event ends.

use crate::common::trace::drive_traced;
use crate::common::*;
use candor_engine::reactor::Route;
use candor_engine::{Control, Observer, drive, drive_observed};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, HttpVersion, Load, Parts};
use candor_record::{EndReason, ErrorKind, IntervalSummary, LossKind, Outcome, RunRecord};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};
use proptest::prelude::*;

fn run(plan: &Parts, server: impl SimServer) -> RunRecord {
    let record =
        drive(&checked(plan), SimReactor::new(server, Link::default()), &Control::default());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    record
}

/// A plan that ends by a count.
fn counted(connections: u32, load: Load, count: u64) -> Parts {
    let mut plan = plan(connections, load, S);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(count);
    plan
}

// ---- what was scheduled ----

/// How many requests of an open load are due by `end_ns`: of the warm-up, and measured.
fn due_by(plan: &Parts, end_ns: u64) -> (u64, u64) {
    let Load::Open(load) = &plan.load else { panic!("an open load") };
    let warm_up_ns = plan.recording.warm_up_ns;
    let end_of_plan = plan.stop.duration_ns.map(|length| warm_up_ns + length);
    let limit = Limit { end_ns: end_of_plan, measured_count: plan.stop.count, warm_up_ns };
    let schedule = Schedule::new(load, plan.seed, Share { worker: 0, workers: 1 }, limit);
    let due = schedule.map(|due| due.due_ns).take_while(|due_ns| *due_ns <= end_ns);
    let (warm_up, measured): (Vec<u64>, Vec<u64>) = due.partition(|due_ns| *due_ns < warm_up_ns);
    (warm_up.len() as u64, measured.len() as u64)
}

/// Ends a run early.
#[derive(Debug, Clone, Copy)]
enum EndedBy {
    /// This many signals at the same moment.
    Signals(u32),
    /// A signal, and another one while responses are awaited.
    SignalInTheDrain,
    /// The end of the permission to send.
    Permission,
    /// No response for too long.
    GivingUp,
    /// Its duration.
    Time,
}

/// Gives signals from the end of the first interval on that ends at `at_ns` or later.
struct Signalling<'a> {
    control: &'a Control,
    by: EndedBy,
    at_ns: u64,
    given: bool,
}

impl Observer for Signalling<'_> {
    fn interval(&mut self, summary: &IntervalSummary) {
        if summary.end_ns < self.at_ns {
            return;
        }
        match self.by {
            EndedBy::Signals(count) if !self.given => (0..count).for_each(|_| self.control.stop()),
            // Each interval of the drain is one, too.
            EndedBy::SignalInTheDrain => self.control.stop(),
            _ => {}
        }
        self.given = true;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_is_scheduled_is_what_was_due_by_the_end(
        connections in 1u32..6,
        rate in 1u64..2000,
        is_even in any::<bool>(),
        warm_up_ms in prop_oneof![Just(0u64), 1u64..500],
        measured_ms in 1u64..2500,
        answers_until_ms in prop_oneof![Just(0u64), 0u64..3000],
        by in prop_oneof![
            (1u32..5).prop_map(EndedBy::Signals),
            Just(EndedBy::SignalInTheDrain),
            Just(EndedBy::Permission),
            Just(EndedBy::GivingUp),
            Just(EndedBy::Time),
        ],
        seed in any::<u64>(),
    ) {
        let arrivals = if is_even { Arrivals::Constant } else { Arrivals::Poisson };
        let mut plan = plan(connections, open(rate, arrivals), 30 * S);
        plan.recording.warm_up_ns = warm_up_ms * MS;
        plan.recording.interval_ns = 10 * MS;
        plan.seed = seed;
        let at_ns = (warm_up_ms + measured_ms) * MS;
        let control = Control::default();
        match by {
            EndedBy::Permission => control.send_until(at_ns),
            EndedBy::GivingUp => {
                plan.stop.duration_ns = None;
                plan.stop.count = Some(1_000_000);
                plan.stop.give_up_ns = at_ns;
                plan.timeouts.request_ns = at_ns / 3 + 1;
            }
            EndedBy::Time => plan.stop.duration_ns = Some(measured_ms * MS),
            EndedBy::Signals(_) | EndedBy::SignalInTheDrain => {}
        }
        let server = move |at_ns: u64, _: u64, _: u64| match at_ns < answers_until_ms * MS {
            true => Reaction::Answer { at_ns: at_ns + 3 * MS, bytes: ok_bytes() },
            false => Reaction::Never,
        };
        let mut signalling = Signalling { control: &control, by, at_ns, given: false };
        let reactor = SimReactor::new(server, Link::default());
        let record = drive_observed(&checked(&plan), reactor, &control, &mut signalling);
        let (ledger, warm_up) = (&record.total.ledger, &record.total.warm_up);
        prop_assert!(ledger.balances() && warm_up.balances(), "{ledger:?} {warm_up:?}");
        let reason = match by {
            EndedBy::Signals(_) | EndedBy::SignalInTheDrain => EndReason::Interrupted,
            EndedBy::Permission => EndReason::AgentLost,
            EndedBy::GivingUp => EndReason::GaveUp,
            EndedBy::Time => EndReason::Duration,
        };
        prop_assert_eq!(record.end, reason);
        let due = due_by(&plan, warm_up_ms * MS + record.window_ns);
        prop_assert_eq!((warm_up.scheduled, ledger.scheduled), due);
    }
}

/// Of two requests that alternate, each index has its own, whether it left or not.
#[test]
fn what_never_left_has_its_request_in_the_trace() {
    let mut plan = plan(1, open(100, Arrivals::Constant), S);
    plan.work = [plan.work.requests(), plan.work.requests()].concat().into();
    if let Load::Open(load) = &mut plan.load {
        load.shed_after_ns = Some(300 * MS);
    }
    let never = |_: u64, _: u64, _: u64| Reaction::Never;
    let (_, traced) = drive_traced(&plan, SimReactor::new(never, Link::default()));
    for outcome in [Outcome::Shed, Outcome::Unsent] {
        let those: Vec<_> = traced.iter().filter(|one| one.outcome == outcome).collect();
        assert!(those.len() > 20, "{outcome:?}");
        assert!(those.iter().all(|one| u64::from(one.request) == one.index % 2), "{outcome:?}");
    }
}

// ---- giving up ----

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = &(payload.len() as u32).to_be_bytes()[1..];
    [length, &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// SETTINGS with at most so many streams at a time.
fn settings(streams: u32) -> Vec<u8> {
    frame(4, 0, 0, &[&[0, 3][..], &streams.to_be_bytes()].concat())
}

/// GOAWAY: nothing was processed.
fn goaway() -> Vec<u8> {
    frame(7, 0, 0, &[0; 8])
}

fn over_h2(mut plan: Parts) -> Parts {
    plan.target.http = HttpVersion::H2;
    plan
}

/// Requests go out, and come back without a response.
#[test]
fn a_run_that_gets_no_response_is_given_up_whatever_becomes_of_its_requests() {
    // SETTINGS, and GOAWAY a moment later: the request that left in between was not processed.
    let goes_away = |at_ns: u64, _: u64, _: u64| {
        Reaction::Answers(vec![(at_ns, settings(100)), (at_ns + MS, goaway())])
    };
    let resets = |at_ns: u64, _: u64, _: u64| Reaction::Reset { at_ns: at_ns + MS };
    let nonsense =
        |at_ns: u64, _: u64, _: u64| Reaction::Answer { at_ns, bytes: b"SSH-2.0\r\n".to_vec() };
    let plan = counted(3, closed(0), 1_000_000);
    let records = [
        run(&over_h2(plan.clone()), goes_away),
        run(&plan, resets),
        run(&plan, nonsense),
        run(&counted(3, open(100, Arrivals::Constant), 1_000_000), resets),
    ];
    for (at, record) in records.iter().enumerate() {
        let ledger = &record.total.ledger;
        assert_eq!((at, record.end, ledger.ok), (at, EndReason::GaveUp, 0));
        assert!(ledger.sent > 0, "{at}: {ledger:?}");
        // After the patience, and no later than the next request that was answered by nothing.
        assert!(
            (10 * S..10 * S + 300 * MS).contains(&record.elapsed_ns),
            "{at}: {}",
            record.elapsed_ns
        );
    }
}

/// What was sent while there was patience has its time, and any response renews the patience.
#[test]
fn a_slow_target_is_not_given_up() {
    let slow =
        |at_ns: u64, _: u64, _: u64| Reaction::Answer { at_ns: at_ns + 25 * S, bytes: ok_bytes() };
    let record = run(&counted(2, closed(0), 6), slow);
    assert_eq!((record.end, record.total.ledger.ok), (EndReason::Count, 6));
    // One of four connections gets its responses.
    let one_of_four = |at_ns: u64, connection: u64, _: u64| match connection.is_multiple_of(4) {
        true => Reaction::Answer { at_ns: at_ns + 8 * S, bytes: ok_bytes() },
        false => Reaction::Never,
    };
    let record = run(&counted(4, closed(0), 40), one_of_four);
    assert_eq!(record.end, EndReason::Count);
    // No response is awaited while nothing is due, and while users think.
    let quick =
        |at_ns: u64, _: u64, _: u64| Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() };
    let rare = candor_plan::Rate { events: 1, per_ns: 100 * S };
    let mut plan = counted(1, open(1, Arrivals::Constant), 4);
    if let Load::Open(load) = &mut plan.load {
        load.segments = vec![candor_plan::Segment::Hold { rate: rare, duration_ns: None }];
    }
    assert_eq!(run(&plan, quick).end, EndReason::Count);
    assert_eq!(run(&counted(1, closed(100 * S), 4), quick).end, EndReason::Count);
}

#[test]
fn a_target_that_hangs_is_given_up_when_the_requests_have_had_their_time() {
    let mut plan = counted(4, closed(0), 1_000_000);
    plan.timeouts.request_ns = 3 * S;
    let record = run(&plan, |_: u64, _: u64, _: u64| Reaction::Never);
    let ledger = &record.total.ledger;
    assert_eq!((record.end, ledger.error(ErrorKind::Timeout)), (EndReason::GaveUp, 16));
    assert_eq!(record.window_ns / S, 12);
}

// ---- wedges ----

/// How a server treats a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Each request is answered after 50 ms.
    Answers,
    /// The head of an upload is answered, nothing more of it is read, and the connection stays.
    AnswersEarly,
    /// So many bytes are read, and nothing is said.
    ReadsOnly(usize),
    /// It is accepted, and that is all.
    Silent,
    /// It is not accepted.
    Refuses,
    /// Over HTTP/2: so many streams are allowed, none is answered.
    Allows(u32),
    /// The same, and after 100 ms none any more.
    AllowsNoMore(u32),
    /// The same, and after 100 ms it goes away, and stays.
    GoesAway(u32),
}

struct Ill {
    manners: Vec<Manner>,
    made: usize,
}

impl Ill {
    fn manner(&self, connection: u64) -> Manner {
        self.manners[connection as usize % self.manners.len()]
    }
}

impl SimServer for Ill {
    fn accepts(&mut self, _: u64) -> bool {
        self.made += 1;
        self.manners[self.made % self.manners.len()] != Manner::Refuses
    }

    fn reads(&mut self, connection: u64) -> usize {
        match self.manner(connection) {
            Manner::ReadsOnly(bytes) => bytes,
            Manner::AnswersEarly => 3000,
            _ => usize::MAX,
        }
    }

    fn request(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        let is_first = nth == 0;
        match self.manner(connection) {
            Manner::Answers | Manner::AnswersEarly => {
                Reaction::Answer { at_ns: at_ns + 50 * MS, bytes: ok_bytes() }
            }
            Manner::Allows(streams) if is_first => {
                Reaction::Answer { at_ns, bytes: settings(streams) }
            }
            Manner::AllowsNoMore(streams) if is_first => {
                Reaction::Answers(vec![(at_ns, settings(streams)), (at_ns + 100 * MS, settings(0))])
            }
            Manner::GoesAway(streams) if is_first => {
                Reaction::Answers(vec![(at_ns, settings(streams)), (at_ns + 100 * MS, goaway())])
            }
            _ => Reaction::Never,
        }
    }

    fn head(&mut self, at_ns: u64, connection: u64, _: u64) -> Reaction {
        match self.manner(connection) {
            Manner::AnswersEarly => Reaction::Answer { at_ns: at_ns + 50 * MS, bytes: ok_bytes() },
            _ => Reaction::Never,
        }
    }
}

fn manners() -> impl Strategy<Value = Manner> {
    prop_oneof![
        Just(Manner::Answers),
        Just(Manner::AnswersEarly),
        (0usize..6000).prop_map(Manner::ReadsOnly),
        Just(Manner::Silent),
        Just(Manner::Refuses),
        (0u32..3).prop_map(Manner::Allows),
        (0u32..3).prop_map(Manner::AllowsNoMore),
        (0u32..3).prop_map(Manner::GoesAway),
    ]
}

/// What has happened to requests and connections, all together.
fn turnover(record: &RunRecord) -> u64 {
    let connections = &record.total.connections;
    record.total.ledger.sent + connections.opened + connections.failed.total()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever servers do, each connection has an outcome, a loss or a failed attempt within the time
    /// that attempts, requests and looks may take.
    #[test]
    fn no_connection_is_in_a_state_that_nothing_ends(
        all in proptest::collection::vec(manners(), 1..5),
        connections in 1u32..4,
        pipeline in 1u32..4,
        is_h2 in any::<bool>(),
        is_open in any::<bool>(),
        body_bytes in prop_oneof![Just(0usize), 1usize..8000],
        idle in any::<bool>(),
    ) {
        const TIMES: u64 = 12;
        const CONNECT_NS: u64 = 300 * MS;
        const REQUEST_NS: u64 = 500 * MS;
        // A request's timeout; two looks, of which the first may come just before it is over; an
        // attempt, and the longest back-off.
        const MOST_NS: u64 = REQUEST_NS + 3 * REQUEST_NS + CONNECT_NS + 250 * MS;
        let load = if is_open { open(100, Arrivals::Constant) } else { closed(0) };
        let mut plan = plan(connections, load, TIMES * MOST_NS);
        let request = &mut plan.work.requests_mut()[0];
        if body_bytes > 0 {
            request.method = "POST".to_owned();
            request.body = vec![b'x'; body_bytes].into();
        }
        if is_h2 {
            plan = over_h2(plan);
            plan.connections.streams = pipeline;
        } else {
            plan.connections.pipeline = pipeline;
        }
        plan.timeouts.connect_ns = CONNECT_NS;
        plan.timeouts.request_ns = REQUEST_NS;
        plan.timeouts.idle_ns = idle.then_some(200 * MS);
        let record = run(&plan, Ill { manners: all, made: 0 });
        let least = TIMES * u64::from(connections);
        prop_assert!(turnover(&record) >= least, "{} of {least}: {:?}", turnover(&record), record.total);
    }
}

/// The response counts by its status and at once, and its connection is replaced.
#[test]
fn a_response_before_its_request_was_written_is_one_and_ends_its_connection() {
    let mut plan = plan(4, closed(0), S);
    let request = &mut plan.work.requests_mut()[0];
    (request.method, request.body) = ("POST".to_owned(), vec![b'x'; 20_000].into());
    let record = run(&plan, Ill { manners: vec![Manner::AnswersEarly], made: 0 });
    let (ledger, connections) = (&record.total.ledger, &record.total.connections);
    // Each takes 50 ms.
    assert_eq!((ledger.ok, ledger.sent), (4 * 20, 4 * 20));
    assert_eq!(connections.retired, 4 * 20);
    assert_eq!((connections.lost.total(), connections.failed.total()), (0, 0));
}

#[test]
fn connections_that_take_nothing_are_lost_as_such_and_replaced() {
    let mut plan = over_h2(plan(2, closed(0), 10 * S));
    plan.timeouts.request_ns = S;
    let record = run(&plan, Ill { manners: vec![Manner::Allows(0)], made: 0 });
    let connections = &record.total.connections;
    // Each second look gives one up; the next connection comes after a back-off.
    assert_eq!(connections.lost.count(LossKind::Stuck as usize), 2 * 4);
    assert_eq!((record.total.ledger.sent, connections.lost.total()), (0, 2 * 4));
}

/// One of two addresses is dead, and the worker's turns lead to it alone.
/// A new connection for each request, and one of two addresses takes none: it is tried once a second by each worker.
#[test]
fn an_address_that_takes_nothing_is_left_out() {
    struct Half;
    impl SimServer for Half {
        fn accepts(&mut self, _: u64) -> bool {
            true
        }
        fn accepts_route(&mut self, to: Route) -> bool {
            to.address == 0
        }
        fn addresses(&self) -> usize {
            2
        }
        fn request(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
            Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
        }
    }
    let mut plan = plan(4, closed(0), 4 * S);
    plan.connections.requests_per_connection = Some(1);
    let workers = candor_record::Workers::all(2);
    let reactors = |_| SimReactor::new(Half, Link::default());
    let record = candor_engine::drive_part(&checked(&plan), workers, reactors, &Control::default());
    let failed = record.total.connections.failed.total();
    assert!((2..=12).contains(&failed), "{failed}");
    assert!(record.total.ledger.ok > 10_000, "{:?}", record.total.ledger);
}

#[test]
fn an_attempt_that_failed_is_made_again_at_the_next_address() {
    struct Every(u64);
    impl SimServer for Every {
        fn accepts(&mut self, _: u64) -> bool {
            true
        }
        fn addresses(&self) -> usize {
            2
        }
        fn accepts_route(&mut self, to: Route) -> bool {
            u64::from(to.address) == self.0
        }
        fn request(&mut self, at_ns: u64, _: u64, _: u64) -> Reaction {
            Reaction::Answer { at_ns: at_ns + MS, bytes: ok_bytes() }
        }
    }
    let plan = plan(4, closed(0), S);
    for alive in [0, 1] {
        let workers = candor_record::Workers::all(2);
        let reactors = |_| SimReactor::new(Every(alive), Link::default());
        let record =
            candor_engine::drive_part(&checked(&plan), workers, reactors, &Control::default());
        let connections = &record.total.connections;
        assert_eq!(connections.failed.total(), 2);
        assert!(record.total.ledger.ok > 3900, "{:?}", record.total.ledger);
    }
}
