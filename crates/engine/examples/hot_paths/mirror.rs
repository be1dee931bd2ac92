//! A whole worker's turn for a request: dispatch, protocol, books, waiting; all but the kernel.
//!
//! The reactor under it is a mirror: what is written on a connection is answered on it with the same
//! answer each time, which the next look finds. Time goes on by a fixed amount with each reading.
//! What the mirror itself costs is in the count, and is a few dozen instructions.

use std::io::{self, IoSlice};
use std::path::Path;

use candor_engine::reactor::{ConnectFailure, Key, Reactor, Ready, Received, Route, Sent};
use candor_engine::{Control, drive};
use candor_plan::{Options, ReadFile};
use candor_protocol::ws::accept_of;

/// Between two readings of the clock.
const TICK_NS: u64 = 500;

/// Runs `repetitions` requests on ten connections, in a closed loop or at a rate.
pub(crate) fn exchanges(repetitions: u64, load: &str, answer: &'static [u8]) {
    let text = format!(
        "url = 'http://127.0.0.1:8080/'\nconnections = 10\nthreads = 1\nrequests = {repetitions}\n{load}"
    );
    let options = Options::from_toml("mirror", &text).unwrap();
    let (plan, _) = options.build(&NoFiles).unwrap();
    let record = drive(&plan, Mirror::<false> { answer, ..Mirror::default() }, &Control::default());
    assert_eq!(record.total.ledger.ok, repetitions);
}

/// Messages of one WebSocket, each with an echo, and these rules of the plan.
pub(crate) fn messages(repetitions: u64, rules: &str) {
    let message = r#"{"id":"7","type":"next","payload":{"data":{"price":101.25,"size":7}}}"#;
    let text = format!(
        "url = 'ws://127.0.0.1:8080/'\nconnections = 1\nthreads = 1\nrequests = {repetitions}\nbody = '{message}'\n{rules}"
    );
    let options = Options::from_toml("mirror", &text).unwrap();
    let (plan, _) = options.build(&NoFiles).unwrap();
    let frame = [&[0x81, message.len() as u8], message.as_bytes()].concat();
    let mirror = Mirror::<true> { answer: frame.leak(), ..Mirror::default() };
    let record = drive(&plan, mirror, &Control::default());
    assert_eq!(record.total.ledger.ok, repetitions);
}

/// The response that opens the WebSocket of this request; `None`: it is none.
fn opening(slices: &[IoSlice<'_>]) -> Option<Vec<u8>> {
    const FIELD: &str = "Sec-WebSocket-Key: ";
    let request = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
    let request = String::from_utf8(request).ok()?;
    let (_, key) = request.split_once(FIELD)?;
    let accept = accept_of(key.lines().next()?.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    Some(head.into_bytes())
}

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// With `SOCKET`, the first request opens a WebSocket.
#[derive(Default)]
struct Mirror<const SOCKET: bool> {
    answer: &'static [u8],
    is_open: bool,
    /// The response to the first request.
    opening: Option<Vec<u8>>,
    opened: Vec<u8>,
    now_ns: u64,
    /// What the next look finds, and what the last one found; the latter from the end.
    coming: Vec<Ready>,
    found: Vec<Ready>,
}

impl<const SOCKET: bool> Mirror<SOCKET> {
    /// The next look finds something on a connection: a response, or that it is made.
    fn announces(&mut self, key: Key, readable: bool) {
        self.coming.push(Ready { key, readable, writable: true, ended: false });
    }
}

impl<const SOCKET: bool> Reactor for Mirror<SOCKET> {
    fn now_ns(&mut self) -> u64 {
        self.now_ns += TICK_NS;
        self.now_ns
    }

    fn set_origin_ns(&mut self, origin_ns: u64) {
        self.now_ns -= origin_ns;
    }

    fn connect(&mut self, key: Key, _to: Route) -> Result<(), ConnectFailure> {
        self.announces(key, false);
        Ok(())
    }

    fn finish_connect(&mut self, _key: Key) -> Result<bool, ConnectFailure> {
        Ok(true)
    }

    fn receive(&mut self, _key: Key) -> Received<'_> {
        self.now_ns += TICK_NS;
        let bytes = match self.opening.take_if(|_| SOCKET) {
            Some(opening) => {
                self.opened = opening;
                &self.opened
            }
            None => self.answer,
        };
        Received::Bytes { bytes, at_ns: self.now_ns, more: false }
    }

    fn send(&mut self, key: Key, slices: &[IoSlice<'_>]) -> Sent {
        if SOCKET && !std::mem::replace(&mut self.is_open, true) {
            self.opening = opening(slices);
        }
        self.announces(key, true);
        Sent::Written(slices.iter().map(|slice| slice.len()).sum())
    }

    fn end_sending(&mut self, _key: Key) {}

    fn close(&mut self, _key: Key) {}

    fn wait(&mut self, until_ns: u64) {
        std::mem::swap(&mut self.coming, &mut self.found);
        if self.found.is_empty() {
            self.now_ns = self.now_ns.max(until_ns);
        }
    }

    fn next_ready(&mut self) -> Option<Ready> {
        self.found.pop()
    }
}
