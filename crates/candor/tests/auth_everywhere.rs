//! A credential that is taken, wherever plans are carried out: experiments, suites, lists of URLs, TLS, HTTP/2, gRPC. Each is
//! held against what the server got.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use candor_testkit::nginx::{Listener, Nginx};

use crate::common::{CANDOR, Candor, Outcome, Target};

/// How often a server got each pair of a path and a value of Authorization.
type Got = Arc<Mutex<BTreeMap<(String, String), u64>>>;

fn start() -> (SocketAddr, Got) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, got) = (listener.local_addr().unwrap(), Got::default());
    let of_server = Arc::clone(&got);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let got = Arc::clone(&of_server);
            std::thread::spawn(move || serve(&stream, &got));
        }
    });
    (address, got)
}

fn serve(stream: &TcpStream, got: &Got) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = crate::common::read_head(&mut reader)? {
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let value = field("Authorization: ").unwrap_or_default().to_owned();
        let length: u64 = field("Content-Length: ").map_or(0, |length| length.parse().unwrap());
        reader.by_ref().take(length).read_to_end(&mut Vec::new())?;
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        *got.lock().unwrap().entry((path, value)).or_default() += 1;
        (&*stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
    Ok(())
}

/// Runs it where `prepare` has put files, with these files that it writes in the end.
fn run(words: &[&str], prepare: impl FnOnce(&Path)) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        prepare(directory);
        command.args(words).current_dir(directory);
    });
    run.finish()
}

/// No file below here has the text in it.
fn assert_hidden(directory: &Path, secret: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_hidden(&path, secret);
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(secret), "{}", path.display());
        }
    }
}

#[test]
fn every_experiment_has_it() {
    let (address, got) = start();
    let url = |path: &str| format!("http://{address}{path}");
    let (one, two) = (url("/one"), url("/two"));
    let short = ["-c", "2", "-d", "150ms", "--warm-up", "0s"];
    let compared = ["compare", &one, &two, "--rounds", "6"];
    let cases: [(&[&str], &[&str]); 4] = [
        (&["run", "--urls", "urls.txt"], &["/listed", "/posted"]),
        (&["peak", &one], &["/one"]),
        (&["sweep", "--rates", "50,100", &one], &["/one"]),
        (&compared, &["/one", "/two"]),
    ];
    for (number, (words, paths)) in cases.into_iter().enumerate() {
        let token = format!("t0ken-{number}-q7");
        let auth = format!("cmd:echo {token}");
        let out = ["--json", "result.json"];
        let outcome = run(&[words, &short, &["--auth", &auth], &out].concat(), |directory| {
            let list = format!("{}\nPOST {}\n", url("/listed"), url("/posted"));
            fs::write(directory.join("urls.txt"), list).unwrap();
        });
        // On a machine with other work an experiment may not be able to tell.
        assert!(
            [0, 6].contains(&outcome.code()),
            "{words:?}: {}{}",
            outcome.stdout,
            outcome.stderr
        );
        let got = std::mem::take(&mut *got.lock().unwrap());
        let value = format!("Bearer {token}");
        let expected: Vec<_> = paths.iter().map(|path| (path.to_string(), value.clone())).collect();
        assert_eq!(got.keys().cloned().collect::<Vec<_>>(), expected, "{words:?}");
        assert!(!outcome.stdout.contains(&token) && !outcome.file("result.json").contains(&token));
    }
}

/// A suite has one for all runs, or for those of a server.
#[test]
fn suites_have_it_by_their_servers() {
    let (address, got) = start();
    let suite = format!(
        "name = 'a'\nrounds = 1\nscenarios = ['own']\n\
         [run]\nauth = 'cmd:echo t0ken-all'\nwarm-up = '0s'\n\
         [[server]]\nname = 'x'\nurl = 'http://{address}/x'\nscenarios = ['all']\n\
         [[server]]\nname = 'y'\nurl = 'http://{address}/y'\nscenarios = ['all']\n\
         [server.run]\nauth = 'cmd:echo t0ken-y'\n\
         [[scenario]]\nname = 'own'\n[[scenario.request]]\n\
         [[load]]\nname = 'l'\n[load.run]\nconnections = 2\nduration = '150ms'\n"
    );
    let mut kept = None;
    let outcome = run(&["bench", "suite.toml", "--out", "out"], |directory| {
        fs::write(directory.join("suite.toml"), suite).unwrap();
        kept = Some(directory.join("out"));
    });
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let mut values: Vec<String> =
        got.lock().unwrap().keys().map(|(_, value)| value.clone()).collect();
    values.dedup();
    assert_eq!(values, ["Bearer t0ken-all", "Bearer t0ken-y"]);
    assert_hidden(&kept.unwrap(), "t0ken");
}

/// Over TLS, in HTTP/1.1 and HTTP/2, and in calls of gRPC: nginx lets nothing else in.
#[test]
fn every_wire_has_it() {
    let calls = Target::start(&[]);
    let host = calls.url("");
    let guard = format!(
        "if ($http_authorization != \"Bearer t0ken\") {{ return 401; }} \
         location /candor.Echo/ {{ grpc_pass grpc://{}; }}",
        host.trim_start_matches("http://")
    );
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let listener = |parameters: &str, certificate| Listener {
        parameters: parameters.to_owned(),
        certificate,
        directives: guard.clone(),
    };
    let certificate = Some((key.cert.pem(), key.signing_key.serialize_pem()));
    let nginx =
        Nginx::start_with(false, &[listener("ssl http2", certificate), listener("http2", None)]);
    let nginx = nginx.unwrap();
    let [tls, plain] = [0, 1].map(|at| nginx.listeners()[at].to_string());
    let https = format!("https://{tls}/");
    let cases: [&[&str]; 5] = [
        &["run", "-k", "--h1", &https],
        &["run", "-k", "--h2", &https],
        &["run", "-k", "--h2", "--streams", "5", "-R", "200", &https],
        &["grpc", &plain, "candor.Echo/Unary", "-d", "{\"seq\": ${seq}}"],
        &["grpc", "--tls", "-k", &tls, "candor.Echo/Unary", "-d", "{\"seq\": ${seq}}"],
    ];
    for words in cases {
        let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.proto");
        let more: &[&str] = if words[0] == "grpc" { &["--proto", proto] } else { &[] };
        let with = |auth: &str| {
            let common = ["-n", "40", "-c", "2", "--json", "result.json", "--auth", auth];
            run(&[words, more, &common].concat(), |directory| {
                fs::write(directory.join("token"), "t0ken\n").unwrap();
            })
        };
        for auth in ["cmd:echo t0ken", "file:token", "bearer:t0ken"] {
            let outcome = with(auth);
            assert_eq!(outcome.code(), 0, "{words:?}: {}{}", outcome.stdout, outcome.stderr);
            assert_eq!(outcome.document().ledger("ok"), 40, "{words:?}: {}", outcome.stdout);
            assert!(!outcome.file("result.json").contains("t0ken"), "{words:?}");
        }
        let outcome = with("cmd:echo another");
        assert_eq!(outcome.document().ledger("ok"), 0, "{words:?}");
    }
}
