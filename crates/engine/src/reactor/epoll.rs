//! The epoll reactor: Linux, any kernel.
//!
//! Sockets are registered once, edge-triggered, for reading, writing and the peer's end at the
//! same time, so that no `epoll_ctl` is needed afterwards. A read that fills less than the buffer
//! is the last one unless the peer has ended: no read is made only to be told EAGAIN.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use candor_protocol::Transport;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::arrived::Arrived;
use super::clock::Clock;
use super::epoll_wait::Waiter;
use super::socket::{self, Dialer};
use super::{
    ConnectFailure, Key, Reactor, Ready, Received, Route, Segments, Sent, Start, datagram, scm,
};

/// Read at most so much at once. Large enough for a 64 KiB response in one call.
const BUFFER_BYTES: usize = 128 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 512;

#[derive(Debug)]
struct Socket {
    fd: Option<OwnedFd>,
    /// Tells a key's present socket from its former ones in events.
    generation: u32,
    to: Route,
    /// Flags that mean that the peer ended its side, or that the connection broke.
    ending: EventFlags,
    /// The mark that datagrams leave with.
    ecn: u8,
}

impl Default for Socket {
    fn default() -> Self {
        Socket { fd: None, generation: 0, to: Route::default(), ending: ENDING, ecn: 0 }
    }
}

const ENDING: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// A reactor that has not met its thread yet. Making one can fail; starting it cannot.
#[derive(Debug)]
pub struct Unstarted {
    epoll: OwnedFd,
    waiter: Waiter,
    dialer: Dialer,
}

/// Sockets and clock of one worker, on epoll.
pub struct EpollReactor {
    epoll: OwnedFd,
    waiter: Waiter,
    dialer: Dialer,
    sockets: Vec<Socket>,
    clock: Clock,
    events: Vec<Event>,
    next_event: usize,
    buffer: Box<[u8]>,
    arrived: Arrived,
    /// What one read takes of it.
    at_most: usize,
}

impl Unstarted {
    /// A reactor without sockets.
    pub fn new(dialer: Dialer) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let waiter = Waiter::new(&epoll)?;
        Ok(Unstarted { epoll, waiter, dialer })
    }
}

impl Start for Unstarted {
    type Reactor = EpollReactor;

    fn start(self) -> EpollReactor {
        socket::wake_punctually();
        EpollReactor {
            epoll: self.epoll,
            waiter: self.waiter,
            dialer: self.dialer,
            sockets: Vec::new(),
            clock: Clock::default(),
            events: Vec::with_capacity(EVENTS),
            next_event: 0,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            arrived: Arrived::default(),
            at_most: BUFFER_BYTES,
        }
    }
}

impl EpollReactor {
    pub(super) fn descriptor(&self, key: Key) -> Option<&OwnedFd> {
        self.sockets[key as usize].fd.as_ref()
    }

    /// The origin of time, on the monotonic clock.
    pub(super) fn origin_ns(&self) -> u64 {
        self.clock.origin_ns()
    }

    /// From now on the clock is the kernel's own.
    pub(super) fn read_the_kernels_clock(&mut self) {
        self.clock = Clock::kernels();
    }

    /// From now on a bare EPOLLERR says that a time stamp waits in the error queue. A connection
    /// that breaks is hung up too.
    pub(super) fn expect_stamps(&mut self, key: Key) {
        self.sockets[key as usize].ending = ENDING.difference(EventFlags::ERR);
    }

    /// What it takes to read from a connection.
    pub(super) fn parts(&mut self, key: Key) -> (Option<&OwnedFd>, &mut [u8], &mut Clock) {
        (self.sockets[key as usize].fd.as_ref(), &mut self.buffer[..self.at_most], &mut self.clock)
    }

    fn slot(&mut self, key: Key) -> &mut Socket {
        let index = key as usize;
        if index >= self.sockets.len() {
            self.sockets.resize_with(index + 1, Socket::default);
        }
        &mut self.sockets[index]
    }
}

impl Reactor for EpollReactor {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.clock.set_origin_ns(origin_ns);
    }

    fn addresses(&self, target: u16) -> usize {
        self.dialer.targets[usize::from(target)].len()
    }

    fn address(&self, to: Route) -> String {
        self.dialer.address(to).to_string()
    }

    fn refresh(&mut self) -> bool {
        self.dialer.refresh()
    }

    fn is_gone(&self, target: u16, address: u32) -> bool {
        self.dialer.listed(target, address).is_gone
    }

    fn endpoints(&self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        self.sockets[key as usize].fd.as_ref().and_then(socket::endpoints)
    }

    fn connect(&mut self, key: Key, to: Route) -> Result<(), ConnectFailure> {
        self.close(key);
        self.clock.time_passed();
        let fd = self.dialer.dial(to)?;
        let socket = self.slot(key);
        socket.to = to;
        socket.ending = ENDING;
        socket.ecn = 0;
        let data = EventData::new_u64(u64::from(socket.generation) << 32 | u64::from(key));
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, data, interest)
            .map_err(|errno| self.dialer.failure(to, errno))?;
        self.slot(key).fd = Some(fd);
        Ok(())
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let socket = &self.sockets[key as usize];
        let Some(fd) = &socket.fd else { return Ok(false) };
        self.clock.time_passed();
        self.dialer.outcome(socket.to, fd)
    }

    fn read_at_most(&mut self, bytes: usize) {
        self.at_most = bytes.clamp(1, self.buffer.len());
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        let Some(fd) = &self.sockets[key as usize].fd else { return Received::Nothing };
        let result = socket::receive(fd, &mut self.buffer[..self.at_most]);
        socket::received(result, &self.buffer[..self.at_most], &mut self.clock)
    }

    #[inline]
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        let Some(fd) = &self.sockets[key as usize].fd else { return Sent::Blocked };
        self.clock.time_passed();
        socket::send(fd, slices)
    }

    fn acknowledge(&mut self, key: Key) -> bool {
        self.descriptor(key).is_some_and(socket::acknowledge)
    }

    fn receive_datagrams(&mut self, key: Key) -> (Received<'_>, Segments) {
        match &self.sockets[key as usize].fd {
            Some(fd) => self.arrived.next(key, fd, &mut self.clock),
            None => (Received::Nothing, Segments::default()),
        }
    }

    fn send_datagrams(&mut self, key: Key, slices: &[IoSlice<'_>], segments: Segments) -> Sent {
        self.clock.time_passed();
        let socket = &mut self.sockets[key as usize];
        let Some(fd) = &socket.fd else { return Sent::Blocked };
        if socket.ecn != segments.ecn {
            socket.ecn = segments.ecn;
            datagram::mark(fd, segments.ecn);
        }
        datagram::send(fd, slices, segments)
    }

    fn dropped(&mut self, key: Key) -> u64 {
        let to = self.slot(key).to;
        let is_datagrams = self.dialer.transport(to) == Transport::Datagrams;
        let fd = self.slot(key).fd.as_ref().filter(|_| is_datagrams);
        fd.and_then(scm::dropped).unwrap_or(0).into()
    }

    fn end_sending(&mut self, key: Key) {
        if let Some(fd) = &self.sockets[key as usize].fd {
            socket::end_sending(fd);
        }
        self.clock.time_passed();
    }

    fn close(&mut self, key: Key) {
        let socket = self.slot(key);
        socket.generation = socket.generation.wrapping_add(1);
        // Closing the descriptor takes it out of the epoll set: there is no other copy of it.
        socket.fd = None;
        self.arrived.forget(key);
        self.clock.time_passed();
    }

    fn wait(&mut self, until_ns: u64) {
        self.events.clear();
        self.next_event = 0;
        let timeout_ns = match until_ns {
            0 => 0,
            until_ns => until_ns.saturating_sub(self.clock.recent_ns()),
        };
        self.clock.time_passed();
        // After a signal the worker looks at its flags and comes again.
        let _ = self.waiter.wait(&self.epoll, &mut self.events, timeout_ns);
    }

    #[inline]
    fn next_ready(&mut self) -> Option<Ready> {
        loop {
            let event = self.events.get(self.next_event)?;
            self.next_event += 1;
            let (data, flags) = (event.data.u64(), event.flags);
            let key = data as u32;
            let socket = &self.sockets[key as usize];
            if socket.generation != (data >> 32) as u32 {
                continue;
            }
            let ended = flags.intersects(socket.ending);
            return Some(Ready {
                key,
                readable: ended || flags.contains(EventFlags::IN),
                writable: flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP),
                ended,
            });
        }
    }
}
