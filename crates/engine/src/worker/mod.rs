//! A worker: one thread's loop, in which pacing, protocol, sockets and recording meet.
//!
//! It is composed of four values that know nothing of each other: a [`Source`] says which request
//! is next, a [`Session`] per connection turns requests into bytes and bytes into answers, a
//! [`Reactor`] moves bytes and tells the time, and the [`Books`] keep what happened. This module
//! has the loop; [`connect`] makes and loses connections, [`dispatch`] sends, [`intake`] receives,
//! [`events`] has what each event of a session means, [`timeouts`] when a session is called without
//! input, [`turn`] sees to it that each connection and the clock get their share, [`waiting`] waits, [`ending`] has the stop rule, [`trace`] gives away what is traced.
//!
//! Nothing here allocates, locks, formats or logs while a run goes well.

mod connect;
mod dispatch;
mod ending;
mod events;
mod intake;
pub(crate) mod kernel;
mod scripted;
mod timeouts;
pub(crate) mod trace;
mod turn;
mod waiting;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use candor_pace::{Picker, Share};
use candor_plan::Plan;
use candor_protocol::Session;
use candor_record::{EndReason, HeldUp, Interval, Recorder, Settings, Traced, WorkerReport};

use self::kernel::KernelBooks;
use self::timeouts::Timeouts;
use self::turn::Turn;
use self::waiting::LONGEST_WAIT_NS;
use crate::books::Books;
use crate::chain::{Chain, Links};
use crate::connection::{Connection, Slot};
use crate::control::Control;
use crate::pacing::Pacer;
use crate::plan_share::WorkerPlan;
use crate::reactor::{ConnectFailure, Key, Reactor};
use crate::script::Scripted;
use crate::source::Source;
use crate::storm::ConnectPace;

/// Attempts to connect that one worker has going on at once before the run, so that a listener's
/// backlog is not overrun.
const CONNECTING_AT_ONCE: usize = 128;

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
pub(crate) struct Prepared {
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
    /// No request is sent any more; answers are awaited until this time.
    Draining { until_ns: u64 },
}

/// One thread's part of a run.
pub(crate) struct Worker<R, S, M> {
    reactor: R,
    make_session: M,
    own: WorkerPlan,
    source: Source,
    picker: Picker,
    books: Books,
    /// Unused, and nearly without memory, unless the reactor has stamps.
    kernel: KernelBooks,
    connections: Vec<Connection<S>>,
    /// Free places for a request, the longest free first.
    free: VecDeque<Slot>,
    /// As many as all connections have.
    most_free: usize,
    /// Places whose user is thinking until `since_ns`.
    thinking: VecDeque<Slot>,
    /// Connections with answers awaited, the longest silent first.
    awaiting: Chain,
    awaiting_links: Links,
    /// Connections being made, the oldest attempt first.
    connecting: Chain,
    connecting_links: Links,
    connecting_count: usize,
    connect_pace: ConnectPace,
    /// Established connections by their age, if that is bounded; those that are gone too.
    aging: VecDeque<(u64, Key, u32)>,
    /// Sessions that are called without input.
    timeouts: Timeouts,
    /// From the origin of the sessions' time to that of the worker's.
    shift_ns: u64,
    /// When to try which connection again.
    retries: BinaryHeap<Reverse<(u64, Key)>>,
    /// Keys above the number of connections kept open, that are not in use.
    spare_keys: Vec<Key>,
    established: u32,
    /// When a request could be sent last.
    able_ns: u64,
    next_turn: u64,
    pacer: Pacer,
    /// Of turns that do not sleep.
    held_up: HeldUp,
    stage: Stage,
    dispatching: bool,
    /// Whether dispatching was cut short: do not sleep.
    has_more: bool,
    ever_established: u32,
    first_failure: Option<ConnectFailure>,
    waits: u64,
    turn: Turn,
    /// Makes requests or reads answers; plain runs have none.
    script: Option<Box<Scripted>>,
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Worker `share` of a run of `plan`.
    pub(crate) fn new(plan: &Plan, share: Share, reactor: R, make_session: M) -> Self {
        let own = WorkerPlan::new(plan, share);
        let settings = Settings {
            digits: plan.recording.digits,
            interval_ns: plan.recording.interval_ns,
            warm_up_ns: own.warm_up_ns,
            window_end_ns: own.stop_ns,
            drain_ns: own.drain_ns,
            requests: plan.requests.list.len(),
        };
        let names: Arc<[String]> =
            plan.requests.list.iter().map(|request| request.name.clone()).collect();
        let keys = own.max_connections as usize;
        let links = || {
            let mut links = Links::default();
            links.grow(keys);
            links
        };
        Worker {
            reactor,
            make_session,
            source: Source::new(plan, &own),
            picker: Picker::new(&plan.requests, plan.seed),
            books: Books::new(Recorder::before_run(settings), trace::tracer(plan, share), names),
            kernel: KernelBooks::new(if R::STAMPS { plan.recording.digits } else { 1 }),
            connections: (0..keys).map(|_| Connection::default()).collect(),
            free: VecDeque::with_capacity(keys * plan.connections.places() as usize),
            most_free: keys * plan.connections.places() as usize,
            thinking: VecDeque::new(),
            awaiting: Chain::default(),
            awaiting_links: links(),
            connecting: Chain::default(),
            connecting_links: links(),
            connecting_count: 0,
            connect_pace: ConnectPace::new(own.connect_gap_ns),
            aging: VecDeque::new(),
            timeouts: Timeouts::default(),
            shift_ns: 0,
            retries: BinaryHeap::new(),
            spare_keys: (own.connections..own.max_connections).rev().collect(),
            established: 0,
            able_ns: 0,
            next_turn: u64::from(share.worker),
            pacer: Pacer::new(plan.threads.pacing),
            held_up: HeldUp::default(),
            stage: Stage::Preparing,
            dispatching: false,
            has_more: false,
            ever_established: 0,
            first_failure: None,
            waits: 0,
            turn: Turn::default(),
            script: None,
            own,
        }
    }

    /// Memory that was taken for connections before there are any.
    pub(crate) fn connection_table_bytes(&self) -> u64 {
        (self.connections.len() * size_of::<Connection<S>>()) as u64
    }

    /// Makes the connections. Returns when each was established or has failed once.
    pub(crate) fn prepare(&mut self, control: &Control) -> Prepared {
        let mut next = 0;
        loop {
            let now_ns = self.reactor.now_ns();
            while self.connecting_count < CONNECTING_AT_ONCE
                && next < self.own.connections_before
                && self.connect_pace.take(now_ns)
            {
                self.open(next);
                next += 1;
            }
            let is_done = self.connecting_count == 0 && next == self.own.connections_before;
            if is_done || control.is_stopping() {
                break;
            }
            self.expire_connects(now_ns);
            let mut until_ns = now_ns + LONGEST_WAIT_NS;
            if next < self.own.connections_before && self.connecting_count < CONNECTING_AT_ONCE {
                until_ns = until_ns.min(self.connect_pace.next_ns());
            }
            self.wait_and_handle(until_ns);
        }
        Prepared { established: self.ever_established, first_failure: self.first_failure.take() }
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
        sink: &mut impl Sink,
    ) -> WorkerReport {
        let wake_ns = if self.pacer.never_sleeps() { 0 } else { origin_ns };
        while self.reactor.now_ns() < origin_ns {
            self.wait_and_handle(wake_ns);
        }
        self.reactor.set_origin_ns(origin_ns);
        self.shift_ns = origin_ns;
        self.connect_pace.set_origin(origin_ns);
        self.books.recorder.begin_run();
        self.stage = Stage::Running;
        self.watch_beginning();
        // What became free or failed before the beginning did so at the beginning.
        self.spread_slots();
        let failed: Vec<_> = self.retries.drain().map(|Reverse((_, key))| key).collect();
        let later = self.own.connections_before..self.own.connections;
        self.retries.extend(failed.into_iter().chain(later).map(|key| Reverse((0, key))));
        self.aging.iter_mut().for_each(|(since_ns, ..)| *since_ns = 0);
        let mut window_end = None;
        let mut woke_ns = None;
        loop {
            let now_ns = woke_ns.take().unwrap_or_else(|| self.reactor.now_ns());
            self.watch_turn(now_ns);
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
                if let Source::Open(open) = &mut self.source {
                    end.gaps = open.take_gaps();
                }
                end.held_up = self.held_up.take();
                if !self.wind_up(end.window_end_ns, control, sink) {
                    end.end = EndReason::Interrupted;
                }
                end.trace = self.end_trace(sink);
                end.kernel = R::STAMPS.then(|| self.kernel.finish(self.reactor.stamp_facts()));
                return end;
            }
            if self.expire(now_ns) {
                self.dispatch(now_ns);
            }
            self.close_interval(now_ns, sink);
            woke_ns = self.pause(now_ns);
        }
    }

    /// All free places are free since the beginning. In an open load one of each connection
    /// comes first, then the second of each, so that requests spread before they pipeline.
    fn spread_slots(&mut self) {
        let mut ranked: Vec<(u32, Slot)> = Vec::with_capacity(self.free.len());
        for slot in self.free.drain(..) {
            let rank = match ranked.last() {
                Some((rank, before)) if before.key == slot.key => rank + 1,
                _ => 0,
            };
            ranked.push((rank, Slot { since_ns: 0, ..slot }));
        }
        if matches!(self.source, Source::Open(_)) {
            ranked.sort_by_key(|(rank, _)| *rank);
        }
        self.free.extend(ranked.into_iter().map(|(_, slot)| slot));
        self.delay_first_slots();
    }

    fn backlog(&mut self, now_ns: u64) -> u64 {
        match &mut self.source {
            Source::Closed(_) => 0,
            Source::Open(open) => open.backlog(now_ns),
        }
    }

    /// Everything whose time has come. Returns whether places became free by it.
    fn expire(&mut self, now_ns: u64) -> bool {
        self.expire_connects(now_ns);
        self.expire_connections(now_ns);
        if self.timeouts.next_ns() <= self.session_ns(now_ns) {
            self.expire_sessions(now_ns);
        }
        let mut freed = self.expire_requests(now_ns);
        if self.stage == Stage::Running {
            self.retry_connects(now_ns);
            while let Some(slot) = self.thinking.front().filter(|slot| slot.since_ns <= now_ns) {
                self.free.push_back(*slot);
                self.thinking.pop_front();
                freed = true;
            }
        }
        freed
    }

    fn close_interval(&mut self, now_ns: u64, sink: &mut impl Sink) {
        if self.stage == Stage::Running {
            let backlog = self.backlog(now_ns);
            self.books.recorder.set_backlog(backlog);
        }
        self.books.recorder.set_in_flight(self.books.flights.len() as u64);
        self.books.recorder.advance(now_ns);
        let delivers = self.books.recorder.has_finished() || self.has_full_trace();
        let waited = delivers.then(|| self.reactor.times_waited());
        let mut any = false;
        while let Some(interval) = self.books.recorder.take_finished() {
            any = true;
            if let Some(empty) = sink.deliver(interval) {
                self.books.recorder.recycle(empty);
            }
        }
        self.deliver_trace(any, sink);
        if waited.is_some_and(|waited| waited != self.reactor.times_waited()) {
            // The channel has locks, and whoever waits for one is not held up by the machine.
            self.held_up.leave_out();
        }
    }
}
