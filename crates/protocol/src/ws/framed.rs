//! Payload of a conversation that stands in DATA frames and was not written yet.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Framed {
    /// Where pieces of it begin in the stream that carries the frames, and their lengths.
    pieces: VecDeque<(u64, usize)>,
    bytes: usize,
}

impl Framed {
    /// How many bytes there are.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A piece of this length begins here.
    pub(super) fn add(&mut self, begin: u64, length: usize) {
        self.pieces.push_back((begin, length));
        self.bytes += length;
    }

    /// The stream was written up to here: how many bytes of payload were among that.
    pub(super) fn written(&mut self, through: u64) -> usize {
        let mut written = 0;
        while let Some((begin, length)) = self.pieces.front_mut()
            && *begin < through
        {
            let part = usize::try_from(through - *begin).unwrap_or(usize::MAX).min(*length);
            written += part;
            (*begin, *length) = (*begin + part as u64, *length - part);
            if *length > 0 {
                break;
            }
            self.pieces.pop_front();
        }
        self.bytes -= written;
        written
    }
}
