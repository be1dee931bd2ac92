//! The effective sample size of samples that depend on each other: batch means.
//!
//! Consecutive requests meet the same queue, the same pause and the same cold cache, so a thousand
//! of them say less than a thousand independent ones. The run is cut into batches in time. If
//! samples were independent, figures of batches would scatter as chance alone predicts; the excess
//! is the variance inflation, by which the sample size is divided. Batches come in as counts and
//! sums; a variance inflation goes out, and from it an effective sample size for [`crate::order`].
//!
//! Sources: Law and Kelton, *Simulation Modeling and Analysis*, section 9.5.3 (batch means);
//! Schmeiser, "Batch size effects in the analysis of simulation output", 1982 (10 to 30 batches
//! are enough, more give away their independence); Heidelberger and Lewis, "Quantile estimation in
//! dependent sequences", 1984 (the same for the indicator of a quantile).

/// No more batches than this: longer ones depend less on each other.
pub const MOST_BATCHES: usize = 30;

/// A batch as one quantile sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Below {
    /// Samples in the batch.
    pub count: u64,
    /// Those of them at or below the quantile of all.
    pub below: u64,
}

/// A batch as the mean sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mean {
    /// Samples in the batch.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
}

/// Variance inflation of a quantile, at least 1.
///
/// With n_j samples in batch j, of which the share p_j lies at or below the quantile, p̂ the share
/// among all, and k batches, Pearson's statistic of dispersion
///
/// > D = Σ n_j (p_j − p̂)² / (p̂ (1 − p̂))
///
/// has mean k − 1 if samples are independent. The inflation is D / (k − 1), and 1 where that is
/// less: samples with negative dependence do not count for more than independent ones. `None` with
/// fewer than two batches, or where all samples lie on one side.
pub fn inflation_of_quantile(batches: &[Below]) -> Option<f64> {
    let (mut count, mut below, mut used) = (0u64, 0u64, 0u64);
    for batch in batches.iter().filter(|batch| batch.count > 0) {
        count += batch.count;
        below += batch.below;
        used += 1;
    }
    if used < 2 || below == 0 || below >= count {
        return None;
    }
    let share = below as f64 / count as f64;
    let scatter: f64 = batches
        .iter()
        .filter(|batch| batch.count > 0)
        .map(|batch| {
            let own = batch.below as f64 / batch.count as f64;
            batch.count as f64 * (own - share).powi(2)
        })
        .sum();
    Some((scatter / (share * (1.0 - share)) / (used - 1) as f64).max(1.0))
}

/// Variance inflation of the mean, at least 1.
///
/// With m_j the mean of batch j, m that of all, and s² the variance of single samples,
/// V = Σ n_j (m_j − m)² / ((k − 1) s²), which has mean 1 if samples are independent. `None` with
/// fewer than two batches or without variance.
pub fn inflation_of_mean(batches: &[Mean], variance: f64) -> Option<f64> {
    let used = || batches.iter().filter(|batch| batch.count > 0);
    let (k, count) = (used().count(), used().map(|batch| batch.count).sum::<u64>());
    if k < 2 || variance.is_nan() || variance <= 0.0 {
        return None;
    }
    let mean = used().map(|batch| batch.count as f64 * batch.mean).sum::<f64>() / count as f64;
    let scatter: f64 = used().map(|batch| batch.count as f64 * (batch.mean - mean).powi(2)).sum();
    Some((scatter / ((k - 1) as f64 * variance)).max(1.0))
}

/// The fewest samples above a quantile that can tell a stretch from chance.
const FEWEST_ABOVE: u64 = 10;

/// Whether most samples above the quantile come from one stretch of the run, such as a stall: four fifths of
/// them from one batch, or from neighbouring batches that are a fifth of all. `false` with fewer than three
/// batches.
pub fn is_one_stretch(batches: &[Below]) -> bool {
    let above = |some: &[Below]| -> u64 {
        some.iter().map(|batch| batch.count.saturating_sub(batch.below)).sum()
    };
    let (all, stretch) = (above(batches), (batches.len() / 5).max(1));
    let holds_most = |some: &[Below]| above(some).saturating_mul(5) >= all.saturating_mul(4);
    batches.len() > 2 && all >= FEWEST_ABOVE && batches.windows(stretch).any(holds_most)
}

/// The effective sample size of `count` dependent samples: n / V, rounded down, and at
/// least one if there is one.
pub fn effective_size(count: u64, inflation: f64) -> u64 {
    let worth = (count as f64 / inflation.max(1.0)) as u64;
    worth.clamp(count.min(1), count)
}

/// Neighbours joined, so that at most [`MOST_BATCHES`] are left, none of them (unless it is the
/// only one) with less than half of the mean number of samples: the figure of a small batch would
/// be chance.
pub fn join<T>(batches: Vec<T>, count: impl Fn(&T) -> u64, add: impl Fn(&mut T, T)) -> Vec<T> {
    let total: u64 = batches.iter().map(&count).sum();
    let most = batches.len().min(MOST_BATCHES) as u64;
    let mut joined: Vec<T> = Vec::with_capacity(MOST_BATCHES);
    for batch in batches {
        match joined.last_mut() {
            // Half of a fair share.
            Some(last) if count(last) * 2 * most < total => add(last, batch),
            _ => joined.push(batch),
        }
    }
    // Every second one until few enough are left: neighbours stay together.
    while joined.len() > MOST_BATCHES {
        let mut halved = Vec::with_capacity(joined.len() / 2 + 1);
        let mut all = joined.into_iter();
        while let Some(mut first) = all.next() {
            if let Some(second) = all.next() {
                add(&mut first, second);
            }
            halved.push(first);
        }
        joined = halved;
    }
    let small = |batch: &T| count(batch) * 2 * most < total;
    if joined.len() > 1
        && joined.last().is_some_and(small)
        && let Some(rest) = joined.pop()
        && let Some(last) = joined.last_mut()
    {
        add(last, rest);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Random;
    use crate::golden;

    #[test]
    fn dispersion_is_that_of_scipy() {
        for case in golden::list("dispersion") {
            let batches: Vec<Below> = case["batches"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| Below {
                    count: one[0].as_u64().unwrap(),
                    below: one[1].as_u64().unwrap(),
                })
                .collect();
            golden::assert_close(
                inflation_of_quantile(&batches).unwrap(),
                case["inflation"].as_f64().unwrap(),
                1e-9,
            );
        }
    }

    #[test]
    fn nothing_can_be_said_of_one_batch_or_of_one_side() {
        let one = |count, below| Below { count, below };
        assert_eq!(inflation_of_quantile(&[]), None);
        assert_eq!(inflation_of_quantile(&[one(100, 90), one(0, 0)]), None);
        assert_eq!(inflation_of_quantile(&[one(100, 100), one(100, 100)]), None);
        assert_eq!(inflation_of_quantile(&[one(100, 0), one(100, 0)]), None);
        assert_eq!(inflation_of_quantile(&[one(100, 90), one(100, 90)]), Some(1.0));
        assert_eq!(inflation_of_mean(&[Mean { count: 5, mean: 1.0 }], 1.0), None);
        assert_eq!(inflation_of_mean(&[Mean { count: 5, mean: 1.0 }; 2], 0.0), None);
    }

    #[test]
    fn a_stall_is_one_stretch_and_scattered_samples_are_not() {
        let batches =
            |above: [u64; 10]| above.map(|above| Below { count: 100, below: 100 - above });
        assert!(is_one_stretch(&batches([0, 1, 0, 40, 30, 0, 1, 0, 0, 1])));
        assert!(is_one_stretch(&batches([0, 0, 0, 0, 0, 0, 0, 0, 0, 10])));
        assert!(
            !is_one_stretch(&batches([5, 7, 6, 40, 30, 6, 7, 5, 6, 7])),
            "less than four fifths"
        );
        assert!(!is_one_stretch(&batches([40, 0, 0, 0, 0, 0, 0, 0, 0, 40])), "two stretches");
        assert!(!is_one_stretch(&batches([0, 0, 0, 9, 0, 0, 0, 0, 0, 0])), "may be chance");
        assert!(
            !is_one_stretch(&batches([0, 0, 0, 99, 0, 0, 0, 0, 0, 0])[3..5]),
            "too few batches"
        );
        assert!(is_one_stretch(&batches([0, 0, 0, 99, 0, 0, 0, 0, 0, 0])[2..5]));
        assert!(!is_one_stretch(&[]));
    }

    /// x' = φx + e. The variance of a mean of such a series is (1+φ)/(1−φ) times that of
    /// independent samples, 3 with φ = 0.5. Batches of 1000 are long enough to show it; 30 of
    /// them have a relative deviation of √(2/29) = 26 %, so 200 runs one of 1.9 %: 8 % is 4σ.
    #[test]
    fn an_autoregressive_series_is_worth_what_theory_says() {
        let phi = 0.5;
        let mut random = Random::new(11);
        let mut mean_inflation = 0.0;
        for _ in 0..200 {
            let mut x = 0.0;
            let mut batches = Vec::new();
            for _ in 0..30 {
                let mut sum = 0.0;
                for _ in 0..1000 {
                    x = phi * x + random.normal();
                    sum += x;
                }
                batches.push(Mean { count: 1000, mean: sum / 1000.0 });
            }
            let variance = 1.0 / (1.0 - phi * phi);
            mean_inflation += inflation_of_mean(&batches, variance).unwrap() / 200.0;
        }
        golden::assert_close(mean_inflation, 3.0, 0.08);
    }

    /// The interval of p90 of the same kind of series, φ = 0.8, with and without batches. True
    /// coverage with 20 batches of 500 is near 93 %; without batches it is near 60 %, the control.
    #[test]
    fn intervals_on_the_effective_size_hold_where_others_do_not() {
        let (phi, q, k, size) = (0.8f64, 0.9, 20, 500u64);
        let truth = crate::order::normal_quantile(q) / (1.0 - phi * phi).sqrt();
        let mut random = Random::new(3);
        let (mut held, mut held_without) = (0, 0);
        for _ in 0..300 {
            let mut x = 0.0;
            let series: Vec<f64> = (0..k * size)
                .map(|_| {
                    x = phi * x + random.normal();
                    x
                })
                .collect();
            let mut sorted = series.clone();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len() as u64;
            let estimate = sorted[(n as f64 * q) as usize];
            let batches: Vec<Below> = series
                .chunks(size as usize)
                .map(|batch| Below {
                    count: size,
                    below: batch.iter().filter(|x| **x <= estimate).count() as u64,
                })
                .collect();
            let worth = effective_size(n, inflation_of_quantile(&batches).unwrap());
            let holds = |size| {
                let levels = crate::order::levels(size, crate::Quantile::nearest(q), 0.95);
                let at = |level: crate::Quantile| sorted[level.rank(n) as usize - 1];
                at(levels.low.unwrap()) <= truth && truth < at(levels.high.unwrap())
            };
            held += u32::from(holds(worth));
            held_without += u32::from(holds(n));
        }
        assert!(held >= 264, "88 % of 300 at least: {held}");
        assert!(held_without <= 225, "75 % of 300 at most: {held_without}");
    }

    #[test]
    fn an_effective_size_is_never_more_than_there_is() {
        assert_eq!(effective_size(1000, 4.0), 250);
        assert_eq!(effective_size(1000, 0.5), 1000);
        assert_eq!(effective_size(10, 1e9), 1);
        assert_eq!(effective_size(0, 3.0), 0);
    }

    #[test]
    fn joining_keeps_every_sample_and_leaves_no_small_batch() {
        for n in [0usize, 1, 2, 3, 29, 30, 31, 61, 1000, 3600] {
            let batches: Vec<u64> = (0..n as u64)
                .map(|i| if i % 7 == 3 { 0 } else { 100 + i % 5 })
                .chain([1])
                .collect();
            let total: u64 = batches.iter().sum();
            let joined = join(batches, |one| *one, |one, other| *one += other);
            assert_eq!(joined.iter().sum::<u64>(), total, "{n}");
            assert!(joined.len() <= MOST_BATCHES, "{n}: {}", joined.len());
            if joined.len() > 1 {
                assert!(
                    joined.iter().all(|&one| one * 4 * joined.len() as u64 >= total),
                    "{joined:?}"
                );
            }
        }
    }
}
