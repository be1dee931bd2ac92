//! The streams of one connection that have no outcome yet, and those that are open for requests to come.
//!
//! Streams have to be opened before it is known whether the server allows them, so that as many as there may be requests
//! are open in advance: nothing of that is sent. Nothing here speaks to QUIC but for that.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use candor_record::Blocked;

use super::frames::Frames;
use super::quic::Quic;
use crate::asked::Parts;
use crate::capture::Capture;
use crate::expect::BodyCheck;
use crate::session::{Event, RequestId};

/// One request on its way.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) request_id: RequestId,
    /// In the session's table: what the response has to be.
    pub(super) request: u32,
    /// Its first byte has left.
    pub(super) is_sent: bool,
    /// Since when its first byte is held back, and for how long it was by flow control before that.
    pub(super) held_ns: Option<u64>,
    pub(super) by_flow_control_ns: u64,
    /// QUIC has some of it.
    pub(super) is_written: bool,
    /// What is still to be written; `None`: all was.
    pub(super) unsent: Option<[Bytes; 2]>,
    pub(super) frames: Frames,
    /// A field section that waits for the server's instructions, and what came after it.
    pub(super) waits: Option<Vec<u8>>,
    pub(super) left: Bytes,
    /// Of the response; 0 before its fields came.
    pub(super) status: u16,
    pub(super) interim_answers: u32,
    /// The request was HEAD, or the status allows no body.
    pub(super) no_body: bool,
    pub(super) is_connect: bool,
    /// Its trailers came.
    pub(super) has_trailers: bool,
    /// The first byte came, and that has not been said.
    pub(super) is_first: bool,
    pub(super) content_length: Option<u64>,
    pub(super) check: BodyCheck,
    /// What is kept of the response.
    pub(super) capture: Option<Box<Capture>>,
    /// The parts of the response, if any are asked for.
    pub(super) parts: Option<Box<Parts>>,
}

impl Stream {
    /// What held it back until `until_ns`, where it left in the end; `None`: nothing.
    pub(super) fn blocked(&self, until_ns: u64) -> Option<Event> {
        let by = Blocked {
            congestion_ns: until_ns.saturating_sub(self.held_ns?),
            flow_control_ns: self.by_flow_control_ns,
        };
        (by.total_ns() > 0).then_some(Event::Blocked { id: self.request_id, by })
    }
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By their ids, and so in the order in which they were opened.
    live: BTreeMap<u64, Stream>,
    /// Open, without a request.
    spare: VecDeque<u64>,
}

impl Streams {
    /// How many have a request.
    pub(super) fn live(&self) -> u32 {
        self.live.len() as u32
    }

    /// How many are open for requests to come.
    pub(super) fn spare(&self) -> u32 {
        self.spare.len() as u32
    }

    /// Opens as many as are wanted in all, if the server allows. Whether there are more than before.
    pub(super) fn refill(&mut self, wanted: u32, quic: &mut Quic) -> bool {
        let before = self.spare.len();
        while self.live() + self.spare() < wanted
            && let Some(id) = quic.open()
        {
            self.spare.push_back(id);
        }
        self.spare.len() > before
    }

    /// QUIC has closed all streams, and gives their ids again: opens those that there were. Returns those with a request
    /// that the server does not allow.
    #[cold]
    pub(super) fn reopen(&mut self, quic: &mut Quic) -> Vec<u64> {
        let last = self.spare.back().copied().or(self.live.keys().next_back().copied());
        let mut opened = None;
        while opened < last
            && let Some(id) = quic.open()
        {
            opened = Some(id);
            if !self.live.contains_key(&id) && !self.spare.contains(&id) {
                // It had its outcome.
                quic.reset(id, super::error::code::REQUEST_CANCELLED);
            }
        }
        self.spare.retain(|&id| Some(id) <= opened);
        self.live.keys().copied().filter(|&id| Some(id) > opened).collect()
    }

    /// Gives a request to the next one that is open.
    pub(super) fn begin(&mut self, stream: Stream) -> Option<u64> {
        let id = self.spare.pop_front()?;
        self.live.insert(id, stream);
        Some(id)
    }

    pub(super) fn get(&mut self, id: u64) -> Option<&mut Stream> {
        self.live.get_mut(&id)
    }

    /// Ends a stream; it has its outcome.
    pub(super) fn close(&mut self, id: u64) -> Option<Stream> {
        self.live.remove(&id)
    }

    pub(super) fn find(&self, request: RequestId) -> Option<u64> {
        self.live.iter().find(|(_, one)| one.request_id == request).map(|(id, _)| *id)
    }

    /// The first from this id on.
    pub(super) fn first_from(&self, id: u64) -> Option<u64> {
        self.live.range(id..).next().map(|(id, _)| *id)
    }

    /// Those whose field section waits.
    pub(super) fn waiting(&self) -> Vec<u64> {
        let waits = |(id, one): (&u64, &Stream)| one.waits.is_some().then_some(*id);
        self.live.iter().filter_map(waits).collect()
    }
}
