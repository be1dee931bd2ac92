//! The schedule: a worker's due times, one after the other.
//!
//! It combines a shape, which knows when a position is due, with a source of positions: the
//! integers or a Poisson process. Its end is computed in advance, so the hot path compares one
//! number. After construction it allocates nothing.

use std::sync::Arc;

use candor_plan::{Arrivals, OpenLoad};

use crate::fixed::{self, Position};
use crate::poisson::{self, LANES, Lanes};
use crate::shape::Shape;

/// The number of arrivals to pass one by one before counting by arithmetic.
const FEW: u64 = 64;

/// Poisson arrivals that [`Schedule::skip_before`] passes at most: less than half a millisecond.
pub const MOST_DRAWN: u64 = 4096;

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Its number, unique in the run. Even arrivals count 0, 1, 2, … in due order over all workers;
    /// Poisson arrivals are counted in each lane separately and are not in order.
    pub index: u64,
    /// When it is due, from the beginning of the run.
    pub due_ns: u64,
}

/// A worker's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which worker, from 0.
    pub worker: u32,
    /// How many there are, at least 1.
    pub workers: u32,
}

/// Where the schedule ends, besides at the end of its last segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// Nothing is due at this time, from the beginning of the run, or later.
    pub end_ns: Option<u64>,
    /// The number of arrivals, over all workers, due at or after `warm_up_ns`. Those due before
    /// come in addition.
    pub measured_count: Option<u64>,
    /// Where the measured window begins, from the beginning of the run.
    pub warm_up_ns: u64,
}

/// A worker's due times, in order. A clone is a second, independent cursor.
#[derive(Debug, Clone)]
pub struct Schedule {
    shape: Arc<Shape>,
    /// The segment that the last position was in.
    piece: usize,
    source: Source,
    next: Option<Due>,
}

/// Where positions come from.
#[derive(Debug, Clone)]
enum Source {
    /// The integers `next`, `next + step`, … below `end`.
    Even {
        next: u64,
        step: u64,
        end: u64,
    },
    Poisson(Lanes),
}

impl Schedule {
    /// A worker's share of the schedule, which is a function of `load`, `seed` and `limit`.
    ///
    /// Takes almost no time, except for Poisson arrivals with a count: see [`Limit`]'s
    /// `measured_count`, which is found by drawing that many gaps, about a second for 10⁸.
    pub fn new(load: &OpenLoad, seed: u64, share: Share, limit: Limit) -> Schedule {
        let shape = Shape::new(&load.segments);
        let end = end(load, &shape, seed, limit);
        let source = match load.arrivals {
            Arrivals::Constant => Source::Even {
                next: u64::from(share.worker),
                step: u64::from(share.workers.max(1)),
                end: fixed::integers_below(end),
            },
            Arrivals::Poisson => {
                Source::Poisson(Lanes::new(seed, share.worker, share.workers, end))
            }
        };
        let mut schedule = Schedule { shape: Arc::new(shape), piece: 0, source, next: None };
        schedule.next = schedule.advance();
        schedule
    }

    /// The next arrival, without taking it.
    #[inline]
    pub fn peek(&self) -> Option<Due> {
        self.next
    }

    /// Advances to the first arrival due at `t_ns` or later, and returns the number of arrivals
    /// passed.
    ///
    /// Even arrivals are counted by arithmetic, however many there are. Poisson arrivals must be
    /// drawn one by one: at most [`MOST_DRAWN`] in a call, so that the caller can check the clock
    /// and call again.
    pub fn skip_before(&mut self, t_ns: u64) -> u64 {
        let mut passed = 0;
        // Often there are only a few; then taking them is quicker than counting.
        while passed < FEW || matches!(self.source, Source::Poisson(_)) {
            if passed == MOST_DRAWN || self.next.is_none_or(|due| due.due_ns >= t_ns) {
                return passed;
            }
            self.next = self.advance();
            passed += 1;
        }
        let (Some(first), Source::Even { next, step, end }) = (self.next, &mut self.source) else {
            return passed;
        };
        let bound = fixed::integers_below(self.shape.before(t_ns)).min(*end);
        let more = bound.saturating_sub(first.index).div_ceil(*step);
        if more > 0 {
            *next = first.index.saturating_add(more.saturating_mul(*step));
            self.next = self.advance();
        }
        passed + more
    }

    #[inline]
    fn advance(&mut self) -> Option<Due> {
        let (index, position) = self.source.next()?;
        Some(Due { index, due_ns: self.shape.due_ns(position, &mut self.piece) })
    }
}

impl Iterator for Schedule {
    type Item = Due;

    #[inline]
    fn next(&mut self) -> Option<Due> {
        let due = self.next?;
        self.next = self.advance();
        Some(due)
    }
}

impl std::iter::FusedIterator for Schedule {}

/// Where positions end, whichever limit comes first.
fn end(load: &OpenLoad, shape: &Shape, seed: u64, limit: Limit) -> Position {
    let end = limit.end_ns.map_or(shape.end(), |end_ns| shape.before(end_ns));
    let Some(count) = limit.measured_count else { return end };
    let measured = shape.before(limit.warm_up_ns);
    match load.arrivals {
        Arrivals::Constant => {
            let count = fixed::integers_below(measured).saturating_add(count);
            end.min(fixed::whole(count))
        }
        Arrivals::Poisson => poisson::cut(seed, measured, end, count),
    }
}

/// The place of each arrival among all of a schedule, without gaps, over all workers.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// Poisson arrivals are numbered in each lane: those of the lanes before each.
    before: Option<Box<[u64]>>,
    count: u64,
}

impl Ranks {
    /// Those of a schedule that ends, by `limit` or by its load. Poisson arrivals take about 10 ns each.
    pub fn new(load: &OpenLoad, seed: u64, limit: Limit) -> Ranks {
        let end = end(load, &Shape::new(&load.segments), seed, limit);
        match load.arrivals {
            Arrivals::Constant => Ranks { before: None, count: fixed::integers_below(end) },
            Arrivals::Poisson => {
                let mut count = 0;
                let before = poisson::counts(seed, end).map(|own| {
                    count += own;
                    count - own
                });
                Ranks { before: Some(before.collect()), count }
            }
        }
    }

    /// The arrivals.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The place of the arrival with this [`Due::index`], below [`Ranks::count`]. No two have the same.
    #[inline]
    pub fn rank(&self, index: u64) -> u64 {
        match &self.before {
            None => index,
            Some(before) => before[(index % LANES) as usize] + index / LANES,
        }
    }
}

impl Source {
    #[inline]
    fn next(&mut self) -> Option<(u64, Position)> {
        match self {
            Source::Even { next, step, end } => {
                let index = *next;
                *next = next.saturating_add(*step);
                (index < *end).then(|| (index, fixed::whole(index)))
            }
            Source::Poisson(lanes) => lanes.next(),
        }
    }
}
