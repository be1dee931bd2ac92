//! The epoll reactor that need not wake to know when a response came (Linux, TCP).
//!
//! The kernel stamps what arrives, in software, when it comes from the device (SO_TIMESTAMPING), and tells the stamp
//! with the bytes. So a worker may sleep until its next request is due, whatever arrives meanwhile, and read then: a
//! response counts as done when it had arrived, not when it was read. The stamp of a read is that of its last segment,
//! so this is for connections with one response at a time.
//!
//! It sleeps so only while every read has a stamp and no response ends with its connection: an end has none.
//!
//! Stamps are of the realtime clock; [`Stamping`] brings them to the monotonic one, with a bound.

use std::io::IoSlice;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;

use super::epoll::{EpollReactor, Unstarted as Plain};
use super::socket::{self, Dialer};
use super::stamped::Stamping;
use super::stamps::StampFacts;
use super::{ConnectFailure, Key, Reactor, Ready, Received, Route, Sent, Start, scm};

/// So many reads in a row must have had a stamp, before it is believed that all have one.
const TRUSTED_FROM: u32 = 64;

/// A reactor that has not met its thread yet.
#[derive(Debug)]
pub struct Unstarted(Plain);

/// Epoll, with the times of arrival of all that is received.
pub struct DozingReactor {
    plain: EpollReactor,
    stamping: Stamping,
    /// Reads that had no stamp.
    unstamped: u64,
    /// Reads in a row that had one; `None`: it wakes for all that arrives, for the rest of the run.
    in_a_row: Option<u32>,
}

impl Unstarted {
    /// A reactor without sockets.
    pub fn new(dialer: Dialer) -> Result<Self, Errno> {
        Plain::new(dialer).map(Unstarted)
    }
}

impl Start for Unstarted {
    type Reactor = DozingReactor;

    fn start(self) -> DozingReactor {
        let mut plain = self.0.start();
        // The kernel's stamps are held against ours, part by part of a microsecond.
        plain.read_the_kernels_clock();
        DozingReactor { plain, stamping: Stamping::begin(), unstamped: 0, in_a_row: Some(0) }
    }
}

impl Reactor for DozingReactor {
    fn dozes(&self) -> bool {
        true
    }

    fn doze(&mut self, until_ns: u64) -> Option<u64> {
        if self.in_a_row.is_none_or(|reads| reads < TRUSTED_FROM) {
            self.plain.wait(until_ns);
            return None;
        }
        let at_ns = self.plain.origin_ns().saturating_add(until_ns);
        // A signal ends it early; then the worker looks at its flags and comes again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &socket::timespec(at_ns));
        self.plain.wait(0);
        Some(self.plain.now_ns())
    }

    fn wake_for_ends(&mut self) {
        self.in_a_row = None;
    }

    fn stamp_facts(&self) -> StampFacts {
        StampFacts { unstamped: self.unstamped, ..self.stamping.facts() }
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
        self.plain.connect(key, to)
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let established = self.plain.finish_connect(key)?;
        if established && let Some(fd) = self.plain.descriptor(key) {
            self.stamping.asked(scm::stamp_arrivals(fd));
        }
        Ok(established)
    }

    fn read_at_most(&mut self, bytes: usize) {
        self.plain.read_at_most(bytes);
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        let (received, arrived_ns) = self.stamping.receive(&mut self.plain, key);
        // The control of verify's stamps: the time of the read.
        #[cfg(candor_mutant = "read_time")]
        let arrived_ns = arrived_ns.map(|_| u64::MAX);
        match received {
            Received::Bytes { bytes, at_ns, more } => {
                self.unstamped += u64::from(arrived_ns.is_none());
                let one_more = |reads: u32| arrived_ns.map_or(0, |_| reads.saturating_add(1));
                self.in_a_row = self.in_a_row.map(one_more);
                let at_ns = arrived_ns.map_or(at_ns, |arrived_ns| arrived_ns.min(at_ns));
                Received::Bytes { bytes, at_ns, more }
            }
            other => other,
        }
    }

    #[inline]
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        self.plain.send(key, slices)
    }

    fn end_sending(&mut self, key: Key) {
        self.plain.end_sending(key);
    }

    fn close(&mut self, key: Key) {
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
