//! Targets: where a plan's requests go. Each has a URL, an endpoint, and its own encryption and version of HTTP.
//!
//! Nothing here knows what is sent there, or when; and names are resolved by the engine.

pub mod allow;
mod auth;
mod tls;

pub use auth::{Credential, CredentialSource, SigV4};
pub use tls::{Identity, Pem, Tls, TlsVersion, Trust};

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, Refusal, conflict, need, value};
use crate::escape::percent_decoded;
use crate::redact::{REDACTED, Secrets};
#[cfg(doc)]
use crate::run::Connections;
use crate::run::SEVERAL_IN_A_READ;
use crate::url::{self, parse_host_port};
use crate::values::{is_small, named};
use allow::AllowList;

/// The length of a name, a user or a password in SOCKS 5 is a byte (RFC 1928 5, RFC 1929 2).
const MOST_PROXY_BYTES: usize = 255;

/// The server that the requests go to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Its name in reports.
    #[serde(default = "main_name")]
    pub name: String,
    /// The URL as the user gave it, without user information.
    pub url: String,
    /// `host[:port]` for the `Host` header, unless a request overrides it.
    pub authority: String,
    /// Where connections go; differs from the URL under `--connect-to` and `--unix-socket`.
    pub endpoint: Endpoint,
    /// The proxy that connections go through: the endpoint is its own.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// The header that each connection begins with.
    #[serde(default)]
    pub haproxy_protocol: HaproxyProtocol,
    /// Addresses given by `--resolve` for the endpoint's host; empty: ask the resolver.
    pub resolved: Vec<IpAddr>,
    /// The hosts that the user allows; `None`: all. The engine adds the lists of the environment
    /// and the configuration.
    pub allow: Option<AllowList>,
    /// How connections are encrypted; `None`: clear text.
    pub tls: Option<Tls>,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Connections to it that are open from the beginning, if they are not [`Connections::count`].
    #[serde(default)]
    pub connections: Option<u32>,
    /// The credential that its requests have, if one is taken for them.
    #[serde(default)]
    pub auth: Option<Credential>,
    /// How its origin's Alt-Svc leads to the endpoint; `None`: it is not asked for.
    #[serde(default)]
    pub alt_svc: Option<AltSvc>,
}

/// Requests go over HTTP/3 to the alternative that the origin of their URL names (RFC 7838).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AltSvc {
    /// The origin is at the endpoint, over TCP, and is asked before the run.
    Asked,
    /// The origin was asked, and the endpoint is the alternative.
    Led {
        /// Where the origin was asked.
        origin: Endpoint,
    },
}

/// What connections are made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectsTo {
    /// The server itself, by TCP or a unix socket.
    Server,
    /// The server itself, by UDP.
    ServerByUdp,
    /// A proxy.
    Proxy,
}

/// A proxy between here and a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proxy {
    /// How it is asked.
    pub way: ProxyWay,
    /// The host that it is asked for.
    pub host: String,
    /// The port that it is asked for.
    pub port: u16,
    /// `USER:PASSWORD`, percent-encoded; in a result: `[redacted]`.
    pub user: Option<String>,
    /// The variable of the environment that named it; null: an option did.
    pub variable: Option<String>,
}

/// How a proxy is asked for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProxyWay {
    /// By requests with the whole URL (RFC 9112 3.2.2).
    Forward,
    /// By CONNECT (RFC 9110 9.3.6).
    Connect,
    /// By SOCKS 5, the name resolved by the proxy (RFC 1928, RFC 1929).
    Socks5,
}

impl Proxy {
    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        self.user.as_deref().map(url::basic_authorization)
    }

    /// User and password as they are.
    pub fn credentials(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let user = self.user.as_deref()?;
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        Some((percent_decoded(name), percent_decoded(password)))
    }
}

/// The header of the PROXY protocol that connections begin with, by which a load balancer tells a server who connects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HaproxyProtocol {
    /// None.
    #[default]
    #[value(help = "No header")]
    Off,
    /// A line of text.
    #[value(help = "A line of text")]
    V1,
    /// Binary.
    #[value(help = "Binary")]
    V2,
}

named!(HaproxyProtocol: "\"v1\", \"v2\" or \"off\"");

/// The name of the plan's own target.
pub const MAIN_TARGET: &str = "main";

/// Results of earlier versions have one target, without a name.
fn main_name() -> String {
    MAIN_TARGET.to_owned()
}

impl Target {
    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The name and the port that its addresses are looked up by, unless they are given.
    pub fn looked_up(&self) -> Option<(&str, u16)> {
        match &self.endpoint {
            Endpoint::Tcp { host, port }
                if self.resolved.is_empty() && host.parse::<IpAddr>().is_err() =>
            {
                Some((host, *port))
            }
            _ => None,
        }
    }

    /// Why its name is not resolved again, if it is not.
    pub(crate) fn check_refresh(&self) -> Result<(), PlanError> {
        const OPTION: &str = "--dns-refresh";
        match &self.endpoint {
            _ if self.looked_up().is_some() => Ok(()),
            Endpoint::Unix { .. } => {
                let why = "a path has no addresses; leave one of them out";
                Err(conflict(OPTION, "--unix-socket", why))
            }
            Endpoint::Tcp { .. } if !self.resolved.is_empty() => {
                let why = "that gives the addresses of the whole run; leave one of them out";
                Err(conflict(OPTION, "--resolve", why))
            }
            Endpoint::Tcp { host, .. } => {
                Err(value(OPTION, format!("{host} is an address and no name; leave it out")))
            }
        }
    }

    /// Whether requests leave in the first flight.
    pub(crate) fn has_early_data(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.early_data)
    }

    /// What its connections are made to.
    pub fn connects_to(&self) -> ConnectsTo {
        match (&self.proxy, self.http) {
            (Some(_), _) => ConnectsTo::Proxy,
            (None, HttpVersion::H3) => ConnectsTo::ServerByUdp,
            (None, _) => ConnectsTo::Server,
        }
    }

    /// Whether its values fit each other.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let count = self.connections.is_none_or(is_small);
        need(count, "connections", "are counts from 1 to 1,000,000")?;
        let has_text = |text: &str| !text.is_empty() && !text.contains(char::is_control);
        need(has_text(&self.url), "target.url", "is a URL")?;
        let authority = has_text(&self.authority) && parse_host_port(&self.authority).is_ok();
        need(authority, "target.authority", "is a host with an optional port")?;
        if let Endpoint::Tcp { host, port } = &self.endpoint {
            need(
                has_text(host) && *port > 0,
                "target.endpoint",
                "is a host and a port above zero",
            )?;
        }
        if let Some(proxy) = &self.proxy {
            if self.haproxy_protocol != HaproxyProtocol::Off {
                let problem = "connections go to a proxy, which takes no such header; leave it out, or add --noproxy '*'";
                return Err(value("--haproxy-protocol", problem));
            }
            let Proxy { host, port, .. } = proxy;
            need(
                has_text(host) && *port > 0,
                "target.proxy",
                "is asked for a host and a port above zero",
            )?;
            need(
                matches!(self.endpoint, Endpoint::Tcp { .. }),
                "target.endpoint",
                "is that of a proxy",
            )?;
            let (user, password) = proxy.credentials().unwrap_or_default();
            if host.len().max(user.len()).max(password.len()) > MOST_PROXY_BYTES {
                let problem = format!(
                    "the host, the user or the password has over {MOST_PROXY_BYTES} bytes; no proxy takes that"
                );
                return Err(value("--proxy", problem));
            }
        }
        let http = match self.http {
            HttpVersion::Negotiated | HttpVersion::H3 => self.tls.is_some(),
            HttpVersion::Upgrade => self.tls.is_none(),
            HttpVersion::H1 | HttpVersion::H2 => true,
        };
        need(http, "target.http", "fits the use of TLS")?;
        self.auth.as_ref().map_or(Ok(()), Credential::check)?;
        if self.http == HttpVersion::H3 {
            self.check_h3()?;
        }
        let fits = self.alt_svc.is_none() || self.http == HttpVersion::H3;
        need(fits, "target.alt_svc", "is for HTTP/3")?;
        match &self.tls {
            Some(tls) if tls.min > tls.max => Err(conflict(
                "--tls-min 1.3",
                "--tls-max 1.2",
                "they leave no version; raise --tls-max",
            )),
            _ => Ok(()),
        }
    }

    /// What does not go with QUIC, or is not built for it.
    fn check_h3(&self) -> Result<(), PlanError> {
        let is_old = self.tls.as_ref().is_some_and(|tls| tls.max < TlsVersion::V13);
        let is_unix = matches!(self.endpoint, Endpoint::Unix { .. });
        let has_header = self.haproxy_protocol != HaproxyProtocol::Off;
        let refused = [
            ("--tls-max 1.2", is_old, "QUIC begins with TLS 1.3; leave it out"),
            ("--unix-socket", is_unix, "QUIC goes over UDP; leave one of them out"),
            (
                "--proxy",
                self.proxy.is_some(),
                "QUIC through a proxy is not supported; leave one of them out, or add --noproxy '*'",
            ),
            (
                "--haproxy-protocol",
                has_header,
                "that header before QUIC is not supported; leave one of them out",
            ),
        ];
        match refused.into_iter().find(|(_, is_so, _)| *is_so) {
            Some((other, _, why)) => Err(conflict(self.h3_option(), other, why)),
            None => Ok(()),
        }
    }

    /// The option that chose HTTP/3.
    fn h3_option(&self) -> &'static str {
        if self.alt_svc.is_some() { "--alt-svc" } else { "--h3" }
    }

    /// Why it is the only target of its plan, if it has to be.
    pub(crate) fn alone(&self) -> Option<Refusal> {
        if self.has_early_data() {
            return Some((
                "--early-data",
                "what leaves first is known for one target only; leave it out",
            ));
        }
        (self.http == HttpVersion::Upgrade)
            .then_some(("--h2c-upgrade", "it is for the requests of one target; write --h2"))
    }

    /// Why a thread cannot sleep through its responses, if so.
    pub(crate) fn unstamped(&self) -> Option<Refusal> {
        match self.http {
            HttpVersion::H1 => {}
            HttpVersion::H3 => return Some((self.h3_option(), SEVERAL_IN_A_READ)),
            _ => return Some(("HTTP/2", SEVERAL_IN_A_READ)),
        }
        let why = "the kernel stamps only what comes over TCP; leave one of them out";
        matches!(self.endpoint, Endpoint::Unix { .. }).then_some(("a unix socket", why))
    }

    /// The conditions for requests in the first flight, without those for the requests.
    pub(crate) fn check_early_data(&self) -> Result<(), PlanError> {
        const OPTION: &str = "--early-data";
        let Some(tls) = self.tls.as_ref().filter(|tls| tls.early_data) else { return Ok(()) };
        if !tls.resumption {
            let problem = "it needs a ticket of an earlier connection; add --tls-resumption on";
            return Err(value(OPTION, problem));
        }
        if tls.max < TlsVersion::V13 {
            let why = "TLS 1.2 has no early data; leave one of them out";
            return Err(conflict(OPTION, "--tls-max 1.2", why));
        }
        if self.http == HttpVersion::Negotiated {
            let problem =
                "the version of HTTP must be known before the handshake; add --h1 or --h2";
            return Err(value(OPTION, problem));
        }
        Ok(())
    }

    /// Leaves out what may be secret.
    pub(crate) fn redact(&mut self, secrets: Secrets) {
        self.url = secrets.url(&self.url);
        if let Some(proxy) = &mut self.proxy
            && secrets == Secrets::Hidden
        {
            proxy.user = proxy.user.as_ref().map(|_| REDACTED.to_owned());
        }
        // A document can only contain text.
        if let Endpoint::Unix { path } = &mut self.endpoint {
            *path = path.to_string_lossy().into_owned().into();
        }
        if let Some(auth) = &mut self.auth {
            auth.redact(secrets);
        }
        // The names of files are kept.
        for pem in self.tls.iter_mut().flat_map(Tls::pems) {
            pem.text = pem.text.emptied();
        }
    }

    /// Whether something was left out of it.
    pub(crate) fn is_left_out(&self) -> bool {
        let user = self.proxy.as_ref().and_then(|proxy| proxy.user.as_deref());
        user == Some(REDACTED)
            || self.tls.as_ref().is_some_and(Tls::is_left_out)
            || self.auth.as_ref().is_some_and(Credential::is_left_out)
    }
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    H1,
    /// HTTP/2: in clear text by prior knowledge, over TLS by ALPN and nothing else.
    H2,
    /// HTTP/2 in clear text, asked for by the first request of each connection.
    #[serde(rename = "h2c-upgrade")]
    Upgrade,
    /// The server's choice by ALPN; HTTP/1.1 if it makes none.
    Negotiated,
    /// HTTP/3, over QUIC.
    H3,
}

/// Where connections go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// A TCP port of a host name or an address (IPv6 without brackets).
    Tcp {
        /// Host name or literal address.
        host: String,
        /// Port, 1 to 65535.
        port: u16,
    },
    /// A unix socket in the file system.
    Unix {
        /// Path of the socket.
        path: PathBuf,
    },
}

/// `HOST:PORT`, or `unix:PATH`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix { path } => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_endpoint_has_brackets() {
        let tcp = Endpoint::Tcp { host: "::1".to_owned(), port: 80 };
        assert_eq!(tcp.to_string(), "[::1]:80");
        assert_eq!(Endpoint::Unix { path: "/run/x".into() }.to_string(), "unix:/run/x");
    }
}
