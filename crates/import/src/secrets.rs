//! The environment variables that replace secret values in the plan. What is a secret, crate plan says
//! ([`SecretKind`]).
//!
//! The names of variables come from a fixed list and not from the input: a recording made by somebody
//! else must not decide which of the user's own variables a plan sends.
//!
//! A value is replaced whole, where it stands as a value: names, paths and parts of words stay. A value that looks like
//! no word ([`is_random`]) is replaced within texts and paths too. With the variables set, the plan sends the same
//! bytes.

use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::escape::Escape;
use candor_plan::redact::{SecretKind, is_random};
use percent_encoding::percent_decode_str;

use crate::draft::{Body, Draft, Slot, Step};
use crate::json::{Json, quoted_inner};
use crate::target::{form_decoded, form_encoded};
use crate::template::{Piece, Template};

/// Shorter values are replaced where they were found, and not where the same text stands.
const LEAST_TO_SEARCH: usize = 6;
/// Longer values are replaced where they were found: they are texts rather than tokens.
const MOST_TO_SEARCH: usize = 16 * 1024;
/// Bytes of all values that are searched for. A search takes some twenty times as much memory.
const ALL_TO_SEARCH: usize = 2 * 1024 * 1024;

/// Secret values that were found, each with its variable.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Values with their variables, in the order in which they were found.
    known: Vec<(String, String)>,
    by_value: HashMap<String, usize>,
    /// How many variables of each kind there are.
    kinds: HashMap<String, usize>,
    /// Variables whose values have the escapes of their places.
    escaped: Vec<String>,
    /// Examples, defaults and enumerations are public.
    is_description: bool,
}

impl Secrets {
    /// Those of a description of an interface, whose values are nobody's.
    pub(crate) fn of_description() -> Self {
        Secrets { is_description: true, ..Secrets::default() }
    }

    /// The hole for a secret value: the same for the same value. The variable is the kind's, with a number behind it
    /// if it is taken.
    pub(crate) fn hole(&mut self, kind: SecretKind, value: &str) -> String {
        self.hole_like(kind.variable(), value)
    }

    /// The hole for a value that a variable of this name has by custom. An empty one is not known.
    pub(crate) fn named(&mut self, variable: &str, value: &str) -> String {
        match value {
            "" => self.variable(variable),
            value => self.hole_like(variable, value),
        }
    }

    /// The same for a variable whose name begins so.
    fn hole_like(&mut self, kind: &str, value: &str) -> String {
        if let Some(place) = self.by_value.get(value) {
            return format!("env:{}", self.known[*place].1);
        }
        let kind = without_number(kind);
        let count = self.kinds.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = numbered(kind, *count);
        self.by_value.insert(value.to_owned(), self.known.len());
        self.known.push((value.to_owned(), name.clone()));
        format!("env:{name}")
    }

    /// A variable whose value is not known, e.g. one that a description names.
    pub(crate) fn variable(&mut self, name: &str) -> String {
        self.kinds.entry(name.to_owned()).or_insert(1);
        format!("env:{name}")
    }

    /// The hole for a value that stands in a request as `text`. Where Candor would escape the value in another way, the
    /// hole takes it as it is.
    fn hole_at(&mut self, place: Place, kind: SecretKind, text: &str) -> String {
        let value = place.read(text);
        if let Some(function) = place.function(&value, text) {
            return format!("{function}{}", self.hole(kind, &value));
        }
        self.escaped_hole(kind.variable(), text)
    }

    /// The hole for a variable that has the escapes of its place.
    fn escaped_hole(&mut self, kind: &str, text: &str) -> String {
        let hole = self.hole_like(kind, text);
        let name = hole.trim_start_matches("env:");
        if !self.escaped.iter().any(|one| one == name) {
            self.escaped.push(name.to_owned());
        }
        format!("raw {hole}")
    }

    /// A string of JSON whose value has needless escapes, with the text within its marks.
    fn hole_as_written(&mut self, kind: &str, inner: &str) -> Template {
        let mut moved = Template::text("\"");
        moved.push_hole(self.escaped_hole(kind, inner));
        moved.push_text("\"");
        moved
    }

    /// Puts variables in the place of the secret values of all requests.
    pub(crate) fn move_out(&mut self, draft: &mut Draft) {
        if self.is_description {
            return;
        }
        for step in draft.steps_mut() {
            let place = Place::of(step);
            let is_authorization = is_authorization(step);
            step.written(&mut |name, leaf, written| {
                let Some((value, inner)) = needless(leaf, written) else { return };
                let Some(kind) = SecretKind::of(named(name, is_authorization), &value) else {
                    return;
                };
                *leaf = Json::Raw(self.hole_as_written(kind.variable(), inner));
                if is_random(&value) {
                    // It may come again without its escapes.
                    self.hole(kind, &value);
                }
            });
            step.values(&mut |slot, name, value| {
                let Some(text) = value.as_text() else { return };
                let place = place(slot);
                if let Some(moved) = self.move_out_of_pairs(place, name, text) {
                    *value = moved;
                    return;
                }
                let name = named(name, is_authorization);
                if let Some((lead, kind)) = kind_at(place, name, text) {
                    self.learn_parts(kind, &text[lead.len()..]);
                    let mut moved = Template::text(lead);
                    moved.push_hole(self.hole_at(place, kind, &text[lead.len()..]));
                    *value = moved;
                } else if let Some(moved) = self.move_out_of_url(place, text) {
                    *value = moved;
                } else {
                    self.learn_url(&place.read(text));
                }
            });
            if let Some(Body::Json { value, .. }) = &mut step.body {
                value.strings("", &mut |name, value| {
                    let text = match value {
                        Json::Number(number) => number.to_string(),
                        // A number that is longer than the library's.
                        Json::Raw(text) => match text.as_text() {
                            Some(text) => text.to_owned(),
                            None => return,
                        },
                        _ => return,
                    };
                    if let Some(
                        kind @ (SecretKind::Password | SecretKind::Card | SecretKind::Code),
                    ) = SecretKind::of(name, &text)
                    {
                        *value = Json::Raw(Template::hole(self.hole(kind, &text)));
                    }
                });
            }
        }
        self.hide(draft);
        self.renumber(draft);
        if !self.escaped.is_empty() {
            draft.remark(format!(
                "With the escapes that the request has: {}",
                self.escaped.join(", ")
            ));
        }
    }

    /// A body that is written as a form, whatever its media type says: `curl -d a=b -H 'Content-Type: text/plain'`.
    fn move_out_of_pairs(&mut self, place: Place, name: &str, text: &str) -> Option<Template> {
        if !name.is_empty() || !matches!(place, Place::Text | Place::EscapedText) {
            return None;
        }
        let pairs: Option<Vec<_>> = text.split('&').map(|pair| pair.split_once('=')).collect();
        let mut moved = Template::default();
        for (at, (name, value)) in pairs?.into_iter().enumerate() {
            moved.push_text(if at == 0 { "" } else { "&" });
            moved.push_text(name);
            moved.push_text("=");
            match SecretKind::of(&form_decoded(name), &form_decoded(value)) {
                Some(kind) => moved.push_hole(self.hole_at(place, kind, value)),
                None => moved.push_text(value),
            }
        }
        moved.as_text().is_none().then_some(moved)
    }

    /// A URL in a field of a header, such as `Referer`.
    fn move_out_of_url(&mut self, place: Place, text: &str) -> Option<Template> {
        let (before, query) = text.split_once('?')?;
        if place != Place::Header || !before.contains("://") {
            return None;
        }
        let mut moved = Template::text(before);
        for (at, pair) in query.split('&').enumerate() {
            moved.push_text(if at == 0 { "?" } else { "&" });
            let (pair, fragment) = pair.split_at(pair.find('#').unwrap_or(pair.len()));
            let (name, value) = pair.split_at(pair.find('=').map_or(pair.len(), |at| at + 1));
            moved.push_text(name);
            match SecretKind::of(&form_decoded(name.trim_end_matches('=')), &form_decoded(value)) {
                Some(kind) if !value.is_empty() => moved.push_hole(self.hole(kind, value)),
                _ => moved.push_text(value),
            }
            moved.push_text(fragment);
        }
        moved.as_text().is_none().then_some(moved)
    }

    /// Secrets within a secret field, which may come again by themselves.
    fn learn_parts(&mut self, kind: SecretKind, text: &str) {
        let (kind, parts) = match kind {
            SecretKind::Cookie => {
                let values =
                    text.split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim()));
                (SecretKind::Session, values.map(str::to_owned).collect())
            }
            SecretKind::Basic => {
                let user = STANDARD.decode(text).ok().and_then(|user| String::from_utf8(user).ok());
                let password = user.as_ref().and_then(|user| user.split_once(':'));
                (
                    SecretKind::Password,
                    password.into_iter().map(|(_, one)| one.to_owned()).collect(),
                )
            }
            _ => (kind, Vec::new()),
        };
        for part in parts.iter().filter(|part| is_random(part)) {
            self.hole(kind, part);
        }
    }

    /// Secrets in the query of a URL that is itself a value, such as a callback's.
    fn learn_url(&mut self, value: &str) {
        let Some((_, rest)) = value.split_once("://") else { return };
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query.split(['&', '#']).filter_map(|pair| pair.split_once('=')) {
            let value = form_decoded(value);
            if let Some(kind) = SecretKind::of(&form_decoded(name), &value)
                && is_random(&value)
            {
                self.hole(kind, &value);
            }
        }
    }

    /// Replaces secret values where they stand again.
    fn hide(&mut self, draft: &mut Draft) {
        let mut forms = Forms::default();
        let mut whole = HashMap::new();
        let lengths = LEAST_TO_SEARCH..=MOST_TO_SEARCH;
        let known = self.known.clone();
        for (value, name) in known.iter().filter(|(value, _)| lengths.contains(&value.len())) {
            if is_random(value) {
                forms.add(value, name);
            } else if SecretKind::of_name(value).is_none() {
                // `password=password` is an example, and `field=password` no password.
                whole.insert(value.as_str(), name.as_str());
            }
        }
        let search = forms.search();
        for step in draft.steps_mut() {
            let place = Place::of(step);
            step.written(&mut |_, leaf, written| {
                let Some((value, inner)) = needless(leaf, written) else { return };
                if let Some(name) = whole.get(value.as_str()) {
                    *leaf = Json::Raw(self.hole_as_written(name, inner));
                    return;
                }
                let replaced = |text: &str, place| {
                    let mut text = Template::text(text);
                    text.replace(&search, &|form| forms.hole(form, place));
                    text
                };
                let holes = |text: &Template| {
                    text.pieces().iter().filter(|one| matches!(one, Piece::Hole(_))).count()
                };
                let (found, all) =
                    (replaced(written, Place::Written), replaced(&value, place(Slot::Json)));
                if holes(&all) > 0 {
                    // Within the text as it was written, if all of them can be seen there.
                    *leaf = Json::Raw(match holes(&all) == holes(&found) {
                        true => found,
                        false => self.hole_as_written(SecretKind::Token.variable(), inner),
                    });
                }
            });
            step.values(&mut |slot, _, text| {
                let place = place(slot);
                let value = text.as_text().map(|text| (place.read(text), text.to_owned()));
                match value {
                    Some((value, text_there))
                        if slot != Slot::Path && whole.contains_key(value.as_str()) =>
                    {
                        let name = whole[value.as_str()];
                        *text = Template::hole(match place.function(&value, &text_there) {
                            Some(function) => format!("{function}env:{name}"),
                            None => self.escaped_hole(name, &text_there),
                        });
                    }
                    _ => text.replace(&search, &|form| forms.hole(form, place)),
                }
            });
        }
        draft.hide_comments(&search);
    }

    /// Numbers variables anew, those that the draft reads first: a secret that stands in it only as a part of another
    /// one, as a password does in the credentials of Basic, leaves no gap.
    fn renumber(&mut self, draft: &mut Draft) {
        let read: HashSet<String> = Secrets::variables(draft).into_iter().collect();
        let own: HashSet<&String> = self.known.iter().map(|(_, name)| name).collect();
        let is_free = |name: &String| own.contains(name) || !read.contains(name);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut names = HashMap::new();
        let (first, rest): (Vec<&String>, Vec<&String>) =
            self.known.iter().map(|(_, name)| name).partition(|name| read.contains(*name));
        for name in first.into_iter().chain(rest) {
            let kind = without_number(name);
            let count = counts.entry(kind).or_default();
            let new = loop {
                *count += 1;
                let new = numbered(kind, *count);
                if is_free(&new) {
                    break new;
                }
            };
            names.insert(name.clone(), new);
        }
        let known = self.known.iter_mut().map(|(_, name)| name);
        known.chain(&mut self.escaped).for_each(|name| name.clone_from(&names[name]));
        each_variable(draft, &mut |name| {
            if let Some(new) = names.get(name) {
                name.clone_from(new);
            }
        });
    }

    /// The variables that a draft reads, in order of appearance.
    pub(crate) fn variables(draft: &mut Draft) -> Vec<String> {
        let mut found = Vec::new();
        let mut known = HashSet::new();
        each_variable(draft, &mut |name| {
            if known.insert(name.clone()) {
                found.push(name.clone());
            }
        });
        found
    }
}

/// `TOKEN`, `TOKEN_2`.
fn numbered(kind: &str, number: usize) -> String {
    if number == 1 { kind.to_owned() } else { format!("{kind}_{number}") }
}

fn without_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit())
}

/// Calls `visit` with the name of the variable of each hole that reads one.
fn each_variable(draft: &mut Draft, visit: &mut dyn FnMut(&mut String)) {
    // Of curl's --aws-sigv4.
    let auth = draft.settings.iter_mut().filter(|(key, _)| *key == "auth");
    for table in auth.filter_map(|(_, value)| value.as_inline_table_mut()) {
        for (_, value) in table.iter_mut() {
            let hole = value.as_str().and_then(|text| text.strip_suffix('}')?.split_once("env:"));
            let Some((function, name)) = hole else { continue };
            let mut renamed = name.to_owned();
            visit(&mut renamed);
            *value = format!("{function}env:{renamed}}}").into();
        }
    }
    let mut holes = |value: &mut Template| {
        value.holes(&mut |hole| {
            if let Some((function, name)) = hole.split_once("env:") {
                let mut renamed = name.to_owned();
                visit(&mut renamed);
                *hole = format!("{function}env:{renamed}");
            }
        });
    };
    for step in draft.steps_mut() {
        step.values(&mut |_, _, value| holes(value));
        if let Some(Body::Json { value, .. }) = &mut step.body {
            value.strings("", &mut |_, leaf| {
                if let Json::Raw(text) = leaf {
                    holes(text);
                }
            });
        }
    }
}

/// How a value stands in a plan's text, and what Candor does to a hole there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    /// A query or a form.
    Pair,
    Header,
    /// A string of JSON, which the draft has without its escapes.
    Json,
    /// One with the escapes that were sent.
    Written,
    /// One in a body that Candor does not take for JSON.
    JsonText,
    Text,
    /// A text in a body that Candor takes for JSON or a form.
    EscapedText,
}

impl Place {
    /// The places of a request's values.
    fn of(step: &Step) -> impl Fn(Slot) -> Place + use<> {
        let kind = step.header("content-type").map(|kind| kind.render().to_ascii_lowercase());
        let is_json = kind.as_ref().is_none_or(|kind| kind.contains("json"));
        let is_escaped = is_json || kind.is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
        move |slot| match slot {
            Slot::Path => Place::Path,
            Slot::Query | Slot::Form => Place::Pair,
            Slot::Header => Place::Header,
            Slot::Json if is_json => Place::Json,
            Slot::Json => Place::JsonText,
            Slot::Text if is_escaped => Place::EscapedText,
            Slot::Text => Place::Text,
        }
    }

    /// The value that a text stands for here.
    fn read(self, text: &str) -> String {
        match self {
            Place::Path => percent_decode_str(text).decode_utf8_lossy().into_owned(),
            Place::Pair => form_decoded(text),
            _ => text.to_owned(),
        }
    }

    /// What is done to a value so that it becomes this text here.
    fn function(self, value: &str, text: &str) -> Option<&'static str> {
        match self.write(value) == text {
            true => Some(""),
            false if self == Place::Pair && form_written(value) == text => Some("form "),
            false if self == Place::JsonText && quoted_inner(value) != value => Some("raw json "),
            // As it was typed, which needs no escape to be understood.
            false => (value == text).then_some("raw "),
        }
    }

    /// The text that a hole with this value becomes here; of JSON, without its escapes, if Candor has the same.
    fn write(self, value: &str) -> String {
        match self {
            Place::Path | Place::Pair => form_encoded(value),
            Place::Json => {
                let mut escaped = Vec::new();
                Escape::Json.write(value.as_bytes(), &mut escaped);
                match escaped == quoted_inner(value).as_bytes() {
                    true => value.to_owned(),
                    false => String::new(),
                }
            }
            Place::Header | Place::Text | Place::Written => value.to_owned(),
            // The escapes depend on what is around.
            Place::EscapedText | Place::JsonText => {
                match value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    true => value.to_owned(),
                    false => String::new(),
                }
            }
        }
    }
}

/// Whether a request belongs to OAuth (RFC 6749 4.1), so that its `code` is no status or coupon.
fn is_authorization(step: &mut Step) -> bool {
    let mut is_one = false;
    step.values(&mut |slot, name, _| {
        is_one |= matches!(slot, Slot::Query | Slot::Form | Slot::Json)
            && ["client_id", "code_verifier", "grant_type", "redirect_uri", "state"]
                .contains(&name);
    });
    is_one
}

/// The value of a string of JSON that has needless escapes, and the text within its marks.
fn needless<'w>(leaf: &Json<Template>, written: &'w str) -> Option<(String, &'w str)> {
    let Json::Text(value) = leaf else { return None };
    let value = value.as_text()?;
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    (quoted_inner(value) != inner).then(|| (value.to_owned(), inner))
}

/// The name that says what a value is: of OAuth a `code` is a secret.
fn named(name: &str, is_authorization: bool) -> &str {
    if is_authorization && name == "code" { "authorization_code" } else { name }
}

/// As browsers write forms.
fn form_written(value: &str) -> String {
    let mut written = Vec::new();
    Escape::Form.write(value.as_bytes(), &mut written);
    String::from_utf8_lossy(&written).into_owned()
}

/// The part of a value that is not secret, and the kind of the rest.
fn kind_at<'t>(place: Place, name: &str, text: &'t str) -> Option<(&'t str, SecretKind)> {
    let kind = match place {
        Place::Header => return SecretKind::of_field(name, text),
        Place::Pair => SecretKind::of(&form_decoded(name), &place.read(text)),
        Place::Path => SecretKind::of_value(&place.read(text)),
        _ => SecretKind::of(name, text),
    };
    kind.map(|kind| ("", kind))
}

/// Texts to search for, each with its variable and how it is made of the value.
#[derive(Default)]
struct Forms {
    texts: Vec<String>,
    /// The variable, and the function that makes the text of its value.
    made: Vec<(String, &'static str)>,
    bytes: usize,
}

impl Forms {
    fn add(&mut self, value: &str, name: &str) {
        let (percent, json) = (form_encoded(value), quoted_inner(value));
        let all = [(value, ""), (percent.as_str(), "url "), (json.as_str(), "json ")];
        for (at, (text, function)) in all.into_iter().enumerate() {
            let is_new = all[..at].iter().all(|(other, _)| *other != text);
            if is_new && self.bytes + text.len() <= ALL_TO_SEARCH {
                self.bytes += text.len();
                self.texts.push(text.to_owned());
                self.made.push((name.to_owned(), function));
            }
        }
    }

    fn search(&self) -> AhoCorasick {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // Its memory is a small multiple of the texts.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&self.texts)
            .expect("the texts are far shorter than the library's bound")
    }

    /// The hole that becomes this text here.
    fn hole(&self, form: usize, place: Place) -> String {
        let (name, function) = &self.made[form];
        let text = &self.texts[form];
        // The draft has a string of JSON without its escapes, and a hole with a function of its own gets no others.
        let is_json = matches!(place, Place::Json | Place::JsonText);
        let again = if is_json && *function == "json " { "json " } else { "" };
        let is_same = function.is_empty() && place.write(text) == *text;
        let raw = match place {
            Place::JsonText if function.is_empty() => {
                place.function(text, text).unwrap_or_default()
            }
            Place::JsonText if *function == "json " => "raw ",
            Place::JsonText => "",
            Place::Written => "raw ",
            Place::Header | Place::Json | Place::Text => "",
            Place::Path | Place::Pair | Place::EscapedText if is_same || *function == "url " => "",
            Place::Path | Place::Pair | Place::EscapedText => "raw ",
        };
        format!("{raw}{again}{function}env:{name}")
    }
}

#[cfg(test)]
mod tests;
