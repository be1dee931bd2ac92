//! Runs with many errors, and responses that are almost errors.

use candor_plan::units::{fmt_count, fmt_share};

use super::{Finding, Severity};
use crate::document::Document;

/// The share of the sent requests from which errors are a finding.
const NOTE_SHARE: f64 = 0.01;
/// The share above which latencies describe only a minority of requests.
const WARNING_SHARE: f64 = 0.5;

/// Many of the sent requests failed.
pub(super) fn dominate(document: &Document) -> Option<Finding> {
    let ledger = &document.ledger;
    let share = ledger.errors as f64 / ledger.sent.max(1) as f64;
    let severity = match share {
        share if share > WARNING_SHARE => Severity::Warning,
        share if share > NOTE_SHARE => Severity::Note,
        _ => return None,
    };
    let most = document.errors.iter().max_by_key(|one| one.count);
    Some(Finding {
        severity,
        sentence: format!(
            "{} of {} sent requests failed ({}), most of them with {}: latencies cover only the rest.",
            fmt_count(ledger.errors),
            fmt_count(ledger.sent),
            fmt_share(share),
            most.map_or("an unknown kind", |one| one.kind.as_str())
        ),
        evidence: vec![
            ("errors", ledger.errors as f64),
            ("sent", ledger.sent as f64),
            ("error_share", share),
        ],
        remedy: "Check the example of each error kind; fix the target or the request.",
    })
}

/// Some responses were accepted although the RFC forbids servers to send them.
pub(super) fn deviating(document: &Document) -> Option<Finding> {
    let deviations = &document.deviations;
    let each = deviations.iter().map(|one| {
        let example = one.example.as_deref().unwrap_or("none");
        format!("{} with {}, e.g. {example}", fmt_count(one.count), one.sentence)
    });
    let count = deviations.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
    (count > 0).then(|| Finding {
        severity: Severity::Note,
        sentence: format!(
            "Responses deviate from HTTP/1.1: {}.",
            each.collect::<Vec<_>>().join("; ")
        ),
        evidence: vec![("deviations", count as f64)],
        remedy: "Fix the server: other clients and proxies may reject such responses.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;
    use crate::verdicts::Severity;

    #[test]
    fn a_few_are_a_note_and_many_a_warning() {
        let mut document = testing::healthy_open();
        let mut severity = |errors| {
            document.ledger.errors = errors;
            found(&document, "errors-dominate").map(|one| one.severity)
        };
        assert_eq!(severity(60), None);
        assert_eq!(severity(61), Some(Severity::Note));
        assert_eq!(severity(3000), Some(Severity::Note));
        assert_eq!(severity(3001), Some(Severity::Warning));
    }

    #[test]
    fn what_other_clients_may_refuse_is_a_note() {
        let mut document = testing::healthy_open();
        assert!(found(&document, "deviating-responses").is_none());
        document.deviations = testing::deviations();
        let verdict = found(&document, "deviating-responses").unwrap();
        assert_eq!((verdict.severity, verdict.evidence["deviations"]), (Severity::Note, 15.0));
        let words = "12 with a header field folded over several lines";
        assert!(verdict.sentence.contains(words), "{}", verdict.sentence);
        assert!(verdict.sentence.contains("(RFC 9112 6.3), e.g. GET /hello: status 200."));
    }
}
