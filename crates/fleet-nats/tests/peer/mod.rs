//! A real nats-server as a child process, on loopback, on a port of its own.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use candor_fleet_nats::{Arrival, Broker, Link};

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    folder: tempfile::TempDir,
    configuration: Option<String>,
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = folders.map(|folder| folder.join("nats-server")).find(|file| file.is_file());
    found.expect("nats-server, which scripts/need-peers installs")
}

impl Server {
    pub(crate) fn start() -> Self {
        Server::with(None)
    }

    /// With this text as its configuration.
    pub(crate) fn with(configuration: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, port) = launch(&folder, configuration.as_deref(), None);
        Server { child, port, folder, configuration }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn broker(&self) -> Broker {
        Broker { urls: vec![self.url()], tls: None, patience: PATIENCE }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts again after a kill, on the same port.
    pub(crate) fn start_again(&mut self) {
        let port = Some(self.port);
        (self.child, self.port) = launch(&self.folder, self.configuration.as_deref(), port);
    }

    /// Sends a signal by its name, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(folder: &tempfile::TempDir, text: Option<&str>, port: Option<u16>) -> (Child, u16) {
    let mut command = Command::new(program());
    let port_text = port.map_or("-1".to_owned(), |port| port.to_string());
    command.args(["-a", "127.0.0.1", "-p", &port_text, "--ports_file_dir"]).arg(folder.path());
    if let Some(text) = text {
        let file = folder.path().join("server.conf");
        fs::write(&file, text).unwrap();
        command.arg("-c").arg(file);
    }
    let output = folder.path().join("output");
    let errors = fs::File::create(&output).unwrap();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn().unwrap();
    let ports = folder.path().join(format!("nats-server_{}.ports", child.id()));
    let began = Instant::now();
    loop {
        let found = fs::read_to_string(&ports).ok().and_then(|text| port_of(&text));
        match found {
            Some(port) => return (child, port),
            None if began.elapsed() > PATIENCE || child.try_wait().unwrap().is_some() => {
                let _ = child.kill();
                panic!("nats-server did not start: {}", fs::read_to_string(&output).unwrap());
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The port in `{"nats": ["nats://127.0.0.1:4222"], …}`, or after `tls://`.
fn port_of(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("127.0.0.1:")?;
    rest.split_once('"')?.0.parse().ok()
}

/// The first arrival with a property, within the patience of tests.
pub(crate) fn wait_for<End, T>(
    link: &Link<End>,
    mut found: impl FnMut(&Arrival) -> Option<T>,
) -> T {
    let began = Instant::now();
    let mut seen = Vec::new();
    while began.elapsed() < PATIENCE {
        if let Some(arrival) = link.recv(Duration::from_millis(100)) {
            if let Some(value) = found(&arrival) {
                return value;
            }
            seen.push(arrival);
        }
    }
    panic!("it did not arrive; these did: {seen:?}");
}
