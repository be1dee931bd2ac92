//! Where a captured value comes from: the words of a plan, compiled.
//!
//! A source is compiled when the plan is built, so an error in it is found before the run. It finds
//! values in responses, and keeps nothing of them.

use std::borrow::Cow;
use std::fmt;

use crate::fields;
use crate::json::Path;
use crate::pattern::Pattern;
use crate::{MOST_VALUE_BYTES, Why};

const KINDS: [&str; 5] = ["json", "header", "regex", "cookie", "body"];

/// A place in a response, compiled.
///
/// Each thread should have a clone of its own: clones share the automata of an expression, and not the
/// working memory of its search.
#[derive(Clone)]
pub struct Source {
    /// As it was written.
    text: Box<str>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Json(Path),
    Header(Box<[u8]>),
    Regex(Pattern),
    Cookie(Box<[u8]>),
    Body,
}

/// Why a source cannot be used: one sentence with place and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(String);

impl Source {
    /// Compiles `json:PATH` (RFC 9535), `header:NAME`, `regex:EXPRESSION`, `cookie:NAME` or `body`.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let wrong = |problem: String| SourceError(format!("capture {:?}: {problem}", shown(text)));
        Source::compile(text).map_err(wrong)
    }

    /// The same, for what is no capture.
    ///
    /// # Errors
    /// What is wrong, without the text.
    pub fn compile(text: &str) -> Result<Self, String> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind.trim(), Some(rest)),
            None => (text.trim(), None),
        };
        let kind = match (kind, rest) {
            ("json", Some(path)) => Path::parse(path.trim()).map(Kind::Json),
            ("header", Some(name)) => field_name(name.trim()).map(Kind::Header),
            ("regex", Some("")) => {
                Err("the expression is empty; write e.g. regex:id=([0-9]+)".to_owned())
            }
            // Blanks may be part of an expression.
            ("regex", Some(pattern)) => Pattern::new(pattern).map(Kind::Regex),
            ("cookie", Some(name)) => cookie_name(name.trim()).map(Kind::Cookie),
            ("body", None) => Ok(Kind::Body),
            ("body", Some(_)) => Err("body takes nothing after it; write body".to_owned()),
            _ if text.trim_start().starts_with('$') => {
                Err(format!("a JSON path needs its kind; write json:{}", shown(text.trim())))
            }
            (kind, None) if KINDS.contains(&kind) => {
                Err(format!("{kind} needs a colon and a {}", operand(kind)))
            }
            (kind, _) => Err(format!(
                "{:?} is not a source; use json:, header:, regex:, cookie: or body{}",
                shown(kind),
                did_you_mean(kind)
            )),
        };
        Ok(Source { text: text.into(), kind: kind? })
    }

    /// Whether it is in the body of a response, and not among its header fields.
    pub fn is_in_body(&self) -> bool {
        matches!(self.kind, Kind::Json(_) | Kind::Regex(_) | Kind::Body)
    }

    /// The source as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Finds the value in a response: `fields` are header lines `Name: value`, `body` has no framing.
    ///
    /// - JSON: the first node of the path; a string's content, otherwise the JSON text as it stands in
    ///   the body. `null` counts as not found. Where an object has a name twice, the first one counts.
    /// - Header: the first field of this name, without blanks around it.
    /// - Regular expression: the first group of the first match in the body, or the whole match if the
    ///   expression has no group.
    /// - Cookie: what the last `Set-Cookie` of this name in this response sets, whether or not the user
    ///   takes the cookie.
    /// - Body: all of it.
    ///
    /// # Errors
    /// There is no value, or it is too long.
    pub fn find<'a>(&self, fields: &'a [u8], body: &'a [u8]) -> Result<Cow<'a, [u8]>, Why> {
        let found = match &self.kind {
            Kind::Json(path) => return path.find(body),
            Kind::Header(name) => fields::values(fields, name).next(),
            Kind::Regex(pattern) => pattern.find(body).map(|place| &body[place]),
            Kind::Cookie(name) => cookie(fields, name),
            Kind::Body => Some(body),
        };
        let value = found.ok_or(Why::NotFound)?;
        if value.len() > MOST_VALUE_BYTES {
            return Err(Why::TooLong);
        }
        Ok(Cow::Borrowed(value))
    }
}

/// A source is what it was written as; its automata and trees are made of that.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source({:?})", self.text)
    }
}

/// RFC 6265 5.2, steps 1 to 4.
fn cookie<'a>(fields: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let pairs = fields::values(fields, b"Set-Cookie").filter_map(|line| {
        let pair = &line[..memchr::memchr(b';', line).unwrap_or(line.len())];
        let equals = memchr::memchr(b'=', pair)?;
        (pair[..equals].trim_ascii() == name).then(|| pair[equals + 1..].trim_ascii())
    });
    pairs.last()
}

/// RFC 9110 5.1: a field's name is a token.
fn field_name(name: &str) -> Result<Box<[u8]>, String> {
    match name.char_indices().find(|(_, c)| !is_token(*c)) {
        None if name.is_empty() => Err("the name is empty; write e.g. header:X-Id".to_owned()),
        None => Ok(name.as_bytes().into()),
        Some((_, ':')) => Err("a header name has no colon; write the name alone".to_owned()),
        Some((at, found)) => Err(format!(
            "{found:?} at position {} of the name cannot be in a header name; remove it",
            at + 1
        )),
    }
}

/// Names of cookies are wider than tokens in practice; only what cannot be in one is refused.
fn cookie_name(name: &str) -> Result<Box<[u8]>, String> {
    let cannot = |c: char| c.is_ascii_control() || c == '=' || c == ';';
    match name.char_indices().find(|(_, c)| cannot(*c)) {
        None if name.is_empty() => Err("the name is empty; write e.g. cookie:session".to_owned()),
        None => Ok(name.as_bytes().into()),
        Some((at, found)) => Err(format!(
            "{found:?} at position {} of the name cannot be in a cookie name; remove it",
            at + 1
        )),
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

fn operand(kind: &str) -> &'static str {
    match kind {
        "json" => "path, e.g. json:$.token",
        "header" => "name, e.g. header:X-Id",
        "regex" => "expression, e.g. regex:id=([0-9]+)",
        _ => "name, e.g. cookie:session",
    }
}

fn did_you_mean(kind: &str) -> String {
    // A long word would be slow to compare, and it cannot be a typing error.
    if kind.len() > 64 {
        return String::new();
    }
    let kind = kind.to_lowercase();
    let near = KINDS
        .into_iter()
        .map(|one| (strsim::normalized_damerau_levenshtein(&kind, one), one))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    near.map_or_else(String::new, |(_, near)| format!("; did you mean {near:?}?"))
}

/// The beginning of a text, for an error.
fn shown(text: &str) -> String {
    const MOST_CHARS: usize = 80;
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
