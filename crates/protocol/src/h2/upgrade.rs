//! HTTP/2 in clear text by an upgrade from HTTP/1.1 (RFC 7540 3.2; RFC 9113 has given it up).
//!
//! The first request of each connection leaves as HTTP/1.1, whole, and asks for the upgrade. After
//! 101 the connection is a [`Session`], and that request's answer is its first stream's. Any other
//! answer is an error of the connection and that request's outcome: there is no HTTP/2 here, and
//! going on in HTTP/1.1 would measure something that nobody asked for.

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::Request;
use memchr::memmem;

use super::{Error, Prepared, Session, Settings};
use crate::h1;
use crate::session::{Event, Failure, HeaderBytes, RequestId};

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
}

#[derive(Debug)]
enum Stage {
    /// Nothing was asked yet.
    Idle,
    Asked(Asked),
    Open(Box<Session>),
    Dead,
}

/// A request that asked, and what came of its answer.
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
        Upgrade { table, asking, settings, stage: Stage::Idle }
    }

    /// Reads the answer to the request that asked. True: the connection is upgraded.
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

    fn open(&self) -> Option<&Session> {
        match &self.stage {
            Stage::Open(session) => Some(session),
            _ => None,
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

impl crate::session::Session for Upgrade {
    const SPEAKS_UNASKED: bool = true;

    fn multiplexes(&self) -> bool {
        true
    }

    fn free_slots(&self) -> u32 {
        match &self.stage {
            Stage::Idle => 1,
            Stage::Open(session) => session.free_slots(),
            Stage::Asked(_) | Stage::Dead => 0,
        }
    }

    fn outstanding(&self) -> u32 {
        match &self.stage {
            Stage::Asked(_) => 1,
            Stage::Open(session) => session.outstanding(),
            Stage::Idle | Stage::Dead => 0,
        }
    }

    fn handle_request(&mut self, id: RequestId, request: u32) {
        match &mut self.stage {
            Stage::Open(session) => session.handle_request(id, request),
            stage => *stage = Stage::Asked(Asked { id, request, written: 0, head: Vec::new() }),
        }
    }

    fn poll_transmit<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        match (&mut self.stage, slices) {
            (Stage::Open(session), slices) => session.poll_transmit(slices),
            (Stage::Asked(asked), [first, ..]) => {
                let rest = &self.asking[asked.request as usize].0[asked.written..];
                *first = IoSlice::new(rest);
                usize::from(!rest.is_empty())
            }
            _ => 0,
        }
    }

    fn handle_transmitted(&mut self, bytes: usize, started: &mut dyn FnMut(RequestId)) {
        match &mut self.stage {
            Stage::Open(session) => session.handle_transmitted(bytes, started),
            Stage::Asked(asked) => {
                if asked.written == 0 && bytes > 0 {
                    started(asked.id);
                }
                asked.written += bytes;
            }
            Stage::Idle | Stage::Dead => {}
        }
    }

    fn handle_input(&mut self, input: &mut &[u8]) -> Option<Event> {
        match &mut self.stage {
            // The connection was ready for its first request before; now there are more places.
            Stage::Open(session) => match session.handle_input(input)? {
                Event::Ready => Some(Event::Places),
                event => Some(event),
            },
            Stage::Dead => {
                *input = &[];
                None
            }
            Stage::Idle | Stage::Asked(_) if input.is_empty() => None,
            Stage::Idle | Stage::Asked(_) => match self.read_answer(input) {
                Ok(false) => None,
                Ok(true) => {
                    if let Stage::Asked(Asked { id, request, .. }) = self.stage {
                        let table = Arc::clone(&self.table);
                        let session = Session::upgraded(table, self.settings, id, request);
                        self.stage = Stage::Open(Box::new(session));
                    }
                    self.handle_input(input)
                }
                Err(error) => Some(self.fail(input, error)),
            },
        }
    }

    fn handle_end(&mut self) -> Option<Event> {
        if let Stage::Open(session) = &mut self.stage {
            return session.handle_end();
        }
        match std::mem::replace(&mut self.stage, Stage::Dead) {
            Stage::Asked(Asked { id, head, .. }) => {
                let failure = if head.is_empty() { Failure::Closed } else { Failure::Truncated };
                Some(Event::Failed { id: Some(id), failure })
            }
            _ => None,
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        match &mut self.stage {
            Stage::Open(session) => session.cancel(id),
            _ => false,
        }
    }

    fn is_over(&self) -> bool {
        self.open().is_some_and(Session::is_over)
    }

    fn header_bytes(&self) -> HeaderBytes {
        self.open().map(Session::header_bytes).unwrap_or_default()
    }

    fn handle_close(&mut self) {
        if let Stage::Open(session) = &mut self.stage {
            session.handle_close();
        }
    }
}
