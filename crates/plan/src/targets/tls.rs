//! TLS as a plan has it: trusted CAs, our own certificate, what to offer.
//!
//! Values only. PEM files are read when the plan is made; their content is checked in
//! `candor_protocol::tls`. A private key is never shown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;
use crate::values::{Typed, ValueError, refuse};

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

impl Tls {
    /// The texts of files in it.
    pub(super) fn pems(&mut self) -> impl Iterator<Item = &mut Pem> {
        let trusted = if let Trust::Only(pem) = &mut self.trust { Some(pem) } else { None };
        let own = self.identity.iter_mut();
        trusted.into_iter().chain(own.flat_map(|own| [&mut own.certificates, &mut own.key]))
    }

    /// Whether one of these texts was left out.
    pub(super) fn is_left_out(&self) -> bool {
        let trusted = matches!(&self.trust, Trust::Only(pem) if pem.text.is_left_out());
        let is_missing =
            |own: &Identity| own.certificates.text.is_left_out() || own.key.text.is_left_out();
        trusted || self.identity.as_ref().is_some_and(is_missing)
    }
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

/// `system`, `anybody`, or the file of certificates.
impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trust::System => f.write_str("system"),
            Trust::Anybody => f.write_str("anybody"),
            Trust::Only(pem) => f.write_str(&pem.file),
        }
    }
}

/// `1.2` or `1.3`.
impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsVersion::V12 => "1.2",
            TlsVersion::V13 => "1.3",
        })
    }
}

impl FromStr for TlsVersion {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "1.2" => Ok(TlsVersion::V12),
            "1.3" => Ok(TlsVersion::V13),
            _ => refuse("not a supported version of TLS; write 1.2 or 1.3"),
        }
    }
}

impl Typed for TlsVersion {
    const EXPECTING: &'static str = "\"1.2\" or \"1.3\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order() {
        assert!("1.2".parse::<TlsVersion>().unwrap() < "1.3".parse().unwrap());
        let refused = "1.1".parse::<TlsVersion>().unwrap_err().to_string();
        assert!(refused.contains("write 1.2 or 1.3"));
    }
}
