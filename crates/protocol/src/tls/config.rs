//! From the plan to rustls' configuration: once a run, and a copy for each thread.

use std::fmt::{Display, Formatter};
use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{Identity, Pem, TlsVersion, Trust};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::records::Scratch;
use super::session::{Make, Tls};
use super::verify::{Anybody, Named};

/// Sessions that a thread remembers. All are of one server: rustls keeps eight tickets for each.
const REMEMBERED_SESSIONS: usize = 32;

/// Why no configuration can be made of the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a host name nor an address.
    #[error("\"{0}\" is not a name that TLS can ask a server for")]
    ServerName(String),
    /// A file without what it should hold.
    #[error("{file} holds no {what} in PEM form")]
    Pem {
        /// What the file is for.
        of: Material,
        /// The file.
        file: String,
        /// What was looked for.
        what: &'static str,
    },
    /// A certificate or key that cannot be used.
    #[error("{file} cannot be used as {of}: {reason}")]
    Unusable {
        /// What the file is for.
        of: Material,
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A name that means nothing here.
    #[error("\"{name}\" is not the name of {of}; the names are {known}")]
    Unknown {
        /// What it should name.
        of: Choice,
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The system has no authorities.
    #[error("this system has no trusted CAs{reason}")]
    NoRoots {
        /// What was said when they were looked for, after a colon.
        reason: String,
    },
    /// What is left after all choices does not make a handshake.
    #[error("nothing is left to offer the server ({0})")]
    Nothing(String),
}

/// What a file of certificates or keys is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Material {
    /// The trusted CAs.
    Trust,
    /// Our own certificate, with its chain.
    Certificate,
    /// The private key of our certificate.
    Key,
}

impl Display for Material {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Material::Trust => "the trusted CAs",
            Material::Certificate => "the client certificate",
            Material::Key => "the private key",
        })
    }
}

/// What is chosen by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A cipher suite.
    Cipher,
    /// A group of the key exchange.
    Group,
}

impl Display for Choice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Choice::Cipher => "a cipher suite",
            Choice::Group => "a key-exchange group",
        })
    }
}

/// What all connections of a run share.
#[derive(Debug, Clone)]
pub struct Connector {
    config: ClientConfig,
    name: ServerName<'static>,
    resumption: bool,
    early_data: bool,
    needs_h2: bool,
}

impl Connector {
    /// For the plan's TLS. `roots` are the system's authorities, asked for only where the plan
    /// trusts them.
    pub fn new(
        tls: &candor_plan::Tls,
        roots: impl FnOnce() -> Result<Vec<CertificateDer<'static>>, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let name = ServerName::try_from(tls.server_name.clone())
            .map_err(|_| ConfigError::ServerName(tls.server_name.clone()))?;
        let provider = Arc::new(provider(tls)?);
        let nothing = |error: rustls::Error| ConfigError::Nothing(error.to_string());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions(tls))
            .map_err(nothing)?
            .dangerous()
            .with_custom_certificate_verifier(match &tls.trust {
                Trust::Anybody => Arc::new(Anybody(provider)),
                Trust::System => web_pki(&provider, &roots()?, "the system's authorities")?,
                Trust::Only(pem) => {
                    let certificates = certificates(Material::Trust, pem)?;
                    let inner = web_pki(&provider, &certificates, &pem.file)?;
                    Arc::new(Named { inner, certificates })
                }
            });
        let mut config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = own_chain(identity)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    ConfigError::Unusable {
                        of: Material::Certificate,
                        file: identity.certificates.file.clone(),
                        reason: format!("{error}; certificate and key must belong together"),
                    }
                })?
            }
        };
        config.alpn_protocols = tls.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.resumption = Resumption::disabled();
        // The record layer is ours.
        config.enable_secret_extraction = true;
        Ok(Connector {
            config,
            name,
            resumption: tls.resumption,
            early_data: tls.early_data,
            needs_h2: tls.alpn == ["h2"],
        })
    }

    /// Makes the sessions of one thread, each around one that `make` makes once the handshake is
    /// over.
    pub fn sessions(&self, make: Make) -> impl Fn() -> Tls + Clone + use<> {
        let (config, name) = self.of_thread();
        let (resumption, needs_h2) = (self.resumption, self.needs_h2);
        let scratch = Rc::new(Scratch::default());
        move || {
            let (make, scratch) = (Rc::clone(&make), Rc::clone(&scratch));
            Tls::new(Arc::clone(&config), name.clone(), needs_h2, resumption, make, scratch)
        }
    }
}

impl Connector {
    /// The configuration of one thread, and the name that servers are asked for.
    pub(crate) fn of_thread(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
        let mut config = self.config.clone();
        if self.resumption {
            // Tickets are a thread's own, so that threads share no lock.
            config.resumption = Resumption::in_memory_sessions(REMEMBERED_SESSIONS);
            config.enable_early_data = self.early_data;
        }
        (Arc::new(config), self.name.clone())
    }
}

fn versions(tls: &candor_plan::Tls) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(TlsVersion::V13, &TLS13), (TlsVersion::V12, &TLS12)];
    let asked = all.into_iter().filter(|(version, _)| (tls.min..=tls.max).contains(version));
    asked.map(|(_, version)| version).collect()
}

/// aws-lc-rs, with the suites and groups that were asked for.
fn provider(tls: &candor_plan::Tls) -> Result<CryptoProvider, ConfigError> {
    let mut provider = aws_lc_rs::default_provider();
    let suites = std::mem::take(&mut provider.cipher_suites);
    let suite_name = |one: &rustls::SupportedCipherSuite| one.suite().as_str().unwrap_or_default();
    provider.cipher_suites = chosen(Choice::Cipher, &tls.ciphers, suites, suite_name)?;
    let groups = std::mem::take(&mut provider.kx_groups);
    let group_name =
        |one: &&dyn rustls::crypto::SupportedKxGroup| one.name().as_str().unwrap_or_default();
    provider.kx_groups = chosen(Choice::Group, &tls.groups, groups, group_name)?;
    Ok(provider)
}

/// Those of `all` with these names, in the order of the names; without names, all.
fn chosen<T: Copy>(
    of: Choice,
    names: &[String],
    all: Vec<T>,
    name_of: impl Fn(&T) -> &'static str,
) -> Result<Vec<T>, ConfigError> {
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        let found = all.iter().find(|one| name_of(one).eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| ConfigError::Unknown {
            of,
            name: name.clone(),
            known: all.iter().map(&name_of).collect::<Vec<_>>().join(", "),
        })
    };
    names.iter().map(find).collect()
}

fn web_pki(
    provider: &Arc<CryptoProvider>,
    certificates: &[CertificateDer<'static>],
    from: &str,
) -> Result<Arc<WebPkiServerVerifier>, ConfigError> {
    let mut store = RootCertStore::empty();
    // Systems carry some that cannot be read any more; those are skipped.
    store.add_parsable_certificates(certificates.iter().cloned());
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| ConfigError::Unusable {
            of: Material::Trust,
            file: from.to_owned(),
            reason: error.to_string(),
        })
}

fn certificates(of: Material, pem: &Pem) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.text.whole()).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| ConfigError::Pem {
        of,
        file: pem.file.clone(),
        what: "certificate",
    })
}

fn own_chain(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConfigError> {
    let chain = certificates(Material::Certificate, &identity.certificates)?;
    let key =
        PrivateKeyDer::from_pem_slice(identity.key.text.whole()).map_err(|_| ConfigError::Pem {
            of: Material::Key,
            file: identity.key.file.clone(),
            what: "private key without a pass phrase",
        })?;
    Ok((chain, key))
}
