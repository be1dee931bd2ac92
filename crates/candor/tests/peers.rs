//! Servers that others wrote: gRPC on grpcio, event streams on uvicorn and Node, WebSocket on websockets and on Node's ws,
//! over HTTP/2 with haproxy before it. What they counted equals the ledger. `scripts/need-peers` installs them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::common::*;
use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};
use serde_json::Value;

/// A server in Python or in JavaScript. It ends with this value, and if this process is killed, with its input.
pub(crate) struct Server {
    child: Managed,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Server {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let language = if name.ends_with(".js") { "node" } else { "python3" };
        let mut command = Command::new(language);
        command
            .arg(here.join("tests/peers").join(name))
            .args(arguments)
            .env("PYTHONPATH", here.join("../../target/python"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = Managed::spawn(&mut command).unwrap();
        let mut output = BufReader::new(child.child().stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the packages of scripts/need-peers");
        Server { child, output, port }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Whether somebody is connected to it.
    fn has_connections(&self) -> bool {
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let (own, established) = (format!(":{:04X}", self.port), "01");
        sockets.lines().any(|line| {
            let mut words = line.split_whitespace().skip(1);
            let is_own = words.next().is_some_and(|local| local.ends_with(&own));
            is_own && words.nth(1) == Some(established)
        })
    }

    /// As if this process had been killed: it ends by itself, although what it prints is not read.
    pub(crate) fn abandon(self, name: &str) {
        let Server { mut child, output, .. } = self;
        drop((output, child.child().stdin.take()));
        assert!(child.wait(Duration::from_secs(20)).unwrap().is_some(), "{name}");
    }

    /// Ends it: what it counted.
    pub(crate) fn counts(mut self) -> impl Fn(&str) -> u64 {
        drop(self.child.child().stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        let counts: Value = serde_json::from_str(&text).unwrap();
        move |name| counts[name].as_u64().unwrap_or(0)
    }
}

#[test]
fn a_server_does_not_outlive_its_test() {
    let descriptors = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.binpb");
    for (name, arguments) in [
        ("grpcio_server.py", &[descriptors][..]),
        ("uvicorn_server.py", &[]),
        ("websockets_server.py", &[]),
        ("node_server.js", &[]),
    ] {
        Server::start(name, arguments).abandon(name);
    }
}

fn measured(arguments: &[&str]) -> Document {
    let outcome = Candor::start_measuring(arguments).finish();
    assert_eq!(outcome.code(), 0, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
    outcome.document()
}

#[test]
fn grpcio_counts_what_the_ledger_has() {
    let descriptors = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.binpb");
    let server = Server::start("grpcio_server.py", &[descriptors]);
    let address = server.address();
    let calls = |method: &str, flags: &[&str]| {
        let document = measured(&[&["grpc", &address, method][..], flags].concat());
        document.assert_all_ok();
        document
    };
    let unary = ["-R", "200", "-n", "200", "-c", "4", "-H", "x-id: a", "-d", "{\"seq\": ${seq}}"];
    calls("candor.Echo/Unary", &unary);
    let message = "{\"count\": 4, \"everyNs\": 5000000}";
    let stream = calls(
        "candor.Echo/ServerStream",
        &["-n", "20", "-c", "2", "--streams", "5", "-d", message],
    );
    assert_eq!((stream.count("/streams/events/min"), stream.count("/parts/count")), (4, 80));
    assert!(stream.count("/streams/last_event/min_ns") >= 20_000_000);
    calls("candor.Echo/ClientStream", &["-n", "10", "-c", "1", "-d", "[{}, {}, {}]"]);
    calls("candor.Echo/Bidi", &["-n", "10", "-c", "1", "-d", "[{\"seq\": 1}, {\"seq\": 2}]"]);
    let flags = ["-n", "6", "-c", "1", "-d", "{\"seq\": 1, \"status\": 5}", "candor.Echo/Unary"];
    let failed = measured(&[&["grpc", &address, "--allow-failures"][..], &flags].concat());
    assert_eq!(failed.at("/errors/0/kind"), "grpc-not-found");
    assert_eq!(failed.count("/rate/answered_in_window"), 6, "they are responses");
    assert!(failed.text("/errors/0/example").contains("as asked for"));
    let count = server.counts();
    assert_eq!((count("unary"), count("distinct"), count("x-id: a")), (206, 200, 200));
    assert_eq!((count("server_stream"), count("sent")), (20, 80));
    assert_eq!((count("client_stream"), count("received")), (10, 30));
    assert_eq!((count("bidi"), count("echoed")), (10, 20));
}

#[test]
fn uvicorn_counts_what_the_ledger_has() {
    let server = Server::start("uvicorn_server.py", &[]);
    let url = format!("http://{}/5/10", server.address());
    let flags = ["-R", "50", "-n", "50", "-c", "50", "--stream", "sse", "--stream-end", "[DONE]"];
    let document = measured(&[&flags[..], &[&url]].concat());
    document.assert_all_ok();
    assert_eq!(
        (document.count("/streams/events/min"), document.count("/streams/events/max")),
        (5, 5)
    );
    assert!(document.count("/streams/last_event/min_ns") >= 50_000_000);
    let count = server.counts();
    assert_eq!((count("streams"), count("events")), (50, 250));
}

#[test]
fn websockets_counts_what_the_ledger_has() {
    let server = Server::start("websockets_server.py", &[]);
    let url = format!("ws://{}/", server.address());
    let text = ["-R", "500", "-n", "500", "-c", "5", "-b", "ping ${seq}"];
    measured(&[&text[..], &[&url]].concat()).assert_all_ok();
    let binary = ["-n", "100", "-c", "2", "--binary", "--deflate", "-b", "ping ping ping ping"];
    let document = measured(&[&binary[..], &["--expect-body-bytes", "19", &url]].concat());
    document.assert_all_ok();
    let count = server.counts();
    assert_eq!((count("text"), count("binary")), (500, 100));
    assert_eq!((count("connections"), count("closed with 1000")), (7, 7));
}

#[test]
fn node_counts_what_the_ledger_has() {
    let server = Server::start("node_server.js", &[]);
    let url = format!("http://{}/5/10", server.address());
    let flags = ["-R", "50", "-n", "50", "-c", "50", "--stream", "sse", "--stream-end", "[DONE]"];
    let document = measured(&[&flags[..], &[&url]].concat());
    document.assert_all_ok();
    let events = |end: &str| document.count(&format!("/streams/events/{end}"));
    assert_eq!((events("min"), events("max"), document.count("/parts/count")), (5, 5, 250));
    let url = format!("ws://{}/", server.address());
    let text = ["-R", "500", "-n", "500", "-c", "5", "-b", "ping ${seq}"];
    measured(&[&text[..], &[&url]].concat()).assert_all_ok();
    let binary = ["-n", "100", "-c", "2", "--binary", "--deflate", "-b", "ping ping ping ping"];
    measured(&[&binary[..], &["--expect-body-bytes", "19", &url]].concat()).assert_all_ok();
    let count = server.counts();
    assert_eq!((count("streams"), count("events")), (50, 250));
    assert_eq!((count("text"), count("binary")), (500, 100));
    assert_eq!((count("connections"), count("closed with 1000")), (7, 7));
}

/// haproxy takes WebSockets on streams (RFC 8441) and gives each a connection of HTTP/1.1 to Node.
#[test]
fn haproxy_carries_websockets_on_streams() {
    let server = Server::start("node_server.js", &[]);
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().unwrap();
    let configuration = format!(
        "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
         listen streams\n bind 127.0.0.1:{port} proto h2\n server node {}\n",
        server.address()
    );
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, configuration).unwrap();
    // Where Debian's package has it.
    let mut haproxy = Command::new("/usr/sbin/haproxy");
    let _haproxy = Managed::spawn(haproxy.arg("-db").arg("-f").arg(&file)).unwrap();
    assert!(wait_for_port(([127, 0, 0, 1], port).into(), Duration::from_secs(10)));
    let url = format!("ws://127.0.0.1:{port}/");
    let flags = ["--h2", "-R", "500", "-n", "500", "-c", "10", "-b", "ping ${seq}"];
    measured(&[&flags[..], &[&url]].concat()).assert_all_ok();
    // haproxy passes the ends on when it comes to it.
    assert!(wait_until(Duration::from_secs(10), || !server.has_connections()));
    let count = server.counts();
    assert_eq!((count("text"), count("connections"), count("closed with 1000")), (500, 10, 10));
}
