//! A rate that changes linearly, and the inverse of its integral.
//!
//! Symbols, with a = rate at the beginning and b = rate at the end, in arrivals per ns, D =
//! duration in ns, t = time since the beginning in ns, x = position since the beginning in
//! arrivals:
//!
//! ```text
//! λ(t) = a + (b−a)·t/D                      the rate
//! Λ(t) = a·t + (b−a)·t²/(2D)                its integral
//!      = a·(t − t²/(2D)) + b·t²/(2D)        the same, every term above zero
//! t(x) = 2x / (a + √(a² + 2(b−a)·x/D))      the inverse, for b ≥ a
//! ```
//!
//! The textbook inverse `(−a + √…)/(b−a)·D` cancels for gentle ramps; the form above, with α = aD
//! and β = bD, has only sums of terms above zero, as long as b ≥ a. A falling ramp is a rising one
//! seen from its end: `t(x) = D − t′(Λ(D) − x)` with a and b exchanged.
//!
//! The float is an estimate, good to a few units in its last place, and decides only where it
//! cannot be wrong. The due time is *defined* in integers: the last t with Λ(t) ≤ x, where Λ(t) is
//! rounded up to the next position. That Λ never falls, so due times never go back, and the number
//! of positions due before a time is Λ at that time, exactly. If the estimate is so close to a
//! whole nanosecond that its error could matter, the definition decides.

use candor_plan::Rate;

use crate::fixed::{self, Position};

/// Greatest error of the estimate, as a share of the duration: half of this is its roundings (the
/// square root halves those before it), the rest is safety.
const ESTIMATE_ERROR: f64 = 1.0 / (1u64 << 49) as f64;

/// Within this distance (2⁻⁸ arrivals) of an end where the rate may be zero, Λ is so flat that its
/// rounding to 2⁻⁶⁴ can be seen in t.
const FLAT: Position = 1 << 56;

/// A linear change of rate over a time.
#[derive(Debug, Clone)]
pub(crate) struct Ramp {
    from: Rate,
    to: Rate,
    duration_ns: u64,
    total: Position,
    /// α, in arrivals.
    from_arrivals: f64,
    /// β, in arrivals.
    to_arrivals: f64,
    /// The estimate's greatest absolute error, in ns.
    margin_ns: f64,
}

impl Ramp {
    pub(crate) fn new(from: Rate, to: Rate, duration_ns: u64) -> Self {
        let double_total =
            |rate: Rate| fixed::scale(fixed::whole(duration_ns), rate.events, rate.per_ns).0;
        let arrivals = |rate: Rate| rate.events as f64 / rate.per_ns as f64 * duration_ns as f64;
        Ramp {
            from,
            to,
            duration_ns,
            total: double_total(from) / 2 + double_total(to) / 2,
            from_arrivals: arrivals(from),
            to_arrivals: arrivals(to),
            margin_ns: duration_ns as f64 * ESTIMATE_ERROR,
        }
    }

    /// Λ(D), rounded down.
    pub(crate) fn total(&self) -> Position {
        self.total
    }

    /// Λ(t), rounded up: positions below it are due before `t_ns`. All are, from the end on.
    pub(crate) fn before(&self, t_ns: u64) -> Position {
        let t_ns = t_ns.min(self.duration_ns);
        // Both weights are rounded up and never fall with t, so neither does their sum.
        let (squared, squared_up) = fixed::scale(fixed::whole(t_ns), t_ns, self.duration_ns);
        let to_weight = squared_up.div_ceil(2);
        let from_weight = fixed::whole(t_ns) - squared / 2;
        let (_, from) = fixed::scale(from_weight, self.from.events, self.from.per_ns);
        let (_, to) = fixed::scale(to_weight, self.to.events, self.to.per_ns);
        from.saturating_add(to)
    }

    /// When the position, below [`Ramp::total`], is due.
    #[inline]
    pub(crate) fn due_ns(&self, x: Position) -> u64 {
        let estimate_ns = self.estimate_ns(x);
        let whole_ns = estimate_ns as u64;
        let part_ns = estimate_ns - whole_ns as f64;
        let sure = part_ns > self.margin_ns && part_ns < 1.0 - self.margin_ns;
        if sure && x >= FLAT && self.total - x >= FLAT {
            whole_ns
        } else {
            self.search_ns(x, whole_ns)
        }
    }

    fn estimate_ns(&self, x: Position) -> f64 {
        let duration_ns = self.duration_ns as f64;
        if self.to_arrivals >= self.from_arrivals {
            duration_ns * climb(self.from_arrivals, self.to_arrivals, fixed::to_f64(x))
        } else {
            let rest = fixed::to_f64(self.total - x);
            duration_ns - duration_ns * climb(self.to_arrivals, self.from_arrivals, rest)
        }
    }

    /// The last t within the ramp with Λ(t) ≤ x, searched around a good guess.
    #[cold]
    fn search_ns(&self, x: Position, guess_ns: u64) -> u64 {
        let last_ns = self.duration_ns.saturating_sub(1);
        let guess_ns = guess_ns.min(last_ns);
        let mut width_ns = 1u64;
        let (mut low_ns, mut beyond_ns) = loop {
            let low_ns = guess_ns.saturating_sub(width_ns);
            let beyond_ns = guess_ns.saturating_add(width_ns).min(last_ns + 1);
            let encloses_low = low_ns == 0 || self.before(low_ns) <= x;
            let encloses_high = beyond_ns > last_ns || self.before(beyond_ns) > x;
            if encloses_low && encloses_high {
                break (low_ns, beyond_ns);
            }
            width_ns = width_ns.saturating_mul(2);
        };
        while beyond_ns - low_ns > 1 {
            let middle_ns = low_ns + (beyond_ns - low_ns) / 2;
            if self.before(middle_ns) <= x {
                low_ns = middle_ns;
            } else {
                beyond_ns = middle_ns;
            }
        }
        low_ns
    }
}

/// The share in [0, 1] of a rising ramp at which `x` arrivals have come: t(x)/D.
#[inline]
fn climb(alpha: f64, beta: f64, x: f64) -> f64 {
    let denominator = alpha + (alpha * alpha + 2.0 * (beta - alpha) * x).sqrt();
    if denominator > 0.0 { (2.0 * x / denominator).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate() -> impl Strategy<Value = Rate> {
        let per = prop_oneof![Just(1_000_000_000u64), Just(1), Just(60_000_000_000), 1u64..1 << 40];
        (0u64..=1_000_000_000, per)
            .prop_map(|(events, per_ns)| Rate { events: events.min(per_ns), per_ns })
    }

    proptest! {
        /// The definition, checked without the estimate: Λ(t) ≤ x < Λ(t+1).
        #[test]
        fn the_fast_path_agrees_with_the_definition(
            from in rate(), to in rate(), duration_ns in 1u64..1 << 50, share in any::<u64>(),
        ) {
            let ramp = Ramp::new(from, to, duration_ns);
            let x = fixed::scale(ramp.total(), share, u64::MAX).0;
            prop_assume!(x < ramp.total());
            for x in [x, (x >> 64) << 64, 0, ramp.total() - 1] {
                let t_ns = ramp.due_ns(x);
                prop_assert!(t_ns < duration_ns);
                prop_assert!(ramp.before(t_ns) <= x);
                prop_assert!(t_ns + 1 == duration_ns || ramp.before(t_ns + 1) > x);
            }
        }

        #[test]
        fn the_integral_never_falls(
            from in rate(), to in rate(), duration_ns in 2u64..1 << 50, share in any::<u64>(),
        ) {
            let ramp = Ramp::new(from, to, duration_ns);
            let t_ns = share % duration_ns;
            prop_assert!(ramp.before(t_ns) <= ramp.before(t_ns + 1));
            prop_assert_eq!(ramp.before(0), 0);
            let end = ramp.before(duration_ns);
            prop_assert!(end >= ramp.total() && end - ramp.total() <= 8);
        }
    }

    #[test]
    fn the_ends_are_exact() {
        for (from, to) in [(0, 20_000), (20_000, 0), (1_000, 1_001), (5_000, 5_000)] {
            let ramp = Ramp::new(Rate::per_second(from), Rate::per_second(to), 30_000_000_000);
            assert_eq!(ramp.total(), fixed::whole((from + to) * 15));
            assert_eq!(ramp.due_ns(0), 0);
            assert_eq!(ramp.due_ns(ramp.total() - 1), 29_999_999_999);
        }
    }

    #[test]
    fn a_ramp_without_arrivals_has_none() {
        let zero = Rate { events: 0, per_ns: 1 };
        assert_eq!(Ramp::new(zero, zero, 1_000).total(), 0);
    }

    /// From zero to 2/s in 10 s: Λ(t) = t²/10 with t in s, so x = 2.5 is due at 5 s.
    #[test]
    fn known_answers() {
        let up = Ramp::new(Rate::per_second(0), Rate::per_second(2), 10_000_000_000);
        assert_eq!(up.due_ns(fixed::whole(5) / 2), 5_000_000_000);
        assert_eq!(up.due_ns(fixed::whole(1)), 3_162_277_660); // √10 s
        let down = Ramp::new(Rate::per_second(2), Rate::per_second(0), 10_000_000_000);
        assert_eq!(down.due_ns(fixed::whole(15) / 2), 5_000_000_000);
        assert_eq!(down.due_ns(fixed::whole(9)), 6_837_722_339); // 10 − √10 s
    }
}
