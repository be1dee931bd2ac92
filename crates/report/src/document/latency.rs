//! Latencies: distributions, each with its whole histogram.
//!
//! A percentile is null if there are too few samples for it; the histogram itself is always whole,
//! so that others can be computed. There are two separate questions:
//!
//! - *Is the number worth printing?* It is if this number of independent samples bounds the
//!   percentile from both sides, within a width of the percentile itself. Then it describes this
//!   run's requests.
//! - *How far does it hold beyond this run?* That is its interval, from the effective sample size,
//!   to which requests that met the same stall contribute less. After a stall the number is
//!   printed, but its interval may have no upper end.

use std::collections::BTreeMap;

use candor_record::{
    Batch, Blocked, BlockedCounts, Buckets, Encoded, EncodingError, Histogram, RunRecord,
    value_at_rank,
};
use candor_stats::batch::{self, Below};
use candor_stats::{Quantile, order};
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// Intervals narrower than this are always good enough.
const FLOOR_NS: u64 = 10_000;

/// The percentiles of every document. Their names sort in this order too.
pub const PERCENTILES: [Quantile; 9] = [
    Quantile::new(10, 100),
    Quantile::P50,
    Quantile::new(75, 100),
    Quantile::P90,
    Quantile::new(95, 100),
    Quantile::P99,
    Quantile::P99_9,
    Quantile::new(9_999, 10_000),
    Quantile::new(99_999, 100_000),
];

/// Whether `count` independent samples bound a quantile from both sides: 368 do for p99.
pub fn enough_samples(count: u64, q: Quantile) -> bool {
    order::is_bounded(count, q, order::CONFIDENCE)
}

/// Whether an interval is narrow enough for its percentile to be printed.
pub fn is_useful(low_ns: u64, estimate_ns: u64, high_ns: u64) -> bool {
    order::is_useful(low_ns as f64, estimate_ns as f64, high_ns as f64, FLOOR_NS as f64)
}

/// The histograms of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latencies {
    /// due → done, of requests with the expected response. In a closed load due is ready.
    pub response: Distribution,
    /// due → ready: no connection was free.
    pub queue_wait: Distribution,
    /// ready → sent, without blocked time: the loader was late.
    pub send_lag: Distribution,
    /// sent → done.
    pub service: Distribution,
    /// sent → first byte of the response.
    pub first_byte: Distribution,
    /// Time that the transport held requests back before they were sent; null if it held none back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<BlockedTime>,
    /// Those of the response times that a pause of the loader's machine touched: requests of a millisecond or more
    /// with a moment of such a pause in them. The pause need not be the cause. 0 in results of older versions.
    #[serde(default)]
    pub touched: u64,
    /// The response times without those; null if there are none. It has no intervals.
    #[serde(default)]
    pub untouched: Option<Distribution>,
    /// Time to establish a connection, warm-up included, without a handshake of TLS.
    pub connect: Distribution,
    /// Time of TLS handshakes, warm-up included; null without TLS.
    #[serde(default)]
    pub handshake: Option<Distribution>,
    /// Both together: time until TLS connections were secured; null without TLS.
    #[serde(default)]
    pub secured: Option<Distribution>,
    /// Ages of requests without a response: unsent, unfinished or timed out. Lower bounds of
    /// response times.
    pub censored: Distribution,
}

impl Latencies {
    pub(super) fn of(record: &RunRecord) -> Self {
        let total = &record.total;
        let batches = batches(record);
        let timed = |histogram, pick: fn(&Batch) -> &Buckets| {
            Distribution::in_batches(histogram, &batches.iter().map(pick).collect::<Vec<_>>())
        };
        let latencies = &total.latencies;
        let touched = total.touched.as_deref().filter(|touched| !touched.is_empty());
        Latencies {
            response: timed(&latencies.response, |batch| &batch.response),
            queue_wait: timed(&latencies.queue_wait, |batch| &batch.queue_wait),
            send_lag: timed(&latencies.send_lag, |batch| &batch.send_lag),
            service: timed(&latencies.service, |batch| &batch.service),
            first_byte: timed(&latencies.first_byte, |batch| &batch.first_byte),
            blocked: total.blocked.as_deref().and_then(BlockedTime::of),
            touched: touched.map_or(0, Histogram::count),
            untouched: touched.map(|touched| {
                let rest = Distribution::of(&latencies.response.without(touched));
                Distribution { intervals_ns: BTreeMap::new(), ..rest }
            }),
            connect: Distribution::of(&total.connect),
            handshake: (total.handshake.count() > 0).then(|| Distribution::of(&total.handshake)),
            secured: (total.secured.count() > 0).then(|| Distribution::of(&total.secured)),
            censored: Distribution::of(&total.censored),
        }
    }

    /// The distributions with their names.
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

/// Requests that their transport held back before they were sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockedTime {
    /// For how long, of those with the expected response that were held back.
    pub time: Distribution,
    /// The sum of it by cause.
    pub by: Blocked,
}

impl BlockedTime {
    fn of(counts: &BlockedCounts) -> Option<Self> {
        let time = || Distribution::of(&counts.time);
        (counts.time.count() > 0).then(|| BlockedTime { time: time(), by: counts.by })
    }
}

/// The batches of a run, joined so that the drain and a short last batch are not judged alone.
fn batches(record: &RunRecord) -> Vec<Batch> {
    let window_end_ns = record.warm_up_ns.saturating_add(record.window_ns);
    let mut joined: Vec<Batch> = Vec::with_capacity(record.batches.len());
    for batch in &record.batches {
        match joined.last_mut() {
            Some(last) if batch.start_ns >= window_end_ns => last.merge(batch),
            _ => joined.push(batch.clone()),
        }
    }
    batch::join(joined, |one| one.response.count(), |one, later| one.merge(&later))
}

/// The 95 % interval of a percentile of the process (by order statistics on the effective sample
/// size; assumes no distribution).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PercentileInterval {
    /// Lower end; null if even the smallest sample may lie above the percentile.
    pub low_ns: Option<u64>,
    /// Upper end; null if even the largest sample may lie below the percentile.
    pub high_ns: Option<u64>,
    /// The effective sample size at this percentile, by batch means: the number of independent samples
    /// that would determine it as well.
    pub effective_samples: u64,
    /// Whether the interval is worth printing, and if not, why. Null in older results.
    #[serde(default)]
    pub standing: Option<Standing>,
}

/// Whether the interval of a percentile is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It has two ends, is no wider than a factor of five, and contains the percentile of this run.
    Bounded,
    /// Its ends are further apart: another run may have a very different percentile.
    Unstable,
    /// It has no upper end, or is that wide, because most of the slower samples came in one stretch of the
    /// run. One run cannot tell how often that happens.
    OneStall,
    /// An end is missing, or is the slowest sample.
    TooFew,
}

impl PercentileInterval {
    /// The standing; in an older result, derived from its ends.
    pub fn standing(&self) -> Standing {
        self.standing.unwrap_or(match (self.low_ns, self.high_ns) {
            (Some(low_ns), Some(high_ns)) if is_narrow(low_ns, high_ns) => Standing::Bounded,
            (Some(_), Some(_)) => Standing::Unstable,
            _ => Standing::TooFew,
        })
    }
}

/// An interval wider than this factor is not worth printing.
const WIDEST: u64 = 5;

fn is_narrow(low_ns: u64, high_ns: u64) -> bool {
    high_ns <= low_ns.saturating_mul(WIDEST)
}

/// A distribution of durations. Everything but count and histogram is null without samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Smallest, exactly.
    pub min_ns: Option<u64>,
    /// Mean, exactly.
    pub mean_ns: Option<f64>,
    /// Standard deviation, to the histogram's precision.
    pub stdev_ns: Option<f64>,
    /// `p10` to `p99.999`. Null if this number of samples, even if independent, does not bound it
    /// from both sides, or if the bounds are further apart than the percentile is from zero.
    pub percentiles_ns: BTreeMap<String, Option<u64>>,
    /// The 95 % interval of each percentile, even of those that are null.
    #[serde(default)]
    pub intervals_ns: BTreeMap<String, PercentileInterval>,
    /// Largest, exactly.
    pub max_ns: Option<u64>,
    /// Samples above the histogram's range, recorded at its end.
    pub out_of_range: u64,
    /// HdrHistogram V2, compressed, base64.
    pub hdr: Encoded,
}

/// A histogram in a document that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("a histogram in the document is damaged ({0}); save the result again")]
pub struct DecodeError(#[from] EncodingError);

impl Distribution {
    /// The distribution of independent samples.
    pub fn of(histogram: &Histogram) -> Self {
        Distribution::in_batches(histogram, &[])
    }

    /// The distribution of samples that came in these batches.
    fn in_batches(histogram: &Histogram, batches: &[&Buckets]) -> Self {
        let count = histogram.count();
        let names = || PERCENTILES.into_iter().map(|q| (q.to_string(), q));
        Distribution {
            count,
            min_ns: histogram.min_ns(),
            mean_ns: histogram.mean_ns(),
            stdev_ns: histogram.stdev_ns(),
            percentiles_ns: names().map(|(name, q)| (name, worth_printing(histogram, q))).collect(),
            intervals_ns: names()
                .filter(|_| count > 0)
                .map(|(name, q)| (name, interval(histogram, batches, q)))
                .collect(),
            max_ns: histogram.max_ns(),
            out_of_range: histogram.out_of_range(),
            hdr: Encoded::of(histogram),
        }
    }

    /// The interval of the percentile of this name; `None` without samples.
    pub fn interval_ns(&self, name: &str) -> Option<PercentileInterval> {
        self.intervals_ns.get(name).copied()
    }

    /// The percentile of this name, such as `p99.9`; `None` if it is not worth printing.
    pub fn percentile_ns(&self, name: &str) -> Option<u64> {
        self.percentiles_ns.get(name).copied().flatten()
    }

    /// Decodes the histogram.
    pub fn decode(&self) -> Result<Hdr<u64>, DecodeError> {
        Ok(self.hdr.decode()?)
    }

    /// The value at a quantile, never outside of the exact extremes. `Ok(None)` without samples.
    pub fn quantile_ns(&self, q: Quantile) -> Result<Option<u64>, DecodeError> {
        let hdr = self.decode()?;
        Ok((self.count > 0).then(|| self.at_rank(&hdr, q.rank(self.count))))
    }

    /// The value of this rank, from 1, in its histogram `hdr`, never outside of the exact extremes; 0 without
    /// samples.
    pub fn at_rank(&self, hdr: &Hdr<u64>, rank: u64) -> u64 {
        match (self.min_ns, self.max_ns) {
            (Some(min_ns), Some(max_ns)) => value_at_rank(hdr, rank).min(max_ns).max(min_ns),
            _ => 0,
        }
    }
}

/// The quantile, if this number of independent samples determines it well enough.
fn worth_printing(histogram: &Histogram, q: Quantile) -> Option<u64> {
    let levels = order::levels(histogram.count(), q, order::CONFIDENCE);
    let estimate_ns = histogram.quantile_ns(q)?;
    let low_ns = histogram.quantile_ns(levels.low?)?;
    let high_ns = histogram.quantile_ns(levels.high?)?;
    is_useful(low_ns, estimate_ns, high_ns).then_some(estimate_ns)
}

fn interval(histogram: &Histogram, batches: &[&Buckets], q: Quantile) -> PercentileInterval {
    let count = histogram.count();
    let value_ns = histogram.quantile_ns(q).unwrap_or(0);
    let below: Vec<Below> = batches
        .iter()
        .map(|one| Below { count: one.count(), below: one.at_or_below(value_ns) })
        .collect();
    let inflation = batch::inflation_of_quantile(&below).unwrap_or(1.0);
    let effective_samples = batch::effective_size(count, inflation);
    let levels = order::levels(effective_samples, q, order::CONFIDENCE);
    let at = |level: Option<Quantile>| level.and_then(|level| histogram.quantile_ns(level));
    let (low_ns, high_ns) = (at(levels.low), at(levels.high));
    let has_ends = levels.low.is_some() && levels.high.is_some_and(Quantile::is_inside);
    let standing = match (low_ns, high_ns) {
        (Some(low_ns), Some(high_ns))
            if has_ends && is_narrow(low_ns, high_ns) && (low_ns..=high_ns).contains(&value_ns) =>
        {
            Standing::Bounded
        }
        _ if batch::is_one_stretch(&below) => Standing::OneStall,
        _ if has_ends => Standing::Unstable,
        _ => Standing::TooFew,
    };
    PercentileInterval { low_ns, high_ns, effective_samples, standing: Some(standing) }
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
    fn a_percentile_needs_samples_on_both_sides() {
        for (count, q, enough) in [
            (6, 0.5, true),
            (5, 0.5, false),
            (36, 0.9, true),
            (35, 0.9, false),
            (368, 0.99, true),
            (367, 0.99, false),
        ] {
            assert_eq!(enough_samples(count, Quantile::nearest(q)), enough, "{count} {q}");
        }
        let p1 = Quantile::new(1, 100);
        assert!(enough_samples(368, p1) && !enough_samples(367, p1));
        let distribution = Distribution::of(&thousand());
        assert!(distribution.percentile_ns("p99").is_some());
        assert_eq!(distribution.percentile_ns("p99.9"), None);
        assert_eq!(distribution.percentiles_ns.len(), PERCENTILES.len());
        // A percentile that is not printed still has a lower bound.
        let interval = distribution.interval_ns("p99.9").unwrap();
        assert!(interval.low_ns.is_some() && interval.high_ns.is_none(), "{interval:?}");
        assert_eq!(interval.standing(), Standing::TooFew);
        assert_eq!(distribution.interval_ns("p90").unwrap().standing(), Standing::Bounded);
    }

    /// p99.9 of 1, 2, …, n is the number of its rank, also where n × 0.999 is whole; and so are the ends of its
    /// interval.
    #[test]
    fn percentiles_and_their_intervals_have_exact_ranks() {
        let mut histogram = Histogram::new(4);
        for n in 1..=10_000u64 {
            histogram.record(n);
            // Where a rank is whole, and others.
            if n > 1_000 && n % 100 > 0 && n % 37 > 0 {
                continue;
            }
            for q in PERCENTILES {
                let printed = worth_printing(&histogram, q);
                assert_eq!(printed.is_some(), enough_samples(n, q), "{q} of {n}");
                assert!(printed.is_none_or(|ns| ns == q.rank(n)), "{q} of {n}: {printed:?}");
                let interval = interval(&histogram, &[], q);
                let ends = (interval.low_ns, interval.high_ns);
                assert_eq!(ends, order::ranks(n, q, order::CONFIDENCE), "{q} of {n}");
            }
        }
    }

    /// Half of the samples take 1 ms and half 100 ms: the median is anywhere in between.
    #[test]
    fn a_percentile_on_an_edge_is_no_number() {
        let mut histogram = Histogram::new(3);
        (0..10_000u64)
            .for_each(|i| histogram.record(if i % 2 == 0 { 1_000_000 } else { 100_000_000 }));
        let distribution = Distribution::of(&histogram);
        assert_eq!(distribution.percentile_ns("p50"), None);
        assert!(distribution.percentile_ns("p10").is_some());
        let edge = distribution.interval_ns("p50").unwrap();
        let ms = |end: Option<u64>| end.map(|ns| ns / 1_000_000);
        assert_eq!((ms(edge.low_ns), ms(edge.high_ns)), (Some(1), Some(100)));
        assert_eq!(edge.standing(), Standing::Unstable);
    }

    /// The same samples, spread evenly over ten batches or the slow ones all in one.
    #[test]
    fn samples_that_met_the_same_stall_are_worth_less() {
        let slow = |i: u64, clumped: bool| match clumped {
            true => i >= 9_500,
            false => i.is_multiple_of(20),
        };
        let distribution = |clumped: bool| {
            let mut run = crate::testing::healthy_open_run();
            run.plan.recording.warm_up_ns = 0;
            run.plan.recording.interval_ns = 350_000_000;
            run.plan.stop.duration_ns = Some(3_500_000_000);
            let count = run.requests.len() as u64;
            for (i, one) in run.requests.iter_mut().enumerate() {
                let far = slow(i as u64 * 10_000 / count, clumped);
                one.outcome = crate::testing::Outcome::Ok {
                    service_ns: if far { 3_000_000 } else { 500_000 } + i as u64 % 50 * 1000,
                };
            }
            run.document().latencies.response
        };
        let (spread, clumped) = (distribution(false), distribution(true));
        assert_eq!(
            spread.percentile_ns("p99"),
            clumped.percentile_ns("p99"),
            "the run's own figure"
        );
        let (spread, clumped) =
            (spread.interval_ns("p99").unwrap(), clumped.interval_ns("p99").unwrap());
        assert!(spread.effective_samples > 4_000 && spread.high_ns.is_some(), "{spread:?}");
        assert!(clumped.effective_samples < 1_000, "{clumped:?}");
        assert!(clumped.low_ns.unwrap() < spread.low_ns.unwrap(), "{clumped:?} {spread:?}");
        assert_eq!(spread.standing(), Standing::Bounded);
        assert_eq!(clumped.standing(), Standing::OneStall);
    }

    #[test]
    fn names_sort_like_percentiles() {
        let names: Vec<_> = PERCENTILES.iter().map(Quantile::to_string).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn the_histogram_comes_back() {
        let histogram = thousand();
        let distribution = Distribution::of(&histogram);
        assert_eq!(distribution.decode().unwrap(), histogram.hdr());
        for q in [0.0, 0.37, 0.995, 1.0].map(Quantile::nearest) {
            assert_eq!(distribution.quantile_ns(q).unwrap(), histogram.quantile_ns(q));
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut distribution = Distribution::of(&thousand());
        distribution.hdr.0.truncate(20);
        assert!(
            distribution.quantile_ns(Quantile::P50).unwrap_err().to_string().contains("damaged")
        );
        distribution.hdr = Encoded::default();
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
        assert_eq!(distribution.quantile_ns(Quantile::P50).unwrap(), None);
    }
}
