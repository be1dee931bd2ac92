//! The ceiling: the highest throughput of a closed loop, and the fewest connections that reach it.
//!
//! Connections are doubled until more of them bring no gain, then numbers in between are tried,
//! then the best is run again. The highest of many noisy figures overestimates, so the runs that
//! found it do not count towards its height.

use candor_report::experiment::peak::{Ceiling, Phase};

use super::{Search, SearchEnd};

/// Doubling the connections must raise throughput by this factor to count as a gain.
const GAIN: f64 = 1.03;
/// The doubling ends after this many steps without a gain.
const PATIENCE: u32 = 2;
/// A throughput of this share of the highest counts as equal. The margin is small, because with
/// barely enough connections every pause of the loader leaves the target idle.
const AS_HIGH: f64 = 0.995;

impl Search<'_> {
    pub(super) fn ceiling(&mut self) -> Result<Ceiling, SearchEnd> {
        let connections = match self.settings.connections {
            Some(connections) => connections,
            None => self.fewest_connections()?,
        };
        let mut rates = Vec::new();
        for _ in 0..self.settings.confirmations.max(2) {
            rates.push(self.throughput(Phase::Confirm, connections)?);
        }
        let (mean, off) = mean_and_interval(&rates);
        Ok(Ceiling {
            rate_per_s: mean,
            low_per_s: (mean - off).max(0.0),
            high_per_s: mean + off,
            connections,
        })
    }

    fn fewest_connections(&mut self) -> Result<u32, SearchEnd> {
        let most = self.settings.most_connections.max(1);
        let mut tried: Vec<(u32, f64)> = Vec::new();
        let (mut connections, mut best, mut in_vain) = (1u32, 0.0, 0);
        loop {
            let rate = self.throughput(Phase::Ceiling, connections)?;
            tried.push((connections, rate));
            in_vain = if rate > best * GAIN { 0 } else { in_vain + 1 };
            best = rate.max(best);
            if in_vain >= PATIENCE || connections >= most {
                break;
            }
            connections = connections.saturating_mul(2).min(most);
        }
        // On both sides of the best: the geometric means with its neighbours.
        let middle = fewest_as_high(&tried);
        for factor in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
            let between = ((f64::from(middle) * factor).round() as u32).clamp(1, most);
            if tried.iter().all(|(known, _)| *known != between) {
                let rate = self.throughput(Phase::Ceiling, between)?;
                tried.push((between, rate));
            }
        }
        Ok(fewest_as_high(&tried))
    }

    /// Correct responses per second with `connections` connections.
    fn throughput(&mut self, phase: Phase, connections: u32) -> Result<f64, SearchEnd> {
        let at = self.step(phase, connections, None, 1)?;
        let trial = self.steps[at].representative();
        Ok(trial.and_then(|trial| trial.figures.rate_per_s).unwrap_or(0.0))
    }
}

/// The fewest connections with as high a throughput as any.
fn fewest_as_high(tried: &[(u32, f64)]) -> u32 {
    let top = tried.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let as_high = tried.iter().filter(|(_, rate)| *rate >= top * AS_HIGH);
    as_high.map(|(connections, _)| *connections).min().unwrap_or(1)
}

/// Student's t for 95 %, two-sided, by degrees of freedom from 1.
const T: [f64; 9] = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// The mean x̄, and t·s/√n, with s the standard deviation of the n figures.
fn mean_and_interval(figures: &[f64]) -> (f64, f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let freedom = figures.len() - 1;
    if freedom == 0 {
        return (mean, f64::INFINITY);
    }
    let variance = figures.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / freedom as f64;
    let t = T.get(freedom - 1).copied().unwrap_or(2.0);
    (mean, t * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::mean_and_interval;

    /// scipy.stats.t.interval(0.95, 2, loc=101, scale=scipy.stats.sem([100, 101, 102])).
    #[test]
    fn an_interval_of_three() {
        let (mean, off) = mean_and_interval(&[100.0, 101.0, 102.0]);
        assert_eq!(mean, 101.0);
        assert!((off - 2.484).abs() < 0.001, "{off}");
    }
}
