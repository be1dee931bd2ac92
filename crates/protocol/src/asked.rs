//! What a session is asked to tell of responses besides their outcomes: the events of streams, or the messages and the
//! status of calls. It is asked of one kind or of none, and plain runs have none of this.
//!
//! The same for all versions of HTTP. When an outcome follows, and what becomes of the connection, is the session's
//! business.

use std::collections::VecDeque;

use crate::capture::NotKept;
use crate::grpc::{Call, Ended, Limits, Told};
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting};
use crate::session::{Event, Failure, Part, PartKind, RequestId};

/// What is asked of the parts of responses.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Their events.
    Events(Splitting),
    /// The messages and the status of calls.
    Calls {
        limits: Limits,
        /// What the server said last about the status of a call.
        message: String,
    },
}

/// The parts of one response.
#[derive(Debug)]
pub(crate) enum Parts {
    /// Events.
    Events(Box<Splitter>),
    /// Messages of a call.
    Messages(Call),
}

/// Content of a response with parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) bytes: &'a [u8],
    /// A capture has fed the events with it.
    pub(crate) is_fed: bool,
    /// A frame of content ends with it.
    pub(crate) ends_frame: bool,
    /// The outcome follows, and has the events that ended.
    pub(crate) is_over: bool,
}

impl Asked {
    /// Of calls.
    pub(crate) fn calls(limits: Limits) -> Self {
        Asked::Calls { limits, message: String::new() }
    }

    /// Where the server's words about a status are put.
    pub(crate) fn message(&mut self) -> Option<&mut String> {
        let Asked::Calls { message, .. } = self else { return None };
        Some(message)
    }

    /// The header fields of a response to this request of the plan came: its parts, if it has some.
    pub(crate) fn begin(
        &mut self,
        request: u32,
        status: u16,
        is_expected: bool,
        told: Told,
    ) -> Option<Parts> {
        match self {
            Asked::Calls { limits, .. } => Some(Parts::Messages(Call::new(limits, status, told))),
            Asked::Events(splitting) if is_expected => {
                splitting.begin(request, status).map(Parts::Events)
            }
            Asked::Events(_) => None,
        }
    }

    /// Takes content of the response to this request: what is told of it at once, and why the response is given up, if it is.
    pub(crate) fn feed(
        &self,
        parts: &mut Parts,
        id: RequestId,
        content: Content<'_>,
    ) -> (Option<Event>, Option<Failure>) {
        match (parts, self) {
            (Parts::Events(splitter), _) => {
                if !content.is_fed {
                    splitter.feed(content.bytes);
                }
                if content.ends_frame {
                    splitter.end_chunk();
                }
                let why = Failure::NotKept(NotKept::Event(MOST_TEXT_BYTES));
                match splitter.is_too_long() {
                    true => (None, Some(why)),
                    false if content.is_over => (None, None),
                    false => (splitter.event(id), None),
                }
            }
            (Parts::Messages(call), Asked::Calls { limits, .. }) => {
                let (ended, wrong) = call.handle(limits, content.bytes);
                (messages(id, ended), wrong.map(|error| Failure::Malformed(error.into())))
            }
            (Parts::Messages(_), Asked::Events(_)) => (None, None),
        }
    }

    /// The response to this request has an outcome, by what HTTP says of it: what is due of its parts, and the outcome
    /// by what they say.
    pub(crate) fn end(
        &mut self,
        parts: Parts,
        (id, status): (RequestId, u16),
        mut outcome: Event,
        due: &mut VecDeque<Event>,
    ) {
        match (parts, self) {
            (Parts::Events(mut splitter), Asked::Events(splitting)) => {
                if !splitter.is_too_long() {
                    splitter.end();
                }
                if let Event::Done(answer) = &mut outcome {
                    answer.expected = answer.expected.and_then(|()| splitter.verdict());
                }
                splitting.end(id, splitter, outcome, due);
            }
            (Parts::Messages(call), Asked::Calls { limits, message }) => {
                if let Event::Done(answer) = &mut outcome {
                    due.extend(call.handle_end().and_then(|ended| messages(id, ended)));
                    match call.finish(limits, status, message) {
                        Ok(()) => answer.expected = Ok(()),
                        Err(failure) => outcome = Event::RequestFailed { id, failure },
                    }
                }
                due.push_back(outcome);
            }
            _ => due.push_back(outcome),
        }
    }
}

/// Messages of a call that ended.
fn messages(id: RequestId, Ended { count, bytes }: Ended) -> Option<Event> {
    let part = Part { id: Some(id), kind: PartKind::Message, bytes, count, tokens: 0 };
    (count > 0).then_some(Event::Part(part))
}
