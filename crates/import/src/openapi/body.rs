//! Bodies of requests: JSON, forms, forms with parts, and texts.

use candor_plan::values::{FORM_BOUNDARY, FormField};

use super::check::Fault;
use super::document::Document;
use super::make::{MAX_BODY, MAX_PARAMETER};
use super::style::Style;
use super::{ANYTHING, INVALID, MAX_KEYS, MAX_PATH, Operation};
use crate::draft::{Body, Step};
use crate::json::Json;
use crate::recorded::{self, add_header};
use crate::target::form_encoded;
use crate::template::Template;

/// The longest text that is an example of JSON.
const MAX_EXAMPLE: usize = 256 * 1024;
const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data";

/// A field of a form.
struct Field<'d> {
    name: String,
    value: Json<Template>,
    is_file: bool,
    /// How it is written, as the description's encoding or parameter says.
    encoding: Option<&'d Json>,
}

/// Whether a media type is JSON.
pub(super) fn is_json(kind: &str) -> bool {
    let kind = plain(kind);
    kind.ends_with("/json") || kind.ends_with("+json") || ["*/*", "application/*"].contains(&kind)
}

/// A media type without its parameters.
fn plain(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

/// Of several media types, the one that a body is made of best.
fn rank(kind: &str) -> usize {
    match plain(kind) {
        _ if is_json(kind) => 0,
        FORM => 1,
        PARTS => 3,
        kind if kind.ends_with("xml") || kind.starts_with("multipart/") => 4,
        _ => 2,
    }
}

impl<'d> Operation<'d> {
    /// Adds the body that the operation describes.
    pub(super) fn body(&self, step: &mut Step, parameters: &[&'d Json]) {
        // Swagger 2.0 has the body among the parameters.
        let of = |place: &str| {
            parameters
                .iter()
                .copied()
                .filter(|one| one.str("in") == Some(place))
                .collect::<Vec<_>>()
        };
        let consumes = self.operation.get("consumes").or(self.document.root().get("consumes"));
        let kinds = consumes.map_or(&[][..], Json::items).iter().take(MAX_KEYS);
        let kinds: Vec<&str> = kinds.filter_map(Json::as_str).collect();
        if let Some(body) = of("body").first() {
            let kind = kinds.into_iter().min_by_key(|kind| rank(kind));
            return self.set_body(step, kind.unwrap_or("application/json"), body);
        }
        let fields = of("formData");
        if !fields.is_empty() {
            let has_file = fields.iter().any(|field| field.str("type") == Some("file"));
            let has = |kind: &str| kinds.iter().any(|one| plain(one) == kind);
            let is_multipart =
                has(PARTS) && (has_file || !has(FORM)) || has_file && kinds.is_empty();
            return self.set_fields(step, &fields, is_multipart);
        }
        let Some(body) = self.operation.get("requestBody") else { return };
        let contents = self.document.resolve(body).get("content").map_or(&[][..], Json::fields);
        let best = contents.iter().take(MAX_KEYS).min_by_key(|(kind, _)| rank(kind));
        if let Some((kind, media)) = best {
            self.set_body(step, kind, self.document.resolve(media));
        }
    }

    /// A form of Swagger 2.0.
    fn set_fields(&self, step: &mut Step, parameters: &[&'d Json], is_multipart: bool) {
        let mut fields = Vec::new();
        for parameter in parameters {
            let name = parameter.str("name").unwrap_or_default();
            let is_file = parameter.str("type") == Some("file");
            if name.len() > MAX_PATH {
                continue;
            }
            if is_file && !is_multipart {
                step.remark(format!("left out: file {name}"));
                continue;
            }
            let examples = self.document.examples_of(parameter);
            let (made, fault) = self.document.make(parameter, &examples, MAX_PARAMETER);
            if let Some(fault) = fault {
                step.remark(format!("{INVALID}{name:.100} does not satisfy {fault} of its schema"));
            }
            if made.value != Json::Null {
                let name = name.to_owned();
                fields.push(Field { name, value: made.value, is_file, encoding: Some(parameter) });
            }
        }
        self.write_fields(step, if is_multipart { PARTS } else { FORM }, fields);
    }

    /// A body of a media type, or of a parameter that stands for one.
    fn set_body(&self, step: &mut Step, kind: &str, media: &'d Json) {
        let document = self.document;
        let is_json = is_json(kind);
        let described = media.get("schema");
        // JSON in a text, which some write as an example.
        let texts = document.examples_of(media).into_iter().map(|example| {
            let text = example.as_str().filter(|text| is_json && text.len() <= MAX_EXAMPLE);
            text.and_then(Json::parse).filter(|json| json.as_str().is_none())
        });
        let texts: Vec<Option<Json>> = texts.collect();
        let examples = document.examples_of(media).into_iter().zip(&texts);
        let examples: Vec<&Json> =
            examples.map(|(example, text)| text.as_ref().unwrap_or(example)).collect();
        let empty = is_json && described.is_none() && examples.is_empty();
        let (made, fault) = document.make(described.unwrap_or(ANYTHING), &examples, MAX_BODY);
        let value = if empty { Json::Object(Vec::new()) } else { made.value };
        if made.is_guess {
            step.remark("guess: the body is made from its schema");
        }
        if let Some(fault) = fault {
            step.remark(invalid(&fault));
        }
        match plain(kind) {
            _ if is_json => step.body = Some(Body::json(value)),
            FORM | PARTS if matches!(value, Json::Object(_)) => {
                let Json::Object(fields) = value else { return };
                let encodings = media.get("encoding");
                let fields = fields.into_iter().map(|(name, value)| Field {
                    is_file: described.is_some_and(|one| is_file(document, one, &name, 0)),
                    encoding: encodings.and_then(|all| document.get(all, &name)),
                    name,
                    value,
                });
                return self.write_fields(step, plain(kind), fields.collect());
            }
            other if rank(other) == 2 => {
                let text = match value {
                    Json::Text(text) => text,
                    value => value.to_text(),
                };
                step.body = Some(Body::Text(text));
            }
            _ => {
                step.remark(format!("left out: a body of the type {kind}; use body or body-file"));
                return;
            }
        }
        let kind = match kind {
            "*/*" | "application/*" => "application/json",
            "text/*" => "text/plain",
            kind if kind.ends_with("/*") => "application/octet-stream",
            kind => kind,
        };
        add_header(step, "Content-Type", Template::text(kind));
    }

    fn write_fields(&self, step: &mut Step, kind: &str, fields: Vec<Field<'d>>) {
        if kind == FORM {
            let pairs = fields.iter().flat_map(|field| self.pairs(field)).collect();
            add_header(step, "Content-Type", Template::text(FORM));
            step.body = Some(Body::Form(pairs));
            return;
        }
        let mut parts = Vec::new();
        for field in fields {
            let own = field.encoding.and_then(|one| one.str("contentType"));
            let own = own.map(|kinds| kinds.split(',').next().unwrap_or_default().trim());
            if field.is_file {
                step.remark(format!("guess: the content of the file {}", field.name));
            }
            let is_whole = own.is_some_and(is_json);
            // A list is a part for each value, unless it is JSON as a whole.
            let values = match field.value {
                Json::List(items) if !is_whole => items,
                value => vec![value],
            };
            for value in values {
                let default = match &value {
                    _ if field.is_file => Some("application/octet-stream"),
                    Json::Object(_) | Json::List(_) => Some("application/json"),
                    _ => None,
                };
                let own = own.filter(|own| !own.contains('*'));
                let part = FormField {
                    name: field.name.clone(),
                    filename: field.is_file.then(|| field.name.clone()),
                    content_type: own.or(default).map(str::to_owned),
                    ..FormField::default()
                };
                let value = match value {
                    Json::Text(text) if !is_whole => text,
                    value => value.to_text(),
                };
                parts.push((part, value));
            }
        }
        let kind = format!("{PARTS}; boundary={FORM_BOUNDARY}");
        add_header(step, "Content-Type", Template::text(kind));
        recorded::form(step, parts, FORM_BOUNDARY, false);
    }

    /// A field of a form as it stands in it.
    fn pairs(&self, field: &Field<'d>) -> Vec<crate::target::Pair> {
        let encoding = field.encoding.unwrap_or(&Json::Null);
        let has_style = ["style", "explode", "allowReserved", "collectionFormat"]
            .iter()
            .any(|key| encoding.get(key).is_some());
        let is_whole = encoding.str("contentType").is_some_and(is_json);
        match &field.value {
            // An object in a form is JSON, unless the description says otherwise.
            value @ (Json::Object(_) | Json::List(_))
                if !has_style && (is_whole || matches!(value, Json::Object(_))) =>
            {
                vec![(form_encoded(&field.name), Some(value.to_text().map_text(form_encoded)))]
            }
            value => match field.encoding {
                Some(encoding) => self.style(encoding).pairs(&field.name, value),
                None => Style::of(&Json::Null, "form").pairs(&field.name, value),
            },
        }
    }
}

fn invalid(fault: &Fault) -> String {
    format!("{INVALID}the body does not satisfy {fault} of its schema")
}

/// Whether a property of an object is a file.
fn is_file<'d>(document: &Document<'d>, schema: &'d Json, name: &str, depth: usize) -> bool {
    let schema = document.resolve(schema);
    let is_binary = |one: &'d Json| {
        let one = document.resolve(one);
        let media = one.get("contentMediaType").is_some() && one.get("contentEncoding").is_none();
        one.str("format") == Some("binary") || media
    };
    let property = schema.get("properties").and_then(|all| document.get(all, name));
    let items = property.and_then(|one| document.resolve(one).get("items"));
    let parts = ["allOf", "oneOf", "anyOf"].iter().filter_map(|key| schema.get(key));
    let mut parts = parts.flat_map(|all| all.items().iter().take(8));
    property.into_iter().chain(items).any(is_binary)
        || depth < 4 && parts.any(|part| is_file(document, part, name, depth + 1))
}
