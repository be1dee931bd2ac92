//! What the server's frames on the streams of requests mean (RFC 9114 4.1).
//!
//! An error returned is the connection's; one that is a single response's ends its stream here, and the connection goes on.

use std::num::NonZeroU16;

use bytes::Bytes;

use super::error::{Error, code};
use super::frames::{Frames, Piece, kind};
use super::qpack::{self, Section};
use super::quic::Read;
use super::session::Session;
use super::streams::Stream;
use crate::asked::{Asked, Parts};
use crate::h2;
use crate::h2::head::{self, Head};
use crate::h2::memo::Holds;
use crate::session::{Answer, Deviations, Event, Failure, Last};

/// A head or what is wrong with it, and whether the server's encoder is told that it was read.
type ReadSection = (Result<Head, h2::Error>, bool);

impl Session {
    /// Reads what came on the stream of a request.
    pub(super) fn read_stream(&mut self, id: u64) -> Result<(), Error> {
        loop {
            let Some(stream) = self.streams.get(id) else { return Ok(()) };
            if stream.waits.is_some() {
                self.look_for_reset(id);
                return Ok(());
            }
            let left = std::mem::take(&mut stream.left);
            let bytes = match left.is_empty() {
                false => left,
                true => match self.quic.read(id) {
                    Read::Bytes(bytes) => bytes,
                    Read::Nothing => break,
                    Read::End => return self.end_stream(id),
                    Read::Reset(code) => {
                        self.reset_by_server(id, code);
                        return Ok(());
                    }
                },
            };
            self.take_bytes(id, &bytes)?;
        }
        if let Some(stream) = self.streams.get(id)
            && std::mem::take(&mut stream.is_first)
        {
            let request = stream.request_id;
            self.news.push_back(Event::FirstByte(request));
        }
        Ok(())
    }

    /// A stream whose field section waits is not read, but may be reset: then nothing comes that it waits for.
    #[cold]
    fn look_for_reset(&mut self, id: u64) {
        if let Some(code) = self.quic.was_reset(id) {
            self.reset_by_server(id, code);
        }
    }

    fn take_bytes(&mut self, id: u64, bytes: &Bytes) -> Result<(), Error> {
        let most = self.settings.limits.frame_bytes;
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        let mut frames = std::mem::take(&mut stream.frames);
        let mut input = &bytes[..];
        while let Some(piece) = frames.next(&mut input, most)? {
            self.take_piece(id, piece, &frames)?;
            let Some(stream) = self.streams.get(id) else { return Ok(()) };
            if stream.waits.is_some() {
                stream.left = bytes.slice(bytes.len() - input.len()..);
                break;
            }
        }
        if let Some(stream) = self.streams.get(id) {
            stream.frames = frames;
        }
        Ok(())
    }

    fn take_piece(&mut self, id: u64, piece: Piece<'_>, frames: &Frames) -> Result<(), Error> {
        match piece {
            Piece::Data(bytes) => self.handle_data(id, bytes, frames),
            Piece::EmptyData => {
                self.count_idle()?;
                self.handle_data(id, &[], frames)
            }
            Piece::Unknown => self.count_idle(),
            Piece::Frame(kind::HEADERS, section) => self.handle_section(id, &section),
            // Nobody allowed a push (RFC 9114 7.2.5).
            Piece::Frame(kind::PUSH_PROMISE, _) => Err(Error::Id),
            Piece::Frame(..) => Err(Error::FrameUnexpected),
        }
    }

    /// A whole field section: of a response, or trailers.
    pub(super) fn handle_section(&mut self, id: u64, section: &[u8]) -> Result<(), Error> {
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        if stream.has_trailers {
            return Err(Error::FrameUnexpected);
        }
        let generation = self.decoder.generation();
        // Where responses are kept, the fields themselves are wanted.
        let recalled = match self.room {
            None => self.memo.recall(section, generation),
            Some(_) => None,
        };
        let (head, acknowledge) = match recalled {
            // A section that begins with 0 refers to nothing in the dynamic table (RFC 9204 4.5.1.1).
            Some((head, _)) => (Ok(head), section.first() != Some(&0)),
            None => match self.read_section(id, section, generation)? {
                Some(read) => read,
                None => return Ok(()),
            },
        };
        if acknowledge {
            self.tell(0x80, 7, id);
        }
        self.header_bytes.received += section.len() as u64;
        self.header_bytes.decoded += head.map_or(0, |head| u64::from(head.decoded_bytes));
        match head {
            Ok(head) => self.handle_head(id, &head),
            Err(error) => {
                self.refuse(id, error.into());
                Ok(())
            }
        }
    }

    /// Decodes a field section; `None`: it waits for inserts.
    #[cold]
    fn read_section(
        &mut self,
        id: u64,
        section: &[u8],
        generation: u64,
    ) -> Result<Option<ReadSection>, Error> {
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        // What comes after the body, trailers, is not kept, as over HTTP/1.1.
        let request = (stream.status == 0).then_some(stream.request);
        let mut capture = self.room.as_ref().and_then(|room| room.begin(request?));
        let most = self.settings.limits.field_section_bytes;
        let decoder = &mut self.decoder;
        let decode = |take: &mut dyn FnMut(&[u8], &[u8])| decoder.decode(section, take);
        let mut message = self.asked.as_deref_mut().and_then(Asked::message);
        if let Some(message) = &mut message {
            message.clear();
        }
        let (read, head) = head::read_by(decode, most, capture.as_mut(), message)?;
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        let Section::Read { acknowledge } = read else {
            stream.waits = Some(section.to_vec());
            self.waiting += 1;
            if self.waiting > self.settings.limits.blocked_streams {
                return Err(qpack::Error::Blocked.into());
            }
            return Ok(None);
        };
        if request.is_some() {
            stream.capture = capture.map(Box::new);
        }
        if let Ok(head) = head
            && head.told.is_plain()
        {
            let holds = if acknowledge { Holds::At(generation) } else { Holds::Always };
            self.memo.learn(section, holds, head);
        }
        Ok(Some((head, acknowledge)))
    }

    /// Inserts came: what waited for them may be read now.
    pub(super) fn retry_sections(&mut self) -> Result<(), Error> {
        if self.waiting == 0 {
            return Ok(());
        }
        for id in self.streams.waiting() {
            let waits = self.streams.get(id).and_then(|stream| stream.waits.take());
            if let Some(section) = waits {
                self.waiting -= 1;
                self.handle_section(id, &section)?;
                self.read_stream(id)?;
            }
        }
        Ok(())
    }

    fn handle_head(&mut self, id: u64, head: &Head) -> Result<(), Error> {
        let most = self.settings.limits.interim_answers;
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        if stream.status != 0 {
            if stream.is_connect && stream.no_body {
                // A tunnel has nothing but DATA (RFC 9114 4.4).
                return Err(Error::FrameUnexpected);
            }
            if head.status != 0 {
                self.refuse(id, h2::Error::PseudoField.into());
                return Ok(());
            }
            stream.has_trailers = true;
            if stream.parts.is_some() {
                self.end_call(id, head.told);
            }
            return Ok(());
        }
        if head.status < 200 {
            stream.interim_answers += 1;
            let error = match head.status {
                0 => h2::Error::Status,
                101 => h2::Error::SwitchingProtocols,
                _ if stream.interim_answers > most => h2::Error::Interim,
                _ => return Ok(()),
            };
            self.refuse(id, error.into());
            return Ok(());
        }
        stream.status = head.status;
        stream.content_length = head.content_length;
        stream.no_body |= matches!(head.status, 204 | 304);
        stream.is_first = true;
        self.idle_frames = 0;
        let is_connect = stream.is_connect;
        if self.asked.is_some() {
            self.begin_parts(id, head.told);
        }
        if is_connect {
            self.answer_connect(id);
        }
        Ok(())
    }

    /// The header fields of a response to CONNECT came.
    #[cold]
    fn answer_connect(&mut self, id: u64) {
        let Some(stream) = self.streams.get(id) else { return };
        match &mut self.tunnel {
            // It is named by its status, whatever comes after it.
            Some(tunnel) if stream.status >= 300 => {
                stream.capture = None;
                tunnel.refused = Some(stream.status);
            }
            None if stream.status >= 300 => {}
            // What follows in a tunnel is not HTTP.
            Some(tunnel) => {
                stream.no_body = true;
                tunnel.opened = Some(stream.capture.take());
            }
            None => {
                stream.no_body = true;
                self.quic.stop(id, code::NO_ERROR);
                self.quic.reset(id, code::NO_ERROR);
                stream.unsent = None;
                self.finish(id);
            }
        }
    }

    /// Content, and where in the frames of the stream it ends.
    fn handle_data(&mut self, id: u64, content: &[u8], frames: &Frames) -> Result<(), Error> {
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        if stream.status == 0 || stream.has_trailers {
            return Err(Error::FrameUnexpected);
        }
        if content.is_empty() {
            return Ok(());
        }
        let length = stream.check.length() + content.len() as u64;
        let error = if stream.no_body {
            if let Some(tunnel) = &mut self.tunnel {
                tunnel.came.extend_from_slice(content);
                self.idle_frames = 0;
                return Ok(());
            }
            Some(h2::Error::UnexpectedBody)
        } else if stream.content_length.is_some_and(|most| length > most) {
            Some(h2::Error::ContentLengthDiffers)
        } else {
            None
        };
        if let Some(error) = error {
            self.refuse(id, error.into());
            return Ok(());
        }
        self.idle_frames = 0;
        stream.check.handle(&self.table[stream.request as usize].expect.body, content);
        let has_parts = stream.parts.is_some();
        if let Some(capture) = &mut stream.capture {
            match stream.parts.as_deref_mut() {
                Some(Parts::Events(splitter)) => {
                    capture.feed_body(content, &mut |plain| splitter.feed(plain));
                }
                _ => capture.keep_body(content),
            }
            if let Some(why) = capture.not_kept().filter(|_| !has_parts) {
                self.give_up(id, code::REQUEST_CANCELLED, Failure::NotKept(why));
            }
        }
        if has_parts {
            self.handle_parts(id, content, frames.is_between());
        }
        Ok(())
    }

    /// The server's side of a stream has ended.
    fn end_stream(&mut self, id: u64) -> Result<(), Error> {
        let Some(stream) = self.streams.get(id) else { return Ok(()) };
        if !Frames::is_between(&stream.frames) {
            return Err(Error::FrameSize);
        }
        match stream.status {
            0 => self.refuse(id, Error::NoResponse),
            _ => self.finish(id),
        }
        Ok(())
    }

    /// The response on a stream is complete.
    fn finish(&mut self, id: u64) {
        if self.asked.is_some() && self.streams.get(id).is_some_and(|one| one.parts.is_some()) {
            return self.end_parts(id, None);
        }
        let outcome = self.complete(id);
        self.news.extend(outcome);
    }

    /// The same, whatever parts it has: its outcome.
    pub(super) fn complete(&mut self, id: u64) -> Option<Event> {
        let stream = self.streams.get(id)?;
        let body_bytes = stream.check.length();
        if !stream.no_body && stream.content_length.is_some_and(|length| length != body_bytes) {
            let error = Error::from(h2::Error::ContentLengthDiffers);
            let Stream { request_id: id, .. } = self.abandon(id, error.code())?;
            return Some(Event::RequestFailed { id, failure: Failure::Malformed(error.into()) });
        }
        let mut stream = self.streams.close(id)?;
        let expect = &self.table[stream.request as usize].expect;
        let mut expected = stream.check.finish(expect, stream.status);
        if let Some(capture) = &mut stream.capture {
            expected = capture.finish(expect, expected);
        }
        if stream.unsent.is_some() {
            self.quic.reset(id, code::NO_ERROR);
        }
        if self.room.is_some() {
            self.captures.push_back(stream.capture.take());
        }
        Some(Event::Done(Answer {
            id: stream.request_id,
            status: NonZeroU16::new(stream.status),
            body_bytes,
            expected,
            deviations: Deviations::default(),
            last: Last::No,
        }))
    }

    /// The response on a stream is not valid.
    fn refuse(&mut self, id: u64, error: Error) {
        let code = error.code();
        self.give_up(id, code, Failure::Malformed(error.into()));
    }

    /// A stream has this outcome, by a word of ours.
    pub(super) fn give_up(&mut self, id: u64, code: u32, failure: Failure) {
        if let Some(Stream { request_id: id, .. }) = self.abandon(id, code) {
            self.news.push_back(Event::RequestFailed { id, failure });
        }
    }

    /// Ends a stream by a word of ours.
    pub(super) fn abandon(&mut self, id: u64, code: u32) -> Option<Stream> {
        let stream = self.streams.close(id)?;
        // What the server does not know of is not told.
        if stream.unsent.is_some() || !stream.is_sent {
            self.quic.reset(id, code);
        }
        self.quic.stop(id, code);
        self.waiting -= usize::from(stream.waits.is_some());
        self.tell_cancelled(id);
        Some(stream)
    }

    /// What the server's encoder thinks that a stream refers to, it may forget (RFC 9204 4.4.2). It may think so before any
    /// insert of its has come.
    fn tell_cancelled(&mut self, id: u64) {
        if self.settings.table_bytes > 0 {
            self.tell(0x40, 6, id);
        }
    }

    pub(super) fn reset_by_server(&mut self, id: u64, code: u64) {
        let failure = self.of_reset(u32::try_from(code).unwrap_or(u32::MAX));
        if let Some(stream) = self.streams.close(id) {
            if stream.unsent.is_some() {
                self.quic.reset(id, code::REQUEST_CANCELLED);
            }
            self.waiting -= usize::from(stream.waits.is_some());
            self.tell_cancelled(id);
            let id = stream.request_id;
            self.news.push_back(Event::RequestFailed { id, failure });
        }
    }

    /// The server does not process requests from this stream on.
    pub(super) fn refuse_gone(&mut self, from: u64) {
        while let Some(stream) = self.streams.first_from(from) {
            self.give_up(stream, code::REQUEST_CANCELLED, Failure::NotProcessed);
        }
    }

    /// A frame or a stream that carries nothing. Too many of them are an attack.
    pub(super) fn count_idle(&mut self) -> Result<(), Error> {
        self.idle_frames += 1;
        if self.idle_frames > self.settings.limits.idle_frames { Err(Error::Flood) } else { Ok(()) }
    }
}
