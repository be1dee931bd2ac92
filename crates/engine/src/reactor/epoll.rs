//! The epoll reactor: Linux, any kernel.
//!
//! Sockets are registered once, edge-triggered, for reading, writing and the peer's end at the
//! same time, so that no `epoll_ctl` is needed afterwards. A read that fills less than the buffer
//! is the last one unless the peer has ended: no read is made only to be told EAGAIN.

use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with,
    sockopt,
};
use rustix::time::{ClockId, clock_gettime};

use candor_record::ConnectErrorKind;

use super::{ConnectFailure, IoFailure, Key, Reactor, Ready, Received, Sent};

/// Read at most so much at once. Large enough for a 64 KiB answer in one call.
const BUFFER_BYTES: usize = 128 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 512;
const NS_PER_S: u64 = 1_000_000_000;

/// Where connections go and how their sockets are set up.
#[derive(Debug, Clone)]
pub struct Dialer {
    /// Addresses, used in turn; at least one.
    pub addresses: Arc<[Address]>,
    /// Local addresses to connect from, used in turn; may be empty.
    pub sources: Arc<[IpAddr]>,
    /// Set TCP_NODELAY.
    pub nodelay: bool,
}

/// An address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(std::path::PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[derive(Debug, Default)]
struct Socket {
    fd: Option<OwnedFd>,
    /// Tells a key's present socket from its former ones in events.
    generation: u32,
    turn: u64,
}

/// A reactor that has not met its thread yet. Making one can fail; starting it cannot.
#[derive(Debug)]
pub struct Unstarted {
    epoll: OwnedFd,
    dialer: Dialer,
}

/// Sockets and clock of one worker, on epoll.
pub struct EpollReactor {
    epoll: OwnedFd,
    dialer: Dialer,
    sockets: Vec<Socket>,
    origin_ns: u64,
    events: Vec<Event>,
    next_event: usize,
    buffer: Box<[u8]>,
}

impl Unstarted {
    /// A reactor without sockets. Fails, among other things, on a kernel before 5.11, which
    /// cannot wait for less than a millisecond.
    pub fn new(dialer: Dialer) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut events = Vec::with_capacity(1);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&at_once))?;
        Ok(Unstarted { epoll, dialer })
    }

    /// The reactor, for the calling thread.
    pub fn start(self) -> EpollReactor {
        // The kernel may round a sleep up by the timer slack: 50 µs by default, 1 ns here.
        // Failing costs punctuality and nothing else, and shows as send lag.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        EpollReactor {
            epoll: self.epoll,
            dialer: self.dialer,
            sockets: Vec::new(),
            origin_ns: 0,
            events: Vec::with_capacity(EVENTS),
            next_event: 0,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        }
    }
}

impl EpollReactor {
    fn address(&self, turn: u64) -> &Address {
        let addresses = &self.dialer.addresses;
        &addresses[(turn % addresses.len() as u64) as usize]
    }

    fn failure(&self, turn: u64, errno: Errno) -> ConnectFailure {
        let kind = match errno {
            // A unix socket without a file, and one with a full backlog, mean the same to a user.
            Errno::CONNREFUSED | Errno::NOENT => ConnectErrorKind::Refused,
            Errno::TIMEDOUT => ConnectErrorKind::Timeout,
            Errno::NETUNREACH | Errno::HOSTUNREACH => ConnectErrorKind::Unreachable,
            Errno::CONNRESET => ConnectErrorKind::Reset,
            Errno::ADDRNOTAVAIL => ConnectErrorKind::PortsExhausted,
            Errno::MFILE | Errno::NFILE => ConnectErrorKind::FdsExhausted,
            _ => ConnectErrorKind::Other,
        };
        let system = std::io::Error::from(errno);
        ConnectFailure { kind, message: format!("{}: {system}", self.address(turn)) }
    }

    fn open_socket(&self, turn: u64) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let in_progress = |result: Result<(), Errno>| match result {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            Err(errno) => Err(errno),
        };
        match self.address(turn) {
            Address::Tcp(address) => {
                let family =
                    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let fd = socket_with(family, SocketType::STREAM, flags, None)?;
                if self.dialer.nodelay {
                    sockopt::set_tcp_nodelay(&fd, true)?;
                }
                let sources = &self.dialer.sources;
                let usable = || sources.iter().filter(|one| one.is_ipv4() == address.is_ipv4());
                if let Some(count) = std::num::NonZero::new(usable().count() as u64)
                    && let Some(source) = usable().nth((turn % count) as usize)
                {
                    bind(&fd, &SocketAddr::new(*source, 0))?;
                }
                in_progress(connect(&fd, address))?;
                Ok(fd)
            }
            Address::Unix(path) => {
                let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                in_progress(connect(&fd, &SocketAddrUnix::new(path.as_path())?))?;
                Ok(fd)
            }
        }
    }

    fn slot(&mut self, key: Key) -> &mut Socket {
        let index = key as usize;
        if index >= self.sockets.len() {
            self.sockets.resize_with(index + 1, Socket::default);
        }
        &mut self.sockets[index]
    }

    fn monotonic_ns() -> u64 {
        let t = clock_gettime(ClockId::Monotonic);
        t.tv_sec as u64 * NS_PER_S + t.tv_nsec as u64
    }
}

fn io_failure(errno: Errno) -> IoFailure {
    IoFailure {
        reset: matches!(errno, Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED),
        message: std::io::Error::from(errno).to_string(),
    }
}

impl Reactor for EpollReactor {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        Self::monotonic_ns().saturating_sub(self.origin_ns)
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.origin_ns += origin_ns;
    }

    fn connect(&mut self, key: Key, turn: u64) -> Result<(), ConnectFailure> {
        self.close(key);
        let fd = self.open_socket(turn).map_err(|errno| self.failure(turn, errno))?;
        let socket = self.slot(key);
        socket.turn = turn;
        let data = EventData::new_u64(u64::from(socket.generation) << 32 | u64::from(key));
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, data, interest).map_err(|errno| self.failure(turn, errno))?;
        self.slot(key).fd = Some(fd);
        Ok(())
    }

    fn finish_connect(&mut self, key: Key) -> Result<bool, ConnectFailure> {
        let socket = &self.sockets[key as usize];
        let Some(fd) = &socket.fd else { return Ok(false) };
        let result = sockopt::socket_error(fd).and_then(|pending| pending);
        let turn = socket.turn;
        result.map_err(|errno| self.failure(turn, errno))?;
        // No pending error may also mean that the attempt is still going on.
        match rustix::net::getpeername(fd) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(errno) => Err(self.failure(turn, errno)),
        }
    }

    #[inline]
    fn receive(&mut self, key: Key) -> Received<'_> {
        let Some(fd) = &self.sockets[key as usize].fd else { return Received::Nothing };
        let result = loop {
            match rustix::io::read(fd, &mut self.buffer[..]) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let at_ns = Self::monotonic_ns().saturating_sub(self.origin_ns);
        match result {
            Ok(0) => Received::End { at_ns },
            Ok(n) => {
                Received::Bytes { bytes: &self.buffer[..n], at_ns, more: n == self.buffer.len() }
            }
            Err(Errno::AGAIN) => Received::Nothing,
            Err(errno) => Received::Failed { error: io_failure(errno), at_ns },
        }
    }

    #[inline]
    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        let Some(fd) = &self.sockets[key as usize].fd else { return Sent::Blocked };
        let result = loop {
            let one = match slices {
                [only] => rustix::net::send(fd, only, SendFlags::NOSIGNAL),
                // The standard library ignores SIGPIPE in every Rust program, so that writev,
                // which has no such flag, is safe too.
                _ => rustix::io::writev(fd, slices),
            };
            match one {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        match result {
            Ok(n) => Sent::Written(n),
            Err(Errno::AGAIN) => Sent::Blocked,
            Err(errno) => Sent::Failed(io_failure(errno)),
        }
    }

    fn close(&mut self, key: Key) {
        let socket = self.slot(key);
        socket.generation = socket.generation.wrapping_add(1);
        // Closing the descriptor takes it out of the epoll set: there is no other copy of it.
        socket.fd = None;
    }

    fn wait(&mut self, until_ns: u64) {
        self.events.clear();
        self.next_event = 0;
        let now_ns = self.now_ns();
        let left_ns = until_ns.saturating_sub(now_ns);
        let timeout =
            Timespec { tv_sec: (left_ns / NS_PER_S) as i64, tv_nsec: (left_ns % NS_PER_S) as _ };
        let buffer = rustix::buffer::spare_capacity(&mut self.events);
        // EINTR is an empty answer: the worker looks at its flags and comes again.
        let _ = epoll::wait(self.epoll.as_fd(), buffer, Some(&timeout));
    }

    #[inline]
    fn next_ready(&mut self) -> Option<Ready> {
        loop {
            let event = self.events.get(self.next_event)?;
            self.next_event += 1;
            let (data, flags) = (event.data.u64(), event.flags);
            let key = data as u32;
            if self.sockets[key as usize].generation != (data >> 32) as u32 {
                continue;
            }
            let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            return Some(Ready {
                key,
                readable: ended || flags.contains(EventFlags::IN),
                writable: flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP),
                ended,
            });
        }
    }
}
