//! What is done when a time has come.

use candor_protocol::{RequestId, Session};
use candor_record::ErrorKind;

use super::connect::{Loss, timeout_words};
use super::events::CameTo;
use super::timers::{Entry, Timer};
use super::{Stage, Worker};
use crate::connection::State;
use crate::reactor::{Key, Reactor};

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Does everything whose time has come. Returns whether places became free by it.
    #[inline]
    pub(super) fn expire(&mut self, now_ns: u64) -> bool {
        let mut freed = self.expire_requests(now_ns);
        if self.timers.next_ns() <= now_ns {
            freed |= self.expire_timers(now_ns);
        }
        if self.stage == Stage::Running && self.pool.has_to_open() {
            self.open_waiting(now_ns);
        }
        freed
    }

    /// Does what timers are due for. One that is put in again at once has its turn in the next round.
    pub(super) fn expire_timers(&mut self, now_ns: u64) -> bool {
        let mut freed = false;
        for _ in 0..self.timers.len() {
            let Some(entry) = self.timers.take_due(now_ns) else { break };
            let Entry { key, generation, timer, .. } = entry;
            if self.pool[key].generation != generation {
                continue;
            }
            match timer {
                Timer::Connect => self.give_up_connecting(key, now_ns),
                Timer::Age if self.pool[key].state == State::Open => {
                    self.lose(key, Loss::Old, now_ns);
                }
                Timer::Silence => self.check_silence(key, now_ns),
                Timer::Session => self.call_session(key, now_ns),
                Timer::Retry => self.pool.open_soon(key),
                Timer::Think => {
                    self.pool.free(entry.place());
                    freed = true;
                }
                Timer::Age => {}
            }
        }
        freed
    }

    /// Has a timer wake it for this connection, unless the connection is gone by then.
    pub(super) fn wake(&mut self, at_ns: u64, timer: Timer, key: Key) {
        let generation = self.pool[key].generation;
        self.timers.add(Entry { at_ns, timer, key, generation });
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
        self.books.fail(id, &mut connection.account.flights, ErrorKind::Timeout, now_ns, &reason);
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
        let connection = &mut self.pool[key];
        connection.last_byte_ns = now_ns;
        if !std::mem::replace(&mut connection.watches_silence, true) {
            self.wake(now_ns.saturating_add(idle_ns), Timer::Silence, key);
        }
    }

    /// Gives a connection up on which nothing came for too long, if responses are awaited on it.
    fn check_silence(&mut self, key: Key, now_ns: u64) {
        let Some(idle_ns) = self.own.timeouts.idle_ns else { return };
        let connection = &mut self.pool[key];
        let ends_ns = connection.last_byte_ns.saturating_add(idle_ns);
        if connection.account.outstanding == 0 {
            connection.watches_silence = false;
        } else if ends_ns <= now_ns {
            self.lose(key, Loss::IdleTimeout, now_ns);
        } else {
            self.wake(ends_ns, Timer::Silence, key);
        }
    }

    // ---- sessions ----

    /// The time as sessions count it: theirs has one origin, where the worker's begins anew with the
    /// run.
    #[inline]
    pub(super) fn session_ns(&self, at_ns: u64) -> u64 {
        at_ns + self.shift_ns
    }

    /// The timeout of a connection's session may have changed. A protocol may move it with every
    /// packet: only an earlier one needs another timer.
    pub(super) fn watch_timeout(&mut self, key: Key) {
        let connection = &mut self.pool[key];
        let timeout_ns = connection.session.as_ref().and_then(S::poll_timeout);
        if let Some(at_ns) = timeout_ns.filter(|at_ns| *at_ns < connection.timeout_ns) {
            connection.timeout_ns = at_ns;
            self.wake(at_ns.saturating_sub(self.shift_ns), Timer::Session, key);
        }
    }

    /// Calls a session whose time has come, unless it was put off.
    fn call_session(&mut self, key: Key, now_ns: u64) {
        let session_ns = self.session_ns(now_ns);
        let connection = &mut self.pool[key];
        if connection.timeout_ns > session_ns {
            return;
        }
        connection.timeout_ns = u64::MAX;
        let Some(session) = &mut connection.session else { return };
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
