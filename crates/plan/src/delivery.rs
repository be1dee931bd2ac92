//! Requests that do not leave in one go: chunks, pieces, bodies that wait or break off.
//!
//! HTTP/1.1 only. A [`Plan`](crate::Plan) has no conflicting deliveries.

use serde::{Deserialize, Serialize};

/// How one request leaves. The default: in one go, with a Content-Length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// The body leaves in chunks of this many bytes, at least 1. The request has a body.
    pub chunk_bytes: Option<u64>,
    /// The request leaves in pieces. Not with `continue_ns`.
    pub pieces: Option<Pieces>,
    /// The request has a body and `Expect: 100-continue`. Without a response to that, the body
    /// leaves after this time.
    pub continue_ns: Option<u64>,
    /// The request breaks off after this many bytes of its body, which is longer.
    pub break_off_after: Option<u64>,
}

/// A request in pieces of about the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pieces {
    /// The number of pieces, at least 2; fewer if the request has fewer bytes.
    pub count: u32,
    /// The time from one piece to the next, above zero. Due times count from the first piece.
    pub gap_ns: u64,
}

impl Delivery {
    /// Whether the request stops on its way. Then no other request is in flight on its connection.
    pub fn pauses(&self) -> bool {
        self.pieces.is_some() || self.continue_ns.is_some() || self.break_off_after.is_some()
    }
}
