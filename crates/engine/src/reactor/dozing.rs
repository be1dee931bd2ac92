//! The epoll reactor for `--pacing stamps`: it need not wake to know when a response came (Linux, TCP).
//!
//! The kernel stamps what arrives, in software, when it comes from the device (SO_TIMESTAMPING), and tells the stamp
//! with the bytes. So a worker may sleep until its next request is due, whatever arrives meanwhile, and read then: a
//! response counts as done when it had arrived, not when it was read. The stamp of a read is that of its last segment,
//! so this is for connections with one response at a time.
//!
//! Stamps are of the realtime clock; [`Realtime`] brings them to the monotonic one, with a bound.

use std::io::IoSlice;
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;

use super::epoll::{EpollReactor, Unstarted as Plain};
use super::realtime::{Realtime, read_clocks};
use super::socket::{self, Dialer};
use super::stamps::StampFacts;
use super::{ConnectFailure, Key, Reactor, Ready, Received, Sent, Start, scm};

/// A reactor that has not met its thread yet.
#[derive(Debug)]
pub struct Unstarted(Plain);

/// Epoll, with the times of arrival of all that is received.
pub struct DozingReactor {
    plain: EpollReactor,
    realtime: Realtime,
    facts: StampFacts,
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
        DozingReactor { plain, realtime: Realtime::default(), facts: StampFacts::default() }
    }
}

impl Reactor for DozingReactor {
    const DOZES: bool = true;

    fn doze(&mut self, until_ns: u64) {
        let at_ns = self.plain.origin_ns().saturating_add(until_ns);
        // A signal ends it early; then the worker looks at its flags and comes again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &socket::timespec(at_ns));
        self.plain.wait(0);
    }

    fn stamp_facts(&self) -> StampFacts {
        self.facts.clone()
    }

    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.plain.now_ns()
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.plain.set_origin_ns(origin_ns);
    }

    fn connect(&mut self, key: Key, turn: u64) -> Result<(), ConnectFailure> {
        self.plain.connect(key, turn)
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let established = self.plain.finish_connect(key)?;
        if established && let Some(fd) = self.plain.descriptor(key) {
            match scm::stamp_arrivals(fd) {
                Ok(()) => self.facts.connections += 1,
                Err(errno) => {
                    self.facts.refused += 1;
                    let words = || std::io::Error::from(errno).to_string();
                    self.facts.refusal.get_or_insert_with(words);
                }
            }
        }
        Ok(established)
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        let DozingReactor { plain, realtime, facts } = self;
        let (fd, buffer, clock) = plain.parts(key);
        let Some(fd) = fd else { return Received::Nothing };
        let result = scm::receive(fd.as_raw_fd(), buffer);
        if matches!(result, Err(Errno::AGAIN)) {
            clock.time_passed();
            return Received::Nothing;
        }
        let read_ns = clock.now_ns();
        match result {
            Ok((0, _)) => Received::End { at_ns: read_ns },
            Ok((n, stamp_ns)) => {
                let origin_ns = clock.origin_ns();
                realtime.keep_up(read_ns + origin_ns, read_clocks);
                facts.clock_steps = realtime.steps();
                facts.conversion_error_ns = realtime.worst_ns();
                let stamp_ns = stamp_ns.and_then(|stamp_ns| realtime.monotonic_ns(stamp_ns));
                facts.unstamped += u64::from(stamp_ns.is_none());
                let arrived_ns = stamp_ns.map(|ns| ns.saturating_sub(origin_ns).min(read_ns));
                // The control of verify's stamps: the time of the read.
                #[cfg(candor_mutant = "read_time")]
                let arrived_ns = arrived_ns.map(|_| read_ns);
                let at_ns = arrived_ns.unwrap_or(read_ns);
                Received::Bytes { bytes: &buffer[..n], at_ns, more: n == buffer.len() }
            }
            Err(errno) => Received::Failed { error: socket::io_failure(errno), at_ns: read_ns },
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
