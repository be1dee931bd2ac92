//! Hosts and the domains of cookies (RFC 6265 5.1.3 and 5.3, steps 4 to 6).
//!
//! A browser refuses domains of the Public Suffix List, under which anybody can have a host. All requests
//! of a run go to one host, so such a cookie could reach no other one; the list would be data of 9,000
//! lines for a refusal. Its plain cases are refused here by their form: a single label (`com`), and a
//! second-level word before a country (`co.uk`).

use std::net::IpAddr;

/// Labels below which countries have names registered.
const SECOND_LEVEL: [&str; 12] =
    ["ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org", "mil"];

/// The site that a run's requests go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    host: Box<str>,
    is_ip: bool,
    /// Its requests are encrypted: cookies with `Secure` are stored.
    is_https: bool,
}

/// The hosts that a cookie is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// The domain is the end of the host's name of this length.
    pub(super) bytes: u16,
    /// Only the host itself.
    pub(super) host_only: bool,
}

impl Site {
    /// The site of a host: a name or an address, without port, an IPv6 address with or without
    /// brackets.
    pub fn new(host: &str, is_https: bool) -> Self {
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Site {
            host: host.to_ascii_lowercase().into_boxed_str(),
            is_ip: host.parse::<IpAddr>().is_ok(),
            is_https,
        }
    }

    /// Whether its requests are encrypted.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// What a cookie with this `Domain` attribute reaches, without the dot in front; `None` if this host
    /// may not set it.
    pub(super) fn reach(&self, domain: Option<&str>) -> Option<Reach> {
        let host_only = Reach { bytes: self.bytes(&self.host), host_only: true };
        let Some(domain) = domain.filter(|domain| !domain.is_empty()) else {
            return Some(host_only);
        };
        if is_public(domain) {
            return domain.eq_ignore_ascii_case(&self.host).then_some(host_only);
        }
        self.is_covered_by(domain).then(|| Reach { bytes: self.bytes(domain), host_only: false })
    }

    /// RFC 6265 5.1.3: the domain is the host, or its end from a dot on.
    fn is_covered_by(&self, domain: &str) -> bool {
        let (host, domain) = (self.host.as_bytes(), domain.as_bytes());
        let Some(start) = host.len().checked_sub(domain.len()) else { return false };
        if !host[start..].eq_ignore_ascii_case(domain) {
            return false;
        }
        start == 0 || (!self.is_ip && host[start - 1] == b'.')
    }

    /// The longest name of a host has 253 bytes; a longer one finds no server.
    fn bytes(&self, domain: &str) -> u16 {
        domain.len().try_into().unwrap_or(u16::MAX)
    }
}

fn is_public(domain: &str) -> bool {
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    let Some((label, rest)) = domain.split_once('.') else {
        // A single label; addresses of IPv6 have colons.
        return !domain.contains(':');
    };
    rest.len() == 2
        && rest.bytes().all(|byte| byte.is_ascii_alphabetic())
        && SECOND_LEVEL.iter().any(|word| word.eq_ignore_ascii_case(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(host: &str, domain: &str) -> Option<(u16, bool)> {
        Site::new(host, false).reach(Some(domain)).map(|reach| (reach.bytes, reach.host_only))
    }

    /// RFC 6265 5.1.3.
    #[test]
    fn a_domain_covers_its_hosts() {
        assert_eq!(reach("example.com", "example.com"), Some((11, false)));
        assert_eq!(reach("www.EXAMPLE.com", "Example.COM"), Some((11, false)));
        assert_eq!(reach("a.b.example.com", "b.example.com"), Some((13, false)));
        assert_eq!(reach("example.com", "www.example.com"), None, "longer than the host");
        assert_eq!(reach("badexample.com", "example.com"), None, "not from a dot on");
        assert_eq!(reach("example.com", "example.org"), None);
        assert_eq!(reach("www.example.com", "ample.com"), None);
        assert_eq!(reach("www.example.com", ".example.com"), None, "the dot is removed before");
        assert_eq!(reach("www.example.com", "é.com"), None);
    }

    #[test]
    fn an_address_is_covered_by_itself_alone() {
        assert_eq!(reach("127.0.0.1", "127.0.0.1"), Some((9, false)));
        assert_eq!(reach("127.0.0.1", "0.0.1"), None);
        assert_eq!(reach("[::1]", "::1"), Some((3, false)));
    }

    /// RFC 6265 5.3, step 5.
    #[test]
    fn a_public_domain_is_refused_except_to_itself() {
        assert_eq!(reach("example.com", "com"), None);
        assert_eq!(reach("shop.co.uk", "co.uk"), None);
        assert_eq!(reach("www.shop.co.uk", "shop.co.uk"), Some((10, false)));
        assert_eq!(reach("co.uk", "CO.UK"), Some((5, true)));
        assert_eq!(reach("localhost", "localhost"), Some((9, true)));
        assert_eq!(reach("a.localhost", "localhost"), None);
        assert_eq!(reach("a.com.", "com."), None);
    }

    #[test]
    fn without_a_domain_only_the_host_is_reached() {
        let site = Site::new("example.com", true);
        assert_eq!(site.reach(None), Some(Reach { bytes: 11, host_only: true }));
        assert_eq!(site.reach(Some("")), site.reach(None));
    }
}
