//! Quantiles as fractions of whole numbers.
//!
//! The rank of a quantile among `n` samples is a whole number, and where `n·q` is one, a quantile in floating point
//! may be a rank too high: 0.999·1000 is 999, but 99.9/100·1000 is 999.0000000000001, which rounds up to the
//! thousandth. Here ranks are exact, whatever the quantile and the number of samples.

use std::fmt;

/// A quantile in [0, 1], reduced to lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantile {
    part: u64,
    whole: u64,
}

/// The quantiles that a user types are whole numbers of these: seven decimals of a per cent.
const FINEST: f64 = 1e9;

impl Quantile {
    /// The median.
    pub const P50: Quantile = Quantile::new(50, 100);
    /// The 90th percentile.
    pub const P90: Quantile = Quantile::new(90, 100);
    /// The 99th percentile.
    pub const P99: Quantile = Quantile::new(99, 100);
    /// The 99.9th percentile.
    pub const P99_9: Quantile = Quantile::new(999, 1000);

    /// `part` of `whole`, at most all of it.
    pub const fn new(part: u64, whole: u64) -> Self {
        let whole = if whole == 0 { 1 } else { whole };
        let part = if part > whole { whole } else { part };
        // Euclid; it ends with the greatest common divisor in `a`.
        let (mut a, mut b) = (whole, part);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Quantile { part: part / a, whole: whole / a }
    }

    /// The quantile with at most nine decimals that is nearest to `share`.
    pub fn nearest(share: f64) -> Self {
        Quantile::new((share * FINEST).round() as u64, FINEST as u64)
    }

    /// ⌈n·q⌉, the rank from 1 of this quantile among `n` sorted samples: at least `q` of them are at it or below.
    /// The rank of quantile 0 is 1.
    pub fn rank(self, n: u64) -> u64 {
        let exact = u128::from(n) * u128::from(self.part);
        // At most n, since the quantile is at most 1.
        (exact.div_ceil(u128::from(self.whole)) as u64).max(1)
    }

    /// 1 − q.
    pub fn complement(self) -> Self {
        Quantile::new(self.whole - self.part, self.whole)
    }

    /// In [0, 1].
    pub fn share(self) -> f64 {
        self.part as f64 / self.whole as f64
    }

    /// Whether it is neither 0 nor 1.
    pub fn is_inside(self) -> bool {
        0 < self.part && self.part < self.whole
    }
}

/// `p99.9`.
impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", (self.share() * FINEST).round() / (FINEST / 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the samples 1, 2, …, n the quantile is the smallest k with k/n ≥ q.
    #[test]
    fn ranks_are_those_of_a_sorted_list_for_every_number_of_samples() {
        let decimals = [1_000, 10_000, 50_000, 55_000, 75_000, 90_000, 95_000, 99_000, 99_900];
        for per_100k in decimals.into_iter().chain([99_990, 99_999]) {
            let q = Quantile::new(per_100k, 100_000);
            assert_eq!(q, Quantile::nearest(per_100k as f64 / 1000.0 / 100.0), "{per_100k}");
            let mut rank = 1;
            for n in 1..=10_000 {
                while rank * 100_000 < n * per_100k {
                    rank += 1;
                }
                assert_eq!(q.rank(n), rank, "{q} of {n}");
            }
        }
    }

    #[test]
    fn ends_and_large_numbers() {
        let (none, all) = (Quantile::new(0, 1), Quantile::new(7, 7));
        assert_eq!((none.rank(10), all.rank(10), all.rank(u64::MAX)), (1, 10, u64::MAX));
        assert_eq!(Quantile::P50.rank(u64::MAX), u64::MAX.div_ceil(2));
        assert_eq!(Quantile::new(u64::MAX - 1, u64::MAX).rank(u64::MAX), u64::MAX - 1);
        assert!(!none.is_inside() && !all.is_inside() && Quantile::P99.is_inside());
        assert_eq!((none.complement(), Quantile::P99.complement()), (all, Quantile::new(1, 100)));
        assert_eq!(Quantile::new(3, 0), Quantile::new(1, 1), "never a division by zero");
        assert_eq!([f64::NAN, -1.0, 2.0].map(Quantile::nearest), [none, none, all]);
    }

    #[test]
    fn names_are_as_they_are_typed() {
        for (name, percent) in [
            ("p10", 10.0),
            ("p50", 50.0),
            ("p99.9", 99.9),
            ("p99.999", 99.999),
            ("p0.0000001", 1e-7),
        ] {
            assert_eq!(Quantile::nearest(percent / 100.0).to_string(), name);
        }
    }
}
