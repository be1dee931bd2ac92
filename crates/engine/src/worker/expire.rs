//! What is done when a time has come.

use candor_protocol::{Protocol, RequestId};

use super::connect::{Loss, timeout_words};
use super::connection::State;
use super::events::CameTo;
use super::timers::{Entry, Timer, Watch};
use super::{Stage, Worker};
use crate::flight::Place;
use crate::reactor::{Key, Reactor};

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Does everything whose time has come. Returns whether places became free by it.
    #[inline]
    pub(super) fn expire(&mut self, now_ns: u64) -> bool {
        let mut freed = self.expire_requests(now_ns);
        if self.timers.next_ns() <= now_ns {
            freed |= self.expire_timers(now_ns);
        }
        if self.pool.has_to_open() && (self.stage == Stage::Running || self.are_users_ending()) {
            self.open_waiting(now_ns);
        }
        freed
    }

    /// Does what timers are due for. One that is put in again at once has its turn in the next round.
    pub(super) fn expire_timers(&mut self, now_ns: u64) -> bool {
        let mut freed = false;
        for _ in 0..self.timers.len() {
            let Some(entry) = self.timers.take_due(now_ns) else { break };
            let Entry { key, timer, .. } = entry;
            match timer {
                Timer::Watch(Watch::Connect) => self.check_connecting(key, now_ns),
                Timer::Watch(Watch::Age) => self.check_age(key, now_ns),
                Timer::Watch(Watch::Silence) => self.check_silence(key, now_ns),
                Timer::Watch(Watch::Session) => self.call_session(key, now_ns),
                Timer::Watch(Watch::Stuck) => self.check_stuck(key, now_ns),
                Timer::Retry => self.pool.open_soon(key),
                Timer::Acks => self.look_at_acks(now_ns),
                Timer::Names => self.look_at_names(now_ns),
                // A place of a connection that is gone is dropped when it is taken.
                Timer::Think(generation) => {
                    self.pool.free(entry.place(generation), 1);
                    freed = true;
                }
            }
        }
        freed
    }

    /// Gives a place back when its user has thought.
    pub(super) fn think(&mut self, until_ns: u64, place: Place) {
        self.timers.add(until_ns, Timer::Think(place.generation), place.key);
    }

    /// Gives an attempt up that takes too long, or looks at it again when it may have.
    pub(super) fn check_connecting(&mut self, key: Key, now_ns: u64) {
        let limit_ns = self.own.timeouts.connect_ns;
        let (since_ns, (limit_ns, look_ns)) = match self.pool[key].state {
            State::Connecting { since_ns } => (since_ns, self.pool.patience_ns(key, limit_ns)),
            State::Handshaking { since_ns, .. } => (since_ns, (limit_ns, limit_ns)),
            State::Absent | State::Open => return,
        };
        match since_ns.saturating_add(limit_ns) {
            until_ns if until_ns <= now_ns => self.give_up_connecting(key, now_ns),
            until_ns => {
                let until_ns = until_ns.min(now_ns.saturating_add(look_ns));
                self.timers.watch(until_ns, Watch::Connect, key);
            }
        }
    }

    /// Ages count from the beginning of the run, at the earliest.
    pub(super) fn watch_ages(&mut self) {
        let Some(lifetime_ns) = self.own.lifetime_ns else { return };
        for key in 0..self.own.max_connections {
            self.pool[key].opened_ns = 0;
            self.timers.watch(lifetime_ns, Watch::Age, key);
        }
    }

    /// Gives a connection up that is as old as it may become.
    fn check_age(&mut self, key: Key, now_ns: u64) {
        let Some(lifetime_ns) = self.own.lifetime_ns else { return };
        let connection = &self.pool[key];
        if connection.state == State::Open {
            match connection.opened_ns.saturating_add(lifetime_ns) {
                until_ns if until_ns <= now_ns => self.lose(key, Loss::Old, now_ns),
                until_ns => self.timers.watch(until_ns, Watch::Age, key),
            }
        }
    }

    /// Gives up requests that took too long. Returns whether places became free by it.
    fn expire_requests(&mut self, now_ns: u64) -> bool {
        let mut freed = false;
        while let Some((id, sent_ns)) = self.books.oldest()
            && sent_ns.saturating_add(self.own.timeouts.request_ns) <= now_ns
        {
            let key = self.books.flights.get_mut(id).connection;
            if self.cancel(key, id, now_ns) {
                freed = true;
            } else {
                self.lose(key, Loss::Timeout { id }, now_ns);
            }
        }
        freed
    }

    /// Gives up one request and keeps its connection, if the protocol can.
    fn cancel(&mut self, key: Key, id: RequestId, now_ns: u64) -> bool {
        let connection = &mut self.pool[key];
        if !connection.session.as_mut().is_some_and(|session| session.cancel(id)) {
            return false;
        }
        let reason = timeout_words(self.own.timeouts.request_ns);
        let kind = self.own.habits.expired;
        let came = connection.account.came(&mut self.dispatch.author, now_ns);
        self.books.fail(id, kind, &reason, came);
        connection.account.outstanding -= 1;
        // If it was the last request that the server would answer on this connection, that is an
        // event.
        let came_to = self.take_events(key, now_ns, false);
        self.follow_up(key, CameTo { freed: true, changed: true, ..came_to }, now_ns);
        true
    }

    /// Responses are awaited on a connection from now on.
    pub(super) fn watch_silence(&mut self, key: Key, now_ns: u64) {
        let Some(idle_ns) = self.own.timeouts.idle_ns else { return };
        self.pool[key].last_byte_ns = now_ns;
        self.timers.watch(now_ns.saturating_add(idle_ns), Watch::Silence, key);
    }

    /// Gives a connection up on which nothing came for too long, if responses are awaited on it.
    fn check_silence(&mut self, key: Key, now_ns: u64) {
        let Some(idle_ns) = self.own.timeouts.idle_ns else { return };
        let connection = &self.pool[key];
        if connection.account.outstanding > 0 {
            match connection.last_byte_ns.saturating_add(idle_ns) {
                until_ns if until_ns <= now_ns => self.lose(key, Loss::IdleTimeout, now_ns),
                until_ns => self.timers.watch(until_ns, Watch::Silence, key),
            }
        }
    }

    /// A connection takes no request now. What ends that is the server's: it reads on, or allows a
    /// stream. If it does neither there is no response whose timeout would end it.
    #[cold]
    pub(super) fn watch_stuck(&mut self, key: Key, now_ns: u64) {
        let until_ns = now_ns.saturating_add(self.own.timeouts.request_ns);
        self.timers.watch(until_ns, Watch::Stuck, key);
    }

    /// Gives a connection up that took no request from one look to the next, with none in flight: those
    /// have a timeout of their own. It is looked at for as long as it takes none.
    fn check_stuck(&mut self, key: Key, now_ns: u64) {
        let is_running = self.stage == Stage::Running;
        let connection = &mut self.pool[key];
        let was_at = connection.stuck_at.take();
        if connection.state != State::Open || !connection.takes_none() {
            return;
        }
        if is_running && connection.account.outstanding == 0 {
            if was_at == Some(connection.taken) {
                return self.lose(key, Loss::Stuck, now_ns);
            }
            connection.stuck_at = Some(connection.taken);
        }
        self.watch_stuck(key, now_ns);
    }

    // ---- sessions ----

    /// The time as sessions count it: theirs has one origin, where the worker's begins anew with the
    /// run.
    #[inline]
    pub(super) fn session_ns(&self, at_ns: u64) -> u64 {
        at_ns + self.shift_ns
    }

    /// The timeout of a connection's session may have changed. A protocol may put it off with every
    /// packet: only an earlier one needs another timer.
    pub(super) fn watch_timeout(&mut self, key: Key) {
        let session = self.pool[key].session.as_ref();
        if let Some(at_ns) = session.and_then(S::poll_timeout) {
            self.timers.watch(at_ns.saturating_sub(self.shift_ns), Watch::Session, key);
        }
    }

    /// Calls a session whose time has come, unless it was put off.
    fn call_session(&mut self, key: Key, now_ns: u64) {
        let session_ns = self.session_ns(now_ns);
        let Some(session) = &mut self.pool[key].session else { return };
        if session.poll_timeout().is_some_and(|timeout_ns| timeout_ns <= session_ns) {
            session.handle_timeout(session_ns);
            self.poll_events(key, now_ns);
            if self.is_live(key) && !self.pool[key].blocked {
                self.flush(key, now_ns);
            }
        }
        self.watch_timeout(key);
    }
}
