//! With the variables set, a plan sends the bytes that it would send without removal.

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
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")).collect::<String>()
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
