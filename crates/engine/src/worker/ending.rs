//! The end of a worker's run: the stop rule, the drain, and the account of what is left.

use candor_protocol::Session;
use candor_record::kernel::KernelTimes;
use candor_record::{Disconnect, Phase, RunEnd, TraceCounts, WorkerHealth};

use super::{Sink, Stage, Worker};
use crate::connection::State;
use crate::control::Control;
use crate::reactor::{Key, Reactor};
use crate::source::Source;

/// How a worker's run ended.
#[derive(Debug, Clone)]
pub(crate) struct WorkerEnd {
    /// Where the measured window ended.
    pub(crate) window_end_ns: u64,
    /// Why.
    pub(crate) end: RunEnd,
    /// A sample of due times, each with the one that followed it.
    pub(crate) gaps: Vec<(u64, u64)>,
    /// Answers that each connection had in the measured window.
    pub(crate) answers: Vec<u64>,
    /// When the machine held the thread up.
    pub(crate) held_up: Vec<(u64, u64)>,
    /// Service time by the kernel's time stamps.
    pub(crate) kernel: Option<KernelTimes>,
    /// How many requests were traced.
    pub(crate) trace: TraceCounts,
    /// What the thread cost; filled by whoever owns the thread.
    pub(crate) health: WorkerHealth,
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// The stop rule.
    pub(super) fn should_stop(&self, now_ns: u64, control: &Control) -> Option<RunEnd> {
        if self.stage != Stage::Running {
            return None;
        }
        if let Some(end) = self.script_end(control) {
            return Some(end);
        }
        if control.is_stopping() {
            return Some(RunEnd::Interrupted);
        }
        if self.own.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
            return Some(RunEnd::Duration);
        }
        let no_time = self.own.stop_ns.is_none();
        if (self.own.counted || no_time)
            && self.books.flights.len() == 0
            && self.source.is_exhausted()
        {
            return Some(if self.own.counted { RunEnd::Count } else { RunEnd::Duration });
        }
        let patience_is_over = no_time
            && self.established == 0
            && now_ns >= self.none_since_ns.saturating_add(self.own.give_up_ns);
        patience_is_over.then_some(RunEnd::GaveUp)
    }

    pub(super) fn end_window(&mut self, now_ns: u64, end: RunEnd) -> WorkerEnd {
        let window_end_ns = match (end, self.own.stop_ns) {
            (RunEnd::Duration, Some(stop_ns)) => stop_ns,
            _ => now_ns,
        };
        let backlog = self.backlog(window_end_ns);
        self.books.recorder.set_backlog(backlog);
        self.books.recorder.end_window(window_end_ns);
        self.stage = Stage::Draining { until_ns: now_ns.saturating_add(self.own.drain_ns) };
        WorkerEnd {
            window_end_ns,
            end,
            gaps: Vec::new(),
            // Of connections that were opened for a backlog, those that were of use.
            answers: (0..)
                .zip(&self.connections)
                .filter(|(key, one)| *key < self.own.connections || one.answered > 0)
                .map(|(_, one)| one.answered)
                .collect(),
            held_up: Vec::new(),
            kernel: None,
            trace: TraceCounts::default(),
            health: WorkerHealth::default(),
        }
    }

    pub(super) fn is_drained(&self, now_ns: u64, control: &Control) -> bool {
        let Stage::Draining { until_ns } = self.stage else { return false };
        self.books.flights.len() == 0 || now_ns >= until_ns || control.is_impatient()
    }

    /// Accounts for everything that is left, and closes.
    pub(super) fn wind_up(&mut self, window_end_ns: u64, sink: &mut impl Sink) {
        let now_ns = self.reactor.now_ns();
        for key in 0..self.connections.len() as Key {
            let broken_off = self.is_broken_off(key);
            let connection = &mut self.connections[key as usize];
            let chain = &mut connection.flights;
            while let Some(id) = chain.first() {
                if broken_off {
                    self.books.break_off(id, chain, None, now_ns);
                } else {
                    self.books.leave_unfinished(id, chain, now_ns);
                }
            }
            if connection.state == State::Open {
                self.books.recorder.disconnected(now_ns, Disconnect::RunOver, String::new);
            }
            connection.state = State::Absent;
            self.say_goodbye(key);
            self.reactor.close(key);
            self.count_headers(key);
        }
        let mut unsent = 0;
        if let Source::Open(open) = &mut self.source {
            while let Some(due) = open.peek().filter(|due| due.due_ns < window_end_ns) {
                let phase = open.phase(due);
                open.take();
                self.books.leave_unsent(due, phase, window_end_ns, now_ns);
                unsent += u64::from(phase == Phase::Measured);
            }
        }
        self.books.recorder.finish(now_ns, unsent);
        while let Some(interval) = self.books.recorder.take_finished() {
            sink.deliver(interval);
        }
    }
}
