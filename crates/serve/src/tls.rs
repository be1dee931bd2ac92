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
    let config = config(vec![made.cert.der().clone()], key.into())
        .map_err(|error| ServeError::MakeCertificate(error.to_string()))?;
    Ok(Tls { acceptor: config.into(), certificate: path, _private: private })
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
    let config = config(certificates, private).map_err(|error| wrong(chain)(error.to_string()))?;
    Ok(Tls { acceptor: config.into(), certificate: chain.to_owned(), _private: None })
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
