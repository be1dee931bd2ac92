//! WebSocket: what messages are, and which message answers which.
//!
//! In a plan with a WebSocket a request is a message, its body the payload. The first request's path and header
//! fields open each connection.

use serde::{Deserialize, Serialize};

/// How messages are sent and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSocket {
    /// Messages are binary; otherwise text.
    pub binary: bool,
    /// The most payload in one frame, above zero; `None`: one frame for each message.
    pub fragment_bytes: Option<u64>,
    /// Which message answers which.
    pub replies: Replies,
    /// Messages of the server with one of these regular expressions in them are no replies.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Only messages with this one in them are; `None`: all others.
    #[serde(default)]
    pub reply: Option<String>,
    /// Messages that are answered at once. They are no replies.
    #[serde(default)]
    pub answers: Vec<Reaction>,
    /// Subprotocols that are offered, in the order of preference.
    pub subprotocols: Vec<String>,
    /// permessage-deflate is offered (RFC 7692).
    pub deflate: bool,
    /// From one ping of ours to the next, and how long a pong may take; above zero. `None`: no pings.
    pub ping_ns: Option<u64>,
    /// The longest message that is accepted, also after decompression.
    pub message_bytes: u64,
}

impl WebSocket {
    /// Whether a message is a reply only because it comes next.
    pub fn pairs_by_order(&self) -> bool {
        self.replies == Replies::Ordered && self.ignore.is_empty() && self.reply.is_none()
    }
}

/// What is sent back when the server sends a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reaction {
    /// The regular expression in the server's message.
    pub pattern: String,
    /// The text of ours.
    pub text: String,
}

/// Which message answers a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// The next one, for the oldest request.
    Ordered,
    /// The one with the same text in this field.
    Field {
        /// What stands before the text; not empty.
        prefix: String,
        /// The byte after it, in ASCII; `None`: the text ends with the message.
        delimiter: Option<u8>,
    },
    /// None: a request is done when it was sent.
    Nothing,
}
