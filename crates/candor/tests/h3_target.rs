//! The embedded target over HTTP/3: the same responses, faults and counts as over TCP.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use candor_testkit::process::{read_port_file, wait_until};
use rustix::process::Signal;

use crate::common::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// `candor serve --h3`.
pub(crate) struct Target {
    pub(crate) candor: Candor,
    pub(crate) url: String,
    certificate: PathBuf,
}

/// What it says at its end.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    connections: u64,
    requests: u64,
    responses: u64,
}

impl Target {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let candor = Candor::start_as(Command::new(CANDOR), |directory, command| {
            command.args(["serve", "--h3", "--port-file", "port"]).args(flags);
            command.current_dir(directory);
        });
        let lines = read_port_file(&candor.directory().join("port"), PATIENCE).unwrap();
        let url = format!("https://{}:{}", lines["HOST"], lines["PORT"]);
        Target { candor, url, certificate: lines["CERT"].clone().into() }
    }

    fn run(&self, version: &str, path: &str, flags: &[&str]) -> Outcome {
        let (url, trusted) = (format!("{}{path}", self.url), self.certificate.to_str().unwrap());
        let all = [version, "--cacert", trusted, &url];
        Candor::start_measuring(&[&all[..], flags].concat()).finish()
    }

    pub(crate) fn document(&self, version: &str, path: &str, flags: &[&str]) -> Document {
        let outcome = self.run(version, path, flags);
        assert!(!outcome.files().is_empty(), "{path}: {}{}", outcome.stdout, outcome.stderr);
        outcome.document()
    }

    fn end(self) -> Counted {
        self.candor.signal(Signal::TERM);
        let said = self.candor.finish().stderr;
        let last = said.lines().last().unwrap_or_default();
        let words = last.split([' ', ':']).map(|word| word.trim_end_matches(',').replace(',', ""));
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let [connections, requests, responses] = numbers[..] else { panic!("{said}") };
        Counted { connections, requests, responses }
    }
}

#[test]
fn its_counts_are_those_of_the_ledger() {
    let target = Target::start(&["--threads", "2"]);
    let upload = target.candor.directory().join("upload");
    std::fs::write(&upload, vec![b'x'; 1 << 20]).unwrap();
    let closed = target.document("--h3", "/", &["-c", "4", "-m", "10", "-n", "4000"]);
    let open = ["-c", "4", "-m", "10", "-R", "500", "-n", "500"];
    let open = target.document("--h3", "/bytes/1k", &open);
    let large = target.document("--h3", "/bytes/1m", &["-c", "2", "-m", "2", "-n", "20"]);
    let post = ["-c", "2", "-m", "2", "-n", "20", "-X", "POST", "--body-file"];
    let post = [&post[..], &[upload.to_str().unwrap(), "--expect-body-bytes", "7"]].concat();
    let uploaded = target.document("--h3", "/upload", &post);
    let (mut sent, mut connections) = (0, 0);
    for document in [&closed, &open, &large, &uploaded] {
        document.assert_all_ok();
        assert_eq!(document.text("/connections/handshakes/0/alpn"), "h3");
        sent += document.ledger("sent");
        connections += document.count("/connections/opened");
    }
    assert_eq!(large.count("/bytes/bodies"), 20 << 20);
    assert_eq!(open.count("/bytes/bodies"), 500 << 10);
    assert_eq!(target.end(), Counted { connections, requests: sent, responses: sent });
}

/// Every path of one response, over each version: the same statuses and as many bytes.
#[test]
fn its_paths_are_the_same_over_each_version() {
    let target = Target::start(&[]);
    let (mut plan, mut count) = (String::new(), 0);
    let paths = [
        "/",
        "/echo",
        "/large",
        "/json",
        "/cookies",
        "/form",
        "/drain",
        "/upload",
        "/gzip",
        "/qs?a=1&b=2",
        "/etag",
        "/api",
        "/redirect",
        "/baseline11?a=1&b=2",
        "/httparena_json/7?m=3",
        "/static/hello.txt",
        "/streaming",
        "/small",
        "/httpc-bench",
        "/route/7",
        "/delay/2ms",
        "/status/204",
        "/status/304",
        "/status/503",
        "/bytes/0",
        "/bytes/100k",
        "/stream/5/100/2ms",
        "/token/a",
        "/token/a/b",
        "/nowhere",
        "/ndjson/3/1ms?bytes=200",
        "/sse/3/1ms?bytes=200",
        "/ws/echo",
        "/candor.Echo/Unary",
    ];
    for method in ["GET", "HEAD", "POST", "OPTIONS"] {
        for path in paths {
            let body = if method == "POST" { "body = 'a=b&c=d'\n" } else { "" };
            plan += &format!(
                "[[request]]\nmethod = '{method}'\npath = '{path}'\nheaders = {{ cookie = 'a=b; c=d', accept-encoding = 'gzip', \
                 if-none-match = '\"v1\"' }}\nexpect-status = '2xx,3xx,4xx,5xx'\n{body}"
            );
            count += 1;
        }
    }
    let told = ["h1", "h2", "h3"].map(|version| {
        let text = format!(
            "url = '{}/'\ncacert = '{}'\n{version} = true\nconnections = 1\nrequests = {count}\n{plan}",
            target.url,
            target.certificate.display()
        );
        let file = target.candor.directory().join(format!("{version}.toml"));
        std::fs::write(&file, text).unwrap();
        let outcome = Candor::start_measuring(&["run", file.to_str().unwrap()]).finish();
        assert_eq!(outcome.code(), 0, "{version}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        (document.at("/statuses").clone(), document.count("/bytes/bodies"))
    });
    // A WebSocket and a call say by the status which version they need, and the event streams have no fixed numbers.
    assert_eq!(told[0], told[2]);
    assert_eq!(told[1].1, told[2].1);
    let Counted { requests, responses, .. } = target.end();
    assert_eq!((requests, responses), (3 * count, 3 * count));
}

#[test]
fn its_faults_are_named() {
    let target = Target::start(&[]);
    for (path, error, requests) in [
        ("/fault/reset/0", "reset", 2),
        ("/fault/reset/100", "reset", 2),
        ("/fault/truncate/10", "truncated", 4),
        ("/fault/truncate/1m", "truncated", 2),
        ("/fault/close", "closed", 4),
        ("/fault/hang", "timeout", 2),
        ("/sse/2/1ms?end=cut", "stream-reset", 4),
    ] {
        let requests = requests.to_string();
        let document =
            target.document("--h3", path, &["-c", "2", "-n", &requests, "--timeout", "4s"]);
        document.assert_errors(&[error]);
        assert_eq!(document.errors()[error].to_string(), requests, "{path}");
        if path == "/fault/truncate/1m" {
            assert!(
                document.count("/bytes/received") >= 2 << 20,
                "all of it comes before the close"
            );
        }
    }
    target.end();
}

#[test]
fn it_stalls_limits_connections_and_ends_them() {
    let target = Target::start(&["--max-connections", "2"]);
    let full = target.run("--h3", "/", &["-c", "4", "-n", "40"]).document();
    assert_eq!(full.connect_errors().keys().collect::<Vec<_>>(), ["handshake-failed"]);
    assert_eq!(full.ledger("ok"), 40);
    target.end();
    let target = Target::start(&["--close-after-silently", "5"]);
    let ended = target.document("--h3", "/large", &["-c", "1", "-n", "50"]);
    // A request that was on its way is cut off, or has no response.
    let errors = ended.errors();
    assert!(errors.keys().all(|kind| kind == "closed" || kind == "truncated"), "{errors:?}");
    assert!(ended.count("/connections/opened") >= 5, "{}", ended.at("/connections"));
    let Counted { connections, .. } = target.end();
    assert_eq!(connections, ended.count("/connections/opened"));
}

/// The same events as over TCP, no sooner than they were sent, and the same ends.
#[test]
fn streams_have_their_events() {
    let target = Target::start(&[]);
    let stream = ["-c", "2", "-m", "2", "-n", "20", "--stream", "sse"];
    let document = target.document("--h3", "/sse/5/10ms", &stream);
    document.assert_all_ok();
    let events = ["min", "max"].map(|end| document.count(&format!("/streams/events/{end}")));
    assert_eq!((events, document.count("/parts/count")), ([5, 5], 100));
    assert!(document.count("/streams/last_event/min_ns") >= 40_000_000);
    let gaps = document.count("/streams/gap/count");
    assert_eq!(gaps + document.count("/streams/coalesced"), 80);
    let model = ["-c", "1", "-n", "5", "--llm", "openai-chat", "-b"];
    let asks = r#"{"model": "any", "messages": [{"role": "user", "content": "Hello"}], "stream": true,
                   "max_tokens": 7, "stream_options": {"include_usage": true}}"#;
    let model = [&model[..], &[asks]].concat();
    let document = target.document("--h3", "/v1/chat/completions?every=2ms", &model);
    document.assert_all_ok();
    assert_eq!(document.count("/streams/tokens/count"), 35);
    assert_eq!(document.count("/streams/tokens/time_to_first_token/count"), 5);
    let cut = target.document("--h3", "/sse/2/1ms?end=cut", &stream);
    assert_eq!(cut.errors()["stream-cut"].to_string(), "20");
    let chunks = ["-c", "1", "-n", "5", "--stream", "chunks", "--compressed"];
    let document = target.document("--h3", "/bytes/1000", &chunks);
    document.assert_all_ok();
    assert_eq!(
        (document.count("/streams/events/count"), document.count("/parts/bytes")),
        (5, 5000)
    );
    target.end();
}

/// Calls of each kind, by the server's own schema; statuses and deadlines; and beside them the web's variants.
#[test]
fn calls_have_their_responses() {
    let target = Target::start(&["--threads", "2"]);
    let (url, trusted) = (target.url.clone(), target.certificate.to_str().unwrap().to_owned());
    let call = |method: &str, flags: &[&str]| {
        let fixed = ["grpc", "--h3", "--cacert", &trusted, &url, method];
        let outcome = Candor::start_measuring(&[&fixed[..], flags].concat()).finish();
        assert!(!outcome.files().is_empty(), "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.document()
    };
    let load = ["-R", "500", "-c", "4", "-t", "2", "-m", "8", "-n", "500"];
    let unary = call("candor.Echo/Unary", &[&load[..], &["-d", "{\"seq\": ${seq}}"]].concat());
    unary.assert_all_ok();
    assert_eq!(unary.text("/connections/handshakes/0/alpn"), "h3");
    assert_eq!((unary.ledger("ok"), unary.count("/parts/count")), (500, 500));
    assert!(!unary.verdicts().contains(&"impossible"), "{:?}", unary.verdicts());
    let every = "{\"count\": 5, \"everyNs\": \"10000000\"}";
    let closed = ["-n", "20", "-c", "2", "-m", "2", "-d"];
    let served = call("candor.Echo/ServerStream", &[&closed[..], &[every]].concat());
    served.assert_all_ok();
    assert_eq!((served.count("/streams/events/min"), served.count("/parts/count")), (5, 100));
    assert!(served.count("/streams/last_event/min_ns") >= 40_000_000);
    let three = "{\"seq\": ${seq}} [{\"seq\": 1}, {}]";
    for (method, parts) in [("candor.Echo/ClientStream", 20), ("candor.Echo/Bidi", 60)] {
        let document = call(method, &[&closed[..], &[three]].concat());
        document.assert_all_ok();
        assert_eq!(document.count("/parts/count"), parts, "{method}");
    }
    let status = call("candor.Echo/Unary", &[&closed[..], &["{\"status\": 5}"]].concat());
    status.assert_errors(&["grpc-not-found"]);
    assert_eq!(status.ledger("ok"), 0);
    let slow = ["-n", "4", "-c", "1", "-m", "2", "--deadline", "20ms"];
    let slow = [&slow[..], &["-d", "{\"everyNs\": 2000000000}"]].concat();
    call("candor.Echo/Unary", &slow).assert_errors(&["grpc-deadline-exceeded"]);
    // This target answers gRPC alone: the response is HTTP's, and named as one of the protocol's.
    let web = [&closed[..], &["{}", "--protocol", "grpc-web"]].concat();
    let web = call("candor.Echo/Unary", &web);
    assert_eq!((web.ledger("ok"), web.ledger("sent")), (0, 20));
    target.end();
}

/// The same echoes, parts and ends as over HTTP/2.
#[test]
fn websockets_have_their_messages() {
    let target = Target::start(&["--threads", "2"]);
    let (url, trusted) = (target.url.replacen("https", "wss", 1), target.certificate.clone());
    let ws = |path: &str, flags: &[&str]| {
        let url = format!("{url}{path}");
        let fixed = ["ws", "--h3", "--cacert", trusted.to_str().unwrap(), &url];
        Candor::start_measuring(&[&fixed[..], flags].concat()).finish()
    };
    for flags in [&[][..], &["--fragment", "3", "--in-flight", "16"], &["--deflate", "--binary"]] {
        let load = ["-R", "500", "-c", "4", "-t", "2", "-d", "1s", "--message", "ping ${seq}"];
        let outcome = ws("/ws/echo", &[&load[..], flags].concat());
        assert_eq!(outcome.code(), 0, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!((document.ledger("ok"), document.count("/connections/opened")), (500, 4));
        assert_eq!(document.text("/connections/handshakes/0/alpn"), "h3");
        assert!(!document.verdicts().contains(&"impossible"), "{:?}", document.verdicts());
    }
    let large = "x".repeat(100_000);
    let large = [
        "-n",
        "20",
        "-c",
        "2",
        "--in-flight",
        "2",
        "--expect-body-bytes",
        "100000",
        "--message",
        &large,
    ];
    ws("/ws/echo", &large).document().assert_all_ok();
    let unasked = ["-R", "10", "-c", "5", "-d", "1s", "--no-reply", "--message", "hello"];
    let document = ws("/ws/broadcast/10ms?bytes=100", &unasked).document();
    document.assert_all_ok();
    let parts = document.count("/parts/count");
    assert!((400..=510).contains(&parts), "{parts}");
    assert_eq!(document.count("/parts/bytes"), 100 * parts);
    for code in [4321, 1006] {
        let ended = ["-n", "40", "-c", "1", "--message", "hello"];
        let document = ws(&format!("/ws/close/{code}?after=3"), &ended).document();
        let codes = document.list("/connections/close_codes");
        assert_eq!(codes.len(), 1, "{code}: {codes:?}");
        assert_eq!(codes[0]["code"], code);
        assert!(codes[0]["count"].as_u64() >= Some(9), "{code}: {codes:?}");
        let [ok, errors] = ["ok", "errors"].map(|name| document.ledger(name));
        assert_eq!((ok + errors, ok >= 30), (40, true), "{code}");
    }
    for (path, status) in [("/ws/echo/soon", "400"), ("/status/404", "405")] {
        let refused = ws(path, &["-c", "2", "-d", "1s", "--message", "x"]);
        assert_eq!(refused.code(), 1, "{}", refused.stdout);
        assert!(refused.stderr.contains(status), "{path}: {}", refused.stderr);
    }
    target.end();
    let own = ["ws", "--h3", "-n", "50", "-c", "2", "--message", "hello"];
    let document = Candor::start_measuring(&own).finish().document();
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 50);
}

/// A signal ends the target at once, and its clients hear of it.
#[test]
fn a_run_hears_of_its_end() {
    let target = Target::start(&[]);
    let (url, trusted) = (format!("{}/delay/10s", target.url), target.certificate.clone());
    let run = ["--h3", "--cacert", trusted.to_str().unwrap(), "-c", "2", "-n", "2", &url];
    let run = Candor::start_measuring(&run);
    // Both connections are there.
    wait_until(PATIENCE, || udp_sockets(run.pid()) >= 2);
    std::thread::sleep(Duration::from_millis(300));
    let counted = target.end();
    assert_eq!((counted.requests, counted.responses), (2, 0));
    let document = run.finish().document();
    assert_eq!(document.ledger("ok"), 0);
    document.assert_errors(&["closed"]);
}

/// UDP sockets that a process has open.
fn udp_sockets(pid: u32) -> usize {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let udp = std::fs::read_to_string(format!("/proc/{pid}/net/udp")).unwrap_or_default();
    let of_process = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    let inodes = of_process.filter_map(|link| {
        let link = link.to_string_lossy().into_owned();
        Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    });
    inodes
        .filter(|inode| udp.lines().any(|line| line.split_whitespace().any(|word| word == inode)))
        .count()
}

#[test]
fn a_run_without_a_url_has_its_own() {
    let document = measure(&["run", "--h3", "-n", "50", "-c", "2", "-m", "2"]);
    document.assert_all_ok();
    assert_eq!(document.text("/connections/handshakes/0/alpn"), "h3");
    assert_eq!(document.ledger("sent"), 50);
}

/// Responses over TCP say where HTTP/3 is (RFC 7838).
#[test]
fn it_is_named_in_alt_svc() {
    let target = Target::start(&[]);
    let port = target.url.rsplit(':').next().unwrap();
    for version in ["--h1", "--h2"] {
        let outcome = candor(&["try", version, "--insecure", &format!("{}/", target.url)]);
        let expected = format!("h3=\":{port}\"");
        assert!(outcome.stdout.to_lowercase().contains("alt-svc"), "{}", outcome.stdout);
        assert!(outcome.stdout.contains(&expected), "{}", outcome.stdout);
    }
    let outcome = candor(&["try", "--h3", "--insecure", &format!("{}/", target.url)]);
    assert!(!outcome.stdout.to_lowercase().contains("alt-svc"), "{}", outcome.stdout);
}

/// One suite has HTTP/1.1, 2 and 3 of one server beside each other.
#[test]
fn a_suite_has_each_version() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "name = 'versions'\nrounds = 1\nscenarios = ['hello']\nprotocols = ['h1', 'h2-tls', 'h3']\n\
                 [run]\nconnections = 2\nthreads = 1\nduration = '50ms'\ncc = 'newreno'\nmtu = 1300\n\
                 [[server]]\nname = 'one'\nembedded = true\n";
    std::fs::write(folder.path().join("versions.toml"), suite).unwrap();
    let run = Candor::start_as(Command::new(CANDOR), |_, command| {
        command.current_dir(&folder).args(["bench", "versions.toml"]);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    for (protocol, alpn) in [("h1", None), ("h2-tls", Some("h2")), ("h3", Some("h3"))] {
        let trial = folder
            .path()
            .join(format!("versions-results/trials/hello.{protocol}.one.closed.r1.json"));
        let document = Document::checked(&std::fs::read_to_string(trial).unwrap());
        document.assert_all_ok();
        assert_eq!(
            document.at("/connections/handshakes").pointer("/0/alpn").and_then(|one| one.as_str()),
            alpn
        );
    }
}

/// One plan over three versions: each server counts what the ledger has for it.
#[test]
fn targets_of_one_plan_have_different_versions() {
    let (h3, h2, h1) = (Target::start(&[]), Target::start(&[]), Target::start(&[]));
    for load in ["rate = 400\nrequests = 400", "requests = 400"] {
        let plan = format!(
            "url = '{}/'\ninsecure = true\nh1 = true\nconnections = 2\nthreads = 1\n{load}\n\
             [target.two]\nurl = '{}/'\nh2 = true\n[target.three]\nurl = '{}/'\nh3 = true\n\
             [[request]]\n[[request]]\ntarget = 'two'\n[[request]]\ntarget = 'three'\npath = '/bytes/100k'\n\
             [[request]]\ntarget = 'three'\n",
            h1.url, h2.url, h3.url
        );
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            std::fs::write(directory.join("plan.toml"), plan).unwrap();
            command.current_dir(directory).args(["run", "plan.toml", "--json", "result.json"]);
        });
        let document = run.finish().document();
        document.assert_all_ok();
        let sent: Vec<u64> =
            document.list("/targets").iter().map(|row| row["sent"].as_u64().unwrap()).collect();
        assert_eq!(sent.iter().sum::<u64>(), 400);
        if load.contains("rate") {
            assert_eq!(sent, [100, 100, 200]);
        }
        let alpn = document.list("/connections/handshakes").iter().map(|one| one["alpn"].as_str());
        let mut alpn: Vec<_> = alpn.flatten().collect();
        alpn.sort_unstable();
        assert_eq!(alpn, ["h2", "h3", "http/1.1"]);
        assert!(document.count("/datagrams/sent") > 0);
    }
    // A try has one request of each, and names the version of its target.
    let plan = format!(
        "url = '{}/'\ninsecure = true\nh1 = true\n[target.two]\nurl = '{}/'\nh2 = true\n\
         [target.three]\nurl = '{}/'\nh3 = true\n[[request]]\npath = '/tried'\n\
         [[request]]\ntarget = 'two'\npath = '/tried'\n[[request]]\ntarget = 'three'\npath = '/tried'\n",
        h1.url, h2.url, h3.url
    );
    let tried = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).unwrap();
        command.current_dir(directory).args(["try", "plan.toml"]);
    });
    let tried = tried.finish();
    let versions: Vec<&str> =
        tried.stdout.lines().filter_map(|line| line.strip_prefix("> GET /tried ")).collect();
    assert_eq!(versions, ["HTTP/1.1", "HTTP/2", "HTTP/3"], "{}{}", tried.stdout, tried.stderr);
    let (h3, h2, h1) = (h3.end(), h2.end(), h1.end());
    assert_eq!(h3.requests + h2.requests + h1.requests, 803);
    assert_eq!(h3.responses + h2.responses + h1.responses, 803);
    assert!(h3.requests >= 200 && h2.requests >= 100 && h1.requests >= 100);
}

/// Resumed connections send requests in their first flight, and the target takes them.
#[test]
fn requests_leave_in_the_first_flight() {
    let target = Target::start(&[]);
    let flags = [
        "-c",
        "1",
        "-t",
        "1",
        "-n",
        "20",
        "--requests-per-connection",
        "2",
        "--tls-resumption",
        "on",
        "--early-data",
    ];
    let document = target.document("--h3", "/", &flags);
    document.assert_all_ok();
    let count = |name: &str| document.count(&format!("/connections/handshakes/0/{name}"));
    assert_eq!(count("full") + count("resumed"), document.count("/connections/opened"));
    assert!(count("resumed") >= 8, "{}", document.at("/connections/handshakes"));
    assert_eq!((count("early_data_accepted"), count("early_data_rejected")), (count("resumed"), 0));
    assert_eq!(target.end().requests, 20);
}

/// A server that ends in mid-run, and another one in its place: the run goes on there.
#[test]
fn a_run_goes_on_after_a_restart() {
    let first = Target::start(&[]);
    let port = first.url.rsplit(':').next().unwrap().to_owned();
    let flags = ["--h3", "--insecure", "-R", "200", "-d", "4s", "-c", "4", "-m", "5"];
    let run = Candor::start_measuring(&[&flags[..], &[&format!("{}/", first.url)]].concat());
    wait_until(PATIENCE, || udp_sockets(run.pid()) >= 4);
    std::thread::sleep(Duration::from_secs(1));
    let first = first.end();
    let second = Target::start(&["--listen", &port]);
    let document = run.finish().document();
    let second = second.end();
    assert!(first.requests > 0 && second.requests > 0, "{first:?} {second:?}");
    let (sent, ok) = (document.ledger("sent"), document.ledger("ok"));
    assert!(first.requests + second.requests <= sent, "{first:?} {second:?} of {sent}");
    // What was on its way when the first one ended is an error with a name.
    assert!(ok <= first.responses + second.responses && sent - ok <= 40, "{ok} of {sent}");
    let errors = document.errors();
    let named = ["closed", "truncated", "reset", "not-processed"];
    assert!(errors.keys().all(|kind| named.contains(&&**kind)), "{errors:?}");
}
