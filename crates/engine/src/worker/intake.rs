//! Receiving: from bytes to outcomes, and the next request straight after.

use candor_protocol::{Input, Protocol, Session, Transport};

use super::Worker;
use super::connect::Loss;
use super::connection::State;
use super::events::{Applying, CameTo};
use super::turn::LEAST_BYTES;
use crate::reactor::{Key, Reactor, Ready, Received, Segments};

/// Reads of datagrams after which places that are free get their requests, though more may be there.
const READS_AT_ONCE: u32 = 16;

/// A piece of input that was handled.
struct Intake {
    came_to: CameTo,
    at_ns: u64,
    bytes: usize,
    more: bool,
}

impl Applying<'_> {
    /// Gives `input` to the session and applies its events. Whether it took all.
    #[inline(always)]
    fn take_in(&mut self, mut input: Input<'_>, now_ns: u64, session: &mut impl Session) -> bool {
        while let Some(event) = session.handle_input(now_ns, &mut input) {
            if !self.apply(event, session) {
                break;
            }
        }
        input.bytes().is_empty()
    }

    /// The same for datagrams that the kernel put together, one after the other, until one of them ends
    /// the connection.
    fn take_in_all(
        &mut self,
        bytes: &[u8],
        segments: Segments,
        now_ns: u64,
        session: &mut impl Session,
    ) -> bool {
        let ecn = segments.ecn;
        let count = segments.count(bytes.len());
        let congested = if ecn == Segments::CONGESTED { count } else { 0 };
        self.books.recorder.datagrams_received(count, congested);
        for bytes in segments.split(bytes) {
            self.take_in(Input::Datagram { bytes, ecn }, now_ns, session);
            if self.came_to.loss.is_some() {
                return false;
            }
        }
        true
    }
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Something can be done on a connection.
    #[inline]
    pub(super) fn handle(&mut self, ready: Ready) {
        let Ready { key, readable, writable, ended } = ready;
        if self.pool[key].postponed.is_some() {
            return self.postpone(ready);
        }
        if let State::Connecting { since_ns } = self.pool[key].state {
            if writable || ended {
                self.finish_connect(key, since_ns);
            }
            match self.pool[key].state {
                State::Open => {
                    let now_ns = self.reactor.now_ns();
                    self.dispatch(now_ns);
                    self.speak_unasked(key, now_ns);
                }
                State::Handshaking { .. } => {}
                State::Absent | State::Connecting { .. } => return,
            }
        }
        if writable && self.pool[key].blocked {
            self.unblock(key);
        }
        if readable && self.is_live(key) {
            self.receive_all(key, ended);
        }
    }

    /// What carries a connection. Known to the compiler where the protocol is.
    #[inline(always)]
    pub(super) fn transport(&self, key: Key) -> Transport {
        if S::VARIES {
            self.own.transports[usize::from(self.pool[key].target)]
        } else {
            S::TRANSPORT
        }
    }

    /// Whether the connection's protocol has things to say that no request asked for.
    #[inline]
    pub(super) fn speaks_unasked(&self, key: Key) -> bool {
        self.pool[key].session.as_ref().is_some_and(S::speaks_unasked)
    }

    /// Writes what the protocol has to say by itself.
    #[inline]
    fn speak_unasked(&mut self, key: Key, now_ns: u64) {
        if self.speaks_unasked(key) && self.is_live(key) && !self.pool[key].blocked {
            self.flush(key, now_ns);
        }
    }

    /// Reads what is there, up to the connection's share, and sends what can be sent then.
    pub(super) fn receive_all(&mut self, key: Key, ended: bool) {
        let mut share = self.pool[key].share_bytes;
        let (mut reads, mut held_ns) = (1, None);
        loop {
            let begun_ns = self.begin_read(key);
            let Some(intake) = self.receive_piece(key) else {
                self.end_read(key, 0, begun_ns);
                if let Some(held_ns) = held_ns {
                    self.dispatch(held_ns);
                }
                let now_ns = if self.speaks_unasked(key) { self.reactor.now_ns() } else { 0 };
                return self.speak_unasked(key, now_ns);
            };
            let Intake { came_to, at_ns, bytes, more } = intake;
            self.end_read(key, bytes, begun_ns);
            self.follow_up(key, came_to, at_ns);
            // What a full read of HTTP/1.1 has left behind answers nothing that is sent from now on:
            // it is read first. That takes one more read, because it is an error.
            let is_owed = self.speaks_unasked(key) || self.pool[key].account.outstanding > 0;
            let left = share.saturating_sub(bytes.max(LEAST_BYTES));
            if self.may_hold(key) && more && left > 0 && reads < READS_AT_ONCE {
                (share, reads, held_ns) = (left, reads + 1, Some(at_ns));
                continue;
            }
            if !more || is_owed {
                (reads, held_ns) = (1, None);
                self.dispatch(at_ns);
            }
            if !(more || ended) || !self.is_live(key) {
                return self.speak_unasked(key, at_ns);
            }
            share = left;
            if share == 0 && is_owed {
                self.postpone(Ready { key, readable: true, writable: false, ended });
                return self.speak_unasked(key, at_ns);
            }
        }
    }

    /// Whether the places that responses have left on a connection may wait for a further read. A response that is a
    /// datagram of its own would else be followed by a request that is one, too.
    #[inline(always)]
    fn may_hold(&self, key: Key) -> bool {
        self.transport(key) == Transport::Datagrams
            && self.dispatch.is_closed()
            && self.pool[key].account.outstanding > 0
            && self.is_live(key)
    }

    /// Reads once and gives it to the session; `None`: there was nothing, or the connection is
    /// gone.
    fn receive_piece(&mut self, key: Key) -> Option<Intake> {
        let transport = self.transport(key);
        let connection = &mut self.pool[key];
        let session = connection.session.as_mut()?;
        let has_stamps = self.reactor.has_stamps();
        let (received, segments) = match transport {
            Transport::Stream => (self.reactor.receive(key), Segments::default()),
            Transport::Datagrams => self.reactor.receive_datagrams(key),
        };
        let (bytes, at_ns, more) = match received {
            Received::Bytes { bytes, at_ns, more } => (bytes, at_ns, more),
            Received::Nothing => return None,
            Received::End { at_ns } => {
                if self.reactor.dozes() && connection.account.outstanding > 0 {
                    self.reactor.wake_for_ends();
                }
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
        self.books.recorder.bytes_received(bytes.len() as u64);
        self.turn.spend(bytes.len());
        // They were there when the last wait ended, and its requests left after that.
        let is_early = !session.speaks_unasked()
            && connection.account.outstanding > 0
            && connection.asked_after == self.waits;
        let mut applying = Applying {
            books: &mut self.books,
            account: &mut connection.account,
            author: &mut self.dispatch.author,
            kernel: if has_stamps { Some(&mut self.kernel) } else { None },
            answered: None,
            at_ns,
            #[cfg(candor_mutant = "late_parts")]
            begun: std::time::Instant::now(),
            warm_up_ns: self.own.warm_up_ns,
            is_ending: false,
            came_to: CameTo::default(),
        };
        if is_early {
            let reason = "the server responded before the request was sent".into();
            let id = applying.account.flights.first();
            applying.came_to.loss = Some(Loss::Malformed { id, reason });
        }
        let session_ns = at_ns + self.shift_ns;
        let ends_here = match transport {
            Transport::Stream => {
                let input = Input::Stream(if is_early { &[] } else { bytes });
                applying.take_in(input, session_ns, session)
            }
            Transport::Datagrams => applying.take_in_all(bytes, segments, session_ns, session),
        };
        let Applying { came_to, answered, .. } = applying;
        let length = bytes.len();
        let at_ns = match self.reactor.dozes() {
            false => at_ns,
            // What follows happens now.
            true => {
                let now_ns = self.reactor.now_ns();
                if came_to.freed {
                    self.kernel.read(at_ns, now_ns);
                }
                now_ns
            }
        };
        if came_to.stops {
            self.dispatch.stop();
        }
        if has_stamps {
            match (answered, self.reactor.stamps(key)) {
                (Some(answered), Some(log)) if ends_here => {
                    self.kernel.ended_read(&answered, log, at_ns);
                }
                (answered, _) => self.kernel.passed_over(answered),
            }
        }
        connection.last_byte_ns = at_ns;
        Some(Intake { came_to, at_ns, bytes: length, more })
    }

    /// Outcomes came: their places are free, or the connection has done its share.
    ///
    /// In a closed load a pipelined batch leaves in one write, and the next one when the last
    /// response of it has come, so that a batch stays a batch.
    #[inline(always)]
    pub(super) fn answered(&mut self, key: Key, at_ns: u64) {
        let connection = &self.pool[key];
        if connection.taken >= self.own.requests_per_connection {
            if connection.account.outstanding == 0 {
                self.lose(key, Loss::Retired, at_ns);
            }
            return;
        }
        let waits_for_batch = self.dispatch.is_closed()
            && connection.account.outstanding > 0
            && !connection.account.abilities.multiplexes;
        if !waits_for_batch {
            self.offer_places(key, at_ns);
        }
    }
}
