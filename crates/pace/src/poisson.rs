//! A Poisson process of rate one, cut into lanes that any number of workers can share.
//!
//! The sum of independent Poisson processes is a Poisson process with the sum of their rates
//! (superposition). So the process is made of 1024 lanes of rate 1/1024, each with a generator of
//! its own, and worker w of W merges the lanes ≡ w modulo W. The assignment of lanes to workers
//! changes nothing in any lane, so the union is the same schedule for every W, to the bit.
//!
//! A lane's position is a sum of gaps in fixed point, exact. Gaps are multiples of 2²² in the
//! last place and lane number l begins at l, so a position's low ten bits name its lane, and no
//! two arrivals of the union share a position. The shape turns positions into due times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::fixed::{self, Position};
use crate::random::Xoshiro;

/// The number of streams of the process, and so the most workers that can share it.
pub const LANES: u64 = 1024;

/// One stream.
#[derive(Debug, Clone)]
struct Lane {
    generator: Xoshiro,
    /// Arrivals so far.
    count: u64,
}

impl Lane {
    fn new(seed: u64, lane: u64) -> Self {
        Lane { generator: Xoshiro::new(seed, lane), count: 0 }
    }

    /// The next gap: LANES times an exponential variate, from 2⁻⁴² to 2¹⁶ arrivals.
    #[inline]
    fn gap(&mut self) -> Position {
        // E in units of 2⁻⁵², times 2¹⁰ lanes, in units of 2⁻⁶⁴: a shift by 64 + 10 − 52.
        const SHIFT: u32 = 64 + LANES.trailing_zeros() - 52;
        let units = (self.generator.exponential() * (1u64 << 52) as f64) as u64;
        u128::from(units.max(1)) << SHIFT
    }
}

/// A worker's lanes, merged.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    workers: u64,
    /// The next position of every lane that has not ended.
    heads: BinaryHeap<Reverse<Position>>,
    /// No position reaches this one.
    end: Position,
}

impl Lanes {
    /// The share of worker `worker` of `workers` in the process of `seed` up to `end`.
    pub(crate) fn new(seed: u64, worker: u32, workers: u32, end: Position) -> Self {
        let workers = u64::from(workers.max(1));
        let mine = (u64::from(worker)..LANES).step_by(workers as usize);
        let mut lanes: Vec<Lane> = mine.clone().map(|lane| Lane::new(seed, lane)).collect();
        let heads = mine
            .zip(&mut lanes)
            .map(|(number, lane)| u128::from(number) + lane.gap())
            .filter(|&head| head < end)
            .map(Reverse)
            .collect();
        Lanes { lanes, workers, heads, end }
    }

    /// The next arrival's index in the run and its position.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, Position)> {
        let mut head = self.heads.peek_mut()?;
        let position = head.0;
        let number = position as u64 % LANES;
        let lane = &mut self.lanes[(number / self.workers) as usize];
        let index = lane.count.wrapping_mul(LANES) + number;
        lane.count += 1;
        head.0 = position.saturating_add(lane.gap());
        if head.0 >= self.end {
            PeekMut::pop(head);
        }
        Some((index, position))
    }
}

/// The position just above arrival number `count`, counted from 1, among those in `from..end`;
/// `end` if there are fewer.
///
/// Each worker finds the same cut by itself. The position of an arrival is only known after drawing
/// the gaps before it, so this takes time in proportion to `count` (about 10 ns each, once). Only
/// the arrivals within eight standard deviations, √count, of the expected cut are merged and kept.
pub(crate) fn cut(seed: u64, from: Position, end: Position, count: u64) -> Position {
    if count == 0 {
        return from.min(end);
    }
    let mut spread = 8 * (count.isqrt() + 8);
    loop {
        let low = from.saturating_add(fixed::whole(count.saturating_sub(spread))).min(end);
        let high = from.saturating_add(fixed::whole(count.saturating_add(spread))).min(end);
        let (below, mut within) = survey(seed, from, low, high);
        if below < count {
            let rank = count - below;
            if rank <= within.len() as u64 {
                return *within.select_nth_unstable(rank as usize - 1).1 + 1;
            }
            if high == end {
                return end;
            }
        }
        spread = spread.saturating_mul(4);
    }
}

/// How many arrivals of each lane lie before `end`.
pub(crate) fn counts(seed: u64, end: Position) -> impl Iterator<Item = u64> {
    (0..LANES).map(move |number| {
        let mut lane = Lane::new(seed, number);
        let mut position = u128::from(number) + lane.gap();
        let mut count = 0;
        while position < end {
            count += 1;
            position = position.saturating_add(lane.gap());
        }
        count
    })
}

/// How many arrivals lie in `from..low`, and which in `low..high`.
fn survey(seed: u64, from: Position, low: Position, high: Position) -> (u64, Vec<Position>) {
    let (mut below, mut within) = (0, Vec::new());
    for number in 0..LANES {
        let mut lane = Lane::new(seed, number);
        let mut position = u128::from(number) + lane.gap();
        while position < high {
            if position >= low {
                within.push(position);
            } else if position >= from {
                below += 1;
            }
            position = position.saturating_add(lane.gap());
        }
    }
    (below, within)
}
