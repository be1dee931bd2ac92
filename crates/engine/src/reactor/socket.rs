//! What reactors share: where to connect, sockets and their errors, and sending.
//!
//! Every real reactor opens sockets, and writes to them, in the same way; they differ in how they
//! are told that something came. Nothing here waits.

use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZero, NonZeroU64};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::Timespec;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind,
    connect, shutdown, socket_with, sockopt,
};

use candor_protocol::Transport;
use candor_record::ConnectErrorKind;

use super::clock::Clock;
use super::{ConnectCause, ConnectFailure, IoFailure, Received, Route, Sent, datagram, scm};

const NS_PER_S: u64 = 1_000_000_000;

/// Where connections go and how their sockets are set up.
#[derive(Debug, Clone)]
pub struct Dialer {
    /// The addresses of each target, used in turn; at least one.
    pub targets: Lists,
    /// The same as names are resolved to later on; `None`: they are not resolved again.
    pub names: Option<Arc<Names>>,
    /// Local addresses to connect from, used in turn; may be empty.
    pub sources: Arc<[IpAddr]>,
    /// Set TCP_NODELAY.
    pub nodelay: bool,
    /// What connections to each target are.
    pub transports: Arc<[Transport]>,
}

/// The addresses of each target.
pub type Lists = Arc<[Arc<[Listed]>]>;

/// An address in the list of its target. Its place there is its number for the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The address.
    pub address: Address,
    /// The target's name no longer has it.
    pub is_gone: bool,
}

impl From<Address> for Listed {
    fn from(address: Address) -> Self {
        Listed { address, is_gone: false }
    }
}

/// Where threads that resolve names leave what they find, for workers that look at it now and then.
#[derive(Debug)]
pub struct Names(Mutex<Lists>);

impl Names {
    /// These, to begin with.
    pub fn new(lists: Lists) -> Self {
        Names(Mutex::new(lists))
    }

    /// One target has this list from now on.
    pub(crate) fn put(&self, target: usize, list: Arc<[Listed]>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = lists.to_vec();
        all[target] = list;
        *lists = all.into();
    }

    /// What there is now, unless somebody puts something there at this very moment: a worker waits for nothing.
    fn take(&self) -> Option<Lists> {
        self.0.try_lock().ok().map(|lists| Arc::clone(&lists))
    }
}

/// An address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host and a port: TCP, or UDP for [`Transport::Datagrams`].
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Whether it is certainly of this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Dialer {
    pub(super) fn address(&self, to: Route) -> &Address {
        &self.listed(to.target, to.address).address
    }

    pub(super) fn listed(&self, target: u16, address: u32) -> &Listed {
        &self.targets[usize::from(target)][address as usize]
    }

    /// Takes what names were resolved to meanwhile. Whether that is something else.
    pub(super) fn refresh(&mut self) -> bool {
        let found = self.names.as_ref().and_then(|names| names.take());
        let found = found.filter(|found| !Arc::ptr_eq(found, &self.targets));
        found.map(|found| self.targets = found).is_some()
    }

    /// What a connection is.
    pub(super) fn transport(&self, to: Route) -> Transport {
        self.transports[usize::from(to.target)]
    }

    /// A socket that does not block, on its way.
    pub(super) fn dial(&self, to: Route) -> Result<OwnedFd, ConnectFailure> {
        self.open_socket(to).map_err(|errno| self.failure(to, errno))
    }

    /// Whether the attempt of `fd` has succeeded; `Ok(false)`: it is going on.
    pub(super) fn outcome(&self, to: Route, fd: &OwnedFd) -> Result<bool, ConnectFailure> {
        let result = sockopt::socket_error(fd).and_then(|pending| pending);
        result.map_err(|errno| self.failure(to, errno))?;
        // No pending error may also mean that the attempt is still going on.
        match rustix::net::getpeername(fd) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(errno) => Err(self.failure(to, errno)),
        }
    }

    /// The failure of an attempt.
    pub(super) fn failure(&self, to: Route, errno: Errno) -> ConnectFailure {
        let kind = match errno {
            // A unix socket without a file, and one with a full backlog, mean the same to a user.
            Errno::CONNREFUSED | Errno::NOENT => ConnectErrorKind::Refused,
            Errno::TIMEDOUT => ConnectErrorKind::Timeout,
            Errno::NETUNREACH | Errno::HOSTUNREACH => ConnectErrorKind::Unreachable,
            Errno::CONNRESET => ConnectErrorKind::Reset,
            // A connection without a local address lacks a port by the first, one with an address by the second:
            // bind chooses its port before it knows where the connection goes.
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => ConnectErrorKind::PortsExhausted,
            Errno::MFILE | Errno::NFILE => ConnectErrorKind::FdsExhausted,
            _ => ConnectErrorKind::Other,
        };
        let why = ConnectCause::System(errno.raw_os_error());
        ConnectFailure { kind, to: self.address(to).to_string(), why }
    }

    fn open_tcp(&self, address: &SocketAddr, flags: SocketFlags) -> Result<OwnedFd, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let fd = socket_with(family, SocketType::STREAM, flags, None)?;
        if self.nodelay {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        Ok(fd)
    }

    fn open_socket(&self, to: Route) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let in_progress = |result: Result<(), Errno>| match result {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            Err(errno) => Err(errno),
        };
        match self.address(to) {
            Address::Tcp(address) => {
                let fd = match self.transport(to) {
                    Transport::Stream => self.open_tcp(address, flags)?,
                    Transport::Datagrams => datagram::open(address)?,
                };
                let sources = &self.sources;
                let usable = || sources.iter().filter(|one| one.is_ipv4() == address.is_ipv4());
                if let Some(count) = NonZero::new(usable().count() as u64)
                    && let Some(source) = usable().nth((to.turn % count) as usize)
                {
                    // The port is chosen when the destination is known, so that each has all of them. Kernels that
                    // do not have this choose it now.
                    let (level, name) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
                    let _ = scm::set_option(&fd, level, name, 1);
                    bind(&fd, &SocketAddr::new(*source, 0))?;
                }
                in_progress(connect(&fd, address))?;
                Ok(fd)
            }
            Address::Unix(_) if self.transport(to) == Transport::Datagrams => {
                Err(Errno::PROTONOSUPPORT)
            }
            Address::Unix(path) => {
                let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                in_progress(connect(&fd, &SocketAddrUnix::new(path.as_path())?))?;
                Ok(fd)
            }
        }
    }
}

/// Writes `slices` in order, as much as the kernel takes.
#[inline]
pub(super) fn send(fd: &OwnedFd, slices: &[IoSlice<'_>]) -> Sent {
    match send_slices(fd, slices) {
        Ok(n) => Sent::Written(n),
        Err(Errno::AGAIN) => Sent::Blocked,
        Err(errno) => Sent::Failed(io_failure(errno)),
    }
}

#[inline]
pub(super) fn send_slices(fd: &OwnedFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    match slices {
        [only] => send_bytes(fd, only),
        // The standard library ignores SIGPIPE in every Rust program, so that writev, which has
        // no such flag, is safe too.
        _ => until_done(|| rustix::io::writev(fd, slices)),
    }
}

/// Reads what there is, at most as much as fits. Zero: the peer has ended.
#[inline]
pub(super) fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // Not read(2), which goes to the socket by way of the file system.
    until_done(|| rustix::net::recv(fd, &mut *buffer, RecvFlags::empty()).map(|(bytes, _)| bytes))
}

/// What [`receive`] into `buffer` found.
#[inline]
pub(super) fn received<'b>(
    result: Result<usize, Errno>,
    buffer: &'b [u8],
    clock: &mut Clock,
) -> Received<'b> {
    if matches!(result, Err(Errno::AGAIN)) {
        clock.time_passed();
        return Received::Nothing;
    }
    let at_ns = clock.now_ns();
    match result {
        Ok(0) => Received::End { at_ns },
        Ok(bytes) => {
            Received::Bytes { bytes: &buffer[..bytes], at_ns, more: bytes == buffer.len() }
        }
        Err(errno) => Received::Failed { error: io_failure(errno), at_ns },
    }
}

/// Writes `bytes`, as much as the kernel takes.
#[inline]
fn send_bytes(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    until_done(|| rustix::net::send(fd, bytes, SendFlags::NOSIGNAL))
}

#[inline]
fn until_done(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// The local and the remote address of a connection over IP.
pub(super) fn endpoints(fd: &OwnedFd) -> Option<(SocketAddr, SocketAddr)> {
    let local = rustix::net::getsockname(fd).ok()?.try_into().ok()?;
    Some((local, rustix::net::getpeername(fd).ok()??.try_into().ok()?))
}

/// Acknowledges what was received, if the kernel delays that; not every kind of socket can.
pub(super) fn acknowledge(fd: &OwnedFd) -> bool {
    sockopt::set_tcp_quickack(fd, true).is_ok()
}

/// Sends nothing more: the peer reads what was sent, and then the end.
pub(super) fn end_sending(fd: &OwnedFd) {
    // It fails where the connection is broken, which the next read says better.
    let _ = shutdown(fd, Shutdown::Write);
}

/// How an established connection broke.
pub(super) fn io_failure(errno: Errno) -> IoFailure {
    IoFailure {
        reset: matches!(
            errno,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED | Errno::CONNREFUSED
        ),
        refused: errno == Errno::CONNREFUSED,
        message: std::io::Error::from(errno).to_string(),
    }
}

/// A time span in the kernel's terms.
pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ }
}

/// Lets this thread wake when it asked to: the kernel may round a sleep up by the timer slack,
/// 50 µs by default, 1 ns here. Failing costs punctuality and nothing else, and shows as send lag.
pub(super) fn wake_punctually() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
