//! Lines out of pieces of input: in place where the line is whole, collected where it was cut.
//!
//! Knows nothing of what a line means. Keeps at most one line, and next to nothing between
//! answers, since there may be tens of thousands of idle connections.

use memchr::memchr;

/// Room that is kept between answers. Enough for the chunk lines and the odd header line that a
/// read cuts in two, so that these do not allocate each time.
pub(super) const KEPT_BYTES: usize = 256;

/// The line that a cut left unfinished, if any.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    /// `partial` holds a whole line, which was handed out.
    handed_out: bool,
}

/// What there is of the next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<'a> {
    /// A whole line with its LF.
    Line(&'a [u8]),
    /// Its beginning; all of the input was consumed.
    Partial,
    /// More than the limit, and no LF yet.
    TooLong,
}

impl Lines {
    /// Takes the next line, which with its LF may have `limit` bytes, from the front of `input`.
    #[inline]
    pub(super) fn take<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8], limit: usize) -> Taken<'a> {
        if self.partial.is_empty() {
            let window = &input[..input.len().min(limit)];
            if let Some(at) = memchr(b'\n', window) {
                let (line, rest) = input.split_at(at + 1);
                *input = rest;
                return Taken::Line(line);
            }
        }
        self.collect(input, limit)
    }

    #[cold]
    fn collect<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8], limit: usize) -> Taken<'a> {
        if self.handed_out {
            self.partial.clear();
            self.handed_out = false;
            return self.take(input, limit);
        }
        let room = limit.saturating_sub(self.partial.len());
        let window = &input[..input.len().min(room)];
        let end = memchr(b'\n', window);
        let used = end.map_or(window.len(), |at| at + 1);
        self.partial.extend_from_slice(&window[..used]);
        *input = &input[used..];
        if end.is_some() {
            self.handed_out = true;
            Taken::Line(&self.partial)
        } else if used == room {
            Taken::TooLong
        } else {
            Taken::Partial
        }
    }

    /// What was collected of a line that is not whole yet.
    pub(super) fn partial(&self) -> &[u8] {
        if self.handed_out { &[] } else { &self.partial }
    }

    /// Memory held.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.partial.capacity()
    }

    /// Forgets everything and gives memory back, apart from a little.
    #[inline]
    pub(super) fn release(&mut self) {
        self.handed_out = false;
        self.partial.clear();
        if self.partial.capacity() > KEPT_BYTES {
            self.partial = Vec::new();
        }
    }
}

/// A line without its CRLF or LF.
#[inline]
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_is_taken_in_place() {
        let mut lines = Lines::default();
        let text = b"one\r\ntwo\nthree";
        let mut input = &text[..];
        assert_eq!(lines.take(&mut input, 100), Taken::Line(b"one\r\n"));
        assert_eq!(lines.take(&mut input, 100), Taken::Line(b"two\n"));
        assert_eq!(lines.capacity(), 0);
        assert_eq!(lines.take(&mut input, 100), Taken::Partial);
        assert_eq!(lines.partial(), b"three");
    }

    #[test]
    fn a_cut_line_is_put_together_and_handed_out_once() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(&mut &b"on"[..], 5), Taken::Partial);
        assert_eq!(lines.take(&mut &b"e\r"[..], 5), Taken::Partial);
        let mut input = &b"\ntwo\n"[..];
        assert_eq!(lines.take(&mut input, 5), Taken::Line(b"one\r\n"));
        assert_eq!(lines.partial(), b"");
        assert_eq!(lines.take(&mut input, 5), Taken::Line(b"two\n"));
        assert_eq!(lines.take(&mut input, 5), Taken::Partial);
    }

    #[test]
    fn the_limit_counts_the_line_end_whatever_the_cut() {
        for cut in 0..=4 {
            let mut lines = Lines::default();
            let (first, second) = b"one\n".split_at(cut);
            if cut < 4 {
                assert_eq!(lines.take(&mut &first[..], 4), Taken::Partial);
                assert_eq!(lines.take(&mut &second[..], 4), Taken::Line(b"one\n"));
            }
            let mut lines = Lines::default();
            let (first, second) = b"four\n".split_at(cut);
            let mut last = lines.take(&mut &first[..], 4) == Taken::TooLong;
            last |= lines.take(&mut &second[..], 4) == Taken::TooLong;
            assert!(last, "cut at {cut}");
        }
    }

    #[test]
    fn little_memory_is_kept() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(&mut &[b'x'; 10_000][..], 16_384), Taken::Partial);
        lines.release();
        assert_eq!(lines.capacity(), 0);
        assert_eq!(lines.take(&mut &[b'x'; 100][..], 16_384), Taken::Partial);
        lines.release();
        assert!(lines.capacity() <= KEPT_BYTES);
    }
}
