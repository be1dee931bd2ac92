//! Events of sessions, and what each of them means: the only place where they are interpreted.
//!
//! [`Applying`] enters outcomes into the books as events come, whether from input or without. What
//! else they ask for ([`CameTo`]) is done when the session has said everything, because it may end
//! the session.

use candor_protocol::{Event, Failure, GoAway, HeaderBytes, Last, Protocol, Session};
use candor_record::{ErrorKind, Handshake};

use super::Worker;
use super::connect::Loss;
use super::connection::{Account, State};
use super::kernel::{Answered, KernelBooks};
use crate::author::Author;
use crate::books::{Books, Came};
use crate::reactor::{IoFailure, Key, Reactor};

/// What events ask for, beside what is in the books already.
#[derive(Default)]
pub(super) struct CameTo {
    /// Requests have their outcome.
    pub(super) freed: bool,
    /// One of them failed.
    pub(super) failed: bool,
    /// The connection can take requests from now on.
    pub(super) ready: bool,
    /// Places, bytes to write or the timeout changed without a response.
    pub(super) changed: bool,
    /// A request is not written any further.
    pub(super) breaks_off: bool,
    /// The script asked for the end of the run.
    pub(super) stops: bool,
    /// The connection is over.
    pub(super) loss: Option<Loss>,
}

/// Events of one connection being applied, at one time.
pub(super) struct Applying<'a> {
    pub(super) books: &'a mut Books,
    pub(super) account: &'a mut Account,
    pub(super) author: &'a mut Author,
    /// For reactors with stamps alone.
    pub(super) kernel: Option<&'a mut KernelBooks>,
    /// The response that ended last, for stamps.
    pub(super) answered: Option<Answered>,
    pub(super) at_ns: u64,
    #[cfg(candor_mutant = "late_parts")]
    pub(super) begun: std::time::Instant,
    pub(super) warm_up_ns: u64,
    /// The peer sends nothing more: a failure is the request's, as the connection is over anyway.
    pub(super) is_ending: bool,
    pub(super) came_to: CameTo,
}

impl Applying<'_> {
    /// Applies one event. False: the session is not asked for more.
    #[inline(always)]
    pub(super) fn apply(&mut self, event: Event, session: &mut impl Session) -> bool {
        let at_ns = self.at_ns;
        match event {
            Event::FirstByte(id) => self.books.first_byte(id, at_ns),
            Event::Done(answer) => {
                if let Some(kernel) = &mut self.kernel {
                    let this = kernel.answered(&answer, self.books);
                    kernel.passed_over(std::mem::replace(&mut self.answered, this));
                }
                let (chain, author) = (&mut self.account.flights, &mut *self.author);
                self.books.complete(&answer, Came { chain, author, session: Some(session), at_ns });
                self.came_to.stops |= self.author.hears() && self.author.end().is_some();
                self.account.outstanding -= 1;
                self.account.answered += u64::from(at_ns >= self.warm_up_ns);
                self.account.fruitless = 0;
                self.came_to.freed = true;
                if answer.last != Last::No {
                    let by_us = answer.last == Last::ByUs;
                    self.came_to.loss = Some(if by_us { Loss::Retired } else { Loss::Announced });
                    return self.is_ending;
                }
            }
            event => return self.apply_rare(event),
        }
        true
    }

    #[cold]
    fn apply_rare(&mut self, event: Event) -> bool {
        let at_ns = self.at_ns;
        match event {
            Event::FirstByte(_) | Event::Done(_) => {}
            Event::RequestFailed { id, failure } => self.fail(id, &failure),
            Event::Failed { id: Some(id), failure } if self.is_ending => {
                let is_end = matches!(failure, Failure::Closed | Failure::Truncated);
                if is_end && self.account.broken_off {
                    self.books.break_off(id, None, self.account.came(self.author, at_ns));
                    self.account.outstanding -= 1;
                    self.account.fruitless = 0;
                } else {
                    self.fail(id, &failure);
                }
            }
            Event::Failed { id, failure } => {
                self.came_to.loss = Some(broken(id, &failure));
                return false;
            }
            Event::Ready(abilities) => {
                self.account.abilities = abilities;
                self.came_to.ready = true;
            }
            Event::Secured(handshake) => self.secured(&handshake),
            Event::Part(part) => {
                // The control of verify's streams: the time at which a part was understood.
                #[cfg(candor_mutant = "late_parts")]
                let at_ns = at_ns + self.begun.elapsed().as_nanos() as u64;
                self.books.parts(&part, at_ns);
            }
            Event::Tokens { id, output, input } => self.books.tokens(id, output, input),
            Event::Blocked { id, by } => self.books.blocked(id, by),
            Event::Changed => self.came_to.changed = true,
            Event::BrokenOff => {
                self.account.broken_off = true;
                self.came_to.breaks_off = true;
            }
            Event::GoAway(GoAway { code, last_stream }) => {
                self.books.recorder.goaway(at_ns, code, last_stream);
            }
            Event::CloseFrame(told) => {
                self.books.recorder.close_frame(at_ns, told.code, &told.reason);
            }
            Event::HeaderBytes(HeaderBytes { received, decoded }) => {
                self.books.recorder.header_bytes(received, decoded);
            }
            Event::Path(path) => self.books.recorder.path(&path),
            Event::End => {
                self.came_to.loss = Some(Loss::End);
                return false;
            }
            Event::Over => {
                self.came_to.loss = Some(Loss::Announced);
                return false;
            }
        }
        true
    }

    fn fail(&mut self, id: u32, failure: &Failure) {
        let (kind, reason) = failure.words();
        self.books.fail(id, kind, &reason, self.account.came(self.author, self.at_ns));
        self.account.outstanding -= 1;
        self.came_to.freed = true;
        self.came_to.failed = true;
    }

    /// The handshake of TLS is over. Requests may have left before.
    fn secured(&mut self, handshake: &Handshake) {
        if let Some((since_ns, connect_ns)) = self.account.securing.take() {
            let took_ns = self.at_ns.saturating_sub(since_ns + connect_ns);
            self.books.recorder.handshake(self.at_ns, connect_ns, took_ns, handshake);
        }
    }
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Asks the session of a connection for the events that need no input, and does what they ask
    /// for.
    #[cold]
    pub(super) fn poll_events(&mut self, key: Key, at_ns: u64) {
        let came_to = self.take_events(key, at_ns, false);
        self.follow_up(key, came_to, at_ns);
        self.watch_timeout(key);
    }

    /// Applies the events that need no input.
    pub(super) fn take_events(&mut self, key: Key, at_ns: u64, is_ending: bool) -> CameTo {
        let connection = &mut self.pool[key];
        let Some(session) = &mut connection.session else { return CameTo::default() };
        let mut applying = Applying {
            books: &mut self.books,
            account: &mut connection.account,
            author: &mut self.dispatch.author,
            kernel: None,
            answered: None,
            at_ns,
            #[cfg(candor_mutant = "late_parts")]
            begun: std::time::Instant::now(),
            warm_up_ns: self.own.warm_up_ns,
            is_ending,
            came_to: CameTo::default(),
        };
        while let Some(event) = session.poll_event() {
            if !applying.apply(event, session) {
                break;
            }
        }
        let came_to = applying.came_to;
        if came_to.stops {
            self.dispatch.stop();
        }
        came_to
    }

    /// Does what events asked for.
    #[inline(always)]
    pub(super) fn follow_up(&mut self, key: Key, came_to: CameTo, at_ns: u64) {
        let CameTo { freed, ready, changed, breaks_off, loss: None, .. } = came_to else {
            return self.follow_up_rare(key, came_to, at_ns);
        };
        if ready | changed | breaks_off {
            self.follow_up_rare(key, came_to, at_ns);
        } else if freed {
            self.answered(key, at_ns);
        }
    }

    #[cold]
    fn follow_up_rare(&mut self, key: Key, came_to: CameTo, at_ns: u64) {
        let CameTo { freed, ready, changed, breaks_off, loss, .. } = came_to;
        if ready {
            self.establish(key, at_ns);
        }
        if let Some(loss) = loss {
            return self.lose(key, loss, at_ns);
        }
        if freed || changed {
            self.answered(key, at_ns);
        }
        if breaks_off {
            self.break_off(key);
        }
        if changed {
            self.watch_timeout(key);
            if self.is_live(key) && self.pool[key].takes_none() {
                self.watch_stuck(key, at_ns);
            }
            if self.is_live(key) && !self.pool[key].blocked {
                self.flush(key, at_ns);
            }
        }
    }

    /// Whether there is a session that bytes can be given to.
    #[inline]
    pub(super) fn is_live(&self, key: Key) -> bool {
        matches!(self.pool[key].state, State::Open | State::Handshaking { .. })
    }

    /// No more of a request is sent, and the server is told so. What it has to say to that is heard,
    /// for as long as a request may take; then we are gone.
    ///
    /// A protocol with a goodbye has no half of a connection to end: there, what has come by now is
    /// heard, and no more.
    fn break_off(&mut self, key: Key) {
        if !self.speaks_unasked(key) {
            return self.reactor.end_sending(key);
        }
        let generation = self.pool[key].generation;
        self.receive_all(key, false);
        if self.pool[key].generation == generation {
            let now_ns = self.reactor.now_ns();
            self.lose(key, Loss::BrokenOff, now_ns);
        }
    }
}

#[cold]
fn broken(id: Option<u32>, failure: &Failure) -> Loss {
    let (kind, reason) = failure.words();
    match (kind, id) {
        (ErrorKind::BodyLimit, Some(id)) => Loss::TooLarge { id, reason },
        (ErrorKind::Reset, _) => {
            let message = reason.words.into_string();
            Loss::Failed(IoFailure { reset: true, refused: false, message })
        }
        _ => Loss::Malformed { id, reason },
    }
}
