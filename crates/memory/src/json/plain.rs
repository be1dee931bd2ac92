//! Paths of names and indices: one pass over the body, which ends at the value.
//!
//! serde_json reads the body here and builds nothing: values that are passed are skipped without
//! recursion, and the one that is found is a slice of the body. What follows it is not read, so a body
//! that is broken behind the value is not noticed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Step;
use crate::{MOST_VALUE_BYTES, Why};

/// The value at the end of `steps`.
pub(super) fn find<'a>(steps: &[Step], body: &'a [u8]) -> Result<Cow<'a, [u8]>, Why> {
    let mut outcome = Outcome::Unknown;
    let mut json = serde_json::Deserializer::from_slice(body);
    let search = Search { steps, outcome: &mut outcome };
    let read = search.deserialize(&mut json);
    match outcome {
        // The body itself, so all of it has been read.
        Outcome::Found(_) if steps.is_empty() && json.end().is_err() => Err(Why::NotJson),
        Outcome::Found(raw) => text(raw.get()),
        Outcome::Absent => Err(Why::NotFound),
        Outcome::Unknown if read.is_ok() => Err(Why::NotFound),
        Outcome::Unknown => Err(Why::NotJson),
    }
}

/// The value that a JSON text stands for, as it is captured.
fn text(json: &str) -> Result<Cow<'_, [u8]>, Why> {
    // Each byte of a string takes at most six in JSON, `\u0041`, and there are two quotes.
    if json.len() > 6 * MOST_VALUE_BYTES + 2 {
        return Err(Why::TooLong);
    }
    let value = match json.as_bytes() {
        [b'"', content @ .., b'"'] => match memchr::memchr(b'\\', content) {
            None => Cow::Borrowed(content),
            Some(_) => {
                let text: String = serde_json::from_str(json).map_err(|_| Why::NotJson)?;
                Cow::Owned(text.into_bytes())
            }
        },
        b"null" => return Err(Why::NotFound),
        other => Cow::Borrowed(other),
    };
    if value.len() > MOST_VALUE_BYTES {
        return Err(Why::TooLong);
    }
    Ok(value)
}

enum Outcome<'de> {
    Unknown,
    Found(&'de RawValue),
    Absent,
}

struct Search<'s, 'o, 'de> {
    steps: &'s [Step],
    outcome: &'o mut Outcome<'de>,
}

impl<'de> DeserializeSeed<'de> for Search<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.steps.first() {
            Some(_) => json.deserialize_any(self),
            None => {
                *self.outcome = Outcome::Found(serde::Deserialize::deserialize(json)?);
                Ok(())
            }
        }
    }
}

/// A value that is neither object nor array has nothing in it, so these say nothing: the outcome is
/// unknown and the reading went well.
macro_rules! nothing_in {
    ($($method:ident($type:ty)),*) => {
        $(fn $method<E: Error>(self, _: $type) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Search<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    nothing_in!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Some((Step::Name(name), steps)) = self.steps.split_first() else {
            return stop(self.outcome);
        };
        while let Some(is_it) = members.next_key_seed(IsName(name))? {
            if is_it {
                members.next_value_seed(Search { steps, outcome: self.outcome })?;
                return stop(self.outcome);
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Some((Step::Index(index), steps)) = self.steps.split_first() else {
            return stop(self.outcome);
        };
        for _ in 0..*index {
            if elements.next_element::<IgnoredAny>()?.is_none() {
                return stop(self.outcome);
            }
        }
        elements.next_element_seed(Search { steps, outcome: self.outcome })?;
        stop(self.outcome)
    }
}

/// Nothing that follows can change the outcome: an error is how a visitor ends the reading.
fn stop<E: Error>(outcome: &mut Outcome<'_>) -> Result<(), E> {
    if let Outcome::Unknown = outcome {
        *outcome = Outcome::Absent;
    }
    Err(E::custom(""))
}

/// Compares a name, without a copy of it. Names that are not UTF-8 differ from any.
struct IsName<'s>(&'s str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_bytes(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<bool, E> {
        Ok(name == self.0.as_bytes())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}
