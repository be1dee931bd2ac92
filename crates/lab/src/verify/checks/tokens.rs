//! Streams whose events are tokens but for the first, as of a role, and the last, which says how many tokens there were:
//! time to first token, inter-token latency and time per output token are known, and are none of the figures of events.

use super::super::Settings;
use super::super::line::Line;
use super::super::parts::{Figure, MEDIAN_WITHIN_NS, Parted, TOKENS, Times, WITHIN_NS, make};
use super::super::settle::settled;
use super::events;
use crate::error::LabError;

pub(super) const TIMES: Times = events::TIMES;
/// Events 1 to 8 are tokens, and the number in the last one is how many there were: 9, one more than events.
pub(super) const RULES: &str = "--token regex:\"seq\":([1-8]), --tokens json:$.seq";
pub(super) const TOLD: u64 = TIMES.count - 1;
const GAPS: u64 = (TOKENS.end - TOKENS.start - 1) as u64;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.3");
    let mut lines = Vec::new();
    for (flags, name) in [("-c 50", "HTTP/1.1"), ("--h2c -c 2 -m 25", "HTTP/2")] {
        let load = format!("-R 100 -t 1 -d {run_s}s {flags} --stream sse {RULES}");
        let url = |target: &str| format!("{target}{}", TIMES.events_path());
        lines.extend(settled(|| Ok(judge(&make(&load, url, "sse_events", TIMES)?, name)))?);
    }
    Ok(Line::join(lines))
}

pub(super) fn judge(parted: &Parted, name: &str) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    let ok = parted.evidence.record.total.ledger.ok;
    let [firsts, gaps, told] = parted.figures().map_or([0; 3], |all| {
        [all.first_token.count(), all.token_gap.count() + all.tokens_coalesced, all.tokens]
    });
    lines.extend([
        Line::exactly("tokens, as the last events say", TOLD * ok, told),
        Line::exactly("first tokens", ok, firsts),
        Line::exactly("gaps of tokens, recorded or read together", GAPS * ok, gaps),
    ]);
    let each_ns = GAPS * TIMES.every_ns / (TOLD - 1);
    for (what, expected_ns, within, figure) in [
        ("time to first token: t₀ + D", TIMES.due_ns(1), WITHIN_NS, Figure::FirstToken),
        ("inter-token latency: D", TIMES.every_ns, MEDIAN_WITHIN_NS, Figure::TokenGap),
        ("time per output token: 7·D/8", each_ns, MEDIAN_WITHIN_NS, Figure::TimePerToken),
    ] {
        let what = format!("{what}, p50, {name}");
        lines.push(parted.near(what, (figure, 0.5), expected_ns, within));
    }
    lines.extend(parted.evidence.single_requests(|arrival_ns, _| arrival_ns + TIMES.whole_ns()));
    parted.evidence.told(lines)
}
