//! A first-come-first-served server stalls once, for S: an arrival t after its beginning waits `S −
//! t(1−ρ)`. The loader has fewer connections than waiting requests, so most of them wait in the
//! loader and are sent late: a loader that counts from the send misses their wait.

use std::thread;
use std::time::Duration;

use candor_stats::closed_form::{FifoPath, Stall};

use super::super::evidence::{Evidence, Theory, queue};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::values::{mean, quantile};
use super::super::witness::with_effect;
use super::super::{Length, Settings};
use crate::error::LabError;
use crate::target::http;

pub(super) const SERVICE_NS: u64 = 100_000;
pub(super) const RATE_PER_S: u64 = 1000;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    over(settings, "", "")
}

/// The same with further flags of the server and of the load, which choose a protocol.
pub(super) fn over(settings: &Settings, server: &str, load: &str) -> Result<Vec<Line>, LabError> {
    let (run_s, stall_ms) = lengths(settings.length);
    let experiment = Experiment::new(
        format!("--truth fifo --service-time 100us{server}"),
        format!("-R {RATE_PER_S} -c 20 -t 1 -d {run_s}s{load}"),
    );
    settled(|| {
        let evidence = experiment.make(settings, |url| {
            thread::sleep(Duration::from_secs_f64(run_s / 4.0));
            // If the stall does not happen, it is missing from the log.
            let url = format!("{url}__stall?for={stall_ms}ms");
            let _ = http::ask("POST", &url, Duration::from_secs(5));
        })?;
        Ok(judge(&evidence))
    })
}

fn lengths(length: Length) -> (f64, u64) {
    length.pick((6.0, 1500), (2.0, 500))
}

pub(super) fn judge(evidence: &Evidence) -> Vec<Line> {
    let stalls = &evidence.log.stalls_ns;
    let &(from_ns, to_ns) = stalls.first().unwrap_or(&(0, 0));
    let stall = Stall {
        rate_per_s: RATE_PER_S as f64,
        service_s: SERVICE_NS as f64 / 1e9,
        length_s: (to_ns - from_ns) as f64 / 1e9,
        run_s: evidence.record.window_ns as f64 / 1e9,
    };
    let path = FifoPath::new(SERVICE_NS).with_stalls(stalls.iter().copied());
    let departure_ns = || queue(path.clone());
    let responses = evidence.responses_ns();
    // The stall begins between two arrivals, so its quantiles are off by up to one gap; beyond
    // that a millisecond, as for single requests.
    let within = 1e9 / RATE_PER_S as f64 + 1e6;
    let mut lines = evidence.books(Theory::Fifo { service_ns: SERVICE_NS });
    lines.push(Line::exactly("stalls", 1, stalls.len() as u64));
    for (name, q) in [("p90", 0.90), ("p99", 0.99), ("max", 1.0)] {
        let value = stall.response_quantile(q) * 1e9;
        let what = format!("response time {name}");
        let of = |responses: &[f64]| quantile(responses, q);
        let effect = evidence.effect(departure_ns, of);
        lines.push(with_effect(what, Unit::Ns, value, within, effect, of(&responses)));
    }
    let value = stall.response_mean() * 1e9;
    let (within, effect) = (value * 0.01, evidence.effect(departure_ns, mean));
    let measured = mean(&responses);
    lines.push(with_effect("response time mean", Unit::Ns, value, within, effect, measured));
    lines.extend(evidence.single_requests(departure_ns()));
    evidence.told(lines)
}
