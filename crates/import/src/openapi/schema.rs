//! Values from schemas: examples and defaults where there are any, otherwise by type and format.
//!
//! The depth and the number of values are bounded; below the bound only required fields are made, then
//! none. So a schema that contains itself ends.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use candor_plan::redact::SecretKind;
use serde_json::Number;

use super::document::{Document, MAX_VALUE};
use crate::json::Json;
use crate::made;
use crate::template::Template;

/// Levels of objects in a body.
const MAX_DEPTH: usize = 8;
/// Levels at which fields are made that are not required.
const FULL_DEPTH: usize = 3;
/// Values of one body, and of one example.
const MAX_VALUES: usize = 500;
const MAX_EXAMPLE: usize = 2000;
/// Bytes of the texts and the names in one body.
const MAX_BYTES: usize = 256 * 1024;
/// Properties, and kinds of a choice, that are looked at for each value that there may be.
const LOOKS: usize = 10;
/// Parts of `allOf` and the like within each other.
const MAX_COMPOSED: usize = 16;

impl<'d> Document<'d> {
    /// A value for a body.
    pub(super) fn value_of(&self, schema: &'d Json) -> Json<Template> {
        Maker::new(self, MAX_VALUES, MAX_BYTES).value(schema, 0).0
    }

    /// An example as a body; null if it is larger than a body may be.
    pub(super) fn example(&self, example: &Json) -> Json<Template> {
        Maker::new(self, MAX_VALUES, MAX_BYTES).bounded(example)
    }

    /// A value for a parameter, and whether it is a guess.
    pub(super) fn scalar_of(&self, schema: &'d Json) -> (Json<Template>, bool) {
        match Maker::new(self, MAX_DEPTH, MAX_VALUE).value(schema, 0) {
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
    /// Bytes of texts that may still be made.
    bytes: Cell<usize>,
    /// Properties that may still be looked at.
    looks: Cell<usize>,
    /// Objects that are being made: one within itself is left out.
    open: RefCell<Vec<*const Json>>,
}

/// Takes from what is left, if there is as much.
fn take(left: &Cell<usize>, count: usize) -> bool {
    let rest = left.get().checked_sub(count);
    left.set(rest.unwrap_or(left.get()));
    rest.is_some()
}

impl<'d, 'r> Maker<'d, 'r> {
    fn new(document: &'r Document<'d>, values: usize, bytes: usize) -> Self {
        Maker {
            document,
            left: Cell::new(values),
            bytes: Cell::new(bytes),
            looks: Cell::new(values * LOOKS),
            open: RefCell::default(),
        }
    }

    fn value(&self, schema: &'d Json, depth: usize) -> (Json<Template>, bool) {
        let schema = self.document.resolve(schema);
        if depth > MAX_DEPTH || !take(&self.left, 1) {
            return (Json::Null, true);
        }
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
            let is_other = |one: &&Json| take(&self.looks, 1) && one.str("type") != Some("null");
            if let Some(first) = choices.iter().take(MAX_VALUES).find(is_other)
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

    /// An example of the document; null if it is larger than a body may be.
    fn bounded(&self, given: &Json) -> Json<Template> {
        fn fits(value: &Json, values: &Cell<usize>, bytes: &Cell<usize>) -> bool {
            let fits = |value: &Json| fits(value, values, bytes);
            take(values, 1)
                && take(bytes, value.as_str().map_or(0, str::len))
                && value.items().iter().all(fits)
                && value.fields().iter().all(|(name, value)| take(bytes, name.len()) && fits(value))
        }
        let values = Cell::new(MAX_EXAMPLE);
        if !fits(given, &values, &self.bytes) {
            return Json::Null;
        }
        self.left.set(self.left.get().saturating_sub(MAX_EXAMPLE - values.get()));
        given.clone().into_template()
    }

    /// The type, which may be a list of types since 3.1, or be left out.
    fn kind(&self, schema: &'d Json) -> &'d str {
        match schema.get("type") {
            Some(Json::Text(kind)) => kind,
            Some(Json::List(kinds)) => {
                let mut kinds = kinds.iter().take(MAX_DEPTH).filter_map(Json::as_str);
                kinds.find(|kind| *kind != "null").unwrap_or("null")
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
        let required: HashSet<&str> = parts
            .iter()
            .filter_map(|part| part.get("required"))
            .flat_map(|names| names.items().iter().filter_map(Json::as_str))
            .take_while(|_| take(&self.looks, 1))
            .collect();
        let mut known: HashSet<&str> = HashSet::new();
        let mut fields: Vec<(String, Json<Template>)> = Vec::new();
        let properties = parts.iter().filter_map(|part| part.get("properties"));
        for (name, property) in properties.flat_map(|all| all.fields()) {
            if self.left.get() == 0 || !take(&self.looks, 1) {
                break;
            }
            let is_required = required.contains(name.as_str());
            let resolved = self.document.resolve(property);
            let is_read_only = resolved.get("readOnly") == Some(&Json::Bool(true));
            if known.contains(name.as_str())
                || is_read_only
                || !is_required && depth >= FULL_DEPTH
                || !take(&self.bytes, name.len())
            {
                continue;
            }
            let (value, is_guess) = self.value(property, depth + 1);
            // A made text is no password: the user has one.
            let kind = match &value {
                Json::Text(text) if is_guess => SecretKind::of(name, &text.render()),
                _ => None,
            };
            let value = kind.map_or(value, |kind| {
                Json::Text(Template::hole(format!("env:{}", kind.variable())))
            });
            match value {
                Json::Null if !is_required => {}
                value => {
                    known.insert(name);
                    fields.push((name.clone(), value));
                }
            }
        }
        Json::Object(fields)
    }

    /// A schema and the parts that it is composed of, each once.
    fn parts(&self, schema: &'d Json, depth: usize, parts: &mut Vec<&'d Json>) {
        let schema = self.document.resolve(schema);
        let is_known = parts.iter().any(|one| std::ptr::eq(*one, schema));
        if is_known || depth > MAX_COMPOSED || parts.len() > MAX_VALUES || !take(&self.looks, 1) {
            return;
        }
        parts.push(schema);
        for part in schema.get("allOf").map_or(&[][..], Json::items).iter().take(MAX_VALUES) {
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

/// By format, or of the length that the schema asks for.
fn text(schema: &Json) -> Template {
    let of_format = made::of_format(schema.str("format").unwrap_or_default());
    let mut text = match of_format.as_ref().map(Template::as_text) {
        Some(None) => return of_format.unwrap_or_default(),
        Some(Some(text)) => text.to_owned(),
        None => "text".to_owned(),
    };
    let bound = |key: &str| match schema.get(key) {
        Some(Json::Number(number)) => number.as_u64().map(|length| length.min(1000) as usize),
        _ => None,
    };
    while text.len() < bound("minLength").unwrap_or(0) {
        text.push('x');
    }
    text.truncate(bound("maxLength").unwrap_or(text.len()));
    Template::text(text)
}
