//! Values of journeys: think times, repetitions, captures.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::{ValueError, refuse};
use crate::journey::{Capture, Think};
use crate::units::{self, UnitError};

/// A think time, as `1s`, `exp 2s` or `uniform 1s..3s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime(pub Think);

impl FromStr for ThinkTime {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let time = |text: &str| {
            let wrong = |error: UnitError| ValueError(error.to_string());
            units::parse_duration_ns(text.trim()).map_err(wrong)
        };
        let think = match text.split_once(char::is_whitespace) {
            None => match time(text)? {
                0 => Think::None,
                ns => Think::Fixed { ns },
            },
            Some(("exp", mean)) => match time(mean)? {
                0 => return refuse("a mean of 0s is no distribution; use e.g. exp 2s"),
                mean_ns => Think::Exponential { mean_ns },
            },
            Some(("uniform", range)) => {
                let Some((low, high)) = range.split_once("..") else {
                    return refuse(format!("`{range}` is not a range; use e.g. uniform 1s..3s"));
                };
                let (low_ns, high_ns) = (time(low)?, time(high)?);
                if low_ns > high_ns || high_ns == 0 {
                    return refuse(format!("{range} is empty; write the shorter time first"));
                }
                Think::Uniform { low_ns, high_ns }
            }
            Some((word, _)) => {
                return refuse(format!(
                    "`{word}` is not a distribution; use e.g. 1s, exp 2s or uniform 1s..3s"
                ));
            }
        };
        Ok(ThinkTime(think))
    }
}

/// How often a step is made, as `3` or `1..3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat(pub u32, pub u32);

impl Repeat {
    /// The highest number.
    pub const MAX: u32 = 1_000_000;
}

impl FromStr for Repeat {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        match (low.trim().parse(), high.trim().parse()) {
            (Ok(low), Ok(high)) if low <= high && (1..=Repeat::MAX).contains(&high) => {
                Ok(Repeat(low, high))
            }
            _ => refuse(format!(
                "`{text}` is not a number of times; use e.g. 3 or 1..3, up to {}",
                units::fmt_count(Repeat::MAX.into())
            )),
        }
    }
}

/// Captures as a table of variables and sources.
pub(crate) fn captures<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Capture>, D::Error> {
    struct Captures;

    impl<'de> Visitor<'de> for Captures {
        type Value = Vec<Capture>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a table such as { token = \"json:$.token\" }")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Vec<Capture>, A::Error> {
            let mut all = Vec::new();
            while let Some((variable, source)) = table.next_entry::<String, String>()? {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if variable.is_empty() || !variable.chars().all(is_name) {
                    return Err(A::Error::custom(format_args!(
                        "`{variable}` is not a name for a variable; use letters, digits and _"
                    )));
                }
                all.push(Capture { variable, source });
            }
            Ok(all)
        }
    }

    input.deserialize_any(Captures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times() {
        let table = [
            ("1s", Think::Fixed { ns: 1_000_000_000 }),
            ("0s", Think::None),
            ("exp 2s", Think::Exponential { mean_ns: 2_000_000_000 }),
            ("uniform 1ms..3ms", Think::Uniform { low_ns: 1_000_000, high_ns: 3_000_000 }),
        ];
        for (text, think) in table {
            assert_eq!(text.parse(), Ok(ThinkTime(think)), "{text}");
        }
        let refused = [
            ("exp 0s", "a mean of 0s is no distribution"),
            ("uniform 3s..1s", "3s..1s is empty"),
            ("uniform 3s", "`3s` is not a range"),
            ("normal 1s", "`normal` is not a distribution"),
            ("soon", "soon"),
        ];
        for (text, message) in refused {
            let error = text.parse::<ThinkTime>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn repetitions() {
        assert_eq!("3".parse(), Ok(Repeat(3, 3)));
        assert_eq!("0..2".parse(), Ok(Repeat(0, 2)));
        for text in ["0", "2..1", "", "x", "1..", "1000001"] {
            assert!(text.parse::<Repeat>().is_err(), "{text}");
        }
    }
}
