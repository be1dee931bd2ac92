//! Messages that are sent, and what is expected of those that answer them.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;

use candor_plan::BodyExpect;
use memchr::{memchr, memmem};

use super::frame::opcode;

/// One message of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its payload; UTF-8 if it is a text. Of a message that is made while the run goes on, the body of that takes
    /// its place.
    pub payload: Arc<[u8]>,
    /// Text or binary.
    pub kind: Kind,
    /// The most payload in one frame; `None`: one frame.
    pub fragment_bytes: Option<NonZeroUsize>,
    /// The condition for the payload of the message that answers it.
    pub expect: BodyExpect,
}

/// Kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

impl Kind {
    pub(super) fn opcode(self) -> u8 {
        match self {
            Kind::Text => opcode::TEXT,
            Kind::Binary => opcode::BINARY,
        }
    }
}

/// A field in messages: the bytes after the first occurrence of a prefix, up to a delimiter or to the message's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What stands before it, such as `"id":`.
    pub prefix: Box<[u8]>,
    /// The byte after it, such as `,`.
    pub delimiter: u8,
}

impl Field {
    /// The field of this message; empty if it has none.
    pub fn find<'a>(&self, message: &'a [u8]) -> &'a [u8] {
        let Some(at) = memmem::find(message, &self.prefix) else { return &[] };
        let rest = &message[at + self.prefix.len()..];
        &rest[..memchr(self.delimiter, rest).unwrap_or(rest.len())]
    }

    /// A number that stands for the field of this message: with 64 bits, those of the requests in flight differ.
    pub(super) fn tag(&self, message: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.find(message));
        hasher.finish()
    }
}
