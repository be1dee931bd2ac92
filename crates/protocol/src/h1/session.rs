//! One connection: which request is being written, which one is being answered.
//!
//! What is written is in [`transmit`](super::transmit), what is read in [`receive`](super::receive).

use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::sync::Arc;

use super::body::Body;
use super::head::Head;
use super::lines::Lines;
use super::made::Extras;
use super::memo::{Memo, Ticket};
use super::pauses::Progress;
use super::settings::Limits;
use super::{Prepared, Via};
use crate::capture::{Capture, CaptureRoom};
use crate::expect::BodyCheck;
use crate::request::Outgoing;
use crate::session::{Abilities, Deviations, Event, Input, RequestId, Transmit};

/// One HTTP/1.1 connection.
///
/// Responses are matched to requests in the order in which these were handed in. Only a request
/// whose first byte was written can be answered: call `handle_transmitted` for it before
/// `handle_input`. A response may begin while its own request is still being written, which goes on.
/// When it is complete first, the rest is not written, and the connection is over (RFC 9112 9.5): a
/// server that has said its last word may never read on.
///
/// Requests that are not begun when a response announces the end of the connection are not
/// written any more (RFC 9112 9.6) and fail in `handle_end`.
///
/// One that pauses on its way is written up to its next pause. Nothing is handed in behind it before
/// it has no pause left: a response that comes earlier is the connection's last.
#[derive(Debug)]
pub struct Session {
    pub(super) table: Arc<[Prepared]>,
    pub(super) limits: Limits,
    pub(super) pipeline: u32,
    /// Requests without an outcome, oldest first.
    pub(super) outstanding: VecDeque<InFlight>,
    /// How many of them were begun to be written.
    pub(super) started: usize,
    /// Requests not wholly written, oldest first: the last ones of those.
    pub(super) unwritten: VecDeque<InFlight>,
    /// How much of the first of them was written.
    pub(super) written_bytes: usize,
    /// How many bytes of all of them together may be written now, counted like `written_bytes`;
    /// [`NO_PAUSE`]: everything. Otherwise the last of them pauses there.
    pub(super) limit: usize,
    /// At which of its pauses it is. `None` until a request has any.
    pub(super) progress: Option<Box<Progress>>,
    /// No more requests may be handed in.
    pub(super) closing: bool,
    /// It is new: [`Event::Ready`] is due.
    pub(super) is_new: bool,
    /// The peer sends nothing more: each outstanding request has its outcome due.
    pub(super) has_ended: bool,
    pub(super) state: State,
    pub(super) lines: Lines,
    pub(super) memo: Rc<Memo>,
    /// The header block being read is to be remembered.
    pub(super) ticket: Option<Ticket>,
    pub(super) interim_answers: u32,
    pub(super) check: BodyCheck,
    /// Whether a response said that this port is one of HTTPS; `None`: none is asked any more, or the connection is in
    /// TLS, where the port of another hop would be meant.
    pub(super) said_https: Option<bool>,
    /// Only if a script makes requests or reads responses, or these are split into events.
    pub(super) extras: Option<Box<Extras>>,
}

/// No request that is being written pauses anywhere.
pub(super) const NO_PAUSE: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) id: RequestId,
    /// In the table, or behind it in the slots of made requests.
    pub(super) request: u32,
}

/// What the next byte of input belongs to.
#[derive(Debug)]
pub(super) enum State {
    /// A status line.
    Status,
    /// The header lines; `block_bytes` were read of this block.
    Fields { head: Head, block_bytes: usize },
    /// The body.
    Body { status: u16, body: Body, last: bool, deviations: Deviations },
    /// Nothing yet: events of the response before are due first.
    Due,
    /// Nothing: the connection is at its end.
    Ended,
    /// Nothing: a response was not understood.
    Dead,
}

impl Session {
    /// A session on a fresh connection, for requests of `table`, with up to `pipeline` of them
    /// outstanding.
    pub fn new(table: Arc<[Prepared]>, pipeline: u32, limits: Limits) -> Self {
        Session::with_memo(table, pipeline, limits, Rc::default())
    }

    /// The same, sharing what is known of header blocks with other sessions on the same table
    /// and with the same limits.
    pub fn with_memo(
        table: Arc<[Prepared]>,
        pipeline: u32,
        limits: Limits,
        memo: Rc<Memo>,
    ) -> Self {
        Session {
            table,
            limits,
            pipeline,
            outstanding: VecDeque::new(),
            started: 0,
            unwritten: VecDeque::new(),
            written_bytes: 0,
            limit: NO_PAUSE,
            progress: None,
            closing: false,
            is_new: true,
            has_ended: false,
            state: State::Status,
            lines: Lines::default(),
            memo,
            ticket: None,
            interim_answers: 0,
            check: BodyCheck::default(),
            said_https: Some(false),
            extras: None,
        }
    }

    /// Requests without an outcome.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        // No more than `pipeline` were handed in.
        self.outstanding.len() as u32
    }

    /// From now on, keeps the header block and the body of each response in `room`, as far as its
    /// bounds allow.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.extras.get_or_insert_default().room = Some(room.clone());
    }

    /// From now on, made requests are those of a proxy, as those of the table are.
    pub fn via(&mut self, via: &Arc<Via>) {
        self.extras.get_or_insert_default().via = Some(Arc::clone(via));
    }

    /// The connection is in TLS.
    pub(super) fn in_tls(&mut self) {
        self.said_https = None;
    }

    /// A request in flight.
    #[inline]
    pub(super) fn prepared(&self, request: u32) -> &Prepared {
        find(&self.table, self.extras.as_deref(), request)
    }

    /// The request of the table that a request in flight is, or stands for.
    #[inline]
    pub(super) fn entry(&self, request: u32) -> u32 {
        match (request as usize).checked_sub(self.table.len()) {
            None => request,
            Some(slot) => self.extras.as_ref().map_or(0, |extras| extras.entry(slot as u32)),
        }
    }

    /// One of the table was written or answered, which is nothing; or a made one.
    #[inline]
    pub(super) fn step_over(&mut self, request: u32) {
        if let Some(slot) = (request as usize).checked_sub(self.table.len())
            && let Some(extras) = &mut self.extras
        {
            extras.step_over(slot as u32);
        }
    }
}

/// The request of this number: of the table, or made.
#[inline]
pub(super) fn find<'a>(
    table: &'a [Prepared],
    extras: Option<&'a Extras>,
    request: u32,
) -> &'a Prepared {
    table.get(request as usize).unwrap_or_else(|| {
        extras.expect("a made request has its extras").get(request - table.len() as u32)
    })
}

impl crate::session::Protocol for Session {
    const TRANSPORT: crate::session::Transport = crate::session::Transport::Stream;
}

impl crate::session::Session for Session {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        false
    }

    #[inline]
    fn free_places(&self) -> u32 {
        if self.closing || matches!(self.state, State::Due | State::Ended | State::Dead) {
            0
        } else {
            self.pipeline.saturating_sub(self.outstanding())
        }
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        let (request, has_pauses) = match request {
            Outgoing::Listed(request) => {
                debug_assert!(self.free_places() > 0, "no request may be handed in now");
                debug_assert!(self.limit == NO_PAUSE, "nothing follows a request that pauses");
                let prepared = &self.table[request as usize];
                self.closing |= prepared.closes;
                (request, !prepared.pauses.is_empty())
            }
            Outgoing::Made(made) => {
                self.closing |= made.closes();
                let like = &self.table[made.request as usize];
                let slot = self.extras.get_or_insert_default().put(&made, like);
                (self.table.len() as u32 + slot, false)
            }
        };
        let request = InFlight { id, request };
        self.outstanding.push_back(request);
        self.unwritten.push_back(request);
        if has_pauses {
            self.begin_pauses();
        }
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if let (Some(batch), [first, ..]) = (self.batch(), &mut *slices) {
            *first = IoSlice::new(batch);
            return Transmit { slices: 1, ..Transmit::default() };
        }
        self.poll_transmit_any(slices)
    }

    // Within TLS a session is behind a pointer: in clear text it is not, and the call goes away.
    #[inline(always)]
    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        if self.limit != NO_PAUSE {
            return self.write_up_to_pause(now_ns, bytes, started);
        }
        self.write(bytes, started);
        false
    }

    #[inline(always)]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "HTTP/1.1 is spoken over a stream");
            return None;
        };
        while !input.is_empty() {
            let step = match self.state {
                State::Status => self.handle_status_line(now_ns, input),
                State::Fields { .. } => self.handle_fields(now_ns, input),
                State::Body { .. } => self.handle_body(input),
                State::Due => return self.next_due(),
                State::Ended | State::Dead => {
                    *input = &[];
                    Ok(None)
                }
            };
            match step {
                Ok(None) => {}
                Ok(event) => return event,
                Err(error) => return Some(self.fail(error)),
            }
        }
        if let State::Due = self.state { self.next_due() } else { None }
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            return Some(Event::Ready(Abilities { multiplexes: false, takes_made: true }));
        }
        if self.progress.as_mut().is_some_and(|progress| progress.breaks_off_now()) {
            return Some(Event::BrokenOff);
        }
        if let State::Due = self.state {
            return self.next_due();
        }
        if self.has_ended { self.next_of_end() } else { None }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<u64> {
        self.progress.as_ref()?.timeout_ns()
    }

    #[inline]
    fn handle_timeout(&mut self, now_ns: u64) {
        if self.poll_timeout().is_some_and(|timeout_ns| timeout_ns <= now_ns) {
            self.pass_pause(now_ns);
        }
    }

    fn cancel(&mut self, _: RequestId) -> bool {
        // The responses behind it can only be told apart when it has come.
        false
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.extras.as_mut()?.take_captured()
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
    }

    fn handle_close(&mut self) {
        // HTTP/1.1 has no goodbye.
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{BodyExpect, Delivery, Expect, Request, StatusSet};

    use super::*;
    use crate::Session as _;
    use crate::h1::lines::KEPT_BYTES;
    use crate::h1::prepare;

    #[test]
    fn an_idle_connection_holds_next_to_nothing() {
        let request = Request {
            target: 0,
            name: "hello".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: [].into(),
            delivery: Delivery::default(),
            expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
            stream: None,
            weight: 1,
            holes: false,
            literal_body: false,
            call: None,
            reply: None,
            redacted: None,
        };
        let table = [prepare(&request, "example")].into();
        let mut session = Session::new(table, 1, Limits::default());
        session.handle_request(0, Outgoing::Listed(0));
        session.handle_transmitted(0, session.table[0].length(), &mut |_| {});
        let long = "x".repeat(10_000);
        let answer = format!("HTTP/1.1 200 OK\r\nA: {long}\r\nContent-Length: 0\r\n\r\n");
        for byte in answer.as_bytes().chunks(1) {
            session.handle_input(0, &mut Input::Stream(byte));
        }
        assert_eq!(session.outstanding(), 0);
        assert!(session.lines.capacity() <= KEPT_BYTES);
        assert!(session.outstanding.capacity() + session.unwritten.capacity() <= 8);
        assert!(size_of::<Session>() <= 320, "{} bytes", size_of::<Session>());
    }
}
