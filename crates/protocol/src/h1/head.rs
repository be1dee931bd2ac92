//! The status line and the header lines of one response, and what they say about its framing.
//!
//! Looks closely at three fields only: Content-Length, Transfer-Encoding and Connection; of all
//! others it checks the form. A [`Head`] is a small value that knows nothing of the request: what
//! the two mean together is decided by [`Head::framing`], once the block is complete. So a head
//! that was seen before can be taken from elsewhere instead of being parsed again.

use super::body::Body;
use super::field::{FieldLine, check_text, trim};
use super::{Error, Prepared};
use crate::grpc::Told;
use crate::http::{decimal, is_token_byte};
use crate::session::Deviations;

/// What the lines so far say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) status: u16,
    http_1_0: bool,
    close: bool,
    keep_alive: bool,
    coding: Coding,
    content_length: Option<u64>,
    folded: bool,
    /// What it says of a call, where there are calls.
    pub(super) told: Told,
    is_told: bool,
}

/// The last transfer coding that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
    Other,
    /// Another, applied after `chunked`.
    OtherAfterChunked,
}

/// How a response goes on after its head.
#[derive(Debug)]
pub(super) struct Framing {
    pub(super) body: Body,
    /// The connection ends with this response.
    pub(super) last: bool,
    /// What is read although it is not as the RFC asks.
    pub(super) deviations: Deviations,
}

/// The longest name of a field that says something of a call: `connect-content-encoding`.
const MOST_NAME_BYTES: usize = 24;

/// How every status line begins.
const HTTP: &[u8] = b"HTTP/";

/// How a TLS record may begin: an alert or a handshake, and the first byte of its version (RFC 8446 5.1).
const TLS: [&[u8]; 2] = [&[0x15, 0x03], &[0x16, 0x03]];

/// Whether a status line may begin like this, or what this is may not be said yet.
pub(super) fn may_go_on(beginning: &[u8]) -> bool {
    may_be_status_line(beginning) || TLS.iter().any(|record| record.starts_with(beginning))
}

/// Why this line, or its beginning, is no status line.
#[cold]
pub(super) fn no_status_line(line: &[u8]) -> Error {
    match line {
        [0x15 | 0x16, 0x03, 0x00..=0x04, ..] => Error::AnswersInTls,
        _ => Error::StatusLine,
    }
}

/// Whether a status line may begin like this.
pub(crate) fn may_be_status_line(beginning: &[u8]) -> bool {
    beginning.iter().zip(HTTP).all(|(got, wanted)| got == wanted)
}

impl Head {
    /// Reads a status line (RFC 9112 4), which comes without its line end.
    #[inline]
    pub(super) fn from_status_line(line: &[u8]) -> Result<Self, Error> {
        let [b'H', b'T', b'T', b'P', b'/', major, b'.', minor, rest @ ..] = line else {
            return Err(no_status_line(line));
        };
        if !major.is_ascii_digit() || !minor.is_ascii_digit() {
            return Err(Error::StatusLine);
        }
        if *major != b'1' {
            return Err(Error::Version);
        }
        let (code, reason) = match rest {
            [b' ', a, b, c] => ([*a, *b, *c], &[][..]),
            [b' ', a, b, c, b' ', reason @ ..] => ([*a, *b, *c], reason),
            _ => return Err(Error::StatusLine),
        };
        if !code.iter().all(u8::is_ascii_digit) {
            return Err(Error::StatusLine);
        }
        check_text(reason)?;
        let status = code.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        if status < 100 {
            return Err(Error::StatusCode);
        }
        Ok(Head {
            status,
            http_1_0: *minor == b'0',
            close: false,
            keep_alive: false,
            coding: Coding::None,
            content_length: None,
            folded: false,
            told: Told::default(),
            is_told: false,
        })
    }

    /// Whether this is the head of an interim response (RFC 9110 15.2), and not of the one asked
    /// for. 101 ends HTTP on the connection and so is no interim one.
    pub(super) fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// One of the fields was folded over several lines.
    #[cold]
    pub(super) fn note_fold(&mut self) {
        self.folded = true;
    }

    /// Whether one was.
    pub(super) fn is_folded(&self) -> bool {
        self.folded
    }

    /// Takes what a header line, which is one, says of a call; `message` becomes the text of its status.
    pub(super) fn tell(&mut self, line: &[u8], message: &mut String) {
        let Ok(FieldLine { name, value }) = FieldLine::read(line) else { return };
        let mut lower = [0; MOST_NAME_BYTES];
        self.is_told = true;
        if let Some(lower) = lower.get_mut(..name.len()) {
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            self.told.take(lower, trim(value), message);
        }
    }

    /// Whether it was looked at as that of a call.
    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    /// Takes a header line, without its line end, not folded and not empty.
    #[inline]
    pub(super) fn handle_field(&mut self, line: &[u8]) -> Result<(), Error> {
        let FieldLine { name, value } = FieldLine::read(line)?;
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.transfer_encoding(value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9110 7.6.1. Options other than these two do not concern us.
    fn connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9110 8.6: one number, or the same number several times.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Error> {
        for number in value.split(|&byte| byte == b',').map(trim) {
            let length = decimal(number).ok_or(Error::ContentLength)?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(Error::ContentLengthsDiffer);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    /// RFC 9112 6.1: codings in the order in which they were applied, `chunked` once at most. At
    /// least one a field.
    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Error> {
        let mut empty = true;
        for element in list(value) {
            let end = element.iter().position(|&byte| byte == b';').unwrap_or(element.len());
            let name = trim(&element[..end]);
            let chunked = name.eq_ignore_ascii_case(b"chunked");
            let is_token = !name.is_empty() && name.iter().copied().all(is_token_byte);
            let parameters = end < element.len();
            let was_chunked = matches!(self.coding, Coding::Chunked | Coding::OtherAfterChunked);
            if !is_token || (chunked && (parameters || was_chunked)) {
                return Err(Error::TransferEncoding);
            }
            self.coding = match (chunked, was_chunked) {
                (true, _) => Coding::Chunked,
                (false, false) => Coding::Other,
                (false, true) => Coding::OtherAfterChunked,
            };
            empty = false;
        }
        if empty { Err(Error::TransferEncoding) } else { Ok(()) }
    }

    /// How the response to `request` goes on (RFC 9112 6.3) and whether the connection does
    /// (RFC 9112 9.3). The block is complete, and the response not an interim one.
    #[inline]
    pub(super) fn framing(&self, request: &Prepared) -> Result<Framing, Error> {
        let mut deviations = Deviations { folded: self.folded, ..Deviations::default() };
        // RFC 9110 9.3.6 and 7.8: what follows is not HTTP.
        let tunnel = request.is_connect && (200..300).contains(&self.status);
        if tunnel || self.status == 101 {
            return Ok(Framing { body: Body::NONE, last: true, deviations });
        }
        if self.coding != Coding::None && self.http_1_0 {
            return Err(Error::TransferEncodingInHttp10);
        }
        if self.coding != Coding::None && self.content_length.is_some() {
            return Err(Error::LengthAndTransferEncoding);
        }
        let persists = !self.close && (!self.http_1_0 || self.keep_alive) && !request.closes;
        let body = if request.is_head || self.status == 204 || self.status == 304 {
            Body::NONE
        } else {
            match (self.coding, self.content_length) {
                (Coding::Chunked, _) => Body::CHUNKED,
                (Coding::None, Some(length)) => Body::Length(length),
                (Coding::None, None) => Body::UntilEnd,
                (Coding::Other | Coding::OtherAfterChunked, _) => {
                    deviations.not_chunked_last = true;
                    Body::UntilEnd
                }
            }
        };
        let last = !persists || matches!(body, Body::UntilEnd);
        Ok(Framing { body, last, deviations })
    }
}

/// The status of a whole header block.
pub(crate) fn status_of(block: &[u8]) -> Result<u16, Error> {
    let line = block.split(|&byte| byte == b'\n').next().unwrap_or(block);
    Head::from_status_line(line.strip_suffix(b"\r").unwrap_or(line)).map(|head| head.status)
}

/// The elements of a comma list, empty ones left out (RFC 9110 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim).filter(|element| !element.is_empty())
}
