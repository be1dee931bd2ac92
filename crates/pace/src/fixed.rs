//! Positions: fixed-point numbers of arrivals, with the only multiplication that they need.
//!
//! A position has 64 bits before the point and 64 behind it. At the slowest rates anyone asks for
//! (one a day) the last bit is a hundred-thousandth of a nanosecond, at the fastest (10⁹/s) the
//! first bit is reached after 292 years. Every function states how it rounds.

/// A number of arrivals in units of 2⁻⁶⁴.
pub(crate) type Position = u128;

/// The position of arrival `n`.
#[inline]
pub(crate) fn whole(n: u64) -> Position {
    u128::from(n) << 64
}

/// How many of the positions 0, 1, 2, … lie below `end`.
pub(crate) fn integers_below(end: Position) -> u64 {
    let floor = (end >> 64) as u64;
    if end as u64 == 0 { floor } else { floor.saturating_add(1) }
}

/// A position as a float, for estimates.
#[inline]
pub(crate) fn to_f64(position: Position) -> f64 {
    const ULP: f64 = 1.0 / (1u128 << 64) as f64;
    position as f64 * ULP
}

/// `value · numerator / denominator`, rounded down and rounded up. Saturates.
pub(crate) fn scale(value: Position, numerator: u64, denominator: u64) -> (Position, Position) {
    let (numerator, denominator) = (u128::from(numerator), u128::from(denominator));
    let low = u128::from(value as u64) * numerator;
    let high = (value >> 64) * numerator + (low >> 64);
    let (quotient, rest) = (high / denominator, high % denominator);
    if quotient >> 64 != 0 {
        return (Position::MAX, Position::MAX);
    }
    let low = (rest << 64) | u128::from(low as u64);
    let floor = (quotient << 64) | (low / denominator);
    (floor, if low % denominator == 0 { floor } else { floor.saturating_add(1) })
}

/// `value · numerator / denominator`, rounded down to a whole number. Saturates.
#[inline]
pub(crate) fn scale_whole(value: Position, numerator: u64, denominator: u64) -> u64 {
    let part = ((u128::from(value as u64) * u128::from(numerator)) >> 64) as u64;
    let whole = (value >> 64) as u64;
    match whole.checked_mul(numerator).and_then(|product| product.checked_add(part)) {
        Some(product) => product / denominator,
        None => {
            let product = u128::from(whole) * u128::from(numerator) + u128::from(part);
            u64::try_from(product / u128::from(denominator)).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scaling_rounds_as_it_says() {
        assert_eq!(scale(whole(10), 3, 5), (whole(6), whole(6)));
        let third = (1u128 << 64) / 3;
        assert_eq!(scale(whole(1), 1, 3), (third, third + 1));
        assert_eq!(scale(whole(u64::MAX), u64::MAX, 1), (Position::MAX, Position::MAX));
        assert_eq!(scale_whole(whole(7), 10, 4), 17);
        assert_eq!(scale_whole(whole(u64::MAX), u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(scale_whole(whole(u64::MAX), u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn integers_below_counts_from_zero() {
        assert_eq!(integers_below(0), 0);
        assert_eq!(integers_below(1), 1);
        assert_eq!(integers_below(whole(3)), 3);
        assert_eq!(integers_below(whole(3) + 1), 4);
        assert_eq!(integers_below(Position::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn scaling_down_undoes_scaling_up(
            value in 0u128..1 << 100, numerator in 1u64.., denominator in 1u64..,
        ) {
            let (floor, ceiling) = scale(value, numerator, denominator);
            prop_assert!(floor <= ceiling && ceiling - floor <= 1);
            if ceiling < Position::MAX {
                // ⌊v·n/d⌋·d/n ≤ v ≤ ⌈v·n/d⌉·d/n
                prop_assert!(scale(floor, denominator, numerator).0 <= value);
                prop_assert!(scale(ceiling, denominator, numerator).1 >= value);
                prop_assert_eq!(
                    u128::from(scale_whole(value, numerator, denominator)),
                    (floor >> 64).min(u128::from(u64::MAX))
                );
            }
        }
    }
}
