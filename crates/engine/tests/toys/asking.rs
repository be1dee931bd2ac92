//! A toy protocol over datagrams: each question is asked again, after twice the time, until it is
//! answered or has been asked often enough.
//!
//! ```text
//! question   kind (1 byte: 0 hello, 1 request), number (4 bytes)
//! answer     the same, with the highest bit of the kind set
//! ```

use std::io::IoSlice;

use candor_protocol::{
    Abilities, Answer, Capture, Deviations, Event, Failure, Input, Last, MAX_SEGMENTS, Outgoing,
    Protocol, RequestId, Session, Transmit, Transport,
};

/// Bytes of a question and of its answer.
pub(crate) const BYTES: usize = 5;
/// A kind of question.
pub(crate) const HELLO: u8 = 0;
/// The other.
pub(crate) const REQUEST: u8 = 1;
/// The bit of an answer.
pub(crate) const ANSWER: u8 = 0x80;
/// Times that a question is asked.
pub(crate) const MOST_ASKED: u32 = 4;

/// One connection.
pub(crate) struct Asking {
    places: u32,
    /// From the first time that a question is asked to the second.
    again_ns: u64,
    is_ready: bool,
    next_number: u32,
    /// Without an answer, the longest asked first.
    open: Vec<Question>,
    /// What was offered last.
    outgoing: Vec<u8>,
    events: Vec<Event>,
}

struct Question {
    kind: u8,
    number: u32,
    request: Option<RequestId>,
    asked: u32,
    /// When it is asked again; `None`: as soon as it can be written.
    again_at_ns: Option<u64>,
}

impl Question {
    fn bytes(&self) -> [u8; BYTES] {
        let [a, b, c, d] = self.number.to_be_bytes();
        [self.kind, a, b, c, d]
    }
}

impl Asking {
    /// With so many places, and this time between the first two times that a question is asked.
    pub(crate) fn new(places: u32, again_ns: u64) -> Self {
        let hello = Question { kind: HELLO, number: 0, request: None, asked: 0, again_at_ns: None };
        Asking {
            places,
            again_ns,
            is_ready: false,
            next_number: 1,
            open: vec![hello],
            outgoing: Vec::new(),
            events: Vec::new(),
        }
    }

    /// What an answer means.
    fn hear(&mut self, datagram: &[u8]) -> Option<Event> {
        let is_answered =
            |one: &Question| datagram[..] == [&[one.kind | ANSWER], &one.bytes()[1..]].concat()[..];
        // Of a question that was asked twice there may be a second answer, which says nothing.
        let at = self.open.iter().position(is_answered)?;
        match self.open.remove(at).request {
            None => {
                self.is_ready = true;
                Some(Event::Ready(Abilities { multiplexes: true, takes_made: false }))
            }
            Some(id) => Some(Event::Done(Answer {
                id,
                status: None,
                body_bytes: BYTES as u64,
                expected: Ok(()),
                deviations: Deviations::default(),
                last: Last::No,
            })),
        }
    }
}

impl Protocol for Asking {
    const TRANSPORT: Transport = Transport::Datagrams;
}

impl Session for Asking {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        if self.is_ready { self.places - self.open.len() as u32 } else { 0 }
    }

    fn handle_request(&mut self, id: RequestId, _: Outgoing<'_>) {
        let number = self.next_number;
        self.next_number += 1;
        let (kind, request) = (REQUEST, Some(id));
        self.open.push(Question { kind, number, request, asked: 0, again_at_ns: None });
    }

    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        let due = self.open.iter().filter(|one| one.again_at_ns.is_none()).take(MAX_SEGMENTS);
        self.outgoing = due.flat_map(Question::bytes).collect();
        match slices {
            [first, ..] if !self.outgoing.is_empty() => {
                *first = IoSlice::new(&self.outgoing);
                Transmit { slices: 1, segment_bytes: BYTES as u16, ..Transmit::default() }
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
        let written = self.open.iter_mut().filter(|one| one.again_at_ns.is_none());
        for one in written.take(bytes / BYTES) {
            one.again_at_ns = Some(now_ns + (self.again_ns << one.asked));
            one.asked += 1;
            if let (1, Some(id)) = (one.asked, one.request) {
                started(id);
            }
        }
        true
    }

    fn handle_input(&mut self, _: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Datagram { bytes, .. } = input else { unreachable!("it has datagrams alone") };
        let datagram = std::mem::take(bytes);
        self.hear(datagram)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.open.iter().filter_map(|one| one.again_at_ns).min()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        let is_over = |one: &Question| one.again_at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        for one in self.open.extract_if(.., |one| is_over(one) && one.asked == MOST_ASKED) {
            self.events.push(match one.request {
                Some(id) => Event::RequestFailed { id, failure: Failure::NotProcessed },
                None => {
                    Event::Failed { id: None, failure: Failure::NotReady("its answer to a hello") }
                }
            });
        }
        for one in self.open.iter_mut().filter(|one| is_over(one)) {
            one.again_at_ns = None;
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.open.retain(|one| one.request != Some(id));
        true
    }

    fn take_captured(&mut self) -> Option<Capture> {
        None
    }

    fn handle_end(&mut self) {}

    fn handle_close(&mut self) {}
}
