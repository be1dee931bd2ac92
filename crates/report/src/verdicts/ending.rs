//! Runs that ended before the plan was carried out.

use candor_plan::units::{fmt_count, fmt_duration_ns};

use super::{Finding, Severity};
use crate::document::users::JourneyRow;
use crate::document::{Document, EndReason};

/// The run ended early, in this way.
fn partial(document: &Document, how: &str, remedy: &'static str) -> Finding {
    Finding {
        severity: Severity::Warning,
        sentence: format!(
            "{how} after {} of measured time: the result is partial.",
            fmt_duration_ns(document.time.window_ns)
        ),
        evidence: vec![("window_ns", document.time.window_ns as f64)],
        remedy,
    }
}

/// A signal ended the run.
pub(super) fn interrupted(document: &Document) -> Option<Finding> {
    const REMEDY: &str = "Let the run end by itself, or make it shorter with --duration.";
    (document.end.reason == EndReason::Interrupted)
        .then(|| partial(document, "The run was interrupted", REMEDY))
}

/// A condition of the user ended the run.
pub(super) fn aborted(document: &Document) -> Option<Finding> {
    const REMEDY: &str =
        "Look at the outcome of the condition and at the errors, and lower the load.";
    (document.end.reason == EndReason::Aborted)
        .then(|| partial(document, "A condition ended the run", REMEDY))
}

/// No response came for too long.
pub(super) fn gave_up(document: &Document) -> Option<Finding> {
    (document.end.reason == EndReason::GaveUp).then(|| {
        let failed: u64 = document.connect_errors.iter().map(|one| one.count).sum();
        Finding {
            severity: Severity::Warning,
            sentence: format!(
                "No response came for {}, so the run was given up: the result is partial.",
                fmt_duration_ns(document.plan.stop.give_up_ns)
            ),
            evidence: vec![("connect_errors", failed as f64)],
            remedy: "Check that the target runs at this address, and responds to this protocol.",
        }
    })
}

/// The script failed.
pub(super) fn script_failed(document: &Document) -> Option<Finding> {
    const REMEDY: &str = "Fix the script at the line that the message on standard error names.";
    (document.end.reason == EndReason::ScriptFailed)
        .then(|| partial(document, "The script failed", REMEDY))
}

/// A data file failed.
pub(super) fn data_failed(document: &Document) -> Option<Finding> {
    const REMEDY: &str = "Leave data files as they are while a run uses them, and run again.";
    const REMEDY_OF_CALLS: &str = "Leave data files as they are while a run uses them, and see that values of numeric fields are numbers.";
    let (what, remedy) = match document.plan.wire.calls() {
        None => ("A data file changed or could no longer be read", REMEDY),
        Some(_) => (
            "A data file changed, or has a value that does not fit its field of a message",
            REMEDY_OF_CALLS,
        ),
    };
    (document.end.reason == EndReason::DataFailed).then(|| partial(document, what, remedy))
}

/// The managed target ended during the run.
pub(super) fn target_ended(document: &Document) -> Option<Finding> {
    const REMEDY: &str =
        "Read the last lines of its log in the full report, and fix what ended it.";
    let how = document.target.as_ref()?.ended.as_ref()?;
    Some(partial(document, &format!("The target ended {how}"), REMEDY))
}

/// Users were under way when the run ended, and none has come to the end of a journey, nor failed.
pub(super) fn no_journey_completed(document: &Document) -> Option<Finding> {
    let journeys = &document.users.as_ref()?.journeys;
    let sum = |of: fn(&JourneyRow) -> u64| journeys.iter().map(of).sum::<u64>();
    let under_way = sum(|one| one.unfinished);
    (under_way > 0 && sum(|one| one.completed) + sum(|one| one.failed) == 0).then(|| Finding {
        severity: Severity::Note,
        sentence: format!(
            "No user came to the end of a journey: {} were under way when the run ended.",
            fmt_count(under_way)
        ),
        evidence: vec![("under_way", under_way as f64)],
        remedy: "Raise --duration above the time that a journey takes.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;

    #[test]
    fn a_signal_and_a_dead_target() {
        assert!(found(&testing::broken(), "interrupted").is_some());
        assert!(found(&testing::broken(), "gave-up").is_none());
        let empty = testing::empty_run().document();
        let verdict = found(&empty, "gave-up").unwrap();
        assert!(verdict.sentence.contains("10 s"), "{}", verdict.sentence);
        assert_eq!(verdict.evidence["connect_errors"], 3.0);
        assert!(found(&empty, "interrupted").is_none());
    }

    #[test]
    fn a_run_that_is_shorter_than_its_journeys() {
        let mut document = testing::users_run().document();
        assert!(found(&document, "no-journey-completed").is_none());
        let journeys = &mut document.users.as_mut().unwrap().journeys;
        journeys.iter_mut().for_each(|one| (one.completed, one.failed) = (0, 0));
        assert_eq!(found(&document, "no-journey-completed").unwrap().evidence["under_way"], 4.0);
        document.users.as_mut().unwrap().journeys[0].failed = 1;
        assert!(found(&document, "no-journey-completed").is_none());
    }
}
