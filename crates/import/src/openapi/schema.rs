//! Values from schemas: examples and defaults where there are any, otherwise by type and format.
//!
//! The depth and the number of values are bounded; below the bound only required fields are made, then
//! none. So a schema that contains itself ends.

use std::cell::{Cell, RefCell};

use serde_json::Number;

use super::document::Document;
use crate::json::Json;
use crate::template::Template;

/// Levels of objects in a body.
const MAX_DEPTH: usize = 8;
/// Levels at which fields are made that are not required.
const FULL_DEPTH: usize = 3;
/// Values of one body.
const MAX_VALUES: usize = 500;
/// Parts of `allOf` and the like within each other.
const MAX_COMPOSED: usize = 16;

impl<'d> Document<'d> {
    /// A value for a body.
    pub(super) fn value_of(&self, schema: &'d Json) -> Json<Template> {
        let maker = Maker { document: self, left: Cell::new(MAX_VALUES), open: RefCell::default() };
        maker.value(schema, 0).0
    }

    /// A value for a parameter, and whether it is a guess.
    pub(super) fn scalar_of(&self, schema: &'d Json) -> (Json<Template>, bool) {
        let maker = Maker { document: self, left: Cell::new(MAX_VALUES), open: RefCell::default() };
        match maker.value(schema, 0) {
            (Json::List(items), is_guess) => {
                (items.into_iter().next().unwrap_or(Json::Text(Template::default())), is_guess)
            }
            (Json::Object(_) | Json::Null, _) => {
                (Json::Text(Template::hole("random 1..100")), true)
            }
            value => value,
        }
    }
}

struct Maker<'d, 'r> {
    document: &'r Document<'d>,
    /// Values that may still be made.
    left: Cell<usize>,
    /// Objects that are being made: one within itself is left out.
    open: RefCell<Vec<*const Json>>,
}

impl<'d> Maker<'d, '_> {
    fn value(&self, schema: &'d Json, depth: usize) -> (Json<Template>, bool) {
        let schema = self.document.resolve(schema);
        let left = self.left.get();
        if left == 0 || depth > MAX_DEPTH {
            return (Json::Null, true);
        }
        self.left.set(left - 1);
        let given =
            self.document.example_of(schema).or(schema.get("default")).or(schema.get("const"));
        if let Some(given) = given.filter(|given| **given != Json::Null) {
            return (self.bounded(given), false);
        }
        if let Some(first) = schema.get("enum").and_then(|all| all.items().first()) {
            return (self.bounded(first), false);
        }
        for choice in ["oneOf", "anyOf"] {
            let choices = schema.get(choice).map_or(&[][..], Json::items);
            let is_null = |one: &&Json| one.str("type") == Some("null");
            if let Some(first) = choices.iter().find(|one| !is_null(one))
                && schema.get("properties").is_none()
            {
                return self.value(first, depth + 1);
            }
        }
        match self.kind(schema) {
            "object" if self.open.borrow().contains(&std::ptr::from_ref(schema)) => {
                (Json::Null, true)
            }
            "object" => {
                self.open.borrow_mut().push(schema);
                let object = self.object(schema, depth);
                self.open.borrow_mut().pop();
                (object, true)
            }
            "array" => {
                let item = schema.get("items").map(|items| self.value(items, depth + 1).0);
                (Json::List(item.into_iter().filter(|one| *one != Json::Null).collect()), true)
            }
            "integer" | "number" => (number(schema), true),
            "boolean" => (Json::Bool(true), true),
            "null" => (Json::Null, true),
            _ => (Json::Text(text(schema)), true),
        }
    }

    /// An example of the document, if it is not larger than a body may be.
    fn bounded(&self, given: &Json) -> Json<Template> {
        fn count(value: &Json) -> usize {
            let inner: usize = value.items().iter().map(count).sum();
            1 + inner + value.fields().iter().map(|(_, value)| count(value)).sum::<usize>()
        }
        let size = count(given);
        let left = self.left.get();
        if size > MAX_VALUES * 4 {
            return Json::Null;
        }
        self.left.set(left.saturating_sub(size));
        given.clone().into_template()
    }

    /// The type, which may be a list of types since 3.1, or be left out.
    fn kind(&self, schema: &'d Json) -> &'d str {
        match schema.get("type") {
            Some(Json::Text(kind)) => kind,
            Some(Json::List(kinds)) => {
                let kinds = kinds.iter().filter_map(Json::as_str);
                kinds.into_iter().find(|kind| *kind != "null").unwrap_or("null")
            }
            _ if schema.get("properties").or(schema.get("allOf")).is_some() => "object",
            _ if schema.get("additionalProperties").is_some() => "object",
            _ if schema.get("items").is_some() => "array",
            _ if matches!(schema, Json::Null) => "null",
            _ => "string",
        }
    }

    fn object(&self, schema: &'d Json, depth: usize) -> Json<Template> {
        let mut parts = Vec::new();
        self.parts(schema, 0, &mut parts);
        let required: Vec<&str> = parts
            .iter()
            .filter_map(|part| part.get("required"))
            .flat_map(|names| names.items().iter().filter_map(Json::as_str))
            .collect();
        let mut fields: Vec<(String, Json<Template>)> = Vec::new();
        for part in parts {
            for (name, property) in part.get("properties").map_or(&[][..], Json::fields) {
                if self.left.get() == 0 {
                    break;
                }
                let is_required = required.contains(&name.as_str());
                let resolved = self.document.resolve(property);
                let is_read_only = resolved.get("readOnly") == Some(&Json::Bool(true));
                let is_known = fields.iter().any(|(known, _)| known == name);
                if is_known || is_read_only || !is_required && depth >= FULL_DEPTH {
                    continue;
                }
                match self.value(property, depth + 1).0 {
                    Json::Null if !is_required => {}
                    value => fields.push((name.clone(), value)),
                }
            }
        }
        Json::Object(fields)
    }

    /// A schema and the parts that it is composed of.
    fn parts(&self, schema: &'d Json, depth: usize, parts: &mut Vec<&'d Json>) {
        let schema = self.document.resolve(schema);
        if depth > MAX_COMPOSED || parts.len() > MAX_VALUES {
            return;
        }
        parts.push(schema);
        for part in schema.get("allOf").map_or(&[][..], Json::items) {
            self.parts(part, depth + 1, parts);
        }
    }
}

/// Random between the bounds that the schema has.
fn number(schema: &Json) -> Json<Template> {
    let bound = |key: &str| match schema.get(key) {
        Some(Json::Number(number)) => number.as_f64(),
        _ => None,
    };
    let low = bound("minimum").filter(|low| low.abs() < 1e15);
    let high = bound("maximum").filter(|high| high.abs() < 1e15);
    let low = low.map_or_else(|| high.map_or(1.0, |high| high.min(1.0)), f64::ceil);
    let high = high.unwrap_or(low.max(0.0) + 99.0).floor();
    match schema.str("type") {
        // A fraction is as good as any.
        Some("number") => Number::from_f64(low.min(high)).map_or(Json::Null, Json::Number),
        _ if low < high => {
            Json::Raw(Template::hole(format!("random {}..{}", low as i64, high as i64)))
        }
        _ => Json::Number((low as i64).into()),
    }
}

/// By format, as RFC 3339 and the like have it.
fn text(schema: &Json) -> Template {
    let template = match schema.str("format").unwrap_or_default() {
        "uuid" => return Template::hole("uuid"),
        "date-time" => "2024-01-01T00:00:00Z",
        "date" => "2024-01-01",
        "time" => "00:00:00Z",
        "email" => {
            let mut email = Template::text("user");
            email.push_hole("seq");
            email.push_text("@example.com");
            return email;
        }
        "uri" | "url" | "iri" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let bound = |key: &str| match schema.get(key) {
        Some(Json::Number(number)) => number.as_u64().map(|length| length.min(1000) as usize),
        _ => None,
    };
    let mut text = template.to_owned();
    while text.len() < bound("minLength").unwrap_or(0) {
        text.push('x');
    }
    text.truncate(bound("maxLength").unwrap_or(text.len()));
    Template::text(text)
}
