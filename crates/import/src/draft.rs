//! The plan before it is written: requests and journeys whose values are still apart.
//!
//! Importers fill a [`Draft`]; `finish.rs` makes the plan of it. What a secret is, and how a plan is written, is not
//! known here.

use std::path::PathBuf;

use aho_corasick::AhoCorasick;
use candor_plan::units::fmt_plural;
use toml_edit::Value;

use crate::json::{self, Json};
use crate::multipart::Multipart;
use crate::target::{Pair, Target, form};
use crate::template::Template;

/// More remarks of one request are noise.
const MAX_REMARKS: usize = 12;
/// Characters of a remark that are kept.
const MAX_REMARK: usize = 4000;

/// What becomes a plan.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Comments at the top: each is also a note of the result.
    pub(crate) remarks: Vec<String>,
    pub(crate) url: String,
    /// Other keys of the top level.
    pub(crate) settings: Vec<(&'static str, Value)>,
    /// Lines that are commented out, below the settings.
    pub(crate) suggestions: Vec<String>,
    pub(crate) header: Vec<(String, Template)>,
    pub(crate) requests: Vec<Step>,
    pub(crate) journeys: Vec<Journey>,
}

/// Steps that one user takes.
#[derive(Debug, Default)]
pub(crate) struct Journey {
    pub(crate) name: String,
    pub(crate) cookies: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) remarks: Vec<String>,
}

/// One request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// Empty for GET.
    pub(crate) method: String,
    /// The scheme and host that it goes to, if not those of the plan.
    pub(crate) origin: Option<String>,
    pub(crate) target: Target,
    pub(crate) header: Vec<(String, Template)>,
    pub(crate) body: Option<Body>,
    pub(crate) capture: Vec<(String, String)>,
    pub(crate) think: Option<String>,
    pub(crate) weight: Option<u64>,
    pub(crate) expect_status: Option<u16>,
    pub(crate) remarks: Vec<String>,
}

/// A request's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Json {
        value: Json<Template>,
        /// The text that it was read from, if that is not how Candor would write it.
        written: Option<String>,
    },
    /// `application/x-www-form-urlencoded`, names and literals encoded as they were recorded.
    Form(Vec<Pair>),
    /// `multipart/form-data`.
    Parts(Multipart),
    Text(Template),
    File(String),
}

impl Body {
    /// JSON that is made, and has no text to keep.
    pub(crate) fn json(value: Json<Template>) -> Self {
        Body::Json { value, written: None }
    }

    /// A body of JSON that is sent byte for byte; `None` if the text is none.
    pub(crate) fn read_json(text: &str) -> Option<Self> {
        let mut value = Json::parse(text)?.into_template();
        let mut places = json::leaves(text).into_iter();
        value.strings("", &mut |_, leaf| {
            // A number that was rounded, or would be written in another way.
            if let (Some(place), Json::Number(number)) = (places.next(), &*leaf)
                && number.to_string() != text[place.clone()]
            {
                *leaf = Json::Raw(Template::text(&text[place]));
            }
        });
        let is_plain = value.to_text().as_text() == Some(text);
        Some(Body::Json { value, written: (!is_plain).then(|| text.to_owned()) })
    }
}

/// Where a value stands, which decides how it is encoded. Holes are encoded by Candor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Path,
    Query,
    Header,
    Form,
    Json,
    Text,
}

impl Draft {
    /// Adds a comment at the top, which is also a note.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    pub(crate) fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        let journeys = self.journeys.iter_mut().flat_map(|journey| &mut journey.steps);
        self.requests.iter_mut().chain(journeys)
    }

    /// Removes secret values from what is not sent: comments, and the names of journeys and steps.
    pub(crate) fn hide_comments(&mut self, secrets: &AhoCorasick) {
        let own = self.remarks.iter_mut().chain(&mut self.suggestions);
        own.for_each(|text| hide(text, secrets));
        for journey in &mut self.journeys {
            hide(&mut journey.name, secrets);
            journey.remarks.iter_mut().for_each(|text| hide(text, secrets));
        }
        for step in self.steps_mut() {
            hide(&mut step.name, secrets);
            step.remarks.iter_mut().for_each(|remark| hide(remark, secrets));
        }
    }
}

impl Step {
    /// Adds a comment above the request.
    pub(crate) fn remark(&mut self, text: impl AsRef<str>) {
        // Far behind what is shown, so that no secret is cut before it is hidden.
        let text: String = text.as_ref().chars().take(MAX_REMARK).collect();
        if self.remarks.len() < MAX_REMARKS && !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    pub(crate) fn has_holes(&mut self) -> bool {
        let mut has_holes = false;
        self.values(&mut |_, _, value| has_holes |= value.as_text().is_none());
        has_holes
    }

    /// The bytes of all values.
    pub(crate) fn size(&mut self) -> usize {
        let mut bytes = 0;
        self.values(&mut |_, name, value| bytes += name.len() + value.render().len());
        bytes
    }

    /// Calls `visit` with each value, its place and its name.
    pub(crate) fn values(&mut self, visit: &mut dyn FnMut(Slot, &str, &mut Template)) {
        self.target.segments.iter_mut().for_each(|segment| visit(Slot::Path, "", segment));
        for (name, value) in self.target.query.iter_mut().flatten() {
            if let Some(value) = value {
                visit(Slot::Query, name, value);
            }
        }
        self.header.iter_mut().for_each(|(name, value)| visit(Slot::Header, name, value));
        match &mut self.body {
            Some(Body::Form(pairs)) => {
                for (name, value) in pairs {
                    if let Some(value) = value {
                        visit(Slot::Form, name, value);
                    }
                }
            }
            Some(Body::Json { value, .. }) => value.strings("", &mut |name, value| {
                if let Json::Text(text) = value {
                    visit(Slot::Json, name, text);
                }
            }),
            Some(Body::Parts(form)) => {
                form.parts
                    .iter_mut()
                    .for_each(|part| visit(Slot::Text, &part.field.name, &mut part.value));
            }
            Some(Body::Text(text)) => visit(Slot::Text, "", text),
            Some(Body::File(_)) | None => {}
        }
    }

    /// Calls `visit` with each string and number of a body of JSON that Candor would write in another way, its name, and
    /// the text that it was read from.
    pub(crate) fn written(&mut self, visit: &mut dyn FnMut(&str, &mut Json<Template>, &str)) {
        let Some(Body::Json { value, written: Some(text) }) = &mut self.body else { return };
        let mut places = json::leaves(text).into_iter();
        value.strings("", &mut |name, leaf| {
            if let Some(place) = places.next() {
                visit(name, leaf, &text[place]);
            }
        });
    }

    /// The files that it sends.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match &self.body {
            Some(Body::File(name)) => vec![name.into()],
            Some(Body::Parts(form)) => {
                form.parts.iter().filter_map(|part| part.field.file.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The body as one text, if no file is in it.
    pub(crate) fn body_text(&self) -> Option<Template> {
        match self.body.as_ref()? {
            Body::Json { value, written: None } => Some(value.to_text()),
            Body::Json { value, written: Some(text) } => Some(value.to_text_as(text)),
            Body::Parts(form) => form.text(),
            Body::Form(pairs) => Some(form(pairs)),
            Body::Text(text) => Some(text.clone()),
            Body::File(_) => None,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&Template> {
        self.header
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// From method and path: `post-cart-items`. Values that differ between users are left out.
    pub(crate) fn name_of_target(&self) -> String {
        let words = self.target.segments.iter().filter_map(Template::as_text);
        let is_word = |word: &&str| !word.is_empty() && !looks_like_id(word);
        let words: Vec<_> = words.filter(is_word).collect();
        let last = &words[words.len().saturating_sub(3)..];
        let path = if last.is_empty() { "home".to_owned() } else { last.join("-") };
        match self.method.as_str() {
            "" | "GET" => slug(&path),
            method => slug(&format!("{method}-{path}")),
        }
    }
}

fn hide(text: &mut String, secrets: &AhoCorasick) {
    if secrets.is_match(text.as_str()) {
        let mut hidden = String::new();
        secrets.replace_all_with(text, &mut hidden, |_, _, to| {
            to.push('…');
            true
        });
        *text = hidden;
    }
}

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    fmt_plural(count as u64, noun)
}

/// Mostly digits, or long and with digits.
pub(crate) fn looks_like_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits * 2 >= word.len() || digits > 0 && word.len() >= 16
}

/// A name for reports: lower case, words joined by `-`.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    let mut before = ' ';
    for c in text.chars().take(200) {
        // `getItem` is two words.
        if c.is_uppercase()
            && slug.ends_with(|last: char| last.is_lowercase())
            && before.is_lowercase()
        {
            slug.push('-');
        }
        before = c;
        match c.is_alphanumeric() {
            true => slug.extend(c.to_lowercase()),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    let end = slug.char_indices().nth(48).map_or(slug.len(), |(at, _)| at);
    let slug = slug[..end].trim_matches('-');
    if slug.is_empty() { "request".to_owned() } else { slug.to_owned() }
}
