//! One connection: which request is being written, which one is being answered.
//!
//! Bytes to be written are slices of the table of prepared requests. Bytes that were read go line
//! by line to [`head`](super::head), then to [`body`](super::body). No step allocates, apart from
//! a line that a read cut in two.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::num::NonZeroU16;
use std::rc::Rc;
use std::sync::Arc;

use super::body::Body;
use super::head::{self, Framing, Head};
use super::lines::{Lines, Taken, without_end};
use super::made::Extras;
use super::memo::{Memo, Ticket};
use super::pauses::{Pause, Progress, Until};
use super::{Error, Prepared};
use crate::capture::{Capture, CaptureRoom, NotKept};
use crate::expect::{BodyCheck, Mismatch};
use crate::session::{
    Abilities, Answer, Deviations, Event, Failure, Input, Last, Outgoing, RequestId, Transmit,
};

/// Bounds on the parts of a response. Line ends count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Status line and header lines together.
    pub header_block_bytes: usize,
    /// One status, header or trailer line.
    pub line_bytes: usize,
    /// One chunk's size line.
    pub chunk_line_bytes: usize,
    /// All trailer lines of one response.
    pub trailer_bytes: usize,
    /// Interim (1xx) responses before the response to one request.
    pub interim_answers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_block_bytes: 64 << 10,
            line_bytes: 16 << 10,
            chunk_line_bytes: 4 << 10,
            trailer_bytes: 64 << 10,
            interim_answers: 100,
        }
    }
}

/// One HTTP/1.1 connection.
///
/// Responses are matched to requests in the order in which these were handed in. Only a request
/// whose first byte was written can be answered: call `handle_transmitted` for it before
/// `handle_input`. A response may come while its own request is still being written; the rest of
/// it is then written nevertheless, before the next one.
///
/// Requests that are not begun when a response announces the end of the connection are not
/// written any more (RFC 9112 9.6) and fail in `handle_end`.
///
/// One that pauses on its way is written up to its next pause. Nothing is handed in behind it before
/// it has no pause left: a response that comes earlier is the connection's last.
#[derive(Debug)]
pub struct Session {
    table: Arc<[Prepared]>,
    limits: Limits,
    pipeline: u32,
    /// Requests without an outcome, oldest first.
    pub(super) outstanding: VecDeque<InFlight>,
    /// How many of them were begun to be written.
    started: usize,
    /// Requests not wholly written, oldest first. The first may have its response already.
    unwritten: VecDeque<InFlight>,
    /// How much of the first of them was written.
    written_bytes: usize,
    /// How many bytes of all of them together may be written now, counted like `written_bytes`;
    /// [`NO_PAUSE`]: everything. Otherwise the last of them pauses there.
    limit: usize,
    /// At which of its pauses it is. `None` until a request has any.
    progress: Option<Box<Progress>>,
    /// No more requests may be handed in.
    closing: bool,
    /// It is new: [`Event::Ready`] is due.
    is_new: bool,
    /// The peer sends nothing more: each outstanding request has its outcome due.
    has_ended: bool,
    pub(super) state: State,
    lines: Lines,
    memo: Rc<Memo>,
    /// The header block being read is to be remembered.
    ticket: Option<Ticket>,
    interim_answers: u32,
    check: BodyCheck,
    /// Only if a script makes requests or reads responses, or these are split into events.
    pub(super) extras: Option<Box<Extras>>,
}

/// No request that is being written pauses anywhere.
const NO_PAUSE: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    id: RequestId,
    /// In the table, or behind it in the slots of made requests.
    pub(super) request: u32,
}

/// What the next byte of input belongs to.
#[derive(Debug)]
pub(super) enum State {
    /// A status line.
    Status,
    /// The header lines; `block_bytes` were read of this block.
    Fields { head: Head, block_bytes: usize },
    /// The body.
    Body { status: u16, body: Body, last: bool, deviations: Deviations },
    /// Nothing yet: events of the response before are due first.
    Due,
    /// Nothing: the connection is at its end.
    Ended,
    /// Nothing: a response was not understood.
    Dead,
}

impl Session {
    /// A session on a fresh connection, for requests of `table`, with up to `pipeline` of them
    /// outstanding.
    pub fn new(table: Arc<[Prepared]>, pipeline: u32, limits: Limits) -> Self {
        Session::with_memo(table, pipeline, limits, Rc::default())
    }

    /// The same, sharing what is known of header blocks with other sessions on the same table
    /// and with the same limits.
    pub fn with_memo(
        table: Arc<[Prepared]>,
        pipeline: u32,
        limits: Limits,
        memo: Rc<Memo>,
    ) -> Self {
        Session {
            table,
            limits,
            pipeline,
            outstanding: VecDeque::new(),
            started: 0,
            unwritten: VecDeque::new(),
            written_bytes: 0,
            limit: NO_PAUSE,
            progress: None,
            closing: false,
            is_new: true,
            has_ended: false,
            state: State::Status,
            lines: Lines::default(),
            memo,
            ticket: None,
            interim_answers: 0,
            check: BodyCheck::default(),
            extras: None,
        }
    }

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        // No more than `pipeline` were handed in.
        self.outstanding.len() as u32
    }

    /// From now on, keeps the header block and the body of each response in `room`, as far as its
    /// bounds allow.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.extras.get_or_insert_default().room = Some(room.clone());
    }

    /// A request in flight.
    #[inline]
    pub(super) fn prepared(&self, request: u32) -> &Prepared {
        find(&self.table, self.extras.as_deref(), request)
    }

    /// The request of the table that a request in flight is, or stands for.
    #[inline]
    pub(super) fn entry(&self, request: u32) -> u32 {
        match (request as usize).checked_sub(self.table.len()) {
            None => request,
            Some(slot) => self.extras.as_ref().map_or(0, |extras| extras.entry(slot as u32)),
        }
    }

    /// One of the table was written or answered, which is nothing; or a made one.
    #[inline]
    fn step_over(&mut self, request: u32) {
        if let Some(slot) = (request as usize).checked_sub(self.table.len())
            && let Some(extras) = &mut self.extras
        {
            extras.step_over(slot as u32);
        }
    }

    fn handle_status_line(
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
                return if !head::may_be_status_line(self.lines.partial()) {
                    Err(Error::StatusLine)
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

    fn handle_fields(&mut self, now_ns: u64, input: &mut &[u8]) -> Result<Option<Event>, Error> {
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
                field => head.handle_field(field)?,
            }
            if input.is_empty() {
                return Ok(None);
            }
        }
        let (head, block_bytes) = (*head, *block_bytes);
        if let Some(ticket) = self.ticket.take()
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

    /// The pause before which writing has to end.
    fn pause(&self) -> Option<Pause> {
        let last = self.unwritten.back().filter(|_| self.limit != NO_PAUSE)?;
        self.prepared(last.request).pauses.get(self.progress.as_ref()?.pause).copied()
    }

    /// Begins with the pauses of the request that was handed in last.
    #[cold]
    fn begin_pauses(&mut self) {
        let lengths = self.unwritten.iter().rev().skip(1);
        let before: usize = lengths.map(|one| self.prepared(one.request).length()).sum();
        **self.progress.get_or_insert_default() = Progress::default();
        self.limit = before;
        self.limit = self.pause().map_or(NO_PAUSE, |pause| before + pause.at);
    }

    /// Goes on to the next pause, or to the end.
    #[cold]
    fn pass_pause(&mut self, now_ns: u64) {
        let Some(passed) = self.pause() else { return };
        let before = self.limit - passed.at;
        if let Some(progress) = &mut self.progress {
            progress.pass();
        }
        self.limit = self.pause().map_or(NO_PAUSE, |pause| before + pause.at);
        self.look_at_pause(now_ns);
    }

    /// So many bytes were written. Returns the length of the requests that were finished by it.
    #[inline]
    fn write(&mut self, mut bytes: usize, started: &mut dyn FnMut(RequestId)) -> usize {
        let mut finished = 0;
        while bytes > 0
            && let Some(&first) = self.unwritten.front()
        {
            if self.written_bytes == 0 {
                self.started += 1;
                started(first.id);
            }
            let length = self.prepared(first.request).length();
            let left = length - self.written_bytes;
            if bytes < left {
                self.written_bytes += bytes;
                break;
            }
            bytes -= left;
            finished += length;
            self.written_bytes = 0;
            self.unwritten.pop_front();
            self.step_over(first.request);
        }
        finished
    }

    /// The same, where the last request pauses on its way. True: it waits from now on.
    #[cold]
    fn write_up_to_pause(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let is_begun =
            |session: &Session| session.unwritten.len() == 1 && session.written_bytes > 0;
        let was_begun = is_begun(self);
        self.limit -= self.write(bytes, started);
        if is_begun(self)
            && !was_begun
            && let Some(progress) = &mut self.progress
        {
            progress.begin(now_ns);
        }
        self.look_at_pause(now_ns)
    }

    /// Begins to wait, if everything before the pause was written. True: it has only now begun.
    #[cold]
    fn look_at_pause(&mut self, now_ns: u64) -> bool {
        let is_there = self.unwritten.len() == 1 && self.written_bytes == self.limit;
        let pause = self.pause().filter(|_| is_there);
        match (pause, &mut self.progress) {
            (Some(pause), Some(progress)) => progress.arrive(now_ns, pause.until),
            _ => false,
        }
    }

    fn is_broken_off(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.is_broken_off())
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

    fn handle_body(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        if self.extras.is_some() {
            return self.handle_kept_body(input);
        }
        let State::Body { body, .. } = &mut self.state else {
            return Ok(None);
        };
        let current = self.outstanding.front().ok_or(Error::AnswerWithoutRequest)?;
        let check = &mut self.check;
        let expect = &self.table[current.request as usize].expect.body;
        let complete = body.handle_input(input, &mut self.lines, &self.limits, |content, _| {
            check.handle(expect, content);
        })?;
        if complete { Ok(self.complete()) } else { Ok(None) }
    }

    /// The same where a response may be kept, or have events.
    #[inline(never)]
    fn handle_kept_body(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        self.begin_events();
        let (State::Body { body, .. }, Some(extras)) =
            (&mut self.state, self.extras.as_deref_mut())
        else {
            return Ok(None);
        };
        let current = self.outstanding.front().ok_or(Error::AnswerWithoutRequest)?;
        let mut capture = extras.capture.take();
        let mut splitter = extras.events.as_mut().and_then(|events| events.splitter.take());
        let expect = &find(&self.table, Some(extras), current.request).expect.body;
        let check = &mut self.check;
        let content = |content: &[u8], ends_chunk: bool| {
            check.handle(expect, content);
            if let Some(capture) = &mut capture {
                capture.keep_body(content);
            }
            if let Some(splitter) = &mut splitter {
                splitter.feed(content);
                if ends_chunk {
                    splitter.end_chunk();
                }
            }
        };
        let outcome = body.handle_input(input, &mut self.lines, &self.limits, content);
        extras.capture = capture;
        if let Some(events) = &mut extras.events {
            events.splitter = splitter;
        }
        if outcome? || extras.not_kept().is_some() {
            return Ok(self.finish());
        }
        let id = current.id;
        Ok(extras.events.as_mut().and_then(|events| events.take(id)))
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
    pub(super) fn complete(&mut self) -> Option<Event> {
        let State::Body { status, last, deviations, .. } = self.state else {
            return None;
        };
        if let Some(why) = self.not_kept() {
            return Some(self.give_up(why));
        }
        let check = std::mem::take(&mut self.check);
        let current = self.pop_outstanding()?;
        self.lines.release();
        self.interim_answers = 0;
        let body_bytes = check.length();
        let mut expected = check.finish(&self.prepared(current.request).expect, status);
        let last = if !last {
            self.state = State::Status;
            Last::No
        } else {
            self.state = State::Ended;
            if self.is_broken_off() {
                expected = Err(Mismatch::BrokenOff);
            }
            if self.limit == NO_PAUSE { Last::ByPeer } else { Last::ByUs }
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

    /// What is to be written, where that is one request from its beginning or the same one several
    /// times, and heads are all there is of it: nearly always.
    #[inline]
    fn batch(&self) -> Option<&[u8]> {
        let is_plain = matches!(self.state, State::Status)
            && self.written_bytes == 0
            && self.limit == NO_PAUSE;
        let first = self.unwritten.front().filter(|_| is_plain)?.request;
        let request = self.prepared(first);
        let count = self.unwritten.len();
        if count == 1 {
            return request.body.is_empty().then_some(&request.head[..]);
        }
        let bytes = request.batch.get(..count * request.head.len())?;
        self.unwritten.iter().all(|one| one.request == first).then_some(bytes)
    }

    /// What is to be written, whatever it is.
    fn poll_transmit_any<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> Transmit {
        let writable = match self.state {
            State::Due | State::Ended | State::Dead => 0,
            // The response being read is the last: only what is half written is of use.
            State::Body { last: true, .. } => usize::from(self.written_bytes > 0),
            _ => self.unwritten.len(),
        };
        let mut skip = self.written_bytes;
        let mut room = self.limit - self.written_bytes;
        let mut used: u32 = 0;
        for one in self.unwritten.iter().take(writable) {
            let request = self.prepared(one.request);
            for part in [&request.head[..], &request.body[..]] {
                let skipped = skip.min(part.len());
                skip -= skipped;
                let length = (part.len() - skipped).min(room);
                if length == 0 {
                    continue;
                }
                let Some(slice) = slices.get_mut(used as usize) else {
                    return Transmit { slices: used, more: true, ..Transmit::default() };
                };
                *slice = IoSlice::new(&part[skipped..skipped + length]);
                room -= length;
                used += 1;
            }
        }
        Transmit { slices: used, ..Transmit::default() }
    }

    /// The next outcome after the peer's end.
    #[cold]
    fn next_of_end(&mut self) -> Option<Event> {
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
    fn fail(&mut self, error: Error) -> Event {
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

    /// The response is more than is kept for the script.
    #[cold]
    fn give_up(&mut self, why: NotKept) -> Event {
        let id = self.pop_outstanding().map(|current| current.id);
        self.state = State::Dead;
        self.lines.release();
        self.after_events(id, Event::Failed { id, failure: Failure::NotKept(why) })
    }

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

/// The request of this number: of the table, or made.
#[inline]
fn find<'a>(table: &'a [Prepared], extras: Option<&'a Extras>, request: u32) -> &'a Prepared {
    table.get(request as usize).unwrap_or_else(|| {
        extras.expect("a made request has its extras").get(request - table.len() as u32)
    })
}

impl crate::session::Protocol for Session {
    const SPEAKS_UNASKED: bool = false;
    const TRANSPORT: crate::session::Transport = crate::session::Transport::Stream;
}

impl crate::session::Session for Session {
    fn free_places(&self) -> u32 {
        if self.closing || matches!(self.state, State::Due | State::Ended | State::Dead) {
            0
        } else {
            self.pipeline.saturating_sub(self.outstanding())
        }
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        let (request, has_pauses) = match request {
            Outgoing::Listed(request) => {
                debug_assert!(self.free_places() > 0, "no request may be handed in now");
                debug_assert!(self.limit == NO_PAUSE, "nothing follows a request that pauses");
                let prepared = &self.table[request as usize];
                self.closing |= prepared.closes;
                (request, !prepared.pauses.is_empty())
            }
            Outgoing::Made(made) => {
                self.closing |= made.closes();
                let like = &self.table[made.request as usize];
                let slot = self.extras.get_or_insert_default().put(made, like);
                (self.table.len() as u32 + slot, false)
            }
        };
        let request = InFlight { id, request };
        self.outstanding.push_back(request);
        self.unwritten.push_back(request);
        if has_pauses {
            self.begin_pauses();
        }
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if let (Some(batch), [first, ..]) = (self.batch(), &mut *slices) {
            *first = IoSlice::new(batch);
            return Transmit { slices: 1, ..Transmit::default() };
        }
        self.poll_transmit_any(slices)
    }

    // Within TLS a session is behind a pointer: in clear text it is not, and the call goes away.
    #[inline(always)]
    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        if self.limit != NO_PAUSE {
            return self.write_up_to_pause(now_ns, bytes, started);
        }
        self.write(bytes, started);
        false
    }

    #[inline]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "HTTP/1.1 is spoken over a stream");
            return None;
        };
        while !input.is_empty() {
            let step = match self.state {
                State::Status => self.handle_status_line(now_ns, input),
                State::Fields { .. } => self.handle_fields(now_ns, input),
                State::Body { .. } => self.handle_body(input),
                State::Due => return self.next_due(),
                State::Ended | State::Dead => {
                    *input = &[];
                    Ok(None)
                }
            };
            match step {
                Ok(None) => {}
                Ok(event) => return event,
                Err(error) => return Some(self.fail(error)),
            }
        }
        if let State::Due = self.state { self.next_due() } else { None }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            return Some(Event::Ready(Abilities { multiplexes: false, takes_made: true }));
        }
        if self.progress.as_mut().is_some_and(|progress| progress.breaks_off_now()) {
            return Some(Event::BrokenOff);
        }
        if let State::Due = self.state {
            return self.next_due();
        }
        if self.has_ended { self.next_of_end() } else { None }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.progress.as_ref()?.timeout_ns()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if self.poll_timeout().is_some_and(|timeout_ns| timeout_ns <= now_ns) {
            self.pass_pause(now_ns);
        }
    }

    fn cancel(&mut self, _: RequestId) -> bool {
        // The responses behind it can only be told apart when it has come.
        false
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.extras.as_mut()?.take_captured()
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
    }

    fn handle_close(&mut self) {
        // HTTP/1.1 has no goodbye.
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{BodyExpect, Delivery, Expect, Request, StatusSet};

    use super::*;
    use crate::Session as _;
    use crate::h1::lines::KEPT_BYTES;
    use crate::h1::prepare;

    #[test]
    fn an_idle_connection_holds_next_to_nothing() {
        let request = Request {
            name: "hello".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: [].into(),
            delivery: Delivery::default(),
            expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
            stream: None,
            weight: 1,
            holes: false,
            literal_body: false,
            call: None,
            redacted: None,
        };
        let table = [prepare(&request, "example")].into();
        let mut session = Session::new(table, 1, Limits::default());
        session.handle_request(0, Outgoing::Listed(0));
        session.handle_transmitted(0, session.table[0].length(), &mut |_| {});
        let long = "x".repeat(10_000);
        let answer = format!("HTTP/1.1 200 OK\r\nA: {long}\r\nContent-Length: 0\r\n\r\n");
        for byte in answer.as_bytes().chunks(1) {
            session.handle_input(0, &mut Input::Stream(byte));
        }
        assert_eq!(session.outstanding(), 0);
        assert!(session.lines.capacity() <= KEPT_BYTES);
        assert!(session.outstanding.capacity() + session.unwritten.capacity() <= 8);
        assert!(size_of::<Session>() <= 320, "{} bytes", size_of::<Session>());
    }
}
