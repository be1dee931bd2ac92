//! A server's configuration, decided before it starts. Values only: [`crate::ServeOptions`] makes
//! them from flags, tests make them directly.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Certificate, Fault};

/// The default limit of the log: of parts, or of the truth server's requests, which take 40 MB.
pub(crate) const LOG_CAPACITY: usize = 1_000_000;

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// A unix socket to listen on as well. A stale socket file there is replaced.
    pub unix_socket: Option<PathBuf>,
    /// The port file, written once the server is ready.
    pub port_file: Option<PathBuf>,
    /// Method that the port file announces.
    pub method: String,
    /// Path, perhaps with a query, that the port file announces.
    pub path: String,
    /// Threads, at least 1. Connections are assigned to them in turn.
    pub threads: usize,
    /// Use TLS with this certificate.
    pub tls: Option<Certificate>,
    /// Speak HTTP/3 on the UDP port of the same number, too; without `tls`, with a self-signed certificate.
    pub h3: bool,
    /// The faults.
    pub faults: Faults,
    /// Whether its threads poll all the time instead of sleeping.
    pub spin: bool,
    /// A file for the log of parts, written when the server ends.
    pub log: Option<PathBuf>,
    /// The most parts to log.
    pub log_capacity: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            unix_socket: None,
            port_file: None,
            method: "GET".to_owned(),
            path: "/".to_owned(),
            threads: 1,
            tls: None,
            h3: false,
            faults: Faults::default(),
            spin: false,
            log: None,
            log_capacity: LOG_CAPACITY,
        }
    }
}

/// Faults that do not depend on the path. The default is none.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// A fault for every request, on any path.
    pub every_answer: Option<Fault>,
    /// A connection ends after this number of requests.
    pub close_after: Option<CloseAfter>,
    /// Times at which no response begins.
    pub stalls: Vec<PlannedStall>,
    /// More connections than this at a time are accepted and closed at once.
    pub max_connections: Option<u64>,
    /// Hand a response's header and its body to the kernel in two calls.
    pub split_writes: bool,
    /// Leave TCP_NODELAY off: the kernel holds a small packet back until the one before is
    /// acknowledged (Nagle's algorithm).
    pub nagle: bool,
}

/// The end of a connection after a number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseAfter {
    /// Responses before the close.
    pub requests: NonZeroU64,
    /// Whether the last response has `Connection: close`.
    pub announced: bool,
}

/// A time in which every response is held back until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedStall {
    /// When it begins, from the start of the server.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}
