//! Parts of responses: events of streams, messages of calls. Plain runs have none of this.
//!
//! A session is asked of one kind of parts or of none. It must not be called on the way of a response that has none.

use super::Session;
use super::error::code;
use super::input::Reading;
use crate::asked::{Asked, Content};
use crate::grpc::{Limits, Told};
use crate::parts::{Splitting, Table};
use crate::session::{Event, Failure};

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
    pub(super) fn handle_parts(&mut self, id: u32, bytes: &[u8], is_over: bool) -> Option<Event> {
        let asked = self.asked.as_deref()?;
        let stream = self.streams.get(id)?;
        let content = Content {
            bytes,
            is_fed: stream.capture.is_some(),
            ends_frame: matches!(self.reading, Reading::Header),
            is_over,
        };
        let (told, failure) = asked.feed(stream.parts.as_mut()?, stream.request_id, content);
        let outcome = match failure {
            None => is_over.then(|| self.finish_parts(id)),
            failure => Some(self.end_parts(id, failure)),
        };
        if told.is_none() {
            return outcome;
        }
        if let Some(outcome) = outcome {
            self.news.any = true;
            self.news.next.push_front(outcome);
        }
        told
    }

    /// A response is complete, or cannot be kept, in a session that is asked of parts.
    #[inline(never)]
    pub(super) fn finish_parts(&mut self, id: u32) -> Event {
        self.end_parts(id, None)
    }

    /// A response has its outcome. The first of what is due.
    fn end_parts(&mut self, id: u32, failure: Option<Failure>) -> Event {
        let Some(stream) = self.streams.get(id) else { return Event::Over };
        let (of, parts) = ((stream.request_id, stream.status), stream.parts.take());
        let outcome = match failure {
            Some(failure) => self.give_up(id, code::CANCEL, failure),
            None => self.complete(id),
        };
        let (Some(parts), Some(asked)) = (parts, self.asked.as_deref_mut()) else { return outcome };
        asked.end(parts, of, outcome, &mut self.news.next);
        self.news.any = true;
        self.news.next.pop_front().unwrap_or(Event::Changed)
    }
}
