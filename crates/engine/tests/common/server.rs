//! A server for thousands of connections: one thread, the same answer to every request.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;

use candor_engine::reactor::socket::Address;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

const LISTENER: u64 = u64::MAX;

/// It stops when dropped.
pub(crate) struct Server {
    pub(crate) address: Address,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    stop: AtomicBool,
    requests: AtomicU64,
    connections: AtomicU64,
}

impl Server {
    /// On a free port of `address`.
    pub(crate) fn tcp(address: &str, answer: Vec<u8>) -> std::io::Result<Server> {
        let address: SocketAddr = address.parse().expect("an address");
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let listener = socket(family)?;
        rustix::net::bind(&listener, &address)?;
        let bound: SocketAddr = rustix::net::getsockname(&listener)?.try_into()?;
        Server::listen(listener, Address::Tcp(bound), answer)
    }

    /// On a unix socket.
    pub(crate) fn unix(path: &Path, answer: Vec<u8>) -> std::io::Result<Server> {
        let listener = socket(AddressFamily::UNIX)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(path)?)?;
        Server::listen(listener, Address::Unix(PathBuf::from(path)), answer)
    }

    fn listen(listener: OwnedFd, address: Address, answer: Vec<u8>) -> std::io::Result<Server> {
        rustix::net::listen(&listener, 4096)?;
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let thread = std::thread::spawn(move || serve(&listener, &answer, &shared));
        Ok(Server { address, counts, thread: Some(thread) })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.counts.requests.load(SeqCst)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.counts.connections.load(SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.counts.stop.store(true, SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn socket(family: AddressFamily) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn serve(listener: &OwnedFd, answer: &[u8], counts: &Counts) {
    let set = epoll::create(CreateFlags::CLOEXEC).expect("epoll");
    epoll::add(&set, listener, EventData::new_u64(LISTENER), EventFlags::IN).expect("add");
    // A connection, and how many bytes of the end of a request have come.
    let mut connections: HashMap<u64, (OwnedFd, usize)> = HashMap::new();
    let mut events = Vec::with_capacity(256);
    let pause = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    let mut bytes = vec![0; 64 * 1024];
    while !counts.stop.load(SeqCst) {
        events.clear();
        let _ = epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&pause));
        for event in &events {
            let id = event.data.u64();
            if id == LISTENER {
                while let Ok(new) = rustix::net::accept_with(listener, SocketFlags::NONBLOCK) {
                    let id = new.as_raw_fd() as u64;
                    counts.connections.fetch_add(1, SeqCst);
                    epoll::add(&set, &new, EventData::new_u64(id), EventFlags::IN).expect("add");
                    connections.insert(id, (new, 0));
                }
                continue;
            }
            let (connection, seen) = connections.get_mut(&id).expect("a connection");
            let alive = match rustix::io::read(&*connection, &mut bytes[..]) {
                Ok(0) => false,
                Ok(n) => {
                    let requests = count_ends(&bytes[..n], seen);
                    counts.requests.fetch_add(requests, SeqCst);
                    (0..requests).all(|_| write_all(connection, answer, counts))
                }
                Err(rustix::io::Errno::AGAIN) => true,
                Err(_) => false,
            };
            if !alive {
                connections.remove(&id);
            }
        }
    }
}

/// Counts empty lines, also ones that came in pieces.
fn count_ends(bytes: &[u8], seen: &mut usize) -> u64 {
    let end = b"\r\n\r\n";
    let mut count = 0;
    for &byte in bytes {
        *seen = match byte {
            byte if byte == end[*seen] => *seen + 1,
            b'\r' => 1,
            _ => 0,
        };
        if *seen == end.len() {
            count += 1;
            *seen = 0;
        }
    }
    count
}

fn write_all(connection: &OwnedFd, mut bytes: &[u8], counts: &Counts) -> bool {
    let pause = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    while !bytes.is_empty() {
        match rustix::net::send(connection, bytes, SendFlags::NOSIGNAL) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(connection, PollFlags::OUT)], Some(&pause));
                if counts.stop.load(SeqCst) {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    true
}
