//! One connection: the state that both directions share, and the seam's methods.
//!
//! What comes in is cut into frames in [`input`](super::input) and acted upon in
//! [`receive`](super::receive); request bodies leave by [`upload`](super::upload). All bytes to
//! be written stand in one buffer. In the steady state nothing allocates.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use super::error::code;
use super::frame;
use super::hpack::{Decoder, Encoder};
use super::input::{Pieces, Reading};
use super::memo::Memo;
use super::output::Output;
use super::settings::Peer;
use super::streams::{self, Streams};
use super::upload::Upload;
use super::{Error, Prepared, Settings};
use crate::asked::Asked;
use crate::capture::{Capture, CaptureRoom};
use crate::request::Outgoing;
use crate::session::{Event, Failure, GoAway, HeaderBytes, Input, RequestId, Transmit};

/// One HTTP/2 connection.
///
/// It is ready when the server's SETTINGS have come, so that no request is sent beyond what the
/// server takes. Responses are matched to requests by stream; a frame for a stream whose request
/// was not written yet is an error of the server's.
#[derive(Debug)]
pub struct Session {
    pub(super) table: Arc<[Prepared]>,
    pub(super) settings: Settings,
    pub(super) peer: Peer,
    pub(super) streams: Streams,
    pub(super) output: Output,
    pub(super) upload: Upload,
    pub(super) reading: Reading,
    pub(super) pieces: Pieces,
    pub(super) decoder: Decoder,
    pub(super) memo: Memo,
    encoder: Encoder,
    repeated: Repeated,
    /// The server's SETTINGS have come.
    pub(super) ready: bool,
    /// The server has acknowledged ours.
    pub(super) acknowledged: bool,
    /// No more requests may be handed in.
    pub(super) closing: bool,
    /// After the server's end: the streams that have not been told of it, the oldest last.
    ending: Option<Vec<u32>>,
    /// The server's end came.
    has_ended: bool,
    /// By the server's GOAWAY; streams above it were not processed.
    pub(super) last_processed: u32,
    /// The error code of that.
    pub(super) goaway_code: u32,
    pub(super) header_bytes: HeaderBytes,
    /// Where responses are kept for a script; plain runs have none.
    pub(super) room: Option<CaptureRoom>,
    /// What is asked of the parts of responses; plain runs have none.
    pub(super) asked: Option<Box<Asked>>,
    /// The response that ended last.
    pub(super) captured: Option<Box<Capture>>,
    /// What a made request is written from; plain runs have none.
    scratch: Option<Box<Prepared>>,
    /// What the server sent since the connection's window was opened last.
    pub(super) received: u32,
    /// Frames that carried nothing since the last that did.
    pub(super) idle_frames: u32,
    pub(super) news: News,
}

/// Events that are due beside the one being returned.
#[derive(Debug, Default)]
pub(super) struct News {
    /// There may be any: saves looking.
    pub(super) any: bool,
    pub(super) next: VecDeque<Event>,
    /// There are streams above `last_processed`, perhaps.
    pub(super) refused: bool,
    pub(super) places: bool,
    /// [`Event::HeaderBytes`] is due.
    header_bytes: bool,
    over: bool,
}

/// The frame of the last request, to be copied if the next one is the same.
#[derive(Debug, Default)]
struct Repeated {
    frame: Vec<u8>,
    request: u32,
    generation: u32,
}

/// Looking at this many streams costs as much as a frame that carries nothing.
const STREAMS_AS_A_FRAME: u32 = 64;

/// Blocks up to this length fit in one frame of any server's.
const ONE_FRAME: usize = 16_384;

impl Session {
    /// A session on a fresh connection, for requests of `table`.
    pub fn new(table: Arc<[Prepared]>, mut settings: Settings) -> Self {
        settings.streams = settings.streams.clamp(1, streams::MOST);
        Session {
            table,
            settings,
            peer: Peer::default(),
            streams: Streams::new(settings.streams, settings.last_stream.min(frame::MAX_31)),
            output: Output::new(settings.greeting()),
            upload: Upload::default(),
            reading: Reading::default(),
            pieces: Pieces::default(),
            // Until the server knows our limit it may use the default.
            decoder: Decoder::new(
                settings.header_table_bytes.max(super::hpack::DEFAULT_TABLE_BYTES),
            ),
            memo: Memo::default(),
            encoder: Encoder::new(settings.encoder_table_bytes),
            repeated: Repeated::default(),
            ready: false,
            acknowledged: false,
            closing: false,
            ending: None,
            has_ended: false,
            last_processed: frame::MAX_31,
            goaway_code: 0,
            header_bytes: HeaderBytes::default(),
            room: None,
            asked: None,
            captured: None,
            scratch: None,
            received: 0,
            idle_frames: 0,
            news: News::default(),
        }
    }

    /// A session on a connection that was upgraded from HTTP/1.1 (RFC 7540 3.2), with the bytes
    /// after the 101 as its first input. The request that asked for it was sent, whole, with
    /// [`Settings::http2_settings`] among its fields; its response comes as the first stream's.
    pub fn upgraded(
        table: Arc<[Prepared]>,
        settings: Settings,
        id: RequestId,
        request: u32,
    ) -> Self {
        let mut session = Session::new(table, settings);
        let stream = session.streams.open();
        stream.begin(id, request, &session.table[request as usize]);
        stream.body = None;
        session.output.was_sent(stream.id);
        session
    }

    /// Requests without an outcome.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.streams.live()
    }

    /// Whether the server's SETTINGS have come.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// From now on, keeps the header block and the body of each response in `room`, as far as its
    /// bounds allow.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.room = Some(room.clone());
    }

    /// Takes a request that was made for this one time, instead of one of the table. `request`
    /// is the one whose response is expected.
    pub fn handle_prepared(&mut self, id: RequestId, request: u32, made: &Prepared) {
        debug_assert!(!self.closing && self.ready, "no request may be handed in now");
        let stream = open(&mut self.streams, &mut self.upload, id, request, made);
        self.closing |= self.streams.are_exhausted();
        self.output.begin(stream, id);
        write_fields(self.output.bytes(), &mut self.encoder, &self.peer, stream, made);
    }

    /// The peer's limits changed. Returns whether there may be more places now, or fewer.
    ///
    /// A larger window is looked at stream by stream only where one waits for it, or may not have it:
    /// that counts as this many empty frames, so that a server which flips its setting
    /// cannot ask for settings times streams of work.
    pub(super) fn take_settings(&mut self, payload: &[u8]) -> Result<bool, Error> {
        let before = self.peer;
        self.peer.update(payload, &mut self.encoder)?;
        let window = i64::from(self.peer.window);
        let opens = window > i64::from(before.window);
        let may_overflow = window + self.streams.most_credit > i64::from(frame::MAX_31);
        if opens && (may_overflow || self.upload.starved > 0) {
            self.idle_frames += self.streams.live() / STREAMS_AS_A_FRAME;
            self.open_windows(window)?;
        }
        Ok(self.peer.max_streams != before.max_streams)
    }

    /// The next event that is due without any more input.
    #[inline]
    fn next_news(&mut self) -> Option<Event> {
        if self.news.any { self.find_news() } else { None }
    }

    fn find_news(&mut self) -> Option<Event> {
        if let Some(event) = self.news.next.pop_front() {
            return Some(event);
        }
        if self.news.refused {
            let last = self.last_processed;
            if let Some((stream, id)) = self.streams.search(|stream| stream.id > last) {
                self.output.forget(stream);
                self.streams.abandon(stream);
                let goaway = GoAway { code: self.goaway_code, last_stream: last };
                return Some(Event::RequestFailed { id, failure: Failure::GoneAway(goaway) });
            }
            self.news.refused = false;
        }
        if std::mem::take(&mut self.news.places) {
            return Some(Event::Changed);
        }
        if std::mem::take(&mut self.news.header_bytes) {
            return Some(Event::HeaderBytes(self.header_bytes));
        }
        self.news.any = false;
        if self.closing && self.streams.live() == 0 && !self.news.over {
            self.news.over = true;
            return Some(Event::Over);
        }
        None
    }

    /// A stream has its outcome.
    #[inline]
    pub(super) fn close_stream(&mut self, id: u32) {
        self.streams.close(id);
        self.news.any |= self.closing;
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Event {
        self.reading = Reading::Dead;
        self.closing = true;
        self.news = News { over: true, ..News::default() };
        self.output.goaway(error.code());
        Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
    }

    /// The next outcome after the server's end.
    #[cold]
    fn next_of_end(&mut self) -> Option<Event> {
        self.closing = true;
        self.news.over = true;
        if !self.ready && self.ending.is_none() && self.streams.live() == 0 {
            self.ending = Some(Vec::new());
            let awaited = "the SETTINGS frame that HTTP/2 begins with";
            return Some(Event::Failed { id: None, failure: Failure::NotReady(awaited) });
        }
        let stream = self.ending.get_or_insert_with(|| self.streams.oldest_last()).pop()?;
        let (id, begun) = self.streams.get(stream).map(|one| (one.request_id, one.status != 0))?;
        self.streams.close(stream);
        let failure = if begun { Failure::Truncated } else { Failure::Closed };
        Some(Event::Failed { id: Some(id), failure })
    }

    fn is_dead(&self) -> bool {
        matches!(self.reading, Reading::Dead)
    }
}

impl Repeated {
    /// Copies the frame, if it is that of `request`.
    #[inline]
    fn write(&self, out: &mut Vec<u8>, stream: u32, request: u32, generation: u32) -> bool {
        let is_known = self.request == request && self.generation == generation;
        if is_known && !self.frame.is_empty() {
            let start = out.len();
            out.extend_from_slice(&self.frame);
            out[start + 5..start + frame::HEADER_BYTES].copy_from_slice(&stream.to_be_bytes());
            return true;
        }
        false
    }

    fn learn(&mut self, frame: &[u8], request: u32, generation: u32) {
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        (self.request, self.generation) = (request, generation);
    }
}

/// Opens the stream of a request; its id.
#[inline]
fn open(
    streams: &mut Streams,
    upload: &mut Upload,
    id: RequestId,
    request: u32,
    made: &Prepared,
) -> u32 {
    let stream = streams.open();
    stream.begin(id, request, made);
    if !made.body.is_empty() {
        upload.add(stream.id);
    }
    stream.id
}

/// Appends the frames of a request's fields, and says whether they may be copied next time.
fn write_fields(
    out: &mut Vec<u8>,
    encoder: &mut Encoder,
    peer: &Peer,
    stream: u32,
    made: &Prepared,
) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0; frame::HEADER_BYTES]);
    let is_stable = encoder.encode(&made.fields, out);
    let length = out.len() - start - frame::HEADER_BYTES;
    let end_stream = made.body.is_empty();
    if length > ONE_FRAME {
        let block = out.split_off(start + frame::HEADER_BYTES);
        out.truncate(start);
        frame::write_headers(out, stream, end_stream, &block, peer.frame_bytes as usize);
        return false;
    }
    let flags = frame::flag::END_HEADERS | if end_stream { frame::flag::END_STREAM } else { 0 };
    let kind = frame::kind::HEADERS;
    let header = frame::Header { length: length as u32, kind, flags, stream };
    out[start..start + frame::HEADER_BYTES].copy_from_slice(&header.to_bytes());
    is_stable
}

impl crate::session::Protocol for Session {
    const TRANSPORT: crate::session::Transport = crate::session::Transport::Stream;
}

impl crate::session::Session for Session {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    #[inline]
    fn free_places(&self) -> u32 {
        if !self.ready || self.closing {
            return 0;
        }
        let most = self.settings.streams.min(self.peer.max_streams);
        self.streams.room(most.saturating_sub(self.streams.live()))
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        debug_assert!(!self.closing && self.ready, "no request may be handed in now");
        let request = match request {
            Outgoing::Listed(request) => request,
            Outgoing::Made(made) => {
                let scratch = self.scratch.take();
                let like = || Box::new(self.table[made.request as usize].clone());
                let mut scratch = scratch.unwrap_or_else(like);
                scratch.set_made(&made);
                self.handle_prepared(id, made.request, &scratch);
                self.scratch = Some(scratch);
                return;
            }
        };
        let prepared = &self.table[request as usize];
        let stream = open(&mut self.streams, &mut self.upload, id, request, prepared);
        self.closing |= self.streams.are_exhausted();
        self.output.begin(stream, id);
        let out = self.output.bytes();
        let start = out.len();
        if self.repeated.write(out, stream, request, self.encoder.generation()) {
            return;
        }
        if write_fields(out, &mut self.encoder, &self.peer, stream, prepared) {
            self.repeated.learn(&out[start..], request, self.encoder.generation());
        }
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        self.write_bodies();
        let more = self.upload.is_waiting();
        match (self.output.pending(), slices) {
            ([], _) | (_, []) => Transmit::default(),
            (pending, [first, ..]) => {
                *first = IoSlice::new(pending);
                Transmit { slices: 1, more, ..Transmit::default() }
            }
        }
    }

    // As HTTP/1.1's.
    #[inline(always)]
    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        self.output.transmitted(bytes, started);
        false
    }

    #[inline]
    fn handle_input(&mut self, _: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "HTTP/2 is spoken over a stream");
            return None;
        };
        loop {
            if let Some(event) = self.next_news() {
                return Some(event);
            }
            if input.is_empty() {
                return None;
            }
            match self.read(input) {
                Ok(None) => {}
                Ok(event) => return event,
                Err(error) => return Some(self.fail(error)),
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self.next_news() {
            None if self.has_ended && !self.is_dead() => self.next_of_end(),
            news => news,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn handle_timeout(&mut self, _: u64) {
        // It has no timers.
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        if let Some((stream, _)) = self.streams.search(|stream| stream.request_id == id) {
            self.output.forget(stream);
            self.abandon(stream, code::CANCEL);
        }
        true
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.captured.take().map(|captured| *captured)
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
    }

    fn handle_close(&mut self) {
        if !self.is_dead() {
            self.reading = Reading::Dead;
            self.closing = true;
            self.output.goaway(code::NO_ERROR);
        }
        self.news = News { any: true, header_bytes: true, over: true, ..News::default() };
    }
}
