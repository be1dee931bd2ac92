//! Histograms against the exact figures of ten million values at five scales.

use candor_record::{Histogram, Quantile};

const VALUES: u64 = 10_000_000;

/// A value at this scale: log-uniform over four decades, with a few far outliers. The index is
/// permuted, so values come in no order.
fn value(index: u64, scale_ns: f64) -> u64 {
    let bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
    // 2^x by its parts is quick enough in an unoptimised build.
    (scale_ns * (13.3 * unit).exp2()) as u64
}

/// Three digits: a quantile is right to a part in a thousand, at every scale. And merged histograms
/// of parts equal the histogram of all values.
#[test]
fn quantiles_are_within_a_part_in_a_thousand_of_an_exact_sort() {
    for scale_ns in [1.0, 100.0, 10_000.0, 1_000_000.0, 100_000_000.0] {
        let mut exact = Vec::with_capacity(VALUES as usize / 5);
        let mut whole = Histogram::new(3);
        let mut parts = [Histogram::new(3), Histogram::new(3), Histogram::new(3)];
        for index in 0..VALUES / 5 {
            let value_ns = value(index, scale_ns);
            exact.push(value_ns);
            whole.record(value_ns);
            parts[(index % 3) as usize].record(value_ns);
        }
        let mut merged = Histogram::new(3);
        parts.iter().for_each(|part| merged.merge(part));
        assert_eq!(merged.hdr(), whole.hdr(), "{scale_ns}");
        assert_eq!(merged.sum_ns(), whole.sum_ns());
        assert_eq!((merged.min_ns(), merged.max_ns()), (whole.min_ns(), whole.max_ns()));

        exact.sort_unstable();
        let count = exact.len();
        assert_eq!(whole.count(), count as u64);
        assert_eq!(whole.sum_ns(), exact.iter().map(|&one| u128::from(one)).sum());
        for permille in 0..=1000 {
            let q = Quantile::new(permille, 1000);
            // HdrHistogram's rank: the first with at least that share at or below it.
            let rank = (permille as usize * count).div_ceil(1000).max(1);
            let (wanted, found) = (exact[rank - 1], whole.quantile_ns(q).unwrap());
            let off = found.abs_diff(wanted) as f64;
            assert!(off <= 1e-3 * wanted as f64, "{scale_ns} {q}: {found} where {wanted} is right");
        }
    }
}
