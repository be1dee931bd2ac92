//! One worker, alone, on the calling thread.

use std::borrow::Cow;

use candor_pace::Share;
use candor_plan::{Parts, Plan, Requests};
use candor_protocol::Session;
use candor_record::{Collector, Interval, RunFacts, RunRecord, Traced};

use crate::clients::{Protocol, Use};
use crate::control::Control;
use crate::observer::{Observer, TraceIntake};
use crate::reactor::Reactor;
use crate::script::{Scripted, Scripts};
use crate::worker::{Sink, Worker};

/// Runs a whole plan with one worker on `reactor`, and returns what happened. The way to test a
/// run on simulated time.
///
/// # Panics
///
/// Where the plan asks for TLS that cannot be had: a test is wrong then.
pub fn drive<R: Reactor>(plan: &Plan, reactor: R, control: &Control) -> RunRecord {
    drive_observed(plan, reactor, control, &mut ())
}

/// The same, with somebody who looks on.
///
/// # Panics
///
/// As [`drive`].
pub fn drive_observed<R: Reactor>(
    plan: &Plan,
    reactor: R,
    control: &Control,
    observer: &mut (impl Observer + ?Sized),
) -> RunRecord {
    drive_scripted(plan, reactor, control, &Scripts::default(), observer)
}

/// The same, with a script for the one worker.
pub fn drive_scripted<R: Reactor>(
    plan: &Plan,
    reactor: R,
    control: &Control,
    scripts: &Scripts,
    observer: &mut (impl Observer + ?Sized),
) -> RunRecord {
    let protocol = Protocol::of(plan).unwrap_or_else(|error| panic!("{error}"));
    let script = scripts.take(0);
    let own = own_plan(plan, script.as_ref());
    protocol.with_sessions(&own, Drive { plan, reactor, script, control, observer })
}

/// A run that waits for its sessions.
struct Drive<'a, R, O: ?Sized> {
    plan: &'a Plan,
    reactor: R,
    script: Option<Scripted>,
    control: &'a Control,
    observer: &'a mut O,
}

impl<R: Reactor, O: Observer + ?Sized> Use for Drive<'_, R, O> {
    type Output = RunRecord;

    fn with<S: Session>(self, sessions: impl Fn() -> S) -> RunRecord {
        let Drive { plan, reactor, script, control, observer } = self;
        let collector = Collector::new(plan.recording.digits, plan.requests.list.len(), 1);
        let intake = TraceIntake::new(plan);
        let mut sink = Alone { collector, intake, back: Vec::new(), observer };
        let mut worker = Worker::new(plan, Share { worker: 0, workers: 1 }, reactor, sessions);
        worker.follow(script);
        worker.prepare(control);
        let origin_ns = worker.now_ns();
        sink.observer.begins(origin_ns);
        let end = worker.run(origin_ns, control, &mut sink);
        let Alone { mut collector, intake, observer, .. } = sink;
        collector.worker_ended(0, end.health);
        let record = collector.finish(RunFacts {
            origin_monotonic_ns: origin_ns,
            warm_up_ns: plan.recording.warm_up_ns,
            window_end_ns: end.window_end_ns,
            connections_asked: u64::from(plan.connections.count),
            end: end.end,
            trace: intake.finish(end.trace, observer),
            kernel: end.kernel,
        });
        RunRecord { connection_answers: end.answers, held_up: end.held_up, ..record }
    }
}

/// The collector of a worker that has no thread of its own.
struct Alone<'a, O: ?Sized> {
    collector: Collector,
    intake: TraceIntake,
    back: Vec<(Vec<Traced>, u64)>,
    observer: &'a mut O,
}

impl<O: Observer + ?Sized> Sink for Alone<'_, O> {
    fn deliver(&mut self, interval: Interval) -> Option<Interval> {
        let empty = self.collector.deliver(0, interval);
        let observer = &mut self.observer;
        self.collector.settle_with(&mut |stretch| observer.stretch(stretch));
        empty
    }

    fn deliver_traced(&mut self, block: Vec<Traced>) {
        let bound = self.intake.take(&block, self.observer);
        self.back.push((block, bound));
    }

    fn take_back(&mut self) -> Option<(Vec<Traced>, u64)> {
        self.back.pop()
    }
}

/// The plan as one worker's sessions need it: with the request of its script, if that has one.
pub(crate) fn own_plan<'a>(plan: &'a Plan, script: Option<&Scripted>) -> Cow<'a, Parts> {
    match script.and_then(Scripted::request) {
        None => Cow::Borrowed(plan),
        Some(request) => {
            let requests = Requests { list: vec![request.clone()], ..plan.requests.clone() };
            Cow::Owned(Parts { requests, ..Parts::clone(plan) })
        }
    }
}
