//! The response of each path. The table is in the crate's documentation.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};

use crate::answer::{
    Answer, BINARY, JSON_TYPE, TEXT, chunks, decimal, empty, fixed, insert, list, not_found,
    refuse, text, whole, with_type,
};
use crate::body::Content;
use crate::chat::{self, Chat};
use crate::connection::Connection;
use crate::content::{
    COMPRESSIBLE, HELLO, HELLO_FILE, HTTPC_BENCH, ITEMS, JSON, LARGE, LARGE_LEN, SSE_EVENT,
    SSE_EVENTS, item,
};
use crate::events::{Events, Format};
use crate::received::Received;
use crate::route::Route;
use crate::units::{parse_duration, parse_size};
use crate::{grpc, websocket};

/// The limit of a body that has to be held in memory.
const HELD_BODY_MAX_BYTES: usize = 64 << 20;
/// The longest response of `/bytes`.
const FILLER_MAX_BYTES: u64 = 1 << 30;
/// The largest chunk of `/stream`.
const CHUNK_MAX_BYTES: u64 = 16 << 20;
/// Routes of the scenario varied_paths_router.
const ROUTES: u32 = 100;

/// Responds to a request without a fault.
pub(crate) async fn answer(
    route: Route,
    argument: &str,
    head: &mut Parts,
    body: Received,
    connection: &Arc<Connection>,
) -> Answer {
    match route {
        Route::GrpcUnary
        | Route::GrpcServerStream
        | Route::GrpcClientStream
        | Route::GrpcBidi
        | Route::GrpcReflection => {
            if head.method != Method::POST || !grpc::is_call(head) {
                let says = "this path is for gRPC: POST over HTTP/2 or HTTP/3, of content-type application/grpc";
                return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, says);
            }
            grpc::answer(route, &head.headers, body, connection).await
        }
        Route::NotFound if grpc::is_call(head) => grpc::unknown_method(),
        Route::WsEcho | Route::WsBroadcast | Route::WsStall | Route::WsClose => {
            websocket::answer(route, argument, head, body, connection)
        }
        // Its stream is a tunnel that does not end, so that no other path could read its body.
        _ if head.version == Version::HTTP_3 && head.method == Method::CONNECT => {
            refuse(StatusCode::METHOD_NOT_ALLOWED, "CONNECT is for the paths of WebSockets")
        }
        Route::Chat => {
            let body = collect(connection, body).await;
            chat(body, head.uri.query().unwrap_or(""), connection).await
        }
        Route::Echo => echo(head, collect(connection, body).await),
        Route::Form => form(collect(connection, body).await),
        Route::Baseline => match collect(connection, body).await {
            Some(body) => baseline(head.uri.query().unwrap_or(""), &body).unwrap_or_else(not_found),
            None => broken_body(),
        },
        Route::Drain => uploaded(drain(connection, body).await, |_| Bytes::from_static(b"ok")),
        Route::Upload => uploaded(drain(connection, body).await, decimal),
        _ => {
            if drain(connection, body).await.is_none() {
                return broken_body();
            }
            if route == Route::Delay {
                return delay(argument).await;
            }
            let query = head.uri.query().unwrap_or("");
            match route {
                Route::SseEvents => events(route, Format::Sse, argument, query, connection),
                Route::Ndjson => events(route, Format::Ndjson, argument, query, connection),
                _ => without_body(route, argument, head).unwrap_or_else(not_found),
            }
        }
    }
}

/// Responds to a request whose body does not matter; `None` if its path is unknown after all.
fn without_body(route: Route, argument: &str, head: &Parts) -> Option<Answer> {
    let query = head.uri.query().unwrap_or("");
    match route {
        Route::Hello => Some(fixed(TEXT, HELLO)),
        Route::Large => Some(fixed(BINARY, &LARGE)),
        Route::Json => Some(fixed(JSON_TYPE, JSON)),
        Route::Cookies => Some(text(decimal(count_cookies(&head.headers)))),
        Route::Gzip => Some(gzip(&head.headers)),
        Route::Query => Some(text(decimal(count_pairs(query.as_bytes())))),
        Route::Sse => Some(server_sent_events()),
        Route::Etag => Some(etag(&head.headers)),
        Route::Api => (head.method == Method::OPTIONS).then(preflight),
        Route::Redirect => Some(redirect()),
        Route::Items => items(argument, query),
        Route::Static => Some(fixed(TEXT, HELLO_FILE)),
        Route::Streaming => Some(chunks(4, Bytes::from_static(&LARGE[..4096]))),
        Route::Small => Some(chunks(100, Bytes::from_static(&LARGE[..64]))),
        Route::Routed => routed(argument),
        Route::HttpcBench => Some(fixed(TEXT, HTTPC_BENCH)),
        Route::Status => status(argument),
        Route::Bytes => filler(argument),
        Route::Stream => stream(argument),
        Route::Token => Some(token(argument)),
        // Routes with a body, a wait or parts are handled before; an invalid fault gets 404.
        _ => None,
    }
}

// Responses to requests with a body; `None` if the body broke off or was too long.

fn echo(head: &Parts, body: Option<Bytes>) -> Answer {
    let Some(body) = body else { return broken_body() };
    let mut answer = Response::new(whole(body));
    for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        if let Some(value) = head.headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

fn form(body: Option<Bytes>) -> Answer {
    body.map_or_else(broken_body, |body| text(decimal(count_pairs(&body))))
}

fn uploaded(length: Option<u64>, say: impl FnOnce(u64) -> Bytes) -> Answer {
    length.map_or_else(broken_body, |length| text(say(length)))
}

/// Reads a body and drops it; its length, or `None` if it broke off.
pub(crate) async fn drain(connection: &Connection, mut body: Received) -> Option<u64> {
    let mut length = 0;
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let data_len = frame.ok()?.data_ref().map_or(0, Bytes::len) as u64;
        connection.body_bytes(data_len);
        length += data_len;
    }
    Some(length)
}

/// Reads a body into memory. A body that came in one piece is not copied.
async fn collect(connection: &Connection, mut body: Received) -> Option<Bytes> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let Ok(data) = frame.ok()?.into_data() else { continue };
        connection.body_bytes(data.len() as u64);
        if first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        if all.len() + data.len() > HELD_BODY_MAX_BYTES {
            return None;
        }
        all.extend_from_slice(&data);
    }
    Some(if all.is_empty() { first } else { all.freeze() })
}

/// A completion: of events, or whole.
async fn chat(body: Option<Bytes>, query: &str, connection: &Connection) -> Answer {
    let Some(body) = body else { return broken_body() };
    let chat = match Chat::parse(&body, query) {
        Ok(chat) => chat,
        Err(says) => {
            let json = chat::failure(&says, "invalid_request_error").to_string();
            let mut answer = with_type(JSON_TYPE, whole(json.into()));
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return answer;
        }
    };
    let origin = connection.begin(Route::Chat);
    if chat.streams() {
        return of_events("text/event-stream", Content::produced(|out| chat.run(origin, out)));
    }
    with_type(JSON_TYPE, whole(chat.whole(origin).await.to_string().into()))
}

/// A stream of events at known times.
fn events(
    route: Route,
    format: Format,
    argument: &str,
    query: &str,
    connection: &Connection,
) -> Answer {
    match Events::parse(format, argument, query) {
        Ok(events) => {
            let origin = connection.begin(route);
            of_events(events.media_type(), Content::produced(|out| events.run(origin, out)))
        }
        Err(says) => refuse(StatusCode::BAD_REQUEST, &says),
    }
}

fn of_events(media_type: &'static str, content: Content) -> Answer {
    let mut answer = with_type(HeaderValue::from_static(media_type), content);
    insert(&mut answer, header::CACHE_CONTROL, "no-cache");
    answer
}

fn broken_body() -> Answer {
    let mut answer = text(Bytes::from_static(b"the body broke off or is too long\n"));
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    insert(&mut answer, header::CONNECTION, "close");
    answer
}

// Responses to requests without a body.

fn gzip(headers: &HeaderMap) -> Answer {
    let mut answer = if accepts_gzip(headers) {
        let mut answer = with_type(JSON_TYPE, whole(COMPRESSIBLE.gzip.clone()));
        insert(&mut answer, header::CONTENT_ENCODING, "gzip");
        answer
    } else {
        with_type(JSON_TYPE, whole(COMPRESSIBLE.plain.clone()))
    };
    insert(&mut answer, header::VARY, "accept-encoding");
    answer
}

fn server_sent_events() -> Answer {
    let mut answer = chunks(SSE_EVENTS, Bytes::from_static(SSE_EVENT));
    insert(&mut answer, header::CONTENT_TYPE, "text/event-stream");
    insert(&mut answer, header::CACHE_CONTROL, "no-cache");
    insert(&mut answer, header::CONNECTION, "close");
    answer
}

fn etag(headers: &HeaderMap) -> Answer {
    const TAG: &str = "\"v1\"";
    // Weak comparison: `W/"v1"` names it as well (RFC 9110, section 13.1.2).
    let known = list(headers, header::IF_NONE_MATCH)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == TAG);
    let mut answer = if known {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        text(Bytes::from_static(b"version 1\n"))
    };
    insert(&mut answer, header::ETAG, TAG);
    answer
}

fn preflight() -> Answer {
    let mut answer = empty(StatusCode::NO_CONTENT);
    insert(&mut answer, header::ALLOW, "GET, HEAD, POST, OPTIONS");
    insert(&mut answer, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    insert(&mut answer, header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, OPTIONS");
    insert(&mut answer, header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
    insert(&mut answer, header::ACCESS_CONTROL_MAX_AGE, "86400");
    answer
}

fn redirect() -> Answer {
    let mut answer = empty(StatusCode::FOUND);
    insert(&mut answer, header::LOCATION, "/");
    answer
}

/// The sum of two numbers of the query, and of the one in the body if there is one.
fn baseline(query: &str, body: &[u8]) -> Option<Answer> {
    let a: i64 = parameter(query, "a")?.parse().ok()?;
    let b: i64 = parameter(query, "b")?.parse().ok()?;
    let c: i64 = match str::from_utf8(body).ok()? {
        "" => 0,
        number => number.parse().ok()?,
    };
    Some(text(a.checked_add(b)?.checked_add(c)?.to_string().into()))
}

fn items(argument: &str, query: &str) -> Option<Answer> {
    let count: u32 = argument.parse().ok().filter(|&count| count <= ITEMS)?;
    let m: u64 = parameter(query, "m").map_or(Some(1), |m| m.parse().ok())?;
    let mut json = String::with_capacity(64 * count as usize + 32);
    json.push_str("{\"items\":[");
    for id in 1..=count {
        let item = item(id);
        let total = (item.price * item.quantity).checked_mul(m)?;
        let comma = if id == count { "" } else { "," };
        // Writing to a String does not fail.
        let _ = write!(
            json,
            r#"{{"id":{},"price":{},"quantity":{},"total":{total}}}{comma}"#,
            item.id, item.price, item.quantity
        );
    }
    let _ = write!(json, "],\"count\":{count}}}");
    Some(with_type(JSON_TYPE, whole(json.into())))
}

fn routed(argument: &str) -> Option<Answer> {
    let number: u32 = argument.parse().ok().filter(|&number| number < ROUTES)?;
    // One spelling for each: `/route/07` and `/route/+7` are not found.
    let number = number.to_string();
    (number == argument).then(|| text(number.into()))
}

async fn delay(argument: &str) -> Answer {
    let Ok(delay) = parse_duration(argument) else { return not_found() };
    tokio::time::sleep(delay).await;
    text(Bytes::from_static(b"ok"))
}

fn status(argument: &str) -> Option<Answer> {
    let status: u16 = argument.parse().ok().filter(|code| (200..600).contains(code))?;
    let status = StatusCode::from_u16(status).ok()?;
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Some(empty(status));
    }
    let mut answer = text(format!("{}\n", status.as_u16()).into());
    *answer.status_mut() = status;
    Some(answer)
}

fn filler(argument: &str) -> Option<Answer> {
    let length = parse_size(argument).ok().filter(|&length| length <= FILLER_MAX_BYTES)?;
    Some(with_type(BINARY, Content::filler(length)))
}

fn stream(argument: &str) -> Option<Answer> {
    let mut parts = argument.split('/');
    let count: u32 = parts.next()?.parse().ok()?;
    let size = parse_size(parts.next()?).ok()?;
    let gap = parts.next().map(parse_duration).transpose().ok()?;
    if parts.next().is_some() || !(1..=CHUNK_MAX_BYTES).contains(&size) {
        return None;
    }
    let size = size as usize;
    let chunk = if size <= LARGE_LEN {
        Bytes::from_static(&LARGE[..size])
    } else {
        LARGE.iter().copied().cycle().take(size).collect::<Vec<_>>().into()
    };
    Some(with_type(BINARY, Content::chunks(count, chunk, gap)))
}

/// The token of a user; or whether a token is the user's.
fn token(argument: &str) -> Answer {
    let of = |user: &str| {
        // FNV-1a: no secret, but no user's token is another's.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        format!("{:016x}", user.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    };
    match argument.split_once('/') {
        None => text(of(argument).into()),
        Some((user, token)) if token == of(user) => text(Bytes::from_static(b"ok")),
        Some(_) => {
            let mut answer = fixed(TEXT, b"not the token of this user\n");
            *answer.status_mut() = StatusCode::FORBIDDEN;
            answer
        }
    }
}

// The pieces of requests.

/// RFC 9110, section 12.5.3, as far as it is about gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    list(headers, header::ACCEPT_ENCODING).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        matches!(name.trim(), "gzip" | "x-gzip" | "*") && !refused
    })
}

fn count_cookies(headers: &HeaderMap) -> u64 {
    headers
        .get_all(header::COOKIE)
        .into_iter()
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b';'))
        .filter(|cookie| cookie.contains(&b'='))
        .count() as u64
}

fn count_pairs(urlencoded: &[u8]) -> u64 {
    urlencoded.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).count() as u64
}

fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn gzip_is_sent_only_where_it_is_accepted() {
        for yes in ["gzip", "br, gzip", "gzip;q=0.5, br", "*", "x-gzip"] {
            assert!(accepts_gzip(&headers(header::ACCEPT_ENCODING, yes)), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "gzip; q=0.0", "gzipped"] {
            assert!(!accepts_gzip(&headers(header::ACCEPT_ENCODING, no)), "{no}");
        }
    }

    #[test]
    fn pairs_and_cookies_are_counted() {
        assert_eq!(count_pairs(b""), 0);
        assert_eq!(count_pairs(b"a=1"), 1);
        assert_eq!(count_pairs(b"a=1&&b=%C3%A4+&c"), 3);
        assert_eq!(count_cookies(&headers(header::COOKIE, "a=1; b=2; c=3")), 3);
        assert_eq!(count_cookies(&HeaderMap::new()), 0);
    }

    #[test]
    fn parameters_are_found_by_their_whole_name() {
        assert_eq!(parameter("ab=1&a=2", "a"), Some("2"));
        assert_eq!(parameter("ab=1", "a"), None);
    }
}
