//! What a session keeps only while a script makes its requests or reads its responses, or while responses are
//! streams of events.
//!
//! Made requests are copied into slots that are used again once the request was written and
//! answered; in a session's numbering they follow the requests of the table. Plain runs have
//! none of this.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Prepared;
use super::lines::unfold;
use crate::capture::{Capture, CaptureRoom, NotKept};
use crate::made::Made;
use crate::parts::{MOST_TEXT_BYTES, Splitter, Table};
use crate::session::{Event, RequestId};

/// Made requests in flight, and the response that is being read, or was read last.
#[derive(Debug, Default)]
pub(super) struct Extras {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Where responses are kept, if they are.
    pub(super) room: Option<CaptureRoom>,
    pub(super) capture: Option<Capture>,
    /// What is asked of the events of responses, if they have any.
    pub(super) rules: Option<Table>,
    /// The events of the response that is being read.
    pub(super) splitter: Option<Box<Splitter>>,
    /// That of an earlier response, for its memory.
    spare: Option<Box<Splitter>>,
    /// Events that follow the one that was returned.
    due: VecDeque<Event>,
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
        prepared.head.extend_from_slice(made.raw);
        prepared.is_head = made.method() == b"HEAD";
        prepared.is_connect = made.method() == b"CONNECT";
        prepared.closes = made.closes();
        prepared.upgrades = made.upgrades();
        index
    }

    /// What was kept of the response before, or of an interim one, is over.
    pub(super) fn begin_block(&mut self, request: u32) {
        self.capture = None;
        self.capture = self.room.as_ref().and_then(|room| room.begin(request));
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
        if self.splitter.as_ref().is_some_and(|one| one.is_too_long()) {
            return Some(NotKept::Event(MOST_TEXT_BYTES));
        }
        self.capture.as_ref()?.not_kept()
    }

    /// The body of a response to this request begins, whose status was expected.
    pub(super) fn begin_events(&mut self, request: u32) {
        let rules = self.rules.as_ref().and_then(|rules| rules.get(request as usize)?.as_ref());
        let Some(rules) = rules.map(Rc::clone) else { return };
        self.splitter = Some(match self.spare.take() {
            Some(mut spare) => {
                spare.again(rules);
                spare
            }
            None => Box::new(Splitter::new(rules)),
        });
    }

    /// The events that ended in the input so far.
    pub(super) fn take_events(&mut self, id: RequestId) -> Option<Event> {
        self.splitter.as_mut()?.take().event(id)
    }

    /// The response has its outcome: what is left of its events comes before. The first of them all.
    pub(super) fn end_events(&mut self, id: RequestId, outcome: Event) -> Event {
        let Some(splitter) = &mut self.splitter else { return outcome };
        let tokens = match &outcome {
            Event::Done(_) => splitter.tokens(),
            _ => None,
        };
        let last = self.take_events(id);
        self.spare = self.splitter.take();
        self.due.extend(last);
        self.due.extend(tokens.map(|count| Event::Tokens { id, count }));
        self.due.push_back(outcome);
        self.due.pop_front().unwrap_or(Event::Changed)
    }

    /// The next of the events that follow the one that was returned.
    pub(super) fn next_due(&mut self) -> Option<Event> {
        self.due.pop_front()
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
