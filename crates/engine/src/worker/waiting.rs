//! Waiting: for an event, a time-out or the next due time, whichever comes first.

use candor_protocol::Protocol;

use super::pacing::Wait;
use super::{Stage, Worker};
use crate::reactor::Reactor;

/// The longest sleep: a stop is heard and intervals are closed within this time.
pub(super) const LONGEST_WAIT_NS: u64 = 5_000_000;
/// How often a backlog is looked at that may open more connections.
const BACKLOG_LOOK_NS: u64 = 100_000;

/// What a worker waits for, at this time.
enum Next {
    /// A request that is due, and can leave at once.
    Due(u64),
    /// Anything else.
    Other(u64),
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Waits for whatever comes first: an event, a time-out, or the next due time. Returns what
    /// time it is, if that was asked for already and nothing was done since.
    #[inline]
    pub(super) fn pause(&mut self, now_ns: u64) -> Option<u64> {
        let has_more = self.has_more && self.stage == Stage::Running;
        let has_more = has_more || (self.turn.has_more() && !self.never_sleeps());
        if !has_more && self.never_sleeps() {
            self.look_and_handle();
            return None;
        }
        let next = if has_more { Next::Other(0) } else { self.next_event(now_ns) };
        let (until_ns, is_exact) = match next {
            Next::Other(until_ns) => {
                self.pacer.rest(now_ns);
                (until_ns, false)
            }
            Next::Due(due_ns) => match self.pacer.wait(now_ns, due_ns) {
                Wait::Spin => (0, false),
                Wait::SleepUntil(wake_ns)
                    if self.reactor.dozes() && self.pacer.dozes(now_ns, wake_ns) =>
                {
                    self.doze_and_handle(wake_ns);
                    return None;
                }
                Wait::SleepUntil(wake_ns) => (wake_ns, true),
            },
        };
        if self.wait_and_handle(until_ns) || !is_exact || until_ns <= now_ns {
            return None;
        }
        let woke_ns = self.reactor.now_ns();
        self.pacer.woke(until_ns, woke_ns);
        Some(woke_ns)
    }

    /// Sleeps, whatever comes, and handles what has come.
    #[inline(never)]
    fn doze_and_handle(&mut self, until_ns: u64) {
        self.waits += 1;
        let first = self.doze(until_ns);
        self.handle_found(first);
    }

    /// Whether it looks for events again and again at present, and waits for none.
    #[inline]
    fn never_sleeps(&self) -> bool {
        self.pacer.never_sleeps() && self.stage != Stage::Preparing
    }

    /// A turn of the loop begins. One that does not sleep is watched for when the machine holds it
    /// up, if that was asked for.
    #[inline]
    pub(super) fn watch_turn(&mut self, now_ns: u64) {
        match (self.never_sleeps(), self.own.notes_held_up) {
            (false, _) => {}
            (true, false) => self.held_up.unwatched_turn(now_ns),
            (true, true) => {
                self.held_up.turn(now_ns, self.reactor.cpu_ns());
                self.leave_out_script();
            }
        }
    }

    /// The run has begun, and nothing was done in it yet.
    pub(super) fn watch_beginning(&mut self) {
        if self.never_sleeps() {
            self.held_up.looks(0);
            let now_ns = self.reactor.now_ns();
            self.watch_turn(now_ns);
        }
    }

    /// It may wait for whatever it likes.
    #[inline]
    fn leave_out_script(&mut self) {
        if self.dispatch.author.script().is_some() {
            self.held_up.leave_out();
        }
    }

    /// As [`wait_and_handle`](Self::wait_and_handle) for a worker that does not wait.
    fn look_and_handle(&mut self) {
        self.waits += 1;
        let looks_ns = self.reactor.now_ns();
        self.held_up.looks(looks_ns);
        let first = self.find(0);
        if first.is_none() && !self.turn.has_more() {
            return;
        }
        if self.own.notes_held_up {
            let found_ns = self.reactor.now_ns();
            self.held_up.found(found_ns, || self.reactor.cpu_ns());
        } else {
            self.held_up.stops_looking();
        }
        self.leave_out_script();
        self.handle_found(first);
    }

    /// How long it looked for events, again and again, and found none.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.held_up.spun_ns()
    }

    /// How often the worker waited for events.
    pub(crate) fn waits(&self) -> u64 {
        self.waits
    }

    /// When the worker has something to do without being told by the reactor.
    #[inline]
    fn next_event(&mut self, now_ns: u64) -> Next {
        let mut until_ns = (now_ns + LONGEST_WAIT_NS)
            .min(self.books.recorder.boundary_ns().max(now_ns))
            .min(self.timers.next_ns());
        if let Some((_, sent_ns)) = self.books.oldest() {
            until_ns = until_ns.min(sent_ns.saturating_add(self.own.timeouts.request_ns));
        }
        match self.stage {
            Stage::Preparing => {}
            Stage::Draining => until_ns = until_ns.min(self.drained_ns),
            Stage::Running => {
                if let Some(stop_ns) = self.own.stop_ns {
                    until_ns = until_ns.min(stop_ns);
                }
                if let Some(opens_ns) = self.pool.opens_ns() {
                    until_ns = until_ns.min(opens_ns);
                }
                let due = self.dispatch.next_due(&self.pool);
                if let Some(due_ns) = due.without_ns {
                    let look_ns = now_ns + BACKLOG_LOOK_NS;
                    let least_ns = self.pool.pace_ns().max(look_ns);
                    until_ns = until_ns.min(due_ns.max(least_ns));
                }
                if let Some(due_ns) = due.with_place_ns.filter(|due_ns| *due_ns <= until_ns) {
                    return Next::Due(due_ns);
                }
            }
        }
        Next::Other(until_ns)
    }

    /// Waits, and handles what is ready. Returns whether anything was.
    #[inline(always)]
    pub(super) fn wait_and_handle(&mut self, until_ns: u64) -> bool {
        self.waits += 1;
        let first = self.find(until_ns);
        self.handle_found(first)
    }
}
