//! Replies that have several messages: each is a part of its request's response, and the last one ends it.
//!
//! It does not know which request a message answers.

use std::collections::{HashMap, VecDeque};

use super::outcome::{done, not_kept};
use crate::capture::NotKept;
use crate::parts::{MOST_TEXT_BYTES, Splitter, Splitting, Table};
use crate::session::{Event, RequestId};

/// Replies that have begun.
#[derive(Debug)]
pub(super) struct Streams {
    splitting: Splitting,
    /// Of each request: its messages so far, and their payload.
    open: HashMap<RequestId, (Box<Splitter>, u64)>,
    /// What is to be told.
    due: VecDeque<Event>,
}

impl Streams {
    pub(super) fn new(table: &Table) -> Self {
        let (splitting, open, due) = (Splitting::new(table), HashMap::new(), VecDeque::new());
        Streams { splitting, open, due }
    }

    /// Takes the next message of the reply to a request. Whether it is the last one; `None`: its reply is one message.
    pub(super) fn handle(&mut self, id: RequestId, request: u32, message: &[u8]) -> Option<bool> {
        let (mut splitter, bytes) = match self.open.remove(&id) {
            Some(begun) => begun,
            None => {
                let splitter = self.splitting.begin(request, 0)?;
                self.due.push_back(Event::FirstByte(id));
                (splitter, 0)
            }
        };
        let bytes = bytes + message.len() as u64;
        splitter.feed(message);
        splitter.end_chunk();
        let outcome = match splitter.is_too_long() {
            true => not_kept(id, NotKept::Event(MOST_TEXT_BYTES)),
            false if splitter.has_end() => done(id, bytes, splitter.verdict()),
            false => {
                self.due.extend(splitter.take().event(id));
                self.open.insert(id, (splitter, bytes));
                return Some(false);
            }
        };
        self.splitting.end(id, splitter, outcome, &mut self.due);
        Some(true)
    }

    /// A request has been taken back.
    pub(super) fn forget(&mut self, id: RequestId) {
        self.open.remove(&id);
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.due.pop_front()
    }
}
