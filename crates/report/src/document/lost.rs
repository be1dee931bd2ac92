//! When the target went away, if it did and did not come back. A closed loop sends nothing from then on, so that no
//! count shows it.

use super::Document;

/// The least share of the window in which the target must be missing, and the least time.
const SHARE: f64 = 0.01;
const FLOOR_NS: f64 = 100e6;
/// Silence is longer than the longest service time by this factor.
const SILENCE_FACTOR: u64 = 2;

/// A target that went away and did not come back before the end of the measured window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lost {
    /// Since when, from the beginning of the window.
    pub(crate) since_ns: u64,
    /// For how long, until the end of the window.
    pub(crate) for_ns: u64,
    /// Whether it kept its connections, and sent no response.
    pub(crate) is_silent: bool,
}

impl Lost {
    pub(crate) fn of(document: &Document) -> Option<Lost> {
        let end_ns = document.window_intervals().next_back()?.end_ns;
        let refused = refused_since(document).map(|since_ns| (since_ns, false));
        let (since_ns, is_silent) =
            refused.or_else(|| silent_since(document, end_ns).map(|since_ns| (since_ns, true)))?;
        let for_ns = end_ns.saturating_sub(since_ns);
        let since_ns = since_ns.saturating_sub(document.time.warm_up_ns);
        is_long(document, for_ns as f64).then_some(Lost { since_ns, for_ns, is_silent })
    }
}

pub(crate) fn is_long(document: &Document, ns: f64) -> bool {
    ns >= (document.time.window_ns as f64 * SHARE).max(FLOOR_NS)
}

/// Where the time begins in which it took no connection any more.
fn refused_since(document: &Document) -> Option<u64> {
    let mut since_ns = None;
    let mut intervals = document.window_intervals().rev().peekable();
    while let Some(one) = intervals.next() {
        let available = one.availability?;
        if available >= 1.0 || one.connections > 0 {
            break;
        }
        if intervals.peek().is_some_and(|before| before.connections == 0) {
            since_ns = Some(one.start_ns);
            continue;
        }
        let length_ns = one.end_ns.saturating_sub(one.start_ns) as f64;
        since_ns = Some(one.end_ns.saturating_sub(((1.0 - available) * length_ns) as u64));
        break;
    }
    since_ns
}

/// Where the time begins in which requests were in flight and no response came, if the run ended so.
fn silent_since(document: &Document, end_ns: u64) -> Option<u64> {
    let mut intervals = document.window_intervals().rev();
    let mut since_ns = end_ns;
    // A run in which nothing ever came has a finding of its own.
    let before = intervals.find(|one| {
        let is_silent = one.answered == 0 && one.parts == 0 && one.in_flight > 0;
        if is_silent {
            since_ns = one.start_ns;
        }
        !is_silent
    })?;
    // Parts come until the end: the responses are long, or endless.
    let comes_still = before.parts > 0 && since_ns == end_ns;
    if comes_still || before.answered == 0 && before.parts == 0 {
        return None;
    }
    // A closed loop has a request in flight on every place: the youngest one is as old as the silence.
    let last = document.window_intervals().next_back()?;
    if !document.plan.load.is_open() && last.in_flight == document.ledger.unfinished {
        let time = &document.time;
        let drain_ns =
            time.elapsed_ns.saturating_sub(time.warm_up_ns.saturating_add(time.window_ns));
        let age_ns = document.latencies.censored.min_ns.unwrap_or(0).saturating_sub(drain_ns);
        since_ns = since_ns.min(end_ns.saturating_sub(age_ns));
    }
    let longest_ns = document.latencies.service.max_ns.unwrap_or(0);
    let silence_ns = end_ns.saturating_sub(since_ns);
    (silence_ns > longest_ns.saturating_mul(SILENCE_FACTOR)).then_some(since_ns)
}
