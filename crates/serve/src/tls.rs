//! TLS of the target, with a self-signed or a given certificate.
//!
//! The self-signed certificate is for localhost and the loopback addresses, and lives as long as
//! the server. Clients can trust it by its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_files::{Private, private, write_atomically};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::ServeError;

/// The certificate of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificate {
    /// One made at the start, in this file; `None`: in a file in this process's private directory,
    /// removed at the end.
    SelfSigned(Option<PathBuf>),
    /// PEM files of a chain and its key.
    Files {
        /// The chain.
        chain: PathBuf,
        /// The key.
        key: PathBuf,
    },
}

/// The server's configuration for TLS.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// The same for QUIC.
    pub(crate) quic: ServerConfig,
    /// The file of the certificate.
    pub(crate) certificate: PathBuf,
    /// The private directory, if the user named no file.
    _private: Option<Private>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").field("certificate", &self.certificate).finish()
    }
}

impl Tls {
    pub(crate) fn new(certificate: &Certificate) -> Result<Tls, ServeError> {
        match certificate {
            Certificate::SelfSigned(file) => self_signed(file.as_deref()),
            Certificate::Files { chain, key } => from_files(chain, key),
        }
    }
}

fn self_signed(file: Option<&Path>) -> Result<Tls, ServeError> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| ServeError::MakeCertificate(error.to_string()))?;
    let (path, private) = match file {
        Some(file) => (file.to_owned(), None),
        None => {
            let private = private().map_err(|error| {
                ServeError::MakeCertificate(format!("cannot make a directory for it: {error}"))
            })?;
            (private.name("pem"), Some(private))
        }
    };
    write_atomically(&path, made.cert.pem().as_bytes()).map_err(|error| {
        ServeError::Certificate { path: path.clone(), reason: error.cause.to_string() }
    })?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let (acceptor, quic) = configs(vec![made.cert.der().clone()], key.into())
        .map_err(|error| ServeError::MakeCertificate(error.to_string()))?;
    Ok(Tls { acceptor, quic, certificate: path, _private: private })
}

fn from_files(chain: &Path, key: &Path) -> Result<Tls, ServeError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |reason: String| ServeError::Certificate { path, reason }
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(chain)(error.to_string()))?;
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key)(error.to_string()))?;
    let (acceptor, quic) =
        configs(certificates, private).map_err(|error| wrong(chain)(error.to_string()))?;
    Ok(Tls { acceptor, quic, certificate: chain.to_owned(), _private: None })
}

/// For TLS over TCP, and for QUIC, which has TLS 1.3 alone and takes early data.
fn configs(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<(TlsAcceptor, ServerConfig), rustls::Error> {
    let config = |versions, alpn: &[&[u8]]| {
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_protocol_versions(versions)?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key.clone_key())?;
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok::<_, rustls::Error>(config)
    };
    let tcp = config(rustls::DEFAULT_VERSIONS, &[b"h2", b"http/1.1"])?;
    let mut quic = config(&[&rustls::version::TLS13], &[b"h3"])?;
    // A target's responses do no harm twice. QUIC has no other limit (RFC 9001 4.6.1).
    quic.max_early_data_size = u32::MAX;
    Ok((Arc::new(tcp).into(), quic))
}
