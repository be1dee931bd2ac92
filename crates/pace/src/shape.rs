//! The shape of a load: segments one after the other as one cumulative count Λ(t), and its
//! inverse.
//!
//! Segments follow one another in time and in position. A segment whose total is not a whole number
//! passes its fraction on: 0.3/s for 5 s are 1.5 arrivals, so arrival 2 comes half an arrival into
//! the next segment. Totals are rounded down to 2⁻⁶⁴ of an arrival, so that an arrival that falls
//! on a boundary belongs to the later segment and is due at its first nanosecond.

use std::sync::Arc;

use candor_plan::{Rate, Segment};

use crate::fixed::{self, Position};
use crate::ramp::Ramp;

/// A load's cumulative count.
#[derive(Debug)]
pub(crate) struct Shape {
    pieces: Vec<Piece>,
}

/// One segment in its place.
#[derive(Debug)]
struct Piece {
    start_ns: u64,
    /// Position at the beginning.
    begin: Position,
    /// Position at the end, above `begin`.
    end: Position,
    curve: Curve,
}

/// How positions turn into times within a segment, both from its beginning.
#[derive(Debug)]
enum Curve {
    /// Λ(t) = t · events / per_ns.
    Hold(Rate),
    Ramp(Ramp),
    /// Λ jumps by `size` at 0, `every_ns`, 2·`every_ns`, …
    Burst {
        size: u64,
        every_ns: u64,
    },
    /// Λ jumps by 1 at each offset.
    Replay(Arc<[u64]>),
}

impl Shape {
    pub(crate) fn new(segments: &[Segment]) -> Self {
        let mut pieces = Vec::with_capacity(segments.len());
        let (mut start_ns, mut begin) = (0u64, 0);
        for segment in segments {
            let (curve, total) = Curve::new(segment);
            let end = total.map_or(Position::MAX, |total| total.saturating_add(begin));
            if end > begin {
                pieces.push(Piece { start_ns, begin, end, curve });
            }
            begin = end;
            start_ns = start_ns.saturating_add(segment.duration_ns().unwrap_or(u64::MAX));
        }
        Shape { pieces }
    }

    /// Where the last segment ends. All positions are below.
    pub(crate) fn end(&self) -> Position {
        self.pieces.last().map_or(0, |last| last.end)
    }

    /// When a position, below [`Shape::end`], is due. `piece` remembers the segment: positions
    /// asked for with the same one must not go back.
    #[inline]
    pub(crate) fn due_ns(&self, position: Position, piece: &mut usize) -> u64 {
        while position >= self.pieces[*piece].end {
            *piece += 1;
        }
        let Piece { start_ns, begin, curve, .. } = &self.pieces[*piece];
        start_ns.saturating_add(curve.due_ns(position - begin))
    }

    /// The positions due before `t_ns` are exactly those below the returned one.
    pub(crate) fn before(&self, t_ns: u64) -> Position {
        // Only the last piece that begins before t can reach beyond it.
        let started = self.pieces.partition_point(|piece| piece.start_ns < t_ns);
        let Some(piece) = self.pieces[..started].last() else { return 0 };
        let within = piece.curve.before(t_ns - piece.start_ns);
        piece.begin.saturating_add(within).min(piece.end)
    }
}

impl Curve {
    /// The curve of a segment and its total, `None` if it has no end.
    fn new(segment: &Segment) -> (Curve, Option<Position>) {
        match segment {
            Segment::Hold { rate, duration_ns } => {
                let rate = lowest_terms(*rate);
                let total = match duration_ns {
                    _ if rate.events == 0 => Some(0),
                    Some(ns) => Some(fixed::scale(fixed::whole(*ns), rate.events, rate.per_ns).0),
                    None => None,
                };
                (Curve::Hold(rate), total)
            }
            Segment::Ramp { from, to, duration_ns } => {
                let ramp = Ramp::new(lowest_terms(*from), lowest_terms(*to), *duration_ns);
                let total = ramp.total();
                (Curve::Ramp(ramp), Some(total))
            }
            &Segment::Burst { size, every_ns, duration_ns } => {
                let curve = Curve::Burst { size, every_ns };
                let total = duration_ns.map(|ns| curve.before(ns));
                (curve, total)
            }
            Segment::Replay { offsets_ns, .. } => {
                (Curve::Replay(offsets_ns.shared()), Some(fixed::whole(offsets_ns.count())))
            }
        }
    }

    /// The inverse of Λ, rounded down to a nanosecond.
    #[inline]
    fn due_ns(&self, x: Position) -> u64 {
        match self {
            // t = x · per_ns / events
            Curve::Hold(rate) => fixed::scale_whole(x, rate.per_ns, rate.events),
            Curve::Ramp(ramp) => ramp.due_ns(x),
            Curve::Burst { size, every_ns } => ((x >> 64) as u64 / size).saturating_mul(*every_ns),
            Curve::Replay(offsets_ns) => offsets_ns[(x >> 64) as usize],
        }
    }

    /// The position from which on nothing is due before `t_ns`: Λ just before it, rounded up.
    fn before(&self, t_ns: u64) -> Position {
        match self {
            Curve::Hold(rate) => fixed::scale(fixed::whole(t_ns), rate.events, rate.per_ns).1,
            Curve::Ramp(ramp) => ramp.before(t_ns),
            Curve::Burst { size, every_ns } => {
                fixed::whole(t_ns.div_ceil(*every_ns).saturating_mul(*size))
            }
            Curve::Replay(offsets_ns) => {
                fixed::whole(offsets_ns.partition_point(|&offset| offset < t_ns) as u64)
            }
        }
    }
}

/// The same rate in smaller numbers, so that products stay within 64 bits for longer.
fn lowest_terms(rate: Rate) -> Rate {
    let (mut a, mut b) = (rate.events, rate.per_ns);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Rate { events: rate.events / a, per_ns: rate.per_ns / a }
}
