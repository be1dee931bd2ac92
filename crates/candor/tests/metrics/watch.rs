//! `--watch`: what a server says of itself, beside a run: exact values, and sources that are wrong, slow, away or endless.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::USAGE;
use crate::common::{Candor, Document, Target, candor, measure};

/// A server of metrics: this is done with each connection, and its number is from 1.
fn source(
    answer: impl Fn(u64, TcpStream, &str) + Send + Sync + 'static,
) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicU64::new(0));
    let (counted, answer) = (Arc::clone(&count), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let n = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or(0);
                answer(n, stream, &String::from_utf8_lossy(&request[..length]));
            });
        }
    });
    (address, count)
}

fn say(mut stream: TcpStream, body: &str) {
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

fn watched(document: &Document) -> Vec<Value> {
    document.list("/watched").to_vec()
}

fn values(watched: &Value) -> Vec<f64> {
    let samples = watched["samples"].as_array().unwrap();
    samples.iter().map(|one| one["value"].as_f64().unwrap()).collect()
}

const RUN: [&str; 8] = ["-R", "200", "-c", "2", "-d", "1s", "--interval", "200ms"];

#[test]
fn figures_of_the_server_are_beside_its_rate() {
    // The n-th scrape has n in one series and 10 n in the other.
    let (page, count) = source(|n, stream, request| {
        assert!(request.starts_with("GET /metrics HTTP/1.0\r\n"), "{request}");
        assert!(
            request.contains("\r\nAuthorization: Basic bWU6UzNjcmV0VG9rZW40Mg==\r\n"),
            "{request}"
        );
        let lines =
            format!("jobs_total{{q=\"a\"}} {n}\njobs_total{{q=\"b\"}} {}\nidle 7.5\n", 10 * n);
        say(stream, &format!("# TYPE jobs_total counter\n{lines}"));
    });
    let (api, _) = source(|n, stream, request| {
        let asked = "GET /api/v1/query?query=sum%28rate%28x%5B1m%5D%29%29 HTTP/1.0\r\n";
        assert!(request.starts_with(asked), "{request}");
        let result = format!(r#"[{{"metric":{{}},"value":[1.5,"{n}"]}}]"#);
        say(
            stream,
            &format!(
                r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#
            ),
        );
    });
    let target = Target::start(&[]);
    let (url, page_url) = (target.url("/"), format!("http://me:S3cretToken42@{page}/metrics"));
    let all = format!("prometheus:{page_url}#jobs_total");
    let evaluated = format!("prometheus:http://{api}/api/v1/query#sum(rate(x[1m]))");
    let flags = ["--watch", &all, "--watch", &evaluated, "--html", "run.html", &url];
    let outcome = Candor::start_measuring(&[&RUN[..], &flags].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let document = outcome.document();
    let [jobs, rate] = &watched(&document)[..] else { panic!("{:?}", watched(&document)) };
    // One for each interval, at its end; a machine that is busy at the end of the run may cost one.
    let intervals = document.list("/intervals");
    let ends: Vec<_> = intervals.iter().map(|one| &one["end_ns"]).collect();
    for (one, step) in [(jobs, 11.0), (rate, 1.0)] {
        let (values, missing) = (values(one), one["missing"].as_u64().unwrap());
        let expected: Vec<f64> = (1..=values.len()).map(|n| step * n as f64).collect();
        assert!(values.len() >= 4 && values == expected, "{one}");
        assert_eq!(values.len() as u64 + missing, ends.len() as u64, "{one}");
        assert_eq!(one["why"].is_null(), missing == 0, "{one}");
        let samples = one["samples"].as_array().unwrap();
        assert!(samples.iter().all(|sample| ends.contains(&&sample["end_ns"])), "{one}");
    }
    assert!(count.load(Ordering::SeqCst) as usize >= values(jobs).len());
    assert_eq!((&jobs["is_counter"], &rate["is_counter"]), (&true.into(), &false.into()));
    assert_eq!(rate["query"], "sum(rate(x[1m]))");
    // Nothing has the password.
    let everything = outcome.stdout.clone() + &outcome.file("run.html") + &outcome.stderr;
    assert!(!everything.contains("S3cretToken42") && !everything.contains("bWU6UzNj"));
    let page = outcome.file("run.html");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("id=\"rate\"") < place("id=\"watch1\"") && page.contains("jobs_total"));
}

/// It repeats its request, where its URL has a secret, and what the load sends.
#[test]
fn a_source_that_repeats_a_secret_does_not_make_it_known() {
    let target = Target::start(&[]);
    let (echo, _) = source(|n, stream, request| {
        // Also where only a part of it would be quoted.
        let begin = "!".repeat((n as usize * 7) % 60);
        let line = request.lines().next().unwrap_or_default();
        say(stream, &format!("{begin}{{{line} L0adS3cret9 bWU6UzNjcmV0VG9rZW40Mg==\n"));
    });
    let watch = format!("prometheus:http://me:S3cretToken42@{echo}/m?token=SEKRETS#x");
    let url = target.url("/");
    let flags =
        ["--watch", &watch, "-H", "Authorization: Bearer L0adS3cret9", "--html", "run.html", &url];
    let outcome = Candor::start_measuring(&[&RUN[..], &flags].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let why = watched(&outcome.document())[0]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("not a line"), "{why}");
    let document = outcome.file("result.json");
    let page = outcome.file("run.html");
    for text in [&outcome.stdout, &outcome.stderr, &document, &page] {
        for secret in ["SEKR", "L0adS", "S3cret", "bWU6"] {
            let at = text.find(secret);
            let around = at.and_then(|at| text.get(at.saturating_sub(80)..at));
            assert!(at.is_none(), "{secret} behind {around:?}");
        }
    }
}

#[test]
fn a_source_that_is_wrong_costs_its_values_and_nothing_else() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let (garbage, _) = source(|_, mut stream, _| drop(stream.write_all(&[0xff; 4000])));
    let (html, _) = source(|_, stream, _| say(stream, "<html>not here</html>"));
    let (other, _) = source(|_, stream, _| say(stream, "another_total 1\n"));
    let (missing, _) = source(|_, mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    let (nan, _) = source(|_, stream, _| say(stream, "x NaN\n"));
    let (stalls, _) = source(|_, stream, _| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    // A body of 10 GB, as fast as it is taken.
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    let (endless, _) = source(move |_, mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n");
        let piece = "x 1\n".repeat(16 << 10);
        while counter.load(Ordering::SeqCst) < 10_000_000_000
            && stream.write_all(piece.as_bytes()).is_ok()
        {
            counter.fetch_add(piece.len() as u64, Ordering::SeqCst);
        }
    });
    // It drips: each byte comes in time, and the whole never.
    let (drips, _) = source(|_, mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        while stream.write_all(b"#").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let sources = [&garbage, &html, &other, &missing, &nan, &stalls, &endless, &drips, &gone];
    let words = [
        "not an HTTP response",
        "not a line",
        "no series",
        "404",
        "NaN",
        "700ms",
        "larger",
        "700ms",
        "refused",
    ];
    let flags: Vec<String> = sources
        .iter()
        .flat_map(|address| ["--watch".to_owned(), format!("prometheus:http://{address}/m#x")])
        .collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let document = measure(&[&RUN[..], &flags, &[&url]].concat());
    assert_eq!((document.ledger("scheduled"), document.ledger("ok")), (200, 200));
    let intervals = document.list("/intervals").len() as u64;
    for (one, word) in watched(&document).iter().zip(words) {
        assert_eq!(values(one), [0.0; 0], "{one}");
        let (why, missing) = (one["why"].as_str().unwrap(), one["missing"].as_u64().unwrap());
        // Those that are late may miss what comes behind: every interval is missing for a reason.
        let words =
            [word, "too slow", if word == "700ms" { "temporarily unavailable" } else { word }];
        assert!(words.iter().any(|word| why.contains(word)), "{word}: {one}");
        assert!((1..=intervals).contains(&missing), "{word}: {one}");
    }
    // A few megabytes were taken for each interval, and no more.
    assert!(sent.load(Ordering::SeqCst) < intervals * (32 << 20), "{sent:?}");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let refused = |watch: &str, word: &str| {
        let outcome = candor(&["-d", "100ms", "--watch", watch, "http://127.0.0.1:1/"]);
        outcome.assert_refused(USAGE, &[word]);
        assert!(!outcome.stderr.contains("S3cret"), "{}", outcome.stderr);
    };
    refused("prometheus:http://h/metrics", "prometheus:URL#QUERY");
    refused("prometheus:http://me:S3cretToken42@h/metrics#", "no query behind #");
    refused("prometheus:https://h/metrics#x", "http://");
    refused("prometheus:http://h/metrics#rate(x[1m])", "does not select");
    let of_peak = ["peak", "--watch", "prometheus:http://h/metrics#x", "http://127.0.0.1:1/"];
    candor(&of_peak).assert_refused(USAGE, &["--watch"]);
}
