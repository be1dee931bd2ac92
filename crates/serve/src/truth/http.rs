//! Finds the end and the target of a request: as much of HTTP/1.1 as the truth server needs.
//!
//! Bytes come in, a [`Parsed`] goes out. Bodies with a length are skipped; bodies without one are
//! refused.

use std::time::Duration;

use crate::units::parse_duration;

/// The limit of a request's header.
pub(super) const LONGEST_HEAD: usize = 16 * 1024;
const MOST_FIELDS: usize = 64;

/// The result of parsing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// An incomplete header.
    Partial,
    /// A header.
    Head(Head),
    /// Not HTTP, or HTTP that is not supported: the status to send before the end.
    Refused(u16, &'static str),
}

/// A request's header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the header.
    pub(super) length: usize,
    /// Bytes of the body, which follows.
    pub(super) body: u64,
    /// The connection ends with the response.
    pub(super) close: bool,
    /// The response has no body.
    pub(super) is_head: bool,
    pub(super) asks: Asks,
}

/// The purpose of a request, by its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// To be served in the queue of this number; a path without a number means the first.
    Service { queue: usize },
    /// For the server's counts.
    Stats,
    /// For a stall, from now on.
    Stall(Result<Duration, String>),
}

/// Parses the header at the beginning of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Parsed::Partial,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::Refused(431, "the header is too long");
        }
        Err(_) => return Parsed::Refused(400, "not a request of HTTP/1.1"),
    };
    let (mut body, mut close) = (0, request.version == Some(0));
    for field in request.headers.iter() {
        let value = field.value.trim_ascii();
        if field.name.eq_ignore_ascii_case("content-length") {
            match std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()) {
                Some(bytes) => body = bytes,
                None => return Parsed::Refused(400, "the Content-Length is no number"),
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Parsed::Refused(411, "send a Content-Length: no other body is read here");
        } else if field.name.eq_ignore_ascii_case("connection") {
            close |= value.eq_ignore_ascii_case(b"close");
        }
    }
    let is_head = request.method == Some("HEAD");
    let asks = asks(request.method.unwrap_or(""), request.path.unwrap_or(""));
    Parsed::Head(Head { length, body, close, is_head, asks })
}

/// The purpose of a request of this method and target.
pub(super) fn asks(method: &str, target: &str) -> Asks {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (method, path) {
        (_, "/__stats") => Asks::Stats,
        ("POST", "/__stall") => {
            let lasts = query.split('&').find_map(|pair| pair.strip_prefix("for="));
            let missing = || "say how long: /__stall?for=2s".to_owned();
            Asks::Stall(lasts.ok_or_else(missing).and_then(parse_duration))
        }
        _ => Asks::Service { queue: path.get(1..).and_then(|n| n.parse().ok()).unwrap_or(0) },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(text: &str) -> Head {
        match parse(text.as_bytes()) {
            Parsed::Head(head) => head,
            other => panic!("{text:?} is {other:?}"),
        }
    }

    #[test]
    fn a_request_ends_where_it_ends() {
        let text = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
        let parsed = head(&format!("{text}GET "));
        assert_eq!((parsed.length, parsed.body, parsed.close), (text.len(), 0, false));
        assert_eq!(parsed.asks, Asks::Service { queue: 0 });
        assert_eq!(parse(&text.as_bytes()[..text.len() - 1]), Parsed::Partial);
        assert_eq!(head("POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n").body, 12);
        assert!(head("GET / HTTP/1.1\r\nconnection: Close\r\n\r\n").close);
        assert!(head("GET / HTTP/1.0\r\n\r\n").close);
        assert!(head("HEAD / HTTP/1.1\r\n\r\n").is_head);
    }

    #[test]
    fn what_is_not_spoken_is_refused() {
        let refused = |text: &str| match parse(text.as_bytes()) {
            Parsed::Refused(status, _) => status,
            other => panic!("{text:?} is {other:?}"),
        };
        assert_eq!(refused("nonsense\r\n\r\n"), 400);
        assert_eq!(refused("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), 400);
        assert_eq!(refused("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        assert_eq!(refused(&format!("GET /{} HTTP/1.1", "x".repeat(LONGEST_HEAD))), 431);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))), 431);
    }

    #[test]
    fn the_server_can_be_asked_about_itself_and_told_to_stall() {
        assert_eq!(head("GET /__stats HTTP/1.1\r\n\r\n").asks, Asks::Stats);
        let stall = Asks::Stall(Ok(Duration::from_millis(1500)));
        assert_eq!(head("POST /__stall?for=1.5s HTTP/1.1\r\n\r\n").asks, stall);
        assert!(matches!(head("POST /__stall HTTP/1.1\r\n\r\n").asks, Asks::Stall(Err(_))));
        let first = Asks::Service { queue: 0 };
        assert_eq!(head("GET /__stall?for=1s HTTP/1.1\r\n\r\n").asks, first);
        assert_eq!(head("GET /12?a=b HTTP/1.1\r\n\r\n").asks, Asks::Service { queue: 12 });
        assert_eq!(head("GET /12/3 HTTP/1.1\r\n\r\n").asks, first);
        assert_eq!(head("OPTIONS * HTTP/1.1\r\n\r\n").asks, first);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Parsed::Head(head) = parse(&bytes) {
                prop_assert!(head.length <= bytes.len());
            }
        }
    }
}
