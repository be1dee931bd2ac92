//! What a session is asked to tell of responses besides their outcomes: the events of streams, or the messages and the
//! status of calls. It is asked of one kind or of none, and plain runs have none of this.
//!
//! The same for all versions of HTTP. When an outcome follows, and what becomes of the connection, is the session's
//! business.

use crate::grpc::{Call, Limits, Told};
use crate::parts::{Splitter, Splitting};

/// What is asked of the parts of responses.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Their events.
    Events(Splitting),
    /// The messages and the status of calls.
    Calls {
        limits: Limits,
        /// What the server said last about the status of a call.
        message: String,
    },
}

/// The parts of one response.
#[derive(Debug)]
pub(crate) enum Parts {
    /// Events.
    Events(Box<Splitter>),
    /// Messages of a call.
    Messages(Call),
}

impl Asked {
    /// Of calls.
    pub(crate) fn calls(limits: Limits) -> Self {
        Asked::Calls { limits, message: String::new() }
    }

    /// Where the server's words about a status are put.
    pub(crate) fn message(&mut self) -> Option<&mut String> {
        let Asked::Calls { message, .. } = self else { return None };
        Some(message)
    }

    /// The header fields of a response to this request of the plan came: its parts, if it has some.
    pub(crate) fn begin(
        &mut self,
        request: u32,
        status: u16,
        is_expected: bool,
        told: Told,
    ) -> Option<Parts> {
        match self {
            Asked::Calls { limits, .. } => Some(Parts::Messages(Call::new(limits, status, told))),
            Asked::Events(splitting) if is_expected => {
                splitting.begin(request, status).map(Parts::Events)
            }
            Asked::Events(_) => None,
        }
    }
}
