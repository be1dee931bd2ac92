//! wrk2's distribution and its detailed percentile spectrum, in the classic form of
//! HdrHistogram's C library: values in milliseconds, five lines for each halving of the distance
//! to 100 %, and the footer.
//!
//! Each line is a tick of the `.hgrm` form.

use std::fmt::Write;

use candor_record::value_at_rank;
use candor_stats::Quantile;
use hdrhistogram::Histogram as Hdr;

use super::units;
use crate::hgrm::{self, Tick, ticks};
use candor_report::document::latency::Distribution;

/// The percentiles of the short distribution, in thousandths.
const PERCENTILES: [u64; 8] = [50_000, 75_000, 90_000, 99_000, 99_900, 99_990, 99_999, 100_000];
const US_PER_MS: f64 = 1e3;

/// Both, for a histogram in microseconds. Mean, deviation and maximum come from `distribution`,
/// which has exact ones.
pub(super) fn render(label: &str, distribution: &Distribution, hdr: &Hdr<u64>) -> String {
    let mut text = format!("  Latency Distribution (HdrHistogram - {label})\n");
    for thousandths in PERCENTILES {
        let rank = Quantile::new(thousandths, 100_000).rank(hdr.len());
        let us = if hdr.is_empty() { 0 } else { value_at_rank(hdr, rank) };
        let percentile = thousandths as f64 / 1000.0;
        let value = units::column(&units::time_us(us as f64), 10);
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{percentile:7.3}%{value}");
    }
    text.push_str("\n  Detailed Percentile spectrum:\n");
    let _ = writeln!(
        text,
        "{:>12} {:>12} {:>12} {:>12}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let decimals = usize::from(hdr.sigfig());
    for Tick { value: value_us, quantile, total } in ticks(hdr) {
        let value_ms = value_us as f64 / US_PER_MS;
        let quantile = quantile.share();
        let _ = write!(text, "{value_ms:12.decimals$} {quantile:12.6} {total:12} ");
        let _ = match quantile < 1.0 {
            true => writeln!(text, "{:12.2}", 1.0 / (1.0 - quantile)),
            false => writeln!(text, "{:>12}", "inf"),
        };
    }
    text += &hgrm::footer(distribution, hdr, 3);
    text.push_str("----------------------------------------------------------\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_where_the_original_has_them() {
        // The percentiles of a real output of wrk2, up to where its values end.
        let transcript = "0.000000 0.100000 0.200000 0.300000 0.400000 0.500000 0.550000 \
            0.600000 0.650000 0.700000 0.750000 0.775000 0.800000 0.825000 0.850000 0.875000 \
            0.887500 0.900000 0.912500 0.925000 0.937500 0.943750 0.950000 0.956250 0.962500 \
            0.968750 0.971875 0.975000 0.978125 0.981250 0.984375 0.985938 0.987500 0.989062 \
            0.990625 1.000000";
        let mut hdr = Hdr::<u64>::new_with_bounds(1, 86_400_000_000, 3).unwrap();
        (1..=100).for_each(|us| hdr.record(us).unwrap());
        let ours: Vec<String> =
            ticks(&hdr).iter().map(|tick| format!("{:.6}", tick.quantile.share())).collect();
        assert_eq!(ours, transcript.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ticks(&hdr).last().unwrap().total, 100);
        assert_eq!(hdr.buckets(), 27, "as the footer of the original has it");
    }
}
