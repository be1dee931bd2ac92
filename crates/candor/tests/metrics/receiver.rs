//! A receiver of metrics that are sent by POST. It replies as it is told, and hands on the requests that it accepts.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::common::{CANDOR, Candor, Outcome};

/// How it replies to a request.
#[derive(Clone, Copy)]
pub(super) enum Reply {
    Status(u16),
    /// With 200 and this body.
    Body(&'static [u8]),
    /// With a status and header lines, by the request.
    Head(fn(&Request) -> String),
    /// With a status, and the end of the connection in a header field.
    CutOff,
    /// With no HTTP.
    Garbage,
    /// By the end of the connection.
    Close,
}

/// A request that it accepted.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Replies so to requests, one after the other, and accepts all that follow. It ends with the test's process, as the others.
pub(super) fn receiver(replies: &'static [Reply]) -> (String, Receiver<Request>) {
    start(replies, Reply::Status(204), None)
}

/// The same, with another reply to all that follow.
pub(super) fn receiver_then(replies: &'static [Reply], then: Reply) -> (String, Receiver<Request>) {
    start(replies, then, None)
}

/// Has nothing but this path.
pub(super) fn receiver_of(path: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let Some(request) = read(&mut stream) else { continue };
            let is_there = request.head.starts_with(&format!("POST {path} "));
            let status = if is_there { 200 } else { 404 };
            let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        }
    });
    address
}

/// How a receiver on this machine speaks TLS, and its certificate, which nobody else has signed, as PEM.
pub(super) fn certified() -> (ServerConfig, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(
        vec![certificate.der().clone()],
        PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    );
    (config.unwrap(), certificate.pem())
}

/// A short run with the output `out`, on a system that trusts `certificate` alone.
pub(super) fn run_trusting(certificate: &str, out: &str, url: &str) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        let file = directory.join("trusted.pem");
        fs::write(&file, certificate).unwrap();
        command.args(["-c", "1", "-d", "300ms", "--interval", "100ms", "--out", out, url]);
        command.env("SSL_CERT_FILE", file).current_dir(directory);
    });
    run.finish()
}

/// The same over TLS.
pub(super) fn secure_receiver(config: ServerConfig) -> (String, Receiver<Request>) {
    start(&[], Reply::Status(204), Some(Arc::new(config)))
}

fn start(
    replies: &'static [Reply],
    then: Reply,
    tls: Option<Arc<ServerConfig>>,
) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (out, requests) = channel();
    thread::spawn(move || {
        let replies = replies.iter().copied().chain(std::iter::repeat(then));
        for (stream, reply) in listener.incoming().zip(replies) {
            let stream = stream.unwrap();
            match &tls {
                None => serve(stream, reply, &out),
                Some(config) => {
                    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
                    serve(StreamOwned::new(connection, stream), reply, &out);
                }
            }
        }
    });
    (address, requests)
}

/// A request; `None`: the client is gone, as one that does not trust the certificate.
fn read(stream: &mut impl Read) -> Option<Request> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&part[..count]),
            _ => return None,
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&bytes[..end]).unwrap().to_owned();
        let length = head.split_once("Content-Length: ").unwrap().1;
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        if bytes.len() == end + 4 + length {
            return Some(Request { head, body: bytes.split_off(end + 4) });
        }
    }
}

fn serve(mut stream: impl Read + Write, reply: Reply, out: &Sender<Request>) {
    let Some(request) = read(&mut stream) else { return };
    // A receiver that is gone is seen by the client alone.
    match reply {
        Reply::Status(status) => {
            let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
            if status == 204 {
                let _ = out.send(request);
            }
        }
        Reply::Body(body) => {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(body);
        }
        Reply::Head(head) => {
            let head = head(&request);
            let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
            if head.starts_with("204") {
                let _ = out.send(request);
            }
        }
        Reply::CutOff => drop(stream.write_all(b"HTTP/1.1 204 X\r\nX: a")),
        Reply::Garbage => drop(stream.write_all(b"\x00\x00\x12\x04SSH-2.0\r\n")),
        Reply::Close => {}
    }
    let _ = stream.flush();
}
