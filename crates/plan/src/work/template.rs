//! Templates: text with holes, `${…}`, that every request fills with values of its own.
//!
//! A request is compiled once, to fixed text and holes with the escapes of their places, so that no value can break
//! the path, the field or the string of JSON that it stands in. This module fills nothing: the values of a request
//! are known to whoever sends it.

mod parse;

use super::journey::Known;
use super::{DataSet, Request, Variable};
use crate::escape::Escape;
use parse::Parser;

/// A piece of compiled text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The same in every request.
    Text(Vec<u8>),
    /// A value of each request.
    Hole(Hole),
}

impl Piece {
    /// Appends the numbers of the captured variables in it.
    pub fn variables(&self, all: &mut Vec<u32>) {
        match self {
            Piece::Text(_) => {}
            Piece::Hole(hole) => match &hole.value {
                Value::Variable(number) => all.push(*number as u32),
                Value::Group(inner) => inner.iter().for_each(|piece| piece.variables(all)),
                _ => {}
            },
        }
    }
}

/// A value, and what is done to it before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// The value.
    pub value: Value,
    /// What is done to it, from first to last.
    pub escapes: Vec<Escape>,
}

/// A value of each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The request's index in the load, from 0.
    Index,
    /// A random UUID (RFC 9562 5.4).
    Uuid {
        /// The number of this hole, which no other one of the plan has.
        draw: u64,
    },
    /// A whole number, each with the same probability.
    Random {
        /// The lowest.
        low: i64,
        /// The highest.
        high: i64,
        /// The number of this hole.
        draw: u64,
    },
    /// One of these texts, each with the same probability.
    Choice {
        /// The texts, at least one.
        of: Vec<String>,
        /// The number of this hole.
        draw: u64,
    },
    /// The time since 1970, UTC, in this unit.
    Now(Unit),
    /// Random letters and digits of ASCII.
    Chars {
        /// The least number of them.
        least: u32,
        /// The most.
        most: u32,
        /// The number of this hole.
        draw: u64,
    },
    /// A column of the request's row in a data set.
    Column {
        /// The set, by its place in the plan.
        set: usize,
        /// The column, by its place in the set.
        column: usize,
    },
    /// A variable that an earlier step captured.
    Variable(usize),
    /// The present credential of the target with this number. No text stands for it.
    Credential(u32),
    /// Several pieces together.
    Group(Vec<Piece>),
}

/// How the time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Whole seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Nanoseconds.
    Nanos,
    /// As a date (RFC 3339), to the second.
    Date,
}

/// A request, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The method.
    pub method: Vec<Piece>,
    /// Path and query.
    pub path: Vec<Piece>,
    /// Names and values of the header fields.
    pub headers: Vec<(String, Vec<Piece>)>,
    /// The body; empty for none.
    pub body: Vec<Piece>,
}

/// What names in a template can stand for.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The data sets.
    pub data: &'a [DataSet],
    /// Variables of the environment.
    pub environment: &'a [Variable],
    /// Variables of a user that are known by then.
    pub captured: Known<'a>,
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub(crate) String);

/// Compiles a text that stands by itself: values are not escaped.
pub fn compile_text(text: &str, names: Names<'_>) -> Result<Vec<Piece>, TemplateError> {
    Parser::new(names, usize::MAX >> 32).text(text, Place::Body)
}

/// Compiles a text that is the same each time, with variables of the environment. A value breaks no string of JSON.
pub fn compile_fixed(text: &str, names: Names<'_>) -> Result<Vec<u8>, TemplateError> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let place = if is_json { Place::Json } else { Place::Body };
    let pieces = Parser::new(names, usize::MAX >> 32).text(text, place)?;
    let texts = pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => Ok(text),
        Piece::Hole(_) => Err(TemplateError(
            "it is the same each time; of templates only ${env:NAME} can stand in it".to_owned(),
        )),
    });
    texts.collect::<Result<Vec<_>, _>>().map(|texts| texts.concat())
}

impl Template {
    /// Compiles request number `number` of a plan.
    pub fn compile(
        request: &Request,
        number: usize,
        names: Names<'_>,
    ) -> Result<Self, TemplateError> {
        if !request.holes {
            return Ok(Template::literal(request));
        }
        let mut parser = Parser::new(names, number);
        let mut text = |what: &str, text: &str, place| {
            parser
                .text(text, place)
                .map_err(|TemplateError(problem)| TemplateError(format!("{what}: {problem}")))
        };
        let headers = request.headers.iter().map(|(name, value)| {
            Ok((name.clone(), text(&format!("header {name}"), value, Place::Field)?))
        });
        let headers: Result<Vec<_>, _> = headers.collect();
        let headers = headers?;
        let method = text("the method", &request.method, Place::Field)?;
        let path = text("the path", &request.path, Place::Path)?;
        let body = if request.literal_body {
            fixed(request.body.whole())
        } else {
            let body = request.body.whole();
            let mut pieces = Vec::new();
            // Bytes that are no text are of the files of a form.
            for chunk in body.utf8_chunks() {
                let place = Place::of_body(request, chunk.valid());
                pieces.extend(text("the body", chunk.valid(), place)?);
                pieces.extend(fixed(chunk.invalid()));
            }
            pieces
        };
        Ok(Template { method, path, headers, body })
    }

    /// A request that is the same each time.
    fn literal(request: &Request) -> Self {
        let fields = request.headers.iter();
        Template {
            method: fixed(request.method.as_bytes()),
            path: fixed(request.path.as_bytes()),
            headers: fields.map(|(name, value)| (name.clone(), fixed(value.as_bytes()))).collect(),
            body: fixed(request.body.whole()),
        }
    }

    /// The sets that it takes values from, and of each the columns.
    pub fn columns(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for pieces in self.parts() {
            columns_of(pieces, &mut all);
        }
        all
    }

    fn parts(&self) -> impl Iterator<Item = &Vec<Piece>> {
        [&self.method, &self.path, &self.body]
            .into_iter()
            .chain(self.headers.iter().map(|(_, value)| value))
    }
}

/// Text that is the same in every request.
fn fixed(text: &[u8]) -> Vec<Piece> {
    if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.to_vec())] }
}

fn columns_of(pieces: &[Piece], all: &mut Vec<(usize, usize)>) {
    for piece in pieces {
        match piece {
            Piece::Hole(Hole { value: Value::Column { set, column }, .. }) => {
                all.push((*set, *column))
            }
            Piece::Hole(Hole { value: Value::Group(inner), .. }) => columns_of(inner, all),
            Piece::Hole(_) | Piece::Text(_) => {}
        }
    }
}

/// Where a hole stands, which decides how its value is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Field,
    Json,
    Form,
    Body,
}

impl Place {
    fn of_body(request: &Request, body: &str) -> Self {
        let content_type =
            request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let begins_as_json = body.trim_start().starts_with(['{', '[']);
        match content_type.map(|(_, value)| value.to_ascii_lowercase()) {
            _ if request.call.is_some() => Place::Json,
            Some(kind) if kind.contains("json") => Place::Json,
            Some(kind) if kind.contains("x-www-form-urlencoded") => Place::Form,
            None if begins_as_json => Place::Json,
            _ => Place::Body,
        }
    }
}

#[cfg(test)]
mod tests;
