//! The evidence of rounds on two variants: a shift with an interval, and the probability of it by
//! chance.
//!
//! Figures of rounds come in: either one difference a round, where both variants were measured in
//! the same round, or two unrelated sets. The result is a function of the figures and the seed.
//! Figures are meant as logarithms, so that shifts are ratios; nothing here depends on it.
//!
//! Interval and test judge the same question, and a claim needs both of them: the interval is a
//! bootstrap over rounds, whose level is only approximate with few rounds; the test is exact with
//! any number of them.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc;

use crate::bootstrap::{Interval, Random, hodges_lehmann};
use crate::order::normal_quantile;
use crate::stationary::mann_whitney;

/// A shift, its interval, and the test against no shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Estimate and ends.
    pub interval: Interval,
    /// Two-sided p of the test against a shift of zero.
    pub p: f64,
}

/// The shift of paired figures, from their differences; `None` with fewer than two.
///
/// The estimate is the pseudomedian (Hodges and Lehmann), the test Wilcoxon's signed ranks.
pub fn paired(differences: &[f64], confidence: f64, resamples: u32, seed: u64) -> Option<Shift> {
    let n = differences.len();
    if n < 2 || resamples == 0 || differences.iter().any(|one| !one.is_finite()) {
        return None;
    }
    let mut random = Random::new(seed);
    let mut drawn = vec![0.0; n];
    let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
    let shifts = (0..resamples)
        .map(|_| {
            redraw(&mut random, differences, &mut drawn);
            pseudomedian_into(&drawn, &mut walsh)
        })
        .collect();
    let estimate = pseudomedian_into(differences, &mut walsh);
    Some(Shift {
        interval: ends(estimate, shifts, tail(confidence, n)),
        p: signed_rank(differences),
    })
}

/// The shift from `a` to `b`, two sets of figures; `None` with fewer than two in one of them.
///
/// The estimate is Hodges and Lehmann's shift, the test that of Mann and Whitney.
pub fn unpaired(a: &[f64], b: &[f64], confidence: f64, resamples: u32, seed: u64) -> Option<Shift> {
    let n = a.len().min(b.len());
    if n < 2 || resamples == 0 || a.iter().chain(b).any(|one| !one.is_finite()) {
        return None;
    }
    let mut random = Random::new(seed);
    let (mut left, mut right) = (vec![0.0; a.len()], vec![0.0; b.len()]);
    let shifts = (0..resamples)
        .map(|_| {
            redraw(&mut random, a, &mut left);
            redraw(&mut random, b, &mut right);
            hodges_lehmann(&left, &right)
        })
        .collect();
    Some(Shift {
        interval: ends(hodges_lehmann(a, b), shifts, tail(confidence, n)),
        p: mann_whitney(a, b, 1.0),
    })
}

/// The mean of paired figures' differences with Student's interval; `None` with fewer than two. With so few
/// rounds that a bootstrap cannot be as wide as its level asks for, this is: it takes the figures for normal.
///
/// mean ± t · s / √n, with t of n − 1 degrees of freedom at the level (1 + confidence)/2 and s the standard
/// deviation (Student, "The probable error of a mean", 1908).
pub fn mean(differences: &[f64], confidence: f64) -> Option<Interval> {
    let n = differences.len();
    if n < 2 || differences.iter().any(|one| !one.is_finite()) {
        return None;
    }
    let degrees = (n - 1) as f64;
    let estimate = differences.iter().sum::<f64>() / n as f64;
    let squares = differences.iter().map(|one| (one - estimate).powi(2)).sum::<f64>();
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf((1.0 + confidence) / 2.0);
    let half = t * (squares / degrees / n as f64).sqrt();
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// The fewest rounds in which paired figures can differ at this level: with n rounds the smallest
/// two-sided p of signed ranks is 2/2ⁿ. Six at 0.05.
pub fn fewest_pairs(level: f64) -> usize {
    (1..64).find(|&n| 2.0 / 2f64.powi(n) <= level).unwrap_or(64) as usize
}

/// The fewest figures a set at which two sets of that size can differ at this level: the smallest
/// p is 2 by the number of ways to choose n of 2n. Four at 0.05.
pub fn fewest_each(level: f64) -> usize {
    let mut ways = 1.0;
    for n in 1..64usize {
        ways *= (2 * n - 1) as f64 * 2.0 / n as f64;
        if 2.0 / ways <= level {
            return n;
        }
    }
    64
}

/// The fewest rounds in which one of `tests` tests that share this level can differ: Holm tests the first of them at
/// level / tests.
pub fn fewest(level: f64, tests: usize, paired: bool) -> u64 {
    // Without the slack 0.05 / 1 as 1 − 0.95 would be below 0.05 by a rounding error.
    let share = level / tests.max(1) as f64 * (1.0 + 1e-9);
    let fewest = if paired { fewest_pairs(share) } else { fewest_each(share) };
    fewest as u64
}

/// Adjusts p-values so that the chance of *any* false claim among them stays at the level (Holm,
/// "A simple sequentially rejective multiple test procedure", 1979). In the order of the input.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        least = least.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// The median of all means of two differences, each with itself too (Hodges and Lehmann,
/// "Estimates of location based on rank tests", 1963). Not a number without figures.
pub fn pseudomedian(differences: &[f64]) -> f64 {
    pseudomedian_into(differences, &mut Vec::new())
}

fn pseudomedian_into(differences: &[f64], walsh: &mut Vec<f64>) -> f64 {
    walsh.clear();
    for (at, x) in differences.iter().enumerate() {
        walsh.extend(differences[at..].iter().map(|y| (x + y) / 2.0));
    }
    median_of(walsh)
}

/// The median by selection: sorting would be most of the time of a bootstrap.
fn median_of(figures: &mut [f64]) -> f64 {
    let n = figures.len();
    if n == 0 {
        return f64::NAN;
    }
    let (below, middle, _) = figures.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *middle;
    if n % 2 == 1 {
        return upper;
    }
    (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0
}

/// Two-sided p of Wilcoxon's signed ranks against symmetry about zero: exact, by the 2ⁿ ways in
/// which signs could have fallen (Wilcoxon, "Individual comparisons by ranking methods", 1945).
/// Equal sizes share a rank; zeros carry no information and are left out.
///
/// If the order of two variants within each round was drawn at random, the signs are random if the
/// variants are the same, for any distribution of the figures: nothing else is assumed.
pub fn signed_rank(differences: &[f64]) -> f64 {
    let nonzero: Vec<f64> = differences.iter().copied().filter(|one| *one != 0.0).collect();
    let sizes: Vec<f64> = nonzero.iter().map(|one| one.abs()).collect();
    // Twice the ranks, so that shared ones are whole.
    let ranks: Vec<usize> = sizes
        .iter()
        .map(|size| {
            let below = sizes.iter().filter(|other| *other < size).count();
            let equal = sizes.iter().filter(|other| *other == size).count();
            2 * below + equal + 1
        })
        .collect();
    let total: usize = ranks.iter().sum();
    let positive: usize =
        nonzero.iter().zip(&ranks).filter(|(one, _)| **one > 0.0).map(|(_, rank)| rank).sum();
    let mut share = vec![0.0; total + 1];
    share[0] = 1.0;
    for rank in ranks {
        for sum in (0..=total).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = (share[sum] + with) / 2.0;
        }
    }
    let least = positive.min(total - positive);
    (2.0 * share[..=least].iter().sum::<f64>()).min(1.0)
}

/// The level of the lower end. A bootstrap of few figures is too narrow, because it draws from a
/// spread that is too small by √((n−1)/n) and takes it for known; it is widened to
/// Φ(−√(n/(n−1)) · t) with t of n − 1 degrees of freedom, which is right for normal figures
/// (Hesterberg, "What teachers should know about the bootstrap", 2015, section 3.5).
fn tail(confidence: f64, n: usize) -> f64 {
    let nominal = (1.0 - confidence) / 2.0;
    let degrees = (n - 1) as f64;
    let t = match StudentsT::new(0.0, 1.0, degrees) {
        Ok(distribution) => -distribution.inverse_cdf(nominal),
        Err(_) => -normal_quantile(nominal),
    };
    erfc((n as f64 / degrees).sqrt() * t / std::f64::consts::SQRT_2) / 2.0
}

fn ends(estimate: f64, mut shifts: Vec<f64>, tail: f64) -> Interval {
    shifts.sort_by(f64::total_cmp);
    let last = shifts.len() - 1;
    // Rounded outwards to a whole draw: an end between two draws would claim too much.
    let below = (tail * last as f64).floor() as usize;
    Interval { estimate, low: shifts[below], high: shifts[last - below] }
}

fn redraw(random: &mut Random, from: &[f64], into: &mut [f64]) {
    for slot in into {
        *slot = from[random.below(from.len())];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Wilcoxon's test: all signs alike give 2/2ⁿ; n = 5 with the smallest negative 4/32.
    #[test]
    fn signed_ranks_are_counted_exactly() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}");
        close(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
        close(signed_rank(&[-1.0, 2.0, 3.0, 4.0, 5.0]), 4.0 / 32.0);
        close(signed_rank(&[-1.0, -2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 * 5.0 / 64.0);
        // Equal sizes share ranks: of 8 ways, sums 0 and all the others; −,+,+ and + alike.
        close(signed_rank(&[-1.0, 1.0, 1.0]), 1.0);
        close(signed_rank(&[1.0, 1.0, 1.0, 0.0]), 2.0 / 8.0);
        close(signed_rank(&[]), 1.0);
        close(signed_rank(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn fewest_rounds_are_those_whose_best_case_is_enough() {
        assert_eq!((fewest_pairs(0.05), fewest_pairs(0.01), fewest_pairs(0.025)), (6, 8, 7));
        assert_eq!((fewest_each(0.05), fewest_each(0.01)), (4, 5));
        for level in [0.05, 0.01, 0.001] {
            let n = fewest_pairs(level);
            let best = |n: usize| signed_rank(&(1..=n).map(|i| i as f64).collect::<Vec<_>>());
            assert!(best(n) <= level && best(n - 1) > level, "{level}");
        }
    }

    #[test]
    fn adjusted_values_are_holms() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn the_pseudomedian_is_the_middle_of_all_means() {
        assert_eq!(pseudomedian(&[1.0, 2.0, 6.0]), 2.75);
        assert_eq!(pseudomedian(&[3.0]), 3.0);
        assert!(pseudomedian(&[]).is_nan());
    }

    /// How often intervals of n rounds miss a shift of 1, of 1000: promised are 50; 71 is 3σ above. Fixed seeds.
    #[test]
    fn intervals_hold_the_shift_also_with_few_rounds() {
        for n in [6, 10, 20] {
            let mut random = Random::new(7 + n as u64);
            let missed = (0..1000)
                .filter(|&seed| {
                    let d: Vec<f64> = (0..n).map(|_| 1.0 + random.normal()).collect();
                    let Interval { low, high, .. } = paired(&d, 0.95, 400, seed).unwrap().interval;
                    !(low..=high).contains(&1.0)
                })
                .count();
            assert!(missed <= 71, "{n} rounds: {missed} of 1000");
            // Nor are they so wide that they miss nothing, which would not be 95 %.
            assert!(missed >= 10, "{n} rounds: {missed} of 1000");
        }
    }

    /// The machine's noise at each run, as a logarithm; runs follow each other.
    fn noises(kind: &str, runs: usize, random: &mut Random) -> Vec<f64> {
        let (mut at, mut is_busy) = (random.normal() * 0.1, random.unit() < 0.25);
        (0..runs)
            .map(|run| {
                let own = 0.01 * random.normal();
                own + match kind {
                    // Correlation 0.9 from run to run, deviation 10 %.
                    "wandering" => {
                        at = 0.9 * at + 0.1 * (1.0f64 - 0.81).sqrt() * random.normal();
                        at
                    }
                    // A neighbour takes 40 % for three runs of twelve, on average.
                    "bursts" => {
                        is_busy = random.unit() < if is_busy { 0.67 } else { 0.11 };
                        if is_busy { 0.5 } else { 0.0 }
                    }
                    // One run in six meets a pause of any length.
                    "pauses" if random.unit() < 1.0 / 6.0 => -0.3 * random.unit().ln(),
                    // 1 % a run.
                    "drift" => 0.01 * run as f64,
                    _ => 0.0,
                }
            })
            .collect()
    }

    /// Two variants that differ by 5 %, in rounds of random order on a noisy machine. Of 500 intervals 25 may miss; 40 is
    /// 3σ above. Fixed seeds.
    #[test]
    fn intervals_of_random_order_hold_the_shift_whatever_the_machine_does() {
        for kind in ["wandering", "bursts", "pauses", "drift"] {
            for n in [6, 10] {
                let mut random = Random::new(11 + n as u64);
                let mut missed = 0;
                for seed in 0..500 {
                    let noise = noises(kind, 2 * n, &mut random);
                    let differences: Vec<f64> = noise
                        .chunks(2)
                        .map(|of| match random.unit() < 0.5 {
                            true => 0.05 + of[0] - of[1],
                            false => 0.05 + of[1] - of[0],
                        })
                        .collect();
                    let Interval { low, high, .. } =
                        paired(&differences, 0.95, 400, seed).unwrap().interval;
                    missed += usize::from(!(low..=high).contains(&0.05));
                }
                assert!(missed <= 40, "{kind}, {n} rounds: {missed} of 500");
            }
        }
    }

    /// Tables of t: 12.706 with one degree of freedom, 4.303 with two.
    #[test]
    fn the_interval_of_a_mean_is_students() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 2e-3, "{found}");
        let three = mean(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!(three.estimate, 2.0);
        close(three.high - 2.0, 4.303 / 3f64.sqrt());
        close(2.0 - three.low, 4.303 / 3f64.sqrt());
        let two = mean(&[1.0, 2.0], 0.95).unwrap();
        close(two.high - 1.5, 12.706 / 2.0);
        assert_eq!((mean(&[1.0], 0.95), mean(&[1.0, f64::NAN], 0.95)), (None, None));
        // How often it misses a shift of 1 with three rounds, of 1000: promised are 50; 71 is 3σ above, 29 below.
        let mut random = Random::new(3);
        let misses = (0..1000).filter(|_| {
            let few: Vec<f64> = (0..3).map(|_| 1.0 + random.normal()).collect();
            let Interval { low, high, .. } = mean(&few, 0.95).unwrap();
            !(low..=high).contains(&1.0)
        });
        let missed = misses.count();
        assert!((29..=71).contains(&missed), "{missed} of 1000");
    }

    #[test]
    fn sets_that_do_not_overlap_differ_and_the_interval_holds_the_shift() {
        let a: Vec<f64> = (0..8).map(|i| 10.0 + f64::from(i) * 0.01).collect();
        let b: Vec<f64> = a.iter().map(|x| x + 1.0).collect();
        let shift = unpaired(&a, &b, 0.95, 2000, 1).unwrap();
        assert!(shift.p < 0.001 && shift.interval.low > 0.9, "{shift:?}");
        assert!((shift.interval.low..=shift.interval.high).contains(&1.0), "{shift:?}");
        assert_eq!(
            unpaired(&a, &b, 0.95, 2000, 1),
            Some(shift),
            "the same seed, the same interval"
        );
        assert_eq!(unpaired(&a, &[1.0], 0.95, 100, 1), None);
        assert_eq!(paired(&[1.0, f64::NAN, 2.0], 0.95, 100, 1), None);
    }
}
