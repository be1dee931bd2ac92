//! WebSocket (RFC 6455), over HTTP/1.1 and as a stream of HTTP/2 (RFC 8441) or HTTP/3 (RFC 9220): the handshake.
//!
//! A request comes as HTTP, its response goes back to the caller, and the socket that follows runs as a
//! task of its own ([`socket`]) on the connection's thread; over HTTP/3 it is the content of the response. No extension is
//! negotiated, and no subprotocol.

mod plan;
mod socket;

use std::sync::Arc;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::ext::Protocol;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Response, StatusCode, Version};

use crate::answer::{Answer, list, refuse};
use crate::body::Content;
use crate::connection::Connection;
use crate::received::Received;
use crate::route::Route;
use plan::Plan;

/// Answers a handshake and starts the socket.
pub(crate) fn answer(
    route: Route,
    argument: &str,
    head: &mut Parts,
    body: Received,
    connection: &Arc<Connection>,
) -> Answer {
    let answer = match accept(head) {
        Ok(answer) => answer,
        Err(refusal) => return *refusal,
    };
    let plan = match Plan::parse(route, argument, head.uri.query().unwrap_or("")) {
        Ok(plan) => plan,
        Err(says) => return refuse(StatusCode::BAD_REQUEST, &says),
    };
    if head.version == Version::HTTP_3 {
        return answer.map(|_| socket::content(plan, route, body, Arc::clone(connection)));
    }
    let Some(upgrade) = head.extensions.remove::<OnUpgrade>() else {
        return refuse(StatusCode::BAD_REQUEST, "this connection cannot be upgraded");
    };
    tokio::spawn(socket::run(plan, route, upgrade, Arc::clone(connection)));
    answer
}

/// The response that accepts a handshake, or the one that refuses it.
fn accept(head: &Parts) -> Result<Answer, Box<Answer>> {
    let refused = |status, says| Err(Box::new(refuse(status, says)));
    let asks = if head.version >= Version::HTTP_2 {
        let protocol = head.extensions.get::<Protocol>().map(Protocol::as_str);
        head.method == Method::CONNECT && protocol == Some("websocket")
    } else {
        head.method == Method::GET
            && names(&head.headers, header::UPGRADE, "websocket")
            && names(&head.headers, header::CONNECTION, "upgrade")
    };
    let version = head.headers.get(header::SEC_WEBSOCKET_VERSION);
    if !asks || version.is_none_or(|version| version != "13") {
        // RFC 6455, section 4.2.2: the refusal says which version would do.
        let mut answer =
            refuse(StatusCode::UPGRADE_REQUIRED, "this path is for WebSocket, version 13");
        let fields = answer.headers_mut();
        fields.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        if head.version < Version::HTTP_2 {
            fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        }
        return Err(Box::new(answer));
    }
    let mut answer = Response::new(Content::Empty);
    if head.version >= Version::HTTP_2 {
        return Ok(answer);
    }
    let key = head.headers.get(header::SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    if BASE64_STANDARD.decode(key).map_or(0, |nonce| nonce.len()) != 16 {
        return refused(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64");
    }
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = answer.headers_mut();
    fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    if let Ok(value) = HeaderValue::from_str(&accept_key(key)) {
        fields.insert(header::SEC_WEBSOCKET_ACCEPT, value);
    }
    Ok(answer)
}

/// Sec-WebSocket-Accept (RFC 6455, section 4.2.2).
fn accept_key(key: &[u8]) -> String {
    let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(hash.finish())
}

fn names(headers: &HeaderMap, field: HeaderName, token: &str) -> bool {
    list(headers, field).any(|named| named.eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455, section 1.3.
    #[test]
    fn the_key_is_accepted_as_the_rfc_says() {
        assert_eq!(accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn handshakes_that_are_none_are_refused() {
        let status = |method: &str, fields: &[(&str, &str)]| {
            let mut request = hyper::Request::builder().method(method);
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            match accept(&request.body(()).unwrap().into_parts().0) {
                Ok(answer) => answer.status().as_u16(),
                Err(answer) => answer.status().as_u16(),
            }
        };
        let fields = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        assert_eq!(status("GET", &fields), 101);
        assert_eq!(status("POST", &fields), 426);
        for (missing, expected) in [(0, 426), (1, 426), (2, 426), (3, 400)] {
            let mut fields = fields.to_vec();
            fields.remove(missing);
            assert_eq!(status("GET", &fields), expected, "without field {missing}");
        }
        for (wrong, value, expected) in [(2, "8", 426), (3, "short", 400), (3, "c2hvcnQ=", 400)] {
            let mut fields = fields;
            fields[wrong].1 = value;
            assert_eq!(status("GET", &fields), expected, "{value}");
        }
    }
}
