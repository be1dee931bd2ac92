//! A WebSocket and how far it is: its conversation, once the server has opened it.
//!
//! The same whatever carries it. Of the frames of HTTP/2 and HTTP/3 it knows which payload stands in those that have not left.

use std::sync::Arc;

use super::conversation::{ABILITIES, Conversation};
use super::framed::Framed;
use super::mask::Masks;
use super::opening::Opened;
use super::settings::Settings;
use super::setup::Setup;
use crate::capture::{Capture, CaptureRoom};
use crate::output::Output;
use crate::parts::Table;
use crate::request::Outgoing;
use crate::session::{Event, Failure, RequestId};

#[derive(Debug)]
pub(super) struct Carried {
    setup: Arc<Setup>,
    /// Of the conversation that is not open yet.
    pub(super) masks: Masks,
    pub(super) stage: Stage,
    pub(super) conversation: Option<Box<Conversation>>,
    /// Payload that stands in frames.
    pub(super) framed: Framed,
    /// Where messages are kept.
    pub(super) room: Option<CaptureRoom>,
    /// Whose replies have several messages.
    pub(super) streams: Option<Table>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// For the server's SETTINGS.
    Waiting,
    /// The opening is sent.
    Asked,
    Open,
    /// The server has ended the stream: [`Event::End`] is due.
    Ending,
    /// It was told, or the stream was given up.
    Over,
    /// It sends nothing more, and the WebSocket was not open.
    Ended,
    Dead,
}

/// When so much waits to leave, no more is taken from the conversation.
pub(super) const ENOUGH: usize = 64 << 10;

/// What a connection that ended too early lacked.
pub(super) const AWAITED: &str = "the response that opens a WebSocket";

/// The largest frame that is made.
const FRAME_BYTES: usize = 16_384;

impl Carried {
    pub(super) fn new(setup: Arc<Setup>, seed: u64) -> Self {
        Carried {
            setup,
            masks: Masks::new(seed),
            stage: Stage::Waiting,
            conversation: None,
            framed: Framed::default(),
            room: None,
            streams: None,
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        self.setup.settings()
    }

    /// The server has opened it.
    pub(super) fn open(&mut self, opened: Opened, output: Output, now_ns: u64) -> Option<Event> {
        self.stage = Stage::Open;
        let (setup, masks) = (Arc::clone(&self.setup), self.masks.clone());
        let conversation = Conversation::new(setup, masks, output, opened, now_ns);
        let conversation = conversation.keeping(self.room.as_ref(), self.streams.as_ref());
        let is_ready = conversation.is_ready();
        self.conversation = Some(Box::new(conversation));
        is_ready.then_some(Event::Ready(ABILITIES))
    }

    #[inline]
    pub(super) fn free_places(&self) -> u32 {
        let open = self.conversation.as_ref().filter(|_| self.stage == Stage::Open);
        open.map_or(0, |conversation| conversation.free_places())
    }

    #[inline]
    pub(super) fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        match &mut self.conversation {
            Some(conversation) => conversation.handle_request(id, request),
            None => debug_assert!(false, "no request may be handed in now"),
        }
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.conversation.as_ref().map_or(0, |conversation| conversation.outstanding())
    }

    /// Payload for another frame.
    pub(super) fn unframed(&mut self) -> &[u8] {
        let framed = self.framed.bytes();
        self.conversation.as_mut().map_or(&[], |conversation| {
            let rest = &conversation.pending()[framed..];
            &rest[..rest.len().min(FRAME_BYTES)]
        })
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match (self.stage, &mut self.conversation) {
            (Stage::Dead, _) => None,
            (_, Some(conversation)) => conversation.poll_event(),
            (Stage::Ended, None) => {
                self.stage = Stage::Dead;
                Some(Event::Failed { id: None, failure: Failure::NotReady(AWAITED) })
            }
            _ => None,
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        self.conversation.as_ref()?.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now_ns: u64) {
        if let Some(conversation) = &mut self.conversation {
            conversation.handle_timeout(now_ns);
        }
    }

    pub(super) fn cancel(&mut self, id: RequestId) -> bool {
        self.conversation.as_mut().is_some_and(|conversation| conversation.cancel(id))
    }

    pub(super) fn take_captured(&mut self) -> Option<Capture> {
        self.conversation.as_mut()?.take_captured()
    }

    /// The server sends nothing more.
    pub(super) fn handle_end(&mut self) {
        match &mut self.conversation {
            Some(conversation) => conversation.handle_end(),
            None if self.stage != Stage::Dead => self.stage = Stage::Ended,
            None => {}
        }
    }

    /// Says goodbye, unless it is too late for that.
    pub(super) fn handle_close(&mut self) {
        if let Some(conversation) = self.conversation.as_mut().filter(|_| self.stage != Stage::Dead)
        {
            conversation.handle_close();
        }
    }
}
