//! Whether a run was stationary from its beginning to its end.
//!
//! A series of one figure an interval comes in, e.g. its median latency; whether it has a trend,
//! and whether its halves differ, goes out. Both tests use ranks, so one interval with a stall in
//! it does not make a trend, and both allow for intervals that resemble their neighbours. Such
//! intervals have a small effective sample size: that of twenty may be three, and a rank test of
//! three against three never gets below p = 0.1. For them, a test of sizes compares the halves: it
//! detects a step at any effective sample size. A stall is first cut down to the usual level.
//!
//! [`Findings::p`] is a false-alarm rate: series of independent figures of one distribution have a
//! p below x in a share x of all cases, whatever the distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc;

/// Series shorter than this are not judged: five against five is the first split with a p below
/// 1 %.
pub const FEWEST: usize = 10;

/// The finding on a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Findings {
    /// Median of the first half.
    pub first: f64,
    /// Median of the second half.
    pub second: f64,
    /// Two-sided p of the trend (Mann–Kendall).
    pub trend_p: f64,
    /// Two-sided p of the difference between the halves: Mann and Whitney's, or Student's if
    /// intervals resemble their neighbours.
    pub halves_p: f64,
}

impl Findings {
    /// The p of both tests together (Bonferroni): twice the smaller.
    pub fn p(&self) -> f64 {
        (2.0 * self.trend_p.min(self.halves_p)).min(1.0)
    }

    /// The second half by the first, minus one; infinite if the first is zero and the second not.
    pub fn change(&self) -> f64 {
        if self.first == self.second { 0.0 } else { self.second / self.first - 1.0 }
    }
}

/// Judges a series; `None` if it is shorter than [`FEWEST`].
pub fn judge(series: &[f64]) -> Option<Findings> {
    if series.len() < FEWEST || series.iter().any(|x| x.is_nan()) {
        return None;
    }
    let (first, second) = series.split_at(series.len() / 2);
    let slope = sen_slope(series);
    let straight: Vec<f64> = series.iter().enumerate().map(|(i, x)| x - slope * i as f64).collect();
    let (a, b) = (median(first), median(second));
    let level: Vec<f64> = first.iter().map(|x| x - a).chain(second.iter().map(|x| x - b)).collect();
    let inflation = resemblance(&level);
    let halves_p = if inflation > 1.0 {
        let far = FAR * DEVIATION * median(&level.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let tame = |half: &[f64], middle: f64| -> Vec<f64> {
            half.iter().map(|x| middle + (x - middle).clamp(-far, far)).collect()
        };
        student(&tame(first, a), &tame(second, b), inflation)
    } else {
        mann_whitney(first, second, inflation)
    };
    Some(Findings {
        first: a,
        second: b,
        trend_p: mann_kendall(series, resemblance(&straight)),
        halves_p,
    })
}

/// Figures further from the median than this number of standard deviations are cut down to it.
const FAR: f64 = 4.0;
/// The standard deviation of a normal distribution by its median absolute deviation.
const DEVIATION: f64 = 1.4826;

/// Two-sided p of Mann and Kendall's test against a trend.
///
/// > S = Σ_{i<j} sign(x_j − x_i)
///
/// Exact for up to 40 figures without ties that do not resemble their neighbours; otherwise
/// Z = (|S| − 1)/σ with σ² = (n(n−1)(2n+5) − Σ t(t−1)(2t+5))/18, t the sizes of ties, is
/// standard normal (Kendall, *Rank Correlation Methods*, 1975). `inflation` of the variance, at
/// least 1, allows for serial correlation (Yue and Wang, "The Mann–Kendall test modified by
/// effective sample size", 2004).
pub fn mann_kendall(series: &[f64], inflation: f64) -> f64 {
    let n = series.len();
    let mut s = 0i64;
    for (i, x) in series.iter().enumerate() {
        for y in &series[i + 1..] {
            s += i64::from(y > x) - i64::from(y < x);
        }
    }
    let ties = ties(series);
    if ties.is_empty() && n <= 40 && inflation <= 1.0 {
        // The number of permutations of n with k inversions, one element after another.
        let pairs = n * n.saturating_sub(1) / 2;
        let mut share = vec![1.0];
        for m in 2..=n {
            let mut next = vec![0.0; share.len() + m - 1];
            for (k, p) in share.iter().enumerate() {
                for slot in &mut next[k..k + m] {
                    *slot += p / m as f64;
                }
            }
            share = next;
        }
        // S = pairs − 2 k; as far out as |S| on both sides.
        let inversions = (pairs as i64 - s.abs()) / 2;
        let tail: f64 = share[..=inversions as usize].iter().sum();
        return (2.0 * tail).min(1.0);
    }
    let cubic = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let variance = (cubic(n as f64) - ties.iter().map(|&t| cubic(t as f64)).sum::<f64>()) / 18.0;
    two_sided((s.abs() - 1).max(0) as f64, variance * inflation.max(1.0))
}

/// Two-sided p of Mann and Whitney's test of `a` against `b`.
///
/// > U = Σ_{x∈a, y∈b} [y > x] + ½ [y = x]
///
/// Exact for up to 40 figures without ties and inflation; otherwise Z = (|U − mn/2| − ½)/σ with
/// σ² = mn/12 (N + 1 − Σ (t³−t)/(N(N−1))) is standard normal (Lehmann, *Nonparametrics*, 1.5).
/// `inflation` as in [`mann_kendall`].
pub fn mann_whitney(a: &[f64], b: &[f64], inflation: f64) -> f64 {
    let (m, n) = (a.len(), b.len());
    if m == 0 || n == 0 {
        return 1.0;
    }
    let mut u = 0.0;
    for x in a {
        for y in b {
            u += if y > x {
                1.0
            } else if y == x {
                0.5
            } else {
                0.0
            };
        }
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ties = ties(&all);
    let off = (u - (m * n) as f64 / 2.0).abs();
    if ties.is_empty() && m + n <= 40 && inflation <= 1.0 {
        let share = shares_of_u(m, n);
        let least = ((m * n) as f64 / 2.0 - off).round() as usize;
        return (2.0 * share[..=least].iter().sum::<f64>()).min(1.0);
    }
    let total = (m + n) as f64;
    let tied: f64 = ties.iter().map(|&t| (t as f64).powi(3) - t as f64).sum();
    let variance = (m * n) as f64 / 12.0 * (total + 1.0 - tied / (total * (total - 1.0)));
    two_sided((off - 0.5).max(0.0), variance * inflation.max(1.0))
}

/// Two-sided p of Student's test of the mean of `a` against that of `b`, for figures of which
/// `inflation` are worth one.
///
/// > t = (b̄ − ā) / √(s² f (1/m + 1/n)), s² = Σ (x − x̄)² / (N − 2f), degrees of freedom N/f − 2
///
/// with f the `inflation`, at least 1, N = m + n, and sums of squares about the mean of each half.
/// With f = 1 it is the test of every textbook. A variance of N figures that resemble each other
/// is that of N/f which do not, and so are the degrees of freedom (Bayley and Hammersley, "The
/// effective number of independent observations in an autocorrelated time series", 1946); one is
/// the least.
pub fn student(a: &[f64], b: &[f64], inflation: f64) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let inflation = inflation.max(1.0);
    let (m, n) = (a.len() as f64, b.len() as f64);
    let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len() as f64;
    let squares = |half: &[f64]| half.iter().map(|x| (x - mean(half)).powi(2)).sum::<f64>();
    let freedom = ((m + n) / inflation - 2.0).max(1.0);
    let variance = (squares(a) + squares(b)) / (inflation * freedom);
    let off = (mean(b) - mean(a)).abs();
    if off == 0.0 {
        return 1.0;
    }
    let t = off / (variance * inflation * (1.0 / m + 1.0 / n)).sqrt();
    // Halves without any spread that differ, differ for certain: t is infinite.
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| (2.0 * student.sf(t)).min(1.0))
}

/// The distribution of U, from c(m, n, u) = c(m−1, n, u−n) + c(m, n−1, u): where the largest of
/// all is in a, it is above n others.
fn shares_of_u(m: usize, n: usize) -> Vec<f64> {
    let mut table = vec![vec![vec![1.0f64]; n + 1]; m + 1];
    for i in 1..=m {
        for j in 1..=n {
            let mut one = vec![0.0; i * j + 1];
            for (u, count) in table[i - 1][j].iter().enumerate() {
                one[u + j] += count;
            }
            for (u, count) in table[i][j - 1].iter().enumerate() {
                one[u] += count;
            }
            table[i][j] = one;
        }
    }
    let counts = std::mem::take(&mut table[m][n]);
    let total: f64 = counts.iter().sum();
    counts.into_iter().map(|count| count / total).collect()
}

fn two_sided(off: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    erfc(off / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0)
}

/// Sizes of groups of equal figures, those above one.
fn ties(series: &[f64]) -> Vec<usize> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|&size| size > 1).collect()
}

/// Variance inflation by figures that resemble their neighbours: (1 + r)/(1 − r) with the serial
/// correlation r of their ranks, if that is above what chance gives, 1.645/√n, one in twenty.
fn resemblance(series: &[f64]) -> f64 {
    let r = serial(series);
    if r > 1.645 / (series.len() as f64).sqrt() { (1.0 + r) / (1.0 - r) } else { 1.0 }
}

/// The factor by which the interval of a median grows if successive figures resemble each other.
///
/// > √((1 + r)/(1 − r))
///
/// the square root of [`student`]'s inflation, with r the serial correlation of ranks. In a short series of n figures it
/// is too low by about (1 + 3r)/n, which is added (Kendall, "Note on bias in the estimation of autocorrelation", 1954), and
/// uncertain, so that 1.28 of its standard errors (1 − r²)/√n are added too: its 90 % limit. r is taken to lie in [0, 0.9].
pub fn widening(series: &[f64]) -> f64 {
    if series.len() < 2 {
        return 1.0;
    }
    let (r, n) = (serial(series), series.len() as f64);
    let r = r + (1.0 + 3.0 * r) / n;
    let r = (r + 1.28 * (1.0 - r * r).max(0.0) / n.sqrt()).clamp(0.0, 0.9);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

/// The serial correlation of a series' ranks.
fn serial(series: &[f64]) -> f64 {
    let n = series.len();
    let ranks = mid_ranks(series);
    let mean = (n as f64 + 1.0) / 2.0;
    let square: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let product: f64 = ranks.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

fn mid_ranks(series: &[f64]) -> Vec<f64> {
    series
        .iter()
        .map(|x| {
            let below = series.iter().filter(|y| *y < x).count() as f64;
            let equal = series.iter().filter(|y| *y == x).count() as f64;
            below + (equal + 1.0) / 2.0
        })
        .collect()
}

/// The median of all slopes between two figures, per step (Sen, 1968). Of long series, of at most
/// some 500 figures evenly taken.
pub fn sen_slope(series: &[f64]) -> f64 {
    let step = series.len().div_ceil(500).max(1);
    let taken: Vec<(usize, f64)> = series.iter().copied().enumerate().step_by(step).collect();
    let mut slopes = Vec::with_capacity(taken.len() * taken.len() / 2);
    for (at, (i, x)) in taken.iter().enumerate() {
        slopes.extend(taken[at + 1..].iter().map(|(j, y)| (y - x) / (j - i) as f64));
    }
    if slopes.is_empty() { 0.0 } else { median(&slopes) }
}

/// The median; not a number without figures.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Random;
    use crate::golden;

    #[test]
    fn trends_are_those_of_scipy() {
        for case in golden::list("mann_kendall") {
            let series = golden::numbers(&case["series"]);
            golden::assert_close(mann_kendall(&series, 1.0), case["p"].as_f64().unwrap(), 1e-9);
            golden::assert_close(sen_slope(&series), case["slope"].as_f64().unwrap(), 1e-9);
        }
    }

    #[test]
    fn differences_are_those_of_scipy() {
        for case in golden::list("mann_whitney") {
            let (a, b) = (golden::numbers(&case["a"]), golden::numbers(&case["b"]));
            golden::assert_close(mann_whitney(&a, &b, 1.0), case["p"].as_f64().unwrap(), 1e-9);
        }
    }

    #[test]
    fn differences_of_means_are_those_of_scipy() {
        for case in golden::list("student") {
            let (a, b) = (golden::numbers(&case["a"]), golden::numbers(&case["b"]));
            golden::assert_close(student(&a, &b, 1.0), case["p"].as_f64().unwrap(), 1e-9);
        }
        assert_eq!(student(&[1.0; 5], &[2.0; 5], 1.0), 0.0);
        assert_eq!((student(&[1.0; 5], &[1.0; 5], 2.0), student(&[], &[1.0], 1.0)), (1.0, 1.0));
    }

    /// Medians on a machine so quiet that only their last digit varies, and only after some
    /// intervals.
    /// Without resemblance the standard error alone widens, with n = 100 by √(1.128/0.872); a trend has the largest r.
    #[test]
    fn intervals_widen_with_resemblance() {
        let mut random = Random::new(3);
        let independent = (0..200).map(|_| {
            let series: Vec<f64> = (0..100).map(|_| random.normal()).collect();
            widening(&series)
        });
        let mean = independent.sum::<f64>() / 200.0;
        assert!((1.05..1.2).contains(&mean), "{mean}");
        let trend: Vec<f64> = (0..100).map(f64::from).collect();
        assert!((widening(&trend) - 19f64.sqrt()).abs() < 1e-9);
        assert_eq!(widening(&[]), 1.0);
    }

    #[test]
    fn a_step_without_noise_is_found() {
        let mut series = vec![
            20.3, 20.3, 20.3, 20.2, 20.2, 20.2, 20.2, 20.2, 20.2, 20.2, 50.3, 50.3, 50.2, 50.2,
            50.2, 50.3, 50.3, 50.3, 50.2, 50.3,
        ];
        let found = judge(&series).unwrap();
        assert!(found.p() < 1e-6 && found.change() > 1.4, "{found:?}");
        // Nor does a stall hide it.
        series[6] = 90.0;
        assert!(judge(&series).unwrap().p() < 1e-6);
    }

    /// The stated rate of false alarms: at p < 1 % at most some 1 % of series that are the same
    /// from beginning to end, independent or a little alike (φ = 0.3, which costs some more).
    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        let mut random = Random::new(5);
        for (phi, n, most) in [(0.0, 10, 30), (0.0, 30, 30), (0.0, 60, 30), (0.3, 60, 75)] {
            let alarms = (0..2000)
                .filter(|_| {
                    let mut x = 0.0;
                    let series: Vec<f64> = (0..n)
                        .map(|_| {
                            x = phi * x + random.normal();
                            x
                        })
                        .collect();
                    judge(&series).unwrap().p() < 0.01
                })
                .count();
            assert!(alarms <= most, "φ {phi}, {n} figures: {alarms} of 2000");
        }
    }

    #[test]
    fn a_step_and_a_drift_are_found_and_one_stall_is_not() {
        let mut random = Random::new(9);
        let mut noisy = |f: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..20).map(|i| f(i) * (1.0 + 0.05 * random.normal())).collect()
        };
        let step = judge(&noisy(&|i| if i < 10 { 1.0 } else { 2.0 })).unwrap();
        assert!(step.p() < 0.001 && (0.8..1.2).contains(&step.change()), "{step:?}");
        let drift = judge(&noisy(&|i| 1.0 + i as f64 / 20.0)).unwrap();
        assert!(drift.p() < 0.001 && drift.change() > 0.2, "{drift:?}");
        let stall = judge(&noisy(&|i| if i == 15 { 100.0 } else { 1.0 })).unwrap();
        assert!(stall.p() > 0.01 && stall.change().abs() < 0.1, "{stall:?}");
    }

    #[test]
    fn short_series_and_equal_figures_are_not_found_wanting() {
        assert_eq!(judge(&[1.0; 9]), None);
        let same = judge(&[1.0; 20]).unwrap();
        assert_eq!((same.p(), same.change()), (1.0, 0.0));
        assert_eq!(mann_whitney(&[], &[1.0], 1.0), 1.0);
        assert!(median(&[]).is_nan());
        assert_eq!(judge(&[f64::NAN; 20]), None);
    }
}
