//! Rows of a file of URLs: `URL`, `METHOD URL` or a line of an access log in each line.
//!
//! A URL's path and query are given out byte for byte, without its fragment. A row can stand in a
//! request line: its method is a token and its path has no blank or control character. Empty lines
//! and those that begin with `#` are skipped.

use candor_plan::url::HttpUrl;
use memchr::{memchr, memchr2, memchr3};

use crate::access_log;
use crate::fault::{Problem, Wrong, shown};
use crate::request_line::{is_blank, is_token};
use crate::step::Step;
use crate::values::Values;

/// The columns of every such file.
pub(crate) const COLUMNS: [&str; 2] = ["method", "path"];

/// Decodes the row that `bytes` begin with. `is_last`: the file ends with them.
pub(crate) fn row(bytes: &[u8], is_last: bool, out: &mut Values) -> Result<Step, Wrong> {
    let Some((line, length)) = line(bytes, is_last) else { return Ok(Step::More) };
    let (method, url) = match kind(line) {
        Kind::Empty => return Ok(Step::Skip { length }),
        Kind::Url(url) => (&b"GET"[..], url),
        Kind::Request(method, url) => (method, url),
        Kind::Logged(request) => match access_log::write(request, out) {
            true => return Ok(Step::Row { length, lines: 1 }),
            false => return Ok(Step::Unusable { length }),
        },
        Kind::Other(text) => return Err(Problem::NotUrl(shown(text)).into()),
    };
    let path = path(url).ok_or_else(|| Problem::NotUrl(shown(url)))?;
    if let Some(blank) = path.iter().copied().find(|byte| is_blank(*byte)) {
        return Err(Problem::Blank(char::from(blank)).into());
    }
    out.write(method);
    out.end();
    if !path.starts_with(b"/") {
        out.write(b"/");
    }
    out.write(path);
    out.end();
    Ok(Step::Row { length, lines: 1 })
}

/// Finds the end of a row that has been checked before.
pub(crate) fn skip(bytes: &[u8], is_last: bool, out: &mut Values) -> Result<Step, Wrong> {
    match line(bytes, is_last) {
        None => Ok(Step::More),
        // The kind of any other line shows only when it is taken apart.
        Some((line @ [b'/' | b'h', ..], length)) if memchr(b' ', line).is_none() => {
            Ok(Step::Row { length, lines: 1 })
        }
        Some(_) => row(bytes, is_last, out),
    }
}

/// The line that `bytes` begin with, and its length with its end. None: it goes on after them.
fn line(bytes: &[u8], is_last: bool) -> Option<(&[u8], usize)> {
    match memchr(b'\n', bytes) {
        Some(length) => Some((&bytes[..length], length + 1)),
        None => is_last.then_some((bytes, bytes.len())),
    }
}

/// Scheme and authority of the absolute URL in a row, if it has one.
pub(crate) fn site(row: &[u8]) -> Option<&[u8]> {
    match kind(row.strip_suffix(b"\n").unwrap_or(row)) {
        Kind::Url(url) | Kind::Request(_, url) => split(url).map(|(site, _)| site),
        _ => None,
    }
}

/// Checks a scheme and authority.
pub(crate) fn parse_site(site: &[u8]) -> Result<HttpUrl, Problem> {
    // Without the password that could be there.
    if memchr(b'@', site).is_some() {
        return Err(Problem::UserInformation);
    }
    let text = std::str::from_utf8(site).map_err(|_| Problem::NotUrl(shown(site)))?;
    let mut url = HttpUrl::parse(text).map_err(|error| {
        let text = error.to_string();
        // Its first part; the remedy is our own.
        let end = text.find("; ").unwrap_or(text.len());
        Problem::Url(text[..end].to_owned())
    })?;
    url.host.make_ascii_lowercase();
    Ok(url)
}

/// What a line is.
enum Kind<'a> {
    Empty,
    Url(&'a [u8]),
    Request(&'a [u8], &'a [u8]),
    Logged(&'a [u8]),
    Other(&'a [u8]),
}

fn kind(line: &[u8]) -> Kind<'_> {
    let line = line.trim_ascii();
    let Some(first) = line.first() else { return Kind::Empty };
    if *first == b'#' {
        return Kind::Empty;
    }
    let (word, rest) = match memchr2(b' ', b'\t', line) {
        None => return Kind::Url(line),
        Some(at) => (&line[..at], line[at..].trim_ascii_start()),
    };
    if let Some(request) = access_log::request(line) {
        return Kind::Logged(request);
    }
    match is_token(word) && path(rest).is_some() {
        true => Kind::Request(word, rest),
        // A URL with a blank in it: its path names the blank.
        false if path(word).is_some() => Kind::Url(line),
        false => Kind::Other(line),
    }
}

/// Path and query of a URL, without the slash if that is left out.
fn path(url: &[u8]) -> Option<&[u8]> {
    let path = match url.first() {
        Some(b'/') => url,
        _ => split(url)?.1,
    };
    Some(&path[..memchr(b'#', path).unwrap_or(path.len())])
}

/// An absolute URL's scheme and authority, and the rest.
fn split(url: &[u8]) -> Option<(&[u8], &[u8])> {
    let scheme = memchr(b':', url)?;
    let host = scheme + 3;
    if scheme == 0
        || !url[..scheme].iter().all(u8::is_ascii_alphanumeric)
        || !url[scheme + 1..].starts_with(b"//")
    {
        return None;
    }
    let length = memchr3(b'/', b'?', b'#', &url[host..]);
    Some(url.split_at(length.map_or(url.len(), |length| host + length)))
}
