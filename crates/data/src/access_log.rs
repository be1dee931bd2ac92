//! Lines of an access log in the Common or Combined Log Format, as Apache and nginx write them.
//!
//! A log also has requests that cannot be repeated: those that were not HTTP, ended early, or were
//! meant for a proxy. Their lines are not usable, which is no fault of the file.

use memchr::memmem;

use crate::request_line::{is_blank, is_token};
use crate::values::Values;

/// The request of a line, between its quotes: `… [date] "request" status …`.
pub(crate) fn request(line: &[u8]) -> Option<&[u8]> {
    let after_date = memmem::find(line, b"] \"")?;
    if !line[..after_date].contains(&b'[') {
        return None;
    }
    let text = &line[after_date + 3..];
    let (request, rest) = text.split_at(closing_quote(text)?);
    match rest.strip_prefix(b"\" ")? {
        [a, b, c] | [a, b, c, b' ', ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()) => {
            Some(request)
        }
        _ => None,
    }
}

/// Writes method and path of a request, unless it cannot be repeated: then a part may be written.
pub(crate) fn write(request: &[u8], out: &mut Values) -> bool {
    let mut words = request.split(|byte| *byte == b' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return false };
    let is_http = words.next().is_none_or(|version| version.starts_with(b"HTTP/"));
    if !is_http || words.next().is_some() || !is_token(method) || !target.starts_with(b"/") {
        return false;
    }
    out.write(method);
    out.end();
    let mark = out.mark();
    // The fragment is no part of a request.
    let end = target.iter().position(|byte| *byte == b'#').unwrap_or(target.len());
    unescape(&target[..end], out);
    if out.unfinished(mark).iter().any(|byte| is_blank(*byte)) {
        return false;
    }
    out.end();
    true
}

/// Where the quote is that ends the request: one without a backslash before it.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Both servers write `\xHH` for bytes that could confuse a reader of the log; Apache also writes
/// `\"`, `\\` and the escapes of C for blanks, which no path can have.
fn unescape(mut text: &[u8], out: &mut Values) {
    while let Some(at) = text.iter().position(|byte| *byte == b'\\') {
        out.write(&text[..at]);
        text = &text[at..];
        let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, length) = match (text.get(1), digit(2), digit(3)) {
            (Some(b'x'), Some(high), Some(low)) => ((high << 4 | low) as u8, 4),
            (Some(quoted @ (b'"' | b'\\')), ..) => (*quoted, 2),
            (Some(b'n' | b'r' | b't' | b'b' | b'v' | b'f'), ..) => (b' ', 2),
            _ => (b'\\', 1),
        };
        out.write(&[byte]);
        text = &text[length..];
    }
    out.write(text);
}
