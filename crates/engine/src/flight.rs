//! The life of a request, as values: its place on a connection, its departure, its flight, its end.
//!
//! They are how the worker, authors and books speak of a request. Nothing here decides or counts.

use candor_pace::Due;
use candor_protocol::RequestId;
use candor_record::{ErrorKind, Phase};

use crate::reactor::Key;

/// A user, by its place in the table of its author.
pub(crate) type UserKey = u32;

/// No user.
pub(crate) const NOBODY: UserKey = u32::MAX;

/// A place for one request on a connection, free since a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) key: Key,
    pub(crate) generation: u32,
    pub(crate) since_ns: u64,
}

/// A request that is about to be handed to a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) index: u64,
    pub(crate) due_ns: u64,
    pub(crate) ready_ns: u64,
    pub(crate) connection: Key,
    pub(crate) request: u32,
    /// The user who makes it; `NOBODY`: it is by itself.
    pub(crate) user: UserKey,
    pub(crate) phase: Phase,
}

/// One request in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) index: u64,
    pub(crate) due_ns: u64,
    pub(crate) ready_ns: u64,
    pub(crate) sent_ns: u64,
    /// Zero until the first byte of the response is read.
    pub(crate) first_byte_ns: u64,
    pub(crate) connection: Key,
    pub(crate) request: u32,
    /// The user who makes it; `NOBODY`: it is by itself.
    pub(crate) user: UserKey,
    pub(crate) phase: Phase,
}

/// What became of a request that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) id: RequestId,
    pub(crate) flight: &'a Flight,
    /// `None`: it has the expected response, or was broken off as it was meant to be.
    pub(crate) error: Option<ErrorKind>,
    /// Zero without a response.
    pub(crate) status: u16,
    pub(crate) at_ns: u64,
}

/// A request that was due and did not leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeverSent {
    pub(crate) due: Due,
    pub(crate) request: u32,
    pub(crate) phase: Phase,
}
