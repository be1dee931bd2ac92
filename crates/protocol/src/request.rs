//! Requests, as they are handed to a session.
//!
//! One of the plan's is a number, since each protocol has prepared them all. One that is made while the run goes on is
//! a text of HTTP/1.1, and what was found in it; [`made`](crate::made) says how it comes about.

use std::ops::Range;

use memchr::memchr;

use crate::http::is_token_byte;

/// A request to send.
#[derive(Debug, Clone, Copy)]
pub enum Outgoing<'a> {
    /// By its index in the table that the session was made with.
    Listed(u32),
    /// Made while the run goes on, and copied. Only if [`Abilities::takes_made`](crate::Abilities::takes_made).
    Made(Made<'a>),
}

/// One made request.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// The whole request in HTTP/1.1, as it is to be sent.
    pub raw: &'a [u8],
    /// The request of the plan that it stands for, in reports and expectations.
    pub request: u32,
    pub(crate) shape: &'a Shape,
}

/// What was found in one request's text; the ranges are within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) whole: Range<usize>,
    pub(crate) method_bytes: usize,
    pub(crate) path: Range<usize>,
    pub(crate) fields: Range<usize>,
    /// Of what follows the header block.
    pub(crate) body_bytes: usize,
    /// That is chunks.
    pub(crate) is_chunked: bool,
    pub(crate) closes: bool,
    pub(crate) upgrades: bool,
}

impl<'a> Made<'a> {
    /// The method.
    pub fn method(&self) -> &'a [u8] {
        &self.raw[..self.shape.method_bytes]
    }

    /// Path and query, as they stand in the request line.
    pub fn path(&self) -> &'a [u8] {
        &self.raw[self.shape.path.clone()]
    }

    /// Where these stand in it.
    pub fn path_range(&self) -> Range<usize> {
        self.shape.path.clone()
    }

    /// Names and values of the header fields, in order, without white space around the values.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        self.raw[self.shape.fields.clone()].split(|&byte| byte == b'\n').filter_map(field)
    }

    /// Whether its body comes in chunks.
    pub fn is_chunked(&self) -> bool {
        self.shape.is_chunked
    }

    /// Whether it has `Connection: close`.
    pub fn closes(&self) -> bool {
        self.shape.closes
    }

    /// Whether it has an Upgrade field.
    pub fn upgrades(&self) -> bool {
        self.shape.upgrades
    }
}

/// Name and value of a header line, which ends in CR. `None` if it is none.
pub(crate) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\r")?;
    let colon = memchr(b':', line)?;
    let name = &line[..colon];
    let is_name = !name.is_empty() && name.iter().copied().all(is_token_byte);
    let is_value = !line.iter().any(|&byte| byte == b'\r' || byte == 0);
    (is_name && is_value).then(|| (name, line[colon + 1..].trim_ascii()))
}
