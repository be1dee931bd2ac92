//! Requests, encoded once: the frames of each are the same on every connection.

use std::sync::Arc;

use bytes::Bytes;
use candor_plan::{BodyExpect, Expect, Request, StatusSet};

use super::frames::{self, kind};
use super::qpack::Block;
use crate::h2::each_field;
use crate::request::Made;

/// One request, ready to be sent as often as needed, and what its response must be.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The frame of its header fields, and the header of the frame of its body, if it has one.
    pub(super) head: Bytes,
    pub(super) body: Bytes,
    /// What counts as a right response.
    pub expect: Expect,
    /// The method is HEAD: responses have no body.
    pub(super) is_head: bool,
    /// The method is CONNECT.
    pub(super) is_connect: bool,
    scheme: Box<str>,
    authority: Box<str>,
    block: Block,
}

/// Encodes `request` for a target of this scheme and authority.
pub fn prepare(request: &Request, scheme: &str, authority: &str) -> Prepared {
    let headers = request.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mut prepared = Prepared {
        head: Bytes::new(),
        body: Bytes::from_owner(request.body.shared()),
        expect: request.expect.clone(),
        is_head: false,
        is_connect: false,
        scheme: scheme.into(),
        authority: authority.into(),
        block: Block::default(),
    };
    prepared.set(request.method.as_bytes(), request.path.as_bytes(), headers);
    prepared
}

/// The extended CONNECT with these fields, whose stream stays open (RFC 9220).
pub(crate) fn extended(fields: &[(String, String)]) -> Prepared {
    let mut block = Block::default();
    fields.iter().for_each(|(name, value)| block.push(name.as_bytes(), value.as_bytes()));
    Prepared {
        head: headers_frame(&block, 0),
        body: Bytes::new(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        is_head: false,
        is_connect: true,
        scheme: "".into(),
        authority: "".into(),
        block,
    }
}

/// The frame of a block of fields, and the header of the frame of a body, if there is one.
fn headers_frame(block: &Block, body_bytes: usize) -> Bytes {
    let section = block.bytes();
    let mut head = Vec::with_capacity(section.len() + 16);
    frames::write_header(&mut head, kind::HEADERS, section.len());
    head.extend_from_slice(section);
    if body_bytes > 0 {
        frames::write_header(&mut head, kind::DATA, body_bytes);
    }
    head.into()
}

impl Prepared {
    /// Makes this the request of a script, for the target that this was prepared for.
    pub(super) fn set_made(&mut self, made: &Made<'_>) {
        self.body = Bytes::copy_from_slice(&made.body());
        self.set(made.method(), made.path(), made.fields());
    }

    fn set<'a>(
        &mut self,
        method: &[u8],
        path: &[u8],
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) {
        let line = [method, self.scheme.as_bytes(), self.authority.as_bytes(), path];
        let block = &mut self.block;
        block.clear();
        each_field(line, headers, self.body.len(), |name, value| block.push(name, value));
        self.head = headers_frame(block, self.body.len());
        self.is_head = method == b"HEAD";
        self.is_connect = method == b"CONNECT";
    }

    /// The frames.
    pub(super) fn chunks(&self) -> [Bytes; 2] {
        [self.head.clone(), self.body.clone()]
    }
}

/// Requests of a plan, by their numbers.
pub(super) type Table = Arc<[Prepared]>;
