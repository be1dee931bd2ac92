//! HTTP/3 against aioquic: what it counted equals the ledger. `scripts/need-peers` installs it.

use std::io::Write;
use std::net::UdpSocket;

use crate::common::*;
use crate::peers::Server;

/// aioquic with a certificate of its own.
struct Aioquic {
    server: Server,
    folder: tempfile::TempDir,
}

impl Aioquic {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let certificate = write("cert.pem", made.cert.pem());
        let key = write("key.pem", made.signing_key.serialize_pem());
        let server = Server::start("aioquic_server.py", &[&certificate, &key]);
        Aioquic { server, folder }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.server.address())
    }

    fn run(&self, path: &str, flags: &[&str]) -> Outcome {
        let (url, trusted) = (self.url(path), self.folder.path().join("cert.pem"));
        let all = ["--h3", "--cacert", trusted.to_str().unwrap(), &url];
        Candor::start_measuring(&[&all[..], flags].concat()).finish()
    }

    /// The document of a run in which something was measured.
    fn measured(&self, path: &str, flags: &[&str]) -> Document {
        let outcome = self.run(path, flags);
        assert_eq!(outcome.code(), 0, "{path} {flags:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.document()
    }
}

#[test]
fn aioquic_counts_what_the_ledger_has() {
    let aioquic = Aioquic::start();
    let closed = aioquic.measured("", &["-c", "4", "-n", "400", "-m", "5"]);
    closed.assert_all_ok();
    assert_eq!((closed.ledger("sent"), closed.count("/statuses/0/count")), (400, 400));
    assert_eq!(closed.text("/connections/handshakes/0/alpn"), "h3");
    assert!(closed.count("/datagrams/sent") > 100 && closed.count("/datagrams/received") > 100);
    let open = aioquic.measured("1000", &["-c", "3", "-R", "300", "-n", "300", "-m", "10"]);
    open.assert_all_ok();
    assert_eq!((open.ledger("scheduled"), open.ledger("sent")), (300, 300));
    assert_eq!(open.count("/bytes/bodies"), 300_000);
    let large = aioquic.measured("1000000", &["-c", "2", "-n", "6"]);
    large.assert_all_ok();
    assert_eq!(large.count("/bytes/bodies"), 6_000_000);
    let upload = aioquic.folder.path().join("upload");
    std::fs::write(&upload, vec![b'x'; 200_000]).unwrap();
    let upload = upload.to_str().unwrap();
    let upload = ["-c", "2", "-n", "10", "-X", "PUT", "--body-file", upload, "-H", "x-id: ${seq}"];
    aioquic.measured("", &upload).assert_all_ok();
    let resumed =
        ["-c", "1", "-n", "5", "--requests-per-connection", "1", "--tls-resumption", "on"];
    let resumed = aioquic.measured("", &resumed);
    resumed.assert_all_ok();
    let count = aioquic.server.counts();
    assert_eq!((count("requests"), count("GET"), count("PUT")), (721, 711, 10));
    assert_eq!((count("bytes"), count("x-id"), count("connections")), (2_000_000, 10, 16));
    assert!(count("resumed") >= 3);
    assert_eq!(count("closed with 0x100"), 16);
}

#[test]
fn h2load_speaks_http_3() {
    let aioquic = Aioquic::start();
    let url = aioquic.url("100");
    for (flags, requests) in [
        (&["--h3", "-n40", "-c2", "-m5"][..], 40),
        (&["--alpn-list=h3,h2", "-n30", "-c3", "--rps=100", "-w14", "--no-udp-gso"], 30),
    ] {
        let outcome = Candor::start(&[&["h2load"], flags, &[&url]].concat()).finish();
        let text = &outcome.stdout;
        assert_eq!(outcome.code(), 0, "{flags:?}: {text}{}", outcome.stderr);
        assert!(text.contains("Application protocol: h3\n"), "{text}");
        let line = format!(
            "requests: {requests} total, {requests} started, {requests} done, {requests} succeeded"
        );
        assert!(text.contains(&line), "{text}");
    }
    let count = aioquic.server.counts();
    assert_eq!((count("requests"), count("connections")), (70, 5));
}

#[test]
fn aioquic_does_not_outlive_its_test() {
    Aioquic::start().server.abandon("aioquic_server.py");
}

#[test]
fn each_end_has_its_name() {
    let aioquic = Aioquic::start();
    let kinds = |path: &str, flags: &[&str]| {
        aioquic.run(path, &[flags, &["--allow-failures"]].concat()).document()
    };
    let reset = kinds("reset", &["-c", "1", "-n", "3"]);
    assert_eq!(
        (reset.text("/errors/0/kind"), reset.count("/errors/0/count")),
        ("not-processed", 3)
    );
    let closed = kinds("close", &["-c", "1", "-n", "3"]);
    assert_eq!((closed.text("/errors/0/kind"), closed.count("/errors/0/count")), ("closed", 3));
    let example = closed.text("/errors/0/example");
    assert!(example.contains("HTTP/3 error code 0x102: as asked for"), "{example}");
    let away = kinds("away", &["-c", "1", "-n", "5"]);
    away.assert_all_ok();
    assert_eq!(away.count("/connections/opened"), 5);
}

#[test]
fn certificates_are_verified_and_a_port_without_quic_is_named() {
    let aioquic = Aioquic::start();
    let url = aioquic.url("");
    let outcome = Candor::start(&["--h3", "-n", "1", &url]).finish();
    assert_eq!(outcome.code(), 1);
    assert!(outcome.stderr.contains("not signed by a trusted CA"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--cacert"), "{}", outcome.stderr);
    Candor::start_measuring(&["--h3", "-k", "-n", "1", &url]).finish().document().assert_all_ok();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("https://127.0.0.1:{port}/");
    let short = ["--h3", "-k", "-n", "1", "--connect-timeout", "200ms", &url];
    let outcome = Candor::start(&short).finish();
    assert_eq!(outcome.code(), 1);
    assert!(outcome.stderr.contains("did not send anything over UDP"), "{}", outcome.stderr);
    drop(silent);
    let outcome = Candor::start(&short).finish();
    assert_eq!(outcome.code(), 1);
    assert!(outcome.stderr.contains("Connection refused"), "{}", outcome.stderr);
}
