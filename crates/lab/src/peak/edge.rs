//! The edge: between the highest rate that meets the objectives and the lowest that does not.
//!
//! The search bisects between the two until they are close enough. Each rate is judged with as many
//! runs as necessary; if even these leave the judgement open, the figures decide the direction, and
//! the result says so.

use candor_report::experiment::peak::{Ceiling, Phase};

use super::{Search, SearchEnd};

/// The first rate, as a share of the ceiling.
const FIRST: f64 = 0.7;
/// An open load may reach a little more than a closed one, which waits for each response.
const ABOVE_CEILING: f64 = 1.05;
/// If even that rate is held, it is raised by this factor, a limited number of times.
const FURTHER: f64 = 1.3;
const MOST_FURTHER: u32 = 6;
/// If not even this share of the ceiling meets the objectives, no rate does.
const LOWEST: f64 = 1.0 / 64.0;
/// More steps than any search needs.
const MOST_STEPS: u32 = 40;

impl Search<'_> {
    pub(super) fn edge(&mut self, ceiling: &Ceiling) -> Result<(), SearchEnd> {
        if ceiling.rate_per_s <= 0.0 {
            return Ok(());
        }
        let connections = self.open_connections(ceiling);
        let (mut low, mut high) = (0.0, ceiling.rate_per_s * ABOVE_CEILING);
        let (mut high_was_tried, mut further) = (false, 0);
        let mut next = ceiling.rate_per_s * FIRST;
        for _ in 0..MOST_STEPS {
            let at = self.step(Phase::Search, connections, Some(next), self.settings.most_runs)?;
            if self.steps[at].outcome.is_met() {
                low = next;
            } else {
                high = next;
                high_was_tried = true;
            }
            if low > 0.0 && high - low <= high * self.settings.precision {
                if high_was_tried || further >= MOST_FURTHER {
                    break;
                }
                further += 1;
                high *= FURTHER;
            }
            if high < ceiling.rate_per_s * LOWEST {
                break;
            }
            next = (low + high) / 2.0;
        }
        Ok(())
    }
}
