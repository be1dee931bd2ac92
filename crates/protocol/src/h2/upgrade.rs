//! HTTP/2 in clear text by an upgrade from HTTP/1.1 (RFC 7540 3.2; RFC 9113 has given it up).
//!
//! The first request of each connection leaves as HTTP/1.1, whole, and asks for the upgrade. After
//! 101 the connection is a [`Session`], and that request's response is its first stream's. Any other
//! response is an error of the connection and that request's outcome: there is no HTTP/2 here, and
//! going on in HTTP/1.1 would measure something else than the plan asks for.

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::Request;
use memchr::memmem;

use super::{Error, Prepared, Session, Settings};
use crate::capture::Capture;
use crate::h1;
use crate::request::Outgoing;
use crate::session::{Abilities, Event, Failure, Input, RequestId, Transmit};

/// A request in HTTP/1.1 that asks for the upgrade, head and body.
#[derive(Debug, Clone)]
pub struct Asking(Vec<u8>);

impl Asking {
    /// `request`, with the three fields that ask; those of the same names are left out.
    pub fn new(request: &Request, authority: &str, settings: &Settings) -> Self {
        let asks = [
            ("Connection", "Upgrade, HTTP2-Settings".to_owned()),
            ("Upgrade", "h2c".to_owned()),
            ("HTTP2-Settings", settings.http2_settings()),
        ];
        let is_free = |name: &str| !asks.iter().any(|(ours, _)| name.eq_ignore_ascii_case(ours));
        let mut asking = request.clone();
        asking.headers.retain(|(name, _)| is_free(name));
        asking.headers.extend(asks.map(|(name, value)| (name.to_owned(), value)));
        let h1::Prepared { mut head, body, .. } = h1::prepare(&asking, authority);
        head.extend_from_slice(&body);
        Asking(head)
    }
}

/// One connection that begins in HTTP/1.1.
#[derive(Debug)]
pub struct Upgrade {
    table: Arc<[Prepared]>,
    asking: Arc<[Asking]>,
    settings: Settings,
    stage: Stage,
    /// It is new: [`Event::Ready`] is due.
    is_new: bool,
}

#[derive(Debug)]
enum Stage {
    /// Nothing was asked yet.
    Idle,
    Asked(Asked),
    Open(Box<Session>),
    /// The server sends nothing more; the request that asked has its outcome due.
    Ended(Asked),
    Dead,
}

/// A request that asked, and what came of its response.
#[derive(Debug)]
struct Asked {
    id: RequestId,
    request: u32,
    written: usize,
    head: Vec<u8>,
}

impl Upgrade {
    /// A session on a fresh connection. `asking` has the requests of `table`, as they ask.
    pub fn new(table: Arc<[Prepared]>, asking: Arc<[Asking]>, settings: Settings) -> Self {
        Upgrade { table, asking, settings, stage: Stage::Idle, is_new: true }
    }

    /// Reads the response to the request that asked. True: the connection is upgraded.
    fn read_answer(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        let Stage::Asked(asked) = &mut self.stage else { return Err(Error::Upgrade) };
        while !input.is_empty() {
            let before = asked.head.len();
            asked.head.extend_from_slice(input);
            if !b"HTTP/1.".iter().zip(&asked.head).all(|(wanted, got)| wanted == got) {
                return Err(Error::Upgrade);
            }
            let from = before.saturating_sub(3);
            let Some(end) = memmem::find(&asked.head[from..], b"\r\n\r\n") else {
                if asked.head.len() > self.settings.limits.header_block_bytes {
                    return Err(Error::HeaderBlockTooLarge);
                }
                *input = &[];
                return Ok(false);
            };
            let end = from + end + 4;
            *input = &input[end - before..];
            asked.head.truncate(end);
            match status(&asked.head) {
                Some(101) if upgrades_to_h2c(&asked.head) => {
                    let is_whole = asked.written == self.asking[asked.request as usize].0.len();
                    return if is_whole { Ok(true) } else { Err(Error::Upgrade) };
                }
                Some(100 | 102..=199) => asked.head.clear(),
                Some(status) => return Err(Error::NotUpgraded(status)),
                None => return Err(Error::Upgrade),
            }
        }
        Ok(false)
    }

    #[cold]
    fn fail(&mut self, input: &mut &[u8], error: Error) -> Event {
        *input = &[];
        let id = match std::mem::replace(&mut self.stage, Stage::Dead) {
            Stage::Asked(asked) => Some(asked.id),
            _ => None,
        };
        Event::Failed { id, failure: Failure::Malformed(error.into()) }
    }

    fn open(&mut self) -> Option<&mut Session> {
        match &mut self.stage {
            Stage::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        match &self.stage {
            Stage::Asked(_) | Stage::Ended(_) => 1,
            Stage::Open(session) => session.outstanding(),
            Stage::Idle | Stage::Dead => 0,
        }
    }
}

/// The status of a whole HTTP/1 header block.
fn status(head: &[u8]) -> Option<u16> {
    let digits = head.get(9..12).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let ends = matches!(head.get(12), Some(b' ' | b'\r'));
    let status = digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    (head[8] == b' ' && ends && status >= 100).then_some(status)
}

fn upgrades_to_h2c(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').any(|line| {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { return false };
        line[..colon].eq_ignore_ascii_case(b"upgrade")
            && line[colon + 1..].trim_ascii().eq_ignore_ascii_case(b"h2c")
    })
}

impl crate::session::Protocol for Upgrade {
    const TRANSPORT: crate::session::Transport = crate::session::Transport::Stream;
}

impl crate::session::Session for Upgrade {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        match &self.stage {
            Stage::Idle => 1,
            Stage::Open(session) => session.free_places(),
            Stage::Asked(_) | Stage::Ended(_) | Stage::Dead => 0,
        }
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        match (&mut self.stage, request) {
            (Stage::Open(session), request) => session.handle_request(id, request),
            (stage, Outgoing::Listed(request)) => {
                *stage = Stage::Asked(Asked { id, request, written: 0, head: Vec::new() });
            }
            (_, Outgoing::Made(_)) => {
                debug_assert!(false, "an upgrade takes no made request");
            }
        }
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        match (&mut self.stage, slices) {
            (Stage::Open(session), slices) => session.poll_transmit(now_ns, slices),
            (Stage::Asked(asked), [first, ..]) => {
                let rest = &self.asking[asked.request as usize].0[asked.written..];
                *first = IoSlice::new(rest);
                Transmit { slices: u32::from(!rest.is_empty()), ..Transmit::default() }
            }
            _ => Transmit::default(),
        }
    }

    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        match &mut self.stage {
            Stage::Open(session) => session.handle_transmitted(now_ns, bytes, started),
            Stage::Asked(asked) => {
                if asked.written == 0 && bytes > 0 {
                    started(asked.id);
                }
                asked.written += bytes;
                false
            }
            Stage::Idle | Stage::Ended(_) | Stage::Dead => false,
        }
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        if let Stage::Open(session) = &mut self.stage {
            // The connection was ready for its first request before; now there are more places.
            return match session.handle_input(now_ns, input)? {
                Event::Ready(_) => Some(Event::Changed),
                event => Some(event),
            };
        }
        let Input::Stream(bytes) = input else {
            debug_assert!(false, "HTTP/2 is spoken over a stream");
            return None;
        };
        match &mut self.stage {
            Stage::Dead | Stage::Ended(_) => {
                *bytes = &[];
                None
            }
            _ if bytes.is_empty() => None,
            _ => match self.read_answer(bytes) {
                Ok(false) => None,
                Ok(true) => {
                    if let Stage::Asked(Asked { id, request, .. }) = self.stage {
                        let table = Arc::clone(&self.table);
                        let session = Session::upgraded(table, self.settings, id, request);
                        self.stage = Stage::Open(Box::new(session));
                    }
                    self.handle_input(now_ns, input)
                }
                Err(error) => Some(self.fail(bytes, error)),
            },
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            return Some(Event::Ready(Abilities { multiplexes: true, takes_made: false }));
        }
        match &mut self.stage {
            Stage::Open(session) => session.poll_event(),
            Stage::Ended(_) => {
                let Stage::Ended(asked) = std::mem::replace(&mut self.stage, Stage::Dead) else {
                    return None;
                };
                let is_begun = !asked.head.is_empty();
                let failure = if is_begun { Failure::Truncated } else { Failure::Closed };
                Some(Event::Failed { id: Some(asked.id), failure })
            }
            Stage::Idle | Stage::Asked(_) | Stage::Dead => None,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn handle_timeout(&mut self, _: u64) {
        // It has no timers.
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.open().is_some_and(|session| session.cancel(id))
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.open()?.take_captured()
    }

    fn handle_end(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Dead) {
            Stage::Open(mut session) => {
                session.handle_end();
                Stage::Open(session)
            }
            Stage::Asked(asked) => Stage::Ended(asked),
            stage => stage,
        };
    }

    fn handle_close(&mut self) {
        if let Some(session) = self.open() {
            session.handle_close();
        }
    }
}
