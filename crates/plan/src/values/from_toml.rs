//! Values in TOML: they parse from the same text as on the command line.
//!
//! Numbers are parsed from their text, lists may be given as one string, headers also as a table.
//! Errors carry no place; the TOML library and `plan_file` add it.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};

use super::{
    CallName, Count, Digits, Direct, Header, HostPort, Method, Names, Nanos, OnOff, PositiveNanos,
    Proxy, RequestPath, Resolve, Size, SmallCount, Sources, ValueError, WindowBits,
};
use crate::units::Rate;

/// Takes a TOML string, or a number by its text, and parses it as a flag's value is parsed.
///
/// A float's text is the shortest one that parses to the same float, which is the typed one: so
/// `0.01` becomes the exact fraction.
struct FromText<T> {
    expecting: &'static str,
    of: PhantomData<T>,
}

impl<T: FromStr<Err: Display>> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(self.expecting)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|error| E::custom(format_args!("{error}")))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Reads a value from its text. For types that no plan has.
macro_rules! from_text {
    ($($type:ty: $expecting:literal,)*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                $crate::values::written(input, $expecting)
            }
        }
    )*};
}
pub(crate) use from_text;

/// The value that is written here.
pub(crate) fn written<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    input: D,
    expecting: &'static str,
) -> Result<T, D::Error> {
    input.deserialize_any(FromText { expecting, of: PhantomData })
}

from_text! {
    Nanos: "a duration such as \"10s\"",
    PositiveNanos: "a duration such as \"10s\"",
    Count: "a count such as 1000 or \"1k\"",
    SmallCount: "a count such as 1000 or \"1k\"",
    HeaderName: "the name of a header",
    Size: "a size such as 512 or \"64k\"",
    Digits: "a number from 1 to 5",
    Method: "a method such as \"GET\"",
    Header: "a header such as \"Name: value\"",
    RequestPath: "a path such as \"/hello\"",
    HostPort: "\"HOST:PORT\"",
    Resolve: "\"HOST:PORT:ADDR\"",
    Proxy: "a proxy such as \"http://HOST:PORT\"",
    Direct: "a host",
    Sources: "addresses such as \"127.0.0.2-127.0.0.9\"",
    OnOff: "\"on\" or \"off\"",
    Names: "names joined by commas",
    WindowBits: "a number from 16 to 30",
    CallName: "a method such as \"package.Service/Method\"",
}

/// A type of the plan that reads the user's notation. Serialised plans have another form.
pub(crate) trait Typed: FromStr<Err: Display> {
    /// The expected value, in an error.
    const EXPECTING: &'static str;
}

impl Typed for Rate {
    const EXPECTING: &'static str = "a rate such as \"20k/s\"";
}

/// Reads a type of the plan by the names of its variants.
macro_rules! named {
    ($type:ty: $expecting:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::values::ValueError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::values::one_of(text)
            }
        }

        impl $crate::values::Typed for $type {
            const EXPECTING: &'static str = $expecting;
        }
    };
}
pub(crate) use named;

/// A value of the plan in the user's notation.
struct AsTyped<T>(T);

impl<'de, T: Typed> Deserialize<'de> for AsTyped<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        written(input, T::EXPECTING).map(AsTyped)
    }
}

impl<T: Typed> FromStr for AsTyped<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        text.parse().map(AsTyped)
    }
}

/// An option whose value is a type of the plan.
pub(crate) fn typed<'de, T: Typed, D: Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
    AsTyped::deserialize(input).map(|AsTyped(value)| Some(value))
}

/// As [`one_or_many`], for types of the plan.
pub(crate) fn one_or_many_typed<'de, T: Typed, D: Deserializer<'de>>(
    input: D,
) -> Result<Vec<T>, D::Error> {
    one_or_many(input).map(|all| all.into_iter().map(|AsTyped(value)| value).collect())
}

/// A list, or a single element without brackets.
pub(crate) fn one_or_many<'de, T, D>(input: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de> + FromStr<Err: Display>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
            formatter.write_str("a string, or a list of strings")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            text.parse().map(|one| vec![one]).map_err(|error| E::custom(format_args!("{error}")))
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element()? {
                all.push(one);
            }
            Ok(all)
        }
    }

    input.deserialize_any(OneOrMany(PhantomData))
}

/// Any value, as the text of JSON for it. Keys stay in the order in which they are written: signatures depend on it,
/// and readers that look for a type first.
pub(crate) fn json<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let mut text = String::new();
    JsonText(&mut text).deserialize(input)?;
    Ok(Some(text))
}

/// Writes a value behind a text.
struct JsonText<'t>(&'t mut String);

impl JsonText<'_> {
    fn push<E>(self, value: impl Into<serde_json::Value>) -> Result<(), E> {
        *self.0 += &value.into().to_string();
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a value for JSON")
    }

    fn visit_bool<E>(self, is: bool) -> Result<(), E> {
        self.push(is)
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.push(number)
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.push(number)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        match number.is_finite() {
            true => self.push(number),
            false => {
                Err(E::custom(format_args!("{number} is no number of JSON; write null, or a text")))
            }
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.push(text)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.push('[');
        let begin = self.0.len();
        loop {
            let end = self.0.len();
            if end > begin {
                self.0.push(',');
            }
            if list.next_element_seed(JsonText(&mut *self.0))?.is_none() {
                self.0.truncate(end);
                self.0.push(']');
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        self.0.push('{');
        let begin = self.0.len();
        while let Some(key) = table.next_key::<String>()? {
            if key == DATE {
                self.0.truncate(begin - 1);
                return table.next_value_seed(self);
            }
            let comma = if self.0.len() > begin { "," } else { "" };
            *self.0 += &format!("{comma}{}:", serde_json::Value::from(key));
            table.next_value_seed(JsonText(&mut *self.0))?;
        }
        self.0.push('}');
        Ok(())
    }
}

/// The only key of the table by which the TOML library passes a date on. JSON has dates as text.
const DATE: &str = "$__toml_private_datetime";

/// The key of a header table, checked where it stands.
struct HeaderName(String);

impl FromStr for HeaderName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Header::new(text, "").map(|_| HeaderName(text.to_owned()))
    }
}

/// Headers as `"Name: value"`, as a list of those, or as a table of names and values.
pub(crate) fn headers<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Header>, D::Error> {
    struct Headers;

    impl<'de> Visitor<'de> for Headers {
        type Value = Vec<Header>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
            formatter.write_str("a list of \"Name: value\", or a table of names and values")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<Header>, E> {
            text.parse().map(|one| vec![one]).map_err(|error| E::custom(format_args!("{error}")))
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> Result<Vec<Header>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element()? {
                all.push(one);
            }
            Ok(all)
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut table: A,
        ) -> Result<Vec<Header>, A::Error> {
            let mut all = Vec::new();
            while let Some(HeaderName(name)) = table.next_key()? {
                let value: String = table.next_value()?;
                all.push(Header::new(&name, &value).map_err(A::Error::custom)?);
            }
            Ok(all)
        }
    }

    input.deserialize_any(Headers)
}
