//! `candor fleet init`: everything that a fleet needs before its first run, in one folder.
//!
//! ```text
//! fleet/ca/         ca.pem ca.key                                   stays with the owner
//! fleet/broker/     broker.conf jetstream/ ca.pem cert.pem key.pem  to the broker's machine
//! fleet/operator/   member.toml signing.key ca.pem cert.pem key.pem to whoever starts runs
//! fleet/agents/a0/  member.toml policy.toml ca.pem cert.pem key.pem to each agent's machine
//! ```
//!
//! Nothing is overwritten, and only the owner can read secrets. What is written is what
//! [`crate::fleet::folder`] reads.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_fleet::{OperatorKey, Policy};
use candor_plan::allow::Allowed;
use clap::Args;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::console;
use crate::exit::{Exit, UserError};
use crate::fleet::folder::{self, CA, CERTIFICATE, KEY, MEMBER, POLICY, SIGNING_KEY};

/// The operator's name at the broker.
const OPERATOR: &str = "operator";
/// The file of the broker's configuration.
pub(super) const CONFIGURATION: &str = "broker.conf";
/// The folder in which the broker keeps copies of results.
const STORE: &str = "jetstream";
/// The most agents of a fleet that are made at once.
const MOST: u32 = 1000;

#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// Number of agents: a0, a1 and so on
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    agents: u32,
    /// Folder to make
    #[arg(long, value_name = "FOLDER", default_value = "fleet")]
    out: PathBuf,
    /// Name or address of the broker's machine, as agents reach it; repeat it for further ones
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    broker_host: Vec<String>,
    /// Port of the broker
    #[arg(long, value_name = "PORT", default_value_t = 4222)]
    port: u16,
    /// Host or network that agents may send load to, e.g. *.staging.example.com or 10.0.0.0/8; repeat
    /// it for further ones
    #[arg(long, value_name = "TARGET", value_parser = target)]
    target: Vec<String>,
    /// Highest rate of one agent, e.g. 20k/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<String>,
}

/// What the folders of a new fleet have in them.
pub(super) struct Fleet<'a> {
    pub(super) folder: &'a Path,
    pub(super) agents: u32,
    /// Names of the broker's machine, the first of which members use.
    pub(super) hosts: &'a [String],
    /// The address that the broker listens on.
    pub(super) listen: &'a str,
    pub(super) port: u16,
    pub(super) targets: &'a [String],
    pub(super) rate: Option<&'a str>,
    /// The rule for scripts.
    pub(super) scripts: &'a str,
}

fn target(text: &str) -> Result<String, String> {
    match text.parse::<Allowed>() {
        Ok(Allowed::Unix(_)) => Err("agents do not connect to unix sockets".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn rate(text: &str) -> Result<String, String> {
    candor_plan::units::parse_rate(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(super) fn init(arguments: &InitArguments) -> Result<ExitCode, UserError> {
    let InitArguments { agents, out, broker_host, port, target, rate } = arguments;
    make(&Fleet {
        folder: out,
        agents: *agents,
        hosts: broker_host,
        listen: "0.0.0.0",
        port: *port,
        targets: target,
        rate: rate.as_deref(),
        scripts: "refused",
    })?;
    let at = out.display();
    let mut text = format!(
        "candor fleet init: {at} is ready\n\
         on the broker's machine:   cd {at}/broker && nats-server -c {CONFIGURATION}\n\
         on each agent's machine:   candor agent {at}/agents/a0\n\
         where runs are started:    candor run --fleet {agents} --operator {at}/operator URL\n\
         keep {at}/ca and {at}/operator to yourself; copy each other folder to its machine only"
    );
    if target.is_empty() {
        let _ = write!(
            text,
            "\nno agent may send load yet: add targets to {at}/agents/*/{POLICY}, or use --target"
        );
    }
    console::lines(&(text + "\n"));
    Ok(Exit::Fine.into())
}

/// Makes the folders.
pub(super) fn make(fleet: &Fleet<'_>) -> Result<(), UserError> {
    let folder = fleet.folder;
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "it is there already",
            _ => "it cannot be made",
        };
        UserError::could_not_run(format!(
            "{}: {what} ({error}); name another folder with --out",
            folder.display()
        ))
    })?;
    let authority = Authority::new()?;
    let ca = folder.join("ca");
    public(&ca.join(CA), &authority.pem)?;
    secret(&ca.join("ca.key"), &authority.issuer.key().serialize_pem())?;

    let broker = folder.join("broker");
    let here = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut names: Vec<String> = fleet.hosts.to_vec();
    names.extend(here.into_iter().filter(|name| !fleet.hosts.contains(name)));
    authority.certify(&broker, names, ExtendedKeyUsagePurpose::ServerAuth)?;
    public(&broker.join(CONFIGURATION), &configuration(fleet))?;
    // For those who mount a disk there.
    let store = broker.join(STORE);
    fs::DirBuilder::new().mode(0o700).create(&store).map_err(|error| {
        UserError::could_not_run(format!("cannot make {}: {error}", store.display()))
    })?;

    let url = format!("tls://{}:{}", bracketed(&fleet.hosts[0]), fleet.port);
    let member = |name: &str| format!("name = \"{name}\"\nbroker = \"{url}\"\n");
    let operator = folder.join("operator");
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    authority.certify(&operator, vec![OPERATOR.to_owned()], client.clone())?;
    public(&operator.join(MEMBER), &member(OPERATOR))?;
    let seed = folder::random::<32>()?;
    secret(&operator.join(SIGNING_KEY), &format!("{}\n", folder::to_hex(&seed)))?;

    let policy = policy(fleet, &OperatorKey::from_seed(&seed))?;
    for name in names_of(fleet.agents) {
        let agent = folder.join("agents").join(&name);
        authority.certify(&agent, vec![name.clone()], client.clone())?;
        public(&agent.join(MEMBER), &member(&name))?;
        public(&agent.join(POLICY), &policy)?;
    }
    Ok(())
}

/// The names of a fleet's agents.
pub(super) fn names_of(agents: u32) -> impl Iterator<Item = String> {
    (0..agents).map(|at| format!("a{at}"))
}

fn bracketed(host: &str) -> String {
    match host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    }
}

/// The broker's configuration: the certificate of a client gives it its own subjects and no others.
fn configuration(fleet: &Fleet<'_>) -> String {
    let user = |name: &str, publish: &str, subscribe: &str| {
        format!(
            "    {{ user: \"{name}\", permissions: {{ publish: [{publish}], subscribe: [{subscribe}] }} }}\n"
        )
    };
    let calls = ["STREAM.CREATE", "DIRECT.GET", "STREAM.PURGE"];
    let calls = calls.map(|call| format!(", \"$JS.API.{call}.candor\"")).concat();
    let mut users = user(
        OPERATOR,
        &format!("\"candor.agent.*\"{calls}"),
        "\"candor.hello.*\", \"candor.run.*.*\", \"_INBOX.>\"",
    );
    for name in names_of(fleet.agents) {
        let publish = format!("\"candor.hello.{name}\", \"candor.run.*.{name}\"");
        users += &user(&name, &publish, &format!("\"candor.agent.{name}\""));
    }
    format!(
        "# The broker of a Candor fleet. In this folder: nats-server -c {CONFIGURATION}\n\
         listen: \"{}:{}\"\n\
         max_payload: 1MB\n\
         # Keeps up to 512 MiB of results for an hour, for `candor fleet report`; needs room for twice that.\n\
         jetstream {{\n    \
             store_dir: \"{STORE}\"\n    \
             max_memory_store: 1MB\n    \
             max_file_store: 1GB\n\
         }}\n\
         tls {{\n    \
             cert_file: \"{CERTIFICATE}\"\n    \
             key_file: \"{KEY}\"\n    \
             ca_file: \"{CA}\"\n    \
             # Members may be far away.\n    \
             timeout: 20\n    \
             # A certificate is needed, and the name in it is the user's.\n    \
             verify_and_map: true\n\
         }}\n\
         authorization {{\n  timeout: 20\n  users: [\n{users}  ]\n}}\n",
        bracketed(fleet.listen),
        fleet.port
    )
}

/// The policy of an agent.
fn policy(fleet: &Fleet<'_>, operator: &OperatorKey) -> Result<String, UserError> {
    let mut text = format!(
        "# What this machine lets a fleet do. docs/fleet.md describes every key.\n\
         operators = [\"{}\"]\n\
         scripts = \"{}\"\n",
        operator.public(),
        fleet.scripts
    );
    match fleet.rate {
        Some(rate) => writeln!(text, "rate = \"{rate}\""),
        None => writeln!(text, "# rate = \"20k/s\"\n# connections = 1000\n# duration = \"10m\""),
    }
    .expect("a string takes everything");
    if fleet.targets.is_empty() {
        text += "\n# No target is allowed yet:\n# [[target]]\n# host = \"*.staging.example.com\"\n\
                 # networks = [\"10.0.0.0/8\"]\n# ports = [80, 443]\n";
    }
    for target in fleet.targets {
        let entry = match target.parse::<Allowed>() {
            Ok(Allowed::Network { .. }) => format!("networks = [\"{target}\"]"),
            _ => format!("host = \"{target}\""),
        };
        let _ = write!(text, "\n[[target]]\n{entry}\n");
    }
    // What is written can be read.
    Policy::from_toml(POLICY, &text).map_err(UserError::usage)?;
    Ok(text)
}

/// A new CA.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Result<Self, UserError> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut parameters = parameters(Vec::new(), "Candor fleet")?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate: Certificate = parameters.self_signed(&key).map_err(failed)?;
        Ok(Authority { pem: certificate.pem(), issuer: Issuer::new(parameters, key) })
    }

    /// Writes a new key and its certificate for these names into a folder, beside the CA's.
    fn certify(
        &self,
        folder: &Path,
        names: Vec<String>,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<(), UserError> {
        let key = KeyPair::generate().map_err(failed)?;
        let name = names[0].clone();
        let mut parameters = parameters(names, &name)?;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![usage];
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed)?;
        public(&folder.join(CA), &self.pem)?;
        public(&folder.join(CERTIFICATE), &certificate.pem())?;
        secret(&folder.join(KEY), &key.serialize_pem())
    }
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

/// Writes a new file that everybody may read who can enter its folder.
fn public(path: &Path, text: &str) -> Result<(), UserError> {
    write(path, text, 0o644)
}

/// Writes a new file for its owner alone.
fn secret(path: &Path, text: &str) -> Result<(), UserError> {
    write(path, text, 0o600)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), UserError> {
    let write = || {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        candor_files::open(path, &mut options)?.write_all(text.as_bytes())
    };
    write().map_err(|error| {
        UserError::could_not_run(format!("cannot write {}: {error}", path.display()))
    })
}
