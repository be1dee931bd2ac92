//! Verdicts about datagrams and windows: the loader's machine, or Candor's own limits, slowed a transfer down.

use candor_plan::units::{fmt_count, fmt_share};

use super::{Finding, Severity};
use crate::document::Document;

/// Of the datagrams that came: with fewer dropped, few responses had to wait for one that was sent again.
const DROPPED_SHARE: f64 = 0.001;
/// Of the responses: with fewer stops, few of them waited for a window.
const STOPPED_SHARE: f64 = 0.01;

/// The kernel had no room for datagrams in a socket's receive buffer. The server sends them again, after a time that is
/// then in the service time although it is this machine's.
pub(super) fn datagrams_dropped(document: &Document) -> Option<Finding> {
    let all = &document.datagrams;
    let came = all.received.saturating_add(all.dropped);
    let share = all.dropped as f64 / came as f64;
    (all.dropped > 0 && share >= DROPPED_SHARE).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "This machine dropped {} of {} datagrams ({}) because receive buffers were full.",
            fmt_count(all.dropped),
            fmt_count(came),
            fmt_share(share)
        ),
        evidence: vec![("dropped", all.dropped as f64), ("received", all.received as f64)],
        remedy: "Raise net.core.rmem_max with sysctl, use more --threads, or lower --streams or the rate.",
    })
}

/// Servers say when a receive window of ours stops them (RFC 9000 4.1); not every server does.
pub(super) fn window_limited(document: &Document) -> Option<Finding> {
    let stopped = document.paths.as_ref()?.counts.stopped_by_window;
    let responses: u64 = document.statuses.iter().map(|one| one.count).sum();
    (stopped > 0 && stopped as f64 >= responses as f64 * STOPPED_SHARE).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Candor's receive windows stopped the server {} times in {} responses.",
            fmt_count(stopped),
            fmt_count(responses)
        ),
        evidence: vec![("stopped", stopped as f64), ("responses", responses as f64)],
        remedy: "Raise --window-bits and --connection-window-bits.",
    })
}

#[cfg(test)]
mod tests {
    use candor_record::PathCounts;

    use crate::testing::healthy_open as healthy;
    use crate::verdicts::found;

    #[test]
    fn dropped_datagrams_are_told_from_a_thousandth_on() {
        for (received, dropped, is_found) in
            [(0, 0, false), (100_000, 0, false), (100_000, 100, false), (99_900, 100, true)]
        {
            let mut document = healthy();
            document.datagrams.received = received;
            document.datagrams.dropped = dropped;
            let verdict = found(&document, "datagrams-dropped");
            assert_eq!(verdict.is_some(), is_found, "{dropped} of {received}");
            if let Some(verdict) = verdict {
                assert_eq!(verdict.evidence["dropped"], 100.0);
            }
        }
    }

    #[test]
    fn windows_limit_from_a_stop_in_a_hundred_responses_on() {
        let mut document = healthy();
        let responses: u64 = document.statuses.iter().map(|one| one.count).sum();
        assert!(found(&document, "window-limited").is_none(), "without paths");
        let empty = candor_record::Paths::new(3);
        let hundredth = responses.div_ceil(100);
        for (stopped_by_window, is_found) in [(0, false), (hundredth - 1, false), (hundredth, true)]
        {
            let mut paths = crate::document::paths::Paths::of(&empty);
            paths.counts = PathCounts { connections: 1, stopped_by_window, ..paths.counts };
            document.paths = Some(paths);
            let verdict = found(&document, "window-limited");
            assert_eq!(verdict.is_some(), is_found, "{stopped_by_window} of {responses}");
        }
    }
}
