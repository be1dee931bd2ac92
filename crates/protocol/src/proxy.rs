//! A proxy between us and a session: what it is asked for, and its consent, before the session's own first byte.
//!
//! CONNECT (RFC 9110 9.3.6) or SOCKS 5 (RFC 1928, RFC 1929), the target's name resolved by the proxy. The session within
//! is made when the tunnel is open, and knows nothing of it. What the proxy says is bounded, and taken to its end and no
//! further: the next byte is the target's.

use std::io::IoSlice;
use std::rc::Rc;

use candor_plan::{Proxy, ProxyWay};

use crate::capture::Capture;
use crate::entry::Make;
use crate::request::Outgoing;
use crate::session::{
    Event, Failure, Fault, Input, Protocol, RequestId, Session, Transmit, Transport,
};

/// What a proxy says in response to CONNECT, at most, with interim responses.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// What is said to a proxy for one target.
#[derive(Debug)]
pub struct Opening {
    /// CONNECT, or for SOCKS 5 which ways to authenticate there are.
    first: Vec<u8>,
    /// SOCKS 5: user and password, if there are some.
    login: Option<Vec<u8>>,
    /// SOCKS 5: where to connect to; empty with CONNECT.
    to: Vec<u8>,
}

/// Why a proxy opens no tunnel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It wants to know who asks, or does not take who asks.
    #[error("the proxy does not take who asks: give it a user and a password in its URL")]
    Login,
    /// The response to CONNECT is not a 2xx.
    #[error("the proxy opened no tunnel: it responded {0} to CONNECT")]
    Status(u16),
    /// What it sent is no response, or too much.
    #[error("the proxy's response to CONNECT is not valid HTTP")]
    NotHttp,
    /// What it sent is not SOCKS 5.
    #[error("the proxy does not speak SOCKS 5")]
    NotSocks,
    /// SOCKS 5 says why not (RFC 1928 6).
    #[error("the proxy opened no tunnel: {}", socks_words(*.0))]
    Refused(u8),
}

impl Fault for Error {}

fn socks_words(code: u8) -> &'static str {
    match code {
        1 => "it failed",
        2 => "its rules forbid this target",
        3 => "the network cannot be reached from it",
        4 => "the host cannot be reached from it, or has no address",
        5 => "the target refused its connection",
        6 => "the connection timed out",
        7 => "it does not know CONNECT",
        8 => "it does not know this kind of address",
        _ => "for a reason that RFC 1928 does not know",
    }
}

impl Opening {
    /// What opens a tunnel; `None`: requests are sent to the proxy as they are.
    pub fn of(proxy: &Proxy) -> Option<Self> {
        let Proxy { way, host, port, .. } = proxy;
        match way {
            ProxyWay::Forward => None,
            ProxyWay::Connect => {
                let colons = host.contains(':');
                let host = if colons { format!("[{host}]") } else { host.clone() };
                let mut first =
                    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
                if let Some(value) = proxy.authorization() {
                    first.push_str(&format!("Proxy-Authorization: {value}\r\n"));
                }
                first.push_str("\r\n");
                Some(Opening { first: first.into_bytes(), login: None, to: Vec::new() })
            }
            ProxyWay::Socks5 => {
                // The plan's check bounds both to 255 bytes.
                let text = |bytes: &[u8]| -> Vec<u8> {
                    std::iter::once(bytes.len() as u8).chain(bytes.iter().copied()).collect()
                };
                let login = proxy
                    .credentials()
                    .map(|(user, password)| [&[1][..], &text(&user), &text(&password)].concat());
                let ways: &[u8] = if login.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
                let address = match host.parse() {
                    Ok(std::net::IpAddr::V4(address)) => [&[1][..], &address.octets()].concat(),
                    Ok(std::net::IpAddr::V6(address)) => [&[4][..], &address.octets()].concat(),
                    Err(_) => [&[3][..], &text(host.as_bytes())].concat(),
                };
                let to = [&[5, 1, 0][..], &address, &port.to_be_bytes()].concat();
                Some(Opening { first: ways.to_vec(), login, to })
            }
        }
    }
}

/// A session behind a proxy.
pub struct Proxied {
    opening: Rc<Opening>,
    make: Make,
    stage: Stage,
    /// What is being said to the proxy.
    outgoing: Vec<u8>,
    written: usize,
    /// What the proxy said and is not whole yet.
    incoming: Vec<u8>,
    has_ended: bool,
}

/// What is awaited.
enum Stage {
    /// A response to CONNECT; how much of interim ones there was.
    Head(usize),
    /// SOCKS 5: which way to authenticate it takes.
    Way,
    /// SOCKS 5: whether it takes who asks.
    Login,
    /// SOCKS 5: whether the tunnel is open.
    Reply,
    Open(Box<dyn Session>),
    Dead,
}

impl Proxied {
    /// A session that is made by `make` when the tunnel is open.
    pub fn new(opening: Rc<Opening>, make: Make) -> Self {
        let stage = if opening.to.is_empty() { Stage::Head(0) } else { Stage::Way };
        let outgoing = opening.first.clone();
        let (written, incoming, has_ended) = (0, Vec::new(), false);
        Proxied { opening, make, stage, outgoing, written, incoming, has_ended }
    }

    fn inner(&self) -> Option<&dyn Session> {
        if let Stage::Open(inner) = &self.stage { Some(&**inner) } else { None }
    }

    fn inner_mut(&mut self) -> Option<&mut Box<dyn Session>> {
        if let Stage::Open(inner) = &mut self.stage { Some(inner) } else { None }
    }

    /// Takes what the proxy said. `Ok(true)`: the tunnel is open.
    #[cold]
    fn take(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        while let Some((byte, rest)) = input.split_first() {
            self.incoming.push(*byte);
            *input = rest;
            match (&self.stage, &self.incoming[..]) {
                (Stage::Head(before), head) => {
                    let before = before + head.len();
                    if before > MAX_HEAD_BYTES {
                        return Err(Error::NotHttp);
                    }
                    if !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
                        continue;
                    }
                    match status(head)? {
                        100..=199 => self.stage = Stage::Head(before),
                        200..=299 => return Ok(true),
                        407 => return Err(Error::Login),
                        other => return Err(Error::Status(other)),
                    }
                    self.incoming.clear();
                }
                (Stage::Way, [5]) | (Stage::Login, [_]) => {}
                (Stage::Way, [5, 0]) => self.say(Stage::Reply),
                (Stage::Way, [5, 2]) if self.opening.login.is_some() => self.say(Stage::Login),
                (Stage::Way, [5, _]) => return Err(Error::Login),
                (Stage::Login, [_, 0]) => self.say(Stage::Reply),
                (Stage::Login, _) => return Err(Error::Login),
                (Stage::Reply, [5, code, ..]) if *code != 0 => return Err(Error::Refused(*code)),
                (Stage::Reply, [5] | [5, 0] | [5, 0, 0] | [5, 0, 0, 1 | 3 | 4]) => {}
                (Stage::Reply, [5, 0, 0, kind, rest @ ..]) => {
                    let address = match kind {
                        1 => 4,
                        4 => 16,
                        3 => 1 + usize::from(rest[0]),
                        _ => return Err(Error::NotSocks),
                    };
                    if rest.len() == address + 2 {
                        return Ok(true);
                    }
                }
                _ => return Err(Error::NotSocks),
            }
        }
        Ok(false)
    }

    /// SOCKS 5: says what comes before `next`.
    fn say(&mut self, next: Stage) {
        self.incoming.clear();
        let Opening { login, to, .. } = &*self.opening;
        let words = match next {
            Stage::Login => login.as_deref().unwrap_or_default(),
            _ => to,
        };
        self.outgoing.extend_from_slice(words);
        self.stage = next;
    }
}

/// The status in the first line of a head.
fn status(head: &[u8]) -> Result<u16, Error> {
    let rest = head.strip_prefix(b"HTTP/1.").ok_or(Error::NotHttp)?;
    let [_, b' ', digits @ ..] = rest else { return Err(Error::NotHttp) };
    match digits {
        [a @ b'1'..=b'9', b, c, b' ' | b'\r' | b'\n', ..]
            if b.is_ascii_digit() && c.is_ascii_digit() =>
        {
            Ok([a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(**digit - b'0')))
        }
        _ => Err(Error::NotHttp),
    }
}

impl Protocol for Proxied {
    const TRANSPORT: Transport = Transport::Stream;
}

impl Session for Proxied {
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        self.inner().map_or(0, Session::free_places)
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        if let Some(inner) = self.inner_mut() {
            inner.handle_request(id, request);
        }
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if let Stage::Open(inner) = &mut self.stage {
            return inner.poll_transmit(now_ns, slices);
        }
        match (slices, &self.outgoing[self.written..]) {
            (_, []) | ([], _) => Transmit::default(),
            ([first, ..], left) => {
                *first = IoSlice::new(left);
                Transmit { slices: 1, ..Transmit::default() }
            }
        }
    }

    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        if let Stage::Open(inner) = &mut self.stage {
            return inner.handle_transmitted(now_ns, bytes, started);
        }
        self.written += bytes;
        false
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        if let Stage::Open(inner) = &mut self.stage {
            return inner.handle_input(now_ns, input);
        }
        let Input::Stream(bytes) = input else {
            debug_assert!(false, "a proxy is reached over a stream");
            return None;
        };
        if let Stage::Dead = self.stage {
            *bytes = &[];
            return None;
        }
        match self.take(bytes) {
            Ok(false) => None,
            Ok(true) => {
                (self.incoming, self.outgoing) = (Vec::new(), Vec::new());
                let mut inner = (self.make)();
                let event = inner.poll_event();
                self.stage = Stage::Open(inner);
                // There may be a first word to say.
                event.or(Some(Event::Changed))
            }
            Err(error) => {
                *bytes = &[];
                self.stage = Stage::Dead;
                Some(Event::Failed { id: None, failure: Failure::Malformed(error.into()) })
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if let Stage::Open(inner) = &mut self.stage {
            return inner.poll_event();
        }
        let is_over = std::mem::take(&mut self.has_ended) && !matches!(self.stage, Stage::Dead);
        let failure = Failure::NotReady("the proxy's consent to a tunnel");
        is_over.then_some(Event::Failed { id: None, failure })
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.inner()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if let Some(inner) = self.inner_mut() {
            inner.handle_timeout(now_ns);
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.inner_mut().is_some_and(|inner| inner.cancel(id))
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.inner_mut()?.take_captured()
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
        if let Some(inner) = self.inner_mut() {
            inner.handle_end();
        }
    }

    fn handle_close(&mut self) {
        if let Some(inner) = self.inner_mut() {
            inner.handle_close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1;

    fn proxy(way: ProxyWay, host: &str, user: Option<&str>) -> Proxy {
        let (host, user) = (host.to_owned(), user.map(str::to_owned));
        Proxy { way, host, port: 443, user, variable: None }
    }

    /// What was said to the proxy, and what became of it, if its words come in pieces of `at_once` bytes.
    fn talk(proxy: &Proxy, words: &[&[u8]], at_once: usize) -> (Vec<u8>, Vec<Event>, u32) {
        let make: Make = Rc::new(|| {
            let limits = h1::Limits::default();
            Box::new(h1::Session::new(std::sync::Arc::from([]), 3, limits))
        });
        let mut session = Proxied::new(Rc::new(Opening::of(proxy).unwrap()), make);
        let (mut said, mut events) = (Vec::new(), Vec::new());
        for words in words {
            let mut slices = [IoSlice::new(&[]); 4];
            let transmit = session.poll_transmit(0, &mut slices);
            let bytes: Vec<u8> = transmit.of(&slices).iter().flat_map(|one| one.to_vec()).collect();
            session.handle_transmitted(0, bytes.len(), &mut |_| panic!("no request was handed in"));
            said.extend_from_slice(&bytes);
            for piece in words.chunks(at_once) {
                let mut input = Input::Stream(piece);
                while let Some(event) = session.handle_input(0, &mut input) {
                    events.push(event);
                }
                assert!(input.bytes().is_empty());
            }
            events.extend(std::iter::from_fn(|| session.poll_event()));
        }
        events.retain(|event| *event != Event::Changed);
        (said, events, session.free_places())
    }

    /// Opens: whole and byte by byte.
    fn opens(proxy: &Proxy, words: &[&[u8]]) -> Vec<u8> {
        let (said, events, places) = talk(proxy, words, usize::MAX);
        assert!(matches!(events[..], [Event::Ready(_)]), "{events:?}");
        assert_eq!(places, 3);
        assert_eq!(talk(proxy, words, 1), (said.clone(), events, places));
        said
    }

    fn fails(proxy: &Proxy, words: &[&[u8]]) -> Error {
        let (_, events, places) = talk(proxy, words, usize::MAX);
        assert_eq!((&talk(proxy, words, 1).1, places), (&events, 0));
        match &events[..] {
            [Event::Failed { id: None, failure: Failure::Malformed(error) }] => {
                error.get::<Error>().unwrap().clone()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn connect_opens_with_any_2xx_and_says_who_asks() {
        let plain = proxy(ProxyWay::Connect, "::1", None);
        let said =
            opens(&plain, &[b"HTTP/1.1 200 Connection established\r\nContent-Length: 9\r\n\r\n"]);
        assert_eq!(said, b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
        opens(&plain, &[b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.0 204\n\n"]);
        let known = proxy(ProxyWay::Connect, "h", Some("ann:p%40"));
        let said = opens(&known, &[b"HTTP/1.1 200 OK\r\n\r\n"]);
        let field = b"\r\nProxy-Authorization: Basic YW5uOnBA\r\n\r\n";
        assert!(said.ends_with(field), "{}", String::from_utf8_lossy(&said));
    }

    #[test]
    fn a_proxy_that_refuses_lies_or_never_ends_is_named() {
        let connect = proxy(ProxyWay::Connect, "h", None);
        for (words, error) in [
            (&b"HTTP/1.1 407 Who?\r\n\r\n"[..], Error::Login),
            (b"HTTP/1.1 503 No\r\n\r\n", Error::Status(503)),
            (b"HTTP/1.1 000 No\r\n\r\n", Error::NotHttp),
            (b"HTTP/1.1 2000 No\r\n\r\n", Error::NotHttp),
            (b"SSH-2.0\r\n\r\n", Error::NotHttp),
            (b"\r\n\r\n", Error::NotHttp),
        ] {
            assert_eq!(fails(&connect, &[words]), error);
        }
        assert_eq!(fails(&connect, &[&[b'x'; MAX_HEAD_BYTES + 1]]), Error::NotHttp);
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_HEAD_BYTES / 20);
        assert_eq!(fails(&connect, &[&interim]), Error::NotHttp);
    }

    #[test]
    fn socks_5_by_name_address_and_password() {
        let named = proxy(ProxyWay::Socks5, "h.example", None);
        let said = opens(&named, &[&[5, 0], &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]]);
        assert_eq!(said, [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"h.example", &[1, 187]].concat());
        let known = proxy(ProxyWay::Socks5, "10.0.0.1", Some("ann:x"));
        let said = opens(&known, &[&[5, 2], &[1, 0], &[5, 0, 0, 3, 2, b'h', b'h', 0, 80]]);
        assert_eq!(
            said,
            [&[5, 2, 0, 2, 1, 3][..], b"ann", &[1, b'x', 5, 1, 0, 1, 10, 0, 0, 1, 1, 187]].concat()
        );
        opens(&named, &[&[5, 0], &[&[5, 0, 0, 4][..], &[0; 18]].concat()]);
        for (words, error) in [
            (&[&[4, 0][..]][..], Error::NotSocks),
            (&[b"HTTP/1.1 400 Bad\r\n"], Error::NotSocks),
            (&[&[5, 255]], Error::Login),
            // It was not offered.
            (&[&[5, 2]], Error::Login),
            (&[&[5, 0], &[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]], Error::Refused(5)),
            (&[&[5, 0], &[5, 0, 0, 9, 0]], Error::NotSocks),
        ] {
            assert_eq!(fails(&named, words), error);
        }
        assert_eq!(fails(&known, &[&[5, 2], &[1, 1]]), Error::Login);
    }

    #[test]
    fn a_proxy_that_closes_first_is_what_was_awaited() {
        let make: Make = Rc::new(|| unreachable!("there is no tunnel"));
        let opening = Opening::of(&proxy(ProxyWay::Connect, "h", None)).unwrap();
        let mut session = Proxied::new(Rc::new(opening), make);
        session.handle_end();
        let failure = Failure::NotReady("the proxy's consent to a tunnel");
        assert_eq!(session.poll_event(), Some(Event::Failed { id: None, failure }));
        assert_eq!(session.poll_event(), None);
    }
}
