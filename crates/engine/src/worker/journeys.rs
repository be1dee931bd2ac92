//! What a worker does for users: sends their steps, and tells them what became of them.

use candor_protocol::{Outgoing, Protocol};

use super::Worker;
use super::dispatch::Next;
use crate::books::Departure;
use crate::reactor::Reactor;

/// Steps and users shed before the loop goes round.
const SHED_AT_ONCE: u32 = 4096;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Sends every step that is due, each by itself, with a time of its own.
    pub(super) fn dispatch_users(&mut self, now_ns: u64) {
        self.tell_users();
        self.close_let_go(now_ns);
        let mut shed = 0;
        while !self.has_more {
            let recorder = &mut self.books.recorder;
            match self.dispatch.next_of_users(now_ns, &mut self.pool, recorder) {
                Next::Send(departure) => {
                    if !self.hand_over_step(departure) {
                        return;
                    }
                    self.flush(departure.connection, now_ns);
                }
                Next::Shed(one) => {
                    self.books.shed(one, now_ns);
                    shed += 1;
                    self.has_more = shed == SHED_AT_ONCE;
                }
                Next::NoPlace => return self.open_for_backlog(now_ns),
                Next::Nothing => {
                    // A condition may need a row of data.
                    self.data_failed |=
                        self.dispatch.users().is_some_and(|users| users.has_failed());
                    return;
                }
                Next::Later => self.has_more = true,
            }
        }
    }

    /// Gives a step to its connection's session. False: a row of data cannot be read, and nothing more is sent.
    fn hand_over_step(&mut self, departure: Departure) -> bool {
        let connection = &mut self.pool[departure.connection];
        let Some(session) = &mut connection.session else { return true };
        let Some(users) = self.dispatch.users() else { return true };
        let made = match users.is_made(departure.request) {
            false => None,
            true => match users.make(departure.user) {
                None => {
                    self.data_failed = true;
                    return false;
                }
                made => made,
            },
        };
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(
            id,
            match &made {
                None => Outgoing::Listed(departure.request),
                Some(made) => Outgoing::Made(made),
            },
        );
        connection.offered -= 1;
        self.handed_over(departure);
        true
    }

    /// Tells users what became of their steps, other than by a response.
    pub(super) fn tell_users(&mut self) {
        if !self.books.ended.is_empty() {
            self.tell_all();
        }
    }

    #[cold]
    fn tell_all(&mut self) {
        let Some(users) = self.dispatch.users() else { return };
        // The list keeps its memory.
        let mut ended = std::mem::take(&mut self.books.ended);
        for one in ended.drain(..) {
            users.ended(one, &mut self.books.recorder);
        }
        self.books.ended = ended;
    }
}
