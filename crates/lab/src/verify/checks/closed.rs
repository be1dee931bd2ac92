//! A closed loop of N connections on a server that responds after D, with think time Z: N/(D+Z)
//! requests per second, and never more.

use candor_stats::closed_form::closed_loop_rate;

use super::super::Settings;
use super::super::evidence::{Evidence, Theory};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::witness::{Machine, with_effect};
use crate::error::LabError;

const CONNECTIONS: u32 = 20;
pub(super) const SERVICE_NS: u64 = 20_000_000;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2.5", "1");
    let mut lines = Vec::new();
    for think_ms in [0, 20] {
        let experiment = Experiment::new(
            "--truth delay --service-time 20ms",
            format!("-c {CONNECTIONS} -t 1 -d {run_s}s --think-time {think_ms}ms"),
        );
        let once = || Ok(judge(&experiment.make(settings, |_| ())?, think_ms * 1_000_000));
        lines.extend(settled(once)?);
    }
    Ok(Line::join(lines))
}

pub(super) fn judge(evidence: &Evidence, think_ns: u64) -> Vec<Line> {
    let sent = evidence.sent().len() as u64;
    let window_s = evidence.record.window_ns as f64 / 1e9;
    let round_ns = SERVICE_NS + think_ns;
    let rate = closed_loop_rate(CONNECTIONS, SERVICE_NS as f64 / 1e9, think_ns as f64 / 1e9);
    // Every connection sends at the beginning, and again after each completed round.
    let most = u64::from(CONNECTIONS) * (1 + evidence.record.window_ns / round_ns);
    let mut lines = evidence.books(Theory::Delay { service_ns: SERVICE_NS });
    let over = sent.saturating_sub(most);
    lines.push(Line::never("requests beyond N·(1 + T/(D+Z))", over, format!("{sent} of {most}")));
    // 2 %: network and loader make rounds longer, and the last one is cut off.
    let rounds = window_s * 1e9 / round_ns as f64;
    let fewer = (sent_on(evidence, evidence.machine(), think_ns) as f64
        - sent_on(evidence, Machine::default(), think_ns) as f64)
        .abs();
    let (within, effect) = (rate * (0.02 + 1.0 / rounds), fewer / window_s);
    let what = format!("sent per second, think time {} ms", think_ns / 1_000_000);
    lines.push(with_effect(what, Unit::PerS, rate, within, effect, sent as f64 / window_s));
    evidence.told(lines)
}

/// The number of requests that connections send one after the other until the end, given the
/// machine's pauses.
fn sent_on(evidence: &Evidence, machine: Machine<'_>, think_ns: u64) -> u64 {
    let mut sent = 0;
    let mut at_ns = 0;
    while at_ns < evidence.record.window_ns {
        sent += u64::from(CONNECTIONS);
        let departure_ns = machine.arrival_ns(at_ns) + SERVICE_NS;
        at_ns = machine.done_ns(departure_ns) + think_ns;
    }
    sent
}
