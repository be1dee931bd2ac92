//! Requests, serialised once.
//!
//! Everything goes out as the plan has it; added are Host and Content-Length where HTTP needs
//! them, what the delivery of a request asks for, and nothing else.

use std::ops::Range;
use std::sync::Arc;

use candor_plan::{Expect, Proxy, ProxyWay, Request, Target};

use super::pauses::{self, Pause};
use crate::http::wants_length;

/// One request, ready to be written as often as needed, and what its response must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Request line and header fields, up to and with the empty line.
    pub head: Vec<u8>,
    /// What follows, in chunks if it goes in chunks; empty for none.
    pub body: Arc<[u8]>,
    /// The head again and again, as often as [`Prepared::repeated`] was told: a pipelined batch of
    /// this one request is the beginning of it. Empty for one that is more than its head.
    pub batch: Box<[u8]>,
    /// Where it pauses on its way, in order; most do not.
    pub pauses: Box<[Pause]>,
    /// What counts as a right response.
    pub expect: Expect,
    /// The method is HEAD: responses have no body.
    pub is_head: bool,
    /// The method is CONNECT: a 2xx response turns the connection into a tunnel.
    pub is_connect: bool,
    /// The request has `Connection: close`: nothing may follow it (RFC 9112 9.6).
    pub closes: bool,
    /// The request has an Upgrade field: 101 may be the response.
    pub upgrades: bool,
}

/// What a request to a proxy has besides (RFC 9112 3.2.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Via {
    /// Before the path: scheme and authority.
    origin: String,
    /// `Proxy-Authorization`, with its line end; empty: there is none.
    field: String,
}

impl Via {
    /// Of requests to a target, if they go to a proxy as they are.
    pub fn of(target: &Target) -> Option<Arc<Self>> {
        let forward = target.proxy.as_ref().filter(|one| one.way == ProxyWay::Forward);
        forward.map(|proxy| Arc::new(Via::new(&target.authority, proxy)))
    }

    /// Of requests to `authority` that go to `proxy` as they are.
    pub fn new(authority: &str, proxy: &Proxy) -> Self {
        let field = proxy.authorization();
        let field = field.map(|value| format!("Proxy-Authorization: {value}\r\n"));
        Via { origin: format!("http://{authority}"), field: field.unwrap_or_default() }
    }

    /// Copies a request, whose path is at `path`.
    pub fn copy(&self, request: &[u8], path: Range<usize>, to: &mut Vec<u8>) {
        let line_end = memchr::memchr(b'\n', request).map_or(request.len(), |at| at + 1);
        to.extend_from_slice(&request[..path.start]);
        // `*` stands for the server itself (RFC 9112 3.2.4), whose URL has no path; a whole URL stays.
        let (origin, own) = match &request[path.clone()] {
            b"*" => (self.origin.as_str(), &b""[..]),
            own @ [b'/', ..] => (self.origin.as_str(), own),
            whole => ("", whole),
        };
        to.extend_from_slice(origin.as_bytes());
        to.extend_from_slice(own);
        to.extend_from_slice(&request[path.end..line_end]);
        to.extend_from_slice(self.field.as_bytes());
        to.extend_from_slice(&request[line_end..]);
    }
}

/// Serialises `request`. `authority` goes into Host, unless the request has a Host of its own.
/// Content-Length is added where there is a body, or where the method leads servers to expect
/// one, unless the request has Content-Length or Transfer-Encoding of its own, or goes in chunks.
pub fn prepare(request: &Request, authority: &str) -> Prepared {
    let has =
        |name: &str| request.headers.iter().any(|(field, _)| field.eq_ignore_ascii_case(name));
    // Room for what most requests have besides their own, so that it grows once at most.
    let own = request.headers.iter().map(|(name, value)| name.len() + value.len() + 4);
    let own = request.method.len() + request.path.len() + authority.len() + own.sum::<usize>();
    let mut head = String::with_capacity(own + 64);
    for part in [&request.method, " ", &request.path, " HTTP/1.1\r\n"] {
        head.push_str(part);
    }
    let mut add = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    };
    // RFC 9110 7.2: Host is best the first field.
    if !has("host") {
        add("Host", authority);
    }
    for (name, value) in &request.headers {
        add(name, value);
    }
    if request.delivery.continue_ns.is_some() {
        add("Expect", "100-continue");
    }
    let chunk_size = pauses::chunk_size(&request.delivery);
    if chunk_size.is_some() {
        add("Transfer-Encoding", "chunked");
    }
    if (wants_length(request.method.as_bytes()) || !request.body.is_empty())
        && !has("content-length")
        && !has("transfer-encoding")
        && chunk_size.is_none()
    {
        add("Content-Length", &request.body.count().to_string());
    }
    head.push_str("\r\n");
    let body = match chunk_size {
        Some(size) => pauses::chunked(request.body.whole(), size).into(),
        None => request.body.shared(),
    };
    Prepared {
        pauses: pauses::pauses(
            &request.delivery,
            head.len(),
            body.len(),
            request.body.whole().len(),
        ),
        head: head.into_bytes(),
        body,
        batch: Box::default(),
        expect: request.expect.clone(),
        is_head: request.method == "HEAD",
        is_connect: request.method == "CONNECT",
        closes: closes(request),
        upgrades: has("upgrade"),
    }
}

/// The same for a request that may go to a proxy.
pub fn prepare_via(request: &Request, authority: &str, via: Option<&Arc<Via>>) -> Prepared {
    let mut prepared = prepare(request, authority);
    if let Some(via) = via {
        let own = std::mem::take(&mut prepared.head);
        let path_at = request.method.len() + 1;
        via.copy(&own, path_at..path_at + request.path.len(), &mut prepared.head);
        let (head, body) = (prepared.head.len(), prepared.body.len());
        let content = request.body.whole().len();
        prepared.pauses = pauses::pauses(&request.delivery, head, body, content);
    }
    prepared
}

/// Whether `request` has `Connection: close`.
pub(crate) fn closes(request: &Request) -> bool {
    let connection =
        request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    let mut options = connection.flat_map(|(_, value)| value.split(','));
    options.any(|option| option.trim().eq_ignore_ascii_case("close"))
}

/// A longer batch is written request by request.
const MOST_BATCH_BYTES: usize = 64 << 10;

impl Prepared {
    /// The same, with up to `times` of it to be written as one piece.
    #[must_use]
    pub fn repeated(mut self, times: u32) -> Self {
        let times = (times as usize).min(MOST_BATCH_BYTES / self.head.len().max(1));
        if times > 1 && self.body.is_empty() && self.pauses.is_empty() {
            self.batch = self.head.repeat(times).into();
        }
        self
    }

    /// Length of head and body together.
    pub(super) fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }
}
