//! From pieces of input to messages and control frames (RFC 6455 5), whatever the pieces.
//!
//! Payload of messages is passed on as it comes, and nothing of it is kept; of a header and of a control frame at
//! most 125 bytes are. What they mean is decided in [`conversation`](super::conversation).

use super::frame::{self, Header, MOST_CONTROL_BYTES, MOST_HEADER_BYTES, opcode};
use super::{Error, Limits};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A message begins.
    Begin { is_text: bool, deflated: bool },
    /// The next bytes of its payload.
    Payload(&'a [u8]),
    /// It is complete.
    End,
    /// A control frame, whole; its payload is [`Reader::control`].
    Control { opcode: u8 },
}

#[derive(Debug)]
pub(super) struct Reader {
    /// permessage-deflate was negotiated.
    deflates: bool,
    most_message_bytes: u64,
    reading: Reading,
    header: [u8; MOST_HEADER_BYTES],
    /// Bytes of a header that have come.
    have: usize,
    control: [u8; MOST_CONTROL_BYTES],
    /// Bytes of a control frame's payload that have come.
    control_have: usize,
    /// Payload of the message that has begun and not ended; `None`: there is none.
    message_bytes: Option<u64>,
    most_idle_frames: u32,
    /// Frames that carry nothing, in this second.
    idle_frames: u32,
}

#[derive(Debug, Clone, Copy)]
enum Reading {
    Header,
    /// The payload of a frame of a message.
    Payload {
        left: u64,
        fin: bool,
    },
    Control {
        length: usize,
        opcode: u8,
    },
}

impl Reader {
    pub(super) fn new(deflates: bool, limits: &Limits) -> Self {
        Reader {
            deflates,
            most_message_bytes: limits.message_bytes,
            most_idle_frames: limits.idle_frames,
            reading: Reading::Header,
            header: [0; MOST_HEADER_BYTES],
            have: 0,
            control: [0; MOST_CONTROL_BYTES],
            control_have: 0,
            message_bytes: None,
            idle_frames: 0,
        }
    }

    /// The payload of the control frame that was read last.
    pub(super) fn control(&self) -> &[u8] {
        &self.control[..self.control_have]
    }

    /// Another second begins, for [`Limits::idle_frames`].
    pub(super) fn begin_second(&mut self) {
        self.idle_frames = 0;
    }

    /// Counts a frame that carries nothing.
    fn count_idle(&mut self) -> Result<(), Error> {
        self.idle_frames += 1;
        if self.idle_frames > self.most_idle_frames { Err(Error::Flood) } else { Ok(()) }
    }

    /// Reads on. `None`: all of the input is consumed.
    #[inline]
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Token<'a>>, Error> {
        loop {
            match self.reading {
                Reading::Header => {
                    let Some(header) = self.read_header(input)? else { return Ok(None) };
                    if let Some(token) = self.begin_frame(header)? {
                        return Ok(Some(token));
                    }
                }
                Reading::Payload { left: 0, fin } => {
                    self.reading = Reading::Header;
                    if fin {
                        self.message_bytes = None;
                        return Ok(Some(Token::End));
                    }
                }
                Reading::Payload { left, fin } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (payload, rest) = input.split_at(taken);
                    *input = rest;
                    self.reading = Reading::Payload { left: left - taken as u64, fin };
                    return Ok(Some(Token::Payload(payload)));
                }
                Reading::Control { length, opcode } => {
                    let taken = (length - self.control_have).min(input.len());
                    let (payload, rest) = input.split_at(taken);
                    *input = rest;
                    self.control[self.control_have..self.control_have + taken]
                        .copy_from_slice(payload);
                    self.control_have += taken;
                    if self.control_have < length {
                        return Ok(None);
                    }
                    self.reading = Reading::Header;
                    return Ok(Some(Token::Control { opcode }));
                }
            }
        }
    }

    /// A whole header; `None`: its end has not come.
    #[inline]
    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Error> {
        if let (0, &[first, second, ..]) = (self.have, *input) {
            let length = frame::header_bytes(first, second, self.deflates)?;
            if let Some((header, rest)) = input.split_at_checked(length) {
                *input = rest;
                return Header::read(header).map(Some);
            }
        }
        self.collect_header(input)
    }

    /// The same, of a header that is cut.
    #[cold]
    fn collect_header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Error> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.header[self.have] = byte;
            self.have += 1;
            if self.have < 2 {
                continue;
            }
            if self.have == frame::header_bytes(self.header[0], self.header[1], self.deflates)? {
                return Header::read(&self.header[..std::mem::take(&mut self.have)]).map(Some);
            }
        }
        Ok(None)
    }

    #[inline]
    fn begin_frame<'a>(&mut self, header: Header) -> Result<Option<Token<'a>>, Error> {
        let Header { fin, deflated, opcode, length } = header;
        if matches!(opcode, opcode::CLOSE..) {
            self.count_idle()?;
            self.control_have = 0;
            // Longer ones were refused.
            self.reading = Reading::Control { length: length as usize, opcode };
            return Ok(None);
        }
        let is_continuation = opcode == opcode::CONTINUATION;
        let before = match self.message_bytes {
            None if is_continuation => return Err(Error::Continuation),
            Some(_) if !is_continuation => return Err(Error::Interleaved),
            before => before.unwrap_or(0),
        };
        if length == 0 && !fin {
            self.count_idle()?;
        }
        let message_bytes = before.saturating_add(length);
        if message_bytes > self.most_message_bytes {
            return Err(Error::MessageTooLarge);
        }
        self.message_bytes = Some(message_bytes);
        self.reading = Reading::Payload { left: length, fin };
        let is_text = opcode == opcode::TEXT;
        Ok((!is_continuation).then_some(Token::Begin { is_text, deflated }))
    }
}
