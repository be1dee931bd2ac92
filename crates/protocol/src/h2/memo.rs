//! Header blocks seen before on a connection, and what they said.
//!
//! A server answers with the same block again and again. Equal bytes mean an equal [`Head`] if the
//! block refers to nothing in the dynamic table, or as long as the table is the same: comparing
//! replaces decoding. What a block of the first kind adds to the table is left to
//! [`Decoder::repeat`](super::hpack::Decoder::repeat); one of the second kind that changes the
//! table is never remembered, since each of them has to be carried out.

use super::head::Head;

/// How many blocks are known at a time: as many as there may be sizes or kinds of responses that
/// alternate.
const KNOWN: usize = 4;

/// Longer blocks are not remembered: comparing them is no longer nothing.
const MOST_BYTES: usize = 512;

/// When a block that is known means what it meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Always. It adds to the dynamic table, each time that it comes.
    AlwaysAndAdds,
    /// Always.
    Always,
    /// While the dynamic table is of this generation.
    At(u64),
}

#[derive(Debug, Default)]
pub(crate) struct Memo {
    known: [Known; KNOWN],
    /// The one that was last of use.
    last: usize,
}

#[derive(Debug)]
struct Known {
    block: Vec<u8>,
    holds: Holds,
    head: Head,
}

impl Default for Known {
    fn default() -> Self {
        // An empty block means a place that is free.
        Known { block: Vec::new(), holds: Holds::At(0), head: Head::default() }
    }
}

impl Memo {
    /// What `block` says, if that is known, and whether it adds to the table.
    #[inline(always)]
    pub(crate) fn recall(&mut self, block: &[u8], generation: u64) -> Option<(Head, bool)> {
        if block.is_empty() {
            return None;
        }
        for step in 0..KNOWN {
            let at = (self.last + step) % KNOWN;
            let known = &self.known[at];
            let holds = !matches!(known.holds, Holds::At(then) if then != generation);
            if holds && known.block == block {
                self.last = at;
                return Some((known.head, known.holds == Holds::AlwaysAndAdds));
            }
        }
        None
    }

    /// `block` said this.
    pub(crate) fn learn(&mut self, block: &[u8], holds: Holds, head: Head) {
        if block.is_empty() || block.len() > MOST_BYTES {
            return;
        }
        // The one before the last is the one that was of no use for longest, or nearly.
        self.last = (self.last + KNOWN - 1) % KNOWN;
        let known = &mut self.known[self.last];
        known.block.clear();
        known.block.extend_from_slice(block);
        known.holds = holds;
        known.head = head;
    }
}
