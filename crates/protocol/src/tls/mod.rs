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

pub use config::{Choice, ConfigError, Connector, Material};
pub use error::{Error, HandshakeError};
pub(crate) use handshake::facts as handshake_facts;
pub use session::{Make, Tls};

/// Makes the random numbers of this thread ready, for which it gathers entropy for tens of milliseconds. They would else be
/// in the time of its first handshake.
pub fn gather_entropy() {
    // What fails here fails in the handshake too, which says so.
    let _ = aws_lc_rs::rand::fill(&mut [0; 32]);
}
