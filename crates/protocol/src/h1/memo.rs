//! Header blocks seen before, and what they said.
//!
//! A server answers the same request with the same header block again and again; at most the
//! Date changes, once a second. Equal bytes mean an equal [`Head`], so comparing with the block
//! before replaces parsing it. The parser stays the only source of heads: it fills the memo, and
//! takes over wherever the bytes differ or arrive in pieces.
//!
//! One memo serves all connections of a thread, with one entry for each request of the table.

use std::cell::RefCell;

use memchr::memmem;

use super::head::Head;

/// Longer header blocks are not remembered: comparing them is no longer nothing.
const MOST_BYTES: usize = 2048;

/// Header blocks of earlier responses, by request.
#[derive(Debug, Default)]
pub struct Memo {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: Vec<Option<Known>>,
    /// The block whose head is being read.
    candidate: Vec<u8>,
    /// Who put it there; another one may have put another there since.
    ticket: u64,
}

#[derive(Debug)]
struct Known {
    /// With the empty line that ends it.
    block: Vec<u8>,
    head: Head,
}

/// Says which candidate a session is reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

impl Memo {
    /// If `input` begins with the block that the last response to `request` had: its length, and
    /// its head.
    #[inline]
    pub(super) fn recall(&self, request: u32, input: &[u8]) -> Option<(usize, Head)> {
        let inner = self.inner.borrow();
        let known = inner.known.get(request as usize)?.as_ref()?;
        input.starts_with(&known.block).then_some((known.block.len(), known.head))
    }

    /// Notes the block at the front of `input`, if all of it is there, until its head is known.
    pub(super) fn note(&self, input: &[u8]) -> Option<Ticket> {
        let window = &input[..input.len().min(MOST_BYTES)];
        let end = memmem::find(window, b"\r\n\r\n")? + 4;
        let mut inner = self.inner.borrow_mut();
        inner.candidate.clear();
        inner.candidate.extend_from_slice(&input[..end]);
        inner.ticket += 1;
        Some(Ticket(inner.ticket))
    }

    /// The noted block was read; it had `block_bytes` with its empty line, and this is its head.
    pub(super) fn learn(&self, ticket: Ticket, request: u32, head: Head, block_bytes: usize) {
        let inner = &mut *self.inner.borrow_mut();
        // A block that ends in bare LFs ends earlier than the first CR LF CR LF, which may then
        // be anywhere in the body.
        if ticket != Ticket(inner.ticket) || inner.candidate.len() != block_bytes {
            return;
        }
        let index = request as usize;
        if index >= inner.known.len() {
            inner.known.resize_with(index + 1, || None);
        }
        let known = inner.known[index].get_or_insert_with(|| Known { block: Vec::new(), head });
        std::mem::swap(&mut known.block, &mut inner.candidate);
        known.head = head;
        // What is in the candidate now is an old block, and must not be taken for a new one.
        inner.ticket += 1;
    }
}
