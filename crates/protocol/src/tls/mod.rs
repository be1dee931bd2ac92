//! TLS 1.2 and 1.3 around any session, without I/O.
//!
//! [`Connector`] is made once from the plan; each [`Tls`] it makes is one connection: rustls does
//! the handshake ([`handshake`]), and when that is over the keys go to a record layer of our own
//! ([`records`]), which encrypts straight into the bytes to be written and decrypts straight out
//! of the bytes that were read. rustls' own allocates for each record and copies it; nothing here
//! does in the steady state. What certificates and alerts mean stays with rustls, and so do
//! tickets and updates of keys.
//!
//! Nothing here opens a socket. The one clock is that of the verification of certificates, which
//! rustls reads by itself.

mod config;
mod error;
mod handshake;
mod records;
mod session;
mod verify;

pub use config::{ConfigError, Connector};
pub use error::{Error, HandshakeError};
pub use session::Tls;

/// What a handshake came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handshake {
    /// Version, such as `TLSv1.3`.
    pub version: &'static str,
    /// Cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
    /// Group of the key exchange, such as `X25519`; empty if there was none.
    pub group: &'static str,
    /// Protocol that the server chose; empty if it chose none.
    pub alpn: &'static str,
    /// The session is an earlier one, taken up with a ticket.
    pub resumed: bool,
    /// Whether the server took what left in the first flight (0-RTT); `None`: nothing did.
    pub early_data: Option<bool>,
}
