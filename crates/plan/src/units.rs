//! Durations, counts, sizes and rates: from text to exact integers and back.
//!
//! Text comes from flags, TOML and the load grammar; integers go to the plan. No float is
//! involved on the way, so `0.01/s` is one event in exactly 100 s; only a share, which enters no
//! plan, is a float. The functions that begin with `fmt_` print for people and round; those that
//! begin with `print_` are exact, and what they print parses to the same value.
//!
//! | quantity | units | a bare number |
//! |---|---|---|
//! | duration | `ns us µs ms s m h d` | seconds, as in wrk |
//! | count | `k M G` = 10³, 10⁶, 10⁹, as in wrk | itself |
//! | size | `k M G` = 10³, 10⁶, 10⁹; `Ki Mi Gi` = 2¹⁰, 2²⁰, 2³⁰; a `B` may follow | bytes |
//! | share | `%` | itself, in [0, 1] |
//! | rate | a count, then `/` and a duration whose number may be left out | per second |
//!
//! Case does not matter. Decimals are allowed if the result is whole.

mod human;
mod moment;

pub use human::{
    fmt_bytes, fmt_count, fmt_digits, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_rate,
    fmt_share, fmt_short, with_commas,
};
pub use moment::Utc;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// The longest duration: 366 days. Sums of a few durations stay far below 2⁶⁴ ns.
pub const MAX_DURATION_NS: u64 = 366 * 24 * 3600 * NS_PER_S;

/// Whether this is a time above zero that a plan can have.
pub(crate) fn is_time(ns: u64) -> bool {
    (1..=MAX_DURATION_NS + 1).contains(&ns)
}

/// The longest time over which a rate may be spread, in nanoseconds. This bounds the integers that
/// exact schedules multiply.
const MAX_RATE_PER_NS: u64 = 1_000_000_000_000_000_000;

/// Units of time and their length in nanoseconds.
const TIME_UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),  // micro sign
    ("\u{3bc}s", 1_000), // Greek mu
    ("ms", 1_000_000),
    ("s", NS_PER_S),
    ("m", 60 * NS_PER_S),
    ("h", 3600 * NS_PER_S),
    ("d", 24 * 3600 * NS_PER_S),
];

/// The intended quantity of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A length of time.
    Duration,
    /// A number of things.
    Count,
    /// A number of bytes.
    Size,
    /// Events per time.
    Rate,
    /// A part of a whole.
    Share,
}

impl Quantity {
    fn noun(self) -> &'static str {
        match self {
            Quantity::Duration => "a duration",
            Quantity::Count => "a count",
            Quantity::Size => "a size",
            Quantity::Rate => "a rate",
            Quantity::Share => "a share",
        }
    }

    /// How to write it, as half a sentence for an error.
    pub fn remedy(self) -> &'static str {
        match self {
            Quantity::Duration => "write a number and a unit, such as 250us, 10ms, 1.5s, 30 or 2m",
            Quantity::Count => "write a whole number such as 100, 1k or 2M",
            Quantity::Size => "write a number of bytes such as 512, 64k, 1.5M or 4KiB",
            Quantity::Rate => "write events per time, such as 20k, 20k/s, 30/m or 0.01/s",
            Quantity::Share => "write a percentage such as 0.1% or 99%",
        }
    }

    fn limit(self) -> &'static str {
        match self {
            Quantity::Duration => "366d",
            Quantity::Count | Quantity::Size => "18446744073709551615",
            Quantity::Rate => "1G/s",
            Quantity::Share => "1 without a % sign",
        }
    }

    fn grain(self) -> &'static str {
        match self {
            Quantity::Duration => "whole nanoseconds",
            Quantity::Count => "a whole number",
            Quantity::Size => "whole bytes",
            Quantity::Rate => "an exact fraction over at most 30 years",
            Quantity::Share => "a number of at most 38 digits",
        }
    }
}

/// A rate as an exact fraction: `events` in every `per_ns` nanoseconds.
///
/// Not reduced: it keeps the unit that the user chose, so `30/m` is 30 in 60 s. `per_ns` is at most
/// 10¹⁸.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Events, up to 10⁹ in a second.
    pub events: u64,
    /// The time for these events in nanoseconds, above zero.
    pub per_ns: u64,
}

impl Rate {
    /// `events` in a second.
    pub fn per_second(events: u64) -> Self {
        Rate { events, per_ns: NS_PER_S }
    }

    /// In events per second, for display and estimates; never for a schedule.
    pub fn per_s_f64(self) -> f64 {
        self.events as f64 * NS_PER_S as f64 / self.per_ns as f64
    }
}

/// Why a text is not a quantity. The caller, who knows its place, names the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a number with a known unit.
    #[error("not {}; {}", .0.noun(), .0.remedy())]
    Syntax(Quantity),
    /// Below zero.
    #[error("{} cannot be negative; {}", .0.noun(), .0.remedy())]
    Negative(Quantity),
    /// Zero where that makes no sense.
    #[error("{} must be above zero; {}", .0.noun(), .0.remedy())]
    Zero(Quantity),
    /// Above the limit.
    #[error("too large; {} can be at most {}", .0.noun(), .0.limit())]
    TooLarge(Quantity),
    /// Too fine to be kept exactly.
    #[error("too fine; {} is kept as {}: leave out decimals", .0.noun(), .0.grain())]
    TooFine(Quantity),
}

/// Parses a duration into nanoseconds; a bare number is seconds.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = Decimal::parse(text, Quantity::Duration)?;
    let unit_ns = match unit {
        "" => NS_PER_S,
        unit => time_unit_ns(unit).ok_or(UnitError::Syntax(Quantity::Duration))?,
    };
    let duration_ns = number.times(unit_ns, Quantity::Duration)?;
    match duration_ns {
        0..=MAX_DURATION_NS => Ok(duration_ns),
        _ => Err(UnitError::TooLarge(Quantity::Duration)),
    }
}

/// Whether `word` is a unit of time.
pub(crate) fn is_time_unit(word: &str) -> bool {
    time_unit_ns(word).is_some()
}

fn time_unit_ns(unit: &str) -> Option<u64> {
    TIME_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, ns)| *ns)
}

/// Prints a duration so that it parses to exactly the same.
pub fn print_duration_ns(duration_ns: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60)];
    for (name, seconds) in units {
        if duration_ns > 0 && duration_ns.is_multiple_of(seconds * NS_PER_S) {
            return format!("{}{name}", duration_ns / (seconds * NS_PER_S));
        }
    }
    let (name, unit_ns, decimals) = match duration_ns {
        0..1_000 => ("ns", 1, 0),
        1_000..1_000_000 => ("us", 1_000, 3),
        1_000_000..NS_PER_S => ("ms", 1_000_000, 6),
        _ => ("s", NS_PER_S, 9),
    };
    let whole = (duration_ns / unit_ns).to_string();
    with_fraction(whole, u128::from(duration_ns % unit_ns), decimals) + name
}

/// Parses a count; `k`, `M` and `G` are thousands, as in wrk.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = Decimal::parse(text, Quantity::Count)?;
    let factor = decimal_prefix(unit).ok_or(UnitError::Syntax(Quantity::Count))?;
    number.times(factor, Quantity::Count)
}

/// Parses a size in bytes; `k`, `M`, `G` are decimal, `Ki`, `Mi`, `Gi` are binary.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = Decimal::parse(text, Quantity::Size)?;
    let prefix = unit.strip_suffix(['b', 'B']).unwrap_or(unit);
    let factor = match prefix.strip_suffix(['i', 'I']) {
        Some(prefix) => binary_prefix(prefix),
        None => decimal_prefix(prefix),
    };
    number.times(factor.ok_or(UnitError::Syntax(Quantity::Size))?, Quantity::Size)
}

fn decimal_prefix(unit: &str) -> Option<u64> {
    Some(match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    })
}

fn binary_prefix(unit: &str) -> Option<u64> {
    Some(match unit {
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    })
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_rate(text)
    }
}

/// Parses a rate above zero as an exact fraction; see [`parse_rate_or_zero`].
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    match parse_rate_or_zero(text)? {
        Rate { events: 0, .. } => Err(UnitError::Zero(Quantity::Rate)),
        rate => Ok(rate),
    }
}

/// Parses a rate as an exact fraction.
///
/// The fraction keeps the time that was typed, so that it prints as it was typed: `30/m` is 30 in a
/// minute. Times that divide a second become one second, and each decimal multiplies the time by
/// ten.
pub fn parse_rate_or_zero(text: &str) -> Result<Rate, UnitError> {
    const RATE: Quantity = Quantity::Rate;
    let (events, per_ns) = match text.split_once('/') {
        None => (text, NS_PER_S),
        Some((events, per)) => (events, parse_per_ns(per.trim())?),
    };
    let (number, unit) = Decimal::parse(events, RATE)?;
    let factor = decimal_prefix(unit).ok_or(UnitError::Syntax(RATE))?;
    let mut events =
        number.mantissa.checked_mul(u128::from(factor)).ok_or(UnitError::TooLarge(RATE))?;
    let mut decimals = number.scale;
    while decimals > 0 && events.is_multiple_of(10) {
        events /= 10;
        decimals -= 1;
    }
    if events == 0 {
        return Ok(Rate { events: 0, per_ns: NS_PER_S });
    }
    let mut per_ns = 10u64
        .checked_pow(decimals)
        .and_then(|tens| per_ns.checked_mul(tens))
        .filter(|per_ns| *per_ns <= MAX_RATE_PER_NS)
        .ok_or(UnitError::TooFine(RATE))?;
    // At most 10⁹ in a second means at most one in a nanosecond.
    if events > u128::from(per_ns) {
        return Err(UnitError::TooLarge(RATE));
    }
    let mut events = events as u64;
    if per_ns < NS_PER_S && NS_PER_S.is_multiple_of(per_ns) {
        events *= NS_PER_S / per_ns;
        per_ns = NS_PER_S;
    }
    Ok(Rate { events, per_ns })
}

/// The time after the slash of a rate: a unit, or a duration.
fn parse_per_ns(per: &str) -> Result<u64, UnitError> {
    if let Some(unit_ns) = time_unit_ns(per) {
        return Ok(unit_ns);
    }
    let with_unit = per.ends_with(|last: char| last.is_alphabetic());
    match parse_duration_ns(per) {
        Ok(0) | Err(_) => Err(UnitError::Syntax(Quantity::Rate)),
        Ok(per_ns) if with_unit => Ok(per_ns),
        Ok(_) => Err(UnitError::Syntax(Quantity::Rate)),
    }
}

/// Parses a share: `0.1%`, or `0.001`. Without the sign it is at most 1, so that a forgotten sign
/// does not ask for ninety-nine times the whole.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = Decimal::parse(text, Quantity::Share)?;
    let tens = 10f64.powi(number.scale.try_into().unwrap_or(i32::MAX));
    let value = number.mantissa as f64;
    match unit {
        "%" => Ok(value / (tens * 100.0)),
        "" if value <= tens => Ok(value / tens),
        "" => Err(UnitError::TooLarge(Quantity::Share)),
        _ => Err(UnitError::Syntax(Quantity::Share)),
    }
}

/// Prints a rate so that it parses to exactly the same rate.
pub fn print_rate(rate: Rate) -> String {
    match as_typed(rate) {
        Some(typed) => {
            with_fraction(typed.whole.to_string(), typed.fraction, typed.decimals) + typed.per
        }
        None => {
            // A time out of range came from decimals, so print them again.
            let in_range = |decimals: &u32| {
                let tens = 10u64.pow(*decimals);
                rate.per_ns.is_multiple_of(tens) && rate.per_ns / tens <= MAX_DURATION_NS
            };
            let decimals = (0..=18).find(in_range).unwrap_or(0);
            let tens = 10u64.pow(decimals);
            let whole = (rate.events / tens).to_string();
            let events = with_fraction(whole, u128::from(rate.events % tens), decimals);
            format!("{events}/{}ns", rate.per_ns / tens)
        }
    }
}

/// A rate as a decimal number of events per unit of time.
struct TypedRate {
    whole: u64,
    fraction: u128,
    decimals: u32,
    per: &'static str,
}

/// `rate` with decimals, if its time is a power of ten times a unit.
fn as_typed(rate: Rate) -> Option<TypedRate> {
    let units = [
        ("/s", NS_PER_S),
        ("/m", 60 * NS_PER_S),
        ("/h", 3600 * NS_PER_S),
        ("/d", 86_400 * NS_PER_S),
    ];
    units.into_iter().find_map(|(per, unit_ns)| {
        let decimals = (0..=9)
            .find(|&decimals| unit_ns.checked_mul(10u64.pow(decimals)) == Some(rate.per_ns))?;
        let tens = 10u64.pow(decimals);
        Some(TypedRate {
            whole: rate.events / tens,
            fraction: u128::from(rate.events % tens),
            decimals,
            per,
        })
    })
}

/// `whole` and, after a point, `fraction` with this number of `decimals`, without trailing zeros.
fn with_fraction(whole: String, fraction: u128, decimals: u32) -> String {
    if fraction == 0 {
        return whole;
    }
    let digits = format!("{fraction:0width$}", width = decimals as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// A decimal number as it was typed: `mantissa / 10^scale`, unrounded.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    mantissa: u128,
    scale: u32,
}

impl Decimal {
    /// The number at the beginning of `text`, and the unit after it.
    fn parse(text: &str, quantity: Quantity) -> Result<(Decimal, &str), UnitError> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(UnitError::Negative(quantity));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(UnitError::Syntax(quantity)),
            None => (number, ""),
        };
        if whole.is_empty() || fraction.contains('.') {
            return Err(UnitError::Syntax(quantity));
        }
        let fraction = fraction.trim_end_matches('0');
        let mut mantissa = digits(0, whole).ok_or(UnitError::TooLarge(quantity))?;
        mantissa = digits(mantissa, fraction).ok_or(UnitError::TooFine(quantity))?;
        let scale = u32::try_from(fraction.len()).map_err(|_| UnitError::TooFine(quantity))?;
        Ok((Decimal { mantissa, scale }, unit.trim_start()))
    }

    /// The number times `factor`, which must come out whole.
    fn times(self, factor: u64, quantity: Quantity) -> Result<u64, UnitError> {
        let product =
            self.mantissa.checked_mul(u128::from(factor)).ok_or(UnitError::TooLarge(quantity))?;
        let tens = 10u128.checked_pow(self.scale).ok_or(UnitError::TooFine(quantity))?;
        if !product.is_multiple_of(tens) {
            return Err(UnitError::TooFine(quantity));
        }
        u64::try_from(product / tens).map_err(|_| UnitError::TooLarge(quantity))
    }
}

/// Appends decimal digits to a number; `None` if it grows beyond 2¹²⁸.
fn digits(start: u128, text: &str) -> Option<u128> {
    text.bytes().try_fold(start, |number, digit| {
        number.checked_mul(10)?.checked_add(u128::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests;
