//! A toy protocol over a stream whose server also sends what nobody asked for.
//!
//! ```text
//! HELLO<CRLF><CRLF>    from us, at once
//! ASK<CRLF><CRLF>      from us: a request
//! *text<LF>            a message that no request asked for
//! +text<LF>            a part of the oldest request's answer
//! .<LF>                the end of that answer
//! ```

use std::io::IoSlice;
use std::num::NonZeroU16;

use candor_protocol::{
    Abilities, Answer, Capture, Deviations, Event, Failure, Input, Last, Outgoing, Part, PartKind,
    Protocol, RequestId, Session, Transmit, Transport,
};

const HELLO: &[u8] = b"HELLO\r\n\r\n";
const ASK: &[u8] = b"ASK\r\n\r\n";

/// One connection.
pub(crate) struct Pushing {
    /// Messages that no request asked for are told of, and no failure.
    takes_unasked: bool,
    is_new: bool,
    outgoing: Vec<u8>,
    /// Those before it are of the hello, and of requests that left.
    written: usize,
    requests: Vec<RequestId>,
    started: usize,
    line: Vec<u8>,
    body_bytes: u64,
    ended: bool,
}

impl Pushing {
    pub(crate) fn new(takes_unasked: bool) -> Self {
        Pushing {
            takes_unasked,
            is_new: true,
            outgoing: HELLO.to_vec(),
            written: 0,
            requests: Vec::new(),
            started: 0,
            line: Vec::new(),
            body_bytes: 0,
            ended: false,
        }
    }

    fn hear(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let bytes = line.len() as u64 - 1;
        let oldest = self.requests.first().copied();
        let (kind, count) = (PartKind::Message, 1);
        match (line.first(), oldest) {
            (Some(b'*'), _) if self.takes_unasked => {
                Some(Event::Part(Part { id: None, kind, bytes, count, tokens: 0 }))
            }
            (Some(b'+'), Some(_)) => {
                self.body_bytes += bytes;
                Some(Event::Part(Part { id: oldest, kind, bytes, count, tokens: 0 }))
            }
            (Some(b'.'), Some(id)) => {
                self.requests.remove(0);
                self.started -= 1;
                Some(Event::Done(Answer {
                    id,
                    status: NonZeroU16::new(200),
                    body_bytes: std::mem::take(&mut self.body_bytes),
                    expected: Ok(()),
                    deviations: Deviations::default(),
                    last: Last::No,
                }))
            }
            _ => Some(Event::Failed { id: None, failure: Failure::Truncated }),
        }
    }
}

impl Protocol for Pushing {
    const TRANSPORT: Transport = Transport::Stream;
}

impl Session for Pushing {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        u32::from(self.requests.is_empty())
    }

    fn handle_request(&mut self, id: RequestId, _: Outgoing<'_>) {
        self.requests.push(id);
        self.outgoing.extend_from_slice(ASK);
    }

    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        match &self.outgoing[self.written..] {
            [] => Transmit::default(),
            rest => {
                slices[0] = IoSlice::new(rest);
                Transmit { slices: 1, ..Transmit::default() }
            }
        }
    }

    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        self.written += bytes;
        if self.written > HELLO.len() && self.started < self.requests.len() {
            started(self.requests[self.started]);
            self.started += 1;
        }
        if self.written == self.outgoing.len() {
            self.outgoing.truncate(HELLO.len());
            self.written = HELLO.len();
        }
        false
    }

    fn handle_input(&mut self, _: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(bytes) = input else { unreachable!("it is spoken over a stream") };
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        *bytes = rest;
        self.line.extend_from_slice(line);
        end?;
        self.line.pop();
        self.hear()
    }

    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            return Some(Event::Ready(Abilities { multiplexes: false, takes_made: false }));
        }
        let id = std::mem::take(&mut self.ended).then(|| self.requests.first().copied())?;
        id.map(|id| Event::Failed { id: Some(id), failure: Failure::Closed })
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn handle_timeout(&mut self, _: u64) {}

    fn cancel(&mut self, _: RequestId) -> bool {
        false
    }

    fn take_captured(&mut self) -> Option<Capture> {
        None
    }

    fn handle_end(&mut self) {
        self.ended = true;
    }

    fn handle_close(&mut self) {}
}
