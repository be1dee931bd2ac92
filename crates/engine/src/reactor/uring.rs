//! The io_uring reactor: Linux 6.0 and later, where it is not forbidden.
//!
//! Each connection has one multishot receive, begun when it is established, which fills buffers
//! that all connections share; so a batch of responses costs one system call. What was received is
//! queued by connection, as a chain through the buffers, and handed out one buffer at a time.
//! Requests are queued too, and leave together: a batch of them costs one system call.
//!
//! - *Sends* wait for nothing, so that the kernel has read, refused or sent all of a batch when the call returns.
//!   What it had no room for is *owed*: it leaves when there is room, before anything else of its connection.
//!   A connection that breaks says so where it is received from. What is longer than a send of a batch may be leaves by
//!   a call of its own, after those before it.
//! - *Much.* A connection that fills a buffer, or several before the worker takes them, is read by calls of its own from
//!   then on, into one large buffer, when the ring says that there is something. That is cheaper for large responses,
//!   and a flood leaves the shared buffers to the others.
//! - *Generations.* An operation's name has its connection's generation in it. Completions of a
//!   connection that was closed find another generation, give their buffer back, and are gone.
//! - *Running out of buffers* ends a receive (ENOBUFS) and loses nothing: the bytes stay in the
//!   socket. Such connections wait in a queue, and begin to receive again at the next wait, by
//!   when the worker has taken what was queued and the buffers are back.
//! - *Time.* A piece carries the time at which its completion was taken, one for the batch: that
//!   it is handed out later is the loader's doing, and counted as send lag.
//!
//! The modules: [`ring`] has the calls to the kernel, [`buffers`] the memory that it fills,
//! [`connection`] the state of each socket, [`completions`] what completions mean, and
//! [`mod@probe`] finds out whether this kernel allows any of it.

mod buffers;
mod completions;
mod connection;
mod probe;
mod ring;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::marker::PhantomData;
use std::net::SocketAddr;

use candor_protocol::Transport;
use rustix::io::Errno;

use super::clock::Clock;
use super::socket::{self, Dialer};
use super::{ConnectFailure, Key, Reactor, Ready, Received, Route, Sent, Start, Submission};
use connection::{Ending, Filled, GENERATIONS, NONE, Purpose, Socket, is_send, name};
use ring::{Ring, SEND_BYTES, SENDS};

pub use buffers::Shape;
pub use probe::{pretend_forbidden, probe};
pub use ring::TaskWork;

/// The buffers of one worker: as many as a thousand small responses at once need, and large enough
/// that a large response comes in few pieces. They take 16 MiB of addresses, and of memory what was
/// ever used.
pub const BUFFERS: Shape = Shape { count: 1024, bytes: 16 * 1024 };

/// Pieces are short if their mean is below this. Then more buffers hold more of them; otherwise more memory passes
/// through the caches for each of them.
const SHORT_BYTES: u64 = 4096;

/// A connection with more filled buffers than this is read by calls of its own.
const MANY: u16 = 8;
/// Such a call reads at most so much. Large enough for a 64 KiB response in one call.
const CALL_BYTES: usize = 128 * 1024;

/// A reactor that has not met its thread yet. Making one can fail; starting it cannot.
pub struct Unstarted {
    ring: Ring,
    dialer: Dialer,
}

/// Sockets and clock of one worker, on io_uring.
pub struct UringReactor {
    ring: Ring,
    dialer: Dialer,
    sockets: Vec<Socket>,
    clock: Clock,
    filled: Box<[Filled]>,
    /// What was received, and in how many pieces.
    received: (u64, u64),
    /// The buffer whose bytes the worker has.
    handed_out: u16,
    /// What a call of its own reads into.
    large: Box<[u8]>,
    /// At most so much of it.
    at_most: usize,
    /// Connections with news; a key may be there in vain.
    ready: VecDeque<Key>,
    /// Connections that ran out of buffers, the longest waiting first; likewise.
    starved: VecDeque<Key>,
    /// When the first of what was handed over since the worker last asked was.
    handed_over_ns: Option<u64>,
    /// A ring answers to one thread only.
    stays_on_its_thread: PhantomData<*const ()>,
}

impl Unstarted {
    /// A reactor without sockets. Fails where io_uring is forbidden or too old; [`probe`] says
    /// more.
    pub fn new(dialer: Dialer) -> io::Result<Self> {
        Self::with(dialer.clone(), BUFFERS, TaskWork::Deferred)
            .or_else(|_| Self::with(dialer, BUFFERS, TaskWork::Cooperative))
    }

    /// The same with other buffers and another way of task work.
    ///
    /// # Panics
    /// If the number of buffers is no power of two, or there are no bytes in them.
    pub fn with(dialer: Dialer, buffers: Shape, task_work: TaskWork) -> io::Result<Self> {
        if dialer.transports.contains(&Transport::Datagrams) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Unstarted { ring: Ring::new(buffers, task_work)?, dialer })
    }
}

impl Start for Unstarted {
    type Reactor = UringReactor;

    fn start(mut self) -> UringReactor {
        socket::wake_punctually();
        self.ring.enable().expect("a ring that was made disabled can be enabled, once");
        let buffers = usize::from(self.ring.buffers().shape().count);
        UringReactor {
            ring: self.ring,
            dialer: self.dialer,
            sockets: Vec::new(),
            clock: Clock::default(),
            filled: vec![Filled { length: 0, next: NONE, at_ns: 0 }; buffers].into(),
            received: (0, 0),
            handed_out: NONE,
            large: vec![0; CALL_BYTES].into(),
            at_most: CALL_BYTES,
            ready: VecDeque::new(),
            starved: VecDeque::new(),
            handed_over_ns: None,
            stays_on_its_thread: PhantomData,
        }
    }
}

impl UringReactor {
    fn slot(&mut self, key: Key) -> &mut Socket {
        let index = key as usize;
        if index >= self.sockets.len() {
            self.sockets.resize_with(index + 1, Socket::default);
        }
        &mut self.sockets[index]
    }

    /// Makes room for an operation. If that hands over sends, it is known when.
    #[inline]
    fn make_room(&mut self) {
        if self.ring.is_full() {
            self.hand_over();
        }
    }

    /// Begins to receive, unless that is going on or the socket is gone.
    fn begin_to_receive(&mut self, key: Key) {
        self.make_room();
        let socket = &mut self.sockets[key as usize];
        let Some(fd) = socket.fd.as_ref().filter(|_| !socket.receiving) else { return };
        let name = name(key, socket.generation, Purpose::Receive);
        match socket.by_call {
            false => self.ring.receive(fd, name),
            true => self.ring.poll_readable(fd, name),
        }
        socket.receiving = true;
        socket.batch = self.ring.batch();
    }

    /// Begins to wait for room, unless that is going on or the socket is gone.
    fn await_writable(&mut self, key: Key) {
        self.make_room();
        let socket = &mut self.sockets[key as usize];
        let Some(fd) = socket.fd.as_ref().filter(|_| !socket.polling) else { return };
        self.ring.poll_writable(fd, name(key, socket.generation, Purpose::Writable));
        socket.polling = true;
        socket.batch = self.ring.batch();
    }

    /// After a send of `offered` bytes: waits for room, if there was too little. Readiness is asked
    /// for after the socket was full: if there is room again by the time that the kernel looks, it
    /// says so at once.
    #[inline]
    fn await_room(&mut self, key: Key, sent: &Sent, offered: usize) {
        match sent {
            Sent::Written(bytes) if *bytes == offered => {}
            Sent::Written(_) | Sent::Blocked => self.await_writable(key),
            Sent::Queued | Sent::Failed(_) => {}
        }
    }

    /// Whether something of this connection is queued.
    #[inline]
    fn is_queued(&self, key: Key) -> bool {
        let batch = self.ring.send_batch();
        matches!(self.sockets[key as usize].queued, Some((queued, _)) if queued == batch)
    }

    /// Hands over what is queued, if anything is. What the kernel had no room for is owed.
    fn hand_over(&mut self) {
        if self.ring.sends() == 0 {
            return;
        }
        let began_ns = self.clock.now_ns();
        self.handed_over_ns.get_or_insert(began_ns);
        let failed = self.ring.send_all(is_send);
        self.clock.time_passed();
        for (name, result) in failed {
            self.was_not_sent(name, result);
        }
    }

    /// Sends what is owed. Whether nothing is owed any more.
    fn pay(&mut self, key: Key) -> bool {
        let socket = &mut self.sockets[key as usize];
        let Some(fd) = &socket.fd else { return false };
        self.clock.time_passed();
        match socket::send(fd, &[IoSlice::new(&socket.owed)]) {
            Sent::Written(bytes) => drop(socket.owed.drain(..bytes)),
            // It says so where it is received from.
            Sent::Failed(_) => return false,
            Sent::Queued | Sent::Blocked => {}
        }
        if !socket.owed.is_empty() {
            self.await_writable(key);
            return false;
        }
        if socket.ends {
            socket::end_sending(fd);
        }
        true
    }

    /// The worker is done with the buffer that it was given last.
    #[inline]
    fn take_back(&mut self) {
        if self.handed_out != NONE {
            self.ring.buffers_mut().give(self.handed_out);
            self.handed_out = NONE;
        }
    }

    /// Those that ran out of buffers receive again, into more of them if that helps. One round: who runs out once more
    /// is at the end of the queue, behind those that did not have their turn.
    fn feed_starved(&mut self) {
        let (bytes, pieces) = self.received;
        if !self.starved.is_empty() && bytes < pieces * SHORT_BYTES {
            self.ring.buffers_mut().double();
        }
        for _ in 0..self.starved.len() {
            let Some(key) = self.starved.pop_front() else { return };
            if std::mem::take(&mut self.sockets[key as usize].starved) {
                self.begin_to_receive(key);
            }
        }
    }

    /// Reads by a call of its own. A read that fills less than the buffer is the last one until the ring says that there
    /// is more, or the end.
    fn call(&mut self, key: Key) -> Received<'_> {
        let Some(fd) = &self.sockets[key as usize].fd else { return Received::Nothing };
        let result = socket::receive(fd, &mut self.large[..self.at_most]);
        let is_drained = match result {
            Ok(bytes) => (1..self.at_most).contains(&bytes),
            Err(errno) => errno == Errno::AGAIN,
        };
        if is_drained {
            self.begin_to_receive(key);
        }
        socket::received(result, &self.large[..self.at_most], &mut self.clock)
    }

    /// Nothing is queued for a connection, but the kernel may have something that it was not
    /// asked for. A worker comes here for what is left of a connection to which a send failed.
    #[cold]
    fn look_again(&mut self) {
        self.clock.time_passed();
        self.feed_starved();
        self.ring.look();
        self.take_completions();
    }
}

impl Reactor for UringReactor {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.clock.set_origin_ns(origin_ns);
        // What was taken before was taken at the beginning.
        for filled in &mut self.filled {
            filled.at_ns = filled.at_ns.saturating_sub(origin_ns);
        }
        for (_, at_ns) in self.sockets.iter_mut().filter_map(|socket| socket.ending.as_mut()) {
            *at_ns = at_ns.saturating_sub(origin_ns);
        }
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
        socket.fd = Some(fd);
        self.await_writable(key);
        Ok(())
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let socket = &self.sockets[key as usize];
        let Some(fd) = &socket.fd else { return Ok(false) };
        self.clock.time_passed();
        let established = self.dialer.outcome(socket.to, fd)?;
        if established {
            self.begin_to_receive(key);
        } else {
            self.await_writable(key);
        }
        Ok(established)
    }

    fn read_at_most(&mut self, bytes: usize) {
        self.at_most = bytes.clamp(1, self.large.len());
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        self.take_back();
        let index = key as usize;
        if self.sockets[index].first == NONE && self.sockets[index].ending.is_none() {
            if self.sockets[index].is_to_be_called() {
                return self.call(key);
            }
            self.look_again();
        }
        let socket = &mut self.sockets[index];
        if socket.first != NONE {
            let buffer = socket.first;
            let Filled { length, next, at_ns } = self.filled[usize::from(buffer)];
            socket.first = next;
            socket.waiting -= 1;
            let more = next != NONE || socket.ending.is_some() || socket.is_to_be_called();
            if next == NONE {
                socket.last = NONE;
            }
            self.handed_out = buffer;
            return Received::Bytes {
                bytes: self.ring.buffers().bytes(buffer, length),
                at_ns,
                more,
            };
        }
        match socket.ending {
            None => Received::Nothing,
            Some((Ending::End, at_ns)) => Received::End { at_ns },
            Some((Ending::Failed(errno), at_ns)) => {
                Received::Failed { error: socket::io_failure(errno), at_ns }
            }
        }
    }

    #[inline]
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        let offered = slices.iter().map(|slice| slice.len()).sum();
        if self.ring.sends() == SENDS || self.is_queued(key) {
            self.hand_over();
        }
        self.make_room();
        let socket = &mut self.sockets[key as usize];
        let Some(fd) = socket.fd.as_ref().filter(|_| socket.owed.is_empty()) else {
            return Sent::Blocked;
        };
        if offered > SEND_BYTES || socket.ends || self.ring.sends() == SENDS {
            self.clock.time_passed();
            let sent = socket::send(fd, slices);
            self.await_room(key, &sent, offered);
            return sent;
        }
        let name = name(key, socket.generation, Purpose::Send);
        socket.queued = Some((self.ring.send_batch(), self.ring.send(fd, name, slices)));
        socket.batch = self.ring.batch();
        Sent::Queued
    }

    fn queues(&self) -> bool {
        true
    }

    fn submit(&mut self) -> Submission {
        self.hand_over();
        let ended_ns = self.clock.recent_ns();
        Submission { began_ns: self.handed_over_ns.take().unwrap_or(ended_ns), ended_ns }
    }

    fn acknowledge(&mut self, key: Key) -> bool {
        self.sockets[key as usize].fd.as_ref().is_some_and(socket::acknowledge)
    }

    fn end_sending(&mut self, key: Key) {
        self.hand_over();
        let socket = &mut self.sockets[key as usize];
        socket.ends = true;
        if let Some(fd) = socket.fd.as_ref().filter(|_| socket.owed.is_empty()) {
            socket::end_sending(fd);
        }
        self.clock.time_passed();
    }

    fn close(&mut self, key: Key) {
        self.slot(key);
        if self.is_queued(key) {
            self.hand_over();
        }
        self.clock.time_passed();
        let socket = std::mem::take(self.slot(key));
        let generation = socket.generation;
        self.slot(key).generation = (generation + 1) % GENERATIONS;
        let mut next = socket.first;
        while next != NONE {
            self.ring.buffers_mut().give(next);
            next = self.filled[usize::from(next)].next;
        }
        self.make_room();
        // The kernel holds the file, and the connection, until the operations on it have ended.
        if socket.receiving {
            self.ring.cancel(name(key, generation, Purpose::Receive));
        }
        if socket.polling {
            self.ring.cancel(name(key, generation, Purpose::Writable));
        }
        if (socket.receiving || socket.polling) && socket.batch == self.ring.batch() {
            // An operation that the kernel has not seen names its file by a number, and the next
            // socket could get the same number.
            if let Some(fd) = socket.fd {
                self.ring.release(fd);
            }
        }
    }

    fn wait(&mut self, until_ns: u64) {
        self.take_back();
        // Nobody asked for its time.
        self.handed_over_ns = None;
        self.feed_starved();
        let left_ns = match until_ns {
            1.. if self.ready.is_empty() => until_ns.saturating_sub(self.clock.recent_ns()),
            _ => 0,
        };
        self.clock.time_passed();
        match left_ns {
            0 => self.ring.look(),
            left_ns => self.ring.wait(left_ns),
        }
        self.take_completions();
    }

    #[inline]
    fn next_ready(&mut self) -> Option<Ready> {
        loop {
            let key = self.ready.pop_front()?;
            // None: of a connection that was closed since.
            if let Some(news) = self.sockets[key as usize].news.take() {
                return Some(news);
            }
        }
    }
}

impl Drop for UringReactor {
    fn drop(&mut self) {
        for key in 0..self.sockets.len() as Key {
            self.close(key);
        }
    }
}
