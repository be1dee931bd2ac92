//! The seam between the engine and every protocol.
//!
//! One [`Session`] is one connection's state. It is driven in this grammar, and drained before
//! the next input:
//!
//! ```text
//! handle_request*  →  poll_transmit → (the engine writes) → handle_transmitted   until empty
//! handle_input     until it returns None and the input is empty; then, if the protocol had
//!                  something to say by itself (a handshake, HTTP/2 control frames),
//!                  poll_transmit again
//! take_hold        after everything offered was written, if the plan has requests that stop on
//!                  their way; handle_hold_over when the time of one is over, then poll_transmit
//! handle_end       until it returns None: the peer closed, and that was all
//! handle_close     we are about to close: a last poll_transmit for a goodbye
//! ```
//!
//! A session never retries, never reorders and never invents an outcome: every request that was
//! handed in comes out as exactly one of [`Event::Done`], [`Event::Failed`] or
//! [`Event::RequestFailed`], or was taken back by [`Session::cancel`], unless the engine drops the
//! session, in which case the engine owns what is left.

use candor_record::{Cause, Handshake};
use std::io::IoSlice;

use crate::capture::{CaptureRoom, NotKept};
use crate::expect::Mismatch;
use crate::made::Made;

/// The engine's name for a request in flight: opaque to the session, handed back in events.
pub type RequestId = u32;

/// One connection's protocol state.
pub trait Session {
    /// Whether it has things to say that no request asked for: a handshake, acknowledgements.
    /// The engine then looks for them after connecting and after every input. HTTP/1.1 in clear
    /// text does not, and pays nothing for those that do.
    const SPEAKS_UNASKED: bool;

    /// Whether [`Session::poll_transmit`] has offered everything where it leaves slices unused, so
    /// that nobody has to ask again once that is written. A session that makes its bytes as it is
    /// asked makes so many at a time.
    const OFFERS_ALL: bool = false;

    /// Whether requests may be handed in: false until a handshake is over. The engine calls a
    /// connection established when it is.
    fn is_ready(&self) -> bool {
        true
    }

    /// What the server has to send before it is ready, for the sentence that says that it did not:
    /// "the server did not send …". Only while it is not ready.
    fn awaits(&self) -> &'static str {
        ""
    }

    /// What the handshake came to, once there was one.
    fn handshake(&self) -> Option<Handshake> {
        None
    }

    /// Whether answers come in any order, each request by itself. In a closed load every answer
    /// then makes room for the next request at once; otherwise a batch stays a batch.
    fn multiplexes(&self) -> bool {
        false
    }

    /// How many more requests may be handed in now. Zero after an answer that ends the
    /// connection.
    fn free_slots(&self) -> u32;

    /// Requests handed in that have no outcome yet.
    fn outstanding(&self) -> u32;

    /// Takes one request: `request` is its index in the table the session was made with. Only
    /// while [`Session::free_slots`] is above zero.
    fn handle_request(&mut self, id: RequestId, request: u32);

    /// Whether it takes requests that were made while the run goes on, and keeps answers that are
    /// asked for.
    fn takes_made(&self) -> bool {
        false
    }

    /// Takes one made request, as [`Session::handle_request`] takes one of the table. It is copied.
    /// A batch is handed in as a whole: there may be more of them than there are free slots. Only
    /// if [`Session::takes_made`].
    fn handle_made(&mut self, id: RequestId, made: &Made<'_>) {
        let _ = (id, made);
        debug_assert!(self.takes_made(), "the engine asks before");
    }

    /// From now on, keeps the header block and the body of each response in `room`, as far as its
    /// bounds allow.
    fn capture(&mut self, room: &CaptureRoom) {
        let _ = room;
    }

    /// The response of the [`Event::Done`] that came last, until the next event or
    /// [`Session::release_captured`]; `None` if nothing is kept.
    fn captured(&self) -> Option<Captured<'_>> {
        None
    }

    /// The response that came last was seen: gives its memory back.
    fn release_captured(&mut self) {}

    /// Fills `slices` with bytes to be written next, in order, and returns how many slices it
    /// used; 0: nothing to write.
    fn poll_transmit<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize;

    /// `bytes` of what [`Session::poll_transmit`] offered were written. Calls `started` for each
    /// request whose first byte was among them.
    fn handle_transmitted(&mut self, bytes: usize, started: &mut dyn FnMut(RequestId));

    /// What a request that was written in part waits for, once for each stop. Only after
    /// [`Session::poll_transmit`] had nothing more, all of which was written.
    fn take_hold(&mut self) -> Option<Hold> {
        None
    }

    /// The time of the hold that was taken last is over: there may be something to transmit.
    fn handle_hold_over(&mut self) {}

    /// Whether a request is not to be written to its end, as it is now: the connection ends with
    /// its answer, and by us.
    fn is_cut_short(&self) -> bool {
        false
    }

    /// Whether that is so for good: [`Hold::BrokenOff`] was taken.
    fn is_broken_off(&self) -> bool {
        false
    }

    /// Consumes bytes from the front of `input` up to the next event. Returns `None` when all of
    /// `input` is consumed. After [`Event::Failed`] with [`Failure::Malformed`] the session is
    /// dead: it consumes everything and says nothing more; a goodbye may be left to transmit.
    fn handle_input(&mut self, input: &mut &[u8]) -> Option<Event>;

    /// The peer will send nothing more. Call until it returns `None`: an answer that ends with
    /// the connection is done now, every other outstanding request has failed.
    fn handle_end(&mut self) -> Option<Event>;

    /// Takes a request back that has no outcome yet, because it took too long. True: the
    /// connection can go on, and the request's late answer will be swallowed. False: the
    /// connection is of no use without that answer, and nothing was done.
    fn cancel(&mut self, id: RequestId) -> bool {
        let _ = id;
        false
    }

    /// Whether the peer takes no more requests on this connection and none is outstanding, so that
    /// the engine closes it, in order. [`Event::Over`] says so when input came; this is for asking
    /// after [`Session::cancel`].
    fn is_over(&self) -> bool {
        false
    }

    /// What came in header blocks so far, where the protocol compresses them.
    fn header_bytes(&self) -> HeaderBytes {
        HeaderBytes::default()
    }

    /// The engine is about to close the connection: a protocol with a goodbye (HTTP/2's GOAWAY,
    /// TLS's close_notify) has it to transmit now.
    fn handle_close(&mut self) {}
}

/// What a request waits for that was written in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Time.
    Due {
        /// The request.
        id: RequestId,
        /// So long after its first byte.
        after_ns: u64,
    },
    /// The server's word ([`Event::Continue`]), or time.
    Continue {
        /// So long from now.
        wait_ns: u64,
    },
    /// Nothing: no more of it is sent. An answer that comes from now on is the connection's last, and
    /// none was expected ([`Mismatch::BrokenOff`]).
    BrokenOff,
}

/// What a session has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The first byte of the answer to this request was among the input just consumed. Interim
    /// answers (1xx) do not count. May be left out where the whole answer is in one input: then
    /// [`Event::Done`] says both.
    FirstByte(RequestId),
    /// The answer to this request is complete.
    Done(Answer),
    /// This request failed, and the connection with it. Others outstanding on it have no outcome
    /// yet.
    Failed {
        /// The request, or `None` if it was no single request's failure: an answer nobody asked
        /// for, an error of the whole connection.
        id: Option<RequestId>,
        /// Why.
        failure: Failure,
    },
    /// This request alone failed; the connection goes on.
    RequestFailed {
        /// The request.
        id: RequestId,
        /// Why.
        failure: Failure,
    },
    /// The server asked for the body that a request held back (RFC 9110 10.1.1): there is something
    /// to transmit.
    Continue,
    /// The handshake of TLS is over, and [`Session::handshake`] says what it came to. What goes on
    /// within may have one of its own.
    Secured,
    /// The handshake is over: [`Session::is_ready`] is true from now on.
    Ready,
    /// The peer said that it sends nothing more (TLS's close_notify): the engine goes on as if
    /// the connection had ended, with [`Session::handle_end`].
    End,
    /// The peer changed its limit: [`Session::free_slots`] may have grown without an answer.
    Places,
    /// The peer announced that it takes no more requests on this connection, and nothing is
    /// outstanding any more: the engine closes it, in order.
    Over,
    /// The peer announced the end of the connection, and why (RFC 9113 6.8). What that means for
    /// requests comes as events of its own.
    GoAway(GoAway),
}

/// A peer's word about the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAway {
    /// Its error code (RFC 9113 7); 0: nothing is wrong.
    pub code: u32,
    /// The last stream that it processes.
    pub last_stream: u32,
}

/// What came in header blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeaderBytes {
    /// As it came, compressed.
    pub received: u64,
    /// The names and values that it stood for.
    pub decoded: u64,
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
    /// Where it is not as the RFC asks, and was read as the RFC asks of clients.
    pub deviations: Deviations,
    /// The connection ends with this answer: no request may be handed in, and the engine closes.
    pub last: bool,
}

/// What a server should not have sent, and a client has to read all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deviations {
    /// A header field is folded over several lines; each line end within was read as blanks
    /// (RFC 9112 5.2).
    pub folded: bool,
    /// The transfer coding that was applied last is not `chunked`; the body was read until the
    /// connection ended (RFC 9112 6.3).
    pub not_chunked_last: bool,
}

/// A complete answer, as a script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Header lines, each `Name: value` with its line end; in HTTP/1.1 after the status line.
    pub fields: &'a [u8],
    /// The body, framing removed.
    pub body: &'a [u8],
}

/// Why a session gave a request up.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The connection ended before the first byte of the answer.
    Closed,
    /// The connection ended in the middle of the answer.
    Truncated,
    /// The answer was not valid, or beyond the bounds. The connection cannot be used any more,
    /// unless the failure is a single request's.
    Malformed(Malformed),
    /// The response is beyond what is kept for a script. The connection cannot be used any more,
    /// unless the failure is a single request's.
    NotKept(NotKept),
    /// The server gave up this request: RST_STREAM with this error code (RFC 9113 7).
    StreamReset(u32),
    /// The server says that it did not begin to process this request: REFUSED_STREAM (RFC 9113
    /// 8.7).
    NotProcessed,
    /// The same by its GOAWAY, whose last stream is below this request's (RFC 9113 6.8).
    GoneAway(GoAway),
}

/// What was not valid, in the terms of the protocol that found it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Malformed {
    /// HTTP/1.1.
    #[error(transparent)]
    H1(#[from] crate::h1::Error),
    /// TLS.
    #[error(transparent)]
    Tls(#[from] crate::tls::Error),
    /// HTTP/2.
    #[error(transparent)]
    H2(#[from] crate::h2::Error),
}

impl Malformed {
    /// The cause, if a change of the plan can remove it.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Malformed::H1(_) => None,
            Malformed::Tls(error) => error.cause(),
            Malformed::H2(error) => error.cause(),
        }
    }
}
