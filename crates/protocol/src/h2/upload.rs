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
    /// Streams that have something left to send, in the order of their turns.
    turns: VecDeque<u32>,
    /// How much of our data the server takes on the whole connection.
    window: u32,
}

impl Default for Upload {
    fn default() -> Self {
        Upload { turns: VecDeque::new(), window: DEFAULT_WINDOW }
    }
}

impl Upload {
    /// Whether there is anything left to send, now or when a window opens.
    pub(super) fn is_waiting(&self) -> bool {
        !self.turns.is_empty()
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

    fn take_turns(&mut self) {
        let mut without_progress = 0;
        while self.upload.window > 0
            && self.output.pending().len() < ENOUGH
            && without_progress < self.upload.turns.len()
            && let Some(id) = self.upload.turns.pop_front()
        {
            // Streams that ended in the meantime have no body any more.
            let Some(stream) = self.streams.get(id) else { continue };
            let Some(body) = &stream.body else { continue };
            let rest = &body[stream.body_sent..];
            let frame_bytes = self.peer.frame_bytes.min(FRAME_BYTES).min(self.upload.window);
            let most = i64::from(frame_bytes).min(stream.window);
            if most <= 0 {
                without_progress += 1;
                self.upload.turns.push_back(id);
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
            stream.window -= i64::from(length);
            self.upload.window -= length;
            self.idle_frames = 0;
            without_progress = 0;
            if is_last {
                stream.body = None;
            } else {
                self.upload.turns.push_back(id);
            }
        }
    }
}
