//! Events of responses. A session that is not asked of them has none of this.

use std::collections::VecDeque;

use super::Session;
use super::session::State;
use crate::capture::NotKept;
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting, Table};
use crate::session::{Event, RequestId};

/// The events of the response that is being read, and what is due of the last one.
#[derive(Debug)]
pub(super) struct Events {
    splitting: Splitting,
    /// The response that is being read was looked at.
    has_begun: bool,
    /// `None`: it is no stream.
    pub(super) splitter: Option<Box<Splitter>>,
    /// What follows the event that was returned, in [`State::Due`].
    due: VecDeque<Event>,
    /// The state after that.
    then: State,
}

impl Events {
    /// Those that ended in the input so far.
    pub(super) fn take(&mut self, id: RequestId) -> Option<Event> {
        self.splitter.as_mut()?.take().event(id)
    }

    /// Why the response is not read, if it is not.
    pub(super) fn not_kept(&self) -> Option<NotKept> {
        let is_too_long = self.splitter.as_ref()?.is_too_long();
        is_too_long.then_some(NotKept::Event(MOST_TEXT_BYTES))
    }
}

impl Session {
    /// From now on, tells of the events of responses as these rules ask.
    pub fn split(&mut self, rules: &Table) {
        let splitting = Splitting::new(rules);
        let events = Events {
            splitting,
            has_begun: false,
            splitter: None,
            due: VecDeque::new(),
            then: State::Status,
        };
        self.extras.get_or_insert_default().events = Some(Box::new(events));
    }

    #[inline]
    pub(super) fn events(&mut self) -> Option<&mut Events> {
        self.extras.as_mut()?.events.as_deref_mut()
    }

    /// Splits the body of the response whose head was read last, if it is a stream that was asked for.
    #[inline]
    pub(super) fn begin_events(&mut self) {
        if self.events().is_some_and(|events| !events.has_begun) {
            self.begin_splitter();
        }
    }

    fn begin_splitter(&mut self) {
        let State::Body { status, .. } = self.state else { return };
        let Some(current) = self.outstanding.front() else { return };
        let request = current.request;
        let is_expected = self.prepared(request).expect.status.contains(status);
        let entry = self.entry(request);
        let Some(events) = self.events() else { return };
        events.has_begun = true;
        events.splitter = if is_expected { events.splitting.begin(entry) } else { None };
    }

    /// A response is complete, or cannot be kept, in a session that is asked of events.
    #[inline(never)]
    pub(super) fn finish_events(&mut self) -> Option<Event> {
        self.begin_events();
        if self.not_kept().is_some() {
            return self.complete();
        }
        let verdict = self.events()?.splitter.as_mut().map(|splitter| {
            splitter.end();
            splitter.verdict()
        });
        let mut done = self.complete()?;
        // Another outcome has told of its events already.
        let Event::Done(answer) = &mut done else { return Some(done) };
        let id = answer.id;
        answer.expected = answer.expected.and(verdict.unwrap_or(Ok(())));
        Some(self.after_events(Some(id), done))
    }

    /// The outcome of the response that is being read, or what comes before it: then the outcome is due.
    #[inline]
    pub(super) fn after_events(&mut self, id: Option<RequestId>, outcome: Event) -> Event {
        match (self.events(), id) {
            (Some(_), Some(id)) => self.tell_first(id, outcome),
            _ => outcome,
        }
    }

    #[inline(never)]
    fn tell_first(&mut self, id: RequestId, outcome: Event) -> Event {
        let Some(events) = self.events() else { return outcome };
        events.has_begun = false;
        let Some(splitter) = events.splitter.take() else { return outcome };
        events.splitting.end(id, splitter, outcome, &mut events.due);
        let state = std::mem::replace(&mut self.state, State::Due);
        if let Some(events) = self.events() {
            events.then = state;
        }
        self.next_due().unwrap_or(Event::Changed)
    }

    /// The next event that is due. After the last of them the session goes on.
    #[cold]
    pub(super) fn next_due(&mut self) -> Option<Event> {
        let events = self.events()?;
        let event = events.due.pop_front();
        if events.due.is_empty() {
            self.state = std::mem::replace(&mut events.then, State::Status);
        }
        event
    }
}
