//! Parts of responses: events of streams, messages of calls. A session that is not asked of them has none of this.

use std::collections::VecDeque;

use super::Session;
use super::session::State;
use crate::asked::{Asked, Parts};
use crate::capture::NotKept;
use crate::grpc::{self, Ended, Limits, Told};
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting, Table};
use crate::session::{Event, Failure, Last, Part, PartKind, RequestId};

/// The parts of the response that is being read, and what is due of the last one.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) asked: Asked,
    /// The response that is being read was looked at.
    has_begun: bool,
    /// `None`: it has no parts.
    pub(super) parts: Option<Parts>,
    /// What its head says of a call.
    pub(super) told: Told,
    /// Messages that ended, and were not told of.
    ended: Ended,
    /// What is wrong with a message.
    wrong: Option<grpc::Error>,
    /// What follows the event that was returned, in [`State::Due`].
    due: VecDeque<Event>,
    /// The state after that.
    then: State,
}

impl Events {
    fn new(asked: Asked) -> Self {
        Events {
            asked,
            has_begun: false,
            parts: None,
            told: Told::default(),
            ended: Ended::default(),
            wrong: None,
            due: VecDeque::new(),
            then: State::Status,
        }
    }

    /// What splits the response into events, if it has some.
    pub(super) fn splitter(&mut self) -> Option<&mut Splitter> {
        match &mut self.parts {
            Some(Parts::Events(splitter)) => Some(splitter),
            _ => None,
        }
    }

    /// Takes the next bytes of the body. `is_fed`: a capture has fed the splitter.
    pub(super) fn feed(&mut self, content: &[u8], is_fed: bool, ends_chunk: bool) {
        match (&mut self.parts, &self.asked) {
            (Some(Parts::Events(splitter)), _) => {
                if !is_fed {
                    splitter.feed(content);
                }
                if ends_chunk {
                    splitter.end_chunk();
                }
            }
            (Some(Parts::Messages(call)), Asked::Calls { limits, .. }) if self.wrong.is_none() => {
                let (ended, wrong) = call.handle(limits, content);
                self.ended.count = self.ended.count.saturating_add(ended.count);
                self.ended.bytes += ended.bytes;
                self.wrong = wrong;
            }
            _ => {}
        }
    }

    /// Those that ended in the input so far.
    pub(super) fn take(&mut self, id: RequestId) -> Option<Event> {
        if let Some(splitter) = self.splitter() {
            return splitter.event(id);
        }
        let Ended { count, bytes } = std::mem::take(&mut self.ended);
        let part = Part { id: Some(id), kind: PartKind::Message, bytes, count, tokens: 0 };
        (count > 0).then_some(Event::Part(part))
    }

    /// Why the response is not read, if it is not.
    pub(super) fn not_kept(&self) -> Option<NotKept> {
        let Some(Parts::Events(splitter)) = &self.parts else { return None };
        splitter.is_too_long().then_some(NotKept::Event(MOST_TEXT_BYTES))
    }

    /// Whether the rest of the response is not read.
    pub(super) fn is_wrong(&self) -> bool {
        self.wrong.is_some()
    }

    /// A response begins.
    pub(super) fn begin_block(&mut self) {
        if let Some(message) = self.asked.message() {
            message.clear();
        }
    }
}

impl Session {
    /// From now on, tells of the events of responses as these rules ask.
    pub fn split(&mut self, rules: &Table) {
        let events = Events::new(Asked::Events(Splitting::new(rules)));
        self.extras.get_or_insert_default().events = Some(Box::new(events));
    }

    /// From now on, requests are calls: their messages are told of as parts, and their status says whether a response
    /// is the expected one, not the plan.
    pub fn calls(&mut self, limits: Limits) {
        let events = Events::new(Asked::calls(limits));
        self.extras.get_or_insert_default().events = Some(Box::new(events));
    }

    #[inline]
    pub(super) fn events(&mut self) -> Option<&mut Events> {
        self.extras.as_mut()?.events.as_deref_mut()
    }

    /// Begins with the parts of the response whose head was read last, if it has some that were asked for.
    #[inline]
    pub(super) fn begin_events(&mut self) {
        if self.events().is_some_and(|events| !events.has_begun) {
            self.begin_parts();
        }
    }

    fn begin_parts(&mut self) {
        let State::Body { status, .. } = self.state else { return };
        let Some(current) = self.outstanding.front() else { return };
        let request = current.request;
        let is_expected = self.prepared(request).expect.status.contains(status);
        let entry = self.entry(request);
        let Some(events) = self.events() else { return };
        events.has_begun = true;
        events.parts = events.asked.begin(entry, status, is_expected, events.told);
    }

    /// A response is complete, or cannot be kept, in a session that is asked of parts.
    #[inline(never)]
    pub(super) fn finish_events(&mut self) -> Option<Event> {
        self.begin_events();
        if self.not_kept().is_some() {
            return self.complete();
        }
        if let Some(error) = self.events()?.wrong.take() {
            return Some(self.give_up(Failure::Malformed(error.into())));
        }
        let State::Body { status, .. } = self.state else { return None };
        let events = self.events()?;
        let verdict = match (&mut events.parts, &mut events.asked) {
            (Some(Parts::Events(splitter)), _) => {
                splitter.end();
                Some(Ok(splitter.verdict()))
            }
            (parts @ Some(Parts::Messages(_)), Asked::Calls { limits, message }) => {
                let Some(Parts::Messages(call)) = parts.take() else { return None };
                events.ended = call.handle_end().unwrap_or(events.ended);
                Some(call.finish(limits, status, message).map(Ok))
            }
            _ => None,
        };
        let mut done = self.complete()?;
        // Another outcome has told of its parts already.
        let Event::Done(answer) = &mut done else { return Some(done) };
        let (id, is_call) = (answer.id, self.asks_calls());
        match verdict {
            None => {}
            Some(Ok(_)) if is_call => answer.expected = Ok(()),
            Some(Ok(expected)) => answer.expected = answer.expected.and(expected),
            Some(Err(failure)) if answer.last == Last::No => {
                done = Event::RequestFailed { id, failure };
            }
            Some(Err(failure)) => done = Event::Failed { id: Some(id), failure },
        }
        Some(self.after_events(Some(id), done))
    }

    fn asks_calls(&mut self) -> bool {
        self.events().is_some_and(|events| matches!(events.asked, Asked::Calls { .. }))
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
        match (events.parts.take(), &mut events.asked) {
            (Some(Parts::Events(splitter)), Asked::Events(splitting)) => {
                splitting.end(id, splitter, outcome, &mut events.due);
            }
            _ => match events.take(id) {
                Some(part) => events.due.extend([part, outcome]),
                None => return outcome,
            },
        }
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
