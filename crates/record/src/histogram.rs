//! A latency histogram: HdrHistogram for the shape, exact minimum, maximum and sum beside it.
//!
//! Range 1 ns to 1 h with 1 to 5 significant digits. A value above the range is counted as out of
//! range and recorded at the range's end, so that no sample is missing from a percentile. Zero is
//! a legal value (no queue wait at all).

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The highest value that is told apart: one hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Distribution of durations in nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram {
    hdr: Hdr<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    out_of_range: u64,
}

impl Histogram {
    /// An empty histogram with `digits` significant decimal digits, 1 to 5.
    pub fn new(digits: u8) -> Self {
        let hdr = Hdr::new_with_bounds(1, HIGHEST_NS, digits.clamp(1, 5))
            .expect("bounds are constant and valid for 1 to 5 digits");
        Histogram { hdr, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, out_of_range: 0 }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        if value_ns > HIGHEST_NS {
            self.out_of_range += 1;
        }
        self.hdr.saturating_record(value_ns);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.hdr.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.hdr.is_empty()
    }

    /// The smallest sample, exactly; `None` without samples.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The largest sample, exactly; `None` without samples.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean, exactly; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The standard deviation, to the histogram's precision.
    pub fn stdev_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.hdr.stdev())
    }

    /// Sum of all samples, exactly.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Samples above [`HIGHEST_NS`].
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The value at quantile `q` in [0, 1], never outside of the exact extremes.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.hdr.value_at_quantile(q).clamp(self.min_ns, self.max_ns))
    }

    /// Adds all samples of `other`, which has the same number of digits.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        self.hdr.add(&other.hdr).expect("histograms of one run share their bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.out_of_range += other.out_of_range;
    }

    /// Back to nothing, keeping the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.hdr.reset();
        }
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.out_of_range = 0;
    }

    /// The histogram itself, for iteration and encoding.
    pub fn hdr(&self) -> &Hdr<u64> {
        &self.hdr
    }

    /// HdrHistogram's V2 encoding, compressed, as bytes (not base64).
    pub fn encode_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.hdr, &mut bytes)
            .expect("writing to memory does not fail");
        bytes
    }
}

/// The histograms of answered requests. `response = queue wait + send lag + service`, exactly,
/// for every request.
#[derive(Debug, Clone)]
pub struct Latencies {
    /// due → done.
    pub response: Histogram,
    /// due → ready: no connection was free.
    pub queue_wait: Histogram,
    /// ready → sent: the loader was late.
    pub send_lag: Histogram,
    /// sent → done.
    pub service: Histogram,
    /// sent → first byte of the answer.
    pub first_byte: Histogram,
}

impl Latencies {
    /// Empty histograms.
    pub fn new(digits: u8) -> Self {
        Latencies {
            response: Histogram::new(digits),
            queue_wait: Histogram::new(digits),
            send_lag: Histogram::new(digits),
            service: Histogram::new(digits),
            first_byte: Histogram::new(digits),
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Latencies) {
        self.response.merge(&other.response);
        self.queue_wait.merge(&other.queue_wait);
        self.send_lag.merge(&other.send_lag);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
    }

    /// Back to nothing, keeping the memory.
    pub fn clear(&mut self) {
        self.response.clear();
        self.queue_wait.clear();
        self.send_lag.clear();
        self.service.clear();
        self.first_byte.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_equals_concatenating() {
        let (mut a, mut b, mut both) = (Histogram::new(3), Histogram::new(3), Histogram::new(3));
        for i in 0..10_000u64 {
            let value = i * i * 37 % 5_000_000_000;
            if i % 3 == 0 {
                a.record(value)
            } else {
                b.record(value)
            }
            both.record(value);
        }
        a.merge(&b);
        assert_eq!(a.hdr(), both.hdr());
        assert_eq!((a.min_ns(), a.max_ns()), (both.min_ns(), both.max_ns()));
        assert_eq!(a.sum_ns(), both.sum_ns());
    }

    #[test]
    fn out_of_range_is_counted_and_kept() {
        let mut h = Histogram::new(3);
        h.record(5);
        h.record(HIGHEST_NS * 2);
        assert_eq!((h.count(), h.out_of_range()), (2, 1));
        assert_eq!(h.max_ns(), Some(HIGHEST_NS * 2));
        assert!(h.quantile_ns(1.0).unwrap() >= HIGHEST_NS);
    }

    #[test]
    fn percentiles_stay_within_the_extremes() {
        let mut h = Histogram::new(1);
        for value in [1_049_000, 1_049_001, 1_049_002] {
            h.record(value);
        }
        for q in [0.0, 0.5, 0.99, 1.0] {
            let value = h.quantile_ns(q).unwrap();
            assert!((1_049_000..=1_049_002).contains(&value), "{q}: {value}");
        }
    }

    #[test]
    fn zero_is_a_value() {
        let mut h = Histogram::new(3);
        h.record(0);
        h.record(0);
        h.record(1000);
        assert_eq!(h.quantile_ns(0.5), Some(0));
        assert_eq!(h.count(), 3);
    }
}
