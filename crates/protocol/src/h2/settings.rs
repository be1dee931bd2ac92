//! What the two sides tell each other about themselves (RFC 9113 6.5).

use candor_plan::Parts;

use super::error::Error;
use super::frame::{self, MAX_31, kind};
use super::hpack::{DEFAULT_TABLE_BYTES, Encoder};

/// The window that everybody has before any setting (RFC 9113 6.9.2).
pub(crate) const DEFAULT_WINDOW: u32 = 65_535;

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// How a session is to behave: the user's choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most requests outstanding at a time, if the server allows as many; from 1 to 65,536.
    pub streams: u32,
    /// Each stream's window for the server's data is 2^this − 1 bytes; up to 31. h2load's `-w`.
    pub stream_window_bits: u8,
    /// The same for the connection, where it has no effect below 16. h2load's `-W`.
    pub connection_window_bits: u8,
    /// The largest frame that is taken; from 2^14 to 2^24 − 1.
    pub max_frame_bytes: u32,
    /// The table that the server may use for its header fields.
    pub header_table_bytes: u32,
    /// The table that we use for ours, if the server allows as much; no more than the default.
    pub encoder_table_bytes: u32,
    /// The highest stream that is opened; then the connection is over and a new one is needed.
    pub last_stream: u32,
    /// Bounds on what a server may send.
    pub limits: Limits,
}

impl Settings {
    /// Of a plan.
    pub(crate) fn of(plan: &Parts) -> Self {
        let connections = &plan.connections;
        Settings {
            streams: connections.streams,
            stream_window_bits: connections.windows.stream_bits,
            connection_window_bits: connections.windows.connection_bits,
            max_frame_bytes: connections.frames.max_bytes,
            header_table_bytes: connections.frames.header_table_bytes,
            encoder_table_bytes: connections.frames.encoder_table_bytes,
            ..Settings::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            streams: 1,
            stream_window_bits: 30,
            connection_window_bits: 30,
            max_frame_bytes: DEFAULT_FRAME_BYTES,
            header_table_bytes: DEFAULT_TABLE_BYTES,
            encoder_table_bytes: DEFAULT_TABLE_BYTES,
            last_stream: MAX_31,
            limits: Limits::default(),
        }
    }
}

/// Bounds on what a server may send, so that no server costs more than a little memory and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A header block as it is sent.
    pub header_block_bytes: usize,
    /// CONTINUATION frames of one header block.
    pub continuations: u32,
    /// The fields of a header block, decoded, by the measure of RFC 9113 6.5.2.
    pub header_list_bytes: usize,
    /// Interim (1xx) responses to one request.
    pub interim_answers: u32,
    /// Frames that carry nothing (PING, SETTINGS, PRIORITY, empty DATA, frames of unknown types,
    /// frames on streams that have ended, WINDOW_UPDATE) between two that carry something. A setting for
    /// which streams have to be looked at counts as one more for every 64 of them.
    pub idle_frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_block_bytes: 64 << 10,
            continuations: 256,
            header_list_bytes: 64 << 10,
            interim_answers: 100,
            idle_frames: 10_000,
        }
    }
}

impl Settings {
    /// The window of each stream for the server's data.
    #[inline]
    pub(crate) fn stream_window(&self) -> u32 {
        window(self.stream_window_bits)
    }

    /// The connection's window for the server's data; it can only be opened further than the
    /// default.
    #[inline]
    pub(crate) fn connection_window(&self) -> u32 {
        window(self.connection_window_bits).max(DEFAULT_WINDOW)
    }

    /// What every connection begins with: preface, SETTINGS, and the connection's window.
    pub(crate) fn greeting(&self) -> Vec<u8> {
        let mut out = frame::PREFACE.to_vec();
        frame::write(&mut out, kind::SETTINGS, 0, 0, &self.payload());
        let more = self.connection_window() - DEFAULT_WINDOW;
        if more > 0 {
            frame::write(&mut out, kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        }
        out
    }

    /// The value of an HTTP2-Settings field, for a request that asks for an upgrade (RFC 7540
    /// 3.2.1): our SETTINGS in base64url without padding.
    pub fn http2_settings(&self) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut text = String::new();
        // Each setting is six bytes, so there is no rest.
        for group in self.payload().chunks_exact(3) {
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            for shift in [18, 12, 6, 0] {
                let index = bits >> shift & 0x3f;
                text.push(char::from(ALPHABET[index as usize]));
            }
        }
        text
    }

    /// The payload of our SETTINGS frame; what is the default anyway is left out.
    fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut add = |id: u16, value: u32, default: Option<u32>| {
            if default != Some(value) {
                payload.extend_from_slice(&id.to_be_bytes());
                payload.extend_from_slice(&value.to_be_bytes());
            }
        };
        add(HEADER_TABLE_SIZE, self.header_table_bytes, Some(DEFAULT_TABLE_BYTES));
        add(ENABLE_PUSH, 0, None);
        add(INITIAL_WINDOW_SIZE, self.stream_window(), Some(DEFAULT_WINDOW));
        add(MAX_FRAME_SIZE, self.max_frame_bytes, Some(DEFAULT_FRAME_BYTES));
        let header_list_bytes = u32::try_from(self.limits.header_list_bytes).unwrap_or(u32::MAX);
        add(MAX_HEADER_LIST_SIZE, header_list_bytes, None);
        payload
    }
}

/// 2^bits − 1 bytes, of HTTP/3 too.
pub(crate) fn window(bits: u8) -> u32 {
    MAX_31 >> (31 - bits.clamp(1, 31))
}

const DEFAULT_FRAME_BYTES: u32 = 16_384;

/// What the server said about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The most streams that may be open at a time.
    pub(crate) max_streams: u32,
    /// Each stream's window for our data at its beginning.
    pub(crate) window: u32,
    /// The largest frame it takes.
    pub(crate) frame_bytes: u32,
}

impl Default for Peer {
    fn default() -> Self {
        Peer { max_streams: u32::MAX, window: DEFAULT_WINDOW, frame_bytes: DEFAULT_FRAME_BYTES }
    }
}

impl Peer {
    /// Takes the payload of a SETTINGS frame, entry by entry (RFC 9113 6.5.3).
    pub(crate) fn update(&mut self, payload: &[u8], encoder: &mut Encoder) -> Result<(), Error> {
        for entry in payload.chunks_exact(6) {
            let id = u16::from_be_bytes([entry[0], entry[1]]);
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            match id {
                HEADER_TABLE_SIZE => encoder.set_limit(value),
                // A server has no business with it, but 0 is harmless (RFC 9113 6.5.2).
                ENABLE_PUSH if value != 0 => return Err(Error::SettingValue),
                MAX_CONCURRENT_STREAMS => self.max_streams = value,
                INITIAL_WINDOW_SIZE if value > MAX_31 => return Err(Error::SettingWindow),
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE if !(DEFAULT_FRAME_BYTES..1 << 24).contains(&value) => {
                    return Err(Error::SettingValue);
                }
                MAX_FRAME_SIZE => self.frame_bytes = value,
                _ => {}
            }
        }
        Ok(())
    }
}
