//! Checks that the asked connections existed.

use candor_plan::units::{fmt_count, fmt_plural};

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
    let severity =
        if turned_over >= connections.asked { Severity::Note } else { Severity::Warning };
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
        remedy: "Check the connect errors and the target's connection limit.",
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
    use crate::testing;
    use crate::verdicts::Severity;

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
    fn the_loader_ran_out_of_ports_or_descriptors() {
        let broken = testing::broken();
        assert!(found(&broken, "ports-exhausted").unwrap().remedy.contains("--source"));
        assert!(found(&broken, "fds-exhausted").unwrap().remedy.contains("ulimit -n"));
        let refused = testing::empty_run().document();
        assert!(found(&refused, "ports-exhausted").is_none());
        assert!(found(&refused, "fds-exhausted").is_none());
    }
}
