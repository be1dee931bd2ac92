//! HTTP/2 against servers that go away and come back, or that are asked to upgrade.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Candor, Document, measure};
use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::peer::{Peer, Script, Step};
use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};

const S: f64 = 1e9;

fn h2c(directives: &str) -> (Nginx, String) {
    let directives = directives.to_owned();
    let listener = Listener { parameters: "http2".to_owned(), certificate: None, directives };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let url = format!("http://{}/", nginx.listeners()[0]);
    (nginx, url)
}

/// The time in seconds that other work took from the loader, and probably from the server as well;
/// zero on an idle machine.
fn taken_s(document: &Document) -> f64 {
    let workers = document.list("/workers").iter();
    2.0 * workers.filter_map(|one| one["waited_ns"].as_f64()).sum::<f64>() / S
}

/// The longest time without a response in the measured window, in seconds.
fn longest_silence_s(document: &Document) -> f64 {
    let (mut since_ns, mut longest) = (0.0, 0.0f64);
    for one in document.window() {
        let end_ns = one["end_ns"].as_f64().unwrap();
        if one["answered"].as_u64().unwrap() > 0 {
            since_ns = end_ns;
        }
        longest = longest.max(end_ns - since_ns);
    }
    longest / S
}

#[test]
fn a_restarted_nginx_is_used_again_within_a_second_and_nothing_is_lost() {
    for load in [&[][..], &["-R", "500"]] {
        let (mut nginx, url) = h2c("");
        let fixed =
            ["--h2c", "-c", "5", "-m", "4", "-d", "4s", "--interval", "100ms", "--no-pin", &url];
        let run = Candor::start_measuring(&[load, &fixed].concat());
        std::thread::sleep(Duration::from_millis(1500));
        let down = nginx.restart().unwrap();
        let outcome = run.finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        let silence_s = longest_silence_s(&document);
        let most_s = down.as_secs_f64() + 1.0 + taken_s(&document);
        assert!(silence_s < most_s, "{silence_s} s of silence, {down:?} down, {most_s}");
        let last = document.window().last().unwrap();
        assert_eq!(last["connections"], 5, "all connections are back");
        assert!(document.count("/connections/opened") >= 10);
        // nginx has responded to all logged requests; those on their way at its end may be lost.
        let logged = nginx.stop().unwrap();
        let (ok, sent) = (document.ledger("ok"), document.ledger("sent"));
        assert!((ok..=sent).contains(&logged), "{ok} ok, {logged} logged, {sent} sent");
        assert!(sent - ok <= 20 * 4, "{sent} sent, {ok} ok");
    }
}

#[test]
fn goaways_in_mid_run_are_counted_with_their_code_closed_and_open() {
    for load in [&["-n", "3k"][..], &["-R", "1k", "-d", "2s"]] {
        let (nginx, url) = h2c("keepalive_requests 50;");
        let fixed =
            ["--h2c", "-c", "4", "-m", "5", "--interval", "100ms", "--report", "full", &url];
        let outcome = Candor::start_measuring(&[load, &fixed].concat()).finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        assert!(longest_silence_s(&document) < 1.0 + taken_s(&document));
        assert_eq!(nginx.stop().unwrap(), document.ledger("ok"));
        let goaways = document.list("/connections/goaways");
        assert_eq!(goaways.len(), 1, "{goaways:?}");
        assert_eq!(
            (goaways[0]["code"].as_u64(), goaways[0]["name"].as_str()),
            (Some(0), Some("NO_ERROR"))
        );
        let closed = document.count("/connections/closed_by_server");
        assert!(goaways[0]["count"].as_u64().unwrap() >= closed && closed >= 20, "{closed}");
        assert!(goaways[0]["last_stream"].as_u64().unwrap() >= 99, "{goaways:?}");
        assert!(outcome.stdout.contains(" GOAWAYs NO_ERROR (0x0), the first with last stream "));
        if let Some(refused) = document.list("/errors").first() {
            assert_eq!(refused["kind"], "not-processed");
            assert!(
                refused["example"]
                    .as_str()
                    .unwrap()
                    .contains("GOAWAY, error code 0x0, last stream")
            );
        }
    }
}

#[test]
fn an_answer_without_a_body_over_tls_is_complete_at_once() {
    // A whole response in one frame, and nothing after it: it must not need later input.
    let target = crate::common::Target::start(&["--tls"]);
    let url = target.url("/").replace("http://", "https://");
    let document = measure(&["-k", "--h2", "-X", "HEAD", "-c", "2", "-n", "200", &url]);
    document.assert_all_ok();
    assert!(document.number("/latencies/service/mean_ns") < 0.2 * S);
}

/// A response of the HTTP/2 side: SETTINGS, then 200 on stream 1.
fn upgraded() -> Vec<u8> {
    let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let answer = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];
    [switching.as_bytes(), &settings, &answer].concat()
}

#[test]
fn an_upgrade_is_asked_for_by_the_first_request_of_each_connection() {
    let answer = |stream: u8| Step::write([0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88]);
    let script = Script::new([
        Step::ReadRequest,
        Step::write(upgraded()),
        Step::ReadH2Request,
        answer(3),
        Step::ReadH2Request,
        answer(5),
        Step::Hang,
    ]);
    let peer = Peer::start(script);
    let url = format!("http://{}/path", peer.addr());
    let fixed =
        ["--h2c-upgrade", "--requests-per-connection", "3", "-c", "2", "-n", "12", "-m", "1"];
    let document = measure(&[&fixed[..], &[&url]].concat());
    document.assert_all_ok();
    assert_eq!(document.text("/plan/target/http"), "h2c-upgrade");
    assert_eq!(peer.requests(), 12);
    // The connection with the run's last response is retired, or ends with the run.
    assert!((3..=4).contains(&document.count("/connections/retired")));
}

#[test]
fn a_server_that_does_not_upgrade_is_named() {
    let nginx = Nginx::start(true).unwrap();
    let url = format!("http://{}/", nginx.address());
    let run = Candor::start_measuring(&["--h2c-upgrade", "-c", "2", "-d", "500ms", &url]);
    let document = run.finish().measured();
    assert_eq!(document.ledger("ok"), 0);
    document.assert_errors(&["malformed"]);
    let example = document.text("/errors/0/example");
    assert!(
        example.contains("does not upgrade to HTTP/2, but responds with 200 in HTTP/1.1"),
        "{example}"
    );
    let remedy = document.text("/errors/0/remedy");
    assert!(remedy.contains("--h2c") && !example.contains("--"), "{example}; {remedy}");
    // No request is sent twice, and reconnecting is no storm.
    let sent = document.ledger("sent");
    assert_eq!(nginx.stop().unwrap(), sent);
    assert!(sent < 40, "{sent}");
}

/// h2o (Debian's package h2o), an independent implementation; ended on drop.
struct H2o {
    process: Managed,
    address: SocketAddr,
    tls: SocketAddr,
    directory: tempfile::TempDir,
}

impl H2o {
    fn start() -> H2o {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("index.html"), "alive\r\n").unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(path("cert.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(path("key.pem"), key.serialize_pem()).unwrap();
        let [address, tls] =
            [(); 2].map(|()| SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap())));
        // As root it would switch to a user who cannot enter the test's directory.
        let user = if rustix::process::geteuid().is_root() { "user: root\n" } else { "" };
        let shown = directory.path().display();
        let config = format!(
            "{user}num-threads: 1\naccess-log: {shown}/access.log\nerror-log: {shown}/error.log\n\
             listen:\n  host: 127.0.0.1\n  port: {}\n\
             listen:\n  host: 127.0.0.1\n  port: {}\n  ssl:\n    certificate-file: {shown}/cert.pem\n    key-file: {shown}/key.pem\n\
             hosts:\n  default:\n    paths:\n      /:\n        file.dir: {shown}\n",
            address.port(),
            tls.port()
        );
        std::fs::write(path("h2o.conf"), config).unwrap();
        let mut command = Command::new("h2o");
        command.arg("-c").arg(path("h2o.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Managed::spawn(&mut command).expect("h2o starts (Debian's package h2o)");
        let log = || std::fs::read_to_string(path("error.log"));
        assert!(wait_for_port(address, Duration::from_secs(10)), "{:?}", log());
        H2o { process, address, tls, directory }
    }

    /// Requests in its access log, once it has ended.
    fn stop(mut self) -> u64 {
        self.process.stop().unwrap();
        let path = self.directory.path().join("access.log");
        wait_until(Duration::from_secs(2), || path.exists());
        std::fs::read_to_string(path).unwrap().lines().count() as u64
    }
}

#[test]
fn h2o_counts_the_same_by_prior_knowledge_by_upgrade_and_over_tls() {
    let h2o = H2o::start();
    let clear = format!("http://{}/", h2o.address);
    let secure = format!("https://{}/", h2o.tls);
    let mut sum = 0;
    for flags in [
        &["--h2c", &clear][..],
        &["--h2c-upgrade", &clear],
        &["--h2", "-k", &secure],
        &["--h1", "-k", &secure],
    ] {
        let mut all = vec!["-c", "4", "-n", "2k", "--expect-body-bytes", "7"];
        if !flags.contains(&"--h1") {
            all.extend(["-m", "10"]);
        }
        let document = measure(&[&all[..], flags].concat());
        document.assert_all_ok();
        sum += document.ledger("sent");
    }
    assert_eq!(h2o.stop(), sum);
}
