//! The types of single flags: one checked value each, the same from a flag and from TOML.
//!
//! Each parses from text and has its bounds, so the error for a bad value names its place (the
//! flag, or file and line). What a plan makes of a value is not known here: types of the plan that are read from text
//! say so where they are defined, with the macros of `from_toml.rs`. Conflicts are checked when the plan is built.

mod address;
mod auth;
mod call;
mod form;
mod from_toml;
mod proxy;
mod tls;

pub use address::{HostPort, Resolve, Sources};
pub(crate) use auth::AuthTable;
pub use auth::{Auth, AuthWay};
pub use call::CallName;
pub use form::{FORM_BOUNDARY, FormField, boundary_of};
pub(crate) use from_toml::{
    Typed, from_text, headers, json, named, one_or_many, one_or_many_typed, typed, written,
};
pub use proxy::{Direct, Proxy};
pub use tls::{Names, OnOff, WindowBits};

use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::redact;
use crate::suggest::did_you_mean;
use crate::units::{self, Quantity, UnitError};
use crate::url;

/// Why a value is refused, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(pub(crate) String);

pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError(why.into()))
}

/// A duration that may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nanos(pub u64);

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        units::parse_duration_ns(text).map(Nanos)
    }
}

/// A duration above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositiveNanos(u64);

impl PositiveNanos {
    /// `None` for zero.
    pub fn new(ns: u64) -> Option<Self> {
        (ns > 0).then_some(PositiveNanos(ns))
    }

    /// In nanoseconds.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for PositiveNanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        PositiveNanos::new(units::parse_duration_ns(text)?)
            .ok_or(UnitError::Zero(Quantity::Duration))
    }
}

/// A count, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(u64);

impl Count {
    /// `None` for zero.
    pub fn new(count: u64) -> Option<Self> {
        (count > 0).then_some(Count(count))
    }

    /// The count.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Count {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Count::new(units::parse_count(text)?).ok_or(UnitError::Zero(Quantity::Count))
    }
}

/// A count from 1 to [`SmallCount::MAX`], of things that each cost memory or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallCount(u32);

impl SmallCount {
    /// The largest.
    pub const MAX: u32 = 1_000_000;

    /// `None` if out of bounds.
    pub fn new(count: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&count).then_some(SmallCount(count))
    }

    /// The count.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Whether this is a [`SmallCount`].
pub(crate) fn is_small(count: u32) -> bool {
    SmallCount::new(count).is_some()
}

impl FromStr for SmallCount {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let count = text.parse::<Count>().map_err(|error| ValueError(error.to_string()))?.get();
        match u32::try_from(count).ok().and_then(SmallCount::new) {
            Some(count) => Ok(count),
            None => refuse("too many; write at most 1M"),
        }
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        units::parse_size(text).map(Size)
    }
}

/// Significant digits of a histogram, 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits(u8);

impl Digits {
    /// `None` if out of bounds.
    pub fn new(digits: u8) -> Option<Self> {
        (1..=5).contains(&digits).then_some(Digits(digits))
    }

    /// The number of digits.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Digits {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.trim().parse().ok().and_then(Digits::new) {
            Some(digits) => Ok(digits),
            None => refuse("histograms keep 1 to 5 digits; write a number from 1 to 5"),
        }
    }
}

/// The name of a method: a token (RFC 9110 section 9.1), sent as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method(String);

impl Method {
    /// The name.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for Method {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match is_token(text) {
            true => Ok(Method(text.to_owned())),
            false => refuse("not a method; write a word without blanks, such as GET or PUT"),
        }
    }
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// One header field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

impl Header {
    /// Checks a name (RFC 9110 section 5.1) and a value (section 5.5).
    pub fn new(name: &str, value: &str) -> Result<Self, ValueError> {
        // The value is not repeated in messages: it may be a secret.
        let (name, value) = (name.trim_end(), value.trim_matches([' ', '\t']));
        if !is_token(name) {
            let shown = redact::refused(name);
            return refuse(format!("{shown:?} is not the name of a header; write `Name: value`"));
        }
        if value.contains(['\r', '\n', '\0']) {
            return refuse(format!(
                "the value of {name} has a line break or NUL in it; write it on one line"
            ));
        }
        Ok(Header { name: name.to_owned(), value: value.to_owned() })
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value without blanks around it.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for Header {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once(':') {
            Some((name, value)) => Header::new(name, value),
            None => refuse("a header needs a colon; write `Name: value`"),
        }
    }
}

/// The path of one request; `*` is for OPTIONS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath(String);

impl RequestPath {
    /// The path with its query.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for RequestPath {
    type Err = url::UrlError;

    fn from_str(text: &str) -> Result<Self, url::UrlError> {
        match text {
            "*" => Ok(RequestPath("*".to_owned())),
            // A whole path from elsewhere, such as a captured Location. The plan's rules check the rest.
            _ if text.starts_with("${path ") => Ok(RequestPath(text.to_owned())),
            _ => url::parse_path(text).map(RequestPath),
        }
    }
}

/// The value of this name; if there is none, the error suggests the nearest.
pub(crate) fn one_of<T: ValueEnum>(text: &str) -> Result<T, ValueError> {
    T::from_str(text, false).or_else(|_| {
        let values: Vec<_> = T::value_variants().iter().filter_map(T::to_possible_value).collect();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        refuse(format!("unknown; write {}{}", names.join(" or "), near_one_of::<T>(text)))
    })
}

/// The value that was meant, as [`did_you_mean`] says it.
pub(crate) fn near_one_of<T: ValueEnum>(text: &str) -> String {
    let values: Vec<_> = T::value_variants().iter().filter_map(T::to_possible_value).collect();
    did_you_mean(text, values.iter().map(PossibleValue::get_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Order, StatusSet};
    use proptest::prelude::*;

    pub(super) fn error<T: FromStr<Err: std::fmt::Display> + std::fmt::Debug>(
        text: &str,
    ) -> String {
        text.parse::<T>().err().unwrap_or_else(|| panic!("{text}")).to_string()
    }

    #[test]
    fn headers_and_methods() {
        let header: Header = "X-A:  b: c\t".parse().unwrap();
        assert_eq!((header.name(), header.value()), ("X-A", "b: c"));
        assert_eq!("X-Empty:".parse::<Header>().unwrap().value(), "");
        assert_eq!(error::<Header>("nonsense"), "a header needs a colon; write `Name: value`");
        assert!(error::<Header>(": x").contains("is not the name of a header"));
        assert!(error::<Header>("a b: x").contains("is not the name of a header"));
        assert!(error::<Header>("a: x\r\nb: y").contains("line break or NUL"));
        assert!(error::<Header>("a: x\0").contains("line break or NUL"));
        assert_eq!("PURGE".parse::<Method>().unwrap().into_string(), "PURGE");
        assert!(error::<Method>("GET /").contains("not a method"));
        assert!(error::<Method>("").contains("not a method"));
    }

    #[test]
    fn choices_suggest_the_nearest() {
        assert_eq!("poisson".parse::<Arrivals>(), Ok(Arrivals::Poisson));
        assert_eq!(
            error::<Arrivals>("poison"),
            "unknown; write constant or poisson; did you mean \"poisson\"?"
        );
        assert_eq!(error::<Order>("x"), "unknown; write rotation or weighted");
    }

    #[test]
    fn bounds() {
        assert_eq!(error::<SmallCount>("2M"), "too many; write at most 1M");
        assert!(error::<SmallCount>("0").contains("must be above zero"));
        assert!(error::<Count>("0").contains("must be above zero"));
        assert!(error::<PositiveNanos>("0s").contains("must be above zero"));
        assert!("5".parse::<Digits>().is_ok());
        assert!(error::<Digits>("6").contains("write a number from 1 to 5"));
        assert!(error::<Digits>("0").contains("write a number from 1 to 5"));
        assert!(error::<HostPort>("host").contains("no port"));
        assert!(error::<HostPort>(":80").contains("no host"));
    }

    proptest! {
        #[test]
        fn no_value_panics(text in ".{0,40}", shaped in "[0-9a-fx:.,/\\[\\]-]{0,30}") {
            for text in [text, shaped] {
                let _ = (text.parse::<Sources>(), text.parse::<Resolve>(), text.parse::<HostPort>());
                let _ = (text.parse::<StatusSet>(), text.parse::<Header>(), text.parse::<Digits>());
            }
        }
    }
}
