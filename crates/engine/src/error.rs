//! Why a run could not be made: what is wrong, and where. The remedy depends on the command line, which adds it.

use candor_plan::ConnectsTo;
use candor_plan::units::fmt_plural;
use candor_record::ConnectErrorKind;

use crate::reactor::ConnectFailure;

/// Why a run could not be made. Nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The target's name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Resolve {
        /// The name.
        host: String,
        /// Its port.
        port: u16,
        /// The system's words.
        reason: String,
    },
    /// A list of allowed hosts and networks does not have this one.
    #[error("{what} is not allowed by {list}")]
    NotAllowed {
        /// The host and its address, or a unix socket.
        what: String,
        /// Where the list stands.
        list: String,
    },
    /// A list of allowed hosts and networks cannot be understood.
    #[error(transparent)]
    AllowList(#[from] candor_plan::PlanError),
    /// The user's configuration is there and cannot be read.
    #[error("cannot read {file}, which may list the allowed hosts: {error}")]
    Configuration {
        /// The file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// What was asked of TLS cannot be done.
    #[error(transparent)]
    Tls(#[from] candor_protocol::tls::ConfigError),
    /// Not one connection could be made and used.
    #[error("{}", no_connection(*asked, *to, url, first.as_ref()))]
    NoConnection {
        /// The first failure, if one is known.
        first: Option<ConnectFailure>,
        /// What the connections are made to, if that is the same for all targets.
        to: Option<ConnectsTo>,
        /// Where to, without secrets.
        url: String,
        /// Connections asked for.
        asked: u32,
    },
    /// More connections were asked for than files may be open.
    #[error(
        "{connections} connections on {} need {needed} open files, and the limit is {limit}",
        fmt_plural(u64::from(*threads), "thread")
    )]
    OpenFiles {
        /// Connections asked for.
        connections: u32,
        /// Threads, each with a file of its own.
        threads: u32,
        /// Files they need.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// Rows are given out once, and all of them to requests of the warm-up.
    #[error("the warm-up takes all {}, each given out once; make it shorter, or use another order", fmt_plural(*rows, "row"))]
    RowsInWarmUp {
        /// The rows.
        rows: u64,
    },
    /// A part of a run with more workers in all than connections, so that some would have none.
    #[error("a run of {workers} workers needs as many connections, and the plan has {connections}")]
    Workers {
        /// Workers of the whole run.
        workers: u32,
        /// Connections of the whole run.
        connections: u32,
    },
    /// More connections were asked for than there are local ports.
    #[error(
        "{connections} connections need as many local ports, and there are {ports} (net.ipv4.ip_local_port_range has {range}, for {sources} local and {destinations} remote addresses)"
    )]
    Ports {
        /// Connections asked for.
        connections: u32,
        /// Ports there are.
        ports: u64,
        /// Ports in the range.
        range: u64,
        /// Local addresses.
        sources: u64,
        /// Remote addresses.
        destinations: u64,
    },
    /// A data file cannot be used.
    #[error(transparent)]
    Data(#[from] candor_data::Fault),
    /// A list of URLs is of another server.
    #[error("{file} has URLs of {site}, and the target is {target}")]
    Site {
        /// The file.
        file: String,
        /// The server of its URLs.
        site: String,
        /// The target.
        target: String,
    },
    /// The system refused something else.
    #[error("cannot {what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        reason: String,
    },
}

fn no_connection(
    asked: u32,
    to: Option<ConnectsTo>,
    url: &str,
    first: Option<&ConnectFailure>,
) -> String {
    let none = match asked {
        1 => "the connection could not".to_owned(),
        _ => format!("not one of {asked} connections could"),
    };
    match first {
        Some(first) if first.kind == ConnectErrorKind::Handshake => {
            format!("{none} be used: the handshake failed with {first}")
        }
        Some(first) => {
            let to = match to {
                Some(ConnectsTo::Proxy) => "to the proxy",
                Some(ConnectsTo::ServerByUdp) => "over UDP to",
                Some(ConnectsTo::Server) | None => "to",
            };
            format!("{none} be made: cannot connect {to} {first}")
        }
        None => format!("{none} be made: cannot connect to {url}"),
    }
}

impl EngineError {
    /// Whether what was asked for is forbidden, or wrong, or a file of it: nothing that a machine or a server did.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            EngineError::NotAllowed { .. }
                | EngineError::AllowList(_)
                | EngineError::Configuration { .. }
                | EngineError::RowsInWarmUp { .. }
                | EngineError::Workers { .. }
                | EngineError::Data(_)
                | EngineError::Site { .. }
        )
    }
}
