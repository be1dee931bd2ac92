//! A sweep: latency at several rates, each several times, in random order.
//!
//! Each round has every rate once, in its own order, so that drift (a warming cache, a hot machine)
//! affects all rates alike. It is pure but for the [`Runner`].

use candor_plan::units::fmt_per_second;
use candor_plan::{Parts, Plan};
use candor_report::Facts;
use candor_report::document::{Tool, rfc3339};
use candor_report::experiment::sweep::{FORMAT, Knee, Row, Sweep};
use candor_report::experiment::trial::{Subject, Trial};
use candor_stats::bootstrap::Random;
use candor_stats::{Quantile, order};

use crate::compare::order::shuffle;
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
        let mut shuffled: Vec<usize> = (0..rows.len()).collect();
        shuffle(&mut shuffled, &mut order);
        let what = |at: usize| format!("{}, round {}", fmt_per_second(rates[at]), round + 1);
        for (position, &at) in (1..).zip(&shuffled) {
            let rate_per_s = rows[at].rate_per_s;
            let run = loads::open(plan, rate_per_s, plan.connections.count, nth)?;
            nth += 1;
            let next: Vec<String> = shuffled[position..].iter().map(|&at| what(at)).collect();
            let later_rounds = settings.rounds.max(1) - round - 1;
            let steps = next.len() as u64 + u64::from(later_rounds) * rates.len() as u64;
            let what = what(at);
            progress.begins(&what, &Ahead { steps: Some(steps), next, most_ns: None });
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
        knee: knee(&rows),
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

/// Latency of this multiple of the latency at rest is beyond the knee.
const CLIMBED: f64 = 2.0;

/// The knee of p99, or of a lower percentile where a run has too few samples for it.
///
/// In each round it lies between the last rate below twice the round's own latency at the lowest rate, and the next.
/// So its median over rounds lies between the order statistics of these ends: with l and u the ranks of
/// [`order::ranks`] for the median, the interval goes from the l-th lower end to the u-th upper end. It takes six
/// rounds, and assumes nothing about the noise, nor about the curve between two rates.
fn knee(rows: &[Row]) -> Option<Knee> {
    let rounds = rows.iter().map(|row| row.trials.len()).min()?;
    let of = |percentile: &str, trial: &Trial| {
        let named = trial.figures.response.named().into_iter();
        named.filter(|(name, _)| *name == percentile).find_map(|(_, ns)| ns)
    };
    let (percentile, latencies) = ["p99", "p90", "p50"].into_iter().find_map(|percentile| {
        let of_round =
            |round: usize| rows.iter().map(move |row| of(percentile, &row.trials[round]));
        let all = (0..rounds).map(|round| of_round(round).collect::<Option<Vec<u64>>>());
        Some((percentile, all.collect::<Option<Vec<_>>>()?))
    })?;
    let (mut rest, mut lows, mut highs) = (Vec::new(), Vec::new(), Vec::new());
    for round in latencies {
        let limit = *round.first()? as f64 * CLIMBED;
        let beyond = round.iter().position(|ns| *ns as f64 >= limit).unwrap_or(rows.len());
        rest.push(round[0]);
        lows.push(rows.get(beyond.checked_sub(1)?)?.rate_per_s);
        highs.push(rows.get(beyond).map_or(f64::INFINITY, |row| row.rate_per_s));
    }
    rest.sort_unstable();
    lows.sort_by(f64::total_cmp);
    highs.sort_by(f64::total_cmp);
    let (low, high) = order::ranks(rounds as u64, Quantile::P50, order::CONFIDENCE);
    let high_per_s = *highs.get(high? as usize - 1)?;
    high_per_s.is_finite().then(|| Knee {
        percentile: percentile.to_owned(),
        at_rest_ns: rest[(rounds - 1) / 2],
        low_per_s: lows[low.map_or(0, |low| low as usize - 1)],
        high_per_s,
        rounds: rounds as u64,
    })
}
