//! TLS and HTTP/2 against nginx and the embedded target: counts on both sides, and the texts of
//! errors.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::*;
use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::process::{Managed, free_port, wait_for_port};
use rcgen::{CertificateParams, KeyPair, SanType, date_time_ymd};

/// A self-signed certificate for loopback, and its key.
fn certificate(change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

pub(crate) fn listener(parameters: &str, directives: &str) -> Listener {
    let certificate = parameters.contains("ssl").then(|| certificate(|_| ()));
    // Not every nginx has 1.3 on by default.
    let versions = if certificate.is_some() { "ssl_protocols TLSv1.2 TLSv1.3;" } else { "" };
    let directives = format!("{versions} {directives}");
    Listener { parameters: parameters.to_owned(), certificate, directives }
}

/// The nginx, the URL of its listener, and the file of its certificate.
fn start(listener: Listener) -> (Nginx, String, String) {
    let scheme = if listener.certificate.is_some() { "https" } else { "http" };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let url = format!("{scheme}://{}/", nginx.listeners()[0]);
    let file = nginx.path("0.pem").display().to_string();
    (nginx, url, file)
}

/// Asserts that nginx has logged exactly the requests that the document counts as completed.
fn assert_same_count(nginx: Nginx, document: &Document) {
    let logged = nginx.stop().expect("nginx stops");
    assert_eq!(logged, document.ledger("ok") + document.count("/warm_up/ok"));
}

/// Names in a certificate come from the server: the error quotes them with control characters made
/// visible.
#[test]
fn names_in_a_certificate_are_shown_as_they_are() {
    let mut listener = listener("ssl", "");
    listener.certificate = Some(certificate(|params| {
        let name = "a\u{1b}]0;x\u{7}.example".try_into().unwrap();
        params.subject_alt_names = vec![SanType::DnsName(name)];
    }));
    let (_nginx, url, file) = start(listener);
    let outcome = candor(&["-n", "1", "--cacert", &file, &url]);
    outcome.assert_refused(1, &["is not for 127.0.0.1, but for", "\\u{1b}]0;x\\u{7}.example"]);
    assert!(!outcome.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", outcome.stderr);
}

/// The server was not authenticated, and the report says so: on the page, in the document, and in candor's
/// lines beside h2load's and wrk's output.
#[test]
fn a_run_that_checks_no_certificate_says_so() {
    let (_nginx, url, file) = start(listener("ssl http2", ""));
    let said = "Certificates were not checked (--insecure)";
    let outcome = candor(&["-n", "10", "-c", "1", "--insecure", &url]);
    assert!(outcome.stdout.contains("note") && outcome.stdout.contains(said), "{}", outcome.stdout);
    let strict = candor(&["-n", "10", "-c", "1", "--insecure", "--strict", &url]);
    assert_eq!(strict.code(), 0, "a note is no reason to fail: {}", strict.stdout);
    let outcome = candor(&["-n", "10", "-c", "1", "--cacert", &file, &url]);
    assert!(!outcome.stdout.contains("tls-unverified"), "{}", outcome.stdout);
    // h2load checks no certificate, and prints no line about that.
    let outcome = candor(&["h2load", "-n", "10", "-c", "1", &url]);
    assert!(outcome.stderr.contains("candor: note [tls-unverified]: "), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("unverified"), "{}", outcome.stdout);
}

#[test]
fn nginx_counts_the_same_over_tls_in_both_protocols() {
    for (flags, alpn) in [(&["--h1"][..], "http/1.1"), (&["--h2", "-m", "10"], "h2")] {
        let (nginx, url, file) = start(listener("ssl http2", ""));
        let document =
            measure(&[flags, &["-c", "8", "-d", "1s", "--cacert", &file, &url]].concat());
        document.assert_all_ok();
        assert!(document.ledger("ok") > 100);
        let rows = document.list("/connections/handshakes");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["alpn"], alpn);
        assert_eq!(rows[0]["version"], "TLSv1.3");
        assert_eq!((rows[0]["full"].as_u64(), rows[0]["resumed"].as_u64()), (Some(8), Some(0)));
        assert_eq!(document.count("/latencies/handshake/count"), 8);
        assert_same_count(nginx, &document);
    }
}

#[test]
fn nginx_counts_the_same_over_http2_in_clear_text_closed_and_open() {
    for flags in [&["-d", "1s"][..], &["-R", "1k", "-d", "1s"]] {
        let (nginx, url, _) = start(listener("http2", ""));
        let document = measure(&[flags, &["--h2", "-c", "10", "-m", "10", &url]].concat());
        document.assert_all_ok();
        let in_flight = document.window().map(|one| one["in_flight"].as_u64().unwrap());
        assert!(in_flight.max().unwrap() <= 100);
        assert_same_count(nginx, &document);
    }
}

#[test]
fn a_goaway_in_mid_run_loses_no_request_from_the_ledger() {
    let (nginx, url, _) = start(listener("http2", "keepalive_requests 50;"));
    let document = measure(&["--h2", "-c", "4", "-m", "5", "-n", "3k", &url]);
    assert_eq!(document.ledger("sent"), 3000);
    assert_eq!(document.ledger("ok") + document.ledger("errors"), 3000);
    // nginx did not process the requests without a response, and announces that.
    document.assert_errors(&["not-processed"]);
    assert!(document.ledger("ok") > 2000, "load resumes");
    assert!(document.count("/connections/opened") >= 40);
    assert_same_count(nginx, &document);
}

#[test]
fn large_answers_are_whole_over_every_protocol() {
    for flags in [&["--h1"][..], &["--h2", "-m", "4"], &["--h2", "-m", "4", "-w16", "-W16"]] {
        let (nginx, url, file) = start(listener("ssl http2", ""));
        let large = format!("{url}large");
        let fixed = ["-c", "2", "-n", "200", "--expect-body-bytes", "65536", "--cacert", &file];
        let document = measure(&[flags, &fixed, &[&large]].concat());
        document.assert_all_ok();
        assert_eq!(document.count("/bytes/bodies"), 200 * 65536);
        assert_same_count(nginx, &document);
    }
}

#[test]
fn sessions_are_taken_up_again_if_asked() {
    for version in ["1.2", "1.3"] {
        let (nginx, url, file) = start(listener("ssl", "ssl_session_cache shared:s:1m;"));
        let fixed = ["--no-keepalive", "-c", "1", "-n", "50", "--tls-max", version];
        let tls = ["--cacert", &file, "--tls-resumption", "on", &url];
        let document = measure(&[&fixed[..], &tls].concat());
        document.assert_all_ok();
        let resumed = document.list("/connections/handshakes")[0..]
            .iter()
            .map(|row| row["resumed"].as_u64().unwrap())
            .sum::<u64>();
        assert!(resumed >= 45, "TLS {version}: {resumed}");
        assert_same_count(nginx, &document);
    }
}

#[test]
fn requests_leave_with_the_handshake_if_asked() {
    for directive in ["on", "off"] {
        let directives = format!("ssl_session_cache shared:s:1m; ssl_early_data {directive};");
        for (protocol, parameters) in [("--h1", "ssl"), ("--h2", "ssl http2")] {
            let (nginx, url, file) = start(listener(parameters, &directives));
            let fixed = ["--no-keepalive", "-c", "1", "-n", "50", protocol, "--early-data"];
            let tls = ["--cacert", &file, "--tls-resumption", "on", &url];
            let document = measure(&[&fixed[..], &tls].concat());
            document.assert_all_ok();
            let sum = |what: &str| {
                let rows = document.list("/connections/handshakes");
                rows.iter().map(|row| row[what].as_u64().unwrap()).sum::<u64>()
            };
            let (full, resumed) = (sum("full"), sum("resumed"));
            assert_eq!((full + resumed, sum("early_data_rejected")), (50, 0), "{protocol}");
            // Every request that could leave with the handshake did, or none of them.
            let early = if directive == "on" { resumed } else { 0 };
            assert_eq!(sum("early_data_accepted"), early, "{protocol} {directive}");
            // Over HTTP/1.1, nginx may respond and close before our last flight arrives; then it
            // sends no new ticket. But a full handshake gives two, each good for one more.
            let wanted = match (protocol, directive) {
                ("--h1", "on") => 2 * (full - 1)..=49,
                _ => 45..=49,
            };
            assert!(wanted.contains(&resumed), "{protocol} {directive}: {full}, {resumed} resumed");
            assert_same_count(nginx, &document);
        }
    }
}

#[test]
fn a_server_that_asks_who_we_are_is_told() {
    let own = certificate(|_| ());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.pem");
    std::fs::write(&path, format!("{}{}", own.0, own.1)).unwrap();
    let own_file = path.to_str().unwrap();
    let directives =
        format!("ssl_verify_client on; ssl_client_certificate {own_file}; access_log off;");
    let (_nginx, url, file) = start(listener("ssl", &directives));
    let document = measure(&["-n", "20", "-c", "2", "--cert", own_file, "--cacert", &file, &url]);
    document.assert_all_ok();
    let document = measure(&["-n", "20", "-c", "2", "--cacert", &file, &url]);
    document.assert_errors(&["status"]);
    assert_eq!(document.count("/statuses/0/status"), 400);
}

#[test]
fn four_faults_have_four_messages() {
    let with = |certificate| Listener {
        parameters: "ssl".to_owned(),
        certificate: Some(certificate),
        directives: String::new(),
    };
    let expired = certificate(|params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let elsewhere = {
        let params = CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let listeners = [with(certificate(|_| ())), with(expired), with(elsewhere), listener("", "")];
    let nginx = Nginx::start_with(false, &listeners).unwrap();
    let file = |index: usize| nginx.path(&format!("{index}.pem")).display().to_string();
    for (index, trust, words) in [
        (0, None, "it is self-signed, or of a private CA; name the file of the CA with --cacert"),
        (1, Some(file(1)), "expired"),
        (
            2,
            Some(file(2)),
            "is not for 127.0.0.1, but for shop.example; ask for a name that it has with --sni",
        ),
        (3, Some(file(0)), "there is no TLS on this port; write http:// in the URL"),
    ] {
        let url = format!("https://{}/", nginx.listeners()[index]);
        let mut arguments = vec!["-n", "5", "-c", "1", url.as_str()];
        // First, another CA than the certificate's.
        let unknown = file(1);
        arguments.extend(["--cacert", trust.as_deref().unwrap_or(&unknown)]);
        candor(&arguments).assert_refused(1, &["the handshake failed with 127.0.0.1:", words]);
    }
}

#[test]
fn the_embedded_target_speaks_everything() {
    for (flags, http, alpn) in [
        (&["--tls"][..], "negotiated", Some("h2")),
        (&["--tls", "--h1"], "http/1.1", Some("http/1.1")),
        (&["--h2", "-m", "5"], "h2", None),
        (&["--h2c"], "h2", None),
    ] {
        let document = measure(&[flags, &["-c", "4", "-n", "500"]].concat());
        document.assert_all_ok();
        assert_eq!(document.text("/plan/target/http"), http);
        let rows = document.list("/connections/handshakes");
        assert_eq!(rows.first().and_then(|row| row["alpn"].as_str()), alpn);
    }
}

/// nghttpd, nghttp2's own server; ended on drop.
struct Nghttpd {
    _process: Managed,
    url: String,
    directory: tempfile::TempDir,
}

fn nghttpd(tls: bool) -> Nghttpd {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hello"), "alive\r\n").unwrap();
    let port = free_port().unwrap();
    // Debian installs it outside of a user's PATH.
    let installed = std::path::Path::new("/usr/sbin/nghttpd");
    let program = if installed.exists() { installed } else { "nghttpd".as_ref() };
    let mut command = Command::new(program);
    command.args(["-a", "127.0.0.1", "-d"]).arg(directory.path());
    if tls {
        let (chain, key) = certificate(|_| ());
        let (file, key_file) = (directory.path().join("0.pem"), directory.path().join("0.key"));
        std::fs::write(&file, chain).unwrap();
        std::fs::write(&key_file, key).unwrap();
        command.arg(port.to_string()).args([key_file, file]);
    } else {
        command.args(["--no-tls", &port.to_string()]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let process = Managed::spawn(&mut command).expect("nghttpd starts (nghttp2-server)");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    assert!(wait_for_port(address, Duration::from_secs(10)));
    let scheme = if tls { "https" } else { "http" };
    Nghttpd { _process: process, url: format!("{scheme}://{address}/hello"), directory }
}

/// The port of https that is asked by `http://`.
#[test]
fn a_response_in_tls_to_clear_text_is_named_with_its_remedy() {
    let target = Target::start(&["--tls"]);
    let outcome = Candor::start_measuring(&["-n", "3", "-c", "1", &target.url("/")]).finish();
    assert_eq!(outcome.code(), 1, "{}", outcome.stdout);
    let document = outcome.document();
    let error = document.at("/errors/0").clone();
    assert_eq!((error["kind"].as_str(), error["count"].as_u64()), (Some("malformed"), Some(3)));
    let remedy = error["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("https://"), "{error}");
}

/// nginx says so in a response in clear text; in TLS the same words are about another hop.
#[test]
fn a_port_of_https_that_says_so_in_clear_text_is_named_with_its_remedy() {
    let (_nginx, url, _) = start(listener("ssl", ""));
    let url = url.replace("https:", "http:");
    let first_error = |flags: &[&str]| {
        let outcome = Candor::start_measuring(&[&["-n", "3", "-c", "1"], flags].concat()).finish();
        assert_eq!(outcome.code(), 1, "{}", outcome.stdout);
        let document = outcome.document();
        assert_eq!(document.count("/statuses/0/status"), 400);
        let error = document.at("/errors/0").clone();
        assert_eq!((error["kind"].as_str(), error["count"].as_u64()), (Some("status"), Some(3)));
        error
    };
    let error = first_error(&[&url]);
    assert!(error["remedy"].as_str().unwrap_or_default().contains("https://"), "{error}");
    let tried = candor(&["try", &url]);
    assert_ne!(tried.code(), 0, "{}", tried.stdout);
    assert!(tried.stdout.contains("write https:// in the URL"), "{}", tried.stdout);

    let says = "return 400 'Client sent an HTTP request to an HTTPS server.';";
    let (_nginx, url, file) = start(listener("ssl", says));
    let error = first_error(&["--cacert", &file, &url]);
    assert!(error["remedy"].is_null(), "{error}");
}

#[test]
fn nghttpd_answers_every_stream_in_clear_text_and_over_tls() {
    for tls in [false, true] {
        let server = nghttpd(tls);
        let file = server.directory.path().join("0.pem").display().to_string();
        let trust = if tls { vec!["--cacert", &file] } else { vec![] };
        let fixed = ["--h2", "-c", "5", "-m", "20", "-n", "3k", "--expect-body-bytes", "7"];
        let document = measure(&[&fixed[..], &trust, &[&server.url]].concat());
        document.assert_all_ok();
        assert_eq!(document.ledger("ok"), 3000);
        assert_eq!(document.count("/connections/opened"), 5);
    }
}
