//! Request bodies, as far as the server's windows allow (RFC 9113 5.2 and 6.9).
//!
//! Streams take turns, one frame each. No more is put into the buffer than one write can take, so
//! that a large body does not stand there twice.

use std::collections::VecDeque;

use super::frame::{Header, MAX_31, flag, kind};
use super::settings::DEFAULT_WINDOW;
use super::{Error, Session};

/// The largest frame that is made, whatever the server would take: others want their turn.
const FRAME_BYTES: u32 = 16_384;

/// When so much waits to be written, bodies wait too.
const ENOUGH: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Upload {
    /// Streams that have something left to send and a window for it, in the order of their turns.
    turns: VecDeque<u32>,
    /// Streams that wait for their window; no more than that many.
    pub(super) starved: u32,
    /// How much of our data the server takes on the whole connection.
    window: u32,
}

impl Default for Upload {
    fn default() -> Self {
        Upload { turns: VecDeque::new(), starved: 0, window: DEFAULT_WINDOW }
    }
}

impl Upload {
    /// Whether there is anything left to send, now or when the connection's window opens.
    pub(super) fn is_waiting(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The window of a starved stream was opened.
    pub(super) fn feed(&mut self, stream: u32) {
        self.starved -= 1;
        self.turns.push_back(stream);
    }

    pub(super) fn add(&mut self, stream: u32) {
        self.turns.push_back(stream);
    }

    /// The server opened the connection's window.
    pub(super) fn open_window(&mut self, by: u32) -> Result<(), Error> {
        match self.window.checked_add(by) {
            Some(window) if window <= MAX_31 => self.window = window,
            _ => return Err(Error::WindowOverflow),
        }
        Ok(())
    }
}

impl Session {
    /// Appends frames of bodies while there is room for them.
    #[inline]
    pub(super) fn write_bodies(&mut self) {
        if !self.upload.turns.is_empty() {
            self.take_turns();
        }
    }

    /// The server's setting opened every stream's window.
    pub(super) fn open_windows(&mut self, window: i64) -> Result<(), Error> {
        self.upload.starved = 0;
        let mut most_credit = 0;
        for stream in self.streams.iter_mut() {
            most_credit = most_credit.max(stream.credit);
            if window + stream.credit > i64::from(MAX_31) {
                return Err(Error::SettingWindow);
            }
            if stream.is_starved && window + stream.credit > 0 {
                stream.is_starved = false;
                self.upload.turns.push_back(stream.id);
            }
            self.upload.starved += u32::from(stream.is_starved);
        }
        self.streams.most_credit = most_credit;
        Ok(())
    }

    fn take_turns(&mut self) {
        while self.upload.window > 0
            && self.output.pending().len() < ENOUGH
            && let Some(id) = self.upload.turns.pop_front()
        {
            // Streams that ended in the meantime have no body any more.
            let Some(stream) = self.streams.get(id) else { continue };
            let Some(body) = &stream.body else { continue };
            let rest = &body[stream.body_sent..];
            let frame_bytes = self.peer.frame_bytes.min(FRAME_BYTES).min(self.upload.window);
            let window = i64::from(self.peer.window) + stream.credit;
            let most = i64::from(frame_bytes).min(window);
            if most <= 0 {
                stream.is_starved = true;
                self.upload.starved += 1;
                continue;
            }
            let part = &rest[..rest.len().min(most as usize)];
            let is_last = part.len() == rest.len();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            let length = part.len() as u32;
            let header = Header { length, kind: kind::DATA, flags, stream: id };
            let out = self.output.bytes();
            out.extend_from_slice(&header.to_bytes());
            out.extend_from_slice(part);
            stream.body_sent += part.len();
            stream.credit -= i64::from(length);
            self.upload.window -= length;
            self.idle_frames = 0;
            if is_last {
                stream.body = None;
            } else {
                self.upload.turns.push_back(id);
            }
        }
    }
}
