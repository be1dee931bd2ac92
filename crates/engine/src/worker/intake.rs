//! Receiving: from bytes to outcomes, and the next request straight after.

use candor_protocol::{Event, Failure, GoAway, Session};
use candor_record::ErrorKind;

use super::Worker;
use super::connect::{Loss, words};
use super::turn::{LEAST_BYTES, SHARE_BYTES};
use crate::connection::State;
use crate::reactor::{Key, Reactor, Ready, Received};
use crate::source::Source;

/// What a piece of input came to.
struct Intake {
    /// Requests that have their outcome.
    freed: u32,
    /// One of them was answered.
    answered: bool,
    /// The handshake of TLS ended.
    secured: bool,
    /// The handshake ended.
    ready: bool,
    /// There may be more places than before, without an answer.
    places: bool,
    /// The server asked for a body that was held back.
    continues: bool,
    /// The server ends the connection after the last of them.
    last: bool,
    /// The session is dead.
    broken: Option<Loss>,
    at_ns: u64,
    bytes: usize,
    more: bool,
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Something can be done on a connection.
    #[inline]
    pub(super) fn handle(&mut self, ready: Ready) {
        let Ready { key, readable, writable, ended } = ready;
        if self.connections[key as usize].postponed.is_some() {
            return self.postpone(ready);
        }
        if let State::Connecting { since_ns } = self.connections[key as usize].state {
            if writable || ended {
                self.finish_connect(key, since_ns);
            }
            match self.connections[key as usize].state {
                State::Open => {
                    let now_ns = self.reactor.now_ns();
                    self.dispatch(now_ns);
                    self.speak_unasked(key);
                }
                State::Handshaking { .. } => {}
                State::Absent | State::Connecting { .. } => return,
            }
        }
        if writable && self.connections[key as usize].blocked {
            self.unblock(key);
        }
        if readable && self.is_live(key) {
            self.receive_all(key, ended);
        }
    }

    /// Whether there is a session that bytes can be given to.
    #[inline]
    fn is_live(&self, key: Key) -> bool {
        matches!(self.connections[key as usize].state, State::Open | State::Handshaking { .. })
    }

    /// Whether a request was answered before it was sent in full.
    fn is_cut_short(&self, key: Key) -> bool {
        self.connections[key as usize].session.as_ref().is_some_and(S::is_cut_short)
    }

    /// Writes what the protocol has to say by itself.
    #[inline]
    fn speak_unasked(&mut self, key: Key) {
        if S::SPEAKS_UNASKED && self.is_live(key) && !self.connections[key as usize].blocked {
            self.flush(key);
        }
    }

    /// Reads what is there, up to the connection's share, and sends what can be sent then.
    pub(super) fn receive_all(&mut self, key: Key, ended: bool) {
        let mut share = SHARE_BYTES;
        loop {
            let Some(intake) = self.receive_piece(key) else { return self.speak_unasked(key) };
            let Intake { freed, secured, ready, places, continues, last, broken, .. } = intake;
            let Intake { at_ns, bytes, more, .. } = intake;
            if secured {
                self.secured(key, at_ns);
            }
            if ready {
                self.establish(key, at_ns);
            }
            if let Some(loss) = broken {
                self.lose(key, loss, at_ns);
            } else if last {
                let by_us = self.own.stops && self.is_cut_short(key);
                self.lose(key, if by_us { Loss::Retired } else { Loss::Announced }, at_ns);
            } else if freed > 0 || places {
                self.answered(key, at_ns);
            }
            if continues && self.is_live(key) {
                self.continued(key);
            }
            // What a full read of HTTP/1.1 has left behind answers nothing that is sent from now on:
            // it is read first. That takes one more read, because it is an error.
            let is_owed = S::SPEAKS_UNASKED || self.connections[key as usize].outstanding > 0;
            if !more || is_owed {
                self.dispatch(at_ns);
            }
            if !(more || ended) || !self.is_live(key) {
                return self.speak_unasked(key);
            }
            share = share.saturating_sub(bytes.max(LEAST_BYTES));
            if share == 0 && is_owed {
                self.postpone(Ready { key, readable: true, writable: false, ended });
                return self.speak_unasked(key);
            }
        }
    }

    /// Reads once and gives it to the session; `None`: there was nothing, or the connection is
    /// gone.
    fn receive_piece(&mut self, key: Key) -> Option<Intake> {
        let connection = &mut self.connections[key as usize];
        let session = connection.session.as_mut()?;
        let (bytes, at_ns, more) = match self.reactor.receive(key) {
            Received::Bytes { bytes, at_ns, more } => (bytes, at_ns, more),
            Received::Nothing => return None,
            Received::End { at_ns } => {
                self.lose(key, Loss::End, at_ns);
                self.dispatch(at_ns);
                return None;
            }
            Received::Failed { error, at_ns } => {
                self.lose(key, Loss::Failed(error), at_ns);
                self.dispatch(at_ns);
                return None;
            }
        };
        let books = &mut self.books;
        books.recorder.bytes_received(bytes.len() as u64);
        let mut intake = Intake {
            freed: 0,
            answered: false,
            secured: false,
            ready: false,
            places: false,
            continues: false,
            last: false,
            broken: None,
            at_ns,
            bytes: bytes.len(),
            more,
        };
        self.turn.spend(bytes.len());
        let mut input = bytes;
        let mut answered = None;
        // They were there when the last wait ended, and its requests left after that.
        let is_early = !S::SPEAKS_UNASKED
            && connection.outstanding > 0
            && connection.asked_after == self.waits;
        if is_early {
            input = &[];
            let reason = "the server responded before the request was sent".into();
            intake.broken = Some(Loss::Malformed { id: connection.flights.first(), reason });
        }
        while let Some(event) = session.handle_input(&mut input) {
            match event {
                Event::FirstByte(id) => books.first_byte(id, at_ns),
                Event::Done(answer) => {
                    if R::STAMPS {
                        let this = self.kernel.answered(&answer, books);
                        self.kernel.passed_over(std::mem::replace(&mut answered, this));
                    }
                    books.complete(&answer, &mut connection.flights, at_ns);
                    if let Some(script) = &mut self.script
                        && script.answer(answer.status, session)
                    {
                        self.own.stop_ns = Some(0);
                    }
                    connection.outstanding -= 1;
                    connection.answered += u64::from(at_ns >= self.own.warm_up_ns);
                    intake.freed += 1;
                    intake.answered = true;
                    if answer.last {
                        intake.last = true;
                        break;
                    }
                }
                Event::RequestFailed { id, failure } => {
                    let (kind, reason) = words(&failure);
                    books.fail(id, &mut connection.flights, kind, at_ns, &reason);
                    connection.outstanding -= 1;
                    intake.freed += 1;
                }
                Event::Secured => intake.secured = true,
                Event::Ready => intake.ready = true,
                Event::Places => intake.places = true,
                Event::Continue => intake.continues = true,
                Event::GoAway(GoAway { code, last_stream }) => {
                    books.recorder.goaway(at_ns, code, last_stream);
                }
                Event::End => {
                    intake.broken = Some(Loss::End);
                    break;
                }
                Event::Over => {
                    intake.last = true;
                    break;
                }
                Event::Failed { id, failure } => {
                    intake.broken = Some(broken(id, &failure));
                    break;
                }
            }
        }
        let ends_here = input.is_empty();
        if R::STAMPS {
            match (answered, self.reactor.stamps(key)) {
                (Some(answered), Some(log)) if ends_here => {
                    self.kernel.ended_read(&answered, log, at_ns);
                }
                (answered, _) => self.kernel.passed_over(answered),
            }
        }
        if intake.answered {
            connection.fruitless = 0;
        }
        if self.own.timeouts.idle_ns.is_some() {
            connection.last_byte_ns = at_ns;
            self.awaiting_links.remove(&mut self.awaiting, key);
            if connection.outstanding > 0 {
                self.awaiting_links.push(&mut self.awaiting, key);
            }
        }
        Some(intake)
    }

    /// Outcomes came: their places are free, or the connection has done its share.
    ///
    /// In a closed load a pipelined batch leaves in one write, and the next one when the last
    /// answer of it has come, so that a batch stays a batch.
    #[inline]
    pub(super) fn answered(&mut self, key: Key, at_ns: u64) {
        let connection = &self.connections[key as usize];
        if connection.taken >= self.own.requests_per_connection {
            if connection.outstanding == 0 {
                self.lose(key, Loss::Retired, at_ns);
            }
            return;
        }
        let waits_for_batch = matches!(self.source, Source::Closed(_))
            && connection.outstanding > 0
            && !connection.session.as_ref().is_some_and(S::multiplexes);
        if !waits_for_batch {
            self.offer_slots(key, self.free_places(key), at_ns);
        }
    }
}

#[cold]
fn broken(id: Option<u32>, failure: &Failure) -> Loss {
    let (kind, reason) = words(failure);
    match (kind, id) {
        (ErrorKind::BodyLimit, Some(id)) => Loss::TooLarge { id, reason },
        _ => Loss::Malformed { id, reason },
    }
}
