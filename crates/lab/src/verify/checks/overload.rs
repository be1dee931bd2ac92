//! Twice the rate that a first-come-first-served server can do: request n, from 0, waits `D + n(D −
//! 1/R)`, the server is never idle, and the rest of the schedule is unsent.

use candor_stats::closed_form::{FifoPath, dd1_wait};

use super::super::Settings;
use super::super::evidence::{Evidence, Theory, mean};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
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
    Ok(judge(&experiment.make(settings, |_| ())?))
}

pub(super) fn judge(evidence: &Evidence) -> Vec<Line> {
    let departure_ns = || {
        let mut path = FifoPath::new(SERVICE_NS);
        move |arrival_ns| path.departure_ns(arrival_ns)
    };
    let responses = evidence.responses_ns();
    // The machine's pauses, as for the stall.
    let expected = evidence.expected_ns(departure_ns());
    let undisturbed = evidence.undisturbed_ns(departure_ns());
    let machine = |of: &dyn Fn(&[f64]) -> f64| (of(&expected) - of(&undisturbed)).abs();
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
    let unsent = (ledger.scheduled.saturating_sub(sent)) as f64;
    // A response near the end of the run may or may not have freed a place.
    let measured = ledger.unsent as f64;
    lines.push(Line::near("requests that were never sent", Unit::Count, unsent, 1.0, measured));
    let within = last * 0.01 + machine(&the_last);
    let measured = the_last(&responses);
    lines.push(Line::near("response time of the last", Unit::Ns, last, within, measured));
    let within = middle * 0.01 + machine(&mean);
    lines.push(Line::near("response time mean", Unit::Ns, middle, within, mean(&responses)));
    lines.extend(evidence.single_requests(departure_ns()));
    lines
}
