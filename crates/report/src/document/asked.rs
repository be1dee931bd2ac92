//! The expected number of requests of a schedule: the integral of its rate; and the time that belongs to them.

use candor_plan::{Arrivals, Load, NS_PER_S, Segment};

/// The expected number of requests due from `from_ns` to `to_ns` of the run: the integral of the
/// rate. `None` in a closed load.
pub(super) fn asked_between(load: &Load, from_ns: u64, to_ns: u64) -> Option<f64> {
    let Load::Open(open) = load else { return None };
    let mut begin_ns = 0u64;
    let mut sum = 0.0;
    for segment in &open.segments {
        let end_ns =
            segment.duration_ns().map_or(u64::MAX, |length_ns| begin_ns.saturating_add(length_ns));
        let (low_ns, high_ns) = (from_ns.max(begin_ns), to_ns.min(end_ns));
        if low_ns < high_ns {
            sum += asked_of_segment(segment, low_ns - begin_ns, high_ns - begin_ns);
        }
        begin_ns = end_ns;
    }
    Some(sum)
}

/// How long the requests of a window stand for, which rates are computed over: the window from `from_ns` to `to_ns`,
/// or longer if it ends between two due times.
///
/// N requests at the rate R are due at 0, 1/R, …, (N − 1)/R, and stand for N/R: a window that ends with the last of
/// them is up to 1/R too short. With Λ(t), the requests expected by t, a window has n = ⌈Λ(to)⌉ − ⌈Λ(from)⌉ of them,
/// whose time is n/(Λ(to) − Λ(from)) windows. Poisson arrivals are drawn, so they have no such time.
pub(super) fn rated_ns(load: &Load, from_ns: u64, to_ns: u64) -> f64 {
    let window_ns = to_ns.saturating_sub(from_ns) as f64;
    let is_even = matches!(load, Load::Open(open) if open.arrivals == Arrivals::Constant);
    let expected = |until_ns| asked_between(load, 0, until_ns).filter(|_| is_even);
    let (Some(before), Some(until)) = (expected(from_ns), expected(to_ns)) else {
        return window_ns;
    };
    // A whole number must not become the next one by rounding.
    let due = |expected: f64| (expected * (1.0 - 1e-12) - 1e-9).ceil().max(0.0);
    let share = (due(until) - due(before)) / (until - before);
    // In whole nanoseconds, so that whole rates stay whole.
    if share.is_finite() { (window_ns * share.max(1.0)).round() } else { window_ns }
}

/// The same as [`asked_between`] within one segment, from its beginning.
fn asked_of_segment(segment: &Segment, from_ns: u64, to_ns: u64) -> f64 {
    let span_s = (to_ns - from_ns) as f64 / NS_PER_S as f64;
    match segment {
        Segment::Hold { rate, .. } => rate.per_s_f64() * span_s,
        Segment::Ramp { from, to, duration_ns } => {
            // The rate is linear in time, so its mean over a span is that at the span's middle.
            let middle = (from_ns as f64 + to_ns as f64) / 2.0 / *duration_ns as f64;
            let (from, to) = (from.per_s_f64(), to.per_s_f64());
            (from + (to - from) * middle) * span_s
        }
        Segment::Burst { size, every_ns, .. } => {
            // Bursts are at 0, every, 2 every, …: those in [from, to).
            let bursts = to_ns.div_ceil(*every_ns) - from_ns.div_ceil(*every_ns);
            *size as f64 * bursts as f64
        }
        Segment::Replay { offsets_ns, .. } => {
            let offsets_ns = offsets_ns.whole();
            let before = |ns| offsets_ns.partition_point(|&offset_ns| offset_ns < ns);
            (before(to_ns) - before(from_ns)) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{Arrivals, OpenLoad, Rate};

    use super::*;

    fn asked(segments: Vec<Segment>, from_s: u64, to_s: u64) -> f64 {
        let load =
            Load::Open(OpenLoad { segments, arrivals: Arrivals::Constant, shed_after_ns: None });
        asked_between(&load, from_s * NS_PER_S, to_s * NS_PER_S).unwrap()
    }

    fn hold(per_s: u64, seconds: Option<u64>) -> Segment {
        let duration_ns = seconds.map(|s| s * NS_PER_S);
        Segment::Hold { rate: Rate::per_second(per_s), duration_ns }
    }

    #[test]
    fn the_time_that_requests_stand_for() {
        const MS: u64 = 1_000_000;
        let load =
            |arrivals, segments| Load::Open(OpenLoad { segments, arrivals, shed_after_ns: None });
        let even = load(Arrivals::Constant, vec![hold(50, None)]);
        // 1, 3 and 60 requests at 50/s, the last of which was sent a moment before the end.
        for (to_ns, rated_ms) in [(302_000, 20.0), (40 * MS + 1, 60.0), (1_180 * MS + 9, 1_200.0)] {
            assert_eq!(rated_ns(&even, 0, to_ns), rated_ms * 1e6, "{to_ns}");
        }
        // A window of as many requests as it has time for is as long as it is, to the bit.
        for (from_ns, to_ns) in [(0, 0), (0, 20 * MS), (0, NS_PER_S), (NS_PER_S, 11 * NS_PER_S)] {
            assert_eq!(rated_ns(&even, from_ns, to_ns), (to_ns - from_ns) as f64);
        }
        // With a warm-up that ends between two due times: at 20, 40 and 60 ms.
        assert_eq!(rated_ns(&even, 10 * MS, 61 * MS), 60e6);
        // It has a due time less than there is time for.
        assert_eq!(rated_ns(&even, MS, 39 * MS), 38e6);
        // A rate that no second has a whole number of.
        let third = candor_plan::units::parse_rate("1/m").unwrap();
        let slow = load(Arrivals::Constant, vec![Segment::Hold { rate: third, duration_ns: None }]);
        assert_eq!(rated_ns(&slow, 0, MS), 60e9);
        // Drawn, listed, and in a closed load.
        let drawn = load(Arrivals::Poisson, vec![hold(50, None)]);
        let replay = load(Arrivals::Constant, vec![Segment::replay([0, MS])]);
        for load in [drawn, replay, Load::Closed { think_time_ns: 0 }] {
            assert_eq!(rated_ns(&load, 0, 3 * MS), 3e6);
        }
    }

    #[test]
    fn the_integral_of_the_schedule() {
        assert_eq!(asked(vec![hold(100, None)], 2, 5), 300.0);
        assert_eq!(asked(vec![hold(100, Some(2)), hold(10, Some(4))], 1, 9), 140.0);
        let ramp = Segment::Ramp {
            from: Rate::per_second(0),
            to: Rate::per_second(100),
            duration_ns: 10 * NS_PER_S,
        };
        assert_eq!(asked(vec![ramp.clone()], 0, 10), 500.0);
        assert_eq!(asked(vec![ramp], 5, 10), 375.0);
        let burst = Segment::Burst { size: 7, every_ns: NS_PER_S, duration_ns: None };
        assert_eq!(asked(vec![burst.clone()], 0, 3), 21.0);
        assert_eq!(asked(vec![hold(1, Some(1)), burst], 1, 2), 7.0);
        let replay = Segment::replay([0, 1, NS_PER_S, 2 * NS_PER_S]);
        assert_eq!(asked(vec![replay.clone()], 0, 9), 4.0);
        assert_eq!(asked(vec![replay], 1, 2), 1.0);
        assert_eq!(asked_between(&Load::Closed { think_time_ns: 0 }, 0, 1), None);
    }
}
