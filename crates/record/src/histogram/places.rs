//! Histograms from outside, in the same layout: a driver of a client library recorded them, in
//! another language and another process.
//!
//! The numbers are untrusted: a value that is not the lowest of its place, or extremes and a sum
//! that these samples cannot have, are an error. An accepted histogram is equal to one that
//! recorded the samples itself.

use std::fmt;

use super::Histogram;

/// The exact figures of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The sum of all samples.
    pub sum_ns: u128,
}

/// Why numbers are not a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacesError {
    /// The first value is not the lowest one of its place, which is the second.
    NotLowest(u64, u64),
    /// This value is not above the one before.
    NotAscending(u64),
    /// There is no sample at this value.
    Empty(u64),
    /// The smallest or the largest sample is not in the first or the last place.
    Extremes,
    /// Samples in these places cannot have this sum.
    Sum,
    /// There are more samples than can be counted.
    TooMany,
}

impl fmt::Display for PlacesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacesError::NotLowest(value, lowest) => {
                write!(f, "{value} is not the lowest value of its bucket, which is {lowest}")
            }
            PlacesError::NotAscending(value) => {
                write!(f, "{value} is not above the value before it")
            }
            PlacesError::Empty(value) => write!(f, "{value} has a count of 0"),
            PlacesError::Extremes => f.write_str(
                "the smallest or the largest value is not in the first or the last bucket",
            ),
            PlacesError::Sum => f.write_str("the sum cannot be that of values in these buckets"),
            PlacesError::TooMany => f.write_str("there are more values than can be counted"),
        }
    }
}

impl std::error::Error for PlacesError {}

impl Histogram {
    /// The histogram of `digits` significant digits with these filled places, ascending: the lowest
    /// value of each and its samples. `exact` has their exact figures; `None` if there are no
    /// samples.
    pub fn of_places(
        digits: u8,
        places: &[(u64, u64)],
        exact: Option<Exact>,
    ) -> Result<Histogram, PlacesError> {
        let mut histogram = Histogram::new(digits);
        let layout = histogram.layout;
        let (first, last, exact) = match (places.first(), places.last(), exact) {
            (None, None, None) => return Ok(histogram),
            (Some((first, _)), Some((last, _)), Some(exact)) => (*first, *last, exact),
            _ => return Err(PlacesError::Extremes),
        };
        let mut before = None;
        // The true sum lies between those of the lowest and of the highest values of all places.
        let (mut least_ns, mut most_ns) = (0u128, 0u128);
        for &(value, samples) in places {
            let index = layout.index(value);
            let (lowest, width) = layout.values(index);
            if lowest != value {
                return Err(PlacesError::NotLowest(value, lowest));
            }
            if before.is_some_and(|before| before >= value) {
                return Err(PlacesError::NotAscending(value));
            }
            if samples == 0 {
                return Err(PlacesError::Empty(value));
            }
            before = Some(value);
            histogram.count = histogram.count.checked_add(samples).ok_or(PlacesError::TooMany)?;
            least_ns += u128::from(value) * u128::from(samples);
            most_ns += (u128::from(value) + u128::from(width - 1)) * u128::from(samples);
            match histogram.counts.get_mut(index) {
                Some(count) => *count += samples,
                None => histogram.record_beyond(samples),
            }
        }
        let is_in = |value: u64, place: u64| layout.index(value) == layout.index(place);
        if !is_in(exact.min_ns, first) || !is_in(exact.max_ns, last) || exact.min_ns > exact.max_ns
        {
            return Err(PlacesError::Extremes);
        }
        if !(least_ns..=most_ns).contains(&exact.sum_ns) {
            return Err(PlacesError::Sum);
        }
        (histogram.min_ns, histogram.max_ns) = (exact.min_ns, exact.max_ns);
        histogram.sum_ns = exact.sum_ns;
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::HIGHEST_NS;

    /// The place by docs/drivers.md: the eleven leading bits of a value.
    fn bucket(value: u64) -> u64 {
        let shift = (64 - value.leading_zeros()).saturating_sub(11);
        value >> shift << shift
    }

    fn places(values: &[u64]) -> Vec<(u64, u64)> {
        let mut places = BTreeMap::new();
        values.iter().for_each(|&value| *places.entry(bucket(value)).or_insert(0) += 1);
        places.into_iter().collect()
    }

    fn exact(values: &[u64]) -> Option<Exact> {
        Some(Exact {
            min_ns: *values.iter().min()?,
            max_ns: *values.iter().max()?,
            sum_ns: values.iter().map(|&value| u128::from(value)).sum(),
        })
    }

    fn value() -> impl Strategy<Value = u64> {
        // Values of every size, at the edges of places, and beyond the range.
        prop_oneof![
            0..5000u64,
            (0..64u32, any::<u64>()).prop_map(|(bits, value)| value >> bits),
            (0..50u32).prop_map(|bit| 1 << bit),
            (1..50u32).prop_map(|bit| (1 << bit) - 1),
            Just(HIGHEST_NS),
            Just(HIGHEST_NS + 1),
        ]
    }

    proptest! {
        #[test]
        fn it_is_the_histogram_that_recorded_the_values(values in proptest::collection::vec(value(), 0..200)) {
            let mut recorded = Histogram::new(3);
            values.iter().for_each(|&value| recorded.record(value));
            let made = Histogram::of_places(3, &places(&values), exact(&values));
            prop_assert_eq!(made, Ok(recorded));
        }

        #[test]
        fn no_numbers_make_it_panic(
            places in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..5),
            min_ns: u64, max_ns: u64, sum_ns: u128,
        ) {
            let _ = Histogram::of_places(3, &places, Some(Exact { min_ns, max_ns, sum_ns }));
            let lowest: Vec<_> = places.iter().map(|&(value, count)| (bucket(value), count)).collect();
            let _ = Histogram::of_places(3, &lowest, Some(Exact { min_ns, max_ns, sum_ns }));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let of = |places: &[(u64, u64)], min_ns, max_ns, sum_ns| {
            Histogram::of_places(3, places, Some(Exact { min_ns, max_ns, sum_ns }))
        };
        assert!(of(&[(5, 1), (4096, 2)], 5, 4097, 5 + 4096 + 4097).is_ok());
        assert_eq!(of(&[(4097, 1)], 4097, 4097, 4097), Err(PlacesError::NotLowest(4097, 4096)));
        assert_eq!(of(&[(7, 1), (5, 1)], 5, 7, 12), Err(PlacesError::NotAscending(5)));
        assert_eq!(of(&[(5, 1), (5, 1)], 5, 5, 10), Err(PlacesError::NotAscending(5)));
        assert_eq!(of(&[(5, 0)], 5, 5, 0), Err(PlacesError::Empty(5)));
        assert_eq!(of(&[(5, 1), (9, 1)], 6, 9, 15), Err(PlacesError::Extremes));
        assert_eq!(of(&[(5, 1), (9, 1)], 5, 8, 14), Err(PlacesError::Extremes));
        assert_eq!(of(&[(5, 1), (9, 1)], 5, 9, 15), Err(PlacesError::Sum));
        assert_eq!(of(&[(5, u64::MAX), (9, 1)], 5, 9, 15), Err(PlacesError::TooMany));
        assert_eq!(of(&[], 5, 9, 15), Err(PlacesError::Extremes));
        assert_eq!(Histogram::of_places(3, &[(5, 1)], None), Err(PlacesError::Extremes));
        assert_eq!(Histogram::of_places(3, &[], None), Ok(Histogram::new(3)));
    }
}
