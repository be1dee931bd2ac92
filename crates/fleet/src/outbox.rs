//! An agent's results: segments, which are kept until the run is settled.
//!
//! A segment that a coordinator has received is not forgotten: the coordinator may die, and another one
//! then makes the result from the segments that the agents keep.

use crate::codec::PIECE_BYTES;
use crate::identity::Hasher;
use crate::message::{Ends, Final, Have, Segment};

/// The segments of one run.
#[derive(Debug, Default)]
pub struct Outbox {
    segments: Vec<Slot>,
    /// Segments below were sent at least once.
    sent: usize,
    bytes: u64,
    hasher: Hasher,
}

#[derive(Debug)]
struct Slot {
    segment: Segment,
    sent_ns: u64,
}

impl Outbox {
    /// The most segments that are resent at once.
    const AGAIN: usize = 64;

    /// Adds an interval, or the record.
    pub fn push(&mut self, now_ns: u64, ends: Ends, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(PIECE_BYTES));
            let ends = if behind.is_empty() { ends } else { Ends::Nothing };
            let sequence = self.segments.len() as u32;
            let segment = Segment { sequence, ends, bytes: piece.to_vec() };
            self.segments.push(Slot { segment, sent_ns: now_ns });
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }

    /// The segments that were never sent.
    pub fn take_unsent(&mut self) -> Vec<Segment> {
        let from = std::mem::replace(&mut self.sent, self.segments.len());
        self.segments[from..].iter().map(|one| one.segment.clone()).collect()
    }

    /// Segments to resend at `now_ns`, the first missing ones: they were sent before the beat of
    /// `beat_ns`, and the coordinator did not have them when it replied to that beat.
    pub fn missing(&mut self, now_ns: u64, beat_ns: u64, have: &Have) -> Vec<Segment> {
        let is_missing = |one: &&mut Slot| one.sent_ns < beat_ns && !have.has(one.segment.sequence);
        // Another coordinator than before may have fewer, so nothing is remembered here.
        let from = (have.up_to as usize).min(self.sent);
        let missing = self.segments[from..self.sent].iter_mut().filter(is_missing);
        let again = missing.take(Self::AGAIN).map(|one| {
            one.sent_ns = now_ns;
            one.segment.clone()
        });
        again.collect()
    }

    /// The complete results, once nothing more is added.
    pub fn last(&self, lapsed: bool) -> Final {
        Final { segments: self.count(), digest: self.hasher.digest(), lapsed }
    }

    /// How many segments there are.
    pub fn count(&self) -> u32 {
        self.segments.len() as u32
    }

    /// How many bytes they have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
