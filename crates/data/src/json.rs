//! Rows of JSON lines: an object in each line.
//!
//! A string stands for its text, null for nothing, and everything else for its JSON text exactly as
//! it is in the file, so that no number loses digits. Members that the first object does not have
//! are checked and left out.

use std::fmt;

use memchr::memchr;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::MOST_COLUMNS;
use crate::fault::{Problem, Wrong, plain, shown};
use crate::names::Names;
use crate::step::{Scratch, Step};
use crate::values::Values;

/// Decodes the row that `bytes` begin with. `is_last`: the file ends with them. Allocates nothing
/// once `out` has grown, except for objects or lists inside those that a value has: serde_json keeps
/// their nesting in memory of its own, a byte for each level.
pub(crate) fn row(
    bytes: &[u8],
    is_last: bool,
    names: &Names,
    out: &mut Values,
    scratch: &mut Scratch,
) -> Result<Step, Wrong> {
    let (line, step) = match line(bytes, is_last)? {
        (line, step @ Step::Row { .. }) => (line, step),
        (_, step) => return Ok(step),
    };
    scratch.spans.clear();
    scratch.spans.resize(names.list().len(), (0, 0));
    let mut twice = None;
    let spans = &mut scratch.spans;
    read(line, Found { line, names, spans, twice: &mut twice })?;
    let name = |column: usize| shown(names.list()[column].as_bytes());
    if let Some(column) = twice {
        return Err(Problem::Twice(name(column)).into());
    }
    for (column, &(start, end)) in scratch.spans.iter().enumerate() {
        match &line[start as usize..end as usize] {
            [] => return Err(Problem::Missing(name(column)).into()),
            [b'"', text @ .., b'"'] => {
                unescape(text, out).ok_or_else(|| Problem::Surrogate(name(column)))?;
            }
            b"null" => {}
            text => out.write(text),
        }
        out.end();
    }
    Ok(step)
}

/// Finds the end of a row that has been checked before.
pub(crate) fn skip(bytes: &[u8], is_last: bool) -> Result<Step, Wrong> {
    line(bytes, is_last).map(|(_, step)| step)
}

/// Reads the names of the columns.
pub(crate) fn header(bytes: &[u8], is_last: bool, names: &mut Names) -> Result<Step, Wrong> {
    let (line, step) = line(bytes, is_last)?;
    if let Step::Row { .. } = step {
        let mut members = Vec::new();
        read(line, Keys(&mut members))?;
        if members.is_empty() {
            return Err(Problem::NoColumn.into());
        }
        for member in members {
            names.add(member.as_bytes())?;
        }
    }
    Ok(step)
}

/// The line that `bytes` begin with, and whether it is a row.
fn line(bytes: &[u8], is_last: bool) -> Result<(&[u8], Step), Wrong> {
    let (line, length) = match memchr(b'\n', bytes) {
        Some(length) => (&bytes[..length], length + 1),
        None if is_last => (bytes, bytes.len()),
        None => return Ok((bytes, Step::More)),
    };
    match line.trim_ascii_start().first() {
        None => Ok((line, Step::Skip { length })),
        Some(b'{') => Ok((line, Step::Row { length, lines: 1 })),
        Some(_) => Err(Problem::NotObject.into()),
    }
}

/// Reads the object of a line.
fn read<'de, V: Visitor<'de>>(line: &'de [u8], visitor: V) -> Result<(), Problem> {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let outcome = reader.deserialize_map(visitor).and_then(|_| reader.end());
    outcome.map_err(|error| {
        let text = error.to_string();
        let end = text.find(" at line ").unwrap_or(text.len());
        Problem::Json { message: plain(&text[..end], 100), byte: error.column() }
    })
}

/// Notes where the values of columns are.
struct Found<'a> {
    line: &'a [u8],
    names: &'a Names,
    spans: &'a mut [(u32, u32)],
    /// A column that is there twice.
    twice: &'a mut Option<usize>,
}

impl<'de> Visitor<'de> for Found<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut likely = 0;
        while let Some(column) = members.next_key_seed(Key { names: self.names, likely })? {
            let Some(column) = column else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            likely = column + 1;
            // A part of the line: its place follows from the addresses.
            let text = members.next_value::<&'de RawValue>()?.get();
            let start = text.as_ptr().addr() - self.line.as_ptr().addr();
            if self.spans[column].1 != 0 {
                *self.twice = Some(column);
            }
            self.spans[column] = (start as u32, (start + text.len()) as u32);
        }
        Ok(())
    }
}

/// The column of a member's name.
struct Key<'a> {
    names: &'a Names,
    likely: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<usize>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.names.find(name, self.likely))
    }
}

/// Collects the names of the members: one more than there may be, at most.
struct Keys<'a>(&'a mut Vec<String>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if self.0.len() <= MOST_COLUMNS {
                self.0.push(name);
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Writes the text of a string (RFC 8259 section 7) whose form serde_json has checked. None: half of
/// a surrogate pair, which serde_json lets pass in a value that it does not decode.
fn unescape(mut text: &[u8], out: &mut Values) -> Option<()> {
    while let Some(at) = memchr(b'\\', text) {
        out.write(&text[..at]);
        let escape = *text.get(at + 1)?;
        text = &text[at + 2..];
        match escape {
            b'u' => {
                let (character, rest) = unicode(text)?;
                out.write(character.encode_utf8(&mut [0; 4]).as_bytes());
                text = rest;
            }
            b'b' => out.write(b"\x08"),
            b'f' => out.write(b"\x0c"),
            b'n' => out.write(b"\n"),
            b'r' => out.write(b"\r"),
            b't' => out.write(b"\t"),
            itself => out.write(&[itself]),
        }
    }
    out.write(text);
    Some(())
}

/// The character of `\u` and what follows it, and the text after that.
fn unicode(text: &[u8]) -> Option<(char, &[u8])> {
    let (high, rest) = four_digits(text)?;
    if let Some(character) = char::from_u32(high) {
        return Some((character, rest));
    }
    let (low, rest) = four_digits(rest.strip_prefix(b"\\u")?)?;
    let pair = [high as u16, low as u16];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((character, rest))
}

fn four_digits(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let number = digits
        .iter()
        .try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))?;
    Some((number, rest))
}
