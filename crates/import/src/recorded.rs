//! One request as it was recorded, by a browser or as a command line, to a step: the part that all
//! formats share.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use candor_plan::url::{HttpUrl, UrlError};
use candor_plan::values::{FormField, Header, Method, boundary_of};

use crate::draft::{Body, Draft, Step};
use crate::error::ImportError;
use crate::multipart::Multipart;
use crate::target::{Target, parse_form, sendable};
use crate::template::Template;

/// Fields that the connection or the client makes anew for each request.
const OF_THE_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "alt-used",
];

/// Fields that browsers add by themselves; so are those that begin with `sec-`.
const OF_BROWSERS: [&str; 16] = [
    "accept-encoding",
    "accept-language",
    "cache-control",
    "dnt",
    "if-modified-since",
    "if-none-match",
    "origin",
    "pragma",
    "priority",
    "purpose",
    "referer",
    "upgrade-insecure-requests",
    "user-agent",
    "x-client-data",
    "save-data",
    "access-control-request-private-network",
];

/// Header fields of a request. Servers accept some hundred.
const MAX_FIELDS: usize = 200;
/// The longest value of a header field.
const MAX_FIELD: usize = 16 * 1024;
/// Bytes of all requests of a plan together. In memory each takes up to some thirty times as much, because
/// every value of a body is apart.
const MAX_PLAN: usize = 8 * 1024 * 1024;

/// How much a plan has room for.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Room(MAX_PLAN)
    }
}

impl Room {
    /// Whether a request of this many bytes fits. After the first one that does not, none does: a journey has no
    /// gaps.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes.max(1));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// A server: all of a URL before the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Server(String);

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.0
    }

    /// `host[:port]`.
    pub(crate) fn authority(&self) -> &str {
        self.0.split_once("://").map_or(self.0.as_str(), |(_, authority)| authority)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// Whether a header field asks this server for another host than its own.
    pub(crate) fn is_another(&self, name: &str, value: &str) -> bool {
        let port = if self.is_https() { ":443" } else { ":80" };
        let plain = |host: &str| {
            let host = host.trim().to_ascii_lowercase();
            host.strip_suffix(port).map_or(host.clone(), str::to_owned)
        };
        name.eq_ignore_ascii_case("host") && plain(value) != plain(self.authority())
    }
}

/// The server of most requests; of those with as many, the first one.
pub(crate) fn most_frequent<'s>(servers: impl Iterator<Item = &'s Server>) -> Option<Server> {
    let mut counts: HashMap<&Server, (usize, usize)> = HashMap::new();
    for (place, server) in servers.enumerate() {
        counts.entry(server).or_insert((0, usize::MAX - place)).0 += 1;
    }
    counts.into_iter().max_by_key(|(_, order)| *order).map(|(server, _)| server.clone())
}

/// Splits a URL. User information is returned as the value of an `Authorization` field.
pub(crate) fn split_url(url: &str) -> Result<(Server, Target, Option<String>), UrlError> {
    let url = HttpUrl::parse(&sendable(url))?;
    let scheme = if url.is_https { "https" } else { "http" };
    let mut authority = url.authority_here();
    // Case matters in a zone alone.
    if !url.host.contains('%') {
        authority.make_ascii_lowercase();
    }
    Ok((Server(format!("{scheme}://{authority}")), Target::parse(&url.path), url.authorization))
}

/// The URL to write: the user's, or that of the input. A user's URL may have a path of its own, which
/// the paths of requests do not repeat.
pub(crate) fn base_url(asked: Option<&str>, found: &str) -> Result<String, ImportError> {
    let Some(url) = asked else { return Ok(found.to_owned()) };
    match HttpUrl::parse(url).map_err(ImportError::Url)?.authorization {
        Some(_) => Err(ImportError::Credentials),
        None => Ok(url.to_owned()),
    }
}

/// Whether a browser made these fields, by what scripts do not have.
pub(crate) fn is_browsers(fields: &[(String, String)]) -> bool {
    let has = |test: &dyn Fn(&str, &str) -> bool| {
        fields.iter().any(|(name, value)| test(&name.to_ascii_lowercase(), value))
    };
    has(&|name, _| name.starts_with("sec-fetch-") || name.starts_with("sec-ch-"))
        || has(&|name, value| name == "user-agent" && value.starts_with("Mozilla/"))
            && has(&|name, _| name == "accept-language")
}

/// Removes the fields that a plan does not need, and remembers their names.
#[derive(Debug, Default)]
pub(crate) struct Noise {
    left_out: BTreeSet<String>,
}

impl Noise {
    /// Adds the fields to keep to the step.
    pub(crate) fn header(
        &mut self,
        is_browser: bool,
        step: &mut Step,
        server: &Server,
        fields: &[(String, String)],
    ) {
        let is_unsafe = !["", "GET", "HEAD", "OPTIONS"].contains(&step.method.as_str());
        for (name, value) in fields {
            let name = name.trim_end();
            let lower = name.to_ascii_lowercase();
            let value = value.trim();
            if name.starts_with(':')
                || is_of_the_connection(name) && !server.is_another(name, value)
            {
                if !is_browser && !["host", "content-length"].contains(&lower.as_str()) {
                    step.remark(format!(
                        "left out: header {name}, which belongs to the connection"
                    ));
                }
                continue;
            }
            // Some frameworks check over https where a form came from.
            let is_checked = lower == "referer" && is_unsafe && server.is_https();
            let is_noise = OF_BROWSERS.contains(&lower.as_str()) || lower.starts_with("sec-");
            if is_browser && is_noise && !is_checked {
                if self.left_out.len() < 24 {
                    self.left_out.insert(lower);
                }
                continue;
            }
            let value = match lower.as_str() {
                "accept" if value == "*/*" => continue,
                // A page's: browsers list images and formats of their own behind it.
                "accept" if is_browser && value.starts_with("text/html,") => "text/html",
                // Where it came from; a query may have secrets.
                "referer" if is_browser => value.split(['?', '#']).next().unwrap_or_default(),
                _ => value,
            };
            match Header::new(name, value) {
                _ if is_too_much(step, value) => step.remark(TOO_MUCH),
                // Some recorders list fields twice.
                Ok(_)
                    if is_browser
                        && step.header(name).and_then(Template::as_text) == Some(value) => {}
                Ok(_) => step.header.push((canonical(name), Template::text(value))),
                Err(_) => step.remark(format!("left out: header {name}, which HTTP cannot send")),
            }
        }
    }

    /// Says what was left out.
    pub(crate) fn remark(&self, draft: &mut Draft) {
        if !self.left_out.is_empty() {
            let names: Vec<_> = self.left_out.iter().map(String::as_str).collect();
            draft.remark(format!("Left out: headers that browsers add: {}", names.join(", ")));
        }
    }
}

/// HTTP/2 has names in lower case; a plan is easier to read with the usual ones. Names are not
/// case-sensitive (RFC 9110 section 5.1).
fn canonical(name: &str) -> String {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return name.to_owned();
    }
    let word = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

const TOO_MUCH: &str = "left out: header fields above 200, or longer than 16 KiB";

fn is_too_much(step: &Step, value: &str) -> bool {
    step.header.len() >= MAX_FIELDS || value.len() > MAX_FIELD
}

/// Adds a field once, if it does not belong to the connection.
pub(crate) fn add_header(step: &mut Step, name: &str, value: Template) {
    if !is_of_the_connection(name.trim_end()) && step.header(name.trim_end()).is_none() {
        push_header(step, name, value);
    }
}

/// Adds a field. Control characters in its value become blanks (RFC 9110 section 5.5).
pub(crate) fn push_header(step: &mut Step, name: &str, value: Template) {
    let name = name.trim_end();
    let value = match value.as_text() {
        Some(text) => Template::text(text.trim()),
        None => value,
    };
    let value = value.map_text(|text| text.replace(char::is_control, " "));
    if is_too_much(step, name) || is_too_much(step, &value.render()) {
        return step.remark(TOO_MUCH);
    }
    match Header::new(name, "") {
        Ok(_) => step.header.push((name.to_owned(), value)),
        Err(_) => step.remark(format!("left out: header {name}, which HTTP cannot send")),
    }
}

/// Whether a field belongs to the connection: a plan's requests have their own.
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    OF_THE_CONNECTION.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a plan can send this method.
pub(crate) fn is_method(method: &str) -> bool {
    Method::from_str(method).is_ok()
}

/// A body by its content type, so that its values can be told apart. It is sent byte for byte.
pub(crate) fn body(step: &mut Step, content_type: &str, text: &str) {
    let kind = content_type.to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let begins_as_json = text.trim_start().starts_with(['{', '[']) && !kind.ends_with("json");
    let json = if begins_as_json { Body::read_json(text) } else { None };
    let body = match (json, boundary_of(content_type)) {
        // Its secrets are told apart whatever its type says: `curl -d '{"password":"…"}'`.
        (Some(Body::Json { value, .. }), _) => Body::Json { value, written: Some(text.to_owned()) },
        _ if kind == "application/x-www-form-urlencoded" => Body::Form(parse_form(text)),
        (_, Some(boundary)) if kind == "multipart/form-data" => {
            Body::Parts(Multipart::read(text, boundary))
        }
        _ if kind.ends_with("json") => Body::read_json(text).unwrap_or_else(|| {
            step.remark("the body is not valid JSON, though its Content-Type says so");
            Body::Text(Template::text(text))
        }),
        _ => Body::Text(Template::text(text)),
    };
    step.body = Some(body);
}

/// A form with these fields and their values. Names have percent escapes, or backslashes.
pub(crate) fn form(
    step: &mut Step,
    mut fields: Vec<(FormField, Template)>,
    boundary: &str,
    is_backslashed: bool,
) {
    let has_files = fields.iter().any(|(field, _)| field.file.is_some());
    for (field, _) in fields.iter_mut().filter(|_| has_files) {
        if field.name.contains('=') {
            step.remark(format!(
                "guess: %3D stands for = in the name of field {:.200}",
                field.name
            ));
            field.name = field.name.replace('=', "%3D");
        }
        let names = [Some(&field.name), field.filename.as_ref()];
        if is_backslashed && names.into_iter().flatten().any(|name| name.contains(['"', '\\'])) {
            step.remark(format!(
                "guess: marks in the name of field {:.200} have percent escapes; curl has backslashes",
                field.name
            ));
        }
    }
    step.body = Some(Body::Parts(Multipart::made(fields, boundary, is_backslashed)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_sent_as_it_was_recorded() {
        for text in [
            "0.46000000834465027",
            r#"{"a":-15.832582473754883,"b\"1":[1,"2.5",18446744073709551616,-0.1],"c":{"d":1e400}}"#,
            "[123456789012345678901234567890,7]",
            r#"{"size":0,"$type":"Foo","v":1.0,"dup":1,"dup":2,"big":1e3,"e":-0,"f":1E-7}"#,
            "{ \"b\" : [ 1 , 2 ],\n\t\"a\" : \"\\/\\u00e9\" }\r\n",
        ] {
            let mut step = Step::default();
            body(&mut step, "application/json", text);
            let sent = step.body_text().map(|text| text.render());
            assert_eq!(sent.as_deref(), Some(text));
        }
    }
}
