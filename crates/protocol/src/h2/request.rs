//! Requests, encoded once.
//!
//! Everything goes out as the plan has it, with names in lower case; Host becomes `:authority`,
//! fields that HTTP/2 does not have are left out, Content-Length is added where HTTP/1 would need
//! it, and nothing else.

use std::sync::Arc;

use candor_plan::{Expect, Request};

use super::hpack::Fields;
use crate::http::wants_length;
use crate::request::Made;

/// One request, ready to be written as often as needed, and what its response must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Pseudo-header fields and header fields.
    pub fields: Fields,
    /// What follows; empty for none.
    pub body: Arc<[u8]>,
    /// What counts as a right response.
    pub expect: Expect,
    /// The method is HEAD: responses have no body.
    pub is_head: bool,
    /// The method is CONNECT: a 2xx response turns the stream into a tunnel.
    pub is_connect: bool,
    scheme: Box<str>,
    authority: Box<str>,
}

/// A request that is made as it is sent, by a script for instance.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Method.
    pub method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// What stands for Host, unless the fields have one.
    pub authority: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Header fields in order.
    pub headers: &'a [(&'a str, &'a str)],
}

/// Encodes `request` for a target of this scheme and authority.
pub fn prepare(request: &Request, scheme: &str, authority: &str) -> Prepared {
    let headers: Vec<(&str, &str)> =
        request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let (method, path) = (request.method.as_str(), request.path.as_str());
    let parts = Parts { method, scheme, authority, path, headers: &headers };
    Prepared::new(&parts, request.body.shared(), request.expect.clone())
}

impl Prepared {
    /// The request of `parts` with this body, and what its response must be.
    pub fn new(parts: &Parts<'_>, body: Arc<[u8]>, expect: Expect) -> Self {
        let mut prepared = Prepared {
            fields: Fields::default(),
            body,
            expect,
            is_head: false,
            is_connect: false,
            scheme: parts.scheme.into(),
            authority: parts.authority.into(),
        };
        prepared.set_parts(parts);
        prepared
    }

    /// Makes this the request of `parts` with the body it has. Only what differs from before is
    /// encoded anew.
    pub fn set_parts(&mut self, parts: &Parts<'_>) {
        let Parts { method, scheme, authority, path, headers } = *parts;
        let headers = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let line = [method, scheme, authority, path].map(str::as_bytes);
        set(&mut self.fields, line, headers, self.body.len());
        self.is_head = method == "HEAD";
        self.is_connect = method == "CONNECT";
    }

    /// Makes this the request of a script, for the target that this was prepared for.
    pub(super) fn set_made(&mut self, made: &Made<'_>) {
        let body = made.body();
        if *self.body != *body {
            self.body = body.as_ref().into();
        }
        let (scheme, authority) = (self.scheme.as_bytes(), self.authority.as_bytes());
        let line = [made.method(), scheme, authority, made.path()];
        set(&mut self.fields, line, made.fields(), self.body.len());
        self.is_head = made.method() == b"HEAD";
        self.is_connect = made.method() == b"CONNECT";
    }
}

/// Writes the fields of a request whose method, scheme, authority and path are these.
fn set<'a>(
    fields: &mut Fields,
    line: [&[u8]; 4],
    headers: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    body_bytes: usize,
) {
    fields.clear();
    each_field(line, headers, body_bytes, |name, value| fields.push(name, value));
}

/// Hands each field of a request whose method, scheme, authority and path are these to `push`.
pub(crate) fn each_field<'a>(
    [method, scheme, authority, path]: [&[u8]; 4],
    headers: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    body_bytes: usize,
    mut push: impl FnMut(&[u8], &[u8]),
) {
    let find = |name: &[u8]| headers.clone().find(|(other, _)| other.eq_ignore_ascii_case(name));
    let authority = find(b"host").map_or(authority, |(_, value)| value);
    push(b":method", method);
    // RFC 9113 8.5.
    if method != b"CONNECT" {
        push(b":scheme", scheme);
        push(b":path", path);
    }
    push(b":authority", authority);
    let wants_length = wants_length(method) || body_bytes > 0;
    let adds_length = wants_length && find(b"content-length").is_none();
    let mut lower = [0; LONGEST_NAME];
    for (name, value) in headers {
        let value = value.trim_ascii();
        if is_left_out(name, value) {
            continue;
        }
        match lower.get_mut(..name.len()) {
            Some(lower) => {
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                push(lower, value);
            }
            None => push(&name.to_ascii_lowercase(), value),
        }
    }
    if adds_length {
        let mut digits = itoa::Buffer::new();
        push(b"content-length", digits.format(body_bytes).as_bytes());
    }
}

/// Names up to this length are put into lower case without allocating.
const LONGEST_NAME: usize = 128;

/// Fields that speak of HTTP/1 connections (RFC 9113 8.2.2), and Host, which has become
/// `:authority`.
pub(crate) fn is_left_out(name: &[u8], value: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] = [
        b"connection",
        b"host",
        b"http2-settings",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"upgrade",
    ];
    NAMES.iter().any(|left_out| name.eq_ignore_ascii_case(left_out))
        || (name.eq_ignore_ascii_case(b"te") && !value.eq_ignore_ascii_case(b"trailers"))
}
