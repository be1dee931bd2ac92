//! Even arrivals: closed forms, exactly, and the same for any number of workers.

mod common;

use candor_pace::{Due, Limit, MOST_DRAWN, Schedule, Share};
use candor_plan::{NS_PER_S, OpenLoad, Rate, Segment};
use common::{due_ns, even, hold, poisson, ramp, seconds, single, union, until};
use proptest::prelude::*;

/// Arrival n of a constant rate is due at ⌊n · per_ns / events⌋.
#[test]
fn a_hold_is_its_closed_form() {
    for (events, per_ns, length_ns) in [
        (1, seconds(100), seconds(100_000)), // 0.01/s
        (3, NS_PER_S, seconds(3600)),
        (7, 3, 10_000), // above one a nanosecond: several in the same one
        (20_000, NS_PER_S, seconds(1)),
        (999_999_937, NS_PER_S, 100_000),
        (1_000_000_000, NS_PER_S, 20_000),
    ] {
        let got = due_ns(&even(&[hold(events, per_ns, None)]), until(length_ns));
        let closed_form = |n: u128| (n * u128::from(per_ns) / u128::from(events)) as u64;
        let expected: Vec<u64> =
            (0..).map(closed_form).take_while(|&due_ns| due_ns < length_ns).collect();
        assert_eq!(got, expected, "{events} in {per_ns} ns");
    }
}

#[test]
fn a_hold_has_rate_times_time_arrivals() {
    let count = |events, per_ns, s| {
        single(&even(&[hold(events, per_ns, seconds(s))]), 0, Limit::default()).count()
    };
    assert_eq!(count(1, seconds(100), 100_000), 1_000);
    assert_eq!(count(3, NS_PER_S, 3600), 10_800);
    assert_eq!(count(100_003, NS_PER_S, 10), 1_000_030);
}

/// Long after the beginning at a high, odd rate, where 64-bit products overflow.
#[test]
fn nothing_drifts_after_days() {
    let rate = 999_999_937u64;
    let day = seconds(86_400);
    let workers = u32::MAX;
    // One of 2³² workers takes one arrival of such a load every 4.29 s.
    let share = Share { worker: 12_345, workers };
    let last = Schedule::new(&even(&[hold(rate, NS_PER_S, None)]), 0, share, until(30 * day))
        .last()
        .expect("there are many");
    assert!(last.due_ns > 30 * day - seconds(5));
    let expected = u128::from(last.index) * u128::from(NS_PER_S) / u128::from(rate);
    assert_eq!(u128::from(last.due_ns), expected);
}

/// 0.3/s for 5 s are 1.5 arrivals: arrival 2 comes half an arrival into the next segment.
#[test]
fn a_fraction_is_handed_on() {
    let load = even(&[hold(3, seconds(10), seconds(5)), hold(1, NS_PER_S, seconds(3))]);
    let expected = [0, 3_333_333_333, 5_500_000_000, 6_500_000_000, 7_500_000_000];
    assert_eq!(due_ns(&load, Limit::default()), expected);
}

/// Three thirds are one, although a third is not a binary fraction: arrival 1 is due exactly at
/// the beginning of the fourth segment, neither before nor after.
#[test]
fn an_arrival_on_a_boundary_belongs_to_the_later_segment() {
    let third = hold(1, seconds(3), seconds(1));
    let load = even(&[third.clone(), third.clone(), third.clone()]);
    assert_eq!(due_ns(&load, Limit::default()), [0]);
    let load = even(&[third.clone(), third.clone(), third, hold(1, seconds(2), seconds(2))]);
    assert_eq!(due_ns(&load, Limit::default()), [0, seconds(3)]);
}

/// The number due before t is Λ(t) = a·t + (b−a)·t²/(2D), rounded up because the first is due at 0.
#[test]
fn ramps_keep_their_integral() {
    for (a, b, s) in [(0, 20_000, 3), (20_000, 0, 3), (1_000, 20_000, 5), (50, 51, 60), (7, 7, 9)] {
        let all = due_ns(&even(&[ramp(a, b, seconds(s))]), Limit::default());
        assert_eq!(all.len() as u64, (a + b) * s / 2 + (a + b) * s % 2);
        for tenth in 1..10 {
            let t_ns = seconds(s) / 10 * tenth;
            let (t, d) = (tenth as f64 / 10.0 * s as f64, s as f64);
            let integral = a as f64 * t + (b as f64 - a as f64) * t * t / (2.0 * d);
            let before = all.partition_point(|&due_ns| due_ns < t_ns);
            assert!((before as f64 - integral).abs() <= 1.0, "{before} {integral}");
        }
    }
}

#[test]
fn a_falling_ramp_is_the_mirror_of_a_rising_one() {
    let s = seconds(30);
    let up = due_ns(&even(&[ramp(0, 2_000, s)]), Limit::default());
    let down = due_ns(&even(&[ramp(2_000, 0, s)]), Limit::default());
    // Arrival n of 30,000 and arrival 30,000 − n: D − t, and both are rounded down.
    for (n, due) in down.iter().enumerate().skip(1) {
        let mirrored = s - up[up.len() - n];
        assert!(mirrored - due <= 1, "{n}: {due} {mirrored}");
    }
}

#[test]
fn steps_change_the_rate_at_once() {
    let step = |per_s| hold(per_s, NS_PER_S, seconds(5));
    let all = due_ns(&even(&[step(1_000), step(2_000), step(3_000)]), Limit::default());
    assert_eq!(all.len(), 30_000);
    assert_eq!(all[4_999..5_002], [4_999_000_000, 5_000_000_000, 5_000_500_000]);
    assert_eq!(all[15_000], 10_000_000_000);
}

#[test]
fn bursts_come_together() {
    let burst = |duration_ns| Segment::Burst { size: 3, every_ns: 1_000, duration_ns };
    let all = due_ns(&even(&[burst(Some(2_001))]), Limit::default());
    assert_eq!(all, [0, 0, 0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000]);
    assert_eq!(due_ns(&even(&[burst(Some(2_000))]), Limit::default()).len(), 6);
    assert_eq!(due_ns(&even(&[burst(None)]), until(10_000)).len(), 30);
    // After a fraction the bursts are whole, and the fraction is handed on beyond them.
    let half = hold(1, 1_000, 500);
    let load = even(&[half.clone(), burst(Some(1_001)), hold(1, 1_000, 1_000)]);
    assert_eq!(due_ns(&load, Limit::default()), [0, 500, 500, 500, 1_500, 1_500, 1_500, 2_001]);
}

#[test]
fn a_replay_is_its_table() {
    let replay = Segment::replay([5, 5, 90, 1_000]);
    assert_eq!(due_ns(&even(std::slice::from_ref(&replay)), Limit::default()), [5, 5, 90, 1_000]);
    let load = even(&[hold(1, 1_000, 2_000), replay, hold(1, 10, 20)]);
    assert_eq!(
        due_ns(&load, Limit::default()),
        [0, 1_000, 2_005, 2_005, 2_090, 3_000, 3_001, 3_011]
    );
}

/// Skipping passes as many arrivals as taking them one by one, and ends at the same one.
#[test]
fn skipping_is_taking_without_looking() {
    let burst = Segment::Burst { size: 300, every_ns: 1_000, duration_ns: Some(5_000) };
    let mixed = [hold(7, 3, 2_000), burst, ramp(50_000_000, 0, 100_000), hold(1, 90, 50_000)];
    let replay = Segment::replay((0..500).map(|n| n * n / 7).collect::<Vec<u64>>());
    for (load, seed) in [(even(&mixed), 0), (even(&[replay]), 0), (poisson(&mixed), 3)] {
        for workers in [1, 3] {
            let share = Share { worker: workers - 1, workers };
            for step_ns in [1, 700, 2_500, 40_000, u64::MAX] {
                let mut skipping = Schedule::new(&load, seed, share, Limit::default());
                let mut taking = skipping.clone();
                let mut t_ns = 0u64;
                while taking.peek().is_some() {
                    t_ns = t_ns.saturating_add(step_ns);
                    let mut passed = 0;
                    while taking.peek().is_some_and(|due| due.due_ns < t_ns) {
                        taking.next();
                        passed += 1;
                    }
                    let skipped = std::iter::repeat_with(|| skipping.skip_before(t_ns));
                    // One call passes a limited number of Poisson arrivals.
                    let skipped = skipped.take(1 + passed as usize / MOST_DRAWN as usize);
                    assert_eq!(skipped.sum::<u64>(), passed, "up to {t_ns} ns");
                    assert_eq!(skipping.peek(), taking.peek(), "from {t_ns} ns");
                }
                assert_eq!(skipping.next(), None);
            }
        }
    }
}

/// A load with far too many arrivals to take one by one.
#[test]
fn skipping_does_not_depend_on_how_many_there_are() {
    let year = seconds(365 * 86_400);
    let load = even(&[hold(1_000_000_000, NS_PER_S, None)]);
    let mut schedule = single(&load, 0, until(year));
    assert_eq!(schedule.skip_before(year - 5), year - 5);
    assert_eq!(schedule.skip_before(u64::MAX), 5);
    assert_eq!(schedule.peek(), None);
}

#[test]
fn the_count_is_of_measured_arrivals() {
    // 1.5 arrivals of warm-up: 0 and 1; the measured ones are 2, 3, ….
    let load = even(&[hold(3, seconds(10), seconds(5)), hold(1_000, NS_PER_S, None)]);
    let limit = Limit { end_ns: None, measured_count: Some(100), warm_up_ns: seconds(5) };
    for workers in [1, 2, 3, 7, 64, 200] {
        let all = union(&load, 0, limit, workers);
        assert_eq!(all.len(), 102);
        assert_eq!(all.iter().filter(|due| due.due_ns >= seconds(5)).count(), 100);
    }
    // Whichever limit comes first holds.
    let early = Limit { end_ns: Some(seconds(5) + 50_000_000), ..limit };
    assert_eq!(single(&load, 0, early).count(), 52);
    let none = Limit { measured_count: Some(0), ..limit };
    assert_eq!(single(&load, 0, none).count(), 2);
}

#[test]
fn peeking_takes_nothing_and_a_clone_goes_on_by_itself() {
    let mut schedule = single(&even(&[hold(1, 10, None)]), 0, until(50));
    assert_eq!(schedule.peek(), Some(Due { index: 0, due_ns: 0 }));
    assert_eq!(schedule.next(), Some(Due { index: 0, due_ns: 0 }));
    let mut cursor = schedule.clone();
    assert_eq!(cursor.by_ref().count(), 4);
    assert_eq!((cursor.peek(), cursor.next()), (None, None));
    assert_eq!(schedule.peek(), Some(Due { index: 1, due_ns: 10 }));
}

#[test]
fn a_load_without_arrivals_ends_at_once() {
    let load = even(&[hold(1, 1, 0), ramp(0, 0, 1_000)]);
    assert_eq!(single(&load, 0, Limit::default()).peek(), None);
    assert_eq!(single(&even(&[hold(1, 1, None)]), 0, until(0)).peek(), None);
}

/// Beyond 584 years due times saturate instead of wrapping round.
#[test]
fn the_end_of_time_is_no_panic() {
    let load = even(&[hold(1, u64::MAX, None), hold(1, 1, None)]);
    let all: Vec<u64> = single(&load, 0, Limit::default()).take(4).map(|d| d.due_ns).collect();
    assert_eq!(all, [0, u64::MAX, u64::MAX, u64::MAX]);
    let fast = even(&[hold(u64::MAX, 1, u64::MAX)]);
    assert_eq!(single(&fast, 0, Limit::default()).take(3).last().map(|due| due.due_ns), Some(0));
}

fn segment() -> impl Strategy<Value = Segment> {
    let rate = (1u64..2_000, 1u64..5_000_000)
        .prop_map(|(events, per_ns)| Rate { events: events.min(per_ns), per_ns });
    let length_ns = 1u64..2_000_000;
    prop_oneof![
        (rate.clone(), length_ns.clone())
            .prop_map(|(rate, ns)| Segment::Hold { rate, duration_ns: Some(ns) }),
        (rate.clone(), rate, 0u8..3, length_ns.clone()).prop_map(|(a, b, zero, duration_ns)| {
            let nothing = Rate { events: 0, per_ns: 1 };
            let (from, to) = [(a, b), (nothing, b), (a, nothing)][zero as usize];
            Segment::Ramp { from, to, duration_ns }
        }),
        (1u64..40, 10_000u64..1_000_000, length_ns).prop_map(|(size, every_ns, ns)| {
            Segment::Burst { size, every_ns, duration_ns: Some(ns) }
        }),
        prop::collection::vec(0u64..1_000_000, 1..20).prop_map(|mut offsets_ns| {
            offsets_ns.sort_unstable();
            Segment::replay(offsets_ns)
        }),
    ]
}

fn loads() -> impl Strategy<Value = OpenLoad> {
    // At most one a nanosecond; bounded so that a case stays small.
    prop::collection::vec(segment(), 1..5).prop_map(|segments| even(&segments))
}

/// Arrivals of a case, so that it stays small.
const MOST: u64 = 3_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_union_is_the_same_for_any_number_of_workers(
        load in loads(), warm_up_ns in 0u64..3_000_000, count in 0u64..MOST,
    ) {
        for limit in [
            Limit { measured_count: Some(MOST), ..Limit::default() },
            Limit { measured_count: Some(count), warm_up_ns: warm_up_ns.min(100_000), end_ns: None },
            Limit { measured_count: Some(MOST), end_ns: Some(warm_up_ns), warm_up_ns: 0 },
        ] {
            let one = union(&load, 0, limit, 1);
            prop_assert!(one.iter().map(|due| due.index).eq(0..one.len() as u64));
            for workers in (2..=9).chain([64]) {
                prop_assert_eq!(&union(&load, 0, limit, workers), &one);
            }
        }
    }

    #[test]
    fn limits_cut_the_schedule_and_change_nothing_else(
        load in loads(), warm_up_ns in 0u64..500_000, end_ns in 0u64..3_000_000, count in 0u64..MOST,
    ) {
        let limit = Limit { measured_count: Some(count), warm_up_ns, end_ns: Some(end_ns) };
        let got = due_ns(&load, limit);
        let mut measured = 0;
        let expected: Vec<u64> = single(&load, 0, Limit::default())
            .map(|due| due.due_ns)
            .take_while(|&due_ns| {
                measured += u64::from(due_ns >= warm_up_ns);
                due_ns < end_ns && measured <= count
            })
            .collect();
        // Arrivals are in due order, so warm-up arrivals are before the first measured one.
        prop_assert_eq!(got, expected);
    }
}
