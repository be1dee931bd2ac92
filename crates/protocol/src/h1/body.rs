//! Where the body of a response ends (RFC 9112 6 and 7).
//!
//! Hands each piece of the content to the caller as a slice of the input, framing removed, with whether
//! a chunk ends there, and keeps none of it.

use super::Error;
use super::field::FieldLine;
use super::lines::{Lines, Taken, without_end};
use super::settings::Limits;
use crate::http::is_token_byte;

/// What is still to come of a body.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Everything up to the end of the connection.
    UntilEnd,
}

/// Where in a chunked body the next byte belongs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chunk {
    /// To a size line.
    Size,
    /// To the data, of which this number of bytes is to come.
    Data(u64),
    /// It is the CR after the data.
    Cr,
    /// It is the LF after the data.
    Lf,
    /// To the trailers; `bytes` of them came before.
    Trailers { bytes: usize },
}

impl Body {
    /// No body.
    pub(super) const NONE: Body = Body::Length(0);
    /// A chunked body that has not begun.
    pub(super) const CHUNKED: Body = Body::Chunked(Chunk::Size);

    /// Consumes `input` up to the end of the body. True if the end is reached.
    #[inline]
    pub(super) fn handle_input(
        &mut self,
        input: &mut &[u8],
        lines: &mut Lines,
        limits: &Limits,
        mut content: impl FnMut(&[u8], bool),
    ) -> Result<bool, Error> {
        match self {
            Body::Length(left) => {
                content(take(input, left), false);
                Ok(*left == 0)
            }
            Body::Chunked(chunk) => chunk.handle_input(input, lines, limits, content),
            Body::UntilEnd => {
                content(std::mem::take(input), false);
                Ok(false)
            }
        }
    }
}

impl Chunk {
    fn handle_input(
        &mut self,
        input: &mut &[u8],
        lines: &mut Lines,
        limits: &Limits,
        mut content: impl FnMut(&[u8], bool),
    ) -> Result<bool, Error> {
        while !input.is_empty() {
            *self = match *self {
                Chunk::Size => match lines.take(input, limits.chunk_line_bytes) {
                    Taken::Line(line) | Taken::Folded(line) => match chunk_size(line)? {
                        0 => Chunk::Trailers { bytes: 0 },
                        size => Chunk::Data(size),
                    },
                    Taken::Partial => Chunk::Size,
                    Taken::TooLong => return Err(Error::ChunkLineTooLong),
                },
                Chunk::Data(mut left) => {
                    let piece = take(input, &mut left);
                    content(piece, left == 0);
                    if left == 0 { Chunk::Cr } else { Chunk::Data(left) }
                }
                Chunk::Cr => expect_byte(input, b'\r').map(|()| Chunk::Lf)?,
                Chunk::Lf => expect_byte(input, b'\n').map(|()| Chunk::Size)?,
                Chunk::Trailers { bytes } => match trailer(input, lines, limits, bytes)? {
                    Some(bytes) => Chunk::Trailers { bytes },
                    None => return Ok(true),
                },
            };
        }
        Ok(false)
    }
}

/// Reads the chunked body at the front of `text`, and lends its content piece by piece. How many
/// bytes it has with its framing and its trailers; `None`: it does not end in `text`.
pub(crate) fn take_chunked(
    text: &[u8],
    mut content: impl FnMut(&[u8]),
) -> Result<Option<usize>, Error> {
    let mut rest = text;
    let mut body = Body::CHUNKED;
    let content = |piece: &[u8], _| content(piece);
    let ends = body.handle_input(&mut rest, &mut Lines::default(), &Limits::default(), content)?;
    Ok(ends.then(|| text.len() - rest.len()))
}

/// Takes up to `left` bytes from the front of `input`.
#[inline]
fn take<'i>(input: &mut &'i [u8], left: &mut u64) -> &'i [u8] {
    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (taken, rest) = input.split_at(count);
    *input = rest;
    *left -= count as u64;
    taken
}

fn expect_byte(input: &mut &[u8], wanted: u8) -> Result<(), Error> {
    match input.split_first() {
        Some((&got, rest)) if got == wanted => {
            *input = rest;
            Ok(())
        }
        _ => Err(Error::ChunkEnd),
    }
}

/// Takes a trailer line (RFC 9112 7.1.2), of which `bytes` came before; returns how many came now,
/// `None` after the empty line that ends the body.
fn trailer(
    input: &mut &[u8],
    lines: &mut Lines,
    limits: &Limits,
    bytes: usize,
) -> Result<Option<usize>, Error> {
    let left = limits.trailer_bytes.saturating_sub(bytes);
    match lines.take_field(input, left.min(limits.line_bytes)) {
        Taken::Line(line) | Taken::Folded(line) => match without_end(line) {
            [] => Ok(None),
            field => {
                FieldLine::read(field).map_err(|_| Error::Trailer)?;
                Ok(Some(bytes + line.len()))
            }
        },
        Taken::Partial => Ok(Some(bytes)),
        Taken::TooLong if left < limits.line_bytes => Err(Error::TrailersTooLarge),
        Taken::TooLong => Err(Error::LineTooLong),
    }
}

/// The size in a chunk's size line (RFC 9112 7.1).
fn chunk_size(line: &[u8]) -> Result<u64, Error> {
    let line = line.strip_suffix(b"\r\n").ok_or(Error::ChunkEnd)?;
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, extensions) = line.split_at(end);
    if digits.is_empty() {
        return Err(Error::ChunkSize);
    }
    let mut size = 0u64;
    for &digit in digits {
        let value = char::from(digit).to_digit(16).ok_or(Error::ChunkSize)?;
        size = size.checked_mul(16).ok_or(Error::ChunkSize)? + u64::from(value);
    }
    match extensions {
        [] => Ok(size),
        [b' ' | b'\t' | b';', ..] if are_extensions(extensions) => Ok(size),
        [b' ' | b'\t' | b';', ..] => Err(Error::ChunkExtension),
        _ => Err(Error::ChunkSize),
    }
}

/// Whether this is `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) BWS`
/// (RFC 9112 7.1.1; the last BWS is our leniency).
fn are_extensions(mut rest: &[u8]) -> bool {
    loop {
        rest = skip_space(rest);
        match rest {
            [] => return true,
            [b';', after @ ..] => rest = skip_space(after),
            _ => return false,
        }
        let Some(after) = skip_token(rest) else { return false };
        rest = skip_space(after);
        if let [b'=', after @ ..] = rest {
            let value = skip_space(after);
            let after = match value {
                [b'"', quoted @ ..] => skip_quoted(quoted),
                _ => skip_token(value),
            };
            let Some(after) = after else { return false };
            rest = after;
        }
    }
}

fn skip_space(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', after @ ..] = rest {
        rest = after;
    }
    rest
}

fn skip_token(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(rest.len());
    if end == 0 { None } else { Some(&rest[end..]) }
}

/// Skips a quoted string after its opening quote (RFC 9110 5.6.4).
fn skip_quoted(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'\t' | b' '..=b'~' | 0x80.., after @ ..] => after,
            [b'\\', ..] => return None,
            [b'\t' | b' '..=b'~' | 0x80.., after @ ..] => after,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_9112_7_1() {
        for (line, size) in [
            ("0\r\n", 0),
            ("000a\r\n", 10),
            ("fFfF\r\n", 0xffff),
            ("ffffffffffffffff\r\n", u64::MAX),
            ("00000000000000000000000000000001\r\n", 1),
            ("5  \r\n", 5),
        ] {
            assert_eq!(chunk_size(line.as_bytes()), Ok(size), "{line:?}");
        }
        for line in
            ["\r\n", "-1\r\n", "+1\r\n", "0x5\r\n", "10000000000000000\r\n", " 5\r\n", "g\r\n"]
        {
            assert_eq!(chunk_size(line.as_bytes()), Err(Error::ChunkSize), "{line:?}");
        }
        assert_eq!(chunk_size(b"5\n"), Err(Error::ChunkEnd));
    }

    #[test]
    fn chunk_extensions_9112_7_1_1() {
        for good in
            [";a", ";a=b", " ; a = b ; c", ";a=\"\"", ";a=\"quoted; \\\" = \t \u{e9}\";b=c", "\t;a"]
        {
            let line = format!("5{good}\r\n");
            assert_eq!(chunk_size(line.as_bytes()), Ok(5), "{line:?}");
        }
        for bad in
            [";", ";;", ";=b", ";a=", ";a=\"", ";a=\"\\\"", ";a=b c", " 5", ";a=\"\r\"", ";\0"]
        {
            let line = format!("5{bad}\r\n");
            assert_eq!(chunk_size(line.as_bytes()), Err(Error::ChunkExtension), "{line:?}");
        }
    }
}
