//! The pieces of responses, and what several kinds of paths need for them. Which path gets which response is not
//! decided here.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::body::Content;

/// A response before the connection's faults apply to it.
pub(crate) type Answer = Response<Content>;

pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("text/plain");
pub(crate) const JSON_TYPE: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The response to an unknown path.
pub(crate) fn not_found() -> Answer {
    let mut answer = fixed(TEXT, b"not found\n");
    *answer.status_mut() = StatusCode::NOT_FOUND;
    answer
}

/// The response to a request that is wrong, and what is.
pub(crate) fn refuse(status: StatusCode, says: &str) -> Answer {
    let mut answer = text(format!("{says}\n").into());
    *answer.status_mut() = status;
    answer
}

pub(crate) fn with_type(kind: HeaderValue, content: Content) -> Answer {
    let mut answer = Response::new(content);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

pub(crate) fn fixed(kind: HeaderValue, bytes: &'static [u8]) -> Answer {
    with_type(kind, Content::Whole(Bytes::from_static(bytes)))
}

pub(crate) fn text(text: Bytes) -> Answer {
    with_type(TEXT, whole(text))
}

pub(crate) fn chunks(count: u32, chunk: Bytes) -> Answer {
    with_type(BINARY, Content::chunks(count, chunk, None))
}

pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Content::Empty);
    *answer.status_mut() = status;
    answer
}

pub(crate) fn whole(bytes: Bytes) -> Content {
    if bytes.is_empty() { Content::Empty } else { Content::Whole(bytes) }
}

pub(crate) fn decimal(number: u64) -> Bytes {
    number.to_string().into()
}

pub(crate) fn insert(answer: &mut Answer, name: HeaderName, value: &'static str) {
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// The elements of a comma-separated field, over all its lines.
pub(crate) fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(str::trim)
}
