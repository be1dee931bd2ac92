//! Random numbers that are the same everywhere: integers from public generators, and exponential
//! gaps from them, by our own logarithm.
//!
//! The logarithm uses additions, multiplications and divisions only, whose rounding IEEE 754
//! defines. The system's `ln` may differ in the last bit between machines, and then so would the
//! schedule.

/// 2⁶⁴ divided by the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The `n`th output of SplitMix64 for a seed (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014): a counter-based hash.
#[inline]
pub fn split_mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below `n` from 64 random bits, n up to 2⁶⁴: the high half of the product. Its bias is below n/2⁶⁴.
#[inline]
pub fn below(n: u128, bits: u64) -> u64 {
    ((u128::from(bits) * n) >> 64) as u64
}

/// 64 random bits: a pure function of seed, stream and index.
#[inline]
pub fn draw(seed: u64, stream: u64, index: u64) -> u64 {
    split_mix(split_mix(seed, stream), index)
}

/// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
/// seeded as its authors recommend. Its period of 2²⁵⁶ keeps a thousand streams from ever
/// overlapping.
#[derive(Debug, Clone)]
pub(crate) struct Xoshiro {
    state: [u64; 4],
}

impl Xoshiro {
    /// Stream number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let seed = split_mix(split_mix(seed, 0), stream);
        Xoshiro { state: [0, 1, 2, 3].map(|n| split_mix(seed, n)) }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// The next [`exponential`] variate.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        exponential(self.next())
    }
}

/// The exponential variate of mean 1, above 0 and below 37, that these random bits make: −ln u with u
/// uniform among the odd multiples of 2⁻⁵³ in (0, 1).
#[inline]
pub fn exponential(bits: u64) -> f64 {
    const ULP: f64 = 1.0 / (1u64 << 53) as f64;
    let odd = (bits >> 11) | 1;
    -ln(odd as f64 * ULP)
}

/// The natural logarithm of a normal number above zero, to twelve digits: no sample is large
/// enough to show the rest.
///
/// With x = 2ᵉ·m, m in [√½, √2) and s = (m−1)/(m+1), |s| < 0.172:
/// `ln x = e·ln 2 + 2s·(1 + z/3 + z²/5 + …)` with z = s². The first term left out, z⁷/15, is below
/// 1.3·10⁻¹².
#[inline]
fn ln(x: f64) -> f64 {
    const SQRT_HALF_BITS: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // No branch: the side of √½ on which a random mantissa falls is unpredictable.
    let exponent = (x.to_bits().wrapping_sub(SQRT_HALF_BITS) as i64) >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_sub((exponent as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let w = z * z;
    // Even and odd powers of z separately: two short chains instead of a long one.
    let even = 1.0 + w * (1.0 / 5.0 + w * (1.0 / 9.0 + w * (1.0 / 13.0)));
    let odd = 1.0 / 3.0 + w * (1.0 / 7.0 + w * (1.0 / 11.0));
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * (even + z * odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the authors' C: SplitMix64 seeded with 1234567.
    #[test]
    fn split_mix_gives_the_published_numbers() {
        let first: Vec<u64> = (0..3).map(|n| split_mix(1_234_567, n)).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    /// From the authors' C: xoshiro256++ with the state 1, 2, 3, 4.
    #[test]
    fn xoshiro_gives_the_published_numbers() {
        let mut generator = Xoshiro { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| generator.next()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn the_logarithm_agrees_with_the_standard_one() {
        let ulp = 1.0 / (1u64 << 53) as f64;
        for n in 0..100_000u64 {
            let x = ((split_mix(7, n) >> (11 + n % 53)) | 1) as f64 * ulp;
            let expected = x.ln();
            let error = (ln(x) - expected).abs();
            assert!(error <= 2e-12 * expected.abs(), "ln({x}): off by {error}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    /// Bit patterns, so that a machine with other arithmetic fails.
    #[test]
    fn gaps_are_the_same_on_every_machine() {
        let mut generator = Xoshiro::new(42, 0);
        let bits: Vec<u64> = (0..3).map(|_| generator.exponential().to_bits()).collect();
        let expected = [4590752051764513990, 4599424436570163621, 4605308601855524248];
        assert_eq!(bits, expected);
    }

    #[test]
    fn exponential_gaps_have_mean_and_deviation_one() {
        let mut generator = Xoshiro::new(1, 1);
        let n = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let gap = generator.exponential();
            assert!(gap > 0.0 && gap < 37.0);
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // 4σ of the mean is 0.004, of the variance (kurtosis 9) 4·√(8/n) = 0.011.
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
        assert!((variance - 1.0).abs() < 0.011, "{variance}");
    }
}
