//! `candor ws` against the embedded target, whose counts must equal the ledger, and what is refused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::common::*;
use candor_protocol::ws::accept_of;

/// The messages that the target took and gave at one of its WebSockets.
fn messages(target: &Target, scenario: &str) -> (u64, u64) {
    let stats = target.stats();
    let of = |name: &str| stats[name][scenario].as_u64().unwrap_or(0);
    (of("parts_received_by_scenario"), of("parts_sent_by_scenario"))
}

fn ws(arguments: &[&str]) -> Outcome {
    Candor::start_measuring(&[&["ws"], arguments].concat()).finish()
}

#[test]
fn each_message_has_its_echo_over_every_transport() {
    for (served, flags) in [
        (&[][..], &[][..]),
        (&[], &["--h2"]),
        (&["--tls"], &["-k"]),
        (&["--tls"], &["-k", "--h2"]),
        (&[], &["--fragment", "3", "--in-flight", "16"]),
        (&[], &["--deflate", "--binary"]),
    ] {
        let target = Target::start(served);
        let scheme = if served.is_empty() { "ws" } else { "wss" };
        let url = target.url("/ws/echo").replace("http", "ws").replace("wss", "ws");
        let url = url.replacen("ws", scheme, 1);
        let load = ["-R", "500", "-c", "4", "-d", "1s", "--message", "ping ${seq}"];
        let outcome = ws(&[&load[..], flags, &[&url]].concat());
        assert_eq!(outcome.code(), 0, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!(document.ledger("ok"), 500);
        // The counts are read in clear text.
        if served.is_empty() {
            assert_eq!(messages(&target, "ws_echo"), (500, 500), "{flags:?}");
        }
        assert!(!document.verdicts().contains(&"impossible"), "{:?}", document.verdicts());
        assert!(outcome.stdout.contains("ws"), "{}", outcome.stdout);
    }
}

#[test]
fn without_a_url_the_embedded_target_echoes() {
    let outcome = ws(&["-n", "200", "-c", "2", "--message", "hello", "--expect-body-bytes", "5"]);
    let document = outcome.document();
    document.assert_all_ok();
    assert!(document.text("/plan/target/url").ends_with("/ws/echo"));
}

#[test]
fn replies_are_matched_by_their_field() {
    let target = Target::start(&[]);
    let url = target.url("/ws/echo/20ms");
    let message = "{\"id\":${seq},\"pad\":\"x\"}";
    let flags = ["--in-flight", "50", "--reply-field", "\"id\":*,", "--message", message];
    let outcome = ws(&[&["-R", "1k", "-c", "2", "-d", "1s"][..], &flags, &[&url]].concat());
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 1000);
    assert!(document.count("/latencies/service/min_ns") >= 20_000_000);
}

#[test]
fn messages_without_a_request_are_parts() {
    let target = Target::start(&[]);
    let url = target.url("/ws/broadcast/10ms?bytes=100");
    let outcome =
        ws(&["-R", "10", "-c", "5", "-d", "2s", "--no-reply", "--message", "hello", &url]);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 20);
    // 200 on each of five, but for those on their way at the end.
    let parts = document.count("/parts/count");
    assert!((950..=1010).contains(&parts), "{parts}");
    assert_eq!(document.count("/parts/bytes"), 100 * parts);
}

#[test]
fn close_codes_are_counted_and_the_connection_is_replaced() {
    let target = Target::start(&[]);
    let url = target.url("/ws/close/4321?after=3");
    let outcome = ws(&["-n", "40", "-c", "1", "--message", "hello", &url]);
    let document = outcome.document();
    let closed = document.count("/connections/close_codes/0/count");
    assert_eq!(document.count("/connections/close_codes/0/code"), 4321);
    assert!(closed >= 9, "{closed}");
    let [ok, errors] = ["ok", "errors"].map(|name| document.ledger(name));
    assert_eq!(ok + errors, 40);
    assert!(ok >= 30, "{ok}");
}

#[test]
fn an_end_without_a_close_frame_is_code_1006_over_both_protocols() {
    let target = Target::start(&[]);
    let url = target.url("/ws/close/1006?after=3");
    for flags in [&[][..], &["--h2"]] {
        let load = ["-n", "40", "-c", "1", "--message", "hello"];
        let document = ws(&[&load[..], flags, &[&url]].concat()).document();
        let codes = document.list("/connections/close_codes");
        assert_eq!(codes.len(), 1, "{flags:?}: {codes:?}");
        assert_eq!(codes[0]["code"], 1006, "{flags:?}");
        assert!(codes[0]["count"].as_u64() >= Some(9), "{flags:?}: {codes:?}");
        assert_eq!(document.ledger("ok") + document.ledger("errors"), 40);
    }
}

#[test]
fn a_server_that_opens_none_is_an_error_of_the_connection() {
    let target = Target::start(&[]);
    let outcome = ws(&["-c", "2", "-d", "1s", "--message", "x", &target.url("/status/404")]);
    assert_eq!(outcome.code(), 1, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("404"), "{}", outcome.stderr);
}

#[test]
fn users_have_sockets_and_captures() {
    let target = Target::start(&[]);
    let url = target.url("/ws/echo").replace("http", "ws");
    let plan = format!(
        "url = '{url}'\nrate = 100\nduration = '1s'\n[[journey]]\nconnection = 'own'\n\
         [[journey.step]]\nname = 'hello'\nbody = 'hello ${{seq}}'\ncapture = {{ n = 'regex:hello (.*)' }}\n\
         [[journey.step]]\nname = 'again'\nbody = 'again ${{n}}'\nthink = '20ms'\n"
    );
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, plan).expect("a file");
    let file = file.to_str().expect("a path");
    let document = Candor::start_measuring(&[file]).finish().document();
    document.assert_all_ok();
    let users = document.at("/users/journeys/0");
    let started = users["started"].as_u64().unwrap_or(0);
    assert_eq!(started, 100, "{users}");
    let (received, sent) = messages(&target, "ws_echo");
    assert_eq!((received, sent), (document.ledger("sent"), document.ledger("sent")));
    assert_eq!(target.stats()["requests_by_scenario"]["ws_echo"], started);
    let tried = candor(&["try", file]);
    assert_eq!(tried.code(), 0, "{}", tried.stdout);
    assert!(
        tried.stdout.contains("< again 0") && !tried.stdout.contains("status"),
        "{}",
        tried.stdout
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let says = |arguments: &[&str], part: &str| {
        let outcome = candor(arguments);
        assert_eq!(outcome.code(), 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{arguments:?}: {}", outcome.stderr);
    };
    says(
        &["--in-flight", "2", "http://127.0.0.1:1/"],
        "it is for WebSocket; write ws:// or wss://",
    );
    says(&["ws", "--pipeline", "2", "127.0.0.1:1"], "--pipeline cannot be used with ws");
    says(&["ws", "--reply-field", "id", "127.0.0.1:1"], "`id` has no *");
    says(&["ws", "--no-reply", "--reply-field", "i*", "127.0.0.1:1"], "there is no reply to match");
    says(&["ws", "--subprotocol", "a b", "127.0.0.1:1"], "is not the name of a subprotocol");
    says(&["ws", "127.0.0.1:1/${seq}"], "a WebSocket is opened once");
}

/// A server that opens WebSockets, reads no message and closes: the kernel makes that a reset.
fn resetting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
            let head = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty());
            let key =
                head.filter_map(|line| line.strip_prefix("Sec-WebSocket-Key: ").map(str::to_owned));
            let accept = accept_of(key.last().unwrap_or_default().as_bytes());
            let opening = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            let _ = stream.write_all(opening.as_bytes());
            // All that may be on its way at a time has come.
            thread::sleep(Duration::from_millis(30));
        }
    });
    format!("ws://{address}/")
}

#[test]
fn a_reset_is_code_1006_and_fails_each_message_once() {
    let flags = ["-n", "40", "-c", "1", "--in-flight", "4", "--message", "hello", &resetting()];
    let document = ws(&flags).document();
    assert_eq!((document.ledger("ok"), document.ledger("errors")), (0, 40));
    let codes = document.list("/connections/close_codes");
    assert_eq!((codes.len(), &codes[0]["code"]), (1, &serde_json::json!(1006)), "{codes:?}");
    assert_eq!(codes[0]["count"], document.count("/connections/lost"), "once a connection");
    assert_eq!(document.count("/connections/lost"), 10);
}

/// Greets each WebSocket 20 ms after it is opened, and echoes each message after 60 ms.
fn greeting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || greet(stream));
        }
    });
    format!("ws://{address}/")
}

fn greet(stream: std::net::TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut input = BufReader::new(stream.try_clone().ok()?);
    let mut key = String::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        match line.trim() {
            "" => break,
            line => {
                if let Some(value) = line.strip_prefix("Sec-WebSocket-Key: ") {
                    key = value.to_owned();
                }
            }
        }
    }
    let accept = accept_of(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let say = |bytes: Vec<u8>, after: Duration| {
        let mut stream = stream.try_clone().expect("a handle");
        thread::spawn(move || {
            thread::sleep(after);
            stream.write_all(&bytes)
        });
    };
    let text = |payload: &[u8]| [&[0x81, payload.len() as u8], payload].concat();
    (&stream).write_all(head.as_bytes()).ok()?;
    say(text(b"{\"type\":\"welcome\"}"), Duration::from_millis(20));
    loop {
        let mut head = [0; 6];
        input.read_exact(&mut head).ok()?;
        let mut payload = vec![0; usize::from(head[1] & 0x7f)];
        input.read_exact(&mut payload).ok()?;
        payload.iter_mut().zip(head[2..].iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        match head[0] & 0xf {
            1 => say(text(&payload), Duration::from_millis(60)),
            _ => return None,
        }
    }
}

#[test]
fn a_greeting_is_found_out_and_can_be_named() {
    let url = greeting();
    let flags = ["-c", "2", "-n", "20", "--message", "hello", "--show-secrets", &url];
    let shifted = ws(&flags);
    let document = shifted.document();
    assert!(document.verdicts().contains(&"replies-mispaired"), "{}", shifted.stdout);
    assert!(document.count("/latencies/service/min_ns") < 60_000_000);
    let rules = [&flags[..], &["--ignore", "welcome", "--expect-body-bytes", "5"]].concat();
    for own in [&rules[..], &[&flags[..], &["--reply", "^hello$"]].concat()[..]] {
        let told = ws(own);
        assert_eq!(told.code(), 0, "{}{}", told.stdout, told.stderr);
        let document = told.document();
        document.assert_all_ok();
        assert!(document.count("/latencies/service/min_ns") >= 60_000_000);
        assert_eq!(document.count("/parts/count"), 2);
        assert!(!document.verdicts().contains(&"replies-mispaired"));
    }
}
