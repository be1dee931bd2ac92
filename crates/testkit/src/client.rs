//! The smallest HTTP/1.1 client with which a test can judge a server: it sends the given bytes, and
//! panics on a response that it cannot read. Not for judging clients, and not fast.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A test that waits longer than this for a byte has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A response as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header block without its last, empty line.
    pub head: String,
    /// Body, without its chunk framing.
    pub body: Vec<u8>,
    /// Sizes of the chunks, if there were chunks.
    pub chunks: Vec<usize>,
}

impl Answer {
    /// The value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim()).next()
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }
}

/// A connection to a server under test.
#[derive(Debug)]
pub struct Client<S = TcpStream> {
    stream: S,
    unread: Vec<u8>,
}

impl Client<TcpStream> {
    /// Connects.
    ///
    /// # Panics
    /// If it cannot.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("connecting");
        stream.set_read_timeout(Some(PATIENCE)).expect("a read time-out");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        Client { stream, unread: Vec::new() }
    }

    /// How long to wait for a byte.
    ///
    /// # Panics
    /// If the socket is gone.
    pub fn set_patience(&mut self, patience: Duration) {
        self.stream.set_read_timeout(Some(patience)).expect("a read time-out");
    }

    /// The underlying socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl Client<UnixStream> {
    /// Connects to a unix socket.
    ///
    /// # Panics
    /// If it cannot.
    pub fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("connecting");
        stream.set_read_timeout(Some(PATIENCE)).expect("a read time-out");
        Client { stream, unread: Vec::new() }
    }
}

impl<S: Read + Write> Client<S> {
    /// Sends these bytes.
    ///
    /// # Panics
    /// If they cannot be sent.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("sending");
    }

    /// Requests a path with GET and reads the response.
    pub fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    /// Sends a request and reads its response. `Host` is added, and `Content-Length` to a body.
    pub fn ask(&mut self, method: &str, path: &str, fields: &[&str], body: &[u8]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n");
        for field in fields {
            request.push_str(field);
            request.push_str("\r\n");
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        self.send([request.as_bytes(), body].concat());
        if method == "HEAD" { self.read_head_answer() } else { self.read_answer() }
    }

    /// Reads a response.
    ///
    /// # Panics
    /// If it does not come in full.
    pub fn read_answer(&mut self) -> Answer {
        self.try_read_answer(false).expect("a whole answer")
    }

    /// Reads the response to a HEAD request.
    ///
    /// # Panics
    /// If it does not come in full.
    pub fn read_head_answer(&mut self) -> Answer {
        self.try_read_answer(true).expect("a whole answer")
    }

    /// Reads a response; an error where it does not come in full.
    pub fn try_read_answer(&mut self, to_head: bool) -> io::Result<Answer> {
        let head = self.read_until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&head).trim_end().to_owned();
        let status = head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut answer = Answer { status, head, body: Vec::new(), chunks: Vec::new() };
        let bodiless = to_head || status < 200 || status == 204 || status == 304;
        if bodiless {
            return Ok(answer);
        }
        if answer.header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            self.read_chunks(&mut answer)?;
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            answer.body = self.read_exactly(length)?;
        } else {
            answer.body = self.read_to_end()?;
        }
        Ok(answer)
    }

    /// Everything up to the end of the connection; an error if it ends by a reset.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        self.stream.read_to_end(&mut self.unread)?;
        Ok(std::mem::take(&mut self.unread))
    }

    /// Exactly `length` bytes.
    pub fn read_exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < length {
            self.read_some()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn read_chunks(&mut self, answer: &mut Answer) -> io::Result<()> {
        loop {
            let line = self.read_until(b"\r\n")?;
            let line = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            if size == 0 {
                self.read_until(b"\r\n")?;
                return Ok(());
            }
            answer.body.extend(self.read_exactly(size)?);
            answer.chunks.push(size);
            self.read_exactly(2)?;
        }
    }

    fn read_until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            let found = self.unread.windows(end.len()).position(|window| window == end);
            if let Some(position) = found {
                return Ok(self.unread.drain(..position + end.len()).collect());
            }
            self.read_some()?;
        }
    }

    fn read_some(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64 * 1024];
        let read = self.stream.read(&mut bytes)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.extend_from_slice(&bytes[..read]);
        Ok(())
    }
}
