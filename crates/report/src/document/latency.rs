//! What was timed: the distributions, with the whole histogram in each.
//!
//! A percentile is null where there are too few samples to speak of it; the histogram itself is
//! always whole, for whoever wants to compute another.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_record::{Histogram, Interval};
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::Deserializer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples that must lie beyond a percentile before it is worth printing.
pub const SAMPLES_BEYOND: u64 = 10;

/// The percentiles of every document, in per cent. As text they sort in this order too.
pub const PERCENTILES: [f64; 9] = [10.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// Whether `count` samples are enough to speak of the quantile `q` in [0, 1].
pub fn enough_samples(count: u64, q: f64) -> bool {
    // 1 − 0.9 is a little less than 0.1 in binary: allow for that.
    count as f64 * q.min(1.0 - q) >= SAMPLES_BEYOND as f64 - 1e-6
}

/// The histograms of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// due → done, of requests answered as expected. In a closed load due is ready.
    pub response: Distribution,
    /// due → ready: no connection was free.
    pub queue_wait: Distribution,
    /// ready → sent: the loader was late.
    pub send_lag: Distribution,
    /// sent → done.
    pub service: Distribution,
    /// sent → first byte of the answer.
    pub first_byte: Distribution,
    /// Time to establish a connection, warm-up included.
    pub connect: Distribution,
    /// Ages of requests that were never answered: unsent, unfinished or timed out. Lower bounds
    /// of response times.
    pub censored: Distribution,
}

impl Latencies {
    pub(super) fn of(total: &Interval) -> Self {
        Latencies {
            response: Distribution::of(&total.latencies.response),
            queue_wait: Distribution::of(&total.latencies.queue_wait),
            send_lag: Distribution::of(&total.latencies.send_lag),
            service: Distribution::of(&total.latencies.service),
            first_byte: Distribution::of(&total.latencies.first_byte),
            connect: Distribution::of(&total.connect),
            censored: Distribution::of(&total.censored),
        }
    }

    /// Each with its name.
    pub fn named(&self) -> [(&'static str, &Distribution); 7] {
        [
            ("response", &self.response),
            ("queue_wait", &self.queue_wait),
            ("send_lag", &self.send_lag),
            ("service", &self.service),
            ("first_byte", &self.first_byte),
            ("connect", &self.connect),
            ("censored", &self.censored),
        ]
    }
}

/// A distribution of durations. Everything but count and histogram is null without samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// Smallest, exactly.
    pub min_ns: Option<u64>,
    /// Mean, exactly.
    pub mean_ns: Option<f64>,
    /// Standard deviation, to the histogram's precision.
    pub stdev_ns: Option<f64>,
    /// `p10` to `p99.999`. Null where fewer than ten samples lie beyond.
    pub percentiles_ns: BTreeMap<String, Option<u64>>,
    /// Largest, exactly.
    pub max_ns: Option<u64>,
    /// Samples above the histogram's range, recorded at its end.
    pub out_of_range: u64,
    /// HdrHistogram V2, compressed, base64.
    pub hdr: String,
}

/// A histogram in a document that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("a histogram in the document is damaged ({0}); save the result again")]
pub struct DecodeError(String);

impl Distribution {
    /// Of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        let at = |percentile: f64| {
            let q = percentile / 100.0;
            histogram.quantile_ns(q).filter(|_| enough_samples(count, q))
        };
        Distribution {
            count,
            min_ns: histogram.min_ns(),
            mean_ns: histogram.mean_ns(),
            stdev_ns: histogram.stdev_ns(),
            percentiles_ns: PERCENTILES.into_iter().map(|p| (format!("p{p}"), at(p))).collect(),
            max_ns: histogram.max_ns(),
            out_of_range: histogram.out_of_range(),
            hdr: encode(&histogram.encode_v2()),
        }
    }

    /// The percentile of this name, such as `p99.9`; `None` with too few samples.
    pub fn percentile_ns(&self, name: &str) -> Option<u64> {
        self.percentiles_ns.get(name).copied().flatten()
    }

    /// The histogram again.
    pub fn decode(&self) -> Result<Hdr<u64>, DecodeError> {
        decode(&self.hdr)
    }

    /// The value at quantile `q` in [0, 1], never outside of the exact extremes. `Ok(None)`
    /// without samples.
    pub fn quantile_ns(&self, q: f64) -> Result<Option<u64>, DecodeError> {
        let (Some(min_ns), Some(max_ns)) = (self.min_ns, self.max_ns) else {
            return Ok(None);
        };
        let value_ns = self.decode()?.value_at_quantile(q);
        Ok(Some(value_ns.min(max_ns).max(min_ns)))
    }
}

/// Bytes of a histogram as they stand in documents and logs.
pub(crate) fn encode(v2: &[u8]) -> String {
    BASE64.encode(v2)
}

/// The histogram of such a text.
pub(crate) fn decode(text: &str) -> Result<Hdr<u64>, DecodeError> {
    let bytes = BASE64.decode(text).map_err(|error| DecodeError(error.to_string()))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| DecodeError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thousand() -> Histogram {
        let mut histogram = Histogram::new(3);
        (1..=1000u64).for_each(|i| histogram.record(i * 1_000_003));
        histogram
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond() {
        for (count, q, enough) in [
            (20, 0.5, true),
            (19, 0.5, false),
            (100, 0.9, true),
            (1000, 0.99, true),
            (999, 0.99, false),
        ] {
            assert_eq!(enough_samples(count, q), enough, "{count} {q}");
        }
        assert!(enough_samples(1000, 0.01) && !enough_samples(999, 0.01));
        let distribution = Distribution::of(&thousand());
        assert!(distribution.percentile_ns("p99").is_some());
        assert_eq!(distribution.percentile_ns("p99.9"), None);
        assert_eq!(distribution.percentiles_ns.len(), PERCENTILES.len());
    }

    #[test]
    fn names_sort_like_percentiles() {
        let names: Vec<_> = PERCENTILES.iter().map(|p| format!("p{p}")).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn the_histogram_comes_back() {
        let histogram = thousand();
        let distribution = Distribution::of(&histogram);
        assert_eq!(distribution.decode().unwrap(), histogram.hdr());
        for q in [0.0, 0.37, 0.995, 1.0] {
            assert_eq!(distribution.quantile_ns(q).unwrap(), histogram.quantile_ns(q));
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut distribution = Distribution::of(&thousand());
        distribution.hdr.truncate(20);
        assert!(distribution.quantile_ns(0.5).unwrap_err().to_string().contains("damaged"));
        distribution.hdr = "not base64!".to_owned();
        assert!(distribution.decode().is_err());
    }

    #[test]
    fn nothing_is_null() {
        let distribution = Distribution::of(&Histogram::new(3));
        assert_eq!(
            (distribution.min_ns, distribution.mean_ns, distribution.max_ns),
            (None, None, None)
        );
        assert!(distribution.percentiles_ns.values().all(Option::is_none));
        assert_eq!(distribution.quantile_ns(0.5).unwrap(), None);
    }
}
