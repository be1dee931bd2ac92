//! Requests that are signed (`--auth aws-sigv4:…`), held against a server that checks each signature.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::sigv4;

use crate::common::{CANDOR, Candor, Outcome, candor, read_head};
use crate::metrics::calls::{Reply, framed, serve};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const SESSION: &str = "FwoGZXIvYXdzE+session==";

/// What a server found: how many requests were signed by the key; by whom and for what; when; what was wrong.
#[derive(Default)]
struct Found {
    good: u64,
    scopes: BTreeSet<String>,
    times: BTreeSet<String>,
    sessions: BTreeSet<String>,
    wrong: Vec<String>,
}

fn start() -> (SocketAddr, Arc<Mutex<Found>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, found) = (listener.local_addr().unwrap(), Arc::<Mutex<Found>>::default());
    let of_server = Arc::clone(&found);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let found = Arc::clone(&of_server);
            std::thread::spawn(move || respond(&stream, &found));
        }
    });
    (address, found)
}

fn respond(stream: &TcpStream, found: &Mutex<Found>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = read_head(&mut reader)? {
        let field = |name: &str| {
            let fields = head.split("\r\n").filter_map(|line| line.split_once(": "));
            let mut all = fields.filter(|(one, _)| one.eq_ignore_ascii_case(name));
            all.next().map(|(_, value)| value.to_owned())
        };
        let length = field("Content-Length").map_or(0, |length| length.parse().unwrap());
        let mut body = Vec::new();
        reader.by_ref().take(length).read_to_end(&mut body)?;
        let checked = sigv4::check(&head, &body, SECRET);
        let mut found = found.lock().unwrap();
        found.times.extend(field("X-Amz-Date"));
        found.sessions.extend(field("X-Amz-Security-Token"));
        let status = match checked {
            Ok(scope) => {
                found.scopes.insert(scope);
                found.good += 1;
                "200 OK"
            }
            Err(why) => {
                found.wrong.push(why);
                "403 Forbidden"
            }
        };
        drop(found);
        let answer = format!("HTTP/1.1 {status}\r\nX-Token: a b+c/d\r\nContent-Length: 0\r\n\r\n");
        (&*stream).write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Runs it with the key in the environment.
fn run(words: &[&str], session: &str, prepare: impl FnOnce(&Path)) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        prepare(directory);
        command.args(words).args(["--json", "result.json"]).current_dir(directory);
        command.env("AWS_ACCESS_KEY_ID", ID).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_SESSION_TOKEN", session);
    });
    let outcome = run.finish();
    let shown = [outcome.stdout.clone(), outcome.stderr.clone(), outcome.file("result.json")];
    for secret in [ID, SECRET, SESSION] {
        assert!(shown.iter().all(|text| !text.contains(secret)), "{secret} in {shown:?}");
    }
    outcome
}

fn assert_all_signed(outcome: &Outcome, found: &Mutex<Found>, count: u64) {
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let found = found.lock().unwrap();
    assert_eq!((found.good, &found.wrong), (count, &Vec::new()));
    assert_eq!(outcome.document().ledger("ok"), count, "{}", outcome.stdout);
}

#[test]
fn every_request_is_signed_when_it_is_made() {
    let query = "?b=2&a=%2Fx%20y&a=${seq}";
    let cases: [(&str, &[&str]); 7] = [
        ("/", &[]),
        ("/a%20b/c", &["-H", "X-Amz-Meta-A:  b   c", "-H", "Accept: */*", "-H", "accept: text/a"]),
        (query, &["-X", "DELETE"]),
        (
            "/${seq}",
            &["-b", "{\"n\": ${random 1..100000}}", "-H", "Content-Type: application/json"],
        ),
        ("/", &["-X", "POST"]),
        ("/", &["-X", "POST", "-H", "X-Seq: ${seq}", "--compressed"]),
        ("/", &["-F", "a=b", "-t2"]),
    ];
    for (service, session) in [("execute-api", ""), ("s3", SESSION)] {
        for (path, words) in cases {
            let (address, found) = start();
            let url =
                format!("http://{address}{}{path}", if path.starts_with('?') { "/" } else { "" });
            let auth = format!("aws-sigv4:eu-central-1:{service}");
            let common = ["run", "-n", "40", "-c2", "--auth", &auth, &url];
            let outcome = run(&[&common[..], words].concat(), session, |_| {});
            assert_all_signed(&outcome, &found, 40);
            let found = found.lock().unwrap();
            let scope = format!("{ID} eu-central-1 {service}");
            assert_eq!(found.scopes.iter().collect::<Vec<_>>(), [&scope]);
            let sessions: Vec<&str> = found.sessions.iter().map(String::as_str).collect();
            assert_eq!(sessions, if session.is_empty() { vec![] } else { vec![session] });
        }
    }
}

/// A signature is good for some minutes: one that is kept for too long ends a run in 403.
#[test]
fn signatures_have_the_time_of_their_request() {
    let (address, found) = start();
    let url = format!("http://{address}/");
    let words = ["run", "-d", "1500ms", "-R", "50", "--warm-up", "0s", &url];
    let auth = ["--auth", "aws-sigv4:eu-central-1:execute-api"];
    let outcome = run(&[&words[..], &auth].concat(), "", |_| {});
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(found.lock().unwrap().times.len() >= 2);
}

#[test]
fn steps_are_signed_with_what_they_captured_and_other_targets_get_nothing() {
    let ((own, found), (other, of_other)) = (start(), start());
    let plan = format!(
        "url = 'http://{own}/'\nlocation = 1\n\
         [auth]\naws-sigv4 = 'us-east-1:lambda'\nid = '${{env:KEY}}'\nsecret = '{SECRET}'\nsession-token = '{SESSION}'\n\
         [target.other]\nurl = 'http://{other}/'\n\
         [[journey]]\ncookies = true\n\
         [[journey.step]]\npath = '/first'\ncapture = {{ token = 'header:X-Token' }}\n\
         [[journey.step]]\npath = '/second?t=${{token}}&u=1'\nmethod = 'PUT'\nbody = '${{token}}'\n\
         headers = {{ X-Amz-Meta-Token = '${{token}}' }}\n\
         [[journey.step]]\ntarget = 'other'\n"
    );
    let outcome = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("plan.toml"), plan).unwrap();
        command.args(["run", "plan.toml", "-n", "20", "--json", "result.json"]);
        command.current_dir(directory).env("KEY", ID);
    });
    let outcome = outcome.finish();
    let found = found.lock().unwrap();
    assert_eq!((found.good, &found.wrong), (40, &Vec::new()), "{}", outcome.stderr);
    assert_eq!(found.scopes.iter().collect::<Vec<_>>(), [&format!("{ID} us-east-1 lambda")]);
    let of_other = of_other.lock().unwrap();
    assert_eq!(of_other.wrong, vec!["authorization: None"; 20]);
    assert!(of_other.times.is_empty() && of_other.sessions.is_empty());
    let document = outcome.file("result.json");
    assert!([ID, SECRET, SESSION].iter().all(|secret| !document.contains(secret)));
}

/// What curl signs, an imported plan signs, each time.
#[test]
fn an_imported_command_is_signed_as_by_curl() {
    let (address, found) = start();
    let command = format!(
        "curl --aws-sigv4 aws:amz:eu-central-1:execute-api --user {ID}:{SECRET} -H 'X-Amz-Security-Token: {SESSION}' \
         -H 'Content-Type: text/plain' -d a=1 'http://{address}/a/b?a=1&b=2'"
    );
    let by_curl = Command::new("sh").args(["-c", &format!("{command} -s -f")]).status().unwrap();
    let of_curl = std::mem::take(&mut *found.lock().unwrap());
    assert!(by_curl.success() && of_curl.good == 1, "{:?}", of_curl.wrong);
    let imported = candor(&["import", "curl", &command]);
    assert_eq!(imported.code(), 0, "{}", imported.stderr);
    let outcome = run(&["run", "plan.toml", "-n", "20"], SESSION, |directory| {
        fs::write(directory.join("plan.toml"), &imported.stdout).unwrap();
    });
    assert_all_signed(&outcome, &found, 20);
    let found = found.lock().unwrap();
    assert_eq!((&found.scopes, &found.sessions), (&of_curl.scopes, &of_curl.sessions));
}

/// A call is signed with its messages as they are sent, lengths included.
#[test]
fn calls_of_grpc_are_signed() {
    const UNSIGNED: Reply = Reply::Fails(&[("grpc-status", "16")]);
    for service in ["execute-api", "s3"] {
        let (address, calls) = serve(None, |call| {
            // A server of HTTP/2 signs its authority as Host.
            let head = call.head.replacen("\r\n:authority: ", "\r\nhost: ", 1);
            match sigv4::check(&head, &framed(&call.body), SECRET) {
                Ok(_) => Reply::Takes(b""),
                Err(_) => UNSIGNED,
            }
        });
        let auth = format!("aws-sigv4:eu-central-1:{service}");
        let load = ["grpc", "-n", "40", "-c", "1", "-d", "{\"seq\": ${seq}}", "--auth", &auth];
        let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.proto");
        let call = ["--proto", proto, &address, "candor.Echo/Unary"];
        let outcome = run(&[&load[..], &call].concat(), SESSION, |_| {});
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.document().ledger("ok"), 40, "{}", outcome.stdout);
        let bodies: BTreeSet<Vec<u8>> = calls.try_iter().map(|call| call.body).collect();
        assert_eq!(bodies.len(), 40, "each has another message");
        let unsigned = run(&[&load[..7], &call].concat(), SESSION, |_| {});
        assert_eq!(unsigned.document().errors()["grpc-unauthenticated"], 40);
    }
}

/// Fields and body are those that HTTP/2 sends: behind nginx the signature is still that of the request.
#[test]
fn it_holds_over_http_2() {
    let (address, found) = start();
    let directives = format!(
        "location / {{ proxy_pass http://{address}; proxy_set_header Host $http_host; proxy_http_version 1.1; }}"
    );
    let listener = Listener { parameters: "http2".to_owned(), certificate: None, directives };
    let nginx = Nginx::start_with(false, &[listener]).unwrap();
    let url = format!("http://{}/a%20b?x=${{seq}}", nginx.listeners()[0]);
    let words = ["run", "--h2", "-n", "40", "-c2", "-b", "a=${seq}", &url];
    let auth = ["--auth", "aws-sigv4:eu-central-1:s3"];
    let outcome = run(&[&words[..], &auth].concat(), SESSION, |_| {});
    assert_all_signed(&outcome, &found, 40);
}

#[test]
fn without_a_key_nothing_is_sent() {
    let url = "http://127.0.0.1:9/";
    for (how, why) in [
        ("aws-sigv4:eu-central-1:s3", "set AWS_ACCESS_KEY_ID, or give the key `id`"),
        ("aws-sigv4:s3", "has no region and service"),
    ] {
        let run = Candor::start_as(Command::new(CANDOR), |_, command| {
            command.args(["run", "--auth", how, url]).env_remove("AWS_ACCESS_KEY_ID");
        });
        run.finish().assert_refused(2, &[why]);
    }
}
