//! Making and losing connections.
//!
//! A connection that ends is replaced, for as long as the run sends. Nothing is sent twice: what
//! was in flight on it has failed, by a kind that says how the connection ended.

use std::cmp::Reverse;
use std::io::IoSlice;

use candor_protocol::{Event, Failure, GoAway, RequestId, Session};
use candor_record::{Cause, ConnectErrorKind, Disconnect, ErrorKind, LossKind, Reason};

use super::events::CameTo;
use super::{Stage, Worker};
use crate::connection::{Slot, State, back_off_ns};
use crate::reactor::{ConnectCause, ConnectFailure, IoFailure, Key, Reactor};
use crate::source::Source;

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
    /// The answer that just ended was the last one by the server's word.
    Announced,
    /// Its share of requests is used up.
    Retired,
    /// It is as old as connections may become.
    Old,
    /// Its request was broken off, and nothing more is awaited.
    BrokenOff,
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// Begins to connect.
    pub(super) fn open(&mut self, key: Key) {
        let now_ns = self.reactor.now_ns();
        let turn = self.next_turn;
        self.next_turn += u64::from(self.own.share.workers);
        match self.reactor.connect(key, turn) {
            Ok(()) => {
                self.connections[key as usize].state = State::Connecting { since_ns: now_ns };
                self.connecting_links.push(&mut self.connecting, key);
                self.connecting_count += 1;
            }
            Err(failure) => self.connect_failed(key, failure, now_ns),
        }
    }

    fn leave_connecting(&mut self, key: Key) {
        self.connecting_links.remove(&mut self.connecting, key);
        self.connecting_count -= 1;
    }

    /// A connection attempt is writable: it has succeeded or failed.
    pub(super) fn finish_connect(&mut self, key: Key, since_ns: u64) {
        let outcome = self.reactor.finish_connect(key);
        let now_ns = self.reactor.now_ns();
        match outcome {
            Ok(false) => {}
            Ok(true) => {
                let session = (self.make_session)();
                let connect_ns = now_ns.saturating_sub(since_ns);
                let connection = &mut self.connections[key as usize];
                connection.state = State::Handshaking { since_ns, connect_ns };
                connection.account.securing = Some((since_ns, connect_ns));
                connection.account.broken_off = false;
                connection.session = Some(session);
                connection.taken = 0;
                connection.blocked = false;
                connection.offered = 0;
                connection.parked_slots = 0;
                connection.last_byte_ns = now_ns;
                self.poll_events(key, now_ns);
                if let State::Handshaking { .. } = self.connections[key as usize].state {
                    self.flush(key, now_ns);
                }
            }
            Err(failure) => {
                self.leave_connecting(key);
                self.connect_failed(key, failure, now_ns);
            }
        }
    }

    /// The handshake, if there is one, is over: the connection can take requests.
    pub(super) fn establish(&mut self, key: Key, now_ns: u64) {
        let State::Handshaking { connect_ns, .. } = self.connections[key as usize].state else {
            return;
        };
        self.leave_connecting(key);
        self.books.recorder.connected(now_ns, connect_ns);
        self.established += 1;
        self.ever_established += 1;
        let connection = &mut self.connections[key as usize];
        connection.state = State::Open;
        if self.own.lifetime_ns.is_some() {
            self.aging.push_back((now_ns, key, connection.generation));
        }
        self.check_script(key);
        self.offer_slots(key, self.free_places(key), now_ns);
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
        self.leave_connecting(key);
        self.say_goodbye(key, now_ns);
        self.forget_session(key);
        let failure = self.not_connected(ConnectErrorKind::Handshake, reason);
        self.connect_failed(key, failure, now_ns);
    }

    fn not_connected(&self, kind: ConnectErrorKind, reason: Reason) -> ConnectFailure {
        let to = self.own.authority.to_string();
        ConnectFailure { kind, to, why: ConnectCause::Other(reason) }
    }

    /// What a handshake that ends here waited for.
    fn awaited(&mut self, key: Key) -> &'static str {
        let Some(session) = &mut self.connections[key as usize].session else { return "" };
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
        if !S::SPEAKS_UNASKED {
            return;
        }
        let session_ns = self.session_ns(now_ns);
        if let Some(session) = &mut self.connections[key as usize].session {
            session.handle_close();
            let mut slices = [IoSlice::new(&[]); 4];
            let used = session.poll_transmit(session_ns, &mut slices).slices;
            if used > 0 {
                // Nothing depends on it any more, so how it went does not matter.
                let _ = self.reactor.send(key, &slices[..used]);
            }
        }
        self.take_events(key, now_ns, true);
    }

    /// No place and no event of the present session counts any more.
    fn forget_session(&mut self, key: Key) {
        let connection = &mut self.connections[key as usize];
        connection.session = None;
        connection.timeout_ns = u64::MAX;
        connection.postponed = None;
        connection.generation = connection.generation.wrapping_add(1);
    }

    fn connect_failed(&mut self, key: Key, failure: ConnectFailure, now_ns: u64) {
        self.reactor.close(key);
        self.connections[key as usize].state = State::Absent;
        if self.first_failure.is_none() && self.stage == Stage::Preparing {
            self.first_failure = Some(failure.clone());
        }
        self.books.recorder.connect_failed(now_ns, failure.kind, || failure);
        self.schedule_retry(key, now_ns, 1);
    }

    /// Tries again later, `at_least` the first step of the back-off.
    fn schedule_retry(&mut self, key: Key, now_ns: u64, at_least: u32) {
        if key >= self.own.connections {
            // One that was opened for a backlog is opened again when there is a backlog.
            self.spare_keys.push(key);
            return;
        }
        let connection = &mut self.connections[key as usize];
        let at_ns = now_ns + back_off_ns(connection.account.fruitless.max(at_least));
        connection.account.fruitless = connection.account.fruitless.saturating_add(1);
        self.retries.push(Reverse((at_ns, key)));
    }

    pub(super) fn retry_connects(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, key))) = self.retries.peek().copied()
            && at_ns <= now_ns
            && self.connect_pace.take(now_ns)
        {
            self.retries.pop();
            self.open(key);
        }
    }

    pub(super) fn expire_connects(&mut self, now_ns: u64) {
        while let Some(key) = self.connecting.first() {
            let (State::Connecting { since_ns } | State::Handshaking { since_ns, .. }) =
                self.connections[key as usize].state
            else {
                return;
            };
            if since_ns.saturating_add(self.own.timeouts.connect_ns) > now_ns {
                return;
            }
            self.leave_connecting(key);
            let limit_ms = self.own.timeouts.connect_ns / 1_000_000;
            let failure = match self.connections[key as usize].session {
                None => {
                    let words = format!("no connection within {limit_ms} ms");
                    self.not_connected(ConnectErrorKind::Timeout, words.into())
                }
                Some(_) => {
                    let awaited = self.awaited(key);
                    let words = format!("the server did not send {awaited} within {limit_ms} ms");
                    let cause = Some(Cause::HandshakeSlow);
                    let reason = Reason { words: words.into(), cause };
                    self.not_connected(ConnectErrorKind::Handshake, reason)
                }
            };
            self.forget_session(key);
            self.connect_failed(key, failure, now_ns);
        }
    }

    /// Whether one more connection may be opened for the backlog.
    pub(super) fn can_open_more(&self) -> bool {
        !self.spare_keys.is_empty()
    }

    /// Opens connections for requests that wait, one for each at most.
    pub(super) fn open_for_backlog(&mut self, now_ns: u64) {
        if !self.can_open_more() {
            return;
        }
        let waiting = self.backlog(now_ns);
        while (self.connecting_count as u64) < waiting
            && self.can_open_more()
            && self.connect_pace.take(now_ns)
            && let Some(key) = self.spare_keys.pop()
        {
            self.open(key);
        }
    }

    /// Gives up what took too long. Returns whether places became free by it.
    pub(super) fn expire_requests(&mut self, now_ns: u64) -> bool {
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
        let Some(idle_ns) = self.own.timeouts.idle_ns else { return freed };
        while let Some(key) = self.awaiting.first()
            && self.connections[key as usize].last_byte_ns.saturating_add(idle_ns) <= now_ns
        {
            self.lose(key, Loss::IdleTimeout, now_ns);
        }
        freed
    }

    /// Closes connections that are as old as they may become.
    pub(super) fn expire_connections(&mut self, now_ns: u64) {
        let Some(lifetime_ns) = self.own.lifetime_ns else { return };
        while let Some(&(since_ns, key, generation)) = self.aging.front()
            && since_ns.saturating_add(lifetime_ns) <= now_ns
        {
            self.aging.pop_front();
            let connection = &self.connections[key as usize];
            if connection.generation == generation && connection.state == State::Open {
                self.lose(key, Loss::Old, now_ns);
            }
        }
    }

    /// Gives up one request and keeps its connection, if the protocol can.
    fn cancel(&mut self, key: Key, id: RequestId, now_ns: u64) -> bool {
        let connection = &mut self.connections[key as usize];
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

    /// Places of a connection that nobody was offered yet.
    pub(super) fn free_places(&self, key: Key) -> u32 {
        let connection = &self.connections[key as usize];
        let free = connection.session.as_ref().map_or(0, S::free_places);
        free.saturating_sub(connection.offered)
    }

    /// Gives `count` places of a connection to whoever sends next.
    pub(super) fn offer_slots(&mut self, key: Key, count: u32, since_ns: u64) {
        if self.free.len() > 2 * self.most_free {
            // A server that closes what nothing was sent on leaves the places of former connections.
            let connections = &self.connections;
            self.free.retain(|one| connections[one.key as usize].generation == one.generation);
        }
        let connection = &mut self.connections[key as usize];
        connection.offered += count;
        let slot = Slot { key, generation: connection.generation, since_ns };
        let think_ns = match &self.source {
            Source::Closed(closed) if connection.taken > 0 => closed.think_ns,
            _ => 0,
        };
        for _ in 0..count {
            let pause_ns = think_ns.saturating_add(self.script_delay_ns());
            if pause_ns > 0 {
                self.think(Slot { since_ns: since_ns.saturating_add(pause_ns), ..slot });
            } else {
                self.free.push_back(slot);
            }
        }
    }

    /// Gives an established connection up: every request on it gets its outcome, and a new
    /// connection is made if the run still sends.
    #[cold]
    pub(super) fn lose(&mut self, key: Key, loss: Loss, now_ns: u64) {
        let loss = self.after_break(key, loss);
        if let State::Handshaking { .. } = self.connections[key as usize].state {
            return self.handshake_failed(key, &loss, now_ns);
        }
        let in_order = self.settle_flights(key, &loss, now_ns);
        let broken_off = self.connections[key as usize].account.broken_off;
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
        };
        self.books.recorder.disconnected(now_ns, why, || match loss {
            Loss::Failed(failure) => failure.message.into(),
            Loss::Malformed { reason, .. } | Loss::TooLarge { reason, .. } => reason,
            _ => Reason::from(""),
        });
        self.say_goodbye(key, now_ns);
        self.reactor.close(key);
        self.awaiting_links.remove(&mut self.awaiting, key);
        self.established -= 1;
        let connection = &mut self.connections[key as usize];
        connection.state = State::Absent;
        self.forget_session(key);
        if !matches!(self.stage, Stage::Draining { .. }) && !self.own.once {
            self.schedule_retry(key, now_ns, 0);
        }
    }

    /// Whoever broke a request off need not get an answer, in whichever way the server lets go then,
    /// or does not.
    fn after_break(&self, key: Key, loss: Loss) -> Loss {
        let is_let_go = match &loss {
            Loss::Failed(failure) => failure.reset,
            Loss::Timeout { .. } | Loss::IdleTimeout | Loss::Old => true,
            _ => false,
        };
        match is_let_go && self.connections[key as usize].account.broken_off {
            true => Loss::BrokenOff,
            false => loss,
        }
    }

    /// Every request in flight on `key` gets its outcome. Returns whether none of them failed.
    fn settle_flights(&mut self, key: Key, loss: &Loss, at_ns: u64) -> bool {
        let mut in_order = true;
        if let Loss::End = loss {
            if let Some(session) = &mut self.connections[key as usize].session {
                session.handle_end();
            }
            in_order = !self.take_events(key, at_ns, true).failed;
        }
        let account = &mut self.connections[key as usize].account;
        let chain = &mut account.flights;
        let books = &mut self.books;
        let mut fail =
            |books: &mut crate::books::Books, chain: &mut _, id, kind, reason: &Reason| {
                in_order = false;
                books.fail(id, chain, kind, at_ns, reason);
            };
        match loss {
            Loss::Timeout { id } => {
                let reason = timeout_words(self.own.timeouts.request_ns);
                fail(books, chain, *id, ErrorKind::Timeout, &reason);
            }
            Loss::IdleTimeout => {
                let limit_ms = self.own.timeouts.idle_ns.unwrap_or(0) / 1_000_000;
                let reason = Reason::from(format!("no byte for {limit_ms} ms"));
                if let Some(id) = chain.first() {
                    fail(books, chain, id, ErrorKind::IdleTimeout, &reason);
                }
            }
            Loss::Old => {
                let age_ms = self.own.lifetime_ns.unwrap_or(0) / 1_000_000;
                let reason = format!("the connection was closed at its age of {age_ms} ms").into();
                while let Some(id) = chain.first() {
                    fail(books, chain, id, ErrorKind::Timeout, &reason);
                }
            }
            Loss::BrokenOff => {
                while let Some(id) = chain.first() {
                    books.break_off(id, chain, None, at_ns);
                }
                account.fruitless = 0;
            }
            Loss::Malformed { id: Some(id), reason } => {
                fail(books, chain, *id, ErrorKind::Malformed, reason);
            }
            Loss::TooLarge { id, reason } => fail(books, chain, *id, ErrorKind::BodyLimit, reason),
            Loss::Failed(failure) => {
                let kind = if failure.reset { ErrorKind::Reset } else { ErrorKind::Write };
                while let Some(id) = chain.first() {
                    fail(books, chain, id, kind, &failure.message.as_str().into());
                }
            }
            Loss::Malformed { id: None, reason } => {
                while let Some(id) = chain.first() {
                    fail(books, chain, id, ErrorKind::Malformed, reason);
                }
            }
            Loss::End | Loss::Announced | Loss::Retired => {}
        }
        let (kind, reason) = match loss {
            Loss::Announced => (ErrorKind::Closed, "the server closed after an earlier answer"),
            _ => (ErrorKind::Aborted, "the connection was given up for another request"),
        };
        while let Some(id) = chain.first() {
            fail(books, chain, id, kind, &reason.into());
        }
        account.outstanding = 0;
        in_order
    }
}

/// How a session's failure is counted, and why it failed.
pub(super) fn words(failure: &Failure) -> (ErrorKind, Reason) {
    match failure {
        Failure::Closed => (ErrorKind::Closed, "closed before the answer began".into()),
        Failure::Truncated => (ErrorKind::Truncated, "closed in the middle of the answer".into()),
        Failure::Malformed(error) => (
            ErrorKind::Malformed,
            Reason { words: error.to_string().into(), cause: error.cause() },
        ),
        Failure::NotKept(why) => (
            ErrorKind::BodyLimit,
            Reason { words: why.to_string().into(), cause: Some(Cause::BodyLimit) },
        ),
        Failure::StreamReset(code) => (
            ErrorKind::StreamReset,
            format!("the server reset the stream, error code {code:#x}").into(),
        ),
        Failure::NotProcessed => {
            (ErrorKind::NotProcessed, "the server did not process the request".into())
        }
        Failure::GoneAway(GoAway { code, last_stream }) => (
            ErrorKind::NotProcessed,
            format!(
                "the server did not process the request: GOAWAY, error code {code:#x}, last stream {last_stream}"
            )
            .into(),
        ),
        Failure::NotReady(awaited) => {
            (ErrorKind::Closed, format!("the server did not send {awaited}").into())
        }
    }
}

fn timeout_words(limit_ns: u64) -> Reason {
    format!("no complete answer within {} ms", limit_ns / 1_000_000).into()
}
