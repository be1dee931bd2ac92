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

use candor_record::HeldUp;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::config::Config;
use super::connection::{Connection, Next, answer};
use super::http::Asks;
use super::queue::Queues;
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
    key: u32,
    generation: u32,
    entry: Option<usize>,
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
}

impl Serving {
    pub(super) fn new(
        config: &Config,
        listener: TcpListener,
        stop: &OwnedFd,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let input = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), input)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
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
                    data => self.ready(data as u32, (data >> 32) as u32, event.flags),
                }
                // Many events may come at once, and due responses do not wait for them.
                self.answer_due();
            }
            if self.accept_again_ns.is_some_and(|at_ns| at_ns <= now_ns()) {
                self.accept();
            }
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
        let next_ns = [departure_ns, stall_ns, self.accept_again_ns].into_iter().flatten().min()?;
        Some(next_ns.saturating_sub(now_ns()))
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
            let Ticket { key, generation, entry } = ticket;
            let place = &mut self.places[key as usize];
            let connection = place.connection.as_mut().filter(|_| place.generation == generation);
            let Some(connection) = connection else { continue };
            connection.is_busy = false;
            let goes_on = connection.answer(&self.answered);
            if let Some(entry) = entry {
                self.log.record.entries[entry].departed_ns = at_ns;
                self.log.record.entries[entry].fate = Fate::Answered;
            }
            if goes_on { self.take_requests(key) } else { self.close(key) }
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
                    let refused = self.arrive(key, generation, queue, now_ns());
                    if !refused {
                        return;
                    }
                    let refusal = &self.refused;
                    self.places[key as usize].connection.as_mut().map(|one| one.answer(refusal))
                }
                Asks::Stats => {
                    let stats = self.stats();
                    let connection = self.places[key as usize].connection.as_mut();
                    connection.map(|one| one.answer(&answer(200, stats.as_bytes())))
                }
                Asks::Stall(lasts) => {
                    let bytes = match &lasts {
                        Ok(_) => answer(204, b""),
                        Err(message) => answer(400, message.as_bytes()),
                    };
                    if let Ok(lasts) = lasts {
                        let from_ns = now_ns();
                        self.stall(from_ns, from_ns + lasts.as_nanos() as u64);
                    }
                    self.places[key as usize].connection.as_mut().map(|one| one.answer(&bytes))
                }
            };
            if goes_on != Some(true) {
                return self.close(key);
            }
        }
    }

    /// A request arrives for the queue of this number. Returns whether it is refused.
    fn arrive(&mut self, key: u32, generation: u32, number: usize, arrival_ns: u64) -> bool {
        let Some(connection) = &mut self.places[key as usize].connection else { return false };
        let queue = self.queues.of_number(number);
        let entry = Entry {
            arrival_ns,
            computed_ns: arrival_ns,
            departed_ns: arrival_ns,
            connection: connection.number,
            queue: queue as u32,
            fate: Fate::Refused,
        };
        let entry = self.log.enter(entry);
        let ticket = Ticket { key, generation, entry };
        let Some(computed_ns) = self.queues.arrive(queue, arrival_ns, ticket) else { return true };
        connection.is_busy = true;
        if let Some(entry) = entry {
            let entry = &mut self.log.record.entries[entry];
            // The values until its response leaves.
            (entry.computed_ns, entry.departed_ns, entry.fate) = (computed_ns, 0, Fate::Abandoned);
        }
        false
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
