//! Listening sockets with a backlog large enough for a storm of connections. The standard library's
//! backlog is about 128, and a client retries a dropped connection only after a second.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{bind, listen, socket_with, sockopt};

/// As many as the kernel's `somaxconn` allows by default.
const BACKLOG: i32 = 4096;

/// Listens on `address`, not blocking.
pub(crate) fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = open(family)?;
    // Otherwise a restart would have to wait for the TIME_WAIT of old connections.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// A UDP port, not blocking, with room for bursts as far as the kernel allows it.
pub(crate) fn udp(address: SocketAddr) -> io::Result<UdpSocket> {
    const ROOM_BYTES: usize = 8 << 20;
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    // The kernel takes as much of it as it may, and what it drops is sent again.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, ROOM_BYTES);
    let _ = sockopt::set_socket_send_buffer_size(&socket, ROOM_BYTES);
    Ok(socket)
}

/// A TCP port, and the UDP port of the same number.
pub(crate) fn tcp_and_udp(address: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    /// A free TCP port may be taken by another program as a UDP port.
    const TRIES: u32 = 20;
    let mut tried = 0;
    loop {
        let tcp = tcp(address)?;
        match udp(tcp.local_addr()?) {
            Err(error) if address.port() != 0 || tried == TRIES => return Err(error),
            Err(_) => tried += 1,
            Ok(udp) => return Ok((tcp, udp)),
        }
    }
}

/// Listens on the unix socket `path`, without blocking. Replaces a stale socket without a listener.
pub(crate) fn unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let socket = open(AddressFamily::UNIX)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

fn open(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Raises the number of files this process may open to the most it is allowed. A connection needs a
/// descriptor, and the usual limit of 1024 is too low for a target.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Even if this fails, the server can run; a lack of descriptors shows in `accept_errors`.
    let _ = setrlimit(Resource::Nofile, limit);
}
