//! Making and losing connections.
//!
//! A connection that ends is replaced, for as long as the run sends. Nothing is sent twice: what
//! was in flight on it has failed, by a kind that says how the connection ended.

use std::io::IoSlice;

use candor_plan::HaproxyProtocol;
use candor_plan::units::fmt_duration_ns;
use candor_protocol::{Event, Failure, Protocol, Transport, haproxy};
use candor_record::{Cause, ConnectErrorKind, Disconnect, ErrorKind, LossKind, Reason};

use super::connection::{SHARE_BYTES, State};
use super::timers::{Timer, Watch};
use super::{Stage, Worker};
use crate::author::Author;
use crate::author::users::Users;
use crate::load::Source;
use crate::reactor::{ConnectCause, ConnectFailure, IoFailure, Key, Reactor, Segments, Sent};

/// Writes of datagrams for the last words of a session.
const MOST_LAST_WORDS: usize = 4;

/// Why an established connection is given up.
pub(super) enum Loss {
    /// The peer ended it.
    End,
    /// The system reports an error.
    Failed(IoFailure),
    /// What came is not HTTP; the request it happened to, if any, and why.
    Malformed { id: Option<u32>, reason: Reason },
    /// The response to this request is more than is kept for the script.
    TooLarge { id: u32, reason: Reason },
    /// This request took too long.
    Timeout { id: u32 },
    /// Nothing came for too long.
    IdleTimeout,
    /// The response that just ended was the last one by the server's word.
    Announced,
    /// Its share of requests is used up.
    Retired,
    /// It is as old as connections may become.
    Old,
    /// Its request was broken off, and nothing more is awaited.
    BrokenOff,
    /// It took no request for as long as one may take.
    Stuck,
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Begins to connect.
    pub(super) fn open(&mut self, key: Key) {
        let now_ns = self.reactor.now_ns();
        let to = self.pool.next_route(key, now_ns);
        if let Some(addresses) = &mut self.books.addresses {
            addresses.goes(key, to);
        }
        match self.reactor.connect(key, to) {
            Ok(()) => {
                self.pool.begin(key, now_ns);
                self.check_connecting(key, now_ns);
            }
            Err(failure) => self.connect_failed(key, failure, now_ns),
        }
    }

    /// Makes the connections that wait for it.
    pub(super) fn open_waiting(&mut self, now_ns: u64) {
        while let Some(key) = self.pool.next_to_open(now_ns) {
            self.open(key);
        }
    }

    /// A connection attempt is writable: it has succeeded or failed.
    pub(super) fn finish_connect(&mut self, key: Key, since_ns: u64) {
        let outcome = self.reactor.finish_connect(key);
        let now_ns = self.reactor.now_ns();
        match outcome {
            Ok(false) => {}
            Ok(true) => {
                if let Err(failure) = self.introduce(key) {
                    return self.connect_failed(key, failure, now_ns);
                }
                let session = (self.make_session)(self.pool[key].target);
                self.pool.tried(key, true, now_ns);
                self.pool.connected(key, since_ns, session, now_ns);
                self.poll_events(key, now_ns);
                if let State::Handshaking { .. } = self.pool[key].state {
                    self.flush(key, now_ns);
                }
            }
            Err(failure) => self.connect_failed(key, failure, now_ns),
        }
    }

    /// Says which addresses the connection has, to a target that wants to be told.
    fn introduce(&mut self, key: Key) -> Result<(), ConnectFailure> {
        let version = self.own.targets[usize::from(self.pool[key].target)].haproxy_protocol;
        if version == HaproxyProtocol::Off {
            return Ok(());
        }
        let header = haproxy::header(version, self.reactor.endpoints(key));
        let words = match self.reactor.send(key, &[IoSlice::new(&header)]) {
            Sent::Queued => None,
            Sent::Written(bytes) if bytes == header.len() => None,
            Sent::Failed(failure) => Some(failure.message),
            // A socket that has sent nothing yet has room for it.
            Sent::Written(_) | Sent::Blocked => Some("no room for a PROXY header".to_owned()),
        };
        match words {
            None => {
                self.books.recorder.bytes_sent(header.len() as u64);
                Ok(())
            }
            Some(words) => Err(self.not_connected(key, ConnectErrorKind::Handshake, words.into())),
        }
    }

    /// The handshake, if there is one, is over: the connection can take requests.
    pub(super) fn establish(&mut self, key: Key, now_ns: u64) {
        let Some(connect_ns) = self.pool.establish(key) else { return };
        self.books.recorder.connected(now_ns, connect_ns);
        if let Some(addresses) = &mut self.books.addresses {
            addresses.opened(key, now_ns);
        }
        self.pool[key].opened_ns = now_ns;
        (self.pool[key].share_bytes, self.pool[key].watched) = (SHARE_BYTES, 0);
        if let (Some(lifetime_ns), Stage::Running) = (self.own.lifetime_ns, self.stage) {
            self.timers.watch(now_ns.saturating_add(lifetime_ns), Watch::Age, key);
        }
        self.check_script(key);
        self.offer_places(key, now_ns);
        if self.pool[key].takes_none() {
            self.watch_stuck(key, now_ns);
        }
    }

    /// The connection ended before its handshake did.
    #[cold]
    fn handshake_failed(&mut self, key: Key, loss: &Loss, now_ns: u64) {
        let reason = match loss {
            Loss::Failed(failure) => failure.message.as_str().into(),
            Loss::Malformed { reason, .. } => reason.clone(),
            _ => {
                let awaited = self.awaited(key);
                let words = format!("the server closed the connection and did not send {awaited}");
                Reason { words: words.into(), cause: Some(Cause::HandshakeClosed) }
            }
        };
        self.say_goodbye(key, now_ns);
        let kind = match loss {
            Loss::Failed(failure) if failure.refused => ConnectErrorKind::Refused,
            _ => ConnectErrorKind::Handshake,
        };
        let failure = self.not_connected(key, kind, reason);
        self.connect_failed(key, failure, now_ns);
    }

    fn not_connected(&self, key: Key, kind: ConnectErrorKind, reason: Reason) -> ConnectFailure {
        let to = self.own.targets[usize::from(self.pool[key].target)].authority.clone();
        ConnectFailure { kind, to, why: ConnectCause::Other(reason) }
    }

    /// What a handshake that ends here waited for.
    fn awaited(&mut self, key: Key) -> &'static str {
        let Some(session) = &mut self.pool[key].session else { return "" };
        session.handle_end();
        std::iter::from_fn(|| session.poll_event())
            .find_map(|event| match event {
                Event::Failed { failure: Failure::NotReady(awaited), .. } => Some(awaited),
                _ => None,
            })
            .unwrap_or("the end of its handshake")
    }

    /// Lets the session say its last words, if its protocol has any and the kernel takes them.
    pub(super) fn say_goodbye(&mut self, key: Key, now_ns: u64) {
        if !self.speaks_unasked(key) {
            return;
        }
        let (session_ns, transport) = (self.session_ns(now_ns), self.transport(key));
        if let Some(session) = &mut self.pool[key].session {
            session.handle_close();
            // The last of datagrams may be shorter than those before it, and then is none of theirs.
            for _ in 0..MOST_LAST_WORDS {
                let mut slices = [IoSlice::new(&[]); 4];
                let transmit = session.poll_transmit(session_ns, &mut slices);
                let slices = transmit.of(&slices);
                if slices.is_empty() {
                    break;
                }
                // Nothing depends on it any more, so how it went does not matter.
                let _ = match transport {
                    Transport::Stream => self.reactor.send(key, slices),
                    Transport::Datagrams => {
                        self.reactor.send_datagrams(key, slices, Segments::of(transmit))
                    }
                };
                if transport == Transport::Stream {
                    break;
                }
                let bytes = slices.iter().map(|slice| slice.len()).sum();
                session.handle_transmitted(session_ns, bytes, &mut |_| ());
            }
        }
        self.take_events(key, now_ns, true);
    }

    /// Closes a connection; what the kernel dropped of it is known now.
    pub(super) fn hang_up(&mut self, key: Key) {
        match self.reactor.dropped(key) {
            0 => {}
            count => self.books.recorder.datagrams_dropped(count),
        }
        self.reactor.close(key);
    }

    fn connect_failed(&mut self, key: Key, failure: ConnectFailure, now_ns: u64) {
        self.hang_up(key);
        self.pool.leave(key);
        self.pool.tried(key, false, now_ns);
        self.pool[key].moves_on = true;
        if self.first_failure.is_none() && self.stage == Stage::Preparing {
            self.first_failure = Some(failure.clone());
        }
        if let Some(addresses) = &mut self.books.addresses
            && !failure.kind.is_local()
        {
            addresses.failed(key, now_ns);
        }
        self.books.recorder.connect_failed(now_ns, failure.kind, || failure);
        self.schedule_retry(key, now_ns, 1);
    }

    /// Tries again later, `at_least` the first step of the back-off.
    fn schedule_retry(&mut self, key: Key, now_ns: u64, at_least: u32) {
        let owner = self.pool[key].owner;
        let is_awaited = self.dispatch.users().is_some_and(|users| users.lost(owner, key));
        match self.pool.retry_ns(key, now_ns, at_least, is_awaited) {
            Some(_) if self.stage == Stage::Preparing => self.pool.open_at_beginning(key),
            Some(at_ns) if self.stage == Stage::Running || self.are_users_ending() => {
                self.timers.add(at_ns, Timer::Retry, key);
            }
            _ => {}
        }
    }

    /// An attempt took too long.
    #[cold]
    pub(super) fn give_up_connecting(&mut self, key: Key, now_ns: u64) {
        let limit = fmt_duration_ns(self.own.timeouts.connect_ns);
        let failure = match self.pool[key].state {
            State::Absent | State::Open => return,
            State::Connecting { since_ns } => {
                let limit = fmt_duration_ns(now_ns.saturating_sub(since_ns));
                let words = format!("no connection within {limit}");
                self.not_connected(key, ConnectErrorKind::Timeout, words.into())
            }
            State::Handshaking { .. } => {
                let awaited = self.awaited(key);
                let words = format!("the server did not send {awaited} within {limit}");
                let cause = Some(Cause::HandshakeSlow);
                let reason = Reason { words: words.into(), cause };
                self.not_connected(key, ConnectErrorKind::Handshake, reason)
            }
        };
        self.connect_failed(key, failure, now_ns);
    }

    /// Opens connections for requests that wait, one for each at most.
    pub(super) fn open_for_backlog(&mut self, now_ns: u64) {
        for target in 0..self.own.targets.len() as u16 {
            if !self.pool.can_open_more(target) {
                continue;
            }
            let waiting = self.dispatch.backlog_of(target, now_ns);
            while let Some(key) = self.pool.next_for_backlog(target, now_ns, waiting) {
                self.open(key);
            }
        }
    }

    /// Offers the places of a connection that were not offered yet. In a closed load its user may
    /// think first, and a script may pause.
    #[inline]
    pub(super) fn offer_places(&mut self, key: Key, since_ns: u64) {
        let think_ns = match &self.dispatch.source {
            Source::Closed(closed) if self.pool[key].taken > 0 => closed.think_ns,
            Source::Several(several) if self.pool[key].taken > 0 => several.think_ns(),
            Source::Users => return self.offer_to_users(key, since_ns),
            _ => 0,
        };
        self.offer_after(key, since_ns, think_ns);
    }

    /// The same for users, who think between their steps.
    #[inline(never)]
    fn offer_to_users(&mut self, key: Key, since_ns: u64) {
        if self.own_connections() {
            self.offer_to_owner(key, since_ns);
        } else {
            self.offer_after(key, since_ns, 0);
        }
    }

    #[inline]
    fn offer_after(&mut self, key: Key, since_ns: u64, think_ns: u64) {
        let count = self.pool.unoffered(key);
        let place = self.pool.offer(key, count, since_ns);
        if think_ns == 0 && self.dispatch.author.script().is_none() {
            return self.pool.free(place, count);
        }
        for _ in 0..count {
            let pause_ns = think_ns.saturating_add(self.script_delay_ns(key));
            if pause_ns > 0 {
                self.think(since_ns.saturating_add(pause_ns), place);
            } else {
                self.pool.free(place, 1);
            }
        }
    }

    /// Whether each user has a connection of its own.
    #[inline]
    pub(super) fn own_connections(&self) -> bool {
        matches!(&self.dispatch.author, Author::Users(users) if users.own_connections())
    }

    /// The place of a user's connection is for its user, one request at a time.
    fn offer_to_owner(&mut self, key: Key, since_ns: u64) {
        let owner = self.pool[key].owner;
        let Some(users) = self.dispatch.users() else { return };
        if users.takes_place(owner, key) && self.pool.unoffered(key) > 0 {
            users.give_place(owner, self.pool.offer(key, 1, since_ns));
        }
    }

    /// Closes the connections of users who have left.
    pub(super) fn close_let_go(&mut self, now_ns: u64) {
        while let Some(place) = self.dispatch.users().and_then(Users::take_let_go) {
            let connection = &self.pool[place.key];
            if connection.generation == place.generation && connection.state == State::Open {
                self.lose(place.key, Loss::Retired, now_ns);
            }
        }
    }

    /// Gives an established connection up: every request on it gets its outcome, and a new
    /// connection is made if the run still sends.
    #[cold]
    pub(super) fn lose(&mut self, key: Key, loss: Loss, now_ns: u64) {
        let loss = self.after_break(key, loss);
        if let State::Handshaking { .. } = self.pool[key].state {
            return self.handshake_failed(key, &loss, now_ns);
        }
        let in_order = self.settle_flights(key, &loss, now_ns);
        let broken_off = self.pool[key].account.broken_off;
        let why = match &loss {
            Loss::Retired | Loss::Old | Loss::BrokenOff => Disconnect::Retired,
            Loss::Announced => Disconnect::ByServer,
            // It followed us.
            Loss::End if broken_off => Disconnect::Retired,
            Loss::End if in_order => Disconnect::ByServer,
            Loss::End => Disconnect::Lost(LossKind::Closed),
            Loss::Failed(failure) if failure.reset => Disconnect::Lost(LossKind::Reset),
            Loss::Failed(_) => Disconnect::Lost(LossKind::Failed),
            Loss::Malformed { .. } => Disconnect::Lost(LossKind::Malformed),
            Loss::TooLarge { .. } => Disconnect::Lost(LossKind::BodyLimit),
            Loss::Timeout { .. } | Loss::IdleTimeout => Disconnect::Lost(LossKind::Timeout),
            Loss::Stuck => Disconnect::Lost(LossKind::Stuck),
        };
        if let (Disconnect::Lost(_), Some(addresses)) = (&why, &mut self.books.addresses) {
            addresses.lost(key);
        }
        let stuck = if self.pool[key].blocked {
            "the server read nothing of what was sent"
        } else {
            "the server allowed no stream"
        };
        self.books.recorder.disconnected(now_ns, why, || match loss {
            Loss::Failed(failure) => failure.message.into(),
            Loss::Stuck => stuck.into(),
            Loss::Malformed { reason, .. } | Loss::TooLarge { reason, .. } => reason,
            _ => Reason::from(""),
        });
        self.say_goodbye(key, now_ns);
        self.hang_up(key);
        self.pool.leave(key);
        if !self.own.once {
            self.schedule_retry(key, now_ns, 0);
        }
    }

    /// After a request was broken off, no response is required, in whichever way the server lets go,
    /// or does not.
    fn after_break(&self, key: Key, loss: Loss) -> Loss {
        let is_let_go = match &loss {
            Loss::Failed(failure) => failure.reset,
            Loss::Timeout { .. } | Loss::IdleTimeout | Loss::Old => true,
            _ => false,
        };
        match is_let_go && self.pool[key].account.broken_off {
            true => Loss::BrokenOff,
            false => loss,
        }
    }

    /// A connection broke whose protocol ends with a close frame: it ended without one.
    #[cold]
    fn tell_of_close(&mut self, key: Key, at_ns: u64) {
        let Some(session) = &mut self.pool[key].session else { return };
        session.handle_end();
        // All of them: requests have their outcome by the loss, and nothing of them is told again.
        while let Some(event) = session.poll_event() {
            if let Event::CloseFrame(told) = event {
                self.books.recorder.close_frame(at_ns, told.code, &told.reason);
            }
        }
    }

    /// Every request in flight on `key` gets its outcome. Returns whether none of them failed.
    fn settle_flights(&mut self, key: Key, loss: &Loss, at_ns: u64) -> bool {
        let mut in_order = true;
        if let Loss::End = loss {
            if let Some(session) = &mut self.pool[key].session {
                session.handle_end();
            }
            in_order = !self.take_events(key, at_ns, true).failed;
        }
        if let Loss::Failed(_) = loss
            && self.own.habits.ends_with_a_word
        {
            self.tell_of_close(key, at_ns);
        }
        let account = &mut self.pool[key].account;
        let author = &mut self.dispatch.author;
        if let Loss::BrokenOff = loss {
            while let Some(id) = account.flights.first() {
                self.books.break_off(id, None, account.came(author, at_ns));
            }
            account.fruitless = 0;
        }
        // That which the loss is about, if it is about one, and then all others.
        let one = match loss {
            Loss::Timeout { id } => {
                let reason = timeout_words(self.own.timeouts.request_ns);
                Some((*id, self.own.habits.expired, reason))
            }
            Loss::IdleTimeout => {
                let limit_ms = self.own.timeouts.idle_ns.unwrap_or(0) / 1_000_000;
                let reason = Reason::from(format!("no byte for {limit_ms} ms"));
                account.flights.first().map(|id| (id, ErrorKind::IdleTimeout, reason))
            }
            Loss::Malformed { id: Some(id), reason } => {
                Some((*id, ErrorKind::Malformed, reason.clone()))
            }
            Loss::TooLarge { id, reason } => Some((*id, ErrorKind::BodyLimit, reason.clone())),
            _ => None,
        };
        if let Some((id, kind, reason)) = one {
            in_order = false;
            self.books.fail(id, kind, &reason, account.came(author, at_ns));
        }
        let (kind, reason) = match loss {
            Loss::Old => {
                let age_ms = self.own.lifetime_ns.unwrap_or(0) / 1_000_000;
                let reason = format!("the connection was closed at its age of {age_ms} ms");
                (ErrorKind::Timeout, reason.into())
            }
            Loss::Failed(failure) => {
                let kind = if failure.reset { ErrorKind::Reset } else { ErrorKind::Write };
                (kind, failure.message.as_str().into())
            }
            Loss::Malformed { id: None, reason } => (ErrorKind::Malformed, reason.clone()),
            Loss::Announced => {
                (ErrorKind::Closed, "the server closed after an earlier response".into())
            }
            _ => {
                (ErrorKind::Aborted, "the connection was closed because of another request".into())
            }
        };
        while let Some(id) = account.flights.first() {
            in_order = false;
            self.books.fail(id, kind, &reason, account.came(author, at_ns));
        }
        account.outstanding = 0;
        in_order
    }
}

pub(super) fn timeout_words(limit_ns: u64) -> Reason {
    format!("no complete response within {}", fmt_duration_ns(limit_ns)).into()
}
