//! Descriptions of interfaces (OpenAPI 3.0 and 3.1, Swagger 2.0; JSON and YAML): a request for each
//! operation.
//!
//! `document` reads and resolves references, `schema` makes values from schemas. Both have bounds, so that
//! a document that refers to itself ends in a plan all the same.

mod document;
mod schema;

use self::document::Document;
use crate::draft::{Body, Draft, Step, counted};
use crate::error::{Format, ImportError};
use crate::json::Json;
use crate::recorded::{Room, add_header, base_url, split_url};
use crate::secrets::Secrets;
use crate::target::{Target, form_encoded, sendable};
use crate::template::Template;
use crate::{Imported, Options};

/// Parameters of an operation.
const MAX_PARAMETERS: usize = 500;
/// Methods and other keys of a path.
const MAX_KEYS: usize = 64;
/// The longest path.
const MAX_PATH: usize = 4096;
/// The longest text that is an example of JSON.
const MAX_EXAMPLE: usize = 256 * 1024;
const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];

/// A plan from a description of an interface: independent requests, one for each operation.
pub fn openapi(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    Format::OpenApi.check(bytes)?;
    let root = document::parse(bytes)?;
    let document = Document::new(&root);
    let mut secrets = Secrets::of_description();
    let mut draft = Draft::default();
    let prefix = server(&document, options, &mut draft)?;
    let mut room = Room::default();
    let mut left_out = 0;
    for (path, item) in root.get("paths").map_or(&[][..], Json::fields) {
        let item = document.resolve(item);
        for (method, operation) in item.fields().iter().take(MAX_KEYS) {
            if !METHODS.contains(&method.as_str()) || !matches!(operation, Json::Object(_)) {
                continue;
            }
            if draft.requests.len() == options.max_requests() || path.len() > MAX_PATH {
                left_out += 1;
                continue;
            }
            let operation = Operation { document: &document, path, method, item, operation };
            let mut step = operation.step(&prefix, &mut secrets);
            match room.take(step.size()) {
                true => draft.requests.push(step),
                false => left_out += 1,
            }
        }
    }
    if draft.requests.is_empty() {
        return Err(ImportError::Empty {
            format: Format::OpenApi,
            problem: "it describes no operation".to_owned(),
            remedy: "import one with methods under paths".to_owned(),
        });
    }
    if left_out > 0 {
        draft.remark(format!(
            "Left out: {}; the first {} are here",
            counted(left_out, "operation"),
            draft.requests.len()
        ));
    }
    let changes =
        draft.requests.iter().filter(|one| !["", "HEAD", "OPTIONS"].contains(&one.method.as_str()));
    let changes = changes.count();
    if changes > 0 {
        draft.remark(format!(
            "Requests that change data: {changes}; run them only where that is meant"
        ));
    }
    draft.remark(
        "Guess: values come from examples, defaults and schemas, and may name nothing that exists",
    );
    Ok(draft.finish(secrets))
}

/// Writes the URL of the first server; returns the path that all requests begin with.
fn server(
    document: &Document<'_>,
    options: &Options,
    draft: &mut Draft,
) -> Result<String, ImportError> {
    const UNKNOWN: &str = "http://localhost:8080";
    let described = document.server();
    let described = described.trim_end_matches('/');
    let (found, prefix) = match split_url(described) {
        // Without a scheme it is a path of the server that the document came from.
        Ok((server, target, _)) if described.contains("://") => {
            let prefix = target.to_template().as_text().unwrap_or_default().to_owned();
            (server.url().to_owned(), prefix)
        }
        _ => {
            if options.url.is_none() {
                draft.remark("guess: the document names no server; the URL is to be set");
            }
            let path = described.split_once("://").map_or(described, |_| "");
            (UNKNOWN.to_owned(), sendable(path))
        }
    };
    draft.url = base_url(options.url.as_deref(), &found)?;
    let prefix = prefix.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    Ok(match prefix.is_empty() || prefix.starts_with('/') {
        true => prefix.to_owned(),
        false => format!("/{prefix}"),
    })
}

struct Operation<'d> {
    document: &'d Document<'d>,
    path: &'d str,
    method: &'d str,
    item: &'d Json,
    operation: &'d Json,
}

impl<'d> Operation<'d> {
    fn step(&self, prefix: &str, secrets: &mut Secrets) -> Step {
        let name = self.operation.str("operationId").or(self.operation.str("summary"));
        let name = name.map_or_else(|| format!("{} {}", self.method, self.path), str::to_owned);
        let mut step = Step { name: name.chars().take(MAX_PATH).collect(), ..Step::default() };
        step.method = if self.method == "get" { String::new() } else { self.method.to_uppercase() };
        step.target = Target::parse(&format!("{prefix}{}", self.path.replace('?', "%3F")));
        if self.operation.get("deprecated") == Some(&Json::Bool(true)) {
            step.remark("deprecated, says the document");
        }
        let parameters = self.parameters();
        self.fill_path(&mut step, &parameters);
        for parameter in &parameters {
            self.parameter(&mut step, parameter);
        }
        self.body(&mut step, &parameters);
        self.security(&mut step, secrets);
        step.expect_status = self.expected();
        step
    }

    /// Those of the operation, then those of its path that it does not replace.
    fn parameters(&self) -> Vec<&'d Json> {
        let list = |from: &'d Json| from.get("parameters").map_or(&[][..], Json::items);
        let mut all: Vec<&Json> = Vec::new();
        let listed = list(self.operation).iter().chain(list(self.item)).take(MAX_PARAMETERS);
        for parameter in listed {
            let parameter = self.document.resolve(parameter);
            let key = (parameter.str("name"), parameter.str("in"));
            if !all.iter().any(|known| (known.str("name"), known.str("in")) == key) {
                all.push(parameter);
            }
        }
        all
    }

    /// `{name}` in the path.
    fn fill_path(&self, step: &mut Step, parameters: &[&'d Json]) {
        let mut guesses = Vec::new();
        for segment in &mut step.target.segments {
            let Some(text) = segment.as_text().map(str::to_owned) else { continue };
            let mut filled = Template::default();
            let mut rest = text.as_str();
            while let Some((before, (name, after))) = rest
                .split_once('{')
                .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
            {
                filled.push_text(before);
                let is_this =
                    |one: &&&Json| one.str("in") == Some("path") && one.str("name") == Some(name);
                let (value, is_guess) = match parameters.iter().find(is_this) {
                    Some(parameter) => self.document.value_of_parameter(parameter),
                    None => (Template::hole("random 1..100"), true),
                };
                if is_guess {
                    guesses.push(name.to_owned());
                }
                filled.push(&value.map_text(form_encoded));
                rest = after;
            }
            filled.push_text(rest);
            *segment = filled;
        }
        if !guesses.is_empty() {
            step.remark(format!("guess: {} in the path", guesses.join(", ")));
        }
    }

    /// A query parameter or a header field, if it has to be there.
    fn parameter(&self, step: &mut Step, parameter: &'d Json) {
        let Some(name) = parameter.str("name").filter(|name| name.len() <= MAX_PATH) else {
            return;
        };
        if parameter.get("required") != Some(&Json::Bool(true)) {
            return;
        }
        let (value, is_guess) = match parameter.str("in") {
            Some("query" | "header") => self.document.value_of_parameter(parameter),
            Some("cookie") => {
                step.remark(format!("left out: the required cookie {name}"));
                return;
            }
            _ => return,
        };
        if is_guess {
            step.remark(format!("guess: {name}"));
        }
        if parameter.str("in") == Some("query") {
            step.target.push_query(name, value.map_text(form_encoded));
        } else {
            add_header(step, name, value);
        }
    }

    fn body(&self, step: &mut Step, parameters: &[&'d Json]) {
        // Swagger 2.0 has the body among the parameters.
        if let Some(body) = parameters.iter().find(|one| one.str("in") == Some("body")) {
            let schema = body.get("schema").unwrap_or(&Json::Null);
            let consumes = self.operation.get("consumes").or(self.document.root().get("consumes"));
            let kinds = consumes.map_or(&[][..], Json::items);
            let kind = kinds.first().and_then(Json::as_str).unwrap_or("application/json");
            self.set_body(step, kind, None, schema);
            return;
        }
        let fields: Vec<_> =
            parameters.iter().filter(|one| one.str("in") == Some("formData")).collect();
        if !fields.is_empty() {
            let mut pairs = Vec::new();
            for field in fields {
                let name = field.str("name").unwrap_or_default();
                if name.len() > MAX_PATH {
                    continue;
                }
                if field.str("type") == Some("file") {
                    step.remark(format!("left out: file {name}"));
                    continue;
                }
                let (value, _) = self.document.value_of_parameter(field);
                pairs.push((form_encoded(name), Some(value.map_text(form_encoded))));
            }
            add_header(step, "Content-Type", Template::text("application/x-www-form-urlencoded"));
            step.body = Some(Body::Form(pairs));
            return;
        }
        let Some(body) = self.operation.get("requestBody") else { return };
        let contents = self.document.resolve(body).get("content").map_or(&[][..], Json::fields);
        let rank = |kind: &str| match kind {
            kind if kind.ends_with("json") => 0,
            "application/x-www-form-urlencoded" => 1,
            "multipart/form-data" => 3,
            _ => 2,
        };
        let best = contents.iter().take(MAX_KEYS).min_by_key(|(kind, _)| rank(kind));
        if let Some((kind, media)) = best {
            let media = self.document.resolve(media);
            let example = self.document.example_of(media);
            self.set_body(step, kind, example, media.get("schema").unwrap_or(&Json::Null));
        }
    }

    fn set_body(&self, step: &mut Step, kind: &str, example: Option<&'d Json>, schema: &'d Json) {
        let is_json = kind.ends_with("json") || kind == "*/*";
        let value = match example {
            Some(example) => {
                let text = example.as_str().filter(|text| is_json && text.len() <= MAX_EXAMPLE);
                match text.and_then(Json::parse) {
                    Some(json) => self.document.example(&json),
                    None => self.document.example(example),
                }
            }
            None => {
                step.remark("guess: the body is made from its schema");
                self.document.value_of(schema)
            }
        };
        step.body = match kind {
            _ if is_json => Some(Body::json(value)),
            "application/x-www-form-urlencoded" => {
                let pair = |(name, value): &(String, Json<Template>)| {
                    let text = match value {
                        Json::Text(text) => text.clone(),
                        value => value.to_text(),
                    };
                    (form_encoded(name), Some(text.map_text(form_encoded)))
                };
                Some(Body::Form(value.fields().iter().map(pair).collect()))
            }
            _ => match value {
                Json::Text(text) if kind != "multipart/form-data" => Some(Body::Text(text)),
                _ => {
                    step.remark(format!(
                        "left out: a body of the type {kind}; use body or body-file"
                    ));
                    return;
                }
            },
        };
        let kind = if kind == "*/*" { "application/json" } else { kind };
        add_header(step, "Content-Type", Template::text(kind));
    }

    /// The first way to be let in that the operation names, or else the document.
    fn security(&self, step: &mut Step, secrets: &mut Secrets) {
        let root = self.document.root();
        let ways = self.operation.get("security").or(root.get("security"));
        let Some(way) = ways.and_then(|ways| ways.items().first()) else { return };
        for (name, _) in way.fields().iter().take(MAX_KEYS) {
            let Some(scheme) = self.document.security_scheme(name) else { continue };
            let http = scheme.str("scheme").unwrap_or_default().to_ascii_lowercase();
            match (scheme.str("type"), http.as_str()) {
                (Some("basic"), _) | (Some("http"), "basic") => {
                    let mut value = Template::text("Basic ");
                    value.push_hole(secrets.variable("BASIC_CREDENTIALS"));
                    add_header(step, "Authorization", value);
                }
                (Some("http" | "oauth2" | "openIdConnect"), _) => {
                    let mut value = Template::text("Bearer ");
                    value.push_hole(secrets.variable("BEARER_TOKEN"));
                    add_header(step, "Authorization", value);
                }
                (Some("apiKey"), _) => {
                    let key = Template::hole(secrets.variable("API_KEY"));
                    let field = scheme.str("name").filter(|name| name.len() <= MAX_PATH);
                    let field = field.unwrap_or("X-Api-Key");
                    match scheme.str("in") {
                        Some("query") => step.target.push_query(field, key),
                        Some("cookie") => {
                            let mut cookie = Template::text(format!("{}=", form_encoded(field)));
                            cookie.push(&key);
                            add_header(step, "Cookie", cookie);
                        }
                        _ => add_header(step, field, key),
                    }
                }
                _ => step.remark(format!("left out: authentication by {name}")),
            }
        }
    }

    /// The only status of success that is described.
    fn expected(&self) -> Option<u16> {
        let responses = self.operation.get("responses")?.fields();
        let status = responses.iter().filter_map(|(status, _)| status.parse().ok());
        let mut good = status.filter(|status: &u16| (200..400).contains(status));
        good.next().filter(|_| good.next().is_none())
    }
}
