//! gRPC over HTTP/2: what a response says about a call (gRPC's PROTOCOL-HTTP2, "Responses").
//!
//! A call is a request of HTTP/2 whose body is length-prefixed messages, and an [`h2::Session`](crate::h2::Session)
//! that was told by [`calls`](crate::h2::Session::calls) reads its response as one: messages become parts
//! ([`Event::Part`](crate::Event::Part)), and the status of the trailers decides whether the response is the expected
//! one. `OK` alone is. Only lengths are looked at here; what is in a message is the schema's business.
//!
//! A message is never kept: memory for a call is fixed.

mod bodies;
mod call;
mod error;
mod messages;
mod status;

use candor_plan::Parts;

pub use bodies::Bodies;
pub use error::Error;

pub(crate) use call::Call;
pub(crate) use messages::Ended;
pub(crate) use status::{Told, of_reset};

/// What responses of calls may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes.
    pub max_message_bytes: u32,
    /// A successful response has exactly one message: all methods called are unary or stream the client's messages
    /// alone.
    pub one_message: bool,
}

impl Limits {
    /// Of a plan; `None`: its requests are no calls.
    pub fn of(plan: &Parts) -> Option<Self> {
        let calls = plan.wire.calls()?;
        let streams = plan.work.requests().iter().filter_map(|one| one.call);
        Some(Limits {
            max_message_bytes: u32::try_from(calls.message_bytes).unwrap_or(u32::MAX),
            one_message: !streams.into_iter().any(|call| call.kind.server_streams()),
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_message_bytes: 4 << 20, one_message: false }
    }
}
