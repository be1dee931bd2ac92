//! A connection as the ring's reactor sees it, and the names of its operations.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::ring::{Name, UNCOUNTED};
use crate::reactor::{Key, Ready, Route};

/// No buffer.
pub(super) const NONE: u16 = u16::MAX;
/// Generations are counted modulo this: a name has 30 bits for them.
pub(super) const GENERATIONS: u32 = 1 << 30;

/// Marks the names of sends.
const SEND: Name = UNCOUNTED;

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Receive,
    Writable,
    Send,
}

pub(super) fn name(key: Key, generation: u32, purpose: Purpose) -> Name {
    let purpose = match purpose {
        Purpose::Receive => 0,
        Purpose::Writable => 1 << 62,
        Purpose::Send => SEND,
    };
    purpose | u64::from(generation) << 32 | u64::from(key)
}

/// Whether an operation is a send.
pub(super) fn is_send(name: Name) -> bool {
    name >> 62 == 2
}

/// The key and the generation in a name.
pub(super) fn whose(name: Name) -> (Key, u32) {
    (name as Key, (name >> 32) as u32 % GENERATIONS)
}

/// How a connection's input ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    End,
    Failed(Errno),
}

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) fd: Option<OwnedFd>,
    /// Tells a key's present socket from its former ones in completions.
    pub(super) generation: u32,
    pub(super) to: Route,
    /// The ring's batch of the last operation begun.
    pub(super) batch: u64,
    pub(super) receiving: bool,
    pub(super) polling: bool,
    /// In the queue of those that wait for buffers.
    pub(super) starved: bool,
    /// It is read by calls of its own.
    pub(super) by_call: bool,
    /// Filled buffers that the worker has not taken.
    pub(super) waiting: u16,
    /// The batch and the number in it of what was sent last, if it was queued.
    pub(super) queued: Option<(u64, usize)>,
    /// What the worker takes for sent and the kernel had no room for.
    pub(super) owed: Vec<u8>,
    /// Our side ends, as soon as nothing is owed.
    pub(super) ends: bool,
    /// What the worker has not been told.
    pub(super) news: Option<Ready>,
    /// The chain of filled buffers.
    pub(super) first: u16,
    pub(super) last: u16,
    /// After those, and when that was seen.
    pub(super) ending: Option<(Ending, u64)>,
}

impl Socket {
    /// The ring has said that there is something to read, and what came before is read.
    pub(super) fn is_to_be_called(&self) -> bool {
        self.by_call && !self.receiving
    }
}

impl Default for Socket {
    fn default() -> Self {
        Socket {
            fd: None,
            generation: 0,
            to: Route::default(),
            batch: 0,
            receiving: false,
            polling: false,
            starved: false,
            by_call: false,
            waiting: 0,
            queued: None,
            owed: Vec::new(),
            ends: false,
            news: None,
            first: NONE,
            last: NONE,
            ending: None,
        }
    }
}

/// What is in a buffer that the reactor has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filled {
    pub(super) length: u32,
    /// The next buffer of the same connection.
    pub(super) next: u16,
    pub(super) at_ns: u64,
}
