//! Figures of the values of single requests.

use candor_stats::Quantile;

/// The smallest value that a share `q` in [0, 1] of all does not exceed; NaN without values.
pub(super) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = Quantile::nearest(q).rank(sorted.len() as u64);
    sorted.get(rank as usize - 1).copied().unwrap_or(f64::NAN)
}

/// The mean; NaN without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
