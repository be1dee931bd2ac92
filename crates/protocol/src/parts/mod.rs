//! The events of a response: where each ends, and what is asked of it.
//!
//! The body comes in pieces of any size, and [`Splitter`] says how many events ended in each. It tells no time, and
//! it keeps no event: only where a rule reads the text of events, the one that has begun stands in a buffer of at
//! most [`MOST_TEXT_BYTES`]. A server decides about everything here, so memory is bounded, and time is linear in
//! the bytes.
//!
//! [`sse`] reads server-sent events, [`lines`] reads lines; chunks end where the framing of HTTP says so, and messages
//! of a WebSocket with it.

mod lines;
mod sse;

use std::collections::VecDeque;
use std::rc::Rc;

use candor_memory::{Pattern, Source};
use candor_plan::{Request, StreamForm, Streaming, Tokens};

use crate::capture::CaptureRoom;
use crate::expect::Mismatch;
use crate::session::{Event, Part, PartKind, RequestId};
use lines::Lines;
use sse::Sse;

/// The longest text of an event that rules can read, in bytes.
pub const MOST_TEXT_BYTES: usize = 64 << 10;
/// Memory that a splitter keeps from one response to the next.
const KEPT_BYTES: usize = 4 << 10;

/// What is asked of the events of one request's responses, compiled.
#[derive(Debug)]
pub struct Rules {
    form: StreamForm,
    error: Option<Pattern>,
    end: Option<End>,
    token: Box<[Source]>,
    tokens: Option<Count>,
    input: Option<Source>,
    /// Where ids of events are noted, if the stream is gone on with.
    resumes: Option<CaptureRoom>,
}

/// Which event is the last.
#[derive(Debug)]
enum End {
    /// The one with this text.
    Text(Box<[u8]>),
    /// The one with this in it.
    With(Pattern),
}

impl End {
    fn is(&self, data: &[u8]) -> bool {
        match self {
            End::Text(text) => data.trim_ascii() == &**text,
            End::With(pattern) => pattern.is_in(data),
        }
    }
}

/// How tokens are counted.
#[derive(Debug)]
enum Count {
    Events,
    At(Source),
}

/// The rules of each request of a plan; those without are no streams.
pub type Table = Rc<[Option<Rc<Rules>>]>;

impl Rules {
    /// Compiles rules. `None`: they do not compile, which the check of a plan excludes.
    pub fn new(stream: &Streaming) -> Option<Self> {
        let error = stream.error.as_deref().map(Pattern::new).transpose().ok()?;
        let tokens = match &stream.tokens {
            None => None,
            Some(Tokens::Events) => Some(Count::Events),
            Some(Tokens::At(place)) => Some(Count::At(Source::compile(place).ok()?)),
        };
        let end = match &stream.end {
            None => None,
            Some(text) if stream.form == StreamForm::Messages => {
                Some(End::With(Pattern::new(text).ok()?))
            }
            Some(text) => Some(End::Text(text.trim().as_bytes().into())),
        };
        let source = |place: &String| Source::compile(place).ok();
        let token = stream.token.iter().map(source).collect::<Option<_>>()?;
        let input = stream.input_tokens.as_ref().and_then(source);
        Some(Rules { form: stream.form, error, end, token, tokens, input, resumes: None })
    }

    /// The rules of these requests, where `room` takes the ids of events; `None`: none of them has a stream.
    pub fn table(requests: &[Request], room: Option<&CaptureRoom>) -> Option<Table> {
        let rules = |one: &Request| {
            let stream = one.stream.as_ref()?;
            let resumes = room.filter(|_| stream.reconnect).cloned();
            Some(Rc::new(Rules { resumes, ..Rules::new(stream)? }))
        };
        let any = requests.iter().any(|one| one.stream.is_some());
        any.then(|| requests.iter().map(rules).collect())
    }

    /// Whether the text of events is read.
    fn read_text(&self) -> bool {
        let looks_for_tokens = !self.token.is_empty() || self.input.is_some();
        let counts = matches!(self.tokens, Some(Count::At(_)));
        self.error.is_some() || self.end.is_some() || looks_for_tokens || counts
    }

    /// Whether an event with this text is a token.
    fn is_token(&self, data: &[u8]) -> bool {
        let has_text = |place: &Source| place.find(&[], data).is_ok_and(|text| !text.is_empty());
        match self.token.is_empty() {
            true => self.tokens.is_some(),
            false => self.token.iter().any(has_text),
        }
    }
}

/// Events that ended in the bytes that were fed since the last [`Splitter::take`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many.
    pub count: u32,
    /// Their payload: the data of server-sent events, the text of lines without their ends, chunks.
    pub bytes: u64,
    /// How many of them are tokens.
    pub tokens: u32,
}

impl Ended {
    /// The same as an event of the session that reads the response to this request.
    pub(crate) fn event(self, id: RequestId) -> Option<Event> {
        let Ended { count, bytes, tokens } = self;
        let part = Part { id: Some(id), kind: PartKind::Event, bytes, count, tokens };
        (count > 0).then_some(Event::Part(part))
    }
}

/// The events of one response.
#[derive(Debug)]
pub struct Splitter {
    rules: Rc<Rules>,
    reader: Reader,
    text: Text,
    ended: Ended,
    /// Of the whole response.
    count: u64,
    /// The number of the first event that is an error, from 1.
    error: Option<u64>,
    /// The event that ends the response came.
    has_end: bool,
    /// Events that are tokens, of the whole response.
    token_events: u64,
    /// What events said of tokens.
    tokens: Option<u64>,
    input: Option<u64>,
}

/// What a session needs to split responses: the rules, and splitters of earlier responses for their memory.
#[derive(Debug)]
pub(crate) struct Splitting {
    rules: Table,
    #[allow(clippy::vec_box, reason = "a response takes it as it is, without an allocation")]
    spare: Vec<Box<Splitter>>,
}

const NO_CONTENT: u16 = 204;

/// Splitters that are kept.
const MOST_SPARE: usize = 64;

impl Splitting {
    pub(crate) fn new(rules: &Table) -> Self {
        Splitting { rules: Rc::clone(rules), spare: Vec::new() }
    }

    /// For the body of a response to this request, with this status; `None`: it is no stream.
    pub(crate) fn begin(&mut self, request: u32, status: u16) -> Option<Box<Splitter>> {
        let rules = Rc::clone(self.rules.get(request as usize)?.as_ref()?);
        // By it a server says that the stream is over for good.
        if rules.resumes.is_some() && status == NO_CONTENT {
            return None;
        }
        Some(match self.spare.pop() {
            Some(mut spare) => {
                spare.again(rules);
                spare
            }
            None => Box::new(Splitter::new(rules)),
        })
    }

    /// A response has its outcome: what is left of its events is due before, and the tokens.
    pub(crate) fn end(
        &mut self,
        id: RequestId,
        mut splitter: Box<Splitter>,
        outcome: Event,
        due: &mut VecDeque<Event>,
    ) {
        let is_done = matches!(outcome, Event::Done(_));
        let (output, input) = (splitter.tokens(), splitter.input);
        due.extend(splitter.event(id));
        if is_done && (output.is_some() || input.is_some()) {
            due.push_back(Event::Tokens { id, output, input });
        }
        due.push_back(outcome);
        if self.spare.len() < MOST_SPARE {
            self.spare.push(splitter);
        }
    }
}

/// Where in the form of the stream the next byte belongs.
#[derive(Debug)]
enum Reader {
    Sse(Sse),
    Lines(Lines),
    Chunks,
}

impl Splitter {
    /// At the beginning of a response.
    pub fn new(rules: Rc<Rules>) -> Self {
        let (reader, text) = (Reader::of(&rules), Text::new(rules.read_text()));
        Splitter {
            rules,
            reader,
            text,
            ended: Ended::default(),
            count: 0,
            error: None,
            has_end: false,
            token_events: 0,
            tokens: None,
            input: None,
        }
    }

    /// The same for another response, with the memory of this one.
    pub fn again(&mut self, rules: Rc<Rules>) {
        let mut text = std::mem::take(&mut self.text);
        text.reset(rules.read_text());
        *self = Splitter { text, ..Splitter::new(rules) };
    }

    /// Takes the next bytes of the body.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let is_event = match &mut self.reader {
                Reader::Sse(sse) => sse.read(&mut bytes, &mut self.text),
                Reader::Lines(lines) => lines.read(&mut bytes, &mut self.text),
                Reader::Chunks => {
                    self.text.push(std::mem::take(&mut bytes));
                    false
                }
            };
            if is_event {
                self.end_event();
            }
        }
    }

    /// A chunk, or a DATA frame, ends here.
    pub fn end_chunk(&mut self) {
        if matches!(self.reader, Reader::Chunks) && self.text.bytes > 0 {
            self.end_event();
        }
    }

    /// The body ends here. A line needs no end of its own then; a server-sent event does (WHATWG HTML 9.2.6).
    pub fn end(&mut self) {
        let is_event = match &mut self.reader {
            Reader::Sse(_) => false,
            Reader::Lines(lines) => lines.end(&mut self.text),
            Reader::Chunks => self.text.bytes > 0,
        };
        if is_event {
            self.end_event();
        }
    }

    /// The events that ended since the last call.
    pub fn take(&mut self) -> Ended {
        std::mem::take(&mut self.ended)
    }

    /// The same as an event of the session that reads the response to this request. What they say about the next one is
    /// noted.
    pub(crate) fn event(&mut self, id: RequestId) -> Option<Event> {
        if let (Reader::Sse(sse), Some(room)) = (&mut self.reader, &self.rules.resumes)
            && let Some(more) = sse.take_resume()
        {
            room.note(id, more);
        }
        self.take().event(id)
    }

    /// The event that ends the response has come.
    pub fn has_end(&self) -> bool {
        self.has_end
    }

    /// Whether no event has come.
    pub fn is_fresh(&self) -> bool {
        self.count == 0
    }

    /// An event is longer than the rules can read.
    pub fn is_too_long(&self) -> bool {
        self.text.is_cut
    }

    /// Whether the events of the response, which is complete, are as asked.
    ///
    /// # Errors
    /// One is an error, or the one that ends the response did not come, or there are no server-sent events at all: a
    /// page to log in, say, or a compressed body.
    pub fn verdict(&self) -> Result<(), Mismatch> {
        let is_sse = self.rules.form == StreamForm::Sse;
        match self.error {
            None if is_sse && self.count == 0 && !self.has_end => Err(Mismatch::NoStream),
            Some(number) => Err(Mismatch::ErrorEvent(number)),
            None if self.rules.end.is_some() && !self.has_end => Err(Mismatch::Unended(self.count)),
            None => Ok(()),
        }
    }

    /// The tokens so far; `None`: they are not counted, or no event said how many there are.
    pub fn tokens(&self) -> Option<u64> {
        let told = match self.rules.tokens {
            Some(Count::Events) => return Some(self.token_events),
            Some(Count::At(_)) | None => self.tokens,
        };
        told.or((!self.rules.token.is_empty()).then_some(self.token_events))
    }

    /// The tokens of the request; `None`: they are not looked for, or no event said how many there are.
    pub fn input_tokens(&self) -> Option<u64> {
        self.input
    }

    fn end_event(&mut self) {
        let Rules { error, end, tokens, input, .. } = &*self.rules;
        let data = self.text.data();
        if end.as_ref().is_some_and(|end| end.is(data)) {
            self.has_end = true;
            // A message that ends a reply says how it ended.
            let is_error = |pattern: &Pattern| pattern.is_in(data);
            if matches!(end, Some(End::With(_))) && error.as_ref().is_some_and(is_error) {
                self.error = self.error.or(Some(self.count + 1));
            }
            return self.text.clear();
        }
        self.count += 1;
        self.ended.count += 1;
        self.ended.bytes += self.text.bytes;
        if self.rules.is_token(data) {
            self.ended.tokens += 1;
            self.token_events += 1;
        }
        let told = |source: &Source| source.find(&[], data).ok().and_then(|text| decimal(&text));
        if let Some(Count::At(source)) = tokens {
            self.tokens = told(source).or(self.tokens);
        }
        self.input = input.as_ref().and_then(told).or(self.input);
        if let Some(pattern) = error
            && self.error.is_none()
            && pattern.is_in(self.text.whole())
        {
            self.error = Some(self.count);
        }
        self.text.clear();
    }
}

impl Reader {
    fn of(rules: &Rules) -> Self {
        match rules.form {
            StreamForm::Sse => Reader::Sse(Sse::new(rules.resumes.is_some())),
            StreamForm::Ndjson => Reader::Lines(Lines::default()),
            StreamForm::Chunks | StreamForm::Messages => Reader::Chunks,
        }
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// The event that has begun: its length, and its text if a rule reads it.
#[derive(Debug, Default)]
struct Text {
    /// Of its payload.
    bytes: u64,
    is_kept: bool,
    /// It was longer than is kept.
    is_cut: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    /// Both together, for an expression.
    joined: Vec<u8>,
}

impl Text {
    fn new(is_kept: bool) -> Self {
        Text { is_kept, ..Text::default() }
    }

    fn reset(&mut self, is_kept: bool) {
        self.clear();
        for buffer in [&mut self.name, &mut self.data, &mut self.joined] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        (self.is_kept, self.is_cut) = (is_kept, false);
    }

    /// Appends to the payload.
    fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if self.has_room(piece) {
            self.data.extend_from_slice(piece);
        }
    }

    /// Appends to the name of the event.
    fn push_name(&mut self, piece: &[u8]) {
        if self.has_room(piece) {
            self.name.extend_from_slice(piece);
        }
    }

    fn has_room(&mut self, piece: &[u8]) -> bool {
        let fits = self.name.len() + self.data.len() + piece.len() <= MOST_TEXT_BYTES;
        self.is_cut |= self.is_kept && !fits;
        self.is_kept && fits
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.name.clear();
        self.data.clear();
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    /// The data, after a line with the name if there is one.
    fn whole(&mut self) -> &[u8] {
        if self.name.is_empty() {
            return &self.data;
        }
        self.joined.clear();
        for piece in [&b"event: "[..], &self.name, b"\n", &self.data] {
            self.joined.extend_from_slice(piece);
        }
        &self.joined
    }
}

#[cfg(test)]
mod tests;
