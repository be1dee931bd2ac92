//! A WebSocket that echoes after D: a message's response time is D, and the target has counted as many messages as the
//! ledger. Then one that reads nothing for S: messages that are due meanwhile wait for its end, however many may be in
//! flight.

use candor_stats::closed_form::Stall;

use super::super::Settings;
use super::super::evidence::Theory;
use super::super::line::{Line, Unit};
use super::super::parts::{Parted, Times, WITHIN_NS, make};
use super::super::settle::settled;
use super::super::values::quantile;
use crate::error::LabError;

pub(super) const DELAY_NS: u64 = 10_000_000;
pub(super) const STALL_NS: u64 = 200_000_000;
pub(super) const STALLED_RATE_PER_S: u64 = 200;
/// From the opening of a WebSocket, when the stall begins, to the beginning of the run.
const OPENING_WITHIN_NS: f64 = 10e6;

/// An echo: each message is a response of its own.
pub(super) fn echo(delay_ns: u64) -> Times {
    Times { first_ns: delay_ns, every_ns: 0, count: 1, stall_ns: None }
}

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.3");
    let mut lines = Vec::new();
    for (flags, name) in [("-c 10", "HTTP/1.1"), ("--h2 -c 10", "HTTP/2")] {
        let load = format!("-R 400 -t 1 -d {run_s}s {flags} -b ping-${{seq}}");
        let url = |target: &str| socket(target, &format!("ws/echo/{}ms", DELAY_NS / 1_000_000));
        let once = || make(&load, url, "ws_echo", echo(DELAY_NS));
        lines.extend(settled(|| Ok(judge(&once()?, name)))?);
    }
    let load = format!("-R {STALLED_RATE_PER_S} -t 1 -d 0.4s -c 1 --in-flight 200 -b ping");
    let url = |target: &str| socket(target, &format!("ws/stall/{}ms", STALL_NS / 1_000_000));
    lines.extend(settled(|| Ok(judge_stall(&make(&load, url, "ws_stall", echo(0))?)))?);
    Ok(Line::join(lines))
}

/// The URL of a WebSocket, from that of the target.
fn socket(target: &str, path: &str) -> String {
    format!("ws{}{path}", target.strip_prefix("http").unwrap_or(target))
}

/// Lines of all experiments.
fn books(parted: &Parted, delay_ns: u64) -> Vec<Line> {
    let ledger = &parted.evidence.record.total.ledger;
    let mut lines = parted.evidence.books(Theory::Delay { service_ns: delay_ns });
    lines.extend([
        Line::exactly("messages that the target received", ledger.sent, parted.counted.received),
        Line::exactly("messages that the target sent", ledger.ok, parted.counted.sent),
    ]);
    lines
}

pub(super) fn judge(parted: &Parted, name: &str) -> Vec<Line> {
    let mut lines = books(parted, DELAY_NS);
    let evidence = &parted.evidence;
    let responses = evidence.untouched(evidence.responses_ns());
    let median = quantile(responses.values(), 0.5);
    let what = format!("response time p50: D, {name}");
    lines.push(responses.line(Line::near(what, Unit::Ns, DELAY_NS as f64, WITHIN_NS, median)));
    lines.extend(evidence.single_requests(|arrival_ns, _| arrival_ns + DELAY_NS));
    evidence.told(lines)
}

pub(super) fn judge_stall(parted: &Parted) -> Vec<Line> {
    let evidence = &parted.evidence;
    let mut lines = books(parted, 0);
    let stall = Stall {
        rate_per_s: STALLED_RATE_PER_S as f64,
        service_s: 0.0,
        length_s: STALL_NS as f64 / 1e9,
        run_s: evidence.record.window_ns as f64 / 1e9,
    };
    let within = 1e9 / STALLED_RATE_PER_S as f64 + OPENING_WITHIN_NS;
    let responses = evidence.responses_ns();
    for (name, q) in [("p90", 0.90), ("max", 1.0)] {
        let what = format!("response time {name}, in a stall");
        let expected = stall.response_quantile(q) * 1e9;
        lines.push(Line::near(what, Unit::Ns, expected, within, quantile(&responses, q)));
    }
    // The stall ends when the first of the messages is read.
    let end_ns = evidence.log.entries.iter().map(|entry| entry.arrival_ns).min().unwrap_or(0);
    lines.extend(evidence.single_requests(|arrival_ns, _| arrival_ns.max(end_ns)));
    evidence.told(lines)
}
