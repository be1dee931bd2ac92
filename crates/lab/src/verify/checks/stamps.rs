//! `--pacing stamps`: a response counts as done when it had arrived, although it is read when the next request is due.
//! At servers with a known delay, and at a queue.

use super::super::Settings;
use super::super::evidence::{Evidence, Theory};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::values::quantile;
use crate::error::LabError;

/// A request each 500 µs: responses are read up to that long after they came.
const RATE: u64 = 2000;
const DELAYS_US: [u64; 3] = [0, 100, 300];
/// The tolerance of a stamp: what a segment takes from the server's call through the loopback device.
const WITHIN_NS: f64 = 50e3;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.4");
    let mut lines = Vec::new();
    for delay_us in settings.length.pick(&DELAYS_US[..], &DELAYS_US[1..]) {
        let theory = Theory::Delay { service_ns: delay_us * 1000 };
        let server = format!("--truth delay --service-time {delay_us}us");
        let load = format!("-R {RATE} -c 20 -t 1 -d {run_s}s");
        let name = format!("{delay_us} µs");
        lines.extend(settled(|| Ok(judge(&experiment(&server, &load)?, theory, &name)))?);
    }
    // Half of what it can do.
    let load = format!("-R {RATE} --arrivals poisson -c 50 -t 1 -d {run_s}s");
    let (server, theory) =
        ("--truth fifo --service-time 250us", Theory::Fifo { service_ns: 250_000 });
    lines.extend(settled(|| Ok(judge(&experiment(server, &load)?, theory, "queue")))?);
    Ok(Line::join(lines))
}

fn experiment(server: &str, load: &str) -> Result<Evidence, LabError> {
    let spin = if candor_engine::core_count() > 1 { " --spin" } else { "" };
    Experiment::new(format!("{server}{spin}"), format!("{load} --pacing stamps"))
        .make_as_typed(|_| ())
}

pub(super) fn judge(evidence: &Evidence, theory: Theory, name: &str) -> Vec<Line> {
    let mut lines = evidence.books(theory);
    let what = format!("stamps after responses left, p99, {name}");
    let read_lag = evidence.read_lag_ns();
    let off_ns = quantile(read_lag.values(), 0.99);
    lines.push(read_lag.line(Line::at_most(what, Unit::Ns, WITHIN_NS, off_ns)));
    let without =
        evidence.record.kernel.as_ref().map_or(u64::MAX, |times| times.without_receive_stamp);
    lines.push(Line::exactly("reads without a stamp", 0, without));
    evidence.told(lines)
}
