//! A sweep: latency at several rates, each several times, in random order.
//!
//! Each round has every rate once, in its own order, so that drift (a warming cache, a hot machine)
//! affects all rates alike. It is pure but for the [`Runner`].

use candor_plan::units::fmt_per_second;
use candor_plan::{Parts, Plan};
use candor_report::Facts;
use candor_report::document::{Tool, rfc3339};
use candor_report::experiment::sweep::{FORMAT, Row, Sweep};
use candor_report::experiment::trial::{Subject, Trial};
use candor_stats::bootstrap::Random;

use crate::error::LabError;
use crate::loads;
use crate::trial::{Ahead, Progress, Runner, in_words, why_no_more};

/// The settings of a sweep.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rates.
    pub rates: Vec<Asked>,
    /// Runs for each, at least 1.
    pub rounds: u32,
    /// The peak that rates are fractions of, and where it comes from.
    pub peak: Option<(f64, String)>,
}

/// A rate to measure at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// Requests per second, above zero.
    pub rate_per_s: f64,
    /// As a share of the peak, if the user gave it so.
    pub fraction: Option<f64>,
}

/// Measures the target of `runner` by `plan` at all rates. If the sweep cannot continue, it returns
/// the runs made so far; it returns an error only without any run.
pub fn run(
    plan: &Plan,
    settings: &Settings,
    about: &Facts,
    runner: &mut dyn Runner,
    progress: &mut dyn Progress,
) -> Result<Sweep, LabError> {
    let mut rows: Vec<Row> = settings.rates.iter().map(empty_row).collect();
    rows.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let rates: Vec<f64> = rows.iter().map(|row| row.rate_per_s).collect();
    let mut order = Random::new(plan.seed);
    let mut first: Option<(Parts, Subject)> = None;
    let mut partial = None;
    let mut nth = 0;
    'rounds: for round in 0..settings.rounds.max(1) {
        let shuffled = shuffled(rows.len(), &mut order);
        let what = |at: usize| format!("{}, round {}", fmt_per_second(rates[at]), round + 1);
        for (position, &at) in (1..).zip(&shuffled) {
            let rate_per_s = rows[at].rate_per_s;
            let run = loads::open(plan, rate_per_s, plan.connections.count, nth)?;
            nth += 1;
            let next: Vec<String> = shuffled[position..].iter().map(|&at| what(at)).collect();
            let later_rounds = settings.rounds.max(1) - round - 1;
            let steps = next.len() as u64 + u64::from(later_rounds) * rates.len() as u64;
            let what = what(at);
            progress.begins(&what, &Ahead { steps: Some(steps), next });
            let document = match (runner.run(0, &run), first.is_some()) {
                (Ok(document), _) => document,
                (Err(error), false) => return Err(error),
                (Err(error), true) => {
                    partial = Some(error.to_string());
                    break 'rounds;
                }
            };
            let name = format!("{nth:03}-open-{rate_per_s:.0}");
            progress.result(&name, &document);
            first.get_or_insert_with(|| (document.plan.clone(), Subject::of(&document)));
            let trial = Trial::of(name, &document);
            progress.done(&what, &in_words(&trial));
            rows[at].trials.push(trial);
            partial = why_no_more(&document);
            if partial.is_some() {
                break 'rounds;
            }
        }
    }
    rows.iter_mut().for_each(Row::settle);
    let (plan_summary, subject) = first.ok_or(LabError::Interrupted)?;
    Ok(Sweep {
        format: FORMAT.to_owned(),
        tool: Tool::of(about),
        arguments: about.typed.shown(plan.secrets),
        started_at: rfc3339(about.started_unix_ms),
        host: about.host.clone(),
        subject,
        plan: plan_summary,
        peak_per_s: settings.peak.as_ref().map(|(rate_per_s, _)| *rate_per_s),
        peak_from: settings.peak.as_ref().map(|(_, from)| from.clone()),
        rounds: settings.rounds,
        seed: plan.seed,
        rows,
        partial,
    })
}

fn empty_row(asked: &Asked) -> Row {
    Row {
        rate_per_s: asked.rate_per_s,
        fraction: asked.fraction,
        trials: Vec::new(),
        representative: None,
        saturated: false,
    }
}

/// 0 to n − 1 in random order (Fisher and Yates).
fn shuffled(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}
