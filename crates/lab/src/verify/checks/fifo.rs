//! Arrivals at first-come-first-served servers with a fixed service time, every response time by
//! itself: Lindley's recursion over the schedule gives each exactly. No statistics are involved.
//!
//! One queue needs only two connections: the server always has the next request before it finishes
//! one, so the queue is the same with any number of connections, though part of it is in the
//! loader. With several queues side by side, which shorten a long experiment, no request may wait
//! for a connection, since that wait would not come from its own queue.

use std::num::NonZeroU32;

use candor_stats::closed_form::FifoPath;

use super::super::Settings;
use super::super::evidence::{Evidence, Theory, queue};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::values::mean;
use crate::error::LabError;

/// The tolerance of a mean for the network, as with a known delay.
const WAY_NS: f64 = 200e3;
/// ρ in per cent.
const LOADS: [u64; 3] = [30, 50, 70];

/// Even arrivals at ρ = 0.5: no request waits.
pub(super) fn check_constant(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("4", "1.5");
    let experiment =
        Experiment::new("--truth fifo --service-time 10ms", format!("-R 50 -c 8 -t 1 -d {run_s}s"));
    settled(|| Ok(judge(&experiment.make(settings, |_| ())?, 10_000_000, "ρ = 0.5")))
}

/// Poisson arrivals.
pub(super) fn check_poisson(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let loads = settings.length.pick(&LOADS[..], &LOADS[1..2]);
    let service_ns = settings.poisson_service_ns;
    let queues = settings.poisson_queues;
    let mut lines = Vec::new();
    for rho in loads {
        let end = match settings.poisson_requests {
            Some(requests) => format!("-n {requests}"),
            None => settings.length.pick("-d 8s", "-d 2.5s").to_owned(),
        };
        // As a count in a million service times, so that it is exact.
        let per_ms = rho * u64::from(queues.get()) * 10_000_000_000 / service_ns;
        let connections = connections(queues);
        let load = format!("-R {per_ms}/1000s --arrivals poisson -c {connections} -t 1 {end}");
        let server = format!("--truth fifo --service-time {service_ns}ns");
        let experiment = Experiment::new(server, load).with_queues(queues);
        let name = format!("ρ = 0.{}", rho / 10);
        let once = || Ok(judge(&experiment.make(settings, |_| ())?, service_ns, &name));
        lines.extend(settled(once)?);
    }
    Ok(Line::join(lines))
}

/// With one queue, part of it must be in the loader, to detect a loader that omits the wait there.
/// At ρ = 0.7 a queue has 1.5 requests on average, and more than 16 once in 100,000 times.
fn connections(queues: NonZeroU32) -> u32 {
    match queues.get() {
        1 => 2,
        several => 16 * several,
    }
}

pub(super) fn judge(evidence: &Evidence, service_ns: u64, name: &str) -> Vec<Line> {
    let mut lines = evidence.books(Theory::Fifo { service_ns });
    let expected = evidence.untouched(evidence.expected_ns(departures(evidence, service_ns)));
    let measured = evidence.untouched(evidence.responses_ns());
    let value = mean(expected.values());
    let what = format!("response time mean, {name}");
    let within = (value * 0.01).max(WAY_NS);
    let line = Line::near(what, Unit::Ns, value, within, mean(measured.values()));
    lines.push(measured.line(line));
    let single = evidence.single_requests(departures(evidence, service_ns));
    lines.extend(single.into_iter().map(|line| line.of(name)));
    if evidence.queues() > 1 {
        let waited = evidence.sent().iter().filter(|one| one.ready_ns > one.due_ns).count();
        let what = format!("requests that waited for a connection, {name}");
        lines.push(Line::at_most(what, Unit::Count, 0.0, waited as f64));
    }
    evidence.told(lines)
}

/// The departure of each request of the schedule, one after the other, each from its own queue.
fn departures(evidence: &Evidence, service_ns: u64) -> impl FnMut(u64, u64) -> u64 {
    let new = || queue(FifoPath::new(service_ns));
    let mut paths: Vec<_> = std::iter::repeat_with(new).take(evidence.queues()).collect();
    let mut queues = evidence.requests();
    move |expected_ns, actual_ns| paths[queues.next().unwrap_or(0)](expected_ns, actual_ns)
}
