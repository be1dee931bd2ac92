//! What the server's bytes mean (RFC 9112): status line, header block, body, end.
//!
//! Bytes go line by line to [`head`](super::head), then to [`body`](super::body). No step allocates, apart from a line
//! that a read cut in two.

use std::num::NonZeroU16;

use super::body::Body;
use super::head::{self, Framing, Head};
use super::lines::{Taken, without_end};
use super::made::Extras;
use super::pauses::Until;
use super::session::{InFlight, NO_PAUSE, State, find};
use super::{Error, Session};
use crate::capture::NotKept;
use crate::expect::Mismatch;
use crate::http::says_asked_in_clear;
use crate::session::{Answer, Event, Failure, Last, RequestId};

impl Session {
    #[inline]
    pub(super) fn handle_status_line(
        &mut self,
        now_ns: u64,
        input: &mut &[u8],
    ) -> Result<Option<Event>, Error> {
        let Some(&current) = self.outstanding.front().filter(|_| self.started > 0) else {
            return Err(Error::AnswerWithoutRequest);
        };
        let block = *input;
        let is_whole = self.lines.partial().is_empty();
        let entry = self.entry(current.request);
        if is_whole && let Some(extras) = &mut self.extras {
            extras.begin_block(entry);
        }
        if is_whole && let Some((length, head)) = self.memo.recall(entry, block) {
            keep_block(&mut self.extras, &block[..length]);
            *input = &block[length..];
            return self.handle_known_head(now_ns, current.id, &head, input);
        }
        let limit = self.limits.line_bytes.min(self.limits.header_block_bytes);
        let taken = self.lines.take(input, limit);
        keep_block(&mut self.extras, &block[..block.len() - input.len()]);
        let line = match taken {
            Taken::Line(line) | Taken::Folded(line) => line,
            cut => {
                let too_long = cut == Taken::TooLong;
                // Something that does not speak HTTP may never send a line end.
                return if !head::may_go_on(self.lines.partial()) {
                    Err(head::no_status_line(self.lines.partial()))
                } else if too_long {
                    Err(self.line_too_long(self.limits.header_block_bytes))
                } else {
                    Ok(None)
                };
            }
        };
        let head = Head::from_status_line(without_end(line))?;
        self.state = State::Fields { head, block_bytes: line.len() };
        if head.is_interim() {
            self.interim_answers += 1;
            if self.interim_answers > self.limits.interim_answers {
                return Err(Error::TooManyInterimAnswers);
            }
            return Ok(None);
        }
        if head.status == 101 && !self.prepared(current.request).upgrades {
            return Err(Error::UnaskedUpgrade);
        }
        if is_whole {
            self.ticket = self.memo.note(block);
        }
        Ok(Some(Event::FirstByte(current.id)))
    }

    pub(super) fn handle_fields(
        &mut self,
        now_ns: u64,
        input: &mut &[u8],
    ) -> Result<Option<Event>, Error> {
        let before = *input;
        let head = self.read_fields(input);
        keep_block(&mut self.extras, &before[..before.len() - input.len()]);
        head?.map_or(Ok(None), |head| self.handle_head(now_ns, &head))
    }

    /// Reads header lines; returns the head if they are complete.
    fn read_fields(&mut self, input: &mut &[u8]) -> Result<Option<Head>, Error> {
        let State::Fields { head, block_bytes } = &mut self.state else {
            return Ok(None);
        };
        let events = self.extras.as_mut().and_then(|extras| extras.events.as_deref_mut());
        let mut message = events.and_then(|events| events.asked.message());
        loop {
            let left = self.limits.header_block_bytes.saturating_sub(*block_bytes);
            let line = match self.lines.take_field(input, left.min(self.limits.line_bytes)) {
                Taken::Line(line) => line,
                Taken::Folded(line) => {
                    head.note_fold();
                    line
                }
                Taken::Partial => return Ok(None),
                Taken::TooLong => return Err(self.line_too_long(left)),
            };
            *block_bytes += line.len();
            match without_end(line) {
                [] => break,
                field => {
                    head.handle_field(field)?;
                    if let Some(message) = &mut message {
                        head.tell(field, message);
                    }
                }
            }
            if input.is_empty() {
                return Ok(None);
            }
        }
        let (head, block_bytes) = (*head, *block_bytes);
        if let Some(ticket) = self.ticket.take()
            && head.told.is_plain()
            && let Some(current) = self.outstanding.front()
        {
            self.memo.learn(ticket, self.entry(current.request), head, block_bytes);
        }
        Ok(Some(head))
    }

    /// Takes a complete head, wherever it comes from.
    #[inline]
    fn handle_head(&mut self, now_ns: u64, head: &Head) -> Result<Option<Event>, Error> {
        if head.is_interim() {
            self.state = State::Status;
            return Ok(self.handle_interim(now_ns, head.status));
        }
        if head.is_folded()
            && let Some(extras) = &mut self.extras
        {
            extras.unfold_block();
        }
        if head.is_told()
            && let Some(events) = self.events()
        {
            events.told = head.told;
        }
        let current = self.outstanding.front().ok_or(Error::AnswerWithoutRequest)?;
        let mut framing = head.framing(self.prepared(current.request))?;
        // The rest of the request is not sent, so nothing can follow it.
        framing.last |= self.limit != NO_PAUSE;
        self.closing |= framing.last;
        let Framing { body, last, deviations } = framing;
        self.state = State::Body { status: head.status, body, last, deviations };
        if let Body::Length(0) = framing.body { Ok(self.finish()) } else { Ok(None) }
    }

    /// Takes an interim response.
    #[cold]
    fn handle_interim(&mut self, now_ns: u64, status: u16) -> Option<Event> {
        let waits = self.pause().is_some_and(|pause| matches!(pause.until, Until::Continue { .. }));
        if status != 100 || !waits {
            return None;
        }
        self.pass_pause(now_ns);
        Some(Event::Changed)
    }

    /// Takes a head that was recalled. If the whole response is there, that is one event.
    #[inline]
    fn handle_known_head(
        &mut self,
        now_ns: u64,
        id: RequestId,
        head: &Head,
        input: &mut &[u8],
    ) -> Result<Option<Event>, Error> {
        let done = match self.handle_head(now_ns, head)? {
            None if matches!(self.state, State::Body { body: Body::Length(left), .. }
                if left <= input.len() as u64) =>
            {
                self.handle_body(input)?
            }
            done => done,
        };
        Ok(Some(match done {
            Some(done) => done,
            None => Event::FirstByte(id),
        }))
    }

    #[inline]
    pub(super) fn handle_body(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        if self.extras.is_some() {
            return self.handle_kept_body(input);
        }
        let block = *input;
        let State::Body { body, status, .. } = &mut self.state else {
            return Ok(None);
        };
        let status = *status;
        let current = self.outstanding.front().ok_or(Error::AnswerWithoutRequest)?;
        let check = &mut self.check;
        let expect = &self.table[current.request as usize].expect.body;
        let complete = body.handle_input(input, &mut self.lines, &self.limits, |content, _| {
            check.handle(expect, content);
        })?;
        if status == 400 {
            self.hear_https(block);
        }
        if complete { Ok(self.complete()) } else { Ok(None) }
    }

    /// The same where requests are made, and a response may be kept, or have events.
    #[inline(never)]
    fn handle_kept_body(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        self.begin_events();
        if let State::Body { status: 400, .. } = self.state {
            self.hear_https(input);
        }
        let (State::Body { body, .. }, Some(extras)) =
            (&mut self.state, self.extras.as_deref_mut())
        else {
            return Ok(None);
        };
        let current = self.outstanding.front().ok_or(Error::AnswerWithoutRequest)?;
        if !extras.looks() {
            let expect = &find(&self.table, Some(extras), current.request).expect.body;
            let check = &mut self.check;
            let look = |content: &[u8], _| check.handle(expect, content);
            let complete = body.handle_input(input, &mut self.lines, &self.limits, look)?;
            return if complete { Ok(self.complete()) } else { Ok(None) };
        }
        let mut capture = extras.capture.take();
        let mut events = extras.events.take();
        let expect = &find(&self.table, Some(extras), current.request).expect.body;
        let check = &mut self.check;
        let content = |content: &[u8], ends_chunk: bool| {
            check.handle(expect, content);
            let is_fed = capture.is_some();
            if let Some(capture) = &mut capture {
                match events.as_mut().and_then(|events| events.splitter()) {
                    Some(splitter) => {
                        capture.feed_body(content, &mut |plain| splitter.feed(plain));
                    }
                    None => capture.keep_body(content),
                }
            }
            if let Some(events) = &mut events {
                events.feed(content, is_fed, ends_chunk);
            }
        };
        let outcome = body.handle_input(input, &mut self.lines, &self.limits, content);
        extras.capture = capture;
        let is_wrong = events.as_ref().is_some_and(|events| events.is_wrong());
        extras.events = events;
        if outcome? || is_wrong || extras.not_kept().is_some() {
            return Ok(self.finish());
        }
        let id = current.id;
        Ok(extras.events.as_mut().and_then(|events| events.take(id)))
    }

    /// Looks into the body of a 400, or a piece of it.
    #[cold]
    fn hear_https(&mut self, body: &[u8]) {
        if let Some(said) = &mut self.said_https {
            *said |= says_asked_in_clear(body);
        }
    }

    /// Why this status was not expected. Only the first such response of a connection is looked into.
    #[cold]
    fn refused(&mut self, status: u16) -> Mismatch {
        match self.said_https.take() {
            Some(true) => Mismatch::NotTls(status),
            _ => Mismatch::Status(status),
        }
    }

    /// The response whose body is being read is complete, or cannot be kept.
    #[inline]
    fn finish(&mut self) -> Option<Event> {
        match self.events() {
            None => self.complete(),
            Some(_) => self.finish_events(),
        }
    }

    /// The same, whatever events it has.
    #[inline]
    pub(super) fn complete(&mut self) -> Option<Event> {
        let State::Body { status, last, deviations, .. } = self.state else {
            return None;
        };
        let looks = self.extras.as_ref().is_some_and(|extras| extras.looks());
        if looks && let Some(why) = self.not_kept() {
            return Some(self.give_up(Failure::NotKept(why)));
        }
        let check = std::mem::take(&mut self.check);
        // Its own request is still being written, as those behind it are.
        let is_early = self.unwritten.len() == self.outstanding.len();
        let current = self.pop_outstanding()?;
        self.lines.release();
        self.interim_answers = 0;
        let body_bytes = check.length();
        let mut expected = check.finish(&self.prepared(current.request).expect, status);
        if looks {
            expected = self.finish_kept(current.request, expected);
        }
        if let Err(Mismatch::Status(status)) = expected {
            expected = Err(self.refused(status));
        }
        let last = if !last && !is_early {
            self.state = State::Status;
            Last::No
        } else {
            self.state = State::Ended;
            self.closing = true;
            if self.is_broken_off() {
                expected = Err(Mismatch::BrokenOff);
            }
            if last && self.limit == NO_PAUSE { Last::ByPeer } else { Last::ByUs }
        };
        Some(Event::Done(Answer {
            id: current.id,
            status: NonZeroU16::new(status),
            body_bytes,
            expected,
            deviations,
            last,
        }))
    }

    /// What is kept of the response, and what is wrong with its body when it is decoded.
    #[cold]
    fn finish_kept(&mut self, request: u32, found: Result<(), Mismatch>) -> Result<(), Mismatch> {
        let Some(extras) = self.extras.as_deref_mut() else { return found };
        let Some(mut capture) = extras.capture.take() else { return found };
        let expected = capture.finish(&find(&self.table, Some(extras), request).expect, found);
        extras.capture = Some(capture);
        expected
    }

    /// The next outcome after the peer's end.
    #[cold]
    pub(super) fn next_of_end(&mut self) -> Option<Event> {
        let failure = match self.state {
            State::Due | State::Dead => return None,
            State::Body { body: Body::UntilEnd, .. } => return self.finish(),
            State::Fields { .. } | State::Body { .. } => Failure::Truncated,
            State::Status if !self.lines.partial().is_empty() => Failure::Truncated,
            State::Status | State::Ended => Failure::Closed,
        };
        self.state = State::Ended;
        self.lines.release();
        let id = self.pop_outstanding()?.id;
        Some(self.after_events(Some(id), Event::Failed { id: Some(id), failure }))
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) -> Event {
        let id = match error {
            Error::AnswerWithoutRequest => None,
            _ => self.pop_outstanding().map(|current| current.id),
        };
        self.state = State::Dead;
        self.lines.release();
        self.after_events(id, Event::Failed { id, failure: Failure::Malformed(error.into()) })
    }

    #[inline]
    pub(super) fn not_kept(&self) -> Option<NotKept> {
        self.extras.as_ref()?.not_kept()
    }

    /// The rest of the response is not read: it is more than is kept for the script, or wrong.
    #[cold]
    pub(super) fn give_up(&mut self, failure: Failure) -> Event {
        let id = self.pop_outstanding().map(|current| current.id);
        self.state = State::Dead;
        self.lines.release();
        self.after_events(id, Event::Failed { id, failure })
    }

    #[inline]
    fn pop_outstanding(&mut self) -> Option<InFlight> {
        self.started = self.started.saturating_sub(1);
        let current = self.outstanding.pop_front()?;
        self.step_over(current.request);
        Some(current)
    }

    /// Which limit a header line ran into, when `left` bytes of the block's limit were left.
    fn line_too_long(&self, left: usize) -> Error {
        if left < self.limits.line_bytes { Error::HeaderBlockTooLarge } else { Error::LineTooLong }
    }
}

/// Keeps a piece of a header block, if responses are kept.
#[inline]
fn keep_block(extras: &mut Option<Box<Extras>>, taken: &[u8]) {
    if let Some(extras) = extras {
        extras.keep_block(taken);
    }
}
