//! Fairness: how much one connection, and one turn of the loop, may take.
//!
//! A server that sends without end must not keep a worker from its other connections, and no number
//! of such servers may keep it from the clock, the stop rule and its time-outs. So a connection that
//! had its share goes to the end of a queue, behind everything that was found meanwhile; and a turn
//! that has taken its time is over, with what is left for the next one. The order of events changes
//! by this, their number does not: nothing is dropped, and nothing is read twice.
//!
//! A share is bytes, and what is made of them takes what it takes: a response in chunks of one byte a thousand times as
//! long as one in a piece. So the share of a connection whose reads take long is halved until they do not, and doubled
//! when they take little.
//!
//! The clock is read for this only once in [`LOOK_BYTES`], so that small responses pay a few
//! instructions.

use std::collections::VecDeque;

use candor_protocol::Protocol;

use super::Worker;
use super::connection::SHARE_BYTES;
use crate::reactor::{Key, Reactor, Ready};

/// The least that the share of a connection gets.
const LEAST_SHARE_BYTES: usize = 4096;
/// After a read that is at least so long the next ones are timed.
const WATCHED_BYTES: usize = 2048;
/// How many: a flood does not hide behind short reads.
const WATCHED_READS: u8 = 16;
/// What a read, with all that is done with it, takes at most before the share is halved.
const LONG_NS: u64 = 100_000;
/// What a read of the whole share would take at most before it is doubled.
const SHORT_NS: u64 = LONG_NS / 3;

/// What an event or a read counts at least, in bytes.
pub(super) const LEAST_BYTES: usize = 512;
/// What is handled between two looks at the clock.
const LOOK_BYTES: usize = 64 * 1024;
/// A turn is over when it has taken this long.
const TURN_NS: u64 = 500_000;

/// What is left of a turn, and for the next one.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Connections that had their share and want more, with their generation; the longest waiting
    /// first. Each is here once: what it wants stands in its [`Connection`](crate::worker::connection).
    postponed: VecDeque<(Key, u32)>,
    /// The reactor may have found more than was handled.
    has_found: bool,
    /// Handled since the last look at the clock.
    unlooked_bytes: usize,
    /// Known after the first look.
    ends_ns: Option<u64>,
}

impl Turn {
    /// Whether there is something to do without waiting.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.has_found || !self.postponed.is_empty()
    }

    /// So much was read or written.
    #[inline]
    pub(super) fn spend(&mut self, bytes: usize) {
        self.unlooked_bytes += bytes;
    }
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Waits until `until_ns`, unless there is something to do already, and finds what is ready.
    #[inline]
    pub(super) fn find(&mut self, until_ns: u64) -> Option<Ready> {
        if self.reactor.queues() {
            if self.turn.has_found { self.submit() } else { self.submit_or_wait() }
        }
        if !self.turn.has_found {
            self.reactor.wait(if self.turn.postponed.is_empty() { until_ns } else { 0 });
        }
        self.reactor.next_ready()
    }

    /// Sleeps until `until_ns`, unless there is something to do already, and finds what is ready.
    pub(super) fn doze(&mut self, until_ns: u64) -> Option<Ready> {
        if !self.turn.has_found
            && let Some(woke_ns) = self.reactor.doze(until_ns)
        {
            self.pacer.woke(until_ns, woke_ns);
        }
        self.reactor.next_ready()
    }

    /// Handles what was found, beginning with `first`, and then what was postponed; no more than
    /// fits into a turn. Returns whether there was anything.
    #[inline]
    pub(super) fn handle_found(&mut self, first: Option<Ready>) -> bool {
        self.turn.ends_ns = None;
        self.turn.has_found = false;
        let mut found = first;
        while let Some(ready) = found {
            self.handle(ready);
            if self.reactor.queues() {
                self.submit_if_late();
            }
            if self.is_turn_over() {
                self.turn.has_found = true;
                return true;
            }
            found = self.reactor.next_ready();
        }
        if self.turn.postponed.is_empty() { first.is_some() } else { self.handle_postponed() }
    }

    #[cold]
    fn handle_postponed(&mut self) -> bool {
        for _ in 0..self.turn.postponed.len() {
            let Some((key, generation)) = self.turn.postponed.pop_front() else { break };
            let connection = &mut self.pool[key];
            if connection.generation == generation
                && let Some(ready) = connection.postponed.take()
            {
                self.handle(ready);
                if self.is_turn_over() {
                    break;
                }
            }
        }
        true
    }

    /// Before a read: when it begins, if it is timed, and what it may take then.
    #[inline]
    pub(super) fn begin_read(&mut self, key: Key) -> Option<u64> {
        if self.pool[key].watched == 0 { None } else { Some(self.begin_timed_read(key)) }
    }

    #[inline(never)]
    fn begin_timed_read(&mut self, key: Key) -> u64 {
        self.reactor.read_at_most(self.pool[key].share_bytes);
        self.reactor.now_ns()
    }

    /// After a read of `bytes`, and all that was done with it.
    #[inline]
    pub(super) fn end_read(&mut self, key: Key, bytes: usize, begun_ns: Option<u64>) {
        if bytes >= WATCHED_BYTES || begun_ns.is_some() {
            self.judge_read(key, bytes, begun_ns);
        }
    }

    #[inline(never)]
    fn judge_read(&mut self, key: Key, bytes: usize, begun_ns: Option<u64>) {
        let connection = &mut self.pool[key];
        connection.watched = match bytes {
            WATCHED_BYTES.. => WATCHED_READS,
            _ => connection.watched.saturating_sub(1),
        };
        let Some(begun_ns) = begun_ns else { return };
        self.reactor.read_at_most(SHARE_BYTES);
        let took_ns = self.reactor.now_ns().saturating_sub(begun_ns);
        let share_bytes = connection.share_bytes;
        // What a short read took says little of a long one.
        let of_all_ns =
            took_ns.saturating_mul(share_bytes as u64) / bytes.max(WATCHED_BYTES) as u64;
        connection.share_bytes = if connection.watched == 0 {
            SHARE_BYTES
        } else if took_ns > LONG_NS {
            LEAST_SHARE_BYTES.max(share_bytes / 2)
        } else if of_all_ns < SHORT_NS {
            SHARE_BYTES.min(share_bytes * 2)
        } else {
            share_bytes
        };
        if took_ns >= SHORT_NS {
            // The turn may be over by now, however few bytes that were.
            self.turn.unlooked_bytes = LOOK_BYTES;
        }
    }

    #[inline]
    fn is_turn_over(&mut self) -> bool {
        self.turn.unlooked_bytes += LEAST_BYTES;
        self.turn.unlooked_bytes >= LOOK_BYTES && self.look_at_clock()
    }

    fn look_at_clock(&mut self) -> bool {
        self.turn.unlooked_bytes = 0;
        let now_ns = self.reactor.now_ns();
        now_ns >= *self.turn.ends_ns.get_or_insert(now_ns + TURN_NS)
    }

    /// The connection had its share: the rest of `ready` comes after the others.
    #[cold]
    pub(super) fn postpone(&mut self, ready: Ready) {
        let connection = &mut self.pool[ready.key];
        match &mut connection.postponed {
            Some(before) => {
                before.readable |= ready.readable;
                before.writable |= ready.writable;
                before.ended |= ready.ended;
            }
            none => {
                *none = Some(ready);
                self.turn.postponed.push_back((ready.key, connection.generation));
            }
        }
    }
}
