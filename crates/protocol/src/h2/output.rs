//! Bytes on their way out, in one piece: the frames of many requests leave in one write.

use std::collections::VecDeque;

use super::frame::{self, kind};
use crate::output;
use crate::session::RequestId;

#[derive(Debug, Default)]
pub(super) struct Output {
    frames: output::Output,
    /// Where requests begin, oldest first.
    begins: VecDeque<Begin>,
    /// The highest stream that the server can know of.
    sent_through: u32,
}

#[derive(Debug, Clone, Copy)]
struct Begin {
    at: u64,
    stream: u32,
    /// `None`: it was taken back.
    id: Option<RequestId>,
}

impl Output {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Output { frames: output::Output::new(bytes), ..Output::default() }
    }

    /// What is to be written.
    #[inline]
    pub(super) fn pending(&self) -> &[u8] {
        self.frames.pending()
    }

    /// Where frames are appended.
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        self.frames.bytes()
    }

    /// The next byte appended is the first of this request.
    #[inline]
    pub(super) fn begin(&mut self, stream: u32, id: RequestId) {
        self.begins.push_back(Begin { at: self.frames.end(), stream, id: Some(id) });
    }

    /// A request was taken back: its sending time is no longer wanted.
    pub(super) fn forget(&mut self, stream: u32) {
        if let Ok(index) = self.begins.binary_search_by_key(&stream, |begin| begin.stream) {
            self.begins[index].id = None;
        }
    }

    /// A request went out by another way, before all that is written here.
    pub(super) fn was_sent(&mut self, stream: u32) {
        self.sent_through = stream;
    }

    #[inline]
    pub(super) fn sent_through(&self) -> u32 {
        self.sent_through
    }

    /// `bytes` more were written; calls `started` for each request that began among them.
    #[inline]
    pub(super) fn transmitted(&mut self, bytes: usize, started: &mut dyn FnMut(RequestId)) {
        let through = self.frames.transmitted(bytes);
        while let Some(begin) = self.begins.front()
            && begin.at < through
        {
            self.sent_through = begin.stream;
            if let Some(id) = begin.id {
                started(id);
            }
            self.begins.pop_front();
        }
    }

    pub(super) fn rst_stream(&mut self, stream: u32, code: u32) {
        frame::write(self.bytes(), kind::RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    pub(super) fn window_update(&mut self, stream: u32, bytes: u32) {
        frame::write(self.bytes(), kind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    }

    /// We never accepted a stream of the server's, so the last of them is 0.
    pub(super) fn goaway(&mut self, code: u32) {
        let mut payload = [0; 8];
        payload[4..].copy_from_slice(&code.to_be_bytes());
        frame::write(self.bytes(), kind::GOAWAY, 0, 0, &payload);
    }
}
