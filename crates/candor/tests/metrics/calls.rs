//! A server of unary calls of gRPC, one after the other. It replies as it is told, and hands on the calls that it takes.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use candor_protocol::h2::hpack::Decoder;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::receiver::Request;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// How it replies to a call.
#[derive(Clone, Copy)]
pub(crate) enum Reply {
    /// With this message.
    Takes(&'static [u8]),
    /// With these trailers alone.
    Fails(&'static [(&'static str, &'static str)]),
    /// With a status of HTTP alone.
    Http(&'static str),
    /// With no HTTP/2.
    Garbage,
    /// By the end of the connection.
    Close,
    /// By nothing.
    Hang,
}

/// Replies so to calls, one after the other, and so to all that follow. It ends with the test's process.
pub(super) fn service(
    replies: &'static [Reply],
    then: Reply,
    tls: Option<ServerConfig>,
) -> (String, Receiver<Request>) {
    let mut replies = replies.iter().copied().chain(std::iter::repeat(then));
    serve(tls, move |_| replies.next().unwrap())
}

/// Has no other method.
pub(super) fn service_of(path: &'static str) -> String {
    let unknown = Reply::Fails(&[("grpc-status", "12"), ("grpc-message", "no such%20method")]);
    let reply = move |call: &Request| {
        let is_there = call.head.starts_with(&format!("POST {path} "));
        if is_there { Reply::Takes(b"") } else { unknown }
    };
    serve(None, reply).0
}

/// Replies by the call.
pub(crate) fn serve(
    tls: Option<ServerConfig>,
    mut reply: impl FnMut(&Request) -> Reply + Send + 'static,
) -> (String, Receiver<Request>) {
    let tls = tls.map(|mut config| {
        config.alpn_protocols = vec![b"h2".to_vec()];
        Arc::new(config)
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (out, calls) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            // A client goes away in the end, or at once, as one that does not trust the certificate.
            let _ = match &tls {
                None => connection(stream, &mut reply, &out),
                Some(config) => {
                    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
                    connection(StreamOwned::new(tls, stream), &mut reply, &out)
                }
            };
        }
    });
    (address, calls)
}

fn connection(
    mut stream: impl Read + Write,
    reply: &mut impl FnMut(&Request) -> Reply,
    out: &Sender<Request>,
) -> io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    stream.write_all(&frame(SETTINGS, 0, 0, b""))?;
    stream.flush()?;
    let mut decoder = Decoder::default();
    loop {
        let (id, call) = read(&mut stream, &mut decoder)?;
        let reply = reply(&call);
        if let Reply::Close = reply {
            return Ok(());
        }
        stream.write_all(&response(id, reply))?;
        stream.flush()?;
        if let Reply::Takes(_) = reply {
            // The test may be over.
            let _ = out.send(call);
        }
    }
}

fn response(id: u32, reply: Reply) -> Vec<u8> {
    let lines = |lines: &[(&str, &str)]| {
        let literal = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        let field =
            |(name, value): &(&str, &str)| [vec![0], literal(name), literal(value)].concat();
        lines.iter().flat_map(field).collect::<Vec<u8>>()
    };
    let begin = [(":status", "200"), ("content-type", "application/grpc+proto")];
    let whole = |block: &[u8]| frame(HEADERS, END_HEADERS | END_STREAM, id, block);
    match reply {
        Reply::Takes(message) => [
            frame(HEADERS, END_HEADERS, id, &lines(&begin)),
            frame(DATA, 0, id, &framed(message)),
            whole(&lines(&[("grpc-status", "0")])),
        ]
        .concat(),
        Reply::Fails(trailers) => whole(&lines(&[&begin[..], trailers].concat())),
        Reply::Http(status) => whole(&lines(&[(":status", status)])),
        Reply::Garbage => b"\x00\x00\x12\x04SSH-2.0\r\n".to_vec(),
        Reply::Close | Reply::Hang => Vec::new(),
    }
}

/// A call and its stream: its head as that of HTTP/1.1, and its message.
fn read(stream: &mut (impl Read + Write), decoder: &mut Decoder) -> io::Result<(u32, Request)> {
    let (mut fields, mut body) = (Vec::new(), Vec::new());
    let id = loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            HEADERS => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let take = |name: &[u8], value: &[u8]| fields.push((text(name), text(value)));
                decoder.decode(&payload, take).unwrap();
            }
            DATA => {
                for of in [0, u32::from_be_bytes(id)] {
                    let by = (payload.len() as u32).to_be_bytes();
                    stream.write_all(&frame(WINDOW_UPDATE, 0, of, &by))?;
                }
                stream.flush()?;
                body.extend(payload);
            }
            _ => continue,
        }
        if flags & END_STREAM != 0 {
            break u32::from_be_bytes(id);
        }
    };
    let message = body.split_off(5);
    assert_eq!([&body[..], &message].concat(), framed(&message));
    let of = |name: &str| &fields.iter().find(|(one, _)| one == name).expect(name).1;
    assert!(["application/grpc", "trailers"] == [of("content-type"), of("te")], "{fields:?}");
    let mut head = format!("{} {} HTTP/2\r\n", of(":method"), of(":path"));
    fields.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    Ok((id, Request { head, body: message }))
}

/// A message behind what is in front of it.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&[0], &(message.len() as u32).to_be_bytes()[..], message].concat()
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &id.to_be_bytes(), payload].concat()
}
