//! `candor ws` against the embedded target, whose counts must equal the ledger, and what is refused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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
    says(&["ws", "--stream", "sse", "127.0.0.1:1"], "write --stream messages");
    says(&["ws", "--stream", "messages", "127.0.0.1:1"], "add --stream-end REGEX");
    let http = ["--stream", "messages", "--stream-end", "x", "http://127.0.0.1:1/"];
    says(&http, "it is for replies of a WebSocket");
    says(&["ws", "--ready", "", "127.0.0.1:1"], "--ready: the expression is empty");
    says(&["ws", "--message-field", "i*", "127.0.0.1:1"], "add --reply-field PATTERN");
    says(&["--protocol", "stomp", "http://127.0.0.1:1/"], "it is for WebSocket");
}

/// Reads a request for a WebSocket and opens it. What comes after the request is read from here.
fn opened(stream: &mut TcpStream) -> Option<BufReader<TcpStream>> {
    stream.set_nodelay(true).ok()?;
    let mut input = BufReader::new(stream.try_clone().ok()?);
    let mut accept = String::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        if let Some(key) = line.strip_prefix("Sec-WebSocket-Key: ") {
            accept = accept_of(key.trim().as_bytes());
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    Some(input)
}

/// A server that opens WebSockets, reads no message and closes: the kernel makes that a reset.
fn resetting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = opened(&mut stream);
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

/// A server that answers a message and closes each WebSocket with code 1008 at the next; every third for a reason of its
/// own.
fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for (number, mut stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let Some(mut input) = opened(&mut stream) else { continue };
            let _ = input.read_exact(&mut [0; 2 + 4 + 5]);
            let _ = stream.write_all(b"\x81\x02ok");
            let _ = input.read_exact(&mut [0; 2 + 4 + 5]);
            let reason = match number % 3 {
                0 => format!("\x1b[31mlimit {number}"),
                _ => "too many".to_owned(),
            };
            let code = 1008_u16.to_be_bytes();
            let frame = [&[0x88, 2 + reason.len() as u8], &code[..], reason.as_bytes()].concat();
            let _ = stream.write_all(&frame);
            // Until the client's close frame.
            let _ = input.read(&mut [0; 9]);
        }
    });
    format!("ws://{address}/")
}

#[test]
fn reasons_stand_beside_close_codes_and_the_first_are_kept() {
    let url = refusing();
    let outcome = ws(&["-n", "120", "-c", "1", "--message", "hello", &url]);
    let document = outcome.document();
    assert_eq!(
        (document.ledger("errors"), document.count("/connections/close_codes/0/count")),
        (60, 60)
    );
    let reasons = document.list("/connections/close_codes/0/reasons");
    assert_eq!(reasons.len(), 16, "{reasons:?}");
    assert_eq!(reasons[0]["reason"], "\u{fffd}[31mlimit 0");
    assert_eq!(reasons[1], serde_json::json!({"reason": "too many", "count": 40}));
    let shown = "code 1008: \u{fffd}[31mlimit 0";
    assert!(
        outcome.stdout.contains(shown) && !outcome.stdout.contains("limit 1"),
        "{}",
        outcome.stdout
    );
    let full = ws(&["--report", "full", "-n", "12", "-c", "1", "--message", "hello", &url]).stdout;
    assert!(full.contains("“too many” (4)"), "{full}");
}

/// What a scripted server says, each after a time.
type Says = Vec<(u64, String)>;

/// Says of a server, its times in milliseconds.
fn says(all: &[(u64, &str)]) -> Says {
    all.iter().map(|(after_ms, text)| (*after_ms, (*text).to_owned())).collect()
}

/// A server that says `first` on each WebSocket, and then what `react` makes of each message and of the number of messages
/// before it; `None`: it closes.
fn speaking(first: Says, react: fn(&str, u32) -> Option<Says>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let first = first.clone();
            thread::spawn(move || speak(stream, first, react));
        }
    });
    format!("ws://{address}/")
}

fn speak(mut stream: TcpStream, first: Says, react: fn(&str, u32) -> Option<Says>) -> Option<()> {
    let mut input = opened(&mut stream)?;
    let say = |all: Says| {
        for (after_ms, text) in all {
            let mut stream = stream.try_clone().expect("a handle");
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(after_ms));
                let length = text.len() as u16;
                let front = match length {
                    0..126 => vec![0x81, length as u8],
                    _ => [&[0x81, 126][..], &length.to_be_bytes()].concat(),
                };
                stream.write_all(&[front, text.into_bytes()].concat())
            });
        }
    };
    say(first);
    let mut count = 0;
    loop {
        let mut head = [0; 2];
        input.read_exact(&mut head).ok()?;
        let mut length = usize::from(head[1] & 0x7f);
        if length == 126 {
            let mut long = [0; 2];
            input.read_exact(&mut long).ok()?;
            length = usize::from(u16::from_be_bytes(long));
        }
        let mut mask = [0; 4];
        input.read_exact(&mut mask).ok()?;
        let mut payload = vec![0; length];
        input.read_exact(&mut payload).ok()?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        match head[0] & 0xf {
            1 => {
                say(react(std::str::from_utf8(&payload).ok()?, count)?);
                count += 1;
            }
            // A pong of the client's own.
            10 => {}
            _ => return None,
        }
    }
}

/// Greets each WebSocket 20 ms after it is opened, and echoes each message after 60 ms.
fn greeting() -> String {
    speaking(says(&[(20, "{\"type\":\"welcome\"}")]), |message, _| Some(says(&[(60, message)])))
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

/// The text between two others.
fn between<'t>(text: &'t str, front: &str, behind: &str) -> Option<&'t str> {
    text.split_once(front)?.1.split_once(behind).map(|(inner, _)| inner)
}

/// graphql-transport-ws: nothing before the acknowledgement; three values, then the end.
fn graphql(message: &str, before: u32) -> Option<Says> {
    if before == 0 {
        let is_init = message == "{\"type\":\"connection_init\"}";
        let ping = (30, "{\"type\":\"ping\"}");
        return is_init.then(|| says(&[(20, "{\"type\":\"connection_ack\"}"), ping]));
    }
    if message == "{\"type\":\"pong\"}" {
        return Some(Vec::new());
    }
    let id = between(message, "{\"id\":\"", "\",\"type\":\"subscribe\"")?;
    if message.contains("bad") {
        return Some(vec![(20, format!("{{\"id\":\"{id}\",\"type\":\"error\",\"payload\":[]}}"))]);
    }
    // A payload may look like an end.
    let next = |after_ms| {
        let payload = "{\"data\":{\"is\":{\"type\":\"complete\"}}}";
        (after_ms, format!("{{\"id\":\"{id}\",\"type\":\"next\",\"payload\":{payload}}}"))
    };
    let complete = (90, format!("{{\"id\":\"{id}\",\"type\":\"complete\"}}"));
    Some(vec![next(20), next(40), next(60), complete])
}

#[test]
fn graphql_over_websocket_is_known() {
    let url = speaking(Vec::new(), graphql);
    let message =
        "{\"id\":\"${seq}\",\"type\":\"subscribe\",\"payload\":{\"query\":\"subscription{x}\"}}";
    let load = ["-n", "20", "-c", "2", "--in-flight", "3", "--protocol", "graphql-ws"];
    let outcome = ws(&[&load[..], &["--message", message, &url]].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert!(document.count("/latencies/service/min_ns") >= 90_000_000);
    assert!(document.count("/streams/first_event/min_ns") >= 20_000_000);
    assert_eq!(document.count("/streams/events/max"), 3);
    // Three of each, and an acknowledgement and a ping of each connection.
    assert_eq!(document.count("/parts/count"), 60 + 4);
    assert!(!document.verdicts().contains(&"replies-mispaired"));
    let bad = ["-n", "5", "-c", "1", "--protocol", "graphql-ws", "--message"];
    let wrong = "{\"id\":\"${seq}\",\"type\":\"subscribe\",\"payload\":{\"query\":\"bad\"}}";
    let document = ws(&[&bad[..], &[wrong, &url]].concat()).document();
    assert_eq!((document.ledger("ok"), document.ledger("errors")), (0, 5));
    assert_eq!(document.text("/errors/0/kind"), "stream-error");
}

/// engine.io and socket.io: a message before the namespace is open ends the connection, as does a ping without pong.
fn socketio(message: &str, before: u32) -> Option<Says> {
    if before == 0 {
        let open = says(&[(20, "40{\"sid\":\"y\"}"), (25, "42[\"welcome\"]"), (40, "2")]);
        return (message == "40").then_some(open);
    }
    if message == "3" {
        return Some(Vec::new());
    }
    let (id, event) = message.strip_prefix("42")?.split_once('[')?;
    let event = event.strip_prefix("\"echo\",")?;
    // Acknowledgements come in another order.
    let after_ms = if id.ends_with(['0', '2', '4', '6', '8']) { 60 } else { 30 };
    Some(vec![(after_ms, format!("43{id}[{event}"))])
}

#[test]
fn socket_io_is_known() {
    let url = speaking(says(&[(10, "0{\"sid\":\"x\",\"pingInterval\":25}")]), socketio);
    let load =
        ["-n", "40", "-c", "2", "--in-flight", "4", "--protocol", "socketio", "--show-secrets"];
    let outcome = ws(&[&load[..], &["--message", "42${seq}[\"echo\",${seq}]", &url]].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    let [least, most] =
        ["min_ns", "max_ns"].map(|one| document.count(&format!("/latencies/service/{one}")));
    assert!((30_000_000..60_000_000).contains(&least) && most >= 60_000_000, "{least} {most}");
    // The opening, the namespace, the event and the ping of each connection.
    assert_eq!(document.count("/parts/count"), 2 * 4);
    let path = document.text("/plan/work/requests/list/0/path");
    assert!(path.starts_with("/socket.io/?EIO=4"), "{path}");
}

/// Action Cable: nothing before the subscription is confirmed.
fn cable(message: &str, before: u32) -> Option<Says> {
    const CHANNEL: &str = "\"identifier\":\"{\\\"channel\\\":\\\"Chat\\\"}\"";
    if !message.contains(CHANNEL) {
        return None;
    }
    if before == 0 {
        let confirmed = format!("{{{CHANNEL},\"type\":\"confirm_subscription\"}}");
        return message.contains("\"subscribe\"").then(|| vec![(20, confirmed)]);
    }
    let data = between(message, "\"data\":\"", "\"}")?;
    Some(vec![
        (10, "{\"type\":\"ping\",\"message\":1700000000}".to_owned()),
        (40, format!("{{{CHANNEL},\"message\":\"{data}\"}}")),
    ])
}

#[test]
fn action_cable_is_known() {
    let url = speaking(says(&[(10, "{\"type\":\"welcome\"}")]), cable);
    let subscribe =
        "welcome={\"command\":\"subscribe\",\"identifier\":\"{\\\"channel\\\":\\\"Chat\\\"}\"}";
    let message = "{\"command\":\"message\",\"identifier\":\"{\\\"channel\\\":\\\"Chat\\\"}\",\"data\":\"x${seq}\"}";
    let load = ["-n", "20", "-c", "2", "--protocol", "actioncable", "--answer", subscribe];
    let own = ["--ready", "confirm_subscription", "--message", message, &url];
    let outcome = ws(&[&load[..], &own].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert!(document.count("/latencies/service/min_ns") >= 40_000_000);
    // A ping for each message, the welcome and the confirmation of each connection.
    assert_eq!(document.count("/parts/count"), 20 + 4);
    assert!(!document.verdicts().contains(&"replies-mispaired"));
}

/// STOMP: a receipt for what asks for one, and each message to those who have subscribed.
fn stomp(message: &str, before: u32) -> Option<Says> {
    let frame = message.strip_suffix('\0')?;
    if before == 0 {
        let is_connect = frame.starts_with("CONNECT\naccept-version:1.2\n");
        return is_connect.then(|| says(&[(20, "CONNECTED\nversion:1.2\n\n\0"), (25, "\n")]));
    }
    if frame.starts_with("SUBSCRIBE\n") {
        return Some(Vec::new());
    }
    let (_, body) = frame.strip_prefix("SEND\n")?.split_once("\n\n")?;
    let mut said = vec![(30, format!("MESSAGE\nsubscription:0\n\n{body}\0"))];
    if let Some(receipt) = between(frame, "\nreceipt:", "\n") {
        said.push((60, format!("RECEIPT\nreceipt-id:{receipt}\n\n\0")));
    }
    Some(said)
}

#[test]
fn stomp_is_known() {
    let url = speaking(Vec::new(), stomp);
    let load = ["-n", "20", "-c", "2", "--in-flight", "2", "--protocol", "stomp", "--message"];
    let outcome =
        ws(&[&load[..], &["SEND\ndestination:/a\nreceipt:${seq}\n\nhello", &url]].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert!(document.count("/latencies/service/min_ns") >= 60_000_000);
    // Each message, and the end of the greeting and a heart-beat of each connection.
    assert_eq!(document.count("/parts/count"), 20 + 4);
}

#[test]
fn steps_have_replies_of_their_own() {
    let url = speaking(says(&[(30, "late welcome")]), |message, before| {
        // Whoever has not subscribed is closed.
        match (message, before) {
            ("subscribe", 0) => Some(Vec::new()),
            ("say", _) => Some(says(&[(10, "push"), (30, "said")])),
            _ => None,
        }
    });
    let plan = format!(
        "url = '{url}'\nrequests = 5\nusers = 1\n[[journey]]\nconnection = 'own'\n\
         [[journey.step]]\nname = 'greeted'\nwait = 'welcome'\n\
         [[journey.step]]\nname = 'subscribe'\nbody = 'subscribe'\nreply = false\n\
         [[journey.step]]\nname = 'say'\nbody = 'say'\nreply = '^said'\n\
         [[journey.step]]\nname = 'pushed'\nwait = '^push'\n"
    );
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("plan.toml");
    let run = |plan: &str| {
        std::fs::write(&file, plan).expect("a file");
        Candor::start_measuring(&[file.to_str().expect("a path")]).finish()
    };
    // The push came before the last step, which is done at once.
    let outcome = run(&plan);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 20);
    assert_eq!(document.at("/users/journeys/0/completed"), &serde_json::json!(5));
    let tried = candor(&["try", file.to_str().expect("a path")]);
    assert_eq!(tried.code(), 0, "{}{}", tried.stdout, tried.stderr);
    assert!(tried.stdout.contains("< said"), "{}", tried.stdout);
    assert!(tried.stdout.contains("it has no reply"), "{}", tried.stdout);
    assert!(!tried.stdout.contains("after 0 ns"), "{}", tried.stdout);
    for (from, to, part) in [
        ("reply = false", "reply = true", "each message has a reply without this key"),
        ("wait = '^push'", "wait = '('", "reply: "),
        ("wait = '^push'", "wait = '^push'\nbody = 'x'", "a step that waits sends nothing"),
    ] {
        let outcome = run(&plan.replace(from, to));
        assert_eq!(outcome.code(), 2, "{to}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{to}: {}", outcome.stderr);
    }
}
