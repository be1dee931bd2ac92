//! Malicious servers of HTTP/3, by aioquic: whatever a server does, the run ends in time with a named outcome and a
//! documented exit code, and its ledger balances. `scripts/need-peers` installs it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use candor_testkit::process::wait_until;
use rustix::process::Signal;

use super::{MARGIN, MOST_KIB, SHORT, is_command, outcomes};
use crate::common::{CANDOR, Candor, Outcome};
use crate::peers::Server;

/// What calls are made by.
const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.proto");

/// What a server does, and the outcomes of requests, `ok`, kinds of errors, or `no connection`: one that there must be,
/// and others that are permitted. On a busy machine `timeout` is always permitted.
const SERVERS: &[(&str, &[&str])] = &[
    ("silence", &["no connection"]),
    ("unknown version", &["no connection"]),
    ("wrong certificate", &["no connection"]),
    ("black hole", &["timeout"]),
    ("no acknowledgements", &["ok"]),
    ("qpack bomb", &["malformed"]),
    ("frames out of place", &["malformed"]),
    ("settings on a request", &["malformed"]),
    ("reset in mid-body", &["stream-reset"]),
    ("stateless reset", &["reset"]),
    ("tiny windows", &["ok"]),
    // The first request fits, and its response comes before the rest of its body.
    ("closed windows", &["timeout", "ok"]),
    ("events without end", &["timeout"]),
    ("events cut off", &["stream-cut"]),
    ("events of nothing", &["malformed"]),
    ("call without end", &["timeout"]),
    ("call cut short", &["malformed"]),
    ("call too large", &["malformed"]),
    ("call without status", &["grpc-no-status"]),
    ("socket refused", &["no connection"]),
    ("socket without replies", &["timeout"]),
    ("socket masked", &["malformed"]),
    ("socket reset", &["stream-reset"]),
    ("socket stopped", &["stream-reset"]),
    ("socket ended", &["closed"]),
    ("socket gone", &["not-processed"]),
    ("socket cut off", &["closed"]),
];

/// A certificate and its key, each in a file of the folder.
fn certificate(folder: &Path, name: &str) -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (pem, key) = (folder.join(name), folder.join(format!("{name}.key")));
    fs::write(&pem, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    [pem, key].map(|path| path.to_str().unwrap().to_owned())
}

/// A run against the server with this name, with the file `upload` in its folder.
fn start(name: &str, server: &Server, trusted: &str, limits: &[&str]) -> Candor {
    let address = server.address();
    let (scheme, kind) = match name.split(' ').next() {
        Some("events") => ("https", &["run", "--stream", "sse"][..]),
        Some("call") => ("https", &["grpc", "--proto", PROTO][..]),
        Some("socket") => ("wss", &["ws", "--message", "hello"][..]),
        _ if name.ends_with("windows") => {
            ("https", &["run", "-X", "PUT", "--body-file", "upload"][..])
        }
        _ => ("https", &["run"][..]),
    };
    let url = format!("{scheme}://{address}/");
    let method = if kind[0] == "grpc" { &["candor.Echo/ServerStream"][..] } else { &[] };
    let streams = if kind[0] == "ws" { &[][..] } else { &["-m", "2"] };
    Candor::start_as(std::process::Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("upload"), [b'u'; 3000]).unwrap();
        command.args(kind).args(["--h3", "--cacert", trusted, "-c", "2", "-t", "1"]).args(streams);
        command.args(["--json", "result.json", "--connect-timeout", "1s"]).args(limits);
        command.arg(&url).args(method).current_dir(directory);
    })
}

#[test]
fn each_over_quic_ends_in_time_with_a_named_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let [[own, key], [other, _]] =
        ["own.pem", "other.pem"].map(|name| certificate(folder.path(), name));
    let mut faults = Vec::new();
    for &(name, permitted) in SERVERS {
        let server = Server::start("hostile_quic.py", &[&own, &key, name]);
        let trusted = if name == "wrong certificate" { &other } else { &own };
        let limits = ["-d", SHORT.duration, "--timeout", SHORT.timeout, "--drain", SHORT.drain];
        let limit = SHORT.sum + Duration::from_secs(1) + MARGIN;
        let run = || start(name, &server, trusted, &limits).finish_within(limit);
        // On a busy machine a handshake may take longer than a run.
        let is_late = |run: &Result<Outcome, String>| matches!(run, Ok(outcome) if judged(permitted, outcome).0 == "nothing sent");
        let first = run();
        match if is_late(&first) { run() } else { first } {
            Err(said) => faults.push(format!("{name}: did not end: {said}")),
            Ok(outcome) => {
                let (seen, wrong) = judged(permitted, &outcome);
                let (ms, kib, code) = (outcome.wall.as_millis(), outcome.peak_kib, outcome.code());
                let text =
                    format!("quic  {name:24}  {seen:24}  exit {code}  {ms:5} ms  {kib:6} KiB");
                println!("{text}");
                faults.extend(wrong.into_iter().map(|what| format!("{text}: {what}")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What never ends does not keep a run that is told to end, twice.
#[test]
fn a_signal_is_heard_among_parts_that_never_end() {
    let folder = tempfile::tempdir().unwrap();
    let [own, key] = certificate(folder.path(), "own.pem");
    let names = ["events without end", "call without end", "socket without replies"];
    let answered = names.map(|name| folder.path().join(name));
    let start_one = |at: usize| {
        let answered = answered[at].to_str().unwrap();
        Server::start("hostile_quic.py", &[&own, &key, names[at], answered])
    };
    let servers = [0, 1, 2].map(start_one);
    let limits = ["-d", "1h", "--timeout", "1h", "--drain", "1h"];
    let runs: Vec<_> = names
        .iter()
        .zip(&servers)
        .map(|(name, server)| start(name, server, &own, &limits))
        .collect();
    assert!(wait_until(MARGIN, || answered.iter().all(|path| path.exists())));
    runs.iter().for_each(|run| run.signal(Signal::INT));
    std::thread::sleep(Duration::from_millis(200));
    for (name, run) in names.iter().zip(runs) {
        run.signal(Signal::INT);
        let outcome = run.finish_within(MARGIN).unwrap_or_else(|said| panic!("{name}: {said}"));
        assert_eq!(outcome.code(), 130, "{name}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        let (sent, unfinished) = (document.ledger("sent"), document.ledger("unfinished"));
        assert!(sent > 0 && sent == unfinished, "{name}: {}", document.at("/ledger"));
    }
}

/// The outcomes of the requests, and the violations. (Reading the document has checked its ledger.)
fn judged(permitted: &[&str], outcome: &Outcome) -> (String, Vec<String>) {
    let printed = format!("{}{}", outcome.stdout, outcome.stderr);
    let seen = match outcome.code() {
        1 if !outcome.files().contains(&"result.json".to_owned()) => {
            BTreeSet::from(["no connection".to_owned()])
        }
        0 | 1 | 4 => outcomes(&outcome.document()),
        _ => BTreeSet::new(),
    };
    let is_permitted = |one: &String| one == "timeout" || permitted.contains(&one.as_str());
    let wrong = [
        (outcome.peak_kib > MOST_KIB, "needs too much memory"),
        (printed.chars().any(is_command), "prints commands of a terminal"),
        (!seen.contains(permitted[0]), "has another outcome"),
        (!seen.iter().all(is_permitted), "has an outcome that is not permitted"),
    ];
    let wrong = wrong.into_iter().filter(|(is_so, _)| *is_so);
    let seen = seen.into_iter().collect::<Vec<_>>().join(", ");
    (seen, wrong.map(|(_, what)| format!("{what}: {printed}")).collect())
}
