//! One WebSocket on an HTTP/3 connection of its own: extended CONNECT (RFC 9220).
//!
//! QUIC, frames and fields are [`h3::Session`]'s, which has one stream here that is never ended by us. What comes in its
//! DATA goes to the [`Conversation`], and what that wants to write leaves in DATA, within the server's windows.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use candor_plan::Request;
use candor_record::Blocked;

use super::Error;
use super::carried::{AWAITED, Carried, ENOUGH, Stage};
use super::opening::{Offered, extended};
use super::settings::Settings;
use super::setup::Setup;
use crate::capture::{Capture, CaptureRoom};
use crate::h3::frames::{self, kind};
use crate::h3::{self, Prepared};
use crate::output::Output;
use crate::parts::Table;
use crate::request::Outgoing;
use crate::session::{
    Event, Failure, Input, Malformed, Protocol, RequestId, Session as _, Transmit, Transport,
};

/// The request that opens a WebSocket over HTTP/3, encoded.
#[derive(Debug, Clone)]
pub struct Asking(Arc<[Prepared]>);

impl Asking {
    /// Of `request`: its path and fields count, its method and body do not.
    pub fn new(request: &Request, scheme: &str, authority: &str, settings: &Settings) -> Self {
        Asking([h3::extended(&extended(request, scheme, authority, settings))].into())
    }
}

/// A WebSocket over HTTP/3. As [`Session`](super::Session), but for the way in which it is opened.
#[derive(Debug)]
pub struct QuicTunnel {
    h3: h3::Session,
    carried: Carried,
    /// Bytes of the stream so far, and the last of them that QUIC has not taken.
    framed_through: u64,
    unwritten: [Bytes; 2],
    /// Messages that were handed in and have not left, and since when QUIC holds them back, by the server's window or not.
    fresh: VecDeque<(RequestId, Option<(u64, bool)>)>,
    /// What came and was not read.
    came: Vec<u8>,
    read: usize,
    due: VecDeque<Event>,
    now_ns: u64,
}

impl QuicTunnel {
    /// A session on a fresh connection. `seed` determines its masks: give each connection another one. Of `settings`,
    /// the number of streams is not used.
    pub fn new(
        asking: &Asking,
        setup: Arc<Setup>,
        (settings, quic): (h3::Settings, h3::Setup),
        seed: u64,
    ) -> Self {
        let settings = h3::Settings { streams: 1, ..settings };
        let mut h3 = h3::Session::new(Arc::clone(&asking.0), settings, quic);
        h3.tunnel();
        // The fields of the response, and nothing of what follows.
        h3.capture(&CaptureRoom::new(0, 1));
        QuicTunnel {
            h3,
            carried: Carried::new(setup, seed),
            framed_through: 0,
            unwritten: [Bytes::new(), Bytes::new()],
            fresh: VecDeque::new(),
            came: Vec::new(),
            read: 0,
            due: VecDeque::new(),
            now_ns: 0,
        }
    }

    /// Keeps the message that answers a request in `room`, as far as its bounds allow. Call it before any input.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.carried.room = Some(room.clone());
    }

    /// Replies to requests of this table have several messages. Call it before any input.
    pub fn stream(&mut self, table: &Table) {
        self.carried.streams = Some(Table::clone(table));
    }

    /// The next event of what came: first of what went through the tunnel, then of the connection.
    fn next(&mut self) -> Option<Event> {
        let event = self.ask().or_else(|| self.open()).or_else(|| self.converse());
        if event.is_some() {
            return event;
        }
        loop {
            let event = self.due.pop_front().or_else(|| self.h3.poll_event())?;
            if let Some(event) = self.told(event) {
                return Some(event);
            }
        }
    }

    /// Sends the opening, as soon as the server's settings allow it.
    fn ask(&mut self) -> Option<Event> {
        if self.carried.stage != Stage::Waiting {
            return None;
        }
        if !self.h3.takes_tunnel()? {
            return Some(self.fail(Error::NoConnectProtocol.into()));
        }
        self.carried.stage = Stage::Asked;
        let head = self.h3.open_tunnel();
        self.framed_through = head.len() as u64;
        self.unwritten = [head, Bytes::new()];
        None
    }

    /// The server may have opened it.
    fn open(&mut self) -> Option<Event> {
        let fields = self.h3.take_opened()?;
        match Offered::read(fields.as_deref(), self.carried.settings()) {
            Ok(opened) => self.carried.open(opened, Output::default(), self.now_ns),
            Err(error) => Some(self.fail(error.into())),
        }
    }

    /// Gives the conversation what came for it.
    fn converse(&mut self) -> Option<Event> {
        if self.read == self.came.len() {
            let read = std::mem::replace(&mut self.came, self.h3.take_came());
            self.h3.give_back(read);
            self.read = 0;
        }
        let Carried { stage: Stage::Open, conversation: Some(open), .. } = &mut self.carried else {
            return None;
        };
        let mut input = &self.came[self.read..];
        let event = open.handle_input(self.now_ns, &mut input);
        self.read = self.came.len() - input.len();
        event
    }

    /// What an event of the connection is to who asked for a WebSocket.
    fn told(&mut self, event: Event) -> Option<Event> {
        let is_over = matches!(self.carried.stage, Stage::Over | Stage::Dead);
        match event {
            Event::HeaderBytes(_) | Event::Path(_) | Event::Blocked { .. } | Event::Secured(_) => {
                Some(event)
            }
            Event::Failed { failure, .. } if self.carried.stage == Stage::Ended => {
                self.carried.stage = Stage::Dead;
                let failure = match failure {
                    Failure::Ended { why, .. } => Failure::Malformed(why),
                    Failure::NotReady(_) => failure,
                    _ => Failure::NotReady(AWAITED),
                };
                Some(Event::Failed { id: None, failure })
            }
            _ if is_over => None,
            Event::Failed { failure, .. } => {
                self.carried.stage = Stage::Dead;
                Some(Event::Failed { id: None, failure })
            }
            Event::FirstByte(_) | Event::RequestFailed { .. } | Event::Done(_)
                if let Some(status) = self.h3.refused_tunnel() =>
            {
                Some(self.fail(Error::Status(status).into()))
            }
            // The server gave the stream up, or its response is not valid.
            Event::RequestFailed { failure, .. } => match &mut self.carried.conversation {
                Some(open) => {
                    open.give_up(failure);
                    self.h3.end_tunnel();
                    self.converse()
                }
                None => {
                    self.give_up();
                    Some(Event::Failed { id: None, failure })
                }
            },
            // It takes no more requests, and so not the one that opens.
            Event::Over if self.carried.stage == Stage::Waiting => {
                self.give_up();
                Some(Event::Failed { id: None, failure: Failure::NotProcessed })
            }
            Event::Done(_) | Event::End => {
                self.carried.stage = if self.carried.stage == Stage::Open {
                    Stage::Over
                } else {
                    self.carried.stage
                };
                Some(Event::End)
            }
            Event::GoAway(_) | Event::Changed => Some(event),
            _ => None,
        }
    }

    fn fail(&mut self, error: Malformed) -> Event {
        self.give_up();
        Event::Failed { id: None, failure: Failure::Malformed(error) }
    }

    /// The stream is of no use any more.
    fn give_up(&mut self) {
        self.carried.stage = Stage::Dead;
        self.h3.end_tunnel();
    }

    /// Takes what the conversation wants to write, as far as QUIC does.
    fn frame_data(&mut self) {
        loop {
            if !self.h3.write_tunnel(&mut self.unwritten) {
                return;
            }
            let waits = self.carried.framed.bytes();
            let rest = self.carried.unframed();
            if rest.is_empty() || waits >= ENOUGH {
                return;
            }
            let mut header = Vec::with_capacity(8);
            frames::write_header(&mut header, kind::DATA, rest.len());
            let begin = self.framed_through + header.len() as u64;
            let payload = Bytes::copy_from_slice(rest);
            self.carried.framed.add(begin, payload.len());
            self.framed_through = begin + payload.len() as u64;
            self.unwritten = [header.into(), payload];
        }
    }
}

/// What held a message back until it could leave; `None`: nothing.
fn blocked(id: RequestId, held: Option<(u64, bool)>, filled_ns: u64) -> Option<Event> {
    let (since_ns, by_window) = held?;
    let ns = filled_ns.saturating_sub(since_ns);
    let by = match by_window {
        true => Blocked { flow_control_ns: ns, congestion_ns: 0 },
        false => Blocked { flow_control_ns: 0, congestion_ns: ns },
    };
    (ns > 0).then_some(Event::Blocked { id, by })
}

impl Protocol for QuicTunnel {
    const TRANSPORT: Transport = Transport::Datagrams;
}

impl crate::session::Session for QuicTunnel {
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        self.carried.free_places()
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        self.fresh.push_back((id, None));
        self.carried.handle_request(id, request);
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        self.frame_data();
        let by_window = !self.unwritten.iter().all(Bytes::is_empty);
        let transmit = self.h3.poll_transmit(now_ns, slices);
        if transmit.slices == 0 {
            for (_, held) in self.fresh.iter_mut().filter(|(_, held)| held.is_none()) {
                *held = Some((now_ns, by_window));
            }
        }
        transmit
    }

    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let mut has_news = self.h3.handle_transmitted(now_ns, bytes, &mut |_| ());
        let written = self.carried.framed.written(self.h3.tunnel_sent());
        let filled_ns = self.h3.filled_ns();
        if let Some(conversation) = self.carried.conversation.as_mut().filter(|_| written > 0) {
            let (fresh, due) = (&mut self.fresh, &mut self.due);
            has_news |= conversation.handle_transmitted(written, &mut |id| {
                started(id);
                // They leave in the order in which they were handed in.
                while let Some((first, held)) = fresh.pop_front() {
                    if first == id {
                        due.extend(blocked(id, held, filled_ns));
                        break;
                    }
                }
            });
        }
        has_news || !self.due.is_empty()
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        self.now_ns = now_ns;
        if !input.bytes().is_empty() {
            let first = self.h3.handle_input(now_ns, input);
            self.due.extend(first);
        }
        self.next()
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.next();
        if event.is_some() {
            return event;
        }
        match self.carried.poll_event()? {
            Event::Failed { id, failure } => {
                Some(Event::Failed { id, failure: self.h3.with_why(failure) })
            }
            event => Some(event),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        [self.carried.poll_timeout(), self.h3.poll_timeout()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        if self.h3.poll_timeout().is_some_and(|at_ns| at_ns <= now_ns) {
            self.h3.handle_timeout(now_ns);
        }
        self.carried.handle_timeout(now_ns);
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.carried.cancel(id)
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.carried.take_captured()
    }

    fn handle_end(&mut self) {
        self.carried.handle_end();
        if self.carried.stage == Stage::Ended {
            self.h3.handle_end();
        }
    }

    fn handle_close(&mut self) {
        self.carried.handle_close();
        self.frame_data();
        self.carried.stage = Stage::Dead;
        self.due.clear();
        self.h3.handle_close();
    }
}
