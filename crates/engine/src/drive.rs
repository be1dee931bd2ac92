//! One worker, alone, on the calling thread.

use candor_pace::Share;
use candor_plan::Plan;
use candor_protocol::Session;
use candor_record::{Collector, Interval, RunFacts, RunRecord};

use crate::clients::{Protocol, Use};
use crate::reactor::Reactor;
use crate::run::Control;
use crate::worker::{Sink, Worker};

/// Runs a whole plan with one worker on `reactor`, and returns what happened. The way to test a
/// run on simulated time.
///
/// # Panics
///
/// Where the plan asks for TLS that cannot be had: a test is wrong then.
pub fn drive<R: Reactor>(plan: &Plan, reactor: R, control: &Control) -> RunRecord {
    let protocol = Protocol::of(plan).unwrap_or_else(|error| panic!("{error}"));
    protocol.with_sessions(plan, Alone { plan, reactor, control })
}

struct Alone<'a, R> {
    plan: &'a Plan,
    reactor: R,
    control: &'a Control,
}

impl<R: Reactor> Use for Alone<'_, R> {
    type Output = RunRecord;

    fn with<S: Session>(self, sessions: impl Fn() -> S) -> RunRecord {
        let Alone { plan, reactor, control } = self;
        let digits = plan.recording.digits;
        let mut sink = Direct(Collector::new(digits, plan.requests.list.len(), 1));
        let mut worker = Worker::new(plan, Share { worker: 0, workers: 1 }, reactor, sessions);
        worker.prepare(control);
        let origin_ns = worker.now_ns();
        let end = worker.run(origin_ns, control, &mut sink);
        let mut collector = sink.0;
        collector.worker_ended(0, end.health);
        collector.finish(RunFacts {
            warm_up_ns: plan.recording.warm_up_ns,
            window_end_ns: end.window_end_ns,
            connections_asked: u64::from(plan.connections.count),
            end: end.end,
        })
    }
}

/// Hands what a worker delivers to a collector on the same thread.
struct Direct(Collector);

impl Sink for Direct {
    fn deliver(&mut self, interval: Interval) -> Option<Interval> {
        let empty = self.0.deliver(0, interval);
        self.0.settle();
        empty
    }
}
