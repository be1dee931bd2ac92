//! How values of parameters and of fields of forms are written (OpenAPI 3.0.4 and 3.1.1, "Style Values" and appendix C;
//! `collectionFormat` of Swagger 2.0).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::json::Json;
use crate::target::{Pair, form_encoded};
use crate::template::Template;

/// What stays percent-encoded with `allowReserved`: what would end a value, or not be sent at all.
const NOT_ALLOWED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Between the values of a list, and whether each has its name before it instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'d> {
    name: &'d str,
    explode: bool,
    is_reserved: bool,
}

impl<'d> Style<'d> {
    /// That of a parameter, or of the encoding of a field.
    pub(super) fn of(of: &'d Json, default: &'d str) -> Self {
        let name = of.str("style").or(of.str("collectionFormat")).unwrap_or(default);
        let explode = match of.get("explode") {
            Some(explode) => *explode == Json::Bool(true),
            None => name == "form" || name == "multi",
        };
        let is_reserved = of.get("allowReserved") == Some(&Json::Bool(true));
        Style { name, explode, is_reserved }
    }

    fn separator(self) -> &'static str {
        match self.name {
            "spaceDelimited" | "ssv" => "%20",
            "pipeDelimited" | "pipes" => "%7C",
            "tsv" => "%09",
            "label" if self.explode => ".",
            _ => ",",
        }
    }

    fn encoded(self, text: &str) -> String {
        match self.is_reserved {
            true => utf8_percent_encode(text, NOT_ALLOWED).to_string(),
            false => form_encoded(text),
        }
    }

    /// Names and values for a query or a form, both encoded.
    pub(super) fn pairs(self, name: &str, value: &Json<Template>) -> Vec<Pair> {
        let plain = form_encoded(name);
        let encoded = |text: &str| self.encoded(text);
        let one = |name: &str, value| (form_encoded(name), Some(word(value, &encoded)));
        match value {
            Json::Object(_) | Json::List(_) if self.name == "deepObject" => {
                let mut pairs = Vec::new();
                self.deep(name, value, &mut pairs);
                pairs
            }
            Json::Object(fields) if self.explode => {
                fields.iter().map(|(key, value)| one(key, value)).collect()
            }
            Json::List(items) if self.explode => items.iter().map(|item| one(name, item)).collect(),
            value => vec![(plain, Some(self.joined(value, &encoded)))],
        }
    }

    /// `name[key]`, and in the same way what is deeper, for which no style is defined.
    fn deep(self, name: &str, value: &Json<Template>, pairs: &mut Vec<Pair>) {
        match value {
            Json::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(key, value)| self.deep(&format!("{name}[{key}]"), value, pairs));
            }
            Json::List(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(at, item)| self.deep(&format!("{name}[{at}]"), item, pairs));
            }
            value => {
                pairs.push((form_encoded(name), Some(word(value, &|text| self.encoded(text)))))
            }
        }
    }

    /// One text for a path or a header field.
    pub(super) fn one(
        self,
        name: &str,
        value: &Json<Template>,
        encoded: &dyn Fn(&str) -> String,
    ) -> Template {
        let is_apart = self.explode && matches!(value, Json::List(_) | Json::Object(_));
        let mut text = Template::text(match self.name {
            "label" => ".".to_owned(),
            "matrix" if !is_apart => format!(";{}=", encoded(name)),
            _ => String::new(),
        });
        match (value, self.name) {
            (Json::List(items), "matrix") if is_apart => items.iter().for_each(|item| {
                text.push_text(&format!(";{}=", encoded(name)));
                text.push(&word(item, encoded));
            }),
            (Json::Object(fields), _) if is_apart => {
                for (index, (key, value)) in fields.iter().enumerate() {
                    text.push_text(match self.name {
                        "matrix" => ";",
                        _ if index == 0 => "",
                        _ => self.separator(),
                    });
                    text.push_text(&format!("{}=", encoded(key)));
                    text.push(&word(value, encoded));
                }
            }
            _ => text.push(&self.joined(value, encoded)),
        }
        text
    }

    /// The values of a list, or the names and values of an object, with separators.
    fn joined(self, value: &Json<Template>, encoded: &dyn Fn(&str) -> String) -> Template {
        let words: Vec<Template> = match value {
            Json::List(items) => items.iter().map(|item| word(item, encoded)).collect(),
            Json::Object(fields) => {
                let pair = |(key, value): &(String, _)| {
                    [Template::text(encoded(key)), word(value, encoded)]
                };
                fields.iter().flat_map(pair).collect()
            }
            value => vec![word(value, encoded)],
        };
        let mut text = Template::default();
        for (index, word) in words.iter().enumerate() {
            text.push_text(if index > 0 { self.separator() } else { "" });
            text.push(word);
        }
        text
    }
}

/// A scalar; of what has values of its own, its JSON.
fn word(value: &Json<Template>, encoded: &dyn Fn(&str) -> String) -> Template {
    match value {
        Json::Text(text) => text.map_text(encoded),
        Json::Null => Template::default(),
        value => value.to_text().map_text(encoded),
    }
}
