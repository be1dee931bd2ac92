//! Runs on simulated time with every request traced, and the trace held against the record.

use candor_engine::reactor::Reactor;
use candor_engine::{Control, Observer, drive_observed, drive_sessions};
use candor_plan::{Parts, Trace};
use candor_protocol::Protocol;
use candor_record::{ErrorKind, Ledger, Outcome, Phase, RunRecord, Traced, contradiction};

/// Keeps what is traced.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Vec<Traced>);

impl Observer for Kept {
    fn traced(&mut self, requests: &[Traced]) {
        self.0.extend_from_slice(requests);
    }
}

/// Drives `plan` with a full trace, and checks that trace and record say the same.
pub(crate) fn drive_traced(plan: &Parts, reactor: impl Reactor) -> (RunRecord, Vec<Traced>) {
    let mut plan = plan.clone();
    plan.recording.trace = Some(Trace::All);
    let mut kept = Kept::default();
    let record = drive_observed(&super::checked(&plan), reactor, &Control::default(), &mut kept);
    check(&record, &kept.0);
    (record, kept.0)
}

/// The same with sessions of the caller's.
pub(crate) fn drive_sessions_traced<S: Protocol>(
    plan: &Parts,
    reactor: impl Reactor,
    sessions: impl Fn() -> S + Clone + 'static,
) -> (RunRecord, Vec<Traced>) {
    let mut plan = plan.clone();
    plan.recording.trace = Some(Trace::All);
    let (mut kept, control) = (Kept::default(), Control::default());
    let plan = super::checked(&plan);
    let record = drive_sessions(&plan, reactor, &control, &mut kept, sessions);
    check(&record, &kept.0);
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    (record, kept.0)
}

/// A full trace is the ledger, request by request, and its times add up to the histograms'.
pub(crate) fn check(record: &RunRecord, trace: &[Traced]) {
    let scheduled = record.total.ledger.scheduled + record.total.warm_up.scheduled;
    assert_eq!(record.trace.dropped, 0);
    assert_eq!(record.trace.traced + record.trace.not_traced, scheduled);
    assert_eq!(record.trace.traced, trace.len() as u64);
    check_ledger(&record.total.ledger, Phase::Measured, trace);
    check_ledger(&record.total.warm_up, Phase::WarmUp, trace);
    // So is every row, and at the end nothing is in flight.
    assert_eq!(contradiction(&record.intervals, record.total.warm_up.sent), None);
    assert_eq!(record.intervals.last().map_or(0, |row| row.in_flight), 0);

    let ok = |one: &&Traced| one.phase == Phase::Measured && one.outcome == Outcome::Ok;
    let sum = |part: fn(&Traced) -> u64| -> u128 {
        trace.iter().filter(ok).map(|one| u128::from(part(one))).sum()
    };
    let latencies = &record.total.latencies;
    assert_eq!(latencies.response.sum_ns(), sum(|one| one.done_ns - one.due_ns));
    assert_eq!(latencies.queue_wait.sum_ns(), sum(|one| one.ready_ns - one.due_ns));
    assert_eq!(latencies.send_lag.sum_ns(), sum(|one| one.sent_ns - one.ready_ns));
    assert_eq!(latencies.service.sum_ns(), sum(|one| one.done_ns - one.sent_ns));
    assert_eq!(latencies.first_byte.sum_ns(), sum(|one| one.first_byte_ns - one.sent_ns));

    for one in trace.iter().filter(|one| one.was_sent()) {
        assert!(one.due_ns <= one.ready_ns && one.ready_ns <= one.sent_ns, "{one:?}");
        assert!(one.sent_ns <= one.done_ns && one.first_byte_ns <= one.done_ns, "{one:?}");
    }
    let mut indices: Vec<u64> = trace.iter().map(|one| one.index).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices.len(), trace.len(), "no index is there twice");
}

fn check_ledger(ledger: &Ledger, phase: Phase, trace: &[Traced]) {
    let count = |outcome: Outcome| {
        trace.iter().filter(|one| one.phase == phase && one.outcome == outcome).count() as u64
    };
    assert_eq!(ledger.ok, count(Outcome::Ok));
    assert_eq!(ledger.shed, count(Outcome::Shed));
    assert_eq!(ledger.unsent, count(Outcome::Unsent));
    assert_eq!(ledger.unfinished, count(Outcome::Unfinished));
    assert_eq!(ledger.broken_off, count(Outcome::BrokenOff));
    for kind in ErrorKind::ALL {
        assert_eq!(ledger.error(kind), count(Outcome::Failed(kind)), "{kind:?}");
    }
}
