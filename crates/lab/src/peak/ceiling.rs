//! The ceiling: the highest throughput of a closed loop, and the fewest connections that reach it.
//!
//! Connections are doubled until more of them bring no gain, then numbers in between are tried. The runs that found
//! the number do not count towards its height, because the highest of many noisy figures overestimates: runs that
//! confirm it are made later, between the others of the search.

use std::collections::{BTreeMap, BTreeSet};

use candor_report::experiment::peak::{Ceiling, Phase, Step};
use candor_stats::stationary::{median, widening};
use candor_stats::{Quantile, order};

use super::{Search, SearchEnd};

/// Doubling the connections must raise throughput by this factor to count as a gain.
const GAIN: f64 = 1.03;
/// The doubling ends after this many steps without a gain.
const PATIENCE: usize = 2;
/// A throughput of this share of the highest counts as equal. The margin is small, because with
/// barely enough connections every pause of the loader leaves the target idle.
const AS_HIGH: f64 = 0.995;
/// The runs that confirm a throughput. Of eight its median is between the lowest and the highest with 99.2 % confidence,
/// see [`order::ranks`], if they are independent; of six with 96.9 %, which leaves too little to what successive runs
/// have in common.
pub(super) const CONFIRMATIONS: u32 = 8;

impl Search<'_> {
    /// The fewest connections with as high a throughput as any, the best other number, and the highest throughput.
    pub(super) fn fewest_connections(&mut self) -> Result<(u32, Option<u32>, f64), SearchEnd> {
        let mut tried = BTreeMap::new();
        if let Some(connections) = self.settings.connections {
            self.try_connections(connections, &mut tried)?;
            return Ok((connections, None, highest(&tried)));
        }
        let most = self.settings.most_connections.max(1);
        let mut connections = 1;
        self.try_connections(connections, &mut tried)?;
        loop {
            let mut in_vain = Vec::new();
            while in_vain.len() < PATIENCE && connections < most {
                connections = connections.saturating_mul(2).min(most);
                match self.brings_gain(connections, &mut tried)? {
                    true => in_vain.clear(),
                    false => in_vain.push(connections),
                }
            }
            // A disturbance outlasts a run, and may have hidden the gain: each is tried once more, later.
            let mut was_hidden = false;
            let again = if self.settings.most_runs > 1 { in_vain } else { Vec::new() };
            for number in again {
                was_hidden |= self.brings_gain(number, &mut tried)?;
            }
            if !was_hidden || connections >= most {
                break;
            }
        }
        // On both sides of the best: the geometric means with its neighbours.
        let middle = fewest_as_high(&tried);
        for factor in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
            let between = ((f64::from(middle) * factor).round() as u32).clamp(1, most);
            if !tried.contains_key(&between) {
                self.try_connections(between, &mut tried)?;
            }
        }
        let fewest = fewest_as_high(&tried);
        let others = tried.iter().filter(|(number, _)| **number != fewest);
        let other = others.max_by(|a, b| a.1.total_cmp(b.1)).map(|(number, _)| *number);
        Ok((fewest, other, highest(&tried)))
    }

    fn brings_gain(
        &mut self,
        connections: u32,
        tried: &mut BTreeMap<u32, f64>,
    ) -> Result<bool, SearchEnd> {
        let before = highest(tried);
        self.try_connections(connections, tried)?;
        Ok(highest(tried) > before * GAIN)
    }

    /// A run with this many connections. The highest of a number's runs counts: what disturbs a closed loop makes
    /// it slower.
    fn try_connections(
        &mut self,
        connections: u32,
        tried: &mut BTreeMap<u32, f64>,
    ) -> Result<(), SearchEnd> {
        let at = self.run_once(Phase::Ceiling, connections, None)?;
        let mut runs = self.steps.iter().flat_map(|step| &step.trials);
        if runs.all(|one| one.figures.nothing_worked()) {
            let why = self.steps[at].trials.last().map(|one| one.figures.failures.clone());
            return Err(SearchEnd::Failed(why.unwrap_or_default()));
        }
        let rates = self.steps[at].counted().into_iter().filter_map(|one| one.figures.rate_per_s);
        tried.insert(connections, rates.fold(0.0, f64::max));
        Ok(())
    }
}

fn highest(tried: &BTreeMap<u32, f64>) -> f64 {
    tried.values().copied().fold(0.0, f64::max)
}

/// The fewest connections with as high a throughput as any.
fn fewest_as_high(tried: &BTreeMap<u32, f64>) -> u32 {
    let top = highest(tried);
    let as_high = tried.iter().find(|(_, rate)| **rate >= top * AS_HIGH);
    as_high.map_or(1, |(connections, _)| *connections)
}

/// The best of the closed loops, where the search ended before a run confirmed it.
pub(super) fn so_far(steps: &[Step]) -> Option<Ceiling> {
    let of = |step: &Step| {
        let rates = step.counted().into_iter().filter_map(|one| one.figures.rate_per_s);
        let rates: Vec<(u32, f64)> = rates.map(|rate| (step.connections, rate)).collect();
        ceiling(&rates, step.connections)
    };
    let closed = steps.iter().filter(|step| step.rate_per_s.is_none());
    let found = closed.filter_map(of).filter(|one| one.rate_per_s > 0.0);
    found.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))
}

/// The ceiling by the runs that confirm it, so far: connections and throughput, in the order in which they were made.
///
/// The throughput of a number of connections is the median of its runs, within the interval of order statistics that
/// assumes nothing about the distribution of the noise. If successive runs resemble each other, it is wider: see
/// [`widening`]. Of several numbers the highest counts. With Mₖ the true medians and [lₖ, hₖ] their intervals, max Mₖ is
/// below max hₖ at least as probably as the highest one is below its own h, and above max lₖ unless an lₖ is wrong.
pub(super) fn ceiling(made: &[(u32, f64)], connections: u32) -> Option<Ceiling> {
    let of = |number: u32| -> Vec<f64> {
        let mut rates: Vec<f64> =
            made.iter().filter(|one| one.0 == number).map(|one| one.1).collect();
        rates.sort_by(f64::total_cmp);
        rates
    };
    let relative: Vec<f64> =
        made.iter().map(|(number, rate)| rate / median(&of(*number))).collect();
    let wider = widening(&relative);
    let numbers: BTreeSet<u32> = made.iter().map(|one| one.0).collect();
    let each = numbers.into_iter().filter_map(|number| {
        let rates = of(number);
        let runs = rates.len() as u64;
        let (low, high) = order::ranks(runs, Quantile::P50, order::CONFIDENCE);
        let middle = median(&rates);
        let end = |rank: u64| {
            let end = *rates.get(rank as usize - 1)?;
            Some(if middle > 0.0 { middle * (end / middle).powf(wider) } else { end })
        };
        Some(Ceiling {
            rate_per_s: middle,
            low_per_s: end(low.unwrap_or(1))?,
            high_per_s: end(high.unwrap_or(runs))?,
            connections,
            runs,
        })
    });
    each.reduce(|a, b| Ceiling {
        rate_per_s: a.rate_per_s.max(b.rate_per_s),
        low_per_s: a.low_per_s.max(b.low_per_s),
        high_per_s: a.high_per_s.max(b.high_per_s),
        connections,
        runs: a.runs.min(b.runs),
    })
}
