//! One WebSocket on a connection of its own: extended CONNECT (RFC 8441).
//!
//! The frames here are those of one stream that is never ended by us: what [`Session`](super::Session) does for many
//! streams is not needed, and frames, header blocks and settings are its. What comes in DATA goes to the
//! [`Conversation`], and what that wants to write leaves in DATA, within the server's windows.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use candor_plan::Request;

use super::error::code;
use super::frame::{self, HEADER_BYTES, Header, MAX_31, flag, kind};
use super::hpack::{Decoder, Encoder, Fields};
use super::request::is_left_out;
use super::settings::{DEFAULT_WINDOW, Peer};
use super::{Error, Settings, head};
use crate::capture::{Capture, CaptureRoom};
use crate::session::{
    Event, Failure, GoAway, Input, Malformed, Outgoing, Protocol, RequestId, Transmit, Transport,
};
use crate::ws::{self, Conversation, Masks, Offered, Opened, Output, Setup};

/// The fields of an extended CONNECT that opens a WebSocket (RFC 8441 4 and 5).
#[derive(Debug, Clone, PartialEq)]
pub struct Extended(Fields);

impl Extended {
    /// Of `request`: its path and fields count, its method and body do not.
    pub fn new(request: &Request, scheme: &str, authority: &str, settings: &ws::Settings) -> Self {
        let mut asking = ws::asking(request);
        asking.headers.extend(ws::offers(settings));
        let host = asking.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let authority = host.map_or(authority, |(_, value)| value);
        let mut fields = Fields::default();
        for (name, value) in [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", scheme),
            (":path", &asking.path),
            (":authority", authority),
        ] {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        for (name, value) in &asking.headers {
            let value = value.as_bytes().trim_ascii();
            if !is_left_out(name.as_bytes(), value) {
                fields.push(name.to_ascii_lowercase().as_bytes(), value);
            }
        }
        Extended(fields)
    }
}

/// The one stream.
const STREAM: u32 = 1;

/// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 3).
const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;

/// When so much waits to be written, no more is taken from the conversation.
const ENOUGH: usize = 64 << 10;

/// What a server that does not read may make us keep for it.
const MOST_PENDING: usize = 1 << 20;

/// The largest frame that is made.
const FRAME_BYTES: usize = 16_384;

/// A WebSocket over HTTP/2. As [`ws::Session`], but for the way in which it is opened.
#[derive(Debug)]
pub struct Tunnel {
    setup: Arc<Setup>,
    settings: Settings,
    extended: Arc<Extended>,
    /// Of the conversation that is not open yet.
    masks: Masks,
    stage: Stage,
    conversation: Option<Box<Conversation>>,
    encoder: Encoder,
    decoder: Decoder,
    peer: Peer,
    output: Output,
    /// Payload that is in the output: where it begins, and its length.
    data: VecDeque<(u64, usize)>,
    /// How much of that was not written yet.
    framed: usize,
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
    room: Option<CaptureRoom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// For the server's SETTINGS.
    Waiting,
    /// The opening is sent.
    Asked,
    Open,
    /// The server has ended the stream: [`Event::End`] is due.
    Ending,
    /// It was told.
    Over,
    /// It sends nothing more, and the WebSocket was not open.
    Ended,
    Dead,
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

type Step = Result<Option<Event>, Malformed>;

impl Tunnel {
    /// A session on a fresh connection. `seed` determines its masks: give each connection another one. Of
    /// `settings`, the number of streams is not used.
    pub fn new(extended: Arc<Extended>, setup: Arc<Setup>, settings: Settings, seed: u64) -> Self {
        Tunnel {
            setup,
            settings,
            extended,
            masks: Masks::new(seed),
            stage: Stage::Waiting,
            conversation: None,
            encoder: Encoder::new(settings.encoder_table_bytes),
            // Until the server knows our limit it may use the default.
            decoder: Decoder::new(
                settings.header_table_bytes.max(super::hpack::DEFAULT_TABLE_BYTES),
            ),
            peer: Peer::default(),
            output: Output::new(settings.greeting()),
            data: VecDeque::new(),
            framed: 0,
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
            room: None,
        }
    }

    /// Keeps the message that answers a request in `room`, as far as its bounds allow. Call it before any input.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.room = Some(room.clone());
    }

    /// Requests without an outcome.
    pub fn outstanding(&self) -> u32 {
        self.conversation.as_ref().map_or(0, |conversation| conversation.outstanding())
    }

    /// Reads on; consumes at least one byte, or all of a frame.
    fn read(&mut self, now_ns: u64, input: &mut &[u8]) -> Step {
        match self.reading {
            Reading::Header => {
                let wanted = (HEADER_BYTES - self.have).min(input.len());
                self.header[self.have..self.have + wanted].copy_from_slice(take(input, wanted));
                self.have += wanted;
                if self.have < HEADER_BYTES {
                    return Ok(None);
                }
                self.have = 0;
                let header = Header::read(&self.header);
                self.begin_frame(header, now_ns)
            }
            Reading::Payload(header) => {
                let wanted = header.length as usize - self.payload.len();
                self.payload.extend_from_slice(take(input, wanted.min(input.len())));
                if self.payload.len() < header.length as usize {
                    return Ok(None);
                }
                self.end_frame(&header, now_ns)
            }
            Reading::Padding(header) => {
                let padding = u32::from(take(input, 1).first().copied().unwrap_or(0));
                let content = (header.length - 1).checked_sub(padding).ok_or(Error::Padding)?;
                self.begin_content(content, padding, header.has(flag::END_STREAM))
            }
            Reading::Data { content: 0, padding, end_stream } => {
                let skipped = take(input, input.len().min(padding as usize)).len() as u32;
                self.begin_content(0, padding - skipped, end_stream)
            }
            Reading::Data { content, padding, end_stream } => {
                let before = &input[..input.len().min(content as usize)];
                let mut rest = before;
                let event = match &mut self.conversation {
                    Some(conversation) => conversation.handle_input(now_ns, &mut rest),
                    None => return Err(Error::DataBeforeHeaders.into()),
                };
                let taken = before.len() - rest.len();
                take(input, taken);
                self.begin_content(content - taken as u32, padding, end_stream)?;
                Ok(event)
            }
            Reading::Skipped(left) => {
                let skipped = take(input, input.len().min(left as usize)).len() as u32;
                self.skip(left - skipped);
                Ok(None)
            }
        }
    }

    /// What is left of a DATA frame. Its end may be the stream's.
    fn begin_content(&mut self, content: u32, padding: u32, end_stream: bool) -> Step {
        self.reading = Reading::Data { content, padding, end_stream };
        if content == 0 && padding == 0 {
            self.reading = Reading::Header;
            if end_stream {
                self.end_stream();
            }
        }
        Ok(None)
    }

    fn end_stream(&mut self) {
        if matches!(self.stage, Stage::Open | Stage::Asked) {
            self.stage = Stage::Ending;
        }
    }

    fn skip(&mut self, left: u32) {
        self.reading = if left == 0 { Reading::Header } else { Reading::Skipped(left) };
    }

    /// What can be said of a frame before its payload has come (RFC 9113 4 to 6).
    fn begin_frame(&mut self, header: Header, now_ns: u64) -> Step {
        let Header { length, kind, stream, .. } = header;
        if self.stage == Stage::Waiting && (kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(super::input::no_settings(&header.to_bytes()).into());
        }
        if length > self.settings.max_frame_bytes {
            return Err(Error::FrameSize.into());
        }
        if self.block.is_some() != (kind == kind::CONTINUATION) {
            return Err(Error::Continuation.into());
        }
        let (is_right, has_length) = match kind {
            kind::DATA => (stream == STREAM, !header.has(flag::PADDED) || length > 0),
            kind::HEADERS | kind::CONTINUATION => (stream == STREAM, true),
            kind::PRIORITY => (stream != 0, length == 5),
            kind::RST_STREAM => (stream == STREAM, length == 4),
            kind::SETTINGS if header.has(flag::ACK) => (stream == 0, length == 0),
            kind::SETTINGS => (stream == 0, length.is_multiple_of(6)),
            kind::PUSH_PROMISE => return Err(Error::Push.into()),
            kind::PING => (stream == 0, length == 8),
            kind::GOAWAY => (stream == 0, length >= 8),
            kind::WINDOW_UPDATE => (matches!(stream, 0 | STREAM), length == 4),
            _ => (true, true),
        };
        match (is_right, has_length) {
            (false, _) => return Err(Error::FrameStream.into()),
            (_, false) => return Err(Error::FrameSize.into()),
            _ => {}
        }
        match kind {
            kind::DATA => self.begin_data(header),
            kind::HEADERS..=kind::CONTINUATION => {
                self.payload.clear();
                self.reading = Reading::Payload(header);
                // An empty one has no byte to wait for.
                if length == 0 { self.end_frame(&header, now_ns) } else { Ok(None) }
            }
            _ => {
                self.count_idle()?;
                self.skip(length);
                Ok(None)
            }
        }
    }

    /// All of a DATA frame counts for the windows, padding too (RFC 9113 6.9.1).
    fn begin_data(&mut self, header: Header) -> Step {
        let length = header.length;
        let (all, own) = (self.settings.connection_window(), self.settings.stream_window());
        self.received.0 += length;
        self.received.1 += length;
        // Until the server has taken our settings over it may use the default.
        let allowed = if self.acknowledged { own } else { own.max(DEFAULT_WINDOW) };
        if self.received.0 > all {
            return Err(Error::WindowExceeded.into());
        }
        if self.received.1 > allowed {
            return Err(Error::StreamWindowExceeded.into());
        }
        if self.received.0 > all / 2 {
            self.window_update(0, self.received.0);
            self.received.0 = 0;
        }
        if self.received.1 > own / 2 && !header.has(flag::END_STREAM) {
            self.window_update(STREAM, self.received.1);
            self.received.1 = 0;
        }
        self.check_pending()?;
        match length {
            0 => self.count_idle()?,
            _ => self.idle_frames = 0,
        }
        if header.has(flag::PADDED) {
            self.reading = Reading::Padding(header);
            return Ok(None);
        }
        self.begin_content(length, 0, header.has(flag::END_STREAM))
    }

    fn window_update(&mut self, stream: u32, by: u32) {
        self.write(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::write(self.output.bytes(), kind, flags, stream, payload);
    }

    /// A frame that carries nothing. Too many of them are an attack.
    fn count_idle(&mut self) -> Result<(), Error> {
        self.idle_frames += 1;
        match self.idle_frames > self.settings.limits.idle_frames {
            true => Err(Error::Flood),
            false => self.check_pending(),
        }
    }

    fn check_pending(&self) -> Result<(), Error> {
        if self.output.pending().len() > MOST_PENDING { Err(Error::Flood) } else { Ok(()) }
    }

    /// A frame other than DATA, whole.
    fn end_frame(&mut self, header: &Header, now_ns: u64) -> Step {
        self.reading = Reading::Header;
        let payload = std::mem::take(&mut self.payload);
        let step = self.handle_frame(header, &payload, now_ns);
        self.payload = payload;
        step
    }

    fn handle_frame(&mut self, header: &Header, payload: &[u8], now_ns: u64) -> Step {
        match header.kind {
            kind::HEADERS | kind::CONTINUATION => {
                return self.handle_fields(header, payload, now_ns);
            }
            kind::SETTINGS if !header.has(flag::ACK) => return self.handle_settings(payload),
            kind::RST_STREAM => {
                let code = frame::u32_at(payload, 0).unwrap_or(0);
                return Ok(Some(self.give_up(Failure::StreamReset(code))));
            }
            kind::GOAWAY => return self.handle_goaway(payload),
            kind::WINDOW_UPDATE => return self.handle_window_update(header.stream, payload),
            kind::SETTINGS => {
                self.acknowledged = true;
                self.decoder.set_limit(self.settings.header_table_bytes);
            }
            kind::PING if !header.has(flag::ACK) => self.write(kind::PING, flag::ACK, 0, payload),
            _ => {}
        }
        self.count_idle()?;
        Ok(None)
    }

    fn handle_settings(&mut self, payload: &[u8]) -> Step {
        let before = self.peer.window;
        self.peer.update(payload, &mut self.encoder)?;
        self.windows.1 += i64::from(self.peer.window) - i64::from(before);
        if self.windows.1 > i64::from(MAX_31) {
            return Err(Error::SettingWindow.into());
        }
        self.write(kind::SETTINGS, flag::ACK, 0, &[]);
        if self.stage != Stage::Waiting {
            self.count_idle()?;
            return Ok(None);
        }
        let enables = |entry: &[u8]| entry == [0, ENABLE_CONNECT_PROTOCOL as u8, 0, 0, 0, 1];
        if !payload.chunks_exact(6).any(enables) {
            return Err(ws::Error::NoConnectProtocol.into());
        }
        self.stage = Stage::Asked;
        let mut block = Vec::new();
        self.encoder.encode(&self.extended.0, &mut block);
        let most = self.peer.frame_bytes as usize;
        frame::write_headers(self.output.bytes(), STREAM, false, &block, most);
        Ok(Some(Event::Changed))
    }

    fn handle_window_update(&mut self, stream: u32, payload: &[u8]) -> Step {
        self.count_idle()?;
        let by = i64::from(frame::u32_at(payload, 0).unwrap_or(0) & MAX_31);
        let (window, zero, overflow) = match stream {
            0 => (&mut self.windows.0, Error::WindowUpdateZero, Error::WindowOverflow),
            _ => (&mut self.windows.1, Error::StreamWindowUpdateZero, Error::StreamWindowOverflow),
        };
        *window += by;
        match by {
            0 => Err(zero.into()),
            _ if *window > i64::from(MAX_31) => Err(overflow.into()),
            // The engine looks for bytes to write after every input.
            _ => Ok(None),
        }
    }

    /// RFC 9113 6.8.
    fn handle_goaway(&mut self, payload: &[u8]) -> Step {
        self.count_idle()?;
        let last_stream = frame::u32_at(payload, 0).unwrap_or(0) & MAX_31;
        let goaway = GoAway { code: frame::u32_at(payload, 4).unwrap_or(0), last_stream };
        Ok(Some(match last_stream {
            0 => self.give_up(Failure::GoneAway(goaway)),
            _ => Event::GoAway(goaway),
        }))
    }

    /// HEADERS and CONTINUATION: of the response, or trailers.
    fn handle_fields(&mut self, header: &Header, payload: &[u8], now_ns: u64) -> Step {
        let (mut block, end_stream, continuations) = match self.block.take() {
            Some((block, end_stream, continuations)) => (block, end_stream, continuations + 1),
            None => (Vec::new(), header.has(flag::END_STREAM), 0),
        };
        let (start, end) = match header.kind {
            kind::HEADERS => frame::without_padding(header, payload).ok_or(Error::Padding)?,
            _ => (0, payload.len()),
        };
        let has_priority = header.kind == kind::HEADERS && header.has(flag::PRIORITY);
        let start = start + if has_priority { 5 } else { 0 };
        block.extend_from_slice(payload.get(start..end).ok_or(Error::FrameSize)?);
        let limits = self.settings.limits;
        if block.len() > limits.header_block_bytes || continuations > limits.continuations {
            return Err(Error::HeaderBlockTooLarge.into());
        }
        if header.has(flag::END_HEADERS) {
            return self.handle_block(&block, end_stream, now_ns);
        }
        self.block = Some((block, end_stream, continuations));
        Ok(None)
    }

    fn handle_block(&mut self, block: &[u8], end_stream: bool, now_ns: u64) -> Step {
        let is_response = self.stage == Stage::Asked;
        let mut fields = CaptureRoom::new(0, 1).begin(0).filter(|_| is_response);
        let most = self.settings.limits.header_list_bytes;
        let head = head::read(&mut self.decoder, block, most, fields.as_mut());
        let head = head.map_err(Error::from)??;
        match (is_response, head.status) {
            (false, 0) if end_stream => {
                self.end_stream();
                Ok(None)
            }
            (false, 0) => Err(Error::Trailers.into()),
            (false, _) => Err(Error::PseudoField.into()),
            (true, 0) => Err(Error::Status.into()),
            (true, 101) => Err(Error::SwitchingProtocols.into()),
            (true, 100..200) => {
                self.interim_answers += 1;
                let is_over =
                    end_stream || self.interim_answers > self.settings.limits.interim_answers;
                if is_over { Err(Error::Interim.into()) } else { Ok(None) }
            }
            (true, 200..300) => {
                let opened = self.read_fields(fields.as_ref())?;
                self.open(opened, now_ns);
                if end_stream {
                    self.end_stream();
                }
                Ok(Some(Event::Ready(ws::ABILITIES)))
            }
            (true, status) => Err(ws::Error::Status(status).into()),
        }
    }

    /// What the server chose of what was offered.
    fn read_fields(&self, fields: Option<&Capture>) -> Result<Opened, ws::Error> {
        let mut offered = Offered::default();
        let lines = fields.map_or(&[][..], |fields| fields.get().fields);
        for line in lines.split(|&byte| byte == b'\n') {
            let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            offered.handle(name, value, self.setup.settings())?;
        }
        Ok(offered.agreed)
    }

    fn open(&mut self, opened: Opened, now_ns: u64) {
        self.stage = Stage::Open;
        let (setup, masks) = (Arc::clone(&self.setup), self.masks.clone());
        let mut conversation = Conversation::new(setup, masks, Output::default(), opened, now_ns);
        if let Some(room) = &self.room {
            conversation.capture(room);
        }
        self.conversation = Some(Box::new(conversation));
    }

    /// Takes what the conversation wants to write, as far as the windows allow.
    fn frame_data(&mut self) {
        let Some(conversation) = &mut self.conversation else { return };
        loop {
            let rest = &conversation.pending()[self.framed..];
            let most = self.windows.0.min(self.windows.1).max(0) as usize;
            let length = rest.len().min(most).min(FRAME_BYTES).min(self.peer.frame_bytes as usize);
            if length == 0 || self.output.pending().len() >= ENOUGH {
                return;
            }
            let header =
                Header { length: length as u32, kind: kind::DATA, flags: 0, stream: STREAM };
            self.output.bytes().extend_from_slice(&header.to_bytes());
            self.data.push_back((self.output.end(), length));
            self.output.bytes().extend_from_slice(&rest[..length]);
            self.framed += length;
            self.windows.0 -= length as i64;
            self.windows.1 -= length as i64;
        }
    }

    fn fail(&mut self, error: Malformed) -> Event {
        let code = match &error {
            Malformed::H2(error) => error.code(),
            _ => code::CANCEL,
        };
        self.goodbye(code);
        Event::Failed { id: None, failure: Failure::Malformed(error) }
    }

    /// The stream is of no use any more.
    fn give_up(&mut self, failure: Failure) -> Event {
        self.goodbye(code::NO_ERROR);
        Event::Failed { id: None, failure }
    }

    /// We never accepted a stream of the server's, so the last of them is 0.
    fn goodbye(&mut self, code: u32) {
        self.stage = Stage::Dead;
        let mut payload = [0; 8];
        payload[4..].copy_from_slice(&code.to_be_bytes());
        self.write(kind::GOAWAY, 0, 0, &payload);
    }
}

/// Takes the first bytes of an input that has as many.
fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}

impl Protocol for Tunnel {
    const SPEAKS_UNASKED: bool = true;
    const TRANSPORT: Transport = Transport::Stream;
}

impl crate::session::Session for Tunnel {
    fn free_places(&self) -> u32 {
        let open = self.conversation.as_ref().filter(|_| self.stage == Stage::Open);
        open.map_or(0, |conversation| conversation.free_places())
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        match &mut self.conversation {
            Some(conversation) => conversation.handle_request(id, request),
            None => debug_assert!(false, "no request may be handed in now"),
        }
    }

    fn poll_transmit<'a>(&'a mut self, _: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if self.stage != Stage::Dead {
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
        let through = self.output.transmitted(bytes);
        let mut written = 0;
        while let Some((begin, length)) = self.data.front_mut()
            && *begin < through
        {
            let part = usize::try_from(through - *begin).unwrap_or(usize::MAX).min(*length);
            written += part;
            (*begin, *length) = (*begin + part as u64, *length - part);
            if *length > 0 {
                break;
            }
            self.data.pop_front();
        }
        self.framed -= written;
        match &mut self.conversation {
            Some(conversation) if written > 0 => conversation.handle_transmitted(written, started),
            _ => false,
        }
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "HTTP/2 is spoken over a stream");
            return None;
        };
        while !input.is_empty() && !matches!(self.stage, Stage::Ending | Stage::Over | Stage::Dead)
        {
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
        let open = self.conversation.as_mut().filter(|_| self.stage != Stage::Dead);
        if let Some(event) = open.and_then(|one| one.handle_input(now_ns, &mut &[][..])) {
            return Some(event);
        }
        if self.stage == Stage::Ending {
            self.stage = Stage::Over;
            return Some(Event::End);
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        match (self.stage, &mut self.conversation) {
            (Stage::Dead, _) => None,
            (_, Some(conversation)) => conversation.poll_event(),
            (Stage::Ended, None) => {
                self.stage = Stage::Dead;
                Some(Event::Failed { id: None, failure: Failure::NotReady(ws::AWAITED) })
            }
            _ => None,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.conversation.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if let Some(conversation) = &mut self.conversation {
            conversation.handle_timeout(now_ns);
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.conversation.as_mut().is_some_and(|conversation| conversation.cancel(id))
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.conversation.as_mut()?.take_captured()
    }

    fn handle_end(&mut self) {
        match &mut self.conversation {
            Some(conversation) => conversation.handle_end(),
            None if self.stage != Stage::Dead => self.stage = Stage::Ended,
            None => {}
        }
    }

    fn handle_close(&mut self) {
        if self.stage == Stage::Dead {
            return;
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.handle_close();
        }
        self.frame_data();
        self.goodbye(code::NO_ERROR);
    }
}
