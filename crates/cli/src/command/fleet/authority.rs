//! The CA of a fleet: makes keys and certificates, and renews them.
//!
//! The CA keeps its key and its name when its certificate is renewed, so members with new certificates and members with
//! those of before trust each other until the latter end.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use crate::exit::UserError;
use crate::fleet::folder::{CA, CERTIFICATE, KEY};
use crate::input;

/// The folder of the CA, and the file of its key.
const FOLDER: &str = "ca";
const CA_KEY: &str = "ca.key";
/// Its name.
const NAME: &str = "Candor fleet";

/// What a certificate is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Server,
    Client,
}

/// The CA.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Makes the CA of the fleet in this folder.
    pub(super) fn make(folder: &Path) -> Result<Self, UserError> {
        let key = KeyPair::generate().map_err(failed)?;
        secret(&folder.join(FOLDER).join(CA_KEY), &key.serialize_pem())?;
        Authority::certified(folder, key)
    }

    /// The CA of the fleet in this folder, with a new certificate.
    pub(super) fn renew(folder: &Path) -> Result<Self, UserError> {
        Authority::certified(folder, key_of(folder)?)
    }

    /// The CA of the fleet in this folder.
    pub(super) fn read(folder: &Path) -> Result<Self, UserError> {
        let pem = input::text("certificate", &folder.join(FOLDER).join(CA))?;
        Ok(Authority { issuer: Issuer::new(ca_parameters()?, key_of(folder)?), pem })
    }

    fn certified(folder: &Path, key: KeyPair) -> Result<Self, UserError> {
        let parameters = ca_parameters()?;
        let pem = parameters.self_signed(&key).map_err(failed)?.pem();
        public(&folder.join(FOLDER).join(CA), &pem)?;
        Ok(Authority { pem, issuer: Issuer::new(parameters, key) })
    }

    /// Writes a new key and its certificate for these names into a folder, beside the CA's.
    pub(super) fn certify(
        &self,
        folder: &Path,
        names: Vec<String>,
        usage: Use,
    ) -> Result<(), UserError> {
        let key = KeyPair::generate().map_err(failed)?;
        let name = names[0].clone();
        let mut parameters = parameters(names, &name)?;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![match usage {
            Use::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Use::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed)?;
        public(&folder.join(CA), &self.pem)?;
        secret(&folder.join(KEY), &key.serialize_pem())?;
        public(&folder.join(CERTIFICATE), &certificate.pem())
    }
}

fn key_of(folder: &Path) -> Result<KeyPair, UserError> {
    let file = folder.join(FOLDER).join(CA_KEY);
    let text = input::text("key of the fleet's CA", &file)?;
    KeyPair::from_pem(&text)
        .map_err(|error| UserError::could_not_run(format!("{}: {error}", file.display())))
}

fn ca_parameters() -> Result<CertificateParams, UserError> {
    let mut parameters = parameters(Vec::new(), NAME)?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(parameters)
}

/// Parameters for these names, valid from the beginning of last year for four years, so that a clock
/// that is somewhat wrong does no harm.
fn parameters(names: Vec<String>, common_name: &str) -> Result<CertificateParams, UserError> {
    const YEAR_S: u64 = 31_556_952;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let year = 1970 + i32::try_from(since / YEAR_S).unwrap_or(0);
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    parameters.not_before = date_time_ymd(year - 1, 1, 1);
    parameters.not_after = date_time_ymd(year + 3, 1, 1);
    Ok(parameters)
}

fn failed(error: rcgen::Error) -> UserError {
    UserError::could_not_run(format!("a certificate cannot be made: {error}"))
}

/// Writes a file that everybody may read who can enter its folder.
pub(super) fn public(path: &Path, text: &str) -> Result<(), UserError> {
    write(path, text, 0o644)
}

/// Writes a file for its owner alone.
pub(super) fn secret(path: &Path, text: &str) -> Result<(), UserError> {
    write(path, text, 0o600)
}

/// A reader sees the old file or the complete new one.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), UserError> {
    let write = || {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let new = Path::new(&new);
        // That of a process that was killed.
        let _ = fs::remove_file(new);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        candor_files::open(new, &mut options)?.write_all(text.as_bytes())?;
        fs::rename(new, path)
    };
    write().map_err(|error| {
        UserError::could_not_run(format!("cannot write {}: {error}", path.display()))
    })
}
