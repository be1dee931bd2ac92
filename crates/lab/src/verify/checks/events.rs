//! Streams of events, event k at t₀ + k·D: the first, the gaps and the last are known, over HTTP/1.1 and HTTP/2. Then
//! more streams than connections: those that wait show it in their first event, because that counts from the due time.

use super::super::Settings;
use super::super::line::{Line, Unit};
use super::super::parts::{Figure, MEDIAN_WITHIN_NS, Parted, Times, WITHIN_NS, make};
use super::super::settle::settled;
use super::super::witness::with_effect;
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
        lines.extend(settled(|| Ok(judge(&experiment(&load)?, name)))?);
    }
    lines.extend(settled(|| Ok(judge_crowded(&experiment(CROWDED)?)))?);
    Ok(Line::join(lines))
}

fn experiment(load: &str) -> Result<Parted, LabError> {
    let url = |target: &str| format!("{target}{}", TIMES.events_path());
    make(&format!("{load} --stream sse"), url, "sse_events", TIMES)
}

/// Streams that wait for nothing.
pub(super) fn judge(parted: &Parted, name: &str) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    for (what, expected_ns, within, figure) in [
        ("first event: t₀", TIMES.due_ns(0), WITHIN_NS, Figure::First),
        ("gap: D", EVERY_NS, MEDIAN_WITHIN_NS, Figure::Gap),
        ("last event", TIMES.whole_ns(), WITHIN_NS, Figure::Last),
    ] {
        let what = format!("{what}, p50, {name}");
        lines.push(parted.near(what, (figure, 0.5), expected_ns, within));
    }
    lines.extend(parted.evidence.single_requests(|arrival_ns, _| arrival_ns + TIMES.whole_ns()));
    parted.evidence.told(lines)
}

/// Streams that wait for a connection: request i leaves when request i − c has ended.
pub(super) fn judge_crowded(parted: &Parted) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    let rounds = CROWDED_COUNT / CROWDED_PLACES - 1;
    let waits_ns = rounds * (TIMES.whole_ns() - CROWDED_PLACES * CROWDED_PERIOD_NS);
    // A round begins when the one before was read. So what each needs beyond its formula adds up, and so do the
    // machine's pauses.
    let path = || |arrival_ns: u64, _: u64| arrival_ns + TIMES.whole_ns();
    let longest = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let effect = parted.evidence.effect(path, longest);
    let within = WITHIN_NS * (rounds + 1) as f64;
    let first = parted.quantile(Figure::First, 1.0);
    let expected = (TIMES.due_ns(0) + waits_ns) as f64;
    let what = "first event of those that wait, longest";
    lines.push(with_effect(what, Unit::Ns, expected, within, effect, first));
    parted.evidence.told(lines)
}
