//! The certificate authorities that the system knows.
//!
//! Those of the system and not a list compiled in: what a company's machines trust is known
//! there, and it does not age with the program.

use candor_protocol::tls::ConfigError;
use rustls::pki_types::CertificateDer;

/// All that can be read.
pub(crate) fn system() -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or(String::new(), |error| format!(": {error}"));
        return Err(ConfigError::NoRoots { reason });
    }
    Ok(found.certs)
}
