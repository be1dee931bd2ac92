//! How a request leaves, where that is not its header and its body in one go.
//!
//! All of it is HTTP/1.1's. A [`Plan`](crate::Plan) has none of what does not go together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one request leaves. The default: in one go, with the length of its body in front.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The body goes in chunks of so many bytes, at least 1; there is a body.
    pub chunk_bytes: Option<u64>,
    /// It goes in pieces. Not with `continue_ns`.
    pub pieces: Option<Pieces>,
    /// It has `Expect: 100-continue`; without an answer to that its body, which it has, leaves
    /// after so long.
    pub continue_ns: Option<u64>,
    /// It breaks off after so many bytes of its body, which is longer.
    pub break_off_after: Option<u64>,
}

/// A request in pieces of about the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pieces {
    /// How many, at least 2; fewer if the request has fewer bytes.
    pub count: u32,
    /// From one to the next, above zero; they are due by the time of the first.
    pub gap_ns: u64,
}

impl Delivery {
    /// Whether it stops on its way: then no other request is in flight on its connection.
    pub fn stops(&self) -> bool {
        self.pieces.is_some() || self.continue_ns.is_some() || self.break_off_after.is_some()
    }
}
