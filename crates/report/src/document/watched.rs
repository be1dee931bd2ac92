//! Figures that the server had of itself while it was measured, one for each interval of the run.

use serde::{Deserialize, Serialize};

/// A figure that was asked for at the end of each interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watched {
    /// Where it was asked for, redacted.
    pub source: String,
    /// The query.
    pub query: String,
    /// Whether it is a counter by its source, so that it only grows.
    pub is_counter: bool,
    /// Its values, by time.
    pub samples: Vec<WatchedSample>,
    /// Intervals without a value.
    pub missing: u64,
    /// The last reason for that.
    pub why: Option<String>,
}

/// A value of a figure that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchedSample {
    /// The end of the interval after which it was asked for, since the beginning of the run.
    pub end_ns: u64,
    /// The value: the sum of all series that match.
    pub value: f64,
}

impl Watched {
    /// Its course: the value at the end of each interval, or, of a counter, its growth per second since the sample
    /// before; the time is in seconds since the beginning of the run. Nothing where a counter began anew.
    pub fn course(&self) -> Vec<(f64, Option<f64>)> {
        let at_s = |sample: &WatchedSample| sample.end_ns as f64 / 1e9;
        if !self.is_counter {
            return self.samples.iter().map(|one| (at_s(one), Some(one.value))).collect();
        }
        let growth = |pair: &[WatchedSample]| {
            let (length_s, more) = (at_s(&pair[1]) - at_s(&pair[0]), pair[1].value - pair[0].value);
            (at_s(&pair[1]), (length_s > 0.0 && more >= 0.0).then(|| more / length_s))
        };
        self.samples.windows(2).map(growth).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_its_growth_per_second() {
        let sample = |end_s: u64, value| WatchedSample { end_ns: end_s * 1_000_000_000, value };
        let samples = vec![sample(1, 10.0), sample(2, 30.0), sample(4, 40.0), sample(5, 3.0)];
        let mut watched = Watched { samples, ..Watched::default() };
        assert_eq!(watched.course()[3], (5.0, Some(3.0)));
        watched.is_counter = true;
        assert_eq!(watched.course(), [(2.0, Some(20.0)), (4.0, Some(5.0)), (5.0, None)]);
    }
}
