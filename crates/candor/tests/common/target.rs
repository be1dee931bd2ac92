//! The embedded target as a process of its own, started by `candor serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_testkit::client::Client;
use candor_testkit::process::{Managed, read_port_file, wait_until};
use serde_json::Value;
use tempfile::TempDir;

use super::CANDOR;

const PATIENCE: Duration = Duration::from_secs(10);

/// A running `candor serve`. Dropping it ends it.
pub(crate) struct Target {
    // Declared before the directory: the process ends before its files are removed.
    _process: Managed,
    address: SocketAddr,
    directory: TempDir,
}

impl Target {
    /// Starts it with these flags.
    ///
    /// # Panics
    /// If it does not get ready.
    pub(crate) fn start(flags: &[&str]) -> Target {
        Target::at(Ipv4Addr::LOCALHOST, flags)
    }

    /// The same; the flags make it listen at this address.
    ///
    /// # Panics
    /// If it does not get ready.
    pub(crate) fn at(address: Ipv4Addr, flags: &[&str]) -> Target {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port_file = directory.path().join("port");
        let mut command = Command::new(CANDOR);
        command.args(["serve", "--port-file"]).arg(&port_file).args(flags);
        command.current_dir(&directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Managed::spawn(&mut command).expect("candor serve starts");
        let lines = read_port_file(&port_file, PATIENCE).expect("the port file");
        let port = lines["PORT"].parse().expect("a port");
        Target { _process: process, address: (address, port).into(), directory }
    }

    /// The URL of a path on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A file in its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Its counts.
    pub(crate) fn stats(&self) -> Value {
        let answer = Client::connect(self.address).get("/__stats");
        serde_json::from_str(answer.text()).expect("counts as JSON")
    }

    /// Requests that it has read.
    pub(crate) fn requests(&self) -> u64 {
        self.stats()["requests_accepted"].as_u64().expect("a count")
    }

    /// Waits until it has read `requests` requests, because some may still be on their way, and
    /// asserts that it has read no more.
    pub(crate) fn assert_requests(&self, requests: u64) {
        wait_until(Duration::from_secs(2), || self.requests() >= requests);
        assert_eq!(self.requests(), requests);
    }
}
