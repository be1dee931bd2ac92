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

    /// The same for a variable whose name begins so.
    fn hole_like(&mut self, kind: &str, value: &str) -> String {
        if let Some(place) = self.by_value.get(value) {
            return format!("env:{}", self.known[*place].1);
        }
        let kind = kind.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
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
                if holes(&all) == 0 {
                } else if holes(&all) == holes(&found) {
                    // Within the text as it was written.
                    *leaf = Json::Raw(found);
                } else {
                    *leaf = Json::Raw(self.hole_as_written(SecretKind::Token.variable(), inner));
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::finish::finish;
    use crate::target::{Target, sendable};

    #[test]
    fn one_value_has_one_variable() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.hole(SecretKind::Password, "one"), "env:PASSWORD");
        assert_eq!(secrets.hole(SecretKind::Password, "two"), "env:PASSWORD_2");
        assert_eq!(secrets.hole(SecretKind::Token, "one"), "env:PASSWORD");
    }

    #[test]
    fn a_hole_becomes_what_stood_there() {
        let mut secrets = Secrets::default();
        for (place, text, hole) in [
            (Place::Pair, "abc1", "env:TOKEN"),
            (Place::Pair, "p%40ss", "env:TOKEN_2"),
            (Place::Pair, "p@ss", "raw env:TOKEN_2"),
            (Place::Pair, "a+b", "form env:TOKEN_3"),
            (Place::Pair, "a+b!", "raw env:TOKEN_4"),
            (Place::Pair, "%2f", "raw env:TOKEN_5"),
            (Place::Header, "p@ss", "env:TOKEN_2"),
            (Place::Json, "a\"b", "env:TOKEN_6"),
            (Place::EscapedText, "p@ss", "raw env:TOKEN_2"),
        ] {
            assert_eq!(secrets.hole_at(place, SecretKind::Token, text), hole, "{text}");
        }
        assert_eq!(secrets.escaped, ["TOKEN_4", "TOKEN_5"]);
    }

    #[test]
    fn a_text_that_is_written_as_a_form_shows_no_password() {
        for (text, moved) in [
            ("password=password", Some("password=${env:PASSWORD}")),
            ("user=ann&password=hunter22&q=1", Some("user=ann&password=${env:PASSWORD}&q=1")),
            ("user=ann&q=1", None),
            ("a sentence about a password", None),
        ] {
            let mut secrets = Secrets::default();
            let found = secrets.move_out_of_pairs(Place::Text, "", text);
            assert_eq!(found.map(|moved| moved.render()).as_deref(), moved, "{text}");
        }
    }

    /// An environment with these variables.
    struct Environment<'s>(&'s [(String, String)]);

    impl candor_plan::ReadFile for Environment<'_> {
        fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }

        fn variable(&self, name: &str) -> Option<String> {
            let found = self.0.iter().find(|(_, known)| known == name);
            found.map(|(value, _)| value.clone())
        }
    }

    /// A request as it is sent.
    #[derive(Debug, PartialEq)]
    struct Sent {
        path: Vec<u8>,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    }

    /// The only request of a plan.
    fn sent(plan: &str, environment: &[(String, String)]) -> Sent {
        use candor_plan::journey::Known;
        use candor_plan::template::{Names, Piece, Template};
        let options = candor_plan::Options::from_toml("p.toml", plan);
        let built = options.and_then(|options| options.build(&Environment(environment)));
        let (plan, _) = built.unwrap_or_else(|error| panic!("{error}\n{plan}"));
        let names = Names { data: &[], environment: &plan.environment, captured: Known::default() };
        let request = Template::compile(&plan.work.requests()[0], 0, names).unwrap();
        let bytes = |pieces: &[Piece]| match pieces {
            [] => Vec::new(),
            [Piece::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        };
        let mut headers: Vec<_> =
            request.headers.iter().map(|(name, value)| (name.clone(), bytes(value))).collect();
        headers.sort();
        Sent { path: bytes(&request.path), headers, body: bytes(&request.body) }
    }

    fn name() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "password",
            "new_password",
            "token",
            "user",
            "note",
            "q",
            "password_hint",
            "code",
            "swordfish",
            "sig",
        ])
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "password",
                "swordfish",
                "ann",
                "hunter22",
                "Zx9-sEcReT_q7W",
                "1",
                ""
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,14}",
            "[a-z0-9é+/=%$ {}]{0,12}",
        ]
    }

    /// A value as a form may have it: as a person, a library, a browser or a bad library writes it.
    fn written(value: &str, how: u8) -> String {
        let typed: String = value.chars().filter(|c| !"&#%+=? ".contains(*c)).collect();
        match how {
            0 => sendable(&typed),
            1 => form_encoded(value),
            2 => form_written(value),
            _ => form_encoded(value).to_ascii_lowercase(),
        }
    }

    /// A value as JSON may have it: short, in ASCII, with escaped slashes, in capitals.
    fn json_written(value: &str, how: u8) -> String {
        let escaped = |c: char| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("\\u{unit:04X}"))
                .collect::<String>()
        };
        let one = |c: char| match (how, c) {
            (2, '/') => "\\/".to_owned(),
            (1, c) if !c.is_ascii() => escaped(c),
            (3, c) if !c.is_ascii_lowercase() => escaped(c),
            _ => quoted_inner(&c.to_string()),
        };
        value.chars().map(one).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn with_the_variables_set_a_plan_sends_the_same_bytes(
            segments in proptest::collection::vec(value(), 0..3),
            query in proptest::collection::vec((name(), value(), 0u8..4), 0..4),
            field in (prop::sample::select(vec!["X-Note", "X-Api-Key", "X-Token"]), "[!-~]([ -~]{0,10}[!-~])?"),
            form in proptest::collection::vec((name(), value(), 0u8..4), 0..4),
            kind in prop::sample::select(vec![
                "application/x-www-form-urlencoded", "application/json", "text/plain",
                "multipart/form-data; boundary=b",
            ]),
        ) {
            let pairs = |pairs: &[(&str, String, u8)]| {
                let all = pairs.iter().map(|(name, value, how)| format!("{name}={}", written(value, *how)));
                all.collect::<Vec<_>>().join("&")
            };
            let segments: Vec<String> = segments.iter().map(|one| form_encoded(one)).collect();
            let text = match kind {
                "application/json" => {
                    let members = form.iter().map(|(name, value, how)| {
                        format!("{}: \"{}\"", serde_json::Value::from(*name), json_written(value, *how))
                    });
                    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
                }
                "multipart/form-data; boundary=b" => form
                    .iter()
                    .map(|(name, value, _)| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"))
                    .chain(["--b--\r\n".to_owned()])
                    .collect(),
                _ => pairs(&form),
            };
            let make = || {
                let path = format!("/{}?{}", segments.join("/"), pairs(&query));
                let mut step = Step { target: Target::parse(&path), method: "POST".to_owned(), ..Step::default() };
                step.header.push((field.0.to_owned(), Template::text(field.1.as_str())));
                step.header.push(("Content-Type".to_owned(), Template::text(kind)));
                crate::recorded::body(&mut step, kind, &text);
                Draft { url: "http://h".to_owned(), requests: vec![step], ..Draft::default() }
            };
            let before = finish(make(), Secrets::of_description()).plan;
            let mut moved = make();
            let mut secrets = Secrets::default();
            secrets.move_out(&mut moved);
            let after = finish(moved, Secrets::of_description()).plan;
            prop_assert_eq!(sent(&before, &[]), sent(&after, &secrets.known), "{}\n{}", before, after);
            // With other values, no secret is sent: not under the name that made it one, nor, if it is no word, anywhere.
            let others: Vec<_> = secrets.known.iter().map(|(_, name)| ("other".to_owned(), name.clone())).collect();
            let Sent { path, headers, body } = sent(&after, &others);
            let all = [path, headers.into_iter().flat_map(|(_, value)| value).collect(), body].concat();
            let all = String::from_utf8_lossy(&all).into_owned();
            for (value, _) in &secrets.known {
                if value.len() >= 8 && value.bytes().all(|byte| byte.is_ascii_alphanumeric()) && is_random(value) {
                    let words = all.split(|c: char| !c.is_alphanumeric());
                    prop_assert!(words.clone().all(|word| word != value), "{} in {}", value, all);
                }
            }
            for (_, value, _) in query.iter().filter(|(name, ..)| *name == "password") {
                let shown = format!("password={}&", form_encoded(value));
                let is_shown = value.len() > 5 && format!("{all}&").contains(&shown);
                prop_assert!(!is_shown, "{} in {}", shown, all);
            }
        }
    }
}
