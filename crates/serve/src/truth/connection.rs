//! One connection of the truth server: bytes of requests in, bytes of responses out.
//!
//! A connection has one request in service at a time. A request that was sent before the previous
//! response (pipelining) counts as arriving when that response has left.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::http::{Asks, Head, LONGEST_HEAD, Parsed, parse};

/// The input of a connection.
#[derive(Debug)]
pub(super) enum Next {
    /// A whole request.
    Request { asks: Asks },
    /// Nothing, for now.
    Nothing,
    /// The connection ended, or has to.
    End,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) number: u32,
    input: Vec<u8>,
    /// Bytes of a body still to come.
    body_left: u64,
    /// A header that was read and whose body is being skipped.
    awaiting_body: Option<Head>,
    /// Bytes of responses that the kernel has not accepted yet.
    output: Vec<u8>,
    /// Whether a request is in service.
    pub(super) is_busy: bool,
    close_after_answer: bool,
    answer_without_body: bool,
    /// Whether the socket may have unread bytes: after an event, or after a full read.
    pub(super) is_readable: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, number: u32) -> Self {
        Connection {
            stream,
            number,
            input: Vec::with_capacity(1024),
            body_left: 0,
            awaiting_body: None,
            output: Vec::new(),
            is_busy: false,
            close_after_answer: false,
            answer_without_body: false,
            is_readable: true,
        }
    }

    /// The next request, from bytes read before or from the socket.
    pub(super) fn next(&mut self) -> Next {
        if self.close_after_answer {
            return Next::End;
        }
        loop {
            if let Some(next) = self.next_in_input() {
                return next;
            }
            if !self.is_readable {
                return Next::Nothing;
            }
            let mut piece = [0; 4096];
            match (&self.stream).read(&mut piece) {
                Ok(0) => return Next::End,
                Ok(n) => {
                    self.input.extend_from_slice(&piece[..n]);
                    self.is_readable = n == piece.len();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_readable = false,
                Err(_) => return Next::End,
            }
        }
    }

    fn next_in_input(&mut self) -> Option<Next> {
        if self.awaiting_body.is_none() {
            match parse(&self.input) {
                Parsed::Partial => return None,
                Parsed::Head(head) => {
                    self.input.drain(..head.length);
                    self.body_left = head.body;
                    self.awaiting_body = Some(head);
                }
                Parsed::Refused(status, why) => {
                    self.close_after_answer = true;
                    let refusal = answer(status, why.as_bytes());
                    // The connection ends in any case.
                    let _ = self.send(&refusal);
                    return Some(Next::End);
                }
            }
        }
        let skipped = self.body_left.min(self.input.len() as u64);
        self.input.drain(..skipped as usize);
        self.body_left -= skipped;
        if self.body_left > 0 {
            return None;
        }
        let head = self.awaiting_body.take()?;
        self.close_after_answer = head.close;
        self.answer_without_body = head.is_head;
        Some(Next::Request { asks: head.asks })
    }

    /// Sends a response; returns whether the connection stays open.
    pub(super) fn answer(&mut self, bytes: &[u8]) -> bool {
        let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        let length = if self.answer_without_body { head_end } else { None };
        self.send(&bytes[..length.unwrap_or(bytes.len())]).is_ok() && !self.close_after_answer
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.output.is_empty() {
            // The server does not wait for a client that leaves more than a header's length unread.
            if self.output.len() > LONGEST_HEAD {
                return Err(ErrorKind::WriteZero.into());
            }
            self.output.extend_from_slice(bytes);
            return Ok(());
        }
        let taken = write_some(&self.stream, bytes)?;
        self.output.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// The socket accepts more bytes; returns whether the connection stays open.
    pub(super) fn flush(&mut self) -> bool {
        match write_some(&self.stream, &self.output) {
            Ok(taken) => {
                self.output.drain(..taken);
                true
            }
            Err(_) => false,
        }
    }
}

fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            other => return other,
        }
    }
}

/// A whole response.
pub(super) fn answer(status: u16, body: &[u8]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        204 => "No Content",
        411 => "Length Required",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    let mut bytes = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
    if status != 204 {
        let length = body.len();
        let fields = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\n");
        bytes.extend_from_slice(fields.as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}
