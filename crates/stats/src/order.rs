//! The confidence interval of a percentile, from order statistics.
//!
//! It assumes nothing about the distribution. A sample size and a quantile come in; a pair of
//! levels goes out, quantiles of the sample themselves, between which the quantile of the process
//! lies. The caller finds the values at these levels, in a histogram or a sorted list. It also
//! corrects the sample size if samples depend on each other: see [`crate::batch`].

use statrs::function::erf::erf_inv;
use statrs::function::gamma::ln_gamma;

use crate::Quantile;

/// The default confidence of an interval: 95 in 100 such intervals contain the true value.
pub const CONFIDENCE: f64 = 0.95;

/// An interval wider than this share of the estimate is of no use: one cannot tell the percentile
/// from half or twice of it.
pub const USEFUL_WIDTH: f64 = 1.0;

/// Where in a sample the interval of a quantile begins and ends, as quantiles of the sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// The lower end; `None` if even the smallest sample may lie above it.
    pub low: Option<Quantile>,
    /// The upper end; `None` if even the largest sample may lie below it.
    pub high: Option<Quantile>,
}

impl Levels {
    /// Whether the sample bounds the quantile from both sides.
    pub fn is_bounded(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }
}

/// The interval of quantile `q` in (0, 1) from `n` independent samples, at `confidence` in (0, 1).
///
/// Of n independent samples the number B that lies below the quantile x_q is binomial (n, q),
/// whatever the distribution. So with the ordered sample X₁ ≤ … ≤ X_n
///
/// > P(X_l ≤ x_q < X_u) ≥ P(l ≤ B ≤ u − 1)
///
/// and with α = 1 − confidence, l is the largest rank with P(B ≤ l − 1) ≤ α/2, and u the smallest
/// with P(B ≥ u) ≤ α/2 (David and Nagaraja, *Order Statistics*, 3rd ed., section 7.1; Le Boudec,
/// *Performance Evaluation of Computer and Communication Systems*, theorem 2.1). Rank r of n stands
/// at level r/n. If l would be 0, or u would be n + 1, the interval has no such end.
pub fn levels(n: u64, q: Quantile, confidence: f64) -> Levels {
    let (low, high) = ranks(n, q, confidence);
    let level = |rank: u64| Quantile::new(rank, n);
    Levels { low: low.map(level), high: high.map(level) }
}

/// The ranks, from 1, at which the interval begins and ends.
pub fn ranks(n: u64, q: Quantile, confidence: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 || !q.is_inside() {
        return (None, None);
    }
    let tail = (1.0 - confidence) / 2.0;
    // l is the smallest k with P(B ≤ k) > α/2; u − 1 the smallest with P(B ≤ k) ≥ 1 − α/2, that
    // is with P(B > k) ≤ α/2. The upper one is found from the other end, B' = n − B, which is
    // binomial (n, 1 − q): P(B ≥ u) = P(B' ≤ n − u).
    let low = largest_within(n, q.share(), tail);
    let beyond = largest_within(n, q.complement().share(), tail);
    (low, beyond.map(|beyond| n + 1 - beyond))
}

/// Whether `n` independent samples bound the quantile `q` from both sides at all.
///
/// That is so if the chance that all samples lie on one side of it is small enough:
/// q^n ≤ α/2 and (1 − q)^n ≤ α/2. For p99 at 95 % this takes 368 samples.
pub fn is_bounded(n: u64, q: Quantile, confidence: f64) -> bool {
    let ln_tail = ((1.0 - confidence) / 2.0).ln();
    let n = n as f64;
    n * q.share().max(q.complement().share()).ln() <= ln_tail
}

/// Whether an interval from `low` to `high` is useful for a percentile estimated as `estimate`: its
/// width is at most [`USEFUL_WIDTH`] of the estimate, or at most `floor`, below which differences
/// do not matter. All in the same unit.
pub fn is_useful(low: f64, estimate: f64, high: f64, floor: f64) -> bool {
    let width = high - low;
    width <= floor || width <= USEFUL_WIDTH * estimate
}

/// The largest rank l ≥ 1 with P(B ≤ l − 1) ≤ `tail`, B binomial (n, p); `None` if no rank
/// qualifies.
fn largest_within(n: u64, p: f64, tail: f64) -> Option<u64> {
    let mean = n as f64 * p;
    let variance = mean * (1.0 - p);
    let deviation = variance.sqrt();
    if variance > MANY {
        // The quantile by Cornish and Fisher with the skewness (1 − 2p)/σ, to the next rank
        // (Johnson, Kemp, Kotz, *Univariate Discrete Distributions*, 3.6).
        let z = normal_quantile(tail);
        let quantile = mean + z * deviation + (1.0 - 2.0 * p) * (z * z - 1.0) / 6.0 - 0.5;
        return Some((quantile.round() as u64).max(1));
    }
    // Terms of the distribution one after another, from the first that matters.
    let from = (mean - 12.0 * deviation - 1.0).max(0.0) as u64;
    let mut term = ln_binomial(n, from, p).exp();
    let mut sum = 0.0;
    for k in from..=n {
        sum += term;
        if sum > tail {
            return (k >= 1).then_some(k);
        }
        term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    Some(n)
}

/// From this variance on the binomial distribution is normal enough for a rank.
const MANY: f64 = 10_000.0;

/// ln P(B = k).
fn ln_binomial(n: u64, k: u64, p: f64) -> f64 {
    let ln_factorial = |m: u64| ln_gamma(m as f64 + 1.0);
    let ways = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    ways + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()
}

/// The quantile of the standard normal distribution.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    std::f64::consts::SQRT_2 * erf_inv(2.0 * p - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn ranks_are_those_of_scipy() {
        for case in golden::list("ranks") {
            let n = case["n"].as_u64().unwrap();
            let q = Quantile::nearest(case["q"].as_f64().unwrap());
            let confidence = case["confidence"].as_f64().unwrap();
            let (low, high) = ranks(n, q, confidence);
            let wanted = (case["low"].as_u64(), case["high"].as_u64());
            // Beyond MANY the approximation may be off by a rank or two in ten thousand.
            let slack = if n as f64 * q.share() * q.complement().share() > MANY { 2 } else { 0 };
            let near = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (Some(a), Some(b)) => a.abs_diff(b) <= slack,
                (a, b) => a == b,
            };
            assert!(near(low, wanted.0) && near(high, wanted.1), "{case}: {low:?} {high:?}");
        }
    }

    #[test]
    fn bounded_is_what_the_ranks_say() {
        for q in [0.1, 0.5, 0.9, 0.99, 0.999].map(Quantile::nearest) {
            for n in 1..6000 {
                let (low, high) = ranks(n, q, CONFIDENCE);
                assert_eq!(
                    is_bounded(n, q, CONFIDENCE),
                    low.is_some() && high.is_some(),
                    "{n} {q}"
                );
            }
        }
        let p99 = Quantile::P99;
        assert!(is_bounded(368, p99, CONFIDENCE) && !is_bounded(367, p99, CONFIDENCE));
        let end = Quantile::new(1, 1);
        assert!(
            !is_bounded(0, Quantile::P50, CONFIDENCE) && !is_bounded(1_000_000, end, CONFIDENCE)
        );
    }

    #[test]
    fn more_samples_make_narrower_intervals() {
        let mut last = 1.0;
        for n in [400, 1_000, 10_000, 1_000_000, 100_000_000, 1_000_000_000_000] {
            let levels = levels(n, Quantile::P99, CONFIDENCE);
            let (low, high) = (levels.low.unwrap().share(), levels.high.unwrap().share());
            assert!(low < 0.99 && 0.99 < high && high <= 1.0, "{n}: {low} {high}");
            assert!(high - low < last, "{n}");
            last = high - low;
        }
    }

    #[test]
    fn no_sample_says_nothing() {
        assert_eq!(levels(0, Quantile::P50, CONFIDENCE), Levels { low: None, high: None });
        assert_eq!(ranks(5, Quantile::new(0, 1), CONFIDENCE), (None, None));
        assert_eq!(ranks(5, Quantile::nearest(f64::NAN), CONFIDENCE), (None, None));
        // A few samples bound a high quantile only from below.
        let few = levels(100, Quantile::P99_9, CONFIDENCE);
        assert!(few.low.is_some() && few.high.is_none());
    }

    /// Of 2000 samples of 500 from an exponential distribution, the interval of p90 must miss the
    /// true value in at most 5 % (and as ranks are whole, it misses a little less). Fixed seed; 130
    /// is more than six standard deviations from the misses of a right interval.
    #[test]
    fn intervals_hold_the_true_value_as_often_as_they_say() {
        let mut random = crate::bootstrap::Random::new(7);
        let (n, q) = (500u64, Quantile::P90);
        let truth = -q.complement().share().ln();
        let (low, high) = ranks(n, q, CONFIDENCE);
        let mut missed = 0;
        for _ in 0..2000 {
            let mut sample: Vec<f64> = (0..n).map(|_| -random.unit().ln()).collect();
            sample.sort_by(f64::total_cmp);
            let (low, high) =
                (sample[low.unwrap() as usize - 1], sample[high.unwrap() as usize - 1]);
            missed += u32::from(!(low <= truth && truth < high));
        }
        assert!((50..=130).contains(&missed), "{missed} of 2000");
    }

    #[test]
    fn usefulness_is_a_matter_of_width() {
        assert!(is_useful(80.0, 100.0, 150.0, 0.0));
        assert!(!is_useful(60.0, 100.0, 161.0, 0.0));
        assert!(is_useful(0.0, 0.0, 5.0, 5.0) && !is_useful(0.0, 0.0, 6.0, 5.0));
    }
}
