//! Quantities as people write and read them: durations, rates, shares, counts.
//!
//! The only place in this crate that knows unit names. Parsers serve `--expect`; formatters serve
//! the text renderings. Documents hold plain numbers and never come here.

/// Why a quantity could not be read: half a sentence, to be put behind the text.
pub(crate) type UnitError = String;

/// A duration in nanoseconds: a number and a unit, such as `1.5ms`.
pub(crate) fn parse_duration_ns(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split_number(text)?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "" => return Err(format!("'{text}' has no unit; write for example {text}ms")),
        _ => return Err(format!("'{unit}' is not a unit of time; use ns, us, ms, s, m or h")),
    };
    Ok(number * factor)
}

/// A rate in events per second, such as `20k/s` or `90/m`; without a unit, per second.
pub(crate) fn parse_rate_per_s(text: &str) -> Result<f64, UnitError> {
    match text.split_once('/') {
        None => parse_count(text),
        Some((count, "s")) => parse_count(count),
        Some((count, "m")) => Ok(parse_count(count)? / 60.0),
        Some((_, unit)) => Err(format!("'/{unit}' is not a unit of a rate; use /s or /m")),
    }
}

/// A share in [0, 1], such as `0.1%` or `0.001`.
pub(crate) fn parse_share(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split_number(text)?;
    match unit {
        "%" => Ok(number / 100.0),
        "" if number <= 1.0 => Ok(number),
        "" => Err(format!("'{text}' is more than all of it; write {text}%")),
        _ => Err(format!("'{unit}' is not a unit of a share; write for example 0.1%")),
    }
}

/// A count, such as `500`, `20k` or `1.5M`.
pub(crate) fn parse_count(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split_number(text)?;
    match unit {
        "" => Ok(number),
        "k" | "K" => Ok(number * 1e3),
        "M" => Ok(number * 1e6),
        "G" => Ok(number * 1e9),
        _ => Err(format!("'{unit}' is not a multiple; use k, M or G")),
    }
}

/// The number at the beginning, and what follows it.
fn split_number(text: &str) -> Result<(f64, &str), UnitError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 =
        number.parse().map_err(|_| format!("'{text}' does not begin with a number"))?;
    Ok((number, unit.trim_start()))
}

/// Three significant digits and a unit: `45.1 µs`.
pub(crate) fn duration(ns: f64) -> String {
    const STEPS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    let mut chosen = STEPS[0];
    for step in STEPS {
        // 999.5 and above would be printed as 1000 of the smaller unit.
        if ns >= step.0 * 0.9995 {
            chosen = step;
        }
    }
    let (factor, unit) = chosen;
    if factor == 1.0 && ns.fract() == 0.0 {
        return format!("{ns} {unit}");
    }
    format!("{} {unit}", three_digits(ns / factor))
}

/// A rate per second: `20,000/s`, `12.5/s`.
pub(crate) fn rate(per_s: f64) -> String {
    if per_s >= 1000.0 || per_s.fract() == 0.0 {
        format!("{}/s", count(per_s.round() as u64))
    } else {
        format!("{}/s", three_digits(per_s))
    }
}

/// Bytes with a binary multiple: `28.6 MiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    const STEPS: [(f64, &str); 5] = [
        (1.0, "B"),
        (1024.0, "KiB"),
        (1024.0 * 1024.0, "MiB"),
        (1024.0 * 1024.0 * 1024.0, "GiB"),
        (1024.0 * 1024.0 * 1024.0 * 1024.0, "TiB"),
    ];
    let (factor, unit) =
        STEPS.into_iter().rev().find(|step| bytes >= step.0 * 0.9995).unwrap_or(STEPS[0]);
    if factor == 1.0 && bytes.fract() == 0.0 {
        return format!("{bytes} {unit}");
    }
    format!("{} {unit}", three_digits(bytes / factor))
}

/// A share of one in per cent, never rounded to all or nothing: `99.99 %`, `<0.001 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        100.0 => "100 %".to_owned(),
        p if p < 0.001 => "<0.001 %".to_owned(),
        p if p > 99.995 && p < 100.0 => ">99.99 %".to_owned(),
        p if p < 0.0995 => format!("{p:.3} %"),
        p if p < 9.995 || (99.0..100.0).contains(&p) => format!("{p:.2} %"),
        p => format!("{p:.1} %"),
    }
}

/// A whole number with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration_ns("1.5ms"), Ok(1_500_000.0));
        assert_eq!(parse_duration_ns("2 h"), Ok(7.2e12));
        assert_eq!(parse_duration_ns("250us"), parse_duration_ns("250µs"));
        assert!(parse_duration_ns("5").unwrap_err().contains("5ms"));
        assert!(parse_duration_ns("5parsec").unwrap_err().contains("parsec"));
        assert!(parse_duration_ns("ms").is_err());
        assert!(parse_duration_ns("1.2.3ms").is_err());
        assert!(parse_duration_ns("-1ms").is_err());
    }

    #[test]
    fn rates_and_shares() {
        assert_eq!(parse_rate_per_s("20k/s"), Ok(20_000.0));
        assert_eq!(parse_rate_per_s("90/m"), Ok(1.5));
        assert_eq!(parse_rate_per_s("5"), Ok(5.0));
        assert!(parse_rate_per_s("5/fortnight").is_err());
        assert_eq!(parse_share("50%"), Ok(0.5));
        assert_eq!(parse_share("0.001"), Ok(0.001));
        assert!(parse_share("99").unwrap_err().contains("99%"));
    }

    #[test]
    fn three_digits_and_the_right_unit() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (1000.0, "1.00 µs"),
            (45_120.0, "45.1 µs"),
            (999_600.0, "1.00 ms"),
            (1_234_567.0, "1.23 ms"),
            (2e9, "2.00 s"),
            (3.6e12, "3600 s"),
            (12.345, "12.3 ns"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_001, "<0.001 %"),
            (0.0004, "0.040 %"),
            (0.05, "5.00 %"),
            (0.5, "50.0 %"),
            (0.995, "99.50 %"),
            (0.999_999, ">99.99 %"),
            (1.0, "100 %"),
            (1.02, "102.0 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn counts_bytes_and_rates() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023.0), "1023 B");
        assert_eq!(bytes(30_000_000.0), "28.6 MiB");
        assert_eq!(rate(20_000.4), "20,000/s");
        assert_eq!(rate(12.5), "12.5/s");
        assert_eq!(rate(0.01), "0.01/s");
    }
}
