//! Managed targets: servers that we start, confine to their cores, watch, and end.
//!
//! A [`TargetSpec`] describes how to start one; [`Running`] is one that is ready. A [`keeper`], a
//! small process between us and the target, makes sure that no process of the target outlives us,
//! however we end. The [`sampler`] measures its resources during a run; the user's [`profiler`] may
//! observe it too. Nothing here prints.

pub mod cores;
pub(crate) mod http;
pub mod keeper;
pub(crate) mod log;
pub(crate) mod proc;
pub mod profiler;
pub(crate) mod ready;
pub mod sampler;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use candor_files::private;

use crate::error::LabError;
use cores::Split;
use keeper::{Keeper, Said};
use log::Log;
pub use ready::Announced;

/// Time between asking a target to end and killing it.
pub const GRACE: Duration = Duration::from_secs(5);

/// How to start a target. Make one with [`TargetSpec::new`] and set what differs.
#[derive(Debug, Clone)]
pub struct TargetSpec {
    /// Its name in reports.
    pub name: String,
    /// Program and arguments; no shell is involved.
    pub command: Vec<String>,
    /// The directory it starts in; `None`: ours.
    pub dir: Option<PathBuf>,
    /// Environment on top of ours.
    pub env: Vec<(String, String)>,
    /// The cores it may use; `None`: the first half of the machine.
    pub cores: Option<Vec<usize>>,
    /// How to know that it is ready.
    pub ready: Ready,
    /// How long it may take.
    pub ready_timeout: Duration,
    /// Where its output is appended; `None`: a file that is kept only if it fails.
    pub log: Option<PathBuf>,
    /// The program of the keeper, which ends the target if we die, with its first arguments; empty:
    /// this program, with [`keeper::WORD`].
    pub keeper: Vec<OsString>,
}

/// How to know that a target is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It writes a port file: `--standalone --port-file FILE` is appended to its command, unless
    /// that contains `{port_file}`.
    PortFile,
    /// It accepts connections here.
    Tcp(SocketAddr),
    /// A GET of this URL returns this status.
    Http {
        /// The URL, without TLS.
        url: String,
        /// The status.
        status: u16,
    },
    /// It accepts connections on the free port that took the place of [`PORT`].
    Port,
    /// A line of its output contains this text.
    Line(String),
    /// This file is there.
    File(PathBuf),
    /// This time has passed.
    After(Duration),
    /// Others find out: it is started, and nothing is waited for.
    Started,
}

/// Stands for a free port in a command, its environment and the URL by which it is ready.
pub const PORT: &str = "{port}";

impl TargetSpec {
    /// A target that writes a port file, within ten seconds.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        TargetSpec {
            name: name.into(),
            command,
            dir: None,
            env: Vec::new(),
            cores: None,
            ready: Ready::PortFile,
            ready_timeout: Duration::from_secs(10),
            log: None,
            keeper: Vec::new(),
        }
    }

    /// The embedded target in a process of its own: this program, as `candor serve` with `arguments`.
    pub fn embedded(arguments: impl IntoIterator<Item = String>) -> Result<Self, LabError> {
        let mut spec = TargetSpec::new("embedded", Vec::new());
        let program = own_program().map_err(|error| {
            spec.problem(format!("cannot find this program's own file: {error}"), Vec::new())
        })?;
        let program = [program.to_string_lossy().into_owned(), "serve".to_owned()];
        spec.command = program.into_iter().chain(arguments).collect();
        Ok(spec)
    }
}

/// A running target. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    spec: TargetSpec,
    cores: Vec<usize>,
    announced: Announced,
    pid: u32,
    keeper: Keeper,
    ended: Arc<OnceLock<String>>,
    log: Log,
    is_stopped: bool,
}

impl Running {
    /// Starts it and waits until it is ready.
    pub fn start(spec: &TargetSpec) -> Result<Running, LabError> {
        let (spec, port) = &spec.placed()?;
        ready::check_free(spec)?;
        let cores = match &spec.cores {
            Some(cores) => cores.clone(),
            None => Split::choose(&candor_engine::physical_cores(), None, None)?.target,
        };
        let log = Log::open(spec.log.as_deref())?;
        let private = private().map_err(LabError::no_temporary)?;
        let port_file = private.name("port");
        let command = with_port_file(spec, &port_file);
        let keeper = Keeper::start(keeper::Start {
            program: &spec.keeper,
            on_word: false,
            log: log.path(),
            command: &command,
            dir: spec.dir.as_ref(),
            env: &spec.env,
            cores: &cores,
            lines: false,
            private,
        })
        .map_err(|problem| spec.problem(problem, Vec::new()))?;
        let pid = match keeper.said.recv() {
            Ok(Said::Started(pid)) => pid,
            Ok(Said::Failed(why)) => {
                log.forget();
                return Err(spec.problem(format!("{why}; check the command"), Vec::new()));
            }
            Ok(_) | Err(_) => {
                return Err(
                    spec.problem("its keeper ended without a message".to_owned(), Vec::new())
                );
            }
        };
        let mut running = Running {
            spec: spec.clone(),
            cores,
            announced: Announced::default(),
            pid,
            keeper,
            ended: Arc::default(),
            log,
            is_stopped: false,
        };
        running.announced = ready::wait(&mut running, &port_file, *port)?;
        let _ = std::fs::remove_file(&port_file);
        running.watch_for_end();
        Ok(running)
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.announced.url
    }

    /// The other facts that it announced when it became ready.
    pub fn announced(&self) -> &Announced {
        &self.announced
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Its command, without the arguments added for a port file.
    pub fn command(&self) -> &[String] {
        &self.spec.command
    }

    /// The cores it may use.
    pub fn cores(&self) -> &[usize] {
        &self.cores
    }

    /// How it ended, if it did by itself.
    pub fn ended(&mut self) -> Option<String> {
        self.how_it_ended()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> Vec<String> {
        self.log.tail()
    }

    /// Keeps its log; returns where it will be after this process.
    pub fn keep_log(&mut self) -> &Path {
        self.log.keep()
    }

    /// Asks it to end, kills it if it does not, and waits until all of its processes are gone.
    pub fn stop(mut self) -> Result<(), LabError> {
        if self.end() {
            return Ok(());
        }
        let problem = "it could not be ended in order; look for processes that it left behind";
        Err(self.spec.problem(problem.to_owned(), self.log_tail()))
    }

    fn end(&mut self) -> bool {
        self.is_stopped = true;
        let by_itself = self.how_it_ended().is_some();
        let is_gone = self.keeper.stop(GRACE);
        if !by_itself && is_gone {
            self.log.forget();
        } else {
            self.log.keep();
        }
        is_gone
    }

    fn how_it_ended(&self) -> Option<String> {
        self.ended.get().cloned()
    }

    /// From now on a thread of its own receives the keeper's messages, so that any thread can check
    /// whether the target still runs.
    fn watch_for_end(&mut self) {
        let (_, nobody) = std::sync::mpsc::channel();
        let said = std::mem::replace(&mut self.keeper.said, nobody);
        let ended = Arc::clone(&self.ended);
        let watch = move || {
            for said in said {
                match said {
                    Said::Ended(how) => {
                        let _ = ended.set(how);
                    }
                    Said::Stopped => return,
                    Said::Started(_)
                    | Said::Failed(_)
                    | Said::Line(_)
                    | Said::Quiet
                    | Said::Forced => {}
                }
            }
            // The keeper is gone; which processes were killed with it is unknown.
            let _ = ended.set("with its keeper, which another program killed".to_owned());
        };
        // Without a thread its end is known only by its connections.
        let _ = std::thread::Builder::new().spawn(watch);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.end();
        }
    }
}

impl TargetSpec {
    /// The same with a free port in the place of [`PORT`], if that stands anywhere.
    fn placed(&self) -> Result<(TargetSpec, Option<u16>), LabError> {
        let url = match &self.ready {
            Ready::Http { url, .. } => Some(url),
            _ => None,
        };
        let values = self.env.iter().map(|(_, value)| value);
        if !self.command.iter().chain(values).chain(url).any(|text| text.contains(PORT)) {
            if self.ready == Ready::Port {
                let problem = "its command does not say its port; put {port} into it";
                return Err(self.problem(problem.to_owned(), Vec::new()));
            }
            return Ok((self.clone(), None));
        }
        let port = free_port()?;
        let mut spec = self.clone();
        let number = port.to_string();
        let place = |text: &mut String| *text = text.replace(PORT, &number);
        spec.command.iter_mut().for_each(place);
        spec.env.iter_mut().for_each(|(_, value)| place(value));
        if let Ready::Http { url, .. } = &mut spec.ready {
            place(url);
        }
        Ok((spec, Some(port)))
    }

    fn problem(&self, problem: String, log_tail: Vec<String>) -> LabError {
        LabError::Target { name: self.name.clone(), problem, log_tail }
    }
}

/// The file of this program. Where another one has taken its place since the start, as a new build does, the one that
/// runs: an experiment is of one program to its end.
pub fn own_program() -> std::io::Result<PathBuf> {
    // The kernel calls a file that is gone, or has another in its place, `NAME (deleted)`. That the two are one file cannot
    // be asked: under an emulator, what runs is the emulator.
    let path = std::env::current_exe()?;
    match path.is_file() {
        true => Ok(path),
        // For as long as this process lives.
        false => Ok(format!("/proc/{}/exe", std::process::id()).into()),
    }
}

/// A port that was free just now. If another program takes it before the server does, the server says so and fails.
pub(crate) fn free_port() -> Result<u16, LabError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bound = TcpListener::bind(address).and_then(|socket| socket.local_addr());
    bound.map(|address| address.port()).map_err(|error| LabError::File {
        what: "cannot have",
        path: "a free port".to_owned(),
        reason: error.to_string(),
    })
}

/// Whether there is a program of this name: a path, or a name in PATH.
pub fn is_program(name: &str) -> bool {
    match name.contains('/') {
        true => Path::new(name).is_file(),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
        }
    }
}

/// The command with the arguments for a port file.
fn with_port_file(spec: &TargetSpec, port_file: &Path) -> Vec<String> {
    const PLACE: &str = "{port_file}";
    let file = port_file.to_string_lossy();
    let mut command: Vec<String> =
        spec.command.iter().map(|word| word.replace(PLACE, &file)).collect();
    if spec.ready == Ready::PortFile && !spec.command.iter().any(|word| word.contains(PLACE)) {
        command.extend(["--standalone".to_owned(), "--port-file".to_owned(), file.into_owned()]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_file_goes_where_the_command_wants_it() {
        let command = |words: &[&str], ready| {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            let spec = TargetSpec { ready, ..TargetSpec::new("t", words) };
            with_port_file(&spec, "/tmp/p".as_ref()).join(" ")
        };
        assert_eq!(command(&["a", "b"], Ready::PortFile), "a b --standalone --port-file /tmp/p");
        assert_eq!(command(&["a", "--out={port_file}"], Ready::PortFile), "a --out=/tmp/p");
        let tcp = Ready::Tcp("127.0.0.1:80".parse().unwrap());
        assert_eq!(command(&["a", "b"], tcp), "a b");
    }

    #[test]
    fn a_port_is_the_same_everywhere() {
        let mut spec = TargetSpec::new("t", vec!["a".to_owned(), "--port={port}".to_owned()]);
        spec.env = vec![("PORT".to_owned(), "{port}".to_owned())];
        spec.ready = Ready::Http { url: "http://127.0.0.1:{port}/up".to_owned(), status: 200 };
        let (placed, port) = spec.placed().unwrap();
        let port = port.unwrap();
        assert_eq!(placed.command, ["a".to_owned(), format!("--port={port}")]);
        assert_eq!(placed.env[0].1, port.to_string());
        let url = format!("http://127.0.0.1:{port}/up");
        assert_eq!(placed.ready, Ready::Http { url, status: 200 });
        let mut none = TargetSpec::new("t", vec!["a".to_owned()]);
        assert_eq!(none.placed().unwrap().1, None);
        none.ready = Ready::Port;
        assert!(none.placed().unwrap_err().to_string().contains("put {port} into it"));
    }
}
