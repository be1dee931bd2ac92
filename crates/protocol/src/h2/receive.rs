//! What the server's frames mean (RFC 9113 5 and 6).
//!
//! An error returned is the connection's; one that is a single response's ends its stream here, and
//! the connection goes on.

use std::num::NonZeroU16;

use super::error::code;
use super::frame::{self, Header, MAX_31, flag, kind};
use super::head::{self, Head};
use super::input::OpenBlock;
use super::memo::Holds;
use super::settings::DEFAULT_WINDOW;
use super::{Error, Session};
use crate::asked::{Asked, Parts};
use crate::grpc;
use crate::session::{Abilities, Answer, Deviations, Event, Failure, GoAway, Last};

/// What a server that does not read may make us keep for it.
const MOST_PENDING: usize = 1 << 20;

type Step = Result<Option<Event>, Error>;

impl Session {
    /// What can be said against a frame before its payload has come.
    #[inline]
    pub(super) fn check_header(&mut self, header: &Header) -> Result<(), Error> {
        let on_stream = header.stream != 0;
        let length = header.length;
        let (right_stream, right_length) = match header.kind {
            kind::HEADERS => (on_stream, true),
            kind::PRIORITY => (on_stream, true),
            kind::RST_STREAM => (on_stream, length == 4),
            kind::SETTINGS if header.has(flag::ACK) => (!on_stream, length == 0),
            kind::SETTINGS => (!on_stream, length.is_multiple_of(6)),
            kind::PUSH_PROMISE => return Err(Error::Push),
            kind::PING => (!on_stream, length == 8),
            kind::GOAWAY => (!on_stream, length >= 8),
            kind::WINDOW_UPDATE => (true, length == 4),
            _ if self.pieces.open_block.is_none() => return Err(Error::Continuation),
            _ => (true, true),
        };
        match (right_stream, right_length) {
            (false, _) => Err(Error::FrameStream),
            (_, false) => Err(Error::FrameSize),
            _ => Ok(()),
        }
    }

    /// A frame other than DATA, whole.
    #[inline]
    pub(super) fn handle_frame(&mut self, header: &Header, payload: &[u8]) -> Step {
        match header.kind {
            kind::HEADERS => self.handle_headers(header, payload),
            kind::CONTINUATION => self.handle_continuation(header, payload),
            kind::RST_STREAM => self.handle_rst_stream(header.stream, payload),
            kind::WINDOW_UPDATE => self.handle_window_update(header.stream, payload),
            kind::GOAWAY => self.handle_goaway(payload),
            kind::PRIORITY => self.handle_priority(header),
            kind::PING => {
                self.count_idle()?;
                if !header.has(flag::ACK) {
                    frame::write(self.output.bytes(), kind::PING, flag::ACK, 0, payload);
                }
                Ok(None)
            }
            _ => self.handle_settings(header, payload),
        }
    }

    /// A frame that carries nothing. Too many of them are an attack.
    pub(super) fn count_idle(&mut self) -> Result<(), Error> {
        self.idle_frames += 1;
        if self.idle_frames > self.settings.limits.idle_frames {
            Err(Error::Flood)
        } else {
            self.check_pending()
        }
    }

    /// Refuses to answer a server that makes us say much and reads none of it.
    fn check_pending(&self) -> Result<(), Error> {
        if self.output.pending().len() > MOST_PENDING { Err(Error::Flood) } else { Ok(()) }
    }

    /// Whether a frame on this stream has a request; if not, it may be an error.
    fn is_live(&mut self, stream: u32) -> Result<bool, Error> {
        if self.streams.get(stream).is_some() && stream <= self.output.sent_through() {
            return Ok(true);
        }
        self.check_idle(stream)?;
        if !self.streams.is_abandoned(stream) {
            return Err(Error::ClosedStream);
        }
        self.count_idle()?;
        Ok(false)
    }

    /// Refuses a stream that the server cannot know of (RFC 9113 5.1).
    fn check_idle(&self, stream: u32) -> Result<(), Error> {
        if stream.is_multiple_of(2) || stream > self.output.sent_through() {
            return Err(Error::IdleStream);
        }
        Ok(())
    }

    fn handle_headers(&mut self, header: &Header, payload: &[u8]) -> Step {
        let (mut start, end) = frame::without_padding(header, payload).ok_or(Error::Padding)?;
        if header.has(flag::PRIORITY) {
            start += 5;
        }
        let block = payload.get(start..end).ok_or(Error::FrameSize)?;
        if block.len() > self.settings.limits.header_block_bytes {
            return Err(Error::HeaderBlockTooLarge);
        }
        self.is_live(header.stream)?;
        let end_stream = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.handle_block(header.stream, end_stream, block);
        }
        self.pieces.open_block =
            Some(OpenBlock { stream: header.stream, end_stream, continuations: 0 });
        self.pieces.block.clear();
        self.collect_block(block)?;
        Ok(None)
    }

    fn handle_continuation(&mut self, header: &Header, payload: &[u8]) -> Step {
        let Some(open) = &mut self.pieces.open_block else { return Err(Error::Continuation) };
        open.continuations += 1;
        if open.continuations > self.settings.limits.continuations {
            return Err(Error::HeaderBlockTooLarge);
        }
        let open = *open;
        self.collect_block(payload)?;
        if !header.has(flag::END_HEADERS) {
            return Ok(None);
        }
        self.pieces.open_block = None;
        let block = std::mem::take(&mut self.pieces.block);
        let step = self.handle_block(open.stream, open.end_stream, &block);
        self.pieces.block = block;
        self.pieces.release_block();
        step
    }

    fn collect_block(&mut self, part: &[u8]) -> Result<(), Error> {
        if self.pieces.block.len() + part.len() > self.settings.limits.header_block_bytes {
            return Err(Error::HeaderBlockTooLarge);
        }
        self.pieces.block.extend_from_slice(part);
        Ok(())
    }

    /// A whole header block: of a response, or trailers.
    #[inline]
    fn handle_block(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Step {
        let generation = self.decoder.generation();
        // A script wants the fields themselves, so that each block is decoded for it.
        let recalled = match self.room {
            None => self.memo.recall(block, generation),
            Some(_) => None,
        };
        let head = match recalled {
            Some((head, adds)) if !self.decoder.expects_resize() => {
                if adds {
                    self.decoder.repeat(block);
                }
                Ok(head)
            }
            _ => self.read_block(id, block, generation)?,
        };
        self.header_bytes.received += block.len() as u64;
        self.header_bytes.decoded += head.map_or(0, |head| u64::from(head.decoded_bytes));
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        let head = match head {
            Ok(head) => head,
            Err(error) => return Ok(Some(self.refuse(id, error))),
        };
        if stream.status != 0 {
            if let Some(Parts::Messages(call)) = &mut stream.parts {
                call.handle_trailers(head.told);
            }
            return Ok(Some(match (head.status, end_stream) {
                (0, true) => self.finish(id),
                (0, false) => self.refuse(id, Error::Trailers),
                _ => self.refuse(id, Error::PseudoField),
            }));
        }
        if head.status < 200 {
            return Ok(self.handle_interim(id, &head, end_stream));
        }
        stream.status = head.status;
        stream.content_length = head.content_length;
        stream.no_body |= matches!(head.status, 204 | 304);
        let request = stream.request_id;
        let becomes_tunnel = stream.is_connect && head.status < 300;
        self.idle_frames = 0;
        // What follows in a tunnel is not HTTP, and is dropped.
        stream.no_body |= becomes_tunnel;
        stream.sends_on = becomes_tunnel && !end_stream;
        if self.asked.is_some() {
            self.begin_parts(id, head.told);
        }
        if end_stream || becomes_tunnel {
            let outcome = self.finish(id);
            self.news.next.push_front(outcome);
            self.news.any = true;
        }
        Ok(Some(Event::FirstByte(request)))
    }

    #[cold]
    fn read_block(
        &mut self,
        id: u32,
        block: &[u8],
        generation: u64,
    ) -> Result<Result<Head, Error>, Error> {
        // What comes after the body, trailers, is not kept, as over HTTP/1.1.
        let begins = self.streams.get(id).filter(|stream| stream.status == 0);
        let request = begins.map(|stream| stream.request);
        let mut capture = self.room.as_ref().and_then(|room| room.begin(request?));
        let most = self.settings.limits.header_list_bytes;
        let mut message = self.asked.as_deref_mut().and_then(Asked::message);
        if let Some(message) = &mut message {
            message.clear();
        }
        let head = head::read(&mut self.decoder, block, most, capture.as_mut(), message)?;
        if let Some(stream) = self.streams.get(id).filter(|_| request.is_some()) {
            stream.capture = capture.map(Box::new);
        }
        let is_unchanged = self.decoder.generation() == generation;
        let holds = match (self.decoder.stands_alone(), is_unchanged) {
            (true, true) => Holds::Always,
            (true, false) => Holds::AlwaysAndAdds,
            (false, true) => Holds::At(generation),
            (false, false) => return Ok(head),
        };
        if let Ok(head) = head
            && head.told.is_plain()
        {
            self.memo.learn(block, holds, head);
        }
        Ok(head)
    }

    /// 1xx, or no status at all.
    fn handle_interim(&mut self, id: u32, head: &Head, end_stream: bool) -> Option<Event> {
        let most = self.settings.limits.interim_answers;
        let stream = self.streams.get(id)?;
        stream.interim_answers += 1;
        let error = match head.status {
            0 => Error::Status,
            101 => Error::SwitchingProtocols,
            _ if end_stream || stream.interim_answers > most => Error::Interim,
            _ => return None,
        };
        Some(self.refuse(id, error))
    }

    /// The header of a DATA frame: all of it counts for the windows, padding too (RFC 9113 6.9.1).
    #[inline]
    pub(super) fn begin_data(&mut self, header: &Header) -> Result<(), Error> {
        let (id, length) = (header.stream, header.length);
        if id == 0 {
            return Err(Error::FrameStream);
        }
        let most = self.settings.connection_window();
        self.received += length;
        if self.received > most {
            return Err(Error::WindowExceeded);
        }
        if self.received > most / 2 {
            self.output.window_update(0, self.received);
            self.received = 0;
        }
        if !self.is_live(id)? {
            return Ok(());
        }
        if length > 0 {
            self.idle_frames = 0;
        } else if !header.has(flag::END_STREAM) {
            self.count_idle()?;
        }
        let most = self.settings.stream_window();
        // Until the server has taken our settings over it may use the default.
        let allowed = if self.acknowledged { most } else { most.max(DEFAULT_WINDOW) };
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        stream.received += length;
        if stream.received > allowed {
            stream.refused = Some(Error::StreamWindowExceeded);
        } else if stream.received > most / 2 && !header.has(flag::END_STREAM) {
            self.output.window_update(id, std::mem::take(&mut stream.received));
            self.check_pending()?;
        }
        Ok(())
    }

    /// A piece of a DATA frame, without padding; `is_over`: the stream ends with it.
    #[inline]
    pub(super) fn handle_data(&mut self, id: u32, content: &[u8], mut is_over: bool) -> Step {
        // The rest of a frame whose stream was given up is swallowed.
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        let length = stream.check.length() + content.len() as u64;
        let error = if stream.refused.is_some() {
            stream.refused
        } else if stream.status == 0 {
            Some(Error::DataBeforeHeaders)
        } else if stream.no_body && !content.is_empty() {
            Some(Error::UnexpectedBody)
        } else if stream.content_length.is_some_and(|most| length > most) && !content.is_empty() {
            Some(Error::ContentLengthDiffers)
        } else {
            None
        };
        if let Some(error) = error {
            return Ok(Some(self.refuse(id, error)));
        }
        stream.check.handle(&self.table[stream.request as usize].expect.body, content);
        if let Some(capture) = &mut stream.capture {
            match &mut stream.parts {
                Some(Parts::Events(splitter)) => {
                    capture.feed_body(content, &mut |plain| splitter.feed(plain));
                }
                _ => capture.keep_body(content),
            }
            is_over |= capture.not_kept().is_some();
        }
        if stream.parts.is_some() {
            return Ok(self.handle_parts(id, content, is_over));
        }
        Ok(if is_over { Some(self.finish(id)) } else { None })
    }

    /// The response on a stream is complete, or cannot be kept. The first of the events that follow.
    #[inline]
    pub(super) fn finish(&mut self, id: u32) -> Event {
        match self.asked {
            None => self.complete(id),
            Some(_) => self.finish_parts(id),
        }
    }

    /// The same, whatever parts it has.
    #[inline]
    pub(super) fn complete(&mut self, id: u32) -> Event {
        let Some(stream) = self.streams.get(id) else {
            // Only streams that are alive are finished.
            return Event::Over;
        };
        if let Some(why) = stream.capture.as_ref().and_then(|capture| capture.not_kept()) {
            return self.give_up(id, code::CANCEL, Failure::NotKept(why));
        }
        let body_bytes = stream.check.length();
        if !stream.no_body && stream.content_length.is_some_and(|length| length != body_bytes) {
            return self.refuse(id, Error::ContentLengthDiffers);
        }
        let expect = &self.table[stream.request as usize].expect;
        let mut expected = stream.check.finish(expect, stream.status);
        if let Some(capture) = &mut stream.capture {
            expected = capture.finish(expect, expected);
        }
        let event = Event::Done(Answer {
            id: stream.request_id,
            status: NonZeroU16::new(stream.status),
            body_bytes,
            expected,
            deviations: Deviations::default(),
            last: Last::No,
        });
        let goes_on = stream.body.is_some() || stream.sends_on;
        self.captured = stream.capture.take();
        if goes_on {
            // The server has responded without the rest of the body, so it is not needed (8.1).
            self.abandon(id, code::CANCEL);
        } else {
            self.close_stream(id);
        }
        event
    }

    /// A response is not valid: its stream ends, the connection goes on (RFC 9113 5.4.2).
    #[cold]
    fn refuse(&mut self, id: u32, error: Error) -> Event {
        self.give_up(id, error.code(), Failure::Malformed(error.into()))
    }

    /// A request fails by a word of ours.
    #[cold]
    pub(super) fn give_up(&mut self, id: u32, code: u32, failure: Failure) -> Event {
        let request = self.streams.get(id).map_or(0, |stream| stream.request_id);
        self.abandon(id, code);
        Event::RequestFailed { id: request, failure }
    }

    /// Ends a stream by a word of ours.
    pub(super) fn abandon(&mut self, id: u32, code: u32) {
        self.output.rst_stream(id, code);
        self.streams.abandon(id);
        self.news.any |= self.closing;
    }

    fn handle_rst_stream(&mut self, id: u32, payload: &[u8]) -> Step {
        self.check_idle(id)?;
        let Some(stream) = self.streams.get(id) else {
            return self.count_idle().map(|()| None);
        };
        let request = stream.request_id;
        self.close_stream(id);
        let failure = match frame::u32_at(payload, 0) {
            code if self.has_calls() => grpc::of_reset(code.unwrap_or_default()),
            Some(code::REFUSED_STREAM) => Failure::NotProcessed,
            code => Failure::StreamReset(code.unwrap_or(0)),
        };
        Ok(Some(Event::RequestFailed { id: request, failure }))
    }

    fn handle_window_update(&mut self, id: u32, payload: &[u8]) -> Step {
        self.count_idle()?;
        let by = frame::u32_at(payload, 0).unwrap_or(0) & MAX_31;
        if id == 0 {
            return match by {
                0 => Err(Error::WindowUpdateZero),
                by => self.upload.open_window(by).map(|()| None),
            };
        }
        self.check_idle(id)?;
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        if by == 0 {
            return Ok(Some(self.refuse(id, Error::StreamWindowUpdateZero)));
        }
        stream.credit += i64::from(by);
        let credit = stream.credit;
        let window = i64::from(self.peer.window) + credit;
        if window > i64::from(MAX_31) {
            return Ok(Some(self.refuse(id, Error::StreamWindowOverflow)));
        }
        if stream.is_starved && window > 0 {
            stream.is_starved = false;
            self.upload.feed(id);
        }
        self.streams.most_credit = self.streams.most_credit.max(credit);
        Ok(None)
    }

    fn handle_priority(&mut self, header: &Header) -> Step {
        self.count_idle()?;
        match header.length {
            5 => Ok(None),
            _ if self.streams.get(header.stream).is_some() => {
                Ok(Some(self.refuse(header.stream, Error::PriorityLength)))
            }
            _ => Err(Error::FrameSize),
        }
    }

    /// RFC 9113 6.8.
    fn handle_goaway(&mut self, payload: &[u8]) -> Step {
        self.count_idle()?;
        let last_stream = frame::u32_at(payload, 0).unwrap_or(0) & MAX_31;
        let code = frame::u32_at(payload, 4).unwrap_or(0);
        self.last_processed = self.last_processed.min(last_stream);
        self.goaway_code = code;
        self.closing = true;
        self.news.any = true;
        self.news.refused = true;
        Ok(Some(Event::GoAway(GoAway { code, last_stream })))
    }

    fn handle_settings(&mut self, header: &Header, payload: &[u8]) -> Step {
        if header.has(flag::ACK) {
            self.acknowledged = true;
            self.decoder.set_limit(self.settings.header_table_bytes);
            return self.count_idle().map(|()| None);
        }
        let other_places = self.take_settings(payload)?;
        frame::write(self.output.bytes(), kind::SETTINGS, flag::ACK, 0, &[]);
        if !self.ready {
            self.ready = true;
            let abilities = Abilities { multiplexes: true, takes_made: true };
            return Ok(Some(Event::Ready(abilities)));
        }
        self.count_idle()?;
        self.news.places |= other_places;
        self.news.any |= other_places;
        Ok(None)
    }
}
