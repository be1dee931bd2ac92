//! A latency histogram: HdrHistogram's buckets, with exact minimum, maximum and sum.
//!
//! Range 1 ns to 1 h with 1 to 5 significant digits. A value above the range is counted as out of
//! range and recorded at the range's end, so percentiles include every sample. Zero is a legal
//! value (no queue wait at all).
//!
//! Recording is our own code, because it happens five times per request and the library's does
//! bookkeeping that Candor does not need. Encoding and everything else that happens once a run uses
//! the library ([`Histogram::hdr`]), which is also the oracle in the tests.

mod encoded;
mod packed;
mod places;

use std::ops::Range;

use candor_stats::Quantile;
use hdrhistogram::Histogram as Hdr;

pub use encoded::{Encoded, EncodingError};
pub use packed::Buckets;
pub use places::{Exact, PlacesError};
use serde::{Deserialize, Serialize};

use crate::add;

/// The highest value with a place of its own: one hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Distribution of durations in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    layout: Layout,
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    out_of_range: u64,
}

/// HdrHistogram's layout: values below 2^(h+1) have a place each, and every doubling above that is
/// divided into 2^h places, where 2^(h+1) is the smallest power of two not below 2·10^digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub(crate) struct Layout {
    /// h.
    half_bits: u32,
    /// 2^(h+1) − 1: values up to this one are in the first bucket.
    first: u64,
    digits: u8,
}

impl Layout {
    pub(crate) fn new(digits: u8) -> Self {
        let digits = digits.clamp(1, 5);
        let whole = (2 * 10u64.pow(u32::from(digits))).next_power_of_two();
        Layout { half_bits: whole.trailing_zeros() - 1, first: whole - 1, digits }
    }

    /// How many places there are.
    pub(crate) fn places(self) -> usize {
        self.index(HIGHEST_NS) + 1
    }

    /// The place of a value.
    #[inline]
    pub(crate) fn index(self, value: u64) -> usize {
        // The number of doublings above the first bucket.
        let bucket = 63 - self.half_bits - (value | self.first).leading_zeros();
        ((u64::from(bucket) << self.half_bits) + (value >> bucket)) as usize
    }

    /// The lowest value of a place, and the number of its values.
    fn values(self, index: usize) -> (u64, u64) {
        let index = index as u64;
        let bucket = (index >> self.half_bits).saturating_sub(1);
        ((index - (bucket << self.half_bits)) << bucket, 1 << bucket)
    }
}

impl TryFrom<u8> for Layout {
    type Error = &'static str;

    fn try_from(digits: u8) -> Result<Self, Self::Error> {
        let layout = Layout::new(digits);
        (layout.digits == digits).then_some(layout).ok_or("a histogram has 1 to 5 digits")
    }
}

impl From<Layout> for u8 {
    fn from(layout: Layout) -> u8 {
        layout.digits
    }
}

impl Histogram {
    /// An empty histogram with `digits` significant decimal digits, 1 to 5.
    pub fn new(digits: u8) -> Self {
        let layout = Layout::new(digits);
        Histogram {
            layout,
            counts: vec![0; layout.places()].into(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            out_of_range: 0,
        }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        match self.counts.get_mut(self.layout.index(value_ns)) {
            Some(count) => *count += 1,
            None => self.record_beyond(1),
        }
    }

    /// Counts `samples` durations that share a place, spread evenly from `low_ns` to `high_ns`; the
    /// sum is exact but for the rounding of their mean.
    pub(crate) fn record_alike(&mut self, (low_ns, high_ns): (u64, u64), samples: u64) {
        self.count += samples;
        self.sum_ns += (u128::from(low_ns) + u128::from(high_ns)) * u128::from(samples) / 2;
        self.min_ns = self.min_ns.min(low_ns);
        self.max_ns = self.max_ns.max(high_ns);
        match self.counts.get_mut(self.layout.index(high_ns)) {
            Some(count) => *count += samples,
            None => self.record_beyond(samples),
        }
    }

    /// The lowest value in the same place as `value_ns`.
    pub(crate) fn lowest_alike(&self, value_ns: u64) -> u64 {
        self.layout.values(self.layout.index(value_ns)).0
    }

    #[cold]
    fn record_beyond(&mut self, samples: u64) {
        self.out_of_range += samples;
        if let Some(last) = self.counts.last_mut() {
            *last += samples;
        }
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The smallest sample, exactly; `None` without samples.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The largest sample, exactly; `None` without samples.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean, exactly; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The standard deviation, to the histogram's precision.
    pub fn stdev_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.hdr().stdev())
    }

    /// Sum of all samples, exactly.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Samples above [`HIGHEST_NS`] and outside of its place.
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The value at a quantile, never outside of the exact extremes: the highest value of the place
    /// of the sample with its rank. `None` without samples.
    pub fn quantile_ns(&self, q: Quantile) -> Option<u64> {
        let wanted = q.rank(self.count);
        let mut seen = 0;
        let (index, _) = self.filled().find(|(_, count)| {
            seen += count;
            seen >= wanted
        })?;
        let (low, width) = self.layout.values(index as usize);
        Some((low + width - 1).clamp(self.min_ns, self.max_ns))
    }

    /// Adds all samples of `other`, which has the same number of digits.
    pub fn merge(&mut self, other: &Histogram) {
        debug_assert_eq!(self.layout, other.layout, "histograms of one run share their digits");
        let used = other.used();
        for (count, more) in self.counts[used.clone()].iter_mut().zip(&other.counts[used]) {
            add(count, *more);
        }
        add(&mut self.count, other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        add(&mut self.out_of_range, other.out_of_range);
    }

    /// The samples that are not in `part`, whose samples are all in this one. Count and sum are exact; an extreme is
    /// exact unless it is also that of `part`, and otherwise an end of its place.
    pub fn without(&self, part: &Histogram) -> Histogram {
        debug_assert_eq!(self.layout, part.layout, "histograms of one run share their digits");
        let mut rest = Histogram { count: 0, ..self.clone() };
        for (left, taken) in rest.counts.iter_mut().zip(&part.counts) {
            *left = left.saturating_sub(*taken);
            add(&mut rest.count, *left);
        }
        let place = |at: Option<usize>| at.map(|index| self.layout.values(index));
        let first = place(rest.counts.iter().position(|count| *count > 0));
        let last = place(rest.counts.iter().rposition(|count| *count > 0));
        let (Some((low_ns, _)), Some((from_ns, width))) = (first, last) else {
            return Histogram::new(self.layout.digits);
        };
        if part.min_ns <= self.min_ns {
            rest.min_ns = low_ns.clamp(self.min_ns, self.max_ns);
        }
        if part.max_ns >= self.max_ns {
            rest.max_ns = (from_ns + width - 1).clamp(self.min_ns, self.max_ns);
        }
        rest.sum_ns = self.sum_ns.saturating_sub(part.sum_ns);
        rest.out_of_range = self.out_of_range.saturating_sub(part.out_of_range);
        rest
    }

    /// Empties it, keeping the memory.
    pub fn clear(&mut self) {
        let used = self.used();
        self.counts[used].fill(0);
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.out_of_range = 0;
    }

    /// The non-empty places, ascending: the lowest value of each and its samples.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.filled().map(|(index, count)| (self.layout.values(index as usize).0, count))
    }

    /// The non-empty places, ascending: the highest value of each and its samples.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.filled().map(|(index, count)| {
            let (low, width) = self.layout.values(index as usize);
            (low + width - 1, count)
        })
    }

    /// The non-empty places, ascending, and their samples.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.used();
        let places = (used.start as u64..).zip(&self.counts[used]);
        places.filter(|(_, count)| **count > 0).map(|(index, count)| (index, *count))
    }

    /// From the place of the smallest sample to that of the largest. Loops over a histogram stay in
    /// this range: it is mostly small, and the system allocates no memory for pages that are never
    /// touched.
    fn used(&self) -> Range<usize> {
        if self.is_empty() {
            return 0..0;
        }
        let place = |value_ns| self.layout.index(value_ns).min(self.counts.len() - 1);
        place(self.min_ns)..place(self.max_ns) + 1
    }

    /// The layout of the places.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The same as a histogram of the library, for iteration and encoding.
    pub fn hdr(&self) -> Hdr<u64> {
        let mut hdr = Hdr::new_with_bounds(1, HIGHEST_NS, self.layout.digits)
            .expect("bounds are constant and valid for 1 to 5 digits");
        for (value_ns, count) in self.recorded() {
            hdr.saturating_record_n(value_ns, count);
        }
        hdr
    }
}

/// The highest value of the place of the sample with this rank, from 1, in a histogram of the library. Its own
/// quantiles are numbers in floating point, which may be a rank off.
pub fn value_at_rank(hdr: &Hdr<u64>, rank: u64) -> u64 {
    // The library rounds up to the next rank, so the middle between two is always rounded right.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that knows how the library rounds"
    )]
    hdr.value_at_quantile((rank as f64 - 0.5) / hdr.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_equals_concatenating() {
        let (mut a, mut b, mut both) = (Histogram::new(3), Histogram::new(3), Histogram::new(3));
        for i in 0..10_000u64 {
            let value = i * i * 37 % 5_000_000_000;
            if i % 3 == 0 {
                a.record(value)
            } else {
                b.record(value)
            }
            both.record(value);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn it_is_the_librarys_histogram() {
        for digits in 1..=5 {
            let mut ours = Histogram::new(digits);
            let mut theirs = Hdr::<u64>::new_with_bounds(1, HIGHEST_NS, digits).unwrap();
            let edges = (0..42).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1 << bit) + 1]);
            let spread = (0..20_000u64).map(|i| i * i * i * 7_919 % HIGHEST_NS);
            for value in edges.filter(|value| *value <= HIGHEST_NS).chain(spread).chain([0, 0]) {
                ours.record(value);
                theirs.record(value).unwrap();
            }
            let counts = |hdr: &Hdr<u64>| -> Vec<(u64, u64)> {
                hdr.iter_recorded()
                    .map(|one| (one.value_iterated_to(), one.count_at_value()))
                    .collect()
            };
            assert_eq!(counts(&ours.hdr()), counts(&theirs), "{digits} digits");
            assert_eq!(ours.count(), theirs.len());
            for q in [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0] {
                let q = Quantile::nearest(q);
                let wanted = value_at_rank(&theirs, q.rank(theirs.len()));
                let wanted = wanted.clamp(ours.min_ns, ours.max_ns);
                assert_eq!(ours.quantile_ns(q), Some(wanted), "{digits} digits, {q}");
            }
        }
    }

    /// Every printed percentile of 1, 2, …, n, which have a place each.
    #[test]
    fn percentiles_are_those_of_a_sorted_list_for_every_number_of_samples() {
        let mut ours = Histogram::new(4);
        let mut theirs = Hdr::<u64>::new_with_bounds(1, HIGHEST_NS, 4).unwrap();
        for n in 1..=10_000u64 {
            ours.record(n);
            theirs.record(n).unwrap();
            // The library looks at all its places each time: all numbers near a round one, and some others.
            let is_checked = n % 500 < 3 || n % 37 == 0 || n <= 1_001;
            for per_100k in [10_000, 50_000, 75_000, 90_000, 95_000, 99_000, 99_900, 99_990, 99_999]
            {
                let q = Quantile::new(per_100k, 100_000);
                let rank = (n * per_100k).div_ceil(100_000);
                assert_eq!(ours.quantile_ns(q), Some(rank), "{q} of {n}");
                if is_checked {
                    assert_eq!(value_at_rank(&theirs, rank), rank, "{q} of {n}");
                }
            }
        }
    }

    #[test]
    fn what_is_taken_out_is_as_if_it_had_never_been_in() {
        let (mut all, mut part, mut rest) =
            (Histogram::new(3), Histogram::new(3), Histogram::new(3));
        for i in 0..10_000u64 {
            let value = 1_000 + i * i * 37 % 5_000_000_000;
            all.record(value);
            if i % 7 == 3 { part.record(value) } else { rest.record(value) }
        }
        // The extremes are of the rest.
        for value in [5, 1 << 41, HIGHEST_NS * 2] {
            all.record(value);
            rest.record(value);
        }
        assert_eq!(all.without(&part), rest);
        assert_eq!(all.without(&Histogram::new(3)), all);
        assert_eq!(all.without(&all), Histogram::new(3));
        // They are of the part: the rest's are known to the precision of a place.
        let left = all.without(&rest);
        assert_eq!((left.count, left.sum_ns), (part.count, part.sum_ns));
        assert!(left.filled().eq(part.filled()));
        for (left_ns, part_ns) in [(left.min_ns, part.min_ns), (left.max_ns, part.max_ns)] {
            assert_eq!(all.layout.index(left_ns), all.layout.index(part_ns));
        }
        assert!(left.min_ns <= part.min_ns && left.max_ns >= part.max_ns);
        // More than there is, from outside.
        let mut more = Histogram::new(3);
        more.merge(&part);
        more.merge(&part);
        assert!(part.without(&more).is_empty());
    }

    #[test]
    fn a_histogram_that_was_cleared_is_a_new_one() {
        for values in [&[0][..], &[7, 900_000], &[HIGHEST_NS], &[3, HIGHEST_NS * 4], &[u64::MAX]] {
            let mut used = Histogram::new(3);
            values.iter().for_each(|&value| used.record(value));
            let mut merged = Histogram::new(3);
            merged.merge(&used);
            assert_eq!(merged, used, "{values:?}");
            assert_eq!(merged.filled().map(|(_, count)| count).sum::<u64>(), used.count());
            used.clear();
            assert_eq!(used, Histogram::new(3), "{values:?}");
        }
    }

    #[test]
    fn out_of_range_is_counted_and_kept() {
        let mut h = Histogram::new(3);
        h.record(5);
        h.record(HIGHEST_NS * 2);
        assert_eq!((h.count(), h.out_of_range()), (2, 1));
        assert_eq!(h.max_ns(), Some(HIGHEST_NS * 2));
        assert!(h.quantile_ns(Quantile::new(1, 1)).unwrap() >= HIGHEST_NS);
    }

    #[test]
    fn percentiles_stay_within_the_extremes() {
        let mut h = Histogram::new(1);
        for value in [1_049_000, 1_049_001, 1_049_002] {
            h.record(value);
        }
        for q in [0.0, 0.5, 0.99, 1.0].map(Quantile::nearest) {
            let value = h.quantile_ns(q).unwrap();
            assert!((1_049_000..=1_049_002).contains(&value), "{q}: {value}");
        }
    }

    #[test]
    fn zero_is_a_value() {
        let mut h = Histogram::new(3);
        h.record(0);
        h.record(0);
        h.record(1000);
        assert_eq!(h.quantile_ns(Quantile::P50), Some(0));
        assert_eq!(h.count(), 3);
    }
}
