//! A connection as the ring's reactor sees it, and the names of its operations.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::ring::{AT_ONCE, File, Name};
use crate::reactor::{Key, Ready};

/// No buffer.
pub(super) const NONE: u16 = u16::MAX;
/// Generations are counted modulo this: a name has 30 bits for them.
pub(super) const GENERATIONS: u32 = 1 << 30;

/// At so many sends through the ring a connection is put into the ring's table of files: that
/// costs two system calls in its life, and saves a look-up in each further send.
pub(super) const REGISTER_AT: u8 = 16;

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
        Purpose::Send => AT_ONCE,
    };
    purpose | u64::from(generation) << 32 | u64::from(key)
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
    pub(super) turn: u64,
    /// The ring's batch of the last operation begun.
    pub(super) batch: u64,
    pub(super) receiving: bool,
    pub(super) polling: bool,
    /// In the ring's table of files, in the place of its key.
    pub(super) registered: bool,
    /// Sends that went through the ring, up to [`REGISTER_AT`].
    pub(super) sends: u8,
    /// In the queue of those that wait for buffers.
    pub(super) starved: bool,
    /// What the worker has not been told.
    pub(super) news: Option<Ready>,
    /// The chain of filled buffers.
    pub(super) first: u16,
    pub(super) last: u16,
    /// After those, and when that was seen.
    pub(super) ending: Option<(Ending, u64)>,
}

impl Default for Socket {
    fn default() -> Self {
        Socket {
            fd: None,
            generation: 0,
            turn: 0,
            batch: 0,
            receiving: false,
            polling: false,
            registered: false,
            sends: 0,
            starved: false,
            news: None,
            first: NONE,
            last: NONE,
            ending: None,
        }
    }
}

impl Socket {
    /// How an operation names it; `None`: it is gone.
    pub(super) fn file(&self, key: Key) -> Option<File<'_>> {
        let fd = self.fd.as_ref()?;
        Some(if self.registered { File::Registered(key) } else { File::Descriptor(fd) })
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
