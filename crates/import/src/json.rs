//! JSON values that keep the order of keys, read from JSON (by serde) and from YAML (by `yaml`).
//!
//! serde_json's own value would keep the order only with a feature that changes all documents of the
//! workspace. Depth is bounded by the reader, 128 for serde_json, and the number of values by [`MAX_VALUES`]:
//! a value of two bytes in a text takes some hundred in memory.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::template::Template;

/// Values of a document. The largest descriptions of real services have some hundred thousand.
pub(crate) const MAX_VALUES: usize = 2_000_000;
/// The keys among which one is looked for. Longer objects are lists of names, which are gone through.
const MAX_KEYS: usize = 256;

/// A value. Strings are text when read, and templates in a request of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<S = String> {
    Null,
    Bool(bool),
    Number(Number),
    Text(S),
    /// What stands in the text as it is: a hole for a number. No input has it.
    Raw(S),
    List(Vec<Json<S>>),
    Object(Vec<(String, Json<S>)>),
}

impl<S> Json<S> {
    /// The value of a key that the format of a document defines.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<S>> {
        let known = self.fields().iter().take(MAX_KEYS).find(|(name, _)| name == key);
        known.map(|(_, value)| value)
    }

    /// The entries of an object; none of other values.
    pub(crate) fn fields(&self) -> &[(String, Json<S>)] {
        match self {
            Json::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The elements of a list; none of other values.
    pub(crate) fn items(&self) -> &[Json<S>] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }
}

impl Json {
    pub(crate) fn parse(text: &str) -> Option<Json> {
        Json::read(text.as_bytes()).ok()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Json, serde_json::Error> {
        let mut input = serde_json::Deserializer::from_slice(bytes);
        let value = AnyJson { left: &Cell::new(MAX_VALUES) }.deserialize(&mut input)?;
        input.end()?;
        Ok(value)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a key's string.
    pub(crate) fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// A scalar as it would stand in a path or a query.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self {
            Json::Bool(is) => Some(is.to_string()),
            Json::Number(number) => Some(number.to_string()),
            Json::Text(text) => Some(text.clone()),
            Json::Null | Json::Raw(_) | Json::List(_) | Json::Object(_) => None,
        }
    }

    pub(crate) fn into_template(self) -> Json<Template> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(is) => Json::Bool(is),
            Json::Number(number) => Json::Number(number),
            Json::Text(text) | Json::Raw(text) => Json::Text(Template::text(text)),
            Json::List(items) => Json::List(items.into_iter().map(Json::into_template).collect()),
            Json::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| (key, value.into_template()));
                Json::Object(fields.collect())
            }
        }
    }
}

impl Json<Template> {
    /// Calls `visit` with each string and each number, and the key that it belongs to.
    pub(crate) fn strings(&mut self, key: &str, visit: &mut dyn FnMut(&str, &mut Json<Template>)) {
        match self {
            Json::List(items) => items.iter_mut().for_each(|item| item.strings(key, visit)),
            Json::Object(fields) => {
                fields.iter_mut().for_each(|(key, value)| value.strings(key, visit));
            }
            Json::Text(_) | Json::Number(_) | Json::Raw(_) => visit(key, self),
            Json::Null | Json::Bool(_) => {}
        }
    }

    /// The same that [`Json::strings`] visits.
    fn leaves<'j>(&'j self, to: &mut Vec<&'j Self>) {
        match self {
            Json::List(items) => items.iter().for_each(|item| item.leaves(to)),
            Json::Object(fields) => fields.iter().for_each(|(_, value)| value.leaves(to)),
            Json::Text(_) | Json::Number(_) | Json::Raw(_) => to.push(self),
            Json::Null | Json::Bool(_) => {}
        }
    }

    /// As the text that this value was read from: what did not change since keeps its blanks, escapes and digits.
    pub(crate) fn to_text_as(&self, text: &str) -> Template {
        let mut values = Vec::new();
        self.leaves(&mut values);
        let mut written = Template::default();
        let mut end = 0;
        for (value, place) in values.into_iter().zip(leaves(text)) {
            let is_same = match value {
                Json::Text(value) => value.as_text().is_some_and(|value| {
                    serde_json::from_str::<String>(&text[place.clone()])
                        .is_ok_and(|text| text == value)
                }),
                Json::Raw(value) => value.as_text() == Some(&text[place.clone()]),
                _ => true,
            };
            if !is_same {
                written.push_text(&text[end..place.start]);
                value.write(&mut written);
                end = place.end;
            }
        }
        written.push_text(&text[end..]);
        written
    }

    /// As JSON text without blanks.
    pub(crate) fn to_text(&self) -> Template {
        let mut text = Template::default();
        self.write(&mut text);
        text
    }

    fn write(&self, to: &mut Template) {
        match self {
            Json::Null => to.push_text("null"),
            Json::Bool(is) => to.push_text(if *is { "true" } else { "false" }),
            Json::Number(number) => to.push_text(&number.to_string()),
            Json::Text(text) => {
                to.push_text("\"");
                to.push(&text.map_text(quoted_inner));
                to.push_text("\"");
            }
            Json::Raw(text) => to.push(text),
            Json::List(items) => {
                to.push_text("[");
                for (index, item) in items.iter().enumerate() {
                    to.push_text(if index > 0 { "," } else { "" });
                    item.write(to);
                }
                to.push_text("]");
            }
            Json::Object(fields) => {
                to.push_text("{");
                for (index, (key, value)) in fields.iter().enumerate() {
                    to.push_text(if index > 0 { "," } else { "" });
                    to.push_text(&format!("\"{}\":", quoted_inner(key)));
                    value.write(to);
                }
                to.push_text("}");
            }
        }
    }
}

/// Where the strings and the numbers of a JSON text are, without its keys.
pub(crate) fn leaves(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut leaves = Vec::new();
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let begin = at;
        at += 1;
        let is_leaf = match first {
            b'"' => {
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = bytes.len().min(at + 1);
                !text[at..].trim_start().starts_with(':')
            }
            b'-' | b'0'..=b'9' => {
                let is_more = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                at += bytes[at..].iter().take_while(|byte| is_more(byte)).count();
                true
            }
            _ => false,
        };
        if is_leaf {
            leaves.push(begin..at);
        }
    }
    leaves
}

/// A JSON string without its quotation marks.
pub(crate) fn quoted_inner(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Reads a value.
#[derive(Clone, Copy)]
struct AnyJson<'l> {
    /// Values that may still come.
    left: &'l Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for AnyJson<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Json, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => {
                return Err(D::Error::custom(format_args!("more than {MAX_VALUES} values")));
            }
        }
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyJson<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Json, E> {
        Ok(Json::Bool(is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = object.next_key()? {
            fields.push((key, object.next_value_seed(self)?));
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_value_in_the_same_order() {
        let text = r#"{"z":[1,-2,0.5,null,true],"a":{"q":"\"\\\n\u0001é"},"":[]}"#;
        let value = Json::parse(text).unwrap();
        let written = value.clone().into_template().to_text();
        assert_eq!(written.as_text(), Some(text));
        assert_eq!(Json::parse(written.as_text().unwrap()), Some(value));
    }

    #[test]
    fn what_changed_alone_is_written_anew() {
        let text = "{ \"k\" : \"a\\/b\", \"n\":1e3,\r\n \"l\":[-1.50, \"\\u00e9\", {\"n\" : 2}], \"x\\\"\":null }";
        let places: Vec<_> = leaves(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(places, ["\"a\\/b\"", "1e3", "-1.50", "\"\\u00e9\"", "2"]);
        let mut value = Json::parse(text).unwrap().into_template();
        assert_eq!(value.to_text_as(text).as_text(), Some(text));
        value.strings("", &mut |name, value| match value {
            Json::Number(_) if name == "n" => *value = Json::Raw(Template::hole("x")),
            Json::Text(text) if name == "l" => text.push_text("\n"),
            _ => {}
        });
        assert_eq!(
            value.to_text_as(text).render(),
            "{ \"k\" : \"a\\/b\", \"n\":${x},\r\n \"l\":[-1.50, \"é\\n\", {\"n\" : ${x}}], \"x\\\"\":null }"
        );
    }

    #[test]
    fn nesting_has_a_bound() {
        assert!(Json::parse(&("[".repeat(127) + &"]".repeat(127))).is_some());
        assert!(Json::parse(&("[".repeat(100_000) + &"]".repeat(100_000))).is_none());
    }
}
