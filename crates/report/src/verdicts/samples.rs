//! Whether there are enough samples, and whether those that count most are among them.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_share};

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::latency::enough_samples;

/// From this share of all requests on, the unanswered ones move the percentiles people read.
const CENSORED_WARNING_SHARE: f64 = 0.001;

/// Too few samples for the 99th percentile, or even for the median.
pub(super) fn too_few(document: &Document) -> Option<Finding> {
    let samples = document.latencies.response.count;
    if enough_samples(samples, 0.99) {
        return None;
    }
    let (severity, what) = if enough_samples(samples, 0.5) {
        (Severity::Note, "the 99th percentile")
    } else {
        (Severity::Warning, "any percentile")
    };
    Some(Finding {
        severity,
        sentence: format!(
            "{} requests answered as expected are too few to speak of {what}.",
            fmt_count(samples)
        ),
        evidence: vec![("samples", samples as f64)],
        remedy: "Run longer with --duration, or send more with --requests.",
    })
}

/// Requests that were never answered are missing from the latencies.
pub(super) fn censored(document: &Document) -> Option<Finding> {
    let censored = &document.latencies.censored;
    let max_ns = censored.max_ns?;
    let share = censored.count as f64 / (censored.count + document.ledger.ok).max(1) as f64;
    let severity = if share >= CENSORED_WARNING_SHARE { Severity::Warning } else { Severity::Note };
    Some(Finding {
        severity,
        sentence: format!(
            "{} requests ({}) were never answered, up to {} after they were due: latencies are \
             lower bounds.",
            fmt_count(censored.count),
            fmt_share(share),
            fmt_duration_ns(max_ns)
        ),
        evidence: vec![
            ("never_answered", censored.count as f64),
            ("never_answered_share", share),
            ("oldest_ns", max_ns as f64),
        ],
        remedy: "Give the target time with --drain and --timeout, or lower the load.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;
    use crate::verdicts::Severity;

    #[test]
    fn few_samples_are_a_note_and_very_few_a_warning() {
        let mut document = testing::healthy_open();
        let mut severity = |samples| {
            document.latencies.response.count = samples;
            found(&document, "too-few-samples").map(|one| one.severity)
        };
        assert_eq!(severity(1000), None);
        assert_eq!(severity(999), Some(Severity::Note));
        assert_eq!(severity(20), Some(Severity::Note));
        assert_eq!(severity(19), Some(Severity::Warning));
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
