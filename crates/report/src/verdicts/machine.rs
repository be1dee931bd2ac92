//! The behaviour of the loader's own machine: pauses and clocks.

use candor_plan::units::{fmt_duration_ns, fmt_plural, fmt_share};
use candor_record::Throttled;

use super::{Finding, Severity};
use crate::document::hiccups::Cause;
use crate::document::latency::Latencies;
use crate::document::{Document, MachineRow};

/// Shorter hiccups are normal on a busy machine.
const HICCUP_FLOOR_NS: u64 = 50_000_000;
/// A hiccup below this share of the longest response time did not cause it.
const HICCUP_SHARE: f64 = 0.1;
/// Less waiting than this share of the run is in no percentile that is shown.
const THROTTLED_SHARE: f64 = 1e-4;
/// A smaller move of the wall clock is normal slewing.
const CLOCK_FLOOR_NS: u64 = 100_000_000;

/// A thread of the loader that only sleeps woke late, so the others could not run either.
pub(super) fn host_hiccup(document: &Document, machine: &MachineRow) -> Option<Finding> {
    let hiccups = machine.hiccups.as_ref()?;
    let longest_ns = hiccups.longest_ns();
    let response_ns = document.latencies.response.max_ns.unwrap_or(0);
    if longest_ns < HICCUP_FLOOR_NS || (longest_ns as f64) < response_ns as f64 * HICCUP_SHARE {
        return None;
    }
    let worst = hiccups.worst.first()?;
    let (why, remedy) = match Cause::of(worst) {
        Cause::Stopped => (
            "no other work ran: the process was stopped, or the machine paused",
            "Do not stop or debug the loader, and use a machine that does not pause.",
        ),
        Cause::Waited => (
            "other work ran on its cores",
            "Stop the other work on the loader's machine, or give the loader its own.",
        ),
        Cause::Stolen => (
            "the hypervisor ran something else",
            "Use a machine with dedicated cores; such a pause is not the server's.",
        ),
    };
    let Latencies { response, touched, .. } = &document.latencies;
    let share = *touched as f64 / response.count.max(1) as f64;
    let touched = match touched {
        0 => String::new(),
        _ => format!(", and pauses touched {} of the requests", fmt_share(share)),
    };
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The loader's machine paused it for up to {}, {} into the run ({why}); response times include \
             that{touched}.",
            fmt_duration_ns(longest_ns),
            fmt_duration_ns(worst.at_ns.saturating_sub(worst.late_ns))
        ),
        evidence: vec![
            ("longest_ns", longest_ns as f64),
            ("at_ns", worst.at_ns as f64),
            ("waited_ns", worst.waited_ns as f64),
            ("stolen_ns", worst.stolen_ns as f64),
            ("touched_share", share),
        ],
        remedy,
    })
}

/// A limit of CPU time, such as a container's, made the loader wait.
pub(super) fn loader_throttled(document: &Document, machine: &MachineRow) -> Option<Finding> {
    if machine.agent.is_some() { None } else { throttled(document, machine, "the loader") }
}

/// The same of an agent.
pub(super) fn agent_throttled(document: &Document, machine: &MachineRow) -> Option<Finding> {
    throttled(document, machine, &format!("agent {}", machine.agent.as_ref()?.name))
}

fn throttled(document: &Document, machine: &MachineRow, who: &str) -> Option<Finding> {
    let Throttled { periods, waited_ns } = machine.throttled.filter(|one| one.periods > 0)?;
    let share = waited_ns as f64 / document.time.elapsed_ns.max(1) as f64;
    if share < THROTTLED_SHARE {
        return None;
    }
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "A limit of CPU time made {who} wait {}, {} in all: send lag and response times include that.",
            fmt_plural(periods, "time"),
            fmt_duration_ns(waited_ns)
        ),
        evidence: vec![("periods", periods as f64), ("waited_ns", waited_ns as f64)],
        remedy: "Give the container whole cores without a limit (cpu.max; in Kubernetes the QoS class Guaranteed \
                 with the static CPU policy).",
    })
}

/// The wall clock was moved, or the machine was suspended.
pub(super) fn clock_jump(_: &Document, machine: &MachineRow) -> Option<Finding> {
    let hiccups = machine.hiccups.as_ref()?;
    let moved_ns = hiccups.wall_clock_moved_ns;
    let suspended_ns = hiccups.suspended_ns;
    let (severity, sentence) = if suspended_ns > CLOCK_FLOOR_NS {
        let length = fmt_duration_ns(suspended_ns);
        (Severity::Warning, format!("The machine was suspended for {length} during the run."))
    } else if moved_ns.unsigned_abs() > CLOCK_FLOOR_NS {
        let length = fmt_duration_ns(moved_ns.unsigned_abs());
        let way = if moved_ns > 0 { "forward" } else { "back" };
        let sentence = format!(
            "The wall clock moved {way} by {length} during the run: durations are right, times of day are \
             not."
        );
        (Severity::Note, sentence)
    } else {
        return None;
    };
    Some(Finding {
        severity,
        sentence,
        evidence: vec![
            ("wall_clock_moved_ns", moved_ns as f64),
            ("suspended_ns", suspended_ns as f64),
        ],
        remedy: "Let the clock settle and keep the machine awake, then run again.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Severity;
    use crate::document::hiccups::Cause;
    use crate::testing;
    use candor_record::{Hiccup, Throttled};

    #[test]
    fn a_pause_of_ours_is_told_with_its_cause() {
        let sentence = |waited_ns, stolen_ns| {
            let document = testing::with_hiccup(Hiccup {
                at_ns: 2_000_000_000,
                late_ns: 500_000_000,
                waited_ns,
                stolen_ns,
            });
            found(&document, "host-hiccup").unwrap().sentence
        };
        assert!(sentence(0, 0).contains("500 ms, 1.5 s into"), "{}", sentence(0, 0));
        assert!(sentence(1_000_000, 0).contains("was stopped"));
        assert!(sentence(400_000_000, 0).contains("other work ran"));
        assert!(sentence(0, 300_000_000).contains("hypervisor"));
    }

    #[test]
    fn requests_that_a_pause_touched_are_told_with_their_share() {
        let mut document = testing::with_hiccup(Hiccup {
            at_ns: 1_550_000_000,
            late_ns: 50_000_000,
            waited_ns: 0,
            stolen_ns: 0,
        });
        let verdict = found(&document, "host-hiccup").unwrap();
        assert!(!verdict.sentence.contains("touched"), "{}", verdict.sentence);
        document.latencies = testing::paused_run().document().latencies;
        let verdict = found(&document, "host-hiccup").unwrap();
        let told = "response times include that, and pauses touched 1.67 % of the requests.";
        assert!(verdict.sentence.ends_with(told), "{}", verdict.sentence);
        assert!((verdict.evidence["touched_share"] - 100.0 / 6000.0).abs() < 1e-9);
    }

    #[test]
    fn short_hiccups_and_those_that_did_not_matter_are_none() {
        let at = |late_ns| {
            testing::with_hiccup(Hiccup { at_ns: late_ns, late_ns, waited_ns: 0, stolen_ns: 0 })
        };
        assert!(found(&at(49_000_000), "host-hiccup").is_none());
        let mut document = at(60_000_000);
        assert!(found(&document, "host-hiccup").is_some());
        document.latencies.response.max_ns = Some(2_000_000_000);
        assert!(found(&document, "host-hiccup").is_none(), "the longest took far longer");
        document.machines[0].hiccups = None;
        assert!(found(&document, "host-hiccup").is_none());
        let even = Hiccup { at_ns: 9, late_ns: 8, waited_ns: 4, stolen_ns: 0 };
        assert_eq!(Cause::of(&even), Cause::Waited);
    }

    #[test]
    fn a_limit_of_cpu_time_is_told_where_it_matters() {
        let sentence = |mut document: crate::document::Document, id, periods, waited_ns| {
            document.machines[0].throttled = Some(Throttled { periods, waited_ns });
            found(&document, id).map(|one| one.sentence)
        };
        let own = |periods, waited_ns| {
            sentence(testing::healthy_open(), "loader-throttled", periods, waited_ns)
        };
        assert_eq!((own(0, 0), own(1, 10)), (None, None));
        let said = own(12, 600_000_000).unwrap();
        assert!(
            said.starts_with("A limit of CPU time made the loader wait 12 times, 600 ms"),
            "{said}"
        );
        let fleet = testing::fleet::healthy();
        let said = sentence(fleet, "agent-throttled", 1, 50_000_000).unwrap();
        assert!(said.contains("made agent a0 wait 1 time, 50 ms in all"), "{said}");
    }

    #[test]
    fn a_clock_that_was_moved_is_a_note_and_a_suspension_a_warning() {
        let mut document = testing::healthy_open();
        let mut with = |moved_ns, suspended_ns| {
            let hiccups = document.machines[0].hiccups.as_mut().unwrap();
            hiccups.wall_clock_moved_ns = moved_ns;
            hiccups.suspended_ns = suspended_ns;
            found(&document, "clock-jump").map(|one| (one.severity, one.sentence))
        };
        assert_eq!(with(90_000_000, 0), None);
        let (severity, sentence) = with(-2_000_000_000, 0).unwrap();
        assert_eq!(severity, Severity::Note);
        assert!(sentence.contains("moved back by 2 s"), "{sentence}");
        assert_eq!(with(0, 2_000_000_000).unwrap().0, Severity::Warning);
    }
}
