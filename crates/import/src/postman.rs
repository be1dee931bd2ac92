//! Collections of Postman (v2.0 and v2.1): all requests, in order, become a journey.
//!
//! Scripts are not run. Of those that store a value of the response for later requests, by the usual line
//! `pm.environment.set("token", pm.response.json().token)`, a capture is made.

mod files;
mod scripts;
mod variables;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::redact::SecretKind;
use candor_plan::values::{FORM_BOUNDARY, FormField, boundary_of};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use self::files::{files, type_of_file};
use self::variables::Variables;
use crate::draft::{Body, Draft, Journey, Step, counted};
use crate::error::{Format, ImportError};
use crate::finish::finish;
use crate::json::Json;
use crate::recorded::{
    self, Room, Server, add_header, base_url, is_method, is_of_the_connection, most_frequent,
    push_header, split_url,
};
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
/// Postman sends no body with these, unless `disableBodyPruning` says so.
const PRUNED: [&str; 5] = ["GET", "COPY", "HEAD", "PURGE", "UNLOCK"];
/// The type of a raw body by its language.
const TYPES: [(&str, &str); 4] = [
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("javascript", "application/javascript"),
];
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
        odd: 0,
    };
    collection.folder(items, Inherited::default().with(root), 0);
    collection.into_draft(root, options).map(|(draft, secrets)| finish(draft, secrets))
}

struct Collection<'c> {
    variables: Variables<'c>,
    steps: Vec<(Option<Server>, Step)>,
    room: Room,
    /// Requests for which there was no room.
    beyond: usize,
    scripts: usize,
    disabled: usize,
    /// Requests with a method that HTTP does not have.
    odd: usize,
}

impl<'c> Collection<'c> {
    fn folder(&mut self, items: &'c Json, above: Inherited<'c>, depth: usize) {
        for item in items.items() {
            let above = above.with(item);
            if let Some(request) = item.get("request") {
                self.request(item, request, above.with(request));
            } else if let Some(items) = item.get("item")
                && depth < MAX_FOLDERS
            {
                self.folder(items, above, depth + 1);
            }
        }
    }

    fn request(&mut self, item: &'c Json, request: &'c Json, of: Inherited<'c>) {
        let mut step =
            Step { name: item.str("name").unwrap_or_default().to_owned(), ..Step::default() };
        // Postman sends it so, however it is written.
        let method = request.str("method").unwrap_or("GET").to_ascii_uppercase();
        if !is_method(&method) {
            self.odd += 1;
            return;
        }
        if self.steps.len() == MAX_STEPS {
            self.beyond += 1;
            return;
        }
        step.method = if method == "GET" { String::new() } else { method.clone() };
        let (server, user) = self.address(&mut step, request);
        self.header(&mut step, request.get("header"), server.as_ref());
        let body = request.get("body").filter(|body| !is_disabled(body));
        if let Some(body) = body.filter(|body| body.str("mode").is_some()) {
            match PRUNED.contains(&method.as_str()) && !of.keeps_bodies {
                true => step
                    .remark(format!("left out: a body, which Postman does not send with {method}")),
                false => self.body(&mut step, body),
            }
        }
        self.authorize(&mut step, of.auth);
        if let Some(user) = user {
            add_header(&mut step, "Authorization", Template::text(user));
        }
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

    /// Fields as a list, or as one text with a line for each (v2.0).
    fn header(&mut self, step: &mut Step, header: Option<&'c Json>, server: Option<&Server>) {
        let mut fields = Vec::new();
        for line in header.and_then(Json::as_str).unwrap_or_default().lines().take(MAX_LISTED) {
            match line.split_once(':') {
                _ if line.starts_with("//") => self.disabled += 1,
                Some((name, value)) => fields.push((name.to_owned(), value.trim().to_owned())),
                None => {}
            }
        }
        for field in header.map_or(&[][..], Json::items).iter().take(MAX_LISTED) {
            match (field.str("key"), field.get("value").and_then(Json::scalar)) {
                _ if is_disabled(field) => self.disabled += 1,
                (Some(name), Some(value)) => fields.push((name.to_owned(), value)),
                _ => {}
            }
        }
        for (name, value) in fields.iter().filter(|(name, _)| !name.is_empty()) {
            let name = self.name(name, step);
            let value = self.variables.fill(value, step);
            let text = value.as_text().unwrap_or_default();
            let is_host = name.eq_ignore_ascii_case("host");
            let is_another = is_host && server.is_none_or(|server| server.is_another(&name, text));
            if is_another || !is_of_the_connection(&name) {
                push_header(step, &name, value);
            } else if !is_host && !name.eq_ignore_ascii_case("content-length") {
                step.remark(format!("left out: header {name}, which belongs to the connection"));
            }
        }
    }

    /// A name, which has no holes: only values of the collection are filled.
    fn name(&self, name: &str, step: &mut Step) -> String {
        let flat = self.variables.flat(name);
        if flat.contains("{{") {
            step.remark(format!(
                "guess: the name {flat} stays as it is, because the collection has no value for it"
            ));
        }
        flat
    }

    /// The URL as text, or as an object that has it as `raw` or in parts; and its user information.
    fn address(&mut self, step: &mut Step, request: &'c Json) -> (Option<Server>, Option<String>) {
        let url = request.get("url").unwrap_or(request);
        // Of its parts, if it has any: `raw` is what Postman shows.
        let raw = url.as_str().or(url.str("raw").filter(|_| url.get("host").is_none()));
        let raw = raw.map_or_else(|| joined(url), str::to_owned);
        let raw = raw.split('#').next().unwrap_or_default();
        // `{{host}}` at the beginning is filled as text: a plan's URL has no holes.
        let (begin, rest) = match raw.split_once("://") {
            Some((scheme, rest)) => (scheme.len() + 3, rest),
            None => (0, raw),
        };
        let path_at = begin + rest.find(['/', '?']).unwrap_or(rest.len());
        let (address, path) = raw.split_at(path_at);
        let known = self.variables.flat(address);
        let (server, prefix, user) = match split_url(&known) {
            Ok((server, target, user)) if !known.contains("{{") => (Some(server), target, user),
            _ => {
                let address = address.rsplit('@').next().unwrap_or_default();
                step.remark(format!("guess: the server {address} is not known"));
                (None, Target::default(), None)
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
        (server, user)
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
        let mut fill = |text: &mut Template, encoded: &'static AsciiSet| {
            let raw = restored(text.as_text().unwrap_or_default());
            let filled = self.variables.fill(&raw, step);
            *text = filled.map_text(|text| utf8_percent_encode(text, encoded).to_string());
        };
        target.segments.iter_mut().for_each(|segment| fill(segment, OF_PATHS));
        for (_, value) in target.query.iter_mut().flatten() {
            value.iter_mut().for_each(|value| fill(value, OF_QUERIES));
        }
        for (name, _) in target.query.iter_mut().flatten() {
            let filled = self.name(&restored(name), step);
            *name = utf8_percent_encode(&filled, OF_QUERIES).to_string();
        }
        target
    }

    fn body(&mut self, step: &mut Step, body: &'c Json) {
        let mode = body.str("mode").unwrap_or_default();
        let fields = body.get(mode).map_or(&[][..], Json::items);
        match mode {
            "raw" => {
                let raw = body.str("raw").unwrap_or_default();
                if raw.is_empty() {
                    return;
                }
                let options = body.get("options").and_then(|all| all.get("raw"));
                let language = options.and_then(|raw| raw.str("language")).unwrap_or("text");
                let kind = TYPES.iter().find(|(known, _)| *known == language);
                let kind = kind.map_or("text/plain", |(_, kind)| kind);
                add_header(step, "Content-Type", Template::text(kind));
                let kind = step.header("content-type").map(Template::render).unwrap_or_default();
                let is_json = kind.to_ascii_lowercase().contains("json") || language == "json";
                step.body = Some(match is_json {
                    true => self.filled(raw, step),
                    false => Body::Text(self.variables.fill(raw, step)),
                });
            }
            // Without a field Postman sends neither a body nor a type.
            "urlencoded" if !fields.is_empty() => {
                let mut pairs = Vec::new();
                for field in fields.iter().filter(|one| !is_disabled(one)) {
                    let value = field.get("value").and_then(Json::scalar).unwrap_or_default();
                    let value = self.variables.fill(&value, step).map_text(form_encoded);
                    let name = self.name(field.str("key").unwrap_or_default(), step);
                    pairs.push((form_encoded(&name), Some(value)));
                }
                step.body = Some(Body::Form(pairs));
                add_header(
                    step,
                    "Content-Type",
                    Template::text("application/x-www-form-urlencoded"),
                );
            }
            "formdata" if !fields.is_empty() => {
                let mut parts = Vec::new();
                for field in fields.iter().filter(|one| !is_disabled(one)) {
                    let name = self.name(field.str("key").unwrap_or_default(), step);
                    let content_type = field.str("contentType").filter(|kind| !kind.is_empty());
                    let content_type = content_type.map(str::to_owned);
                    let own = FormField { name, content_type, ..FormField::default() };
                    if field.str("type") == Some("file") {
                        let mut files = files(field, &own);
                        if files.is_empty() {
                            step.remark(format!(
                                "guess: field {:.200} has a file that the collection does not name; it is empty here",
                                own.name
                            ));
                            files.push(FormField { filename: Some(String::new()), ..own });
                        }
                        parts.extend(files.into_iter().map(|file| (file, Template::default())));
                        continue;
                    }
                    let value = field.get("value").and_then(Json::scalar).unwrap_or_default();
                    parts.push((own, self.variables.fill(&value, step)));
                }
                // Postman puts its boundary in the place of a type without one.
                let kind = step.header("content-type").map(Template::render);
                let boundary = kind.as_deref().and_then(boundary_of);
                let boundary = boundary.unwrap_or(FORM_BOUNDARY).to_owned();
                step.header.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                let kind = format!("multipart/form-data; boundary={boundary}");
                add_header(step, "Content-Type", Template::text(kind));
                recorded::form(step, parts, &boundary, false);
            }
            "file" => match body.get("file").and_then(|file| file.str("src")) {
                Some(name) => {
                    add_header(step, "Content-Type", Template::text(type_of_file(name)));
                    step.body = Some(Body::File(name.to_owned()));
                }
                None => step.remark(
                    "left out: a body from a file that the collection does not name; use body-file",
                ),
            },
            "graphql" => {
                let graphql = body.get("graphql").unwrap_or(&Json::Null);
                let mut members = Vec::new();
                for key in ["query", "operationName", "variables"] {
                    members.extend(match (key, graphql.get(key)) {
                        // As it stands: `{ "id": {{id}} }` is JSON once it is filled.
                        ("variables", Some(Json::Text(text))) if text.is_empty() => None,
                        ("variables", Some(Json::Text(text))) => {
                            Some(format!("\"variables\":{text}"))
                        }
                        (_, Some(value @ (Json::Text(_) | Json::Object(_)))) => {
                            let value = value.clone().into_template().to_text();
                            Some(format!("\"{key}\":{}", value.as_text().unwrap_or_default()))
                        }
                        _ => None,
                    });
                }
                step.body = Some(self.filled(&format!("{{{}}}", members.join(",")), step));
                add_header(step, "Content-Type", Template::text("application/json"));
            }
            "" | "formdata" | "urlencoded" => {}
            mode => step.remark(format!("left out: a body of the mode {mode}")),
        }
    }

    /// A text that is JSON once its variables are filled, or else as it is.
    fn filled(&mut self, raw: &str, step: &mut Step) -> Body {
        match Body::read_json(&self.as_json(raw)) {
            Some(Body::Json { mut value, written }) => {
                self.fill_json(&mut value, step);
                Body::Json { value, written }
            }
            _ => Body::Text(self.variables.fill(raw, step)),
        }
    }

    /// A body that is JSON as soon as its variables are filled, as JSON: those outside of strings become marked
    /// strings. Names in keys are filled.
    fn as_json(&self, raw: &str) -> String {
        let mut text = String::new();
        let mut rest = raw;
        while let Some(begin) = rest.find(['"', '{']) {
            text += &rest[..begin];
            rest = &rest[begin..];
            let end = match rest.starts_with('"') {
                true => {
                    let mut is_escaped = false;
                    let ends = |byte: &u8| {
                        let ends = *byte == b'"' && !is_escaped;
                        is_escaped = *byte == b'\\' && !is_escaped;
                        !ends
                    };
                    (rest.len()).min(2 + rest.bytes().skip(1).take_while(ends).count())
                }
                false if rest.starts_with("{{") => rest.find("}}").map_or(1, |end| end + 2),
                false => 1,
            };
            let (word, after) = rest.split_at(end);
            match word.starts_with("{{") {
                true => text += &Value::from(format!("{MARK}{word}")).to_string(),
                false if word.contains("{{") && after.trim_start().starts_with(':') => {
                    text += &self.variables.flat(word);
                }
                false => text += word,
            }
            rest = after;
        }
        text + rest
    }

    fn fill_json(&mut self, json: &mut Json<Template>, step: &mut Step) {
        json.strings("", &mut |_, value| {
            if let Json::Text(text) = value {
                let raw = text.as_text().unwrap_or_default().to_owned();
                *value = match raw.strip_prefix(MARK) {
                    Some(raw) => Json::Raw(self.variables.fill(raw, step)),
                    None => self.variables.fill_json(&raw, step),
                };
            }
        });
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
        if self.odd > 0 {
            let count = counted(self.odd, "request");
            draft.remark(format!("Left out: {count} with a method that HTTP does not have"));
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

/// What a request has from the folders above.
#[derive(Clone, Copy, Default)]
struct Inherited<'c> {
    auth: Option<&'c Json>,
    keeps_bodies: bool,
}

impl<'c> Inherited<'c> {
    /// With what a folder or a request says itself; null is that of the folder above.
    fn with(self, of: &'c Json) -> Self {
        let behaviour = of.get("protocolProfileBehavior");
        let own = behaviour.and_then(|all| all.get("disableBodyPruning"));
        Inherited {
            auth: of.get("auth").filter(|auth| **auth != Json::Null).or(self.auth),
            keeps_bodies: own.map_or(self.keeps_bodies, |own| *own == Json::Bool(true)),
        }
    }
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
    let user = url.get("auth").and_then(|auth| {
        let part = |key| Some(utf8_percent_encode(auth.str(key)?, OF_USERS).to_string());
        Some(format!("{}:{}@", part("user")?, part("password").unwrap_or_default()))
    });
    let user = user.unwrap_or_default();
    let port = parts("port", "");
    let port = if port.is_empty() { port } else { format!(":{port}") };
    let query = url.get("query").map_or(&[][..], Json::items).iter().take(MAX_LISTED);
    // A separator within a name or a value is none, but for those of a variable's name.
    let kept = |text: &str| protected(text).replace('&', "%26").replace('#', "%23");
    let query = query.filter(|one| !is_disabled(one)).map(|one| {
        let value = one.get("value").and_then(Json::scalar);
        let value = value.map_or(String::new(), |value| format!("={}", kept(&value)));
        kept(one.str("key").unwrap_or_default()).replace('=', "%3D") + &value
    });
    let query = query.collect::<Vec<_>>().join("&");
    let query = if query.is_empty() { query } else { format!("?{query}") };
    let path = protected(&parts("path", "/")).replace('#', "%23").replace('?', "%3F");
    format!("{protocol}{user}{}{port}/{}{query}", parts("host", "."), path.trim_start_matches('/'))
}

/// All but variables.
const OF_USERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'{').remove(b'}').remove(b'_').remove(b'-');

/// What Postman encodes in a query.
const OF_QUERIES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'\'').add(b'<').add(b'>');
/// The same of a path, whose separators are not in its segments.
const OF_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// Stands before a variable that stood outside of a string.
const MARK: char = '\u{e010}';

fn is_disabled(of: &Json) -> bool {
    of.get("disabled") == Some(&Json::Bool(true))
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
