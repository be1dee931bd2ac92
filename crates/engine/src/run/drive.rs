//! Workers without threads of their own: one after the other, on the calling thread.

use candor_pace::Share;
use candor_plan::Plan;
use candor_protocol::{CaptureRoom, Protocol};
use candor_record::{Collector, Interval, Machine, RunRecord, Traced, WorkerReport, Workers};

use super::collecting_part;
use super::observer::{Observer, TraceIntake};
use crate::author::filling::Tables;
use crate::author::script::{Scripted, Scripts};
use crate::control::Control;
use crate::reactor::Reactor;
use crate::sessions::{Recipe, Spoken, Use};
use crate::worker::{Sessions, Sink, Worker};

/// Runs a whole plan with one worker on `reactor`, and returns what happened. The way to test a
/// run on simulated time.
///
/// # Panics
///
/// Where the plan asks for TLS or data that cannot be had: a test is wrong then.
pub fn drive<R: Reactor>(plan: &Plan, reactor: R, control: &Control) -> RunRecord {
    drive_observed(plan, reactor, control, &mut ())
}

/// The same with an observer.
///
/// # Panics
///
/// As [`drive`].
pub fn drive_observed<R: Reactor>(
    plan: &Plan,
    reactor: R,
    control: &Control,
    observer: &mut dyn Observer,
) -> RunRecord {
    drive_scripted(plan, reactor, control, &Scripts::default(), observer)
}

/// The same, with a script for the one worker.
///
/// # Panics
///
/// As [`drive`].
pub fn drive_scripted<R: Reactor>(
    plan: &Plan,
    reactor: R,
    control: &Control,
    scripts: &Scripts,
    observer: &mut dyn Observer,
) -> RunRecord {
    let mut reactor = Some(reactor);
    let reactors = |_| reactor.take().expect("there is one worker");
    drive_spoken(plan, Workers::all(1), reactors, control, scripts, observer)
}

/// Runs the part of a plan that `workers` have, one after the other, each on a reactor of its own.
///
/// # Panics
///
/// As [`drive`].
pub fn drive_part<R: Reactor>(
    plan: &Plan,
    workers: Workers,
    reactors: impl FnMut(u32) -> R,
    control: &Control,
) -> RunRecord {
    drive_spoken(plan, workers, reactors, control, &Scripts::default(), &mut ())
}

/// The same as [`drive_observed`] with sessions of the caller's: of a protocol that is not in the
/// registry.
pub fn drive_sessions<R: Reactor, S: Protocol>(
    plan: &Plan,
    reactor: R,
    control: &Control,
    observer: &mut dyn Observer,
    sessions: impl Fn() -> S + Clone + 'static,
) -> RunRecord {
    let mut reactor = Some(reactor);
    let reactors = |_| reactor.take().expect("there is one worker");
    let (workers, scripts) = (Workers::all(1), Scripts::default());
    drive_workers(plan, workers, reactors, control, &scripts, observer, |_, drive| {
        let sessions = sessions.clone();
        drive.with(Box::new(move |_| sessions()))
    })
}

/// With sessions of the plan's protocol.
fn drive_spoken<R: Reactor>(
    plan: &Plan,
    workers: Workers,
    reactors: impl FnMut(u32) -> R,
    control: &Control,
    scripts: &Scripts,
    observer: &mut dyn Observer,
) -> RunRecord {
    let spoken = Spoken::all(plan).unwrap_or_else(|error| panic!("{error}"));
    drive_workers(plan, workers, reactors, control, scripts, observer, |recipe, drive| {
        recipe.with(&spoken, drive)
    })
}

/// Runs the workers one after the other; `with` gives each the sessions of its own plan.
fn drive_workers<R: Reactor>(
    plan: &Plan,
    workers: Workers,
    mut reactors: impl FnMut(u32) -> R,
    control: &Control,
    scripts: &Scripts,
    observer: &mut dyn Observer,
    with: impl Fn(&Recipe<'_>, Drive<'_, R>) -> (u64, WorkerReport),
) -> RunRecord {
    let tables = Tables::open(plan, control).unwrap_or_else(|error| panic!("{error}"));
    let plan = &*tables.limited(plan).unwrap_or_else(|error| panic!("{error}"));
    let mut collector = Collector::new(collecting_part(plan, workers));
    let mut intake = TraceIntake::new(plan);
    let mut origin_monotonic_ns = 0;
    for (at, worker) in workers.indices().enumerate() {
        let share = Share { worker, workers: workers.of };
        let (reactor, script) = (reactors(worker), scripts.take(worker));
        let recipe = Recipe::new(plan, script.as_ref(), None);
        let sink = Alone {
            at,
            collector: &mut collector,
            intake: &mut intake,
            back: Vec::new(),
            observer: &mut *observer,
        };
        let (tables, room) = (&tables, recipe.room());
        let drive = Drive { plan, tables, share, reactor, script, room, control, sink };
        let (origin_ns, report) = with(&recipe, drive);
        if at == 0 {
            origin_monotonic_ns = origin_ns;
        }
        collector.worker_ended(at, report);
    }
    let trace = intake.finish(collector.trace(), observer);
    collector.finish(Machine { origin_monotonic_ns, ..Machine::default() }, trace)
}

/// A worker that waits for its sessions.
struct Drive<'a, R> {
    plan: &'a Plan,
    tables: &'a Tables,
    share: Share,
    reactor: R,
    script: Option<Scripted>,
    room: Option<CaptureRoom>,
    control: &'a Control,
    sink: Alone<'a>,
}

impl<R: Reactor> Use for Drive<'_, R> {
    /// The origin of its time, and how it ended.
    type Output = (u64, WorkerReport);

    fn with<S: Protocol>(self, sessions: Sessions<S>) -> (u64, WorkerReport) {
        let Drive { plan, tables, share, reactor, script, room, control, mut sink } = self;
        let mut worker = Worker::new(plan, tables, share, script, reactor, sessions);
        worker.share(room);
        worker.prepare(control);
        let origin_ns = worker.now_ns();
        if sink.at == 0 {
            sink.observer.begins(origin_ns);
        }
        (origin_ns, worker.run(origin_ns, control, &mut sink))
    }
}

/// The collector of a worker that has no thread of its own.
struct Alone<'a> {
    /// The worker's place among those that are collected.
    at: usize,
    collector: &'a mut Collector,
    intake: &'a mut TraceIntake,
    back: Vec<(Vec<Traced>, u64)>,
    observer: &'a mut dyn Observer,
}

impl Sink for Alone<'_> {
    fn deliver(&mut self, interval: Interval) -> Option<Interval> {
        let empty = self.collector.deliver(self.at, interval);
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
