//! Secret values, hidden in any text in whatever form they come again: as they are, with percent escapes, as in JSON,
//! as in HTML, in base64, in capital letters.
//!
//! Only whole values are replaced: a password `port` hides no part of `report`. A value that looks like no word is
//! hidden within longer ones too.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::secret::is_random;
use super::{REDACTED, SecretKind};
use crate::escape::{Escape, base64_decoded, percent_decoded};
use crate::holes::{has_holes, plain};

/// Values that are hidden.
#[derive(Clone, Default)]
pub struct Hidden {
    /// In lower case, the longest first, each with whether it is hidden within words too.
    forms: BTreeMap<(Reverse<usize>, String), bool>,
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({})", self.forms.len())
    }
}

impl Hidden {
    /// Hides a value.
    pub fn add(&mut self, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(value).to_ascii_lowercase();
        if self.forms.contains_key(&(Reverse(text.len()), text)) {
            return;
        }
        let is_anywhere = std::str::from_utf8(value).is_ok_and(is_random);
        for form in forms(value) {
            let form = form.to_ascii_lowercase();
            *self.forms.entry((Reverse(form.len()), form)).or_default() |= is_anywhere;
        }
    }

    /// Hides the values of another, too.
    pub fn extend(&mut self, more: Hidden) {
        self.forms.extend(more.forms);
    }

    /// Hides a value of which nothing says that it is secret, unless it could be any word.
    pub fn unnamed(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= LEAST_UNNAMED && !super::is_harmless(value) && !is_telling_hole(value) {
            self.add(value.as_bytes());
        }
    }

    /// Hides the password and the values of a URL.
    pub fn url(&mut self, text: &str) {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            let password = user.split_once(':').map_or(user, |(_, password)| password);
            self.add(password.as_bytes());
            self.add(&percent_decoded(password));
            self.add(&percent_decoded(user));
        }
        let query = text.split_once('?').map_or("", |(_, query)| query);
        // Of what is watched, the query of its server is the fragment, which no server repeats with the last value.
        let sent = query.split('#').next().unwrap_or_default();
        for pair in query.split('&').chain(sent.split('&')) {
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            let decoded = percent_decoded(value);
            let read = String::from_utf8_lossy(&decoded);
            self.unnamed(value);
            self.unnamed(&read);
            if SecretKind::of(name, &read).is_some() && !has_holes(value) {
                self.add(value.as_bytes());
                self.add(&decoded);
            }
        }
    }

    /// Hides the secret of a header field that is sent, with the password in it.
    pub fn field(&mut self, name: &str, value: &str) {
        let Some((lead, kind)) = SecretKind::of_field(name, value) else { return };
        let value = &value[lead.len()..];
        if has_holes(value) {
            return;
        }
        self.add(value.as_bytes());
        match kind {
            SecretKind::Basic => {
                if let Some(pair) = base64_decoded(value) {
                    let password =
                        pair.iter().position(|byte| *byte == b':').map(|at| &pair[at + 1..]);
                    self.add(password.unwrap_or_default());
                    self.add(&pair);
                }
            }
            SecretKind::Cookie => {
                for pair in value.split("; ") {
                    let value = pair.split_once('=').map_or("", |(_, value)| value.trim());
                    if value.len() >= LEAST_OF_COOKIE {
                        self.add(value.as_bytes());
                    }
                }
            }
            _ => {}
        }
    }

    /// Hides the secrets of a query or a form.
    pub fn pairs(&mut self, text: &str) {
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let read = |text: &str| percent_decoded(&plain(text).replace('+', " "));
            let (name, decoded) = (read(name), read(value));
            self.named(&String::from_utf8_lossy(&name), value, &decoded);
        }
    }

    /// Hides the secrets of a body: JSON, a form, or parts of `multipart/form-data`.
    pub fn content(&mut self, body: &str) {
        if self.json_text(body) {
            return;
        }
        // RFC 7578 section 4.2.
        for part in body.split("name=\"").skip(1) {
            if let Some((name, rest)) = part.split_once('"')
                && let Some((_, value)) = rest.split_once("\r\n\r\n")
            {
                let value = value.split("\r\n--").next().unwrap_or_default();
                self.named(name, value, value.as_bytes());
            }
        }
        self.pairs(body);
    }

    /// Hides the secrets of a body of JSON; says whether it is one.
    pub fn json_text(&mut self, body: &str) -> bool {
        let json = serde_json::from_str::<Value>(body);
        json.is_ok_and(|json| {
            self.json("", &json);
            true
        })
    }

    fn json(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => self.named(name, text, text.as_bytes()),
            Value::Number(number) => {
                let text = number.to_string();
                self.named(name, &text, text.as_bytes());
            }
            Value::Array(items) => items.iter().for_each(|item| self.json(name, item)),
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.json(name, value))
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Hides a value if it or its name says that it is secret; `text` is what a plan has in its place.
    fn named(&mut self, name: &str, text: &str, value: &[u8]) {
        let read = String::from_utf8_lossy(value);
        let is_secret =
            SecretKind::of(name, &read).is_some() || SecretKind::of_name(name).is_some();
        if is_secret && !has_holes(text) && !super::SWITCHES.contains(&&*read) {
            self.add(value);
        }
    }

    /// A text without these values.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let lower = text.to_ascii_lowercase();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for ((_, form), is_anywhere) in &self.forms {
            let ends = lower.match_indices(form.as_str()).map(|(at, form)| (at, at + form.len()));
            found.extend(ends.filter(|(at, end)| *is_anywhere || is_whole(text, *at, *end)));
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let mut shown = String::with_capacity(text.len());
        let mut done = 0;
        for (at, end) in found {
            if at >= done {
                shown += &text[done..at];
                shown += REDACTED;
            }
            done = done.max(end);
        }
        Cow::Owned(shown + &text[done..])
    }
}

/// Whether a value is a hole and nothing else, and no word in it could be a secret's: `${random 1..3}`.
fn is_telling_hole(value: &str) -> bool {
    let inner = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['{', '}']) && super::has_no_secret(inner))
}

/// Whether no letter or digit is next to this part of a text. An escape in front is none.
fn is_whole(text: &str, at: usize, end: usize) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (before, part, after) = (&text[..at], &text[at..end], &text[end..]);
    let joins_after = is_letter(part.chars().next_back()) && is_letter(after.chars().next());
    let joins_before = is_letter(part.chars().next()) && is_letter(before.chars().next_back());
    !joins_after && (!joins_before || ends_in_escape(before))
}

/// Whether a text ends in `%2F`, `\n` or `\u000a`.
fn ends_in_escape(text: &str) -> bool {
    let last = |count: usize| text.len().checked_sub(count).and_then(|at| text.get(at..));
    let begins = |count: usize, mark: &str| last(count).is_some_and(|end| end.starts_with(mark));
    begins(3, "%") || begins(2, "\\") || begins(6, "\\u")
}

/// A value as it may be written.
fn forms(value: &[u8]) -> Vec<String> {
    let escaped = |escape: Escape| {
        let mut out = Vec::new();
        escape.write(value, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    let text = String::from_utf8_lossy(value).into_owned();
    let (percent, json) = (escaped(Escape::Url), escaped(Escape::Json));
    let base64 = escaped(Escape::Base64);
    let named = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut all = vec![
        percent.replace("%20", "+"),
        // encodeURIComponent, and encodeURI.
        ["!", "'", "(", ")", "*"]
            .iter()
            .fold(percent.clone(), |text, c| text.replace(&escape_of(c), c)),
        text.replace('%', "%25").replace(' ', "%20").replace('"', "%22"),
        percent,
        json.replace('/', "\\/"),
        // As encoders do that keep to ASCII, or out of the way of HTML.
        ascii_json(&json, |c| !c.is_ascii()),
        ascii_json(&json, |c| !c.is_ascii() || "<>&".contains(c)),
        ascii_json(&json, |c| !c.is_ascii() || "<>&'".contains(c)),
        json,
        named.replace('"', "&quot;").replace('\'', "&#39;"),
        named.replace('"', "&quot;").replace('\'', "&#x27;"),
        named.replace('"', "&#34;").replace('\'', "&#39;"),
        named.replace('"', "&quot;").replace('\'', "&apos;"),
        named,
        base64.replace('+', "-").replace('/', "_"),
        base64.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned(),
        base64.trim_end_matches('=').to_owned(),
        base64,
        text,
    ];
    all.retain(|form| !form.is_empty());
    all.sort_unstable();
    all.dedup();
    all
}

fn escape_of(character: &str) -> String {
    character.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// JSON with `\uXXXX` for some characters.
fn ascii_json(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            true => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}"))
            }
            false => out.push(c),
        }
    }
    out
}

/// Shorter values of cookies are words rather than secrets.
pub const LEAST_OF_COOKIE: usize = 8;

/// Shorter values of which nothing says that they are secret stand for too much else.
const LEAST_UNNAMED: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hidden(values: &[&str]) -> Hidden {
        let mut hidden = Hidden::default();
        values.iter().for_each(|value| hidden.add(value.as_bytes()));
        hidden
    }

    #[test]
    fn values_are_hidden_however_they_are_written() {
        let hidden = hidden(&["pa ss/\"<wörd>"]);
        for text in [
            "pa ss/\"<wörd>",
            "PA SS/\"<WöRD>",
            "pa%20ss%2F%22%3Cw%C3%B6rd%3E",
            "pa+ss%2f%22%3cw%c3%b6rd%3e",
            "pa ss/\\\"<wörd>",
            "pa ss\\/\\\"<wörd>",
            "pa ss/\\\"\\u003cw\\u00f6rd\\u003e",
            "pa ss/&quot;&lt;wörd&gt;",
            "cGEgc3MvIjx3w7ZyZD4=",
            "cGEgc3MvIjx3w7ZyZD4",
        ] {
            assert_eq!(hidden.text(&format!("[{text}]")), "[[redacted]]", "{text}");
        }
        assert_eq!(hidden.text("pass"), "pass");
    }

    #[test]
    fn only_whole_values_are_hidden() {
        let hidden = hidden(&["port", "hunter22"]);
        for (text, shown) in [
            ("report, port, ports", "report, [redacted], ports"),
            ("portport", "portport"),
            ("a%20port \\nport", "a%20[redacted] \\n[redacted]"),
            ("myhunter22s", "my[redacted]s"),
        ] {
            assert_eq!(hidden.text(text), shown);
        }
    }

    #[test]
    fn a_hole_is_shown_and_values_of_a_url_are_not() {
        let mut all = Hidden::default();
        for url in [
            "http://h/?${rand 1..3}&a=${random 5..1}",
            "prometheus:http://u:PW@h/m?token=SEKRET#up",
            "http://h/?a=${S3cretToken42}&pwd=abc&page=2#x",
        ] {
            all.url(url);
        }
        let text = "${rand 1..3} ${random 5..1} u PW SEKRET up ${S3cretToken42} abc 2 x dTpQVw==";
        let shown = all.text(text).replace(REDACTED, "*");
        assert_eq!(shown, "${rand 1..3} ${random 5..1} u * * up * * 2 x *");
    }

    #[test]
    fn what_is_sent_in_a_telling_place_is_learnt() {
        let mut hidden = Hidden::default();
        hidden.field("Authorization", "Basic dTpodW50ZXI=");
        hidden.field("Cookie", "sid=0123abcdef; lang=en");
        hidden.field("Accept", "text/html");
        hidden.pairs("page=2&token=ab%2Fcd1&x=y");
        hidden.content(r#"{"user":{"name":"ann","pin":1234},"list":[{"password":"swordfish"}]}"#);
        hidden.content(
            "--b\r\nContent-Disposition: form-data; name=\"secret\"\r\n\r\nin parts\r\n--b--",
        );
        let text = "dTpodW50ZXI= u:hunter hunter 0123abcdef en text/html ab/cd1 2 y ann 1234 swordfish in parts";
        let shown = hidden.text(text).replace(REDACTED, "*");
        assert_eq!(shown, "* * * * en text/html * 2 y ann * * *");
    }

    proptest! {
        #[test]
        fn no_form_shows(value in "[ -~é]{6,20}", before in "[ :=,/]", after in "[ :=,/]") {
            let hidden = hidden(&[&value]);
            for form in forms(value.as_bytes()) {
                let text = format!("{before}{form}{after}");
                let shown = hidden.text(&text);
                prop_assert!(!shown.contains(&form), "{} in {}", form, shown);
            }
        }

        #[test]
        fn nothing_panics(value in ".{0,12}", text in ".{0,40}", part in "[%\\\\u0-9aé]{0,12}") {
            let hidden = hidden(&[&value, "%", "é"]);
            let _ = (hidden.text(&text), hidden.text(&(text.clone() + &value + &part)), hidden.text(&part));
            let mut learnt = Hidden::default();
            learnt.content(&text);
            learnt.field(&text, &value);
        }
    }
}
