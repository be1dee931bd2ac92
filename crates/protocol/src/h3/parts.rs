//! Parts of responses: events of streams, messages of calls. Plain runs have none of this.
//!
//! A session is asked of one kind of parts or of none. It must not be called on the way of a response that has none.

use super::error::code;
use super::session::Session;
use crate::asked::{Asked, Content, Parts};
use crate::grpc::{self, Limits, Told};
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

    /// The header fields of a response came. Its first byte is told of before its parts.
    #[inline(never)]
    pub(super) fn begin_parts(&mut self, id: u64, told: Told) {
        let Some(asked) = self.asked.as_deref_mut() else { return };
        let Some(stream) = self.streams.get(id) else { return };
        let expect = &self.table[stream.request as usize].expect;
        let is_expected = expect.status.contains(stream.status);
        stream.parts = asked.begin(stream.request, stream.status, is_expected, told).map(Box::new);
        if std::mem::take(&mut stream.is_first) {
            self.news.push_back(Event::FirstByte(stream.request_id));
        }
    }

    /// The trailers of a response with parts came.
    #[inline(never)]
    pub(super) fn end_call(&mut self, id: u64, told: Told) {
        let stream = self.streams.get(id);
        if let Some(Parts::Messages(call)) = stream.and_then(|one| one.parts.as_deref_mut()) {
            call.handle_trailers(told);
        }
    }

    /// Takes content of a response with parts, with which a frame may end.
    #[inline(never)]
    pub(super) fn handle_parts(&mut self, id: u64, bytes: &[u8], ends_frame: bool) {
        let Some(asked) = self.asked.as_deref() else { return };
        let Some(stream) = self.streams.get(id) else { return };
        let Some(parts) = &mut stream.parts else { return };
        let not_kept = stream.capture.as_ref().and_then(|capture| capture.not_kept());
        let (is_fed, is_over) = (stream.capture.is_some(), not_kept.is_some());
        let content = Content { bytes, is_fed, ends_frame, is_over };
        let (told, failure) = asked.feed(parts, stream.request_id, content);
        self.news.extend(told);
        if let Some(failure) = failure.or(not_kept.map(Failure::NotKept)) {
            self.end_parts(id, Some(failure));
        }
    }

    /// A response with parts has its outcome: it is complete, or fails by a word of ours.
    #[inline(never)]
    pub(super) fn end_parts(&mut self, id: u64, failure: Option<Failure>) {
        let Some(stream) = self.streams.get(id) else { return };
        let (of, parts) = ((stream.request_id, stream.status), stream.parts.take());
        let outcome = match failure {
            Some(failure) => {
                self.abandon(id, code::REQUEST_CANCELLED);
                Some(Event::RequestFailed { id: of.0, failure })
            }
            None => self.complete(id),
        };
        let (Some(parts), Some(asked)) = (parts, self.asked.as_deref_mut()) else { return };
        let Some(outcome) = outcome else { return };
        let was_kept = self.room.is_some() && matches!(outcome, Event::Done(_));
        asked.end(*parts, of, outcome, &mut self.news);
        // The status of a call may have made it a failure, of which nothing is taken.
        if was_kept && !matches!(self.news.back(), Some(Event::Done(_))) {
            self.captures.pop_back();
        }
    }

    /// What a stream that the server reset with this code is.
    pub(super) fn of_reset(&self, code: u32) -> Failure {
        match self.asked.as_deref() {
            Some(Asked::Calls { .. }) => grpc::of_reset(code),
            _ if code == code::REQUEST_REJECTED => Failure::NotProcessed,
            _ => Failure::StreamReset(code),
        }
    }
}
