//! Ends of runs, on simulated time: whatever ends a run, its ledger has what was due by then.

mod common;

use candor_engine::{Control, Observer, drive, drive_observed};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, HttpVersion, Load, Parts};
use candor_record::{EndReason, ErrorKind, IntervalSummary, RunRecord};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};
use common::*;
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
