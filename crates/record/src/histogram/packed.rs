//! Packed histograms: only the non-empty buckets, mostly in one byte each.
//!
//! A run keeps hundreds of histograms with thousands of buckets each, and every histogram that
//! leaves the process has this form. Bytes from outside are untrusted: they are checked before they
//! become a value, and their claims allocate nothing.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Histogram, Layout};
use crate::add;

/// A distribution as its non-empty buckets.
///
/// [`Packer`] defines the packing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Buckets {
    count: u64,
    layout: Layout,
    packed: Box<[u8]>,
}

/// Buckets from outside, not checked yet.
#[derive(Deserialize)]
struct Unchecked {
    count: u64,
    layout: Layout,
    packed: Box<[u8]>,
}

impl TryFrom<Unchecked> for Buckets {
    type Error = &'static str;

    fn try_from(Unchecked { count, layout, packed }: Unchecked) -> Result<Self, Self::Error> {
        let buckets = Buckets { count, layout, packed };
        let places = layout.places() as u64;
        let mut unpacked = buckets.unpacked();
        let sum = unpacked.try_fold(0u64, |sum, (place, samples)| match place < places {
            true => sum.checked_add(samples),
            false => None,
        });
        match unpacked.rest.is_empty() && sum == Some(count) {
            true => Ok(buckets),
            false => Err("the buckets of a histogram are damaged"),
        }
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { count: 0, layout: Layout::new(3), packed: Box::default() }
    }
}

impl Buckets {
    /// The buckets of a histogram.
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let mut packer = Packer::default();
        histogram.filled().for_each(|(place, samples)| packer.add(place, samples));
        let (count, layout) = (histogram.count(), histogram.layout());
        Buckets { count, layout, packed: packer.finish() }
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Samples in the bucket of `value_ns` and in lower ones.
    pub fn at_or_below(&self, value_ns: u64) -> u64 {
        let last = self.layout.index(value_ns) as u64;
        self.unpacked().take_while(|(place, _)| *place <= last).map(|(_, samples)| samples).sum()
    }

    /// The non-empty places and their samples, ascending.
    fn unpacked(&self) -> Unpacked<'_> {
        Unpacked { rest: &self.packed, next: 0 }
    }

    /// Adds all samples of `other`, which has the same layout.
    pub(crate) fn merge(&mut self, other: &Buckets) {
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
            let samples = samples.iter().flatten();
            let sum = samples.fold(0u64, |sum, (_, samples)| sum.saturating_add(*samples));
            packer.add(place, sum);
        }
        drop((mine, theirs));
        self.packed = packer.finish();
        add(&mut self.count, other.count);
    }
}

/// Iterates over packed buckets; ends at invalid bytes.
struct Unpacked<'a> {
    rest: &'a [u8],
    /// The place after the last bucket.
    next: u64,
}

impl Unpacked<'_> {
    fn number(&mut self, part: u64, most: u64) -> Option<u64> {
        match part == most {
            true => most.checked_add(take_number(&mut self.rest)?),
            false => Some(part),
        }
    }
}

impl Iterator for Unpacked<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let (&both, rest) = self.rest.split_first()?;
        self.rest = rest;
        let skipped = self.number(u64::from(both >> SAMPLE_BITS), MOST_SKIPPED)?;
        let more = self.number(u64::from(both) & MOST_MORE, MOST_MORE)?;
        let place = self.next.checked_add(skipped)?;
        self.next = place.checked_add(1)?;
        Some((place, more.checked_add(1)?))
    }
}

/// Bits of the first byte of a bucket that are for its samples.
const SAMPLE_BITS: u32 = 5;
/// The most samples beyond the first that the first byte can hold.
const MOST_MORE: u64 = (1 << SAMPLE_BITS) - 1;
/// The most skipped places that the first byte can hold.
const MOST_SKIPPED: u64 = (1 << (u8::BITS - SAMPLE_BITS)) - 1;

/// Packs buckets, in ascending order.
///
/// The first byte of a bucket has the number of empty places before it, and the number of its
/// samples beyond the first. If a number does not fit, its part has the highest value and the
/// excess follows, empty places first ([`put_number`]).
#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
    /// The place after the last bucket.
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

/// Appends a number, seven bits to a byte, lowest first; the highest bit of the last byte is clear.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes the number at the front; `None` if there is none, or if it has more than 64 bits.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    while shift < u64::BITS {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The serialised form of a histogram: its buckets and its exact figures.
#[derive(Serialize, Deserialize)]
struct Packed {
    buckets: Buckets,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    out_of_range: u64,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = Buckets::of(self);
        let Histogram { sum_ns, min_ns, max_ns, out_of_range, .. } = *self;
        Packed { buckets, sum_ns, min_ns, max_ns, out_of_range }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packed = Packed::deserialize(deserializer)?;
        Histogram::try_from(packed).map_err(D::Error::custom)
    }
}

impl TryFrom<Packed> for Histogram {
    type Error = &'static str;

    fn try_from(packed: Packed) -> Result<Self, Self::Error> {
        let Packed { buckets, sum_ns, min_ns, max_ns, out_of_range } = packed;
        let layout = buckets.layout;
        let mut histogram = Histogram::new(layout.digits);
        let (mut first, mut last) = (None, 0);
        for (place, samples) in buckets.unpacked() {
            histogram.counts[place as usize] = samples;
            first.get_or_insert(place as usize);
            last = place as usize;
        }
        let count = buckets.count;
        Histogram { count, sum_ns, min_ns, max_ns, out_of_range, ..histogram }
            .checked(first, last)
            .ok_or("the figures of a histogram contradict its buckets")
    }
}

impl Histogram {
    /// The histogram, if its exact figures agree with its outermost buckets, `first` and `last`.
    fn checked(self, first: Option<usize>, last: usize) -> Option<Self> {
        let Some(first) = first else {
            // No count was set, so there is nothing but these to look at.
            let exact = (self.count, self.sum_ns, self.min_ns, self.max_ns, self.out_of_range);
            return (exact == (0, 0, u64::MAX, 0, 0)).then_some(self);
        };
        let place = |value_ns| self.layout.index(value_ns).min(self.counts.len() - 1);
        let count = u128::from(self.count);
        // The sum of a u64 count of u64 values fits into u128.
        let within = count * u128::from(self.min_ns)..=count * u128::from(self.max_ns);
        let agrees = self.min_ns <= self.max_ns
            && (place(self.min_ns), place(self.max_ns)) == (first, last)
            && within.contains(&self.sum_ns)
            && self.out_of_range <= self.counts[self.counts.len() - 1]
            && (self.out_of_range > 0) == (self.layout.index(self.max_ns) >= self.counts.len());
        agrees.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::HIGHEST_NS;
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

    fn bytes(histogram: &Histogram) -> Vec<u8> {
        postcard::to_stdvec(histogram).unwrap()
    }

    #[test]
    fn a_histogram_comes_back_whole() {
        for digits in 1..=5 {
            for values in
                [&[][..], &[0], &[7, 900_000], &[3, HIGHEST_NS * 4], &[u64::MAX, u64::MAX]]
            {
                let mut histogram = Histogram::new(digits);
                values.iter().for_each(|&value| histogram.record(value));
                let back: Histogram = postcard::from_bytes(&bytes(&histogram)).unwrap();
                assert_eq!(back, histogram, "{digits} {values:?}");
            }
        }
    }

    #[test]
    fn a_bucket_beyond_the_last_is_refused() {
        let layout = Layout::new(3);
        for (place, is_right) in
            [(layout.places() as u64 - 1, true), (layout.places() as u64, false)]
        {
            let mut packer = Packer::default();
            packer.add(0, 1);
            packer.add(place, 1);
            // With the sample in the count, and without it.
            for count in [1, 2] {
                let packed = packer.bytes.clone().into();
                let buckets = Buckets::try_from(Unchecked { count, layout, packed });
                assert_eq!(buckets.is_ok(), is_right && count == 2, "{place} {count}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_histogram_are_refused() {
        let mut histogram = Histogram::new(3);
        (0..500u64).for_each(|i| histogram.record(i * i * 977));
        let good = bytes(&histogram);
        for at in 0..good.len() {
            for flip in [1u8, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                // An accepted histogram is consistent, so it can be merged and queried.
                if let Ok(other) = postcard::from_bytes::<Histogram>(&bad) {
                    assert!(other.quantile_ns(candor_stats::Quantile::P50).is_some(), "{at}");
                    let mut sum = Histogram::new(other.layout.digits);
                    sum.merge(&other);
                    assert_eq!(sum, other);
                }
            }
            assert!(postcard::from_bytes::<Histogram>(&good[..at]).is_err());
        }
    }
}
