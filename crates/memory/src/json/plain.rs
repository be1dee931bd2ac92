//! Paths of names and indices: one pass over the body, which ends at the value, without a tree and
//! without allocation.
//!
//! Values on the way are skipped: brackets are counted, strings stepped over. That is enough to come to
//! the right place in valid JSON, in any depth. serde_json then reads the value itself, so what is
//! captured is valid JSON; what stands before it or follows it need not be.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Step;
use crate::{MOST_VALUE_BYTES, Why};

/// The value at the end of `steps`.
pub(super) fn find<'a>(steps: &[Step], body: &'a [u8]) -> Result<Cow<'a, [u8]>, Why> {
    let mut at = Cursor { bytes: body, at: 0 };
    at.skip_blanks();
    for step in steps {
        match step {
            Step::Name(name) => at.enter_member(name)?,
            Step::Index(index) => at.enter_element(*index)?,
        }
    }
    let start = at.at;
    at.skip_value()?;
    let json = &body[start..at.at];
    at.skip_blanks();
    // The body itself, so nothing may follow.
    if steps.is_empty() && at.peek().is_some() {
        return Err(Why::NotJson);
    }
    value_of(json)
}

/// The value that a JSON text stands for, as it is captured.
fn value_of(json: &[u8]) -> Result<Cow<'_, [u8]>, Why> {
    // Each byte of a string takes at most six in JSON, `\u0041`, and there are two quotes.
    if json.len() > 6 * MOST_VALUE_BYTES + 2 {
        return Err(Why::TooLong);
    }
    serde_json::from_slice::<&RawValue>(json).map_err(|_| Why::NotJson)?;
    let value = match json {
        b"null" => return Err(Why::NotFound),
        [b'"', content @ .., b'"'] if memchr::memchr(b'\\', content).is_none() => {
            Cow::Borrowed(content)
        }
        [b'"', ..] => Cow::Owned(unescaped(json).ok_or(Why::NotJson)?.into_bytes()),
        other => Cow::Borrowed(other),
    };
    if value.len() > MOST_VALUE_BYTES {
        return Err(Why::TooLong);
    }
    Ok(value)
}

/// The content of a string, which is given with its quotes.
fn unescaped(json: &[u8]) -> Option<String> {
    serde_json::from_slice(json).ok()
}

/// A place in a body.
struct Cursor<'a> {
    bytes: &'a [u8],
    /// At most the length of `bytes`.
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over one byte, which has to be `byte`.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Why> {
        if self.peek() != Some(byte) {
            return Err(Why::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// From an object to the value of its first member with this name.
    fn enter_member(&mut self, name: &str) -> Result<(), Why> {
        self.enter(b'{', b'}')?;
        loop {
            let key = self.skip_string()?;
            self.skip_blanks();
            self.expect(b':')?;
            self.skip_blanks();
            if is_name(key, name) {
                return Ok(());
            }
            self.skip_to_next(b'}')?;
        }
    }

    /// From an array to one of its elements.
    fn enter_element(&mut self, index: usize) -> Result<(), Why> {
        self.enter(b'[', b']')?;
        for _ in 0..index {
            self.skip_to_next(b']')?;
        }
        Ok(())
    }

    /// To the first thing in an object or an array. Another value has nothing in it.
    fn enter(&mut self, open: u8, close: u8) -> Result<(), Why> {
        if self.peek() != Some(open) {
            self.skip_value()?;
            return Err(Why::NotFound);
        }
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(close) { Err(Why::NotFound) } else { Ok(()) }
    }

    /// Over a value, to what stands after the next comma.
    #[inline]
    fn skip_to_next(&mut self, close: u8) -> Result<(), Why> {
        self.skip_value()?;
        self.skip_blanks();
        if self.peek() == Some(close) {
            return Err(Why::NotFound);
        }
        self.expect(b',')?;
        self.skip_blanks();
        Ok(())
    }

    #[inline]
    fn skip_value(&mut self) -> Result<(), Why> {
        match self.peek().ok_or(Why::NotJson)? {
            b'"' => self.skip_string().map(drop),
            b'{' | b'[' => self.skip_brackets(),
            b't' => self.skip_word(b"true"),
            b'f' => self.skip_word(b"false"),
            b'n' => self.skip_word(b"null"),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                self.at += self.bytes[self.at..].iter().take_while(|byte| is_part(byte)).count();
                Ok(())
            }
            _ => Err(Why::NotJson),
        }
    }

    fn skip_word(&mut self, word: &[u8]) -> Result<(), Why> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(Why::NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    /// Over a string, and returns it with its quotes.
    #[inline]
    fn skip_string(&mut self) -> Result<&'a [u8], Why> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let found = memchr::memchr2(b'"', b'\\', rest).ok_or(Why::NotJson)?;
            self.at += found + 1;
            if rest[found] == b'"' {
                return Ok(&self.bytes[start..self.at]);
            }
            self.at += 1;
        }
    }

    /// Over an object or an array, without recursion: only the number of open brackets counts.
    fn skip_brackets(&mut self) -> Result<(), Why> {
        let mut open = 0usize;
        loop {
            match self.peek().ok_or(Why::NotJson)? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }
}

/// Whether a key, with its quotes, is this name.
#[inline]
fn is_name(key: &[u8], name: &str) -> bool {
    let content = &key[1..key.len() - 1];
    match memchr::memchr(b'\\', content) {
        None => content == name.as_bytes(),
        Some(_) => unescaped(key).is_some_and(|key| key == name),
    }
}
