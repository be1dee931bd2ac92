//! Judges an expectation by several runs under the same load, including what chance leaves open.
//!
//! [`super::judge`] must decide by one run. An experiment that searches for an edge can do better:
//! if the interval of the measured value lies on one side of the wanted value, the result is
//! certain; if it contains the wanted value, the experiment makes another run. Runs are pooled, so
//! each narrows the interval. As there, failed requests are slower than all others, and where no request
//! succeeded nothing is met.

use candor_record::value_at_rank;
use candor_stats::{Quantile, order};

use super::scope::{Outcomes, Timed};
use super::{Expectation, Metric, Statistic};
use crate::document::Document;
use crate::document::latency::{Distribution, PERCENTILES};

/// The judgement of an expectation by several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// Whether it is met.
    pub standing: Standing,
    /// The measured value of all runs together, in the unit of the expectation; `None` without
    /// samples, or if requests without a response decide it.
    pub measured: Option<f64>,
    /// The lower end of its 95 % interval; `None` if unknown or not needed.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether there are enough samples to meet it, if all of them are as good as can be.
    pub enough: bool,
}

/// Whether an expectation is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval meets it.
    Met,
    /// No value of the interval meets it.
    NotMet,
    /// One end meets it. More samples would decide.
    Unsure,
}

/// An estimate with its ends, which may be infinite.
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
    /// What the upper end would be with the same number of samples, all of them as good as can be.
    best: f64,
}

impl Estimate {
    fn exact(value: f64) -> Self {
        Estimate { value, low: value, high: value, best: value }
    }
}

impl Expectation {
    /// Judges the expectation by all finished runs under the same load together.
    pub fn weigh(&self, runs: &[&Document]) -> Weighed {
        let Some(estimate) = self.estimate(runs) else {
            let standing = Standing::NotMet;
            return Weighed { standing, measured: None, low: None, high: None, enough: true };
        };
        let holds = |value: f64| self.comparison.holds(value, self.wanted);
        let has_success = |run: &&Document| self.scope(run).is_some_and(|one| one.succeeded() > 0);
        let standing = match (holds(estimate.low), holds(estimate.high)) {
            _ if !runs.iter().any(has_success) => Standing::NotMet,
            _ if !self.comparison.is_ordering() => standing(holds(estimate.value)),
            (low, high) if low == high => standing(low),
            _ => Standing::Unsure,
        };
        let finite = |value: f64| value.is_finite().then_some(value);
        Weighed {
            standing,
            measured: finite(estimate.value),
            low: finite(estimate.low),
            high: finite(estimate.high),
            enough: standing != Standing::Unsure || holds(estimate.best),
        }
    }

    /// Whether `value` would meet it.
    pub fn is_met_by(&self, value: f64) -> bool {
        self.comparison.holds(value, self.wanted)
    }

    /// The percentile of response or service time in it, e.g. `p99`, if there is one.
    pub fn percentile(&self) -> Option<String> {
        match self.metric {
            Metric::Latency(_, Statistic::Quantile(q)) => Some(q.to_string()),
            _ => None,
        }
    }

    fn estimate<'a>(&self, runs: &[&'a Document]) -> Option<Estimate> {
        match self.metric {
            Metric::Latency(series, statistic) => {
                let part = |run: &&'a Document| self.scope(run)?.latencies(series);
                let parts: Option<Vec<_>> = runs.iter().map(part).collect();
                let parts = parts?;
                match statistic {
                    Statistic::Quantile(q) => quantile(&parts, q),
                    Statistic::Mean => mean(&parts),
                    Statistic::Min => {
                        let least = parts.iter().filter_map(|one| one.distribution.min_ns).min()?;
                        Some(Estimate::exact(least as f64))
                    }
                    Statistic::Max if parts.iter().any(|one| one.never > 0) => {
                        Some(Estimate::exact(f64::INFINITY))
                    }
                    Statistic::Max => {
                        let most = parts.iter().filter_map(|one| one.distribution.max_ns).max()?;
                        Some(Estimate::exact(most as f64))
                    }
                }
            }
            Metric::ErrorRate => {
                let outcomes = |run: &&Document| self.scope(run).map(|scope| scope.outcomes());
                error_rate(&runs.iter().map(outcomes).collect::<Option<Vec<_>>>()?)
            }
            Metric::GoodputShare => {
                let bad = |run: &&Document| {
                    let all = run.ledger.accounted();
                    let good = run.goodput.filter(|_| self.scope.is_none())?.good;
                    Some(Outcomes { all, failed: all.saturating_sub(good) })
                };
                let bad = error_rate(&runs.iter().map(bad).collect::<Option<Vec<_>>>()?)?;
                let Estimate { value, low, high, best } = bad;
                let [value, low, high, best] = [value, high, low, best].map(|share| 1.0 - share);
                Some(Estimate { value, low, high, best })
            }
            Metric::Count(_) => {
                let values = runs.iter().map(|run| self.judge(run).measured.unwrap_or(0.0));
                Some(Estimate::exact(values.sum()))
            }
            Metric::RateShare
            | Metric::Rate
            | Metric::Goodput
            | Metric::Availability
            | Metric::Journeys => {
                let values: Option<Vec<f64>> =
                    runs.iter().map(|run| self.judge(run).measured).collect();
                let values = values.filter(|values| !values.is_empty())?;
                Some(Estimate::exact(values.iter().sum::<f64>() / values.len() as f64))
            }
        }
    }
}

fn standing(holds: bool) -> Standing {
    if holds { Standing::Met } else { Standing::NotMet }
}

/// The effective sample size at the percentile of the document that is nearest to `q`.
fn effective(distribution: &Distribution, q: Quantile) -> f64 {
    let distance = |other: &&Quantile| (other.share() - q.share()).abs();
    let nearest = PERCENTILES.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest
        .and_then(|q| distribution.interval_ns(&q.to_string()))
        .map_or(distribution.count as f64, |one| one.effective_samples as f64)
}

/// The quantile of all samples together, with failed requests above them, by order statistics on the
/// effective sample size.
fn quantile(parts: &[Timed<'_>], q: Quantile) -> Option<Estimate> {
    let (mut answered, mut all, mut worth) = (0u64, 0u64, 0.0);
    let mut sum: Option<hdrhistogram::Histogram<u64>> = None;
    let (mut min_ns, mut max_ns) = (u64::MAX, 0);
    for Timed { distribution, failed, .. } in parts {
        let with_failed = distribution.count.saturating_add(*failed);
        answered += distribution.count;
        all += with_failed;
        if distribution.count == 0 {
            worth += with_failed as f64;
            continue;
        }
        worth += effective(distribution, q) * with_failed as f64 / distribution.count as f64;
        min_ns = min_ns.min(distribution.min_ns?);
        max_ns = max_ns.max(distribution.max_ns?);
        let hdr = distribution.decode().ok()?;
        match &mut sum {
            None => sum = Some(hdr),
            Some(sum) => sum.add(hdr).ok()?,
        }
    }
    let sum = sum?;
    let at = |level: Quantile| match level.rank(all) {
        rank if rank <= answered => value_at_rank(&sum, rank).min(max_ns).max(min_ns) as f64,
        _ => f64::INFINITY,
    };
    let levels = order::levels(worth.round() as u64, q, order::CONFIDENCE);
    Some(Estimate {
        value: at(q),
        low: levels.low.map_or(0.0, at),
        high: levels.high.map_or(f64::INFINITY, at),
        best: levels.high.map_or(f64::INFINITY, |_| min_ns as f64),
    })
}

/// z of a 95 % interval of the normal distribution.
const Z: f64 = 1.96;

/// The mean, ± z·s/√n with n the effective sample size at their median.
fn mean(parts: &[Timed<'_>]) -> Option<Estimate> {
    if parts.iter().any(|one| one.never > 0) {
        return Some(Estimate::exact(f64::INFINITY));
    }
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for one in parts.iter().map(|one| one.distribution).filter(|one| one.count > 0) {
        let n = one.count as f64;
        let (mean_ns, stdev_ns) = (one.mean_ns?, one.stdev_ns.unwrap_or(0.0));
        count += n;
        sum += n * mean_ns;
        // The variance of a run's own mean.
        squares += n * n * stdev_ns * stdev_ns / effective(one, Quantile::P50).max(1.0);
    }
    if count == 0.0 {
        return None;
    }
    let (value, off) = (sum / count, Z * squares.sqrt() / count);
    let low = (value - off).max(0.0);
    Some(Estimate { value, low, high: value + off, best: low })
}

/// The share of failed requests with Wilson's interval (Wilson, "Probable inference, the law of
/// succession, and statistical inference", 1927): of k in n, with p = k/n and z,
/// (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n).
fn error_rate(runs: &[Outcomes]) -> Option<Estimate> {
    let sent: u64 = runs.iter().map(|run| run.all).sum();
    let failed: u64 = runs.iter().map(|run| run.failed).sum();
    if sent == 0 {
        return None;
    }
    let (n, p) = (sent as f64, failed as f64 / sent as f64);
    let middle = p + Z * Z / (2.0 * n);
    let off = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let low = if failed == 0 { 0.0 } else { ((middle - off) / scale).max(0.0) };
    let best = Z * Z / n / scale;
    Some(Estimate { value: p, low, high: ((middle + off) / scale).min(1.0), best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn weighed(expression: &str, runs: &[&Document]) -> Weighed {
        Expectation::parse(expression).unwrap().weigh(runs)
    }

    /// p99 of the healthy run is 508 µs, between 507 and 508.
    #[test]
    fn far_from_the_edge_one_run_tells_and_at_the_edge_none_does() {
        let run = testing::healthy_open();
        let interval = run.latencies.response.interval_ns("p99").unwrap();
        let standing = |ns: u64| weighed(&format!("p99 < {ns}ns"), &[&run]).standing;
        assert_eq!(standing(5_000_000), Standing::Met);
        assert_eq!(standing(100_000), Standing::NotMet);
        let (low, high) = (interval.low_ns.unwrap(), interval.high_ns.unwrap());
        assert!(low < high);
        assert_eq!(standing(low), Standing::NotMet, "not below its lower end");
        assert_eq!(standing(high), Standing::Unsure);
        assert_eq!(standing(high + 1), Standing::Met);
        let one = weighed("p99 < 1s", &[&run]);
        assert_eq!(one.low, Some(low as f64), "the same interval as the document's");
        assert_eq!(one.high, Some(high as f64));
    }

    #[test]
    fn more_runs_tell_more() {
        let run = testing::healthy_open();
        let width = |runs: &[&Document]| {
            let one = weighed("p99.9 < 1s", runs);
            one.high.unwrap() - one.low.unwrap()
        };
        assert!(width(&[&run, &run, &run, &run]) <= width(&[&run]));
        let upper = |runs: &[&Document]| weighed("errors < 0.1%", runs).high.unwrap();
        let (once, thrice) = (upper(&[&run]), upper(&[&run, &run, &run]));
        assert!((once / thrice - 3.0).abs() < 0.01, "{once} {thrice}");
        assert_eq!(weighed("errors < 0.1%", &[&run]).standing, Standing::Met);
        assert_eq!(weighed("errors < 0.01%", &[&run]).standing, Standing::Unsure);
    }

    #[test]
    fn those_never_answered_are_the_slowest() {
        let mut run = testing::healthy_open();
        run.ledger.unsent = 700;
        assert_eq!(weighed("p99 < 1h", &[&run]).standing, Standing::NotMet);
        assert_eq!(weighed("p99 < 1h", &[&run]).measured, None);
        assert_eq!(weighed("p50 < 1ms", &[&run]).standing, Standing::Met);
        assert_eq!(weighed("mean < 1h", &[&run]).standing, Standing::NotMet);
    }

    #[test]
    fn without_answers_nothing_is_met() {
        let empty = testing::empty_run().document();
        for expression in ["p99 < 1h", "mean < 1h", "max < 1h", "errors < 1%", "rate >= 1%"] {
            assert_eq!(weighed(expression, &[&empty]).standing, Standing::NotMet, "{expression}");
        }
    }

    #[test]
    fn failed_requests_are_slow_and_a_run_without_a_success_is_not_left_out() {
        let (healthy, failing) = (testing::healthy_open(), testing::failing(503));
        for expression in ["p50 < 1h", "error-rate < 99.9%", "errors >= 0"] {
            let standing = weighed(expression, &[&failing]).standing;
            assert_eq!(standing, Standing::NotMet, "{expression}");
        }
        assert_eq!(weighed("p90 < 1h", &[&healthy, &failing]).standing, Standing::NotMet);
        assert_eq!(weighed("p25 < 1h", &[&healthy, &failing]).standing, Standing::Met);
    }

    #[test]
    fn percentiles_have_their_names() {
        let name = |text: &str| Expectation::parse(text).unwrap().percentile();
        assert_eq!(name("p99 < 1s").as_deref(), Some("p99"));
        assert_eq!(name("service.p99.99 < 1s").as_deref(), Some("p99.99"));
        assert_eq!(name("max < 1s"), None);
    }
}
