//! `candor fleet init`: everything that a fleet needs before its first run, in one folder.
//!
//! ```text
//! fleet/ca/         ca.pem ca.key                                   stays with the owner
//! fleet/broker/     broker.conf jetstream/ ca.pem cert.pem key.pem  to the broker's machine
//! fleet/operator/   member.toml signing.key ca.pem cert.pem key.pem for the person who starts runs
//! fleet/agents/a0/  member.toml policy.toml ca.pem cert.pem key.pem to each agent's machine
//! ```
//!
//! Nothing is overwritten, and only the owner can read secrets. What is written is what
//! [`crate::fleet::folder`] reads.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_fleet::{OperatorKey, Policy};
use candor_plan::allow::Allowed;
use clap::Args;

use super::authority::{Authority, Use, public, secret};
use crate::console;
use crate::exit::{Exit, UserError};
use crate::fleet::folder::{self, CA, CERTIFICATE, KEY, MEMBER, POLICY, SIGNING_KEY};

/// The operator's name at the broker.
pub(super) const OPERATOR: &str = "operator";
/// The file of the broker's configuration.
pub(super) const CONFIGURATION: &str = "broker.conf";
/// How the line of a user begins in it.
pub(super) const USER: &str = "    { user: \"";
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
    /// Name or address of the broker's machine; repeat it for further ones, which members try in turn
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    broker_host: Vec<String>,
    /// Port of the broker
    #[arg(long, value_name = "PORT", default_value_t = 4222)]
    port: u16,
    #[command(flatten)]
    rules: RuleFlags,
}

/// What new agents may do.
#[derive(Debug, Args)]
pub(super) struct RuleFlags {
    /// Host or network that agents may send load to, e.g. *.staging.example.com or 10.0.0.0/8; repeat
    /// it for further ones
    #[arg(long, value_name = "TARGET", value_parser = target)]
    target: Vec<String>,
    /// Highest rate of one agent, e.g. 20k/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<String>,
}

impl RuleFlags {
    /// The policy of an agent with these rules, for this operator.
    pub(super) fn policy(&self, operator: &OperatorKey) -> Result<String, UserError> {
        policy(&self.rules(), operator)
    }

    fn rules(&self) -> Rules<'_> {
        Rules { targets: &self.target, rate: self.rate.as_deref(), scripts: "refused" }
    }

    /// What is to be said if no target is allowed.
    pub(super) fn hint(&self, folder: &dyn std::fmt::Display) -> String {
        match self.target.is_empty() {
            true => format!(
                "\nno agent may send load yet: add targets to {folder}/{POLICY}, or use --target"
            ),
            false => String::new(),
        }
    }
}

/// The rules in an agent's policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) targets: &'a [String],
    pub(super) rate: Option<&'a str>,
    /// The rule for scripts.
    pub(super) scripts: &'a str,
}

/// What the folders of a new fleet have in them.
pub(super) struct Fleet<'a> {
    pub(super) folder: &'a Path,
    pub(super) agents: u32,
    /// Names of the broker's machine.
    pub(super) hosts: &'a [String],
    /// The address that the broker listens on.
    pub(super) listen: &'a str,
    pub(super) port: u16,
    pub(super) rules: Rules<'a>,
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
    let InitArguments { agents, out, broker_host, port, rules } = arguments;
    make(&Fleet {
        folder: out,
        agents: *agents,
        hosts: broker_host,
        listen: "0.0.0.0",
        port: *port,
        rules: rules.rules(),
    })?;
    let at = out.display();
    let text = format!(
        "candor fleet init: {at} is ready\n\
         on the broker's machine:   cd {at}/broker && nats-server -c {CONFIGURATION}\n\
         on each agent's machine:   candor agent {at}/agents/a0\n\
         where runs are started:    candor run --fleet {agents} --operator {at}/operator URL\n\
         keep {at}/ca and {at}/operator to yourself; copy each other folder to its machine only{}\n",
        rules.hint(&format_args!("{at}/agents/*"))
    );
    console::lines(&text);
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
    let authority = Authority::make(folder)?;

    let broker = folder.join("broker");
    let here = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut names: Vec<String> = fleet.hosts.to_vec();
    names.extend(here.into_iter().filter(|name| !fleet.hosts.contains(name)));
    authority.certify(&broker, names, Use::Server)?;
    public(&broker.join(CONFIGURATION), &configuration(fleet))?;
    // For those who mount a disk there.
    let store = broker.join(STORE);
    fs::DirBuilder::new().mode(0o700).create(&store).map_err(|error| {
        UserError::could_not_run(format!("cannot make {}: {error}", store.display()))
    })?;

    let url = |host: &String| format!("tls://{}:{}", bracketed(host), fleet.port);
    let urls: Vec<String> = fleet.hosts.iter().map(url).collect();
    let operator = folder.join("operator");
    authority.certify(&operator, vec![OPERATOR.to_owned()], Use::Client)?;
    public(&operator.join(MEMBER), &member(OPERATOR, &urls))?;
    let seed = folder::random::<32>()?;
    secret(&operator.join(SIGNING_KEY), &format!("{}\n", folder::to_hex(&seed)))?;

    let policy = policy(&fleet.rules, &OperatorKey::from_seed(&seed))?;
    for name in names_of(fleet.agents) {
        make_agent(&authority, folder, &name, &urls, &policy)?;
    }
    Ok(())
}

/// Makes the folder of an agent.
pub(super) fn make_agent(
    authority: &Authority,
    folder: &Path,
    name: &str,
    urls: &[String],
    policy: &str,
) -> Result<(), UserError> {
    let agent = folder.join("agents").join(name);
    authority.certify(&agent, vec![name.to_owned()], Use::Client)?;
    public(&agent.join(MEMBER), &member(name, urls))?;
    public(&agent.join(POLICY), policy)
}

/// The text of a member's file.
fn member(name: &str, urls: &[String]) -> String {
    let broker = match urls {
        [url] => format!("\"{url}\""),
        urls => format!("[\"{}\"]", urls.join("\", \"")),
    };
    format!("name = \"{name}\"\nbroker = {broker}\n")
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
    let calls = ["STREAM.CREATE", "DIRECT.GET", "STREAM.PURGE"];
    let calls = calls.map(|call| format!(", \"$JS.API.{call}.candor\"")).concat();
    let mut users = user(
        OPERATOR,
        &format!("\"candor.agent.*\"{calls}"),
        "\"candor.hello.*\", \"candor.run.*.*\", \"_INBOX.>\"",
    );
    users.extend(names_of(fleet.agents).map(|name| user_of_agent(&name)));
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

/// The line of a user in the broker's configuration.
fn user(name: &str, publish: &str, subscribe: &str) -> String {
    format!(
        "{USER}{name}\", permissions: {{ publish: [{publish}], subscribe: [{subscribe}] }} }}\n"
    )
}

/// That of an agent.
pub(super) fn user_of_agent(name: &str) -> String {
    let publish = format!("\"candor.hello.{name}\", \"candor.run.*.{name}\"");
    user(name, &publish, &format!("\"candor.agent.{name}\""))
}

/// The policy of an agent.
fn policy(rules: &Rules<'_>, operator: &OperatorKey) -> Result<String, UserError> {
    let mut text = format!(
        "# What this machine lets a fleet do. docs/fleet.md describes every key.\n\
         operators = [\"{}\"]\n\
         scripts = \"{}\"\n",
        operator.public(),
        rules.scripts
    );
    match rules.rate {
        Some(rate) => writeln!(text, "rate = \"{rate}\""),
        None => writeln!(text, "# rate = \"20k/s\"\n# connections = 1000\n# duration = \"10m\""),
    }
    .expect("a string takes everything");
    if rules.targets.is_empty() {
        text += "\n# No target is allowed yet:\n# [[target]]\n# host = \"*.staging.example.com\"\n\
                 # networks = [\"10.0.0.0/8\"]\n# ports = [80, 443]\n";
    }
    for target in rules.targets {
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
