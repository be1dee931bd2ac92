//! Receives one agent's results: each segment counts once, in order.
//!
//! Segments arrive in any order, twice, or not at all. Up to [`Inbox::WINDOW`] of them wait for those
//! before them; a segment beyond that is dropped and resent later. A complete item is passed on at once,
//! so memory does not grow with the length of the run.

use std::collections::BTreeMap;

use crate::identity::Hasher;
use crate::message::{Ends, Final, Have, Segment};

/// A complete result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An interval, as bytes.
    Interval(Vec<u8>),
    /// The record without intervals, as bytes.
    Record(Vec<u8>),
}

/// Why an agent's results cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// An item is too large.
    #[error("an item has more than {} bytes", Inbox::ITEM_BYTES)]
    Size,
    /// A segment follows the end.
    #[error("a segment follows the end of its results")]
    BehindEnd,
    /// Their digest is not the agent's.
    #[error("its results do not have the digest that it sent")]
    Digest,
}

/// One agent's results, as far as they have arrived.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Segments that arrived ahead of earlier ones.
    waiting: BTreeMap<u32, Segment>,
    /// The next segment.
    next: u32,
    /// The beginning of an incomplete item.
    part: Vec<u8>,
    items: u32,
    hasher: Hasher,
    has_record: bool,
}

impl Inbox {
    /// The most segments that wait.
    pub const WINDOW: u32 = 64;
    /// The most bytes of an item.
    pub const ITEM_BYTES: usize = 16 << 20;

    /// Takes a segment, and passes the items that it completes to `complete`, in order. There may be
    /// `most` items for now; a segment of a later one waits.
    pub fn take(
        &mut self,
        segment: Segment,
        most: u32,
        complete: &mut dyn FnMut(Item),
    ) -> Result<(), ItemError> {
        let window = self.next..self.next.saturating_add(Self::WINDOW);
        if window.contains(&segment.sequence) {
            self.waiting.entry(segment.sequence).or_insert(segment);
        }
        self.go_on(most, complete)
    }

    /// Continues with segments that waited.
    pub fn go_on(&mut self, most: u32, complete: &mut dyn FnMut(Item)) -> Result<(), ItemError> {
        while self.items < most {
            let Some(segment) = self.waiting.remove(&self.next) else { break };
            if self.has_record {
                return Err(ItemError::BehindEnd);
            }
            self.next += 1;
            self.hasher.update(&segment.bytes);
            if self.part.len() + segment.bytes.len() > Self::ITEM_BYTES {
                return Err(ItemError::Size);
            }
            self.part.extend_from_slice(&segment.bytes);
            let item = match segment.ends {
                Ends::Nothing => continue,
                Ends::Interval => Item::Interval,
                Ends::Record => Item::Record,
            };
            self.has_record = segment.ends == Ends::Record;
            self.items += 1;
            complete(item(std::mem::take(&mut self.part)));
        }
        Ok(())
    }

    /// Whether all results are here, as they were sent; false if some are missing.
    pub fn is_complete(&self, last: &Final) -> Result<bool, ItemError> {
        match self.has_record {
            false => Ok(false),
            true if self.next != last.segments => Err(ItemError::BehindEnd),
            true if self.hasher.digest() != last.digest => Err(ItemError::Digest),
            true => Ok(true),
        }
    }

    /// The segments that have arrived.
    pub fn have(&self) -> Have {
        let mut beyond: Vec<(u32, u32)> = Vec::new();
        for &sequence in self.waiting.keys() {
            let ranges = beyond.len();
            match beyond.last_mut() {
                Some((_, end)) if *end == sequence => *end += 1,
                _ if ranges == Have::MOST => break,
                _ => beyond.push((sequence, sequence + 1)),
            }
        }
        Have { up_to: self.next, beyond }
    }

    /// Whether the next segment is waiting for its turn.
    pub fn is_waiting(&self) -> bool {
        self.waiting.contains_key(&self.next)
    }

    /// The number of complete items.
    pub fn items(&self) -> u32 {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Outbox;
    use proptest::prelude::*;

    fn segment(sequence: u32, ends: Ends, bytes: &[u8]) -> Segment {
        Segment { sequence, ends, bytes: bytes.to_vec() }
    }

    proptest! {
        /// With loss, duplicates and another order: each item arrives once, in order, and none is
        /// missing in the end.
        #[test]
        fn every_item_counts_once(
            sizes in prop::collection::vec(0usize..200_000, 1..30),
            chances in prop::collection::vec(0u8..8, 1..400),
        ) {
            let items: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(at, size)| vec![at as u8; *size]).collect();
            let (mut outbox, mut inbox, mut came) = (Outbox::default(), Inbox::default(), Vec::new());
            for item in &items {
                outbox.push(0, Ends::Interval, item);
            }
            outbox.push(0, Ends::Record, b"record");
            let all: Vec<Segment> = outbox.take_unsent();
            let mut chances = chances.iter().copied().cycle();
            for round in 1u64.. {
                prop_assert!(round < 4000, "it does not end");
                let mut wave = if round == 1 { all.clone() } else { outbox.missing(round, round, &inbox.have()) };
                for at in 0..wave.len() {
                    let other = usize::from(chances.next().unwrap()) % wave.len();
                    wave.swap(at, other);
                }
                for one in wave {
                    for _ in 0..[0, 1, 1, 2][usize::from(chances.next().unwrap()) % 4] {
                        inbox.take(one.clone(), u32::MAX, &mut |item| came.push(item)).unwrap();
                    }
                }
                prop_assert!(inbox.waiting.len() <= Inbox::WINDOW as usize);
                prop_assert!(inbox.waiting.keys().all(|sequence| *sequence > inbox.next));
                if inbox.is_complete(&outbox.last(false)).unwrap() {
                    break;
                }
                // Chances that never let anything through do not count.
                if round % 50 == 0 { chances.next(); }
                if round > 200 {
                    for one in outbox.missing(u64::MAX, u64::MAX, &inbox.have()) {
                        inbox.take(one, u32::MAX, &mut |item| came.push(item)).unwrap();
                    }
                }
            }
            let expected: Vec<Item> = items.into_iter().map(Item::Interval).chain([Item::Record(b"record".to_vec())]).collect();
            prop_assert_eq!(came, expected);
        }
    }

    #[test]
    fn items_beyond_the_limit_wait() {
        let (mut inbox, mut came) = (Inbox::default(), 0);
        for sequence in 0..10 {
            inbox.take(segment(sequence, Ends::Interval, b"x"), 4, &mut |_| came += 1).unwrap();
        }
        assert_eq!(
            (came, inbox.items(), inbox.have()),
            (4, 4, Have { up_to: 4, beyond: vec![(4, 10)] })
        );
        inbox.go_on(7, &mut |_| came += 1).unwrap();
        assert_eq!(came, 7);
        // A segment far ahead is not kept.
        inbox
            .take(segment(7 + Inbox::WINDOW, Ends::Interval, b"x"), 7, &mut |_| came += 1)
            .unwrap();
        assert_eq!(inbox.have().beyond, [(7, 10)]);
    }

    #[test]
    fn results_that_differ_from_those_sent_are_refused() {
        let mut outbox = Outbox::default();
        outbox.push(0, Ends::Interval, b"interval");
        outbox.push(0, Ends::Record, b"record");
        let sent = outbox.take_unsent();
        let mut inbox = Inbox::default();
        inbox.take(segment(0, Ends::Interval, b"another!"), 9, &mut |_| {}).unwrap();
        assert_eq!(inbox.is_complete(&outbox.last(false)), Ok(false));
        inbox.take(sent[1].clone(), 9, &mut |_| {}).unwrap();
        assert_eq!(inbox.is_complete(&outbox.last(false)), Err(ItemError::Digest));
        // The right bytes in another number of segments.
        let mut whole = Inbox::default();
        sent.iter().for_each(|one| whole.take(one.clone(), 9, &mut |_| {}).unwrap());
        let last = outbox.last(false);
        assert_eq!(whole.is_complete(&last), Ok(true));
        for segments in [1, 3] {
            let other = Final { segments, ..last };
            assert_eq!(whole.is_complete(&other), Err(ItemError::BehindEnd));
        }
        let behind = inbox.take(segment(2, Ends::Interval, b"more"), 9, &mut |_| {});
        assert_eq!(behind, Err(ItemError::BehindEnd));
        let mut inbox = Inbox::default();
        let piece = vec![0; crate::codec::PIECE_BYTES];
        let refused = (0..).find_map(|sequence| {
            inbox.take(segment(sequence, Ends::Nothing, &piece), 9, &mut |_| {}).err()
        });
        assert_eq!(refused, Some(ItemError::Size));
    }
}
