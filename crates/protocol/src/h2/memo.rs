//! Header blocks seen before on a connection, and what they said.
//!
//! A server answers with the same block again and again. Equal bytes mean an equal [`Head`] for
//! as long as the dynamic table is the same, so comparing replaces decoding. Blocks that change
//! the table are never remembered, since each of them has to be carried out.

use super::head::Head;

/// How many blocks are known at a time: as many as there may be sizes or kinds of answers that
/// alternate.
const KNOWN: usize = 4;

/// Longer blocks are not remembered: comparing them is no longer nothing.
const MOST_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Memo {
    known: [Known; KNOWN],
    /// The one that was last of use.
    last: usize,
}

#[derive(Debug, Default)]
struct Known {
    block: Vec<u8>,
    generation: u64,
    head: Head,
}

impl Memo {
    /// What `block` says, if that is known.
    #[inline]
    pub(super) fn recall(&mut self, block: &[u8], generation: u64) -> Option<Head> {
        if block.is_empty() {
            return None;
        }
        for step in 0..KNOWN {
            let at = (self.last + step) % KNOWN;
            let known = &self.known[at];
            if known.generation == generation && known.block == block {
                self.last = at;
                return Some(known.head);
            }
        }
        None
    }

    /// `block` said this, and did not change the table.
    pub(super) fn learn(&mut self, block: &[u8], generation: u64, head: Head) {
        // An empty block means a place that is free.
        if block.is_empty() || block.len() > MOST_BYTES {
            return;
        }
        // The one before the last is the one that was of no use for longest, or nearly.
        self.last = (self.last + KNOWN - 1) % KNOWN;
        let known = &mut self.known[self.last];
        known.block.clear();
        known.block.extend_from_slice(block);
        known.generation = generation;
        known.head = head;
    }
}
