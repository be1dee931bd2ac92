//! Malicious servers of HTTP/3, by aioquic: whatever a server does, the run ends in time with a named outcome and a
//! documented exit code, and its ledger balances. `scripts/need-peers` installs it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::{MARGIN, MOST_KIB, SHORT, is_command, outcomes};
use crate::common::{CANDOR, Candor, Outcome};
use crate::peers::Server;

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
];

#[test]
fn each_over_quic_ends_in_time_with_a_named_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (pem, key) = (folder.path().join(name), folder.path().join(format!("{name}.key")));
        fs::write(&pem, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        [pem, key].map(|path| path.to_str().unwrap().to_owned())
    };
    let ([own, key], [other, _]) = (certificate("own.pem"), certificate("other.pem"));
    let mut faults = Vec::new();
    for &(name, permitted) in SERVERS {
        let server = Server::start("hostile_quic.py", &[&own, &key, name]);
        let trusted = if name == "wrong certificate" { &other } else { &own };
        let url = format!("https://{}/", server.address());
        let mut arguments = vec!["--h3", "--cacert", trusted, "-c", "2", "-m", "2", "-t", "1"];
        arguments.extend([
            "--json",
            "result.json",
            "--connect-timeout",
            "1s",
            "-d",
            SHORT.duration,
        ]);
        arguments.extend(["--timeout", SHORT.timeout, "--drain", SHORT.drain, &url]);
        if name.ends_with("windows") {
            arguments.extend(["-X", "PUT", "--body-file", "upload"]);
        }
        let candor = Candor::start_as(std::process::Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("upload"), [b'u'; 3000]).unwrap();
            command.args(&arguments).current_dir(directory);
        });
        let limit = SHORT.sum + Duration::from_secs(1) + MARGIN;
        match candor.finish_within(limit) {
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
