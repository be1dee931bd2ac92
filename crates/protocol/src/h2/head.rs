//! What the fields of a response say: its status, how long it is, and whether it is valid at all
//! (RFC 9113 8.1 to 8.3).
//!
//! Looks closely at `:status` and Content-Length only; of all others it checks the form. Every
//! block goes through here, responses and trailers, also those of streams that are gone: the
//! decoder's table has to see them.

use crate::capture::Capture;
use crate::grpc::Told;
use crate::http::{decimal, is_token_byte};
use memchr::memchr3;

use super::error::Error;
use super::hpack::{self, Decoder, FIELD_OVERHEAD};

/// What a valid block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// 0 for trailers.
    pub(crate) status: u16,
    pub(crate) content_length: Option<u64>,
    /// Names and values together.
    pub(crate) decoded_bytes: u32,
    /// What it says of a call, where there are calls.
    pub(crate) told: Told,
}

/// Reads a block. The outer error is the connection's, the inner one the response's. Fields other
/// than `:status` are appended to `keep` as lines, if they are kept. Of a call, the message is put into `message`.
pub(crate) fn read(
    decoder: &mut Decoder,
    block: &[u8],
    list_bytes: usize,
    keep: Option<&mut Capture>,
    message: Option<&mut String>,
) -> Result<Result<Head, Error>, hpack::Error> {
    if keep.is_none() && message.is_none() {
        let mut reading = Reading::default();
        decoder.decode(block, |name, value| reading.take(name, value, list_bytes))?;
        return Ok(reading.finish());
    }
    read_by(|take| decoder.decode(block, take), list_bytes, keep, message).map(|((), head)| head)
}

/// The same for a block that `decode` decodes, in whatever way; what that says comes first.
pub(crate) fn read_by<T, E>(
    decode: impl FnOnce(&mut dyn FnMut(&[u8], &[u8])) -> Result<T, E>,
    list_bytes: usize,
    mut keep: Option<&mut Capture>,
    mut message: Option<&mut String>,
) -> Result<(T, Result<Head, Error>), E> {
    let mut reading = Reading::default();
    let told = decode(&mut |name, value| {
        reading.take(name, value, list_bytes);
        if let Some(message) = &mut message
            && reading.error.is_none()
        {
            reading.head.told.take(name, value, message);
        }
        if let Some(capture) = &mut keep
            && reading.error.is_none()
            && !name.starts_with(b":")
        {
            for part in [name, b": ", value, b"\r\n"] {
                capture.keep_fields(part);
            }
        }
    })?;
    Ok((told, reading.finish()))
}

#[derive(Debug, Default)]
struct Reading {
    head: Head,
    /// The first thing that was wrong.
    error: Option<Error>,
    /// By RFC 9113 6.5.2.
    list_bytes: usize,
    /// A field that is no pseudo-header field came.
    after_pseudo: bool,
}

impl Reading {
    fn finish(self) -> Result<Head, Error> {
        self.error.map_or(Ok(self.head), Err)
    }

    fn take(&mut self, name: &[u8], value: &[u8], list_bytes: usize) {
        if self.error.is_some() {
            return;
        }
        self.list_bytes += name.len() + value.len() + FIELD_OVERHEAD;
        // Below the limit it fits; above it there is no head.
        self.head.decoded_bytes =
            self.head.decoded_bytes.saturating_add((name.len() + value.len()) as u32);
        let checked = if self.list_bytes > list_bytes {
            Err(Error::HeaderListTooLarge)
        } else {
            self.check(name, value)
        };
        self.error = checked.err();
    }

    fn check(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        if let [b':', ..] = name {
            if name != b":status" || self.after_pseudo || self.head.status != 0 {
                return Err(Error::PseudoField);
            }
            self.head.status = status(value).ok_or(Error::Status)?;
            return Ok(());
        }
        self.after_pseudo = true;
        if name.is_empty() || !name.iter().all(|&byte| is_name_byte(byte)) {
            return Err(Error::FieldName);
        }
        // Libraries send what the server's code wrote, blanks at its ends included; a client that refused that would
        // lose the one word about what went wrong.
        if name != b"grpc-message" || value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            check_value(value)?;
        }
        match name {
            b"content-length" => self.content_length(value),
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => Err(Error::ConnectionField),
            _ => Ok(()),
        }
    }

    /// RFC 9110 8.6: one number, or the same number several times.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Error> {
        for number in value.split(|&byte| byte == b',') {
            let length = decimal(number.trim_ascii()).ok_or(Error::ContentLength)?;
            if self.head.content_length.is_some_and(|before| before != length) {
                return Err(Error::ContentLength);
            }
            self.head.content_length = Some(length);
        }
        Ok(())
    }
}

/// RFC 9113 8.2.1.
fn check_value(value: &[u8]) -> Result<(), Error> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_space(value.first()) || is_space(value.last()) {
        return Err(Error::FieldValue);
    }
    match memchr3(0, b'\r', b'\n', value) {
        None => Ok(()),
        Some(_) => Err(Error::FieldValue),
    }
}

fn status(value: &[u8]) -> Option<u16> {
    let &[a, b, c] = value else { return None };
    let all_digits = value.iter().all(u8::is_ascii_digit);
    let status = [a, b, c].iter().fold(0, |sum, &digit| sum * 10 + u16::from(digit & 0x0f));
    (all_digits && status >= 100).then_some(status)
}

/// Bytes of a field's name: those of a token (RFC 9110 5.6.2), in lower case.
#[inline]
fn is_name_byte(byte: u8) -> bool {
    is_token_byte(byte) && !byte.is_ascii_uppercase()
}
