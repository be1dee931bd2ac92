//! Streams of events that stall once: the longest gap of each is from the last event before the stall to its
//! end. Events that were due in the stall leave together, so they are read together, and no gap between them
//! can be known.

use super::super::Settings;
use super::super::line::{Line, Unit};
use super::super::parts::{Figure, MEDIAN_WITHIN_NS, Parted, Times, make, place_ns};
use super::super::settle::settled;
use crate::error::LabError;

/// Events 5 to 14 are due in the stall, and leave at its end.
pub(super) const TIMES: Times = Times {
    first_ns: 0,
    every_ns: 10_000_000,
    count: 20,
    stall_ns: Some((45_000_000, 100_000_000)),
};

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.3");
    let mut lines = Vec::new();
    for (flags, name) in [("-c 50", "HTTP/1.1"), ("--h2c -c 2 -m 25", "HTTP/2")] {
        let load = format!("-R 100 -t 1 -d {run_s}s {flags} --stream sse");
        let url = |target: &str| format!("{target}{}", TIMES.events_path());
        lines.extend(settled(|| Ok(judge(&make(&load, url, "sse_events", TIMES)?, name)))?);
    }
    Ok(Line::join(lines))
}

pub(super) fn judge(parted: &Parted, name: &str) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    for (quantile, q) in [("p50", 0.5), ("p10", 0.1)] {
        let what = format!("longest gap, {quantile}, {name}");
        let expected_ns = TIMES.longest_gap_ns();
        let within = MEDIAN_WITHIN_NS + place_ns(expected_ns as f64);
        lines.push(parted.near(what, (Figure::LongestGap, q), expected_ns, within));
    }
    lines.extend(parted.evidence.single_requests(|arrival_ns, _| arrival_ns + TIMES.whole_ns()));
    // A target that is delayed itself sends more of them together, or fewer.
    let responses = parted.evidence.record.total.ledger.ok.max(1) as f64;
    let together = parted.figures().map_or(0, |all| all.coalesced) as f64 / responses;
    let what = format!("events read with the one before, {name}");
    lines.push(Line::near(what, Unit::Count, TIMES.together() as f64, 1.0, together));
    parted.evidence.told(lines)
}
