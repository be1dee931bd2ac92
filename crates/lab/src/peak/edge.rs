//! The edge: between the highest rate that meets the objectives and the lowest that does not.
//!
//! [`threshold`](candor_stats::threshold) decides which rate is tried and what its runs prove; this module makes the
//! runs. The repetitions that confirm the ends are made in random order, and between them what else the search needs
//! (the ceiling, the curve), so that all of them are spread over the same, longer time.

use candor_report::experiment::peak::Phase;
use candor_stats::threshold::{self, Next};

use super::{Load, Search, SearchEnd};
use crate::compare::order::shuffle;

/// Other loads in a round of repetitions.
const OTHERS: usize = 2;

impl Search<'_> {
    /// Finds the edge near `guess`; takes `others` along, from the end.
    pub(super) fn edge(&mut self, guess: f64, others: &mut Vec<Load>) -> Result<(), SearchEnd> {
        let settings = threshold::Settings {
            guess,
            precision: self.settings.precision,
            most_runs: self.settings.most_runs,
        };
        self.threshold = Some(threshold::Search::new(settings));
        while let Some(search) = &self.threshold {
            match search.next() {
                Next::Done => break,
                Next::Probe(rate_per_s) => self.make(Load::Open(Phase::Search, rate_per_s))?,
                Next::Confirm { low, high } => {
                    let ends = low.into_iter().chain(high);
                    let mut round: Vec<Load> =
                        ends.map(|rate_per_s| Load::Open(Phase::Search, rate_per_s)).collect();
                    round.extend(others.split_off(others.len().saturating_sub(OTHERS)));
                    shuffle(&mut round, &mut self.random);
                    round.into_iter().try_for_each(|load| self.make(load))?;
                }
            }
        }
        Ok(())
    }
}
