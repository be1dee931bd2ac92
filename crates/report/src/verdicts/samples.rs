//! Checks that there are enough samples, and that the slowest requests are among them.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_share};
use candor_stats::Quantile;

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::latency::{PercentileInterval, Standing, enough_samples};

/// The share of requests without a response from which they move the percentiles that people read.
const CENSORED_WARNING_SHARE: f64 = 0.001;

/// Too few samples for the 99th percentile, or even for the median.
pub(super) fn too_few(document: &Document) -> Option<Finding> {
    let response = &document.latencies.response;
    let samples = response.count;
    let is_untimed = document.nothing_worked() || document.is_feed();
    if response.percentile_ns("p99").is_some() || is_untimed {
        return None;
    }
    let why = match enough_samples(samples, Quantile::P99) {
        true => "scatter too much",
        false if samples == 1 => "is too few",
        false => "are too few",
    };
    let (severity, what) = match response.percentile_ns("p50") {
        Some(_) => (Severity::Note, "the 99th percentile"),
        None if enough_samples(samples, Quantile::P50) => (Severity::Note, "some percentiles"),
        None => (Severity::Warning, "any percentile"),
    };
    let interval = response.interval_ns("p99");
    let bound = |pick: fn(&PercentileInterval) -> Option<u64>| {
        interval.as_ref().and_then(pick).map_or(f64::INFINITY, |ns| ns as f64)
    };
    Some(Finding {
        severity,
        sentence: format!("{} {why} for {what}.", fmt_plural(samples, "response")),
        evidence: vec![
            ("samples", samples as f64),
            ("p99_low_ns", bound(|one| one.low_ns)),
            ("p99_high_ns", bound(|one| one.high_ns)),
        ],
        remedy: "Run longer with --duration, or send more with --requests.",
    })
}

/// Slow requests came in clumps, so the p99 of this run says little about other runs. A stall with a
/// finding of its own is not reported twice.
pub(super) fn clumped(document: &Document) -> Option<Finding> {
    let response = &document.latencies.response;
    response.percentile_ns("p99")?;
    let interval = response.interval_ns("p99")?;
    // A run with so few samples has the same interval even if they are independent.
    if interval.effective_samples.saturating_mul(2) > response.count
        || interval.standing() == Standing::Bounded
        || super::stalls::target_stalled(document).is_some()
        || super::stalls::coordinated_omission(document).is_some()
    {
        return None;
    }
    Some(Finding {
        severity: Severity::Note,
        sentence: format!(
            "Slow requests came in clumps: effective sample size {} of {} at p99.",
            fmt_count(interval.effective_samples),
            fmt_count(response.count)
        ),
        evidence: vec![
            ("effective_samples", interval.effective_samples as f64),
            ("samples", response.count as f64),
        ],
        remedy: "Expect a different p99 in another run; run longer, or compare several runs.",
    })
}

/// Requests without a response are missing from the latencies.
pub(super) fn censored(document: &Document) -> Option<Finding> {
    let censored = &document.latencies.censored;
    let is_untimed = document.nothing_worked() || document.is_feed();
    let max_ns = censored.max_ns.filter(|_| !is_untimed)?;
    let share = censored.count as f64 / (censored.count + document.ledger.ok).max(1) as f64;
    let severity = if share >= CENSORED_WARNING_SHARE { Severity::Warning } else { Severity::Note };
    Some(Finding {
        severity,
        sentence: format!(
            "{} requests ({}) got no response, the oldest {} after it was due: latencies are lower bounds.",
            fmt_count(censored.count),
            fmt_share(share),
            fmt_duration_ns(max_ns)
        ),
        evidence: vec![
            ("never_answered", censored.count as f64),
            ("never_answered_share", share),
            ("oldest_ns", max_ns as f64),
        ],
        remedy: "Allow more time with --drain and --timeout, or lower the load.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Severity;
    use crate::testing;

    #[test]
    fn few_samples_are_a_note_and_very_few_a_warning() {
        let verdict = |samples: &[u64]| {
            let mut document = testing::healthy_open();
            document.latencies.response = testing::distribution(samples);
            found(&document, "too-few-samples")
        };
        let severity = |count: u64| {
            let samples: Vec<u64> = (0..count).map(|i| 1_000_000 + i).collect();
            verdict(&samples).map(|one| one.severity)
        };
        assert_eq!(severity(368), None);
        assert_eq!(severity(367), Some(Severity::Note));
        assert_eq!(severity(6), Some(Severity::Note));
        assert_eq!(severity(5), Some(Severity::Warning));
        let one_in_a_hundred: Vec<u64> =
            (0..5_000).map(|i| if i % 100 == 0 { 1_000_000_000 } else { 1_000_000 }).collect();
        let verdict = verdict(&one_in_a_hundred).unwrap();
        assert!(verdict.sentence.contains("scatter too much"), "{}", verdict.sentence);
        assert!(verdict.evidence["p99_high_ns"] > 9e8 && verdict.evidence["p99_low_ns"] < 2e6);
    }

    #[test]
    fn clumps_are_told_unless_a_stall_is() {
        assert!(found(&testing::healthy_open(), "clumped-samples").is_none());
        let verdict = found(&testing::broken(), "clumped-samples").unwrap();
        assert_eq!(verdict.severity, Severity::Note);
        assert!(verdict.evidence["effective_samples"] < verdict.evidence["samples"] / 2.0);
        let stalled = testing::stalled_open();
        assert!(found(&stalled, "target-stalled").is_some());
        assert!(found(&stalled, "clumped-samples").is_none());
        // 368 independent samples bound p99 by the slowest of them.
        let mut few = testing::healthy_open();
        let samples: Vec<u64> = (0..368).map(|i| 1_000_000 + i).collect();
        few.latencies.response = testing::distribution(&samples);
        assert!(found(&few, "clumped-samples").is_none());
    }

    #[test]
    fn requests_never_answered() {
        assert!(found(&testing::healthy_open(), "censored").is_none());
        let verdict = found(&testing::broken(), "censored").unwrap();
        assert_eq!(verdict.severity, Severity::Warning);
        assert!(verdict.evidence["never_answered"] > 0.0);
        let mut document = testing::healthy_open();
        document.latencies.censored.count = 1;
        document.latencies.censored.max_ns = Some(1_000_000);
        assert_eq!(found(&document, "censored").unwrap().severity, Severity::Note);
    }
}
