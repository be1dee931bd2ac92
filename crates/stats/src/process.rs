//! Tests whether times follow the requested arrival process.
//!
//! Gaps come in as multiples of the mean gap at that place (the expected number of arrivals
//! between the two), so that a load whose rate changes is tested like one whose rate does not; a
//! statistic and its p go out.

/// Anderson and Darling's statistic of `sample` against the uniform distribution on (0, 1), which
/// is left sorted.
///
/// > A² = −n − (1/n) Σ_{i=1}^{n} (2i − 1) (ln u_i + ln(1 − u_{n+1−i}))
///
/// with u_1 ≤ … ≤ u_n (Anderson and Darling, "A test of goodness of fit", 1954). It weights the
/// tails, where the gaps of a faulty generator differ first. Values at or beyond 0 and 1 are moved
/// inside by the smallest step. `None` without samples.
pub fn anderson_darling(sample: &mut [f64]) -> Option<f64> {
    if sample.is_empty() {
        return None;
    }
    sample.sort_by(f64::total_cmp);
    let n = sample.len();
    let inside = |u: f64| u.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
    let sum: f64 = (0..n)
        .map(|i| {
            let (low, high) = (inside(sample[i]), inside(sample[n - 1 - i]));
            (2 * i + 1) as f64 * (low.ln() + (-high).ln_1p())
        })
        .sum();
    Some(-(n as f64) - sum / n as f64)
}

/// The statistic of gaps against exponential ones of mean 1: u = 1 − exp(−gap).
pub fn exponential(gaps: &[f64]) -> Option<f64> {
    let mut quantiles: Vec<f64> = gaps.iter().map(|gap| -(-gap).exp_m1()).collect();
    anderson_darling(&mut quantiles)
}

/// The largest distance of any gap from `wanted`; `None` without gaps.
pub fn largest_deviation(gaps: &[f64], wanted: f64) -> Option<f64> {
    gaps.iter().map(|gap| (gap - wanted).abs()).max_by(f64::total_cmp)
}

/// The probability that A² of a right process is above `statistic`, for many samples (from eight
/// on it is good to three digits).
///
/// Marsaglia and Marsaglia, "Evaluating the Anderson–Darling distribution", 2004, whose error is
/// below 10⁻⁵; from 6 on, where that is no longer small against the value, the value at 6 falls as
/// the leading term of the tail does, exp(−z)/√z.
pub fn anderson_darling_p(statistic: f64) -> f64 {
    let z = statistic;
    if z.is_nan() {
        return 0.0;
    }
    if z <= 0.0 {
        return 1.0;
    }
    let below = |z: f64| {
        if z < 2.0 {
            let series = 2.00012
                + (0.247105 - (0.0649821 - (0.0347962 - (0.0116720 - 0.00168691 * z) * z) * z) * z)
                    * z;
            (-1.2337141 / z).exp() / z.sqrt() * series
        } else {
            let series = 1.0776
                - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * z) * z) * z) * z) * z;
            (-series.exp()).exp()
        }
    };
    const FAR: f64 = 6.0;
    if z <= FAR {
        return (1.0 - below(z)).clamp(0.0, 1.0);
    }
    let at_far = 1.0 - below(FAR);
    at_far * (-(z - FAR)).exp() * (FAR / z).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Random;
    use crate::golden;

    #[test]
    fn the_statistic_is_that_of_the_definition() {
        for case in golden::list("anderson_darling") {
            let gaps = golden::numbers(&case["gaps"]);
            golden::assert_close(
                exponential(&gaps).unwrap(),
                case["statistic"].as_f64().unwrap(),
                1e-9,
            );
        }
    }

    /// Against Anderson and Darling's own series, summed by the script.
    #[test]
    fn the_probability_is_that_of_the_series() {
        for case in golden::list("anderson_darling_p") {
            let z = case["statistic"].as_f64().unwrap();
            let (p, wanted) = (anderson_darling_p(z), case["p"].as_f64().unwrap());
            assert!((p - wanted).abs() < 1e-5 + wanted * 1e-3, "{z}: {p} {wanted}");
            if z > 6.0 {
                assert!((0.3..3.0).contains(&(p / wanted)), "{z}: {p} {wanted}");
            }
        }
        assert_eq!(anderson_darling_p(-1.0), 1.0);
        assert_eq!(anderson_darling_p(f64::NAN), 0.0);
        assert!(anderson_darling_p(f64::INFINITY) == 0.0);
    }

    /// 2000 right processes of 50 gaps: p below 1 % in 20 of them, 4σ is 18. And wrong ones.
    #[test]
    fn right_processes_pass_and_others_do_not() {
        let mut random = Random::new(1);
        let p = |gaps: &[f64]| anderson_darling_p(exponential(gaps).unwrap());
        let refused = (0..2000)
            .filter(|_| {
                let gaps: Vec<f64> = (0..50).map(|_| -random.unit().ln()).collect();
                p(&gaps) < 0.01
            })
            .count();
        assert!((2..=38).contains(&refused), "{refused}");
        let uniform: Vec<f64> = (0..500).map(|_| 2.0 * random.unit()).collect();
        assert!(p(&uniform) < 1e-9);
        assert!(p(&[1.0; 500]) < 1e-9);
        let fast: Vec<f64> = (0..500).map(|_| -random.unit().ln() * 0.7).collect();
        assert!(p(&fast) < 1e-6);
    }

    #[test]
    fn extremes_are_numbers() {
        assert_eq!(exponential(&[]), None);
        for gaps in [[0.0; 3], [f64::MAX; 3], [f64::INFINITY; 3]] {
            assert!(exponential(&gaps).unwrap() > 1.0);
        }
        assert_eq!(largest_deviation(&[], 1.0), None);
        assert_eq!(largest_deviation(&[2.0, 1.5, 2.25], 2.0), Some(0.5));
    }
}
