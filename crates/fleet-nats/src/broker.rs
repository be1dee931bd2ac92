//! The broker: its addresses, the certificates for it, and why there is no link to it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The broker, and how to reach it.
#[derive(Debug, Clone)]
pub struct Broker {
    /// Its addresses, at least one: `nats://HOST:PORT`, or `tls://HOST:PORT`. They are tried in turn, and belong to one
    /// broker, or to several that carry messages to each other.
    pub urls: Vec<String>,
    /// Certificates; `None`: without TLS, for one machine.
    pub tls: Option<Certificates>,
    /// How long to wait for the first connection.
    pub patience: Duration,
}

impl Broker {
    /// Whether every address is one of this machine alone.
    pub fn is_on_this_machine(&self) -> bool {
        self.urls.iter().all(|url| {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.urls.join(" or "))
    }
}

/// Files in PEM for mutual TLS.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// The trusted CA.
    pub ca: PathBuf,
    /// The own certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Why there is no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The broker could not be reached in time.
    #[error(
        "the broker {broker} cannot be reached: {why}; start it, or check address and certificates"
    )]
    Unreachable {
        /// Its addresses.
        broker: String,
        /// The last error, of each address if there are several.
        why: String,
    },
    /// The thread of the link could not be started.
    #[error("the thread of the link cannot be started: {0}")]
    Thread(String),
}

/// An error with its causes.
pub(crate) fn sentence(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| match text.contains(&cause.to_string()) {
        true => text,
        false => format!("{text}: {cause}"),
    })
}
