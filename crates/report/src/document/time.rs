//! A moment as text.

use candor_plan::units::Utc;

/// RFC 3339 in UTC to the millisecond, from milliseconds since 1970.
pub fn rfc3339(unix_ms: u64) -> String {
    format!("{}.{:03}Z", Utc(unix_ms / 1000), unix_ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn known_moments() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
        }
    }
}
