//! The errors of starting a server: the fault and its place. The command adds the remedy, which
//! depends on its flags.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Cannot listen on the TCP port.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's message.
        source: io::Error,
    },
    /// Cannot listen on the unix socket.
    #[error("cannot listen on unix socket {}: {source}", path.display())]
    UnixSocket {
        /// The path asked for.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// The port file cannot be written.
    #[error("cannot write port file {}: {source}", path.display())]
    PortFile {
        /// The path asked for.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// A file of a certificate or key cannot be used.
    #[error("cannot use certificate file {}: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The self-signed certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    MakeCertificate(String),
    /// A thread or its event loop cannot be started.
    #[error("cannot start a server thread: {0}")]
    Runtime(io::Error),
    /// The log cannot be written.
    #[error("cannot write the log {}: {source}", path.display())]
    Log {
        /// The path asked for.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
}
