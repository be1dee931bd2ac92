//! Plays a script on one connection, in a thread of its own.
//!
//! Every wait ends soon after the peer was stopped: socket operations time out and look up, long
//! sleeps are cut into short ones.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection};

use super::secure::Sealer;
use super::{LOOK_UP, Script, Shared, Step};

/// One connection of a [`Peer`](super::Peer), as the script or function sees it.
#[derive(Debug)]
pub struct Player {
    stream: TcpStream,
    // With it, the bytes read and written are those within TLS.
    tls: Option<Box<ServerConnection>>,
    shared: Arc<Shared>,
    generation: u64,
    // Read and not yet part of a request that was counted.
    unread: Vec<u8>,
}

/// The connection is over: the other side closed it, or the peer was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over;

impl Player {
    pub(super) fn new(stream: TcpStream, shared: Arc<Shared>, generation: u64) -> Self {
        // These fail only on a connection that is gone already, and the first read says that.
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(LOOK_UP));
        let _ = stream.set_write_timeout(Some(LOOK_UP));
        Player { stream, tls: None, shared, generation, unread: Vec::new() }
    }

    /// Does the steps of a script, to its end or that of the connection.
    pub fn play(&mut self, script: &Script) -> Result<(), Over> {
        let mut steps = script.steps().iter();
        while let Some(step) = steps.next() {
            match step {
                Step::ReadRequest => self.read_request()?,
                Step::ReadH2Request => {
                    self.read_h2_request()?;
                }
                Step::Write(bytes) => self.write(bytes)?,
                Step::Drip(bytes, gap) => self.drip(bytes, *gap)?,
                Step::WriteForever(bytes, gap) => return self.write_forever(bytes, *gap),
                Step::Sleep(time) => self.sleep(*time)?,
                Step::Nodelay(on) => self.stream.set_nodelay(*on).map_err(|_| Over)?,
                Step::Hang => loop {
                    self.read_request()?;
                },
                Step::Close => return Ok(()),
                Step::Reset => return self.reset(),
                Step::Loop => {
                    self.look_up()?;
                    steps = script.steps().iter();
                }
            }
        }
        Ok(())
    }

    /// From here on, reads and writes go through TLS. The handshake takes place with the first of
    /// them.
    pub fn secure(&mut self, config: &Arc<ServerConfig>) -> Result<(), Over> {
        let connection = ServerConnection::new(Arc::clone(config)).map_err(|_| Over)?;
        self.tls = Some(Box::new(connection));
        Ok(())
    }

    /// Takes the keys of the TLS connection, for records that no library would write. Later writes
    /// go to the wire unchanged, and nothing more can be read. The handshake must be over, so read
    /// a request first; the configuration must allow the extraction.
    pub fn take_keys(&mut self) -> Result<Sealer, Over> {
        self.unread.clear();
        Sealer::new(*self.tls.take().ok_or(Over)?).ok_or(Over)
    }

    /// Says close_notify, and keeps the connection of TCP.
    pub fn close_notify(&mut self) -> Result<(), Over> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        self.flush()
    }

    /// Waits for a request, reads it in full, counts it.
    pub fn read_request(&mut self) -> Result<(), Over> {
        loop {
            if let Some(length) = request_length(&self.unread) {
                let request: Vec<u8> = self.unread.drain(..length).collect();
                self.shared.count_request(&request);
                return Ok(());
            }
            self.read_some()?;
        }
    }

    /// HTTP/2: waits for a request's HEADERS, reads everything up to it, counts it. Returns the
    /// stream's id. The preface of a connection is not a frame.
    pub fn read_h2_request(&mut self) -> Result<u32, Over> {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        const HEADER_BYTES: usize = 9;
        const HEADERS: u8 = 1;
        loop {
            if self.unread.starts_with(PREFACE) {
                self.unread.drain(..PREFACE.len());
            }
            let is_preface = PREFACE.starts_with(&self.unread);
            if let [a, b, c, kind, _, s, t, u, v, ..] = self.unread[..]
                && !is_preface
            {
                let length = HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
                if self.unread.len() >= length {
                    let frame: Vec<u8> = self.unread.drain(..length).collect();
                    if kind == HEADERS {
                        self.shared.count_request(&frame);
                        return Ok(u32::from_be_bytes([s, t, u, v]));
                    }
                    continue;
                }
            }
            self.read_some()?;
        }
    }

    /// Waits for bytes, takes those that came, and counts nothing.
    pub fn read_some(&mut self) -> Result<(), Over> {
        let mut bytes = [0; 16 * 1024];
        loop {
            self.look_up()?;
            let read = match &mut self.tls {
                Some(tls) => rustls::Stream::new(&mut **tls, &mut self.stream).read(&mut bytes),
                None => self.stream.read(&mut bytes),
            };
            match read {
                Ok(0) => return Err(Over),
                Ok(read) => {
                    self.unread.extend_from_slice(&bytes[..read]);
                    return Ok(());
                }
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Over),
            }
        }
    }

    /// Writes these bytes at once, whole.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Over> {
        let mut bytes = bytes.as_ref();
        while !bytes.is_empty() {
            self.look_up()?;
            let wrote = match &mut self.tls {
                Some(tls) => rustls::Stream::new(&mut **tls, &mut self.stream).write(bytes),
                None => self.stream.write(bytes),
            };
            match wrote {
                Ok(wrote) => bytes = &bytes[wrote..],
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Over),
            }
        }
        self.flush()
    }

    /// Writes these bytes again and again, with a pause after each time.
    pub fn write_forever(&mut self, bytes: impl AsRef<[u8]>, gap: Duration) -> Result<(), Over> {
        loop {
            self.write(bytes.as_ref())?;
            self.sleep(gap)?;
        }
    }

    /// Writes these bytes one by one, with a pause after each.
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>, gap: Duration) -> Result<(), Over> {
        for byte in bytes.as_ref().chunks(1) {
            self.write(byte)?;
            self.sleep(gap)?;
        }
        Ok(())
    }

    /// Waits, and reads nothing meanwhile.
    pub fn sleep(&self, time: Duration) -> Result<(), Over> {
        let end = Instant::now() + time;
        loop {
            self.look_up()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_UP));
        }
    }

    /// Reads until the other side closes, and says nothing more.
    pub fn hang(&mut self) -> Result<(), Over> {
        loop {
            self.read_some()?;
            self.unread.clear();
        }
    }

    /// Ends the peer's direction of the connection alone.
    pub fn end_sending(&self) -> Result<(), Over> {
        self.stream.shutdown(Shutdown::Write).map_err(|_| Over)
    }

    /// Makes the kernel's receive buffer as small as it can be.
    pub fn shrink_receive_buffer(&self) -> Result<(), Over> {
        rustix::net::sockopt::set_socket_recv_buffer_size(&self.stream, 1).map_err(|_| Over)
    }

    /// Closes with a reset: nothing else can follow.
    pub fn reset(&self) -> Result<(), Over> {
        let now = Some(Duration::ZERO);
        let _ = rustix::net::sockopt::set_socket_linger(&self.stream, now);
        Err(Over)
    }

    fn flush(&mut self) -> Result<(), Over> {
        while let Some(tls) = &mut self.tls
            && tls.wants_write()
        {
            if let Err(error) = tls.write_tls(&mut self.stream)
                && !is_passing(&error)
            {
                return Err(Over);
            }
            self.look_up()?;
        }
        Ok(())
    }

    fn look_up(&self) -> Result<(), Over> {
        if self.shared.is_current(self.generation) { Ok(()) } else { Err(Over) }
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The length of the request that `bytes` begin with, if it is there in full. Bodies are framed
/// by `Content-Length` alone.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head_length = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_length]);
    let body_length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    let length = head_length.checked_add(body_length)?;
    (bytes.len() >= length).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::request_length;

    #[test]
    fn a_request_ends_with_its_body() {
        assert_eq!(request_length(b"GET / HTTP/1.1\r\n\r"), None);
        assert_eq!(request_length(b"GET / HTTP/1.1\r\n\r\nGET"), Some(18));
        let post = b"POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcd";
        assert_eq!(request_length(post), Some(post.len() - 1));
        assert_eq!(request_length(&post[..post.len() - 2]), None);
    }
}
