//! The examples of docs/load.md, so that the guide says what the code does.

mod common;

use candor_pace::Limit;
use candor_plan::{NS_PER_S, Segment};
use common::{due_ns, even, hold, poisson, ramp, seconds, single, until};

const MS: u64 = 1_000_000;

/// Due times in whole milliseconds, as the guide prints them.
fn due_ms(segments: &[Segment], limit: Limit) -> Vec<u64> {
    due_ns(&even(segments), limit).iter().map(|ns| (ns + MS / 2) / MS).collect()
}

#[test]
fn a_hold() {
    // -R 3
    assert_eq!(
        due_ns(&even(&[hold(3, NS_PER_S, None)]), until(seconds(1) + 1)),
        [0, 333_333_333, 666_666_666, 1_000_000_000]
    );
    // hold 0.3/s for 5s; hold 1 for 3s
    let segments = [hold(3, seconds(10), seconds(5)), hold(1, NS_PER_S, seconds(3))];
    assert_eq!(due_ms(&segments, Limit::default()), [0, 3_333, 5_500, 6_500, 7_500]);
}

#[test]
fn a_ramp() {
    // ramp 0..2 over 10s
    assert_eq!(
        due_ms(&[ramp(0, 2, seconds(10))], Limit::default()),
        [0, 3_162, 4_472, 5_477, 6_325, 7_071, 7_746, 8_367, 8_944, 9_487]
    );
}

#[test]
fn a_step() {
    // step 1..3 by 1 every 2s
    let segments: Vec<Segment> = (1..=3).map(|n| hold(n, NS_PER_S, seconds(2))).collect();
    assert_eq!(
        due_ms(&segments, Limit::default()),
        [0, 1_000, 2_000, 2_500, 3_000, 3_500, 4_000, 4_333, 4_667, 5_000, 5_333, 5_667]
    );
}

#[test]
fn a_burst_and_a_replay() {
    // burst 3 every 1s for 2.5s
    let burst = |ns| Segment::Burst { size: 3, every_ns: NS_PER_S, duration_ns: Some(ns) };
    assert_eq!(
        due_ms(&[burst(2_500 * MS)], Limit::default()),
        [0, 0, 0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000]
    );
    // hold 2 for 1s; replay FILE, with the offsets 0.5, 0.5, 1250ms, 2
    let offsets_ns = [500 * MS, 500 * MS, 1_250 * MS, 2_000 * MS];
    let segments = [hold(2, NS_PER_S, seconds(1)), Segment::replay(offsets_ns)];
    assert_eq!(due_ms(&segments, Limit::default()), [0, 500, 1_500, 1_500, 2_250, 3_000]);
    // hold 2 for 1s; burst 3 every 1s for 1s; hold 2 for 1s
    let two = hold(2, NS_PER_S, seconds(1));
    let segments = [two.clone(), burst(seconds(1)), two];
    assert_eq!(due_ms(&segments, Limit::default()), [0, 500, 1_000, 1_000, 1_000, 2_000, 2_500]);
}

#[test]
fn poisson_arrivals() {
    // -R 1k --arrivals poisson --seed 1
    let load = poisson(&[hold(1_000, NS_PER_S, None)]);
    let first: Vec<u64> =
        single(&load, 1, Limit::default()).take(6).map(|due| due.due_ns).collect();
    assert_eq!(first, [509_504, 617_953, 1_432_809, 2_445_046, 3_285_907, 4_177_409]);
}

#[test]
fn a_warm_up() {
    // -R 1 --warm-up 2s -n 3: the plan puts a hold of 2 s in front.
    let segments = [hold(1, NS_PER_S, seconds(2)), hold(1, NS_PER_S, None)];
    let limit = Limit { measured_count: Some(3), warm_up_ns: seconds(2), end_ns: None };
    assert_eq!(due_ms(&segments, limit), [0, 1_000, 2_000, 3_000, 4_000]);
}
