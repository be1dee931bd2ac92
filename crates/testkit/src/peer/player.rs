//! Plays a script on one connection, in a thread of its own.
//!
//! Every wait ends soon after the peer was stopped: socket operations time out and look up, long
//! sleeps are cut into short ones.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LOOK_UP, Script, Shared, Step};

pub(super) struct Player {
    stream: TcpStream,
    shared: Arc<Shared>,
    generation: u64,
    // Read and not yet part of a request that was counted.
    unread: Vec<u8>,
}

/// The connection is over: the other side closed it, or the peer was stopped.
struct Over;

impl Player {
    pub(super) fn new(stream: TcpStream, shared: Arc<Shared>, generation: u64) -> Self {
        // These fail only on a connection that is gone already, and the first read says that.
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(LOOK_UP));
        let _ = stream.set_write_timeout(Some(LOOK_UP));
        Player { stream, shared, generation, unread: Vec::new() }
    }

    /// Plays to the end of the script or of the connection, which closes when this is dropped.
    pub(super) fn play(mut self, script: &Script) {
        let Err(Over) = self.play_steps(script) else { return };
    }

    fn play_steps(&mut self, script: &Script) -> Result<(), Over> {
        let mut steps = script.steps().iter();
        while let Some(step) = steps.next() {
            match step {
                Step::ReadRequest => self.read_request()?,
                Step::ReadH2Request => self.read_h2_request()?,
                Step::Write(bytes) => self.write(bytes)?,
                Step::Drip(bytes, gap) => {
                    for byte in bytes.chunks(1) {
                        self.write(byte)?;
                        self.sleep(*gap)?;
                    }
                }
                Step::WriteForever(bytes, gap) => loop {
                    self.write(bytes)?;
                    self.sleep(*gap)?;
                },
                Step::Sleep(time) => self.sleep(*time)?,
                Step::Nodelay(on) => self.stream.set_nodelay(*on).map_err(|_| Over)?,
                Step::Hang => loop {
                    self.read_request()?;
                },
                Step::Close => return Ok(()),
                Step::Reset => {
                    let now = Some(Duration::ZERO);
                    let _ = rustix::net::sockopt::set_socket_linger(&self.stream, now);
                    return Ok(());
                }
                Step::Loop => {
                    self.look_up()?;
                    steps = script.steps().iter();
                }
            }
        }
        Ok(())
    }

    fn look_up(&self) -> Result<(), Over> {
        if self.shared.is_current(self.generation) { Ok(()) } else { Err(Over) }
    }

    fn read_request(&mut self) -> Result<(), Over> {
        loop {
            if let Some(length) = request_length(&self.unread) {
                let request: Vec<u8> = self.unread.drain(..length).collect();
                self.shared.count_request(&request);
                return Ok(());
            }
            self.read_some()?;
        }
    }

    /// Reads frames up to the next HEADERS; the preface of a connection is no frame.
    fn read_h2_request(&mut self) -> Result<(), Over> {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        const HEADER_BYTES: usize = 9;
        const HEADERS: u8 = 1;
        loop {
            if self.unread.starts_with(PREFACE) {
                self.unread.drain(..PREFACE.len());
            }
            let is_preface = PREFACE.starts_with(&self.unread);
            if let [a, b, c, kind, ..] = self.unread[..]
                && !is_preface
            {
                let length = HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
                if self.unread.len() >= length {
                    let frame: Vec<u8> = self.unread.drain(..length).collect();
                    if kind == HEADERS {
                        self.shared.count_request(&frame);
                        return Ok(());
                    }
                    continue;
                }
            }
            self.read_some()?;
        }
    }

    fn read_some(&mut self) -> Result<(), Over> {
        let mut bytes = [0; 16 * 1024];
        loop {
            self.look_up()?;
            match self.stream.read(&mut bytes) {
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

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Over> {
        while !bytes.is_empty() {
            self.look_up()?;
            match self.stream.write(bytes) {
                Ok(wrote) => bytes = &bytes[wrote..],
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    fn sleep(&self, time: Duration) -> Result<(), Over> {
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
