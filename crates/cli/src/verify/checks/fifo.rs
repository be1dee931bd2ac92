//! Arrivals at a first-come-first-served server with a fixed service time, every response time by
//! itself: Lindley's recursion over the schedule says what each has to be. There are no statistics
//! in it.
//!
//! A handful of connections: the server always has the next request before it is done with one, so
//! the queue is the same as with any number of them, though a part of it is in the loader.

use candor_stats::closed_form::FifoPath;

use super::super::Settings;
use super::super::bench::Experiment;
use super::super::evidence::{Evidence, Theory, mean};
use super::super::line::{Line, Unit};
use crate::exit::Failure;

/// The way there and back may take so much of a mean, as with a known delay.
const WAY_NS: f64 = 200e3;
/// ρ in per cent.
const LOADS: [u64; 3] = [30, 50, 70];

/// Even arrivals at ρ = 0.5: nobody waits.
pub(super) fn check_constant(settings: &Settings) -> Result<Vec<Line>, Failure> {
    let run_s = settings.length.pick("4", "1.5");
    let experiment = Experiment {
        server: "--truth fifo --service-time 10ms".to_owned(),
        load: format!("-R 50 -c 8 -t 1 -d {run_s}s"),
    };
    Ok(judge(&experiment.make(|_| ())?, 10_000_000, "ρ = 0.5"))
}

/// Poisson arrivals.
pub(super) fn check_poisson(settings: &Settings) -> Result<Vec<Line>, Failure> {
    let loads = settings.length.pick(&LOADS[..], &LOADS[1..2]);
    let service_ns = settings.poisson_service_ns;
    let mut lines = Vec::new();
    for rho in loads {
        let end = match settings.poisson_requests {
            Some(requests) => format!("-n {requests}"),
            None => settings.length.pick("-d 8s", "-d 2.5s").to_owned(),
        };
        // As a count in a million times the service time, so that it is exact.
        let per_ms = rho * 10_000_000_000 / service_ns;
        let experiment = Experiment {
            server: format!("--truth fifo --service-time {service_ns}ns"),
            load: format!("-R {per_ms}/1000s --arrivals poisson -c 8 -t 1 {end}"),
        };
        let name = format!("ρ = 0.{}", rho / 10);
        lines.extend(judge(&experiment.make(|_| ())?, service_ns, &name));
    }
    Ok(Line::join(lines))
}

pub(super) fn judge(evidence: &Evidence, service_ns: u64, name: &str) -> Vec<Line> {
    let mut lines = evidence.books(Theory::Fifo { service_ns });
    let mut path = FifoPath::new(service_ns);
    let value = mean(&evidence.expected_ns(|at_ns| path.departure_ns(at_ns)));
    let what = format!("response time mean, {name}");
    let within = (value * 0.01).max(WAY_NS);
    lines.push(Line::near(what, Unit::Ns, value, within, mean(&evidence.responses_ns())));
    let mut path = FifoPath::new(service_ns);
    let single = evidence.single_requests(|due_ns| path.departure_ns(due_ns));
    lines.extend(single.into_iter().map(|line| line.of(name)));
    lines
}
