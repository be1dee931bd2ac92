//! Whether the target went away: it refused connections, or took requests and sent no response.
//!
//! In an open load the requests that were due show it. A closed loop sends nothing meanwhile, so that its counts
//! and its times are those of the time before.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_share};

use super::{Finding, Severity};
use crate::document::{Document, EndReason, Lost, is_long};

/// The target went away during the run.
pub(super) fn target_lost(document: &Document) -> Option<Finding> {
    // The end of a managed target has a finding of its own, and so has a run in which nothing ever worked.
    if document.end.reason == EndReason::TargetEnded || document.nothing_worked() {
        return None;
    }
    let window_ns = document.time.window_ns;
    let window = fmt_duration_ns(window_ns);
    let kind = document.connect_errors.iter().max_by_key(|one| one.count);
    let attempts =
        document.connect_errors.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
    let kinds = kind
        .map_or(String::new(), |one| format!(" ({}, {} attempts)", one.kind, fmt_count(attempts)));
    let (sentence, lost_ns, since_ns) = match Lost::of(document) {
        Some(Lost { since_ns, for_ns, is_silent }) => {
            let what = match is_silent {
                true => "no response came".to_owned(),
                false => format!("it took no connection{kinds}"),
            };
            let sentence = format!(
                "The target was lost after {}: {what} for the last {} of {window}.",
                fmt_duration_ns(since_ns),
                fmt_duration_ns(for_ns)
            );
            (sentence, for_ns as f64, since_ns as f64)
        }
        None => {
            let missing = 1.0 - document.availability()?;
            let lost_ns = (missing * window_ns as f64).round();
            if !is_long(document, lost_ns) {
                return None;
            }
            let sentence = format!(
                "The target took no connection for {} of {window} ({}), and came back{kinds}.",
                fmt_duration_ns(lost_ns as u64),
                fmt_share(missing)
            );
            (sentence, lost_ns, f64::INFINITY)
        }
    };
    Some(Finding {
        severity: Severity::Warning,
        sentence,
        evidence: vec![
            ("lost_ns", lost_ns),
            ("since_ns", since_ns),
            ("window_ns", window_ns as f64),
            ("connect_errors", attempts as f64),
        ],
        remedy: "Find out why the target ended or hangs; latencies are of the time before, and the rate is over the whole window.",
    })
}

/// Of one target nothing worked, while others responded.
pub(super) fn target_failed(document: &Document) -> Option<Finding> {
    if document.nothing_worked() {
        return None;
    }
    let failed: Vec<_> = document.failed_targets().collect();
    let first = failed.first()?;
    let why = match document.took_no_connection(&first.name) {
        true => "it took no connection".to_owned(),
        false => format!("{} of {} sent failed", fmt_count(first.errors), fmt_count(first.sent)),
    };
    let others = match failed.len() - 1 {
        0 => String::new(),
        others => format!("; nor to {}", fmt_plural(others as u64, "other target")),
    };
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!("No request to the target {} succeeded: {why}{others}.", first.name),
        evidence: vec![
            ("targets", failed.len() as f64),
            ("sent", first.sent as f64),
            ("errors", first.errors as f64),
        ],
        remedy: "Check that this target is running, and its URL; the rate and the latencies are of the others.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;
    use crate::testing;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_target_of_which_nothing_worked_fails_the_run() {
        for (second, fails) in [
            ((0, 0, 0, 36), true),
            ((0, 30, 4, 0), true),
            ((1, 29, 4, 0), false),
            // A step that nobody came to.
            ((0, 0, 4, 0), false),
            ((0, 0, 4, 7), false),
            ((0, 0, 0, 0), false),
        ] {
            let document = testing::of_two_targets(second);
            assert_eq!(document.mostly_failed(), fails, "{second:?}");
            assert_eq!(found(&document, "target-failed").is_some(), fails, "{second:?}");
        }
    }

    /// In a run of three seconds, the target is gone from 1.5 s on.
    fn refused() -> Document {
        let mut run = testing::healthy_closed_run();
        run.requests.retain(|one| one.due_ns < 3 * S / 2);
        let mut document = run.document();
        let shares = [1.0, 0.5, 0.0];
        for (interval, share) in document.intervals.iter_mut().zip(shares) {
            interval.availability = Some(share);
            interval.connections = if share < 1.0 { 0 } else { 16 };
        }
        document
    }

    #[test]
    fn a_target_that_refuses_is_lost_from_that_moment_on() {
        let lost = Lost::of(&refused()).unwrap();
        assert_eq!(lost, Lost { since_ns: 3 * S / 2, for_ns: 3 * S / 2, is_silent: false });
        let verdict = found(&refused(), "target-lost").unwrap();
        assert_eq!(verdict.severity, Severity::Warning);
        assert_eq!(verdict.evidence["lost_ns"], 1.5e9);
        let first = super::super::judge(&refused()).remove(0);
        assert_eq!(first.id, "target-lost", "before what is about the loader");
        assert_eq!(Lost::of(&testing::healthy_closed()), None);
        assert!(refused().mostly_failed() && !testing::healthy_closed().mostly_failed());
    }

    #[test]
    fn one_that_came_back_is_told_and_not_lost() {
        let mut document = refused();
        document.intervals[2].availability = Some(1.0);
        document.intervals[2].connections = 16;
        assert_eq!(Lost::of(&document), None);
        assert!(!document.mostly_failed());
        let verdict = found(&document, "target-lost").unwrap();
        assert_eq!(verdict.evidence["lost_ns"], 0.5e9);
        assert!(!verdict.evidence.contains_key("since_ns"), "{verdict:?}");
        document.intervals[1].availability = Some(0.98);
        assert!(found(&document, "target-lost").is_none(), "less than a hundredth of the window");
    }

    /// 16 requests, sent at 1.5 s of 3, have no response when the drain of 5 s ends.
    #[test]
    fn one_that_hangs_is_lost_from_its_last_response_on() {
        let mut document = testing::healthy_closed();
        for (interval, answered) in document.intervals.iter_mut().zip([1000, 500, 0]) {
            (interval.answered, interval.in_flight) = (answered, 16);
        }
        assert_eq!(Lost::of(&document).unwrap().since_ns, 2 * S);
        document.ledger.unfinished = 16;
        document.latencies.censored = testing::distribution(&[6_500_000_000; 16]);
        document.time.elapsed_ns = document.time.window_ns + 5 * S;
        let lost = Lost::of(&document).unwrap();
        assert!(lost.is_silent && lost.since_ns.abs_diff(3 * S / 2) < S / 1000, "{lost:?}");
        document.latencies.service.max_ns = Some(S);
        assert_eq!(Lost::of(&document), None, "as long as responses take");
    }
}
