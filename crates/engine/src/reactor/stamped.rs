//! The epoll reactor with the kernel's own time stamps on some of its connections (Linux, TCP).
//!
//! SO_TIMESTAMPING makes the kernel stamp, in software, what leaves (when it is handed to the
//! device) and what arrives (when it comes from there). Stamps of what left wait in the socket's
//! error queue, each with the number of the last byte that it means; the stamp of what arrived
//! comes with the bytes. A waiting stamp shows as EPOLLERR, which on these sockets therefore is
//! no sign of an end. A reactor of its own, so that runs without stamps are what they were.
//!
//! See Documentation/networking/timestamping.rst in the kernel's sources.

use std::io::IoSlice;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::epoll::{EpollReactor, Unstarted as Plain};
use super::realtime::{Realtime, read_clocks};
use super::socket::{self, Dialer};
use super::stamps::{StampFacts, StampLog};
use super::{ConnectFailure, Key, Reactor, Ready, Received, Route, Sent, Start, scm};

/// A reactor that has not met its thread yet.
#[derive(Debug)]
pub struct Unstarted {
    plain: Plain,
    one_in: u32,
}

/// Epoll, with stamps on one connection in `one_in`.
pub struct StampedReactor {
    plain: EpollReactor,
    one_in: u32,
    /// By key; `None`: this connection has no stamps.
    logs: Vec<Option<StampLog>>,
    stamping: Stamping,
}

impl Unstarted {
    /// A reactor without sockets, that will have stamps on one in `one_in`.
    pub fn new(dialer: Dialer, one_in: u32) -> Result<Self, Errno> {
        Ok(Unstarted { plain: Plain::new(dialer)?, one_in: one_in.max(1) })
    }
}

impl Start for Unstarted {
    type Reactor = StampedReactor;

    fn start(self) -> StampedReactor {
        let mut plain = self.plain.start();
        // The kernel's stamps are held against ours, part by part of a microsecond.
        plain.read_the_kernels_clock();
        StampedReactor { plain, one_in: self.one_in, logs: Vec::new(), stamping: Stamping::begin() }
    }
}

impl StampedReactor {
    /// Asks the kernel for stamps on a new connection, if it is one that is to have them.
    fn enable(&mut self, key: Key) {
        if !key.is_multiple_of(self.one_in) {
            return;
        }
        let Some(fd) = self.plain.descriptor(key) else { return };
        if self.stamping.asked(scm::enable(fd)) {
            self.plain.expect_stamps(key);
            *self.log(key) = Some(StampLog::default());
        }
    }

    fn log(&mut self, key: Key) -> &mut Option<StampLog> {
        let index = key as usize;
        if index >= self.logs.len() {
            self.logs.resize_with(index + 1, || None);
        }
        &mut self.logs[index]
    }

    /// Reads from a connection with stamps.
    fn receive_stamped(&mut self, key: Key) -> Received<'_> {
        let StampedReactor { plain, logs, stamping, .. } = self;
        let Some(log) = &mut logs[key as usize] else { return Received::Nothing };
        let now_ns = plain.now_ns();
        if let Some(fd) = plain.descriptor(key) {
            collect(fd, log, stamping.at(now_ns, plain.origin_ns()));
        }
        let (received, arrived_ns) = stamping.receive(plain, key);
        if let Received::Bytes { .. } = received {
            log.arrived(arrived_ns);
        }
        received
    }
}

/// So long may the kernel take until it stamps what arrives.
const STAMPS_WITHIN: Duration = Duration::from_secs(1);
/// The pause before it is asked again.
const ASK_AGAIN: Duration = Duration::from_micros(200);

/// What reactors with stamps have in common: stamps are brought to the time of a run.
#[derive(Debug)]
pub(super) struct Stamping {
    realtime: Realtime,
    facts: StampFacts,
    /// Never read again: as long as there is a socket that asked for stamps, the kernel makes them.
    _witness: Option<OwnedFd>,
}

impl Stamping {
    /// Returns when the kernel stamps what arrives, which a job of its own begins a while after the first socket
    /// asked for it, or after [`STAMPS_WITHIN`]. From then on it does so for as long as this lives, also if other
    /// processes stop asking.
    pub(super) fn begin() -> Stamping {
        Stamping {
            realtime: Realtime::default(),
            facts: StampFacts::default(),
            _witness: stamped_witness(),
        }
    }

    /// A connection was asked for stamps. Whether it has them.
    pub(super) fn asked(&mut self, outcome: Result<(), Errno>) -> bool {
        match outcome {
            Ok(()) => self.facts.connections += 1,
            Err(errno) => {
                self.facts.refused += 1;
                let words = || std::io::Error::from(errno).to_string();
                self.facts.refusal.get_or_insert_with(words);
            }
        }
        outcome.is_ok()
    }

    /// From stamps to times of the run, at `now_ns` of it.
    fn at(&mut self, now_ns: u64, origin_ns: u64) -> impl Fn(u64) -> Option<u64> {
        let realtime = &mut self.realtime;
        realtime.keep_up(now_ns + origin_ns, read_clocks);
        move |stamp_ns| Some(realtime.monotonic_ns(stamp_ns)?.saturating_sub(origin_ns))
    }

    /// Reads, and says when the last segment of what was read had arrived.
    #[inline]
    pub(super) fn receive<'a>(
        &mut self,
        plain: &'a mut EpollReactor,
        key: Key,
    ) -> (Received<'a>, Option<u64>) {
        let (fd, buffer, clock) = plain.parts(key);
        let Some(fd) = fd else { return (Received::Nothing, None) };
        let result = scm::receive(fd.as_raw_fd(), buffer);
        if matches!(result, Err(Errno::AGAIN)) {
            clock.time_passed();
            return (Received::Nothing, None);
        }
        let at_ns = clock.now_ns();
        match result {
            Ok((0, _)) => (Received::End { at_ns }, None),
            Ok((n, stamp_ns)) => {
                let arrived_ns = stamp_ns.and_then(self.at(at_ns, clock.origin_ns()));
                let more = n == buffer.len();
                (Received::Bytes { bytes: &buffer[..n], at_ns, more }, arrived_ns)
            }
            Err(errno) => (Received::Failed { error: socket::io_failure(errno), at_ns }, None),
        }
    }

    pub(super) fn facts(&self) -> StampFacts {
        StampFacts {
            clock_steps: self.realtime.steps(),
            conversion_error_ns: self.realtime.worst_ns(),
            ..self.facts.clone()
        }
    }
}

/// A socket that has received a stamped datagram, from itself; `None` where that cannot be had.
fn stamped_witness() -> Option<OwnedFd> {
    let loopback: [SocketAddr; 2] =
        [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
    let socket = UdpSocket::bind(&loopback[..]).ok()?;
    socket.connect(socket.local_addr().ok()?).ok()?;
    let socket = OwnedFd::from(socket);
    scm::stamp_arrivals(&socket).ok()?;
    let end = Instant::now() + STAMPS_WITHIN;
    while Instant::now() < end {
        rustix::net::send(&socket, b"?", rustix::net::SendFlags::empty()).ok()?;
        // Over loopback a datagram is there when it was sent; if not, the next turn finds it.
        let received = scm::receive(socket.as_raw_fd(), &mut [0; 8]);
        if matches!(received, Ok((_, Some(_)))) {
            break;
        }
        thread::sleep(ASK_AGAIN);
    }
    Some(socket)
}

/// Takes the stamps of what left from the error queue.
fn collect(fd: &OwnedFd, log: &mut StampLog, since_origin: impl Fn(u64) -> Option<u64>) {
    while log.awaits_stamp() {
        match scm::next_left(fd.as_raw_fd()) {
            Some(Some((number, stamp_ns))) => {
                if let Some(at_ns) = since_origin(stamp_ns) {
                    log.left(number, at_ns);
                }
            }
            // Something else was in the queue.
            Some(None) => {}
            None => return,
        }
    }
}

impl Reactor for StampedReactor {
    fn has_stamps(&self) -> bool {
        true
    }

    fn stamps(&mut self, key: Key) -> Option<&mut StampLog> {
        self.logs.get_mut(key as usize)?.as_mut()
    }

    fn stamp_facts(&self) -> StampFacts {
        self.stamping.facts()
    }

    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.plain.now_ns()
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.plain.set_origin_ns(origin_ns);
    }

    fn addresses(&self, target: u16) -> usize {
        self.plain.addresses(target)
    }

    fn address(&self, to: Route) -> String {
        self.plain.address(to)
    }

    fn refresh(&mut self) -> bool {
        self.plain.refresh()
    }

    fn is_gone(&self, target: u16, address: u32) -> bool {
        self.plain.is_gone(target, address)
    }

    fn endpoints(&self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        self.plain.endpoints(key)
    }

    fn connect(&mut self, key: Key, to: Route) -> Result<(), ConnectFailure> {
        *self.log(key) = None;
        self.plain.connect(key, to)
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let established = self.plain.finish_connect(key)?;
        if established {
            self.enable(key);
        }
        Ok(established)
    }

    fn read_at_most(&mut self, bytes: usize) {
        self.plain.read_at_most(bytes);
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        match self.logs.get(key as usize) {
            Some(Some(_)) => self.receive_stamped(key),
            _ => self.plain.receive(key),
        }
    }

    #[inline]
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        let sent = self.plain.send(key, slices);
        if let (Sent::Written(bytes), Some(log)) = (&sent, self.stamps(key)) {
            log.sent(*bytes);
        }
        sent
    }

    fn acknowledge(&mut self, key: Key) -> bool {
        self.plain.acknowledge(key)
    }

    fn end_sending(&mut self, key: Key) {
        self.plain.end_sending(key);
    }

    fn close(&mut self, key: Key) {
        *self.log(key) = None;
        self.plain.close(key);
    }

    fn wait(&mut self, until_ns: u64) {
        self.plain.wait(until_ns);
    }

    #[inline]
    fn next_ready(&mut self) -> Option<Ready> {
        self.plain.next_ready()
    }
}
