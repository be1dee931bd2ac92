//! Collections of Postman (v2.0 and v2.1): all requests, in order, become a journey.
//!
//! Scripts are not run. Of those that store a value of the response for later requests, by the usual line
//! `pm.environment.set("token", pm.response.json().token)`, a capture is made.

mod scripts;
mod variables;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::redact::SecretKind;

use self::variables::Variables;
use crate::draft::{Body, Draft, Journey, Step, counted};
use crate::error::{Format, ImportError};
use crate::json::Json;
use crate::recorded::{Room, Server, add_header, base_url, is_method, most_frequent, split_url};
use crate::secrets::Secrets;
use crate::target::{Target, form_encoded, sendable};
use crate::template::Template;
use crate::{Imported, Options};

/// Folders in folders; serde_json's own bound is not far above.
const MAX_FOLDERS: usize = 40;
/// Requests that are read, before those to other servers are left out.
const MAX_STEPS: usize = 10_000;
/// Variables of a URL, parameters of an authentication, fields of a header.
const MAX_LISTED: usize = 200;
const EXPORT: &str = "export the collection from Postman as v2.1";
/// Stands in an address for a variable that has no value.
const UNKNOWN: &str = "http://localhost:8080";

/// A plan from an exported collection.
pub fn postman(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    let format = Format::Postman;
    format.check(bytes)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let root = Json::read(bytes).map_err(|error| ImportError::json(format, &error, EXPORT))?;
    // The interface of Postman has it in an envelope.
    let root = root.get("collection").unwrap_or(&root);
    let Some(items) = root.get("item") else {
        let problem = "it has no `item`".to_owned();
        return Err(ImportError::Kind { format, problem, remedy: EXPORT });
    };
    let mut collection = Collection {
        variables: Variables::of(root),
        steps: Vec::new(),
        room: Room::default(),
        beyond: 0,
        scripts: 0,
        disabled: 0,
    };
    collection.folder(items, own_auth(root), 0);
    collection.into_draft(root, options).map(|(draft, secrets)| draft.finish(secrets))
}

struct Collection<'c> {
    variables: Variables<'c>,
    steps: Vec<(Option<Server>, Step)>,
    room: Room,
    /// Requests for which there was no room.
    beyond: usize,
    scripts: usize,
    disabled: usize,
}

impl<'c> Collection<'c> {
    fn folder(&mut self, items: &'c Json, auth: Option<&'c Json>, depth: usize) {
        for item in items.items() {
            let auth = own_auth(item).or(auth);
            if let Some(request) = item.get("request") {
                self.request(item, request, auth);
            } else if let Some(items) = item.get("item")
                && depth < MAX_FOLDERS
            {
                self.folder(items, auth, depth + 1);
            }
        }
    }

    fn request(&mut self, item: &'c Json, request: &'c Json, auth: Option<&'c Json>) {
        let mut step =
            Step { name: item.str("name").unwrap_or_default().to_owned(), ..Step::default() };
        let method = request.str("method").unwrap_or("GET");
        if !is_method(method) {
            return;
        }
        if self.steps.len() == MAX_STEPS {
            self.beyond += 1;
            return;
        }
        step.method = if method == "GET" { String::new() } else { method.to_owned() };
        let server = self.address(&mut step, request);
        for field in request.get("header").map_or(&[][..], Json::items).iter().take(MAX_LISTED) {
            if field.get("disabled") == Some(&Json::Bool(true)) {
                self.disabled += 1;
                continue;
            }
            let (Some(name), Some(value)) =
                (field.str("key"), field.get("value").and_then(Json::scalar))
            else {
                continue;
            };
            let value = self.variables.fill(&value, &mut step);
            add_header(&mut step, name, value);
        }
        if let Some(body) =
            request.get("body").filter(|body| body.get("disabled") != Some(&Json::Bool(true)))
        {
            self.body(&mut step, body);
        }
        if step.body.is_none() {
            step.header.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        self.authorize(&mut step, own_auth(request).or(auth));
        for event in item.get("event").map_or(&[][..], Json::items) {
            let script = scripts::text(event);
            if script.trim().is_empty() {
                continue;
            }
            self.scripts += 1;
            if event.str("listen") == Some("test") {
                for (name, path) in scripts::captures(&script) {
                    let name = self.variables.capture(&name);
                    step.capture.push((name, format!("json:{path}")));
                }
            }
        }
        match self.room.take(step.size()) {
            true => self.steps.push((server, step)),
            false => self.beyond += 1,
        }
    }

    /// The URL as text, or as an object that has it as `raw` or in parts.
    fn address(&mut self, step: &mut Step, request: &'c Json) -> Option<Server> {
        let url = request.get("url").unwrap_or(request);
        let raw = url.as_str().or(url.str("raw")).map(str::to_owned);
        let raw = raw.unwrap_or_else(|| joined(url));
        let raw = raw.split('#').next().unwrap_or_default();
        // `{{host}}` at the beginning is filled as text: a plan's URL has no holes.
        let (begin, rest) = match raw.split_once("://") {
            Some((scheme, rest)) => (scheme.len() + 3, rest),
            None => (0, raw),
        };
        let path_at = begin + rest.find(['/', '?']).unwrap_or(rest.len());
        let (address, path) = raw.split_at(path_at);
        let known = self.variables.flat(address);
        let (server, prefix) = match split_url(&known) {
            Ok((server, target, _)) if !known.contains("{{") => (Some(server), target),
            _ => {
                step.remark(format!("guess: the server {address} is not known"));
                (None, Target::default())
            }
        };
        let variables = url.get("variable").map_or(&[][..], Json::items);
        let path = self.path_variables(path, variables);
        step.target = self.target(&path, step);
        let prefix = prefix.to_template();
        let prefix = prefix.as_text().unwrap_or_default().trim_end_matches('/');
        if !prefix.is_empty() {
            let before = Target::parse(prefix).segments;
            let after = step.target.segments.drain(1..).collect::<Vec<_>>();
            step.target.segments = before.into_iter().chain(after).collect();
        }
        server
    }

    /// `/:id` is filled from the URL's variables.
    fn path_variables(&mut self, path: &str, variables: &[Json]) -> String {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (path, String::new()),
        };
        let mut fill = |segment: &str| {
            let name = segment.strip_prefix(':')?;
            let is_this = |one: &&Json| one.str("key").or(one.str("id")) == Some(name);
            let value = variables.iter().take(MAX_LISTED).find(is_this)?.get("value")?.scalar()?;
            (!value.is_empty() && self.variables.may_fill(value.len())).then_some(value)
        };
        let segments =
            path.split('/').map(|segment| fill(segment).unwrap_or_else(|| segment.to_owned()));
        segments.collect::<Vec<_>>().join("/") + &query
    }

    fn target(&mut self, path: &str, step: &mut Step) -> Target {
        let mut target = Target::parse(&protected(path));
        let mut fill = |text: &mut Template| {
            let raw = restored(text.as_text().unwrap_or_default());
            let filled = self.variables.fill(&raw, step);
            *text = filled.map_text(sendable);
        };
        target.segments.iter_mut().for_each(&mut fill);
        for (_, value) in target.query.iter_mut().flatten() {
            value.iter_mut().for_each(&mut fill);
        }
        for (name, _) in target.query.iter_mut().flatten() {
            *name = sendable(&restored(name));
        }
        target
    }

    fn body(&mut self, step: &mut Step, body: &'c Json) {
        let mode = body.str("mode").unwrap_or_default();
        let fields = body.get(mode).map_or(&[][..], Json::items);
        match mode {
            "raw" => {
                let raw = body.str("raw").unwrap_or_default();
                let language = body
                    .get("options")
                    .and_then(|all| all.get("raw"))
                    .and_then(|raw| raw.str("language"));
                let kind =
                    step.header("content-type").and_then(Template::as_text).map(str::to_owned);
                let is_json = kind.as_deref().is_some_and(|kind| kind.contains("json"))
                    || language == Some("json");
                if kind.is_none() && is_json {
                    add_header(step, "Content-Type", Template::text("application/json"));
                }
                let json = if is_json { Json::parse(raw) } else { None };
                step.body = Some(match json {
                    Some(json) => Body::Json(self.fill_json(json, step)),
                    // A variable without quotation marks, or no JSON at all.
                    None => Body::Text(self.variables.fill(raw, step)),
                });
            }
            "urlencoded" => {
                let mut pairs = Vec::new();
                for field in
                    fields.iter().filter(|one| one.get("disabled") != Some(&Json::Bool(true)))
                {
                    let value = field.get("value").and_then(Json::scalar).unwrap_or_default();
                    let value = self.variables.fill(&value, step).map_text(form_encoded);
                    pairs.push((form_encoded(field.str("key").unwrap_or_default()), Some(value)));
                }
                step.body = Some(Body::Form(pairs));
                add_header(
                    step,
                    "Content-Type",
                    Template::text("application/x-www-form-urlencoded"),
                );
            }
            "graphql" => {
                let graphql = body.get("graphql").unwrap_or(&Json::Null);
                let query = Json::Text(graphql.str("query").unwrap_or_default().to_owned());
                let variables = graphql
                    .str("variables")
                    .and_then(Json::parse)
                    .unwrap_or(Json::Object(Vec::new()));
                let all = vec![("query".to_owned(), query), ("variables".to_owned(), variables)];
                step.body = Some(Body::Json(self.fill_json(Json::Object(all), step)));
                add_header(step, "Content-Type", Template::text("application/json"));
            }
            "" => {}
            "formdata" => {
                step.remark("left out: a form with parts; write it to a file and use body-file")
            }
            "file" => step.remark("left out: a body from a file; use body-file"),
            mode => step.remark(format!("left out: a body of the mode {mode}")),
        }
    }

    fn fill_json(&mut self, json: Json, step: &mut Step) -> Json<Template> {
        let mut json = json.into_template();
        json.strings("", &mut |_, value| {
            if let Json::Text(text) = value {
                let raw = text.as_text().unwrap_or_default().to_owned();
                *value = self.variables.fill_json(&raw, step);
            }
        });
        json
    }

    /// Bearer, Basic and API keys; the parameters are a list in v2.1 and an object in v2.0.
    fn authorize(&mut self, step: &mut Step, auth: Option<&'c Json>) {
        let Some(auth) = auth else { return };
        let kind = auth.str("type").unwrap_or("noauth");
        let parameters = auth.get(kind).unwrap_or(&Json::Null);
        let get = |name: &str| match parameters {
            Json::List(list) => {
                let mut list = list.iter().take(MAX_LISTED);
                list.find(|one| one.str("key") == Some(name))?.get("value")?.scalar()
            }
            all => all.get(name)?.scalar(),
        };
        match kind {
            "noauth" => {}
            "bearer" | "oauth2" => {
                let name = if kind == "bearer" { "token" } else { "accessToken" };
                let token = get(name).filter(|token| !token.is_empty());
                let token = match token {
                    Some(token) => self.variables.fill(&token, step),
                    None => Template::hole(self.variables.secrets.variable("BEARER_TOKEN")),
                };
                let mut value = Template::text("Bearer ");
                value.push(&token);
                add_header(step, "Authorization", value);
            }
            "basic" => {
                let user = self.variables.fill(&get("username").unwrap_or_default(), step);
                let password = self.variables.fill(&get("password").unwrap_or_default(), step);
                let mut value = Template::text("Basic ");
                match (user.as_text(), password.as_text()) {
                    (Some(user), Some(password)) => {
                        self.variables.secrets.hole(SecretKind::Password, password);
                        value.push_text(&STANDARD.encode(format!("{user}:{password}")));
                    }
                    _ => {
                        step.remark("BASIC_CREDENTIALS is the base64 of user:password");
                        value.push_hole(self.variables.secrets.variable("BASIC_CREDENTIALS"));
                    }
                }
                add_header(step, "Authorization", value);
            }
            "apikey" => {
                let name = get("key").unwrap_or_else(|| "X-Api-Key".to_owned());
                let value = self.variables.fill(&get("value").unwrap_or_default(), step);
                // Secret by what it is, whatever its name.
                let value = match value.as_text() {
                    Some(text) if !text.is_empty() => {
                        Template::hole(self.variables.secrets.hole(SecretKind::ApiKey, text))
                    }
                    _ => value,
                };
                match get("in").as_deref() {
                    Some("query") => step.target.push_query(&name, value),
                    _ => add_header(step, &name, value),
                }
            }
            kind => step.remark(format!("left out: authentication by {kind}")),
        }
    }

    fn into_draft(
        mut self,
        root: &Json,
        options: &Options,
    ) -> Result<(Draft, Secrets), ImportError> {
        if self.steps.is_empty() {
            return Err(ImportError::Empty {
                format: Format::Postman,
                problem: "the collection has no requests".to_owned(),
                remedy: "export one with requests".to_owned(),
            });
        }
        let mut draft = Draft::default();
        let best = most_frequent(self.steps.iter().filter_map(|(server, _)| server.as_ref()));
        let found = best.as_ref().map_or(UNKNOWN, Server::url);
        draft.url = base_url(options.url.as_deref(), found)?;
        // Those with an unknown server may well be meant for the one that is known.
        let total = self.steps.len();
        self.steps.retain(|(server, _)| server.is_none() || *server == best);
        if self.steps.len() < total {
            draft.remark(format!(
                "Left out: {} to other servers",
                counted(total - self.steps.len(), "request")
            ));
        }
        let most = options.max_requests();
        let beyond = self.beyond + self.steps.len().saturating_sub(most);
        self.steps.truncate(most);
        if beyond > 0 {
            draft.remark(format!(
                "Left out: {} behind the first {}",
                counted(beyond, "request"),
                self.steps.len()
            ));
        }
        if self.scripts > 0 {
            draft.remark(format!(
                "Left out: {}; scripts are not run",
                counted(self.scripts, "script")
            ));
        }
        if self.disabled > 0 {
            draft.remark(format!(
                "Left out: {}, disabled in the collection",
                counted(self.disabled, "header field")
            ));
        }
        if let Some(guessed) = self.variables.guessed() {
            draft.remark(guessed);
        }
        let name = root.get("info").and_then(|info| info.str("name")).unwrap_or("collection");
        let steps = self.steps.into_iter().map(|(_, step)| step).collect();
        let journey =
            Journey { name: crate::draft::slug(name), cookies: true, steps, ..Journey::default() };
        draft.journeys.push(journey);
        Ok((draft, self.variables.secrets))
    }
}

/// The authentication of a request or a folder; null is that of the folder above.
fn own_auth(of: &Json) -> Option<&Json> {
    of.get("auth").filter(|auth| **auth != Json::Null)
}

/// A URL from its parts: texts, or lists of texts and of objects with a `value`.
fn joined(url: &Json) -> String {
    let part = |one: &Json| one.scalar().or_else(|| one.get("value")?.scalar()).unwrap_or_default();
    let parts = |key: &str, separator: &str| match url.get(key) {
        Some(Json::List(list)) => {
            list.iter().take(MAX_LISTED).map(part).collect::<Vec<_>>().join(separator)
        }
        Some(one) => one.scalar().unwrap_or_default(),
        None => String::new(),
    };
    let protocol = parts("protocol", "");
    let protocol = if protocol.is_empty() { protocol } else { protocol + "://" };
    let port = parts("port", "");
    let port = if port.is_empty() { port } else { format!(":{port}") };
    let query = url.get("query").map_or(&[][..], Json::items).iter().take(MAX_LISTED);
    let query = query.filter(|one| one.get("disabled") != Some(&Json::Bool(true))).map(|one| {
        let value = one.get("value").and_then(Json::scalar);
        let value = value.map_or(String::new(), |value| format!("={value}"));
        one.str("key").unwrap_or_default().to_owned() + &value
    });
    let query = query.collect::<Vec<_>>().join("&");
    let query = if query.is_empty() { query } else { format!("?{query}") };
    let path = parts("path", "/");
    format!("{protocol}{}{port}/{}{query}", parts("host", "."), path.trim_start_matches('/'))
}

/// `{{a/b?c}}` is one word: its separators must not split a path.
fn protected(path: &str) -> String {
    let mut inside = false;
    let mut result = String::new();
    let mut rest = path.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' if rest.peek() == Some(&'{') => inside = true,
            '}' if rest.peek() == Some(&'}') => inside = false,
            _ => {}
        }
        let hidden = HIDDEN.iter().find(|(plain, _)| inside && *plain == c);
        result.push(hidden.map_or(c, |(_, hidden)| *hidden));
    }
    result
}

/// Letters of a private area that stand for separators, already percent-encoded when they come back.
const HIDDEN: [(char, char); 6] = [
    ('/', '\u{e000}'),
    ('?', '\u{e001}'),
    ('&', '\u{e002}'),
    ('=', '\u{e003}'),
    (' ', '\u{e004}'),
    ('#', '\u{e005}'),
];

fn restored(text: &str) -> String {
    let mut text = text.to_owned();
    for (plain, hidden) in HIDDEN {
        let encoded = sendable(&hidden.to_string());
        text = text.replace(&encoded, &plain.to_string());
    }
    text
}
