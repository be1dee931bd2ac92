//! A moment as text. Calendar arithmetic after Hinnant, "chrono-Compatible Low-Level Date
//! Algorithms", `civil_from_days`.

use std::fmt;

/// Seconds since 1970, shown as date and time in UTC (RFC 3339) without the `Z` at the end, before which a part of a
/// second may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(pub u64);

impl fmt::Display for Utc {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, s) = (self.0 / 86_400, self.0 % 86_400);
        // Days from 0000-03-01, in eras of 400 years. The days in a u64 of seconds cannot overflow here.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::Utc;

    #[test]
    fn known_moments() {
        for (s, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_700_000_000, "2023-11-14T22:13:20"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_399, "2100-02-28T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(Utc(s).to_string(), text);
        }
        assert!(!Utc(u64::MAX).to_string().is_empty());
    }
}
