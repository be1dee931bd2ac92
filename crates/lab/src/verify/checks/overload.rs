//! Twice the rate that a first-come-first-served server can do: request n, from 0, waits `D + n(D −
//! 1/R)`, the server is never idle, and the rest of the schedule is unsent.

use candor_stats::closed_form::{FifoPath, dd1_wait};

use super::super::Settings;
use super::super::evidence::{Evidence, Theory, queue};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::values::mean;
use super::super::witness::with_effect;
use crate::error::LabError;

pub(super) const SERVICE_NS: u64 = 10_000_000;
pub(super) const RATE_PER_S: u64 = 200;
/// Enough connections that the server has the next request before it finishes one, even if the
/// loader is paused for some service times.
pub(super) const CONNECTIONS: u64 = 8;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick(5, 2);
    let experiment = Experiment::new(
        "--truth fifo --service-time 10ms",
        format!("-R {RATE_PER_S} -c {CONNECTIONS} -t 1 -d {run_s}s --drain 1s"),
    );
    settled(|| Ok(judge(&experiment.make(settings, |_| ())?)))
}

pub(super) fn judge(evidence: &Evidence) -> Vec<Line> {
    let departure_ns = || queue(FifoPath::new(SERVICE_NS));
    let responses = evidence.responses_ns();
    let the_last = |all: &[f64]| all.last().copied().unwrap_or(f64::NAN);
    let (rate, service_s) = (RATE_PER_S as f64, SERVICE_NS as f64 / 1e9);
    // One response leaves every D from D on, and each lets another request leave.
    let window_ns = evidence.record.window_ns;
    let sent = (window_ns - 1) / SERVICE_NS + CONNECTIONS;
    let of = |n: u64| (service_s + dd1_wait(n, rate, service_s)) * 1e9;
    let last = of(sent - 1);
    let middle = (of(0) + last) / 2.0;
    let ledger = &evidence.record.total.ledger;
    let mut lines = evidence.books(Theory::Fifo { service_ns: SERVICE_NS });
    let unsent = |sent: u64| ledger.scheduled.saturating_sub(sent) as f64;
    // A paused server lets fewer leave, as its log says.
    let left = evidence.log.entries.iter().filter(|entry| entry.departed_ns < window_ns).count();
    let (value, by_log) = (unsent(sent), unsent(left as u64 + CONNECTIONS));
    let (effect, measured) = ((by_log - value).abs(), ledger.unsent as f64);
    // A response near the end of the run may or may not have freed a place.
    let what = "requests that were never sent";
    lines.push(with_effect(what, Unit::Count, value, 1.0, effect, measured));
    let mut timed = |what, value: f64, figure: fn(&[f64]) -> f64| {
        let (effect, measured) = (evidence.effect(departure_ns, figure), figure(&responses));
        lines.push(with_effect(what, Unit::Ns, value, value * 0.01, effect, measured));
    };
    timed("response time of the last", last, the_last);
    timed("response time mean", middle, mean);
    lines.extend(evidence.single_requests(departure_ns()));
    evidence.told(lines)
}
