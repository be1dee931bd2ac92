//! HdrHistogram's percentile text (`.hgrm`) for its plotters. Values in milliseconds.

use std::fmt::Write;

use hdrhistogram::Histogram as Hdr;

use crate::document::Document;
use crate::document::latency::{DecodeError, Distribution};

/// Lines for each halving of the distance to 100 %.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
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
    let mut total = 0;
    for tick in hdr.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += tick.count_since_last_iteration();
        let value_ms = tick.value_iterated_to().min(max_ns).max(min_ns) as f64 / NS_PER_MS;
        let quantile = tick.quantile_iterated_to();
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
