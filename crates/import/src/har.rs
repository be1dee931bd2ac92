//! Recordings of browsers (HAR 1.2): the requests to one host, or to several, become a journey.
//!
//! `read` takes from the file what is needed, in two passes: the first counts hosts, the second keeps the
//! requests to those that were chosen. `time` finds think times, `correlate` finds what a response gave to a later
//! request.

mod candidates;
mod correlate;
mod read;
mod time;

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::values::{FORM_BOUNDARY, FormField, boundary_of};

use self::read::{Entry, Field, Outline, Param};
use self::time::Order;
use crate::draft::{Body, Draft, Journey, Step, counted};
use crate::error::{Format, ImportError};
use crate::finish::finish;
use crate::json::Json;
use crate::recorded::{self, Noise, Room, Server, base_url, is_method, split_url};
use crate::secrets::Secrets;
use crate::target::{form_encoded, parse_form};
use crate::template::Template;
use crate::{Imported, Options};

/// Other targets of a plan.
const MAX_TARGETS: usize = 63;
/// Further hosts are not looked at.
const MAX_HOSTS: usize = 10_000;
/// The hosts, and the requests, that a comment names.
const NAMED: usize = 8;
/// Bodies and fields of responses that are kept for the search of values, together.
const MAX_SEARCHED: usize = 64 * 1024 * 1024;

const EXPORT: &str = "export it again from the network panel of the browser (\"Save all as HAR\")";

/// A plan from a recording of a browser. Bodies of responses above 512 KiB are not searched for values
/// that come again.
pub fn har(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    Format::Har.check(bytes)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut order = Order::default();
    let hosts = Hosts::count(bytes, options, &mut order)?;
    let servers = hosts.chosen_with_others(options)?;
    let mut recording = Recording::new(servers, options);
    read::each::<Entry>(bytes, &mut |entry| {
        if split_url(&entry.request.url).is_ok() {
            order.take(entry, &mut |entry| recording.take(&entry));
        }
    })
    .map_err(|error| syntax(&error))?;
    recording.into_draft(&hosts, options).map(|(draft, secrets)| finish(draft, secrets))
}

fn syntax(error: &serde_json::Error) -> ImportError {
    ImportError::json(Format::Har, error, EXPORT)
}

/// A server, how many requests went to it, how many of them could be steps, and how many are for files.
#[derive(Debug)]
struct Host {
    server: Server,
    requests: usize,
    steps: usize,
    files: usize,
}

/// What the first pass finds.
#[derive(Debug, Default)]
struct Hosts {
    /// In the order of their first requests.
    list: Vec<Host>,
    /// Entries that no network saw: `data:`, `blob:`.
    others: usize,
}

impl Hosts {
    fn count(
        bytes: &[u8],
        options: &Options,
        order: &mut Order<Entry>,
    ) -> Result<Self, ImportError> {
        let mut hosts = Hosts::default();
        let mut places: HashMap<Server, usize> = HashMap::new();
        let mut entries = 0_usize;
        let found = read::each::<Outline>(bytes, &mut |entry| {
            entries += 1;
            let method = &*entry.request.method;
            let url = &entry.request.url;
            let Ok((server, target, _)) = split_url(url) else {
                hosts.others += 1;
                return;
            };
            order.learn(&entry.started_date_time);
            let place = match places.get(&server) {
                Some(place) => *place,
                None if hosts.list.len() < MAX_HOSTS => {
                    hosts.list.push(Host {
                        server: server.clone(),
                        requests: 0,
                        steps: 0,
                        files: 0,
                    });
                    places.insert(server, hosts.list.len() - 1);
                    hosts.list.len() - 1
                }
                None => return,
            };
            hosts.list[place].requests += 1;
            let path = target.to_template();
            let kind = &entry.response.content.mime_type;
            if is_file(method, path.as_text().unwrap_or_default(), &entry.resource_type, kind) {
                hosts.list[place].files += 1;
                hosts.list[place].steps += usize::from(options.static_files);
            } else {
                hosts.list[place].steps += usize::from(!is_websocket(url, &entry.resource_type));
            }
        })
        .map_err(|error| syntax(&error))?;
        let problem = match (found, entries) {
            (None, _) => "it has no log.entries",
            (Some(()), 0) => "log.entries is empty",
            (Some(()), _) if hosts.list.is_empty() => "no entry has an http or https URL",
            (Some(()), _) => return Ok(hosts),
        };
        Err(ImportError::Kind { format: Format::Har, problem: problem.to_owned(), remedy: EXPORT })
    }

    /// That of [`Hosts::chosen`], then the others that were asked for.
    fn chosen_with_others(&self, options: &Options) -> Result<Vec<Server>, ImportError> {
        let first = self.chosen(options)?;
        let mut all = vec![first.clone()];
        for asked in &options.hosts {
            let mut others = self.list.iter().map(|one| &one.server);
            if asked == "all" {
                all.extend(others.filter(|server| *server != first).take(MAX_TARGETS).cloned());
                continue;
            }
            let other = others.find(|server| is_asked(asked, server)).ok_or_else(|| {
                ImportError::NoHost { asked: asked.clone(), hosts: self.named(&[]) }
            })?;
            all.push(other.clone());
        }
        let mut known = HashSet::new();
        all.retain(|server| known.insert(server.clone()));
        Ok(all)
    }

    /// The host that was asked for, or the most frequent one.
    fn chosen(&self, options: &Options) -> Result<&Server, ImportError> {
        let Some(asked) = &options.host else {
            let best = self.list.iter().rev().max_by_key(|one| one.steps);
            let best = best.expect("there is a host");
            return match best.steps {
                0 => Err(ImportError::OnlyFiles),
                _ => Ok(&best.server),
            };
        };
        let matching = self.list.iter().filter(|one| is_asked(asked, &one.server));
        let best = matching.rev().max_by_key(|one| one.steps);
        best.map(|one| &one.server)
            .ok_or_else(|| ImportError::NoHost { asked: asked.clone(), hosts: self.named(&[]) })
    }

    /// Hosts with how many requests went to them, the most frequent first.
    fn named(&self, without: &[Server]) -> String {
        let mut others: Vec<_> =
            self.list.iter().filter(|one| !without.contains(&one.server)).collect();
        others.sort_by_key(|one| std::cmp::Reverse(one.requests));
        let name = |one: &&Host| format!("{} ({})", one.server.authority(), one.requests);
        let mut names: Vec<_> = others.iter().take(NAMED).map(name).collect();
        if others.len() > NAMED {
            names.push(format!("{} more", others.len() - NAMED));
        }
        names.join(", ")
    }
}

fn is_asked(asked: &str, server: &Server) -> bool {
    let authority = server.authority();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    asked.eq_ignore_ascii_case(authority)
        || asked.eq_ignore_ascii_case(host)
        || asked.trim_end_matches('/').eq_ignore_ascii_case(server.url())
}

fn is_websocket(url: &str, resource: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    resource == "websocket" || ["ws", "wss"].iter().any(|one| scheme.eq_ignore_ascii_case(one))
}

/// Whether an entry is for a file of a page rather than for a person's action.
fn is_file(method: &str, path: &str, resource: &str, mime: &str) -> bool {
    const RESOURCES: [&str; 8] =
        ["stylesheet", "script", "image", "font", "media", "manifest", "texttrack", "imageset"];
    const ENDINGS: [&str; 21] = [
        ".css",
        ".js",
        ".mjs",
        ".map",
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".svg",
        ".ico",
        ".webp",
        ".avif",
        ".woff",
        ".woff2",
        ".ttf",
        ".otf",
        ".mp4",
        ".webm",
        ".mp3",
        ".wasm",
        ".webmanifest",
    ];
    if method != "GET" {
        return false;
    }
    let mime = mime.to_ascii_lowercase();
    let path = path.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let is_kind = ["image/", "font/", "audio/", "video/", "text/css"]
        .iter()
        .any(|kind| mime.starts_with(kind))
        || mime.contains("javascript")
        || mime.contains("wasm");
    RESOURCES.contains(&resource) || is_kind || ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// What is kept of a response.
#[derive(Debug, Default)]
struct Seen {
    header: Vec<(String, String)>,
    body: String,
}

impl Seen {
    /// Names and values of the cookies that the response sets.
    fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        let set = self.header.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        // Chromium joins several fields by ends of lines.
        let lines = set.flat_map(|(_, value)| value.split('\n'));
        lines.filter_map(|line| line.split(';').next()?.trim().split_once('='))
    }
}

/// What the second pass gathers.
struct Recording {
    /// The plan's own, then the others.
    servers: Vec<Server>,
    most: usize,
    room: Room,
    static_files: bool,
    clock: time::Clock,
    noise: Noise,
    steps: Vec<Step>,
    seen: Vec<Seen>,
    searched: usize,
    preflights: usize,
    aborted: usize,
    cached: usize,
    websockets: usize,
    odd: usize,
    beyond: usize,
    /// Those whose body is not in the recording.
    bodiless: Vec<String>,
    /// Names of cookies that requests had, and of those that responses set.
    sent_cookies: Vec<String>,
    set_cookies: Vec<String>,
}

impl Recording {
    fn new(servers: Vec<Server>, options: &Options) -> Self {
        Recording {
            servers,
            most: options.max_requests(),
            room: Room::default(),
            static_files: options.static_files,
            clock: time::Clock::default(),
            noise: Noise::default(),
            steps: Vec::new(),
            seen: Vec::new(),
            searched: 0,
            preflights: 0,
            aborted: 0,
            cached: 0,
            websockets: 0,
            odd: 0,
            beyond: 0,
            bodiless: Vec::new(),
            sent_cookies: Vec::new(),
            set_cookies: Vec::new(),
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.take_step(entry);
        self.clock.pass(&entry.started_date_time, entry.time);
    }

    fn take_step(&mut self, entry: &Entry) -> Option<()> {
        let (server, target, user) = split_url(&entry.request.url).ok()?;
        let method = &*entry.request.method;
        let path = target.to_template();
        let path = path.as_text().unwrap_or_default();
        let kind = entry.response.as_ref().map_or("", |response| &*response.content.mime_type);
        let is_left = !self.static_files && is_file(method, path, &entry.resource_type, kind);
        if is_left || !self.servers.contains(&server) {
            return None;
        }
        let header = |name: &str| entry.request.header(name);
        let is_preflight = method == "OPTIONS" && header("access-control-request-method").is_some();
        let status = entry.response.as_ref().and_then(|response| response.status);
        let status = status.map(|status| status as u16);
        let is_upgrade = header("upgrade").is_some_and(|one| one.eq_ignore_ascii_case("websocket"));
        let is_websocket = status == Some(101)
            || is_upgrade
            || is_websocket(&entry.request.url, &entry.resource_type);
        for (is_so, count) in [
            (!is_method(method), &mut self.odd),
            (is_preflight, &mut self.preflights),
            (is_websocket, &mut self.websockets),
            (status.is_some_and(|status| !(100..600).contains(&status)), &mut self.aborted),
            (!entry.from_cache.is_empty(), &mut self.cached),
        ] {
            if is_so {
                *count += 1;
                return None;
            }
        }
        if lacks_body(entry) {
            let path = path.split('?').next().unwrap_or_default();
            self.bodiless.push(format!("{method} {path:.200}"));
            return None;
        }
        if self.steps.len() == self.most || !self.room.take(entry.request.size()) {
            self.beyond += 1;
            return None;
        }
        let mut step = Step { target, ..Step::default() };
        step.origin = (server != self.servers[0]).then(|| server.url().to_owned());
        step.method = if method == "GET" { String::new() } else { method.to_owned() };
        step.think = self.clock.think(&entry.started_date_time);
        // A browser that asked for changes only would have got the whole otherwise.
        step.expect_status = status.map(|status| if status == 304 { 200 } else { status });
        let mut fields = pairs(&entry.request.headers);
        if let Some(user) = user {
            fields.push(("Authorization".to_owned(), user));
        }
        self.cookies_of(&mut fields, entry);
        self.noise.header(true, &mut step, &server, &fields);
        body(&mut step, entry);
        if step.body.is_none() {
            // Browsers repeat it when they follow a redirect.
            step.header.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        // Before captures replace what it is named after.
        step.name = step.name_of_target();
        self.steps.push(step);
        self.keep(entry);
        Some(())
    }

    /// Remembers the names of cookies, and removes the field: a journey has cookies of its own.
    fn cookies_of(&mut self, fields: &mut Vec<(String, String)>, entry: &Entry) {
        let remember = |names: &mut Vec<String>, name: &str| {
            if names.len() < 100 && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        fields.retain(|(name, value)| {
            let is_cookie = name.eq_ignore_ascii_case("cookie");
            if is_cookie {
                for name in value.split(';').filter_map(|one| one.trim().split_once('=')) {
                    if !self.set_cookies.iter().any(|known| known == name.0) {
                        remember(&mut self.sent_cookies, name.0);
                    }
                }
            }
            !is_cookie
        });
        let header = entry.response.as_ref().map_or(Vec::new(), |one| pairs(&one.headers));
        for (name, _) in (Seen { header, body: String::new() }).cookies() {
            remember(&mut self.set_cookies, name);
        }
    }

    /// Keeps what later requests may have from the response.
    fn keep(&mut self, entry: &Entry) {
        let mut seen = Seen::default();
        let Some(response) = &entry.response else { return self.seen.push(seen) };
        let content = &response.content;
        let mime = content.mime_type.to_ascii_lowercase();
        let is_text = mime.contains("json") || mime.starts_with("text/") || mime.contains("xml");
        let mut has_room = |bytes: usize| {
            let is_left = self.searched + bytes <= MAX_SEARCHED;
            self.searched += if is_left { bytes } else { 0 };
            is_left
        };
        if has_room(read::size(&response.headers)) {
            seen.header = pairs(&response.headers);
        }
        if is_text && has_room(content.text.len()) {
            seen.body = match &*content.encoding {
                "base64" => STANDARD
                    .decode(&*content.text)
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes).ok())
                    .unwrap_or_default(),
                _ => content.text.to_string(),
            };
        }
        self.seen.push(seen);
    }

    fn into_draft(
        mut self,
        hosts: &Hosts,
        options: &Options,
    ) -> Result<(Draft, Secrets), ImportError> {
        let mut left_out = Vec::new();
        let own = hosts.list.iter().filter(|one| self.servers.contains(&one.server));
        let files = own.map(|one| one.files).sum::<usize>();
        let files = files * usize::from(!options.static_files);
        for (count, what) in [
            (hosts.others, "with another URL than http or https"),
            (files, "for images, styles, scripts and fonts"),
            (self.preflights, "of CORS, sent by the browser before others (preflight)"),
            (self.websockets, "for a WebSocket, which is a plan of its own, with a ws:// URL"),
            (self.aborted, "without a response"),
            (self.odd, "with a method that HTTP does not have"),
            (self.cached, "that the browser's cache responded to"),
            (self.beyond, "behind the last one here"),
        ] {
            if count > 0 {
                left_out.push(format!("{} {what}", counted(count, "request")));
            }
        }
        if !self.bodiless.is_empty() {
            let count = counted(self.bodiless.len(), "request");
            let more = if self.bodiless.len() > NAMED { ", …" } else { "" };
            self.bodiless.truncate(NAMED);
            left_out.push(format!(
                "{count} with a body that is not in the recording, or longer than 512 KiB: {}{more}; write the \
                 body to a file and use body-file",
                self.bodiless.join(", ")
            ));
        }
        if self.steps.is_empty() {
            return Err(ImportError::Empty {
                format: Format::Har,
                problem: format!(
                    "no request to {} is left without {}",
                    self.servers[0].authority(),
                    left_out.join(", ")
                ),
                remedy: "record it again, or choose another host".to_owned(),
            });
        }
        correlate::correlate(&mut self.steps, &self.seen);
        let url = base_url(options.url.as_deref(), self.servers[0].url())?;
        let mut draft = Draft { url, ..Draft::default() };
        let others = hosts.named(&self.servers);
        if !others.is_empty() {
            draft.remark(format!("Left out: other hosts: {others}"));
        }
        left_out.into_iter().for_each(|what| draft.remark(format!("Left out: {what}")));
        self.noise.remark(&mut draft);
        let captures = self.steps.iter().map(|step| step.capture.len()).sum::<usize>();
        if captures > 0 {
            draft.remark(format!(
                "Guess: {}: values of responses that come again in later requests",
                counted(captures, "capture")
            ));
        }
        let mut secrets = Secrets::default();
        let mut journey = Journey {
            name: "recorded".to_owned(),
            cookies: !self.set_cookies.is_empty(),
            ..Journey::default()
        };
        if !self.sent_cookies.is_empty() {
            let names = self.sent_cookies.join(", ");
            let variable = secrets.variable("COOKIE");
            journey.remarks.push(format!(
                "guess: the recording began with cookies that no response in it set: {names}. COOKIE has them, as name=value; name=value"
            ));
            for step in &mut self.steps {
                step.header.push(("Cookie".to_owned(), Template::hole(&variable)));
            }
        }
        journey.steps = self.steps;
        draft.journeys.push(journey);
        Ok((draft, secrets))
    }
}

fn pairs(fields: &[Field]) -> Vec<(String, String)> {
    fields.iter().map(|one| (one.name.to_string(), one.value.to_string())).collect()
}

/// Whether a request had a body that the recording does not have. A request without it would be another one.
fn lacks_body(entry: &Entry) -> bool {
    let request = &entry.request;
    let post = request.post_data.as_ref();
    if post.is_some_and(|post| post.sent().is_none()) {
        return true;
    }
    let has_body = post.is_some_and(|post| !post.text.is_empty() || !post.params.is_empty());
    // A browser that follows a redirect with GET may repeat the fields of the request before.
    if has_body || ["GET", "HEAD"].contains(&&*request.method) {
        return false;
    }
    let length =
        request.header("content-length").and_then(|length| length.trim().parse::<u64>().ok());
    let kind = request.header("content-type").unwrap_or_default().to_ascii_lowercase();
    request.body_size > 0.0
        || length.is_some_and(|length| length > 0)
        || kind.starts_with("multipart/")
}

fn body(step: &mut Step, entry: &Entry) {
    let Some(post) = &entry.request.post_data else { return };
    // Some recorders write a type of their own; the field is what was sent.
    let own = step.header("content-type").and_then(Template::as_text).map(str::to_owned);
    let is_named = own.is_some();
    let kind = own.unwrap_or_else(|| post.mime_type.to_string());
    let text = post.sent().unwrap_or_default();
    let is_empty = text.is_empty() && post.params.is_empty();
    if !(is_named || kind.is_empty() || is_empty) {
        recorded::add_header(step, "Content-Type", Template::text(&*kind));
    }
    if !text.is_empty() {
        let length =
            entry.request.header("content-length").and_then(|one| one.parse::<usize>().ok());
        if let Some(length) = length.filter(|length| *length > text.len()) {
            step.remark(format!(
                "guess: the recording has {} of {length} bytes of this body",
                text.len()
            ));
        }
        return recorded::body(step, &kind, &text);
    }
    if post.params.is_empty() {
        return;
    }
    if kind.to_ascii_lowercase().starts_with("multipart/") {
        let own = boundary_of(&kind);
        let boundary = own.unwrap_or(FORM_BOUNDARY);
        if own.is_none() {
            let kind = format!("{kind}; boundary={boundary}");
            step.header.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            recorded::add_header(step, "Content-Type", Template::text(kind));
        }
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let mut fields = Vec::new();
        for param in &post.params {
            let is_file = !param.file_name.is_empty() && param.value.is_empty();
            // A recording comes from anybody: its files are beside the plan.
            let name = param.file_name.rsplit(['/', '\\']).next().unwrap_or_default();
            let name = if name.is_empty() || name == ".." { "file" } else { name };
            if is_file {
                step.remark(format!(
                    "guess: the content of a file is not in the recording; it is read from {name:.200} beside this plan"
                ));
            }
            let field = FormField {
                name: param.name.to_string(),
                file: is_file.then(|| name.into()),
                filename: some(&param.file_name),
                content_type: some(&param.content_type),
                ..FormField::default()
            };
            fields.push((field, Template::text(&*param.value)));
        }
        recorded::form(step, fields, boundary, false);
    } else if kind.contains("json") {
        let value = |text: &str| match Json::parse(text) {
            Some(scalar @ (Json::Number(_) | Json::Bool(_))) => scalar,
            _ => Json::Text(text.to_owned()),
        };
        let pair = |one: &Param| (one.name.to_string(), value(&one.value));
        let fields = post.params.iter().map(pair).collect();
        step.body = Some(Body::json(Json::Object(fields).into_template()));
        step.remark("guess: the recording has the fields of this JSON, not its text");
    } else {
        let pair =
            |one: &Param| format!("{}={}", form_encoded(&one.name), form_encoded(&one.value));
        let text = post.params.iter().map(pair).collect::<Vec<_>>().join("&");
        step.body = Some(Body::Form(parse_form(&text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_are_kept_have_a_bound_together() {
        let (server, ..) = split_url("http://h/").unwrap();
        let mut recording = Recording::new(vec![server], &Options::default());
        let mut entry = Entry::default();
        let response = entry.response.get_or_insert_default();
        response.content.mime_type.text = "text/html".to_owned();
        response.content.text.text = "x".repeat(1000);
        recording.searched = MAX_SEARCHED - 1500;
        recording.keep(&entry);
        recording.keep(&entry);
        let kept: Vec<usize> = recording.seen.iter().map(|seen| seen.body.len()).collect();
        assert_eq!(kept, [1000, 0]);
    }
}
