//! Lines out of pieces of input: in place where the line is whole, collected where it was cut.
//!
//! Knows nothing of what a line means, but that a field's may be folded (RFC 9112 5.2). Keeps at most one line, and next to nothing between
//! answers, since there may be tens of thousands of idle connections.

use memchr::memchr;

/// Room that is kept between responses. Enough for the chunk lines and the odd header line that a
/// read cuts in two, so that these do not allocate each time.
pub(super) const KEPT_BYTES: usize = 256;

/// The line that a cut left unfinished, if any.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    /// `partial` holds a whole line, which was handed out.
    handed_out: bool,
    /// `partial` goes on after a fold.
    folded: bool,
}

/// What there is of the next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<'a> {
    /// A whole line with its LF.
    Line(&'a [u8]),
    /// The same of a field that came folded over several lines.
    Folded(&'a [u8]),
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
            self.forget();
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

    /// Takes the next field line, or the empty line that ends the fields, as [`Lines::take`] does.
    ///
    /// Lines that are folded come as one, with a blank in the place of each byte of the line ends
    /// within (RFC 9112 5.2), so no other code knows of folds, and lengths stay those of the input.
    /// Only the byte after a line says whether it goes on.
    #[inline]
    pub(super) fn take_field<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        limit: usize,
    ) -> Taken<'a> {
        if self.partial.is_empty() {
            let window = &input[..input.len().min(limit)];
            if let Some(at) = memchr(b'\n', window) {
                let (line, rest) = input.split_at(at + 1);
                if ends_fields(line) || rest.first().is_some_and(|next| !begins_fold(next)) {
                    *input = rest;
                    return Taken::Line(line);
                }
            }
        }
        self.collect_field(input, limit)
    }

    #[cold]
    fn collect_field<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8], limit: usize) -> Taken<'a> {
        if self.handed_out {
            self.forget();
            return self.take_field(input, limit);
        }
        loop {
            if self.partial.ends_with(b"\n") {
                match input.first() {
                    None => return Taken::Partial,
                    Some(next) if begins_fold(next) => {
                        blank_line_end(&mut self.partial);
                        self.folded = true;
                    }
                    Some(_) => break,
                }
            }
            let room = limit.saturating_sub(self.partial.len());
            let window = &input[..input.len().min(room)];
            let end = memchr(b'\n', window);
            let used = end.map_or(window.len(), |at| at + 1);
            self.partial.extend_from_slice(&window[..used]);
            *input = &input[used..];
            match end {
                Some(_) if ends_fields(&self.partial) => break,
                Some(_) => {}
                None if used == room => return Taken::TooLong,
                None => return Taken::Partial,
            }
        }
        self.handed_out = true;
        match self.folded {
            true => Taken::Folded(&self.partial),
            false => Taken::Line(&self.partial),
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
        self.forget();
        if self.partial.capacity() > KEPT_BYTES {
            self.partial = Vec::new();
        }
    }

    #[inline]
    fn forget(&mut self) {
        self.handed_out = false;
        self.folded = false;
        self.partial.clear();
    }
}

/// Whether a line, with its end, is the empty one behind the last field.
#[inline]
fn ends_fields(line: &[u8]) -> bool {
    matches!(line, b"\r\n" | b"\n")
}

/// Whether a line that begins so goes on with the field before.
#[inline]
fn begins_fold(first: &u8) -> bool {
    matches!(first, b' ' | b'\t')
}

/// Puts blanks in the place of the line end that `line` ends in.
fn blank_line_end(line: &mut [u8]) {
    let end = without_end(line).len();
    line[end..].fill(b' ');
}

/// Puts blanks in the place of the line ends within fields that are folded.
#[cold]
pub(super) fn unfold(block: &mut [u8]) {
    for at in 1..block.len() {
        if block[at - 1] == b'\n' && begins_fold(&block[at]) {
            blank_line_end(&mut block[..at]);
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
    fn a_folded_field_is_one_line_of_the_same_length_9112_5_2() {
        for (text, field) in [
            ("a: b\r\n c\r\nd", "a: b   c\r\n"),
            ("a: b\n\tc\n\n", "a: b \tc\n"),
            ("a:\r\n \r\n\t\r\n b\r\n\r\n", "a:     \t   b\r\n"),
            ("a: b\r\r\n c\r\n\r\n", "a: b\r   c\r\n"),
        ] {
            for step in [1, 3, text.len()] {
                let mut lines = Lines::default();
                let mut pieces = text.as_bytes().chunks(step);
                let taken = loop {
                    let mut piece = pieces.next().unwrap();
                    match lines.take_field(&mut piece, 100) {
                        Taken::Partial => assert!(piece.is_empty()),
                        taken => break taken,
                    }
                };
                assert_eq!(taken, Taken::Folded(field.as_bytes()), "{text:?} by {step}");
            }
            let mut block = text.as_bytes().to_vec();
            unfold(&mut block);
            assert!(block.starts_with(field.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn whether_a_field_goes_on_is_known_by_the_next_byte() {
        let mut lines = Lines::default();
        assert_eq!(lines.take_field(&mut &b"a: b\r\n"[..], 100), Taken::Partial);
        assert_eq!(lines.take_field(&mut &b"c"[..], 100), Taken::Line(b"a: b\r\n"));
        assert_eq!(lines.take_field(&mut &b"c\n"[..], 2), Taken::Partial);
        assert_eq!(lines.take_field(&mut &b" "[..], 2), Taken::TooLong, "folds count");
        lines.release();
        assert_eq!(lines.take_field(&mut &b"\r\n"[..], 100), Taken::Line(b"\r\n"));
        assert_eq!(lines.take_field(&mut &b"\n x"[..], 100), Taken::Line(b"\n"));
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
