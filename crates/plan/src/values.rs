//! The types of single flags: one checked value each, the same from a flag and from TOML.
//!
//! Each parses from text and has its bounds, so the error for a bad value names its place (the
//! flag, or file and line). Conflicts between values are checked when the plan is built.

mod address;
mod call;
mod data;
mod from_toml;
mod journey;
mod out;
mod proxy;
mod sampling;
mod tls;
mod watching;
mod websocket;

pub use address::{HostPort, Resolve, Sources};
pub use call::CallName;
pub use data::{Data, DataFile};
pub(crate) use data::{data, urls};
pub(crate) use from_toml::{headers, json, one_or_many, one_or_many_typed, typed};
pub(crate) use journey::captures;
pub use journey::{Repeat, ThinkTime};
pub use out::{Out, Place, ReportDepth};
pub use proxy::{Direct, Proxy};
pub use tls::{Names, OnOff, WindowBits};
pub use watching::{ProgressForm, Tui};
pub use websocket::ReplyField;

use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::data::DataOrder;
use crate::journey::RateOf;
use crate::model::{Arrivals, Pacing, Rate, ReactorChoice};
use crate::redact;
use crate::request::StatusSet;
use crate::suggest::did_you_mean;
use crate::units::{self, Quantity, UnitError};
use crate::url;
use crate::work::Order;

/// Why a value is refused, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

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

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        units::parse_rate(text)
    }
}

impl FromStr for StatusSet {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let ranges: Result<_, _> = text.split(',').map(|part| status_range(part.trim())).collect();
        Ok(StatusSet { ranges: ranges? })
    }
}

fn status_range(text: &str) -> Result<(u16, u16), ValueError> {
    let code = |text: &str| {
        let three_digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|code| three_digits && *code >= 100)
    };
    let range = match (text.as_bytes(), text.split_once('-')) {
        ([class @ b'1'..=b'9', b'x' | b'X', b'x' | b'X'], _) => {
            let low = u16::from(class - b'0') * 100;
            Some((low, low + 99))
        }
        (_, Some((low, high))) => code(low.trim()).zip(code(high.trim())),
        _ => code(text).map(|code| (code, code)),
    };
    match range.filter(|(low, high)| low <= high) {
        Some(range) => Ok(range),
        None => refuse(format!("\"{text}\" is not a status; use e.g. 200, 2xx or 200-299,304")),
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

impl ValueEnum for Arrivals {
    fn value_variants<'a>() -> &'a [Self] {
        &[Arrivals::Constant, Arrivals::Poisson]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Arrivals::Constant => PossibleValue::new("constant").help("Evenly spaced"),
            Arrivals::Poisson => {
                PossibleValue::new("poisson").help("Random gaps, as of independent users")
            }
        })
    }
}

impl Pacing {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Pacing::Auto => "auto",
            Pacing::Sleep => "sleep",
            Pacing::Spin => "spin",
            Pacing::Stamps => "stamps",
        }
    }
}

impl ValueEnum for Pacing {
    fn value_variants<'a>() -> &'a [Self] {
        &[Pacing::Auto, Pacing::Sleep, Pacing::Spin, Pacing::Stamps]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Pacing::Auto => {
                PossibleValue::new("auto").help("Sleep, then spin for the last stretch")
            }
            Pacing::Sleep => PossibleValue::new("sleep").help("The least CPU, and some lateness"),
            Pacing::Spin => PossibleValue::new("spin").help("A whole core, and the least lateness"),
            Pacing::Stamps => PossibleValue::new("stamps")
                .help("Wake for requests alone; the kernel's stamps say when responses came"),
        })
    }
}

impl ValueEnum for ReactorChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &[ReactorChoice::Auto, ReactorChoice::Epoll, ReactorChoice::Uring]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            ReactorChoice::Auto => PossibleValue::new("auto")
                .help("The one that was measured to be cheaper: epoll, at present"),
            ReactorChoice::Epoll => PossibleValue::new("epoll").help("On any kernel"),
            ReactorChoice::Uring => {
                PossibleValue::new("uring").help("io_uring: Linux 6.0 or later, unless forbidden")
            }
        })
    }
}

impl ValueEnum for DataOrder {
    fn value_variants<'a>() -> &'a [Self] {
        &[DataOrder::Rotation, DataOrder::Shuffle, DataOrder::Random, DataOrder::Once]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            DataOrder::Rotation => PossibleValue::new("rotation"),
            DataOrder::Shuffle => PossibleValue::new("shuffle"),
            DataOrder::Random => PossibleValue::new("random"),
            DataOrder::Once => PossibleValue::new("once"),
        })
    }
}

impl ValueEnum for Order {
    fn value_variants<'a>() -> &'a [Self] {
        &[Order::Rotation, Order::Weighted]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Order::Rotation => PossibleValue::new("rotation").help("In turn"),
            Order::Weighted => {
                PossibleValue::new("weighted").help("At random, in proportion to their weights")
            }
        })
    }
}

fn one_of<T: ValueEnum>(text: &str) -> Result<T, ValueError> {
    T::from_str(text, false).or_else(|_| {
        let values: Vec<_> = T::value_variants().iter().filter_map(T::to_possible_value).collect();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let hint = did_you_mean(text, names.iter().copied());
        refuse(format!("unknown; write {}{hint}", names.join(" or ")))
    })
}

impl ValueEnum for RateOf {
    fn value_variants<'a>() -> &'a [Self] {
        &[RateOf::Users, RateOf::Requests]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            RateOf::Users => PossibleValue::new("users").help("Users who come"),
            RateOf::Requests => {
                PossibleValue::new("requests").help("Requests, if every step is made")
            }
        })
    }
}

impl FromStr for RateOf {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        one_of(text)
    }
}

impl FromStr for Arrivals {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        one_of(text)
    }
}

impl FromStr for Pacing {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        one_of(text)
    }
}

impl FromStr for ReactorChoice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        one_of(text)
    }
}

impl FromStr for Order {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        one_of(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn error<T: FromStr<Err: std::fmt::Display> + std::fmt::Debug>(
        text: &str,
    ) -> String {
        text.parse::<T>().err().unwrap_or_else(|| panic!("{text}")).to_string()
    }

    #[test]
    fn statuses() {
        let ranges = |text: &str| text.parse::<StatusSet>().unwrap().ranges;
        assert_eq!(ranges("200"), [(200, 200)]);
        assert_eq!(ranges("2xx"), [(200, 299)]);
        assert_eq!(ranges("200-299, 304"), [(200, 299), (304, 304)]);
        for bad in ["", "20", "99", "099", "2x", "0xx", "299-200", "200-", "2000", "200,,304", "ok"]
        {
            assert!(error::<StatusSet>(bad).contains("use e.g. 200, 2xx"), "{bad}");
        }
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
