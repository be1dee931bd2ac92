//! From the plan to rustls' configuration: once a run, and a copy for each thread.

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
use super::session::Tls;
use super::verify::{Anybody, Named};
use crate::session::Session;

/// Sessions that a thread remembers. All are of one server: rustls keeps eight tickets for each.
const REMEMBERED_SESSIONS: usize = 32;

/// Why no configuration can be made of the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a host name nor an address.
    #[error("\"{0}\" is not a name that TLS can ask a server for; give one with --sni")]
    ServerName(String),
    /// A file without what it should hold.
    #[error("{option}: {file} holds no {what} in PEM form; check that it is the right file")]
    Pem {
        /// The option.
        option: &'static str,
        /// The file.
        file: String,
        /// What was looked for.
        what: &'static str,
    },
    /// A certificate or key that cannot be used.
    #[error("{option}: {file}: {reason}")]
    Unusable {
        /// The option.
        option: &'static str,
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A name that means nothing here.
    #[error("{option}: \"{name}\" is not known; the names are {known}")]
    Unknown {
        /// The option.
        option: &'static str,
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The system has no authorities.
    #[error(
        "no certificate authority is known to this system{reason}; install ca-certificates, or use --cacert or --insecure"
    )]
    NoRoots {
        /// What was said when they were looked for, after a colon.
        reason: String,
    },
    /// What is left after all choices does not make a handshake.
    #[error(
        "nothing is left to offer the server ({0}); see --tls-ciphers, --tls-groups, --tls-min and --tls-max"
    )]
    Nothing(String),
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
                    let certificates = certificates("--cacert", pem)?;
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
                        option: "--cert",
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
    /// over; it is told whether the server chose HTTP/2.
    pub fn sessions<S: Session>(
        &self,
        make: Rc<dyn Fn(bool) -> S>,
    ) -> impl Fn() -> Tls<S> + Clone + use<S> {
        let mut config = self.config.clone();
        if self.resumption {
            // Tickets are a thread's own, so that threads share no lock.
            config.resumption = Resumption::in_memory_sessions(REMEMBERED_SESSIONS);
            config.enable_early_data = self.early_data;
        }
        let (config, name) = (Arc::new(config), self.name.clone());
        let (resumption, needs_h2) = (self.resumption, self.needs_h2);
        let scratch = Rc::new(Scratch::default());
        move || {
            let (make, scratch) = (Rc::clone(&make), Rc::clone(&scratch));
            Tls::new(Arc::clone(&config), name.clone(), needs_h2, resumption, make, scratch)
        }
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
    provider.cipher_suites = chosen("--tls-ciphers", &tls.ciphers, suites, suite_name)?;
    let groups = std::mem::take(&mut provider.kx_groups);
    let group_name =
        |one: &&dyn rustls::crypto::SupportedKxGroup| one.name().as_str().unwrap_or_default();
    provider.kx_groups = chosen("--tls-groups", &tls.groups, groups, group_name)?;
    Ok(provider)
}

/// Those of `all` with these names, in the order of the names; without names, all.
fn chosen<T: Copy>(
    option: &'static str,
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
            option,
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
    // Systems carry some that nobody can read any more; those are skipped.
    store.add_parsable_certificates(certificates.iter().cloned());
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| ConfigError::Unusable {
            option: "--cacert",
            file: from.to_owned(),
            reason: error.to_string(),
        })
}

fn certificates(
    option: &'static str,
    pem: &Pem,
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.text.whole()).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| ConfigError::Pem {
        option,
        file: pem.file.clone(),
        what: "certificate",
    })
}

fn own_chain(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConfigError> {
    let chain = certificates("--cert", &identity.certificates)?;
    let key =
        PrivateKeyDer::from_pem_slice(identity.key.text.whole()).map_err(|_| ConfigError::Pem {
            option: "--key",
            file: identity.key.file.clone(),
            what: "private key without a pass phrase",
        })?;
    Ok((chain, key))
}
