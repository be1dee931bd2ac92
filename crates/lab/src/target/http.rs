//! One plain request, to check whether a target is ready and to get its own figures. Load is the
//! engine's task.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use candor_engine::{EngineError, permitted};
use candor_plan::Secrets;
use candor_plan::allow::AllowList;
use candor_plan::url::HttpUrl;

/// The limit for reading a response.
const MOST_BYTES: u64 = 4 << 20;

/// The response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether it has more bytes than are read.
    pub(crate) is_cut: bool,
}

/// The address of a URL without TLS, if it is allowed.
pub(crate) fn address(url: &str) -> Result<(SocketAddr, HttpUrl), String> {
    let shown = shown(url);
    let parsed = HttpUrl::parse(url).map_err(|error| format!("{shown}: {error}"))?;
    if parsed.is_https {
        return Err(format!("{shown}: only http is supported here"));
    }
    let addresses = permitted(&parsed.host, parsed.port, None);
    let addresses = addresses.map_err(|error| format!("{shown}: {error}"))?;
    let address = addresses.first().ok_or_else(|| format!("{shown}: its host has no address"))?;
    Ok((*address, parsed))
}

/// An error if `own` or the other lists do not allow requests to `url`.
pub(crate) fn permit(url: &str, own: Option<&AllowList>) -> Result<(), EngineError> {
    // A text that is not a URL cannot redirect anywhere.
    let Ok(parsed) = HttpUrl::parse(url) else { return Ok(()) };
    permitted(&parsed.host, parsed.port, own).map(drop)
}

/// A URL, redacted for messages, which may end up in results.
pub(crate) fn shown(url: &str) -> String {
    Secrets::Hidden.url(url)
}

/// GETs `url`, within `patience`.
pub(crate) fn get(url: &str, patience: Duration) -> Result<Answer, String> {
    ask("GET", url, patience)
}

/// The same with any method; nothing is sent but the header block.
pub(crate) fn ask(method: &str, url: &str, patience: Duration) -> Result<Answer, String> {
    let begun = Instant::now();
    let (address, parsed) = address(url)?;
    let url = &shown(url);
    let failed = |error: std::io::Error| format!("{url}: {error}");
    let mut stream = TcpStream::connect_timeout(&address, patience).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    let (path, authority) = (&parsed.path, &parsed.authority);
    let authorization = parsed.authorization.as_ref();
    let authorization =
        authorization.map_or(String::new(), |value| format!("Authorization: {value}\r\n"));
    // HTTP/1.0: no chunks, and the connection ends with the response.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {authority}\r\nAccept: application/json, text/plain;q=0.9, */*;q=0.1\r\n{authorization}Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let late = || format!("{url}: no complete response within {patience:?}");
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(late());
        }
        stream.set_read_timeout(Some(left)).map_err(failed)?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                // The kernel's word for a time that is over.
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(late()),
                _ => return Err(failed(error)),
            },
        }
        if bytes.len() as u64 > MOST_BYTES || is_whole(&bytes) {
            break;
        }
    }
    let answer = parse(&bytes).ok_or_else(|| format!("{url}: not an HTTP response"))?;
    Ok(Answer { is_cut: bytes.len() as u64 > MOST_BYTES, ..answer })
}

/// The header block, and the offset of the body.
fn head(bytes: &[u8]) -> Option<(&str, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, end + 4))
}

fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

/// Whether all bytes of the Content-Length have arrived: some servers keep the connection open.
fn is_whole(bytes: &[u8]) -> bool {
    head(bytes).is_some_and(|(head, at)| length(head).is_some_and(|n| bytes.len() - at >= n))
}

pub(crate) fn parse(bytes: &[u8]) -> Option<Answer> {
    let (head, at) = head(bytes)?;
    let status = head.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()?;
    let end = length(head).map_or(bytes.len(), |n| (at + n).min(bytes.len()));
    Some(Answer { status, body: bytes[at..end].to_vec(), is_cut: false })
}

/// Reads the STATS document of `url`: responses so far, and how often they are counted.
pub(crate) fn counted(url: &str, body: &[u8]) -> Result<(u64, Duration), String> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| format!("{url}: not JSON ({error})"))?;
    let count = json.get("requests_answered").and_then(serde_json::Value::as_u64);
    let interval_us = json.get("interval_us").and_then(serde_json::Value::as_u64);
    match count {
        Some(count) => Ok((count, Duration::from_micros(interval_us.unwrap_or(0)))),
        None => Err(format!("{url} has no \"requests_answered\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart() {
        let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhello";
        assert!(is_whole(bytes));
        let answer = parse(bytes).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"he"[..]));
        let until_end = parse(b"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\nhello").unwrap();
        assert_eq!((until_end.status, until_end.body.len()), (404, 5));
        for wrong in [&b""[..], b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n"] {
            assert!(parse(wrong).is_none());
        }
    }

    #[test]
    fn what_does_not_answer_is_an_error() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        assert!(get(&url, Duration::from_millis(50)).is_err());
        assert!(get("https://127.0.0.1/", Duration::from_millis(50)).is_err());
        assert!(get("nonsense", Duration::from_millis(50)).is_err());
    }
}
