//! The run in batches: how the latencies were spread over time, coarsely and in bounded memory.
//!
//! Samples of one stretch of time resemble each other, so how much figures of batches scatter
//! tells what samples are worth (crate stats judges it). Batches are filled interval by interval
//! as the collector settles them, off the engine threads. When there are too many, neighbours are
//! joined; so memory does not depend on the length of the run.

use crate::histogram::{Histogram, Latencies, Layout};
use crate::interval::Interval;

/// When there are so many batches, neighbours are joined.
const MOST: usize = 60;

/// A distribution as its buckets that hold something.
///
/// There are hundreds of these at a time, of thousands of buckets each, so they are packed ([`Packer`]):
/// mostly into one byte a bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    count: u64,
    layout: Layout,
    packed: Box<[u8]>,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { count: 0, layout: Layout::new(3), packed: Box::default() }
    }
}

impl Buckets {
    fn of(histogram: &Histogram) -> Self {
        let mut packer = Packer::default();
        histogram.filled().for_each(|(place, samples)| packer.add(place, samples));
        let (count, layout) = (histogram.count(), histogram.layout());
        Buckets { count, layout, packed: packer.finish() }
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Samples in the bucket of `value_ns` and below.
    pub fn at_or_below(&self, value_ns: u64) -> u64 {
        let last = self.layout.index(value_ns) as u64;
        self.unpacked().take_while(|(place, _)| *place <= last).map(|(_, samples)| samples).sum()
    }

    /// The places that hold something and their samples, ascending.
    fn unpacked(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut rest = &self.packed[..];
        let mut next = 0;
        std::iter::from_fn(move || {
            let (&both, behind) = rest.split_first()?;
            rest = behind;
            let mut number = |part: u64, most: u64| match part == most {
                true => Some(most + take_number(&mut rest)?),
                false => Some(part),
            };
            let place = next + number(u64::from(both >> SAMPLE_BITS), MOST_SKIPPED)?;
            let samples = 1 + number(u64::from(both) & MOST_MORE, MOST_MORE)?;
            next = place + 1;
            Some((place, samples))
        })
    }

    fn merge(&mut self, other: &Buckets) {
        let mut packer = Packer::default();
        let (mut mine, mut theirs) = (self.unpacked().peekable(), other.unpacked().peekable());
        loop {
            let (a, b) = (mine.peek().copied(), theirs.peek().copied());
            let place = match (a, b) {
                (Some((a, _)), Some((b, _))) => a.min(b),
                (Some((only, _)), None) | (None, Some((only, _))) => only,
                (None, None) => break,
            };
            let of_place = |next: &(u64, u64)| next.0 == place;
            let samples = [mine.next_if(of_place), theirs.next_if(of_place)];
            packer.add(place, samples.iter().flatten().map(|(_, samples)| samples).sum());
        }
        drop((mine, theirs));
        self.packed = packer.finish();
        self.count += other.count;
    }
}

/// Bits of the first byte of a bucket that are for its samples.
const SAMPLE_BITS: u32 = 5;
/// The first byte has place for one sample and less than this more.
const MOST_MORE: u64 = (1 << SAMPLE_BITS) - 1;
/// And for less than this many empty places skipped.
const MOST_SKIPPED: u64 = (1 << (u8::BITS - SAMPLE_BITS)) - 1;

/// Packs buckets, in ascending order.
///
/// The first byte of a bucket has how many empty places come before it and how many samples it has
/// beyond the first. Where one of them is too much, its part has the most that it can and what
/// is beyond that follows, the empty places first ([`put_number`]).
#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
    /// Behind the last bucket.
    next: u64,
}

impl Packer {
    fn add(&mut self, place: u64, samples: u64) {
        let (skipped, more) = (place - self.next, samples - 1);
        let both = skipped.min(MOST_SKIPPED) << SAMPLE_BITS | more.min(MOST_MORE);
        self.bytes.push(both as u8);
        for beyond in [skipped.checked_sub(MOST_SKIPPED), more.checked_sub(MOST_MORE)] {
            beyond.into_iter().for_each(|beyond| put_number(&mut self.bytes, beyond));
        }
        self.next = place + 1;
    }

    fn finish(self) -> Box<[u8]> {
        self.bytes.into()
    }
}

/// Seven bits to a byte, the lowest first; the last byte has its highest bit clear.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The number at the front; `None`: there is none.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
}

/// The latencies of one stretch of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Beginning, from the beginning of the run.
    pub start_ns: u64,
    /// due → done.
    pub response: Buckets,
    /// due → ready.
    pub queue_wait: Buckets,
    /// ready → sent.
    pub send_lag: Buckets,
    /// sent → done.
    pub service: Buckets,
    /// sent → first byte.
    pub first_byte: Buckets,
}

impl Batch {
    fn of(start_ns: u64, latencies: &Latencies) -> Self {
        Batch {
            start_ns,
            response: Buckets::of(&latencies.response),
            queue_wait: Buckets::of(&latencies.queue_wait),
            send_lag: Buckets::of(&latencies.send_lag),
            service: Buckets::of(&latencies.service),
            first_byte: Buckets::of(&latencies.first_byte),
        }
    }

    /// Adds the batch that follows.
    pub fn merge(&mut self, later: &Batch) {
        self.response.merge(&later.response);
        self.queue_wait.merge(&later.queue_wait);
        self.send_lag.merge(&later.send_lag);
        self.service.merge(&later.service);
        self.first_byte.merge(&later.first_byte);
    }
}

/// Batches under construction.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    list: Vec<Batch>,
    /// Intervals in a batch, as a power of two.
    doublings: u32,
    /// Intervals in the last batch.
    in_last: u64,
}

impl Batches {
    /// Adds the next interval.
    pub(crate) fn push(&mut self, interval: &Interval) {
        let one = Batch::of(interval.start_ns, &interval.latencies);
        match self.list.last_mut() {
            Some(last) if self.in_last < 1 << self.doublings => {
                last.merge(&one);
                self.in_last += 1;
            }
            _ => {
                if self.list.len() == MOST {
                    self.halve();
                }
                self.list.push(one);
                self.in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        let mut all = std::mem::take(&mut self.list).into_iter();
        while let Some(mut first) = all.next() {
            if let Some(second) = all.next() {
                first.merge(&second);
            }
            self.list.push(first);
        }
        self.doublings += 1;
    }

    pub(crate) fn finish(self) -> Vec<Batch> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_packed_and_found_again() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put_number(&mut bytes, *number));
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 3 + 5 + 10);
        let mut rest = &bytes[..];
        let found: Vec<_> = std::iter::from_fn(|| take_number(&mut rest)).collect();
        assert_eq!(found, numbers);
    }

    #[test]
    fn packed_buckets_are_those_of_the_histogram_whatever_its_digits() {
        for digits in 1..=5 {
            let [mut one, mut other, mut both] = [(); 3].map(|()| Histogram::new(digits));
            for k in 0..5_000u64 {
                let value_ns = (k * k * 7_919) % 3_000_000_000;
                if k % 3 == 0 { &mut one } else { &mut other }.record(value_ns);
                both.record(value_ns);
            }
            let mut joined = Buckets::of(&one);
            joined.merge(&Buckets::of(&other));
            assert_eq!(joined, Buckets::of(&both));
            assert!(joined.unpacked().eq(both.filled()));
            joined.merge(&Buckets::of(&Histogram::new(digits)));
            assert_eq!(joined, Buckets::of(&both));
            assert_eq!(joined.at_or_below(u64::MAX), 5_000);
        }
    }

    #[test]
    fn skipped_places_and_samples_of_any_number_are_packed_and_found_again() {
        let numbers = || (0..80).chain([127, 128, 159, 160, 1 << 14, 1 << 32]);
        let buckets: Vec<_> = numbers()
            .flat_map(|skipped| numbers().map(move |more| (skipped, more + 1)))
            .scan(0, |next, (skipped, samples)| {
                let place = *next + skipped;
                *next = place + 1;
                Some((place, samples))
            })
            .collect();
        let mut packer = Packer::default();
        buckets.iter().for_each(|&(place, samples)| packer.add(place, samples));
        let packed = Buckets { packed: packer.finish(), ..Buckets::default() };
        assert_eq!(packed.unpacked().collect::<Vec<_>>(), buckets);
    }

    #[test]
    fn a_bucket_is_mostly_one_byte() {
        let mut histogram = Histogram::new(3);
        (0..31).for_each(|_| (0..100).for_each(|value| histogram.record(value * 7)));
        assert_eq!(Buckets::of(&histogram).packed.len(), 100);
    }

    #[test]
    fn batches_are_few_and_hold_every_sample() {
        for intervals in [1u64, 59, 60, 61, 120, 121, 1000] {
            let mut batches = Batches::default();
            let mut whole = Histogram::new(3);
            let mut interval = Interval::new(3, 1);
            for i in 0..intervals {
                interval.clear();
                interval.start_ns = i * 1000;
                for k in 0..5 {
                    let value = (i * 31 + k) * 977 % 100_000;
                    interval.latencies.response.record(value);
                    whole.record(value);
                }
                batches.push(&interval);
            }
            let batches = batches.finish();
            assert!(batches.len() <= MOST, "{intervals}: {}", batches.len());
            assert!(batches.is_sorted_by_key(|batch| batch.start_ns));
            let count: u64 = batches.iter().map(|batch| batch.response.count()).sum();
            assert_eq!(count, intervals * 5);
            for value in [0, 500, 40_000, 200_000] {
                let below: u64 = batches.iter().map(|one| one.response.at_or_below(value)).sum();
                assert_eq!(below, whole.hdr().count_between(0, value), "{intervals} {value}");
            }
        }
    }
}
