//! The value of `--proxy`, and what stands in the variables of the environment for it.

use std::fmt;
use std::str::FromStr;

use super::{HostPort, ValueError, refuse};
use crate::url;

/// The port of a proxy that names none, as in curl.
const PORT: u16 = 1080;

/// A proxy: `[http://|socks5h://][USER:PASSWORD@]HOST[:PORT]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// SOCKS 5 (RFC 1928); otherwise HTTP.
    pub is_socks: bool,
    /// Where it is.
    pub at: HostPort,
    /// `USER:PASSWORD`, percent-encoded as it was given.
    pub user: Option<String>,
}

/// Without the password.
impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Proxy({}:{})", self.at.host, self.at.port)
    }
}

impl FromStr for Proxy {
    type Err = ValueError;

    /// No part of the text is repeated in an error: any of it may be the password.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        const USAGE: &str = "write [http://|socks5h://][USER:PASSWORD@]HOST[:PORT]";
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let is_socks = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "socks5" | "socks5h" => true,
            "https" => return refuse(format!("a proxy over TLS is not supported; {USAGE}")),
            _ => return refuse(format!("not the scheme of a proxy; {USAGE}")),
        };
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, rest),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        match url::parse_host_port(rest) {
            Ok((host, port)) => Ok(Proxy {
                is_socks,
                at: HostPort { host, port: port.unwrap_or(PORT) },
                user: user.map(str::to_owned),
            }),
            Err(_) => refuse(format!("not a host and a port; {USAGE}")),
        }
    }
}

/// A host that is reached without a proxy: a name, with all names below it, an address, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direct(String);

impl Direct {
    /// Every host.
    pub fn all() -> Self {
        Direct("*".to_owned())
    }

    /// Whether `host` is reached without a proxy.
    pub fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let below = host.strip_suffix(self.0.as_str());
        self.0 == "*" || below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl FromStr for Direct {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let name = text.trim().trim_start_matches("*.").trim_start_matches('.');
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:~".contains(c);
        match name == "*" || (!name.is_empty() && name.chars().all(is_host)) {
            true => Ok(Direct(name.to_ascii_lowercase())),
            false => refuse("not a host; write a name, an address, or *"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_as_in_curl_and_errors_repeat_nothing() {
        let of = |text: &str| text.parse::<Proxy>();
        let plain = of("proxy.example:3128").unwrap();
        assert_eq!(
            (plain.is_socks, plain.at.host.as_str(), plain.at.port),
            (false, "proxy.example", 3128)
        );
        let socks = of("socks5h://ann:p%40ss@[::1]").unwrap();
        assert_eq!((socks.is_socks, socks.at.host.as_str(), socks.at.port), (true, "::1", 1080));
        assert_eq!(socks.user.as_deref(), Some("ann:p%40ss"));
        assert!(!format!("{socks:?}").contains("ann"));
        assert_eq!(of("http://h:80/").unwrap().at.port, 80);
        for wrong in ["https://ann:geheim@h", "ftp://geheim@h", "geheim@", "ann:geheim@h:x"] {
            assert!(!of(wrong).unwrap_err().to_string().contains("geheim"), "{wrong}");
        }
    }

    #[test]
    fn direct_hosts_have_those_below_them() {
        let has = |one: &str, host: &str| one.parse::<Direct>().unwrap().has(host);
        assert!(has("example.com", "example.com") && has("example.com", "a.Example.com"));
        assert!(has(".example.com", "a.example.com") && has("*", "anything"));
        assert!(!has("example.com", "anexample.com") && !has("10.0.0.1", "10.0.0.10"));
        assert!("a b".parse::<Direct>().is_err() && "".parse::<Direct>().is_err());
    }
}
