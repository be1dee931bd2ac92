//! One connection over HTTP/1.1: the opening, and the conversation after it.

use std::io::IoSlice;
use std::sync::Arc;

use super::conversation::{ABILITIES, Conversation};
use super::mask::Masks;
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
    setup: Arc<Setup>,
    stage: Stage,
    room: Option<CaptureRoom>,
    streams: Option<Table>,
}

#[derive(Debug)]
enum Stage {
    Opening(Box<Asked>),
    Open(Box<Conversation>),
    /// The server sends nothing more, and the WebSocket is not open.
    Ended,
    Dead,
}

/// An opening whose response has not come.
#[derive(Debug)]
struct Asked {
    masks: Masks,
    output: Output,
    key: Key,
    answer: Answer,
}

impl Session {
    /// A session on a fresh connection. `seed` determines its key and its masks: give each connection another one.
    pub fn new(opening: &Opening, setup: Arc<Setup>, seed: u64) -> Self {
        let mut masks = Masks::new(seed);
        let (head, key) = opening.ask(&mut masks);
        let asked = Asked { masks, output: Output::new(head), key, answer: Answer::default() };
        Session { setup, stage: Stage::Opening(Box::new(asked)), room: None, streams: None }
    }

    /// Keeps the message that answers a request in `room`, as far as its bounds allow. Call it before any input.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.room = Some(room.clone());
    }

    /// Replies to requests of this table have several messages. Call it before any input.
    pub fn stream(&mut self, table: &Table) {
        self.streams = Some(Table::clone(table));
    }

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        self.open_ref().map_or(0, Conversation::outstanding)
    }

    fn open(&mut self) -> Option<&mut Conversation> {
        match &mut self.stage {
            Stage::Open(conversation) => Some(conversation),
            _ => None,
        }
    }

    fn open_ref(&self) -> Option<&Conversation> {
        match &self.stage {
            Stage::Open(conversation) => Some(conversation),
            _ => None,
        }
    }

    /// Reads the response to the opening.
    fn handle_answer(&mut self, now_ns: u64, input: &mut &[u8]) -> Option<Event> {
        let Stage::Opening(asked) = &mut self.stage else {
            *input = &[];
            return None;
        };
        let opened = match asked.answer.handle(input, &asked.key, &self.setup.settings) {
            Ok(opened) => opened?,
            Err(error) => {
                *input = &[];
                self.stage = Stage::Dead;
                return Some(Event::Failed { id: None, failure: Failure::Malformed(error) });
            }
        };
        let (masks, output) = (asked.masks.clone(), std::mem::take(&mut asked.output));
        let setup = Arc::clone(&self.setup);
        let conversation = Conversation::new(setup, masks, output, opened, now_ns);
        let conversation = conversation.keeping(self.room.as_ref(), self.streams.as_ref());
        let is_ready = conversation.is_ready();
        self.stage = Stage::Open(Box::new(conversation));
        is_ready.then_some(Event::Ready(ABILITIES))
    }
}

/// What a connection that ended too early lacked.
pub(crate) const AWAITED: &str = "the response that opens a WebSocket";

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
        self.open_ref().map_or(0, Conversation::free_places)
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        match self.open() {
            Some(conversation) => conversation.handle_request(id, request),
            None => debug_assert!(false, "no request may be handed in now"),
        }
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        let pending = match &mut self.stage {
            Stage::Open(conversation) => conversation.pending(),
            Stage::Opening(asked) => asked.output.pending(),
            Stage::Ended | Stage::Dead => &[],
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
        match &mut self.stage {
            Stage::Open(conversation) => conversation.handle_transmitted(bytes, started),
            Stage::Opening(asked) => {
                asked.output.transmitted(bytes);
                false
            }
            Stage::Ended | Stage::Dead => false,
        }
    }

    #[inline]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "WebSocket is spoken over a stream");
            return None;
        };
        match &mut self.stage {
            Stage::Open(conversation) => conversation.handle_input(now_ns, input),
            _ => self.handle_answer(now_ns, input),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match &mut self.stage {
            Stage::Open(conversation) => conversation.poll_event(),
            Stage::Ended => {
                self.stage = Stage::Dead;
                Some(Event::Failed { id: None, failure: Failure::NotReady(AWAITED) })
            }
            Stage::Opening(_) | Stage::Dead => None,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.open_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if let Some(conversation) = self.open() {
            conversation.handle_timeout(now_ns);
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.open().is_some_and(|conversation| conversation.cancel(id))
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.open()?.take_captured()
    }

    fn handle_end(&mut self) {
        match &mut self.stage {
            Stage::Open(conversation) => conversation.handle_end(),
            Stage::Opening(_) => self.stage = Stage::Ended,
            Stage::Ended | Stage::Dead => {}
        }
    }

    fn handle_close(&mut self) {
        if let Some(conversation) = self.open() {
            conversation.handle_close();
        }
    }
}
