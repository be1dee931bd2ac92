//! The figures of one run that experiments compare and tabulate, taken from its document.
//!
//! A run's document has everything; an experiment of a hundred runs needs a line for each. This
//! module only selects and converts figures of the document.

use candor_plan::units::fmt_count;
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::document::latency::Distribution;
use crate::document::target::Resources;
use crate::document::{Severity, Verdict};

/// Keys of the runtime's memory in a target's own statistics.
const RUNTIME_MEMORY_KEYS: [&str; 2] = ["beam_memory_bytes", "runtime_memory_bytes"];

/// The figures of one run. Unknown or uncertain figures are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figures {
    /// Correct responses per second over the measured window.
    pub rate_per_s: Option<f64>,
    /// The asked rate; null in a closed load.
    pub asked_per_s: Option<f64>,
    /// Correct responses per second divided by the asked rate; null in a closed load.
    pub achieved_share: Option<f64>,
    /// Length of the measured window, as far as the run came.
    pub window_s: f64,
    /// Requests that the load asked for.
    pub scheduled: u64,
    /// Requests with the expected response.
    pub ok: u64,
    /// All others: failed, shed, unsent, unfinished.
    pub failed: u64,
    /// The same as a share of scheduled requests, in [0, 1]; null if there are none.
    pub failed_share: Option<f64>,
    /// Sent requests that ended with an error as a share of all sent ones, in [0, 1]; null without any, and in documents of
    /// older versions. Those that never left, or were still in flight at the end, are no errors.
    #[serde(default)]
    pub errors_share: Option<f64>,
    /// Whether journeys ended, and all of them with a step that failed. A chain of redirects is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_journeys_failed: bool,
    /// The most frequent failures by kind, e.g. `12 × status 500, 3 × reset`.
    pub failures: String,
    /// due → done.
    pub response: Percentiles,
    /// sent → done.
    pub service: Percentiles,
    /// Connections asked for.
    pub connections: u64,
    /// The fewest connections established at the end of an interval.
    pub connections_least: u64,
    /// The most requests that could be in flight: connections times places on each.
    pub in_flight_most: u64,
    /// Connections opened.
    pub opened: u64,
    /// CPU time divided by wall time of the busiest thread of the loader, 1 for a whole core.
    pub loader_cpu_share: Option<f64>,
    /// CPU time divided by wall time of the target's processes, 1 for a whole core.
    pub target_cpu_share: Option<f64>,
    /// The target's CPU time per correct response, in microseconds.
    pub target_cpu_us: Option<f64>,
    /// Responses divided by the target's CPU seconds.
    pub requests_per_cpu_s: Option<f64>,
    /// The target's largest resident memory.
    pub rss_peak_bytes: Option<u64>,
    /// The largest memory reported by the target's runtime.
    pub runtime_memory_peak_bytes: Option<u64>,
    /// Share of the window in which the schedulers of the target's runtime worked, as it reports.
    #[serde(default)]
    pub scheduler_utilization: Option<f64>,
    /// Ids of verdicts that are warnings or worse.
    pub warnings: Vec<String>,
    /// Ids of verdicts that are notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether a verdict is invalid, or the run ended early.
    pub unusable: bool,
    /// How the target ended, if it ended during the run.
    pub target_ended: Option<String>,
}

/// Percentiles in nanoseconds, and the mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The mean, which other tools print, but which hides slow requests.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 75th percentile.
    pub p75_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    #[serde(default)]
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// 99.99th percentile.
    pub p9999_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
}

impl Percentiles {
    /// The percentiles of a distribution that are worth printing.
    pub fn of(distribution: &Distribution) -> Self {
        Percentiles {
            mean_ns: distribution.mean_ns.map(|ns| ns.round() as u64),
            p50_ns: distribution.percentile_ns("p50"),
            p75_ns: distribution.percentile_ns("p75"),
            p90_ns: distribution.percentile_ns("p90"),
            p95_ns: distribution.percentile_ns("p95"),
            p99_ns: distribution.percentile_ns("p99"),
            p999_ns: distribution.percentile_ns("p99.9"),
            p9999_ns: distribution.percentile_ns("p99.99"),
            max_ns: distribution.max_ns,
        }
    }

    /// With names, in the order of table columns.
    pub fn named(&self) -> [(&'static str, Option<u64>); 9] {
        [
            ("mean", self.mean_ns),
            ("p50", self.p50_ns),
            ("p75", self.p75_ns),
            ("p90", self.p90_ns),
            ("p95", self.p95_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p999_ns),
            ("p99.99", self.p9999_ns),
            ("max", self.max_ns),
        ]
    }
}

impl Figures {
    /// The figures of a run.
    pub fn of(document: &Document) -> Self {
        let ledger = &document.ledger;
        let window_s = document.time.window_ns as f64 / 1e9;
        let failed = ledger.scheduled.saturating_sub(ledger.succeeded());
        let rate_per_s = document.correct_per_s();
        let target = document.target.as_ref();
        let plan = &document.plan.connections;
        let places = plan.pipeline.max(plan.streams).max(1);
        let rate = &document.rate;
        let asked = rate.asked_per_s.filter(|asked| *asked > 0.0);
        let cpu_shares = document.workers.iter().filter_map(|one| one.cpu_share);
        let per_cpu_s = target.and_then(|one| one.requests_per_cpu_s);
        let (notes, warnings): (Vec<_>, Vec<_>) =
            document.verdicts.iter().partition(|one| one.severity == Severity::Note);
        let ids = |verdicts: Vec<&Verdict>| verdicts.iter().map(|one| one.id.clone()).collect();
        Figures {
            rate_per_s,
            asked_per_s: rate.asked_per_s,
            achieved_share: rate_per_s.zip(asked).map(|(correct, asked)| correct / asked),
            window_s,
            scheduled: ledger.scheduled,
            ok: ledger.ok,
            failed,
            failed_share: (ledger.scheduled > 0).then(|| failed as f64 / ledger.scheduled as f64),
            errors_share: (ledger.sent > 0).then(|| ledger.errors as f64 / ledger.sent as f64),
            all_journeys_failed: document.all_journeys_failed(),
            failures: failures(document),
            response: Percentiles::of(&document.latencies.response),
            service: Percentiles::of(&document.latencies.service),
            connections: document.connections.asked,
            connections_least: document.connections.least,
            in_flight_most: document.connections.asked.saturating_mul(places.into()),
            opened: document.connections.opened,
            loader_cpu_share: cpu_shares.max_by(f64::total_cmp),
            target_cpu_share: target.and_then(|one| one.cpu_share_mean),
            target_cpu_us: per_cpu_s.filter(|per_s| *per_s > 0.0).map(|per_s| 1e6 / per_s),
            requests_per_cpu_s: per_cpu_s,
            rss_peak_bytes: target.and_then(|one| one.rss_peak_bytes),
            runtime_memory_peak_bytes: target.and_then(runtime_memory),
            scheduler_utilization: target.and_then(utilization),
            warnings: ids(warnings),
            notes: ids(notes),
            unusable: document.is_invalid() || document.end.partial,
            target_ended: target.and_then(|one| one.ended.clone()),
        }
    }
}

/// The share of requests that may fail where a rate is held, and by which more of a variant's may fail than of the
/// baseline's: as many as are not in a p99.
pub const FAILURES: f64 = 0.01;
/// The verdict on a run with a profiled target.
const PROFILED: &str = "profiled";
/// The verdict on a run without checks of certificates.
const UNVERIFIED: &str = "tls-unverified";

impl Figures {
    /// Whether no request of the run ended as intended.
    pub fn nothing_worked(&self) -> bool {
        match self.scheduled {
            // Nothing was due: what the warm-up sent had no response.
            0 => self.ok == 0 && !self.failures.is_empty(),
            scheduled => self.all_journeys_failed || self.failed >= scheduled,
        }
    }

    /// Whether more requests ended with an error than may where a rate is held.
    pub fn fails(&self) -> bool {
        self.errors_share.is_some_and(|share| share > FAILURES)
    }

    /// Whether more than half of the sent requests ended with an error.
    pub fn mostly_failed(&self) -> bool {
        self.errors_share.is_some_and(|share| share > 0.5)
    }

    /// Whether the target was profiled: then the figures are not comparable.
    pub fn is_profiled(&self) -> bool {
        self.warnings.iter().any(|id| id == PROFILED)
    }

    /// Whether servers' certificates were not checked, so that any server could have responded.
    pub fn is_unverified(&self) -> bool {
        self.notes.iter().any(|id| id == UNVERIFIED)
    }
}

/// Bounded: a result has room for a reason and not for a list.
fn failures(document: &Document) -> String {
    let kinds = document.failures().into_iter().take(3);
    let text: Vec<_> =
        kinds.map(|(kind, count)| format!("{} × {kind}", fmt_count(count))).collect();
    text.join(", ")
}

fn runtime_memory(target: &Resources) -> Option<u64> {
    let of = |json: &serde_json::Value| {
        RUNTIME_MEMORY_KEYS.iter().find_map(|key| json.get(key).and_then(serde_json::Value::as_u64))
    };
    target.stats.iter().filter_map(|one| of(&one.json)).max()
}

/// The mean of all samples, which are evenly spaced.
fn utilization(target: &Resources) -> Option<f64> {
    let (sum, looks) = target.utilization().fold((0.0, 0u32), |(sum, n), (_, x)| (sum + x, n + 1));
    (looks > 0).then(|| sum / f64::from(looks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::target::StatsSample;
    use crate::testing;

    #[test]
    fn a_healthy_run_has_them_and_wrong_answers_are_not_in_the_rate() {
        let document = testing::healthy_closed();
        let figures = Figures::of(&document);
        assert_eq!(figures.failed, 0);
        assert_eq!(figures.failures, "");
        let ok_per_s = document.ledger.ok as f64 / figures.window_s;
        assert!(figures.rate_per_s.unwrap() <= ok_per_s);
        let response = &document.latencies.response;
        assert_eq!(figures.response.p95_ns, response.percentile_ns("p95"));
        assert_eq!(figures.response.mean_ns, response.mean_ns.map(|ns| ns.round() as u64));
        assert!(figures.response.p95_ns.is_some() && figures.response.mean_ns.is_some());
        assert_eq!(figures.response.p99_ns, document.latencies.response.percentile_ns("p99"));
        assert!(!figures.unusable && figures.target_cpu_us.is_none());
        assert!(!figures.is_profiled());
        let mut profiled = document;
        profiled.set_profile(testing::profile(None));
        assert!(Figures::of(&profiled).is_profiled());

        let mut document = testing::healthy_closed();
        (document.ledger.sent, document.ledger.errors) = (1000, 10);
        let few = Figures::of(&document);
        assert_eq!((few.errors_share, few.fails()), (Some(0.01), false));
        (document.ledger.errors, document.ledger.unfinished) = (11, 400);
        let some = Figures::of(&document);
        assert!(some.fails() && !some.mostly_failed(), "what is in flight is no error");

        let broken = Figures::of(&testing::broken());
        assert!(broken.unusable && broken.failed > 1000, "{broken:?}");
        assert!(broken.rate_per_s.unwrap() < testing::broken().rate.achieved_per_s.unwrap() + 1.0);
        assert!(broken.failures.contains(" × timeout, "), "{}", broken.failures);
        assert_eq!(broken.failures.split(", ").count(), 3);
    }

    #[test]
    fn a_targets_resources_are_taken_over() {
        let mut document = testing::healthy_closed();
        let stats = |bytes: u64| StatsSample {
            at_s: 1.0,
            json: serde_json::json!({
                "beam_memory_bytes": bytes,
                "scheduler_utilization": [0.25, bytes as f64 / 10.0],
            }),
        };
        document.target = Some(Resources {
            cpu_share_mean: Some(0.5),
            rss_peak_bytes: Some(1 << 20),
            requests_per_cpu_s: Some(20_000.0),
            stats: vec![stats(7), stats(9), stats(8)],
            ..Resources::default()
        });
        let figures = Figures::of(&document);
        assert_eq!(figures.target_cpu_us, Some(50.0));
        assert_eq!(figures.runtime_memory_peak_bytes, Some(9));
        // Means of 0.25 and 0.7, 0.9, 0.8.
        assert!((figures.scheduler_utilization.unwrap() - 0.525).abs() < 1e-9);
    }
}
