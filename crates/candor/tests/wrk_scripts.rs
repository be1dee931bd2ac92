//! The scripts in `examples/wrk/`: the requests that a server sees from each, and the form of the
//! output. The same expectations hold for wrk itself and for `candor wrk`.
//!
//! A server in the test records every request. The parts that a script decides (method, path,
//! headers, body) are checked for each request, and the number of each kind if it is certain.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::common::candor;
use candor_testkit::wrk_form::{form, transcript};

/// One request as the server saw it. Header names are in lower case.
#[derive(Debug, Clone)]
struct Seen {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A server that records requests and responds to each in order, even to pipelined ones. `/login`
/// gets a token.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let notes = Arc::clone(&seen);
        // Ends with the test's process; connections end when the loader closes them.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let notes = Arc::clone(&notes);
                thread::spawn(move || serve(stream, &notes));
            }
        });
        Server { address, seen }
    }

    fn take(&self) -> Vec<Seen> {
        // The loader's last requests may still be on their way.
        thread::sleep(Duration::from_millis(50));
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Serves a connection until it ends. A loader that has gone is not a failure.
fn serve(mut stream: TcpStream, notes: &Mutex<Vec<Seen>>) {
    let _ = stream.set_nodelay(true);
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    while let Some(one) = read_request(&mut reader) {
        let token = if one.path == "/login" { "X-Token: abc123\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\n{token}Content-Length: 2\r\n\r\nok");
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(Some(0), |text| text.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = read_chunks(reader)?;
    }
    Some(Seen { method, path, headers, body: String::from_utf8(body).ok()? })
}

/// The content of a chunked body without trailers.
fn read_chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.strip_suffix("\r\n")?, 16).ok()?;
        let start = body.len();
        body.resize(start + length + 2, 0);
        reader.read_exact(&mut body[start..]).ok()?;
        (&body[start + length..] == b"\r\n").then_some(())?;
        body.truncate(start + length);
        if length == 0 {
            return Some(body);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Wrk,
    Candor,
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wrk").join(name)
}

/// Runs a script for a second with two threads and four connections, under each tool, and passes
/// the server's requests and the output to `check`.
fn try_script(name: &str, arguments: &[&str], check: impl Fn(&[Seen], &str)) {
    for tool in [Tool::Wrk, Tool::Candor] {
        let server = Server::start();
        let url = format!("http://{}/", server.address);
        let file = script(name);
        let file = file.to_str().expect("a path in UTF-8");
        let mut words = vec!["-t2", "-c4", "-d1s", "--latency", "-s", file, &url];
        if !arguments.is_empty() {
            words.push("--");
            words.extend(arguments);
        }
        let (code, text, complaints) = match tool {
            Tool::Wrk => {
                let output = Command::new("wrk").args(&words).output().expect("wrk is installed");
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
                (output.status.code(), text(output.stdout), text(output.stderr))
            }
            Tool::Candor => {
                let outcome = candor(&[&["wrk"], &words[..]].concat());
                (Some(outcome.code()), outcome.stdout, String::new())
            }
        };
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{tool:?} {text}");
        let (report, printed) = split_report(&text);
        assert_eq!(form(report), form(transcript("wrk-latency")), "{tool:?} {text}");
        let seen = server.take();
        assert!(seen.len() > 8, "{tool:?} sent {} requests", seen.len());
        assert!(seen.iter().all(|one| one.header("host") == Some(&server.address.to_string())));
        check(&seen, printed);
    }
}

/// The report, and the output of `done` after it.
fn split_report(text: &str) -> (&str, &str) {
    let last = text.find("Transfer/sec:").expect("the report's last line");
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
    text.split_at(end)
}

#[test]
fn a_token_is_read_and_used() {
    try_script("token.lua", &[], |seen, _| {
        let logins = seen.iter().filter(|one| one.path == "/login").count();
        // Each connection may log in before its thread has the token.
        assert!((2..=4).contains(&logins), "{logins}");
        for one in seen.iter().filter(|one| one.path != "/login") {
            assert_eq!((one.method.as_str(), one.path.as_str()), ("GET", "/private"));
            assert_eq!(one.header("authorization"), Some("Bearer abc123"));
        }
    });
}

#[test]
fn a_counter_in_path_and_header() {
    try_script("counter.lua", &["1000"], |seen, _| {
        let mut times: BTreeMap<u64, u64> = BTreeMap::new();
        for one in seen {
            let counter = one.header("x-counter").expect("the header");
            assert_eq!(one.path, format!("/item/{counter}"));
            *times.entry(counter.parse().expect("a number")).or_default() += 1;
        }
        // Two threads count from 1001 on, each without a gap: each number was reached by both or by
        // the faster one.
        let highest = *times.keys().next_back().expect("requests");
        // wrk calls `request` once before it begins, to count the requests in its text.
        let first = *times.keys().next().expect("requests");
        assert!((1001..=1002).contains(&first), "{first}");
        assert!(times.values().all(|count| (1..=2).contains(count)), "{times:?}");
        assert!(times.len() as u64 >= highest - first, "gaps: {times:?}");
    });
}

#[test]
fn pipelined_requests_come_in_their_order() {
    try_script("pipeline.lua", &[], |seen, _| {
        let count = |path: &str| seen.iter().filter(|one| one.path == path).count();
        let counts = [count("/first"), count("/second"), count("/third?last=yes")];
        assert_eq!(counts.iter().sum::<usize>(), seen.len());
        assert!(counts[0].abs_diff(counts[1]) <= 4 && counts[1].abs_diff(counts[2]) <= 4);
    });
}

#[test]
fn a_form_is_posted() {
    try_script("form.lua", &[], |seen, _| {
        for one in seen {
            assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/"));
            assert_eq!(one.body, "article=4711&amount=2&note=by+hand");
            assert_eq!(one.header("content-type"), Some("application/x-www-form-urlencoded"));
        }
    });
}

#[test]
fn a_body_comes_in_chunks() {
    let body = format!("from the first chunk, from the second{}", " and more".repeat(50));
    try_script("chunked.lua", &[], |seen, _| {
        for one in seen {
            assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/"));
            assert_eq!(one.header("transfer-encoding"), Some("chunked"));
            assert_eq!(one.header("content-length"), None);
            assert_eq!(one.body, body);
        }
    });
}

#[test]
fn users_think() {
    try_script("think.lua", &[], |seen, _| {
        // Four connections, no request sooner than 10 ms after the last.
        assert!(seen.len() <= 450, "{}", seen.len());
        assert!(seen.iter().all(|one| one.path == "/"));
    });
}

#[test]
fn threads_count_for_themselves() {
    try_script("per-thread.lua", &[], |seen, printed| {
        let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "{printed}");
        for (line, id) in lines.iter().zip(1..) {
            assert!(line.starts_with(&format!("thread {id} sent ")), "{line}");
            let number = |text: Option<&str>| -> usize {
                text.and_then(|text| text.trim().parse().ok()).unwrap_or_else(|| panic!("{line}"))
            };
            let sent = number(line.split_whitespace().nth(3));
            let answered = number(line.split("200: ").nth(1));
            let path = format!("/thread/{id}");
            let at_server = seen.iter().filter(|one| one.path == path).count();
            // One request is made in advance, and two connections may be cut off at the end.
            assert!(answered <= at_server && at_server <= sent, "{line} {at_server}");
            assert!(sent - answered <= 4, "{line}");
        }
    });
}

#[test]
fn percentiles_come_as_csv() {
    try_script("percentiles.lua", &[], |seen, printed| {
        let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "percentile,latency_us");
        let values: Vec<f64> = lines[1..9]
            .iter()
            .map(|line| line.split_once(',').expect("two fields").1.parse().expect("a number"))
            .collect();
        assert!(values.is_sorted() && values[0] > 0.0, "{printed}");
        let names: Vec<_> = lines[9..].iter().filter_map(|line| line.split(',').next()).collect();
        assert_eq!(names, ["latency_us", "thread_rate", "summary", "errors"], "{printed}");
        let field = |name: &str| -> u64 {
            let rest = printed.split(&format!("{name}=")).nth(1).expect("the field");
            rest.split([',', '\n']).next().and_then(|text| text.parse().ok()).expect("a number")
        };
        assert!(field("requests") as usize <= seen.len());
        assert!((900_000..3_000_000).contains(&field("duration_us")), "{printed}");
        assert_eq!([field("connect"), field("read"), field("write"), field("status")], [0; 4]);
    });
}

#[test]
fn threads_go_to_an_address_that_answers() {
    try_script("address.lua", &[], |seen, _| {
        for one in seen {
            let host = one.header("host").expect("a host");
            assert_eq!(one.header("x-address"), Some(host), "the one address there is");
        }
    });
}

#[test]
fn threads_stop_when_they_say() {
    try_script("stop-after.lua", &["20"], |seen, _| {
        // Each of two threads stops at its twentieth response; the other connection of each may
        // have a request in flight.
        assert!((40..=44).contains(&seen.len()), "{}", seen.len());
    });
}
