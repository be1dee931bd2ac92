//! A server that costs next to nothing: as many fixed answers as requests came, in one write.
//!
//! What a loader costs shows where the server is not the limit. Requests are told by the empty line
//! that ends them and by nothing else; answers look like nginx's. A request for a WebSocket opens one, and
//! each short frame on it has a fixed frame as its answer. One thread, epoll, until it is killed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\
    Date: Sat, 21 Nov 2026 20:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\
    Connection: keep-alive\r\n\r\nalive\r\n";
/// A frame of text, "hello, world".
const ECHO: &[u8] = b"\x81\x0chello, world";
/// The frame that closes a WebSocket, with code 1000.
const CLOSE: &[u8] = b"\x88\x02\x03\xe8";
/// Of a client's short frame: two bytes and the mask.
const HEADER_BYTES: usize = 6;
const LISTENER: u64 = u64::MAX;
/// Read at most so much at once; at least four bytes of it are a request.
const BUFFER_BYTES: usize = 64 * 1024;

struct Client {
    stream: TcpStream,
    /// How much of CR LF CR LF came last.
    end_bytes: usize,
    is_websocket: bool,
}

/// Serves on `address`.
pub(crate) fn serve(address: &str) {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let poll = epoll::create(CreateFlags::CLOEXEC).unwrap();
    epoll::add(&poll, &listener, EventData::new_u64(LISTENER), EventFlags::IN).unwrap();
    let mut clients = HashMap::new();
    let mut events = Vec::with_capacity(512);
    let mut buffer = vec![0; BUFFER_BYTES];
    let answers = ANSWER.repeat(BUFFER_BYTES / 4);
    let echoes = ECHO.repeat(BUFFER_BYTES / HEADER_BYTES);
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let key = event.data.u64();
            if key == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true).unwrap();
                    stream.set_nonblocking(true).unwrap();
                    let key = stream.as_raw_fd() as u64;
                    epoll::add(&poll, &stream, EventData::new_u64(key), EventFlags::IN).unwrap();
                    clients.insert(key, Client { stream, end_bytes: 0, is_websocket: false });
                }
                continue;
            }
            let Some(client) = clients.get_mut(&key) else { continue };
            let read = client.stream.read(&mut buffer).unwrap_or(0);
            let bytes = &buffer[..read];
            let written = if client.is_websocket && bytes.first().is_some_and(|one| one & 15 == 8) {
                client.stream.write_all(CLOSE)
            } else if client.is_websocket {
                let count = frames(bytes);
                client.stream.write_all(&echoes[..count * ECHO.len()])
            } else if let Some(opening) = opening(bytes) {
                client.is_websocket = true;
                client.stream.write_all(opening.as_bytes())
            } else {
                let requests = client.requests(bytes);
                client.stream.write_all(&answers[..requests * ANSWER.len()])
            };
            if read == 0 || written.is_err() {
                clients.remove(&key);
            }
        }
    }
}

/// The response to a request for a WebSocket, if it is one.
fn opening(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, key) = text.split_once("Sec-WebSocket-Key: ")?;
    let accept = candor_protocol::ws::accept_of(key.split("\r\n").next()?.as_bytes());
    Some(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    ))
}

/// How many short frames these bytes are. A client that waits for each answer has none in two pieces.
fn frames(mut bytes: &[u8]) -> usize {
    let mut frames = 0;
    while let [_, length, ..] = bytes {
        frames += 1;
        bytes = bytes.get(HEADER_BYTES + usize::from(length & 0x7f)..).unwrap_or_default();
    }
    frames
}

impl Client {
    /// How many requests end in `bytes`.
    fn requests(&mut self, bytes: &[u8]) -> usize {
        let mut requests = 0;
        for byte in bytes {
            self.end_bytes = match (self.end_bytes, byte) {
                (0 | 2, b'\r') | (1, b'\n') => self.end_bytes + 1,
                (3, b'\n') => {
                    requests += 1;
                    0
                }
                (_, b'\r') => 1,
                _ => 0,
            };
        }
        requests
    }
}
