//! Our own pings: when the next one leaves, and whether its pong came (RFC 6455 5.5.2).

use super::{Error, KeepAlive};

#[derive(Debug)]
pub(super) struct Watch {
    every: KeepAlive,
    next_ping_ns: u64,
    /// The number of the last ping, which is its payload.
    number: u64,
    /// When its pong must be there; `None`: it is.
    due_ns: Option<u64>,
}

impl Watch {
    /// Of a WebSocket that was opened at `now_ns`.
    pub(super) fn new(every: KeepAlive, now_ns: u64) -> Self {
        let next_ping_ns = now_ns.saturating_add(every.interval_ns);
        Watch { every, next_ping_ns, number: 0, due_ns: None }
    }

    /// When there is something to do.
    pub(super) fn timeout_ns(&self) -> u64 {
        self.due_ns.unwrap_or(self.next_ping_ns)
    }

    /// That time has come: the payload of the ping to send, or the pong that is missing.
    pub(super) fn next_ping(&mut self, now_ns: u64) -> Result<[u8; 8], Error> {
        if self.due_ns.is_some() {
            return Err(Error::NoPong);
        }
        self.number += 1;
        self.due_ns = Some(now_ns.saturating_add(self.every.patience_ns));
        self.next_ping_ns = now_ns.saturating_add(self.every.interval_ns);
        Ok(self.number.to_be_bytes())
    }

    /// A pong came. One with another payload is one that no ping asked for (RFC 6455 5.5.3).
    pub(super) fn handle_pong(&mut self, now_ns: u64, payload: &[u8]) {
        if payload == self.number.to_be_bytes() && self.due_ns.take().is_some() {
            self.next_ping_ns = self.next_ping_ns.max(now_ns);
        }
    }
}
