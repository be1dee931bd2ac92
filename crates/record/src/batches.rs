//! The run in batches: the course of the latencies over time, coarse and in bounded memory.
//!
//! Samples of one stretch of time resemble each other, so the scatter of batches gives the
//! effective sample size (computed in crate stats). Batches are filled interval by interval as the
//! collector settles them, off the engine threads. When there are too many, neighbours are joined;
//! so memory does not depend on the length of the run.

use serde::{Deserialize, Serialize};

use crate::histogram::Buckets;
use crate::interval::Interval;
use crate::latencies::Latencies;

/// At this number of batches, neighbours are joined.
const MOST: usize = 60;

/// The latencies of one stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Beginning, from the beginning of the run.
    pub start_ns: u64,
    /// due → done.
    pub response: Buckets,
    /// due → ready.
    pub queue_wait: Buckets,
    /// ready → sent.
    pub send_lag: Buckets,
    /// sent → done.
    pub service: Buckets,
    /// sent → first byte.
    pub first_byte: Buckets,
}

impl Batch {
    fn of(start_ns: u64, latencies: &Latencies) -> Self {
        Batch {
            start_ns,
            response: Buckets::of(&latencies.response),
            queue_wait: Buckets::of(&latencies.queue_wait),
            send_lag: Buckets::of(&latencies.send_lag),
            service: Buckets::of(&latencies.service),
            first_byte: Buckets::of(&latencies.first_byte),
        }
    }

    /// Adds the batch that follows.
    pub fn merge(&mut self, later: &Batch) {
        self.response.merge(&later.response);
        self.queue_wait.merge(&later.queue_wait);
        self.send_lag.merge(&later.send_lag);
        self.service.merge(&later.service);
        self.first_byte.merge(&later.first_byte);
    }
}

/// Batches under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    list: Vec<Batch>,
    /// Intervals in a batch, as a power of two.
    doublings: u32,
    /// Intervals in the last batch.
    in_last: u64,
}

impl Batches {
    /// Adds the next interval.
    pub(crate) fn push(&mut self, interval: &Interval) {
        let one = Batch::of(interval.start_ns, &interval.latencies);
        match self.list.last_mut() {
            Some(last) if self.in_last < 1 << self.doublings => {
                last.merge(&one);
                self.in_last += 1;
            }
            _ => {
                if self.list.len() == MOST {
                    self.halve();
                }
                self.list.push(one);
                self.in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        let mut all = std::mem::take(&mut self.list).into_iter();
        while let Some(mut first) = all.next() {
            if let Some(second) = all.next() {
                first.merge(&second);
            }
            self.list.push(first);
        }
        self.doublings += 1;
    }

    pub(crate) fn finish(self) -> Vec<Batch> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    #[test]
    fn batches_are_few_and_hold_every_sample() {
        for intervals in [1u64, 59, 60, 61, 120, 121, 1000] {
            let mut batches = Batches::default();
            let mut whole = Histogram::new(3);
            let mut interval = Interval::new(3, 1, 0);
            for i in 0..intervals {
                interval.clear();
                interval.start_ns = i * 1000;
                for k in 0..5 {
                    let value = (i * 31 + k) * 977 % 100_000;
                    interval.latencies.response.record(value);
                    whole.record(value);
                }
                batches.push(&interval);
            }
            let batches = batches.finish();
            assert!(batches.len() <= MOST, "{intervals}: {}", batches.len());
            assert!(batches.is_sorted_by_key(|batch| batch.start_ns));
            let count: u64 = batches.iter().map(|batch| batch.response.count()).sum();
            assert_eq!(count, intervals * 5);
            for value in [0, 500, 40_000, 200_000] {
                let below: u64 = batches.iter().map(|one| one.response.at_or_below(value)).sum();
                assert_eq!(below, whole.hdr().count_between(0, value), "{intervals} {value}");
            }
        }
    }
}
