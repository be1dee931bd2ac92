//! Hosts and the domains of cookies (RFC 6265 5.1.3 and 5.3, steps 4 to 6).
//!
//! A browser refuses domains of the Public Suffix List, under which anybody can have a host. The requests
//! of a run go to the few hosts of its plan, which all belong to its author; the list would be data of 9,000
//! lines for a refusal. Its plain cases are refused here by their form: a single label (`com`), and a
//! second-level word before a country (`co.uk`).

use std::net::IpAddr;

/// Labels below which countries have names registered.
const SECOND_LEVEL: [&str; 12] =
    ["ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org", "mil"];

/// The sites that a run's requests go to, each by its number.
#[derive(Debug, Clone)]
pub struct Sites(Box<[Site]>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    host: Box<str>,
    is_ip: bool,
    /// Its requests are encrypted: cookies with `Secure` are stored.
    is_https: bool,
}

/// The hosts that a cookie is sent to. Equal ones are the same domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// The domain is the end of the host's name of this length.
    pub(super) bytes: u16,
    /// The first site whose name has this end.
    pub(super) site: u16,
    /// Only the host itself.
    pub(super) host_only: bool,
}

impl Sites {
    /// The sites of these hosts, and whether requests to each are encrypted: names or addresses, without ports, IPv6
    /// addresses with or without brackets.
    pub fn new<'h>(hosts: impl IntoIterator<Item = (&'h str, bool)>) -> Self {
        Sites(hosts.into_iter().map(|(host, is_https)| Site::new(host, is_https)).collect())
    }

    /// Whether the requests to a site are encrypted.
    pub(super) fn is_https(&self, site: u16) -> bool {
        self.0[usize::from(site)].is_https
    }

    /// What a cookie with this `Domain` attribute reaches, without the dot in front; `None` if this site
    /// may not set it.
    pub(super) fn reach(&self, site: u16, domain: Option<&str>) -> Option<Reach> {
        let (domain, host_only) = self.0[usize::from(site)].domain(domain)?;
        let first = self.0.iter().position(|one| match host_only {
            true => one.host.eq_ignore_ascii_case(domain),
            false => one.is_covered_by(domain),
        });
        // The longest name of a host has 253 bytes; a longer one finds no server.
        let bytes = domain.len().try_into().unwrap_or(u16::MAX);
        Some(Reach { bytes, site: first? as u16, host_only })
    }

    /// Whether what reaches so far is sent to a site.
    pub(super) fn covers(&self, reach: Reach, site: u16) -> bool {
        if reach.site == site {
            return true;
        }
        let (own, of) = (&self.0[usize::from(site)], &self.0[usize::from(reach.site)]);
        match reach.host_only {
            true => own.host == of.host,
            false => {
                let start = of.host.len().saturating_sub(usize::from(reach.bytes));
                of.host.get(start..).is_some_and(|domain| own.is_covered_by(domain))
            }
        }
    }
}

impl Site {
    fn new(host: &str, is_https: bool) -> Self {
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Site {
            host: host.to_ascii_lowercase().into_boxed_str(),
            is_ip: host.parse::<IpAddr>().is_ok(),
            is_https,
        }
    }

    /// The domain that a `Domain` attribute means, and whether only this host is in it; `None`: this host may not set
    /// it.
    fn domain<'d>(&'d self, attribute: Option<&'d str>) -> Option<(&'d str, bool)> {
        let Some(domain) = attribute.filter(|domain| !domain.is_empty()) else {
            return Some((&self.host, true));
        };
        if is_public(domain) {
            return domain.eq_ignore_ascii_case(&self.host).then_some((&*self.host, true));
        }
        self.is_covered_by(domain).then_some((domain, false))
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
        let reach = Sites::new([(host, false)]).reach(0, Some(domain));
        reach.map(|reach| (reach.bytes, reach.host_only))
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
        let sites = Sites::new([("example.com", true)]);
        assert_eq!(sites.reach(0, None), Some(Reach { bytes: 11, site: 0, host_only: true }));
        assert_eq!(sites.reach(0, Some("")), sites.reach(0, None));
    }

    #[test]
    fn a_domain_is_the_same_whichever_of_its_hosts_sets_it() {
        let hosts = ["api.example.com", "auth.example.com", "AUTH.example.com", "example.org"];
        let sites = Sites::new(hosts.map(|host| (host, true)));
        let covered = |reach| (0..4).filter(|&site| sites.covers(reach, site)).collect::<Vec<_>>();
        let both = sites.reach(0, Some("example.com")).unwrap();
        assert_eq!(sites.reach(1, Some("EXAMPLE.com")), Some(both));
        assert_eq!(covered(both), [0, 1, 2]);
        let own = sites.reach(2, None).unwrap();
        assert_eq!((sites.reach(1, None), covered(own)), (Some(own), vec![1, 2]));
        assert_eq!(covered(sites.reach(1, Some("auth.example.com")).unwrap()), [1, 2]);
        assert_eq!(covered(sites.reach(3, Some("example.org")).unwrap()), [3]);
        assert_eq!(sites.reach(3, Some("example.com")), None);
    }
}
