//! The bench that starts servers: each trial has a fresh process, alone on its cores.
//!
//! A server that kept running would carry its heap, its caches and its fragmented memory from one
//! scenario into the next. So each trial starts it and stops it. Its files are written into a work
//! directory, in the private directory of this process, which is removed after the trial; its output
//! is kept.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_files::{Private, private};
use candor_plan::url::parse_host_port;
use candor_plan::values::Nanos;
use candor_plan::{Options, ReadFile, build};
use candor_report::Document;

use super::Bench;
use super::content::{self, Contents};
use super::matrix::{CellPlan, OwnProfile, believe};
use super::meaning::Meaning;
use super::model::{Command, PROTOCOL, Protocol, ReadyWhen, SCENARIO, Server, ServerKind, Urls};
use crate::engine_runner::EngineRunner;
use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::matrix::Place;
use crate::site::Site;
use crate::target::keeper::this_one;
use crate::target::profiler::ProfileSpec;
use crate::target::{Announced, Ready, Running, TargetSpec, free_port, http, is_program};
use crate::trial::Runner;

/// Time that a server has to write a profile of itself.
const PROFILE_PATIENCE: Duration = Duration::from_secs(60);
/// Where profiles go, if there are any.
const PROFILES: &str = "profiles";

/// Starts servers and asks the engine for runs.
pub struct Managed<'a> {
    /// Makes the runs; its sites are set for each trial.
    pub runner: EngineRunner<'a>,
    /// Where servers are started.
    pub place: Place,
    /// The folder of the suite's file, as an absolute path.
    pub suite: PathBuf,
    /// Where files of plans come from.
    pub files: &'a dyn ReadFile,
    /// The command that profiles servers while they are measured, if there is one.
    pub profile_command: Option<String>,
    /// How servers profile themselves, if they are to.
    pub own_profile: Option<OwnProfile>,
}

impl Bench for Managed<'_> {
    fn trial(
        &mut self,
        cell: &CellPlan,
        round: u64,
        mut options: Options,
    ) -> Result<Document, LabError> {
        let own_profile = self.own_profile(cell, round)?;
        let mut brought = self.bring_up(cell, own_profile.as_ref())?;
        brought.site.profile = self.profile(cell, round)?;
        let announced = brought.site.running.as_ref().map(Running::announced);
        let certificate = announced.and_then(|one| one.certificate.as_deref());
        believe(&mut options, cell.protocol, certificate);
        options.url = Some(cell.scenario.url(brought.url));
        let made = |options: Options| {
            (options.build(&Contents { files: self.files }))
                .map(|(plan, _)| plan)
                .map_err(|error| LabError::Usage(format!("{}: {error}", cell.key())))
        };
        let plan = made(options.clone())?;
        let meaning = Meaning::new(&cell.scenario, &cell.server.name, &plan, options, made)?;
        meaning.check("before the trial", &self.runner.interrupt.next_run())?;
        self.runner.sites = vec![brought.site];
        let made = self.runner.run(0, &plan);
        let is_right = match &made {
            Ok(document) => {
                let control = self.runner.interrupt.next_run();
                meaning.check_after(document, "after the trial", &control)
            }
            Err(_) => Ok(()),
        };
        if let Some(profile) = &own_profile {
            profile.await_file(&self.runner.interrupt);
        }
        let stopped = match self.runner.sites.pop().and_then(|site| site.running) {
            Some(running) => running.stop(),
            None => Ok(()),
        };
        let document = made?;
        is_right?;
        stopped.map(|()| document)
    }
}

/// The profile that a server makes of itself in one trial.
struct Profiled {
    values: [(&'static str, String); 5],
    file: PathBuf,
}

impl Profiled {
    fn fill(&self, word: &str) -> String {
        let fill = |word: String, (name, value): &(&str, String)| word.replace(name, value);
        self.values.iter().fold(word.to_owned(), fill)
    }

    /// Gives the server time to write it: a profiler that is told to end in the middle loses it.
    fn await_file(&self, interrupt: &Interrupt) {
        let begun = Instant::now();
        let is_there = || self.file.metadata().is_ok_and(|file| file.len() > 0);
        while !is_there() && begun.elapsed() < PROFILE_PATIENCE && !interrupt.is_asked() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A running server.
struct Brought {
    url: String,
    site: Site,
    /// Removed after the trial.
    _directory: Option<WorkDirectory>,
}

impl Managed<'_> {
    fn profile(&self, cell: &CellPlan, round: u64) -> Result<Option<ProfileSpec>, LabError> {
        let Some(command) = &self.profile_command else { return Ok(None) };
        let spec = ProfileSpec::new(command, self.profile_file(cell, round)?);
        spec.map(Some).map_err(|problem| LabError::Usage(format!("profile-command: {problem}")))
    }

    fn profile_file(&self, cell: &CellPlan, round: u64) -> Result<PathBuf, LabError> {
        let name = format!("{}.r{round}.profile", cell.key());
        Ok(self.place.directory.folder(PROFILES)?.join(name))
    }

    fn own_profile(&self, cell: &CellPlan, round: u64) -> Result<Option<Profiled>, LabError> {
        let Some(OwnProfile { tool, scope }) = &self.own_profile else { return Ok(None) };
        let file = self.profile_file(cell, round)?;
        // A profile of an earlier run is not this one's.
        let _ = fs::remove_file(&file);
        let absolute = std::path::absolute(&file).unwrap_or(file);
        let ms = |ns: u64| format!("{}ms", ns.div_ceil(1_000_000));
        let load = &cell.run.load;
        let window_ns = load.duration.map_or(build::DEFAULT_DURATION_NS, |one| one.get());
        let values = [
            ("{tool}", tool.clone()),
            ("{scope}", scope.clone()),
            ("{after}", ms(load.warm_up.map_or(0, |Nanos(ns)| ns))),
            ("{for}", ms(window_ns)),
            ("{out}", absolute.to_string_lossy().into_owned()),
        ];
        Ok(Some(Profiled { values, file: absolute }))
    }

    fn bring_up(&self, cell: &CellPlan, profile: Option<&Profiled>) -> Result<Brought, LabError> {
        let server = &cell.server;
        let protocol = cell.protocol;
        match &server.kind {
            ServerKind::Url(urls) => {
                let url = urls.of(protocol).cloned().ok_or_else(|| no_url(server, protocol))?;
                Ok(Brought { url, site: Site::default(), _directory: None })
            }
            ServerKind::Embedded { arguments } => {
                let arguments = arguments.iter().chain(&cell.scenario.embedded_arguments).cloned();
                let tls = match protocol {
                    Protocol::H3 => Some("--h3".to_owned()),
                    _ => protocol.is_tls().then(|| "--tls".to_owned()),
                };
                let mut spec = TargetSpec::embedded(arguments.chain(tls))?;
                spec.name.clone_from(&server.name);
                self.start(spec, None, None, Some("embedded".to_owned()))
            }
            ServerKind::Command(command) => self.bring_up_command(cell, command, profile),
        }
    }

    fn bring_up_command(
        &self,
        cell: &CellPlan,
        command: &Command,
        profile: Option<&Profiled>,
    ) -> Result<Brought, LabError> {
        let (server, protocol) = (&cell.server, cell.protocol);
        let directory = WorkDirectory::make()?;
        let places = Places {
            directory: directory.path.to_string_lossy().into_owned(),
            suite: self.suite.to_string_lossy().into_owned(),
            port: free_port()?,
            h2_port: free_port()?,
            tls_port: free_port()?,
            program: TargetSpec::embedded([])?.command.swap_remove(0),
            is_root: rustix::process::geteuid().is_root(),
            protocol: protocol.announced(),
            scenario: cell.scenario.name.clone(),
        };
        for (name, text) in &command.files {
            write_file(&directory.path.join(name), text, &places)?;
        }
        let url = match command.urls.of(protocol) {
            Some(url) => Some(places.fill(url)),
            // Without any URL the port file gives the address; a command with URLs for other
            // protocols only has no address for this one.
            None if command.urls.all().next().is_none() => None,
            None => return Err(no_url(server, protocol)),
        };
        let mut spec = TargetSpec::new(
            server.name.clone(),
            from_here(command.command.iter().map(|word| places.fill(word)).collect()),
        );
        if let Some(profile) = profile {
            spec.command.extend(command.profile_arguments.iter().map(|word| profile.fill(word)));
        }
        spec.dir = Some(directory.path.clone());
        spec.env = command.env.iter().map(|(k, v)| (k.clone(), places.fill(v))).collect();
        spec.ready_timeout = command.ready_timeout;
        spec.ready = match (command.ready, &url) {
            (ReadyWhen::PortFile, _) | (_, None) => Ready::PortFile,
            (ReadyWhen::Tcp, Some(url)) => Ready::Tcp(address_of(server, url)?),
            (ReadyWhen::Http(status), Some(url)) => Ready::Http { url: url.clone(), status },
        };
        let is_announced = url.is_none();
        let brought = self.start(spec, url, Some(directory), None)?;
        if is_announced && let Some(running) = &brought.site.running {
            check_announced(server, running.announced(), protocol)?;
        }
        Ok(brought)
    }

    fn start(
        &self,
        spec: TargetSpec,
        url: Option<String>,
        directory: Option<WorkDirectory>,
        note: Option<String>,
    ) -> Result<Brought, LabError> {
        let log = spec.name.clone();
        let running = self.place.start(spec, &log)?;
        let url = url.unwrap_or_else(|| running.url().to_owned());
        let split = Some(self.place.split.clone());
        let site = Site { note, running: Some(running), split, profile: None };
        Ok(Brought { url, site, _directory: directory })
    }
}

fn no_url(server: &Server, protocol: Protocol) -> LabError {
    let key = Urls::key(protocol);
    LabError::Usage(format!(
        "the server {} has no `{key}`; write it in the suite, or leave the protocol out of `protocols`",
        server.name
    ))
}

/// Refuses a server whose port file contradicts the protocol of the trial: clear text instead of
/// TLS or the reverse, or only HTTP/2. A server that announces `h1` may support more.
fn check_announced(
    server: &Server,
    announced: &Announced,
    protocol: Protocol,
) -> Result<(), LabError> {
    let is_tls = announced.url.starts_with("https:");
    let word = announced.protocol.as_deref();
    let is_h2c_alone = !is_tls && word == Some(Protocol::H2.announced());
    if is_tls == protocol.is_tls() && !(is_h2c_alone && protocol == Protocol::H1) {
        return Ok(());
    }
    let said = word.map_or(String::new(), |word| format!("PROTOCOL={word} "));
    let how = if is_tls { "over TLS" } else { "in clear text" };
    Err(LabError::Usage(format!(
        "the server {}: its port file announces {said}{how}, but {protocol} is to be measured; \
         put {PROTOCOL} into its command, so that it starts with the measured protocol, or leave \
         {protocol} out of its `protocols`",
        server.name
    )))
}

/// The values of placeholders in commands, files, environment and URLs.
struct Places {
    directory: String,
    suite: String,
    port: u16,
    h2_port: u16,
    tls_port: u16,
    program: String,
    is_root: bool,
    protocol: &'static str,
    scenario: String,
}

impl Places {
    fn fill(&self, text: &str) -> String {
        text.replace("{dir}", &self.directory)
            .replace("{suite}", &self.suite)
            .replace("{port}", &self.port.to_string())
            .replace("{h2-port}", &self.h2_port.to_string())
            .replace("{tls-port}", &self.tls_port.to_string())
            .replace("{candor}", &self.program)
            .replace(PROTOCOL, self.protocol)
            .replace(SCENARIO, &self.scenario)
            .replace("{if-root}", if self.is_root { "" } else { "#" })
    }
}

fn write_file(path: &Path, text: &str, places: &Places) -> Result<(), LabError> {
    let wrong = |reason: String| LabError::File {
        what: "cannot write",
        path: path.display().to_string(),
        reason,
    };
    let bytes = match text.strip_prefix(content::PREFIX) {
        Some(what) => content::make(what).map_err(wrong)?,
        None => places.fill(text).into_bytes(),
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| wrong(error.to_string()))?;
    }
    fs::write(path, bytes).map_err(|error| wrong(error.to_string()))
}

/// The address of a server that we start, which must be literal.
fn address_of(server: &Server, url: &str) -> Result<SocketAddr, LabError> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let default = if url.starts_with("https") { 443 } else { 80 };
    let parsed = parse_host_port(host).ok().and_then(|(host, port)| {
        let host = if host == "localhost" { "127.0.0.1".to_owned() } else { host };
        Some(SocketAddr::new(host.parse().ok()?, port.unwrap_or(default)))
    });
    parsed.ok_or_else(|| {
        LabError::Usage(format!(
            "the server {}: {} is not an address of this machine; write e.g. http://127.0.0.1:{{port}}",
            server.name,
            http::shown(url)
        ))
    })
}

/// A relative path of a program counts from candor's own directory, where its existence was checked, and not
/// from the work directory of the server.
fn from_here(mut command: Vec<String>) -> Vec<String> {
    if let Some(program) = command.first_mut().filter(|program| program.contains('/'))
        && let Ok(absolute) = std::path::absolute(&*program)
    {
        *program = absolute.to_string_lossy().into_owned();
    }
    command
}

/// Why a server cannot be started here: its program is not installed. `None` if it can.
pub fn missing(server: &Server) -> Option<String> {
    let ServerKind::Command(command) = &server.kind else { return None };
    let program = command.command.first()?;
    if program.contains('{') {
        return None;
    }
    (this_one(program).is_none() && !is_program(program)).then(|| {
        format!("the program {program} is not installed here; install it, or leave the server out")
    })
}

/// A directory, removed on drop. No other user can enter it, because commands run in it.
struct WorkDirectory {
    path: PathBuf,
    /// The directory that contains it.
    _private: Private,
}

impl WorkDirectory {
    fn make() -> Result<Self, LabError> {
        let private = private().map_err(LabError::no_temporary)?;
        let path = private.name("work");
        fs::create_dir(&path).map_err(LabError::no_temporary)?;
        Ok(WorkDirectory { path, _private: private })
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_port_file_says_is_held_against_what_is_measured() {
        let suite = crate::suite::file::parse(
            "s.toml",
            "[[server]]\nname = \"mine\"\ncommand = [\"x\"]\nscenarios = [\"hello\"]\n",
        );
        let server = suite.unwrap().servers.remove(0);
        let said = |word: &str, scheme: &str, protocol| {
            let announced = Announced {
                url: format!("{scheme}://127.0.0.1:1/"),
                protocol: Some(word.to_owned()),
                ..Announced::default()
            };
            check_announced(&server, &announced, protocol).map_err(|why| why.to_string())
        };
        for (word, scheme, protocol) in [
            ("h1", "http", Protocol::H1),
            // Many servers support both on one port, but can announce only one.
            ("h1", "http", Protocol::H2),
            ("h2c", "http", Protocol::H2),
            ("h2", "https", Protocol::H2Tls),
            ("h2", "https", Protocol::H1Tls),
        ] {
            assert_eq!(said(word, scheme, protocol), Ok(()), "{word} {protocol}");
        }
        for (word, scheme, protocol, part) in [
            (
                "h1",
                "http",
                Protocol::H2Tls,
                "announces PROTOCOL=h1 in clear text, but h2-tls is to be",
            ),
            ("h2c", "http", Protocol::H1, "announces PROTOCOL=h2c in clear text, but h1 is to be"),
            (
                "h2",
                "https",
                Protocol::H2,
                "announces PROTOCOL=h2 over TLS, but h2 is to be measured",
            ),
        ] {
            let why = said(word, scheme, protocol).unwrap_err();
            assert!(why.contains(part) && why.contains("put {protocol} into its command"), "{why}");
        }
    }

    #[test]
    fn a_placeholder_is_found_wherever_it_may_stand() {
        let server = |lines: &str| {
            let text = format!("[[server]]\nname = \"x\"\nscenarios = [\"hello\"]\n{lines}\n");
            let mut suite = crate::suite::file::parse("s.toml", &text).unwrap();
            match suite.servers.remove(0).kind {
                ServerKind::Command(command) => command,
                other => panic!("{other:?}"),
            }
        };
        for lines in [
            "command = [\"s\", \"--protocol={protocol}\"]",
            "command = [\"s\"]\nenv = { P = \"{protocol}\" }",
            "command = [\"s\"]\nfiles = { c = \"listen {protocol}\" }",
        ] {
            let command = server(lines);
            assert!(command.has(PROTOCOL) && !command.has(SCENARIO), "{lines}");
        }
    }

    #[test]
    fn a_relative_program_is_found_from_here() {
        let program = |word: &str| from_here(vec![word.to_owned(), "a/b".to_owned()]);
        let here = std::env::current_dir().unwrap().join("bin/server");
        assert_eq!(program("bin/server"), [here.to_str().unwrap(), "a/b"]);
        assert_eq!(program("/bin/true"), ["/bin/true", "a/b"]);
        // A name without a slash is found in PATH.
        assert_eq!(program("nginx"), ["nginx", "a/b"]);
    }
}
