//! A simulated network: whole runs on a fake clock, exactly and in no time.
//!
//! [`SimReactor`] stands where the epoll reactor stands. Time moves only while a worker waits, to
//! the next thing that happens or to the time it asked for, so that a run of minutes takes
//! milliseconds and every latency is known to the nanosecond. What the other side does is up to
//! a [`SimServer`]: for each complete request it says when to answer with what.
//!
//! The simulation understands requests without a body, and with one of `Content-Length` bytes. A worker that asks a million times in a
//! row for a time that has passed is spinning, and the simulation panics: that is a failed test.

mod server;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::IoSlice;

use candor_engine::reactor::stamps::StampLog;
use candor_engine::reactor::{
    ConnectCause, ConnectFailure, IoFailure, Key, Reactor, Ready, Received, Route, Segments, Sent,
    Submission,
};
use candor_record::ConnectErrorKind;

pub use self::server::{Fifo, Reaction, SimServer, ok_bytes};

/// Waits without progress that are taken for a spinning worker.
const SPINNING: u32 = 1_000_000;

/// How the simulated network and machine behave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// One way, for everything.
    pub latency_ns: u64,
    /// The kernel takes at most this many bytes in a call, and is full for a microsecond after
    /// each; 0: no limit.
    pub send_limit_bytes: usize,
    /// Answers arrive in pieces of this many bytes, a microsecond apart; 0: whole.
    pub piece_bytes: usize,
    /// A read takes at most this many bytes; 0: all there are.
    pub read_bytes: usize,
    /// What a look costs that finds nothing and was not to wait; 0: nothing, and a worker that
    /// looks again and again never gets anywhere.
    pub look_ns: u64,
    /// The kernel stamps what is sent and received, as it would on Linux, and hands what is sent
    /// to the device this long after the call; `None`: it does not stamp.
    pub left_after_ns: Option<u64>,
    /// What is sent is queued, and leaves with the next submission, in which the n-th of all sends takes this long;
    /// `None`: it leaves at once, in no time.
    pub queued_for_ns: Option<fn(u64) -> u64>,
    /// It carries datagrams, and loses those, counted from 0 over both directions, of which this is
    /// true; `None`: it carries streams.
    pub loses: Option<fn(u64) -> bool>,
    /// Each datagram is read by itself: the kernel puts none together.
    pub apart: bool,
    /// The loader itself stands still once, without a core: from when, and how long. All other
    /// time that passes is taken for its own.
    pub pause: Option<(u64, u64)>,
}

/// Lengths of the head that `bytes` begin with, if it is whole, and of its body.
fn lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    Some((head, length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)))
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Connected,
    Refused,
    Writable,
    Bytes(Vec<u8>),
    Acknowledged(u64),
    Datagram(Vec<u8>),
    Endless(Vec<u8>, u64),
    End,
    Reset,
}

/// When, in which order among equals, on which connection and generation of it, what.
type Event = (u64, u64, Key, u64, Happening);

#[derive(Debug, Default)]
struct Connection {
    generation: u64,
    open: bool,
    refused: bool,
    /// Bytes that arrived here.
    inbox: Vec<u8>,
    /// Datagrams that arrived here.
    datagrams: VecDeque<Vec<u8>>,
    /// What every read finds once the inbox is empty, and how long it takes.
    endless: Option<(Vec<u8>, u64)>,
    /// From where in it.
    endless_at: usize,
    ended: bool,
    reset: bool,
    full: bool,
    /// Bytes that the server's side has taken.
    taken: usize,
    /// Bytes at the server that are not a complete request yet.
    at_server: Vec<u8>,
    served: u64,
    /// The server has seen the head of the next one.
    head_seen: bool,
    /// What the server holds back until an acknowledgement, which has this number.
    held: Option<(u64, Vec<u8>)>,
    /// The server has closed its side.
    closed_there: bool,
    /// Bytes of one connection arrive in order.
    last_arrival_ns: u64,
    /// When the last of the inbox arrived.
    arrived_ns: u64,
    log: StampLog,
}

/// The simulated reactor. It has no type of its server: a worker would be compiled once for each server of a test.
pub struct SimReactor<'a> {
    server: Box<dyn SimServer + 'a>,
    /// It knows when bytes arrived, and sleeps through that.
    dozes: bool,
    link: Link,
    now_ns: u64,
    origin_ns: u64,
    /// How long the loader stood still.
    paused_ns: u64,
    sequence: u64,
    generations: u64,
    future: BinaryHeap<Reverse<Event>>,
    connections: Vec<Connection>,
    ready: VecDeque<(Ready, u64)>,
    buffer: Vec<u8>,
    /// Datagrams that were sent, in both directions.
    sent_datagrams: u64,
    /// What waits to be handed over.
    queued: Vec<(Key, Vec<u8>)>,
    /// Addresses that were there, and which of them are gone.
    addresses: (usize, Vec<u32>),
    /// How many were handed over.
    handed_over: u64,
    idle_waits: u32,
    /// What a read of an endless response takes at most.
    at_most: usize,
    /// It sleeps through nothing any more.
    wakes: bool,
}

impl<'a> SimReactor<'a> {
    /// A network with `server` at its other end, at time 0.
    pub fn new(server: impl SimServer + 'a, link: Link) -> Self {
        SimReactor::at_zero(Box::new(server), link, false)
    }

    /// The same for a loader that need not wake to know when a response came.
    pub fn dozing(server: impl SimServer + 'a, link: Link) -> Self {
        SimReactor::at_zero(Box::new(server), link, true)
    }

    fn at_zero(server: Box<dyn SimServer + 'a>, link: Link, dozes: bool) -> Self {
        SimReactor {
            server,
            dozes,
            link,
            now_ns: 0,
            origin_ns: 0,
            paused_ns: 0,
            sequence: 0,
            generations: 0,
            future: BinaryHeap::new(),
            connections: Vec::new(),
            ready: VecDeque::new(),
            buffer: Vec::new(),
            sent_datagrams: 0,
            queued: Vec::new(),
            addresses: (1, Vec::new()),
            handed_over: 0,
            idle_waits: 0,
            at_most: usize::MAX,
            wakes: false,
        }
    }

    fn connection(&mut self, key: Key) -> &mut Connection {
        let index = key as usize;
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, Connection::default);
        }
        &mut self.connections[index]
    }

    fn later(&mut self, at_ns: u64, key: Key, what: Happening) {
        self.sequence += 1;
        let generation = self.connection(key).generation;
        self.future.push(Reverse((at_ns, self.sequence, key, generation, what)));
    }

    /// Bytes that the server sends at `at_ns`.
    fn arrive(&mut self, at_ns: u64, key: Key, bytes: &[u8]) {
        let step =
            if self.link.piece_bytes == 0 { bytes.len().max(1) } else { self.link.piece_bytes };
        let mut at_ns = (at_ns + self.link.latency_ns).max(self.connection(key).last_arrival_ns);
        for (n, piece) in bytes.chunks(step).enumerate() {
            at_ns += if n == 0 { 0 } else { 1_000 };
            self.later(at_ns, key, Happening::Bytes(piece.to_vec()));
        }
        self.connection(key).last_arrival_ns = at_ns;
    }

    /// Complete requests at the server get their reaction.
    fn serve(&mut self, key: Key) {
        let arrived_ns = self.now_ns + self.link.latency_ns;
        loop {
            let connection = self.connection(key);
            let Some((head, body)) = lengths(&connection.at_server) else { return };
            if connection.closed_there {
                return;
            }
            let (nth, generation) = (connection.served, connection.generation);
            let is_whole = connection.at_server.len() >= head + body;
            let reaction = if is_whole {
                let text: Vec<u8> = connection.at_server.drain(..head + body).collect();
                connection.served += 1;
                connection.head_seen = false;
                self.server.text(arrived_ns, generation, nth, &text)
            } else if std::mem::replace(&mut connection.head_seen, true) {
                return;
            } else {
                self.server.head(arrived_ns, generation, nth)
            };
            self.react(key, reaction);
            if !is_whole {
                return;
            }
        }
    }

    fn react(&mut self, key: Key, reaction: Reaction) {
        let latency_ns = self.link.latency_ns;
        match reaction {
            Reaction::Answer { at_ns, bytes } => self.arrive(at_ns, key, &bytes),
            Reaction::Answers(all) => {
                all.iter().for_each(|(at_ns, bytes)| self.arrive(*at_ns, key, bytes));
            }
            Reaction::Held { at_ns, first, rest, delay_ns } => {
                self.arrive(at_ns, key, &first);
                let number = self.sequence;
                let connection = self.connection(key);
                connection.held = Some((number, rest));
                let acknowledged_ns = connection.last_arrival_ns + delay_ns;
                self.later(acknowledged_ns, key, Happening::Acknowledged(number));
            }
            Reaction::AnswerAndClose { at_ns, bytes } => {
                self.arrive(at_ns, key, &bytes);
                let end_ns = (at_ns + latency_ns).max(self.connection(key).last_arrival_ns);
                self.later(end_ns, key, Happening::End);
                self.connection(key).closed_there = true;
            }
            Reaction::Reset { at_ns } => {
                self.later(at_ns + latency_ns, key, Happening::Reset);
                self.connection(key).closed_there = true;
            }
            Reaction::Endless { at_ns, bytes, block, read_ns } => {
                self.arrive(at_ns, key, &bytes);
                let from_ns = self.connection(key).last_arrival_ns;
                self.later(from_ns, key, Happening::Endless(block, read_ns));
                self.connection(key).closed_there = true;
            }
            Reaction::Never => {}
        }
    }

    fn happen(&mut self, at_ns: u64, key: Key, generation: u64, what: Happening) {
        let connection = &mut self.connections[key as usize];
        if connection.generation != generation {
            return;
        }
        let mut ready = Ready { key, readable: false, writable: false, ended: false };
        match what {
            Happening::Connected => {
                connection.open = true;
                ready.writable = true;
            }
            Happening::Refused => {
                connection.refused = true;
                ready.writable = true;
            }
            Happening::Writable => {
                connection.full = false;
                ready.writable = true;
            }
            Happening::Bytes(bytes) => {
                connection.inbox.extend_from_slice(&bytes);
                connection.arrived_ns = at_ns;
                ready.readable = true;
            }
            Happening::Acknowledged(number) => {
                if connection.held.as_ref().is_some_and(|(held, _)| *held == number)
                    && let Some((_, bytes)) = connection.held.take()
                {
                    self.arrive(at_ns + self.link.latency_ns, key, &bytes);
                }
                return;
            }
            Happening::Datagram(bytes) => {
                connection.datagrams.push_back(bytes);
                ready.readable = true;
            }
            Happening::Endless(block, read_ns) => {
                connection.endless = Some((block, read_ns));
                ready.readable = true;
            }
            Happening::End => {
                connection.ended = true;
                (ready.readable, ready.ended) = (true, true);
            }
            Happening::Reset => {
                connection.reset = true;
                (ready.readable, ready.ended) = (true, true);
            }
        }
        self.ready.push_back((ready, generation));
    }

    /// All that was to happen by now.
    fn happen_until_now(&mut self) {
        while let Some(Reverse((at_ns, ..))) = self.future.peek()
            && *at_ns <= self.now_ns
            && let Some(Reverse((at_ns, _, key, generation, what))) = self.future.pop()
        {
            self.idle_waits = 0;
            self.happen(at_ns, key, generation, what);
        }
    }

    /// Whether the link loses the next datagram.
    fn loses_next(&mut self) -> bool {
        let number = self.sent_datagrams;
        self.sent_datagrams += 1;
        self.link.loses.is_some_and(|loses| loses(number))
    }

    fn rel(&self) -> u64 {
        self.now_ns.saturating_sub(self.origin_ns)
    }

    /// Moves time, past the pause of the loader if it lies in between.
    fn move_to(&mut self, to_ns: u64) {
        if to_ns > self.now_ns {
            self.now_ns = to_ns;
            self.idle_waits = 0;
        }
        if let Some((from_ns, length_ns)) = self.link.pause
            && self.now_ns >= from_ns
        {
            let until_ns = self.now_ns.max(from_ns + length_ns);
            self.paused_ns += until_ns - self.now_ns;
            self.now_ns = until_ns;
            self.link.pause = None;
        }
    }
}

impl Reactor for SimReactor<'_> {
    fn has_stamps(&self) -> bool {
        !self.dozes
    }

    fn dozes(&self) -> bool {
        self.dozes
    }

    fn doze(&mut self, until_ns: u64) -> Option<u64> {
        if !self.dozes || self.wakes {
            self.wait(until_ns);
            return None;
        }
        self.move_to(self.origin_ns.saturating_add(until_ns));
        self.happen_until_now();
        Some(self.rel())
    }

    fn wake_for_ends(&mut self) {
        self.wakes = true;
    }

    fn stamps(&mut self, key: Key) -> Option<&mut StampLog> {
        self.link.left_after_ns?;
        Some(&mut self.connection(key).log)
    }

    fn now_ns(&mut self) -> u64 {
        self.rel()
    }

    fn cpu_ns(&mut self) -> u64 {
        self.now_ns - self.paused_ns
    }

    fn times_waited(&mut self) -> u64 {
        0
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.origin_ns += origin_ns;
    }

    fn addresses(&self, _: u16) -> usize {
        self.server.addresses()
    }

    fn refresh(&mut self) -> bool {
        let gone = self.server.gone(self.now_ns);
        let now = (self.server.addresses(), gone);
        let has_changed = now != self.addresses;
        self.addresses = now;
        has_changed
    }

    fn is_gone(&self, _: u16, address: u32) -> bool {
        self.addresses.1.contains(&address)
    }

    fn connect(&mut self, key: Key, to: Route) -> Result<(), ConnectFailure> {
        self.close(key);
        // Datagrams need no round trip before they leave.
        let trips = if self.link.loses.is_some() { 0 } else { 2 };
        let round_trip_ns = trips * self.link.latency_ns;
        let (now_ns, latency_ns) = (self.now_ns, self.link.latency_ns);
        let accepted = self.server.accepts(now_ns + latency_ns) && self.server.accepts_route(to);
        self.server.goes(self.generations, to);
        let what = if accepted { Happening::Connected } else { Happening::Refused };
        self.later(now_ns + round_trip_ns, key, what);
        Ok(())
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let connection = &self.connections[key as usize];
        if connection.refused {
            return Err(ConnectFailure {
                kind: ConnectErrorKind::Refused,
                to: "simulated".to_owned(),
                why: ConnectCause::Other("refused".into()),
            });
        }
        Ok(connection.open)
    }

    fn read_at_most(&mut self, bytes: usize) {
        self.at_most = bytes;
    }

    fn receive(&mut self, key: Key) -> Received<'_> {
        let at_ns = self.rel();
        let connection = &mut self.connections[key as usize];
        if connection.reset {
            let error =
                IoFailure { reset: true, refused: false, message: "simulated: reset".to_owned() };
            return Received::Failed { error, at_ns };
        }
        if !connection.inbox.is_empty() {
            let inbox = &mut connection.inbox;
            let limit = if self.link.read_bytes == 0 { usize::MAX } else { self.link.read_bytes };
            let more = inbox.len() >= limit;
            self.buffer.clear();
            self.buffer.extend(inbox.drain(..inbox.len().min(limit)));
            let arrived_ns = connection.arrived_ns.saturating_sub(self.origin_ns);
            connection.log.arrived(Some(arrived_ns));
            let at_ns = if self.dozes { arrived_ns } else { at_ns };
            return Received::Bytes { bytes: &self.buffer, at_ns, more };
        }
        if let Some((block, read_ns)) = &connection.endless {
            // A part of the block takes its part of the time, and the next read goes on behind it.
            let taken = block.len().min(self.at_most);
            let from = connection.endless_at;
            self.buffer.clear();
            self.buffer.extend(block.iter().cycle().skip(from).take(taken));
            self.now_ns += read_ns * taken as u64 / block.len() as u64;
            connection.endless_at = (from + taken) % block.len();
            let at_ns = self.now_ns - self.origin_ns;
            return Received::Bytes { bytes: &self.buffer, at_ns, more: true };
        }
        if connection.ended { Received::End { at_ns } } else { Received::Nothing }
    }

    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        let limit = self.link.send_limit_bytes;
        let (now_ns, left_after_ns) = (self.now_ns, self.link.left_after_ns);
        let rel_ns = self.rel();
        let generation = self.connection(key).generation;
        let (reads, queues) = (self.server.reads(generation), self.queues());
        let connection = self.connection(key);
        if connection.reset {
            let message = "simulated: broken pipe".to_owned();
            return Sent::Failed(IoFailure { reset: true, refused: false, message });
        }
        if connection.full {
            return Sent::Blocked;
        }
        if queues {
            let bytes = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.queued.push((key, bytes));
            return Sent::Queued;
        }
        let offered: usize = slices.iter().map(|slice| slice.len()).sum();
        let wanted = if limit == 0 { offered } else { offered.min(limit) };
        let taken = wanted.min(reads - connection.taken);
        connection.taken += taken;
        if taken == 0 && wanted > 0 {
            return Sent::Blocked;
        }
        let bytes = slices.iter().flat_map(|slice| slice.iter().copied()).take(taken);
        connection.at_server.extend(bytes);
        if let Some(after_ns) = left_after_ns {
            connection.log.sent(taken);
            let last = connection.log.position() - 1;
            connection.log.left(last as u32, rel_ns + after_ns);
        }
        if taken == wanted && (taken < offered || limit > 0) {
            connection.full = true;
            self.later(now_ns + 1_000, key, Happening::Writable);
        }
        self.serve(key);
        Sent::Written(taken)
    }

    fn queues(&self) -> bool {
        self.link.queued_for_ns.is_some()
    }

    fn submit(&mut self) -> Submission {
        let began_ns = self.rel();
        for (key, bytes) in std::mem::take(&mut self.queued) {
            let takes_ns = self.link.queued_for_ns.map_or(0, |takes| takes(self.handed_over));
            self.handed_over += 1;
            // The server has it before the call for the next one begins.
            self.connection(key).at_server.extend(bytes);
            self.serve(key);
            self.now_ns += takes_ns;
        }
        Submission { began_ns, ended_ns: self.rel() }
    }

    fn acknowledge(&mut self, key: Key) -> bool {
        if let Some((number, _)) = self.connection(key).held {
            self.later(self.now_ns, key, Happening::Acknowledged(number));
        }
        true
    }

    /// As on Linux, datagrams of one length are put together, and a shorter one ends them.
    fn receive_datagrams(&mut self, key: Key) -> (Received<'_>, Segments) {
        let at_ns = self.rel();
        let waiting = &mut self.connections[key as usize].datagrams;
        let Some(first) = waiting.pop_front() else {
            return (Received::Nothing, Segments::default());
        };
        self.buffer.clone_from(&first);
        let fits = |next: &&Vec<u8>| !self.link.apart && next.len() <= first.len();
        while let Some(next) = waiting.front().filter(fits) {
            let is_last = next.len() < first.len();
            self.buffer.extend_from_slice(next);
            waiting.pop_front();
            if is_last {
                break;
            }
        }
        let segments = Segments { bytes: first.len() as u16, ecn: 0 };
        (Received::Bytes { bytes: &self.buffer, at_ns, more: true }, segments)
    }

    fn send_datagrams(&mut self, key: Key, slices: &[IoSlice<'_>], segments: Segments) -> Sent {
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let arrived_ns = self.now_ns + self.link.latency_ns;
        for datagram in segments.split(&bytes) {
            if self.loses_next() {
                continue;
            }
            let generation = self.connection(key).generation;
            for (at_ns, bytes) in self.server.datagram(arrived_ns, generation, datagram) {
                if !self.loses_next() {
                    let at_ns = at_ns + self.link.latency_ns;
                    self.later(at_ns, key, Happening::Datagram(bytes));
                }
            }
        }
        Sent::Written(bytes.len())
    }

    fn end_sending(&mut self, key: Key) {
        let arrived_ns = self.now_ns + self.link.latency_ns;
        let connection = self.connection(key);
        if !connection.closed_there && !connection.reset {
            let (nth, generation) = (connection.served, connection.generation);
            let reaction = self.server.end(arrived_ns, generation, nth);
            self.react(key, reaction);
        }
    }

    fn close(&mut self, key: Key) {
        self.generations += 1;
        let generation = self.generations;
        *self.connection(key) = Connection { generation, ..Connection::default() };
    }

    fn wait(&mut self, until_ns: u64) {
        self.submit();
        let until_ns = self.origin_ns.saturating_add(until_ns);
        self.idle_waits += 1;
        assert!(self.idle_waits < SPINNING, "the worker spins at {} ns", self.now_ns);
        match self.future.peek() {
            Some(Reverse((at_ns, ..))) if *at_ns <= until_ns => {
                let at_ns = *at_ns;
                self.move_to(at_ns);
            }
            _ => self.move_to(until_ns.max(self.now_ns + self.link.look_ns)),
        }
        self.happen_until_now();
    }

    fn next_ready(&mut self) -> Option<Ready> {
        loop {
            let (ready, generation) = self.ready.pop_front()?;
            if self.connections[ready.key as usize].generation == generation {
                return Some(ready);
            }
        }
    }
}
