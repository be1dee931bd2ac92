//! A socket that can be made to fail.
//!
//! hyper writes whole responses at once and closes politely. Under a fault, this wrapper writes
//! them in pieces, or returns an error in the middle: then hyper drops the connection, and the
//! kernel sends the FIN or the reset of the fault.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;
use crate::truth::now_ns;

/// What hyper reads from and writes to: one type, so that hyper is compiled once.
pub(crate) type Bytes = Box<dyn ReadWrite>;

/// Bytes in both directions.
pub(crate) trait ReadWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ReadWrite for S {}

/// A TCP or unix socket.
pub(crate) trait Socket: ReadWrite + AsFd {}

impl<S: ReadWrite + AsFd> Socket for S {}

pub(crate) struct Stream {
    socket: Box<dyn Socket>,
    connection: Arc<Connection>,
}

impl Stream {
    pub(crate) fn new(socket: impl Socket + 'static, connection: Arc<Connection>) -> Self {
        Stream { socket: Box::new(socket), connection }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether a header and the bytes after it are written separately.
    fn splits(&self) -> bool {
        self.connection.shared.faults.split_writes
    }

    /// From now on, closing the socket resets the connection: with a linger time of zero the kernel
    /// drops unsent bytes and sends RST.
    fn reset(&self) -> io::Error {
        match rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO)) {
            Ok(()) => io::ErrorKind::ConnectionReset.into(),
            Err(errno) => errno.into(),
        }
    }
}

/// Up to the end of the header, if one ends in these bytes and something follows it.
fn first_part(bytes: &[u8]) -> &[u8] {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    &bytes[..end.unwrap_or(bytes.len())]
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl Stream {
    /// When a write begins that takes parts along; 0 if it takes none.
    fn begun_ns(&self) -> u64 {
        if self.connection.parts_leave() { now_ns() } else { 0 }
    }

    /// Counts and logs the parts that a write has taken along.
    fn wrote_parts(&self, begun_ns: u64, wrote: &io::Result<usize>) {
        if begun_ns > 0 && wrote.is_ok() {
            self.connection.parts_departed(begun_ns);
        }
    }

    /// Writes as much as the connection's faults allow.
    fn write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(writable) = self.connection.writable_bytes() else {
            let now = if self.splits() { first_part(bytes) } else { bytes };
            return Pin::new(&mut self.socket).poll_write(cx, now);
        };
        if writable == 0 {
            return Poll::Ready(Err(self.reset()));
        }
        let most = bytes.len().min(usize::try_from(writable).unwrap_or(usize::MAX));
        let wrote = ready!(Pin::new(&mut self.socket).poll_write(cx, &bytes[..most]))?;
        self.connection.wrote(wrote);
        Poll::Ready(Ok(wrote))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let begun_ns = self.begun_ns();
        let wrote = ready!(self.as_mut().write(cx, bytes));
        self.wrote_parts(begun_ns, &wrote);
        Poll::Ready(wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.connection.writable_bytes().is_none() && !self.splits() {
            let begun_ns = self.begun_ns();
            let wrote = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, slices));
            self.wrote_parts(begun_ns, &wrote);
            return Poll::Ready(wrote);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.poll_write(cx, first.map_or(&[], |slice| &slice[..]))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// hyper calls this when its own buffer is empty, that is when all of it was written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        if self.connection.flushed() {
            return Poll::Ready(Err(io::Error::other("closed by an ordered fault")));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
