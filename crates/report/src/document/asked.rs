//! The expected number of requests of a schedule: the integral of its rate.

use candor_plan::{Load, NS_PER_S, Segment};

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

/// The same within one segment, from its beginning.
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
