//! A sample of a given size: the requests of lowest rank, for any number of requests in the run.
//!
//! It narrows the rule as it fills, so workers soon hand over few requests that are not kept.

use std::collections::BinaryHeap;

use super::{Rule, TraceCounts, Traced};

/// Keeps the `size` requests of lowest rank.
#[derive(Debug)]
pub struct LowestRanks {
    rule: Rule,
    size: usize,
    /// A heap with the highest rank on top.
    kept: BinaryHeap<Ranked>,
}

#[derive(Debug)]
struct Ranked(u64, Traced);

impl LowestRanks {
    /// A sample of `size` requests, by the ranks of `rule`.
    pub fn new(rule: Rule, size: usize) -> Self {
        LowestRanks { rule, size, kept: BinaryHeap::new() }
    }

    /// Adds requests. Returns the highest rank that can still be chosen.
    pub fn take(&mut self, requests: &[Traced]) -> u64 {
        for one in requests {
            let rank = self.rule.rank(one.index);
            if self.kept.len() < self.size {
                self.kept.push(Ranked(rank, *one));
            } else if let Some(mut highest) = self.kept.peek_mut()
                && rank < highest.0
            {
                *highest = Ranked(rank, *one);
            }
        }
        match self.kept.peek() {
            Some(highest) if self.kept.len() == self.size => highest.0,
            _ => u64::MAX,
        }
    }

    /// The sample in the order in which its requests were done, and the counts of the run, from
    /// those of the requests taken.
    pub fn finish(self, taken: TraceCounts) -> (Vec<Traced>, TraceCounts) {
        let mut all: Vec<Traced> = self.kept.into_iter().map(|Ranked(_, one)| one).collect();
        all.sort_unstable_by_key(|one| (one.done_ns, one.index));
        let traced = all.len() as u64;
        let not_traced = taken.not_traced + taken.traced - traced;
        (all, TraceCounts { traced, not_traced, dropped: taken.dropped })
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Ranked {}
