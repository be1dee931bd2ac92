//! What requests ask of a worker beside their sessions, by what they are on the wire.

use candor_plan::{Parts, Wire};
use candor_record::ErrorKind;

/// What is not the same for all protocols. The default is that of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    /// A connection that broke has more to tell: that it ended without a last word.
    pub ends_with_a_word: bool,
    /// Whatever the server says next is taken for a reply: what it says unasked after the last request is awaited.
    pub pairs_by_order: bool,
    /// What a request is that took too long.
    pub expired: ErrorKind,
}

impl Default for Habits {
    fn default() -> Self {
        Habits { ends_with_a_word: false, pairs_by_order: false, expired: ErrorKind::Timeout }
    }
}

impl Habits {
    /// Those of the requests of a plan.
    pub fn of(plan: &Parts) -> Self {
        let http = Habits::default();
        match &plan.wire {
            Wire::Http => http,
            Wire::WebSocket(socket) => {
                Habits { ends_with_a_word: true, pairs_by_order: socket.pairs_by_order(), ..http }
            }
            Wire::Grpc(calls) if calls.deadline_ns == Some(plan.timeouts.request_ns) => {
                Habits { expired: ErrorKind::GrpcDeadlineExceeded, ..http }
            }
            Wire::Grpc(_) => http,
        }
    }
}
