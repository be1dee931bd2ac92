//! Parts of responses: events of streams, messages of calls. Plain runs have none of this.
//!
//! A session is asked of one kind of parts or of none. It must not be called on the way of a response that has none.

use super::Session;
use super::error::code;
use super::input::Reading;
use crate::capture::NotKept;
use crate::grpc::{Call, Ended, Limits, Told};
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting, Table};
use crate::session::{Event, Failure, Part, PartKind, RequestId};

/// What is asked of the parts of responses.
#[derive(Debug)]
pub(super) enum Asked {
    /// Their events.
    Events(Splitting),
    /// The messages and the status of calls of gRPC.
    Calls {
        limits: Limits,
        /// What the server said last about the status of a call.
        message: String,
    },
}

impl Asked {
    /// Where the server's words about a status are put, cleared.
    pub(super) fn message(&mut self) -> Option<&mut String> {
        let Asked::Calls { message, .. } = self else { return None };
        message.clear();
        Some(message)
    }
}

/// The parts of one response.
#[derive(Debug)]
pub(super) enum Parts {
    /// Events.
    Events(Box<Splitter>),
    /// Messages of a call.
    Messages(Call),
}

impl Session {
    /// From now on, tells of the events of responses as these rules ask.
    pub fn split(&mut self, rules: &Table) {
        self.asked = Some(Box::new(Asked::Events(Splitting::new(rules))));
    }

    /// From now on, requests are calls of gRPC: their messages are told of as parts, and their status says whether
    /// a response is the expected one, not the plan.
    pub fn calls(&mut self, limits: Limits) {
        self.asked = Some(Box::new(Asked::Calls { limits, message: String::new() }));
    }

    /// Whether requests are calls.
    pub(super) fn has_calls(&self) -> bool {
        matches!(self.asked.as_deref(), Some(Asked::Calls { .. }))
    }

    /// The header fields of a response came.
    #[inline(never)]
    pub(super) fn begin_parts(&mut self, id: u32, told: Told) {
        let Some(asked) = self.asked.as_deref_mut() else { return };
        let Some(stream) = self.streams.get(id) else { return };
        stream.parts = match asked {
            Asked::Calls { .. } => Some(Parts::Messages(Call::new(stream.status, told))),
            Asked::Events(splitting) => {
                let expect = &self.table[stream.request as usize].expect;
                let is_expected = expect.status.contains(stream.status);
                let splitter = if is_expected { splitting.begin(stream.request) } else { None };
                splitter.map(Parts::Events)
            }
        };
    }

    /// Takes content with parts; its frame ends with it if the next one is awaited. `is_over`: it is the last, or the
    /// response cannot be kept.
    #[inline(never)]
    pub(super) fn handle_parts(&mut self, id: u32, content: &[u8], is_over: bool) -> Option<Event> {
        let stream = self.streams.get(id)?;
        let request = stream.request_id;
        match stream.parts.as_mut()? {
            Parts::Events(splitter) => {
                // Its capture has fed it, if there is one.
                if stream.capture.is_none() {
                    splitter.feed(content);
                }
                if matches!(self.reading, Reading::Header) {
                    splitter.end_chunk();
                }
                match is_over || splitter.is_too_long() {
                    true => Some(self.finish_parts(id)),
                    false => splitter.take().event(request),
                }
            }
            Parts::Messages(call) => {
                let Some(Asked::Calls { limits, .. }) = self.asked.as_deref() else { return None };
                let (Ended { count, bytes }, wrong) = call.handle(limits, content);
                let outcome = match wrong {
                    Some(error) => {
                        let failure = Failure::Malformed(error.into());
                        Some(self.give_up(id, code::CANCEL, failure))
                    }
                    None => is_over.then(|| self.finish_parts(id)),
                };
                if count == 0 {
                    return outcome;
                }
                self.news.any |= outcome.is_some();
                self.news.next.extend(outcome);
                let kind = PartKind::Message;
                Some(Event::Part(Part { id: Some(request), kind, bytes, count, tokens: 0 }))
            }
        }
    }

    /// A response is complete, or cannot be kept, in a session that is asked of parts.
    #[inline(never)]
    pub(super) fn finish_parts(&mut self, id: u32) -> Event {
        let Some(stream) = self.streams.get(id) else { return Event::Over };
        let (request, status) = (stream.request_id, stream.status);
        match stream.parts.take() {
            None => self.complete(id),
            Some(Parts::Events(splitter)) if splitter.is_too_long() => {
                let why = Failure::NotKept(NotKept::Event(MOST_TEXT_BYTES));
                let outcome = self.give_up(id, code::CANCEL, why);
                self.end_events(request, splitter, outcome)
            }
            Some(Parts::Events(mut splitter)) => {
                let mut outcome = self.complete(id);
                splitter.end();
                if let Event::Done(answer) = &mut outcome {
                    answer.expected = answer.expected.and_then(|()| splitter.verdict());
                }
                self.end_events(request, splitter, outcome)
            }
            Some(Parts::Messages(call)) => {
                let mut outcome = self.complete(id);
                let asked = self.asked.as_deref_mut();
                if let (Event::Done(answer), Some(Asked::Calls { limits, message })) =
                    (&mut outcome, asked)
                {
                    match call.finish(limits, status, message) {
                        Ok(()) => answer.expected = Ok(()),
                        Err(failure) => return Event::RequestFailed { id: request, failure },
                    }
                }
                outcome
            }
        }
    }

    /// A response with events has its outcome. The first of what is due.
    fn end_events(&mut self, id: RequestId, splitter: Box<Splitter>, outcome: Event) -> Event {
        if let Some(Asked::Events(splitting)) = self.asked.as_deref_mut() {
            splitting.end(id, splitter, outcome, &mut self.news.next);
        }
        self.news.any = true;
        self.news.next.pop_front().unwrap_or(Event::Changed)
    }
}
