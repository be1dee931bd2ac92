//! Credentials that the target refused, or that could not be taken anew.

use candor_plan::Credential;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural};
use candor_record::IntervalSummary;

use super::{Finding, Severity};
use crate::document::Document;

/// The response to a request whose credential is missing, wrong or old (RFC 9110 15.5.2).
const UNAUTHORIZED: u16 = 401;
/// Fewer of them in a row tell nothing.
const MANY: u64 = 10;
/// The share of the responses above which they are told of even if they do not come in a row.
const SHARE: f64 = 0.1;

/// Many responses are 401, which the plan does not expect.
pub(super) fn expired(document: &Document) -> Option<Finding> {
    let mut requests = document.plan.work.requests().iter();
    if requests.any(|one| one.expect.status.contains(UNAUTHORIZED)) {
        return None;
    }
    let of_status = document.statuses.iter().find(|one| one.status == UNAUTHORIZED);
    let refused = of_status.map_or(0, |one| one.count);
    let all = document.statuses.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
    let row = longest_row(document).filter(|row| row.answered.min(refused) >= MANY);
    let worked = document.ledger.ok > 0;
    let count = format!("{} of {} are 401", fmt_count(refused), fmt_plural(all, "response"));
    let sentence = match row {
        _ if refused < MANY => return None,
        _ if !worked => format!("{count}, and no request succeeded."),
        Some(Row { from_ns, to_ns: None, .. }) => format!(
            "{count}: from {} into the run on, no request succeeded.",
            fmt_duration_ns(from_ns)
        ),
        Some(Row { from_ns, to_ns: Some(to_ns), .. }) => format!(
            "{count}: from {} to {} into the run, no request succeeded.",
            fmt_duration_ns(from_ns),
            fmt_duration_ns(to_ns)
        ),
        None if refused as f64 > all as f64 * SHARE => format!("{count}."),
        None => return None,
    };
    let is_taken =
        document.plan.targets().any(|one| one.auth.as_ref().is_some_and(Credential::is_taken));
    Some(Finding {
        severity: Severity::Warning,
        sentence,
        evidence: vec![("unauthorized", refused as f64), ("responses", all as f64)],
        remedy: match (worked, is_taken) {
            (false, _) => {
                "Give a credential that the target takes, with --auth or a header: it took none of the requests."
            }
            (true, true) => {
                "Take the credential more often, with the key `every` of its table, or find out why the target ends it early."
            }
            (true, false) => {
                "Renew the credential during the run with --auth oauth2:…, cmd:… or file:…, or send one that lasts longer."
            }
        },
    })
}

/// Intervals one after the other with responses, none of which was the expected one.
struct Row {
    /// From the beginning of the run.
    from_ns: u64,
    /// `None`: until the end.
    to_ns: Option<u64>,
    answered: u64,
}

fn longest_row(document: &Document) -> Option<Row> {
    let all: Vec<&IntervalSummary> =
        document.window_intervals().filter(|one| one.answered > 0).collect();
    let rows = all.chunk_by(|one, next| (one.ok == 0) == (next.ok == 0));
    let last_end_ns = all.last()?.end_ns;
    let row = |row: &[&IntervalSummary]| {
        let (first, last) = (row.first()?, row.last()?);
        (first.ok == 0).then(|| Row {
            from_ns: first.start_ns,
            to_ns: Some(last.end_ns).filter(|end_ns| *end_ns < last_end_ns),
            answered: row.iter().fold(0, |sum, one| one.answered.saturating_add(sum)),
        })
    };
    rows.filter_map(row).max_by_key(|row| row.answered)
}

/// A credential could not be taken anew: requests had the old one meanwhile.
pub(super) fn not_renewed(document: &Document) -> Option<Finding> {
    let failed =
        |count: u64, one: &candor_record::CredentialCounts| count.saturating_add(one.failed);
    let failures = document.credentials.iter().fold(0, failed);
    let one = document.credentials.iter().max_by_key(|one| one.failed).filter(|_| failures > 0)?;
    let problem = one.problem.as_deref().unwrap_or("for an unknown reason");
    Some(Finding {
        severity: Severity::Note,
        sentence: format!(
            "The credential of target {} could not be renewed {}: {problem}.",
            one.target,
            fmt_plural(one.failed, "time")
        ),
        evidence: vec![("failed", failures as f64), ("taken", one.taken as f64)],
        remedy: "Check where the credential comes from; the old one stays until it is renewed.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::{Document, Severity};
    use crate::testing;

    /// The statuses of the last `count` intervals of a healthy run are 401.
    fn refused(count: usize) -> Document {
        let mut document = testing::healthy_open();
        let mut refused = 0;
        for one in document.intervals.iter_mut().filter(|one| one.in_window).rev().take(count) {
            (one.errors, one.ok) = (one.ok, 0);
            refused += one.errors;
        }
        document.statuses[0].count -= refused;
        document.statuses.push(candor_record::StatusCount { status: 401, count: refused });
        document
    }

    #[test]
    fn a_credential_that_expired_is_a_finding_with_its_time() {
        assert!(found(&testing::healthy_open(), "auth-expired").is_none());
        let document = refused(1);
        let verdict = found(&document, "auth-expired").unwrap();
        assert_eq!(verdict.severity, Severity::Warning);
        assert!(
            verdict.sentence.contains("into the run on, no request succeeded"),
            "{}",
            verdict.sentence
        );
        assert!(verdict.remedy.contains("--auth oauth2"), "{}", verdict.remedy);
        let mut meant = document;
        meant.plan.work.requests_mut()[0].expect.status = "200,401".parse().unwrap();
        assert!(found(&meant, "auth-expired").is_none());
    }

    #[test]
    fn a_credential_that_never_was_good_is_no_matter_of_time() {
        let verdict = found(&testing::failing(401), "auth-expired").unwrap();
        assert!(verdict.sentence.contains("no request succeeded"), "{}", verdict.sentence);
        assert!(verdict.remedy.contains("it took none"), "{}", verdict.remedy);
        assert!(found(&testing::failing(403), "auth-expired").is_none());
        let mut few = testing::healthy_open();
        few.statuses.push(candor_record::StatusCount { status: 401, count: 20 });
        assert!(found(&few, "auth-expired").is_none(), "20 of 6000, and none in a row");
        few.statuses[1].count = 2000;
        assert!(found(&few, "auth-expired").is_some());
    }

    #[test]
    fn a_renewal_that_failed_is_a_note() {
        assert!(found(&testing::renewed(0), "credential-not-renewed").is_none());
        let verdict = found(&testing::renewed(3), "credential-not-renewed").unwrap();
        assert_eq!((verdict.severity, verdict.evidence["failed"]), (Severity::Note, 3.0));
        assert!(
            verdict.sentence.contains("3 times: http://h/token responds with 503"),
            "{}",
            verdict.sentence
        );
    }
}
