//! Where parts come from: the response, call or socket that they belong to, and its beginning.

use std::time::Duration;

use crate::alarm::Alarm;
use crate::route::Route;
use crate::truth::now_ns;

/// A response, call or socket that has parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) route: Route,
    /// The server's number of it, from 0.
    pub(crate) stream: u64,
    /// When it began, on the monotonic clock: its request had been read.
    pub(crate) begin_ns: u64,
}

/// A part that is ready to leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) origin: Origin,
    pub(crate) index: u64,
    pub(crate) due_ns: u64,
}

impl Origin {
    /// One that begins now.
    pub(crate) fn now(route: Route, stream: u64) -> Self {
        Origin { route, stream, begin_ns: now_ns() }
    }

    /// Its part `index`, due this long after its beginning.
    pub(crate) fn part(&self, index: u64, due: Duration) -> Part {
        Part { origin: *self, index, due_ns: self.at(due) }
    }

    /// The moment this long after its beginning.
    pub(crate) fn at(&self, after: Duration) -> u64 {
        self.begin_ns.saturating_add(after.as_nanos().try_into().unwrap_or(u64::MAX))
    }
}

impl Part {
    /// Waits until it has to leave.
    pub(crate) async fn due(self, alarm: &Alarm) -> Part {
        alarm.until(self.due_ns).await;
        self
    }
}
