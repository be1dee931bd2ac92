//! The streams of one connection that have no outcome yet, found by their id in one step.
//!
//! A client chooses its stream ids itself; they only have to grow (RFC 9113 5.1.1). So a stream's
//! place in the table is its id modulo the table's size, and where that place is still taken by
//! an old stream that takes long, its id is left out. No hashing, no searching, and no more
//! memory for one slow stream among a million quick ones.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Error, Prepared};
use crate::asked::Parts;
use crate::capture::Capture;
use crate::expect::BodyCheck;
use crate::session::RequestId;

/// One request on its way.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// 0: no stream's.
    pub(super) id: u32,
    pub(super) request_id: RequestId,
    /// In the session's table: what the response has to be.
    pub(super) request: u32,
    /// Of the response; 0 before its fields came.
    pub(super) status: u16,
    pub(super) interim_answers: u32,
    /// The request was HEAD, or the status allows no body.
    pub(super) no_body: bool,
    pub(super) is_connect: bool,
    /// The response is complete, and yet the server may go on.
    pub(super) sends_on: bool,
    pub(super) content_length: Option<u64>,
    pub(super) check: BodyCheck,
    /// What is wrong with the DATA frame being read.
    pub(super) refused: Option<Error>,
    /// What the server sent on it since its window was opened last.
    pub(super) received: u32,
    /// How much more of our data the server takes than its setting says; below 0 for what was sent.
    /// Not the window itself: a setting changes those of all streams, at no cost for each.
    pub(super) credit: i64,
    /// It waits for its window, and not for its turn.
    pub(super) is_starved: bool,
    /// What is still to be sent.
    pub(super) body: Option<Arc<[u8]>>,
    pub(super) body_sent: usize,
    /// What is kept of the response for a script.
    pub(super) capture: Option<Box<Capture>>,
    /// The parts of the response, if any are asked for.
    pub(super) parts: Option<Parts>,
}

/// The most at a time: more than any server takes.
pub(super) const MOST: u32 = 1 << 16;

#[derive(Debug)]
pub(super) struct Streams {
    /// A power of two of them.
    slots: Box<[Stream]>,
    live: u32,
    next_id: u32,
    last_id: u32,
    /// The place at which a search begins: that of the last find. Requests that take too long, and
    /// those that a GOAWAY refuses, stand one after the other.
    found: usize,
    /// No stream that is alive has a larger [`Stream::credit`].
    pub(super) most_credit: i64,
    abandoned: Abandoned,
}

impl Streams {
    /// For up to `streams` at a time, with ids up to `last_id`.
    pub(super) fn new(streams: u32, last_id: u32) -> Self {
        // Twice as many places, so that few ids are left out.
        let places = (2 * streams.clamp(1, MOST) as usize).next_power_of_two();
        Streams {
            slots: std::iter::repeat_with(Stream::default).take(places).collect(),
            live: 0,
            next_id: 1,
            last_id,
            found: 0,
            most_credit: 0,
            abandoned: Abandoned::default(),
        }
    }

    /// How many are alive.
    #[inline]
    pub(super) fn live(&self) -> u32 {
        self.live
    }

    /// How many more can be opened, up to `wanted`.
    #[inline]
    pub(super) fn room(&self, wanted: u32) -> u32 {
        let ids_left = (self.last_id + 1).saturating_sub(self.next_id).div_ceil(2);
        if ids_left as usize >= self.slots.len() {
            wanted
        } else {
            self.last_room(wanted, ids_left)
        }
    }

    #[cold]
    fn last_room(&self, wanted: u32, ids_left: u32) -> u32 {
        let ids = (0..ids_left).map(|n| self.next_id + 2 * n);
        wanted.min(ids.filter(|id| self.slots[self.place(*id)].id == 0).count() as u32)
    }

    /// No id is left.
    #[inline]
    pub(super) fn are_exhausted(&self) -> bool {
        self.next_id > self.last_id
    }

    /// The place of a stream: no other that is alive has it.
    #[inline]
    fn place(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.slots.len() - 1)
    }

    /// Opens the next stream, for which there must be [`Streams::room`].
    #[inline]
    pub(super) fn open(&mut self) -> &mut Stream {
        let mut id = self.next_id;
        while self.slots[self.place(id)].id != 0 {
            id += 2;
        }
        self.next_id = id + 2;
        self.live += 1;
        let place = self.place(id);
        let stream = &mut self.slots[place];
        stream.id = id;
        stream
    }

    /// The stream with this id, if it is alive.
    #[inline]
    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.place(id);
        let stream = &mut self.slots[place];
        (stream.id == id && id != 0).then_some(stream)
    }

    /// Ends a stream; it has its outcome.
    #[inline]
    pub(super) fn close(&mut self, id: u32) {
        if let Some(stream) = self.get(id) {
            *stream = Stream::default();
            self.live -= 1;
        }
    }

    /// All that are alive, in no order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut().filter(|stream| stream.id != 0)
    }

    /// One of those that `is_wanted`, and its request.
    pub(super) fn search(
        &mut self,
        is_wanted: impl Fn(&Stream) -> bool,
    ) -> Option<(u32, RequestId)> {
        let all = (self.found..self.slots.len()).chain(0..self.found);
        let place = all.into_iter().find(|&place| {
            let stream = &self.slots[place];
            stream.id != 0 && is_wanted(stream)
        })?;
        self.found = place;
        let stream = &self.slots[place];
        Some((stream.id, stream.request_id))
    }

    /// The ids of all that are alive, the oldest last.
    pub(super) fn oldest_last(&mut self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.iter_mut().map(|stream| stream.id).collect();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids
    }

    /// Ends a stream that the server may still send on.
    pub(super) fn abandon(&mut self, id: u32) {
        self.close(id);
        self.abandoned.add(id);
    }

    /// Whether frames on this stream, which is not alive, are to be swallowed.
    pub(super) fn is_abandoned(&self, id: u32) -> bool {
        self.abandoned.contains(id)
    }
}

/// Streams that we gave up; what the server sends on them it may have sent before it knew.
#[derive(Debug, Default)]
struct Abandoned {
    ids: VecDeque<u32>,
    /// Of what is at or below this we are not sure any more.
    unsure: u32,
}

/// How many are known by name.
const MOST_ABANDONED: usize = 256;

impl Abandoned {
    fn add(&mut self, id: u32) {
        if self.ids.len() == MOST_ABANDONED
            && let Some(oldest) = self.ids.pop_front()
        {
            self.unsure = self.unsure.max(oldest);
        }
        self.ids.push_back(id);
    }

    fn contains(&self, id: u32) -> bool {
        id <= self.unsure || self.ids.contains(&id)
    }
}

impl Stream {
    /// What there is to know of a request before it is sent.
    #[inline]
    pub(super) fn begin(&mut self, id: RequestId, request: u32, made: &Prepared) {
        self.request_id = id;
        self.request = request;
        self.no_body = made.is_head;
        self.is_connect = made.is_connect;
        if !made.body.is_empty() {
            self.body = Some(Arc::clone(&made.body));
        }
    }
}
