//! A server that costs next to nothing: as many fixed answers as requests came, in one write.
//!
//! What a loader costs shows where the server is not the limit. Requests are told by the empty line
//! that ends them and by nothing else; answers look like nginx's. One thread, epoll, until it is
//! killed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\
    Date: Sat, 21 Nov 2026 20:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\
    Connection: keep-alive\r\n\r\nalive\r\n";
const LISTENER: u64 = u64::MAX;
/// Read at most so much at once; at least four bytes of it are a request.
const BUFFER_BYTES: usize = 64 * 1024;

struct Client {
    stream: TcpStream,
    /// How much of CR LF CR LF came last.
    end_bytes: usize,
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
                    clients.insert(key, Client { stream, end_bytes: 0 });
                }
                continue;
            }
            let Some(client) = clients.get_mut(&key) else { continue };
            let read = client.stream.read(&mut buffer).unwrap_or(0);
            let requests = client.requests(&buffer[..read]);
            let written = client.stream.write_all(&answers[..requests * ANSWER.len()]);
            if read == 0 || written.is_err() {
                clients.remove(&key);
            }
        }
    }
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
