//! Descriptions of interfaces (OpenAPI 3.0 and 3.1, Swagger 2.0; JSON and YAML): a request for each
//! operation.
//!
//! `document` reads and follows references, `make` makes values from schemas, `check` compares them, `pattern` knows
//! regular expressions, `style` and `body` write what was made. All have bounds, so that a document that refers to
//! itself ends in a plan all the same. A request that does not satisfy its own schemas has a comment that says so.

mod body;
mod budget;
mod check;
mod document;
mod make;
mod number;
mod pattern;
mod style;

use std::io;

use self::document::{Document, Files};
use self::make::MAX_PARAMETER;
use self::style::Style;
use crate::draft::{Draft, Step, counted};
use crate::error::{Format, ImportError};
use crate::finish::finish;
use crate::json::Json;
use crate::recorded::{Room, Server, add_header, base_url, most_frequent, split_url};
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
/// Other targets of a plan.
const MAX_TARGETS: usize = 63;
const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];
/// The schema of what has none.
const ANYTHING: &Json = &Json::Bool(true);

/// A plan from a description of an interface in one file: independent requests, one for each operation. A reference to
/// another file that a request needs refuses the description, by the name of the file.
pub fn openapi(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    import(bytes, options, None)
}

/// The same of a description in several files. `read` reads one of them: it gets the path below the description's
/// folder, which has `/` between names and no `..`, and the most bytes that are of use; more of them refuse the file.
/// It must not follow links out of that folder: a description may come from anybody.
pub fn openapi_of_files(
    bytes: &[u8],
    options: &Options,
    read: &dyn Fn(&str, usize) -> io::Result<Vec<u8>>,
) -> Result<Imported, ImportError> {
    import(bytes, options, Some(read))
}

fn import(
    bytes: &[u8],
    options: &Options,
    read: Option<document::ReadFile<'_>>,
) -> Result<Imported, ImportError> {
    Format::OpenApi.check(bytes)?;
    let root = document::parse(bytes)?;
    let files = Files::new(read);
    let document = Document::new(&root, &files);
    let mut secrets = Secrets::of_description();
    let mut draft = Draft::default();
    let (operations, beyond) = operations(&document, options.max_requests());
    document.check()?;
    let (own, _) = place(&document.server_of(document.root()).unwrap_or_default());
    let places: Vec<_> = operations.iter().map(|one| one.place(&own)).collect();
    let used = || places.iter().filter_map(|(server, _)| server.as_ref());
    let server = own.filter(|own| used().any(|one| one == own)).or_else(|| most_frequent(used()));
    if server.is_none() && options.url.is_none() {
        draft.remark("guess: the document names no server; the URL is to be set");
    }
    let found = server.as_ref().map_or("http://localhost:8080", Server::url);
    draft.url = base_url(options.url.as_deref(), found)?;
    let mut room = Room::default();
    let mut left_out = beyond;
    let mut others: Vec<&Server> = Vec::new();
    let (mut elsewhere, mut invalid) = (0, 0);
    for (operation, (place, prefix)) in operations.iter().zip(&places) {
        let other = place.as_ref().filter(|place| Some(*place) != server.as_ref());
        if let Some(other) = other {
            elsewhere += 1;
            if !others.contains(&other) && options.url.is_none() {
                if others.len() == MAX_TARGETS {
                    left_out += 1;
                    continue;
                }
                others.push(other);
            }
        }
        let mut step = operation.step(prefix, &mut secrets);
        step.origin = other.filter(|_| options.url.is_none()).map(|one| one.url().to_owned());
        document.check()?;
        match room.take(step.size()) {
            true => {
                invalid += usize::from(step.remarks.iter().any(|one| one.starts_with(INVALID)));
                draft.requests.push(step);
            }
            false => left_out += 1,
        }
    }
    if draft.requests.is_empty() {
        return Err(ImportError::Empty {
            format: Format::OpenApi,
            problem: "it describes no operation".to_owned(),
            remedy: "import one with methods under paths".to_owned(),
        });
    }
    if elsewhere > 0 && options.url.is_some() {
        draft.remark(format!(
            "Requests that the document has for other servers, and the plan for this one: {elsewhere}"
        ));
    }
    if left_out > 0 {
        draft.remark(format!(
            "Left out: {}; the first {} are here",
            counted(left_out, "operation"),
            draft.requests.len()
        ));
    }
    if invalid > 0 {
        draft.remark(format!(
            "Requests that do not satisfy their own schemas: {invalid}; their comments say where"
        ));
    }
    if document.checks.get() == 0 || document.work.get() == 0 {
        draft.remark(
            "Guess: the description is too large for all requests to be made and checked whole",
        );
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
    Ok(finish(draft, secrets))
}

/// What a comment begins with that says which schema a request does not satisfy.
const INVALID: &str = "invalid: ";

/// The operations of all paths up to a number, and how many are left out.
fn operations<'d>(document: &'d Document<'d>, most: usize) -> (Vec<Operation<'d>>, usize) {
    let mut operations = Vec::new();
    let mut left_out = 0;
    let paths = document.root().get("paths").map(|paths| document.resolve(paths));
    for (path, item) in paths.map_or(&[][..], Json::fields) {
        let item = document.resolve(item);
        for (method, operation) in item.fields().iter().take(MAX_KEYS) {
            if !METHODS.contains(&method.as_str()) || !matches!(operation, Json::Object(_)) {
                continue;
            }
            if operations.len() == most || path.len() > MAX_PATH {
                left_out += 1;
                continue;
            }
            let operation = document.resolve(operation);
            operations.push(Operation { document, path, method, item, operation });
        }
    }
    (operations, left_out)
}

/// The server of a URL, and its path. Without a scheme it is a path of the server that the document came from.
fn place(url: &str) -> (Option<Server>, String) {
    let url = url.trim_end_matches('/');
    let (server, path) = match split_url(url) {
        Ok((server, target, _)) if url.contains("://") => {
            let path = target.to_template().as_text().unwrap_or_default().to_owned();
            (Some(server), path)
        }
        _ => (None, sendable(url.split_once("://").map_or(url, |_| ""))),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
    (server, format!("{slash}{path}"))
}

struct Operation<'d> {
    document: &'d Document<'d>,
    path: &'d str,
    method: &'d str,
    item: &'d Json,
    operation: &'d Json,
}

impl<'d> Operation<'d> {
    /// Its server and the path before its own: those of the operation, of its path, or of the document.
    fn place(&self, default: &Option<Server>) -> (Option<Server>, String) {
        let document = self.document;
        let of = |one| document.server_of(one);
        let url = of(self.operation).or_else(|| of(self.item)).or_else(|| of(document.root()));
        let (server, prefix) = place(&url.unwrap_or_default());
        (server.or_else(|| default.clone()), prefix)
    }

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
        if let Some(reference) = self.document.take_dangling() {
            step.remark(format!("guess: nothing is at {reference:.200}, which it refers to"));
        }
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
        let (mut guesses, mut invalid) = (Vec::new(), Vec::new());
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
                let made = parameters.iter().find(is_this).map(|parameter| {
                    let (value, is_guess) = self.value(parameter, &mut invalid);
                    (Style::of(parameter, "simple").one(name, &value, &form_encoded), is_guess)
                });
                // Without a value it would be another path.
                let made = made.filter(|(value, _)| value.as_text() != Some(""));
                let (value, is_guess) = made.unwrap_or((Template::hole("random 1..100"), true));
                if is_guess {
                    guesses.push(name.to_owned());
                }
                filled.push(&value);
                rest = after;
            }
            filled.push_text(rest);
            *segment = filled;
        }
        if !guesses.is_empty() {
            step.remark(format!("guess: {} in the path", guesses.join(", ")));
        }
        invalid.iter().for_each(|remark| step.remark(remark));
    }

    /// The value of a parameter, and whether it is a guess. What it does not satisfy is added to the remarks.
    fn value(&self, parameter: &'d Json, remarks: &mut Vec<String>) -> (Json<Template>, bool) {
        // Swagger 2.0 has the type beside the name, OpenAPI 3 in a schema or a media type.
        let content = parameter.get("content").and_then(|all| all.fields().first());
        let media = content.map(|(_, media)| self.document.resolve(media));
        let own = if self.document.is_swagger() { parameter } else { ANYTHING };
        let schema = parameter.get("schema").or(media.and_then(|media| media.get("schema")));
        let mut examples = self.document.examples_of(parameter);
        examples.extend(media.into_iter().flat_map(|media| self.document.examples_of(media)));
        let (made, fault) = self.document.make(schema.unwrap_or(own), &examples, MAX_PARAMETER);
        if let Some(fault) = fault {
            let name = parameter.str("name").unwrap_or_default();
            remarks.push(format!("{INVALID}{name:.100} does not satisfy {fault} of its schema"));
        }
        match (content, made.value) {
            (Some((kind, _)), value) if body::is_json(kind) => {
                (Json::Text(value.to_text()), made.is_guess)
            }
            (_, Json::Null) => (Json::Raw(Template::hole("random 1..100")), true),
            (_, value) => (value, made.is_guess),
        }
    }

    /// A parameter in the query, a header field or a cookie, if it has to be there.
    fn parameter(&self, step: &mut Step, parameter: &'d Json) {
        let Some(name) = parameter.str("name").filter(|name| name.len() <= MAX_PATH) else {
            return;
        };
        let place = parameter.str("in").unwrap_or_default();
        let is_required = parameter.get("required") == Some(&Json::Bool(true));
        if !is_required || !["query", "header", "cookie"].contains(&place) {
            return;
        }
        let mut remarks = Vec::new();
        let (value, is_guess) = self.value(parameter, &mut remarks);
        if is_guess {
            step.remark(format!("guess: {name}"));
        }
        remarks.iter().for_each(|remark| step.remark(remark));
        match place {
            "query" => {
                let pairs = self.style(parameter).pairs(name, &value);
                step.target.query.get_or_insert_default().extend(pairs);
            }
            "cookie" => {
                for (name, value) in self.style(parameter).pairs(name, &value) {
                    add_cookie(step, &name, &value.unwrap_or_default());
                }
            }
            _ => {
                let value = Style::of(parameter, "simple").one(name, &value, &str::to_owned);
                add_header(step, name, value);
            }
        }
    }

    /// The style of a parameter in the query, or of a field of a form.
    fn style(&self, parameter: &'d Json) -> Style<'d> {
        Style::of(parameter, if self.document.is_swagger() { "csv" } else { "form" })
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
                        Some("cookie") => add_cookie(step, &form_encoded(field), &key),
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

/// Adds a cookie, behind those that are there.
fn add_cookie(step: &mut Step, name: &str, value: &Template) {
    let mut cookie = Template::text(format!("{name}="));
    cookie.push(value);
    let known = step.header.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    match known {
        Some((_, cookies)) => {
            cookies.push_text("; ");
            cookies.push(&cookie);
        }
        None => add_header(step, "Cookie", cookie),
    }
}
