//! The truth server's connections over QUIC: datagrams in, whole requests out; responses in, datagrams out.
//!
//! Every stream is a request of its own, so a connection has as many in service as its client opens. A response is handed to
//! the kernel in the call that answers, unless QUIC itself holds it back.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::Instant;

use bytes::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use super::http::{Asks, asks};
use crate::quic::endpoint::{Datagram, Endpoint};
use crate::quic::session::{Happened, Read, Session, code, data_header, head_frame};

/// A request's stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    connection: usize,
    /// The server's number of the connection, which no other has.
    pub(super) number: u32,
    stream: u64,
    is_head: bool,
}

/// A request that has come whole.
pub(super) struct Arrived {
    pub(super) place: Place,
    pub(super) asks: Asks,
}

/// A response, in frames.
#[derive(Debug, Clone)]
pub(super) struct Response {
    head: Bytes,
    body: [Bytes; 2],
}

impl Response {
    pub(super) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        let (body, mut fields) = (body.into(), HeaderMap::new());
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        fields.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let status = StatusCode::from_u16(status).unwrap_or_default();
        let header = if body.is_empty() { Bytes::new() } else { data_header(body.len()) };
        Response { head: head_frame(status, &fields), body: [header, body] }
    }
}

struct Client {
    session: Session,
    number: u32,
    /// Requests whose bodies have not come whole, and whether they are for a header alone.
    asked: BTreeMap<u64, (Asks, bool)>,
}

/// The connections.
pub(super) struct Quic {
    pub(super) socket: UdpSocket,
    endpoint: Endpoint,
    clients: BTreeMap<usize, Client>,
    /// The earliest timer of all connections.
    timer: Option<Instant>,
    datagram: Vec<u8>,
    out: Vec<u8>,
}

impl Quic {
    pub(super) fn new(socket: UdpSocket, endpoint: Endpoint) -> Self {
        let (clients, out) = (BTreeMap::new(), Vec::new());
        Quic { socket, endpoint, clients, timer: None, datagram: vec![0; 1 << 16], out }
    }

    /// Reads a datagram; `None`: there is none. `accepted` counts connections.
    pub(super) fn read(&mut self, accepted: &mut u32, arrived: &mut Vec<Arrived>) -> Option<usize> {
        // An error is one of an earlier datagram, or of none.
        let (length, from) = self.socket.recv_from(&mut self.datagram).ok()?;
        let now = Instant::now();
        let key = match self.endpoint.handle(now, from, &self.datagram[..length]) {
            Datagram::Of(handle, event) => {
                self.clients.get_mut(&handle.0)?.session.handle_event(event);
                handle.0
            }
            Datagram::First(incoming) => match self.endpoint.accept(now, incoming) {
                Ok(session) => {
                    let (key, asked) = (session.number(), BTreeMap::new());
                    self.clients.insert(key, Client { session, number: *accepted, asked });
                    *accepted += 1;
                    key
                }
                Err(reply) => {
                    if let Some((to, bytes)) = reply {
                        let _ = self.socket.send_to(&bytes, to);
                    }
                    return Some(usize::MAX);
                }
            },
            Datagram::Answered((to, bytes)) => {
                // One that is lost is asked for again.
                let _ = self.socket.send_to(&bytes, to);
                return Some(usize::MAX);
            }
            Datagram::Nothing => return Some(usize::MAX),
        };
        self.proceed(key, arrived);
        Some(key)
    }

    /// Acts on what has happened on a connection.
    fn proceed(&mut self, key: usize, arrived: &mut Vec<Arrived>) {
        let Some(client) = self.clients.get_mut(&key) else { return };
        while let Some(happened) = client.session.poll() {
            match happened {
                Happened::Begun(id) | Happened::Stirred(id) => client.read(key, id, arrived),
                Happened::Gone(id) => drop(client.asked.remove(&id)),
                Happened::Over => {}
            }
        }
    }

    /// Answers a request. Whether its connection is still there.
    pub(super) fn answer(&mut self, place: Place, response: &Response) -> bool {
        let client = self.clients.get_mut(&place.connection);
        let Some(client) = client.filter(|client| client.number == place.number) else {
            return false;
        };
        let Response { head, body: [header, body] } = response.clone();
        let length = if place.is_head { 1 } else { 3 };
        // A response is shorter than any window but one that a client has shut.
        client.session.write(place.stream, &mut [head, header, body][..length]);
        client.session.finish(place.stream);
        self.flush(place.connection);
        true
    }

    /// Sends what a connection has to send; forgets it if it is over.
    pub(super) fn flush(&mut self, key: usize) {
        let Some(client) = self.clients.get_mut(&key) else { return };
        self.endpoint.settle(&mut client.session);
        while let Some(to) = client.session.poll_transmit(Instant::now(), &mut self.out) {
            // One for which the kernel has no room is lost, and sent again by QUIC.
            let _ = self.socket.send_to(&self.out, to);
        }
        if client.session.is_over() {
            self.endpoint.forget(&client.session);
            self.clients.remove(&key);
            return;
        }
        let timer = client.session.poll_timeout();
        self.timer = self.timer.into_iter().chain(timer).min();
    }

    /// When to be called for the timers of QUIC.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Does what is due.
    pub(super) fn expire(&mut self, arrived: &mut Vec<Arrived>) {
        let now = Instant::now();
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        let keys: Vec<usize> = self.clients.keys().copied().collect();
        for key in keys {
            let Some(client) = self.clients.get_mut(&key) else { continue };
            if client.session.poll_timeout().is_some_and(|at| at <= now) {
                client.session.handle_timeout(now);
                self.proceed(key, arrived);
            }
            self.flush(key);
        }
    }

    /// Ends all connections.
    pub(super) fn end(&mut self) {
        let keys: Vec<usize> = self.clients.keys().copied().collect();
        for key in keys {
            if let Some(client) = self.clients.get_mut(&key) {
                client.session.close(Instant::now(), code::NO_ERROR);
            }
            self.flush(key);
        }
    }
}

impl Client {
    fn read(&mut self, connection: usize, stream: u64, arrived: &mut Vec<Arrived>) {
        loop {
            match self.session.read(stream) {
                Read::Head(head) => {
                    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
                    let is_head = head.method == Method::HEAD;
                    self.asked.insert(stream, (asks(head.method.as_str(), target), is_head));
                }
                Read::Data(_) => {}
                Read::Nothing => return,
                Read::End => {
                    if let Some((asks, is_head)) = self.asked.remove(&stream) {
                        let place = Place { connection, number: self.number, stream, is_head };
                        arrived.push(Arrived { place, asks });
                    }
                    return;
                }
                Read::Gone => {
                    self.asked.remove(&stream);
                    return;
                }
            }
        }
    }
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Quic").field("socket", &self.socket).finish_non_exhaustive()
    }
}
