//! Server-sent events (WHATWG HTML 9.2.5 and 9.2.6).
//!
//! A line ends in CR, LF or CRLF; a comment begins with a colon; an empty line ends an event, and one without data
//! is none. Of the fields, `event` and `data` have a meaning here.

use memchr::memchr2;

use super::Text;

/// The byte order mark that a stream may begin with.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// The longest name of a field that has a meaning here.
const LONGEST_NAME: usize = 5;

/// In a stream.
#[derive(Debug, Default)]
pub(super) struct Sse {
    /// How many bytes of the mark came, and nothing else before them.
    marked: usize,
    is_begun: bool,
    /// The last byte was a CR, whose LF may follow.
    after_cr: bool,
    /// The event has a line of data.
    has_data: bool,
    line: Line,
    name: [u8; LONGEST_NAME],
    name_bytes: usize,
}

/// Where in a line the next byte belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    /// To the name of the field.
    #[default]
    Name,
    /// It is the blank before the value, or the value begins.
    Blank(Field),
    /// To the value.
    Value(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    /// A comment, or a field without a meaning here.
    Other,
}

impl Sse {
    /// Takes bytes up to the end of an event, at most. True: it ended.
    pub(super) fn read(&mut self, bytes: &mut &[u8], text: &mut Text) -> bool {
        if !self.is_begun {
            self.begin(bytes, text);
        }
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = memchr2(b'\r', b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            self.take(piece, text);
            let Some(end) = end else {
                *bytes = &[];
                break;
            };
            self.after_cr = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            if self.end_line(text) {
                return true;
            }
        }
        false
    }

    /// Takes the mark. What begins like it and is none belongs to the first line.
    fn begin(&mut self, bytes: &mut &[u8], text: &mut Text) {
        while let Some((&first, rest)) = bytes.split_first() {
            if first != MARK[self.marked] {
                self.is_begun = true;
                return self.take(&MARK[..self.marked], text);
            }
            *bytes = rest;
            self.marked += 1;
            if self.marked == MARK.len() {
                self.is_begun = true;
                return;
            }
        }
    }

    /// Takes a piece of a line.
    fn take(&mut self, mut piece: &[u8], text: &mut Text) {
        if self.line == Line::Name {
            while let Some((&byte, rest)) = piece.split_first() {
                piece = rest;
                if byte == b':' {
                    self.begin_value(text);
                    self.line = Line::Blank(self.field());
                    break;
                }
                if let Some(place) = self.name.get_mut(self.name_bytes) {
                    *place = byte;
                }
                // Longer names are all the same.
                self.name_bytes = (self.name_bytes + 1).min(LONGEST_NAME + 1);
            }
        }
        if let Line::Blank(field) = self.line
            && let Some(first) = piece.first()
        {
            self.line = Line::Value(field);
            if *first == b' ' {
                piece = &piece[1..];
            }
        }
        match self.line {
            Line::Value(Field::Data) => text.push(piece),
            Line::Value(Field::Event) => text.push_name(piece),
            _ => {}
        }
    }

    fn field(&self) -> Field {
        match self.name.get(..self.name_bytes) {
            Some(b"data") => Field::Data,
            Some(b"event") => Field::Event,
            _ => Field::Other,
        }
    }

    /// The value of a field begins. Lines of data are joined by line ends; the last `event` counts.
    fn begin_value(&mut self, text: &mut Text) {
        match self.field() {
            Field::Data => {
                if std::mem::replace(&mut self.has_data, true) {
                    text.push(b"\n");
                }
            }
            Field::Event => text.name.clear(),
            Field::Other => {}
        }
    }

    /// A line ends. True: with it an event.
    fn end_line(&mut self, text: &mut Text) -> bool {
        let line = std::mem::take(&mut self.line);
        let is_empty = line == Line::Name && self.name_bytes == 0;
        if line == Line::Name && !is_empty {
            // A field without a colon has an empty value.
            self.begin_value(text);
        }
        self.name_bytes = 0;
        if !is_empty {
            return false;
        }
        let is_event = std::mem::take(&mut self.has_data);
        if !is_event {
            text.clear();
        }
        is_event
    }
}
