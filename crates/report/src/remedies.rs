//! Remedies for the failures with examples in a result.
//!
//! A result has the [`Cause`] of the first failure of each kind; this module has the remedy, in terms of the
//! command line that prints the result. The command has the remedies of other errors.

use candor_record::Cause;

/// The remedy for failures with this cause: an imperative, without a full stop.
pub fn of(cause: Cause) -> &'static str {
    match cause {
        Cause::ClearText => "write http:// in the URL, or the port of https",
        Cause::NoH2OverTls => "leave --h2 out",
        Cause::ClientCertificate => {
            "name a certificate that the server accepts with --cert and --key"
        }
        Cause::ServerName => "give a name that the server knows with --sni",
        Cause::Alpn => "change the protocols offered with --alpn, --h1 or --h2",
        Cause::TlsVersion => "change the versions offered with --tls-min and --tls-max",
        Cause::TlsOffer => "change the offer with --tls-ciphers, --tls-groups or --tls-min",
        Cause::Issuer => {
            "name the file of the CA with --cacert, or accept any certificate with --insecure"
        }
        Cause::Expired => "renew the certificate, or accept it with --insecure",
        Cause::NotYetValid => "check the clocks, or accept the certificate with --insecure",
        Cause::CertificateName => {
            "ask for a name that it has with --sni, or accept any certificate with --insecure"
        }
        Cause::Certificate => "replace the certificate, or accept it with --insecure",
        Cause::Http1 => "leave --h2 or --h2c out, or use a port of the target that speaks HTTP/2",
        Cause::Tls => "write https:// in the URL",
        Cause::NoUpgrade => "use --h2c, which begins in HTTP/2, or --h1",
        Cause::NoH2 => "use --h1, or another port",
        Cause::HandshakeClosed => {
            "check the protocol of this port: http:// or https://, --h1, --h2 or --h2c"
        }
        Cause::HandshakeSlow => {
            "check the protocol of this port (http:// or https://, --h1, --h2 or --h2c), or give the \
             server more time with --connect-timeout"
        }
        Cause::BodyLimit => {
            "with a script, raise --script-body-limit; captures read bodies of up to 1 MiB"
        }
    }
}
