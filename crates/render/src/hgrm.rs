//! HdrHistogram's percentile text (`.hgrm`) for its plotters. Values in milliseconds.

use std::fmt::Write;

use candor_stats::Quantile;
use hdrhistogram::Histogram as Hdr;

use candor_report::document::Document;
use candor_report::document::latency::{DecodeError, Distribution};

/// Lines for each halving of the distance to 100 %.
const TICKS_PER_HALF_DISTANCE: u64 = 5;
const NS_PER_MS: f64 = 1e6;

/// Response times of the document.
pub fn response(document: &Document) -> Result<String, DecodeError> {
    render(&document.latencies.response)
}

/// Service times of the document.
pub fn service(document: &Document) -> Result<String, DecodeError> {
    render(&document.latencies.service)
}

fn render(distribution: &Distribution) -> Result<String, DecodeError> {
    let hdr = distribution.decode()?;
    let min_ns = distribution.min_ns.unwrap_or(0);
    let max_ns = distribution.max_ns.unwrap_or(0);
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for Tick { value, quantile, total } in ticks(&hdr).into_iter().filter(|tick| tick.total > 0) {
        let value_ms = value.min(max_ns).max(min_ns) as f64 / NS_PER_MS;
        let quantile = quantile.share();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value_ms:12.6} {quantile:2.12} {total:10}");
        if quantile < 1.0 {
            let _ = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    text += &footer(distribution, &hdr, 6);
    Ok(text)
}

/// A line of the percentiles: the first recorded value up to which there is at least this share of the samples.
pub(super) struct Tick {
    pub(super) value: u64,
    pub(super) quantile: Quantile,
    /// Samples up to it.
    pub(super) total: u64,
}

/// The ticks. As in HdrHistogram's own libraries the last recorded value gets one tick below 100 %, and then that
/// of 100 %.
pub(super) fn ticks(hdr: &Hdr<u64>) -> Vec<Tick> {
    let count = hdr.len();
    let (mut ticks, mut levels) = (Vec::new(), levels().peekable());
    let (mut total, mut value) = (0, 0);
    for step in hdr.iter_recorded() {
        total += step.count_at_value();
        value = step.value_iterated_to();
        while let Some(quantile) = levels.next_if(|quantile| quantile.rank(count) <= total) {
            ticks.push(Tick { value, quantile, total });
            if total == count {
                break;
            }
        }
    }
    ticks.push(Tick { value, quantile: Quantile::new(1, 1), total });
    ticks
}

/// The quantiles of ticks: between 1 − 2⁻ʰ and half of the remaining distance they are even.
fn levels() -> impl Iterator<Item = Quantile> {
    // Beyond 2⁶⁰ no sample is left.
    (0..60).flat_map(|halvings| {
        let whole = TICKS_PER_HALF_DISTANCE << (halvings + 1);
        let first = whole - 2 * TICKS_PER_HALF_DISTANCE;
        (first..first + TICKS_PER_HALF_DISTANCE).map(move |part| Quantile::new(part, whole))
    })
}

/// The lines of HdrHistogram's C library below the percentiles. Mean, deviation and maximum come
/// from `distribution`, which has exact ones.
pub(super) fn footer(distribution: &Distribution, hdr: &Hdr<u64>, decimals: usize) -> String {
    let Distribution { mean_ns, stdev_ns, max_ns, .. } = distribution;
    let [mean, stdev, max] = [*mean_ns, *stdev_ns, max_ns.map(|ns| ns as f64)]
        .map(|ns| format!("{:12.decimals$}", ns.unwrap_or(0.0) / NS_PER_MS));
    let (count, buckets, sub_buckets) = (hdr.len(), hdr.buckets(), sub_buckets(hdr));
    format!(
        "#[Mean    = {mean}, StdDeviation   = {stdev}]\n\
         #[Max     = {max}, Total count    = {count:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]\n"
    )
}

/// The share of samples within one standard deviation of the mean, in [0, 1]; `None` without samples. A
/// step of the histogram counts if the `first` of its values is not below the range, and the `last` not
/// above.
pub(super) fn near_mean(
    distribution: &Distribution,
    hdr: &Hdr<u64>,
    (first, last): (impl Fn(u64) -> u64, impl Fn(u64) -> u64),
) -> Option<f64> {
    let (mean_ns, stdev_ns) =
        (distribution.mean_ns.unwrap_or(0.0), distribution.stdev_ns.unwrap_or(0.0));
    let is_near = |value: u64| {
        mean_ns - stdev_ns <= first(value) as f64 && last(value) as f64 <= mean_ns + stdev_ns
    };
    let near = hdr.iter_recorded().filter(|step| is_near(step.value_iterated_to()));
    let near: u64 = near.map(|step| step.count_at_value()).sum();
    (!hdr.is_empty()).then(|| near as f64 / hdr.len() as f64)
}

/// The power of two that resolves two units of a histogram's last significant digit.
pub(super) fn sub_buckets(hdr: &Hdr<u64>) -> u64 {
    (2 * 10u64.pow(hdr.sigfig().into())).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's own ticks are sums in floating point: 0.1 + 0.1 + 0.1 is more than three of ten samples.
    #[test]
    fn ticks_are_those_of_the_library_but_for_its_rounding() {
        let mut hdr = Hdr::<u64>::new_with_bounds(1, 3_600_000_000_000, 4).unwrap();
        for n in 1..=10_000u64 {
            hdr.record(n).unwrap();
            if n % 97 != 0 && n % 1000 != 0 && n > 100 {
                continue;
            }
            let ours = ticks(&hdr);
            #[expect(clippy::disallowed_methods, reason = "the library's own, to compare")]
            let theirs: Vec<_> = hdr.iter_quantiles(5).collect();
            assert!(ours.len().abs_diff(theirs.len()) <= 1, "{n}");
            let (last, before) = ours.split_last().unwrap();
            assert_eq!((last.value, last.quantile.share()), (n, 1.0));
            for (tick, library) in before.iter().zip(&theirs[..theirs.len() - 1]) {
                let q = tick.quantile.share();
                assert!((q - library.quantile_iterated_to()).abs() < 1e-9, "{n}");
                assert_eq!(tick.value, tick.quantile.rank(n), "{q} of {n}");
                assert!(library.value_iterated_to() - tick.value <= 1, "{q} of {n}");
            }
        }
    }
}
