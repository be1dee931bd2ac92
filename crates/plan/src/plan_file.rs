//! Errors of files in TOML: plans, suites, configurations.
//!
//! The TOML library reports the fault and its byte. This module adds the file, the line, the key
//! and the nearest known key. It does not know what the files mean.

use std::fmt::{self, Display};
use std::ops::Range;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::de::{DeTable, DeValue};

use crate::error::PlanError;
use crate::redact;
use crate::suggest::did_you_mean;

/// Adds the place in `text` and the remedy to an error; `name` is the file. `keys` returns the keys of the table at a path without indices: the path is empty
/// for the top level, `request` for a plan's requests.
pub fn explain(
    name: &str,
    text: &str,
    error: &toml::de::Error,
    keys: &dyn Fn(&str) -> &'static [&'static str],
) -> PlanError {
    let at = error.span().map_or(0, |span| span.start);
    let (line, column) = position(text, at);
    let message = message(text, error, keys);
    PlanError::PlanFile { file: name.to_owned(), line, column, message }
}

/// Keys that a TOML table for `T` may have.
pub fn keys_of<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(Keys) {
        Err(Found(keys)) => keys,
        Ok(_) => &[],
    }
}

fn message(
    text: &str,
    error: &toml::de::Error,
    keys: &dyn Fn(&str) -> &'static [&'static str],
) -> String {
    let problem = error.message().trim().replace('\n', "; ");
    let Ok(document) = DeTable::parse(text) else {
        return format!("not valid TOML: {problem}");
    };
    let Some(span) = error.span() else { return problem };
    // The sentence of a type may quote its value.
    let problem = match text.get(span.clone()) {
        Some(value) if value.len() <= MOST_QUOTED => redact::without_refused(&problem, value),
        _ => problem,
    };
    let place = place(document.get_ref(), &span, String::new());
    let refused = place.as_ref().filter(|place| place.is_key);
    let refused = refused.map(|place| (place.key(), table_of(place)));
    if let Some((word, table)) = refused.filter(|(_, table)| !has_free_keys(table))
        && let keys = keys(&table)
        && !keys.contains(&word)
    {
        let hint = did_you_mean(word, keys.iter().copied());
        let hint = match hint.is_empty() {
            true => format!("; the keys are {}", keys.join(", ")),
            false => hint,
        };
        return format!("unknown key \"{word}\"{hint}");
    }
    match place {
        Some(Place { path, value: Some(value), .. })
            if value.len() <= 80 && !value.contains('\n') =>
        {
            format!("{path} = {value}: {problem}")
        }
        Some(Place { path, .. }) => format!("{path}: {problem}"),
        None => problem,
    }
}

/// A longer value is a table.
const MOST_QUOTED: usize = 1000;

/// The path of the table that contains a key, without indices.
fn table_of(place: &Place) -> String {
    let table = place.path[..place.path.len() - place.key_bytes].trim_end_matches('.');
    let parts = table.split('.').map(|part| part.split_once('[').map_or(part, |(name, _)| name));
    parts.collect::<Vec<_>>().join(".")
}

/// Whether the keys of the table at this path are the user's own: names of fields, variables and
/// files.
fn has_free_keys(table: &str) -> bool {
    matches!(
        table.rsplit('.').next(),
        Some("header" | "headers" | "env" | "files" | "data" | "json" | "capture")
    )
}

/// A key, and the text of its value if that may be shown.
struct Place {
    path: String,
    value: Option<String>,
    /// The error is at the key itself, and not at its value.
    is_key: bool,
    /// Length in bytes of the key at the end of `path`, since quoted keys may contain dots.
    key_bytes: usize,
}

impl Place {
    fn key(&self) -> &str {
        &self.path[self.path.len() - self.key_bytes..]
    }
}

/// The deepest key at `span`, as a dotted path; requests are counted from 1.
fn place(table: &DeTable<'_>, span: &Range<usize>, prefix: String) -> Option<Place> {
    let within = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    table.iter().find_map(|(key, value)| {
        let path = format!("{prefix}{}", key.get_ref());
        let deeper = match value.get_ref() {
            DeValue::Table(inner) => place(inner, span, format!("{path}.")),
            DeValue::Array(list) => list.iter().enumerate().find_map(|(index, one)| {
                let inner = one.get_ref().as_table()?;
                place(inner, span, format!("{path}[{}].", index + 1))
            }),
            _ => None,
        };
        let here = || {
            (within(value.span()) || within(key.span())).then(|| Place {
                path: path.clone(),
                value: shown(&path, value.get_ref()),
                is_key: within(key.span()),
                key_bytes: key.get_ref().len(),
            })
        };
        deeper.or_else(here)
    })
}

/// A scalar for a message, if it may be shown.
fn shown(path: &str, value: &DeValue<'_>) -> Option<String> {
    if is_hidden(path) {
        return None;
    }
    match value {
        DeValue::String(text) => Some(format!("\"{}\"", redact::refused(text))),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(is) => Some(is.to_string()),
        _ => None,
    }
}

/// Whether the values of this key may be secret.
fn is_hidden(path: &str) -> bool {
    let mut keys = path.split('.').map(|key| key.split('[').next().unwrap_or(key));
    keys.any(|key| redact::kind_of_option(key).is_some())
}

/// Line and column of the byte `at`, both from 1, columns in characters.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A deserializer that only collects the fields that a struct asks for, so the struct is the only
/// list of its keys.
struct Keys;

#[derive(Debug)]
struct Found(&'static [&'static str]);

impl Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:?}", self.0)
    }
}

impl std::error::Error for Found {}

impl de::Error for Found {
    fn custom<T: Display>(_: T) -> Self {
        Found(&[])
    }
}

impl<'de> Deserializer<'de> for Keys {
    type Error = Found;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Found> {
        Err(Found(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Found> {
        Err(Found(fields))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
