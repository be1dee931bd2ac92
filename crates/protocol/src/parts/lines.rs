//! Lines, as of newline-delimited JSON: each that is not empty is an event.
//!
//! LF ends a line, and a CR before it belongs to the end.

use memchr::memchr;

use super::Text;

/// In a line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// A CR came that is part of the line unless an LF follows.
    has_cr: bool,
}

impl Lines {
    /// Takes bytes up to the end of a line. True: it ended, and is an event.
    pub(super) fn read(&mut self, bytes: &mut &[u8], text: &mut Text) -> bool {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        *bytes = end.map_or(&[], |end| &bytes[end + 1..]);
        if !line.is_empty() {
            self.put_cr(text);
        }
        match line.strip_suffix(b"\r") {
            Some(line) => {
                text.push(line);
                self.has_cr = true;
            }
            None => text.push(line),
        }
        if end.is_some() {
            self.has_cr = false;
        }
        end.is_some() && text.bytes > 0
    }

    /// The last line needs no end. True: it is an event.
    pub(super) fn end(&mut self, text: &mut Text) -> bool {
        self.has_cr = false;
        text.bytes > 0
    }

    fn put_cr(&mut self, text: &mut Text) {
        if std::mem::take(&mut self.has_cr) {
            text.push(b"\r");
        }
    }
}
