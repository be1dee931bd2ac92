//! A checked suite: every name in it exists.
//!
//! [`super::file`] makes these values from TOML; [`super::matrix`] combines them into cells.
//! Nothing downstream checks them again.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use candor_plan::Options;
use candor_plan::options::RequestOptions;

use super::content;
use super::probe::Check;
use crate::matrix::Head;

/// A suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The suite's name and description, from its file.
    pub head: Head,
    /// The command that profiles servers while they are measured, if there is one.
    pub profile_command: Option<String>,
    /// Options of every run.
    pub run: Options,
    /// Servers, at least one, names unique.
    pub servers: Vec<Server>,
    /// Scenarios, at least one, names unique.
    pub scenarios: Vec<Scenario>,
    /// Further ones, which are measured only if they are asked for by name.
    pub others: Vec<Scenario>,
    /// Protocols of the matrix, in order, at least one.
    pub protocols: Vec<Protocol>,
    /// Loads, at least one, names unique; those with shares of a peak come last.
    pub loads: Vec<Load>,
}

impl Suite {
    /// Files that its runs read, each once.
    pub(crate) fn files(&self) -> BTreeSet<PathBuf> {
        let runs = self.servers.iter().map(|one| &one.run).chain([&self.run]);
        let runs = runs.chain(self.scenarios.iter().chain(&self.others).map(|one| &one.run));
        let runs = runs.chain(self.loads.iter().map(|one| &one.run));
        runs.flat_map(|run| run.clone().files_mut().map(|file| file.clone()).collect::<Vec<_>>())
            .filter(|file| content::is_a_file(file))
            .collect()
    }
}

/// The placeholder for the protocol in a server's command; its values are those of port files.
pub(crate) const PROTOCOL: &str = "{protocol}";
/// The placeholder for the scenario's name in a server's command.
pub(crate) const SCENARIO: &str = "{scenario}";

/// A server and its abilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// A line about it.
    pub about: String,
    /// How to start or reach it.
    pub kind: ServerKind,
    /// Scenarios that it supports.
    pub scenarios: Vec<String>,
    /// Protocols that it supports.
    pub protocols: Vec<Protocol>,
    /// Options of runs against it.
    pub run: Options,
}

/// How to start or reach a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerKind {
    /// `candor serve`, with these arguments.
    Embedded {
        /// Arguments.
        arguments: Vec<String>,
    },
    /// It is already running.
    Url(Urls),
    /// We start it.
    Command(Command),
}

/// The URLs of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Urls {
    /// In clear text.
    pub url: Option<String>,
    /// For HTTP/2 in clear text, if different.
    pub h2_url: Option<String>,
    /// With TLS.
    pub tls_url: Option<String>,
}

impl Urls {
    /// The URL for this protocol.
    pub fn of(&self, protocol: Protocol) -> Option<&String> {
        match protocol {
            Protocol::H1 => self.url.as_ref(),
            Protocol::H2 => self.h2_url.as_ref().or(self.url.as_ref()),
            Protocol::H1Tls | Protocol::H2Tls | Protocol::H3 => self.tls_url.as_ref(),
        }
    }

    /// The key of that URL in a suite file.
    pub fn key(protocol: Protocol) -> &'static str {
        match protocol {
            Protocol::H1 => "url",
            Protocol::H2 => "h2-url",
            Protocol::H1Tls | Protocol::H2Tls | Protocol::H3 => "tls-url",
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        [&self.url, &self.h2_url, &self.tls_url].into_iter().flatten()
    }
}

/// How to start a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// Arguments by which it profiles itself, with placeholders; empty: it cannot.
    pub profile_arguments: Vec<String>,
    /// Files to write into its work directory: name and content, with placeholders.
    pub files: Vec<(String, String)>,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Its URLs, with placeholders; if there are none, its port file has the address.
    pub urls: Urls,
    /// How to know that it is ready.
    pub ready: ReadyWhen,
    /// How long that may take.
    pub ready_timeout: Duration,
}

impl Command {
    /// Whether `placeholder` occurs in its command, a file, its environment or a URL.
    pub fn has(&self, placeholder: &str) -> bool {
        let files = self.files.iter().map(|(_, text)| text);
        let env = self.env.iter().map(|(_, value)| value);
        let mut texts = self.command.iter().chain(files).chain(env).chain(self.urls.all());
        texts.any(|text| text.contains(placeholder))
    }
}

/// How to know that a server is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadyWhen {
    /// It writes a port file.
    PortFile,
    /// It accepts connections at its URL.
    Tcp,
    /// Its URL responds with this status.
    Http(u16),
}

/// A scenario: the request, the expected response, and the protocols.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The part of a server that it stresses.
    pub about: String,
    /// Sets that it belongs to, such as `main`.
    pub sets: Vec<String>,
    /// Protocols that can carry it.
    pub protocols: Vec<Protocol>,
    /// Why this version cannot measure it; `None` if it can.
    pub unsupported: Option<String>,
    /// Its requests are messages of a WebSocket.
    pub websocket: bool,
    /// A server is meant to refuse some of its connections: failed requests are no fault of it.
    pub refuses: bool,
    /// Further arguments of the embedded target.
    pub embedded_arguments: Vec<String>,
    /// What responses are held against before and after a trial, besides what its requests say.
    pub checks: Vec<Check>,
    /// Requests that are made then besides those of its runs.
    pub probe: Vec<RequestOptions>,
    /// Options of its runs, its requests among them.
    pub run: Options,
}

impl Scenario {
    /// The URL of its runs at a server with this one.
    pub fn url(&self, server: String) -> String {
        match server.strip_prefix("http") {
            Some(rest) if self.websocket => format!("ws{rest}"),
            _ => server,
        }
    }
}

impl Load {
    /// Whether this scenario is measured under it.
    pub(crate) fn has(&self, scenario: &str) -> bool {
        self.scenarios.as_ref().is_none_or(|names| names.iter().any(|name| name == scenario))
    }

    /// Whether it has a rate.
    pub(crate) fn is_open(&self) -> bool {
        !self.of_peak.is_empty() || self.run.load.rate.is_some() || self.run.load.load.is_some()
    }
}

/// The protocol, and whether it is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.1 in clear text.
    H1,
    /// HTTP/2 in clear text, by prior knowledge.
    H2,
    /// HTTP/1.1 over TLS.
    H1Tls,
    /// HTTP/2 over TLS.
    H2Tls,
    /// HTTP/3, over QUIC.
    H3,
}

impl Protocol {
    /// Every one, in the order of tables.
    pub const ALL: [Protocol; 5] =
        [Protocol::H1, Protocol::H2, Protocol::H1Tls, Protocol::H2Tls, Protocol::H3];

    /// The name as typed.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::H1 => "h1",
            Protocol::H2 => "h2",
            Protocol::H1Tls => "h1-tls",
            Protocol::H2Tls => "h2-tls",
            Protocol::H3 => "h3",
        }
    }

    /// The name in port files, and the value of `{protocol}` in a server's command.
    pub fn announced(self) -> &'static str {
        match self {
            Protocol::H1 => "h1",
            Protocol::H2 => "h2c",
            Protocol::H1Tls => "https",
            Protocol::H2Tls => "h2",
            Protocol::H3 => "h3",
        }
    }

    /// The protocol of this name.
    pub fn of_name(name: &str) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it is encrypted.
    pub fn is_tls(self) -> bool {
        matches!(self, Protocol::H1Tls | Protocol::H2Tls | Protocol::H3)
    }

    /// Whether it is HTTP/1.1.
    pub fn is_h1(self) -> bool {
        matches!(self, Protocol::H1 | Protocol::H1Tls)
    }

    /// Whether it is HTTP/2.
    pub fn is_h2(self) -> bool {
        matches!(self, Protocol::H2 | Protocol::H2Tls)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Options of its runs.
    pub run: Options,
    /// Shares of the cell's peak, one cell each; empty if the load has no shares.
    pub of_peak: Vec<f64>,
    /// The load that measures the peak; only if there are shares.
    pub peak_load: Option<String>,
    /// Rounds of its cells, if different from the suite's.
    pub rounds: Option<u64>,
    /// The only scenarios that are measured under it; `None`: all of them.
    pub scenarios: Option<Vec<String>>,
}
