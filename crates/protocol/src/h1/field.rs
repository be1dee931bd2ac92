//! One header or trailer line (RFC 9112 5): its form, and nothing of what it means.

use memchr::memchr2;

use super::Error;
use crate::http::is_token_byte;

/// Name and value of a header line, without its line end, not folded and not empty.
pub(crate) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let FieldLine { name, value } = FieldLine::read(line)?;
    Ok((name, trim(value)))
}

/// A header or trailer line of valid form; the value still has white space around it.
pub(super) struct FieldLine<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
}

impl<'a> FieldLine<'a> {
    /// Reads a line, without its line end, not folded and not empty.
    #[inline]
    pub(super) fn read(line: &'a [u8]) -> Result<Self, Error> {
        let end = line.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        match rest {
            [b':', value @ ..] if !name.is_empty() => {
                check_text(value)?;
                Ok(FieldLine { name, value })
            }
            [b' ' | b'\t', ..] => Err(Error::FieldSpace),
            _ => Err(Error::FieldName),
        }
    }
}

/// Refuses NUL and bare CR (RFC 9110 5.5, RFC 9112 2.2).
#[inline]
pub(super) fn check_text(text: &[u8]) -> Result<(), Error> {
    match memchr2(0, b'\r', text) {
        None => Ok(()),
        Some(_) => Err(Error::ControlCharacter),
    }
}

/// Without white space around it (OWS, RFC 9110 5.6.3).
pub(super) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
