//! Timeouts of sessions: when a session wants to be called again without input.
//!
//! A protocol may move its timeout with every packet. So there is one entry in the queue for each
//! connection, which is looked at when its time has come and put back if the timeout is later by
//! then; only an earlier timeout adds an entry, and makes the one before stale.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use candor_protocol::Session;

use super::Worker;
use crate::reactor::{Key, Reactor};

/// Connections whose sessions wait for a time, on the sessions' clock.
#[derive(Debug, Default)]
pub(super) struct Timeouts {
    queue: BinaryHeap<Reverse<(u64, Key, u32)>>,
}

impl Timeouts {
    /// Begins to wait until `at_ns` for a connection and generation of it.
    fn add(&mut self, at_ns: u64, key: Key, generation: u32) {
        self.queue.push(Reverse((at_ns, key, generation)));
    }

    /// The first whose time has come.
    fn take_due(&mut self, now_ns: u64) -> Option<(u64, Key, u32)> {
        let due = self.queue.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= now_ns);
        due.then(|| self.queue.pop().map(|Reverse(entry)| entry)).flatten()
    }

    /// When to look again.
    pub(super) fn next_ns(&self) -> u64 {
        self.queue.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns)
    }
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// The time as sessions count it: theirs has one origin, where the worker's begins anew with the
    /// run.
    #[inline]
    pub(super) fn session_ns(&self, at_ns: u64) -> u64 {
        at_ns + self.shift_ns
    }

    /// The timeout of a connection's session may have changed.
    pub(super) fn watch_timeout(&mut self, key: Key) {
        let connection = &mut self.connections[key as usize];
        let timeout_ns = connection.session.as_ref().and_then(S::poll_timeout);
        if let Some(at_ns) = timeout_ns.filter(|at_ns| *at_ns < connection.timeout_ns) {
            connection.timeout_ns = at_ns;
            self.timeouts.add(at_ns, key, connection.generation);
        }
    }

    /// Tells sessions whose time has come.
    pub(super) fn expire_sessions(&mut self, now_ns: u64) {
        let session_ns = self.session_ns(now_ns);
        // One that wants to be called again at once has its turn in the next one.
        for _ in 0..self.timeouts.queue.len() {
            let Some((at_ns, key, generation)) = self.timeouts.take_due(session_ns) else { break };
            let connection = &mut self.connections[key as usize];
            if connection.generation != generation || connection.timeout_ns != at_ns {
                continue;
            }
            connection.timeout_ns = u64::MAX;
            let Some(session) = &mut connection.session else { continue };
            if session.poll_timeout().is_some_and(|timeout_ns| timeout_ns <= session_ns) {
                session.handle_timeout(session_ns);
                self.poll_events(key, now_ns);
                if self.is_live(key) && !self.connections[key as usize].blocked {
                    self.flush(key, now_ns);
                }
            }
            self.watch_timeout(key);
        }
    }
}
