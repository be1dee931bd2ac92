//! Parts of responses: events of streams, messages of calls. Plain runs have none of this.
//!
//! A session is asked of one kind of parts or of none. It must not be called on the way of a response that has none.

use super::Session;
use super::error::code;
use super::input::Reading;
use crate::asked::{Asked, Parts};
use crate::capture::NotKept;
use crate::grpc::{Ended, Limits, Told};
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting, Table};
use crate::session::{Event, Failure, Part, PartKind, RequestId};

impl Session {
    /// From now on, tells of the events of responses as these rules ask.
    pub fn split(&mut self, rules: &Table) {
        self.asked = Some(Box::new(Asked::Events(Splitting::new(rules))));
    }

    /// From now on, requests are calls: their messages are told of as parts, and their status says whether
    /// a response is the expected one, not the plan.
    pub fn calls(&mut self, limits: Limits) {
        self.asked = Some(Box::new(Asked::calls(limits)));
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
        let expect = &self.table[stream.request as usize].expect;
        let is_expected = expect.status.contains(stream.status);
        stream.parts = asked.begin(stream.request, stream.status, is_expected, told);
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
                    false => splitter.event(request),
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
                Some(messages(request, count, bytes))
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
                    let body = call.handle_end();
                    match call.finish(limits, status, message) {
                        Ok(()) => answer.expected = Ok(()),
                        Err(failure) => outcome = Event::RequestFailed { id: request, failure },
                    }
                    if let Some(Ended { count, bytes }) = body {
                        self.news.any = true;
                        self.news.next.push_back(outcome);
                        return messages(request, count, bytes);
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

/// Messages of a call that ended.
fn messages(request: RequestId, count: u32, bytes: u64) -> Event {
    Event::Part(Part { id: Some(request), kind: PartKind::Message, bytes, count, tokens: 0 })
}
