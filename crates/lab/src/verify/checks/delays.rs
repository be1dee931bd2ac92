//! A server that responds after D, any number at once, at several D and numbers of connections:
//! service time is D and what the server was late by, and the excess is network and loader overhead.

use candor_plan::units::fmt_plural;

use super::super::Settings;
use super::super::evidence::{Evidence, Theory};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::values::quantile;
use crate::error::LabError;

/// The tolerance of the median.
const WITHIN_NS: f64 = 200e3;
const DELAYS_MS: [u64; 4] = [0, 1, 10, 100];
/// The highest rate: the check does not test the loader's throughput.
const MOST_PER_S: u64 = 500;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let all: &[u64] = settings.length.pick(&[1, 50, 500], &[10]);
    let mut lines = Vec::new();
    for delay_ms in DELAYS_MS {
        for &connections in all {
            // Four fifths of the rate that these connections can carry.
            let fits = connections * 800 / (delay_ms + 1);
            let rate = fits.clamp(1, MOST_PER_S);
            let run_ms = settings.length.pick(1500, 600).max(30_000 / rate);
            let experiment = Experiment::new(
                format!("--truth delay --service-time {delay_ms}ms"),
                format!("-R {rate} -c {connections} -t 1 -d {run_ms}ms"),
            );
            let once = || Ok(judge(&experiment.make(settings, |_| ())?, delay_ms * 1_000_000));
            lines.extend(settled(once)?);
        }
    }
    Ok(Line::join(lines))
}

pub(super) fn judge(evidence: &Evidence, service_ns: u64) -> Vec<Line> {
    let mut lines = evidence.books(Theory::Delay { service_ns });
    let connections = fmt_plural(u64::from(evidence.plan.connections.count), "connection");
    let what = format!("p50, {} ms, {connections}", service_ns / 1_000_000);
    let service = evidence.punctual_service_ns();
    let median = quantile(service.values(), 0.5);
    lines.push(service.line(Line::near(what, Unit::Ns, service_ns as f64, WITHIN_NS, median)));
    evidence.told(lines)
}
