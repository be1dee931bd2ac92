//! How evenly a worker got responses: its responses in each tenth of a second, as samples.
//!
//! wrk's line "Req/Sec" is the spread of these. The recorder closes a slot when it checks for the
//! end of an interval anyway, so recording a request costs nothing more: the responses of a slot
//! are a difference of the ledger. Slots begin with the measured window; a slot that its end cuts
//! short is not a sample. Memory is fixed: exact sums, and counts by value to three digits, for the
//! share within a distance of the mean.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Length of a slot.
pub const SLOT_NS: u64 = 100_000_000;

/// Slots in a second.
const SLOTS_PER_S: f64 = 1e9 / SLOT_NS as f64;

/// The most responses of a slot that are counted exactly: 100 million a second.
const MOST: u64 = 10_000_000;

/// Responses of single workers in slots of [`SLOT_NS`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct RateSamples {
    by_answers: Hdr<u32>,
    sum: u64,
    sum_of_squares: u128,
    most: u64,
}

/// The serialised form of samples: each count that occurred, and how often.
#[derive(Serialize, Deserialize)]
struct Listed {
    by_answers: Vec<(u64, u32)>,
    sum: u64,
    sum_of_squares: u128,
    most: u64,
}

impl From<RateSamples> for Listed {
    fn from(samples: RateSamples) -> Self {
        let RateSamples { by_answers, sum, sum_of_squares, most } = samples;
        let steps = by_answers.iter_recorded();
        let by_answers =
            steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        Listed { by_answers, sum, sum_of_squares, most }
    }
}

impl From<Listed> for RateSamples {
    fn from(listed: Listed) -> Self {
        let mut samples = RateSamples::default();
        for (answers, count) in listed.by_answers {
            samples.by_answers.saturating_record_n(answers, count);
        }
        let Listed { sum, sum_of_squares, most, .. } = listed;
        RateSamples { sum, sum_of_squares, most, ..samples }
    }
}

impl Default for RateSamples {
    fn default() -> Self {
        let by_answers =
            Hdr::new_with_bounds(1, MOST, 3).expect("bounds are constant and valid for 3 digits");
        RateSamples { by_answers, sum: 0, sum_of_squares: 0, most: 0 }
    }
}

impl RateSamples {
    /// Counts one slot.
    pub fn record(&mut self, answers: u64) {
        self.by_answers.saturating_record(answers);
        self.sum += answers;
        self.sum_of_squares += u128::from(answers) * u128::from(answers);
        self.most = self.most.max(answers);
    }

    /// The number of slots.
    pub fn count(&self) -> u64 {
        self.by_answers.len()
    }

    /// Each rate per second that occurred, ascending, to three digits, with how often.
    pub fn steps(&self) -> impl Iterator<Item = (f64, u64)> {
        let most = self.most;
        self.by_answers.iter_recorded().map(move |step| {
            let answers = step.value_iterated_to().min(most);
            (SLOTS_PER_S * answers as f64, u64::from(step.count_at_value()))
        })
    }

    /// Mean rate of a worker, exactly; `None` without slots.
    pub fn mean_per_s(&self) -> Option<f64> {
        (self.count() > 0).then(|| SLOTS_PER_S * self.sum as f64 / self.count() as f64)
    }

    /// The highest rate of a worker in a slot, exactly; `None` without slots.
    pub fn max_per_s(&self) -> Option<f64> {
        (self.count() > 0).then_some(SLOTS_PER_S * self.most as f64)
    }

    /// Sample standard deviation, exactly: √(Σ(x−m)² / (n−1)), with Σ(x−m)² = Σx² − (Σx)²/n.
    /// `None` without slots, 0 with one.
    pub fn stdev_per_s(&self) -> Option<f64> {
        let n = self.count();
        if n < 2 {
            return (n > 0).then_some(0.0);
        }
        // In integers, n·Σx² − (Σx)² is exact and cannot cancel.
        let sum = u128::from(self.sum);
        let n_squares = u128::from(n).saturating_mul(self.sum_of_squares);
        let spread = n_squares.saturating_sub(sum.saturating_mul(sum)) as f64;
        Some(SLOTS_PER_S * (spread / n as f64 / (n - 1) as f64).sqrt())
    }

    /// Share of slots within one standard deviation of the mean, in [0, 1], to three digits of
    /// the rate; `None` without slots.
    pub fn within_stdev(&self) -> Option<f64> {
        let (mean, stdev) = (self.mean_per_s()?, self.stdev_per_s()?);
        let (low, high) = ((mean - stdev) / SLOTS_PER_S, (mean + stdev) / SLOTS_PER_S);
        let within = self.by_answers.iter_recorded().filter(|step| {
            let highest = step.value_iterated_to();
            let lowest = self.by_answers.lowest_equivalent(highest);
            low <= highest as f64 && lowest as f64 <= high
        });
        let inside: u64 = within.map(|step| u64::from(step.count_at_value())).sum();
        Some(inside as f64 / self.count() as f64)
    }
}

impl Figure for RateSamples {
    fn new(_: u8) -> Self {
        RateSamples::default()
    }

    fn clear(&mut self) {
        if self.count() > 0 {
            self.by_answers.reset();
        }
        (self.sum, self.sum_of_squares, self.most) = (0, 0, 0);
    }

    fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.by_answers.add(&other.by_answers).expect("all samples share their bounds");
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.most = self.most.max(other.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, Recorder, RecorderSettings, Sample};

    fn samples(answers: &[u64]) -> RateSamples {
        let mut samples = RateSamples::default();
        answers.iter().for_each(|&one| samples.record(one));
        samples
    }

    #[test]
    fn the_spread_of_known_samples() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squared distances 32, six within 5 ± 2.14.
        let known = samples(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(known.mean_per_s(), Some(50.0));
        assert_eq!(known.max_per_s(), Some(90.0));
        assert!((known.stdev_per_s().unwrap() - 10.0 * (32.0f64 / 7.0).sqrt()).abs() < 1e-9);
        assert_eq!(known.within_stdev(), Some(0.75));
        let steps = [(20.0, 1), (40.0, 3), (50.0, 2), (70.0, 1), (90.0, 1)];
        assert!(known.steps().eq(steps));
        let mut merged = samples(&[2, 4, 4]);
        merged.merge(&samples(&[4, 5, 5, 7, 9]));
        assert_eq!(merged.stdev_per_s(), known.stdev_per_s());
        merged.clear();
        assert_eq!((merged.mean_per_s(), merged.within_stdev()), (None, None));
        let one = samples(&[3]);
        assert_eq!((one.stdev_per_s(), one.within_stdev()), (Some(0.0), Some(1.0)));
    }

    /// Responses at these times, recorded in intervals of `interval_ns`.
    fn recorded(done_ns: &[u64], interval_ns: u64, warm_up_ns: u64, end_ns: u64) -> RateSamples {
        let window_end_ns = Some(end_ns);
        let settings = RecorderSettings {
            digits: 3,
            interval_ns,
            warm_up_ns,
            window_end_ns,
            drain_ns: u64::MAX,
            requests: 1,
            journeys: 0,
        };
        let mut recorder = Recorder::new(settings);
        for &done_ns in done_ns {
            let phase = if done_ns < warm_up_ns { Phase::WarmUp } else { Phase::Measured };
            recorder.sent(done_ns, phase, 0);
            recorder.ok(&Sample::done_at(done_ns, done_ns, phase));
        }
        recorder.finish(end_ns + SLOT_NS, 0);
        let mut all = RateSamples::default();
        while let Some(interval) = recorder.take_finished() {
            all.merge(&interval.rates);
        }
        all
    }

    #[test]
    fn slots_keep_their_beat_whatever_the_intervals_are() {
        const MS: u64 = 1_000_000;
        // 0.5 s of warm-up, then slots of 3, 0, 1 and 2 responses, half a slot, and the drain.
        let done_ms = [100, 499, 500, 550, 599, 700, 850, 899, 920, 960];
        let done_ns = done_ms.map(|ms| ms * MS);
        for interval_ms in [1, 7, 70, 100, 150, 250, 1000, 3_600_000] {
            let all = recorded(&done_ns, interval_ms * MS, 500 * MS, 950 * MS);
            assert_eq!(all.count(), 4, "{interval_ms}");
            assert_eq!((all.sum, all.sum_of_squares, all.most), (6, 14, 3), "{interval_ms}");
        }
    }
}
