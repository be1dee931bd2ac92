//! Requests made while the run goes on: by a script, or of a template ([`Form`]).
//!
//! A script returns text: one HTTP/1.1 request, or several one after the other, which is
//! pipelining. [`Batch`] finds where each of them ends and what a protocol must know of it, and
//! lends them out as [`Made`]. HTTP/1.1 sends the text as it is; a protocol that has other words
//! for a request takes method, path, fields and body.
//!
//! Where a request ends depends on Content-Length, or on its chunks (RFC 9112 6.3). What cannot be
//! told apart is refused here, before it could desynchronise a connection. Memory is reused: in the
//! steady state nothing is allocated, and text that equals the text before is not parsed again.

mod form;
mod sigv4;

pub use form::{Form, Values, forms, write_text};

use std::borrow::Cow;

use memchr::{memchr, memmem};

use crate::h1::take_chunked;
use crate::http::{decimal, is_token_byte};
use crate::request::{Made, Shape, field};

impl<'a> Made<'a> {
    /// The body, without the framing of chunks; empty for none.
    pub fn body(&self) -> Cow<'a, [u8]> {
        let body = &self.raw[self.raw.len() - self.shape.body_bytes..];
        if !self.shape.is_chunked {
            return Cow::Borrowed(body);
        }
        let mut content = Vec::with_capacity(body.len());
        // It was read when the batch was filled.
        let _ = take_chunked(body, |piece| content.extend_from_slice(piece));
        Cow::Owned(content)
    }
}

/// Why a text is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MadeError {
    /// There is nothing in it.
    #[error("it is empty; return what wrk.format() returns")]
    Empty,
    /// The first line is no request line.
    #[error(
        "request {number} in it does not begin with `METHOD PATH HTTP/1.1` but with {line:?}; make it with wrk.format()"
    )]
    RequestLine {
        /// Which one, from 1.
        number: usize,
        /// How it begins.
        line: String,
    },
    /// A header line has no name.
    #[error("request {number} in it has the header line {line:?}, which is not `Name: value`")]
    Field {
        /// Which one, from 1.
        number: usize,
        /// The line.
        line: String,
    },
    /// The header block does not end.
    #[error("request {number} in it has no empty line after its headers")]
    NoEnd {
        /// Which one, from 1.
        number: usize,
    },
    /// The length is no number, or two different ones.
    #[error("request {number} in it has a Content-Length that is not one number")]
    Length {
        /// Which one, from 1.
        number: usize,
    },
    /// The body is shorter than it says.
    #[error("request {number} in it has {there} bytes of body and says {said} in Content-Length")]
    Short {
        /// Which one, from 1.
        number: usize,
        /// Bytes after the header block.
        there: usize,
        /// Content-Length.
        said: usize,
    },
    /// A transfer coding other than `chunked`, or `chunked` twice: its length would not be known.
    #[error("request {number} in it has the Transfer-Encoding {coding:?}; write \"chunked\" alone")]
    TransferEncoding {
        /// Which one, from 1.
        number: usize,
        /// The field's value.
        coding: String,
    },
    /// Both Content-Length and Transfer-Encoding, so that servers disagree on its length (RFC 9112
    /// 6.3).
    #[error("request {number} in it has both Content-Length and Transfer-Encoding; leave one out")]
    TwoLengths {
        /// Which one, from 1.
        number: usize,
    },
    /// Its chunks break a rule (RFC 9112 7.1).
    #[error("request {number} in it is chunked, and {error}")]
    Chunks {
        /// Which one, from 1.
        number: usize,
        /// Which rule.
        error: crate::h1::Error,
    },
    /// The last chunk is missing.
    #[error(
        "request {number} in it is chunked, and its chunks do not end with \"0\" and an empty line"
    )]
    NoLastChunk {
        /// Which one, from 1.
        number: usize,
    },
    /// Too many requests.
    #[error("it has more than {MOST_REQUESTS} requests, which is the most for one connection")]
    TooMany,
    /// Too many bytes.
    #[error("it has {bytes} bytes, and {MOST_BYTES} are the most")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// The longest text that is taken. More than this in one call is a mistake of the script.
pub const MOST_BYTES: usize = 64 << 20;

/// The most requests that a text may have; all of them are in flight on one connection.
pub const MOST_REQUESTS: usize = 1 << 16;

/// The requests of one text, and how many of them were taken.
#[derive(Debug, Default)]
pub struct Batch {
    text: Vec<u8>,
    shapes: Vec<Shape>,
    taken: usize,
    request: u32,
}

impl Batch {
    /// An empty batch, whose requests will stand for `request` of the plan.
    pub fn new(request: u32) -> Self {
        Batch { request, ..Batch::default() }
    }

    /// Takes the text of one or several requests, in the place of what was there.
    #[inline]
    pub fn fill(&mut self, text: &[u8]) -> Result<(), MadeError> {
        self.taken = 0;
        if !self.shapes.is_empty() && self.text == text {
            return Ok(());
        }
        self.shapes.clear();
        if text.len() > MOST_BYTES {
            return Err(MadeError::TooLong { bytes: text.len() });
        }
        let outcome = parse(text, &mut self.shapes);
        self.text.clear();
        match outcome {
            Ok(()) => self.text.extend_from_slice(text),
            Err(_) => self.shapes.clear(),
        }
        outcome
    }

    /// How many requests are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.shapes.len() - self.taken
    }

    /// Takes the next request.
    #[inline]
    pub fn take(&mut self) -> Option<Made<'_>> {
        let shape = self.shapes.get(self.taken)?;
        self.taken += 1;
        Some(Made { raw: &self.text[shape.whole.clone()], request: self.request, shape })
    }

    /// Gives up those that are left.
    pub fn clear(&mut self) {
        self.taken = self.shapes.len();
    }
}

fn parse(text: &[u8], shapes: &mut Vec<Shape>) -> Result<(), MadeError> {
    let mut start = 0;
    while start < text.len() {
        if shapes.len() == MOST_REQUESTS {
            return Err(MadeError::TooMany);
        }
        let shape = parse_one(&text[start..], start, shapes.len() + 1)?;
        start = shape.whole.end;
        shapes.push(shape);
    }
    if shapes.is_empty() { Err(MadeError::Empty) } else { Ok(()) }
}

/// Reads the request at the front of `text`, which begins at `start` of the whole.
fn parse_one(text: &[u8], start: usize, number: usize) -> Result<Shape, MadeError> {
    let no_request_line = || MadeError::RequestLine { number, line: shown(text) };
    let line_end = memchr(b'\n', text).ok_or_else(no_request_line)?;
    let line = text[..line_end].strip_suffix(b"\r").ok_or_else(no_request_line)?;
    let method_bytes = memchr(b' ', line).ok_or_else(no_request_line)?;
    let rest = &line[method_bytes + 1..];
    let path_bytes = memchr(b' ', rest).ok_or_else(no_request_line)?;
    let good = method_bytes > 0
        && line[..method_bytes].iter().copied().all(is_token_byte)
        && path_bytes > 0
        && !rest[..path_bytes].iter().any(|byte| byte.is_ascii_control())
        && &rest[path_bytes + 1..] == b"HTTP/1.1";
    if !good {
        return Err(no_request_line());
    }
    // The line end before an empty line may be the request line's own.
    let block_end = memmem::find(&text[line_end - 1..], b"\r\n\r\n")
        .map(|at| line_end - 1 + at + 4)
        .ok_or(MadeError::NoEnd { number })?;
    let mut shape = Shape {
        whole: start..start,
        method_bytes,
        path: method_bytes + 1..method_bytes + 1 + path_bytes,
        fields: line_end + 1..block_end - 2,
        body_bytes: 0,
        is_chunked: false,
        closes: false,
        upgrades: false,
    };
    let mut length = None;
    for line in text[shape.fields.clone()].split(|&byte| byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        let (name, value) =
            field(line).ok_or_else(|| MadeError::Field { number, line: shown(line) })?;
        match name.len() {
            7 => shape.upgrades |= name.eq_ignore_ascii_case(b"upgrade"),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                let mut options = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
                shape.closes |= options.any(|option| option.eq_ignore_ascii_case(b"close"));
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let read = decimal(value).and_then(|length| usize::try_from(length).ok());
                let read = read.ok_or(MadeError::Length { number })?;
                if length.replace(read).is_some_and(|before| before != read) {
                    return Err(MadeError::Length { number });
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if shape.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(MadeError::TransferEncoding { number, coding: shown(value) });
                }
                shape.is_chunked = true;
            }
            _ => {}
        }
    }
    let rest = &text[block_end..];
    shape.body_bytes = match (length, shape.is_chunked) {
        (Some(_), true) => return Err(MadeError::TwoLengths { number }),
        (None, true) => take_chunked(rest, |_| {})
            .map_err(|error| MadeError::Chunks { number, error })?
            .ok_or(MadeError::NoLastChunk { number })?,
        (length, false) => length.unwrap_or(0),
    };
    if shape.body_bytes > rest.len() {
        return Err(MadeError::Short { number, there: rest.len(), said: shape.body_bytes });
    }
    shape.whole = start..start + block_end + shape.body_bytes;
    Ok(shape)
}

/// The beginning of what is wrong, for a message.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (Vec<u8>, Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>, Vec<u8>);

    fn read(text: &str) -> Result<Vec<Read>, MadeError> {
        let mut batch = Batch::new(0);
        batch.fill(text.as_bytes())?;
        let mut all = Vec::new();
        while let Some(made) = batch.take() {
            let fields = made.fields().map(|(name, value)| (name.to_vec(), value.to_vec()));
            let fields = fields.collect();
            all.push((
                made.method().to_vec(),
                made.path().to_vec(),
                fields,
                made.body().into_owned(),
            ));
        }
        Ok(all)
    }

    #[test]
    fn one_request_with_fields_and_body() {
        let text = "POST /a?b HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\nContent-Length: 3\r\n\r\nabc";
        let one = &read(text).unwrap()[0];
        assert_eq!(one.0, b"POST");
        assert_eq!(one.1, b"/a?b");
        assert_eq!(one.2.len(), 3);
        assert_eq!(one.2[1], (b"X-Y".to_vec(), b"z".to_vec()));
        assert_eq!(one.3, b"abc");
    }

    #[test]
    fn several_requests_are_told_apart_by_their_lengths() {
        let text = "POST /1 HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET GET /2 HTTP/1.1\r\n\r\n\
                    PUT /3 HTTP/1.1\r\nConnection: x, Close\r\n\r\n";
        let mut batch = Batch::new(7);
        batch.fill(text.as_bytes()).unwrap();
        assert_eq!(batch.left(), 3);
        let first = batch.take().unwrap();
        assert_eq!((&*first.body(), first.request, first.closes()), (&b"GET "[..], 7, false));
        assert_eq!(batch.take().unwrap().raw, b"GET /2 HTTP/1.1\r\n\r\n");
        let third = batch.take().unwrap();
        assert!(third.closes() && !third.upgrades());
        assert!(batch.take().is_none());
        batch.fill(text.as_bytes()).unwrap();
        assert_eq!(batch.left(), 3, "the same text again begins again");
    }

    #[test]
    fn chunks_end_where_they_say_9112_7_1() {
        let chunked = "POST /1 HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n\
                       4;ext=1\r\nGET \r\n003\r\n/ H\r\n0\r\nTrailer: x\r\n\r\n";
        let text = format!("{chunked}GET /2 HTTP/1.1\r\n\r\n{chunked}");
        let mut batch = Batch::new(0);
        batch.fill(text.as_bytes()).unwrap();
        assert_eq!(batch.left(), 3);
        let first = batch.take().unwrap();
        assert_eq!((first.raw, &*first.body()), (chunked.as_bytes(), &b"GET / H"[..]));
        assert_eq!(batch.take().unwrap().path(), b"/2");
        assert_eq!(&*batch.take().unwrap().body(), b"GET / H");
        let many = "A / HTTP/1.1\r\n\r\n".repeat(MOST_REQUESTS);
        assert_eq!(read(&many).unwrap().len(), MOST_REQUESTS);
        assert_eq!(read(&(many + "A / HTTP/1.1\r\n\r\n")), Err(MadeError::TooMany));
        let empty = "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(read(empty).unwrap()[0].3, b"");
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let table = [
            ("", "it is empty"),
            ("nonsense", "does not begin with"),
            ("GET /\r\n\r\n", "does not begin with"),
            ("GET / HTTP/1.1\nHost: h\n\n", "does not begin with"),
            ("GET /a b HTTP/1.1\r\n\r\n", "does not begin with"),
            ("GET / HTTP/1.1\r\nHost: h\r\n", "no empty line"),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", "not `Name: value`"),
            ("GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "not `Name: value`"),
            ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "not one number"),
            ("GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "not one number"),
            ("GET / HTTP/1.1\r\nContent-Length: \r\n\r\n", "not one number"),
            (
                "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\naa",
                "not one number",
            ),
            ("GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", "3 bytes of body and says 9"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "do not end with"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "do not end"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n", "CRLF"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n", "hexadecimal"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "gzip"),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "\"gzip\"; write"),
            (
                "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n\
                 0\r\n\r\n",
                "Transfer-Encoding",
            ),
            (
                "GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "both Content-Length and Transfer-Encoding",
            ),
            ("GET / HTTP/1.1\r\n\r\nGET", "request 2 in it does not begin"),
        ];
        for (text, message) in table {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }

    proptest::proptest! {
        /// Any bytes: no panic, and what is accepted is the whole text, cut without a gap.
        #[test]
        fn the_requests_are_the_text(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "GET ", "/ ", "HTTP/1.1", "\r\n", "\r\n\r\n", "a: b\r\n", "Content-Length: ",
                    "3\r\n", "abc", ":", "\n", "GET / HTTP/1.1\r\n\r\n", "\r\n0\r\n\r\n",
                    "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                ]),
                0..12,
            ),
        ) {
            let text = pieces.concat();
            let mut batch = Batch::new(0);
            if batch.fill(text.as_bytes()).is_ok() {
                let mut joined = Vec::new();
                while let Some(made) = batch.take() {
                    let _ = (made.method(), made.path(), made.fields().count(), made.body());
                    joined.extend_from_slice(made.raw);
                }
                assert_eq!(joined, text.as_bytes());
            }
        }
    }
}
