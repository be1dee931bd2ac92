//! The hosts that load may go to: lists of hosts and networks, and which addresses are public.
//!
//! A list comes from `--allow` or a plan, from the environment, or from the user's configuration. If
//! there are several lists, each must allow a target, so none can widen another. Names are compared as
//! the user gave them. The engine resolves them once, and asks these lists before it connects anywhere.
//! This module resolves no names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::plan_file::{explain, keys_of};
use crate::values::{Typed, ValueError, one_or_many_typed, refuse};

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Allowed {
    /// Addresses with the same first `bits` as this one.
    Network {
        /// An address of the network.
        address: IpAddr,
        /// Length of the prefix: at most 32 with IPv4, 128 with IPv6.
        bits: u8,
    },
    /// This host, in lower case, whatever it resolves to.
    Host(String),
    /// Every host below this one, in lower case: `example.com` for `*.example.com`.
    Below(String),
    /// This unix socket.
    Unix(PathBuf),
}

impl FromStr for Allowed {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || {
            refuse(format!(
                "{text:?} is not a host or network; write e.g. staging.example.com, *.example.com, \
                 10.0.0.0/8, ::1 or unix:/run/app.sock"
            ))
        };
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Allowed::Unix(path.into()));
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => match bits.parse::<u8>() {
                Ok(bits) => (address, Some(bits)),
                Err(_) => return wrong(),
            },
            None => (text, None),
        };
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(address).parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(most);
            return match bits <= most {
                true => Ok(Allowed::Network { address, bits }),
                false => wrong(),
            };
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        // A text of only digits and dots is a wrong address, not a name.
        let is_name =
            name.split('.').all(is_label) && name.bytes().any(|b| b.is_ascii_alphabetic());
        match (is_name, below) {
            (false, _) => wrong(),
            (true, true) => Ok(Allowed::Below(name.to_ascii_lowercase())),
            (true, false) => Ok(Allowed::Host(name.to_ascii_lowercase())),
        }
    }
}

impl Typed for Allowed {
    const EXPECTING: &'static str = "a host or network such as \"10.0.0.0/8\"";
}

impl Allowed {
    pub(crate) fn has(&self, asked: &Asked<'_>) -> bool {
        match (self, asked) {
            (Allowed::Network { address, bits }, Asked::Tcp { address: asked, .. }) => {
                is_in(*asked, *address, *bits)
            }
            (Allowed::Host(host), Asked::Tcp { name: Some(name), .. } | Asked::Name(name)) => {
                plain(name) == *host
            }
            (Allowed::Below(host), Asked::Tcp { name: Some(name), .. } | Asked::Name(name)) => {
                plain(name)
                    .strip_suffix(host.as_str())
                    .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
            }
            (Allowed::Unix(path), Asked::Unix(asked)) => path == asked,
            _ => false,
        }
    }
}

/// A name in the form for comparison.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn is_in(asked: IpAddr, network: IpAddr, bits: u8) -> bool {
    let same =
        |a: u128, b: u128, width: u8| bits == 0 || bits <= width && (a ^ b) >> (width - bits) == 0;
    // An IPv4 address is the same one when it is written as IPv6 (RFC 4291 section 2.5.5.2).
    match (asked.to_canonical(), network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(u32::from(a).into(), u32::from(b).into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.into(), b.into(), 128),
        _ => false,
    }
}

/// A place that the engine is about to connect to.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// TCP.
    Tcp {
        /// The name whose resolution gave the address; `None`: the user gave it.
        name: Option<&'a str>,
        /// The address.
        address: IpAddr,
    },
    /// A name that a proxy resolves.
    Name(&'a str),
    /// A unix socket.
    Unix(&'a Path),
}

/// A list and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllowList {
    /// `--allow`, the name of a variable or of a file.
    pub source: String,
    /// The allowed hosts and networks.
    pub entries: Vec<Allowed>,
}

impl AllowList {
    /// The list of `--allow`; `None` if it was not given.
    pub fn of_option(entries: &[Allowed]) -> Option<Self> {
        let source = "--allow".to_owned();
        (!entries.is_empty()).then(|| AllowList { source, entries: entries.to_vec() })
    }

    /// The list in the value of a variable, separated by commas or blanks; `None` if it is empty.
    pub fn of_variable(name: &str, value: &str) -> Result<Option<Self>, PlanError> {
        let words = value.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
        let entries: Vec<Allowed> =
            words.map(str::parse).collect::<Result<_, _>>().map_err(|error: ValueError| {
                PlanError::Allow { source_name: name.to_owned(), problem: error.to_string() }
            })?;
        let source = name.to_owned();
        Ok((!entries.is_empty()).then_some(AllowList { source, entries }))
    }

    /// The list under `allow` in the text of the configuration file `name`; `None` if it has none.
    pub fn of_configuration(name: &str, text: &str) -> Result<Option<Self>, PlanError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        struct Configuration {
            #[serde(deserialize_with = "one_or_many_or_none")]
            allow: Option<Vec<Allowed>>,
        }
        let keys = |_: &str| keys_of::<Configuration>();
        let read: Configuration =
            toml::from_str(text).map_err(|error| explain(name, text, &error, &keys))?;
        Ok(read.allow.map(|entries| AllowList { source: name.to_owned(), entries }))
    }

    /// Whether one of its entries allows this.
    pub fn allows(&self, asked: &Asked<'_>) -> bool {
        self.entries.iter().any(|entry| entry.has(asked))
    }
}

fn one_or_many_or_none<'de, D: serde::Deserializer<'de>>(
    input: D,
) -> Result<Option<Vec<Allowed>>, D::Error> {
    one_or_many_typed(input).map(Some)
}

/// Whether an address is public: not reserved by the special-purpose registries (RFC 6890) for a
/// machine, a private network, documentation or tests.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !SPECIAL_V4
            .iter()
            .any(|&(network, bits)| is_in(address.into(), Ipv4Addr::from(network).into(), bits)),
        IpAddr::V6(address) => !SPECIAL_V6
            .iter()
            .any(|&(network, bits)| is_in(address.into(), Ipv6Addr::from(network).into(), bits)),
    }
}

const SPECIAL_V4: [([u8; 4], u8); 14] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

const SPECIAL_V6: [([u16; 8], u8); 8] = [
    ([0, 0, 0, 0, 0, 0, 0, 0], 127),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &str) -> AllowList {
        AllowList::of_variable("CANDOR_ALLOW", entries).unwrap().unwrap()
    }

    fn tcp(name: Option<&'static str>, address: &str) -> Asked<'static> {
        Asked::Tcp { name, address: address.parse().unwrap() }
    }

    #[test]
    fn networks_and_names() {
        for (entries, name, address, allowed) in [
            ("10.0.0.0/8", None, "10.255.0.1", true),
            ("10.0.0.0/8", Some("x.example"), "11.0.0.1", false),
            ("10.1.2.3/8", None, "10.9.9.9", true),
            ("10.0.0.0/8", None, "::ffff:10.0.0.1", true),
            ("127.0.0.1", None, "127.0.0.2", false),
            ("0.0.0.0/0", None, "8.8.8.8", true),
            ("0.0.0.0/0", None, "2001:db8::1", false),
            ("::/0", None, "2001:db8::1", true),
            ("fd00::/8, ::1", None, "::1", true),
            ("[::1]", None, "::1", true),
            ("[fd00::]/8", None, "fd12::1", true),
            ("Staging.Example", Some("STAGING.example."), "8.8.8.8", true),
            ("staging.example", None, "8.8.8.8", false),
            ("staging.example", Some("notstaging.example"), "8.8.8.8", false),
            ("*.example.com", Some("a.b.example.com"), "8.8.8.8", true),
            ("*.example.com", Some("example.com"), "8.8.8.8", false),
            ("*.example.com", Some("badexample.com"), "8.8.8.8", false),
            ("unix:/run/x", Some("localhost"), "127.0.0.1", false),
        ] {
            let asked = tcp(name, address);
            assert_eq!(list(entries).allows(&asked), allowed, "{entries}: {asked:?}");
        }
        let socket = Asked::Unix(Path::new("/run/app.sock"));
        assert!(list("10.0.0.0/8 unix:/run/app.sock").allows(&socket));
        assert!(!list("0.0.0.0/0,::/0").allows(&socket));
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for wrong in [
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "a b",
            "http://h/",
            "h:80",
            "*",
            "*.",
            "unix:",
            "1.2.3",
            "-/x",
        ] {
            let error = wrong.parse::<Allowed>().unwrap_err().to_string();
            assert!(error.contains("is not a host or network; write e.g."), "{error}");
        }
        let error = AllowList::of_variable("CANDOR_ALLOW", "h:80").unwrap_err().to_string();
        assert!(error.starts_with("CANDOR_ALLOW: \"h:80\" is not a host"), "{error}");
        assert_eq!(AllowList::of_variable("CANDOR_ALLOW", " ").unwrap(), None);
    }

    #[test]
    fn the_configuration() {
        let read = |text| AllowList::of_configuration("config.toml", text);
        assert_eq!(read("").unwrap(), None);
        assert_eq!(read("allow = \"::1\"").unwrap().unwrap().entries.len(), 1);
        assert_eq!(read("allow = ['::1', 'a.example']").unwrap().unwrap().entries.len(), 2);
        // An empty list allows nothing.
        assert_eq!(read("allow = []").unwrap().unwrap().entries, []);
        let error = read("alow = []").unwrap_err().to_string();
        assert!(error.starts_with("config.toml:1:1: unknown key \"alow\""), "{error}");
        let error = read("\nallow = ['h:80']").unwrap_err().to_string();
        assert!(error.starts_with("config.toml:2:"), "{error}");
    }

    #[test]
    fn public_addresses() {
        for public in [
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "2606:4700::1",
            "::ffff:1.1.1.1",
            "64:ff9b::808:808",
            "11.0.0.0",
            "198.20.0.1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for ours in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "198.18.0.1",
            "198.19.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "2001:db8::1",
            "3fff::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!is_public(ours.parse().unwrap()), "{ours}");
        }
    }
}
