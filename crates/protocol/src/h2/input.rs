//! From pieces of input to frames (RFC 9113 4), whatever the pieces.
//!
//! A frame that lies whole in the input is taken in place. DATA is passed on as it comes; of
//! other frames that are cut, the pieces are collected, and of those of unknown types nothing is
//! kept. What a frame means is decided in [`receive`](super::receive).

use super::frame::{HEADER_BYTES, Header, flag, kind};
use super::{Error, Session};
use crate::session::Event;

/// What the next byte belongs to.
#[derive(Debug, Default)]
pub(super) enum Reading {
    /// The header of a frame.
    #[default]
    Header,
    /// The payload of a frame that came in pieces.
    Payload(Header),
    /// The payload of a DATA frame.
    Data(Data),
    /// The payload of a frame that does not concern us; so much is left.
    Skipped(u32),
    /// Nothing: the connection is of no use any more.
    Dead,
}

/// A DATA frame being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// Content, padding and the padding's length.
    left: u32,
    /// How much of that is padding.
    padding: u32,
    /// The next byte is the padding's length.
    padding_follows: bool,
    end_stream: bool,
}

/// What was collected of something that came in pieces.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    header: [u8; HEADER_BYTES],
    have: usize,
    payload: Vec<u8>,
    /// The header block that CONTINUATION frames go on with.
    pub(super) block: Vec<u8>,
    /// Its stream, if there is one.
    pub(super) open_block: Option<OpenBlock>,
}

/// A header block whose end has not come.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenBlock {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) continuations: u32,
}

/// Memory that is kept between frames that came in pieces.
const KEPT_BYTES: usize = 1024;

impl Pieces {
    /// Gives memory back, apart from a little.
    pub(super) fn release_block(&mut self) {
        self.block.clear();
        self.block.shrink_to(KEPT_BYTES);
    }
}

impl Session {
    /// Reads on; consumes at least one byte, or all of a frame.
    #[inline]
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        match self.reading {
            Reading::Header => self.read_header(input),
            Reading::Data(data) => self.read_data(input, data),
            Reading::Payload(header) => self.read_payload(input, header),
            Reading::Skipped(left) => {
                let skipped = input.len().min(left as usize);
                *input = &input[skipped..];
                self.skip(left - skipped as u32);
                Ok(None)
            }
            Reading::Dead => {
                *input = &[];
                Ok(None)
            }
        }
    }

    #[inline]
    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Error> {
        if self.pieces.have == 0
            && let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>()
        {
            *input = rest;
            return self.begin_frame(header, input);
        }
        let have = self.pieces.have;
        let wanted = (HEADER_BYTES - have).min(input.len());
        let (part, rest) = input.split_at(wanted);
        self.pieces.header[have..have + wanted].copy_from_slice(part);
        *input = rest;
        self.pieces.have += wanted;
        if self.pieces.have < HEADER_BYTES {
            return Ok(None);
        }
        self.pieces.have = 0;
        let header = self.pieces.header;
        self.begin_frame(&header, input)
    }

    #[inline]
    fn begin_frame(
        &mut self,
        bytes: &[u8; HEADER_BYTES],
        input: &mut &[u8],
    ) -> Result<Option<Event>, Error> {
        let header = Header::read(bytes);
        if !self.ready && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(no_settings(bytes));
        }
        if header.length > self.settings.max_frame_bytes {
            return Err(if self.ready { Error::FrameSize } else { no_settings(bytes) });
        }
        if let Some(block) = self.pieces.open_block
            && (header.kind != kind::CONTINUATION || header.stream != block.stream)
        {
            return Err(Error::Continuation);
        }
        match header.kind {
            kind::DATA => {
                self.begin_data(&header)?;
                let data = Data {
                    stream: header.stream,
                    left: header.length,
                    padding: 0,
                    padding_follows: header.has(flag::PADDED),
                    end_stream: header.has(flag::END_STREAM),
                };
                if data.padding_follows && data.left == 0 {
                    return Err(Error::FrameSize);
                }
                self.read_data(input, data)
            }
            kind::HEADERS..=kind::CONTINUATION => {
                self.check_header(&header)?;
                match input.split_at_checked(header.length as usize) {
                    Some((payload, rest)) => {
                        *input = rest;
                        self.reading = Reading::Header;
                        self.handle_frame(&header, payload)
                    }
                    None => {
                        self.pieces.payload.clear();
                        self.reading = Reading::Payload(header);
                        Ok(None)
                    }
                }
            }
            _ => {
                self.count_idle()?;
                self.skip(header.length);
                Ok(None)
            }
        }
    }

    fn skip(&mut self, left: u32) {
        self.reading = if left == 0 { Reading::Header } else { Reading::Skipped(left) };
    }

    fn read_payload(&mut self, input: &mut &[u8], header: Header) -> Result<Option<Event>, Error> {
        let wanted = header.length as usize - self.pieces.payload.len();
        let (part, rest) = input.split_at(wanted.min(input.len()));
        self.pieces.payload.extend_from_slice(part);
        *input = rest;
        if self.pieces.payload.len() < header.length as usize {
            return Ok(None);
        }
        self.reading = Reading::Header;
        let mut payload = std::mem::take(&mut self.pieces.payload);
        let step = self.handle_frame(&header, &payload);
        payload.clear();
        payload.shrink_to(KEPT_BYTES);
        self.pieces.payload = payload;
        step
    }

    #[inline]
    fn read_data(&mut self, input: &mut &[u8], mut data: Data) -> Result<Option<Event>, Error> {
        if data.padding_follows {
            let Some((&padding, rest)) = input.split_first() else {
                self.reading = Reading::Data(data);
                return Ok(None);
            };
            *input = rest;
            data.padding_follows = false;
            data.left -= 1;
            data.padding = u32::from(padding);
            if data.padding > data.left {
                return Err(Error::Padding);
            }
        }
        let content = ((data.left - data.padding) as usize).min(input.len());
        let (content, rest) = input.split_at(content);
        data.left -= content.len() as u32;
        let padding =
            if data.left == data.padding { rest.len().min(data.left as usize) } else { 0 };
        *input = &rest[padding..];
        data.left -= padding as u32;
        data.padding -= padding as u32;
        let is_last = data.left == 0;
        self.reading = if is_last { Reading::Header } else { Reading::Data(data) };
        self.handle_data(data.stream, content, is_last && data.end_stream)
    }
}

/// What came instead of SETTINGS.
#[cold]
pub(crate) fn no_settings(bytes: &[u8; HEADER_BYTES]) -> Error {
    match bytes {
        [b'H', b'T', b'T', b'P', b'/', b'1', ..] => Error::AnswersInHttp1,
        // An alert or a handshake record, of any version (RFC 8446 5.1).
        [0x15 | 0x16, 0x03, 0x00..=0x04, ..] => Error::AnswersInTls,
        _ => Error::NoSettings,
    }
}
