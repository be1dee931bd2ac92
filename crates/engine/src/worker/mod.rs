//! A worker: one thread's loop, in which pacing, protocol, sockets and recording meet.
//!
//! It is composed of organs, none of which knows a reactor: the [`Pool`] has the connections and their free places,
//! [`Timers`] what is to be done when, [`Dispatch`] says which request is next and where, the [`Author`] writes it and
//! hears what became of it, a [`Session`](candor_protocol::Session) per connection turns requests into
//! bytes and bytes into responses, and the [`Books`] keep what happened. A [`Reactor`] moves bytes and
//! tells the time. This
//! module has the loop; [`connect`] makes and loses connections, [`send`] sends, [`intake`] receives,
//! [`events`] has what each event of a session means, [`expire`] what is done when a time has come,
//! [`acks`] tries out what a delay waits for, [`refresh`] leaves addresses that are gone,
//! [`turn`] sees to it that each connection and the clock get their share, [`waiting`] waits,
//! [`ending`] has the stop rule, [`trace`] gives away what is traced.
//!
//! Nothing here allocates, locks, formats or logs while a run goes well.

mod acks;
mod batch;
mod connect;
mod connect_pace;
mod connection;
mod dispatch;
mod ending;
mod events;
mod expire;
mod intake;
pub(crate) mod kernel;
mod pacing;
mod pool;
mod refresh;
mod routes;
mod scripted;
mod send;
#[cfg(test)]
mod testing;
mod timers;
pub(crate) mod trace;
mod turn;
mod waiting;

use candor_pace::Share;
use candor_plan::Plan;
use candor_protocol::{CaptureRoom, Protocol};
use candor_record::{HeldUp, Interval, Recorder, RecorderSettings, Traced, WorkerReport};

use self::acks::Acks;
use self::batch::Batch;
use self::dispatch::Dispatch;
use self::ending::Patience;
use self::kernel::KernelBooks;
use self::pacing::Pacer;
use self::pool::Pool;
use self::timers::Timers;
use self::turn::Turn;
use self::waiting::LONGEST_WAIT_NS;
use crate::author::Author;
use crate::author::filling::Tables;
use crate::author::script::Scripted;
use crate::books::Books;
use crate::books::addresses::Addresses;
use crate::control::Control;
use crate::load::share::WorkerPlan;
use crate::machine::hiccup::KNOWN_AFTER_NS;
use crate::reactor::{ConnectFailure, Reactor};

/// Attempts to connect that one worker has going on at once before the run, so that a listener's
/// backlog is not overrun.
const CONNECTING_AT_ONCE: usize = 128;

/// Makes the sessions of one worker: one for a connection to the target with this number.
pub(crate) type Sessions<S> = Box<dyn Fn(u16) -> S>;

/// Takes what a worker delivers while it runs.
pub(crate) trait Sink {
    /// Takes a finished interval; may give memory back for another.
    fn deliver(&mut self, interval: Interval) -> Option<Interval>;

    /// Takes a block of the trace.
    fn deliver_traced(&mut self, block: Vec<Traced>);

    /// A block to fill again, if one has come back, and the bound of the rank from now on.
    fn take_back(&mut self) -> Option<(Vec<Traced>, u64)>;
}

/// How the connections made before the run came out.
#[derive(Debug, Clone, Default)]
pub(crate) struct BeforeRun {
    /// Established, if only for a moment.
    pub(crate) established: u32,
    /// The first failure.
    pub(crate) first_failure: Option<ConnectFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Connections are being made; time has not begun.
    Preparing,
    /// Requests are sent.
    Running,
    /// No request is sent any more; responses are awaited until `drained_ns`.
    Draining,
}

/// One thread's part of a run.
pub(crate) struct Worker<R, S> {
    reactor: R,
    make_session: Sessions<S>,
    own: WorkerPlan,
    dispatch: Dispatch,
    books: Books,
    /// Unused, and nearly without memory, unless the reactor has stamps.
    kernel: KernelBooks,
    pool: Pool<S>,
    timers: Timers,
    acks: Acks,
    /// Connections may go to addresses that are gone.
    has_astray: bool,
    /// From the origin of the sessions' time to that of the worker's.
    shift_ns: u64,
    /// Nothing is sent at this time or later.
    send_until_ns: u64,
    /// For responses, in a run that ends by a count.
    patience: Patience,
    pacer: Pacer,
    /// Of turns that do not sleep.
    held_up: HeldUp,
    stage: Stage,
    /// When responses are awaited no more.
    drained_ns: u64,
    /// Until then anything is awaited.
    lingers_ns: u64,
    dispatching: bool,
    /// Whether dispatching was cut short: do not sleep.
    has_more: bool,
    first_failure: Option<ConnectFailure>,
    waits: u64,
    turn: Turn,
    /// What is queued, on a reactor that does so.
    batch: Batch,
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Worker `share` of a run of `plan`, with the script of its thread.
    pub(crate) fn new(
        plan: &Plan,
        tables: &Tables,
        share: Share,
        script: Option<Scripted>,
        reactor: R,
        make_session: Sessions<S>,
    ) -> Self {
        let own = WorkerPlan::new(plan, share);
        let author = Author::new(plan, &own, tables, script);
        let settings = RecorderSettings {
            digits: plan.recording.digits,
            interval_ns: plan.recording.interval_ns,
            warm_up_ns: own.warm_up_ns,
            window_end_ns: own.stop_ns,
            drain_ns: own.drain_ns,
            requests: plan.work.requests().len(),
            journeys: plan.work.journeys().len(),
        };
        let has_stamps = reactor.has_stamps() || reactor.dozes();
        let mut pool = Pool::new(&own, plan.connections.places());
        pool.know_addresses(
            |target| reactor.addresses(target),
            |target, address| reactor.is_gone(target, address),
        );
        let books = Books::new(
            Recorder::before_run(settings),
            trace::tracer(plan, share),
            Addresses::of(plan, &reactor, own.max_connections),
            plan.work.requests(),
            plan.recording.goodput,
        );
        let mut worker = Worker {
            reactor,
            make_session,
            dispatch: Dispatch::new(plan, &own, author),
            books,
            kernel: KernelBooks::new(if has_stamps { plan.recording.digits } else { 1 }),
            pool,
            timers: Timers::new(own.max_connections),
            acks: Acks::new(plan.connections.pipeline > 1),
            has_astray: false,
            shift_ns: 0,
            send_until_ns: u64::MAX,
            patience: Patience::default(),
            pacer: Pacer::new(plan.threads.pacing),
            held_up: HeldUp::default(),
            stage: Stage::Preparing,
            drained_ns: u64::MAX,
            lingers_ns: 0,
            dispatching: false,
            has_more: false,
            first_failure: None,
            waits: 0,
            turn: Turn::default(),
            batch: Batch::default(),
            own,
        };
        worker.limit_rows(tables);
        worker
    }

    /// Shares the room in which its sessions keep what its author reads, and decode bodies.
    pub(crate) fn share(&mut self, room: Option<CaptureRoom>) {
        let Some(room) = room else { return };
        if let Some(users) = self.dispatch.author.users() {
            users.share(&room);
        }
        if room.decodes() {
            self.books.count_decoded(room);
        }
    }

    /// Memory that was taken for connections before there are any.
    pub(crate) fn connection_table_bytes(&self) -> u64 {
        self.pool.table_bytes()
    }

    /// Makes the connections. Returns when each was established or has failed once.
    pub(crate) fn prepare(&mut self, control: &Control) -> BeforeRun {
        loop {
            let now_ns = self.reactor.now_ns();
            while self.pool.connecting() < CONNECTING_AT_ONCE
                && let Some(key) = self.pool.next_to_open(now_ns)
            {
                self.open(key);
            }
            let is_done = self.pool.connecting() == 0 && !self.pool.has_to_open();
            if is_done || control.is_stopping() {
                break;
            }
            self.expire_timers(now_ns);
            let mut until_ns = self.timers.next_ns().min(now_ns + LONGEST_WAIT_NS);
            if self.pool.connecting() < CONNECTING_AT_ONCE {
                until_ns = until_ns.min(self.pool.opens_ns().unwrap_or(u64::MAX));
            }
            self.wait_and_handle(until_ns);
        }
        let established = self.pool.ever_established();
        BeforeRun { established, first_failure: self.first_failure.take() }
    }

    /// The reactor's present time, for agreeing on an origin.
    pub(crate) fn now_ns(&mut self) -> u64 {
        self.reactor.now_ns()
    }

    /// Runs to the end. Time begins at `origin_ns`, counted by the reactor's present origin.
    pub(crate) fn run(
        &mut self,
        origin_ns: u64,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> WorkerReport {
        let wake_ns = if self.pacer.never_sleeps() { 0 } else { origin_ns };
        while self.reactor.now_ns() < origin_ns {
            self.wait_and_handle(wake_ns);
        }
        self.begin(origin_ns);
        let mut window_end = None;
        let mut woke_ns = None;
        loop {
            let now_ns = woke_ns.take().unwrap_or_else(|| self.reactor.now_ns());
            self.watch_turn(now_ns);
            self.send_until_ns = control.sends_until_ns().saturating_sub(self.shift_ns);
            // First, because a request that was due and could leave before the end is not unsent
            // only because this worker wakes late.
            self.dispatch(now_ns);
            if let Some(why) = self.should_stop(now_ns, control) {
                window_end = Some(self.end_window(now_ns, why));
                control.has_sent();
            }
            if let Some(end) = &window_end
                && self.is_drained(now_ns, control)
            {
                let mut end = end.clone();
                if let Some(open) = self.dispatch.open() {
                    end.gaps = open.take_gaps();
                }
                end.held_up = self.held_up.take();
                self.wind_up(end.window_end_ns, control, sink);
                if let Some(addresses) = &mut self.books.addresses {
                    end.addresses = addresses.take(end.window_end_ns);
                }
                end.trace = self.end_trace(sink);
                let has_stamps = self.reactor.has_stamps() || self.reactor.dozes();
                end.kernel = has_stamps.then(|| self.kernel.finish(self.reactor.stamp_facts()));
                return end;
            }
            if self.expire(now_ns) {
                self.dispatch(now_ns);
            }
            self.close_interval(now_ns, control, sink);
            woke_ns = self.pause(now_ns);
        }
    }

    /// Time begins. What became free or failed before did so at the beginning.
    fn begin(&mut self, origin_ns: u64) {
        self.reactor.set_origin_ns(origin_ns);
        self.shift_ns = origin_ns;
        self.books.recorder.begin_run();
        if let Some(addresses) = &mut self.books.addresses {
            addresses.begin_run();
        }
        self.stage = Stage::Running;
        self.watch_beginning();
        self.timers.set_origin(origin_ns);
        self.pool.begin_run(origin_ns, !self.dispatch.is_closed());
        self.watch_ages();
        self.watch_acks();
        self.watch_names();
        self.delay_first_places();
    }

    fn close_interval(&mut self, now_ns: u64, control: &Control, sink: &mut dyn Sink) {
        if self.stage == Stage::Running {
            let backlog = self.dispatch.backlog(now_ns);
            self.books.recorder.set_backlog(backlog);
        }
        let recorder = &mut self.books.recorder;
        recorder.advance(now_ns);
        let judges = recorder.has_finished() || recorder.has_many_slow();
        let delivers = judges || self.has_full_trace();
        let waited = delivers.then(|| self.reactor.times_waited());
        if judges {
            let known_ns = now_ns.saturating_sub(KNOWN_AFTER_NS);
            self.books.recorder.judge(&control.pauses(), known_ns);
        }
        let mut any = false;
        while let Some(interval) = self.books.recorder.take_finished() {
            any = true;
            control.sent_more(interval.ledger.sent + interval.warm_up.sent);
            if let Some(empty) = sink.deliver(interval) {
                self.books.recorder.recycle(empty);
            }
        }
        self.deliver_trace(any, sink);
        if waited.is_some_and(|waited| waited != self.reactor.times_waited()) {
            // The channel has locks, and a wait for one is no fault of the machine.
            self.held_up.leave_out();
        }
    }
}
