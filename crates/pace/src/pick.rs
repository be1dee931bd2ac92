//! Which request of the plan an arrival sends.
//!
//! A pure function of seed and index, so that it is the same for any number of workers and needs
//! no state. In rotation the *index* decides: even arrivals take the list in due order; Poisson
//! arrivals, whose indices are not in order, take each request equally often but not in turn.

use std::sync::Arc;

use candor_plan::{Order, Requests, Work};

use crate::random::{below, split_mix};

/// Keeps the choice of requests independent of the gaps, which use the same seed.
const STREAM: u64 = 0x7069_636b; // "pick"

/// Chooses requests by index.
#[derive(Debug, Clone)]
pub struct Picker {
    seed: u64,
    requests: u64,
    /// Under weights: for each request the sum of the weights up to and including it.
    sums: Vec<u64>,
    /// The request of each index; empty: not given.
    sequence: Arc<[u32]>,
}

impl Picker {
    /// A picker for journeys, by their weights; at least one.
    pub fn of_weights(weights: impl ExactSizeIterator<Item = u32>, seed: u64) -> Self {
        let requests = weights.len() as u64;
        let sums = weights.scan(0u64, |sum, weight| {
            *sum += u64::from(weight);
            Some(*sum)
        });
        Picker {
            seed: split_mix(seed, STREAM),
            requests,
            sums: sums.collect(),
            sequence: [].into(),
        }
    }

    /// A picker for what a plan sends: its requests, or its journeys.
    pub fn new(work: &Work, seed: u64) -> Self {
        match work {
            Work::Requests(requests) => Picker::of_list(requests, seed),
            Work::Script { .. } => Picker::in_turn_of(1, seed),
            Work::Journeys(journeys) if journeys.order == Some(Order::Rotation) => {
                Picker::in_turn_of(journeys.list.len(), seed)
            }
            Work::Journeys(journeys) => {
                Picker::of_weights(journeys.list.iter().map(|one| one.weight), seed)
            }
        }
    }

    fn in_turn_of(requests: usize, seed: u64) -> Self {
        Picker {
            seed: split_mix(seed, STREAM),
            requests: requests as u64,
            sums: Vec::new(),
            sequence: [].into(),
        }
    }

    /// A picker for a list of at least one request.
    pub fn of_list(requests: &Requests, seed: u64) -> Self {
        let weighted = requests.order == Order::Weighted && requests.list.len() > 1;
        let sums = requests.list.iter().scan(0u64, |sum, request| {
            *sum += u64::from(request.weight);
            Some(*sum)
        });
        Picker {
            seed: split_mix(seed, STREAM),
            requests: requests.list.len() as u64,
            sums: if weighted { sums.collect() } else { Vec::new() },
            sequence: requests.sequence.shared(),
        }
    }

    /// The request, by its place in the list, that arrival `index` sends.
    #[inline]
    pub fn pick(&self, index: u64) -> usize {
        let Some(&total) = self.sums.last() else {
            return if self.requests <= 1 { 0 } else { self.in_turn(index) };
        };
        let ticket = below(total.into(), split_mix(self.seed, index));
        self.sums.partition_point(|&sum| sum <= ticket)
    }

    #[inline]
    fn in_turn(&self, index: u64) -> usize {
        match self.sequence.len() as u64 {
            0 => (index % self.requests) as usize,
            length => self.sequence[(index % length) as usize] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_plan::{BodyExpect, Expect, Request, StatusSet};

    fn requests(order: Order, weights: &[u32]) -> Requests {
        let request = |&weight: &u32| Request {
            target: 0,
            name: String::new(),
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            body: Vec::new().into(),
            delivery: candor_plan::Delivery::default(),
            expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
            stream: None,
            weight,
            holes: false,
            literal_body: false,
            call: None,
            reply: None,
            redacted: None,
        };
        Requests { list: weights.iter().map(request).collect(), order, sequence: [].into() }
    }

    #[test]
    fn a_sequence_says_which_and_begins_again() {
        let sequence = [1, 1, 0, 2].into();
        let picker =
            Picker::of_list(&Requests { sequence, ..requests(Order::Rotation, &[1; 3]) }, 1);
        let picked: Vec<usize> = (0..6).map(|index| picker.pick(index)).collect();
        assert_eq!(picked, [1, 1, 0, 2, 1, 1]);
    }

    #[test]
    fn rotation_takes_one_after_the_other() {
        let picker = Picker::of_list(&requests(Order::Rotation, &[9, 1, 1]), 5);
        let picks: Vec<usize> = (0..7).map(|index| picker.pick(index)).collect();
        assert_eq!(picks, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn weights_are_kept() {
        let weights = [1, 4, 0, 95];
        let picker = Picker::of_list(&requests(Order::Weighted, &weights), 5);
        let n = 100_000u32;
        let mut counts = [0f64; 4];
        for index in 0..n {
            counts[picker.pick(u64::from(index))] += 1.0;
        }
        assert_eq!(counts[2], 0.0);
        for (count, weight) in counts.iter().zip(weights) {
            let p = f64::from(weight) / 100.0;
            let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!((count - f64::from(n) * p).abs() <= 4.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn choice_is_a_function_of_seed_and_index() {
        let list = requests(Order::Weighted, &[1, 1]);
        let picks = |seed| -> Vec<usize> {
            let picker = Picker::of_list(&list, seed);
            (0..64).map(|index| picker.pick(index)).collect()
        };
        assert_eq!(picks(1), picks(1));
        assert_ne!(picks(1), picks(2));
    }

    #[test]
    fn a_single_request_is_always_taken() {
        for order in [Order::Rotation, Order::Weighted] {
            let picker = Picker::of_list(&requests(order, &[3]), 0);
            assert!((0..100).all(|index| picker.pick(index * 7) == 0));
        }
    }
}
