//! Checks that there is a rate, and that an open load matched the asked one.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_record::ErrorKind;

use super::{Finding, Severity};
use crate::document::counts::{Connections, LedgerCounts};
use crate::document::{Document, EndReason};

/// The least share of the scheduled requests that must have a response within the window.
const ACHIEVED_SHARE: f64 = 0.99;
/// A backlog of less work than this, at the asked rate, is not a finding.
const BACKLOG_S: f64 = 0.1;
/// Nor is a backlog of fewer requests than this.
const BACKLOG_FLOOR: u64 = 10;
/// A backlog grows if it is larger by this factor at the end of the window than in the middle.
const BACKLOG_GROWTH: f64 = 1.2;

/// The run sent nothing, so it has no figures.
pub(super) fn nothing_sent(document: &Document) -> Option<Finding> {
    let took_its_time = matches!(document.end.reason, EndReason::Duration | EndReason::Count);
    let sent = document.ledger.sent + document.warm_up.sent;
    let failed: u64 = document.connect_errors.iter().map(|one| one.count).sum();
    (took_its_time && sent == 0).then(|| Finding {
        severity: Severity::Invalid,
        sentence: format!(
            "No request was sent: {} connections were established, {} attempts failed.",
            fmt_count(document.connections.opened),
            fmt_count(failed)
        ),
        evidence: vec![
            ("connections_opened", document.connections.opened as f64),
            ("connect_errors", failed as f64),
        ],
        remedy: "Check that the target supports this protocol, or raise the rate.",
    })
}

/// Requests were sent, but no response came within the measured window: the rate is zero and meaningless.
pub(super) fn no_rate(document: &Document) -> Option<Finding> {
    let LedgerCounts { sent, ok, errors, broken_off, unfinished, .. } = document.ledger;
    // Requests that are broken off, as they are meant to be, have no response.
    let asked = (sent - broken_off.min(sent)).saturating_add(document.warm_up.sent);
    // A response that is not as expected is one: errors-dominate says what it was.
    let kinds = document.errors.iter().filter_map(|one| ErrorKind::of_id(&one.kind));
    let responded = kinds.into_iter().any(ErrorKind::has_response);
    let meant = broken_off > 0 && errors == 0;
    let came = document.rate.answered_in_window > 0 || document.is_feed();
    if asked == 0 || came || responded || meant {
        return None;
    }
    let (window_ns, window) = (document.time.window_ns, fmt_duration_ns(document.time.window_ns));
    let in_flight = document.window_intervals().last().map_or(0, |last| last.in_flight);
    let sentence = match (sent, ok) {
        (0, _) if in_flight > 0 => format!(
            "The rate is zero: {} of the warm-up were still in flight when the measured window of {window} ended.",
            fmt_plural(in_flight, "request"),
        ),
        (0, _) => format!(
            "The rate is zero: {} of the warm-up, and none in the measured window of {window}.",
            fmt_plural(document.warm_up.sent, "request"),
        ),
        (_, 0) => format!(
            "The rate is zero: of {} sent in the measured window of {window}, {} failed and {} were unfinished.",
            fmt_plural(sent, "request"),
            fmt_count(errors),
            fmt_count(unfinished),
        ),
        _ => format!(
            "The rate is zero: all {} responses came after the measured window of {window}.",
            fmt_count(ok)
        ),
    };
    Some(Finding {
        severity: Severity::Invalid,
        sentence,
        evidence: vec![
            ("ok", ok as f64),
            ("sent", sent as f64),
            ("warm_up_sent", document.warm_up.sent as f64),
            ("in_flight_at_end", in_flight as f64),
            ("window_ns", window_ns as f64),
        ],
        remedy: match sent > 0 && errors == sent {
            true => "Look at the errors: no request got a response that counts.",
            false => {
                "Raise --duration and --warm-up above the time that a response takes, and check that the target \
                 responds."
            }
        },
    })
}

/// What to do where [`breaks`] holds.
const BREAKS: &str = "Find out why connections break: one that broke is made again after 10 to 250 ms, and until then it takes no \
                      request.";

/// Whether at least half of the connections were lost, so that waiting for new ones holds requests back.
fn breaks(document: &Document) -> bool {
    let Connections { asked, opened, lost, .. } = document.connections;
    lost > asked && lost >= opened / 2
}

/// Fewer responses than asked for.
///
/// Requests that may be in flight at the end of the window do not count against the target: by
/// Little's law rate × mean service time, plus three standard deviations of a Poisson number with
/// that mean. But this is never more than the number sent and without a response, which the formula
/// would exceed at a rate far above the one sent.
pub(super) fn target_not_met(document: &Document) -> Option<Finding> {
    if !document.plan.load.is_open() {
        return None;
    }
    let (scheduled_per_s, achieved_per_s) =
        (document.rate.scheduled_per_s?, document.rate.achieved_per_s?);
    let in_flight = scheduled_per_s * document.latencies.service.mean_ns.unwrap_or(0.0) / 1e9;
    let scheduled = document.ledger.scheduled as f64;
    let answered = document.rate.answered_in_window as f64;
    let unanswered = (document.ledger.sent as f64 - answered).max(0.0);
    let allowed = (in_flight + 3.0 * in_flight.sqrt()).min(unanswered) + 1.0;
    (answered + allowed < ACHIEVED_SHARE * scheduled).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The rate was not held: {} achieved of {} scheduled ({}).",
            fmt_per_second(achieved_per_s),
            fmt_per_second(scheduled_per_s),
            fmt_share(answered / scheduled)
        ),
        evidence: vec![
            ("scheduled_per_s", scheduled_per_s),
            ("achieved_per_s", achieved_per_s),
            ("in_flight_allowed", allowed),
        ],
        remedy: if breaks(document) {
            BREAKS
        } else {
            "Lower --rate, or add --connections if the target is idle."
        },
    })
}

/// The backlog was large at the window's end and larger than in its middle.
pub(super) fn backlog_growing(document: &Document) -> Option<Finding> {
    let backlogs: Vec<u64> = document.window_intervals().map(|one| one.backlog).collect();
    let at_end = *backlogs.last()?;
    let in_middle = if backlogs.len() < 2 { 0 } else { backlogs[(backlogs.len() - 1) / 2] };
    let large =
        at_end > BACKLOG_FLOOR && at_end as f64 > document.rate.scheduled_per_s? * BACKLOG_S;
    let growing = at_end as f64 > in_middle as f64 * BACKLOG_GROWTH;
    (large && growing).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The backlog grew to {} requests (from {} in the middle): response times depend on the run's \
             length.",
            fmt_count(at_end),
            fmt_count(in_middle)
        ),
        evidence: vec![("backlog_at_end", at_end as f64), ("backlog_in_middle", in_middle as f64)],
        remedy: if breaks(document) {
            BREAKS
        } else {
            "The target cannot keep up: lower --rate, or set --shed-after."
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, found};
    use crate::document::counts::ErrorCount;
    use crate::testing;

    #[test]
    fn a_run_without_a_request_and_one_without_a_rate() {
        let mut document = testing::healthy_open();
        document.rate.answered_in_window = 0;
        let verdict = found(&document, "no-rate").unwrap();
        assert_eq!((verdict.severity, verdict.evidence["ok"]), (Severity::Invalid, 6000.0));
        assert!(verdict.sentence.contains("all 6,000 responses came after"), "{verdict:?}");
        // There was no response.
        (document.ledger.ok, document.ledger.errors, document.ledger.unfinished) = (0, 5_990, 10);
        let verdict = found(&document, "no-rate").unwrap();
        assert!(verdict.sentence.contains("5,990 failed and 10 were unfinished"), "{verdict:?}");
        assert!(verdict.remedy.contains("--duration"), "{verdict:?}");
        document.ledger.errors = document.ledger.sent;
        document.ledger.unfinished = 0;
        let verdict = found(&document, "no-rate").unwrap();
        assert!(verdict.remedy.contains("errors") && !verdict.remedy.contains("--duration"));
        // Somebody did, with something else than was asked for.
        let failed = |kind: &str| ErrorCount {
            kind: kind.to_owned(),
            count: 90,
            sentence: String::new(),
            example: None,
            remedy: None,
        };
        document.errors = vec![failed("timeout"), failed("grpc-not-found")];
        assert!(found(&document, "no-rate").is_none());
        document.errors.pop();
        assert!(found(&document, "no-rate").is_some());
        // Requests that are broken off have no response.
        document.ledger.broken_off = 5_990;
        document.ledger.errors = 0;
        assert!(found(&document, "no-rate").is_none());
        document.ledger = Default::default();
        document.warm_up.sent = 0;
        assert!(found(&document, "no-rate").is_none());
        assert_eq!(found(&document, "nothing-sent").unwrap().severity, Severity::Invalid);
        // A run that gave up has a finding of its own.
        assert!(found(&testing::empty_run().document(), "nothing-sent").is_none());
    }

    /// Each connection has a request of the warm-up that takes longer than the window.
    #[test]
    fn a_warm_up_that_outlasts_the_window() {
        let mut run = testing::healthy_open_run();
        run.requests.truncate(8);
        for one in &mut run.requests {
            one.outcome = testing::Outcome::Ok { service_ns: 3_520_000_000 };
        }
        let document = run.document();
        assert_eq!((document.warm_up.ok, document.ledger.sent), (8, 0));
        let verdict = found(&document, "no-rate").unwrap();
        assert_eq!(
            (verdict.severity, verdict.evidence["in_flight_at_end"]),
            (Severity::Invalid, 8.0)
        );
        assert!(verdict.sentence.contains("8 requests of the warm-up"), "{}", verdict.sentence);
        assert!(found(&document, "nothing-sent").is_none());
        let figures = crate::experiment::figures::Figures::of(&document);
        assert!(figures.unusable, "no trial of a suite is represented by it");
    }

    #[test]
    fn a_rate_that_was_not_held() {
        let mut document = testing::healthy_open();
        document.rate.answered_in_window = 5_900;
        document.rate.achieved_per_s = Some(5_900.0 / 3.0);
        let verdict = found(&document, "target-not-met").unwrap();
        assert!(verdict.sentence.contains("1,967/s achieved of 2,000/s"), "{}", verdict.sentence);
        assert!(verdict.remedy.contains("Lower --rate"), "{}", verdict.remedy);
        // What holds it back then is that connections have to be made.
        (document.connections.opened, document.connections.lost) = (900, 890);
        let verdict = found(&document, "target-not-met").unwrap();
        assert!(verdict.remedy.contains("why connections break"), "{}", verdict.remedy);
        let mut closed = testing::healthy_closed();
        closed.rate.answered_in_window = 1;
        assert!(found(&closed, "target-not-met").is_none());
    }

    #[test]
    fn requests_rightly_in_flight_at_the_end_are_not_held_against_the_target() {
        let mut document = testing::healthy_open();
        document.rate.answered_in_window = 5_000;
        document.latencies.service.mean_ns = Some(0.5e9);
        assert!(found(&document, "target-not-met").is_none());
    }

    /// By Little's law alone, a rate twenty times the one sent would all be in flight.
    #[test]
    fn what_was_never_sent_is_not_in_flight() {
        let mut document = testing::healthy_open();
        document.latencies.service.mean_ns = Some(3e9);
        document.rate.answered_in_window = 300;
        document.ledger.sent = 304;
        let verdict = found(&document, "target-not-met").unwrap();
        assert_eq!(verdict.evidence["in_flight_allowed"], 5.0);
    }

    #[test]
    fn a_backlog_that_grows() {
        let mut document = testing::healthy_open();
        let mut set = |backlogs: [u64; 3]| {
            for (interval, backlog) in document.intervals.iter_mut().zip(backlogs) {
                interval.backlog = backlog;
            }
            found(&document, "backlog-growing").is_some()
        };
        assert!(set([300, 600, 900]));
        assert!(!set([900, 900, 900]), "large and steady");
        assert!(!set([10, 100, 190]), "less than a tenth of a second");
        assert!(!set([900, 600, 300]), "shrinking");
    }
}
