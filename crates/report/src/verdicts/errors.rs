//! Runs with many errors, and responses that are almost errors.

use candor_plan::StatusSet;
use candor_plan::units::{fmt_count, fmt_share};
use candor_record::StatusCount;

use super::{Finding, Severity};
use crate::document::Document;

/// The share of the sent requests above which a p99 is no longer that of all requests.
const SHARE: f64 = 0.01;

/// Many of the sent requests failed, or all.
pub(super) fn dominate(document: &Document) -> Option<Finding> {
    let ledger = &document.ledger;
    let is_all = document.nothing_worked() && ledger.succeeded() == 0 && ledger.sent > 0;
    let unfinished = if is_all { ledger.unfinished } else { 0 };
    let failed = ledger.errors.saturating_add(unfinished);
    let share = failed as f64 / ledger.sent.max(1) as f64;
    if share <= SHARE {
        return None;
    }
    let kinds = document.errors.iter().map(|one| (one.kind.as_str(), one.count));
    let most = kinds.chain([("unfinished", unfinished)]).max_by_key(|(_, count)| *count);
    let (most, count) = most.unwrap_or(("an unknown kind", 0));
    let statuses = document.unexpected_statuses();
    let status = statuses.first().filter(|one| most == "status" && one.count > count / 2);
    let named = status.map_or(most.to_owned(), |one| format!("{most} {}", one.status));
    let (failed_of, share_shown) =
        (format!("{} of {}", fmt_count(failed), fmt_count(ledger.sent)), fmt_share(share));
    Some(Finding {
        severity: Severity::Warning,
        sentence: match is_all {
            true => format!(
                "No request succeeded: {failed_of} sent requests failed (most often: {named})."
            ),
            false => format!(
                "{failed_of} sent requests failed ({share_shown}), most of them with {named}: latencies cover only \
                 the rest."
            ),
        },
        evidence: vec![
            ("errors", ledger.errors as f64),
            ("unfinished", ledger.unfinished as f64),
            ("sent", ledger.sent as f64),
            ("error_share", share),
        ],
        remedy: match most {
            "status" => {
                "Look at one exchange with `candor try`; allow a status that is meant with --expect-status."
            }
            "redirect-elsewhere" => {
                "Add a [target.NAME] table for the host in the example, or leave --location out."
            }
            "redirect-limit" => {
                "Request the place in the example; raise --location if it is no loop."
            }
            "redirect-unusable" => {
                "Repair what the target writes into Location, or leave --location out."
            }
            "coding-unasked" => {
                "Ask for compression with --compressed, or make the target send what was asked for."
            }
            "coding-limit" => {
                "Look into a smaller response, or into none: at most 1 MiB of a body is read."
            }
            "coding-damaged" | "coding-truncated" | "coding-trailing" => {
                "Repair what the target compresses; curl --compressed shows the same response."
            }
            "capture" => {
                "Look at the response with `candor try`, and correct what is captured from it."
            }
            "timeout" | "idle-timeout" | "unfinished" => {
                "Find out why the target does not respond; allow slow responses more time with --timeout and --drain."
            }
            _ => "Check the example of each error kind; fix the target or the request.",
        },
    })
}

/// Most responses were redirects, which the plan does not expect.
pub(super) fn redirects(document: &Document) -> Option<Finding> {
    let default = StatusSet::below_400();
    let mut requests = document.plan.work.requests().iter();
    let is_meant = requests.all(|one| one.expect.status != default);
    // 304 is the response to a condition and points nowhere.
    let is_redirect = |one: &&StatusCount| (300..400).contains(&one.status) && one.status != 304;
    let count = |all: u64, one: &StatusCount| all.saturating_add(one.count);
    let all = document.statuses.iter().fold(0, count);
    let redirects = document.statuses.iter().filter(is_redirect).fold(0, count);
    (!is_meant && redirects > all / 2).then(|| Finding {
        severity: Severity::Note,
        sentence: format!(
            "{} of {} responses are redirects: what they point to was not measured.",
            fmt_count(redirects),
            fmt_count(all)
        ),
        evidence: vec![("redirects", redirects as f64), ("responses", all as f64)],
        remedy: "Follow them with --location N, or measure the URL in their Location field; if a redirect is \
                 meant, name its status with --expect-status.",
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
    use crate::document::Severity;
    use crate::testing;

    #[test]
    fn more_than_one_in_a_hundred_are_a_warning() {
        let mut document = testing::healthy_open();
        let mut severity = |errors| {
            document.ledger.errors = errors;
            found(&document, "errors-dominate").map(|one| one.severity)
        };
        assert_eq!(severity(60), None);
        assert_eq!(severity(61), Some(Severity::Warning));
    }

    #[test]
    fn a_run_in_which_nothing_worked_says_so_with_a_remedy_that_fits() {
        let mut document = testing::failing(404);
        let verdict = found(&document, "errors-dominate").unwrap();
        assert_eq!(verdict.evidence["error_share"], 1.0);
        assert!(verdict.sentence.contains("(most often: status 404)"), "{}", verdict.sentence);
        assert!(verdict.remedy.contains("`candor try`"), "{}", verdict.remedy);
        (document.ledger.unfinished, document.ledger.errors) = (document.ledger.errors, 0);
        document.errors.clear();
        let verdict = found(&document, "errors-dominate").unwrap();
        assert!(verdict.remedy.contains("does not respond"), "{}", verdict.remedy);
        for id in ["too-few-samples", "censored"] {
            assert!(found(&document, id).is_none(), "{id}: a longer run would not help");
        }
    }

    #[test]
    fn redirects_that_nobody_asked_for_are_a_note() {
        let mut document = testing::healthy_open();
        assert!(found(&document, "redirects").is_none());
        document.statuses[0].status = 302;
        assert_eq!(found(&document, "redirects").unwrap().evidence["redirects"], 6000.0);
        document.plan.work.requests_mut()[0].expect.status = "302".parse().unwrap();
        assert!(found(&document, "redirects").is_none());
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
