//! Numbers for people to read in reports: three significant digits, thousands separated.
//!
//! They are rounded and not for parsing. Every rendering uses them, so that a number looks the same
//! everywhere.

use super::{NS_PER_S, Rate, as_typed, with_fraction};

/// A duration with three significant digits: `117 ns`, `1.05 ms`, `30 s`, `2 m`.
///
/// Zeros are left out where nothing was rounded away: `1.5 s` is exact, `1.50 s` is not.
pub fn fmt_duration_ns(duration_ns: u64) -> String {
    const MINUTE_NS: u64 = 60 * NS_PER_S;
    const HOUR_NS: u64 = 60 * MINUTE_NS;
    if duration_ns > 0 && duration_ns.is_multiple_of(HOUR_NS) {
        return format!("{} h", fmt_count(duration_ns / HOUR_NS));
    }
    if duration_ns > 0 && duration_ns.is_multiple_of(MINUTE_NS) && duration_ns < 100 * MINUTE_NS {
        return format!("{} m", duration_ns / MINUTE_NS);
    }
    let units = [
        ("ns", 1),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", NS_PER_S),
        ("m", MINUTE_NS),
        ("h", HOUR_NS),
    ];
    three_digits(duration_ns, &units)
}

/// A number of bytes with three significant digits: `512 B`, `1.5 MB`. Prefixes are decimal, as
/// sizes are parsed.
pub fn fmt_bytes(bytes: u64) -> String {
    let units = [
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("PB", 1_000_000_000_000_000),
    ];
    three_digits(bytes, &units)
}

/// A figure for tables, with three digits that matter: `1.23 M`, `307 k`, `20.4 k`, `980`, `24.7`; a dash if it
/// is not a number.
pub fn fmt_short(value: f64) -> String {
    match value {
        value if !value.is_finite() => "–".to_owned(),
        value if value >= 999_500.0 => fmt_digits(value / 1e6) + " M",
        value if value >= 999.5 => fmt_digits(value / 1e3) + " k",
        value => fmt_digits(value),
    }
}

/// The three digits that matter of a number, and all of those before its point: `9.87`, `-32.1`, `1,790`.
pub fn fmt_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size => 1 + usize::from(size < 9.995),
    };
    with_commas(&format!("{value:.decimals$}"))
}

/// `value` in the first unit in which it has at most three digits before the point.
fn three_digits(value: u64, units: &[(&str, u64)]) -> String {
    for &(name, unit) in units {
        for (decimals, tens) in [(2, 100), (1, 10), (0, 1)] {
            if unit == 1 && decimals > 0 {
                continue;
            }
            let scaled = u128::from(value) * tens;
            let rounded = (scaled + u128::from(unit) / 2) / u128::from(unit);
            if rounded < 1000 {
                let exact = scaled.is_multiple_of(u128::from(unit));
                return format!("{} {name}", fixed(rounded, decimals, exact));
            }
        }
    }
    let &(name, unit) = units.last().unwrap_or(&("", 1));
    format!("{} {name}", fmt_count(value / unit))
}

/// `scaled / 10^decimals`; trailing zeros only where `exact` is false.
fn fixed(scaled: u128, decimals: u32, exact: bool) -> String {
    let tens = 10u128.pow(decimals);
    let (whole, fraction) = (scaled / tens, scaled % tens);
    match (decimals, exact) {
        (0, _) => whole.to_string(),
        (_, true) => with_fraction(whole.to_string(), fraction, decimals),
        (_, false) => format!("{whole}.{fraction:0width$}", width = decimals as usize),
    }
}

/// A count with separated thousands: `1,234,567`.
pub fn fmt_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A written number with separated thousands: `-1,790.5`.
pub fn with_commas(number: &str) -> String {
    let digits = number.trim_start_matches(['-', '+']);
    let sign = &number[..number.len() - digits.len()];
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    match whole.parse() {
        Ok(whole) => format!("{sign}{}{fraction}", fmt_count(whole)),
        Err(_) => number.to_owned(),
    }
}

/// An asked rate as it was typed: `20,000/s`, `30/m`, `0.01/s`.
pub fn fmt_rate(rate: Rate) -> String {
    match as_typed(rate) {
        Some(typed) => {
            with_fraction(fmt_count(typed.whole), typed.fraction, typed.decimals) + typed.per
        }
        None => fmt_per_second(rate.per_s_f64()),
    }
}

/// A count with its noun: `1 thread`, `1,000 threads`.
pub fn fmt_plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", fmt_count(count)),
    }
}

/// A share in [0, 1] in per cent, never rounded to all or nothing: `99.99 %`, `<0.001 %`.
pub fn fmt_share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if !p.is_finite() => "–".to_owned(),
        p if p <= 0.0 => "0 %".to_owned(),
        100.0 => "100 %".to_owned(),
        p if p < 0.001 => "<0.001 %".to_owned(),
        p if p > 99.995 && p < 100.0 => ">99.99 %".to_owned(),
        p if p < 0.0995 => format!("{p:.3} %"),
        p if p < 9.995 || (99.0..100.0).contains(&p) => format!("{p:.2} %"),
        p => format!("{} %", with_commas(&format!("{p:.1}"))),
    }
}

/// A measured rate per second: `160,123/s`, `99.93/s`, `12/s`, `0.01/s`; a dash if there is none.
///
/// Zeros are left out where nothing was rounded away.
pub fn fmt_per_second(rate_per_s: f64) -> String {
    if !rate_per_s.is_finite() || rate_per_s < 0.0 {
        return "–".to_owned();
    }
    let decimals = match rate_per_s {
        rate if rate >= 999.95 => return format!("{}/s", fmt_count(rate.round() as u64)),
        rate if rate >= 99.995 => 1,
        rate if rate >= 1.0 => 2,
        rate if rate > 0.0 => 4,
        _ => 0,
    };
    let mut text = format!("{rate_per_s:.decimals$}");
    if decimals > 0 && text.parse() == Ok(rate_per_s) {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text + "/s"
}
