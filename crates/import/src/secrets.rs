//! Which values of an input are secret, and the environment variables that replace them in the plan.
//!
//! The names of variables come from a fixed list and not from the input: a recording made by somebody
//! else must not decide which of the user's own variables a plan sends.

use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use percent_encoding::percent_decode_str;

use crate::draft::{Body, Draft, Slot};
use crate::json::Json;
use crate::target::{form_decoded, form_encoded};
use crate::template::{Piece, Template};

/// Shorter values are replaced where they were found, and not wherever the same text stands.
const LEAST_TO_SEARCH: usize = 6;
/// A token that is shorter is rather a word, e.g. `token_type=bearer`.
const LEAST_TOKEN: usize = 8;
/// Longer values are replaced where they were found: they are texts rather than tokens.
const MOST_TO_SEARCH: usize = 16 * 1024;
/// Bytes of all values that are searched for. A search takes some twenty times as much memory.
const ALL_TO_SEARCH: usize = 2 * 1024 * 1024;
/// Values of switches, e.g. `show-password=on`.
const SWITCHES: [&str; 8] = ["", "0", "1", "true", "false", "on", "off", "null"];

/// The variables of [`kind_of_field`].
pub(crate) const KINDS: [&str; 8] =
    ["PASSWORD", "CARD", "CODE", "SECRET", "CSRF_TOKEN", "API_KEY", "SESSION", "TOKEN"];

/// Begins each part of a `multipart/form-data` body (RFC 7578 section 4.2).
const FORM_PART: &str = "Content-Disposition: form-data";

/// Secret values that were found, each with its variable.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Values with their variables, in the order in which they were found.
    known: Vec<(String, String)>,
    by_value: HashMap<String, usize>,
    /// How many variables of each kind there are.
    kinds: HashMap<String, usize>,
}

impl Secrets {
    /// The hole for a secret value: the same for the same value. `kind` is the variable's name, with
    /// a number behind it if it is taken.
    pub(crate) fn hole(&mut self, kind: &str, value: &str) -> String {
        if let Some(place) = self.by_value.get(value) {
            return format!("env:{}", self.known[*place].1);
        }
        let count = self.kinds.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = if *count == 1 { kind.to_owned() } else { format!("{kind}_{count}") };
        self.by_value.insert(value.to_owned(), self.known.len());
        self.known.push((value.to_owned(), name.clone()));
        format!("env:{name}")
    }

    /// A variable whose value is not known, e.g. one that a description names.
    pub(crate) fn variable(&mut self, name: &str) -> String {
        self.kinds.entry(name.to_owned()).or_insert(1);
        format!("env:{name}")
    }

    /// Puts variables in the place of the secret values of all requests.
    pub(crate) fn move_out(&mut self, draft: &mut Draft) {
        for step in draft.steps_mut() {
            step.values(&mut |slot, name, value| {
                let Some(text) = value.as_text() else { return };
                match slot {
                    Slot::Header => {
                        if let Some((prefix, kind)) = kind_of_header(name, text) {
                            let mut moved = Template::text(prefix);
                            moved.push_hole(self.hole(kind, &text[prefix.len()..]));
                            *value = moved;
                        }
                    }
                    Slot::Query | Slot::Form => {
                        let plain = form_decoded(text);
                        if let Some(kind) = kind_of_field(&form_decoded(name), &plain) {
                            *value = Template::hole(self.hole(kind, &plain));
                        }
                    }
                    Slot::Path => {
                        let plain = percent_decode_str(text).decode_utf8_lossy().into_owned();
                        if is_jwt(&plain) {
                            *value = Template::hole(self.hole("TOKEN", &plain));
                        }
                    }
                    Slot::Json | Slot::Text => {
                        if let Some(kind) = kind_of_field(name, text) {
                            *value = Template::hole(self.hole(kind, text));
                        }
                    }
                }
            });
            if let Some(Body::Json(json)) = &mut step.body {
                json.strings("", &mut |name, value| {
                    let text = match value {
                        Json::Number(number) => number.to_string(),
                        // A number that is longer than the library's.
                        Json::Raw(text) => text.as_text().unwrap_or_default().to_owned(),
                        _ => return,
                    };
                    if let Some(kind @ ("PASSWORD" | "CARD" | "CODE")) = kind_of_field(name, &text)
                    {
                        *value = Json::Raw(Template::hole(self.hole(kind, &text)));
                    }
                });
            }
            if let Some(Body::Text(text)) = &mut step.body
                && let Some(parts) = text.as_text().filter(|text| text.contains(FORM_PART))
            {
                *text = self.multipart(parts);
            }
        }
        self.hide(draft);
    }

    /// Secret parts of a `multipart/form-data` body become variables; all else stays as it is.
    fn multipart(&mut self, text: &str) -> Template {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(at) = rest.find("\r\n\r\n") {
            let (head, tail) = rest.split_at(at + 4);
            let name = head.rsplit_once(" name=\"").and_then(|(_, name)| name.split('"').next());
            let (value, after) = tail.split_at(tail.find("\r\n--").unwrap_or(tail.len()));
            template.push_text(head);
            match name.and_then(|name| kind_of_field(name, value)) {
                Some(kind) => template.push_hole(self.hole(kind, value)),
                None => template.push_text(value),
            }
            rest = after;
        }
        template.push_text(rest);
        template
    }

    /// Replaces secret values wherever else they stand, encoded or not.
    fn hide(&self, draft: &mut Draft) {
        let (mut needles, mut holes) = (Vec::new(), Vec::new());
        let mut left = ALL_TO_SEARCH;
        let lengths = LEAST_TO_SEARCH..=MOST_TO_SEARCH;
        for (value, name) in self.known.iter().filter(|(value, _)| lengths.contains(&value.len())) {
            let encoded = form_encoded(value);
            let form = encoded.replace("%20", "+");
            let json = serde_json::Value::from(value.as_str()).to_string();
            let mut forms = vec![value.clone(), encoded, form, json[1..json.len() - 1].to_owned()];
            forms.sort();
            forms.dedup();
            let Some(rest) = left.checked_sub(forms.iter().map(String::len).sum()) else { break };
            left = rest;
            holes.resize(holes.len() + forms.len(), format!("env:{name}"));
            needles.extend(forms);
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // Its memory is a small multiple of the texts.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&needles)
            .expect("the texts are far shorter than the library's bound");
        for step in draft.steps_mut() {
            step.values(&mut |_, _, text| text.replace(&search, &holes));
        }
        draft.hide_names(&search);
    }

    /// The variables that a draft reads, in order of appearance.
    pub(crate) fn variables(draft: &mut Draft) -> Vec<String> {
        let mut found = Vec::new();
        let mut known = HashSet::new();
        for step in draft.steps_mut() {
            step.values(&mut |_, _, value| {
                for piece in value.pieces() {
                    if let Piece::Hole(hole) = piece
                        && let Some((_, name)) = hole.split_once("env:")
                        && known.insert(name.to_owned())
                    {
                        found.push(name.to_owned());
                    }
                }
            });
        }
        found
    }
}

/// The part of a header field's value that is not secret, and the variable for the rest.
pub(crate) fn kind_of_header<'v>(name: &str, value: &'v str) -> Option<(&'v str, &'static str)> {
    let name = name.to_ascii_lowercase();
    if value.is_empty() {
        return None;
    }
    match name.as_str() {
        "authorization" | "proxy-authorization" => {
            let scheme = value.find(' ').map_or("", |at| &value[..=at]);
            Some(match scheme.trim_end().to_ascii_lowercase().as_str() {
                "bearer" | "token" | "jwt" => (scheme, "BEARER_TOKEN"),
                "basic" => (scheme, "BASIC_CREDENTIALS"),
                _ => ("", "AUTHORIZATION"),
            })
        }
        "cookie" => Some(("", "COOKIE")),
        _ => kind_of_field(&name, value).map(|kind| ("", kind)),
    }
}

/// The variable for the value of a field of a form, a query or a JSON object, if it is secret.
pub(crate) fn kind_of_field(name: &str, value: &str) -> Option<&'static str> {
    if SWITCHES.iter().any(|switch| switch.eq_ignore_ascii_case(value)) {
        return None;
    }
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is = |words: &[&str]| words.contains(&name.as_str());
    let is_long = value.len() >= LEAST_TOKEN && !value.contains(' ');
    if ["type", "name", "url", "uri", "limit", "count", "expires"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        return is_jwt(value).then_some("TOKEN");
    }
    if has(&["password", "passwd", "passphrase", "passcode"]) || is(&["pass", "pwd", "psw", "pw"]) {
        return Some("PASSWORD");
    }
    if has(&["cvv", "cvc", "cardnumber", "ccnumber", "iban"]) || is(&["ssn", "pan"]) {
        return Some("CARD");
    }
    if is(&["pin", "otp", "totp", "mfacode", "onetimecode"]) {
        return Some("CODE");
    }
    if has(&["secret"]) {
        return Some("SECRET");
    }
    if has(&["csrf", "xsrf", "authenticitytoken", "verificationtoken"]) && is_long {
        return Some("CSRF_TOKEN");
    }
    if has(&["apikey", "accesskey", "privatekey", "subscriptionkey"])
        || is(&["key"]) && value.len() >= 16
    {
        return Some("API_KEY");
    }
    if has(&["session"]) || is(&["sid", "phpsessid", "jsessionid"]) {
        return is_long.then_some("SESSION");
    }
    if has(&["token", "jwt", "bearer", "credential", "signature", "authorization"]) || is(&["auth"])
    {
        return is_long.then_some("TOKEN");
    }
    is_jwt(value).then_some("TOKEN")
}

/// A JSON Web Token (RFC 7519): three parts in base64url, the first of which is an object.
pub(crate) fn is_jwt(value: &str) -> bool {
    value.starts_with("eyJ") && value.len() > 40 && value.split('.').count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_by_name_and_value() {
        let table = [
            ("password", "a", Some("PASSWORD")),
            ("user[password]", "x1", Some("PASSWORD")),
            ("show_password", "on", None),
            ("username", "alice-longer", None),
            ("token_type", "bearer-something", None),
            ("access_token", "0123456789", Some("TOKEN")),
            ("token", "short", None),
            ("_csrf", "0123456789", Some("CSRF_TOKEN")),
            ("session_id", "0123456789", Some("SESSION")),
            ("sid", "12", None),
            ("card-number", "4111 1111", Some("CARD")),
            ("otp", "123456", Some("CODE")),
            ("key", "AIza0123456789abcd", Some("API_KEY")),
            ("client_secret", "s", Some("SECRET")),
            ("X-Api-Key", "k", Some("API_KEY")),
            ("key", "name", None),
            ("grant_type", "password", None),
            ("comment", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", Some("TOKEN")),
        ];
        for (name, value, kind) in table {
            assert_eq!(kind_of_field(name, value), kind, "{name}={value}");
        }
    }

    #[test]
    fn headers_keep_their_scheme() {
        let table = [
            ("Authorization", "Bearer abc", Some(("Bearer ", "BEARER_TOKEN"))),
            ("authorization", "basic YTpi", Some(("basic ", "BASIC_CREDENTIALS"))),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=x", Some(("", "AUTHORIZATION"))),
            ("Cookie", "a=b", Some(("", "COOKIE"))),
            ("Accept", "text/html", None),
            ("X-Auth-Token", "0123456789", Some(("", "TOKEN"))),
        ];
        for (name, value, kind) in table {
            assert_eq!(kind_of_header(name, value), kind, "{name}: {value}");
        }
    }

    #[test]
    fn one_value_has_one_variable() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.hole("PASSWORD", "one"), "env:PASSWORD");
        assert_eq!(secrets.hole("PASSWORD", "two"), "env:PASSWORD_2");
        assert_eq!(secrets.hole("TOKEN", "one"), "env:PASSWORD");
    }
}
