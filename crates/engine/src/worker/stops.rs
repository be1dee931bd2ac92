//! Requests that stop on their way: when they go on, and what becomes of those that do not.
//!
//! A session says what a request waits for that was written in part ([`Hold`]); here it is told when
//! the time is over. Pieces are due by the time of the first one, so that lateness does not add up;
//! a body that waits for a 100 waits for as long as every other. Everything here is behind one look
//! at whether the plan has such requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use candor_protocol::{Hold, Session};

use super::Worker;
use super::connect::Loss;
use crate::chain::{Chain, Links};
use crate::reactor::{Key, Reactor};

/// Connections with a request that goes on later.
#[derive(Debug, Default)]
pub(super) struct Stops {
    /// When the next piece leaves, on which connection and generation of it.
    due: BinaryHeap<Reverse<(u64, Key, u32)>>,
    /// Those that wait for a 100, the one that waits longest first.
    waiting: Chain,
    links: Links,
}

impl Stops {
    /// For connections with keys below `keys`.
    pub(super) fn new(keys: usize) -> Self {
        let mut stops = Stops { due: BinaryHeap::with_capacity(keys), ..Stops::default() };
        stops.links.grow(keys);
        stops
    }
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Everything that may be written now was: notes what the rest waits for, if there is any.
    pub(super) fn take_hold(&mut self, key: Key) {
        let connection = &mut self.connections[key as usize];
        match connection.session.as_mut().and_then(S::take_hold) {
            None => {}
            Some(Hold::Due { id, after_ns }) => {
                let due_ns = self.books.sent_ns(id).saturating_add(after_ns);
                self.stops.due.push(Reverse((due_ns, key, connection.generation)));
            }
            Some(Hold::Continue { wait_ns }) => {
                connection.hold_until_ns = self.reactor.now_ns().saturating_add(wait_ns);
                self.stops.links.push(&mut self.stops.waiting, key);
            }
            Some(Hold::BrokenOff) => self.break_off(key),
        }
    }

    /// The 100 came: what it was asked for leaves.
    pub(super) fn continued(&mut self, key: Key) {
        self.forget_hold(key);
        if !self.connections[key as usize].blocked {
            self.flush(key);
        }
    }

    /// The connection waits for no 100 any more.
    pub(super) fn forget_hold(&mut self, key: Key) {
        self.stops.links.remove(&mut self.stops.waiting, key);
    }

    /// Lets everything go on whose time has come.
    pub(super) fn lift_stops(&mut self, now_ns: u64) {
        while let Some(Reverse((due_ns, key, generation))) = self.stops.due.peek().copied()
            && due_ns <= now_ns
        {
            self.stops.due.pop();
            // Another connection of this key knows nothing of it.
            if self.connections[key as usize].generation == generation {
                self.go_on(key);
            }
        }
        while let Some(key) = self.stops.waiting.first()
            && self.connections[key as usize].hold_until_ns <= now_ns
        {
            self.forget_hold(key);
            self.go_on(key);
        }
    }

    /// When something goes on by itself.
    pub(super) fn next_stop_ns(&self) -> u64 {
        let due_ns = self.stops.due.peek().map(|Reverse((due_ns, ..))| *due_ns);
        let first = self.stops.waiting.first();
        let waiting_ns = first.map(|key| self.connections[key as usize].hold_until_ns);
        due_ns.into_iter().chain(waiting_ns).min().unwrap_or(u64::MAX)
    }

    fn go_on(&mut self, key: Key) {
        let connection = &mut self.connections[key as usize];
        let Some(session) = &mut connection.session else { return };
        session.handle_hold_over();
        if !connection.blocked {
            self.flush(key);
        }
    }

    /// No more of the request is sent, and the server is told so. What it has to say to that is heard,
    /// for as long as a request may take; then we are gone.
    ///
    /// A protocol with a goodbye has no half of a connection to end: there, what has come by now is
    /// heard, and no more.
    fn break_off(&mut self, key: Key) {
        if !S::SPEAKS_UNASKED {
            return self.reactor.end_sending(key);
        }
        let generation = self.connections[key as usize].generation;
        self.receive_all(key, false);
        if self.connections[key as usize].generation == generation {
            let now_ns = self.reactor.now_ns();
            self.lose(key, Loss::BrokenOff, now_ns);
        }
    }
}
