//! Where the level of a series changed.
//!
//! The figures of results come in, in the order in which they were made; the places where a new level begins go out. A
//! place is found by ranks, so that one result far off moves nothing, and judged by permutations: figures of one
//! distribution in any order are as likely as in their own, whatever the distribution is. So a series without a change
//! shows one in at most a share [`LEVEL`] of all cases, each time that it is looked at. Figures that drift, or resemble
//! those before them, are not in any order, and what is found in them is a change all the same.

use crate::bootstrap::{Random, hodges_lehmann};

/// The share of series without a change in which one is found.
pub const LEVEL: f64 = 0.01;
/// The shortest stretch of one level.
pub const LEAST: usize = 4;
/// Orders that a series is compared with.
const PERMUTATIONS: u32 = 999;
/// Figures on each side that say how large a change is.
const NEAR: usize = 50;

/// The beginning of another level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first figure of the new level.
    pub at: usize,
    /// From the level before to the new one (Hodges and Lehmann's shift of the nearest figures).
    pub shift: f64,
    /// The share of other orders of the figures around it that show as large a change.
    pub p: f64,
}

/// The changes of a series, in order; none in one that is shorter than twice [`LEAST`].
///
/// The series is cut where its ranks differ most, if that is no chance, and so are the parts (binary segmentation;
/// Vostrikova, "Detecting disorder in multivariate random processes", 1981). Then each place is sought once more between
/// its neighbours, because a change elsewhere may have moved it.
pub fn changes(series: &[f64], seed: u64) -> Vec<Change> {
    if series.iter().any(|x| !x.is_finite()) {
        return Vec::new();
    }
    let mut random = Random::new(seed);
    let mut places = Vec::new();
    let mut parts = vec![(0, series.len())];
    while let Some((from, to)) = parts.pop() {
        if let Some((at, _)) = cut(&series[from..to], &mut random) {
            places.push(from + at);
            parts.extend([(from, from + at), (from + at, to)]);
        }
    }
    places.sort_unstable();
    let mut found: Vec<Change> = Vec::new();
    for (n, _) in places.iter().enumerate() {
        let from = found.last().map_or(0, |one| one.at);
        let to = places.get(n + 1).copied().unwrap_or(series.len());
        let Some((at, p)) = cut(&series[from..to], &mut random) else { continue };
        let at = from + at;
        let (before, after) = (&series[from.max(at.saturating_sub(NEAR))..at], &series[at..to]);
        let shift = hodges_lehmann(before, &after[..after.len().min(NEAR)]);
        found.push(Change { at, shift, p });
    }
    found
}

/// Where a series is cut, and the p of it; `None` if that may be chance.
fn cut(series: &[f64], random: &mut Random) -> Option<(usize, f64)> {
    if series.len() < 2 * LEAST {
        return None;
    }
    let mut ranks = ranks(series);
    let (at, size) = largest(&ranks);
    let allowed = (LEVEL * f64::from(PERMUTATIONS + 1)) as u32 - 1;
    let mut as_large = 0;
    for _ in 0..PERMUTATIONS {
        for last in (1..ranks.len()).rev() {
            ranks.swap(last, random.below(last + 1));
        }
        as_large += u32::from(largest(&ranks).1 >= size);
        if as_large > allowed {
            return None;
        }
    }
    Some((at, f64::from(as_large + 1) / f64::from(PERMUTATIONS + 1)))
}

/// Where the sums of ranks before and after differ most, and by how much.
///
/// > |U_k| / √(k (n − k)), U_k = 2 Σ_{i ≤ k} r_i − k (n + 1)
///
/// r: ranks, n: their number (Pettitt, "A non-parametric approach to the change-point problem", 1979; standardised, so
/// that changes near an end are found too).
fn largest(ranks: &[f64]) -> (usize, f64) {
    let n = ranks.len();
    let (mut sum, mut best) = (0.0, (0, -1.0));
    for (k, rank) in (1..=n - LEAST).zip(ranks) {
        sum += rank;
        let (before, all) = (k as f64, n as f64);
        let size = (2.0 * sum - before * (all + 1.0)).abs() / (before * (all - before)).sqrt();
        if k >= LEAST && size > best.1 {
            best = (k, size);
        }
    }
    best
}

/// The rank of each figure, from 1; the mean of their ranks where several are the same.
fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_unstable_by(|&a, &b| series[a].total_cmp(&series[b]));
    let mut ranks = vec![0.0; series.len()];
    let mut from = 0;
    for same in order.chunk_by(|&a, &b| series[a] == series[b]) {
        let rank = from as f64 + (same.len() + 1) as f64 / 2.0;
        same.iter().for_each(|&at| ranks[at] = rank);
        from += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 figures around 0 that differ by 1 %, with a step of `step` before the one at `at`.
    fn history(seed: u64, at: usize, step: f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..60).map(|n| 0.01 * random.normal() + if n < at { 0.0 } else { step }).collect()
    }

    #[test]
    fn histories_without_a_change_seldom_show_one() {
        let is_red = |seed| !changes(&history(seed, 0, 0.0), seed).is_empty();
        let red = (0..1000).filter(|seed| is_red(*seed)).count();
        // 10 are expected; 22 or more have a probability below 0.001.
        assert!(red < 22, "{red}");
        // Whatever the distribution: now and then a result is far off, and half of them are the same.
        let red = (0..1000).filter(|&seed| {
            let odd = history(seed, 0, 0.0).into_iter().map(|x| (300.0 * x).exp().max(1.0));
            !changes(&odd.collect::<Vec<_>>(), seed).is_empty()
        });
        let red = red.count();
        assert!(red < 22, "{red}");
    }

    #[test]
    fn a_step_of_three_percent_is_found_where_it_is() {
        let mut near = 0;
        for seed in 0..200 {
            let found = changes(&history(seed, 40, 0.03), seed);
            near += usize::from(matches!(&found[..], [one] if one.at.abs_diff(40) <= 2));
            if let [one] = &found[..] {
                assert!((one.shift - 0.03).abs() < 0.015 && one.p <= LEVEL, "{one:?}");
            }
        }
        // In some, noise moves it, or shows a second one.
        assert!(near >= 190, "{near} of 200");
    }

    #[test]
    fn there_and_back_are_two_changes() {
        let mut random = Random::new(1);
        let level = |n: usize| if (20..40).contains(&n) { 0.05 } else { 0.0 };
        let series: Vec<f64> = (0..60).map(|n| level(n) + 0.01 * random.normal()).collect();
        let found: Vec<usize> = changes(&series, 1).iter().map(|one| one.at).collect();
        assert_eq!(found, [20, 40]);
    }

    #[test]
    fn what_is_no_series_has_none() {
        assert_eq!(changes(&[], 1), []);
        assert_eq!(changes(&[1.0; 100], 1), []);
        assert_eq!(changes(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 1), []);
        assert_eq!(changes(&[f64::NAN; 20], 1), []);
        // The first split that can be no chance.
        let mut series = vec![1.0; 6];
        series.extend([2.0; 6]);
        assert_eq!(changes(&series, 1).first().map(|one| one.at), Some(6));
    }

    #[test]
    fn ten_thousand_results_are_looked_through() {
        let mut random = Random::new(3);
        let level = |n: usize| if n < 7000 { 0.0 } else { 0.01 };
        let series: Vec<f64> = (0..10_000).map(|n| level(n) + 0.01 * random.normal()).collect();
        let found = changes(&series, 1);
        assert!(found.iter().any(|one| one.at.abs_diff(7000) < 50), "{found:?}");
    }
}
