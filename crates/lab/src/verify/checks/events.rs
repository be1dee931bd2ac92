//! Streams of events, event k at t₀ + k·D: the first, the gaps and the last are known, over HTTP/1.1 and HTTP/2. Then
//! more streams than connections: those that wait show it in their first event, because that counts from the due time.

use super::super::Settings;
use super::super::line::{Line, Unit};
use super::super::parts::{MEDIAN_WITHIN_NS, Parted, Times, WITHIN_NS, at, make};
use crate::error::LabError;

/// `t₀`, later than the first byte of the response.
const FIRST_NS: u64 = 20_000_000;
/// `D`.
const EVERY_NS: u64 = 10_000_000;
pub(super) const TIMES: Times =
    Times { first_ns: FIRST_NS, every_ns: EVERY_NS, count: 10, stall_ns: None };
/// A request each 5 ms, five of which are served at a time: requests 5 to 9 wait for the first five, and so on.
pub(super) const CROWDED: &str = "-R 200 -c 5 -t 1 -n 20";
const CROWDED_PERIOD_NS: u64 = 5_000_000;
const CROWDED_PLACES: u64 = 5;
const CROWDED_COUNT: u64 = 20;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.3");
    let mut lines = Vec::new();
    for (flags, name) in [("-c 50", "HTTP/1.1"), ("--h2c -c 2 -m 25", "HTTP/2")] {
        let load = format!("-R 100 -t 1 -d {run_s}s {flags}");
        lines.extend(judge(&experiment(&load)?, name));
    }
    lines.extend(judge_crowded(&experiment(CROWDED)?));
    Ok(Line::join(lines))
}

fn experiment(load: &str) -> Result<Parted, LabError> {
    let url = |target: &str| format!("{target}{}", TIMES.events_path());
    make(&format!("{load} --stream sse"), url, "sse_events", TIMES)
}

/// Streams that wait for nothing.
pub(super) fn judge(parted: &Parted, name: &str) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    let figures = parted.figures();
    let first = figures.map(|all| &all.first_part);
    let gap = figures.map(|all| &all.gap);
    let last = figures.map(|all| &all.last_part);
    for (what, expected_ns, within, histogram) in [
        ("first event: t₀", TIMES.due_ns(0), WITHIN_NS, first),
        ("gap: D", EVERY_NS, MEDIAN_WITHIN_NS, gap),
        ("last event", TIMES.whole_ns(), WITHIN_NS, last),
    ] {
        let what = format!("{what}, p50, {name}");
        let median = at(histogram, 0.5);
        lines.push(Line::near(what, Unit::Ns, expected_ns as f64, within, median));
    }
    lines.extend(parted.evidence.single_requests(|arrival_ns| arrival_ns + TIMES.whole_ns()));
    lines
}

/// Streams that wait for a connection: request i leaves when request i − c has ended.
pub(super) fn judge_crowded(parted: &Parted) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    let rounds = CROWDED_COUNT / CROWDED_PLACES - 1;
    let waits_ns = rounds * (TIMES.whole_ns() - CROWDED_PLACES * CROWDED_PERIOD_NS);
    // A round begins when the one before was read. So what each needs beyond its formula adds up, and so do the
    // machine's pauses.
    let path = |arrival_ns: u64| arrival_ns + TIMES.whole_ns();
    let evidence = &parted.evidence;
    let longest = |all: Vec<f64>| all.into_iter().fold(0.0, f64::max);
    let machine = longest(evidence.expected_ns(path)) - longest(evidence.undisturbed_ns(path));
    let within = WITHIN_NS * (rounds + 1) as f64 + machine.abs();
    let first = at(parted.figures().map(|all| &all.first_part), 1.0);
    let expected = (TIMES.due_ns(0) + waits_ns) as f64;
    let what = "first event of those that wait, longest";
    lines.push(Line::near(what, Unit::Ns, expected, within, first));
    lines
}
