//! How much two sets of rounds differ: bootstrap intervals of medians' difference and ratio, and
//! effect sizes.
//!
//! A round gives one figure for each variant. Figures come in as two slices; the difference or
//! ratio of their medians with an interval goes out, a function of the figures and the seed only.
//!
//! Source of the intervals: Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993,
//! sections 13.3 (percentile) and 14.3 (BCa).

use statrs::function::erf::erfc;

use crate::order::normal_quantile;
use crate::stationary::median;

/// Enough resamples for a 95 % interval whose ends vary by only a few per cent of its width.
pub const RESAMPLES: u32 = 10_000;

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The figure itself, of the sets as they are.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The comparison of two sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contrast {
    /// median(b) − median(a).
    Difference,
    /// median(b) / median(a).
    Ratio,
}

impl Contrast {
    /// Its value.
    pub fn of(self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Contrast::Difference => median(b) - median(a),
            Contrast::Ratio => median(b) / median(a),
        }
    }
}

/// How ends are taken from the resampled figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Their quantiles α/2 and 1 − α/2.
    Percentile,
    /// Quantiles corrected for bias and acceleration.
    Bca,
}

/// The interval of `contrast` at `confidence` in (0, 1), from `resamples` draws of each set with
/// replacement. `None` with fewer than two figures in a set, or where the contrast is not a
/// number.
pub fn interval(
    a: &[f64],
    b: &[f64],
    contrast: Contrast,
    method: Method,
    confidence: f64,
    resamples: u32,
    seed: u64,
) -> Option<Interval> {
    let estimate = contrast.of(a, b);
    if a.len() < 2 || b.len() < 2 || !estimate.is_finite() || resamples == 0 {
        return None;
    }
    let mut random = Random::new(seed);
    let (mut left, mut right) = (vec![0.0; a.len()], vec![0.0; b.len()]);
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            random.redraw(a, &mut left);
            random.redraw(b, &mut right);
            contrast.of(&left, &right)
        })
        .filter(|figure| !figure.is_nan())
        .collect();
    if drawn.is_empty() {
        return None;
    }
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = match method {
        Method::Percentile => (tail, 1.0 - tail),
        Method::Bca => bca_levels(bias(&drawn, estimate), acceleration(a, b, contrast), tail),
    };
    Some(Interval { estimate, low: quantile(&drawn, low), high: quantile(&drawn, high) })
}

/// z₀ = Φ⁻¹(share of draws below the estimate), those equal to it counted half.
fn bias(drawn: &[f64], estimate: f64) -> f64 {
    let below = drawn.partition_point(|&figure| figure < estimate) as f64;
    let up_to = drawn.partition_point(|&figure| figure <= estimate) as f64;
    let n = drawn.len() as f64;
    // If all draws are on one side, z₀ would be infinite: half a draw is the smallest share.
    normal_quantile(((below + up_to) / 2.0 / n).clamp(0.5 / n, 1.0 - 0.5 / n))
}

/// a = Σ d³ / (6 (Σ d²)^{3/2}) over both sets, with d the influence of each figure from the
/// jackknife: (n − 1) times the distance of the contrast without it from the mean of those, by n
/// (Efron, "Better bootstrap confidence intervals", 1987, section 7, for several samples).
pub fn acceleration(a: &[f64], b: &[f64], contrast: Contrast) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    let mut add = |figures: Vec<f64>| {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        for figure in figures {
            let influence = (n - 1.0) * (mean - figure) / n;
            cubes += influence.powi(3);
            squares += influence.powi(2);
        }
    };
    add(without_each(a).map(|rest| contrast.of(&rest, b)).collect());
    add(without_each(b).map(|rest| contrast.of(a, &rest)).collect());
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

fn without_each(figures: &[f64]) -> impl Iterator<Item = Vec<f64>> {
    (0..figures.len()).map(|left_out| {
        let mut rest = figures.to_vec();
        rest.remove(left_out);
        rest
    })
}

/// α₁,₂ = Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))) with z = Φ⁻¹(tail) and Φ⁻¹(1 − tail).
pub fn bca_levels(bias: f64, acceleration: f64, tail: f64) -> (f64, f64) {
    let level = |z: f64| {
        let shifted = bias + z;
        normal(bias + shifted / (1.0 - acceleration * shifted))
    };
    let z = normal_quantile(tail);
    (level(z), level(-z))
}

/// The quantile of sorted figures, linear between neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    let share = at - at.floor();
    if share == 0.0 { sorted[low] } else { sorted[low] * (1.0 - share) + sorted[high] * share }
}

/// The distribution function of the standard normal distribution.
fn normal(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// Cliff's delta, in [−1, 1]: P(b > a) − P(b < a). 0 where the sets overlap evenly (Cliff,
/// "Dominance statistics", 1993). Not a number without figures.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0i64;
    for x in a {
        sum += b.iter().map(|y| i64::from(y > x) - i64::from(y < x)).sum::<i64>();
    }
    sum as f64 / (a.len() * b.len()) as f64
}

/// Hodges and Lehmann's shift: the median of all differences b − a ("Estimates of location based
/// on rank tests", 1963). Not a number without figures.
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> f64 {
    let differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect();
    median(&differences)
}

/// Random numbers, the same for the same seed on every machine: SplitMix64 (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n; n at least 1 and far below 2⁶⁴ (Lemire's multiplication; its bias is
    /// n/2⁶⁴).
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn redraw(&mut self, from: &[f64], into: &mut [f64]) {
        for slot in into {
            *slot = from[self.below(from.len())];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn both(case: &serde_json::Value) -> (Vec<f64>, Vec<f64>) {
        (golden::numbers(&case["a"]), golden::numbers(&case["b"]))
    }

    /// SciPy draws other numbers, so ends agree only as far as 100,000 draws are steady: within a
    /// twentieth of the interval's width.
    #[test]
    fn intervals_are_those_of_scipy() {
        for case in golden::list("bootstrap") {
            let (a, b) = both(&case);
            let contrast = match case["contrast"].as_str().unwrap() {
                "difference" => Contrast::Difference,
                _ => Contrast::Ratio,
            };
            for (method, name) in [(Method::Percentile, "percentile"), (Method::Bca, "bca")] {
                let found = interval(&a, &b, contrast, method, 0.95, 100_000, 4).unwrap();
                let [low, high] = golden::numbers(&case[name])[..] else { panic!("two ends") };
                let slack = (high - low) / 20.0;
                assert!((found.low - low).abs() < slack, "{name}: {found:?} {low} {high}");
                assert!((found.high - high).abs() < slack, "{name}: {found:?} {low} {high}");
                golden::assert_close(found.estimate, case["estimate"].as_f64().unwrap(), 1e-9);
            }
        }
    }

    #[test]
    fn corrected_levels_are_those_of_scipy() {
        for case in golden::list("bca_levels") {
            let n = |name: &str| case[name].as_f64().unwrap();
            let (low, high) = bca_levels(n("bias"), n("acceleration"), n("tail"));
            golden::assert_close(low, n("low"), 1e-9);
            golden::assert_close(high, n("high"), 1e-9);
        }
    }

    #[test]
    fn effect_sizes_are_those_of_scipy() {
        for case in golden::list("effects") {
            let (a, b) = both(&case);
            golden::assert_close(
                cliffs_delta(&a, &b),
                case["cliffs_delta"].as_f64().unwrap(),
                1e-9,
            );
            let shift = case["hodges_lehmann"].as_f64().unwrap();
            golden::assert_close(hodges_lehmann(&a, &b), shift, 1e-9);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_nearly() {
        let a: Vec<f64> = (0..15).map(|i| 5.0 + f64::from(i).sin()).collect();
        let b: Vec<f64> = a.iter().map(|x| x * 1.1 + 1.0).collect();
        let with =
            |seed| interval(&a, &b, Contrast::Ratio, Method::Percentile, 0.95, 2000, seed).unwrap();
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }

    /// 300 pairs of sets that differ by 1: the interval misses it in at most 5 % or so. 25 is 4σ
    /// above 15. Fixed seeds.
    #[test]
    fn intervals_hold_the_true_difference() {
        let mut random = Random::new(2);
        let missed = (0..300)
            .filter(|&seed| {
                let a: Vec<f64> = (0..30).map(|_| random.normal()).collect();
                let b: Vec<f64> = (0..30).map(|_| 1.0 + random.normal()).collect();
                let found =
                    interval(&a, &b, Contrast::Difference, Method::Percentile, 0.95, 500, seed);
                let Interval { low, high, .. } = found.unwrap();
                !(low..=high).contains(&1.0)
            })
            .count();
        assert!(missed <= 25, "{missed} of 300");
    }

    #[test]
    fn what_cannot_be_compared_has_no_interval() {
        let ratio =
            |a: &[f64], b: &[f64]| interval(a, b, Contrast::Ratio, Method::Bca, 0.95, 100, 1);
        assert_eq!(ratio(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(ratio(&[0.0, 0.0], &[1.0, 2.0]), None);
        let same = ratio(&[2.0, 2.0], &[2.0, 2.0]).unwrap();
        assert_eq!((same.low, same.estimate, same.high), (1.0, 1.0, 1.0));
    }
}
