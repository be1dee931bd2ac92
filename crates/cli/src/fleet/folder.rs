//! The folders of a fleet's members, as `candor fleet init` writes them and members read them.
//!
//! Each has its own certificate and key beside the CA's certificate, under fixed names, and a small TOML
//! file that says where the broker is. A folder can be copied to its machine as a whole.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_fleet::{OperatorKey, Policy, certificate};
use candor_fleet_nats::{Broker, Certificates};
use serde::Deserialize;

use crate::exit::UserError;
use crate::input;

/// The certificate of the CA.
pub(crate) const CA: &str = "ca.pem";
/// A member's certificate.
pub(crate) const CERTIFICATE: &str = "cert.pem";
/// Its key.
pub(crate) const KEY: &str = "key.pem";
/// Name and broker of a member.
pub(crate) const MEMBER: &str = "member.toml";
/// The key of the operator that signs grants.
pub(crate) const SIGNING_KEY: &str = "signing.key";
/// The policy of an agent.
pub(crate) const POLICY: &str = "policy.toml";
/// The audit file of an agent.
pub(crate) const AUDIT: &str = "audit.jsonl";

/// How long a link waits for its first connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The content of [`MEMBER`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    pub(crate) name: String,
    broker: OneOrMore,
}

/// An address, or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected an address of the broker, or a list of addresses")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Member {
    /// The addresses of the broker.
    pub(crate) fn urls(self) -> Vec<String> {
        match self.broker {
            OneOrMore::One(url) => vec![url],
            OneOrMore::More(urls) => urls,
        }
    }

    /// Reads the file in this folder.
    pub(crate) fn read(folder: &Path) -> Result<Member, UserError> {
        let file = folder.join(MEMBER);
        let text = input::text("member file", &file).map_err(|error| {
            UserError::usage(format!("{error}; `candor fleet init` makes the folders of a fleet"))
        })?;
        toml::from_str(&text)
            .map_err(|error| UserError::usage(format!("{}: {}", file.display(), error.message())))
    }
}

/// The broker at `urls`. With `tls://` the files of this folder prove who connects.
pub(crate) fn broker(urls: Vec<String>, folder: &Path) -> Result<Broker, UserError> {
    let scheme = |url: &String| match url.split_once("://") {
        Some((scheme @ ("tls" | "nats"), rest)) if !rest.is_empty() => Ok(scheme == "tls"),
        _ => Err(UserError::usage(format!(
            "{url:?} is not the address of a broker; write tls://HOST:4222, or nats://127.0.0.1:4222 on one \
             machine"
        ))),
    };
    let has_tls: Vec<bool> = urls.iter().map(scheme).collect::<Result<_, _>>()?;
    let tls = match has_tls[..] {
        [] => return Err(UserError::usage("the list of addresses of the broker is empty")),
        [first, ..] if has_tls.contains(&!first) => {
            return Err(UserError::usage(format!(
                "{}: some addresses of the broker begin with tls:// and some with nats://; write tls:// for all",
                urls.join(", ")
            )));
        }
        [first, ..] => first.then(|| Certificates {
            ca: folder.join(CA),
            certificate: folder.join(CERTIFICATE),
            key: folder.join(KEY),
        }),
    };
    if let Some(files) = &tls
        && let Some(missing) =
            [&files.ca, &files.certificate, &files.key].into_iter().find(|file| !file.is_file())
    {
        return Err(UserError::usage(format!(
            "{} is missing; `candor fleet init` makes it",
            missing.display()
        )));
    }
    if let Some(files) = &tls {
        check_validity(&files.certificate, unix_s())?;
    }
    Ok(Broker { urls, tls, patience: PATIENCE })
}

/// A broker closes the connection of a member whose certificate is not valid now, and does not say why.
fn check_validity(file: &Path, unix_s: u64) -> Result<(), UserError> {
    let text = input::text("certificate", file)?;
    let Some((from_s, to_s)) = certificate::validity(&text) else { return Ok(()) };
    let what = match (unix_s < from_s, unix_s > to_s) {
        (true, _) => "is not valid yet; check the clock of this machine",
        (_, true) => "has expired; renew it with `candor fleet renew`",
        _ => return Ok(()),
    };
    Err(UserError::could_not_run(format!("the certificate {} {what}", file.display())))
}

/// The operator: may sign grants and speak to agents.
pub(crate) struct Operator {
    pub(crate) broker: Broker,
    pub(crate) folder: PathBuf,
    seed: [u8; 32],
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator").field("broker", &self.broker.urls).finish_non_exhaustive()
    }
}

impl Operator {
    /// Reads its folder.
    pub(crate) fn read(folder: &Path) -> Result<Operator, UserError> {
        let member = Member::read(folder)?;
        let file = folder.join(SIGNING_KEY);
        let text = input::text("signing key", &file)?;
        let seed = from_hex(text.trim()).ok_or_else(|| {
            UserError::usage(format!(
                "{} is not a signing key: 64 hexadecimal digits",
                file.display()
            ))
        })?;
        Ok(Operator { broker: broker(member.urls(), folder)?, folder: folder.to_owned(), seed })
    }

    /// The key that signs grants.
    pub(crate) fn key(&self) -> OperatorKey {
        OperatorKey::from_seed(&self.seed)
    }
}

/// The policy in this file.
pub(crate) fn policy(file: &Path) -> Result<Policy, UserError> {
    let text = input::text("policy", file)?;
    Policy::from_toml(&file.display().to_string(), &text).map_err(UserError::usage)
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], UserError> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| UserError::could_not_run("the system has no random numbers"))?;
    Ok(bytes)
}

/// Bytes as hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exactly `N` bytes of hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The path of a file in a folder, or the one given in its place.
pub(crate) fn given_or(given: Option<&PathBuf>, folder: &Path, name: &str) -> PathBuf {
    given.cloned().unwrap_or_else(|| folder.join(name))
}

/// Seconds since 1970.
pub(super) fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hexadecimal_digits() {
        let bytes = [0, 1, 0xfe, 0xff];
        assert_eq!(to_hex(&bytes), "0001feff");
        assert_eq!(from_hex::<4>("0001feff"), Some(bytes));
        for wrong in ["", "0001fef", "0001fefg", "0001feff0", "+001feff", "0001fé7"] {
            assert_eq!(from_hex::<4>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_member_has_one_broker_or_more() {
        let urls = |text: &str| toml::from_str::<Member>(text).map(Member::urls).ok();
        assert_eq!(
            urls("name = \"a0\"\nbroker = \"tls://h:1\""),
            Some(vec!["tls://h:1".to_owned()])
        );
        let two = urls("name = \"a0\"\nbroker = [\"tls://h:1\", \"tls://i:1\"]");
        assert_eq!(two.map(|urls| urls.len()), Some(2));
        assert_eq!(urls("name = \"a0\"\nbroker = 7"), None);
    }

    #[test]
    fn a_certificate_that_is_not_valid_now_is_said_to_be_so() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let file = folder.path().join(CERTIFICATE);
        let key = rcgen::KeyPair::generate().unwrap_or_else(|error| panic!("{error}"));
        let mut parameters = rcgen::CertificateParams::default();
        parameters.not_before = rcgen::date_time_ymd(2020, 2, 29);
        parameters.not_after = rcgen::date_time_ymd(2055, 1, 1);
        let made = parameters.self_signed(&key).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(&file, made.pem()).unwrap_or_else(|error| panic!("{error}"));
        let said = |unix_s| check_validity(&file, unix_s).map_err(|error| error.to_string());
        let (from_s, to_s) = (1_582_934_400, 2_682_374_400);
        assert!(said(from_s).is_ok() && said(to_s).is_ok());
        assert!(said(from_s - 1).is_err_and(|error| error.contains("not valid yet")));
        assert!(said(to_s + 1).is_err_and(|error| error.contains("has expired")));
    }

    #[test]
    fn a_broker_has_a_scheme_and_its_files() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let broker = |urls: &[&str]| {
            let urls = urls.iter().map(|url| (*url).to_owned()).collect();
            super::broker(urls, folder.path()).map_err(|error| error.to_string())
        };
        let urls = ["nats://127.0.0.1:4222", "nats://[::1]:4222"];
        assert!(broker(&urls).is_ok_and(|one| one.tls.is_none() && one.urls == urls));
        for wrong in ["", "127.0.0.1:4222", "http://h:1", "tls://", "nats://"] {
            assert!(
                broker(&[wrong]).is_err() && broker(&["nats://h:1", wrong]).is_err(),
                "{wrong}"
            );
        }
        let mixed = broker(&["nats://h:1", "tls://h:2"]);
        assert!(mixed.is_err_and(|error| error.contains("tls:// for all")) && broker(&[]).is_err());
        let missing = broker(&["tls://h:4222"]);
        assert!(missing.is_err_and(|error| error.contains("ca.pem is missing")));
    }
}
