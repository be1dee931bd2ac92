//! Managed targets: servers that we start, keep to their cores, watch, and end.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;

/// How to start a target. Make one with [`TargetSpec::new`] and set what differs.
#[derive(Debug, Clone)]
pub struct TargetSpec {
    /// Its name in reports.
    pub name: String,
    /// Program and arguments; no shell is between.
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
    /// Where its output goes; `None`: a file that is kept only if it fails.
    pub log: Option<PathBuf>,
    /// The program that keeps the target and ends it when we are gone, with its first arguments.
    pub keeper: Vec<OsString>,
}

/// How to know that a target is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It writes a port file (`--standalone --port-file FILE`).
    PortFile,
    /// It accepts connections here.
    Tcp(SocketAddr),
    /// It answers this URL with this status.
    Http {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
}

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
}

/// A running target. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    url: String,
    pid: u32,
}

impl Running {
    /// Starts it and waits until it is ready.
    pub fn start(spec: &TargetSpec) -> Result<Running, LabError> {
        Err(LabError::Target {
            name: spec.name.clone(),
            problem: "targets cannot be started yet".to_owned(),
            log_tail: Vec::new(),
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it did by itself.
    pub fn ended(&mut self) -> Option<String> {
        None
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks it to end, ends it if it does not, and waits until nothing of it is left.
    pub fn stop(self) -> Result<(), LabError> {
        Ok(())
    }
}
