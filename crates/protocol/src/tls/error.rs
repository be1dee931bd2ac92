//! What can be wrong in TLS, in words that say what to do about it.

use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

/// Why a connection's TLS came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The handshake failed.
    #[error("{0}")]
    Handshake(HandshakeError),
    /// What came instead of a handshake is text.
    #[error(
        "the server answers in clear text: there is no TLS on this port; write http:// in the URL, or the port of https"
    )]
    ClearText,
    /// HTTP/2 was asked for, and the server chose something else.
    #[error("the server does not choose h2 by ALPN: no HTTP/2 here; leave --h2 out")]
    NoH2,
    /// A record could not be decrypted.
    #[error("a TLS record does not decrypt: it was changed on its way, or the server's fault")]
    Decrypt,
    /// A record is too long, or of no known type (RFC 8446 5.1, 5.2).
    #[error("the server sent bytes that are no TLS record")]
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
    /// An answer to a request that is encrypted and not yet sent.
    #[error("the server answered a request that was not sent yet")]
    AnsweredEarly,
}

/// rustls' error, with a sentence that names the remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct HandshakeError(pub rustls::Error);

impl std::error::Error for HandshakeError {}

impl std::fmt::Display for HandshakeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use rustls::Error as E;
        match &self.0 {
            E::InvalidCertificate(error) => certificate(error, formatter),
            E::AlertReceived(alert) => {
                let remedy = match alert {
                    AlertDescription::CertificateRequired
                    | AlertDescription::BadCertificate
                    | AlertDescription::UnknownCA
                    | AlertDescription::CertificateUnknown => {
                        "; it wants a certificate of ours: see --cert and --key"
                    }
                    AlertDescription::UnrecognisedName => {
                        "; it does not know the name that it was asked for: see --sni"
                    }
                    AlertDescription::NoApplicationProtocol => {
                        "; it speaks none of the protocols offered: see --alpn, --h1 and --h2"
                    }
                    AlertDescription::ProtocolVersion => "; see --tls-min and --tls-max",
                    AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
                        "; nothing offered suits it: see --tls-ciphers, --tls-groups and --tls-min"
                    }
                    _ => "",
                };
                let words = alert_words(u8::from(*alert));
                write!(formatter, "the server refused the TLS handshake with the alert {words}{remedy}")
            }
            E::InvalidMessage(InvalidMessage::InvalidContentType) => formatter.write_str(
                "the server's first bytes are no TLS: another protocol listens on this port",
            ),
            E::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13)
            | E::PeerIncompatible(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig) => {
                formatter.write_str(
                    "the server chose a version of TLS that was not offered: see --tls-min and --tls-max",
                )
            }
            E::NoApplicationProtocol => formatter.write_str(
                "the server chose a protocol by ALPN that was not offered: see --alpn",
            ),
            other => write!(formatter, "the TLS handshake failed: {other}"),
        }
    }
}

fn certificate(
    error: &CertificateError,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    use CertificateError as C;
    match error {
        // webpki's words for a self-signed certificate that could also sign others.
        C::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            certificate(&C::UnknownIssuer, formatter)
        }
        // A bad signature is that of another authority of the same name.
        C::UnknownIssuer | C::BadSignature => formatter.write_str(
            "the server's certificate is not signed by an authority that is known here: it is self-signed, or of a private authority; name its file with --cacert, or accept any with --insecure",
        ),
        C::Expired => formatter.write_str(
            "the server's certificate has expired; renew it, or accept it with --insecure",
        ),
        C::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            write!(
                formatter,
                "the server's certificate expired {days} days ago; renew it, or accept it with --insecure"
            )
        }
        C::NotValidYet | C::NotValidYetContext { .. } => formatter.write_str(
            "the server's certificate is not valid yet; check the clocks, or accept it with --insecure",
        ),
        C::NotValidForName => formatter.write_str(
            "the server's certificate is for another name; ask for that one with --sni, or accept it with --insecure",
        ),
        C::NotValidForNameContext { expected, presented } => write!(
            formatter,
            "the server's certificate is not for {}, but for {}; ask for that name with --sni, or accept it with --insecure",
            expected.to_str(),
            match presented.is_empty() {
                true => "no name at all".to_owned(),
                false => presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", "),
            }
        ),
        C::Revoked => formatter.write_str("the server's certificate was revoked"),
        other => write!(
            formatter,
            "the server's certificate is not acceptable: {other}; accept it with --insecure"
        ),
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
