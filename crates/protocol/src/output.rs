//! Bytes on their way out, in one piece: many messages leave in one write.

/// Written bytes are kept at the front until there are this many, and as much memory is kept.
const MOST_WRITTEN: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    /// How many of them were written.
    written: usize,
    /// How many were written and are gone.
    gone: u64,
}

impl Output {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Output { bytes, ..Output::default() }
    }

    /// What is to be written.
    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Where frames are appended.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The place of the next byte that is appended, counted from the first of the connection.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.gone + self.bytes.len() as u64
    }

    /// `bytes` more were written; how many that makes in all.
    #[inline]
    pub(crate) fn transmitted(&mut self, bytes: usize) -> u64 {
        self.written = (self.written + bytes).min(self.bytes.len());
        let through = self.through();
        if self.written == self.bytes.len() || self.written > MOST_WRITTEN {
            self.gone += self.written as u64;
            self.bytes.drain(..self.written);
            self.written = 0;
            if self.bytes.capacity() > 2 * MOST_WRITTEN && self.bytes.len() < MOST_WRITTEN {
                self.bytes.shrink_to(MOST_WRITTEN);
            }
        }
        through
    }

    /// How many bytes were written in all.
    #[inline]
    pub(crate) fn through(&self) -> u64 {
        self.gone + self.written as u64
    }
}
