//! Correlation: a value of a response that comes again in a later request becomes a capture.
//!
//! Only values that look made by a server count (tokens, ids), only if no earlier request had them, so
//! that what the user typed and the server repeated is left alone.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use candor_plan::redact::SecretKind;
use percent_encoding::percent_decode_str;

use super::Seen;
use super::candidates;
use crate::draft::{Body, Slot, Step, slug};
use crate::json::Json;
use crate::target::form_decoded;
use crate::template::Template;

/// The fewest characters of a value with letters, and of a number.
const LEAST_TEXT: usize = 8;
const LEAST_NUMBER: usize = 4;
/// Places in responses that are looked at more closely. Recordings have some ten.
const MAX_CAPTURES: usize = 1000;

/// Changes steps so that values come from the responses before them. Both lists have one entry for each
/// step. Each request and each response is gone through once.
pub(super) fn correlate(steps: &mut [Step], seen: &[Seen]) {
    let first_use = first_uses(steps);
    let mut names = HashSet::new();
    // By value: the variable that has it, the cookie that has it.
    let mut captured: HashMap<String, String> = HashMap::new();
    let mut cookies: HashMap<String, &str> = HashMap::new();
    let mut used = HashSet::new();
    let mut left = MAX_CAPTURES;
    for (index, seen) in seen.iter().enumerate() {
        let is_created = steps[index].method == "POST";
        let is_wanted = |value: &str| {
            first_use.get(value).is_some_and(|first| *first > index)
                && looks_made(value, is_created)
        };
        for candidate in candidates::find(seen, &is_wanted, &mut left) {
            if let Entry::Vacant(place) = captured.entry(candidate.value) {
                let name = place.insert(variable(&candidate.hint, &mut names));
                steps[index].capture.push((name.clone(), candidate.source));
            }
        }
        let set = seen.cookies().map(|(name, value)| (form_decoded(value), name));
        cookies.extend(set.filter(|(value, _)| looks_made(value, false)));
        let Some(next) = steps.get_mut(index + 1) else { break };
        replace(next, &captured, &mut used);
        repeats_cookie(next, &cookies);
        if let Some(field) = location(next, seen) {
            let name = variable("location", &mut names);
            next.target.segments = vec![Template::hole(format!("path {name}"))];
            next.target.query = None;
            used.insert(name.clone());
            steps[index].capture.push((name, format!("header:{field}")));
        }
    }
    for step in steps {
        step.capture.retain(|(name, _)| used.contains(name));
    }
}

/// Each value of a request that a server may have made, with the first step that has it.
fn first_uses(steps: &mut [Step]) -> HashMap<String, usize> {
    let mut uses = HashMap::new();
    let mut add = |value: String, index: usize| {
        if looks_made(&value, true) {
            uses.entry(value).or_insert(index);
        }
    };
    for (index, step) in steps.iter_mut().enumerate() {
        step.values(&mut |slot, name, value| {
            if let Some(text) = value.as_text() {
                add(plain(slot, name, text).1, index);
            }
        });
        if let Some(Body::Json { value, .. }) = &mut step.body {
            value.strings("", &mut |_, value| {
                if let Json::Number(number) = value {
                    add(number.to_string(), index);
                }
            });
        }
    }
    uses
}

/// The text before a value that stays (`Bearer `), and the value, decoded.
fn plain(slot: Slot, name: &str, text: &str) -> (String, String) {
    let value = match slot {
        Slot::Path => percent_decode_str(text).decode_utf8_lossy().into_owned(),
        Slot::Query | Slot::Form => form_decoded(text),
        Slot::Header => {
            let prefix = SecretKind::of_field(name, text).map_or("", |(prefix, _)| prefix);
            return (prefix.to_owned(), text[prefix.len()..].to_owned());
        }
        Slot::Json | Slot::Text => text.to_owned(),
    };
    (String::new(), value)
}

/// Puts `${name}` in the place of captured values.
fn replace(step: &mut Step, captured: &HashMap<String, String>, used: &mut HashSet<String>) {
    let mut name_of = |value: &str| {
        let name = captured.get(value)?;
        used.insert(name.clone());
        Some(name)
    };
    step.values(&mut |slot, field, value| {
        let Some(text) = value.as_text() else { return };
        let (prefix, text) = plain(slot, field, text);
        if let Some(name) = name_of(&text) {
            let mut template = Template::text(prefix);
            template.push_hole(name);
            *value = template;
        }
    });
    if let Some(Body::Json { value, .. }) = &mut step.body {
        value.strings("", &mut |_, value| {
            if let Json::Number(number) = value
                && let Some(name) = name_of(&number.to_string())
            {
                *value = Json::Raw(Template::hole(name));
            }
        });
    }
}

/// Whether a server made this value, by its looks. `is_created`: the response is to a request that
/// creates, whose short numbers are ids.
fn looks_made(value: &str, is_created: bool) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == value.len() {
        return value.len() >= if is_created { 1 } else { LEAST_NUMBER };
    }
    let is_token =
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=:|%".contains(&byte));
    let is_mixed = value.bytes().any(|byte| byte.is_ascii_uppercase())
        && value.bytes().any(|byte| byte.is_ascii_lowercase());
    is_token
        && value.len() >= LEAST_TEXT
        && (digits > 0 || is_mixed && value.len() >= 16)
        && !is_date(value)
        && !value.starts_with("http")
        && !value.contains("/.")
}

/// `2024-05-01`, with or without a time.
fn is_date(value: &str) -> bool {
    let shape: String =
        value.chars().take(10).map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape == "9999-99-99"
}

/// Of a redirect to a path that differs each time: the name of the field that has it, if it is the path of the
/// next step as it was recorded.
fn location<'s>(next: &mut Step, seen: &'s Seen) -> Option<&'s str> {
    let (name, place) =
        seen.header.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    let path = next.target.to_template();
    let path = path.as_text().filter(|path| is_made_path(path))?;
    if place.ends_with(path) && place.contains("://") {
        next.remark(
            "guess: this path came from the Location of the step before, whose URL is absolute",
        );
    }
    (place == path).then_some(name)
}

/// Whether a part of a path or a query differs each time.
fn is_made_path(path: &str) -> bool {
    path.split(['/', '?', '&', '=']).any(|part| looks_made(&form_decoded(part), true))
}

/// Says where a script copied a token from a cookie into a field: there is no capture for it.
fn repeats_cookie(step: &mut Step, cookies: &HashMap<String, &str>) {
    let mut found = Vec::new();
    for (field, value) in &step.header {
        let value = form_decoded(value.as_text().unwrap_or_default());
        if let Some(cookie) = cookies.get(&value).filter(|_| !field.eq_ignore_ascii_case("cookie"))
        {
            found.push(format!(
                "guess: the header {field} repeats the cookie {cookie}; no capture reads cookies, so it is a variable"
            ));
        }
    }
    found.iter().for_each(|text| step.remark(text));
}

/// A name of letters, digits and `_`, each once.
fn variable(hint: &str, names: &mut HashSet<String>) -> String {
    let name = slug(hint).replace('-', "_");
    let name: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    // Words of the templates' grammar, and names that are none.
    let name = match name.as_str() {
        "" => "value".to_owned(),
        "seq" | "uuid" | "random" | "choice" | "now" | "now_s" | "now_ms" | "now_ns" | "base64"
        | "url" | "json" | "path" | "env" => {
            format!("{name}_value")
        }
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("value_{name}"),
        _ => name,
    };
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    all.find(|name| names.insert(name.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_made_by_a_server() {
        for (value, created, made) in [
            ("4711", false, true),
            ("17", false, false),
            ("17", true, true),
            ("a1b2c3d4", false, true),
            ("alice", false, false),
            ("application/json", false, false),
            ("blue-t-shirt-large", false, false),
            ("kXvZpQwErTyUiOpA", false, true),
            ("2024-05-01T10:00:00Z", false, false),
            ("hello world 12345", false, false),
            ("https://h/12345678", false, false),
            ("550e8400-e29b-41d4-a716-446655440000", false, true),
        ] {
            assert_eq!(looks_made(value, created), made, "{value}");
        }
    }

    #[test]
    fn names_of_variables_are_words_and_differ() {
        let mut names = HashSet::new();
        let all: Vec<_> = ["X-Auth Token", "x_auth_token", "${}", "seq", "1st", "é", "user[csrf]"]
            .map(|hint| variable(hint, &mut names))
            .into();
        assert_eq!(
            all,
            [
                "x_auth_token",
                "x_auth_token_2",
                "request",
                "seq_value",
                "value_1st",
                "value",
                "user_csrf"
            ]
        );
    }
}
