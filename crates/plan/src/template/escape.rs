//! What is done to a value so that it cannot break what it stands in.

use crate::url::base64_onto;

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
pub(super) fn is_unreserved(byte: u8) -> bool {
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
