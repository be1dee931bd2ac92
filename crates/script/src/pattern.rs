//! Lua's patterns (reference manual of Lua 5.1, 5.4.1), matched within a budget.
//!
//! Matching goes back and tries again, which can take time exponential in the pattern's length, and
//! LuaJIT's own matcher is C code in which no hook runs. A sandbox uses this matcher instead: it
//! counts the bytes that it examines, and regularly asks its caller whether it may continue. It
//! follows `lib_string.c` item by item, so a pattern means the same inside a sandbox and outside.

/// The number of bytes to examine between two of these questions.
const STEP: u64 = 10_000;
/// Captures of one pattern, as LuaJIT has it (`LUA_MAXCAPTURES`).
const MOST_CAPTURES: usize = 32;
/// Nested tries, as LuaJIT has it (`LJ_MAX_XLEVEL`).
const DEEPEST: u32 = 200;

/// Where a pattern was found; offsets are from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: usize,
    /// After the last byte.
    pub(crate) end: usize,
    pub(crate) captures: Vec<Capture>,
}

/// One capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    /// The text between these offsets.
    Text { start: usize, end: usize },
    /// `()`: the offset itself.
    Position(usize),
}

/// Why a match failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("malformed pattern (ends with '%')")]
    EndsWithEscape,
    #[error("malformed pattern (missing ']')")]
    NoBracket,
    #[error("unbalanced pattern")]
    Unbalanced,
    #[error("missing '[' after '%f' in pattern")]
    NoFrontier,
    #[error("invalid pattern capture")]
    NothingToClose,
    #[error("invalid capture index")]
    CaptureIndex,
    #[error("unfinished capture")]
    Unfinished,
    #[error("too many captures")]
    TooManyCaptures,
    #[error("pattern too complex")]
    TooComplex,
    /// The caller's words.
    #[error("{0}")]
    OutOfBudget(String),
}

/// Searches `subject` for `pattern` from offset `from` on, or only there if it is `anchored`.
/// `spend` gets the number of bytes examined since the last call, and ends the search if it returns
/// an error.
pub(crate) fn search(
    subject: &[u8],
    pattern: &[u8],
    from: usize,
    anchored: bool,
    spend: &mut dyn FnMut(u64) -> Result<(), String>,
) -> Result<Option<Found>, Error> {
    // A pattern is a string of C.
    let pattern = &pattern[..memchr::memchr(0, pattern).unwrap_or(pattern.len())];
    let mut matcher =
        Matcher { subject, pattern, captures: Vec::new(), depth: 0, looked_at: 0, spend };
    let mut found = Ok(None);
    for start in from..=subject.len() {
        matcher.captures.clear();
        matcher.depth = 0;
        found = matcher.matches(start, 0).map(|end| end.map(|end| (start, end)));
        if anchored || !matches!(found, Ok(None)) {
            break;
        }
    }
    let Some((start, end)) = found? else {
        matcher.settle()?;
        return Ok(None);
    };
    let captures = matcher.captures.iter().map(|one| one.finished()).collect::<Result<_, _>>()?;
    matcher.settle()?;
    Ok(Some(Found { start, end, captures }))
}

/// Searches for the bytes of `plain`, in time linear in both.
pub(crate) fn search_plain(subject: &[u8], plain: &[u8], from: usize) -> Option<Found> {
    let start = from + memchr::memmem::find(subject.get(from..)?, plain)?;
    Some(Found { start, end: start + plain.len(), captures: Vec::new() })
}

/// Whether a pattern is searched for literally. `string.find` takes a `)` and a NUL literally, if
/// the pattern has no other special character.
pub(crate) fn is_plain(pattern: &[u8], is_find: bool) -> bool {
    let special: &[u8] = if is_find { b"^$*+?.([%-" } else { b"^$*+?.([%-)\0" };
    !pattern.iter().any(|byte| special.contains(byte))
}

struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Open>,
    depth: u32,
    looked_at: u64,
    spend: &'a mut dyn FnMut(u64) -> Result<(), String>,
}

/// A capture during matching.
#[derive(Debug, Clone, Copy)]
struct Open {
    start: usize,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Unfinished,
    Position,
    Bytes(usize),
}

impl Open {
    fn finished(self) -> Result<Capture, Error> {
        match self.length {
            Length::Unfinished => Err(Error::Unfinished),
            Length::Position => Ok(Capture::Position(self.start)),
            Length::Bytes(bytes) => {
                Ok(Capture::Text { start: self.start, end: self.start + bytes })
            }
        }
    }
}

/// An offset after the match, if there is one.
type Matched = Result<Option<usize>, Error>;

impl Matcher<'_> {
    /// Examines this number of bytes.
    #[inline]
    fn look_at(&mut self, bytes: usize) -> Result<(), Error> {
        self.looked_at += bytes as u64;
        if self.looked_at < STEP { Ok(()) } else { self.settle() }
    }

    fn settle(&mut self) -> Result<(), Error> {
        (self.spend)(std::mem::take(&mut self.looked_at)).map_err(Error::OutOfBudget)
    }

    /// The pattern's byte at `p`; 0 at its end, where C has one.
    #[inline]
    fn at(&self, p: usize) -> u8 {
        self.pattern.get(p).copied().unwrap_or(0)
    }

    /// Whether the pattern from `p` on matches at `s`.
    fn matches(&mut self, mut s: usize, mut p: usize) -> Matched {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::TooComplex);
        }
        let end = loop {
            self.look_at(1)?;
            match (self.at(p), self.at(p + 1)) {
                (0, _) => break Some(s),
                (b'(', b')') => break self.open(s, p + 2, Length::Position)?,
                (b'(', _) => break self.open(s, p + 1, Length::Unfinished)?,
                (b')', _) => break self.close(s, p + 1)?,
                (b'$', 0) => break (s == self.subject.len()).then_some(s),
                (b'%', b'b') => match self.balance(s, p + 2)? {
                    Some(next) => (s, p) = (next, p + 4),
                    None => break None,
                },
                (b'%', b'f') => match self.frontier(s, p + 2)? {
                    Some(next) => p = next,
                    None => break None,
                },
                (b'%', digit @ b'0'..=b'9') => match self.again(s, digit)? {
                    Some(next) => (s, p) = (next, p + 2),
                    None => break None,
                },
                _ => {
                    let item = p..self.item_end(p)?;
                    self.look_at(item.len())?;
                    let is_one = self.is_one(s, item.clone());
                    match self.at(item.end) {
                        b'?' => {
                            if is_one && let Some(end) = self.matches(s + 1, item.end + 1)? {
                                break Some(end);
                            }
                            p = item.end + 1;
                        }
                        b'*' => break self.most(s, item)?,
                        b'+' if is_one => break self.most(s + 1, item)?,
                        b'-' => break self.least(s, item)?,
                        b'+' => break None,
                        _ if is_one => (s, p) = (s + 1, item.end),
                        _ => break None,
                    }
                }
            }
        };
        self.depth -= 1;
        Ok(end)
    }

    /// The end of the single-character item at `p`.
    fn item_end(&mut self, p: usize) -> Result<usize, Error> {
        match self.at(p) {
            b'%' if self.at(p + 1) == 0 => Err(Error::EndsWithEscape),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1 + usize::from(self.at(p + 1) == b'^');
                // The first one is never the end.
                loop {
                    match self.at(at) {
                        0 => return Err(Error::NoBracket),
                        b'%' if self.at(at + 1) != 0 => at += 2,
                        _ => at += 1,
                    }
                    if self.at(at) == b']' {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Whether the byte at `s` is one of `item`.
    #[inline]
    fn is_one(&self, s: usize, item: std::ops::Range<usize>) -> bool {
        let Some(&byte) = self.subject.get(s) else { return false };
        match self.at(item.start) {
            b'.' => true,
            b'%' => is_of_class(byte, self.at(item.start + 1)),
            b'[' => self.is_in_set(byte, item),
            plain => plain == byte,
        }
    }

    /// Whether `byte` is in the set `[…]`.
    fn is_in_set(&self, byte: u8, set: std::ops::Range<usize>) -> bool {
        let last = set.end - 1;
        let is_negated = self.at(set.start + 1) == b'^';
        let mut p = set.start + usize::from(is_negated) + 1;
        while p < last {
            let one = self.at(p);
            if one == b'%' {
                p += 1;
                if is_of_class(byte, self.at(p)) {
                    return !is_negated;
                }
            } else if self.at(p + 1) == b'-' && p + 2 < last {
                if (one..=self.at(p + 2)).contains(&byte) {
                    return !is_negated;
                }
                p += 2;
            } else if one == byte {
                return !is_negated;
            }
            p += 1;
        }
        is_negated
    }

    /// As many repetitions as there are, then fewer.
    fn most(&mut self, s: usize, item: std::ops::Range<usize>) -> Matched {
        let mut count = 0;
        while self.is_one(s + count, item.clone()) {
            self.look_at(item.len())?;
            count += 1;
        }
        loop {
            if let Some(end) = self.matches(s + count, item.end + 1)? {
                return Ok(Some(end));
            }
            match count {
                0 => return Ok(None),
                _ => count -= 1,
            }
        }
    }

    /// No repetition, then more.
    fn least(&mut self, mut s: usize, item: std::ops::Range<usize>) -> Matched {
        loop {
            if let Some(end) = self.matches(s, item.end + 1)? {
                return Ok(Some(end));
            }
            self.look_at(item.len())?;
            if !self.is_one(s, item.clone()) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, length: Length) -> Matched {
        if self.captures.len() >= MOST_CAPTURES {
            return Err(Error::TooManyCaptures);
        }
        self.captures.push(Open { start: s, length });
        let end = self.matches(s, p)?;
        if end.is_none() {
            self.captures.pop();
        }
        Ok(end)
    }

    fn close(&mut self, s: usize, p: usize) -> Matched {
        let is_open = |one: &Open| one.length == Length::Unfinished;
        let index = self.captures.iter().rposition(is_open).ok_or(Error::NothingToClose)?;
        self.captures[index].length = Length::Bytes(s - self.captures[index].start);
        let end = self.matches(s, p)?;
        if end.is_none() {
            self.captures[index].length = Length::Unfinished;
        }
        Ok(end)
    }

    /// `%1` to `%9`: an earlier capture again.
    fn again(&mut self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let capture = self.captures.get(index).copied().ok_or(Error::CaptureIndex)?;
        let bytes = match capture.length {
            Length::Unfinished => return Err(Error::CaptureIndex),
            // LuaJIT compares its mark for a position as a length, which no text has.
            Length::Position => return Ok(None),
            Length::Bytes(bytes) => bytes,
        };
        self.look_at(bytes)?;
        let text = &self.subject[capture.start..capture.start + bytes];
        Ok(self.subject[s..].starts_with(text).then_some(s + bytes))
    }

    /// `%bxy`.
    fn balance(&mut self, s: usize, p: usize) -> Matched {
        let (begin, end) = (self.at(p), self.at(p + 1));
        if begin == 0 || end == 0 {
            return Err(Error::Unbalanced);
        }
        if self.subject.get(s) != Some(&begin) {
            return Ok(None);
        }
        let mut open = 1;
        for (offset, &byte) in self.subject[s..].iter().enumerate().skip(1) {
            self.look_at(1)?;
            if byte == end {
                open -= 1;
                if open == 0 {
                    return Ok(Some(s + offset + 1));
                }
            } else if byte == begin {
                open += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: the pattern's offset after it.
    fn frontier(&mut self, s: usize, p: usize) -> Matched {
        if self.at(p) != b'[' {
            return Err(Error::NoFrontier);
        }
        let set = p..self.item_end(p)?;
        self.look_at(set.len())?;
        let before = if s == 0 { 0 } else { self.subject[s - 1] };
        let after = self.subject.get(s).copied().unwrap_or(0);
        let is_there = !self.is_in_set(before, set.clone()) && self.is_in_set(after, set.clone());
        Ok(is_there.then_some(set.end))
    }
}

/// Whether `byte` is of the class `%class`, as LuaJIT has them: of ASCII alone.
fn is_of_class(byte: u8, class: u8) -> bool {
    let is_of = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_of != class.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use mlua::{Lua, LuaString, MultiValue, Value};
    use proptest::prelude::*;

    use super::*;

    /// The result of LuaJIT's own `string.find`, in our form.
    fn by_lua(lua: &Lua, subject: &[u8], pattern: &[u8]) -> Result<Option<Vec<String>>, String> {
        let find: mlua::Function = lua.load("return string.find").eval().unwrap();
        let arguments = (lua.create_string(subject).unwrap(), lua.create_string(pattern).unwrap());
        let values =
            find.call::<MultiValue>(arguments).map_err(|error| crate::error::words(&error))?;
        let shown = |value: &Value| match value {
            Value::String(text) => format!("{:?}", LuaString::as_bytes(text)),
            Value::Integer(number) => format!("{:?}", Some(*number as f64)),
            other => format!("{:?}", other.as_f64()),
        };
        match values.front() {
            Some(Value::Nil) => Ok(None),
            _ => Ok(Some(values.iter().map(shown).collect())),
        }
    }

    fn by_us(subject: &[u8], pattern: &[u8]) -> Result<Option<Vec<String>>, String> {
        let (pattern, anchored) = match pattern {
            [b'^', rest @ ..] => (rest, true),
            _ => (pattern, false),
        };
        let found = match !anchored && is_plain(pattern, true) {
            true => Ok(search_plain(subject, pattern, 0)),
            false => search(subject, pattern, 0, anchored, &mut |_| Ok(())),
        };
        let Some(found) = found.map_err(|error| error.to_string())? else { return Ok(None) };
        let number = |at: usize| format!("{:?}", Some(at as f64));
        let mut all = vec![number(found.start + 1), number(found.end)];
        all.extend(found.captures.iter().map(|capture| match capture {
            Capture::Text { start, end } => format!("{:?}", &subject[*start..*end]),
            Capture::Position(at) => number(at + 1),
        }));
        Ok(Some(all))
    }

    fn assert_same(lua: &Lua, subject: &[u8], pattern: &[u8]) {
        let (theirs, ours) = (by_lua(lua, subject, pattern), by_us(subject, pattern));
        let words = (String::from_utf8_lossy(subject), String::from_utf8_lossy(pattern));
        match (&theirs, &ours) {
            (Err(theirs), Err(ours)) => {
                assert!(theirs.contains(ours), "{words:?}: {theirs}, {ours}")
            }
            _ => assert_eq!(theirs, ours, "{words:?}"),
        }
    }

    #[test]
    fn a_pattern_means_what_it_means_to_luajit() {
        let lua = Lua::new();
        let subjects = [
            "",
            "a",
            "key = value",
            "f(a(b)c)d",
            "THE (quick) fox",
            "aaa",
            "x=1, y=22",
            "a.b-c%d]",
        ];
        let patterns = [
            "",
            "^",
            "$",
            "^$",
            ".",
            ".-",
            ".*",
            "a*",
            "a+",
            "a-",
            "a?",
            "^a*$",
            "(%w+)%s*=%s*(%w+)",
            "%b()",
            "%f[%w]%w+",
            "()a()",
            "[%]%-%%]",
            "[^%s]+$",
            "[a-c]+",
            "[]]",
            "[^]]",
            "[a-]",
            "[%a-z]",
            "(a)%1",
            "((a)(b?))",
            "%S+",
            "%z",
            "%Z",
            "%g+",
            "%x%x",
            "%p",
            "%%",
            "%",
            "[",
            "[a",
            "[^",
            "[%",
            "(",
            ")",
            "(()",
            "%1",
            "%b",
            "%bx",
            "%f",
            "%fa",
            "(a",
            "a)",
            "%9",
            "%0",
            "$a",
            "a$b",
            "^^a",
            "%u%l",
        ];
        for subject in subjects {
            for pattern in patterns {
                assert_same(&lua, subject.as_bytes(), pattern.as_bytes());
            }
        }
        let deep = "(a".repeat(40) + &")".repeat(40);
        assert_same(&lua, &b"a".repeat(100), deep.as_bytes());
        assert_same(&lua, &b"a".repeat(300), "a?".repeat(250).as_bytes());
        assert_same(&lua, &[0, 1, 127, 128, 255], b"[\x80-\xff]+");
        assert_same(&lua, b"a\0b", b"a%zb");
        assert_same(&lua, b"a\0b", b"a.\0c");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn any_pattern_means_what_it_means_to_luajit(
            subject in "[ab.%( )]{0,12}",
            items in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "b", ".", "%a", "%(", "[ab]", "[^a]", "[%s.]", "%b()", "%f[a]", "%1", "%2", "*", "+",
                    "-", "?", "(", ")", "()", "^", "$", "%", "[", "]",
                ]),
                0..7,
            ),
        ) {
            let lua = Lua::new();
            assert_same(&lua, subject.as_bytes(), items.concat().as_bytes());
        }
    }

    #[test]
    fn a_search_spends_what_it_looks_at_and_ends_when_it_may_not() {
        let subject = b"a".repeat(30);
        let pattern = "a?".repeat(30) + &"a".repeat(31);
        let mut spent = 0;
        let mut spend = |bytes| {
            spent += bytes;
            if spent > 1_000_000 { Err("enough".to_owned()) } else { Ok(()) }
        };
        let found = search(&subject, pattern.as_bytes(), 0, false, &mut spend);
        assert_eq!(found, Err(Error::OutOfBudget("enough".to_owned())));
        assert!(spent < 1_000_000 + 2 * STEP);
        // A long set, a long capture and long brackets are counted byte by byte too.
        let long = "a".repeat(100_000);
        for (subject, pattern) in [
            (long.clone(), format!("[{}]b", "x".repeat(1000))),
            (long.clone(), "(a*)%1b".to_owned()),
            ("(".repeat(100_000), "%b()".to_owned()),
            (long.clone(), format!("%f[{}]", "x".repeat(1000))),
        ] {
            let mut spent = 0;
            let mut spend = |bytes| {
                spent += bytes;
                if spent > 10_000_000 { Err(String::new()) } else { Ok(()) }
            };
            let _ = search(subject.as_bytes(), pattern.as_bytes(), 0, false, &mut spend);
            assert!(spent > 10_000_000, "{spent}");
        }
    }
}
