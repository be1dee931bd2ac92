//! Poisson arrivals, c = 5 places, no queue: the share that finds none is Erlang's B. In one run
//! the places are the loader's connections, and it sheds; in the other they are the server's, and
//! it refuses.

use std::collections::VecDeque;

use candor_record::ErrorKind;
use candor_record::trace::{Outcome, Traced};
use candor_serve::truth::Fate;
use candor_stats::closed_form::{LossPath, erlang_b};

use super::super::Settings;
use super::super::evidence::{Evidence, Theory, schedule};
use super::super::experiment::Experiment;
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use super::super::witness::{Machine, with_effect};
use crate::error::LabError;

const PLACES: usize = 5;
pub(super) const SERVICE_NS: u64 = 12_500_000;
const RATE_PER_S: u64 = 400;
/// The number of simulated schedules for the spread of the share.
const SIMULATED: u64 = 200;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("5", "1");
    let load = format!("-R {RATE_PER_S} --arrivals poisson -t 1 -d {run_s}s");
    let shed = Experiment::new(
        "--truth delay --service-time 12.5ms",
        format!("{load} -c {PLACES} --shed-after 0"),
    );
    let mut lines = settled(|| Ok(judge_shed(&shed.make(settings, |_| ())?)))?;
    let refused = Experiment::new(
        format!("--truth capped --places {PLACES} --service-time 12.5ms"),
        format!("{load} -c 50"),
    );
    lines.extend(settled(|| Ok(judge_refused(&refused.make(settings, |_| ())?)))?);
    Ok(Line::join(lines))
}

pub(super) fn judge_shed(evidence: &Evidence) -> Vec<Line> {
    let ledger = &evidence.record.total.ledger;
    let mut lines = evidence.books(Theory::Delay { service_ns: SERVICE_NS });
    let wrong = wrongly_decided(&evidence.traced);
    let detail = "not sent with a free place, or sent without one".to_owned();
    lines.push(Line::never("wrong decisions to shed", wrong, detail));
    let share = ledger.shed as f64 / ledger.scheduled as f64;
    lines.extend(shares(evidence, "share shed by the loader", share, lost_at_the_loader));
    evidence.told(lines)
}

pub(super) fn judge_refused(evidence: &Evidence) -> Vec<Line> {
    let ledger = &evidence.record.total.ledger;
    let refused = evidence.log.entries.iter().filter(|entry| entry.fate == Fate::Refused);
    let mut lines = evidence.books(Theory::Capped { service_ns: SERVICE_NS, places: PLACES });
    let counted = ledger.error(ErrorKind::Status);
    lines.push(Line::exactly("refusals in both logs", refused.count() as u64, counted));
    let share = counted as f64 / ledger.sent as f64;
    lines.extend(shares(evidence, "share refused by the server", share, lost_at_the_server));
    evidence.told(lines)
}

/// Requests that were sent although every connection was busy when they were due, or not sent
/// although one was free. A connection is busy from the due time of a request that leaves at once
/// to the end of its response.
///
/// A loader that is stalled when the run ends has no time to drop the requests that fell due
/// meanwhile: they stay unsent. That is right only at the end of the schedule; an unsent request
/// before is wrong.
fn wrongly_decided(traced: &[Traced]) -> u64 {
    let mut all: Vec<&Traced> = traced.iter().collect();
    all.sort_by_key(|one| (one.due_ns, !one.was_sent()));
    let is_left = |one: &&Traced| one.outcome == Outcome::Unsent;
    let decided = all.iter().rposition(|one| !is_left(one)).map_or(0, |last| last + 1);
    let mut taken_until_ns: Vec<u64> = Vec::new();
    let mut wrong = 0;
    for (rank, one) in all.iter().enumerate() {
        taken_until_ns.retain(|&done_ns| done_ns > one.due_ns);
        let has_place = taken_until_ns.len() < PLACES;
        if one.was_sent() {
            taken_until_ns.push(one.done_ns);
        }
        let is_passed_over = is_left(one) && rank < decided;
        wrong += u64::from(has_place != one.was_sent() || is_passed_over);
    }
    wrong
}

/// The share against theory, and against the sample path of this schedule. `lost` computes how many
/// requests with these due times find no place.
fn shares(
    evidence: &Evidence,
    what: &str,
    share: f64,
    lost: fn(&[u64], Machine<'_>) -> u64,
) -> Vec<Line> {
    let share_on = |due_ns: &[u64], machine| lost(due_ns, machine) as f64 / due_ns.len() as f64;
    let offered = RATE_PER_S as f64 * SERVICE_NS as f64 / 1e9;
    let theory = erlang_b(offered, PLACES as u32);
    // The chance deviation of one run of this length from theory: the spread of simulated ones.
    let others = (1..=SIMULATED).map(|n| {
        let due = schedule(&evidence.plan, evidence.plan.seed + n);
        due.map(|due| due.due_ns).collect::<Vec<_>>()
    });
    let off = others.map(|due_ns| (share_on(&due_ns, Machine::default()) - theory).powi(2));
    let chance = 4.0 * (off.sum::<f64>() / SIMULATED as f64).sqrt();
    // The path includes the machine's pauses, so it may differ from theory by their effect in
    // addition to chance.
    let own = share_on(&evidence.schedule(), evidence.machine());
    let undisturbed = share_on(&evidence.schedule(), Machine::default());
    let (within, effect) = (chance + 0.01, (own - undisturbed).abs());
    let what_of = |path: &str| format!("{what}, {path}");
    vec![
        with_effect(what_of("Erlang B"), Unit::Share, theory, within, effect, share),
        Line::near(what_of("its own path"), Unit::Share, own, 0.02, share),
    ]
}

/// The places are the loader's: one is taken from the due time until the response is read.
fn lost_at_the_loader(due_ns: &[u64], machine: Machine<'_>) -> u64 {
    let mut taken_until_ns = VecDeque::with_capacity(PLACES);
    let mut lost = 0;
    for &due_ns in due_ns {
        while taken_until_ns.front().is_some_and(|&done_ns| done_ns <= due_ns) {
            taken_until_ns.pop_front();
        }
        if taken_until_ns.len() < PLACES {
            let departure_ns = machine.arrival_ns(due_ns) + SERVICE_NS;
            taken_until_ns.push_back(machine.done_ns(departure_ns));
        } else {
            lost += 1;
        }
    }
    lost
}

/// The places are the server's: one is taken from the arrival until the response is due.
fn lost_at_the_server(due_ns: &[u64], machine: Machine<'_>) -> u64 {
    let mut path = LossPath::new(SERVICE_NS, PLACES);
    let arrivals_ns = due_ns.iter().map(|&due_ns| machine.arrival_ns(due_ns));
    arrivals_ns.filter(|&at_ns| path.departure_ns(at_ns).is_none()).count() as u64
}
