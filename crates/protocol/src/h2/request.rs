//! Requests, encoded once.
//!
//! Everything goes out as the plan has it, with names in lower case; Host becomes `:authority`,
//! fields that HTTP/2 does not have are left out, Content-Length is added where HTTP/1 would need
//! it, and nothing else.

use std::sync::Arc;

use candor_plan::{Expect, Request};

use super::hpack::Fields;

/// One request, ready to be written as often as needed, and what its answer must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Pseudo-header fields and header fields.
    pub fields: Fields,
    /// What follows; empty for none.
    pub body: Arc<[u8]>,
    /// What counts as a right answer.
    pub expect: Expect,
    /// The method is HEAD: answers have no body.
    pub is_head: bool,
    /// The method is CONNECT: a 2xx answer turns the stream into a tunnel.
    pub is_connect: bool,
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
    let mut prepared = Prepared {
        fields: Fields::default(),
        body: Arc::clone(&request.body),
        expect: request.expect.clone(),
        is_head: false,
        is_connect: false,
    };
    prepared.set_parts(&parts);
    prepared
}

impl Prepared {
    /// Makes this the request of `parts` with the body it has. Only what differs from before is
    /// encoded anew.
    pub fn set_parts(&mut self, parts: &Parts<'_>) {
        self.is_head = parts.method == "HEAD";
        self.is_connect = parts.method == "CONNECT";
        let fields = &mut self.fields;
        fields.clear();
        let has =
            |name: &str| parts.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let host = parts.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let authority = host.map_or(parts.authority, |(_, value)| value);
        fields.push(b":method", parts.method.as_bytes());
        // RFC 9113 8.5.
        if !self.is_connect {
            fields.push(b":scheme", parts.scheme.as_bytes());
            fields.push(b":path", parts.path.as_bytes());
        }
        fields.push(b":authority", authority.as_bytes());
        let mut lower = [0; LONGEST_NAME];
        for (name, value) in parts.headers {
            let value = value.trim_ascii();
            if is_left_out(name, value) {
                continue;
            }
            match lower.get_mut(..name.len()) {
                Some(lower) => {
                    lower.copy_from_slice(name.as_bytes());
                    lower.make_ascii_lowercase();
                    fields.push(lower, value.as_bytes());
                }
                None => fields.push(name.to_ascii_lowercase().as_bytes(), value.as_bytes()),
            }
        }
        // RFC 9110 8.6: a method that gives content a meaning is sent with its length, even 0.
        let wants_length = matches!(parts.method, "POST" | "PUT" | "PATCH");
        if (wants_length || !self.body.is_empty()) && !has("content-length") {
            let mut digits = [0; 20];
            fields.push(b"content-length", decimal(self.body.len(), &mut digits));
        }
    }
}

/// Names up to this length are put into lower case without allocating.
const LONGEST_NAME: usize = 128;

/// Fields that speak of HTTP/1 connections (RFC 9113 8.2.2), and Host, which has become
/// `:authority`.
fn is_left_out(name: &str, value: &str) -> bool {
    const NAMES: [&str; 7] = [
        "connection",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    NAMES.iter().any(|left_out| name.eq_ignore_ascii_case(left_out))
        || (name.eq_ignore_ascii_case("te") && !value.eq_ignore_ascii_case("trailers"))
}

/// `number` in digits.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}
