//! An agent's results: segments, which are kept until the run is settled.
//!
//! That a coordinator has a segment is no reason to forget it: the coordinator may die, and the
//! result is then made anew from what the agents keep.

use crate::codec::PIECE_BYTES;
use crate::message::{Ends, Final, Hasher, Have, Segment};

/// The segments of one run.
#[derive(Debug, Default)]
pub struct Outbox {
    segments: Vec<Slot>,
    /// Segments below were sent at least once.
    sent: usize,
    /// The coordinator has the segments below.
    settled: usize,
    bytes: u64,
    hasher: Hasher,
}

#[derive(Debug)]
struct Slot {
    segment: Segment,
    sent_ns: u64,
}

impl Outbox {
    /// Segments that are sent again at once, at most.
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

    /// Segments that were never sent.
    pub fn take_unsent(&mut self) -> Vec<Segment> {
        let from = std::mem::replace(&mut self.sent, self.segments.len());
        self.segments[from..].iter().map(|one| one.segment.clone()).collect()
    }

    /// Segments to send again at `now_ns`: the coordinator had not got them when it answered the beat
    /// that was sent at `beat_ns`, before which they had been sent. Those before all others, and not
    /// all at once.
    pub fn missing(&mut self, now_ns: u64, beat_ns: u64, have: &Have) -> Vec<Segment> {
        self.settled = self.settled.max(have.up_to as usize).min(self.segments.len());
        let is_missing = |one: &&mut Slot| one.sent_ns < beat_ns && !have.has(one.segment.sequence);
        let sent = self.sent.max(self.settled);
        let missing = self.segments[self.settled..sent].iter_mut().filter(is_missing);
        let again = missing.take(Self::AGAIN).map(|one| {
            one.sent_ns = now_ns;
            one.segment.clone()
        });
        again.collect()
    }

    /// What the coordinator has to have, once nothing more comes.
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
