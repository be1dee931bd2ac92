//! The seam between a worker and the operating system.
//!
//! A [`Reactor`] owns the sockets of one worker and its clock. The worker names a connection by
//! its [`Key`] and never sees a descriptor. There is one implementation for each way of asking
//! the kernel, and a simulated one for tests. The worker is compiled for epoll, and once for all others, behind a
//! pointer ([`Chosen`]).
//!
//! ```text
//! connect(key) ─→ Ready{writable} ─→ finish_connect(key)
//! Ready{readable} ─→ receive(key) until it returns Nothing, a last piece, End or Failed
//! send(key), send_datagrams(key): Blocked ─→ Ready{writable} ─→ again
//! end_sending(key) ─→ receive(key) as before
//! ```
//! Readiness is edge-triggered: what is left unread or unwritten is not announced again.
//!
//! - [`epoll`] is told that something came, and reads it: a system call to learn of a batch, one
//!   for each read, one for each write.
//! - [`uring`] is told what came, and writes together: a system call for a batch of responses, one for
//!   a batch of writes.
//! - [`stamped`] is epoll with the kernel's own time stamps, which [`stamps`] keeps.
//! - [`dozing`] is epoll with the times of arrival, which need not be awake for them.
//! - [`datagram`] has UDP sockets, for epoll.
//! - [`socket`] and [`clock`] are what they share, [`choice`] which of them a run gets.

mod arrived;
pub mod choice;
pub mod clock;
mod datagram;
pub mod dozing;
pub mod epoll;
pub mod epoll_wait;
mod realtime;
mod scm;
pub mod socket;
pub mod stamped;
pub mod stamps;
pub mod uring;

use std::io::IoSlice;
use std::net::SocketAddr;

use candor_protocol::Transmit;
use candor_record::{ConnectErrorKind, Reason};
use rustix::time::ClockId;

use crate::thread::{Switches, clock_ns};
use stamps::{StampFacts, StampLog};

/// A connection's name within a worker: its place in the worker's table. A key is free for a new
/// connection after [`Reactor::close`]; events of the old one never reach the new one.
pub type Key = u32;

/// Where a connection goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Route {
    /// The number of its target.
    pub target: u16,
    /// Which of the target's addresses.
    pub address: u32,
    /// Counts the attempts of a worker: local addresses are used in turn.
    pub turn: u64,
}

/// Something can be done on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Which.
    pub key: Key,
    /// There is something to receive: bytes, the end, or an error.
    pub readable: bool,
    /// There is room to send, or a connection attempt ended.
    pub writable: bool,
    /// The peer ended its side: receive until [`Received::End`] or [`Received::Failed`].
    pub ended: bool,
}

/// What [`Reactor::receive`] found.
#[derive(Debug)]
pub enum Received<'a> {
    /// Bytes.
    Bytes {
        /// The bytes, valid until the next call.
        bytes: &'a [u8],
        /// When they were read; with [`Reactor::dozes`], when they had arrived.
        at_ns: u64,
        /// There may be more: receive again.
        more: bool,
    },
    /// Nothing at present.
    Nothing,
    /// The peer will send nothing more.
    End {
        /// When that was read.
        at_ns: u64,
    },
    /// The connection broke.
    Failed {
        /// Why.
        error: IoFailure,
        /// When that was noticed.
        at_ns: u64,
    },
}

/// Bytes that are datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// Length of each but the last, which may be shorter; zero for a single one of any length.
    pub bytes: u16,
    /// The two bits of explicit congestion notification of all of them (RFC 3168 5).
    pub ecn: u8,
}

impl Segments {
    /// The mark of a datagram that met congestion.
    pub const CONGESTED: u8 = 0b11;

    /// Of what a session transmits.
    pub(crate) fn of(transmit: Transmit) -> Self {
        Segments { bytes: transmit.segment_bytes, ecn: transmit.ecn }
    }

    /// How many of them left.
    pub(crate) fn sent(self, sent: &Sent) -> u64 {
        match sent {
            Sent::Written(bytes) => self.count(*bytes),
            // Datagrams are not queued.
            Sent::Queued | Sent::Blocked | Sent::Failed(_) => 0,
        }
    }

    /// The number of datagrams in this number of bytes.
    pub fn count(self, bytes: usize) -> u64 {
        match self.bytes {
            0 => 1,
            each => bytes.div_ceil(each.into()).max(1) as u64,
        }
    }

    /// Each of those in `bytes`.
    pub fn split(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let each = if self.bytes == 0 { bytes.len() } else { self.bytes.into() };
        let empty = bytes.is_empty().then_some(bytes);
        empty.into_iter().chain(bytes.chunks(each.max(1)))
    }
}

/// What [`Reactor::send`] did.
#[derive(Debug)]
pub enum Sent {
    /// So many bytes were taken by the kernel; fewer than offered means that it is full.
    Written(usize),
    /// All of it leaves with the next [`Reactor::submit`]. What the kernel does not take then leaves as soon as there
    /// is room, before anything that is sent later.
    Queued,
    /// None: wait for writable.
    Blocked,
    /// The connection broke.
    Failed(IoFailure),
}

/// When what was queued was handed to the kernel: one after the other, between these two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Submission {
    /// Before the first.
    pub began_ns: u64,
    /// After the last.
    pub ended_ns: u64,
}

/// Why a connection broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoFailure {
    /// It was a reset (ECONNRESET, EPIPE; of datagrams, ECONNREFUSED), as opposed to anything else.
    pub reset: bool,
    /// Nothing listens there: of datagrams, that is known when the first was sent (ECONNREFUSED).
    pub refused: bool,
    /// The system's words.
    pub message: String,
}

/// Why a connection could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{to}: {why}")]
pub struct ConnectFailure {
    /// The kind, as it is counted.
    pub kind: ConnectErrorKind,
    /// The address; where the handshake failed, the authority.
    pub to: String,
    /// Why.
    pub why: ConnectCause,
}

/// What stood in the way of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectCause {
    /// The system refused: `errno`.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    System(i32),
    /// Anything else.
    #[error("{0}")]
    Other(Reason),
}

impl From<ConnectFailure> for Reason {
    fn from(failure: ConnectFailure) -> Self {
        match failure.why {
            ConnectCause::System(_) => failure.to_string().into(),
            ConnectCause::Other(reason) => reason.of(failure.to),
        }
    }
}

/// A reactor that has not met its thread yet. Making one can fail; starting it cannot.
pub trait Start: Send {
    /// What it becomes.
    type Reactor: Reactor;

    /// The reactor, for the calling thread.
    fn start(self) -> Self::Reactor;
}

/// Any reactor.
pub type Chosen = Box<dyn FnOnce() -> Box<dyn Reactor> + Send>;

/// `unstarted`, whatever it is.
pub fn chosen<U: Start<Reactor: 'static> + 'static>(unstarted: U) -> Chosen {
    Box::new(move || Box::new(unstarted.start()))
}

impl Start for Chosen {
    type Reactor = Box<dyn Reactor>;

    fn start(self) -> Box<dyn Reactor> {
        self()
    }
}

/// Sockets and clock of one worker.
pub trait Reactor {
    /// Whether connections can have the kernel's time stamps: always or never.
    #[inline]
    fn has_stamps(&self) -> bool {
        false
    }

    /// Whether it knows when bytes arrived, so that nobody need be awake for that: always or never.
    #[inline]
    fn dozes(&self) -> bool {
        false
    }

    /// Sleeps until `until_ns`, whatever arrives meanwhile, and then looks what is ready. Returns when the sleep
    /// ended; `None`: it woke for what arrives.
    fn doze(&mut self, until_ns: u64) -> Option<u64> {
        self.wait(until_ns);
        None
    }

    /// The time of an end counted, and an end has no stamp: nothing is slept through any more.
    fn wake_for_ends(&mut self) {}

    /// The stamps of a connection, if it has any.
    fn stamps(&mut self, key: Key) -> Option<&mut StampLog> {
        let _ = key;
        None
    }

    /// What the stamps of all connections have in common.
    fn stamp_facts(&self) -> StampFacts {
        StampFacts::default()
    }

    /// Monotonic time in nanoseconds since the origin; zero before it.
    fn now_ns(&mut self) -> u64;

    /// CPU time of the calling thread, in nanoseconds since some moment: a system call.
    fn cpu_ns(&mut self) -> u64 {
        clock_ns(ClockId::ThreadCPUTime)
    }

    /// How often the calling thread has waited for something, since some moment: a system call.
    fn times_waited(&mut self) -> u64 {
        Switches::now().voluntary
    }

    /// Moves the origin of time to `origin_ns`, counted from the present origin.
    fn set_origin_ns(&mut self, origin_ns: u64);

    /// How many addresses a target has, or had.
    fn addresses(&self, target: u16) -> usize {
        let _ = target;
        1
    }

    /// The name of an address.
    fn address(&self, to: Route) -> String {
        to.address.to_string()
    }

    /// Takes what names were resolved to meanwhile. Whether a target has other addresses now: further ones, whose
    /// numbers follow those before, or fewer.
    fn refresh(&mut self) -> bool {
        false
    }

    /// Whether a name no longer has this address. Connections to it remain.
    fn is_gone(&self, target: u16, address: u32) -> bool {
        let _ = (target, address);
        false
    }

    /// The local and the remote address of an established connection over IP.
    fn endpoints(&self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        let _ = key;
        None
    }

    /// Begins to connect under `key`.
    fn connect(&mut self, key: Key, to: Route) -> Result<(), ConnectFailure>;

    /// After the first writable: whether the connection is established. `Ok(false)`: not yet.
    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure>;

    /// From now on one read takes at most so many bytes. A reactor whose reads are short anyway does not care.
    fn read_at_most(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Reads what is there.
    fn receive(&mut self, key: Key) -> Received<'_>;

    /// Writes `slices` in order, as much as the kernel takes.
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent;

    /// Whether it queues what is sent: always or never.
    #[inline]
    fn queues(&self) -> bool {
        false
    }

    /// Hands what was queued since the last time to the kernel, in order. Without it, [`Reactor::wait`] does so first,
    /// and how long that took is not known.
    fn submit(&mut self) -> Submission {
        Submission::default()
    }

    /// Reads datagrams of one connection that the kernel put together: [`Received::Bytes`] has their
    /// payloads, one after the other.
    fn receive_datagrams(&mut self, key: Key) -> (Received<'_>, Segments) {
        (self.receive(key), Segments::default())
    }

    /// Writes the datagrams that `slices` hold, one after the other: as many of them as the kernel
    /// takes, and each whole. A reactor without datagrams fails.
    fn send_datagrams(&mut self, key: Key, slices: &[IoSlice<'_>], segments: Segments) -> Sent {
        let _ = (key, slices, segments);
        let message = "this way of asking the kernel has no datagrams".to_owned();
        Sent::Failed(IoFailure { reset: false, refused: false, message })
    }

    /// Acknowledges what was received on a connection, if the kernel delays that. Whether that is possible.
    fn acknowledge(&mut self, key: Key) -> bool {
        let _ = key;
        false
    }

    /// Datagrams of a connection that the kernel dropped because its receive buffer was full.
    fn dropped(&mut self, key: Key) -> u64 {
        let _ = key;
        0
    }

    /// Ends our side of an established connection: the peer gets what was sent, and then the end.
    /// What it sends is received as before. Nothing may be sent any more.
    fn end_sending(&mut self, key: Key);

    /// Closes a connection, established or not. No event of it will be seen.
    fn close(&mut self, key: Key);

    /// Waits until something is ready or until `until_ns`, whichever is first. With a time in
    /// the past it only looks, and with 0 it does so without asking what time it is.
    fn wait(&mut self, until_ns: u64);

    /// The next of what the last [`Reactor::wait`] found.
    fn next_ready(&mut self) -> Option<Ready>;
}

impl Reactor for Box<dyn Reactor> {
    fn has_stamps(&self) -> bool {
        (**self).has_stamps()
    }

    fn dozes(&self) -> bool {
        (**self).dozes()
    }

    fn doze(&mut self, until_ns: u64) -> Option<u64> {
        (**self).doze(until_ns)
    }

    fn wake_for_ends(&mut self) {
        (**self).wake_for_ends();
    }

    fn stamps(&mut self, key: Key) -> Option<&mut StampLog> {
        (**self).stamps(key)
    }

    fn stamp_facts(&self) -> StampFacts {
        (**self).stamp_facts()
    }

    fn now_ns(&mut self) -> u64 {
        (**self).now_ns()
    }

    fn cpu_ns(&mut self) -> u64 {
        (**self).cpu_ns()
    }

    fn times_waited(&mut self) -> u64 {
        (**self).times_waited()
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        (**self).set_origin_ns(origin_ns);
    }

    fn addresses(&self, target: u16) -> usize {
        (**self).addresses(target)
    }

    fn address(&self, to: Route) -> String {
        (**self).address(to)
    }

    fn refresh(&mut self) -> bool {
        (**self).refresh()
    }

    fn is_gone(&self, target: u16, address: u32) -> bool {
        (**self).is_gone(target, address)
    }

    fn endpoints(&self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        (**self).endpoints(key)
    }

    fn connect(&mut self, key: Key, to: Route) -> Result<(), ConnectFailure> {
        (**self).connect(key, to)
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        (**self).finish_connect(key)
    }

    fn read_at_most(&mut self, bytes: usize) {
        (**self).read_at_most(bytes);
    }

    fn receive(&mut self, key: Key) -> Received<'_> {
        (**self).receive(key)
    }

    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        (**self).send(key, slices)
    }

    fn queues(&self) -> bool {
        (**self).queues()
    }

    fn submit(&mut self) -> Submission {
        (**self).submit()
    }

    fn acknowledge(&mut self, key: Key) -> bool {
        (**self).acknowledge(key)
    }

    fn receive_datagrams(&mut self, key: Key) -> (Received<'_>, Segments) {
        (**self).receive_datagrams(key)
    }

    fn send_datagrams(&mut self, key: Key, slices: &[IoSlice<'_>], segments: Segments) -> Sent {
        (**self).send_datagrams(key, slices, segments)
    }

    fn dropped(&mut self, key: Key) -> u64 {
        (**self).dropped(key)
    }

    fn end_sending(&mut self, key: Key) {
        (**self).end_sending(key);
    }

    fn close(&mut self, key: Key) {
        (**self).close(key);
    }

    fn wait(&mut self, until_ns: u64) {
        (**self).wait(until_ns);
    }

    fn next_ready(&mut self) -> Option<Ready> {
        (**self).next_ready()
    }
}
