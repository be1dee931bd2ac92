//! TLS as a plan has it: trusted CAs, our own certificate, what to offer.
//!
//! Values only. PEM texts were read when the plan was made; what is in them is checked by whoever
//! makes a configuration of them (`candor_protocol::tls`). A private key is never shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// How connections to the target are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// Whom to believe about who the server is.
    pub trust: Trust,
    /// The name that the server is asked for (SNI) and must prove to have.
    pub server_name: String,
    /// Who we are, if the server asks.
    pub identity: Option<Identity>,
    /// Protocols to offer (ALPN), the best first; empty: the extension is left out.
    pub alpn: Vec<String>,
    /// The oldest version to accept.
    pub min: TlsVersion,
    /// The newest version to offer.
    pub max: TlsVersion,
    /// Names of the cipher suites to offer, in order; empty: all that there are.
    pub ciphers: Vec<String>,
    /// Names of the key exchange groups to offer, in order; empty: all that there are.
    pub groups: Vec<String>,
    /// Take up the session of an earlier connection, with the server's tickets.
    pub resumption: bool,
    /// Send requests in the first flight of a session that is taken up (0-RTT). One protocol is
    /// offered then, and every request may be made twice.
    pub early_data: bool,
}

/// Whom to believe about who the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The authorities that the system knows.
    System,
    /// These certificates and nothing else.
    Only(Pem),
    /// Anybody.
    Anybody,
}

/// Who we are: a chain of certificates and the key of its first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Our certificate, and those between it and the authority.
    pub certificates: Pem,
    /// Its private key; may be in the same file.
    pub key: Pem,
}

/// A version of TLS. Older ones are not spoken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TlsVersion {
    /// 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    V12,
    /// 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    V13,
}

/// The text of a PEM file. Its debug form names the file and shows nothing of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
