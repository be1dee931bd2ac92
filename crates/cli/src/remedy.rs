//! Remedies for errors of the library crates, with the flags of this command line.
//!
//! Libraries report the fault and its place as types; they know no flags. Only this module adds
//! remedies: it does not compile until a new variant has its remedy. Remedies for causes that
//! results keep are in [`candor_report::remedies`], since documents have them too. A remedy whose flags the command at
//! hand does not have is one of `candor run`, and says so.

use std::sync::OnceLock;

use candor_engine::EngineError;
use candor_engine::reactor::{ConnectCause, ConnectFailure};
use candor_import::ImportError;
use candor_lab::{LabError, Side};
use candor_protocol::tls::{Choice, ConfigError, Material};
use candor_record::ConnectErrorKind;
use candor_report::remedies;
use candor_serve::ServeError;

/// What makes a remedy one of the command at hand.
type Fit = Box<dyn Fn(String) -> String + Send + Sync>;

static FIT: OnceLock<Fit> = OnceLock::new();

/// Remedies are from now on for the command that `fit` knows.
pub(crate) fn are_fitted(fit: impl Fn(String) -> String + Send + Sync + 'static) {
    FIT.get_or_init(|| Box::new(fit));
}

/// The error and its remedy, in one sentence.
pub(crate) fn told(error: &LabError) -> String {
    sentence(error, lab(error))
}

/// The same for the command line of another tool, which lacks these flags.
pub(crate) fn told_elsewhere(error: &LabError) -> String {
    sentence(error, lab_of_run(error).map(of_run))
}

/// A remedy of `candor run`, elsewhere.
pub(crate) fn of_run(remedy: String) -> String {
    format!("with candor run: {remedy}")
}

/// The same for an error of a server of ours.
pub(crate) fn told_of_server(error: &ServeError) -> String {
    sentence(error, Some(serve(error).to_owned()))
}

/// The same for an input that becomes no plan.
pub(crate) fn told_of_import(error: &ImportError) -> String {
    let remedy = match error {
        ImportError::NoHost { .. } => "choose one of them with --host",
        ImportError::OnlyFiles => "keep them with --static-files",
        // The others contain it.
        _ => return error.to_string(),
    };
    sentence(error, Some(remedy.to_owned()))
}

/// The error with its remedy attached, for documents that keep its text.
pub(crate) fn advise(error: LabError) -> LabError {
    match lab(&error) {
        Some(remedy) => LabError::Advised { error: Box::new(error), remedy },
        None => error,
    }
}

fn sentence(error: &impl std::fmt::Display, remedy: Option<String>) -> String {
    let error = error.to_string();
    match remedy {
        // It ends with lines of a server, to which a remedy does not belong.
        Some(remedy) if error.contains('\n') => format!("{error}\n  → {remedy}"),
        Some(remedy) => format!("{error}; {remedy}"),
        None => error,
    }
}

/// The remedy for the command at hand; `None` if there is none, or if the error contains it.
fn lab(error: &LabError) -> Option<String> {
    let remedy = lab_of_run(error)?;
    Some(match FIT.get() {
        Some(fit) => fit(remedy),
        None => remedy,
    })
}

/// The same for a run.
fn lab_of_run(error: &LabError) -> Option<String> {
    let remedy = match error {
        LabError::Engine(error) => return engine(error),
        LabError::NoPortFile { .. } => {
            "write {port} in the command in the place of its port, or say with --target-ready how to check that \
             it is ready"
        }
        LabError::NoCore { of: Side::Target, .. } => "choose among them with --target-cores",
        LabError::NoCore { of: Side::Loader, .. } => "choose among them with --loader-cores",
        LabError::NoPeak { .. } => "add it to --loads",
        LabError::NoResults { .. } => "give files that --json wrote",
        LabError::NotOurs { .. } => "name another directory with --out, or delete this one",
        LabError::Held { .. } => {
            "wait until it has ended, end it, or name another directory with --out"
        }
        LabError::AltSvc { .. } => {
            "write --h3 in the place of --alt-svc if it speaks HTTP/3 on the URL's port, or leave it out"
        }
        LabError::AltSvcElsewhere { .. } => {
            "allow that host and the URL's own with --allow, or name its URL with --h3"
        }
        LabError::NoDirectory { .. } => "name another directory with --out",
        LabError::UnknownScenario { hint, .. } if hint.is_empty() => {
            "`candor bench --list-scenarios` prints the names"
        }
        LabError::UnknownScenario { .. }
        | LabError::Advised { .. }
        | LabError::Plan(_)
        | LabError::Credential { .. }
        | LabError::Interrupted
        | LabError::Stopped(_)
        | LabError::Response { .. }
        | LabError::NotInstalled { .. }
        | LabError::Target { .. }
        | LabError::Script(_)
        | LabError::Fleet(_)
        | LabError::Verify(_)
        | LabError::Usage(_)
        | LabError::File { .. } => return None,
    };
    Some(remedy.to_owned())
}

fn engine(error: &EngineError) -> Option<String> {
    let remedy = match error {
        EngineError::Resolve { host, port, .. } => {
            return Some(format!(
                "check the name, or give its address with --resolve {host}:{port}:ADDRESS"
            ));
        }
        EngineError::NotAllowed { .. } => "choose another target, or add its host or network there",
        EngineError::Configuration { .. } => "check its permissions",
        EngineError::NoConnection { first: Some(failure), .. } => no_connection(failure),
        EngineError::NoConnection { first: None, .. } => NO_SERVER,
        EngineError::OpenFiles { needed, .. } => {
            return Some(format!("raise it with `ulimit -n {needed}`, or ask for fewer with -c"));
        }
        EngineError::Ports { .. } => {
            "add local addresses with --source, widen the range, or ask for fewer with -c"
        }
        EngineError::Tls(error) => tls(error),
        EngineError::Site { .. } => "leave the target out, or split the file by host",
        // These contain their remedy, or do not come from the command line.
        EngineError::Data(_)
        | EngineError::AllowList(_)
        | EngineError::Workers { .. }
        | EngineError::RowsInWarmUp { .. }
        | EngineError::System { .. } => {
            return None;
        }
    };
    Some(remedy.to_owned())
}

const NO_SERVER: &str = "check that the server is running, and that this is its address";

fn no_connection(failure: &ConnectFailure) -> &'static str {
    if let ConnectCause::Other(reason) = &failure.why
        && let Some(cause) = reason.cause
    {
        return remedies::of(cause);
    }
    match failure.kind {
        ConnectErrorKind::PortsExhausted => {
            "wait until ports are free again, or add local addresses with --source"
        }
        ConnectErrorKind::FdsExhausted => "raise the limit with `ulimit -n`",
        ConnectErrorKind::Refused
        | ConnectErrorKind::Timeout
        | ConnectErrorKind::Unreachable
        | ConnectErrorKind::Reset
        | ConnectErrorKind::Other => NO_SERVER,
        ConnectErrorKind::Handshake => "check the protocol of this port, and the server's log",
    }
}

fn tls(error: &ConfigError) -> &'static str {
    match error {
        ConfigError::ServerName(_) => "give one with --sni",
        ConfigError::Pem { of, .. } => match of {
            Material::Trust => "check the file of --cacert",
            Material::Certificate => "check the file of --cert",
            Material::Key => "check the file of --key",
        },
        ConfigError::Unusable { of, .. } => match of {
            Material::Trust => "check the file of --cacert",
            Material::Certificate | Material::Key => "check the files of --cert and --key",
        },
        ConfigError::Unknown { of: Choice::Cipher, .. } => "correct --tls-ciphers",
        ConfigError::Unknown { of: Choice::Group, .. } => "correct --tls-groups",
        ConfigError::NoRoots { .. } => {
            "install ca-certificates, name trusted CAs with --cacert, or use --insecure"
        }
        ConfigError::Nothing(_) => "change --tls-ciphers, --tls-groups, --tls-min or --tls-max",
    }
}

fn serve(error: &ServeError) -> &'static str {
    match error {
        ServeError::Listen { .. } => "choose another port, or port 0 for a free one",
        ServeError::UnixSocket { .. } => "choose an unused path",
        ServeError::PortFile { .. } | ServeError::Log { .. } => "choose a writable place",
        ServeError::Certificate { .. } => "check its name and content",
        ServeError::MakeCertificate(_) => "name one with --tls-cert and --tls-key",
        ServeError::Runtime(_) => "lower --threads or raise the system's limits",
    }
}

/// A script's error in one sentence.
#[cfg(feature = "script")]
pub(crate) fn told_of_script(error: &candor_script::ScriptError) -> String {
    use candor_script::ScriptError;
    let remedy = match error {
        ScriptError::Late { .. } => Some("--script-timeout sets the limit"),
        ScriptError::Upgrade => Some("use --h2c instead of --h2c-upgrade"),
        ScriptError::Load(_) | ScriptError::Call { .. } => None,
    };
    sentence(error, remedy.map(str::to_owned))
}
