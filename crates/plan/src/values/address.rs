//! Values that are hosts and addresses: `HOST:PORT`, `--resolve` and `--source`.
//!
//! This module resolves no names: the engine does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::{ValueError, refuse};
use crate::url;

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
        // The host may be an IPv6 address in brackets; its colons are not separators.
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
            Err(_) => refuse(format!("\"{addresses}\" is not an address; {USAGE}")),
        }
    }
}

/// Local addresses to connect from: single ones, ranges and networks, expanded to single addresses.
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
    const USAGE: &str = "write e.g. 127.0.0.2, 127.0.0.2-127.0.0.9 or 10.0.0.0/24";
    let wrong = || ValueError(format!("\"{text}\" is not an address; {USAGE}"));
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
    // The network and broadcast addresses of an IPv4 network belong to no host.
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

#[cfg(test)]
mod tests {
    use super::super::tests::error;
    use super::*;

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
            assert!(error::<Sources>(bad).contains("is not an address"), "{bad}");
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
}
