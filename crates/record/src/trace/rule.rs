//! Which requests are traced: a pure function of seed and index.
//!
//! Every request has a *rank*, a uniform 64-bit number that depends only on the seed and the
//! request's index. A request is traced if its rank is not above a bound. So the choice does not
//! depend on how long the request took, it is the same for any number of workers and in every run
//! of the plan, and a smaller share is a part of a larger one. The k requests of lowest rank are a
//! simple random sample of size k, for any k ("bottom-k sampling"; E. Cohen and H. Kaplan, PODC
//! 2007).

/// Chooses requests by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    seed: u64,
    bound: u64,
}

impl Rule {
    /// All of them.
    pub fn all(seed: u64) -> Self {
        Rule { seed, bound: u64::MAX }
    }

    /// One in `n` on average, `n` at least 1.
    pub fn one_in(seed: u64, n: u64) -> Self {
        Rule { seed, bound: u64::MAX / n.max(1) }
    }

    /// The same rule, restricted to ranks up to `bound`.
    pub fn narrowed_to(self, bound: u64) -> Self {
        Rule { bound: self.bound.min(bound), ..self }
    }

    /// Whether request `index` is chosen.
    #[inline]
    pub fn chooses(&self, index: u64) -> bool {
        self.bound == u64::MAX || self.rank(index) <= self.bound
    }

    /// The rank of request `index`: the `index`-th output of SplitMix64 from this seed (G. Steele,
    /// D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), which is a
    /// bijection of the index, so no two requests have the same rank.
    #[inline]
    pub fn rank(&self, index: u64) -> u64 {
        // Keeps ranks independent of the run's other uses of the seed.
        const TRACE: u64 = 0x7472_6163_655f_5f31;
        let step = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.seed ^ TRACE).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn one_in_n_is_that_share_and_a_part_of_larger_shares() {
        let (hundredth, tenth) = (Rule::one_in(7, 100), Rule::one_in(7, 10));
        let indices = 0..1_000_000;
        let chosen: Vec<u64> = indices.filter(|&index| hundredth.chooses(index)).collect();
        // Binomial with mean 10,000 and standard deviation 99.5: the bounds are four of these, the
        // seed is fixed.
        assert!((9_602..=10_398).contains(&chosen.len()), "{}", chosen.len());
        assert!(chosen.iter().all(|&index| tenth.chooses(index)));
        assert!((0..1000).all(|index| Rule::one_in(7, 1).chooses(index)));
    }

    #[test]
    fn the_choice_does_not_follow_the_index() {
        // Every residue of the index is chosen equally often, so that no worker and no request of
        // a rotation is preferred. Chi-squared with 15 degrees of freedom, 99.9 %: 37.7.
        let rule = Rule::one_in(3, 20);
        let mut counts = [0f64; 16];
        for index in (0..1_600_000).filter(|&index| rule.chooses(index)) {
            counts[index as usize % 16] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 16.0;
        let chi_squared: f64 = counts.iter().map(|n| (n - mean).powi(2) / mean).sum();
        assert!(chi_squared < 37.7, "{chi_squared}");
    }
}
