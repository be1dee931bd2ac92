//! `{{name}}` in collections: a value of the collection, a captured value, a value of Postman's own, or a
//! variable of the environment.

use std::collections::{BTreeSet, HashMap, HashSet};

use candor_plan::redact::SecretKind;
use percent_encoding::percent_decode_str;

use crate::draft::{Step, slug};
use crate::json::Json;
use crate::made;
use crate::secrets::Secrets;
use crate::template::Template;

/// Variables in variables.
const MAX_DEPTH: usize = 4;
/// Bytes that filling makes, in all requests together: variables in variables could double them without end.
const MAX_FILLED: usize = 256 * 1024;
/// The longest address.
const MAX_ADDRESS: usize = 4096;

pub(super) struct Variables<'c> {
    known: HashMap<&'c str, String>,
    /// Those whose type is `secret`.
    secret: HashSet<&'c str>,
    captured: HashMap<String, String>,
    /// Of those without a value, the variable of the environment.
    environment: HashMap<String, String>,
    /// The variables of the environment, and how many names became each word.
    taken: HashSet<String>,
    words: HashMap<String, usize>,
    guessed: BTreeSet<String>,
    pub(super) secrets: Secrets,
    /// Bytes that may still be filled in, in the whole collection.
    left: usize,
}

impl<'c> Variables<'c> {
    /// Those that a collection defines with a value.
    pub(super) fn of(root: &'c Json) -> Self {
        let list = root.get("variable").map_or(&[][..], Json::items);
        let name = |one: &'c Json| one.str("key").or(one.str("id"));
        let pair = |one: &'c Json| {
            let value = one.get("value")?.scalar().filter(|value| !value.is_empty())?;
            Some((name(one)?, value))
        };
        let is_secret = |one: &&'c Json| one.str("type") == Some("secret");
        Variables {
            known: list.iter().filter_map(pair).collect(),
            secret: list.iter().filter(is_secret).filter_map(name).collect(),
            captured: HashMap::new(),
            environment: HashMap::new(),
            taken: HashSet::new(),
            words: HashMap::new(),
            guessed: BTreeSet::new(),
            secrets: Secrets::default(),
            left: MAX_FILLED,
        }
    }

    /// From now on the name stands for a captured value; returns the plan's name of it.
    pub(super) fn capture(&mut self, name: &str) -> String {
        let short = word(name).to_ascii_lowercase();
        self.captured.insert(name.to_owned(), short.clone());
        short
    }

    /// What the plan takes from the environment, for a comment.
    pub(super) fn guessed(&self) -> Option<String> {
        if self.guessed.is_empty() {
            return None;
        }
        let names: Vec<_> = self.guessed.iter().map(String::as_str).collect();
        Some(format!("Variables without a value in the collection: {}", names.join(", ")))
    }

    /// Text in which only the collection's own values are filled, for the address of a server.
    pub(super) fn flat(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..MAX_DEPTH {
            let mut next = String::new();
            for part in split(&text) {
                match part {
                    Part::Text(text) => next += text,
                    Part::Name(name) => match self.known.get(name) {
                        Some(value) if next.len() + value.len() <= MAX_ADDRESS => next += value,
                        Some(_) => break,
                        None => next += &format!("{{{{{name}}}}}"),
                    },
                }
            }
            if next == text {
                break;
            }
            text = next;
        }
        text
    }

    /// Text with all names filled; guesses are said above the step.
    pub(super) fn fill(&mut self, text: &str, step: &mut Step) -> Template {
        if let Some(made) = placeholder(text) {
            step.remark(GUESS);
            return made;
        }
        let mut template = Template::default();
        self.fill_into(text, &mut template, step, 0);
        template
    }

    fn fill_into(&mut self, text: &str, to: &mut Template, step: &mut Step, depth: usize) {
        for part in split(text) {
            let name = match part {
                Part::Text(text) => {
                    to.push_text(text);
                    continue;
                }
                Part::Name(name) => name,
            };
            if let Some(captured) = self.captured.get(name) {
                to.push_hole(captured);
            } else if let Some(own) = name.strip_prefix('$') {
                self.dynamic(own, to, step);
            } else if let Some(value) = self.value(name, depth) {
                match self.kind(name, &value) {
                    Some(kind) => to.push_hole(self.secrets.hole(kind, &value)),
                    None => self.fill_into(&value, to, step, depth + 1),
                }
            } else {
                // The prefix keeps a collection from naming a variable that has something else.
                self.guessed.insert(name.chars().take(60).collect());
                let variable = self.environment(name);
                to.push_hole(self.secrets.variable(&variable));
            }
        }
    }

    /// The environment variable for a name. The prefix keeps a collection from naming one that has something else;
    /// names that become the same word have numbers.
    fn environment(&mut self, name: &str) -> String {
        if let Some(known) = self.environment.get(name) {
            return known.clone();
        }
        let plain = format!("VAR_{}", word(name).to_ascii_uppercase());
        let count = self.words.entry(plain.clone()).or_default();
        let variable = loop {
            *count += 1;
            let numbered = if *count == 1 { plain.clone() } else { format!("{plain}_{count}") };
            if self.taken.insert(numbered.clone()) {
                break numbered;
            }
        };
        self.environment.insert(name.to_owned(), variable.clone());
        variable
    }

    /// What a variable's value is, if it is a secret.
    fn kind(&self, name: &str, value: &str) -> Option<SecretKind> {
        let is_secret = self.secret.contains(name);
        let by_type = || is_secret.then(|| SecretKind::of_name(name).unwrap_or(SecretKind::Secret));
        SecretKind::of(name, value).or_else(by_type)
    }

    /// A string of JSON, whose placeholder may be that of a number.
    pub(super) fn fill_json(&mut self, text: &str, step: &mut Step) -> Json<Template> {
        let filled = self.fill(text, step);
        match text {
            "<boolean>" | "<integer>" | "<long>" | "<number>" | "<float>" | "<double>" => {
                Json::Raw(filled)
            }
            _ => Json::Text(filled),
        }
    }

    /// The value of the collection, as long as there is room for it.
    fn value(&mut self, name: &str, depth: usize) -> Option<String> {
        let length = self.known.get(name)?.len();
        (depth < MAX_DEPTH && self.may_fill(length)).then(|| self.known[name].clone())
    }

    /// Whether there is room for a value of this length.
    pub(super) fn may_fill(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes.max(1));
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Postman's `{{$guid}}` and the like.
    fn dynamic(&mut self, name: &str, to: &mut Template, step: &mut Step) {
        let known = DYNAMIC.iter().find(|(names, _)| names.split(' ').any(|one| one == name));
        let (made, remark) = match known {
            Some((_, made)) if !made.contains('<') => {
                (*made, Some(format!("{{{{${name}}}}} is always {made}")))
            }
            Some((_, made)) => (*made, None),
            None => ("<random 1..1000000>", Some(format!("{{{{${name}}}}} is a random number"))),
        };
        if let Some(remark) = remark {
            step.remark(format!("guess: {remark}"));
        }
        for (index, part) in made.split(['<', '>']).enumerate() {
            match index % 2 {
                0 => to.push_text(part),
                _ => to.push_hole(part),
            }
        }
    }
}

/// Postman's own variables, and what a plan has in their place; holes stand in angle brackets.
const DYNAMIC: [(&str, &str); 25] = [
    ("guid randomUUID", "<uuid>"),
    ("timestamp", "<now_s>"),
    ("isoTimestamp", "<now>"),
    ("randomDatePast randomDateRecent", "2024-01-01T00:00:00.000Z"),
    ("randomDateFuture", "2034-01-01T00:00:00.000Z"),
    ("randomInt", "<random 0..1000>"),
    ("randomBoolean", "<choice true,false>"),
    (
        "randomAlphaNumeric",
        "<choice 0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z>",
    ),
    ("randomHexadecimal", "0x<choice 0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f>"),
    ("randomEmail randomExampleEmail", "user<seq>@example.com"),
    ("randomUserName", "user<seq>"),
    ("randomFirstName", "<choice Ann,Ben,Carla,David,Emma,Felix,Grace,Hugo>"),
    ("randomLastName", "<choice Adams,Baker,Clark,Davis,Evans,Fisher,Green,Hill>"),
    (
        "randomFullName",
        "<choice Ann,Ben,Carla,David,Emma,Felix> <choice Adams,Baker,Clark,Davis,Evans,Fisher>",
    ),
    ("randomIP", "192.0.2.<random 1..254>"),
    ("randomIPV6", "2001:db8::<random 1..9999>"),
    ("randomUrl", "https://<random 1..1000>.example.com"),
    ("randomDomainName", "<random 1..1000>.example.com"),
    ("randomPhoneNumber", "<random 200..999>-<random 200..999>-<random 1000..9999>"),
    ("randomPrice randomBankAccount", "<random 0..1000>"),
    ("randomColor", "<choice red,green,blue,black,white>"),
    ("randomCity", "<choice Berlin,Lima,Nairobi,Osaka,Paris>"),
    ("randomCountry", "<choice Chile,France,Japan,Kenya,Norway>"),
    ("randomCountryCode", "<choice CL,FR,JP,KE,NO>"),
    ("randomWord randomNoun randomVerb randomLoremWord", "<choice alpha,beta,gamma,delta,epsilon>"),
];

const GUESS: &str = "guess: values for placeholders of the collection, such as <integer>";

/// A value for `<integer>` and the like: Postman's converter of descriptions writes these where there is no
/// example.
fn placeholder(text: &str) -> Option<Template> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    match text.strip_prefix('<')?.strip_suffix('>')? {
        "string" => Some(Template::text("text")),
        "boolean" => Some(Template::text("true")),
        "integer" | "long" | "number" | "float" | "double" => Some(Template::hole("random 1..100")),
        "dateTime" => made::of_format("date-time"),
        format => made::of_format(format),
    }
}

/// A name of letters, digits and `_`.
fn word(name: &str) -> String {
    // Where a small letter meets a capital one, as in `accessToken`, a word begins.
    let mut apart = String::new();
    for c in name.chars().take(60) {
        if c.is_ascii_uppercase() && apart.ends_with(|last: char| last.is_ascii_lowercase()) {
            apart.push('_');
        }
        apart.push(c);
    }
    let word: String = slug(&apart).replace('-', "_");
    let word: String = word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    match word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true if ![
            "seq", "uuid", "now", "now_s", "now_ms", "now_ns", "env", "path", "url", "json",
            "random", "choice", "base64",
        ]
        .contains(&word.as_str()) =>
        {
            word
        }
        _ => format!("value_{word}"),
    }
}

enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

fn split(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        parts.push(Part::Text(before));
        parts.push(Part::Name(name.trim()));
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_from_what_is_known() {
        let root = Json::parse(
            r#"{"variable":[{"key":"host","value":"h"},{"key":"url","value":"http://{{host}}"},
                {"key":"apiKey","value":"k-123456"},{"key":"loop","value":"{{loop}}{{loop}}"},
                {"key":"empty","value":""}]}"#,
        )
        .unwrap();
        let mut variables = Variables::of(&root);
        let mut step = Step::default();
        variables.capture("accessToken");
        for (text, filled) in [
            ("{{url}}/${x}", "http://h/$${x}"),
            ("{{ accessToken }}", "${access_token}"),
            ("{{apiKey}}", "${env:API_KEY}"),
            ("{{empty}}{{userId}}", "${env:VAR_EMPTY}${env:VAR_USER_ID}"),
            ("${{price}}", "${choice $}${env:VAR_PRICE}"),
            ("{{$guid}} {{open", "${uuid} {{open"),
            ("{{seq}}{{1}}{{}}", "${env:VAR_VALUE_SEQ}${env:VAR_VALUE_1}${env:VAR_REQUEST}"),
        ] {
            assert_eq!(variables.fill(text, &mut step).render(), filled, "{text}");
        }
        for (text, filled) in [
            ("<integer>", "${random 1..100}"),
            ("%3Cuuid%3E", "${uuid}"),
            ("<email>", "user${seq}@example.com"),
            ("<b>", "<b>"),
            ("a<integer>", "a<integer>"),
        ] {
            assert_eq!(variables.fill(text, &mut step).render(), filled);
        }
        assert!(variables.fill("{{loop}}", &mut step).render().len() < 400);
        assert!(variables.flat("{{loop}}").len() < 400);
        assert_eq!(variables.flat("{{url}}{{x}}"), "http://h{{x}}");
    }
}
