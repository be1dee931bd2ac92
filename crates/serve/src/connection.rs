//! The state of a server, and of one connection.
//!
//! Three parties of one connection meet here: the handler (which orders faults), the body of a
//! response (which reports its completion) and the stream (which performs the faults and sees the
//! flush). All three run in the connection's only task, so the atomics are never contended; they
//! are atomics because hyper's types must be `Send`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::HeaderValue;

use crate::origin::{Origin, Part};
use crate::parts::{PartEntry, PartLog};
use crate::route::Route;
use crate::stall::Stall;
use crate::stats::{Counters, Stats};
use crate::{Fault, Faults};

/// The state that all threads of a server share. Used once per connection, not once per request.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) faults: Faults,
    pub(crate) stall: Stall,
    /// What responses over TCP say of HTTP/3 (RFC 7838).
    pub(crate) alt_svc: Option<HeaderValue>,
    counters: Vec<Arc<Counters>>,
    connections_accepted: AtomicU64,
    connections_open: AtomicU64,
    connections_refused: AtomicU64,
    accept_errors: AtomicU64,
    // Responses with parts so far.
    streams: AtomicU64,
    // The log of parts, and its room: 0 if there is none.
    log: Mutex<PartLog>,
    log_room: usize,
}

impl Shared {
    /// The state of a server that logs at most `log_room` parts.
    pub(crate) fn new(
        faults: Faults,
        threads: usize,
        log_room: usize,
        alt_svc: Option<HeaderValue>,
    ) -> Self {
        Shared {
            stall: Stall::new(faults.stalls.clone()),
            faults,
            alt_svc,
            counters: (0..threads).map(|_| Arc::new(Counters::new())).collect(),
            connections_accepted: AtomicU64::new(0),
            connections_open: AtomicU64::new(0),
            connections_refused: AtomicU64::new(0),
            accept_errors: AtomicU64::new(0),
            streams: AtomicU64::new(0),
            log: Mutex::new(PartLog {
                entries: Vec::with_capacity(log_room),
                ..PartLog::default()
            }),
            log_room,
        }
    }

    /// Takes the log of parts away.
    pub(crate) fn take_log(&self) -> PartLog {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Logs when the machine paused one of the threads.
    pub(crate) fn was_held_up(&self, times_ns: Vec<(u64, u64)>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.held_up_ns.extend(times_ns);
        log.held_up_ns.sort_unstable();
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for counters in &self.counters {
            counters.add_to(&mut stats);
        }
        stats.connections_accepted = self.connections_accepted.load(Relaxed);
        stats.connections_open = self.connections_open.load(Relaxed);
        stats.connections_refused = self.connections_refused.load(Relaxed);
        stats.accept_errors = self.accept_errors.load(Relaxed);
        stats
    }

    pub(crate) fn accept_failed(&self) {
        self.accept_errors.fetch_add(1, Relaxed);
    }

    /// Accepts a connection that thread `thread` will serve; `None` if there are too many.
    pub(crate) fn admit(self: &Arc<Self>, thread: usize) -> Option<Arc<Connection>> {
        let full = |most| self.connections_open.load(Relaxed) >= most;
        if self.faults.max_connections.is_some_and(full) {
            self.connections_refused.fetch_add(1, Relaxed);
            return None;
        }
        self.connections_accepted.fetch_add(1, Relaxed);
        self.connections_open.fetch_add(1, Relaxed);
        Some(Arc::new(Connection {
            shared: Arc::clone(self),
            counters: Arc::clone(&self.counters[thread]),
            requests: AtomicU64::new(0),
            complete_unflushed: AtomicU64::new(0),
            writable_bytes: AtomicU64::new(u64::MAX),
            close_at_flush: AtomicBool::new(false),
            uncounted: AtomicBool::new(false),
            leaving: Mutex::new(Vec::new()),
            parts_leave: AtomicBool::new(false),
        }))
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    counters: Arc<Counters>,
    // Counted requests so far.
    requests: AtomicU64,
    // Responses that are complete in hyper's buffer but not flushed yet.
    complete_unflushed: AtomicU64,
    // Bytes that may still be written before the reset; u64::MAX: no reset is ordered.
    writable_bytes: AtomicU64,
    close_at_flush: AtomicBool,
    // Whether the connection is only for requests about the server itself.
    uncounted: AtomicBool,
    // Parts that hyper was given since the last write to the socket, and whether there are any.
    leaving: Mutex<Vec<Part>>,
    parts_leave: AtomicBool,
}

impl Connection {
    /// Counts a request; returns its number on this connection, from 1.
    pub(crate) fn request_accepted(&self, route: Route) -> u64 {
        self.counters.accepted(route);
        self.requests.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn body_bytes(&self, bytes: u64) {
        self.counters.body_bytes(bytes);
    }

    /// The beginning of a response with parts.
    pub(crate) fn begin(&self, route: Route) -> Origin {
        Origin::now(route, self.shared.streams.fetch_add(1, Relaxed))
    }

    /// Counts a message that was received.
    pub(crate) fn part_received(&self, route: Route) {
        self.counters.part_received(route);
    }

    /// The next write takes this part along.
    pub(crate) fn part_leaves(&self, part: Part) {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        self.parts_leave.store(true, Relaxed);
    }

    /// Whether the next write takes parts along.
    pub(crate) fn parts_leave(&self) -> bool {
        self.parts_leave.load(Relaxed)
    }

    /// A write that began at `departed_ns` took the parts along; 0: there will be no write.
    pub(crate) fn parts_departed(&self, departed_ns: u64) {
        self.parts_leave.store(false, Relaxed);
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        if departed_ns > 0 {
            leaving.iter().for_each(|part| self.counters.part_sent(part.origin.route));
        }
        if self.shared.log_room > 0 {
            let mut log = self.shared.log.lock().unwrap_or_else(PoisonError::into_inner);
            for Part { origin, index, due_ns } in leaving.iter().copied() {
                let (stream, scenario) = (origin.stream, origin.route.name());
                let entry = PartEntry { due_ns, departed_ns, stream, index, scenario };
                log.enter(entry, self.shared.log_room);
            }
        }
        leaving.clear();
    }

    /// Excludes the connection from the counts, if its first request is about the server itself.
    pub(crate) fn asked_about_server(&self) {
        if self.requests.load(Relaxed) == 0 && !self.uncounted.swap(true, Relaxed) {
            self.shared.connections_accepted.fetch_sub(1, Relaxed);
            self.shared.connections_open.fetch_sub(1, Relaxed);
        }
    }

    /// The last byte of a response is in hyper's buffer.
    pub(crate) fn answer_complete(&self) {
        self.complete_unflushed.fetch_add(1, Relaxed);
        let faults = &self.shared.faults;
        let last = |close: crate::CloseAfter| {
            !close.announced && self.requests.load(Relaxed) >= close.requests.get()
        };
        if faults.close_after.is_some_and(last) {
            self.close_at_flush();
        }
    }

    /// Orders a reset after `bytes` more bytes.
    pub(crate) fn reset_after(&self, bytes: u64) {
        self.writable_bytes.store(bytes, Relaxed);
    }

    /// Orders a close, unannounced, once hyper's buffer was flushed.
    pub(crate) fn close_at_flush(&self) {
        self.close_at_flush.store(true, Relaxed);
    }

    /// How many bytes may be written now; `None` means no limit.
    pub(crate) fn writable_bytes(&self) -> Option<u64> {
        Some(self.writable_bytes.load(Relaxed)).filter(|&bytes| bytes != u64::MAX)
    }

    /// Subtracts written bytes from that limit.
    pub(crate) fn wrote(&self, bytes: usize) {
        self.writable_bytes.fetch_sub(bytes as u64, Relaxed);
    }

    /// hyper's buffer was handed to the kernel in full; true if the connection has to end here.
    pub(crate) fn flushed(&self) -> bool {
        // Load before swap: most flushes have nothing to count, and a swap is not free.
        if self.complete_unflushed.load(Relaxed) > 0 {
            self.counters.answered(self.complete_unflushed.swap(0, Relaxed));
        }
        self.close_at_flush.load(Relaxed)
    }

    /// The fault that every response has.
    pub(crate) fn standing_fault(&self) -> Option<Fault> {
        self.shared.faults.every_answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.parts_departed(0);
        if !self.uncounted.load(Relaxed) {
            self.shared.connections_open.fetch_sub(1, Relaxed);
        }
    }
}
