//! The options of a journey: a `[[journey]]` table of a plan.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::RequestOptions;
use crate::units;
use crate::values::{SmallCount, ValueError, from_text, refuse};
use crate::work::journey::{Capture, OnFailure};

/// One `[[journey]]` table of a plan.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JourneyOptions {
    /// Name in reports.
    pub name: Option<String>,
    /// Share of the users.
    pub weight: Option<SmallCount>,
    /// Whether its users keep cookies.
    pub cookies: bool,
    /// Whose the connections of its users are: `shared` or `own`.
    pub connection: ConnectionUse,
    /// What follows a step that failed: `end` or `go-on`.
    pub on_failure: OnFailure,
    /// The `[[journey.step]]` tables.
    pub step: Vec<RequestOptions>,
}

/// Whose the connections of users are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// Each request takes any that is free.
    #[default]
    Shared,
    /// Each user has one, from its first step until it leaves.
    Own,
}

/// How often a step is made, as `3` or `1..3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat(pub u32, pub u32);

impl Repeat {
    /// The highest number.
    pub const MAX: u32 = 1_000_000;
}

from_text! { Repeat: "a number of times such as 3 or \"1..3\"", }

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
pub(super) fn captures<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Capture>, D::Error> {
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
    fn repetitions() {
        assert_eq!("3".parse(), Ok(Repeat(3, 3)));
        assert_eq!("0..2".parse(), Ok(Repeat(0, 2)));
        for text in ["0", "2..1", "", "x", "1..", "1000001"] {
            assert!(text.parse::<Repeat>().is_err(), "{text}");
        }
    }
}
