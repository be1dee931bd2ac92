//! `--alt-svc`: where an origin's field leads, what the origin is asked, and what is refused of it. The alternative is
//! the embedded target, with the origin's certificate.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use candor_testkit::peer::Peer;
use candor_testkit::process::{read_port_file, wait_until};
use rcgen::{CertificateParams, KeyPair};
use rustix::process::Signal;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::common::*;

const PATIENCE: Duration = Duration::from_secs(20);
const COULD_NOT_RUN: i32 = 1;

/// A certificate for `localhost` alone, in files, and the embedded target with it.
struct Alternative {
    candor: Candor,
    port: String,
    certificate: PathBuf,
    tls: Arc<ServerConfig>,
}

impl Alternative {
    fn start() -> Self {
        Alternative::with_names("localhost", "localhost")
    }

    /// An origin and an alternative with certificates of these names, which are trusted both.
    fn with_names(origin: &str, alternative: &str) -> Self {
        let made = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let (pem, key) = made(origin);
        let (own_pem, own_key) =
            if origin == alternative { (pem.clone(), key.clone()) } else { made(alternative) };
        let candor = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("own.pem"), &own_pem).unwrap();
            fs::write(directory.join("own.key"), &own_key).unwrap();
            fs::write(directory.join("trusted.pem"), format!("{pem}{own_pem}")).unwrap();
            command.args(["serve", "--h3", "--port-file", "port"]);
            command.args(["--tls-cert", "own.pem", "--tls-key", "own.key"]).current_dir(directory);
        });
        let lines = read_port_file(&candor.directory().join("port"), PATIENCE).unwrap();
        let tls = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            // Older than QUIC permits.
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        let certificate = candor.directory().join("trusted.pem");
        Alternative { candor, port: lines["PORT"].clone(), certificate, tls: Arc::new(tls) }
    }

    /// An origin over TCP that responds with these header fields.
    fn origin(&self, fields: &str) -> Peer {
        let response = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 5\r\n\r\n");
        let tls = Arc::clone(&self.tls);
        Peer::start_with(move |_, player| {
            player.secure(&tls)?;
            player.read_request()?;
            player.write(&response)?;
            player.hang()
        })
    }

    fn start_run(&self, origin: &Peer, flags: &[&str]) -> Candor {
        let port = origin.addr().port();
        let (url, at) =
            (format!("https://localhost:{port}/"), format!("localhost:{port}:127.0.0.1"));
        let trusted = self.certificate.to_str().unwrap();
        let all = ["--alt-svc", "--cacert", trusted, "--resolve", &at, &url];
        Candor::start_measuring(&[&all[..], &["-n", "20", "-c", "2"], flags].concat())
    }

    fn run(&self, origin: &Peer, flags: &[&str]) -> Outcome {
        self.start_run(origin, flags).finish()
    }

    /// How many requests it got.
    fn end(self) -> u64 {
        self.candor.signal(Signal::TERM);
        let said = self.candor.finish().stderr;
        let last = said.lines().last().unwrap_or_default();
        let words = last.split([' ', ':']).map(|word| word.trim_end_matches(',').replace(',', ""));
        words.filter_map(|word| word.parse().ok()).nth(1).unwrap_or_else(|| panic!("{said}"))
    }
}

#[test]
fn a_run_goes_where_its_origin_says() {
    let alternative = Alternative::start();
    let port = &alternative.port;
    let fields = format!(
        "Alt-Svc: h2=\":1\", h3=\":9\";ma=0\r\nalt-svc: h3=\":{port}\"; ma=60, h3=\":9\"\r\n"
    );
    let origin = alternative.origin(&fields);
    let outcome = alternative.run(&origin, &["--report", "full"]);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.text("/connections/handshakes/0/alpn"), "h3");
    let (from, to) = (format!("localhost:{}", origin.addr().port()), format!("localhost:{port}"));
    assert_eq!(document.text("/alternatives/0/target"), "main");
    assert_eq!(document.text("/alternatives/0/origin"), from);
    assert_eq!(document.text("/alternatives/0/endpoint"), to);
    let line = outcome.stdout.lines().find(|line| line.starts_with("Alt-Svc")).unwrap();
    assert!(line.contains(&from) && line.contains(&to), "{line}");
    // The origin was asked once, without what its requests have.
    assert_eq!((origin.requests(), origin.connections()), (1, 1));
    let asked = String::from_utf8(origin.last_request().unwrap()).unwrap();
    assert!(asked.starts_with("HEAD / HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("Host: {from}\r\n")), "{asked}");
    assert_eq!(alternative.end(), 20);
}

#[test]
fn a_run_without_a_url_is_led_by_its_own_target() {
    let document = measure(&["run", "--alt-svc", "-n", "50", "-c", "2", "-m", "2"]);
    document.assert_all_ok();
    assert_eq!(document.text("/connections/handshakes/0/alpn"), "h3");
    let origin = document.text("/alternatives/0/origin");
    assert_eq!(document.text("/alternatives/0/endpoint"), origin);
}

/// Load goes to another host only if the user allows that host, and the certificate is that of the origin.
#[test]
fn another_host_needs_the_consent_of_the_user() {
    let alternative = Alternative::start();
    let origin = alternative.origin(&format!("Alt-Svc: h3=\"127.0.0.1:{}\"\r\n", alternative.port));
    let refused = alternative.run(&origin, &[]);
    let elsewhere = format!("127.0.0.1:{}", alternative.port);
    refused.assert_refused(COULD_NOT_RUN, &[&elsewhere, "--allow"]);
    let foreign = alternative.run(&origin, &["--allow", "localhost", "--allow", "192.0.2.1"]);
    assert_eq!(foreign.code(), 2, "{}", foreign.stderr);
    let allowed = alternative.run(&origin, &["--allow", "127.0.0.0/8"]).document();
    allowed.assert_all_ok();
    assert_eq!(allowed.text("/alternatives/0/endpoint"), elsewhere);
    assert_eq!(alternative.end(), 20);
}

#[test]
fn the_certificate_of_an_alternative_is_that_of_the_origin() {
    let alternative = Alternative::with_names("localhost", "127.0.0.1");
    let origin = alternative.origin(&format!("Alt-Svc: h3=\"127.0.0.1:{}\"\r\n", alternative.port));
    let outcome = alternative.run(&origin, &["--allow", "127.0.0.0/8"]);
    outcome.assert_refused(COULD_NOT_RUN, &["is not for localhost", "127.0.0.1"]);
    assert_eq!(alternative.end(), 0);
}

#[test]
fn what_leads_nowhere_is_refused_by_name() {
    let alternative = Alternative::start();
    let refused = |fields: &str, words: &str| {
        let outcome = alternative.run(&alternative.origin(fields), &["--timeout", "300ms"]);
        outcome.assert_refused(COULD_NOT_RUN, &[words, "--alt-svc", "https://localhost:"]);
        assert!(outcome.stderr.len() < 1000, "{}", outcome.stderr);
        assert!(!outcome.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.files().is_empty(), "{:?}", outcome.files());
    };
    refused("", "without an Alt-Svc field");
    refused("Alt-Svc: clear\r\n", "(clear)");
    refused("Alt-Svc: h2=\":1\", h3-29=\":2\"\r\n", "but for h2, h3-29");
    refused(&format!("Alt-Svc: {}\r\n", "h%33%1b%07x=\":1\",".repeat(400)), "but for h3");
    refused("Alt-Svc: h3=\":1\"; ma=0\r\n", "ma=0");
    refused("Alt-Svc: h3=:443\r\n", "is not valid at byte 3");
    refused("Alt-Svc: h3=\"x y:443\"\r\n", "no valid host and port");
    refused(&format!("Alt-Svc: {}\r\n", "h3=\":1\",".repeat(1100)), "longer than 8000 bytes");
    refused(&format!("Alt-Svc: {}\r\n", "h3=\":1\",".repeat(1 << 20)), "has no response");
    let silent = Peer::start_with(|_, player| player.hang());
    let outcome = alternative.run(&silent, &["--connect-timeout", "300ms"]);
    outcome.assert_refused(COULD_NOT_RUN, &["cannot be asked", "--alt-svc"]);
    let tls = Arc::clone(&alternative.tls);
    let mute = Peer::start_with(move |_, player| {
        player.secure(&tls)?;
        player.read_request()?;
        player.hang()
    });
    let outcome = alternative.run(&mute, &["--timeout", "300ms"]);
    outcome.assert_refused(COULD_NOT_RUN, &["no complete response", "--alt-svc"]);
    // A signal ends the question at once.
    let run = alternative.start_run(&mute, &[]);
    assert!(wait_until(PATIENCE, || mute.requests() == 2));
    run.signal(Signal::INT);
    let outcome = run.finish_within(PATIENCE / 4).unwrap();
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
    assert_eq!(alternative.end(), 0);
}

/// Each target has its own, in a plan; and what is over TCP stays there.
#[test]
fn targets_of_a_plan_are_led_each_to_its_own() {
    let alternative = Alternative::start();
    let origin = alternative.origin(&format!("Alt-Svc: h3=\":{}\"\r\n", alternative.port));
    let plan = format!(
        "url = 'https://localhost:{0}/'\nh2 = true\ncacert = '{1}'\nrequests = 20\n\
         resolve = ['localhost:{0}:127.0.0.1', 'localhost:{2}:127.0.0.1']\n\
         [target.led]\nurl = 'https://localhost:{2}/'\nalt-svc = true\n\
         [[request]]\n[[request]]\ntarget = 'led'\n",
        alternative.port,
        alternative.certificate.display(),
        origin.addr().port()
    );
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("plan.toml"), plan).unwrap();
        command.args(["plan.toml", "--json", "result.json"]).current_dir(directory);
    });
    let document = run.finish().document();
    document.assert_all_ok();
    assert_eq!(document.text("/alternatives/0/target"), "led");
    assert_eq!(document.at("/alternatives").as_array().unwrap().len(), 1);
    let mut spoken: Vec<&str> = document
        .at("/connections/handshakes")
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["alpn"].as_str())
        .collect();
    spoken.sort_unstable();
    assert_eq!(spoken, ["h2", "h3"]);
    assert_eq!((origin.requests(), alternative.end()), (1, 20));
}

/// The coordinator of a fleet asks, once, and the agents go to the alternative.
#[test]
fn agents_go_where_the_coordinator_is_led() {
    let alternative = Alternative::start();
    let origin = alternative.origin(&format!("Alt-Svc: h3=\":{}\"\r\n", alternative.port));
    let port = origin.addr().port();
    let (url, at) = (format!("https://localhost:{port}/"), format!("localhost:{port}:127.0.0.1"));
    let trusted = alternative.certificate.to_str().unwrap();
    let up = ["fleet", "up", "2", "--alt-svc", "--cacert", trusted, "--resolve", &at];
    let run = Candor::start_measuring(&[&up[..], &["-n", "40", "-c", "4", &url]].concat());
    let document = run.finish().document();
    document.assert_all_ok();
    assert_eq!(document.ledger("sent"), 40);
    assert_eq!(
        document.text("/alternatives/0/endpoint"),
        format!("localhost:{}", alternative.port)
    );
    assert_eq!((origin.requests(), alternative.end()), (1, 40));
}
