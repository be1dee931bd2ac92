//! The header of the PROXY protocol before a connection's first byte, as a server behind a load balancer gets it: to the
//! byte, and by what nginx makes of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use candor_testkit::nginx::Nginx;

use crate::common::{CANDOR, Candor, Outcome, candor, measure};
use crate::tls::listener;

/// Serves GETs on one connection. Returns what came before the first of them.
fn serve(mut stream: impl Read + Write) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), None);
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
        while let Some(end) = position(&bytes, b"Host: shop\r\n\r\n") {
            let start = position(&bytes, b"GET ").unwrap();
            before.get_or_insert_with(|| bytes[..start].to_vec());
            bytes.drain(..end + 14);
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                break;
            }
        }
    }
    before.unwrap_or(bytes)
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|one| one == part)
}

/// What a run over TCP says first on each of its connections, with the connection's addresses at the server.
fn said(flags: &[&str]) -> Vec<(Vec<u8>, SocketAddr, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let all: Arc<Mutex<Vec<_>>> = Arc::default();
    let heard = Arc::clone(&all);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heard = Arc::clone(&heard);
            std::thread::spawn(move || {
                let (from, to) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
                let said = serve(stream);
                heard.lock().unwrap().push((said, from, to));
            });
        }
    });
    let at = at.to_string();
    let words = ["-n", "30", "-c", "3", "--connect-to", &at, "http://shop/"];
    let document = measure(&[&words[..], flags].concat());
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 30);
    let bytes = document.count("/bytes/sent");
    // The threads of connections end with them.
    let begun = std::time::Instant::now();
    while all.lock().unwrap().len() < 3 {
        assert!(begun.elapsed().as_secs() < 60, "a connection has no end");
        std::thread::yield_now();
    }
    let all = std::mem::take(&mut *all.lock().unwrap());
    let headers: usize = all.iter().map(|(said, ..)| said.len()).sum();
    let request = "GET / HTTP/1.1\r\nHost: shop\r\n\r\n".len();
    assert_eq!(bytes, (30 * request + headers) as u64, "a header's bytes are sent bytes");
    all
}

#[test]
fn each_connection_begins_with_its_own_addresses() {
    let line = |from: SocketAddr, to: SocketAddr| {
        let (from_ip, to_ip) = (from.ip(), to.ip());
        format!("PROXY TCP4 {from_ip} {to_ip} {} {}\r\n", from.port(), to.port())
    };
    for flags in [
        &["--haproxy-protocol"][..],
        &["--haproxy-protocol=v1", "--reactor", "uring"],
        &["--haproxy-protocol", "-R", "500", "--pacing", "stamps"],
        &["--haproxy-protocol", "-R", "500", "--kernel-timestamps=1/1"],
    ] {
        for (said, from, to) in said(flags) {
            assert_eq!(String::from_utf8(said).unwrap(), line(from, to), "{flags:?}");
        }
    }
    for (said, from, to) in said(&["--haproxy-protocol=v2", "-R", "500"]) {
        let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
        let fixed = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01";
        assert_eq!(said, [&fixed[..], &ports].concat());
    }
    for (said, ..) in said(&[]) {
        assert_eq!(said, b"");
    }
}

#[test]
fn over_a_unix_socket_there_are_no_addresses() {
    for (version, header) in [
        ("--haproxy-protocol=v1", &b"PROXY UNKNOWN\r\n"[..]),
        ("--haproxy-protocol=v2", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        let path = path.display().to_string();
        let words = ["-n", "5", "-c", "1", "--unix-socket", &path, "http://shop/", version];
        let outcome = candor(&words);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(server.join().unwrap(), header);
    }
}

/// nginx with a listener of these parameters, whose `/who` is the address in the header, and a run against it.
fn against_nginx(parameters: &str, flags: &[&str]) -> (Nginx, Outcome) {
    let directives =
        "location = /who { return 200 \"$proxy_protocol_addr>$proxy_protocol_server_addr\"; }";
    let listener = listener(&format!("{parameters} proxy_protocol"), directives);
    let scheme = if listener.certificate.is_some() { "https" } else { "http" };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let url = format!("{scheme}://{}/who", nginx.listeners()[0]);
    let run = Candor::start_as(std::process::Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("who"), "127.0.0.1>127.0.0.1").unwrap();
        command.current_dir(directory).args(["run", &url, "-c", "4"]).args(flags);
        command.args(["--expect-body", "who", "--json", "result.json", "--report", "full"]);
    });
    (nginx, run.finish())
}

#[test]
fn nginx_takes_the_addresses_and_counts_the_same_requests() {
    for (parameters, flags) in [
        ("", &["--haproxy-protocol", "-n", "200"][..]),
        ("", &["--haproxy-protocol=v2", "-n", "200", "-R", "2k", "-t", "2"]),
        ("ssl", &["--haproxy-protocol=v1", "-n", "200", "--h1", "--insecure"]),
        ("ssl http2", &["--haproxy-protocol=v2", "-n", "200", "--h2", "--insecure"]),
        ("http2", &["--haproxy-protocol=v2", "-n", "200", "--h2c"]),
        ("", &["--haproxy-protocol", "-n", "40", "--no-keepalive"]),
    ] {
        let (nginx, outcome) = against_nginx(parameters, flags);
        assert_eq!(outcome.code(), 0, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!(nginx.stop().unwrap(), document.ledger("sent"), "{flags:?}");
        assert!(outcome.stdout.contains("PROXY protocol v"), "{}", outcome.stdout);
    }
}

#[test]
fn a_server_that_waits_for_a_header_takes_no_connection_without_it() {
    let (nginx, outcome) = against_nginx("", &["-n", "10"]);
    assert_eq!(outcome.code(), 1, "{}", outcome.stdout);
    assert_eq!(outcome.document().ledger("ok"), 0);
    assert_eq!(nginx.stop().unwrap(), 0);
}
