//! Sending: which request goes to which connection, and when.

use std::io::IoSlice;

use candor_protocol::{Outgoing, Session, Transmit};

use super::connect::Loss;
use super::turn::SHARE_BYTES;
use super::{Stage, Worker};
use crate::books::Departure;
use crate::connection::State;
use crate::reactor::{Key, Reactor, Ready, Sent};
use crate::source::Source;

/// Pieces given to the kernel in one call: eight pipelined requests with a body each.
const SLICES: usize = 16;
/// Requests shed before the loop goes round: less than a millisecond's work.
const SHED_AT_ONCE: u32 = 4096;
/// When a script has made requests for so long, the loop goes round.
const SCRIPT_TURN_NS: u64 = 10_000_000;

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Sends everything that can be sent at `now_ns`.
    #[inline]
    pub(super) fn dispatch(&mut self, now_ns: u64) {
        if self.stage != Stage::Running {
            return;
        }
        // A write that fails reads what is left, and what was read asks for dispatch: without
        // this, a thousand broken connections in a row would be a thousand calls deep. The
        // dispatch that is going on takes up whatever became free.
        if std::mem::replace(&mut self.dispatching, true) {
            return;
        }
        match &self.source {
            Source::Closed(_) => self.dispatch_closed(now_ns),
            Source::Open(_) => self.dispatch_open(now_ns),
        }
        self.dispatching = false;
    }

    /// Every free place gets a request. Places of one connection stand together, so that a
    /// pipelined batch leaves in one call.
    fn dispatch_closed(&mut self, now_ns: u64) {
        if self.own.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
            return;
        }
        let mut last: Option<Key> = None;
        self.has_more = false;
        while let Some(place) = self.pool.take() {
            let Source::Closed(closed) = &mut self.source else { return };
            let Some((index, phase)) = closed.take(now_ns) else { break };
            if let Some(key) = last.filter(|key| *key != place.key) {
                self.flush(key, now_ns);
            }
            let departure = Departure {
                index,
                due_ns: place.since_ns,
                ready_ns: place.since_ns,
                connection: place.key,
                request: self.picker.pick(index) as u32,
                phase,
            };
            if !self.is_made() {
                self.hand_over(place.key, departure);
            } else if !self.hand_over_made(departure) {
                break;
            }
            last = Some(place.key);
            if self.is_script_turn_over(now_ns) {
                self.has_more = true;
                break;
            }
        }
        if let Some(key) = last {
            self.flush(key, now_ns);
        }
    }

    /// Every request that is due goes to the place that has been free for longest.
    ///
    /// At most so many are sent as there are free places. Sheds have no such bound: of a load far
    /// above what a core can count, more fall due than are shed meanwhile. So this goes back to
    /// the loop in between, which reads answers and looks at the stop.
    fn dispatch_open(&mut self, now_ns: u64) {
        let mut shed = 0;
        self.has_more = false;
        loop {
            let Source::Open(open) = &self.source else { return };
            let shed_after_ns = open.shed_after_ns;
            let Some(due) = open.peek().filter(|due| due.due_ns <= now_ns) else { return };
            let phase = open.phase(due);
            let place = self.pool.take();
            let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due.due_ns));
            if self.own.stop_ns.is_some_and(|stop_ns| ready_ns >= stop_ns) {
                return;
            }
            let too_old = shed_after_ns.is_some_and(|limit| ready_ns - due.due_ns > limit);
            if too_old {
                if let Some(place) = place {
                    self.pool.put_back(place);
                }
                self.books.shed(due, phase, now_ns);
                shed += 1;
            } else if let Some(place) = place {
                let departure = Departure {
                    index: due.index,
                    due_ns: due.due_ns,
                    ready_ns,
                    connection: place.key,
                    request: self.picker.pick(due.index) as u32,
                    phase,
                };
                if !self.is_made() {
                    self.hand_over(place.key, departure);
                } else if !self.hand_over_made(departure) {
                    return;
                }
                self.flush(place.key, now_ns);
                self.has_more = self.is_script_turn_over(now_ns);
            } else {
                return self.open_for_backlog(now_ns);
            }
            if let Source::Open(open) = &mut self.source {
                open.take();
            }
            self.has_more |= shed == SHED_AT_ONCE;
            if self.has_more {
                return;
            }
        }
    }

    /// Whether a script has made requests for long enough since `now_ns`. Each of its calls may take
    /// as long as `--script-timeout` allows, and the stop is looked at between two turns.
    fn is_script_turn_over(&mut self, now_ns: u64) -> bool {
        self.is_made() && self.reactor.now_ns() > now_ns.saturating_add(SCRIPT_TURN_NS)
    }

    #[inline]
    fn hand_over(&mut self, key: Key, departure: Departure) {
        let connection = &mut self.pool[key];
        let Some(session) = &mut connection.session else { return };
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(id, Outgoing::Listed(departure.request));
        connection.offered -= 1;
        self.handed_over(key, departure);
    }

    /// The books of a connection that was handed a request.
    #[inline]
    pub(super) fn handed_over(&mut self, key: Key, departure: Departure) {
        let connection = &mut self.pool[key];
        connection.taken += 1;
        connection.account.outstanding += 1;
        if connection.account.outstanding == 1 {
            connection.asked_after = self.waits;
            if self.own.timeouts.idle_ns.is_some() {
                self.watch_silence(key, departure.ready_ns);
            }
        }
    }

    /// Writes what the session has to write, as far as the kernel takes it.
    pub(super) fn flush(&mut self, key: Key, now_ns: u64) {
        let session_ns = self.session_ns(now_ns);
        let mut share = SHARE_BYTES;
        loop {
            let connection = &mut self.pool[key];
            let Some(session) = &mut connection.session else { return };
            let mut slices = [IoSlice::new(&[]); SLICES];
            let Transmit { slices: used, more, .. } =
                session.poll_transmit(session_ns, &mut slices);
            if used == 0 {
                return;
            }
            let offered: usize = slices[..used].iter().map(|slice| slice.len()).sum();
            let at_ns = self.reactor.now_ns();
            let sent = self.reactor.send(key, &slices[..used]);
            self.turn.spend(offered);
            if !self.went(key, sent, offered, at_ns) || !more {
                return;
            }
            share = share.saturating_sub(offered);
            if share == 0 {
                self.pool[key].blocked = true;
                return self.postpone(Ready { key, readable: false, writable: true, ended: false });
            }
        }
    }

    /// Records how many of the `offered` bytes the kernel accepted, not before `at_ns`. Returns
    /// whether the connection may be offered more.
    #[inline]
    fn went(&mut self, key: Key, sent: Sent, offered: usize, at_ns: u64) -> bool {
        let connection = &mut self.pool[key];
        let Some(session) = &mut connection.session else { return false };
        match sent {
            Sent::Written(bytes) => {
                let books = &mut self.books;
                books.recorder.bytes_sent(bytes as u64);
                let kernel = &mut self.kernel;
                let end = match R::STAMPS {
                    true => self.reactor.stamps(key).map_or(0, |log| log.position()),
                    false => 0,
                };
                let session_ns = at_ns + self.shift_ns;
                let has_word = session.handle_transmitted(session_ns, bytes, &mut |id| {
                    books.sent(id, at_ns);
                    if R::STAMPS {
                        kernel.sent(id, end);
                    }
                });
                connection.blocked = bytes < offered;
                if has_word {
                    self.poll_events(key, at_ns);
                }
            }
            Sent::Blocked => connection.blocked = true,
            Sent::Failed(failure) => {
                self.lose_while_sending(key, failure, at_ns);
                return false;
            }
        }
        !self.pool[key].blocked
    }

    /// A connection broke as it was written to. What the server said before is still there to be
    /// read, and it comes first: an answer followed by a close is an answer.
    #[cold]
    fn lose_while_sending(&mut self, key: Key, failure: crate::reactor::IoFailure, at_ns: u64) {
        // This looks for input without a wait, for other connections too: what comes may be an answer
        // to a request of this round.
        self.waits += 1;
        self.receive_all(key, true);
        let connection = &mut self.pool[key];
        // Nothing more is written; what was postponed ends by itself.
        connection.blocked = true;
        if connection.state != State::Absent && connection.postponed.is_none() {
            self.lose(key, Loss::Failed(failure), at_ns);
        }
    }

    /// There is room again.
    pub(super) fn unblock(&mut self, key: Key) {
        self.pool[key].blocked = false;
        let now_ns = self.reactor.now_ns();
        self.flush(key, now_ns);
        let connection = &self.pool[key];
        if connection.state == State::Open && !connection.blocked && connection.parked > 0 {
            let now_ns = self.reactor.now_ns();
            self.pool.unpark(key, now_ns);
        }
    }
}
