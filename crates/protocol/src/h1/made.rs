//! What a session keeps only while a script makes its requests or reads its responses, or these are split into events.
//!
//! Made requests are copied into slots that are used again once the request was written and
//! answered; in a session's numbering they follow the requests of the table. Plain runs have
//! none of this.

use std::sync::Arc;

use super::events::Events;
use super::lines::unfold;
use super::{Prepared, Via};
use crate::capture::{Capture, CaptureRoom, NotKept};
use crate::request::Made;

/// Made requests in flight, and the response that is being read, or was read last.
#[derive(Debug, Default)]
pub(super) struct Extras {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Where responses are kept, if they are.
    pub(super) room: Option<CaptureRoom>,
    pub(super) capture: Option<Capture>,
    /// They go to a proxy, which has to know where to.
    pub(super) via: Option<Arc<Via>>,
    /// Events of responses, if they are split.
    pub(super) events: Option<Box<Events>>,
}

#[derive(Debug)]
struct Slot {
    /// Which request of the table it stands for.
    entry: u32,
    prepared: Prepared,
    /// Of writing and answering, how many are over.
    over: u8,
}

impl Extras {
    /// Copies a request into a free slot and returns its number; `like` is what it stands for.
    pub(super) fn put(&mut self, made: &Made<'_>, like: &Prepared) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            // What a script writes leaves in one go.
            let (body, pauses, batch) = ([].into(), [].into(), [].into());
            let prepared = Prepared { head: Vec::new(), body, pauses, batch, ..like.clone() };
            self.slots.push(Slot { entry: made.request, prepared, over: 0 });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        if slot.entry != made.request {
            slot.entry = made.request;
            slot.prepared.expect = like.expect.clone();
        }
        slot.over = 0;
        let prepared = &mut slot.prepared;
        prepared.head.clear();
        match &self.via {
            None => prepared.head.extend_from_slice(made.raw),
            Some(via) => via.copy(made.raw, made.path_range(), &mut prepared.head),
        }
        prepared.is_head = made.method() == b"HEAD";
        prepared.is_connect = made.method() == b"CONNECT";
        prepared.closes = made.closes();
        prepared.upgrades = made.upgrades();
        index
    }

    /// What was kept of the response before, or of an interim one, is over.
    pub(super) fn begin_block(&mut self, request: u32) {
        if let Some(events) = &mut self.events {
            events.begin_block();
        }
        self.capture = None;
        self.capture = self.room.as_ref().and_then(|room| room.begin(request));
    }

    /// Whether anything looks into the response that is being read.
    #[inline]
    pub(super) fn looks(&self) -> bool {
        self.capture.is_some() || self.events.is_some()
    }

    /// Keeps a piece of the header block.
    pub(super) fn keep_block(&mut self, taken: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.keep_fields(taken);
        }
    }

    /// A script sees no folds either.
    pub(super) fn unfold_block(&mut self) {
        if let Some(capture) = &mut self.capture {
            unfold(capture.block_mut());
        }
    }

    /// Why the response is not kept, if it is not.
    pub(super) fn not_kept(&self) -> Option<NotKept> {
        let capture = self.capture.as_ref().and_then(Capture::not_kept);
        capture.or_else(|| self.events.as_ref()?.not_kept())
    }

    /// The response that is complete.
    pub(super) fn take_captured(&mut self) -> Option<Capture> {
        let mut capture = self.capture.take()?;
        capture.leave_out_status_line();
        Some(capture)
    }

    pub(super) fn get(&self, index: u32) -> &Prepared {
        &self.slots[index as usize].prepared
    }

    pub(super) fn entry(&self, index: u32) -> u32 {
        self.slots[index as usize].entry
    }

    /// The request in a slot was written, or answered; after both the slot is free.
    pub(super) fn step_over(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.over += 1;
        if slot.over == 2 {
            self.free.push(index);
        }
    }
}
