//! WebSockets from a client that writes frames byte by byte, since it is to judge a library.

use std::time::{Duration, Instant};

use bytes::Bytes;
use candor_serve::{Config, Running};
use candor_testkit::client::Client;
use candor_testkit::process::wait_until;
use hyper::Request;

use crate::http2::{self, block_on};
use crate::{connect, start};

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FIN: u8 = 0x80;

/// A frame of a client (RFC 6455, section 5.2).
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x11, 0x22, 0x33, 0x44];
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..65536 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// A socket over HTTP/1.1.
struct Socket(Client);

impl Socket {
    fn open(server: &Running, path: &str) -> Socket {
        let mut client = connect(server);
        let fields = [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Extensions: permessage-deflate",
        ];
        let answer = client.ask("GET", path, &fields, b"");
        assert_eq!(answer.status, 101, "{path}: {}", answer.head);
        let accept = answer.header("sec-websocket-accept");
        assert_eq!(accept, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(answer.header("sec-websocket-extensions"), None);
        Socket(client)
    }

    fn send(&mut self, first: u8, payload: &[u8]) {
        self.0.send(frame(first, payload));
    }

    /// The next frame: its first byte and its payload.
    fn read(&mut self) -> (u8, Vec<u8>) {
        let head = self.0.read_exactly(2).unwrap();
        assert!(head[1] < 0x80, "a server does not mask");
        let length = match head[1] {
            126 => u16::from_be_bytes(self.0.read_exactly(2).unwrap().try_into().unwrap()).into(),
            127 => u64::from_be_bytes(self.0.read_exactly(8).unwrap().try_into().unwrap()),
            length => length.into(),
        };
        (head[0], self.0.read_exactly(length as usize).unwrap())
    }

    /// Expects a Close frame with this code, answers it, and expects the end.
    fn expect_close(&mut self, code: u16) {
        let (first, payload) = self.read();
        assert_eq!((first, &payload[..2]), (FIN | CLOSE, &code.to_be_bytes()[..]));
        self.send(FIN | CLOSE, &code.to_be_bytes());
        assert_eq!(self.0.read_to_end().unwrap(), b"");
    }
}

#[test]
fn messages_are_echoed_as_they_came() {
    let server = start(Config::default());
    let mut socket = Socket::open(&server, "/ws/echo");
    for length in [0, 1, 125, 126, 65535, 65536, 1 << 20] {
        let payload: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
        for kind in [TEXT, BINARY] {
            socket.send(FIN | kind, &payload);
            let (first, echo) = socket.read();
            assert!(first == FIN | kind && echo == payload, "{length}");
        }
    }
    // Fragments become one message, with a ping between them answered at once.
    socket.send(TEXT, b"in ");
    socket.send(FIN | PING, b"here?");
    socket.send(CONTINUATION, b"three ");
    socket.send(FIN | CONTINUATION, b"parts");
    assert_eq!(socket.read(), (FIN | PONG, b"here?".to_vec()));
    assert_eq!(socket.read(), (FIN | TEXT, b"in three parts".to_vec()));
    socket.send(FIN | CLOSE, &1000u16.to_be_bytes());
    assert_eq!(socket.read(), (FIN | CLOSE, 1000u16.to_be_bytes().to_vec()));
    assert_eq!(socket.0.read_to_end().unwrap(), b"");
    let stats = server.stop().unwrap();
    assert_eq!(stats.parts_sent_by_scenario["ws_echo"], 15);
    assert_eq!(stats.parts_received_by_scenario["ws_echo"], 15);
    assert_eq!((stats.requests_accepted, stats.requests_answered), (1, 1));
}

#[test]
fn many_messages_at_once_are_echoed_in_order() {
    let server = start(Config::default());
    let mut socket = Socket::open(&server, "/ws/echo");
    let all: Vec<u8> =
        (0..1000).flat_map(|n| frame(FIN | TEXT, n.to_string().as_bytes())).collect();
    socket.0.send(all);
    for n in 0..1000 {
        assert_eq!(socket.read(), (FIN | TEXT, n.to_string().into_bytes()));
    }
}

#[test]
fn an_echo_may_be_late_or_in_fragments() {
    let server = start(Config::default());
    let begin = Instant::now();
    let mut socket = Socket::open(&server, "/ws/echo/30ms?fragment=2");
    socket.send(FIN | TEXT, b"hello");
    socket.send(FIN | BINARY, b"ok");
    assert_eq!(socket.read(), (TEXT, b"he".to_vec()));
    assert!(begin.elapsed() >= Duration::from_millis(30));
    assert_eq!(socket.read(), (CONTINUATION, b"ll".to_vec()));
    assert_eq!(socket.read(), (FIN | CONTINUATION, b"o".to_vec()));
    assert_eq!(socket.read(), (FIN | BINARY, b"ok".to_vec()));
}

#[test]
fn a_broadcast_has_its_own_pace_and_end() {
    let server = start(Config::default());
    let mut socket = Socket::open(&server, "/ws/broadcast/2ms?count=3&bytes=120");
    // What the client says does not matter.
    socket.send(FIN | TEXT, b"unasked");
    let due = [0, 1, 2].map(|seq| {
        let (first, message) = socket.read();
        assert_eq!((first, message.len()), (FIN | TEXT, 120));
        let message: serde_json::Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(message["seq"], seq);
        message["due_ns"].as_u64().unwrap()
    });
    assert_eq!([due[1] - due[0], due[2] - due[1]], [2_000_000; 2]);
    socket.expect_close(1000);
    assert_eq!(server.stop().unwrap().parts_sent_by_scenario["ws_broadcast"], 3);
}

#[test]
fn a_socket_may_stall_and_close() {
    let server = start(Config::default());
    let begin = Instant::now();
    let mut socket = Socket::open(&server, "/ws/stall/30ms");
    socket.send(FIN | TEXT, b"wait");
    assert_eq!(socket.read(), (FIN | TEXT, b"wait".to_vec()));
    assert!(begin.elapsed() >= Duration::from_millis(30));

    Socket::open(&server, "/ws/close/4321").expect_close(4321);
    let mut socket = Socket::open(&server, "/ws/close/1001?after=2");
    for _ in 0..2 {
        socket.send(FIN | TEXT, b"once more");
        assert_eq!(socket.read(), (FIN | TEXT, b"once more".to_vec()));
    }
    socket.expect_close(1001);
    let mut dropped = Socket::open(&server, "/ws/close/1006");
    assert_eq!(dropped.0.read_to_end().unwrap(), b"");
    let mut silent = Socket::open(&server, "/ws/close/1005");
    assert_eq!(silent.read(), (FIN | CLOSE, vec![]));
}

/// Each is failed with a code (RFC 6455, section 7.4.1), and the server goes on.
#[test]
fn malicious_clients_are_failed() {
    let server = start(Config::default());
    let huge = [&[FIN | BINARY, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
    let large = [&[FIN | BINARY, 0xff][..], &(1u64 << 25).to_be_bytes(), &[0; 4]].concat();
    let long_ping = [&[FIN | PING, 0xfe, 0, 126, 0, 0, 0, 0][..], &[0; 126]].concat();
    let in_a_message = [frame(TEXT, b"a"), frame(FIN | TEXT, b"b")].concat();
    for (name, bytes, code) in [
        ("unmasked", vec![FIN | TEXT, 1, b'a'], 1002),
        ("a reserved bit", frame(FIN | 0x40 | TEXT, b"a"), 1002),
        ("an unknown opcode", frame(FIN | 3, b"a"), 1002),
        ("an unknown control opcode", frame(FIN | 11, b"a"), 1002),
        ("a fragmented ping", frame(PING, b"a"), 1002),
        ("a long ping", long_ping, 1002),
        ("a continuation of nothing", frame(FIN | CONTINUATION, b"a"), 1002),
        ("a message in a message", in_a_message, 1002),
        ("a close of one byte", frame(FIN | CLOSE, b"a"), 1002),
        ("a close with a reserved code", frame(FIN | CLOSE, &1005u16.to_be_bytes()), 1002),
        ("text that is none", frame(FIN | TEXT, b"\xff\xfe"), 1007),
        ("a length of 2^64 - 1", huge, 1009),
        ("a length of 32 MiB", large, 1009),
    ] {
        let mut socket = Socket::open(&server, "/ws/echo");
        socket.0.send(bytes);
        let (first, payload) = socket.read();
        assert_eq!((first, &payload[..2]), (FIN | CLOSE, &u16::to_be_bytes(code)[..]), "{name}");
    }
    let mut socket = Socket::open(&server, "/ws/echo");
    socket.send(FIN | TEXT, b"still there");
    assert_eq!(socket.read().1, b"still there");
}

/// Fragments without end are a message that is too large.
#[test]
fn fragments_without_end_are_failed() {
    let server = start(Config::default());
    let mut socket = Socket::open(&server, "/ws/echo");
    let piece = vec![b'x'; 1 << 20];
    socket.send(TEXT, &piece);
    for _ in 0..16 {
        socket.send(CONTINUATION, &piece);
    }
    assert_eq!(socket.read().1[..2], 1009u16.to_be_bytes());
}

#[test]
fn sockets_neither_delay_the_end_nor_outlive_their_client() {
    let server = start(Config::default());
    let sockets: Vec<_> = (0..4).map(|_| Socket::open(&server, "/ws/echo")).collect();
    let open = || {
        let answer = connect(&server).get("/__stats");
        let stats: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        stats["connections_open"].as_u64().unwrap()
    };
    assert_eq!(open(), 4);
    drop(sockets);
    assert!(wait_until(Duration::from_secs(5), || open() == 0), "open: {}", open());
    let _broadcast = Socket::open(&server, "/ws/broadcast/1h?first=1h");
    let _stalled = Socket::open(&server, "/ws/stall/1h");
    let (sender, stopped) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(sender.send(server.stop().unwrap())));
    let stats = stopped.recv_timeout(Duration::from_secs(5)).expect("a prompt end");
    assert_eq!(stats.requests_accepted, 6);
}

/// RFC 8441: a stream of HTTP/2 is the socket.
#[test]
fn a_socket_may_be_a_stream_of_http_2() {
    let server = start(Config::default());
    block_on(async {
        let client = http2::connect(server.address()).await;
        // With its response the server's settings have come.
        http2::ask(&client, http2::get("/"), &[]).await;
        let mut client = client.ready().await.unwrap();
        assert!(client.is_extended_connect_protocol_enabled());
        let request = Request::connect("http://test/ws/echo")
            .header("sec-websocket-version", "13")
            .extension(h2::ext::Protocol::from_static("websocket"))
            .body(())
            .unwrap();
        let (response, mut sender) = client.send_request(request, false).unwrap();
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        sender.send_data(Bytes::from(frame(FIN | TEXT, b"over h2")), false).unwrap();
        let echo = body.data().await.unwrap().unwrap();
        assert_eq!(&echo[..], [&[FIN | TEXT, 7][..], b"over h2"].concat());
    });
    assert_eq!(server.stop().unwrap().parts_sent_by_scenario["ws_echo"], 1);
}
