//! Values of a response that a later request could have from it, each with the capture that finds it.

use crate::json::Json;
use crate::target::form_decoded;

use super::Seen;

/// Values longer than this are not compared.
const MAX_VALUE: usize = 4096;
/// The text before a value that its regular expression may have.
const MAX_CONTEXT: usize = 80;
/// Places with the same text before them of which the first match may be one.
const MAX_PLACES: usize = 20;

/// Fields of a response that say nothing about the user, in lower case.
const NOT_CAPTURED: [&str; 22] = [
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "age",
    "alt-svc",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-length",
    "content-security-policy",
    "content-type",
    "date",
    "etag",
    "expires",
    "keep-alive",
    "last-modified",
    "report-to",
    "set-cookie",
    "strict-transport-security",
    "vary",
    "via",
];

/// A value, and where it was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) value: String,
    /// The source of the capture, e.g. `json:$.id`.
    pub(super) source: String,
    /// A word for the variable's name.
    pub(super) hint: String,
}

/// The candidates for which `is_wanted` holds; `left` is how many more places there may be.
pub(super) fn find(
    seen: &Seen,
    is_wanted: &dyn Fn(&str) -> bool,
    left: &mut usize,
) -> Vec<Candidate> {
    let mut is_wanted = |value: &str| {
        let is_wanted = *left > 0 && value.len() <= MAX_VALUE && is_wanted(value);
        *left -= usize::from(is_wanted);
        is_wanted
    };
    let mut found = Vec::new();
    match Json::parse(&seen.body) {
        Some(json @ (Json::Object(_) | Json::List(_))) => {
            in_json(&json, &mut "$".to_owned(), "", &mut is_wanted, &mut found);
        }
        _ => in_text(&seen.body, &mut is_wanted, &mut found),
    }
    for (name, value) in &seen.header {
        let lower = name.to_ascii_lowercase();
        if NOT_CAPTURED.contains(&lower.as_str()) || lower.starts_with("x-content-") {
            continue;
        }
        if is_wanted(value) {
            found.push(Candidate {
                value: value.clone(),
                source: format!("header:{name}"),
                hint: lower.trim_start_matches("x-").to_owned(),
            });
        }
    }
    found
}

/// The path of each string and number (RFC 9535).
fn in_json(
    json: &Json,
    path: &mut String,
    key: &str,
    is_wanted: &mut dyn FnMut(&str) -> bool,
    found: &mut Vec<Candidate>,
) {
    let length = path.len();
    match json {
        Json::Text(_) | Json::Number(_) => {
            let value = json.scalar().unwrap_or_default();
            if is_wanted(&value) {
                let source = format!("json:{path}");
                found.push(Candidate { value, source, hint: key.to_owned() });
            }
        }
        Json::List(items) => {
            for (index, item) in items.iter().enumerate() {
                *path += &format!("[{index}]");
                in_json(item, path, key, is_wanted, found);
                path.truncate(length);
            }
        }
        Json::Object(fields) => {
            for (key, value) in fields {
                *path += &member(key);
                in_json(value, path, key, is_wanted, found);
                path.truncate(length);
            }
        }
        Json::Null | Json::Bool(_) | Json::Raw(_) => {}
    }
}

/// `.name`, or `['odd name']` (RFC 9535 section 2.5.1).
fn member(key: &str) -> String {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_plain =
        key.starts_with(is_first) && key.chars().all(|c| is_first(c) || c.is_ascii_digit());
    if is_plain {
        return format!(".{key}");
    }
    let mut quoted = String::new();
    for c in key.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    format!("['{quoted}']")
}

/// Quoted texts and words of HTML or of any other text.
fn in_text(text: &str, is_wanted: &mut dyn FnMut(&str) -> bool, found: &mut Vec<Candidate>) {
    let mut start = 0;
    let is_end = |c: char| "\"'<>&?=#;, \t\r\n/".contains(c);
    // Between any two ends a value may stand whole, or with the ends that base64 has inside.
    for (at, end) in text.match_indices(is_end).chain([(text.len(), "")]) {
        let word = &text[start..at];
        let word_at = start;
        start = at + end.len();
        let quoted = text[..word_at].chars().next_back().filter(|c| *c == '"' || *c == '\'');
        let whole = quoted.and_then(|quote| {
            let length =
                text[word_at..].bytes().take(MAX_VALUE).position(|byte| byte == quote as u8)?;
            Some(&text[word_at..word_at + length])
        });
        for value in whole.into_iter().chain([word]) {
            if !found.iter().any(|one| one.value == value)
                && is_wanted(value)
                && let Some((source, hint)) = expression(text, word_at, value)
            {
                found.push(Candidate { value: value.to_owned(), source, hint });
            }
        }
    }
}

/// A regular expression whose first match in `text` is the value at `at`.
fn expression(text: &str, at: usize, value: &str) -> Option<(String, String)> {
    let after = text[at + value.len()..].chars().next();
    let stop = after.filter(|c| !c.is_alphanumeric()).unwrap_or('"');
    let before = &text[text.ceil_char_boundary(at.saturating_sub(MAX_CONTEXT))..at];
    let before = before.rsplit('\n').next().unwrap_or_default();
    let before = &before[before.rfind('<').unwrap_or(0)..];
    // With the text that follows, if the beginning alone is not enough.
    let behind = &text[at + value.len()..];
    let behind = &behind[..behind.floor_char_boundary(2 * MAX_CONTEXT)];
    let tail = behind.split(['>', '\n']).next().unwrap_or_default();
    let tail = &tail[..tail.floor_char_boundary(MAX_CONTEXT)];
    // From the attribute that names the value, or from the whole of what stands before it.
    let name_at = ["name=", "id=", "property="]
        .iter()
        .filter_map(|name| before.rfind(&format!(" {name}")).map(|at| at + 1));
    let prefix = &before[name_at.max().unwrap_or(0)..];
    let named = attribute(prefix).or_else(|| {
        // `value="…" name="…"`: the name comes behind.
        attribute(behind.split('>').next()?)
    });
    let hint = named.unwrap_or_else(|| last_word(prefix));
    if prefix.chars().filter(|c| c.is_alphabetic()).count() < 3 {
        return None;
    }
    for tail in ["", tail] {
        if first_match(text, prefix, stop, tail) == Some(at) {
            // The quotation mark shows where the value ends.
            let close = if tail.is_empty() { stop.to_string() } else { tail.to_owned() };
            let close = if stop == '"' || stop == '\'' { literal(&close) } else { literal(tail) };
            let source = format!("regex:{}([^{}]+){close}", literal(prefix), class(stop));
            return Some((source, hint));
        }
    }
    None
}

/// Where the first match of prefix, value and tail has its value.
fn first_match(text: &str, prefix: &str, stop: char, tail: &str) -> Option<usize> {
    text.match_indices(prefix).take(MAX_PLACES).find_map(|(at, _)| {
        let begin = at + prefix.len();
        let value = &text[begin..text.floor_char_boundary(begin + MAX_VALUE)];
        let length = value.find(stop)?;
        (length > 0 && text[begin + length..].starts_with(tail)).then_some(begin)
    })
}

/// The value of `name="…"` or `id="…"` in a piece of a tag.
fn attribute(tag: &str) -> Option<String> {
    let at = ["name=", "property=", "id="]
        .iter()
        .find_map(|name| tag.find(name).map(|at| at + name.len()))?;
    let rest = tag[at..].trim_start_matches(['"', '\'']);
    let name = rest.split(['"', '\'', ' ', '>']).next().filter(|name| !name.is_empty())?;
    Some(form_decoded(name))
}

fn last_word(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut words = text.split(|c| !is_word(c)).filter(|word| word.len() > 1);
    words.next_back().unwrap_or_default().to_owned()
}

/// Text that a regular expression matches as it is.
fn literal(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' => escaped += "\\n",
            '\r' => escaped += "\\r",
            '\t' => escaped += "\\t",
            c if r"\.+*?()|[]{}^$#&-~".contains(c) && !"#&-~".contains(c) => {
                escaped.extend(['\\', c])
            }
            c if c.is_control() => escaped.push('.'),
            c => escaped.push(c),
        }
    }
    escaped
}

fn class(stop: char) -> String {
    match stop {
        '\\' | ']' | '^' | '-' | '[' | '&' => format!("\\{stop}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        stop => stop.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, value: &str) -> Vec<(String, String)> {
        let seen = Seen { body: body.to_owned(), ..Seen::default() };
        let all = find(&seen, &|one| one == value, &mut 100);
        all.into_iter().map(|one| (one.source, one.hint)).collect()
    }

    #[test]
    fn json_values_have_their_path() {
        let body = r#"{"auth":{"token":"T1","n":4711},"list":[{"a b":"T2"},["T3"]],"it's\\":"T4"}"#;
        for (value, source, hint) in [
            ("T1", "json:$.auth.token", "token"),
            ("4711", "json:$.auth.n", "n"),
            ("T2", "json:$.list[0]['a b']", "a b"),
            ("T3", "json:$.list[1][0]", "list"),
            ("T4", r"json:$['it\'s\\']", "it's\\"),
        ] {
            assert_eq!(found(body, value), [(source.to_owned(), hint.to_owned())]);
        }
    }

    #[test]
    fn html_values_have_an_expression_that_names_them() {
        let table = [
            (
                r#"<input type="hidden" name="_csrf" value="T1a+/=">"#,
                "T1a+/=",
                r#"regex:name="_csrf" value="([^"]+)""#,
                "_csrf",
            ),
            (
                r#"<meta name='csrf-token' content='T1'>"#,
                "T1",
                r"regex:name='csrf-token' content='([^']+)'",
                "csrf-token",
            ),
            (r#"<input value="T1" name="t">"#, "T1", r#"regex:<input value="([^"]+)""#, "t"),
            (
                r#"<input value="x"><input value="T1" name="t">"#,
                "T1",
                r#"regex:<input value="([^"]+)" name="t""#,
                "t",
            ),
            (
                r#"window.s = {"nonce":"T1"};"#,
                "T1",
                r#"regex:window\.s = \{"nonce":"([^"]+)""#,
                "nonce",
            ),
            (r#"<a href="/orders/T1?x">"#, "T1", r#"regex:<a href="/orders/([^?]+)"#, "orders"),
        ];
        for (body, value, source, hint) in table {
            assert_eq!(found(body, value), [(source.to_owned(), hint.to_owned())], "{body}");
        }
    }

    #[test]
    fn a_value_that_nothing_names_is_left() {
        assert_eq!(found("\n\"T1\"\n", "T1"), []);
        // Both look the same up to the value, and after it.
        assert_eq!(found("<i>a</i> <b title=\"U9\"> <b title=\"T1\">", "T1"), []);
    }
}
