//! Sending: what dispatch says is next goes to its session, and the session's bytes to the reactor.

use std::io::IoSlice;

use candor_protocol::{Outgoing, Protocol, Transport};

use super::connect::Loss;
use super::connection::{SHARE_BYTES, State};
use super::dispatch::Next;
use super::{Stage, Worker};
use crate::author::Author;
use crate::flight::Departure;
use crate::load::Source;
use crate::reactor::{Key, Reactor, Ready, Segments, Sent};

/// Pieces given to the kernel in one call: eight pipelined requests with a body each.
const SLICES: usize = 16;
/// Requests sent or shed before the loop goes round: some milliseconds' work.
const AT_ONCE: u32 = 4096;
/// The loop goes round after a script has made requests for this time.
const SCRIPT_TURN_NS: u64 = 10_000_000;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Sends everything that can be sent at `now_ns`.
    #[inline]
    pub(super) fn dispatch(&mut self, now_ns: u64) {
        if self.stage != Stage::Running && !self.are_users_ending() || now_ns >= self.send_until_ns
        {
            return;
        }
        // A write that fails reads what is left, and what was read asks for dispatch: without
        // this, a thousand broken connections in a row would be a thousand calls deep. The
        // dispatch that is going on takes up whatever became free.
        if std::mem::replace(&mut self.dispatching, true) {
            return;
        }
        self.has_more = false;
        match &self.dispatch.source {
            Source::Closed(_) => self.dispatch_closed(now_ns),
            // Most often nothing is due: it is asked after every event.
            Source::Open(open) => {
                if open.peek().is_some_and(|due| due.due_ns <= now_ns) {
                    self.dispatch_open(now_ns);
                }
            }
            Source::Several(_) | Source::Users => self.dispatch_others(now_ns),
        }
        self.dispatching = false;
    }

    #[inline(never)]
    fn dispatch_closed(&mut self, now_ns: u64) {
        self.send_in_batches(now_ns, |this| this.dispatch.next_of_closed(now_ns, &mut this.pool));
    }

    #[inline(never)]
    fn dispatch_open(&mut self, now_ns: u64) {
        self.send_each(now_ns, |this| this.dispatch.next_of_open(now_ns, &mut this.pool));
    }

    /// Users, and several targets.
    #[inline(never)]
    fn dispatch_others(&mut self, now_ns: u64) {
        self.close_let_go(now_ns);
        let next =
            |this: &mut Self| this.dispatch.next(now_ns, &mut this.pool, &mut this.books.recorder);
        match self.dispatch.is_closed() {
            true => self.send_in_batches(now_ns, next),
            false => self.send_each(now_ns, next),
        }
    }

    /// Places of one connection stand together, so that a pipelined batch leaves in one call.
    ///
    /// A message without a reply is done when it was written, and its place is free at once: this goes back to the loop in
    /// between.
    #[inline(always)]
    fn send_in_batches(&mut self, now_ns: u64, next: impl Fn(&mut Self) -> Next) {
        let mut last: Option<Key> = None;
        let mut sent = 0;
        while let Next::Send(departure) = next(self) {
            if let Some(key) = last.filter(|key| *key != departure.connection) {
                self.flush(key, now_ns);
            }
            if !self.hand_over(departure) {
                break;
            }
            last = Some(departure.connection);
            sent += 1;
            if sent == AT_ONCE || self.is_script_turn_over(now_ns) {
                self.has_more = true;
                break;
            }
        }
        if let Some(key) = last {
            self.flush(key, now_ns);
        }
    }

    /// Each request leaves by itself, with a time of its own.
    ///
    /// No more are sent than there are free places. Sheds have no such bound: of a load far
    /// above what a core can count, more fall due than are shed meanwhile. So this goes back to
    /// the loop in between, which reads responses and looks at the stop.
    #[inline(always)]
    fn send_each(&mut self, now_ns: u64, next: impl Fn(&mut Self) -> Next) {
        let mut shed = 0;
        while !self.has_more {
            match next(self) {
                Next::Send(departure) => {
                    if !self.hand_over(departure) {
                        return;
                    }
                    self.flush(departure.connection, now_ns);
                    self.has_more = self.is_script_turn_over(now_ns);
                    self.dispatch.sent();
                }
                Next::Shed(one) => {
                    self.books.shed(one, now_ns);
                    shed += 1;
                    self.has_more = shed == AT_ONCE;
                }
                Next::NoPlace => return self.open_for_backlog(now_ns),
                Next::Nothing => return,
                Next::Later => self.has_more = true,
            }
        }
    }

    /// Whether a script has made requests for long enough since `now_ns`. Each of its calls may take
    /// as long as `--script-timeout` allows, and the stop is looked at between two turns.
    fn is_script_turn_over(&mut self, now_ns: u64) -> bool {
        self.dispatch.author.is_slow()
            && self.reactor.now_ns() > now_ns.saturating_add(SCRIPT_TURN_NS)
    }

    /// Gives the request of a departure to its connection's session. False: there is none.
    #[inline]
    fn hand_over(&mut self, departure: Departure) -> bool {
        let Author::Listed = self.dispatch.author else {
            let has_any = self.hand_over_made(departure);
            let connection = &mut self.pool[departure.connection];
            connection.offered -= u32::from(has_any);
            if self.dispatch.author.has_more() && !connection.account.abilities.multiplexes {
                self.hand_over_rest(departure);
            }
            return has_any;
        };
        let connection = &mut self.pool[departure.connection];
        let Some(session) = &mut connection.session else { return true };
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(id, Outgoing::Listed(departure.request));
        connection.offered -= 1;
        if connection.was_given_one(self.waits) && self.own.timeouts.idle_ns.is_some() {
            self.watch_silence(departure.connection, departure.ready_ns);
        }
        true
    }

    /// The same for what an author writes now, without its place.
    ///
    /// Not inlined: plain requests go the same way, and would save its registers.
    #[inline(never)]
    fn hand_over_made(&mut self, departure: Departure) -> bool {
        let connection = &mut self.pool[departure.connection];
        let Some(session) = &mut connection.session else { return true };
        let Some(request) = self.dispatch.author.write(&departure) else { return false };
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(id, request);
        self.dispatch.author.departed(id, &departure);
        self.handed_over(departure);
        true
    }

    /// Hands over what else a script has written with the first: these share a place, and the time at which the first
    /// of them is due. Where they are streams each has a place and a due time of its own, and what is left is for the
    /// places that come next.
    #[cold]
    fn hand_over_rest(&mut self, first: Departure) {
        while self.dispatch.author.has_more()
            && let Some(next) = self.dispatch.another(first)
        {
            self.hand_over_made(next);
        }
        self.dispatch.author.drop_more();
    }

    /// The books of a connection that was handed a request.
    #[inline]
    fn handed_over(&mut self, departure: Departure) {
        let key = departure.connection;
        if self.pool[key].was_given_one(self.waits) && self.own.timeouts.idle_ns.is_some() {
            self.watch_silence(key, departure.ready_ns);
        }
    }

    /// Writes what the session has to write, as far as the kernel takes it.
    pub(super) fn flush(&mut self, key: Key, now_ns: u64) {
        let (session_ns, transport) = (self.session_ns(now_ns), self.transport(key));
        let mut share = SHARE_BYTES;
        loop {
            let connection = &mut self.pool[key];
            let Some(session) = &mut connection.session else { return };
            let mut slices = [IoSlice::new(&[]); SLICES];
            let transmit = session.poll_transmit(session_ns, &mut slices);
            if transmit.slices == 0 {
                // What it has to say may have to wait for a time.
                if transport == Transport::Datagrams {
                    self.watch_timeout(key);
                }
                return;
            }
            let slices = transmit.of(&slices);
            let offered: usize = slices.iter().map(|slice| slice.len()).sum();
            let at_ns = self.reactor.now_ns();
            let sent = match transport {
                Transport::Stream => self.reactor.send(key, slices),
                Transport::Datagrams => {
                    let segments = Segments::of(transmit);
                    let sent = self.reactor.send_datagrams(key, slices, segments);
                    self.books.recorder.datagrams_sent(segments.sent(&sent));
                    sent
                }
            };
            self.turn.spend(offered);
            if !self.went(key, sent, offered, at_ns) || !transmit.more {
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
            Sent::Queued => {
                let (books, batch) = (&mut self.books, &mut self.batch);
                books.recorder.bytes_sent(offered as u64);
                let has_word =
                    session.handle_transmitted(at_ns + self.shift_ns, offered, &mut |id| {
                        books.sent(id, at_ns);
                        batch.hold(id, at_ns);
                    });
                connection.blocked = false;
                self.queued(at_ns);
                if has_word {
                    self.poll_events(key, at_ns);
                }
            }
            Sent::Written(bytes) => {
                let books = &mut self.books;
                books.recorder.bytes_sent(bytes as u64);
                let kernel = &mut self.kernel;
                let end = match self.reactor.has_stamps() {
                    true => self.reactor.stamps(key).map_or(0, |log| log.position()),
                    false => 0,
                };
                let session_ns = at_ns + self.shift_ns;
                let has_word = session.handle_transmitted(session_ns, bytes, &mut |id| {
                    books.sent(id, at_ns);
                    if self.reactor.has_stamps() {
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
        let is_blocked = self.pool[key].blocked;
        if is_blocked {
            self.watch_stuck(key, at_ns);
        }
        !is_blocked
    }

    /// A connection broke as it was written to. What the server said before is still there to be
    /// read, and it comes first: a response followed by a close is a response.
    #[cold]
    fn lose_while_sending(&mut self, key: Key, failure: crate::reactor::IoFailure, at_ns: u64) {
        // This looks for input without a wait, for other connections too: what comes may be a response
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
        if self.own_connections() && self.is_live(key) && !self.pool[key].blocked {
            self.offer_places(key, now_ns);
        }
    }
}
