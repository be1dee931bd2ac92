//! How values are written into paths, fields, JSON and base64, so that they cannot break what they stand in; and how
//! percent escapes and base64 are read back. This module knows bytes alone.

/// A way to write a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// In base64 (RFC 4648 4).
    Base64,
    /// With a percent escape for everything but letters, digits, `-`, `.`, `_` and `~` (RFC 3986 2.3).
    Url,
    /// As browsers write a form: with `+` for a blank, and a percent escape for everything but letters, digits, `*`,
    /// `-`, `.` and `_` (URL Standard, 5.2).
    Form,
    /// As a path with a query: with a percent escape for what can stand in neither, and in front a `/` if there is
    /// none.
    Path,
    /// As a part of a path or a query that may have escapes of its own: with a percent escape for what can stand in
    /// neither.
    Target,
    /// As it is.
    Raw,
    /// As the content of a string of JSON (RFC 8259 7).
    Json,
    /// As a value of JSON: numbers, `true`, `false` and `null` as they are, everything else as a string.
    JsonValue,
    /// In a header field: with a blank for control characters (RFC 9110 5.5).
    Field,
}

impl Escape {
    /// Appends `value` to `out`. Allocates only to make `out` longer.
    pub fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Escape::Base64 => base64_onto(value, out),
            Escape::Url => percent(value, out, is_unreserved),
            Escape::Form => {
                let begin = out.len();
                percent(value, out, |byte| {
                    byte == b' ' || byte.is_ascii_alphanumeric() || b"*-._".contains(&byte)
                });
                out[begin..].iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'+');
            }
            Escape::Path => {
                if value.first() != Some(&b'/') {
                    out.push(b'/');
                }
                percent(value, out, is_of_target);
            }
            Escape::Target => percent(value, out, is_of_target),
            Escape::Raw => out.extend_from_slice(value),
            Escape::Json => json(value, out),
            Escape::JsonValue if is_scalar(value) => out.extend_from_slice(value),
            Escape::JsonValue => {
                out.push(b'"');
                json(value, out);
                out.push(b'"');
            }
            Escape::Field => out.extend(value.iter().map(|&byte| match byte {
                b'\t' => byte,
                byte if byte.is_ascii_control() => b' ',
                byte => byte,
            })),
        }
    }
}

/// RFC 3986 2.3.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_of_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'#'
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn percent(value: &[u8], out: &mut Vec<u8>, stays: impl Fn(u8) -> bool) {
    for &byte in value {
        match stays(byte) {
            true => out.push(byte),
            false => out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

fn json(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..0x20 => {
                out.extend(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            byte => out.push(byte),
        }
    }
}

/// Whether `text` is a number, `true`, `false` or `null` of JSON.
fn is_scalar(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false" | b"null") || is_number(text)
}

/// RFC 8259 6.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(after) = rest.strip_prefix(b".") {
        let fraction = digits(after);
        if fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = match after {
            [b'+' | b'-', after @ ..] => after,
            after => after,
        };
        return !after.is_empty() && digits(after) == after.len();
    }
    rest.is_empty()
}

/// What a text with percent escapes stands for. A percent sign that begins none is kept.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, hex(after.first()), hex(after.get(1))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    decoded
}

/// `bytes` in base64 (RFC 4648 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    base64_onto(bytes, &mut text);
    text.into_iter().map(char::from).collect()
}

fn base64_onto(bytes: &[u8], text: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            match index <= chunk.len() {
                true => text.push(ALPHABET[(group >> (18 - 6 * index)) as usize & 63]),
                false => text.push(b'='),
            }
        }
    }
}

/// What a text in base64 (RFC 4648 4) stands for, with padding or without.
pub(crate) fn base64_decoded(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut decoded = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::from(digit(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_rfc_4648_section_10() {
        let table = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in table {
            assert_eq!(base64(plain.as_bytes()), encoded);
            assert_eq!(base64_decoded(encoded).as_deref(), Some(plain.as_bytes()));
        }
    }
}
