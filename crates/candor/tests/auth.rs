//! Credentials that are taken: what requests have, that they are renewed in time, what of a token server keeps a run from
//! beginning, and that no secret is in anything that stays or is shown.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_testkit::peer::{Peer, Script, Step};

use crate::common::{CANDOR, Candor, Outcome, candor};

const ID: &str = "a client";
const SECRET: &str = "S3cr3t:of/the client";

/// A target that lets in who has one of these values, and keeps the values that it got.
struct Guarded {
    address: SocketAddr,
    /// Values of Authorization, each until when.
    good: Arc<Mutex<Vec<(String, Instant)>>>,
    got: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let guarded = Guarded { address, good: Arc::default(), got: Arc::default() };
        let (good, got) = (Arc::clone(&guarded.good), Arc::clone(&guarded.got));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (good, got) = (Arc::clone(&good), Arc::clone(&got));
                std::thread::spawn(move || serve(&stream, &good, &got));
            }
        });
        guarded
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn allow(&self, value: &str, time: Duration) {
        self.good.lock().unwrap().push((value.to_owned(), Instant::now() + time));
    }

    /// The values that it got, each once, in the order in which they came first.
    fn values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for one in &*self.got.lock().unwrap() {
            if !values.contains(one) {
                values.push(one.clone());
            }
        }
        values
    }
}

fn serve(
    stream: &TcpStream,
    good: &Mutex<Vec<(String, Instant)>>,
    got: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut value, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(field) = line.strip_prefix("Authorization: ") {
                value = field.trim_end().to_owned();
            }
        }
        let now = Instant::now();
        let is_good = good.lock().unwrap().iter().any(|(one, end)| *one == value && now < *end);
        got.lock().unwrap().push(value);
        let status = if is_good { "200 OK" } else { "401 Unauthorized" };
        write!(&*stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")?;
    }
}

fn json(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A token server: a token of its own for each connection, which the target takes for twice as long as it says.
fn tokens(target: &Guarded, said_s: u64, more: &'static str) -> Peer {
    let good = Arc::clone(&target.good);
    Peer::start_with(move |number, player| {
        player.read_request()?;
        let end = Instant::now() + Duration::from_secs(2 * said_s);
        good.lock().unwrap().push((format!("Bearer t0ken-{number}-q7"), end));
        let body = format!(
            r#"{{"access_token":"t0ken-{number}-q7","token_type":"Bearer","expires_in":{said_s}{more}}}"#
        );
        player.write(json("200 OK", &body))
    })
}

fn run(
    target: &Guarded,
    words: &[&str],
    prepare: impl FnOnce(&std::path::Path, &mut Command),
) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.current_dir(directory).arg("run").args(words).arg(target.url());
        command.args(["--json", "result.json", "--html", "result.html", "--report", "full"]);
        command.env("CANDOR_AUTH_ID", ID).env("CANDOR_AUTH_SECRET", SECRET);
        prepare(directory, command);
    });
    run.finish()
}

/// A report without its line ends.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing that stays or is shown has one of these in it.
fn assert_hidden(outcome: &Outcome, secrets: &[&str]) {
    let files = ["result.json", "result.html"].map(|name| outcome.file(name));
    for text in [&outcome.stdout, &outcome.stderr].into_iter().chain(&files) {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

#[test]
fn a_token_is_renewed_before_it_expires() {
    let target = Guarded::start();
    let server = tokens(&target, 1, "");
    let how = format!("oauth2:http://{}/token", server.addr());
    let words = ["-R", "100", "-d", "4s", "-c", "2", "-t", "2", "--auth", &how];
    let outcome = run(&target, &words, |_, _| {});
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.ledger("errors"), 0);
    // A run of four seconds outlives two tokens at least, each of which the target took for two.
    assert!(target.values().len() >= 3, "{:?}", target.values());
    assert_eq!(document.count("/credentials/0/taken"), server.requests());
    assert_eq!(document.count("/credentials/0/failed"), 0);
    assert!(document.verdicts().iter().all(|one| !one.starts_with("auth")));
    // RFC 6749 2.3.1 and 4.4.2.
    let request = String::from_utf8(server.last_request().unwrap()).unwrap();
    assert!(request.starts_with("POST /token HTTP/1.1\r\n"), "{request}");
    let basic = "YStjbGllbnQ6UzNjcjN0JTNBb2YlMkZ0aGUrY2xpZW50";
    assert!(request.contains(&format!("Authorization: Basic {basic}\r\n")), "{request}");
    assert!(request.ends_with("\r\n\r\ngrant_type=client_credentials"), "{request}");
    assert_hidden(&outcome, &["t0ken", SECRET, "S3cr3t%3A", basic]);
    assert!(
        outcome.stdout.contains("Credential   of main by oauth2, taken "),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_refresh_token_is_used_where_the_server_gives_one() {
    let target = Guarded::start();
    let server = tokens(&target, 1, r#","refresh_token":"r/fresh""#);
    let table = format!(
        "[auth]\noauth2 = \"http://{}/t\"\nid = \"${{env:WHO}}\"\nsecret = \"x\"\nscope = \"a b\"\nevery = \"300ms\"\n",
        server.addr()
    );
    let outcome = run(&target, &["-R", "50", "-d", "2s", "plan.toml"], |directory, command| {
        fs::write(directory.join("plan.toml"), &table).unwrap();
        command.env("WHO", "me");
    });
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let request = String::from_utf8(server.last_request().unwrap()).unwrap();
    assert!(request.contains("Authorization: Basic bWU6eA==\r\n"), "{request}");
    let body = "grant_type=refresh_token&refresh_token=r%2Ffresh";
    assert!(request.ends_with(body), "{request}");
    assert!(outcome.document().count("/credentials/0/taken") >= 3);
    assert_hidden(&outcome, &["t0ken", "r/fresh", "bWU6eA"]);
}

#[test]
fn a_renewal_that_fails_keeps_the_old_token() {
    let target = Guarded::start();
    target.allow("Bearer only", Duration::from_secs(60));
    let server = Peer::start_each([
        Script::answers_with(json("200 OK", r#"{"access_token":"only","expires_in":1}"#)),
        Script::answers_with(json("503 Service Unavailable", "S3cr3t")),
    ]);
    let how = format!("oauth2:http://{}/token?key=hunter2", server.addr());
    let outcome = run(&target, &["-R", "50", "-d", "3s", "--auth", &how], |_, _| {});
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("errors"), target.values().len()), (0, 1));
    assert!(document.verdicts().contains(&"credential-not-renewed"));
    assert_eq!(document.count("/credentials/0/taken"), 1);
    let failed = document.count("/credentials/0/failed");
    assert!((2..=8).contains(&failed), "back-off: {failed}");
    let told = outcome.stderr.matches("responds with 503").count();
    assert_eq!(told, 1, "once for each row of failures: {}", outcome.stderr);
    assert!(outcome.stderr.contains("the old one stays"), "{}", outcome.stderr);
    assert_hidden(&outcome, &["S3cr3t", "hunter2", "Bearer only"]);
}

#[test]
fn refused_requests_in_a_row_are_a_finding() {
    let target = Guarded::start();
    target.allow("Bearer short", Duration::from_millis(1500));
    let expired = |auth: &str, remedy: &str| {
        let outcome = run(&target, &["-R", "100", "-d", "4s", "--auth", auth], |directory, _| {
            fs::write(directory.join("token"), "short\n").unwrap();
        });
        let document = outcome.document();
        assert!(document.verdicts().contains(&"auth-expired"), "{}", outcome.stdout);
        assert!(flat(&outcome.stdout).contains(remedy), "{}", outcome.stdout);
        outcome
    };
    let outcome = expired("file:token", "Take the credential more often");
    let found = "into the run on, no request succeeded";
    assert!(flat(&outcome.stdout).contains(found), "{}", outcome.stdout);
    expired("bearer:short", "it took none of the requests");
}

#[test]
fn a_file_and_a_command_are_asked_again() {
    let target = Guarded::start();
    for value in ["Bearer first", "Bearer second", "Custom c"] {
        target.allow(value, Duration::from_secs(60));
    }
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("token"), "first").unwrap();
        let plan = format!(
            "url = {:?}\nauth = \"file:token\"\nduration = \"3s\"\nrate = 50",
            target.url()
        );
        fs::write(directory.join("plan.toml"), plan).unwrap();
        command.args(["run", "plan.toml", "--json", "result.json"]).current_dir(directory);
    });
    while target.values().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Replaced at once, as Kubernetes does.
    fs::write(run.directory().join("next"), "second\n").unwrap();
    fs::rename(run.directory().join("next"), run.directory().join("token")).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(target.values(), ["Bearer first", "Bearer second"]);
    assert_eq!(outcome.document().count("/credentials/0/taken"), 2);

    let own =
        self::run(&target, &["-n", "20", "--auth", "cmd:./get 'Custom c'"], |directory, _| {
            let path = directory.join("get");
            fs::write(&path, "#!/bin/sh\necho \"$1\"\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        });
    assert_eq!(own.code(), 0, "{}{}", own.stdout, own.stderr);
    assert_eq!(target.values()[2..], ["Custom c"]);
    assert_eq!(own.document().text("/credentials/0/kind"), "cmd");
    assert_hidden(&own, &["Custom c"]);
}

#[test]
fn a_credential_that_cannot_be_taken_keeps_the_run_from_beginning() {
    let huge = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n";
    let write = |bytes: &[u8]| Step::write(bytes);
    let refused = r#"{"error":"invalid_client","error_description":"S3cr3t"}"#;
    let secret = json("200 OK", r#"{"access_token":"S3cr3t\nX: y"}"#);
    let table: [(Peer, &str); 9] = [
        // Closed before or after the request was written.
        (Peer::start(Script::closes_at_once()), "has no "),
        (
            Peer::start(Script::new([Step::ReadRequest, write(b"S3cr3t\r\n\r\n")])),
            "has no response",
        ),
        (
            Peer::start(Script::answers_with(
                "HTTP/1.1 302 Found\r\nLocation: /S3cr3t\r\nContent-Length: 0\r\n\r\n",
            )),
            "redirects (302), which is not followed",
        ),
        (
            Peer::start(Script::answers_with(json("401 Unauthorized", refused))),
            "responds with 401 invalid_client; check id",
        ),
        (
            Peer::start(Script::answers_with(json("500 Oh", "{\"error\":\"S3cr3t\"}"))),
            "500; check the URL",
        ),
        (
            Peer::start(Script::answers_with(json("200 OK", "<html>S3cr3t"))),
            "no JSON with an access_token",
        ),
        (Peer::start(Script::answers_with(secret)), "no header field may have"),
        (Peer::start(Script::never_answers()), "has no complete response within 10s"),
        (
            Peer::start_with(move |_, player| {
                player.read_request()?;
                player.write(huge)?;
                player.write_forever([b'x'; 65536], Duration::ZERO)
            }),
            "(oauth2): http://127.0.0.1",
        ),
    ];
    let target = Guarded::start();
    std::thread::scope(|scope| {
        for (server, why) in &table {
            let target = &target;
            scope.spawn(move || {
                let how = format!("oauth2:http://{}/", server.addr());
                let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
                    command.current_dir(directory).args(["-n", "5", "--auth", &how]);
                    command.args([&target.url(), "--json", "result.json"]);
                    command.env("CANDOR_AUTH_ID", ID).env("CANDOR_AUTH_SECRET", SECRET);
                });
                let outcome = run.finish();
                assert_eq!(outcome.code(), 1, "{why}: {}", outcome.stderr);
                assert!(
                    outcome.stderr.contains("the credential of target main"),
                    "{}",
                    outcome.stderr
                );
                assert!(outcome.stderr.contains(why), "{why}: {}", outcome.stderr);
                assert!(!outcome.stderr.contains("S3cr3t"), "{}", outcome.stderr);
                assert!(outcome.peak_kib < 200 << 10, "{why}: {} KiB", outcome.peak_kib);
            });
        }
    });
    let not_run = [
        ("cmd:false", "false fails (exit status: 1); run it by itself"),
        ("cmd:yes", "yes prints more than 64 KiB"),
        ("cmd:/no/such/program", "cannot start /no/such/program"),
        ("file:/dev/zero", "/dev/zero is not a file"),
        ("file:/no/such/file", "cannot read /no/such/file"),
    ];
    for (how, why) in not_run {
        candor(&["-n", "5", "--auth", how, &target.url()]).assert_refused(1, &[why]);
    }
    assert_eq!(target.values(), [""; 0], "nothing was sent");
}

#[test]
fn a_credential_is_that_of_its_target_alone() {
    let (own, other) = (Guarded::start(), Guarded::start());
    for target in [&own, &other] {
        for value in ["", "Bearer a", "Basic YW5uOng6eQ==", "Bearer mine"] {
            target.allow(value, Duration::from_secs(60));
        }
    }
    let plan = |auth: &str| {
        format!(
            "url = {:?}\nauth = \"cmd:echo a\"\n[target.other]\nurl = {:?}\n{auth}\n[[request]]\n[[request]]\n\
             headers = {{ Authorization = \"Bearer mine\" }}\n[[request]]\ntarget = \"other\"\n",
            own.url(),
            other.url()
        )
    };
    for (auth, value) in [("", ""), ("auth = \"basic:ann:${env:PW}\"", "Basic YW5uOng6eQ==")] {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("plan.toml"), plan(auth)).unwrap();
            command.args(["run", "plan.toml", "-n", "60", "--json", "result.json"]);
            command.current_dir(directory).env("PW", "x:y");
        });
        let outcome = run.finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let mut values = own.values();
        values.sort();
        assert_eq!(values, ["Bearer a", "Bearer mine"]);
        assert_eq!(other.values().last().unwrap(), value);
        assert!(!outcome.file("result.json").contains("YW5u"));
    }
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    let url = "http://127.0.0.1:9/";
    let table: [(&[&str], &str); 7] = [
        (&["--auth", "hunter2", url], "not a way to have a credential"),
        (&["--auth", "oauth2:http://h/", url], "it has no client id; set CANDOR_AUTH_ID"),
        (&["--auth", "oauth2:http://a:hunter2@h/", url], "id and secret are no part of the URL"),
        (
            &["--auth", "bearer:hunter2", "-H", "authorization: hunter2", url],
            "leave one of them out",
        ),
        (&["--auth", "cmd:true", "ws://127.0.0.1:9/"], "use bearer:TOKEN"),
        (
            &["--auth", "cmd:true", "-X", "POST", "-b", "x", "--chunked", "1", url],
            "leave one of them out",
        ),
        (&["--auth", "cmd:true", "http://a:hunter2@127.0.0.1:9/"], "leave one of them out"),
    ];
    for (words, why) in table {
        let outcome = candor(words);
        outcome.assert_refused(2, &[why]);
        assert!(!outcome.stderr.contains("hunter2"), "{}", outcome.stderr);
    }
}
