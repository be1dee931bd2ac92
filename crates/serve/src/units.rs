//! Sizes and times as people write them, in flags and in paths.

use std::time::Duration;

/// `512`, `64k`, `1m`, `1.5G`: bytes, in powers of 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write for example 512, 64k or 1m");
    let (number, unit) = split(text);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let fraction: f64 = number.parse().map_err(|_| wrong())?;
    Ok((fraction * factor as f64) as u64)
}

/// `100us`, `10ms`, `1.5s`, `2m`: a time, at most a thousand hours.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write for example 100us, 10ms or 2s");
    let (number, unit) = split(text);
    let unit_ns: f64 = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        "" if number == "0" => 1.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let ns = number * unit_ns;
    if ns > LONGEST_NS {
        return Err(wrong());
    }
    Ok(Duration::from_nanos(ns as u64))
}

const LONGEST_NS: f64 = 1000.0 * 3600e9;

/// The number and its unit. The number holds digits and points only, so that no `inf`, sign or
/// exponent gets through.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size("0"), Ok(0));
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("64k"), Ok(65536));
        assert_eq!(parse_size("1M"), Ok(1 << 20));
        assert_eq!(parse_size("1.5g"), Ok(3 << 29));
        for wrong in ["", "k", "-1", "1x", "1e3", "inf", "99999999999g", "1.2.3k"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "ms", "-1s", "1e9s", "1.1.1s", "9999h", "1 s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
