//! Checks that the asked connections existed.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural};

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::counts::count_of;

/// Fewer connections established than asked for, at the end of some interval of the window.
///
/// Only a note if connections are replaced all the time, because some are always being opened.
pub(super) fn fewer(document: &Document) -> Option<Finding> {
    let connections = &document.connections;
    document.window_intervals().next()?;
    // A run that opens connections while it runs has few of them at its beginning.
    if connections.least >= connections.asked
        || document.plan.connections.during_run()
        || document.plan.connections.own
    {
        return None;
    }
    let turned_over = connections.closed_by_server.saturating_add(connections.retired);
    let (severity, remedy) = match turned_over >= connections.asked {
        true => (
            Severity::Note,
            "Connections are closed all the time, by the target or as asked, so some are always being replaced.",
        ),
        false => (Severity::Warning, "Check the connect errors and the target's connection limit."),
    };
    Some(Finding {
        severity,
        sentence: format!(
            "Fewer connections than asked: {} asked, as few as {} established.",
            fmt_count(connections.asked),
            fmt_count(connections.least)
        ),
        evidence: vec![
            ("asked", connections.asked as f64),
            ("least", connections.least as f64),
            ("lost", connections.lost as f64),
            ("turned_over", turned_over as f64),
        ],
        remedy,
    })
}

/// Connections took nothing and timed nothing out.
///
/// The loader gives such a connection up when it took no request for as long as one may take; until then
/// it was of no use to the load, and no request tells of it.
pub(super) fn stuck(document: &Document) -> Option<Finding> {
    let stuck = count_of(&document.connections.losses, "lost-stuck");
    let timeout_ns = document.plan.timeouts.request_ns;
    let (connections, verb) = match stuck {
        1 => ("1 connection".to_owned(), "was"),
        _ => (fmt_plural(stuck, "connection"), "were"),
    };
    (stuck > 0).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "{connections} took no request for {} and {verb} replaced; none was in flight to time out.",
            fmt_duration_ns(timeout_ns)
        ),
        evidence: vec![("stuck", stuck as f64), ("timeout_ns", timeout_ns as f64)],
        remedy: "Check that the target reads what it is sent, and its limit of concurrent streams.",
    })
}

/// No local port was free.
pub(super) fn ports_exhausted(document: &Document) -> Option<Finding> {
    const REMEDY: &str = "Keep connections alive, add local addresses with --source, or widen \
                          net.ipv4.ip_local_port_range.";
    exhausted(document, "ports-exhausted", "Local ports", REMEDY)
}

/// No file descriptor was free.
pub(super) fn fds_exhausted(document: &Document) -> Option<Finding> {
    const REMEDY: &str = "Raise the limit with ulimit -n, or use fewer --connections.";
    exhausted(document, "fds-exhausted", "File descriptors", REMEDY)
}

fn exhausted(document: &Document, kind: &str, what: &str, remedy: &'static str) -> Option<Finding> {
    let failed = count_of(&document.connect_errors, kind);
    let attempts = fmt_plural(failed, "connection attempt");
    (failed > 0).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!("{what} ran out: {attempts} failed."),
        evidence: vec![("attempts", failed as f64)],
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Severity;
    use crate::testing;

    #[test]
    fn fewer_than_asked_for() {
        let mut document = testing::healthy_open();
        assert!(found(&document, "fewer-connections").is_none());
        document.connections.least = 11;
        let verdict = found(&document, "fewer-connections").unwrap();
        assert_eq!(verdict.severity, Severity::Warning);
        assert!(verdict.sentence.contains("16 asked, as few as 11"));
        document.connections.closed_by_server = 500;
        assert_eq!(found(&document, "fewer-connections").unwrap().severity, Severity::Note);
        document.intervals.clear();
        assert!(found(&document, "fewer-connections").is_none(), "no window, no finding");
    }

    #[test]
    fn connections_that_take_nothing() {
        assert!(found(&testing::broken(), "connections-stuck").is_none());
        let verdict = found(&testing::stuck(), "connections-stuck").unwrap();
        assert_eq!((verdict.severity, verdict.evidence["stuck"]), (Severity::Warning, 3.0));
        let timeout_ns = testing::stuck().plan.timeouts.request_ns;
        assert_eq!(verdict.evidence["timeout_ns"], timeout_ns as f64);
    }

    #[test]
    fn the_loader_ran_out_of_ports_or_descriptors() {
        let broken = testing::broken();
        assert!(found(&broken, "ports-exhausted").unwrap().remedy.contains("--source"));
        assert!(found(&broken, "fds-exhausted").unwrap().remedy.contains("ulimit -n"));
        let refused = testing::empty_run().document();
        assert!(found(&refused, "ports-exhausted").is_none());
        assert!(found(&refused, "fds-exhausted").is_none());
    }
}
