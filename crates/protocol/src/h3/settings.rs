//! What a session announces, and the bounds on what a server may send.

use candor_plan::{Congestion, Parts, Quic};

use super::frames::{self, kind, setting};
use crate::h2::settings::window;

/// How a session is to behave: the user's choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most requests outstanding at a time, if the server allows as many.
    pub streams: u32,
    /// Each stream's window for the server's data is 2^this − 1 bytes.
    pub stream_window_bits: u8,
    /// The same for the connection.
    pub connection_window_bits: u8,
    /// The table that the server may use for its header fields.
    pub table_bytes: u32,
    /// How the congestion window grows and shrinks.
    pub congestion: Congestion,
    /// The longest datagram that the discovery of the path's MTU may come to.
    pub datagram_bytes: u16,
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
            table_bytes: connections.frames.header_table_bytes,
            congestion: connections.quic.congestion,
            datagram_bytes: connections.quic.datagram_bytes,
            limits: Limits::default(),
        }
    }

    pub(super) fn stream_window(&self) -> u32 {
        window(self.stream_window_bits)
    }

    pub(super) fn connection_window(&self) -> u32 {
        window(self.connection_window_bits)
    }

    /// What our control stream begins with (RFC 9114 6.2.1): its type, and SETTINGS.
    pub(super) fn greeting(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut add = |id: u64, value: u64| {
            if value > 0 {
                frames::write_varint(&mut payload, id);
                frames::write_varint(&mut payload, value);
            }
        };
        add(setting::QPACK_MAX_TABLE_CAPACITY, self.table_bytes.into());
        add(setting::MAX_FIELD_SECTION_SIZE, self.limits.field_section_bytes as u64);
        let blocked = if self.table_bytes > 0 { self.limits.blocked_streams } else { 0 };
        add(setting::QPACK_BLOCKED_STREAMS, blocked as u64);
        let mut out = Vec::new();
        frames::write_varint(&mut out, frames::stream::CONTROL);
        frames::write_header(&mut out, kind::SETTINGS, payload.len());
        out.extend_from_slice(&payload);
        out
    }
}

impl Default for Settings {
    fn default() -> Self {
        let quic = Quic::default();
        Settings {
            streams: 1,
            stream_window_bits: 24,
            connection_window_bits: 24,
            table_bytes: 4096,
            congestion: quic.congestion,
            datagram_bytes: quic.datagram_bytes,
            limits: Limits::default(),
        }
    }
}

/// Bounds on what a server may send, so that no server costs more than a little memory and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A frame other than DATA, as it is sent: above all, a field section.
    pub frame_bytes: usize,
    /// The fields of a section, decoded, by the measure of RFC 9114 4.2.2.
    pub field_section_bytes: usize,
    /// Field sections that wait for inserts into the dynamic table.
    pub blocked_streams: usize,
    /// Interim (1xx) responses to one request.
    pub interim_answers: u32,
    /// Frames and streams that carry nothing, between two that carry something.
    pub idle_frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes: 64 << 10,
            field_section_bytes: 64 << 10,
            blocked_streams: 16,
            interim_answers: 100,
            idle_frames: 10_000,
        }
    }
}
