//! The truth server's one loop: wait until bytes arrive or a response has to leave.
//!
//! It sleeps until shortly before the next departure, with nanosecond resolution, and then polls: a
//! thread that sleeps until the exact time wakes some tens of microseconds late. With `spin` it
//! does not sleep for arrivals either, and detects when it was stalled. Arrivals are stamped right
//! after the read that completed them, departures right before the call that sends them.

use std::io;
use std::net::TcpListener;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::Instant;

use candor_record::HeldUp;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::config::Config;
use super::connection::{Connection, Next, answer};
use super::http::Asks;
use super::queue::Queues;
use super::quic::{self, Arrived, Quic, Response};
use super::record::{Entry, Fate, Log};

/// It wakes this long before a response has to leave, and polls from then on.
const WAKE_EARLY_NS: u64 = 150_000;
/// After a failed `accept`, so that a lack of files does not spin.
const ACCEPT_AGAIN_NS: u64 = 10_000_000;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
const NS_PER_S: u64 = 1_000_000_000;
/// Keys of descriptors that are not connections.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const DATAGRAMS: u64 = u64::MAX - 2;
/// Datagrams that are read before due responses have their turn again.
const MOST_DATAGRAMS: usize = 16;

/// Nanoseconds of the system's monotonic clock.
pub fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Nanoseconds of CPU time of the calling thread.
pub(crate) fn cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

fn clock_ns(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * NS_PER_S + t.tv_nsec as u64
}

/// Identifies a request in the queue.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    from: From,
    entry: Option<usize>,
}

/// Where a request came from, and its response goes.
#[derive(Debug, Clone, Copy)]
enum From {
    Tcp { key: u32, generation: u32 },
    Stream(quic::Place),
}

#[derive(Debug, Default)]
struct Place {
    connection: Option<Connection>,
    /// Distinguishes the current connection of a slot from former ones, in events and in tickets.
    generation: u32,
}

/// A running server.
pub(super) struct Serving {
    epoll: OwnedFd,
    listener: TcpListener,
    queues: Queues<Ticket>,
    spin: bool,
    /// Stalls by the machine; only known if it spins.
    held_up: HeldUp,
    pub(super) log: Log,
    /// Stalls to come, the next one last.
    planned_ns: Vec<(u64, u64)>,
    places: Vec<Place>,
    free: Vec<u32>,
    accepted: u32,
    accept_again_ns: Option<u64>,
    answered: Vec<u8>,
    refused: Vec<u8>,
    quic: Option<Quic>,
    /// The same responses over QUIC.
    answered_in_frames: Response,
    refused_in_frames: Response,
    /// Requests over QUIC that have just come.
    arrived: Vec<Arrived>,
}

impl Serving {
    pub(super) fn new(
        config: &Config,
        listener: TcpListener,
        quic: Option<Quic>,
        stop: &OwnedFd,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let input = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), input)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        if let Some(quic) = &quic {
            epoll::add(&epoll, &quic.socket, EventData::new_u64(DATAGRAMS), EventFlags::IN)?;
        }
        let begun_ns = now_ns();
        let planned = config.stalls.iter().map(|stall| {
            let from_ns = begun_ns + stall.at.as_nanos() as u64;
            (from_ns, from_ns + stall.lasts.as_nanos() as u64)
        });
        let mut planned_ns: Vec<_> = planned.collect();
        planned_ns.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Serving {
            epoll,
            listener,
            queues: Queues::new(config.discipline, config.queues),
            spin: config.spin,
            held_up: HeldUp::default(),
            log: Log::new(config.log_capacity),
            planned_ns,
            places: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            accept_again_ns: None,
            answered: answer(200, b"truth\n"),
            refused: answer(503, b"no place\n"),
            quic,
            answered_in_frames: Response::new(200, &b"truth\n"[..]),
            refused_in_frames: Response::new(503, &b"no place\n"[..]),
            arrived: Vec::new(),
        })
    }

    /// Serves until it is told to stop.
    pub(super) fn serve(&mut self) {
        // Without this, the kernel rounds sleeps up by 50 µs. A failure costs punctuality, which
        // the log shows.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            if self.spin {
                self.held_up.turn(now_ns(), cpu_ns());
            }
            self.begin_planned_stalls();
            self.answer_due();
            let wait_ns = self.wait_ns();
            if self.spin {
                self.held_up.looks(now_ns());
            }
            events.clear();
            // EINTR counts as no events.
            let _ = wait(&self.epoll, &mut events, wait_ns);
            if self.spin && !events.is_empty() {
                self.held_up.found(now_ns(), cpu_ns);
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return self.end(),
                    LISTENER => self.accept(),
                    DATAGRAMS => self.read_datagrams(),
                    data => self.ready(data as u32, (data >> 32) as u32, event.flags),
                }
                // Many events may come at once, and due responses do not wait for them.
                self.answer_due();
            }
            if self.accept_again_ns.is_some_and(|at_ns| at_ns <= now_ns()) {
                self.accept();
            }
            self.expire();
        }
    }

    /// How long to wait for events; `None` for as long as it takes.
    fn wait_ns(&self) -> Option<u64> {
        if self.spin {
            return Some(0);
        }
        let departure_ns =
            self.queues.next_departure_ns().map(|at| at.saturating_sub(WAKE_EARLY_NS));
        let stall_ns = self.planned_ns.last().map(|&(from_ns, _)| from_ns);
        let next_ns = [departure_ns, stall_ns, self.accept_again_ns].into_iter().flatten().min();
        let wait_ns = next_ns.map(|next_ns| next_ns.saturating_sub(now_ns()));
        let timer = self.quic.as_ref().and_then(Quic::timer);
        let timer_ns =
            timer.map(|at| at.saturating_duration_since(Instant::now()).as_nanos() as u64);
        wait_ns.into_iter().chain(timer_ns).min()
    }

    fn begin_planned_stalls(&mut self) {
        while let Some((from_ns, to_ns)) =
            self.planned_ns.pop_if(|(from_ns, _)| *from_ns <= now_ns())
        {
            self.stall(from_ns, to_ns);
        }
    }

    fn stall(&mut self, from_ns: u64, to_ns: u64) {
        self.log.record.stalls_ns.push((from_ns, to_ns));
        let entries = &mut self.log.record.entries;
        self.queues.stall(from_ns, to_ns, |ticket, computed_ns| {
            if let Some(entry) = ticket.entry {
                entries[entry].computed_ns = computed_ns;
            }
        });
    }

    /// Sends every response whose time has come.
    fn answer_due(&mut self) {
        loop {
            let at_ns = now_ns();
            let Some(ticket) = self.queues.take_due(at_ns) else { return };
            let Ticket { from, entry } = ticket;
            let goes_on = match from {
                From::Stream(place) => {
                    let quic = self.quic.as_mut();
                    quic.is_some_and(|quic| quic.answer(place, &self.answered_in_frames))
                        .then_some(true)
                }
                From::Tcp { key, generation } => {
                    let place = &mut self.places[key as usize];
                    let connection = place.connection.as_mut();
                    connection.filter(|_| place.generation == generation).map(|connection| {
                        connection.is_busy = false;
                        connection.answer(&self.answered)
                    })
                }
            };
            let Some(goes_on) = goes_on else { continue };
            if let Some(entry) = entry {
                self.log.record.entries[entry].departed_ns = at_ns;
                self.log.record.entries[entry].fate = Fate::Answered;
            }
            if let From::Tcp { key, .. } = from {
                if goes_on { self.take_requests(key) } else { self.close(key) }
            }
        }
    }

    fn accept(&mut self) {
        self.accept_again_ns = None;
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    self.accept_again_ns = Some(now_ns() + ACCEPT_AGAIN_NS);
                    return;
                }
            };
            // Both fail only if the connection is gone, which its first read will show.
            let _ = stream.set_nodelay(true);
            let _ = stream.set_nonblocking(true);
            let key = self.free.pop().unwrap_or_else(|| {
                self.places.push(Place::default());
                (self.places.len() - 1) as u32
            });
            let place = &mut self.places[key as usize];
            let data = EventData::new_u64(u64::from(place.generation) << 32 | u64::from(key));
            let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            if epoll::add(&self.epoll, &stream, data, interest).is_err() {
                self.free.push(key);
                continue;
            }
            place.connection = Some(Connection::new(stream, self.accepted));
            self.accepted += 1;
        }
    }

    /// Something happened on a connection.
    fn ready(&mut self, key: u32, generation: u32, flags: EventFlags) {
        let place = &mut self.places[key as usize];
        let connection = place.connection.as_mut().filter(|_| place.generation == generation);
        let Some(connection) = connection else { return };
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if broken || (flags.contains(EventFlags::OUT) && !connection.flush()) {
            self.close(key);
            return;
        }
        connection.is_readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        if !connection.is_busy {
            self.take_requests(key);
        }
    }

    /// Takes requests of a connection until one has to wait for its response.
    fn take_requests(&mut self, key: u32) {
        loop {
            let place = &mut self.places[key as usize];
            let generation = place.generation;
            let Some(connection) = &mut place.connection else { return };
            let asks = match connection.next() {
                Next::Nothing => return,
                Next::End => return self.close(key),
                Next::Request { asks } => asks,
            };
            let goes_on = match asks {
                Asks::Service { queue } => {
                    let number = connection.number;
                    connection.is_busy = true;
                    if self.arrive(From::Tcp { key, generation }, number, queue, now_ns()) {
                        return;
                    }
                    let refusal = &self.refused;
                    self.places[key as usize].connection.as_mut().map(|one| {
                        one.is_busy = false;
                        one.answer(refusal)
                    })
                }
                other => {
                    let (status, text) = self.answer_about_server(other);
                    let connection = self.places[key as usize].connection.as_mut();
                    connection.map(|one| one.answer(&answer(status, text.as_bytes())))
                }
            };
            if goes_on != Some(true) {
                return self.close(key);
            }
        }
    }

    /// Takes datagrams, and the requests in them.
    fn read_datagrams(&mut self) {
        for _ in 0..MOST_DATAGRAMS {
            let Some(quic) = &mut self.quic else { return };
            let Some(connection) = quic.read(&mut self.accepted, &mut self.arrived) else { return };
            self.take_arrived(now_ns());
            if let Some(quic) = &mut self.quic {
                quic.flush(connection);
            }
        }
    }

    /// Lets QUIC's timers expire.
    fn expire(&mut self) {
        if let Some(quic) = &mut self.quic {
            quic.expire(&mut self.arrived);
            self.take_arrived(now_ns());
        }
    }

    fn take_arrived(&mut self, arrival_ns: u64) {
        for Arrived { place, asks } in std::mem::take(&mut self.arrived) {
            let response = match asks {
                Asks::Service { queue } => {
                    if self.arrive(From::Stream(place), place.number, queue, arrival_ns) {
                        continue;
                    }
                    self.refused_in_frames.clone()
                }
                other => {
                    let (status, text) = self.answer_about_server(other);
                    Response::new(status, text)
                }
            };
            if let Some(quic) = &mut self.quic {
                quic.answer(place, &response);
            }
        }
    }

    /// The status and the text for a request that is about the server.
    fn answer_about_server(&mut self, asks: Asks) -> (u16, String) {
        match asks {
            Asks::Stall(Ok(lasts)) => {
                let from_ns = now_ns();
                self.stall(from_ns, from_ns + lasts.as_nanos() as u64);
                (204, String::new())
            }
            Asks::Stall(Err(message)) => (400, message),
            Asks::Stats | Asks::Service { .. } => (200, self.stats()),
        }
    }

    /// A request of a connection of this number arrives for a queue. Returns whether there is room for it.
    fn arrive(&mut self, from: From, connection: u32, number: usize, arrival_ns: u64) -> bool {
        let queue = self.queues.of_number(number);
        let entry = Entry {
            arrival_ns,
            computed_ns: arrival_ns,
            departed_ns: arrival_ns,
            connection,
            queue: queue as u32,
            fate: Fate::Refused,
        };
        let entry = self.log.enter(entry);
        let ticket = Ticket { from, entry };
        let Some(computed_ns) = self.queues.arrive(queue, arrival_ns, ticket) else { return false };
        if let Some(entry) = entry {
            let entry = &mut self.log.record.entries[entry];
            // The values until its response leaves.
            (entry.computed_ns, entry.departed_ns, entry.fate) = (computed_ns, 0, Fate::Abandoned);
        }
        true
    }

    fn close(&mut self, key: u32) {
        let place = &mut self.places[key as usize];
        if place.connection.take().is_some() {
            place.generation = place.generation.wrapping_add(1);
            self.free.push(key);
        }
    }

    fn stats(&self) -> String {
        let of = |fate| self.log.record.entries.iter().filter(|entry| entry.fate == fate).count();
        format!(
            "{{\"connections_accepted\":{},\"requests_accepted\":{},\"requests_answered\":{},\
             \"requests_refused\":{},\"requests_unlogged\":{}}}\n",
            self.accepted,
            self.log.record.entries.len() as u64 + self.log.record.unlogged,
            of(Fate::Answered),
            of(Fate::Refused),
            self.log.record.unlogged
        )
    }

    /// Drops everything at once, including responses that are not due yet.
    fn end(&mut self) {
        self.log.record.held_up_ns = self.held_up.take();
        self.places.clear();
        self.free.clear();
        self.quic.iter_mut().for_each(Quic::end);
    }
}

/// Waits for events, up to `wait_ns` or without end. epoll's own wait would be rounded up to a millisecond on kernels
/// before 5.11, so ppoll has the time.
fn wait(epoll: &OwnedFd, events: &mut Vec<Event>, wait_ns: Option<u64>) -> Result<(), Errno> {
    let timespec = |ns| Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ };
    if wait_ns != Some(0) {
        let timeout = wait_ns.map(timespec);
        rustix::event::poll(&mut [PollFd::new(epoll, PollFlags::IN)], timeout.as_ref())?;
    }
    epoll::wait(epoll, rustix::buffer::spare_capacity(events), Some(&timespec(0)))?;
    Ok(())
}
