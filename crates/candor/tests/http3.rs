//! HTTP/3 against aioquic: what it counted equals the ledger. `scripts/need-peers` installs it.

use std::io::Write;
use std::net::UdpSocket;
use std::process::Command;

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

    /// The document of a plan with these lines.
    fn planned(&self, lines: &str) -> Document {
        let folder = self.folder.path();
        let trusted = folder.join("cert.pem");
        let head =
            format!("url = '{}'\nh3 = true\ncacert = '{}'\n", self.url(""), trusted.display());
        let plan = folder.join("plan.toml");
        std::fs::write(&plan, head + lines).unwrap();
        let outcome = Candor::start_measuring(&["run", plan.to_str().unwrap()]).finish();
        assert_eq!(outcome.code(), 0, "{lines}: {}{}", outcome.stdout, outcome.stderr);
        outcome.document()
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

/// What the flags say is what connections do, and what QUIC saw of their paths is in the document.
#[test]
fn paths_are_told_and_their_datagrams_bounded() {
    let aioquic = Aioquic::start();
    for (flags, datagram_bytes) in [(&["--cc", "bbr", "--mtu", "1200"][..], 1200), (&[], 1452)] {
        let flags = [&["-c", "2", "-n", "400", "-m", "2"], flags].concat();
        let document = aioquic.measured("", &flags);
        document.assert_all_ok();
        let count = |name: &str| document.count(&format!("/paths/{name}"));
        assert_eq!((count("connections"), count("rtt/count")), (2, 2));
        assert_eq!(count("datagram_bytes"), 2 * datagram_bytes, "{flags:?}");
        // Two requests may leave in one.
        assert!(count("packets") >= 200 && count("window_bytes") > 0);
        let (least_ns, most_ns) = (count("least_rtt/min_ns"), count("rtt/max_ns"));
        assert!(0 < least_ns && least_ns <= most_ns, "{least_ns} {most_ns}");
        assert!(!document.verdicts().contains(&"window-limited"));
    }
}

/// An upload beyond the first congestion window: requests wait for it, and the parts of the response time add up.
#[test]
fn uploads_are_blocked_by_the_congestion_window() {
    let aioquic = Aioquic::start();
    let upload = aioquic.folder.path().join("upload");
    std::fs::write(&upload, vec![b'x'; 50_000]).unwrap();
    let upload =
        ["-c", "1", "-n", "20", "-m", "20", "-X", "PUT", "--body-file", upload.to_str().unwrap()];
    let document = aioquic.measured("", &upload);
    document.assert_all_ok();
    let blocked = document.count("/latencies/blocked/time/count");
    assert!((1..20).contains(&blocked), "{blocked}");
    assert!(document.count("/latencies/blocked/by/congestion_ns") > 0);
    assert!(!document.verdicts().contains(&"impossible"));
}

/// RFC 9001 6: the server's changes are followed, and of ours there is none in the packets that these runs take.
#[test]
fn keys_change_when_the_server_changes_them() {
    let aioquic = Aioquic::start();
    aioquic.measured("", &["-c", "1", "-n", "3000"]).assert_all_ok();
    aioquic.measured("keys", &["-c", "1", "-n", "100"]).assert_all_ok();
    let count = aioquic.server.counts();
    assert_eq!((count("requests"), count("key updates")), (3100, 10));
}

#[test]
fn users_capture_and_keep_cookies_and_follow_redirects() {
    let aioquic = Aioquic::start();
    let steps = "[[journey]]\nname = 'j'\ncookies = true\n\
                 [[journey.step]]\npath = '/token'\ncapture = { token = 'json:$.token' }\n\
                 [[journey.step]]\npath = '/use'\nheaders = { X-Token = '${token}' }\n";
    for load in
        ["users = 4\nconnections = 2\nstreams = 3\nrequests = 40", "rate = 100\nrequests = 40"]
    {
        let document = aioquic.planned(&format!("{load}\n{steps}"));
        document.assert_all_ok();
        assert_eq!(document.ledger("sent"), 80);
        let users = document.at("/users/journeys/0");
        assert_eq!((&users["started"], &users["completed"]), (&40.into(), &40.into()), "{users}");
    }
    let redirected =
        aioquic.planned("requests = 10\nlocation = 1\n[[request]]\npath = '/elsewhere'\n");
    redirected.assert_all_ok();
    assert_eq!(redirected.ledger("sent"), 20);
    let count = aioquic.server.counts();
    assert_eq!((count("requests"), count("used")), (180, 80));
}

#[test]
fn holes_and_scripts_make_its_requests() {
    let aioquic = Aioquic::start();
    let write =
        |name: &str, text: &str| std::fs::write(aioquic.folder.path().join(name), text).unwrap();
    write("rows.csv", "name\na\nb\nc\n");
    let rows = "requests = 30\nconnections = 2\nstreams = 4\n[data.rows]\nfile = 'rows.csv'\n\
                [[request]]\npath = '/row'\nheaders = { X-Row = '${rows.name}' }\n";
    aioquic.planned(rows).assert_all_ok();
    let script = "local n = 0\nlocal seen\n\
                  function request()\n n = n + 1\n local row = seen or 'first'\n\
                  return wrk.format('POST', '/row', { ['X-Row'] = row }, ('y'):rep(n))\nend\n\
                  function response(status, headers, body)\n seen = status .. headers['server'] .. body\nend\n";
    write("script.lua", script);
    let path = aioquic.folder.path().join("script.lua");
    let flags = ["--script", path.to_str().unwrap(), "-c", "1", "-t", "1", "-n", "20"];
    aioquic.measured("row", &flags).assert_all_ok();
    let count = aioquic.server.counts();
    assert_eq!(["a", "b", "c"].map(|row| count(&format!("row {row}"))), [10, 10, 10]);
    assert_eq!((count("row first"), count("row 200aioquicxxxxx"), count("POST")), (1, 19, 20));
    assert_eq!(count("bytes"), (1..=20).sum::<u64>());
}

/// HTTP/2 over TCP and HTTP/3, each in runs of its own, in one comparison.
#[test]
fn versions_of_http_are_compared() {
    let (aioquic, target) = (Aioquic::start(), Target::start(&["--tls"]));
    let over_tcp = target.url("/").replace("http://", "https://");
    let plan = |name: &str, url: &str| {
        let path = aioquic.folder.path().join(format!("{name}.toml"));
        let text = format!(
            "url = '{url}'\n{name} = true\ninsecure = true\nstreams = 5\nconnections = 2\n"
        );
        std::fs::write(&path, text).unwrap();
        format!("{name}={}", path.display())
    };
    let (h2, h3) = (plan("h2", &over_tcp), plan("h3", &aioquic.url("")));
    let kept = aioquic.folder.path().join("kept");
    let times = ["-d", "50ms", "--warm-up", "0", "--rounds", "6", "--keep", kept.to_str().unwrap()];
    let outcome = Candor::start(&[&["compare", &h2, &h3][..], &times].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let alpn = |name: &str| {
        let text = std::fs::read_to_string(kept.join(name)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(document["ledger"]["ok"].as_u64().unwrap() > 0, "{name}: {text}");
        document["connections"]["handshakes"][0]["alpn"].as_str().unwrap().to_owned()
    };
    assert_eq!([alpn("h2.r1.json"), alpn("h3.r6.json")], ["h2", "h3"]);
}

/// A suite has HTTP/2 of one server beside HTTP/3 of another.
#[test]
fn a_suite_measures_http_3() {
    let aioquic = Aioquic::start();
    let suite = format!(
        "name = 'tiny'\nrounds = 1\nscenarios = ['plain']\nprotocols = ['h2-tls', 'h3']\n\
         [run]\nconnections = 2\nthreads = 1\nduration = '50ms'\ninsecure = true\n\
         [[scenario]]\nname = 'plain'\nrequest = [{{ path = '/', expect-status = 200 }}]\n\
         [[server]]\nname = 'theirs'\ntls-url = '{}'\nscenarios = ['plain']\nprotocols = ['h3']\n\
         [[server]]\nname = 'ours'\nembedded = true\nscenarios = ['plain']\nprotocols = ['h2-tls']\n",
        aioquic.url("")
    );
    let folder = aioquic.folder.path();
    std::fs::write(folder.join("tiny.toml"), suite).unwrap();
    let run = Candor::start_as(Command::new(CANDOR), |_, command| {
        command.current_dir(folder).args(["bench", "tiny.toml"]);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    for (name, alpn) in [("plain.h3.theirs", "h3"), ("plain.h2-tls.ours", "h2")] {
        let trial = folder.join(format!("tiny-results/trials/{name}.closed.r1.json"));
        let text = std::fs::read_to_string(trial).unwrap();
        let trial: serde_json::Value = serde_json::from_str(&text).unwrap();
        let handshake = trial.pointer("/connections/handshakes/0/alpn");
        assert_eq!(handshake.and_then(|alpn| alpn.as_str()), Some(alpn), "{name}: {text}");
    }
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
