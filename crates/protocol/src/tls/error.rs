//! What can be wrong in TLS. The remedy depends on the command line, which adds it by the [`Cause`].

use candor_record::Cause;
use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

use crate::session::Fault;

/// Why a connection's TLS came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The handshake failed.
    #[error("{0}")]
    Handshake(HandshakeError),
    /// What came instead of a handshake is text.
    #[error("the server responds in clear text: there is no TLS on this port")]
    ClearText,
    /// HTTP/2 was asked for, and the server chose something else.
    #[error("the server does not choose h2 by ALPN: there is no HTTP/2 on this port")]
    NoH2,
    /// A record could not be decrypted.
    #[error("a TLS record does not decrypt: it was changed on its way, or the server's fault")]
    Decrypt,
    /// A record is too long, or of no known type (RFC 8446 5.1, 5.2).
    #[error("the server sent bytes that are not a TLS record")]
    Record,
    /// An alert, other than close_notify.
    #[error("the server ended TLS with the alert {}", alert_words(*.0))]
    Alert(u8),
    /// A message that has no place after the handshake.
    #[error("the server sent a TLS handshake message that has no place after the handshake")]
    Message,
    /// Records without data, and messages in them, one after the other.
    #[error(
        "the server sent TLS records without data again and again: tickets, new keys, warnings or empty records"
    )]
    Idle,
    /// A response to a request that is encrypted and not yet sent.
    #[error("the server responded before the request was sent")]
    AnsweredEarly,
}

impl Fault for Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Error::Handshake(error) => error.cause(),
            Error::ClearText => Some(Cause::ClearText),
            Error::NoH2 => Some(Cause::NoH2OverTls),
            // In TLS 1.3 a server asks for a certificate when the client's handshake is over.
            Error::Alert(alert) => alert_cause(AlertDescription::from(*alert)),
            Error::Decrypt
            | Error::Record
            | Error::Message
            | Error::Idle
            | Error::AnsweredEarly => None,
        }
    }
}

/// rustls' error, in our words.
#[derive(Debug, Clone, PartialEq)]
pub struct HandshakeError(pub rustls::Error);

impl std::error::Error for HandshakeError {}

impl HandshakeError {
    /// The cause, if a change of the plan can remove it. rustls may gain errors at any time; those have none.
    pub fn cause(&self) -> Option<Cause> {
        use CertificateError as C;
        use rustls::Error as E;
        match &self.0 {
            E::AlertReceived(alert) => alert_cause(*alert),
            E::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Some(Cause::TlsVersion),
            E::NoApplicationProtocol => Some(Cause::Alpn),
            E::InvalidCertificate(error) => match known(error) {
                C::UnknownIssuer | C::BadSignature => Some(Cause::Issuer),
                C::Expired | C::ExpiredContext { .. } => Some(Cause::Expired),
                C::NotValidYet | C::NotValidYetContext { .. } => Some(Cause::NotYetValid),
                C::NotValidForName | C::NotValidForNameContext { .. } => {
                    Some(Cause::CertificateName)
                }
                C::Revoked => None,
                _ => Some(Cause::Certificate),
            },
            _ => None,
        }
    }
}

impl std::fmt::Display for HandshakeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use rustls::Error as E;
        match &self.0 {
            E::InvalidCertificate(error) => certificate(error, formatter),
            E::AlertReceived(alert) => {
                let words = alert_words(u8::from(*alert));
                write!(formatter, "the server refused the TLS handshake with the alert {words}")?;
                formatter.write_str(match self.cause() {
                    Some(Cause::ClientCertificate) => "; it requires a client certificate",
                    Some(Cause::ServerName) => "; it does not know the name that it was asked for",
                    Some(Cause::Alpn) => "; it supports none of the protocols offered",
                    Some(Cause::TlsOffer) => "; it accepts nothing of what was offered",
                    _ => "",
                })
            }
            E::InvalidMessage(InvalidMessage::InvalidContentType) => formatter.write_str(
                "the server's first bytes are not TLS: another protocol listens on this port",
            ),
            E::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13)
            | E::PeerIncompatible(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig) => {
                formatter.write_str("the server chose a version of TLS that was not offered")
            }
            E::NoApplicationProtocol => {
                formatter.write_str("the server chose a protocol by ALPN that was not offered")
            }
            other => write!(formatter, "the TLS handshake failed: {other}"),
        }
    }
}

/// The error that this one comes to.
fn known(error: &CertificateError) -> &CertificateError {
    match error {
        // A self-signed certificate that could also sign others.
        CertificateError::Other(other) => match other.0.downcast_ref::<webpki::Error>() {
            Some(webpki::Error::CaUsedAsEndEntity) => &CertificateError::UnknownIssuer,
            _ => error,
        },
        _ => error,
    }
}

fn certificate(
    error: &CertificateError,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    use CertificateError as C;
    match known(error) {
        // A bad signature is that of another CA of the same name.
        C::UnknownIssuer | C::BadSignature => formatter.write_str(
            "the server's certificate is not signed by a trusted CA: it is self-signed, or of a private CA",
        ),
        C::Expired => formatter.write_str("the server's certificate has expired"),
        C::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            write!(formatter, "the server's certificate expired {days} days ago")
        }
        C::NotValidYet | C::NotValidYetContext { .. } => {
            formatter.write_str("the server's certificate is not valid yet")
        }
        C::NotValidForName => {
            formatter.write_str("the server's certificate is for another name")
        }
        C::NotValidForNameContext { expected, presented } => write!(
            formatter,
            "the server's certificate is not for {}, but for {}",
            expected.to_str(),
            match presented.is_empty() {
                true => "no name at all".to_owned(),
                false => presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", "),
            }
        ),
        C::Revoked => formatter.write_str("the server's certificate was revoked"),
        other => write!(formatter, "the server's certificate is not acceptable: {other}"),
    }
}

/// What a server's alert says of the plan (RFC 8446 6.2).
fn alert_cause(alert: AlertDescription) -> Option<Cause> {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired | A::BadCertificate | A::UnknownCA | A::CertificateUnknown => {
            Some(Cause::ClientCertificate)
        }
        A::UnrecognisedName => Some(Cause::ServerName),
        A::NoApplicationProtocol => Some(Cause::Alpn),
        A::ProtocolVersion => Some(Cause::TlsVersion),
        A::HandshakeFailure | A::InsufficientSecurity => Some(Cause::TlsOffer),
        _ => None,
    }
}

/// `DnsName("example.com")` without what is for programmers.
fn bare(name: &str) -> &str {
    name.split_once('(').map_or(name, |(_, rest)| rest.trim_matches(['"', ')']))
}

/// An alert by its name (RFC 8446 6) and number.
fn alert_words(alert: u8) -> String {
    let name = format!("{:?}", AlertDescription::from(alert));
    format!("{name} ({alert})")
}
