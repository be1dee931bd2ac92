//! Server-sent events (WHATWG HTML 9.2.5 and 9.2.6).
//!
//! A line ends in CR, LF or CRLF; a comment begins with a colon; an empty line ends an event, and one without data
//! is none. Of the fields, `event` and `data` have a meaning here, and `id` and `retry` where a user goes on with the
//! stream ([`Marks`]).

use memchr::{memchr, memchr2};

use super::Text;
use crate::capture::Resume;

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
    /// Where `id` and `retry` are read.
    marks: Option<Box<Marks>>,
}

/// The longest id or time that is read, in bytes: longer ones are passed over.
const LONGEST_MARK: usize = 1024;

/// What a stream says about the request that goes on with it.
#[derive(Debug, Default)]
struct Marks {
    /// The value of the present line, if it is an id or a time.
    value: Vec<u8>,
    is_too_long: bool,
    /// The id of the event that has begun, or of one before it.
    id: Option<Vec<u8>>,
    /// That of the last event that ended, and the time, unless they were taken.
    ended: Resume,
}

impl Marks {
    fn begin(&mut self) {
        self.value.clear();
        self.is_too_long = false;
    }

    fn push(&mut self, piece: &[u8]) {
        self.is_too_long |= self.value.len() + piece.len() > LONGEST_MARK;
        if !self.is_too_long {
            self.value.extend_from_slice(piece);
        }
    }

    /// A line with an id ends: one with a NUL is passed over.
    fn end_id(&mut self) {
        if !self.is_too_long && memchr(0, &self.value).is_none() {
            self.id.get_or_insert_default().clone_from(&self.value);
        }
    }

    /// A line with a time ends: digits alone, in milliseconds. It counts at once.
    fn end_retry(&mut self) {
        let digits = !self.value.is_empty() && self.value.iter().all(u8::is_ascii_digit);
        if digits && !self.is_too_long {
            let more =
                |ms: u64, digit: &u8| ms.saturating_mul(10).saturating_add((digit - b'0').into());
            let ms = self.value.iter().fold(0, more);
            self.ended.retry_ns = Some(ms.saturating_mul(1_000_000));
        }
    }

    /// An empty line: what comes after it has this id until there is another.
    fn end_event(&mut self) {
        if let Some(id) = &self.id
            && self.ended.id.as_ref() != Some(id)
        {
            self.ended.id = Some(id.clone());
        }
    }
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
    Id,
    Retry,
    /// A comment, or a field without a meaning here.
    Other,
}

impl Sse {
    /// At the beginning of a stream. `has_marks`: ids and times are read.
    pub(super) fn new(has_marks: bool) -> Self {
        Sse { marks: has_marks.then(Box::default), ..Sse::default() }
    }

    /// What the stream has said since the last call about the request that goes on with it.
    pub(super) fn take_resume(&mut self) -> Option<Resume> {
        let ended = &mut self.marks.as_mut()?.ended;
        (*ended != Resume::default()).then(|| std::mem::take(ended))
    }

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
            Line::Value(Field::Id | Field::Retry) => {
                self.marks.iter_mut().for_each(|marks| marks.push(piece));
            }
            _ => {}
        }
    }

    fn field(&self) -> Field {
        field_of(&self.name, self.name_bytes)
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
            Field::Id | Field::Retry => self.marks.iter_mut().for_each(|marks| marks.begin()),
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
        if let Some(marks) = &mut self.marks {
            match line {
                Line::Name if is_empty => marks.end_event(),
                Line::Name => end_mark(marks, field_of(&self.name, self.name_bytes)),
                Line::Blank(field) | Line::Value(field) => end_mark(marks, field),
            }
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

/// The field with a name of so many bytes.
fn field_of(name: &[u8; LONGEST_NAME], bytes: usize) -> Field {
    match name.get(..bytes) {
        Some(b"data") => Field::Data,
        Some(b"event") => Field::Event,
        Some(b"id") => Field::Id,
        Some(b"retry") => Field::Retry,
        _ => Field::Other,
    }
}

fn end_mark(marks: &mut Marks, field: Field) {
    match field {
        Field::Id => marks.end_id(),
        Field::Retry => marks.end_retry(),
        Field::Data | Field::Event | Field::Other => {}
    }
}
