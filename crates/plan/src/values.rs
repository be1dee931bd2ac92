//! The types of single flags: one checked value each, the same from a flag and from TOML.
//!
//! Each parses from text and carries its bounds, so that a bad value is refused where it stands
//! (with the flag's name, or with file and line). What only goes wrong in company is checked
//! when the plan is built.

use std::fmt::Display;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};

use crate::load::Shape;
use crate::model::{Arrivals, Order, Rate, StatusSet};
use crate::suggest::did_you_mean;
use crate::units::{self, Quantity, UnitError};
use crate::url;

/// Why a value is refused, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

fn refuse<T>(why: impl Into<String>) -> Result<T, ValueError> {
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

/// A count from 1 to [`SmallCount::MAX`], of things that cost memory or threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallCount(u32);

impl SmallCount {
    /// The most.
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
        None => refuse(format!("\"{text}\" is no status; write such as 200, 2xx or 200-299,304")),
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
            return refuse(format!("{name:?} is not the name of a header; write `Name: value`"));
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
            _ => url::parse_path(text).map(RequestPath),
        }
    }
}

/// A host with its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
}

impl FromStr for HostPort {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match url::parse_host_port(text) {
            Ok((host, Some(port))) => Ok(HostPort { host, port }),
            Ok((_, None)) => refuse("no port; write HOST:PORT, such as localhost:8080"),
            Err(url::UrlError::NoHost) => refuse("no host; write HOST:PORT"),
            Err(error) => refuse(error.to_string()),
        }
    }
}

/// Addresses to use for a host and port instead of asking the resolver, as in curl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// For connections to this host and port.
    pub from: HostPort,
    /// At least one.
    pub addresses: Vec<IpAddr>,
}

impl FromStr for Resolve {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        const USAGE: &str = "write HOST:PORT:ADDR[,ADDR], such as example.com:80:127.0.0.1";
        // The host may be an IPv6 address in brackets, whose colons do not count.
        let host_end = text.find(']').unwrap_or(0);
        let parts = text[host_end..].split_once(':').and_then(|(_, rest)| rest.split_once(':'));
        let Some((_, addresses)) = parts else { return refuse(USAGE) };
        let from = &text[..text.len() - addresses.len() - 1];
        let from = match from.parse() {
            Ok(from) => from,
            Err(error) => return refuse(format!("{error}: {USAGE}")),
        };
        let address = |text: &str| {
            let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            bare.unwrap_or(text).parse::<IpAddr>()
        };
        match addresses.split(',').map(|one| address(one.trim())).collect() {
            Ok(addresses) => Ok(Resolve { from, addresses }),
            Err(_) => refuse(format!("\"{addresses}\" is no address; {USAGE}")),
        }
    }
}

/// Local addresses to connect from: single ones, ranges and networks, written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources(Vec<IpAddr>);

impl Sources {
    /// The most addresses that may be given.
    pub const MAX: u128 = 65_536;

    /// The addresses, at least one.
    pub fn into_vec(self) -> Vec<IpAddr> {
        self.0
    }
}

impl FromStr for Sources {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = source_range(part)?;
            let (low, high) = (number(first), number(last));
            if low > high {
                return refuse(format!("\"{part}\" runs backwards; write the lower address first"));
            }
            if high - low >= Self::MAX - all.len() as u128 {
                return refuse("more than 65,536 addresses; name fewer");
            }
            all.extend((low..=high).map(|number| address_like(first, number)));
        }
        Ok(Sources(all))
    }
}

/// The first and last address of `ADDR`, `ADDR-ADDR` or `ADDR/BITS`.
fn source_range(text: &str) -> Result<(IpAddr, IpAddr), ValueError> {
    const USAGE: &str = "write such as 127.0.0.2, 127.0.0.2-127.0.0.9 or 10.0.0.0/24";
    let wrong = || ValueError(format!("\"{text}\" is no address; {USAGE}"));
    let address = |text: &str| text.trim().parse::<IpAddr>().map_err(|_| wrong());
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (address(first)?, address(last)?);
        return match first.is_ipv4() == last.is_ipv4() {
            true => Ok((first, last)),
            false => refuse(format!("\"{text}\" mixes IPv4 and IPv6; {USAGE}")),
        };
    }
    let Some((network, bits)) = text.split_once('/') else {
        let single = address(text)?;
        return Ok((single, single));
    };
    let network = address(network)?;
    let width: u32 = if network.is_ipv4() { 32 } else { 128 };
    let bits: u32 = bits.trim().parse().ok().filter(|bits| *bits <= width).ok_or_else(wrong)?;
    let hosts = 1u128.checked_shl(width - bits).map_or(u128::MAX, |count| count - 1);
    let (low, high) = (number(network) & !hosts, number(network) | hosts);
    // The network and broadcast addresses of an IPv4 network are nobody's.
    let edge = u128::from(network.is_ipv4() && hosts > 1);
    Ok((address_like(network, low + edge), address_like(network, high - edge)))
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn address_like(like: IpAddr, number: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
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
                PossibleValue::new("poisson").help("Independent users: random gaps, same rate")
            }
        })
    }
}

impl ValueEnum for Order {
    fn value_variants<'a>() -> &'a [Self] {
        &[Order::Rotation, Order::Weighted]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Order::Rotation => PossibleValue::new("rotation").help("One after the other"),
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

impl FromStr for Arrivals {
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

/// Takes a TOML string, or a number by its text, and parses it as a flag's value is parsed.
///
/// A float's text is the shortest that means the same float, which is what was typed: `0.01`
/// comes out as the exact fraction.
pub(crate) struct FromText<T> {
    expecting: &'static str,
    of: PhantomData<T>,
}

impl<T> FromText<T> {
    pub(crate) fn new(expecting: &'static str) -> Self {
        FromText { expecting, of: PhantomData }
    }
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

macro_rules! deserialize_from_text {
    ($($type:ty: $expecting:literal,)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                input.deserialize_any(FromText::new($expecting))
            }
        }
    )*};
}

deserialize_from_text! {
    Nanos: "a duration such as \"10s\"",
    PositiveNanos: "a duration such as \"10s\"",
    Count: "a count such as 1000 or \"1k\"",
    SmallCount: "a count such as 1000 or \"1k\"",
    Size: "a size such as 512 or \"64k\"",
    Digits: "a number from 1 to 5",
    Rate: "a rate such as \"20k/s\"",
    StatusSet: "statuses such as \"2xx,304\"",
    Method: "a method such as \"GET\"",
    Header: "a header such as \"Name: value\"",
    RequestPath: "a path such as \"/hello\"",
    HostPort: "\"HOST:PORT\"",
    Resolve: "\"HOST:PORT:ADDR\"",
    Sources: "addresses such as \"127.0.0.2-127.0.0.9\"",
    Shape: "a load such as \"ramp 1k..20k over 30s; hold 20k\"",
    Arrivals: "\"constant\" or \"poisson\"",
    Order: "\"rotation\" or \"weighted\"",
}

/// A list, or one element that stands alone.
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
            while let Some((name, value)) = table.next_entry::<String, String>()? {
                all.push(Header::new(&name, &value).map_err(A::Error::custom)?);
            }
            Ok(all)
        }
    }

    input.deserialize_any(Headers)
}

/// A URL, checked here so that a bad one is refused with file and line.
pub(crate) fn checked_url<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    match url::HttpUrl::parse(&text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(D::Error::custom(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error<T: FromStr<Err: Display> + std::fmt::Debug>(text: &str) -> String {
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
            assert!(error::<StatusSet>(bad).contains("write such as 200, 2xx"), "{bad}");
        }
    }

    #[test]
    fn sources_are_written_out() {
        let list = |text: &str| -> Vec<String> {
            let all = text.parse::<Sources>().unwrap().into_vec();
            all.iter().map(IpAddr::to_string).collect()
        };
        assert_eq!(list("127.0.0.2"), ["127.0.0.2"]);
        assert_eq!(
            list("10.0.0.254-10.0.1.1"),
            ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]
        );
        assert_eq!(list("10.0.0.5/30,::1"), ["10.0.0.5", "10.0.0.6", "::1"]);
        assert_eq!(list("10.0.0.4/31"), ["10.0.0.4", "10.0.0.5"]);
        assert_eq!(list("::4/126").len(), 4);
        assert_eq!(list("10.0.0.0/16").len(), 65_534);
        for bad in ["", "x", "10.0.0.1-x", "10.0.0.1/33", "1.2.3.4/-1"] {
            assert!(error::<Sources>(bad).contains("is no address"), "{bad}");
        }
        assert!(error::<Sources>("10.0.0.9-10.0.0.1").contains("runs backwards"));
        assert!(error::<Sources>("10.0.0.9-::1").contains("mixes"));
        for bad in ["10.0.0.0/8", "::/0", "0.0.0.0/0", "10.0.0.0/16,10.1.0.0/16"] {
            assert_eq!(error::<Sources>(bad), "more than 65,536 addresses; name fewer", "{bad}");
        }
    }

    #[test]
    fn resolve_as_in_curl() {
        let one: Resolve = "example.com:80:127.0.0.1".parse().unwrap();
        assert_eq!(one.from, HostPort { host: "example.com".to_owned(), port: 80 });
        assert_eq!(one.addresses, ["127.0.0.1".parse::<IpAddr>().unwrap()]);
        let more: Resolve = "[::1]:80:[::2],::3,10.0.0.1".parse().unwrap();
        assert_eq!(more.from.host, "::1");
        assert_eq!(more.addresses.len(), 3);
        for bad in ["", "host", "host:80", "host:80:", "host:x:1.2.3.4", ":80:1.2.3.4", "h:80:name"]
        {
            assert!(error::<Resolve>(bad).contains("write HOST:PORT:ADDR[,ADDR]"), "{bad}");
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
