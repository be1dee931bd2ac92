//! An open WebSocket: which request a message answers, pongs and pings, and how it closes.
//!
//! It knows nothing of what carries it: its output may be a connection's bytes, or the DATA of a stream.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::deflate::Deflater;
use super::error::code;
use super::frame::{self, FIN, RSV1, opcode};
use super::incoming::{Incoming, Taking};
use super::mask::Masks;
use super::opening::Opened;
use super::outcome::{done, not_kept};
use super::reader::{Reader, Token};
use super::rules::{Own, Rules};
use super::streams::Streams;
use super::watch::Watch;
use super::{Error, Message, Replies, Setup};
use crate::capture::{Capture, CaptureRoom};
use crate::output::Output;
use crate::parts::Table;
use crate::request::Outgoing;
use crate::session::{Abilities, Event, Failure, Part, PartKind, RequestId};

/// What a session is able to do once it is open.
pub(crate) const ABILITIES: Abilities = Abilities { multiplexes: true, takes_made: true };

/// When so much waits to be written, only the last of the server's pings is kept in mind.
const ENOUGH: usize = 64 << 10;

/// The stretch of time in which frames that carry nothing are counted.
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Conversation {
    setup: Arc<Setup>,
    masks: Masks,
    pub(crate) output: Output,
    reader: Reader,
    deflater: Option<Box<Deflater>>,
    /// Requests without an outcome, oldest first.
    outstanding: VecDeque<InFlight>,
    /// How many of them were begun to be written.
    started: usize,
    incoming: Incoming,
    state: State,
    /// We have sent a close frame.
    has_closed: bool,
    /// The server's last ping that has no pong yet.
    pong: Option<Box<[u8]>>,
    watch: Option<Watch>,
    /// When the second began in which frames that carry nothing are counted.
    second_ns: u64,
    /// Messages that answered nothing, in the input just consumed: how many, and their payload.
    parts: (u32, u64),
    /// What is due after them.
    news: Option<Event>,
    /// The peer sends nothing more: each outstanding request has its outcome due.
    has_ended: bool,
    /// It ended without a close frame of either side, which is to be told.
    is_abnormal: bool,
    /// Where messages are kept for a script.
    room: Option<CaptureRoom>,
    captured: Option<Capture>,
    /// Requests may be sent.
    is_ready: bool,
    /// Of each request with a rule of its own: what it waits for has come.
    seen: Box<[bool]>,
    /// Replies that have several messages.
    streams: Option<Box<Streams>>,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Open,
    /// The server has closed it, or what carried it: so each outstanding request fails.
    Closed(Failure),
    /// Nothing more comes.
    Dead,
}

#[derive(Debug, Clone, Copy)]
struct InFlight {
    id: RequestId,
    request: u32,
    /// Of its field.
    tag: u64,
    /// Where its first byte is in the output, and the one after its last.
    begin: u64,
    end: u64,
    /// It is done when it was written.
    needs_no_reply: bool,
}

impl Conversation {
    /// One that was opened at `now_ns` with these agreements.
    pub(crate) fn new(
        setup: Arc<Setup>,
        masks: Masks,
        output: Output,
        opened: Opened,
        now_ns: u64,
    ) -> Self {
        let reader = Reader::new(opened.is_some(), &setup.settings.limits);
        let watch = setup.settings.keep_alive.map(|every| Watch::new(every, now_ns));
        let rules = setup.rules.as_deref();
        let is_ready = !rules.is_some_and(Rules::awaits_ready);
        let seen = vec![false; rules.map_or(0, Rules::count)].into();
        let hello = setup.hello.clone();
        let mut conversation = Conversation {
            setup,
            masks,
            output,
            reader,
            deflater: opened.map(|agreed| Box::new(Deflater::new(agreed))),
            outstanding: VecDeque::new(),
            started: 0,
            incoming: Incoming::default(),
            state: State::Open,
            has_closed: false,
            pong: None,
            watch,
            second_ns: now_ns,
            parts: (0, 0),
            news: None,
            has_ended: false,
            is_abnormal: false,
            room: None,
            captured: None,
            is_ready,
            seen,
            streams: None,
        };
        if let Some(hello) = hello {
            conversation.write_message(&hello, &hello.payload);
        }
        conversation
    }

    /// Keeps the message that answers a request in `room`, as far as its bounds allow; replies to requests of the table
    /// `streams` have several messages.
    pub(crate) fn keeping(self, room: Option<&CaptureRoom>, streams: Option<&Table>) -> Self {
        let streams = streams.map(|table| Box::new(Streams::new(table)));
        Conversation { room: room.cloned(), streams, ..self }
    }

    /// Whether requests may be sent, as far as the server's messages say so.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    pub(crate) fn take_captured(&mut self) -> Option<Capture> {
        self.captured.take()
    }

    /// Requests without an outcome.
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding.len() as u32
    }

    pub(crate) fn free_places(&self) -> u32 {
        if self.state != State::Open || self.has_closed || self.has_ended || !self.is_ready {
            return 0;
        }
        self.setup.settings.in_flight.saturating_sub(self.outstanding())
    }

    pub(crate) fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        debug_assert!(self.free_places() > 0, "no request may be handed in now");
        let setup = Arc::clone(&self.setup);
        let (request, payload, tag) = match request {
            Outgoing::Listed(request) => {
                let payload = Cow::Borrowed(&*setup.table[request as usize].payload);
                (request, payload, setup.tags[request as usize])
            }
            Outgoing::Made(made) => {
                let payload = made.body();
                let field = setup.message_field.as_ref().unwrap_or(&setup.settings.replies);
                let tag = field.tag(&payload);
                (made.request, payload, tag)
            }
        };
        let begin = self.output.end();
        let own = setup.rules.as_deref().map_or(&Own::Common, |rules| rules.own(request));
        let needs_no_reply = match own {
            Own::Common => setup.settings.replies == Replies::Nothing,
            Own::Nothing => true,
            Own::With(_) => false,
            Own::Awaited(_) => std::mem::take(&mut self.seen[request as usize]),
        };
        match own {
            // An unsolicited pong, which nobody answers (RFC 6455 5.5.3), so that the wait has a beginning.
            Own::Awaited(_) => self.write_control(opcode::PONG, &[]),
            _ => self.write_message(&setup.table[request as usize], &payload),
        }
        let end = self.output.end();
        self.outstanding.push_back(InFlight { id, request, tag, begin, end, needs_no_reply });
    }

    /// Appends the frames of a message.
    fn write_message(&mut self, message: &Message, payload: &[u8]) {
        let deflater = self.deflater.as_mut().filter(|_| !payload.is_empty());
        let deflated = deflater.and_then(|deflater| deflater.deflate(payload));
        let mut first = message.kind.opcode() | if deflated.is_some() { RSV1 } else { 0 };
        let mut rest = deflated.unwrap_or(payload);
        let most = message.fragment_bytes.map_or(usize::MAX, usize::from);
        loop {
            let (part, after) = rest.split_at(rest.len().min(most));
            let fin = if after.is_empty() { FIN } else { 0 };
            frame::write(self.output.bytes(), first | fin, part, &mut self.masks);
            if after.is_empty() {
                return;
            }
            (first, rest) = (opcode::CONTINUATION, after);
        }
    }

    fn write_control(&mut self, opcode: u8, payload: &[u8]) {
        frame::write(self.output.bytes(), FIN | opcode, payload, &mut self.masks);
    }

    /// What is to be written. Call [`Conversation::handle_transmitted`] for what of it was.
    pub(crate) fn pending(&mut self) -> &[u8] {
        if self.pong.is_some() && self.output.pending().len() < ENOUGH {
            self.write_pong();
        }
        self.output.pending()
    }

    #[cold]
    fn write_pong(&mut self) {
        if let Some(payload) = self.pong.take() {
            self.write_control(opcode::PONG, &payload);
        }
    }

    /// `bytes` more were written. True: there are events.
    pub(crate) fn handle_transmitted(
        &mut self,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let through = self.output.transmitted(bytes);
        while let Some(next) = self.outstanding.get(self.started)
            && next.begin < through
        {
            started(next.id);
            self.started += 1;
        }
        self.written().is_some()
    }

    /// The place of a request that is done because it was written: the oldest one, unless requests have rules of their
    /// own.
    fn written(&self) -> Option<usize> {
        let is_done = |one: &InFlight| one.needs_no_reply && one.end <= self.output.through();
        match &self.setup.rules {
            Some(rules) if rules.has_own() => {
                self.outstanding.iter().take(self.started).position(is_done)
            }
            _ => self.outstanding.front().is_some_and(is_done).then_some(0),
        }
    }

    /// Consumes input up to the next event.
    #[inline]
    pub(crate) fn handle_input(&mut self, now_ns: u64, input: &mut &[u8]) -> Option<Event> {
        if let Some(event) = self.due_of_streams() {
            return Some(event);
        }
        if self.news.is_some() || self.state != State::Open {
            return self.handle_after_end(input);
        }
        if now_ns >= self.second_ns.saturating_add(SECOND_NS) {
            self.second_ns = now_ns;
            self.reader.begin_second();
        }
        match self.read(now_ns, input) {
            Ok(Some(event)) => Some(event),
            Ok(None) => self.tell_of_begun(),
            Err(error) => {
                *input = &[];
                let event = self.fail(error);
                Some(self.after_parts(event))
            }
        }
    }

    #[inline]
    fn read(&mut self, now_ns: u64, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        while let Some(token) = self.reader.next(input)? {
            let event = match token {
                Token::Begin { is_text, deflated } => {
                    self.begin(is_text, deflated);
                    None
                }
                Token::Payload(payload) => {
                    self.take(payload)?;
                    None
                }
                Token::End => self.end()?,
                Token::Control { opcode } => self.handle_control(now_ns, opcode)?,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// A message begins. Where replies are ordered, it answers the oldest request, if there is one.
    #[inline]
    fn begin(&mut self, is_text: bool, deflated: bool) {
        let is_next = self.setup.settings.replies == Replies::Ordered && self.started > 0;
        // Where rules decide, it has to be there as a whole.
        let answers = is_next && self.setup.rules.is_none();
        self.incoming.begin(is_text, deflated, answers);
        if let (Some(room), true, Some(front)) = (&self.room, answers, self.outstanding.front()) {
            self.incoming.capture = room.begin(front.request);
        }
    }

    /// The next bytes of a message's payload.
    #[inline]
    fn take(&mut self, payload: &[u8]) -> Result<(), Error> {
        let (incoming, taking, deflater) = self.taking();
        match deflater {
            Some(deflater) => {
                deflater.inflate(payload, &mut |piece| incoming.handle(piece, &taking))
            }
            None => incoming.handle(payload, &taking),
        }
    }

    /// The message that is being read, what is done with it, and what inflates it.
    #[inline]
    fn taking(&mut self) -> (&mut Incoming, Taking<'_>, Option<&mut Deflater>) {
        let settings = &self.setup.settings;
        let front = self.outstanding.front().filter(|_| self.incoming.answers);
        let taking = Taking {
            expect: front.map(|front| &self.setup.table[front.request as usize].expect),
            keeps: matches!(settings.replies, Replies::Field(_)) || self.setup.rules.is_some(),
            most_bytes: settings.limits.message_bytes,
        };
        let deflater = self.deflater.as_deref_mut().filter(|_| self.incoming.deflated);
        (&mut self.incoming, taking, deflater)
    }

    /// A message is complete.
    #[inline]
    fn end(&mut self) -> Result<Option<Event>, Error> {
        let (incoming, taking, deflater) = self.taking();
        if let Some(deflater) = deflater {
            deflater.finish(&mut |piece| incoming.handle(piece, &taking))?;
        }
        incoming.end()?;
        let body_bytes = self.incoming.check.length();
        if !self.is_ready {
            return Ok(self.greeted(body_bytes));
        }
        let Some(at) = self.reply_to() else {
            self.incoming.release();
            self.parts.0 += 1;
            self.parts.1 += body_bytes;
            return Ok(None);
        };
        if let Some(streams) = &mut self.streams {
            let InFlight { id, request, .. } = self.outstanding[at];
            match streams.handle(id, request, &self.incoming.kept) {
                None => {}
                Some(is_over) => {
                    if is_over {
                        self.take_answered(at);
                        self.captured = self.incoming.capture.take();
                    }
                    self.incoming.release();
                    return Ok(self.due_of_streams());
                }
            }
        }
        let Some(request) = self.take_answered(at) else { return Ok(None) };
        self.incoming.release();
        let capture = self.incoming.capture.take();
        if let Some(why) = capture.as_ref().and_then(Capture::not_kept) {
            return Ok(Some(not_kept(request.id, why)));
        }
        self.captured = capture;
        let expect = &self.setup.table[request.request as usize].expect;
        let expected = self.incoming.check.finish_body(expect);
        Ok(Some(done(request.id, body_bytes, expected)))
    }

    /// The place of the request that the complete message answers among those that are outstanding.
    #[inline]
    fn reply_to(&mut self) -> Option<usize> {
        let is_ruled = self.setup.rules.is_some();
        let is_reply = self.is_reply();
        if is_ruled && !self.seen.is_empty() {
            return self.reply_by_own(is_reply);
        }
        match &self.setup.settings.replies {
            _ if !is_reply => None,
            Replies::Ordered if is_ruled => (self.started > 0).then_some(0),
            Replies::Ordered => self.incoming.answers.then_some(0),
            Replies::Nothing => None,
            Replies::Field(field) => {
                let tag = field.tag(&self.incoming.kept);
                self.outstanding.iter().take(self.started).position(|one| one.tag == tag)
            }
        }
    }

    /// The same where requests have rules of their own, which go first. What a request will wait for is kept in mind.
    fn reply_by_own(&mut self, is_reply: bool) -> Option<usize> {
        let setup = Arc::clone(&self.setup);
        let (rules, kept) = (setup.rules.as_deref()?, &self.incoming.kept);
        let of_own = |one: &InFlight| match rules.own(one.request) {
            Own::With(pattern) | Own::Awaited(pattern) => {
                !one.needs_no_reply && pattern.is_in(kept)
            }
            Own::Common | Own::Nothing => false,
        };
        let mut started = self.outstanding.iter().take(self.started);
        if let Some(at) = started.clone().position(of_own) {
            return Some(at);
        }
        rules.awaited(kept).for_each(|request| self.seen[request] = true);
        let is_common = |one: &InFlight| matches!(rules.own(one.request), Own::Common);
        match &setup.settings.replies {
            _ if !is_reply => None,
            Replies::Ordered => started.position(is_common),
            Replies::Nothing => None,
            Replies::Field(field) => {
                let tag = field.tag(kept);
                started.position(|one| is_common(one) && one.tag == tag)
            }
        }
    }

    /// Takes this request, which is answered, from those that are outstanding.
    #[inline]
    fn take_answered(&mut self, at: usize) -> Option<InFlight> {
        let request = self.outstanding.remove(at)?;
        self.started -= 1;
        if self.setup.rules.is_some() || matches!(self.setup.settings.replies, Replies::Field(_)) {
            self.check_kept(request);
        }
        Some(request)
    }

    /// A message is complete that came before requests may be sent.
    #[cold]
    fn greeted(&mut self, body_bytes: u64) -> Option<Event> {
        self.is_reply();
        self.reply_by_own(false);
        self.is_ready =
            self.setup.rules.as_ref().is_none_or(|rules| rules.is_ready(&self.incoming.kept));
        self.incoming.release();
        self.parts.0 += 1;
        self.parts.1 += body_bytes;
        self.is_ready.then_some(Event::Ready(ABILITIES))
    }

    /// What is left to tell of replies that have several messages.
    #[inline]
    fn due_of_streams(&mut self) -> Option<Event> {
        self.streams.as_mut()?.poll_event()
    }

    /// Whether the rules let the message be a reply. What they have an answer for is answered.
    #[inline]
    fn is_reply(&mut self) -> bool {
        let Some(rules) = &self.setup.rules else { return true };
        if let Some(text) = rules.answer(&self.incoming.kept)
            && self.output.pending().len() < ENOUGH
        {
            frame::write(self.output.bytes(), FIN | opcode::TEXT, text, &mut self.masks);
        }
        rules.is_reply(&self.incoming.kept)
    }

    /// Compares a message that was kept with what its request expects, now that this is known.
    fn check_kept(&mut self, request: InFlight) {
        let Incoming { check, kept, capture, .. } = &mut self.incoming;
        *check = Default::default();
        check.handle(&self.setup.table[request.request as usize].expect, kept);
        *capture = self.room.as_ref().and_then(|room| room.begin(request.request));
        if let Some(capture) = capture {
            capture.keep_body(kept);
        }
    }

    /// What is due when all of the input is consumed.
    #[inline]
    fn tell_of_begun(&mut self) -> Option<Event> {
        if self.parts.0 > 0 {
            return self.take_parts();
        }
        let Incoming { is_open, answers, told, .. } = &mut self.incoming;
        if *is_open && *answers && !std::mem::replace(told, true) {
            return self.outstanding.front().map(|front| Event::FirstByte(front.id));
        }
        None
    }

    fn take_parts(&mut self) -> Option<Event> {
        let (count, bytes) = std::mem::take(&mut self.parts);
        (count > 0).then_some(Event::Part(Part {
            id: None,
            kind: PartKind::Message,
            bytes,
            count,
            tokens: 0,
        }))
    }

    /// `event`, or the parts that came before it.
    fn after_parts(&mut self, event: Event) -> Event {
        match self.take_parts() {
            Some(parts) => {
                self.news = Some(event);
                parts
            }
            None => event,
        }
    }

    #[cold]
    fn handle_control(&mut self, now_ns: u64, opcode: u8) -> Result<Option<Event>, Error> {
        match opcode {
            opcode::PING => {
                let payload = self.reader.control();
                if self.output.pending().len() < ENOUGH {
                    frame::write(self.output.bytes(), FIN | opcode::PONG, payload, &mut self.masks);
                } else {
                    self.pong = Some(payload.into());
                }
                Ok(None)
            }
            opcode::PONG => {
                if let Some(watch) = &mut self.watch {
                    watch.handle_pong(now_ns, self.reader.control());
                }
                Ok(None)
            }
            _ => {
                let payload = self.reader.control();
                let told = frame::close(payload)?;
                let echo = payload.first_chunk::<2>().copied();
                self.state = State::Closed(Failure::ClosedWith(told.clone()));
                self.close(echo.as_ref().map_or(&[], |code| &code[..]));
                Ok(Some(self.after_parts(Event::CloseFrame(told))))
            }
        }
    }

    /// Sends a close frame, once.
    fn close(&mut self, payload: &[u8]) {
        if !std::mem::replace(&mut self.has_closed, true) {
            self.write_control(opcode::CLOSE, payload);
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Event {
        self.state = State::Dead;
        self.close(&error.close_code().to_be_bytes());
        self.incoming = Incoming::default();
        Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
    }

    /// The server has given up what carries it, while its connection lives: nothing more comes, and nothing can be said.
    #[cold]
    pub(crate) fn give_up(&mut self, failure: Failure) {
        if self.state == State::Open {
            self.state = State::Closed(failure);
        }
    }

    /// What is left to say when nothing more is read.
    #[cold]
    fn handle_after_end(&mut self, input: &mut &[u8]) -> Option<Event> {
        *input = &[];
        if let Some(event) = self.news.take() {
            return Some(event);
        }
        let State::Closed(failure) = &self.state else { return None };
        let failure = failure.clone();
        self.started = 0;
        let Some(request) = self.outstanding.pop_front() else {
            self.state = State::Dead;
            return Some(Event::Over);
        };
        Some(Event::RequestFailed { id: request.id, failure })
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.news.take() {
            return Some(event);
        }
        if std::mem::take(&mut self.is_abnormal) {
            return Some(Event::CloseFrame(code::ABNORMAL.into()));
        }
        if let Some(event) = self.due_of_streams() {
            return Some(event);
        }
        if let Some(at) = self.written()
            && self.state == State::Open
        {
            self.started -= 1;
            let request = self.outstanding.remove(at)?;
            return Some(done(request.id, 0, Ok(())));
        }
        if self.has_ended && self.state == State::Open && !self.is_ready {
            self.state = State::Dead;
            return Some(Event::Failed { id: None, failure: Failure::NotReady(GREETING) });
        }
        if !self.has_ended || self.state == State::Dead {
            return None;
        }
        let is_begun = std::mem::take(&mut self.incoming.answers) && self.incoming.is_open;
        let failure = if is_begun { Failure::Truncated } else { Failure::Closed };
        let id = Some(self.outstanding.pop_front()?.id);
        Some(Event::Failed { id, failure })
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.watch.as_ref().filter(|_| self.state == State::Open).map(Watch::timeout_ns)
    }

    pub(crate) fn handle_timeout(&mut self, now_ns: u64) {
        if self.poll_timeout().is_none_or(|timeout_ns| timeout_ns > now_ns) {
            return;
        }
        match self.watch.as_mut().map(|watch| watch.next_ping(now_ns)) {
            Some(Ok(payload)) => self.write_control(opcode::PING, &payload),
            Some(Err(error)) => self.news = Some(self.fail(error)),
            None => {}
        }
    }

    /// Takes a request back. Where fields tell messages apart the conversation goes on, and a late message is a
    /// part. Elsewhere the messages behind it can only be told apart when it has come, and a message that was
    /// handed in leaves whole.
    pub(crate) fn cancel(&mut self, id: RequestId) -> bool {
        let at = self.outstanding.iter().position(|one| one.id == id);
        match (at, &self.setup.settings.replies) {
            (Some(at), Replies::Field(_)) => {
                self.outstanding.remove(at);
                self.started -= usize::from(at < self.started);
                if let Some(streams) = &mut self.streams {
                    streams.forget(id);
                }
                true
            }
            _ => false,
        }
    }

    pub(crate) fn handle_end(&mut self) {
        self.has_ended = true;
        self.is_abnormal = self.state == State::Open && !self.has_closed;
    }

    pub(crate) fn handle_close(&mut self) {
        if self.state == State::Open {
            self.close(&code::NORMAL.to_be_bytes());
        }
    }
}

/// What a connection that ended too early lacked.
const GREETING: &str = "the message after which a WebSocket takes requests";
