//! The end of a worker's run: the stop rule, the drain, and the account of what is left.

use candor_protocol::Protocol;
use candor_record::{Disconnect, EndReason, Phase, WorkerReport};

use super::connection::State;
use super::{Sink, Stage, Worker};
use crate::author::filling::Tables;
use crate::control::Control;
use crate::flight::NeverSent;
use crate::reactor::Reactor;

/// A backlog that is not counted request by request.
const MANY: u64 = 1 << 16;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Rows that are given out once end the run when they are used.
    pub(super) fn limit_rows(&mut self, tables: &Tables) {
        let Some(once) = &tables.once else { return };
        let share = self.own.share;
        match self.dispatch.closed() {
            Some(closed) => {
                closed.limit_rows(once.rows, share);
                // The run may end before its time.
                self.own.counted = true;
            }
            None if once.count.is_some() => self.own.exhausted = EndReason::RowsUsed,
            None => {}
        }
    }

    /// The stop rule.
    pub(super) fn should_stop(&mut self, now_ns: u64, control: &Control) -> Option<EndReason> {
        if self.stage != Stage::Running {
            return None;
        }
        if let Some(end) = self.dispatch.author.end() {
            // Of one that failed everybody's run ends.
            if end != EndReason::Stopped && !control.is_stopping() {
                control.stop();
            }
            return Some(end);
        }
        if now_ns >= self.send_until_ns {
            return Some(EndReason::AgentLost);
        }
        if control.is_stopping() {
            return Some(EndReason::Interrupted);
        }
        if self.own.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
            return Some(EndReason::Duration);
        }
        let no_time = self.own.stop_ns.is_none();
        if (self.own.counted || no_time)
            && self.books.flights.len() == 0
            && self.dispatch.is_exhausted()
        {
            let closed = self.dispatch.closed();
            let used = closed.is_some_and(|closed| closed.has_used_rows());
            return Some(if used { EndReason::RowsUsed } else { self.own.exhausted });
        }
        (no_time && self.is_patience_over(now_ns)).then_some(EndReason::GaveUp)
    }

    /// Whether no response came for too long, though the load asked for one. Connections and sent
    /// requests alone do not count: a server may take them all and respond to none.
    fn is_patience_over(&mut self, now_ns: u64) -> bool {
        let in_flight = self.books.flights.len() > 0;
        let asks_nothing = (!in_flight && self.pool.has_free_to_all())
            || self.timers.has_thinking()
            || self.dispatch.users().is_some_and(|users| users.has_thinking(now_ns));
        self.patience.look(now_ns, self.books.answered_ns, asks_nothing);
        let oldest_ns = self.books.oldest().map(|(_, sent_ns)| sent_ns);
        self.patience.is_over(self.own.give_up_ns, oldest_ns)
    }

    pub(super) fn end_window(&mut self, now_ns: u64, end: EndReason) -> WorkerReport {
        let window_end_ns = match (end, self.own.stop_ns) {
            (EndReason::Duration, Some(stop_ns)) => stop_ns,
            _ => now_ns,
        };
        let backlog = self.dispatch.backlog(self.last_due_ns(window_end_ns));
        self.books.recorder.set_backlog(backlog);
        self.books.recorder.end_window(window_end_ns);
        self.dispatch.end();
        self.stage = Stage::Draining;
        self.drained_ns = now_ns.saturating_add(self.own.drain_ns);
        self.lingers_ns = now_ns.saturating_add(self.own.linger_ns);
        self.end_users(window_end_ns, now_ns, end);
        WorkerReport {
            // Of connections that were opened for a backlog, those that were of use.
            answers: self
                .pool
                .iter()
                .filter(|(key, one)| *key < self.own.connections || one.account.answered > 0)
                .map(|(_, one)| one.account.answered)
                .collect(),
            ..WorkerReport::new(window_end_ns, end)
        }
    }

    /// Users make the steps that they make when the run is over, within the drain: however it ended, unless nothing may
    /// be sent or written any more.
    fn end_users(&mut self, end_ns: u64, now_ns: u64, end: EndReason) {
        if matches!(end, EndReason::AgentLost | EndReason::DataFailed) {
            return;
        }
        let last_due_ns = self.last_due_ns(end_ns);
        let recorder = &mut self.books.recorder;
        let Some(users) = self.dispatch.users() else { return };
        for one in users.end_all(last_due_ns, now_ns, recorder) {
            self.books.leave_unsent(one, end_ns, now_ns);
        }
        if users.have_ended() {
            self.dispatch.reopen();
            self.dispatch(now_ns);
        }
    }

    /// Whether users make such steps.
    pub(super) fn are_users_ending(&mut self) -> bool {
        self.stage == Stage::Draining
            && self.dispatch.users().is_some_and(|users| users.are_ending())
    }

    /// The last time at which a request of a window with this end is due. A window that ends as planned is
    /// half-open, as the schedule is; where it ends early, what is due at that very moment was scheduled.
    fn last_due_ns(&self, end_ns: u64) -> u64 {
        if self.own.stop_ns == Some(end_ns) { end_ns.saturating_sub(1) } else { end_ns }
    }

    pub(super) fn is_drained(&mut self, now_ns: u64, control: &Control) -> bool {
        self.stage == Stage::Draining
            && (self.books.flights.len() == 0
                && now_ns >= self.lingers_ns
                && !self.are_users_ending()
                || now_ns >= self.drained_ns
                || control.is_impatient())
    }

    /// Accounts for everything that is left, and closes.
    pub(super) fn wind_up(&mut self, window_end_ns: u64, control: &Control, sink: &mut dyn Sink) {
        let now_ns = self.reactor.now_ns();
        for key in 0..self.own.max_connections {
            let connection = &mut self.pool[key];
            let broken_off = connection.account.broken_off;
            let account = &mut connection.account;
            while let Some(id) = account.flights.first() {
                if broken_off {
                    let came = account.came(&mut self.dispatch.author, now_ns);
                    self.books.break_off(id, None, came);
                } else {
                    self.books.leave_unfinished(id, &mut account.flights, now_ns);
                }
            }
            if connection.state == State::Open {
                self.books.recorder.disconnected(now_ns, Disconnect::RunOver, || "");
            }
            connection.state = State::Absent;
            self.say_goodbye(key, now_ns);
            self.hang_up(key);
        }
        let unsent = self.leave_backlog(window_end_ns, now_ns);
        // Of a pause at the very end nothing more becomes known.
        self.books.recorder.judge(&control.pauses(), u64::MAX);
        self.books.recorder.finish(now_ns, unsent);
        while let Some(interval) = self.books.recorder.take_finished() {
            sink.deliver(interval);
        }
    }

    /// Users who are under way stay so, and those of their steps that were due before the end are
    /// unsent: how many measured ones.
    fn leave_users(&mut self, end_ns: u64, now_ns: u64) -> u64 {
        let last_due_ns = match self.are_users_ending() {
            // Their last steps are due since then.
            true => now_ns,
            false => self.last_due_ns(end_ns),
        };
        let Some(users) = self.dispatch.users() else { return 0 };
        let mut unsent = 0;
        while let Some(one) = users.take_unsent(last_due_ns) {
            let end_ns = if one.due.due_ns > end_ns { now_ns } else { end_ns };
            self.books.leave_unsent(one, end_ns, now_ns);
            unsent += u64::from(one.phase == Phase::Measured);
        }
        users.leave_unfinished(now_ns, &mut self.books.recorder);
        unsent
    }

    /// What was due by the end and has not left is unsent: how many measured requests.
    ///
    /// There may be a billion. Of [`MANY`], those whose ages the record cannot tell apart are
    /// counted together, by arithmetic where the schedule has one. Whatever ends the run, all of
    /// them are counted: the ledger says what was scheduled, and not what somebody waited for.
    fn leave_backlog(&mut self, end_ns: u64, now_ns: u64) -> u64 {
        let last_due_ns = self.last_due_ns(end_ns);
        let together = self.dispatch.backlog(last_due_ns) > MANY && self.books.tracer.is_none();
        let of_steps = self.leave_users(end_ns, now_ns);
        let mut unsent = of_steps;
        let has_users = self.dispatch.users().is_some();
        while let Some(open) = self.dispatch.open() {
            let Some(due) = open.peek().filter(|due| due.due_ns <= last_due_ns) else { break };
            let phase = open.phase(due);
            let count = if together {
                let age_ns = end_ns - due.due_ns;
                let least_ns = self.books.recorder.lowest_alike_age_ns(age_ns);
                let before_ns = match phase {
                    Phase::WarmUp => (end_ns - least_ns + 1).min(self.own.warm_up_ns),
                    Phase::Measured => end_ns - least_ns + 1,
                };
                let count = open.take_before(before_ns);
                let ages_ns = (end_ns + 1 - before_ns, age_ns);
                self.books.recorder.unsent_alike(now_ns, phase, ages_ns, count);
                count
            } else {
                open.take();
                let request = self.dispatch.request_of(due.index);
                self.books.leave_unsent(NeverSent { due, request, phase }, end_ns, now_ns);
                1
            };
            unsent += if phase == Phase::Measured { count } else { 0 };
        }
        if has_users {
            self.books.recorder.users_not_begun(now_ns, unsent - of_steps);
        }
        unsent
    }
}

/// How long responses have been awaited, for a run that ends by a count.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Since then, not counting the time in which the load asked for nothing.
    since_ns: u64,
    looked_ns: u64,
}

impl Patience {
    /// The last response came at `answered_ns`.
    #[inline]
    fn look(&mut self, now_ns: u64, answered_ns: u64, asks_nothing: bool) {
        if asks_nothing {
            self.since_ns += now_ns.saturating_sub(self.looked_ns);
        }
        self.since_ns = self.since_ns.max(answered_ns);
        self.looked_ns = now_ns;
    }

    /// Whether it is over after `limit_ns`. What was sent before that has the time that requests have:
    /// `oldest_ns` is when the oldest request in flight was sent.
    fn is_over(&self, limit_ns: u64, oldest_ns: Option<u64>) -> bool {
        let until_ns = self.since_ns.saturating_add(limit_ns);
        self.looked_ns >= until_ns && oldest_ns.is_none_or(|oldest_ns| oldest_ns >= until_ns)
    }
}
