//! What the server's frames mean for the one stream (RFC 9113 4 to 6, RFC 8441).

use super::super::opening::Offered;
use super::{Reading, STREAM, Stage, Tunnel};
use crate::capture::CaptureRoom;
use crate::h2::frame::{self, HEADER_BYTES, Header, MAX_31, flag, kind};
use crate::h2::settings::DEFAULT_WINDOW;
use crate::h2::{Error, head, input};
use crate::output::Output;
use crate::session::{Event, Failure, GoAway, Malformed};
use crate::ws;

/// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 3).
const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;

/// What a server that does not read may make us keep for it.
const MOST_PENDING: usize = 1 << 20;

type Step = Result<Option<Event>, Malformed>;

impl Tunnel {
    /// Reads on; consumes at least one byte, or all of a frame.
    pub(super) fn read(&mut self, now_ns: u64, input: &mut &[u8]) -> Step {
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
                let event = match &mut self.carried.conversation {
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
        if matches!(self.carried.stage, Stage::Open | Stage::Asked) {
            self.carried.stage = Stage::Ending;
        }
    }

    fn skip(&mut self, left: u32) {
        self.reading = if left == 0 { Reading::Header } else { Reading::Skipped(left) };
    }

    /// What can be said of a frame before its payload has come (RFC 9113 4 to 6).
    fn begin_frame(&mut self, header: Header, now_ns: u64) -> Step {
        let Header { length, kind, stream, .. } = header;
        if self.carried.stage == Stage::Waiting && (kind != kind::SETTINGS || header.has(flag::ACK))
        {
            return Err(input::no_settings(&header.to_bytes()).into());
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

    pub(super) fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
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
                return Ok(self.give_up(Failure::StreamReset(code)));
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
        if self.carried.stage != Stage::Waiting {
            self.count_idle()?;
            return Ok(None);
        }
        let enables = |entry: &[u8]| entry == [0, ENABLE_CONNECT_PROTOCOL as u8, 0, 0, 0, 1];
        if !payload.chunks_exact(6).any(enables) {
            return Err(ws::Error::NoConnectProtocol.into());
        }
        self.carried.stage = Stage::Asked;
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
        Ok(match last_stream {
            0 => self.give_up(Failure::GoneAway(goaway)),
            _ => Some(Event::GoAway(goaway)),
        })
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
        let is_response = self.carried.stage == Stage::Asked;
        let mut fields = CaptureRoom::new(0, 1).begin(0).filter(|_| is_response);
        let most = self.settings.limits.header_list_bytes;
        let head = head::read(&mut self.decoder, block, most, fields.as_mut(), None);
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
                let opened = Offered::read(fields.as_ref(), self.carried.settings())?;
                let ready = self.carried.open(opened, Output::default(), now_ns);
                if end_stream {
                    self.end_stream();
                }
                Ok(ready)
            }
            (true, status) => Err(ws::Error::Status(status).into()),
        }
    }
}

/// Takes the first bytes of an input that has as many.
fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}
