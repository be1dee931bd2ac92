//! The seam between the engine and every protocol.
//!
//! One [`Session`] is one connection's state. It is driven in this grammar, and drained before
//! the next input:
//!
//! ```text
//! handle_request*  →  poll_transmit → (the engine writes) → handle_transmitted   until empty
//! handle_input     until it returns None and the input is empty; then, if the protocol had
//!                  something to answer by itself (HTTP/2 control frames), poll_transmit again
//! handle_end       until it returns None: the peer closed, and that was all
//! ```
//!
//! A session never retries, never reorders and never invents an outcome: every request that was
//! handed in comes out as exactly one of [`Event::Done`] or [`Event::Failed`], unless the engine
//! drops the session, in which case the engine owns what is left.

use std::io::IoSlice;

use crate::expect::Mismatch;

/// The engine's name for a request in flight: opaque to the session, handed back in events.
pub type RequestId = u32;

/// One connection's protocol state.
pub trait Session {
    /// How many more requests may be handed in now. Zero after an answer that ends the
    /// connection.
    fn free_slots(&self) -> u32;

    /// Requests handed in that have no outcome yet.
    fn outstanding(&self) -> u32;

    /// Takes one request: `request` is its index in the table the session was made with. Only
    /// while [`Session::free_slots`] is above zero.
    fn handle_request(&mut self, id: RequestId, request: u32);

    /// Fills `slices` with bytes to be written next, in order, and returns how many slices it
    /// used; 0: nothing to write.
    fn poll_transmit<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize;

    /// `bytes` of what [`Session::poll_transmit`] offered were written. Calls `started` for each
    /// request whose first byte was among them.
    fn handle_transmitted(&mut self, bytes: usize, started: &mut dyn FnMut(RequestId));

    /// Consumes bytes from the front of `input` up to the next event. Returns `None` when all of
    /// `input` is consumed. After [`Event::Failed`] with [`Failure::Malformed`] the session is
    /// dead: it consumes everything and says nothing more.
    fn handle_input(&mut self, input: &mut &[u8]) -> Option<Event>;

    /// The peer will send nothing more. Call until it returns `None`: an answer that ends with
    /// the connection is done now, every other outstanding request has failed.
    fn handle_end(&mut self) -> Option<Event>;
}

/// What a session has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The first byte of the answer to this request was among the input just consumed. Interim
    /// answers (1xx) do not count.
    FirstByte(RequestId),
    /// The answer to this request is complete.
    Done(Answer),
    /// This request failed. Others outstanding on the connection have no outcome yet.
    Failed {
        /// The request, or `None` if the bytes belong to no request (an answer nobody asked
        /// for).
        id: Option<RequestId>,
        /// Why.
        failure: Failure,
    },
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The request it answers.
    pub id: RequestId,
    /// Its status.
    pub status: u16,
    /// Length of its body, framing removed.
    pub body_bytes: u64,
    /// Whether it was the expected one.
    pub expected: Result<(), Mismatch>,
    /// The connection ends with this answer: no request may be handed in, and the engine closes.
    pub last: bool,
}

/// Why a session gave a request up.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The connection ended before the first byte of the answer.
    Closed,
    /// The connection ended in the middle of the answer.
    Truncated,
    /// The answer was not valid, or beyond the bounds. The connection cannot be used any more.
    Malformed(crate::h1::Error),
}
