//! The target as a process: port file, signals, refusals.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_serve::{Config, ServeError, Server};
use candor_testkit::client::Client;
use candor_testkit::process::{Managed, read_port_file};
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(10);

/// The example beside this test's own executable; cargo builds examples with the tests.
fn target() -> Command {
    let test = std::env::current_exe().unwrap();
    let profile: PathBuf = test.ancestors().nth(2).unwrap().into();
    let program = profile.join("examples/target");
    assert!(program.exists(), "run `cargo build -p candor-serve --example target` first");
    let mut command = Command::new(program);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn it_says_where_it_is_and_stops_on_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let file = directory.path().join(format!("port-{}", signal.as_raw()));
        let flags = ["--standalone", "--path=/qs?a=1", "--method=HEAD", "--threads=2"];
        let mut command = target();
        command.args(flags).arg("--port-file").arg(&file);
        let mut process = Managed::spawn(&mut command).unwrap();

        let said = read_port_file(&file, PATIENCE).expect("a port file");
        let port: u16 = said["PORT"].parse().unwrap();
        assert_eq!(said["PATH"], "/qs?a=1");
        assert_eq!(said["METHOD"], "HEAD");
        assert_eq!(said["HOST"], "127.0.0.1");
        assert_eq!(said["PROTOCOL"], "h1");
        assert_eq!(said["PID"], process.pid().to_string());
        assert_eq!(said["STATS"], format!("http://127.0.0.1:{port}/__stats"));

        let mut client = Client::connect(([127, 0, 0, 1], port).into());
        assert_eq!(client.get("/").status, 200);
        process.signal(signal).unwrap();
        let status = process.wait(PATIENCE).unwrap().expect("an end");
        assert_eq!((status.code(), status.signal()), (Some(0), None));
        let mut counts = String::new();
        process.child().stdout.take().unwrap().read_to_string(&mut counts).unwrap();
        let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
        assert_eq!(counts["requests_answered"], 1);
    }
    // Nothing temporary is left beside the port files.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn usage_errors_exit_2() {
    let status = target().arg("--listen=nowhere").status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_port_file_that_cannot_be_written_ends_it() {
    let output = target().arg("--port-file=/nonexistent/port").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("/nonexistent/port"), "{message}");
}

#[test]
fn a_port_or_socket_that_is_taken_is_an_error() {
    let first = Server::bind(Config::default()).unwrap();
    let listen = first.address();
    let error = Server::bind(Config { listen, ..Config::default() }).unwrap_err();
    assert!(matches!(&error, ServeError::Listen { address, .. } if *address == listen));
    assert!(error.to_string().contains(&listen.to_string()), "{error}");

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let config = Config { unix_socket: Some(path), ..Config::default() };
    let _first = Server::bind(config.clone()).unwrap();
    assert!(matches!(Server::bind(config), Err(ServeError::UnixSocket { .. })));
}
