//! How a session is to behave: the user's choices.

use super::deflate::Deflate;
use super::message::Field;

/// How a session is to behave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which message answers a request.
    pub replies: Replies,
    /// The most requests outstanding at a time; from 1 to 65,536.
    pub in_flight: u32,
    /// Subprotocols that are offered, in the order of preference; none: no field.
    pub subprotocols: Vec<String>,
    /// permessage-deflate as it is offered; `None`: it is not.
    pub deflate: Option<Deflate>,
    /// Pings of our own; `None`: none.
    pub keep_alive: Option<KeepAlive>,
    /// Bounds on what a server may send.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            replies: Replies::Ordered,
            in_flight: 1,
            subprotocols: Vec::new(),
            deflate: None,
            keep_alive: None,
            limits: Limits::default(),
        }
    }
}

/// Which message answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replies {
    /// Each message answers the oldest request.
    Ordered,
    /// The oldest request with the same text in this field. The field of a message without it is empty. The
    /// message is kept until it is complete.
    Field(Field),
    /// None. A request is done when the kernel has taken its last byte, every message is a part.
    Nothing,
}

impl Replies {
    /// What a message is matched by; the same for all if no field is.
    pub(super) fn tag(&self, message: &[u8]) -> u64 {
        match self {
            Replies::Field(field) => field.tag(message),
            Replies::Ordered | Replies::Nothing => 0,
        }
    }
}

/// Pings of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// From the opening, or from a ping, to the next ping, in nanoseconds; above 0.
    pub interval_ns: u64,
    /// How long a pong may take, in nanoseconds; then the connection has failed. Above 0.
    pub patience_ns: u64,
}

/// Bounds on what a server may send, so that no server costs more than a little memory and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The header block of the response to the opening.
    pub header_block_bytes: usize,
    /// Interim (1xx) responses to the opening.
    pub interim_answers: u32,
    /// One message: its payload as it comes, and inflated.
    pub message_bytes: u64,
    /// Pings, pongs and empty fragments in one second.
    pub idle_frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_block_bytes: 64 << 10,
            interim_answers: 100,
            message_bytes: 16 << 20,
            idle_frames: 10_000,
        }
    }
}
