//! The streams that go one way: settings, GOAWAY, and the instructions of QPACK, theirs and ours (RFC 9114 6.2, RFC 9204
//! 4.2).

use bytes::Bytes;

use super::error::{Error, code};
use super::frames::{self, Frames, Piece, kind, setting, stream};
use super::quic::Read;
use super::session::Session;
use crate::packing::integer;
use crate::session::{Event, GoAway};

/// A stream of the server's.
#[derive(Debug)]
pub(super) enum OneWay {
    /// Its type has not come, or in part.
    New(Vec<u8>),
    /// Settings have come, or not yet.
    Control(Box<Frames>, bool),
    Encoder,
    /// Bytes that have come of an instruction that is not whole.
    Decoder(usize),
}

/// Which of the streams of which there is one each the server has opened.
#[derive(Debug, Default)]
pub(super) struct Opened {
    control: bool,
    encoder: bool,
    decoder: bool,
}

impl Session {
    /// Opens our control stream, and says what we announce.
    pub(super) fn greet(&mut self) -> Result<(), Error> {
        let closed = || Error::Quic("it allows no stream for our settings".into());
        let control = self.quic.open_one_way().ok_or_else(closed)?;
        let greeting = self.settings.greeting();
        if !self.quic.write(control, &mut [Bytes::from(greeting)]) {
            return Err(Error::Quic("it allows no bytes for our settings".into()));
        }
        Ok(())
    }

    /// Reads what came on streams that the server has opened.
    pub(super) fn accept(&mut self) -> Result<(), Error> {
        while let Some(id) = self.quic.accept() {
            self.one_way.insert(id, OneWay::New(Vec::new()));
            self.read_one_way(id)?;
        }
        Ok(())
    }

    pub(super) fn read_one_way(&mut self, id: u64) -> Result<(), Error> {
        loop {
            let Some(mut state) = self.one_way.remove(&id) else { return Ok(()) };
            match self.quic.read(id) {
                Read::Bytes(bytes) => {
                    let mut input = &bytes[..];
                    if let OneWay::New(before) = &mut state {
                        before.extend_from_slice(input);
                        let known = std::mem::take(before);
                        let mut rest = &known[..];
                        let Some(kind) = frames::varint(&mut rest) else {
                            self.one_way.insert(id, OneWay::New(known));
                            continue;
                        };
                        input = &bytes[bytes.len() - rest.len()..];
                        match self.begin_one_way(id, kind)? {
                            Some(begun) => state = begun,
                            None => return Ok(()),
                        }
                    }
                    self.take_one_way(&mut state, input)?;
                    self.one_way.insert(id, state);
                }
                Read::Nothing => {
                    self.one_way.insert(id, state);
                    return Ok(());
                }
                Read::End | Read::Reset(_) => {
                    return match state {
                        OneWay::New(_) => self.count_idle(),
                        _ => Err(Error::ClosedCritical),
                    };
                }
            }
        }
    }

    /// A stream's type has come; `None`: it is of no use.
    fn begin_one_way(&mut self, id: u64, kind: u64) -> Result<Option<OneWay>, Error> {
        let opened = &mut self.opened;
        let (is_second, state) = match kind {
            stream::CONTROL => (
                std::mem::replace(&mut opened.control, true),
                OneWay::Control(Box::default(), false),
            ),
            stream::ENCODER => (std::mem::replace(&mut opened.encoder, true), OneWay::Encoder),
            stream::DECODER => (std::mem::replace(&mut opened.decoder, true), OneWay::Decoder(0)),
            stream::PUSH => return Err(Error::Id),
            _ => {
                self.quic.stop(id, code::STREAM_CREATION_ERROR);
                return self.count_idle().map(|()| None);
            }
        };
        if is_second { Err(Error::StreamCreation) } else { Ok(Some(state)) }
    }

    fn take_one_way(&mut self, state: &mut OneWay, mut input: &[u8]) -> Result<(), Error> {
        match state {
            OneWay::New(_) => Ok(()),
            OneWay::Control(frames, has_settings) => {
                let most = self.settings.limits.frame_bytes;
                while let Some(piece) = frames.next(&mut input, most)? {
                    self.take_control(piece, has_settings)?;
                }
                Ok(())
            }
            OneWay::Encoder => {
                self.decoder.handle_instructions(input)?;
                self.retry_sections()
            }
            // Nothing of ours refers to a table, so that there is nothing to acknowledge; a stream that we gave up may be
            // (RFC 9204 4.4).
            OneWay::Decoder(part) => {
                for &byte in input {
                    let (is_valid, is_whole) = match *part {
                        0 => (byte & 0xc0 == 0x40, byte & 0x3f != 0x3f),
                        behind => (behind <= MOST_ID_BYTES, byte & 0x80 == 0),
                    };
                    if !is_valid {
                        return Err(Error::DecoderStream);
                    }
                    if is_whole {
                        self.count_idle()?;
                    }
                    *part = if is_whole { 0 } else { *part + 1 };
                }
                Ok(())
            }
        }
    }

    /// RFC 9114 7.2.
    fn take_control(&mut self, piece: Piece<'_>, has_settings: &mut bool) -> Result<(), Error> {
        let Piece::Frame(kind, payload) = piece else {
            return match piece {
                _ if !*has_settings => Err(Error::NoSettings),
                Piece::Unknown => self.count_idle(),
                _ => Err(Error::FrameUnexpected),
            };
        };
        match (kind, *has_settings) {
            (kind::SETTINGS, false) => {
                *has_settings = true;
                let enables_connect = check_settings(&payload)?;
                if let Some(tunnel) = &mut self.tunnel {
                    tunnel.is_allowed = Some(enables_connect);
                }
                Ok(())
            }
            (_, false) => Err(Error::NoSettings),
            (kind::GOAWAY, true) => self.go_away(&payload),
            // There is no push that could be cancelled.
            (kind::CANCEL_PUSH, true) => Err(Error::Id),
            _ => Err(Error::FrameUnexpected),
        }
    }

    /// RFC 9114 5.2.
    fn go_away(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut rest = payload;
        let id = frames::varint(&mut rest).filter(|_| rest.is_empty()).ok_or(Error::FrameSize)?;
        let is_of_requests = id.is_multiple_of(4);
        if !is_of_requests || self.gone_from.is_some_and(|before| id > before) {
            return Err(Error::Id);
        }
        self.count_idle()?;
        self.gone_from = Some(id);
        self.closing = true;
        // It has no code of its own.
        let last_stream = u32::try_from(id.saturating_sub(4)).unwrap_or(u32::MAX);
        self.news.push_back(Event::GoAway(GoAway { code: 0, last_stream }));
        self.refuse_gone(id);
        Ok(())
    }

    /// Adds to what the server's encoder is told: the count of inserts that came.
    pub(super) fn tell_inserts(&mut self) {
        let inserts = self.decoder.take_untold();
        if inserts > 0 {
            self.tell(0x00, 6, inserts);
        }
        if self.words.is_empty() {
            return;
        }
        let id = match self.words_stream {
            Some(id) => id,
            None => {
                let Some(id) = self.quic.open_one_way() else { return };
                self.words.insert(0, stream::DECODER as u8);
                *self.words_stream.insert(id)
            }
        };
        let mut words = [Bytes::from(std::mem::take(&mut self.words))];
        if !self.quic.write(id, &mut words) {
            self.words = words[0].to_vec();
        }
    }

    /// Adds an instruction (RFC 9204 4.4).
    pub(super) fn tell(&mut self, pattern: u8, prefix: u32, value: u64) {
        // What a server does not read of it is not kept for long.
        if self.words.len() < MOST_WORDS {
            integer::write(&mut self.words, pattern, prefix, value);
        }
    }
}

/// The longest that a stream's id is behind the first byte of an instruction: 62 bits, seven a byte (RFC 9204 4.1.1).
const MOST_ID_BYTES: usize = 9;
/// Instructions that a server may make us keep for it.
const MOST_WORDS: usize = 64 << 10;

/// Refuses settings that must not be (RFC 9114 7.2.4). Whether they enable extended CONNECT; what the others say does not
/// matter here.
fn check_settings(payload: &[u8]) -> Result<bool, Error> {
    let (mut seen, mut enables_connect) = (Vec::new(), false);
    for one in frames::settings(payload) {
        let (id, value) = one?;
        enables_connect |= (id, value) == (setting::ENABLE_CONNECT_PROTOCOL, 1);
        // Beyond that, one twice is not worth its search.
        if setting::is_of_h2(id) || seen.contains(&id) {
            return Err(Error::Settings);
        }
        if seen.len() < MOST_SETTINGS {
            seen.push(id);
        }
    }
    Ok(enables_connect)
}

/// Settings that are looked at for one that comes twice.
const MOST_SETTINGS: usize = 64;
