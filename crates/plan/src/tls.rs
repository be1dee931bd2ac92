//! TLS as a plan has it: trusted CAs, our own certificate, what to offer.
//!
//! Values only. PEM files are read when the plan is made; their content is checked in
//! `candor_protocol::tls`. A private key is never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// How connections to the target are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tls {
    /// The trusted CAs.
    pub trust: Trust,
    /// The server name: sent as SNI, and expected in the certificate.
    pub server_name: String,
    /// Our certificate, if the server asks for one.
    pub identity: Option<Identity>,
    /// Protocols to offer (ALPN), the preferred one first; empty: no ALPN.
    pub alpn: Vec<String>,
    /// The oldest version to accept.
    pub min: TlsVersion,
    /// The newest version to offer.
    pub max: TlsVersion,
    /// Names of the cipher suites to offer, in order; empty: all.
    pub ciphers: Vec<String>,
    /// Names of the key exchange groups to offer, in order; empty: all.
    pub groups: Vec<String>,
    /// Resume sessions of earlier connections with the server's tickets.
    pub resumption: bool,
    /// Send requests in the first flight of a resumed session (0-RTT). Then only one protocol is
    /// offered, and every request may reach the server twice.
    pub early_data: bool,
}

/// The trusted CAs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The CAs of the system.
    System,
    /// These certificates and nothing else.
    Only(Pem),
    /// No check: any certificate is accepted.
    Anybody,
}

/// A chain of certificates and the key of its first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// Our certificate and the intermediate ones.
    pub certificates: Pem,
    /// Its private key; may be in the same file.
    pub key: Pem,
}

/// A version of TLS. Older ones are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TlsVersion {
    /// 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    V12,
    /// 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    V13,
}

/// The text of a PEM file. Its debug form shows the file's name and nothing of its content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pem {
    /// The file, for messages.
    pub file: String,
    /// Its bytes.
    pub text: Kept<u8>,
}

impl fmt::Debug for Pem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pem({:?}, {} bytes)", self.file, self.text.count())
    }
}
