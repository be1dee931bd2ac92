//! Why a server could not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The TCP port cannot be had.
    #[error("cannot listen on {address}: {source}; choose another port, or port 0 for a free one")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The unix socket cannot be made.
    #[error("cannot listen on unix socket {}: {source}; choose a path that is free", path.display())]
    UnixSocket {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The port file cannot be written.
    #[error("cannot write port file {}: {source}; choose a writable place", path.display())]
    PortFile {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of a certificate or key cannot be used.
    #[error("cannot use certificate file {}: {reason}; check its name and content", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No certificate can be made.
    #[error("cannot make a certificate: {0}; name one with --tls-cert and --tls-key")]
    MakeCertificate(String),
    /// A thread or its event loop cannot be made.
    #[error("cannot start a server thread: {0}; lower --threads or raise the system's limits")]
    Runtime(io::Error),
    /// The log of the truth server cannot be written.
    #[error("cannot write the log {}: {source}; choose a writable place", path.display())]
    Log {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
