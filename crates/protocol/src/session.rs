//! The seam between the engine and every protocol.
//!
//! One [`Session`] is one connection's state. It owns neither socket nor clock: bytes and time come
//! in as arguments, bytes and events go out. The grammar is quinn-proto's, and holds for protocols
//! over a stream and over datagrams alike:
//!
//! ```text
//! new               then poll_event until None: a session that needs no handshake is Ready at once
//! handle_request    while free_places is above zero
//! poll_transmit  →  (the engine writes)  →  handle_transmitted    until nothing is left to write
//! handle_input      until it returns None: it consumes its input up to the next event
//! handle_timeout    when the time of poll_timeout has come
//! cancel            a request took too long
//! handle_end        the peer sends nothing more
//! handle_close      we are about to close: a last poll_transmit for a goodbye
//! ```
//!
//! After `handle_timeout`, `cancel`, `handle_end` and `handle_close`, and after a
//! `handle_transmitted` that returned true, [`Session::poll_event`] has the events that follow, until
//! it returns `None`. `handle_input` returns the events of its input itself: a stream of a thousand
//! responses needs no queue. Where it returns [`Event::Changed`], and wherever `poll_event` is called,
//! the engine looks at [`Session::poll_timeout`] and [`Session::free_places`] again, and for bytes to
//! transmit.
//!
//! A session never retries, never reorders and never invents an outcome: every request that was
//! handed in comes out as exactly one of [`Event::Done`], [`Event::Failed`] or
//! [`Event::RequestFailed`], or was taken back by [`Session::cancel`], unless the engine drops the
//! session, in which case the engine owns the requests that are left.

use std::any::Any;
use std::fmt;
use std::io::IoSlice;
use std::num::NonZeroU16;
use std::rc::Rc;

use candor_record::{Blocked, Cause, ErrorKind, Handshake, Path};

use crate::capture::{Capture, NotKept};
use crate::expect::Mismatch;
use crate::request::Outgoing;

/// The engine's name for a request in flight: opaque to the session, handed back in events.
pub type RequestId = u32;

/// A kind of session that an engine can be compiled for.
pub trait Protocol: Session {
    /// What carries it.
    const TRANSPORT: Transport;
    /// It may be another for some sessions of this type, though the same for all of a worker.
    const VARIES: bool = false;
}

/// What carries a protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// A stream of bytes: TCP, or a unix socket.
    #[default]
    Stream,
    /// Datagrams: UDP, one socket per connection.
    Datagrams,
}

/// One connection's protocol state. All times are nanoseconds of the engine's clock.
pub trait Session {
    /// Whether it has things to say that no request asked for: a handshake, acknowledgements. The
    /// engine then looks for bytes to transmit after every input. HTTP/1.1 in clear text does not,
    /// and pays nothing for those that do. The same for all sessions of a worker, at all times.
    fn speaks_unasked(&self) -> bool;

    /// How many more requests it takes now. Zero before [`Event::Ready`], and after a response that
    /// ends the connection.
    fn free_places(&self) -> u32;

    /// Takes one request, while [`Session::free_places`] is above zero. Several made requests of one
    /// text are a batch, and handed in as a whole: there may be more of them than free places.
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>);

    /// Fills `slices` with bytes to write next, in order.
    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit;

    /// `bytes` of those that [`Session::poll_transmit`] offered were written by a call that began at
    /// `now_ns`. Calls `started` for each request whose first byte was among them. True: there may
    /// be an event, or another timeout.
    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool;

    /// Consumes `input` up to the next event. Returns `None` when all of it is consumed. After
    /// [`Event::Failed`] with [`Failure::Malformed`] the session is dead: it consumes everything and
    /// says nothing more; a goodbye may be left to transmit.
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event>;

    /// The next event that needs no input.
    fn poll_event(&mut self) -> Option<Event>;

    /// When [`Session::handle_timeout`] is to be called, if ever.
    fn poll_timeout(&self) -> Option<u64>;

    /// The time of [`Session::poll_timeout`] has come.
    fn handle_timeout(&mut self, now_ns: u64);

    /// Takes back a request that has no outcome yet, because it took too long. True: the connection
    /// can go on, and a late response is swallowed. False: the connection is of no use without that
    /// response, and nothing was done.
    fn cancel(&mut self, id: RequestId) -> bool;

    /// Takes the response of the [`Event::Done`] that came last, if responses are kept. Its memory is
    /// given back when it is dropped.
    fn take_captured(&mut self) -> Option<Capture>;

    /// The peer sends nothing more, or the engine waits for nothing more. A response that ends with
    /// the connection is done now, every other outstanding request has failed; a handshake that was
    /// not over has failed with [`Failure::NotReady`].
    fn handle_end(&mut self);

    /// The engine is about to close the connection: a protocol with a goodbye (HTTP/2's GOAWAY, TLS's
    /// close_notify) has it to transmit now.
    fn handle_close(&mut self);
}

/// Behind a pointer, whatever it is.
impl Protocol for Box<dyn Session> {
    const TRANSPORT: Transport = Transport::Stream;
    const VARIES: bool = true;
}

impl Session for Box<dyn Session> {
    fn speaks_unasked(&self) -> bool {
        (**self).speaks_unasked()
    }

    fn free_places(&self) -> u32 {
        (**self).free_places()
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        (**self).handle_request(id, request);
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        (**self).poll_transmit(now_ns, slices)
    }

    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        (**self).handle_transmitted(now_ns, bytes, started)
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        (**self).handle_input(now_ns, input)
    }

    fn poll_event(&mut self) -> Option<Event> {
        (**self).poll_event()
    }

    fn poll_timeout(&self) -> Option<u64> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        (**self).handle_timeout(now_ns);
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        (**self).cancel(id)
    }

    fn take_captured(&mut self) -> Option<Capture> {
        (**self).take_captured()
    }

    fn handle_end(&mut self) {
        (**self).handle_end();
    }

    fn handle_close(&mut self) {
        (**self).handle_close();
    }
}

/// Bytes from the peer.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// The next bytes of a stream.
    Stream(&'a [u8]),
    /// One datagram.
    Datagram {
        /// Its payload.
        bytes: &'a [u8],
        /// The two bits of explicit congestion notification (RFC 3168 5).
        ecn: u8,
    },
}

impl<'a> Input<'a> {
    /// The bytes that are not consumed yet.
    pub fn bytes(&self) -> &'a [u8] {
        let (Input::Stream(bytes) | Input::Datagram { bytes, .. }) = self;
        bytes
    }
}

/// Bytes to the peer, in the slices that [`Session::poll_transmit`] was given. Small enough to come back
/// in a register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transmit {
    /// How many slices it used; 0: there is nothing to write.
    pub slices: u32,
    /// Over datagrams: the bytes are datagrams of this length, the last one perhaps shorter, at most
    /// [`MAX_SEGMENTS`] of them and [`MAX_TRANSMIT_BYTES`] in all. 0 over a stream.
    pub segment_bytes: u16,
    /// Over datagrams: the two bits of explicit congestion notification that they carry.
    pub ecn: u8,
    /// There may be more to write when these are written.
    pub more: bool,
}

/// Datagrams in one [`Transmit`], at most: what the kernel segments at once (UDP_MAX_SEGMENTS of
/// Linux 4.18).
pub const MAX_SEGMENTS: usize = 64;

/// Bytes in one [`Transmit`] over datagrams, at most: the payload of the largest datagram over IPv4.
pub const MAX_TRANSMIT_BYTES: usize = 65_507;

impl Transmit {
    /// The slices of `all` that it used.
    #[inline]
    pub fn of<'s, 'a>(&self, all: &'s [IoSlice<'a>]) -> &'s [IoSlice<'a>] {
        &all[..self.slices as usize]
    }
}

/// What a session can do, known from [`Event::Ready`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Responses come in any order, each request by itself. In a closed load every response then
    /// makes room for the next request at once; otherwise a batch stays a batch.
    pub multiplexes: bool,
    /// It takes [`Outgoing::Made`], and keeps responses.
    pub takes_made: bool,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The handshake is over, or none is needed: [`Session::free_places`] may be above zero.
    Ready(Abilities),
    /// The handshake of TLS is over. The protocol within may have one of its own.
    Secured(Box<Handshake>),
    /// The first byte of the response to this request was among the input just consumed. Interim
    /// responses (1xx) do not count. May be left out where the whole response is in one input: then
    /// [`Event::Done`] says both.
    FirstByte(RequestId),
    /// The response to this request is complete.
    Done(Answer),
    /// Parts of a response, or of what the peer sends without a request: only from sessions that were
    /// made to tell of them.
    Part(Part),
    /// How many tokens this request and the response to it have, whose [`Event::Done`] follows: only from sessions
    /// that were made to count them.
    Tokens {
        /// The request.
        id: RequestId,
        /// Those of the response; `None`: it does not say.
        output: Option<u64>,
        /// Those of the request; `None`: the response does not say.
        input: Option<u64>,
    },
    /// The transport held this request back for so long before it was sent. Comes once, when it was sent.
    Blocked {
        /// The request.
        id: RequestId,
        /// For how long, by cause.
        by: Blocked,
    },
    /// This request failed, and the connection with it. Others outstanding on it have no outcome
    /// yet.
    Failed {
        /// The request, or `None` if it was no single request's failure: a response that no request
        /// asked for, an error of the whole connection.
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
    /// Places, bytes to transmit or the timeout changed, and no response says so: the peer raised a
    /// limit, or asked for a body that was held back (RFC 9110 10.1.1).
    Changed,
    /// The request that is being written is not written any further. A response that comes from now
    /// on is the connection's last, and none was expected ([`Mismatch::BrokenOff`]).
    BrokenOff,
    /// The peer said that it sends nothing more (TLS's close_notify): the engine goes on as if
    /// the connection had ended, with [`Session::handle_end`].
    End,
    /// The peer announced that it takes no more requests on this connection, and nothing is
    /// outstanding any more: the engine closes it, in order.
    Over,
    /// The peer announced the end of the connection, and why (RFC 9113 6.8). Its meaning for
    /// requests comes as events of its own.
    GoAway(GoAway),
    /// The peer closed the WebSocket. The failures of requests, and [`Event::Over`], come as events of their own.
    CloseFrame(Box<CloseFrame>),
    /// After [`Session::handle_close`], from protocols that compress header blocks: all that came.
    HeaderBytes(HeaderBytes),
    /// After [`Session::handle_close`], from protocols over QUIC whose handshake was over: the path.
    Path(Box<Path>),
}

/// A peer's word about the end of a WebSocket (RFC 6455 7.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseFrame {
    /// The code; 1005: it gave none; 1006: the connection ended without a close frame.
    pub code: u16,
    /// Its reason, of at most 123 bytes, as it is shown; empty if it gave none.
    pub reason: Box<str>,
}

/// Without a reason.
impl From<u16> for Box<CloseFrame> {
    fn from(code: u16) -> Self {
        Box::new(CloseFrame { code, reason: "".into() })
    }
}

/// A peer's word about the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAway {
    /// Its error code (RFC 9113 7); 0: nothing is wrong.
    pub code: u32,
    /// The last stream that it processes.
    pub last_stream: u32,
}

/// The size of header blocks that came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeaderBytes {
    /// As it came, compressed.
    pub received: u64,
    /// The names and values that it stood for.
    pub decoded: u64,
}

/// Parts that ended in the input just consumed. A session may tell of those of one request and one kind
/// together, since they came in one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The request whose response they belong to; `None`: the peer sent them unasked. A session that was
    /// not made to expect those fails with [`Event::Failed`] instead.
    pub id: Option<RequestId>,
    /// What they are.
    pub kind: PartKind,
    /// Their payload, framing removed.
    pub bytes: u64,
    /// How many there are.
    pub count: u32,
    /// How many of them are tokens, where these are counted.
    pub tokens: u32,
}

/// Parts that protocols have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// An event of a stream of events.
    Event,
    /// A message.
    Message,
    /// A frame that is no message by itself.
    Frame,
}

/// A complete response.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The request it answers.
    pub id: RequestId,
    /// Its status; `None`: what answers is a message, which has none.
    pub status: Option<NonZeroU16>,
    /// Length of its body, framing removed.
    pub body_bytes: u64,
    /// Whether it was the expected one.
    pub expected: Result<(), Mismatch>,
    /// Where it is not as the RFC asks, and was read as the RFC asks of clients.
    pub deviations: Deviations,
    /// Whether the connection ends with it.
    pub last: Last,
}

/// Whether a connection ends with a response. Then no request may be handed in, and the engine
/// closes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Last {
    /// It goes on.
    #[default]
    No,
    /// By the peer's word, or by the rules of HTTP.
    ByPeer,
    /// By us: the rest of a request is not written.
    ByUs,
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

/// Why a session gave a request up.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The connection ended before the first byte of the response.
    Closed,
    /// The connection ended in the middle of the response.
    Truncated,
    /// The response was not valid, or beyond the bounds. The connection cannot be used any more,
    /// unless the failure is a single request's.
    Malformed(Malformed),
    /// The response is beyond the bounds of what is kept for a script. The connection cannot be used
    /// any more, unless the failure is a single request's.
    NotKept(NotKept),
    /// The server gave up this request: RST_STREAM with this error code (RFC 9113 7).
    StreamReset(u32),
    /// The server says that it did not begin to process this request: REFUSED_STREAM (RFC 9113
    /// 8.7).
    NotProcessed,
    /// The same by its GOAWAY, whose last stream is below this request's (RFC 9113 6.8).
    GoneAway(GoAway),
    /// The server closed the WebSocket before it answered this request.
    ClosedWith(Box<CloseFrame>),
    /// The connection ended, and not by a close alone: how that is counted, and what the protocol says of it.
    Ended {
        /// The kind.
        kind: ErrorKind,
        /// Why.
        why: Malformed,
    },
    /// The call of gRPC ended with a status other than `OK`, or without one.
    Call {
        /// Which.
        kind: ErrorKind,
        /// What the server says about it, up to 1 KiB; empty if nothing.
        message: Box<str>,
    },
    /// The handshake was not over: the server did not send this.
    NotReady(&'static str),
}

/// What a protocol finds wrong with what its peer sent: its own type, which this module does not know.
pub trait Fault: fmt::Debug + fmt::Display + Any {
    /// The cause, if a change of the plan can remove it.
    fn cause(&self) -> Option<Cause> {
        None
    }
}

/// A fault of the peer, in the terms of the protocol that found it.
#[derive(Debug, Clone)]
pub struct Malformed(Rc<dyn Comparable>);

/// A fault that can be compared with faults of other protocols.
trait Comparable: Fault {
    fn is(&self, other: &dyn Any) -> bool;
}

impl<F: Fault + PartialEq> Comparable for F {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl<F: Fault + PartialEq> From<F> for Malformed {
    fn from(fault: F) -> Self {
        Malformed(Rc::new(fault))
    }
}

impl Malformed {
    /// The fault, if it is of this protocol.
    pub fn get<F: Fault>(&self) -> Option<&F> {
        let fault: &dyn Any = &*self.0;
        fault.downcast_ref()
    }

    /// The cause, if a change of the plan can remove it.
    pub fn cause(&self) -> Option<Cause> {
        self.0.cause()
    }
}

impl PartialEq for Malformed {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&*other.0)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
