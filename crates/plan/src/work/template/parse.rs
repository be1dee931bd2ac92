//! The grammar of templates: holes, functions and names.

use super::{Hole, Names, Piece, Place, TemplateError, Unit, Value};
use crate::escape::{Escape, is_unreserved};
use crate::holes::{Part, split};
use crate::redact;
use crate::suggest::did_you_mean;

/// The deepest hole within holes.
const DEEPEST: usize = 8;
/// The words that need no data.
const WORDS: [&str; 15] = [
    "seq", "uuid", "now", "now_s", "now_ms", "now_ns", "random", "chars", "choice", "base64",
    "url", "form", "json", "path", "raw",
];
/// The most random characters of a hole.
const MOST_CHARS: u32 = 1 << 20;

fn wrong<T>(problem: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError(problem.into()))
}

/// Compiles texts of one request.
pub(super) struct Parser<'a> {
    names: Names<'a>,
    /// The next hole's.
    draw: u64,
}

impl<'a> Parser<'a> {
    /// For request number `number` of the plan.
    pub(super) fn new(names: Names<'a>, number: usize) -> Self {
        Parser { names, draw: (number as u64) << 32 }
    }

    /// Compiles a text.
    pub(super) fn text(&mut self, text: &str, place: Place) -> Result<Vec<Piece>, TemplateError> {
        self.pieces(text, place, 0)
    }

    fn pieces(
        &mut self,
        text: &str,
        place: Place,
        depth: usize,
    ) -> Result<Vec<Piece>, TemplateError> {
        let mut pieces = Pieces::default();
        let mut string = InString::default();
        let mut is_behind_slash = false;
        for part in split(text).map_err(TemplateError)? {
            match part {
                Part::Hole(expression) => {
                    let mut hole = self.expression(expression.trim(), depth)?;
                    hole.stand(place, string.is_in);
                    // What a path begins with stands there.
                    if std::mem::take(&mut is_behind_slash)
                        && let Some(last @ Escape::Path) = hole.escapes.last_mut()
                    {
                        *last = Escape::Target;
                    }
                    pieces.hole(hole);
                }
                fixed => {
                    let fixed = fixed.text().unwrap_or_default();
                    string.pass(fixed);
                    is_behind_slash = place == Place::Path && fixed.ends_with('/');
                    pieces.text(fixed.as_bytes());
                }
            }
        }
        Ok(pieces.0)
    }

    fn expression(&mut self, text: &str, depth: usize) -> Result<Hole, TemplateError> {
        let (word, rest) = match text.split_once(char::is_whitespace) {
            Some((word, rest)) => (word, rest.trim()),
            None => (text, ""),
        };
        if let Some(name) = text.strip_prefix("env:") {
            return self.variable(name.trim());
        }
        // A plan's own names come first.
        if let Some(number) = self.names.captured.number(text) {
            return Ok(Hole { value: Value::Variable(number), escapes: Vec::new() });
        }
        let value = match (word, rest) {
            ("seq", "") => Value::Index,
            ("uuid", "") => Value::Uuid { draw: self.draw() },
            ("now_ms", "") => Value::Now(Unit::Millis),
            ("now", "") => Value::Now(Unit::Date),
            ("now_s", "") => Value::Now(Unit::Seconds),
            ("now_ns", "") => Value::Now(Unit::Nanos),
            ("chars", range) if !range.is_empty() => self.chars(range)?,
            ("random", range) => self.random(range)?,
            ("choice", list) => {
                let of: Vec<String> = list.split(',').map(|one| one.trim().to_owned()).collect();
                if list.is_empty() {
                    return wrong(
                        "${choice} has nothing to choose from; write e.g. ${choice a,b,c}",
                    );
                }
                Value::Choice { of, draw: self.draw() }
            }
            ("base64" | "url" | "json" | "path", "") => {
                return wrong(format!("${{{word}}} has no value; write e.g. ${{{word} ${{seq}}}}"));
            }
            ("base64", inner) => return self.function(Escape::Base64, inner, depth),
            ("url", inner) => return self.function(Escape::Url, inner, depth),
            ("json", inner) => return self.function(Escape::Json, inner, depth),
            ("path", inner) => return self.function(Escape::Path, inner, depth),
            // Alone, these two are names that a plan may have.
            ("form", inner) if !inner.is_empty() => {
                return self.function(Escape::Form, inner, depth);
            }
            ("raw", inner) if !inner.is_empty() => return self.function(Escape::Raw, inner, depth),
            _ => self.column(text)?,
        };
        Ok(Hole { value, escapes: Vec::new() })
    }

    /// `inner` is a text with holes, or what could stand in a hole.
    fn function(
        &mut self,
        escape: Escape,
        inner: &str,
        depth: usize,
    ) -> Result<Hole, TemplateError> {
        if depth == DEEPEST {
            return wrong(format!(
                "holes stand within each other more than {DEEPEST} deep; use fewer"
            ));
        }
        let mut hole = match inner.contains("${") {
            true => {
                let pieces = self.pieces(inner, Place::Body, depth + 1)?;
                Hole { value: Value::Group(pieces), escapes: Vec::new() }
            }
            false => self.expression(inner, depth + 1)?,
        };
        hole.escapes.push(escape);
        Ok(hole)
    }

    fn draw(&mut self) -> u64 {
        self.draw += 1;
        self.draw
    }

    fn random(&mut self, range: &str) -> Result<Value, TemplateError> {
        let ends =
            range.split_once("..").map(|(low, high)| (low.trim().parse(), high.trim().parse()));
        match ends {
            Some((Ok(low), Ok(high))) if low <= high => {
                Ok(Value::Random { low, high, draw: self.draw() })
            }
            Some((Ok(low), Ok(high))) => {
                wrong(format!("${{random {low}..{high}}} is empty; write the lower number first"))
            }
            _ => wrong(format!(
                "${{random {}}} has no range; write e.g. ${{random 1..100}}",
                redact::refused(range)
            )),
        }
    }

    fn chars(&mut self, range: &str) -> Result<Value, TemplateError> {
        let (least, most) = range.split_once("..").unwrap_or((range, range));
        match (least.trim().parse(), most.trim().parse()) {
            (Ok(least), Ok(most)) if least <= most && (1..=MOST_CHARS).contains(&most) => {
                Ok(Value::Chars { least, most, draw: self.draw() })
            }
            _ => wrong(format!(
                "${{chars {}}} has no length up to {MOST_CHARS}; write e.g. ${{chars 8}} or ${{chars 2..16}}",
                redact::refused(range)
            )),
        }
    }

    fn variable(&self, name: &str) -> Result<Hole, TemplateError> {
        let found = self.names.environment.iter().find(|one| one.name == name);
        match found {
            Some(one) => {
                let text = Piece::Text(one.value.whole().to_vec());
                Ok(Hole { value: Value::Group(vec![text]), escapes: Vec::new() })
            }
            None => wrong(format!(
                "the environment has no variable {name:?}; set it for the command: {name}=… candor …"
            )),
        }
    }

    fn column(&self, text: &str) -> Result<Value, TemplateError> {
        let data = self.names.data;
        let (name, column) = text.split_once('.').unwrap_or((text, ""));
        let Some(set) = data.iter().position(|one| one.name == name) else {
            let columns = data
                .iter()
                .flat_map(|set| set.columns.iter().map(|one| format!("{}.{one}", set.name)));
            let captured = self.names.captured.names().map(str::to_owned);
            let words = WORDS.map(str::to_owned);
            let known: Vec<String> = columns.chain(captured).chain(words).collect();
            let mut hint = did_you_mean(text, known.iter().map(String::as_str));
            // What resembles no name may be a password with `${` in it.
            let mut shown = text.to_owned();
            if hint.is_empty() {
                // `rand 1..3`, of which the name alone is near.
                let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
                hint = match rest {
                    "" => String::new(),
                    _ => did_you_mean(name, WORDS),
                };
                shown = redact::refused(text);
            }
            if hint.is_empty() {
                hint = "; write $${ for the characters ${".to_owned();
            }
            return wrong(format!("${{{shown}}} is not known{hint}"));
        };
        let columns = &data[set].columns;
        match columns.iter().position(|one| one == column) {
            Some(column) => Ok(Value::Column { set, column }),
            None => {
                let mut hint = did_you_mean(column, columns.iter().map(String::as_str));
                if hint.is_empty() {
                    hint = format!("; {}", redact::columns(columns));
                }
                wrong(format!("data set {name:?} has no column {column:?}{hint}"))
            }
        }
    }
}

impl Hole {
    /// Adds the escape of the place where it stands, if it needs one.
    fn stand(&mut self, place: Place, in_string: bool) {
        if self.escapes.pop_if(|last| *last == Escape::Raw).is_some() {
            // It is as the user wants it, but ends neither a path nor a field.
            match place {
                Place::Path => self.escapes.push(Escape::Target),
                Place::Field => self.escapes.push(Escape::Field),
                Place::Form | Place::Body | Place::Json => {}
            }
            return;
        }
        let outermost = self.escapes.last().copied();
        let is_number = self.escapes.is_empty()
            && match self.value {
                Value::Now(unit) => unit != Unit::Date,
                Value::Index | Value::Random { .. } => true,
                _ => false,
            };
        let is_safe = is_number
            || matches!(outermost, Some(Escape::Url | Escape::Form))
            || self.escapes.is_empty()
                && match &self.value {
                    Value::Uuid { .. } | Value::Chars { .. } => true,
                    Value::Choice { of, .. } => of.iter().all(|one| one.bytes().all(is_unreserved)),
                    _ => false,
                };
        let own = match place {
            _ if place != Place::Json && is_safe => return,
            Place::Path if outermost == Some(Escape::Path) => return,
            Place::Path | Place::Form => Escape::Url,
            Place::Field => Escape::Field,
            Place::Body => return,
            Place::Json if in_string => {
                if is_safe || outermost == Some(Escape::Json) {
                    return;
                }
                Escape::Json
            }
            Place::Json => {
                if is_number {
                    return;
                }
                self.escapes.pop_if(|last| *last == Escape::Json);
                Escape::JsonValue
            }
        };
        self.escapes.push(own);
    }
}

/// Pieces, with neighbouring text joined.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn text(&mut self, text: &[u8]) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Text(text.to_vec())),
        }
    }

    /// A hole that is the same in every request is text.
    fn hole(&mut self, hole: Hole) {
        match &hole.value {
            Value::Group(inner) if inner.iter().all(|piece| matches!(piece, Piece::Text(_))) => {
                let mut text = Vec::new();
                for piece in inner {
                    if let Piece::Text(one) = piece {
                        text.extend_from_slice(one);
                    }
                }
                for escape in &hole.escapes {
                    let mut out = Vec::new();
                    escape.write(&text, &mut out);
                    text = out;
                }
                self.text(&text);
            }
            _ => self.0.push(Piece::Hole(hole)),
        }
    }
}

/// Whether text of JSON stands in a string.
#[derive(Default)]
struct InString {
    is_in: bool,
    is_escaped: bool,
}

impl InString {
    fn pass(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut self.is_escaped) => {}
                b'\\' if self.is_in => self.is_escaped = true,
                b'"' => self.is_in = !self.is_in,
                _ => {}
            }
        }
    }
}
