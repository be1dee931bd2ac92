//! What a session keeps only while a script reads its answers.
//!
//! Answers come interleaved, so each stream has a place of its own, which is used again by the
//! streams after it; a complete answer moves to where it is lent from. Plain runs have none of
//! this.

use crate::session::Captured;

/// Memory that one long answer took is not kept for short ones.
const KEPT_BYTES: usize = 1 << 20;

/// Header lines and body of an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub(super) lines: Vec<u8>,
    pub(super) body: Vec<u8>,
}

/// The answers that are being read, by the place of their stream, and the one that ended last.
#[derive(Debug)]
pub(super) struct Captures {
    places: Box<[Kept]>,
    last: Kept,
}

impl Captures {
    pub(super) fn new(places: usize) -> Self {
        Captures { places: vec![Kept::default(); places].into(), last: Kept::default() }
    }

    /// The header block of the answer at `place` begins: what was there is over.
    pub(super) fn begin(&mut self, place: usize) -> &mut Kept {
        let kept = &mut self.places[place];
        kept.lines.clear();
        kept.body.clear();
        kept.body.shrink_to(KEPT_BYTES);
        kept
    }

    /// The answer at `place`.
    pub(super) fn at(&mut self, place: usize) -> &mut Kept {
        &mut self.places[place]
    }

    /// The answer at `place` is complete.
    pub(super) fn end(&mut self, place: usize) {
        std::mem::swap(&mut self.last, &mut self.places[place]);
    }

    /// The answer that ended last.
    pub(super) fn last(&self) -> Captured<'_> {
        Captured { fields: &self.last.lines, body: &self.last.body }
    }
}
