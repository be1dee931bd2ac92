//! Poisson arrivals: exponential gaps, Poisson counts, and the same schedule for any number of
//! workers. Statistics are of fixed seeds, so a test either always passes or never.

mod common;

use candor_pace::{Due, Limit};
use candor_plan::{NS_PER_S, Rate, Segment};
use common::{hold, poisson, ramp, seconds, single, sorted, union, until};

/// The Anderson–Darling statistic A² of a sample against the uniform distribution on (0, 1)
/// (Anderson and Darling, "A test of goodness of fit", 1954). With the distribution fully
/// specified, A² > 3.857 has probability 1 %, A² > 6.0 has 0.1 %.
fn anderson_darling(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len();
    let sum: f64 = (0..n)
        .map(|i| (2 * i + 1) as f64 * (sample[i].ln() + (1.0 - sample[n - 1 - i]).ln()))
        .sum();
    -(n as f64) - sum / n as f64
}

/// The quantile of each gap in the exponential distribution of `rate_per_ns`.
fn gap_quantiles(due_ns: &[u64], rate_per_ns: f64) -> Vec<f64> {
    // A gap is a difference of whole nanoseconds; half of one keeps zero from being infinite.
    let gaps = due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 + 0.5);
    gaps.map(|gap_ns| -(-gap_ns * rate_per_ns).exp_m1()).collect()
}

fn due_ns(load: &candor_plan::OpenLoad, seed: u64, limit: Limit) -> Vec<u64> {
    single(load, seed, limit).map(|due| due.due_ns).collect()
}

/// Twenty seeds at significance 0.1 % each: a right build passes with 98 %, and these seeds do.
#[test]
fn gaps_are_exponential() {
    for (seed, per_s) in (0..20).zip([1, 1_000, 20_000, 300].into_iter().cycle()) {
        let load = poisson(&[hold(per_s, NS_PER_S, None)]);
        let limit = Limit { measured_count: Some(10_000), ..Limit::default() };
        let statistic =
            anderson_darling(gap_quantiles(&due_ns(&load, seed, limit), per_s as f64 / 1e9));
        assert!(statistic < 6.0, "seed {seed}: A² = {statistic}");
    }
}

/// The control: gaps that are uniform with the same mean, and even ones, do not pass.
#[test]
fn the_test_of_gaps_finds_others() {
    let uniform: Vec<u64> = (0..10_000u64)
        .scan(0, |t, n| {
            *t += n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 2_000_000;
            Some(*t)
        })
        .collect();
    let even: Vec<u64> = (0..10_000).map(|n| n * 1_000_000).collect();
    for due_ns in [uniform, even] {
        assert!(anderson_darling(gap_quantiles(&due_ns, 1e-6)) > 100.0);
    }
}

/// Counts in 2000 windows of mean 50 over 100 seeds: their dispersion Σ(n−50)²/50 is χ² with 2000
/// degrees of freedom, mean 2000, σ = √4000. 4σ is a significance of 6·10⁻⁵.
#[test]
fn counts_have_the_variance_of_their_mean() {
    let load = poisson(&[hold(1_000, NS_PER_S, None)]);
    let (windows, mean) = (20, 50.0);
    let mut dispersion = 0.0;
    let mut total = 0;
    for seed in 0..100 {
        let all = due_ns(&load, seed, until(windows * 50_000_000));
        total += all.len();
        for window in 0..windows {
            let before = |t_ns| all.partition_point(|&due_ns| due_ns < t_ns);
            let count = before((window + 1) * 50_000_000) - before(window * 50_000_000);
            dispersion += (count as f64 - mean).powi(2) / mean;
        }
    }
    assert!((dispersion - 2_000.0).abs() < 4.0 * 4_000f64.sqrt(), "{dispersion}");
    assert!((total as f64 - 100_000.0).abs() < 4.0 * 100_000f64.sqrt(), "{total}");
}

/// Neighbouring gaps, and the counts of two workers' lanes, are independent: their correlations are
/// within 4/√n.
#[test]
fn gaps_and_lanes_are_independent() {
    let load = poisson(&[hold(10_000, NS_PER_S, None)]);
    let all = due_ns(&load, 3, until(seconds(5)));
    let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let r = correlation(&gaps[..gaps.len() - 1], &gaps[1..]);
    assert!(r.abs() < 4.0 / (gaps.len() as f64).sqrt(), "{r}");

    let counts = |parity| {
        let mut counts = vec![0.0; 5_000];
        for due in single(&load, 3, until(seconds(5))).filter(|due| due.index % 2 == parity) {
            counts[(due.due_ns / 1_000_000) as usize] += 1.0;
        }
        counts
    };
    let r = correlation(&counts(0), &counts(1));
    assert!(r.abs() < 4.0 / 5_000f64.sqrt(), "{r}");
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let covariance: f64 = a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    let square = |x: &[f64], m: f64| x.iter().map(|x| (x - m).powi(2)).sum::<f64>();
    covariance / (square(a, ma) * square(b, mb)).sqrt()
}

/// On a ramp the transformed times Λ(t) are a unit-rate process, and the count has the integral's
/// mean.
#[test]
fn a_ramp_only_changes_the_clock() {
    for (a, b) in [(0u64, 2_000u64), (2_000, 0), (500, 3_000)] {
        let load = poisson(&[ramp(a, b, seconds(10))]);
        let integral = |t_ns: u64| {
            let t = t_ns as f64 / 1e9;
            a as f64 * t + (b as f64 - a as f64) * t * t / 20.0
        };
        let mut counts = 0;
        for seed in 0..20 {
            let all = due_ns(&load, seed, Limit::default());
            counts += all.len();
            let gaps = all.windows(2).map(|pair| integral(pair[1]) - integral(pair[0]));
            let quantiles = gaps.map(|gap| -(-gap.max(1e-9)).exp_m1()).collect();
            assert!(anderson_darling(quantiles) < 6.0, "{a}..{b}, seed {seed}");
        }
        let mean = 20.0 * integral(seconds(10));
        assert!((counts as f64 - mean).abs() < 4.0 * mean.sqrt(), "{a}..{b}: {counts}");
    }
}

#[test]
fn the_union_is_the_same_for_any_number_of_workers() {
    let steps =
        [hold(3, seconds(10), seconds(5)), ramp(0, 5_000, seconds(1)), hold(500, NS_PER_S, None)];
    let load = poisson(&steps);
    for limit in [
        until(seconds(7)),
        Limit { measured_count: Some(2_000), warm_up_ns: seconds(5), end_ns: None },
        Limit { measured_count: Some(0), warm_up_ns: seconds(6), end_ns: None },
    ] {
        for seed in [0, 1, u64::MAX] {
            let one = union(&load, seed, limit, 1);
            for workers in (2..=9).chain([64, 1_024, 2_000]) {
                assert_eq!(union(&load, seed, limit, workers), one, "{workers} workers");
            }
            let mut indices: Vec<u64> = one.iter().map(|due| due.index).collect();
            indices.sort_unstable();
            indices.dedup();
            assert_eq!(indices.len(), one.len());
        }
    }
}

/// The count cuts exactly after the Nth measured arrival of the schedule without it.
#[test]
fn the_count_is_of_measured_arrivals() {
    let load = poisson(&[hold(50, NS_PER_S, seconds(2)), hold(1_000, NS_PER_S, seconds(60))]);
    for seed in 0..10 {
        let everything = single(&load, seed, Limit::default()).collect::<Vec<Due>>();
        let warm_up = everything.partition_point(|due| due.due_ns < seconds(2));
        for count in [0, 1, 2, 10, 999, 20_000] {
            let limit = Limit { measured_count: Some(count), warm_up_ns: seconds(2), end_ns: None };
            let got: Vec<Due> = single(&load, seed, limit).collect();
            assert_eq!(got, everything[..warm_up + count as usize], "seed {seed}, {count}");
            // The count does not extend a schedule that ends earlier.
            let short = Limit { end_ns: Some(seconds(3)), ..limit };
            let before = everything.partition_point(|due| due.due_ns < seconds(3));
            let expected = &everything[..before.min(warm_up + count as usize)];
            assert_eq!(single(&load, seed, short).collect::<Vec<Due>>(), expected);
        }
        let too_many = Limit { measured_count: Some(1 << 40), ..Limit::default() };
        assert_eq!(single(&load, seed, too_many).count(), everything.len());
    }
}

#[test]
fn a_seed_is_one_schedule() {
    let load = poisson(&[hold(1_000, NS_PER_S, None)]);
    let of = |seed| sorted(single(&load, seed, until(seconds(1))).collect());
    let first = of(1);
    assert_eq!(first, of(1));
    for seed in 2..50 {
        let shared = of(seed)
            .iter()
            .filter(|due| first.binary_search_by_key(&due.due_ns, |one| one.due_ns).is_ok())
            .count();
        assert!(shared < 3, "seed {seed} shares {shared} due times");
    }
    // The rate stretches the same process: one arrival a second instead of a thousand.
    let slow = poisson(&[hold(1, NS_PER_S, None)]);
    let slow: Vec<Due> = single(&slow, 1, until(seconds(1_000))).collect();
    assert!(slow.iter().map(|due| due.index).eq(first.iter().map(|due| due.index)));
}

/// From a billion a second to one in 584 years nothing overflows, and counts stay within 4σ.
#[test]
fn the_fastest_and_the_slowest() {
    let fast = poisson(&[hold(1, 1, None)]);
    let n = single(&fast, 9, until(200_000)).count() as f64;
    assert!((n - 200_000.0).abs() < 4.0 * 200_000f64.sqrt(), "{n}");
    let slow = poisson(&[hold(1, seconds(100), None)]);
    let n = single(&slow, 9, until(seconds(1_000_000))).count() as f64;
    assert!((n - 10_000.0).abs() < 4.0 * 10_000f64.sqrt(), "{n}");
    let rate = Rate { events: 1, per_ns: u64::MAX };
    let never = poisson(&[Segment::Hold { rate, duration_ns: None }]);
    assert!(single(&never, 9, Limit::default()).take(5_000).all(|due| due.due_ns > 0));
}

#[test]
fn ranks_number_arrivals_without_gaps() {
    let load = poisson(&[hold(2_000, NS_PER_S, None)]);
    for limit in [
        Limit { end_ns: Some(seconds(2)), ..Limit::default() },
        Limit { measured_count: Some(1_500), warm_up_ns: seconds(1), end_ns: None },
        Limit { measured_count: Some(3), ..Limit::default() },
    ] {
        let ranks = candor_pace::Ranks::new(&load, 7, limit);
        let mut all: Vec<u64> =
            union(&load, 7, limit, 3).iter().map(|due| ranks.rank(due.index)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..ranks.count()).collect::<Vec<_>>());
    }
}
