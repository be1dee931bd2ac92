//! One WebSocket on an HTTP/2 connection of its own: extended CONNECT (RFC 8441).
//!
//! The frames here are those of one stream that is never ended by us: what [`h2::Session`](crate::h2::Session) does
//! for many streams is not needed, and frames, header blocks and settings are its. What comes in DATA goes to the
//! [`Conversation`], and what that wants to write leaves in DATA, within the server's windows.

mod receive;

use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::Request;

use super::carried::{Carried, ENOUGH, Stage};
use super::opening::extended;
use super::settings::Settings;
use super::setup::Setup;
use crate::capture::{Capture, CaptureRoom};
use crate::h2;
use crate::h2::error::code;
use crate::h2::frame::{HEADER_BYTES, Header, kind};
use crate::h2::hpack::{DEFAULT_TABLE_BYTES, Decoder, Encoder, Fields};
use crate::h2::settings::{DEFAULT_WINDOW, Peer};
use crate::output::Output;
use crate::parts::Table;
use crate::request::Outgoing;
use crate::session::{Event, Failure, Input, Malformed, Protocol, RequestId, Transmit, Transport};

/// The fields of an extended CONNECT that opens a WebSocket (RFC 8441 4 and 5).
#[derive(Debug, Clone, PartialEq)]
pub struct Extended(Fields);

impl Extended {
    /// Of `request`: its path and fields count, its method and body do not.
    pub fn new(request: &Request, scheme: &str, authority: &str, settings: &Settings) -> Self {
        let mut fields = Fields::default();
        for (name, value) in extended(request, scheme, authority, settings) {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        Extended(fields)
    }
}

/// The one stream.
const STREAM: u32 = 1;

/// A WebSocket over HTTP/2. As [`Session`](super::Session), but for the way in which it is opened.
#[derive(Debug)]
pub struct Tunnel {
    carried: Carried,
    settings: h2::Settings,
    extended: Arc<Extended>,
    encoder: Encoder,
    decoder: Decoder,
    peer: Peer,
    output: Output,
    /// How much of our data the server takes: on the connection, on the stream.
    windows: (i64, i64),
    /// What came since these windows were opened.
    received: (u32, u32),
    reading: Reading,
    header: [u8; HEADER_BYTES],
    have: usize,
    payload: Vec<u8>,
    /// A header block whose end has not come; its END_STREAM, and its CONTINUATION frames.
    block: Option<(Vec<u8>, bool, u32)>,
    acknowledged: bool,
    interim_answers: u32,
    /// Frames that carried nothing since the last that did.
    idle_frames: u32,
}

#[derive(Debug, Clone, Copy)]
enum Reading {
    Header,
    /// The payload of a frame that is collected.
    Payload(Header),
    /// Content, padding that follows it, and whether the stream ends with them.
    Data {
        content: u32,
        padding: u32,
        end_stream: bool,
    },
    /// The length of the padding of this frame.
    Padding(Header),
    Skipped(u32),
}

impl Tunnel {
    /// A session on a fresh connection. `seed` determines its masks: give each connection another one. Of
    /// `settings`, the number of streams is not used.
    pub fn new(
        extended: Arc<Extended>,
        setup: Arc<Setup>,
        settings: h2::Settings,
        seed: u64,
    ) -> Self {
        Tunnel {
            carried: Carried::new(setup, seed),
            settings,
            extended,
            encoder: Encoder::new(settings.encoder_table_bytes),
            // Until the server knows our limit it may use the default.
            decoder: Decoder::new(settings.header_table_bytes.max(DEFAULT_TABLE_BYTES)),
            peer: Peer::default(),
            output: Output::new(settings.greeting()),
            windows: (DEFAULT_WINDOW.into(), DEFAULT_WINDOW.into()),
            received: (0, 0),
            reading: Reading::Header,
            header: [0; HEADER_BYTES],
            have: 0,
            payload: Vec::new(),
            block: None,
            acknowledged: false,
            interim_answers: 0,
            idle_frames: 0,
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

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        self.carried.outstanding()
    }

    /// Takes what the conversation wants to write, as far as the windows allow.
    fn frame_data(&mut self) {
        loop {
            let rest = self.carried.unframed();
            let most = self.windows.0.min(self.windows.1).max(0) as usize;
            let length = rest.len().min(most).min(self.peer.frame_bytes as usize);
            if length == 0 || self.output.pending().len() >= ENOUGH {
                return;
            }
            let header =
                Header { length: length as u32, kind: kind::DATA, flags: 0, stream: STREAM };
            self.output.bytes().extend_from_slice(&header.to_bytes());
            let begin = self.output.end();
            self.output.bytes().extend_from_slice(&rest[..length]);
            self.carried.framed.add(begin, length);
            self.windows.0 -= length as i64;
            self.windows.1 -= length as i64;
        }
    }

    fn fail(&mut self, error: Malformed) -> Event {
        let of_h2 = error.get::<h2::Error>();
        self.goodbye(of_h2.map_or(code::CANCEL, |error| error.code()));
        Event::Failed { id: None, failure: Failure::Malformed(error) }
    }

    /// The stream is of no use any more.
    fn give_up(&mut self, failure: Failure) -> Option<Event> {
        if let Some(open) = &mut self.carried.conversation {
            open.give_up(failure);
            self.carried.stage = Stage::Over;
            return None;
        }
        self.goodbye(code::NO_ERROR);
        Some(Event::Failed { id: None, failure })
    }

    /// We never accepted a stream of the server's, so the last of them is 0.
    fn goodbye(&mut self, code: u32) {
        self.carried.stage = Stage::Dead;
        let mut payload = [0; 8];
        payload[4..].copy_from_slice(&code.to_be_bytes());
        self.write(kind::GOAWAY, 0, 0, &payload);
    }
}

impl Protocol for Tunnel {
    const TRANSPORT: Transport = Transport::Stream;
}

impl crate::session::Session for Tunnel {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        self.carried.free_places()
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        self.carried.handle_request(id, request);
    }

    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if self.carried.stage != Stage::Dead {
            self.frame_data();
        }
        let pending = self.output.pending();
        match slices {
            [first, ..] if !pending.is_empty() => {
                *first = IoSlice::new(pending);
                Transmit { slices: 1, more: true, ..Transmit::default() }
            }
            _ => Transmit::default(),
        }
    }

    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let written = self.carried.framed.written(self.output.transmitted(bytes));
        match &mut self.carried.conversation {
            Some(conversation) if written > 0 => conversation.handle_transmitted(written, started),
            _ => false,
        }
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "HTTP/2 is spoken over a stream");
            return None;
        };
        let is_over = |stage| matches!(stage, Stage::Ending | Stage::Over | Stage::Dead);
        while !input.is_empty() && !is_over(self.carried.stage) {
            match self.read(now_ns, input) {
                Ok(None) => {}
                Ok(event) => return event,
                Err(error) => {
                    *input = &[];
                    return Some(self.fail(error));
                }
            }
        }
        *input = &[];
        let Carried { stage, conversation, .. } = &mut self.carried;
        let open = conversation.as_mut().filter(|_| *stage != Stage::Dead);
        if let Some(event) = open.and_then(|one| one.handle_input(now_ns, &mut &[][..])) {
            return Some(event);
        }
        if *stage == Stage::Ending {
            *stage = Stage::Over;
            return Some(Event::End);
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.carried.poll_event()
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.carried.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
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
    }

    fn handle_close(&mut self) {
        if self.carried.stage != Stage::Dead {
            self.carried.handle_close();
            self.frame_data();
            self.goodbye(code::NO_ERROR);
        }
    }
}
