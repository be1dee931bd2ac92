//! The flags of servers that Candor starts and of their cores, the same for every command that can
//! start one, and their effect: a running target, and a split of the machine.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use candor_lab::target::PORT;
use candor_lab::target::cores::{Split, parse_cores};
use candor_lab::{Ready, Running, Site, TargetSpec};
use candor_plan::options::Options;
use candor_plan::values::PositiveNanos;
use candor_plan::{Parts, Request, words};
use clap::Args;

use crate::exit::UserError;
use crate::input;
use crate::scenario::Chosen;

/// A managed target.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TargetFlags {
    /// Start this server, measure it, and end it with all of its processes
    ///
    /// Program and arguments in one word; there is no shell. {port} in it becomes a free port. Without
    /// that the server gets the flags --standalone --port-file FILE, or FILE in place of {port_file},
    /// and writes PORT=, PATH= and METHOD= to it when it is ready. Other ways: --target-ready.
    #[arg(long, value_name = "COMMAND", help_heading = "Managed target")]
    pub(crate) target: Option<String>,

    /// Send this built-in scenario, and hold responses against it [default: the one that the target announces]
    ///
    /// Its requests, the responses that they must get, and its options where none are typed; see
    /// `candor bench --list-scenarios`.
    #[arg(long, value_name = "NAME", help_heading = "Requests")]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) ready: ReadyFlags,

    #[command(flatten)]
    pub(crate) cores: CoreFlags,

    /// Append the target's output to this file [default: kept only if it fails]
    #[arg(long, value_name = "FILE", help_heading = "Managed target", requires = "target")]
    pub(crate) target_log: Option<PathBuf>,
}

/// How servers are started, and when they are ready.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReadyFlags {
    /// How to check that a server is ready: port, tcp:HOST:PORT, http://HOST:PORT/PATH, line:TEXT,
    /// file:PATH, after:TIME or port-file [default: port if its command has {port}, else port-file]
    ///
    /// A URL must return 200; for another status add a blank and the status:
    /// 'http://localhost:{port}/up 204'. Without another URL that one is measured, too. port: it accepts connections at {port}. line: a line of its
    /// output contains the text.
    #[arg(long, value_name = "HOW", help_heading = "Managed target", value_parser = parse_ready)]
    pub(crate) target_ready: Option<Ready>,

    /// Time limit for getting ready [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Managed target")]
    pub(crate) target_timeout: Option<PositiveNanos>,

    /// Environment variable for a server, as NAME=VALUE; may be repeated
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Managed target", value_parser = parse_env)]
    pub(crate) target_env: Vec<(String, String)>,

    /// Directory to start a server in
    #[arg(long, value_name = "DIR", help_heading = "Managed target")]
    pub(crate) target_dir: Option<PathBuf>,
}

impl ReadyFlags {
    /// Refuses them where no server is started.
    pub(crate) fn check(&self, starts_one: bool, remedy: &str) -> Result<(), UserError> {
        let given = [
            ("--target-ready", self.target_ready.is_some()),
            ("--target-timeout", self.target_timeout.is_some()),
            ("--target-env", !self.target_env.is_empty()),
            ("--target-dir", self.target_dir.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) if !starts_one => Err(UserError::usage(format!(
                "{flag}: no server is started; {remedy}, or leave it out"
            ))),
            _ => Ok(()),
        }
    }

    /// How to start this command.
    pub(crate) fn spec(&self, name: String, command: Vec<String>) -> TargetSpec {
        let mut spec = TargetSpec::new(name, command);
        let has_port = |words: &[String]| words.iter().any(|word| word.contains(PORT));
        spec.ready = match &self.target_ready {
            Some(ready) => ready.clone(),
            None if has_port(&spec.command) => Ready::Port,
            None => Ready::PortFile,
        };
        if let Some(timeout) = self.target_timeout {
            spec.ready_timeout = Duration::from_nanos(timeout.get());
        }
        spec.env.clone_from(&self.target_env);
        spec.dir.clone_from(&self.target_dir);
        spec
    }
}

/// Refuses a server whose address cannot be known.
pub(crate) fn check_place(spec: &TargetSpec, has_url: bool) -> Result<(), UserError> {
    let says_where =
        !matches!(spec.ready, Ready::Port | Ready::Line(_) | Ready::File(_) | Ready::After(_));
    if has_url || says_where || spec.command.iter().any(|word| word.contains(PORT)) {
        return Ok(());
    }
    Err(UserError::usage(format!(
        "{}: nothing says where it listens; put {PORT} into its command, or give a URL",
        spec.name
    )))
}

/// Cores of servers and of the loader.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CoreFlags {
    /// Cores of a managed target, e.g. 0-3 [default: the first half]
    #[arg(long, value_name = "CORES", help_heading = "Cores", value_parser = Cores::parse)]
    target_cores: Option<Cores>,

    /// Cores of the loader, e.g. 4-7 [default: those that a managed target leaves, or all]
    #[arg(long, value_name = "CORES", help_heading = "Cores", value_parser = Cores::parse)]
    loader_cores: Option<Cores>,
}

/// A list of cores; clap would take a bare list for a flag that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cores(Vec<usize>);

impl Cores {
    fn parse(text: &str) -> Result<Cores, String> {
        parse_cores(text).map(Cores)
    }
}

impl CoreFlags {
    /// The split of the machine.
    pub(crate) fn split(&self) -> Result<Split, UserError> {
        let list = |cores: &'_ Option<Cores>| cores.as_ref().map(|Cores(list)| list.clone());
        let physical = candor_engine::physical_cores();
        let (target, loader) = (list(&self.target_cores), list(&self.loader_cores));
        Ok(Split::choose(&physical, target.as_deref(), loader.as_deref())?)
    }
}

impl TargetFlags {
    /// Starts the target, if any, and points `options` at it. Without a URL and without a target
    /// the embedded one is started, if `embeds`. The scenario is the one that is to be sent, if any.
    pub(crate) fn site(
        &self,
        options: &mut Options,
        embeds: bool,
    ) -> Result<(Site, Chosen), UserError> {
        self.ready.check(self.target.is_some(), "start one with --target")?;
        let chosen = Chosen::typed(self.scenario.as_ref(), options)?;
        let spec = match &self.target {
            Some(command) => {
                let spec = self.spec(command)?;
                check_place(&spec, options.url.is_some())?;
                Some(spec)
            }
            None if embeds && !input::is_elsewhere(options) => Some(chosen.embedded(options)?),
            None => None,
        };
        let CoreFlags { target_cores, loader_cores } = &self.cores;
        let wants_cores = target_cores.is_some() || loader_cores.is_some();
        let split = match spec.is_some() || wants_cores {
            true => Some(self.cores.split()?),
            false => None,
        };
        if spec.is_none() && target_cores.is_some() {
            return Err(UserError::usage(
                "--target-cores: the target is not managed; start it with --target, or leave \
                 this out",
            ));
        }
        let note = spec.as_ref().map(|spec| match self.target {
            Some(_) => "managed".to_owned(),
            None => spec.name.clone(),
        });
        let Some(mut spec) = spec else {
            return Ok((Site { note, split, ..Site::default() }, chosen));
        };
        spec.cores = split.as_ref().map(|split| split.target.clone());
        let running = Running::start(&spec)?;
        let chosen = chosen.announced(running.announced(), options);
        follow(&running, options)?;
        Ok((Site { note, running: Some(running), split, profile: None }, chosen))
    }

    fn spec(&self, command: &str) -> Result<TargetSpec, UserError> {
        let command = words::split(command)
            .map_err(|problem| UserError::usage(format!("--target: {problem}")))?;
        let program = command.first().map(PathBuf::from).unwrap_or_default();
        let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut spec = self.ready.spec(name.unwrap_or_default(), command);
        spec.log.clone_from(&self.target_log);
        Ok(spec)
    }
}

/// How long the embedded target takes for a response of this plan at least, if its paths say that.
pub(crate) fn least_delay_ns(plan: &Parts) -> Option<u64> {
    let least = |one: &Request| match one.method.as_str() {
        // Without its body a response does not take as long.
        "HEAD" => Duration::ZERO,
        _ => candor_serve::least_delay(&one.path),
    };
    let least = plan.work.requests().iter().map(least).min()?;
    Some(least.as_nanos() as u64).filter(|ns| *ns > 0)
}

/// Points `options` at a target, unless the user set another URL.
pub(crate) fn point(options: &mut Options, running: &Running) {
    let announced = running.announced();
    if options.url.is_none() && !announced.url.is_empty() {
        options.url = Some(announced.url.clone());
    }
    if !options.tls.insecure && options.tls.cacert.is_none() {
        options.tls.cacert.clone_from(&announced.certificate);
    }
    speak(options, announced.protocol.as_deref());
}

/// The URL of a WebSocket on the server of `url`.
pub(crate) fn socket(url: &str, path: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let scheme = if url.starts_with("https:") { "wss" } else { "ws" };
    format!("{scheme}://{authority}{path}")
}

/// Uses HTTP/2 or HTTP/3 if the target announces it and the user chose no version. ALPN alone would silently
/// measure HTTP/1.1 if the server prefers that.
fn speak(options: &mut Options, announced: Option<&str>) {
    let http2 = &mut options.http2;
    let is_asked = http2.h1 || http2.h2 || http2.h2c || http2.h2c_upgrade || http2.is_h3();
    let is_h1 = options.script.script.is_some() || options.requests.pipeline.is_some();
    let is_https = options.url.as_deref().is_some_and(|url| url.starts_with("https:"));
    match announced {
        _ if is_asked || options.tls.alpn.is_some() => {}
        Some("h2c") if !is_https => http2.h2c = true,
        Some("h2") if is_https && !is_h1 => http2.h2 = true,
        Some("h3") if is_https && !is_h1 => http2.h3 = true,
        _ => {}
    }
}

/// The target's announcements fill in the options that the user did not set.
fn follow(running: &Running, options: &mut Options) -> Result<(), UserError> {
    point(options, running);
    let announced = running.announced();
    let makes_own_requests =
        !options.requests.request.is_empty() || options.script.script.is_some();
    if let (None, Some(method), false) =
        (&options.requests.method, &announced.method, makes_own_requests)
    {
        let method = method.parse().map_err(|error| {
            UserError::could_not_run(format!("the target's port file has METHOD={method}: {error}"))
        })?;
        options.requests.method = Some(method);
    }
    Ok(())
}

fn parse_ready(text: &str) -> Result<Ready, String> {
    let help = "write port, tcp:HOST:PORT, a URL with an optional status, line:TEXT, file:PATH, after:TIME or \
                port-file";
    let wrong = || help.to_owned();
    match text.split_once(':') {
        None if text == "port-file" => Ok(Ready::PortFile),
        None if text == "port" => Ok(Ready::Port),
        Some(("tcp", "127.0.0.1:{port}" | "localhost:{port}")) => Ok(Ready::Port),
        Some(("tcp", address)) => {
            let mut found =
                address.to_socket_addrs().map_err(|error| format!("{error}; {help}"))?;
            let first: Option<SocketAddr> = found.next();
            first.map(Ready::Tcp).ok_or_else(wrong)
        }
        Some(("line", line)) if !line.trim().is_empty() => Ok(Ready::Line(line.to_owned())),
        Some(("file", path)) if !path.is_empty() => Ok(Ready::File(path.into())),
        Some(("after", time)) => {
            let time: PositiveNanos = time.parse().map_err(|error| format!("{error}"))?;
            Ok(Ready::After(Duration::from_nanos(time.get())))
        }
        Some(("http", _)) if text.starts_with("http://") => {
            let (url, status) = text.split_once(' ').unwrap_or((text, "200"));
            let status = status.trim().parse().ok().filter(|status| (100..=999).contains(status));
            Ok(Ready::Http { url: url.to_owned(), status: status.ok_or(help)? })
        }
        _ => Err(wrong()),
    }
}

fn parse_env(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_announces_is_spoken() {
        let spoken = |announced: &str, change: &dyn Fn(&mut Options)| {
            let mut options = Options { url: Some("https://h/".to_owned()), ..Options::default() };
            change(&mut options);
            speak(&mut options, Some(announced));
            let http2 = &options.http2;
            let all = [("h1", http2.h1), ("h2", http2.h2), ("h2c", http2.h2c), ("h3", http2.h3)];
            all.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect::<Vec<_>>()
        };
        let clear = |options: &mut Options| options.url = Some("http://h/".to_owned());
        assert_eq!(spoken("h3", &|_| ()), ["h3"]);
        assert_eq!(spoken("h2", &|_| ()), ["h2"]);
        assert_eq!(spoken("h2c", &clear), ["h2c"]);
        assert!(spoken("h1", &|_| ()).is_empty(), "ALPN decides");
        assert_eq!(spoken("h2", &|options| options.http2.h1 = true), ["h1"]);
        assert_eq!(spoken("h3", &|options| options.http2.h2 = true), ["h2"]);
        let pipelined = |options: &mut Options| options.requests.pipeline = "4".parse().ok();
        for secure in ["h2", "h3"] {
            assert!(spoken(secure, &clear).is_empty(), "the URL was typed");
            assert!(spoken(secure, &pipelined).is_empty());
        }
    }

    #[test]
    fn ways_to_be_ready() {
        assert_eq!(parse_ready("port-file"), Ok(Ready::PortFile));
        let address = "127.0.0.1:80".parse().unwrap();
        assert_eq!(parse_ready("tcp:127.0.0.1:80"), Ok(Ready::Tcp(address)));
        let http = |url: &str, status| Ready::Http { url: url.to_owned(), status };
        assert_eq!(parse_ready("http://h/x"), Ok(http("http://h/x", 200)));
        assert_eq!(parse_ready("http://h/x 404"), Ok(http("http://h/x", 404)));
        for port in ["port", "tcp:127.0.0.1:{port}", "tcp:localhost:{port}"] {
            assert_eq!(parse_ready(port), Ok(Ready::Port), "{port}");
        }
        assert_eq!(parse_ready("line:ready: 1"), Ok(Ready::Line("ready: 1".to_owned())));
        assert_eq!(parse_ready("file:/tmp/up"), Ok(Ready::File("/tmp/up".into())));
        assert_eq!(parse_ready("after:2s"), Ok(Ready::After(Duration::from_secs(2))));
        for wrong in ["", "tcp:nowhere", "https://h/", "http://h/ x", "file", "line: ", "after:x"] {
            assert!(parse_ready(wrong).is_err(), "{wrong}");
        }
        assert!(parse_env("A=b=c").is_ok() && parse_env("=b").is_err() && parse_env("A").is_err());
    }
}
