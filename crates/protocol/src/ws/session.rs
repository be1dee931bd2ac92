//! One connection over HTTP/1.1: the opening, and the conversation after it.

use std::io::IoSlice;
use std::sync::Arc;

use super::carried::{Carried, Stage};
use super::opening::{Answer, Key, Opening};
use super::setup::Setup;
use crate::capture::{Capture, CaptureRoom};
use crate::output::Output;
use crate::parts::Table;
use crate::request::Outgoing;
use crate::session::{Event, Failure, Input, Protocol, RequestId, Transmit, Transport};

/// A WebSocket on a connection of its own.
///
/// It is ready when the server has opened it, and has sent what the rules wait for. A request is a message of the table, or the body of a made request
/// with the kind and the expectation of the one that it stands for; [`Replies`](super::Replies) decides what its outcome is.
/// Messages that are no outcome are [`Event::Part`], without a request. The server's close is
/// [`Event::CloseFrame`], the failure of each outstanding request, and [`Event::Over`].
#[derive(Debug)]
pub struct Session {
    carried: Carried,
    /// An opening whose response has not come.
    asked: Option<Box<Asked>>,
}

#[derive(Debug)]
struct Asked {
    output: Output,
    key: Key,
    answer: Answer,
}

impl Session {
    /// A session on a fresh connection. `seed` determines its key and its masks: give each connection another one.
    pub fn new(opening: &Opening, setup: Arc<Setup>, seed: u64) -> Self {
        let mut carried = Carried::new(setup, seed);
        carried.stage = Stage::Asked;
        let (head, key) = opening.ask(&mut carried.masks);
        let asked = Asked { output: Output::new(head), key, answer: Answer::default() };
        Session { carried, asked: Some(Box::new(asked)) }
    }

    /// Keeps the message that answers a request in `room`, as far as its bounds allow. Call it before any input.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.carried.room = Some(room.clone());
    }

    /// Replies to requests of this table have several messages. Call it before any input.
    pub fn stream(&mut self, table: &Table) {
        self.carried.streams = Some(Table::clone(table));
    }

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        self.carried.outstanding()
    }

    /// Reads the response to the opening.
    fn handle_answer(&mut self, now_ns: u64, input: &mut &[u8]) -> Option<Event> {
        let Some(asked) = &mut self.asked else {
            *input = &[];
            return None;
        };
        let opened = asked.answer.handle(input, &asked.key, self.carried.settings());
        let opened = opened.map(|opened| Some((opened?, std::mem::take(&mut asked.output))));
        match opened {
            Ok(opened) => {
                let (opened, output) = opened?;
                self.asked = None;
                self.carried.open(opened, output, now_ns)
            }
            Err(error) => {
                *input = &[];
                (self.asked, self.carried.stage) = (None, Stage::Dead);
                Some(Event::Failed { id: None, failure: Failure::Malformed(error) })
            }
        }
    }
}

impl Protocol for Session {
    const TRANSPORT: Transport = Transport::Stream;
}

impl crate::session::Session for Session {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    #[inline]
    fn free_places(&self) -> u32 {
        self.carried.free_places()
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        self.carried.handle_request(id, request);
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        let pending = match (&mut self.carried.conversation, &mut self.asked) {
            (Some(conversation), _) => conversation.pending(),
            (None, Some(asked)) => asked.output.pending(),
            (None, None) => &[],
        };
        match slices {
            [first, ..] if !pending.is_empty() => {
                *first = IoSlice::new(pending);
                Transmit { slices: 1, ..Transmit::default() }
            }
            _ => Transmit::default(),
        }
    }

    #[inline]
    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        if let Some(conversation) = &mut self.carried.conversation {
            return conversation.handle_transmitted(bytes, started);
        }
        if let Some(asked) = &mut self.asked {
            asked.output.transmitted(bytes);
        }
        false
    }

    #[inline]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "WebSocket is spoken over a stream");
            return None;
        };
        if self.carried.conversation.is_none()
            && let Some(event) = self.handle_answer(now_ns, input)
        {
            return Some(event);
        }
        // Messages may have come with the opening.
        self.carried.conversation.as_mut()?.handle_input(now_ns, input)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.carried.poll_event()
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.carried.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        self.carried.handle_timeout(now_ns);
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.carried.cancel(id)
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.carried.take_captured()
    }

    fn handle_end(&mut self) {
        self.asked = None;
        self.carried.handle_end();
    }

    fn handle_close(&mut self) {
        self.carried.handle_close();
    }
}
