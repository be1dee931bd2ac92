//! gRPC from a client of HTTP/2. Messages are written byte by byte here; that they are those of the
//! descriptor, another implementation checks in `src/grpc/wire.rs`.

use std::time::Duration;

use crate::http2::{self, Reply, block_on};
use crate::start;
use bytes::{BufMut as _, Bytes, BytesMut};
use candor_serve::{Certificate, Config, Running, Server};
use hyper::Request;

// The fields of `candor.Message` by their numbers.
const COUNT: u8 = 2;
const EVERY_NS: u8 = 3;
const STATUS: u8 = 4;
const SEQ: u8 = 5;
const BYTES: u8 = 6;
const DUE_NS: u8 = 7;

/// A framed message with this payload, shorter than 128 bytes, and these fields.
fn message(payload: &str, fields: &[(u8, u64)]) -> Bytes {
    let mut message = vec![0x0a, payload.len() as u8];
    message.extend_from_slice(payload.as_bytes());
    for &(number, mut value) in fields {
        message.push(number << 3);
        while value >= 0x80 {
            message.push(value as u8 | 0x80);
            value >>= 7;
        }
        message.push(value as u8);
    }
    framed(&message)
}

fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(message);
    framed.freeze()
}

fn request(method: &str, timeout: Option<&str>) -> Request<()> {
    let request = Request::post(format!("http://test/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let request = match timeout {
        Some(timeout) => request.header("grpc-timeout", timeout),
        None => request,
    };
    request.body(()).unwrap()
}

fn call(server: &Running, method: &str, timeout: Option<&str>, messages: &[Bytes]) -> Reply {
    block_on(async {
        let client = http2::connect(server.address()).await;
        http2::ask(&client, request(method, timeout), messages).await
    })
}

/// The raw messages of a reply.
fn raw(reply: &Reply) -> Vec<Bytes> {
    let mut body = Bytes::from(reply.body.as_ref().unwrap().clone());
    let mut messages = vec![];
    while !body.is_empty() {
        let prefix = body.split_to(5);
        assert_eq!(prefix[0], 0);
        let length = u32::from_be_bytes(prefix[1..].try_into().unwrap());
        messages.push(body.split_to(length as usize));
    }
    messages
}

/// The payload of each message of a reply.
fn payloads(reply: &Reply) -> Vec<String> {
    let payload = |message: Bytes| match message.split_first() {
        Some((0x0a, rest)) => String::from_utf8(rest[1..][..rest[0].into()].to_vec()).unwrap(),
        _ => String::new(),
    };
    raw(reply).into_iter().map(payload).collect()
}

/// A number in each message of a reply; 0 where it is absent.
fn numbers(reply: &Reply, field: u8) -> Vec<u64> {
    let number = |message: Bytes| {
        let mut rest = &message[..];
        while !rest.is_empty() {
            let (tag, value) = (take_varint(&mut rest), take_varint(&mut rest));
            if tag == u64::from(field << 3) {
                return value;
            }
            if tag & 7 == 2 {
                rest = &rest[value as usize..];
            }
        }
        0
    };
    raw(reply).into_iter().map(number).collect()
}

fn take_varint(rest: &mut &[u8]) -> u64 {
    let end = rest.iter().position(|&byte| byte < 0x80).unwrap();
    let (varint, after) = rest.split_at(end + 1);
    *rest = after;
    varint.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}

/// The status in the trailers, or in a header that is all of the response.
fn status(reply: &Reply) -> u32 {
    assert_eq!(reply.headers["content-type"], "application/grpc");
    assert_eq!(reply.status, 200);
    let fields = if reply.headers_only { &reply.headers } else { reply.trailers.as_ref().unwrap() };
    fields["grpc-status"].to_str().unwrap().parse().unwrap()
}

#[test]
fn a_unary_call_is_echoed() {
    let server = start(Config::default());
    let reply = call(&server, "candor.Echo/Unary", None, &[message("hello", &[(SEQ, 7)])]);
    assert_eq!((status(&reply), reply.headers_only), (0, false));
    assert_eq!((payloads(&reply), numbers(&reply, SEQ)), (vec!["hello".to_owned()], vec![7]));
    let stats = server.stop().unwrap();
    assert_eq!(stats.parts_sent_by_scenario["grpc_unary"], 1);
    assert_eq!(stats.parts_received_by_scenario["grpc_unary"], 1);
    assert_eq!((stats.requests_accepted, stats.requests_answered), (1, 1));
}

#[test]
fn streams_have_their_messages_and_status() {
    let server = start(Config::default());
    let asks = message("x", &[(COUNT, 4), (EVERY_NS, 2_000_000)]);
    let reply = call(&server, "candor.Echo/ServerStream", None, &[asks]);
    assert_eq!(status(&reply), 0);
    assert_eq!(
        (payloads(&reply), numbers(&reply, SEQ)),
        (vec!["x".to_owned(); 4], vec![0, 1, 2, 3])
    );
    let due = numbers(&reply, DUE_NS);
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 2_000_000), "{due:?}");

    let asks = message("", &[(COUNT, 2), (STATUS, 5)]);
    let reply = call(&server, "candor.Echo/ServerStream", None, &[asks]);
    assert_eq!((status(&reply), raw(&reply).len(), reply.headers_only), (5, 2, false));

    let messages = ["ab", "cde", ""].map(|payload| message(payload, &[]));
    let reply = call(&server, "candor.Echo/ClientStream", None, &messages);
    assert_eq!((numbers(&reply, COUNT), numbers(&reply, BYTES)), (vec![3], vec![5]));
    let reply = call(&server, "candor.Echo/Bidi", None, &messages);
    assert_eq!(status(&reply), 0);
    assert_eq!(payloads(&reply), ["ab", "cde", ""]);
    let stats = server.stop().unwrap();
    assert_eq!(stats.parts_sent_by_scenario["grpc_server_stream"], 6);
    assert_eq!(stats.parts_received_by_scenario["grpc_client_stream"], 3);
    assert_eq!(stats.parts_sent_by_scenario["grpc_bidi"], 3);
}

#[test]
fn a_bidirectional_call_is_a_conversation() {
    let server = start(Config::default());
    block_on(async {
        let client = http2::connect(server.address()).await;
        let mut client = client.ready().await.unwrap();
        let (response, mut sender) =
            client.send_request(request("candor.Echo/Bidi", None), false).unwrap();
        let mut body = response.await.unwrap().into_body();
        for text in ["one", "two"] {
            sender.send_data(message(text, &[]), false).unwrap();
            let echo = body.data().await.unwrap().unwrap();
            assert!(echo.windows(3).any(|window| window == text.as_bytes()), "{echo:?}");
        }
        let asks = message("", &[(STATUS, 9)]);
        sender.send_data(asks, false).unwrap();
        while body.data().await.is_some() {}
        let trailers = body.trailers().await.unwrap().unwrap();
        assert_eq!(trailers["grpc-status"], "9");
    });
}

#[test]
fn failures_are_statuses() {
    let server = start(Config::default());
    let one = || message("", &[(STATUS, 13)]);
    let large = Bytes::from_static(&[0, 255, 255, 255, 255]);
    let compressed = Bytes::from_static(&[1, 0, 0, 0, 0]);
    for (method, messages, expected) in [
        ("candor.Echo/Unary", vec![one()], 13),
        ("candor.Echo/ServerStream", vec![one()], 13),
        ("candor.Echo/ClientStream", vec![message("", &[]), one()], 13),
        ("candor.Echo/Nothing", vec![one()], 12),
        ("nothing.Nothing/Nothing", vec![one()], 12),
        ("candor.Echo/Unary", vec![large], 8),
        ("candor.Echo/Unary", vec![compressed], 12),
        ("candor.Echo/Unary", vec![Bytes::from_static(&[0, 0, 0, 0, 9, 1])], 13),
        ("candor.Echo/Unary", vec![framed(&[0x0a, 0xff])], 13),
        ("candor.Echo/Unary", vec![], 13),
        ("candor.Echo/Unary", vec![message("", &[]), message("", &[])], 13),
    ] {
        let reply = call(&server, method, None, &messages);
        assert!(reply.headers_only, "{method} {messages:?}");
        assert_eq!(status(&reply), expected, "{method} {messages:?}");
    }
    let unknown = call(&server, "candor.Echo/Bidi", None, &[Bytes::from_static(&[1, 0, 0, 0, 0])]);
    assert_eq!(status(&unknown), 12);
}

#[test]
fn deadlines_end_calls() {
    let server = start(Config::default());
    let slow = || message("", &[(EVERY_NS, 3_600_000_000_000), (COUNT, 2)]);
    let reply = call(&server, "candor.Echo/Unary", Some("30m"), &[slow()]);
    assert_eq!((status(&reply), reply.headers_only), (4, true));
    let reply = call(&server, "candor.Echo/ServerStream", Some("30m"), &[slow()]);
    assert_eq!((status(&reply), raw(&reply).len()), (4, 1));
    let reply = call(&server, "candor.Echo/Bidi", Some("30m"), &[slow()]);
    assert_eq!((status(&reply), raw(&reply).len()), (4, 0));
    let reply = call(&server, "candor.Echo/Unary", Some("1x"), &[slow()]);
    assert_eq!(status(&reply), 3);
}

#[test]
fn what_is_no_call_is_refused_in_http() {
    let server = start(Config::default());
    assert_eq!(crate::connect(&server).get("/candor.Echo/Unary").status, 415);
    let reply = block_on(async {
        let client = http2::connect(server.address()).await;
        http2::ask(&client, http2::get("/candor.Echo/Unary"), &[]).await
    });
    assert_eq!(reply.status, 415);
}

#[test]
fn reflection_describes_the_service() {
    let server = start(Config::default());
    let ask = |field: u8, argument: &str| {
        let mut request = vec![field << 3 | 2, argument.len() as u8];
        request.extend_from_slice(argument.as_bytes());
        framed(&request)
    };
    let asks = [ask(7, "*"), ask(4, "candor.Echo"), ask(3, "candor/echo.proto"), ask(4, "no.Such")];
    for version in ["v1", "v1alpha"] {
        let method = format!("grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let reply = call(&server, &method, None, &asks);
        assert_eq!(status(&reply), 0);
        let responses = raw(&reply);
        assert_eq!(responses.len(), 4);
        let holds = |at: usize, bytes: &[u8]| {
            responses[at].windows(bytes.len()).any(|window| window == bytes)
        };
        // list_services_response { service { name } }, field 6.
        assert!(holds(0, b"\x32\x0f\x0a\x0d\x0a\x0bcandor.Echo"), "{:?}", responses[0]);
        let file = include_bytes!("../../proto/candor/echo.binpb");
        assert!(holds(1, file) && holds(2, file));
        // error_response { error_code: NOT_FOUND }, field 7.
        assert!(holds(3, b"\x08\x05\x12"), "{:?}", responses[3]);
    }
}

#[test]
fn calls_work_over_tls() {
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    let tls = Some(Certificate::SelfSigned(None));
    let server = Server::bind(Config { tls, ..Config::default() }).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(server.certificate().unwrap()).unwrap()).unwrap();
    let provider = tokio_rustls::rustls::crypto::aws_lc_rs::default_provider();
    let mut config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = server.start();
    let reply = block_on(async {
        let socket = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(std::sync::Arc::new(config)).connect(name, socket).await;
        let client = http2::over(stream.unwrap()).await;
        http2::ask(&client, request("candor.Echo/Unary", None), &[message("s", &[])]).await
    });
    assert_eq!((status(&reply), payloads(&reply)), (0, vec!["s".to_owned()]));
}

#[test]
fn a_message_waits_its_time_before_it_is_echoed() {
    let server = start(Config::default());
    let begin = std::time::Instant::now();
    let waits = message("late", &[(EVERY_NS, 20_000_000)]);
    let reply = call(&server, "candor.Echo/Bidi", None, &[waits, message("next", &[])]);
    assert!(begin.elapsed() >= Duration::from_millis(20));
    assert_eq!(payloads(&reply), ["late", "next"]);
}
