//! The threads of a run: a worker on each, and the one that called, which collects.
//!
//! Workers make their connections, meet, agree on the origin of time, and then share nothing
//! until they end. Finished intervals come over one channel; emptied ones go back over another
//! per worker, so that no worker allocates in the steady state.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::thread;

use candor_pace::Share;
use candor_plan::Plan;
use candor_protocol::{CaptureRoom, Protocol};
use candor_record::{
    Collector, Interval, Machine, RunRecord, Traced, WorkerHealth, WorkerReport, Workers,
};

use super::observer::{Observer, TraceIntake};
use super::{Part, collecting_part};
use crate::author::filling::Tables;
use crate::author::script::{Scripted, Scripts};
use crate::control::Control;
use crate::error::EngineError;
use crate::machine::hiccup::{self, Post};
use crate::machine::{core_count, host, keep_to_cores, memory, throttle, topology, usable_cores};
use crate::reactor::{ConnectFailure, Start};
use crate::sessions::{Recipe, Use};
use crate::thread::Snapshot;
use crate::worker::{Sessions, Sink, Worker};

/// From the agreement on the origin to the origin: time for every thread to be told.
const LEAD_NS: u64 = 500_000;

/// Where the workers meet before the run.
struct Meeting {
    barrier: Barrier,
    established: AtomicU32,
    first_failure: Mutex<Option<ConnectFailure>>,
    origin_ns: AtomicU64,
    /// The kernel's ids of the workers' threads, by their places; 0 before they are known.
    threads: Box<[AtomicI32]>,
    /// It was held, and stopped before it began.
    is_off: AtomicBool,
    memory: memory::Readings,
}

#[expect(clippy::large_enum_variant, reason = "nearly all messages are the large one")]
enum Message {
    Connected(u32),
    Interval(usize, Interval),
    Traced(usize, Vec<Traced>),
    Ended(usize, Option<WorkerReport>),
}

struct Channel {
    worker: usize,
    out: Sender<Message>,
    back: Receiver<Interval>,
    blocks_back: Receiver<(Vec<Traced>, u64)>,
}

/// Ways back to a worker, for what was emptied.
struct Back {
    intervals: Sender<Interval>,
    blocks: Sender<(Vec<Traced>, u64)>,
}

impl Sink for Channel {
    fn deliver(&mut self, interval: Interval) -> Option<Interval> {
        // The collector outlives the workers; if it is gone, the process is ending.
        let _ = self.out.send(Message::Interval(self.worker, interval));
        self.back.try_recv().ok()
    }

    fn deliver_traced(&mut self, block: Vec<Traced>) {
        let _ = self.out.send(Message::Traced(self.worker, block));
    }

    fn take_back(&mut self) -> Option<(Vec<Traced>, u64)> {
        self.blocks_back.try_recv().ok()
    }
}

/// A plan, and what was opened for it.
#[derive(Clone, Copy)]
pub(super) struct Opened<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tables: &'a Tables,
    /// Whether the target runs on this machine.
    pub(super) is_local: bool,
}

/// Gives a thread its reactor and its sessions, with which it does its part of the run.
pub(super) type Begin<'a> = Box<dyn FnOnce(&Recipe<'_>, Thread<'_>) + Send + 'a>;

/// The run with a worker for each of `begins`.
pub(super) fn run_on(
    begins: Vec<Begin<'_>>,
    opened: Opened<'_>,
    part: Part,
    scripts: &Scripts,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunRecord, EngineError> {
    let Opened { plan, tables, is_local } = opened;
    let cores = usable_cores();
    // Where CPU time is limited and cores are not, others run on the same cores, and would choose the same ones.
    let pins = plan.threads.pin && core_count() == cores.len();
    let Workers { first, count: workers, of } = part.workers;
    let meeting = Meeting {
        barrier: Barrier::new(workers as usize),
        established: AtomicU32::new(0),
        first_failure: Mutex::new(None),
        origin_ns: AtomicU64::new(0),
        threads: (0..workers).map(|_| AtomicI32::new(0)).collect(),
        is_off: AtomicBool::new(false),
        memory: memory::Readings::default(),
    };
    let throttled = throttle::now();
    let (out, messages) = channel();
    let mut collector = Collector::new(collecting_part(plan, part.workers));
    if observer.takes_intervals() {
        collector.keep_whole();
    }
    let mut intake = TraceIntake::new(plan);
    let exchanges = observer.exchanges();
    let over = AtomicBool::new(false);
    // The last cores are the loader's: a target takes the first. Where the target has cores, all of these are ours.
    let dealt = pins.then(|| {
        let physical = topology::physical_cores();
        let most =
            if control.target_cores().is_some() { physical.len() } else { physical.len() / 2 };
        topology::spread(&physical, workers as usize, most)
    });
    let own_cores: Vec<Option<usize>> = match dealt.flatten() {
        Some(cores) => cores.into_iter().map(Some).collect(),
        None => vec![None; workers as usize],
    };
    let of_target = control.target_cores().or(is_local.then_some(&cores)).unwrap_or_default();
    let posts = Post::all(&own_cores, of_target);
    // They wait for each other, so none begins before all are there.
    let are_there: OnceLock<bool> = OnceLock::new();
    let (ends, hiccups) = thread::scope(|scope| {
        let start = || thread::Builder::new();
        let Meeting { threads, origin_ns, .. } = &meeting;
        let (are_there, over) = (&are_there, &over);
        let watch = |post| {
            start().spawn_scoped(scope, move || {
                let watch = || hiccup::watch(post, threads, origin_ns, over, control);
                are_there.wait().then(watch)
            })
        };
        let watches: Vec<_> = posts.iter().map(watch).collect();
        let mut missing = watches.iter().find_map(|one| Some(one.as_ref().err()?.to_string()));
        let mut backs = Vec::new();
        for (worker, begin) in begins.into_iter().enumerate() {
            let (back_to, back) = channel();
            let (blocks_back_to, blocks_back) = channel();
            backs.push(Back { intervals: back_to, blocks: blocks_back_to });
            let link = Channel { worker, out: out.clone(), back, blocks_back };
            let core = own_cores[worker];
            let share = Share { worker: first + worker as u32, workers: of };
            let meeting = &meeting;
            let exchanges = exchanges.clone();
            let started = start().spawn_scoped(scope, move || {
                if !are_there.wait() {
                    return;
                }
                let script = scripts.take(share.worker);
                let recipe = Recipe::new(plan, script.as_ref(), exchanges);
                let room = recipe.room();
                let thread = Thread {
                    plan,
                    tables,
                    script,
                    room,
                    share,
                    part,
                    link,
                    core,
                    meeting,
                    control,
                };
                begin(&recipe, thread);
            });
            missing = missing.or_else(|| started.err().map(|error| error.to_string()));
        }
        drop(out);
        let _ = are_there.set(missing.is_none());
        if let Some(reason) = missing {
            return Err(EngineError::System { what: "start a thread", reason });
        }
        let ends = collect(&messages, origin_ns, &mut collector, &backs, &mut intake, observer);
        over.store(true, Ordering::Relaxed);
        let seen = watches.into_iter().filter_map(|watch| watch.ok()?.join().ok().flatten());
        let hiccups = seen.reduce(|mut all, one| {
            all.merge(&one);
            all
        });
        Ok((ends, hiccups))
    })?;
    if ends.is_none() {
        let example = meeting.first_failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        return Err(no_connection(plan, example));
    }
    let trace = intake.finish(collector.trace(), observer);
    let connections = collector.settings().connections_asked;
    let machine = Machine {
        host: host(),
        origin_monotonic_ns: meeting.origin_ns.into_inner(),
        hiccups,
        memory: meeting.memory.finish(connections),
        throttled: throttle::between(throttled, throttle::now()),
        ..Machine::default()
    };
    Ok(collector.finish(machine, trace))
}

fn no_connection(plan: &Plan, first: Option<ConnectFailure>) -> EngineError {
    let (url, asked) = (plan.secrets.url(&plan.target.url), plan.connections_in_all().0);
    EngineError::NoConnection { first, to: plan.connects_to(), url, asked }
}

/// One worker's thread, from its connections to its end.
pub(super) struct Thread<'a> {
    plan: &'a Plan,
    tables: &'a Tables,
    script: Option<Scripted>,
    room: Option<CaptureRoom>,
    share: Share,
    part: Part,
    link: Channel,
    core: Option<usize>,
    meeting: &'a Meeting,
    control: &'a Control,
}

impl<'a> Thread<'a> {
    pub(super) fn on<U: Start>(self, reactor: U) -> OnReactor<'a, U> {
        OnReactor { thread: self, reactor }
    }
}

/// A thread that waits for its sessions.
pub(super) struct OnReactor<'a, U> {
    thread: Thread<'a>,
    reactor: U,
}

impl<U: Start> Use for OnReactor<'_, U> {
    type Output = ();

    fn with<S: Protocol>(self, sessions: Sessions<S>) {
        let OnReactor { thread, reactor } = self;
        let Thread { plan, tables, script, room, share, part, .. } = thread;
        let Thread { mut link, core, meeting, control, .. } = thread;
        let core = core.filter(|&core| keep_to_cores(&[core]));
        if plan.targets().any(|one| one.tls.is_some()) {
            candor_protocol::tls::gather_entropy();
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        meeting.threads[link.worker].store(thread, Ordering::Relaxed);
        let mut worker = Worker::new(plan, tables, share, script, reactor.start(), sessions);
        worker.share(room);
        meeting.memory.add_tables(worker.connection_table_bytes());
        if meeting.barrier.wait().is_leader() {
            meeting.memory.made();
        }
        let prepared = worker.prepare(control);
        meeting.established.fetch_add(prepared.established, Ordering::Relaxed);
        if let Some(failure) = prepared.first_failure {
            let mut first = meeting.first_failure.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(failure);
        }
        let is_leader = meeting.barrier.wait().is_leader();
        if is_leader {
            meeting.memory.connected();
            control.will_send(part.workers.count);
        }
        let (index, out) = (link.worker, link.out.clone());
        let mut end = None;
        // Where connecting belongs to the run, that it fails does too.
        if meeting.established.load(Ordering::Relaxed) > 0
            || plan.connections.once
            || plan.connections.own
        {
            // All reactors read the same clock: the latest of their proposals is the origin.
            if is_leader {
                if control.is_held() {
                    let established = meeting.established.load(Ordering::Relaxed);
                    let _ = link.out.send(Message::Connected(established));
                }
                match control.wait_to_begin() {
                    Some(begins_ns) => {
                        meeting.origin_ns.fetch_max(begins_ns, Ordering::Relaxed);
                    }
                    None => meeting.is_off.store(true, Ordering::Relaxed),
                }
            }
            let proposal_ns = (worker.now_ns() + LEAD_NS).max(part.begins_at_ns);
            meeting.origin_ns.fetch_max(proposal_ns, Ordering::Relaxed);
            meeting.barrier.wait();
            if meeting.is_off.load(Ordering::Relaxed) {
                let _ = link.out.send(Message::Ended(link.worker, None));
                return;
            }
            let origin_ns = meeting.origin_ns.load(Ordering::Relaxed);
            control.begins(origin_ns);
            let before = Snapshot::take();
            let mut ended = worker.run(origin_ns, control, &mut link);
            ended.health = WorkerHealth {
                spun_ns: worker.spun_ns(),
                batches: worker.batches(),
                ..before.until(Snapshot::take(), core, worker.waits())
            };
            end = Some(ended);
        }
        let _ = out.send(Message::Ended(index, end));
    }
}

/// Gives the collector what the workers deliver until all have ended; `None` if they never began.
fn collect(
    messages: &Receiver<Message>,
    origin_ns: &AtomicU64,
    collector: &mut Collector,
    backs: &[Back],
    intake: &mut TraceIntake,
    observer: &mut dyn Observer,
) -> Option<()> {
    let mut has_begun = false;
    for message in messages {
        // Workers agree on the origin before any of them delivers anything of a run.
        let origin_ns = origin_ns.load(Ordering::Relaxed);
        let is_of_run = !matches!(message, Message::Connected(_));
        if is_of_run && origin_ns > 0 && !std::mem::replace(&mut has_begun, true) {
            observer.begins(origin_ns);
        }
        match message {
            Message::Connected(established) => observer.connected(established),
            Message::Interval(worker, interval) => {
                if let Some(empty) = collector.deliver(worker, interval) {
                    // A worker that has ended needs no memory back.
                    let _ = backs[worker].intervals.send(empty);
                }
            }
            Message::Traced(worker, block) => {
                let bound = intake.take(&block, observer);
                let _ = backs[worker].blocks.send((block, bound));
            }
            Message::Ended(worker, report) => collector.worker_ended(worker, report?),
        }
        collector.settle_with(&mut |stretch| observer.stretch(stretch));
        if observer.takes_intervals() {
            collector.take_whole().into_iter().for_each(|interval| observer.finished(interval));
        }
    }
    Some(())
}
