//! Deliveries from the server's view: chunks, pieces and their gaps, bodies that wait for a 100 or
//! break off, and a burst of connections. A raw peer records every read; nginx and the embedded
//! target respond like real servers.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::{Candor, Document, Target, candor, measure};
use candor_testkit::nginx::Nginx;
use candor_testkit::process::free_port;

const MS: Duration = Duration::from_millis(1);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that calls a function for each of its first `connections` connections.
struct Raw<T> {
    address: SocketAddr,
    thread: JoinHandle<Vec<T>>,
}

impl<T: Send + 'static> Raw<T> {
    fn start(connections: usize, mut serve: impl FnMut(&mut Wire) -> T + Send + 'static) -> Raw<T> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let one = move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_nodelay(true).unwrap();
            serve(&mut Wire { stream, reads: Vec::new() })
        };
        let all = std::iter::repeat_with(one);
        Raw { address, thread: std::thread::spawn(move || all.take(connections).collect()) }
    }

    fn url(&self) -> String {
        format!("http://{}/echo", self.address)
    }

    fn finish(self) -> Vec<T> {
        self.thread.join().unwrap()
    }
}

/// A connection, and the bytes of each read.
struct Wire {
    stream: TcpStream,
    reads: Vec<(Instant, Vec<u8>)>,
}

impl Wire {
    /// Reads once; false at the end.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(read) => {
                self.reads.push((Instant::now(), bytes[..read].to_vec()));
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}; it has read {:?}", self.text()),
        }
    }

    fn read_until(&mut self, end: &str) {
        while !self.text().ends_with(end) {
            assert!(self.read(), "the end after {:?}", self.text());
        }
    }

    /// Checks that nothing comes for this time.
    fn is_silent(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let outcome = self.stream.read(&mut [0]);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        outcome
            .is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn text(&self) -> String {
        let all: Vec<u8> = self.reads.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        String::from_utf8(all).unwrap()
    }
}

fn assert_all_ok(document: &Document, count: u64) {
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), count);
}

#[test]
fn a_slow_client_writes_pieces_that_far_apart() {
    let peer = Raw::start(1, |wire| {
        wire.read_until("\r\n\r\n");
        wire.write(OK);
        std::mem::take(&mut wire.reads)
    });
    let url = peer.url();
    let flags = ["-c", "1", "-n", "1", "--pieces", "5", "--piece-gap", "100ms", &url];
    let document = measure(&flags);
    assert_all_ok(&document, 1);
    let address = peer.address;
    let reads = peer.finish().remove(0);
    let all: Vec<u8> = reads.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let request = format!("GET /echo HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(String::from_utf8(all).unwrap(), request);
    assert_eq!(reads.len(), 5, "{reads:?}");
    let lengths = reads.iter().map(|(_, bytes)| bytes.len());
    assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1, "{reads:?}");
    // A read may be late, but not early; due times count from the first piece.
    for (n, (at, _)) in (0..).zip(&reads) {
        assert!(*at + 5 * MS >= reads[0].0 + n * 100 * MS, "{reads:?}");
    }
    // Service time counts from the first piece.
    assert!(document.mean_s("service") >= 0.4, "{}", document.mean_s("service"));
}

#[test]
fn a_body_goes_in_chunks_of_the_size() {
    let peer = Raw::start(1, |wire| {
        wire.read_until("0\r\n\r\n");
        wire.write(OK);
        wire.text()
    });
    let (address, url) = (peer.address, peer.url());
    let flags = ["-c", "1", "-n", "1", "-X", "POST", "-b", "abcdefghij", "--chunked", "4", &url];
    let document = measure(&flags);
    assert_all_ok(&document, 1);
    assert_eq!(document.count("/plan/work/requests/list/0/delivery/chunk_bytes"), 4);
    assert_eq!(
        peer.finish()[0],
        format!(
            "POST /echo HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\n\r\n\
             4\r\nabcd\r\n4\r\nefgh\r\n2\r\nij\r\n0\r\n\r\n"
        )
    );
}

#[test]
fn a_body_comes_after_the_100_and_not_before() {
    let peer = Raw::start(1, |wire| {
        for _ in 0..2 {
            wire.reads.clear();
            wire.read_until("\r\n\r\n");
            assert!(wire.is_silent(200 * MS), "the body came unasked");
            wire.write(b"HTTP/1.1 100 Continue\r\n\r\n");
            wire.read_until("\r\n\r\nhello");
            wire.write(OK);
        }
        wire.text()
    });
    let (address, url) = (peer.address, peer.url());
    let flags = ["-c", "1", "-n", "2", "-X", "POST", "-b", "hello", "--expect-continue", &url];
    let document = measure(&flags);
    assert_all_ok(&document, 2);
    assert_eq!(document.count("/connections/opened"), 1);
    assert!(document.mean_s("service") >= 0.2);
    assert_eq!(
        peer.finish()[0],
        format!(
            "POST /echo HTTP/1.1\r\nHost: {address}\r\nExpect: 100-continue\r\n\
             Content-Length: 5\r\n\r\nhello"
        )
    );
}

#[test]
fn a_body_that_nobody_asks_for_comes_after_the_time_out() {
    let peer = Raw::start(1, |wire| {
        wire.read_until("\r\n\r\n");
        let head_at = Instant::now();
        wire.read_until("hello");
        wire.write(OK);
        head_at.elapsed()
    });
    let url = peer.url();
    let flags = ["--expect-continue", "--continue-timeout", "150ms", "-b", "hello"];
    let document = measure(&[&["-c", "1", "-n", "1"][..], &flags, &[&url]].concat());
    assert_all_ok(&document, 1);
    let waited = peer.finish()[0];
    assert!(waited >= 140 * MS, "{waited:?}");
}

#[test]
fn after_a_refusal_no_body_comes_and_the_connection_ends() {
    let peer = Raw::start(3, |wire| {
        wire.read_until("\r\n\r\n");
        wire.write(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
        assert!(!wire.read(), "{:?}", wire.text());
        wire.text()
    });
    let url = peer.url();
    let flags =
        ["-c", "1", "-n", "3", "-b", "hello", "--expect-continue", "--expect-status", "417"];
    let document = measure(&[&flags[..], &[&url]].concat());
    assert_all_ok(&document, 3);
    assert!(document.count("/connections/retired") >= 2, "{}", document.at("/connections"));
    assert!(peer.finish().iter().all(|text| text.ends_with("Content-Length: 5\r\n\r\n")));
}

#[test]
fn a_request_that_breaks_off_is_followed_by_the_end() {
    let peer = Raw::start(4, |wire| {
        while wire.read() {}
        wire.text()
    });
    let (address, url) = (peer.address, peer.url());
    let flags = ["-c", "1", "-n", "4", "-X", "POST", "-b", "hello", "--break-off-after", "3", &url];
    let document = measure(&flags);
    assert_eq!((document.ledger("sent"), document.ledger("broken_off")), (4, 4));
    assert_eq!((document.ledger("errors"), document.ledger("ok")), (0, 0));
    let wanted = format!("POST /echo HTTP/1.1\r\nHost: {address}\r\nContent-Length: 5\r\n\r\nhel");
    assert_eq!(peer.finish(), [&wanted[..]; 4]);
}

#[test]
fn an_answer_after_the_break_is_heard() {
    let peer = Raw::start(4, |wire| {
        while wire.read() {}
        wire.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno");
        wire.text()
    });
    let url = peer.url();
    let flags = ["-c", "1", "-n", "4", "-X", "POST", "-b", "hello", "--break-off-after", "3", &url];
    let outcome = candor(&[&flags[..], &["--json", "result.json", "--report", "full"]].concat());
    let document = outcome.document();
    assert_eq!((document.ledger("sent"), document.ledger("broken_off")), (4, 4));
    assert_eq!(document.count("/connections/retired"), 4);
    let heard = serde_json::json!([{"status": 400, "count": 4}]);
    assert_eq!(document.at("/broken_off_statuses"), &heard);
    assert_eq!(document.at("/statuses"), &serde_json::json!([]));
    assert!(outcome.stdout.contains("responses after the break: 400 × 4"), "{}", outcome.stdout);
    assert!(peer.finish().iter().all(|text| text.ends_with("\r\n\r\nhel")));
}

#[test]
fn over_tls_what_breaks_off_is_closed_in_full() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/echo").replace("http:", "https:");
    let flags = ["-c", "1", "-n", "4", "-b", "hello", "--break-off-after", "3", "--insecure"];
    let document = measure(&[&flags[..], &["--h1", &url]].concat());
    assert_eq!((document.ledger("sent"), document.ledger("broken_off")), (4, 4));
    assert_eq!((document.ledger("errors"), document.count("/connections/retired")), (0, 4));
}

#[test]
fn an_answer_before_the_break_counts_by_its_status() {
    let peer = Raw::start(1, |wire| {
        while !wire.text().contains("\r\n\r\nh") {
            assert!(wire.read());
        }
        wire.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        while wire.read() {}
        wire.text()
    });
    let url = peer.url();
    // The second half would be due after ten seconds.
    let flags = ["--pieces", "2", "--piece-gap", "10s", "--break-off-after", "500"];
    let body = "h".repeat(1000);
    let rest = ["-c", "1", "-n", "1", "-b", &body, "--expect-status", "400", &url];
    let document = measure(&[&flags[..], &rest].concat());
    assert_all_ok(&document, 1);
    assert_eq!(document.at("/ledger").get("broken_off"), None);
    drop(peer);
}

#[test]
fn the_embedded_target_answers_whatever_way_requests_leave() {
    let target = Target::start(&[]);
    let body = "abcdefgh".repeat(128);
    let url = target.url("/echo");
    for delivery in [
        &["--chunked", "256"][..],
        &["--expect-continue"],
        &["--expect-continue", "--chunked", "100"],
        &["--pieces", "5"],
        &["--pieces", "3", "--piece-gap", "2ms", "--chunked", "1000"],
    ] {
        let flags = ["-c", "4", "-n", "100", "-X", "POST", "-b", &body];
        let outcome = Candor::start_as(
            std::process::Command::new(crate::common::CANDOR),
            |directory, command| {
                fs::write(directory.join("body"), &body).unwrap();
                let expected = ["--expect-body", "body", "--json", "result.json", &url];
                command.args(flags).args(delivery).args(expected).current_dir(directory);
            },
        )
        .finish();
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let document = outcome.document();
        assert_all_ok(&document, 100);
        assert_eq!(document.count("/connections/opened"), 4, "{delivery:?}");
    }
    target.assert_requests(500);
}

#[test]
fn nginx_answers_whatever_way_requests_leave() {
    let nginx = Nginx::start(false).unwrap();
    let url = format!("http://{}/", nginx.address());
    for delivery in [&["--chunked", "7", "-b", "a body of some bytes"][..], &["--pieces", "5"]] {
        let document = measure(&[delivery, &["-c", "4", "-n", "100", &url]].concat());
        assert_all_ok(&document, 100);
        assert_eq!(document.count("/connections/opened"), 4, "{delivery:?}");
    }
    // This nginx responds to the header. The rest of the body is not sent any more.
    let body = "body".repeat(100);
    let flags = ["-c", "4", "-n", "100", "-b", &body, "--pieces", "5", &url];
    let document = measure(&flags);
    assert_all_ok(&document, 100);
    assert!(document.count("/connections/opened") > 50, "{}", document.at("/connections"));
    // So it does not ask for a waiting body.
    let flags = ["-c", "4", "-n", "100", "-b", "body", "--expect-continue", &url];
    let document = measure(&flags);
    assert_all_ok(&document, 100);
    assert!(document.mean_s("response") < 0.5, "nobody waits for a 100 that does not come");
}

#[test]
fn bodies_wait_and_requests_go_in_pieces_over_tls_too() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/echo").replace("http://", "https://");
    for delivery in [&["--expect-continue"][..], &["--pieces", "5"], &["--chunked", "9"]] {
        let flags = ["-c", "2", "-n", "20", "-k", "--h1", "-X", "POST", "-b", "hello", &url];
        let document = measure(&[delivery, &flags].concat());
        assert_all_ok(&document, 20);
        assert_eq!(document.count("/bytes/bodies"), 100, "{delivery:?}");
    }
}

#[test]
fn a_burst_connects_each_once_and_ends() {
    let target = Target::start(&[]);
    let document = measure(&["--once", "-c", "60", "-t", "2", &target.url("/")]);
    assert_all_ok(&document, 60);
    assert_eq!(document.text("/end/reason"), "count");
    assert_eq!(document.count("/connections/opened"), 60);
    assert_eq!(
        document.count("/connections/retired") + document.count("/connections/closed_by_server"),
        60
    );
    // There was no connection before: the response time includes the wait for it.
    let connect_ns = document.number("/latencies/connect/min_ns");
    assert!(connect_ns > 0.0);
    assert!(document.number("/latencies/queue_wait/min_ns") >= connect_ns);
    assert_eq!(document.at("/plan/connections/once"), true);
    target.assert_requests(60);
}

#[test]
fn a_burst_at_nobody_gives_up() {
    let url = format!("http://127.0.0.1:{}/", free_port().unwrap());
    let outcome =
        Candor::start_measuring(&["--once", "-c", "3", "--give-up", "300ms", &url]).finish();
    let document = outcome.document();
    assert_eq!((document.ledger("scheduled"), document.ledger("unsent")), (3, 3));
    assert!(document.connect_errors().contains_key("connect-refused"));
    assert_eq!(document.text("/end/reason"), "gave-up");
}

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    for (flags, words) in [
        (&["-b", "x", "--chunked", "1", "--h2"][..], &["--chunked", "HTTP/2", "add --h1"][..]),
        (&["--pieces", "2", "-p", "4"], &["--pieces", "--pipeline", "leave one of them out"]),
        (&["--expect-continue"], &["--expect-continue", "no body", "--body"]),
        (&["--once", "-R", "100"], &["--once", "--rate", "leave one of them out"]),
    ] {
        candor(&[flags, &["http://127.0.0.1:9/"]].concat()).assert_refused(2, words);
    }
}
