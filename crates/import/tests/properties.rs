//! Any input ends in a plan that Candor accepts or in one error; nothing breaks out; nothing secret is in
//! the plan.

use candor_import::{
    AccessLog, ImportError, Imported, Options, access_log, curl, har, openapi, postman,
};
use proptest::prelude::*;

/// Texts that could end a string, a comment, a template, a header, a path.
fn odd() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\"".to_owned()),
        Just("'''".to_owned()),
        Just("\"\"\"".to_owned()),
        Just("\\".to_owned()),
        Just("${".to_owned()),
        Just("$${seq}".to_owned()),
        Just("}".to_owned()),
        Just("{{x}}".to_owned()),
        Just("{{$guid}}".to_owned()),
        Just("#".to_owned()),
        Just("[[request]]".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{7f}".to_owned()),
        Just("\u{2028}".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("é".to_owned()),
        Just("%".to_owned()),
        Just("/".to_owned()),
        Just("?a=b&".to_owned()),
        Just("12345".to_owned()),
        "[ -~]{0,8}",
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// Whole inputs of each kind.
const FILES: [(&str, &[u8]); 8] = [
    ("har", include_bytes!("fixtures/shop.har")),
    ("har", include_bytes!("fixtures/devtools.har")),
    ("openapi", include_bytes!("fixtures/shop.yaml")),
    ("openapi", include_bytes!("fixtures/swagger.json")),
    ("postman", include_bytes!("fixtures/shop.postman.json")),
    ("log", include_bytes!("fixtures/combined.log")),
    ("curl", include_bytes!("fixtures/chrome.curl")),
    ("curl", include_bytes!("fixtures/typed.curl")),
];

/// One token or word that is nowhere else.
const SECRET: &str = "Zx9-sEcReT_q7W";

fn check(imported: Result<Imported, ImportError>) -> Option<String> {
    match imported {
        Ok(imported) => {
            crate::common::check(&imported.plan);
            let is_seen = |c: char| c == '\n' || c == '\t' || c.escape_debug().len() == 1;
            let is_seen = |c: char| "\"'\\".contains(c) || is_seen(c);
            assert!(imported.plan.chars().all(is_seen), "{}", imported.plan);
            assert!(imported.notes.iter().all(|note| !note.chars().any(char::is_control)));
            Some(imported.plan + &imported.notes.concat())
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            None
        }
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[derive(Debug, Clone)]
struct Entry {
    path: String,
    field: (String, String),
    body: String,
    kind: String,
    response: String,
}

fn entry() -> impl Strategy<Value = Entry> {
    let kind = prop_oneof![
        Just("application/json".to_owned()),
        Just("application/x-www-form-urlencoded".to_owned()),
        Just("text/plain".to_owned()),
        odd(),
    ];
    let body = prop_oneof![
        odd(),
        (odd(), odd()).prop_map(|(key, value)| format!("{{{}:{}}}", json(&key), json(&value))),
        (odd(), odd()).prop_map(|(key, value)| format!("{key}={value}")),
    ];
    let name = prop_oneof![Just("X-Name".to_owned()), odd()];
    (odd(), (name, odd()), body, kind, odd())
        .prop_map(|(path, field, body, kind, response)| Entry { path, field, body, kind, response })
}

fn har_of(entries: &[Entry]) -> String {
    let entry = |one: &Entry| {
        format!(
            r#"{{"startedDateTime":"2024-01-01T00:00:00Z","time":1,
            "request":{{"method":"POST","url":{},"headers":[{{"name":{},"value":{}}},{{"name":"Content-Type","value":{}}}],
            "postData":{{"mimeType":{},"text":{}}}}},
            "response":{{"status":200,"headers":[{{"name":"Location","value":{}}}],"content":{{"mimeType":"application/json","text":{}}}}}}}"#,
            json(&format!("http://h/{}", one.path)),
            json(&one.field.0),
            json(&one.field.1),
            json(&one.kind),
            json(&one.kind),
            json(&one.body),
            json(&one.response),
            json(&format!("{{\"id\":{}}}", json(&one.body))),
        )
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in odd()) {
        let options = Options::default();
        for bytes in [&bytes[..], text.as_bytes()] {
            check(har(bytes, &options));
            check(openapi(bytes, &options));
            check(postman(bytes, &options));
            check(access_log(bytes, &options));
            check(curl(bytes, &options));
            check(curl(&[b"curl ", bytes].concat(), &options));
        }
    }

    #[test]
    fn broken_real_files_end(
        file in 0..FILES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let (name, bytes) = FILES[file];
        let mut bytes = bytes.to_vec();
        for (at, byte) in &changes {
            *at.get_mut(&mut bytes) = *byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let options = Options::default();
        check(match name {
            "har" => har(&bytes, &options),
            "openapi" => openapi(&bytes, &options),
            "postman" => postman(&bytes, &options),
            "log" => access_log(&bytes, &options),
            _ => curl(&bytes, &options),
        });
    }

    #[test]
    fn odd_recordings_are_plans(entries in proptest::collection::vec(entry(), 1..5)) {
        prop_assert!(check(har(har_of(&entries).as_bytes(), &Options::default())).is_some());
    }

    #[test]
    fn odd_commands_are_plans(path in odd(), name in odd(), value in odd(), body in odd(), option in 0..8) {
        let option = ["-d", "--data-raw", "--data-urlencode", "--json", "-b", "-u", "-A", "-e"][option as usize];
        let text = format!(
            "curl {} -H {} {option} {}",
            shell(&format!("http://h/{path}")),
            shell(&format!("{name}: {value}")),
            shell(&body)
        );
        check(curl(text.as_bytes(), &Options::default()));
        check(curl(format!("{text}\n{text} -F {}", shell(&body)).as_bytes(), &Options::default()));
    }

    #[test]
    fn odd_descriptions_are_plans(path in odd(), name in odd(), value in odd(), key in odd()) {
        let (path, name, value, key) = (json(&format!("/{path}/{{{name}}}")), json(&name), json(&value), json(&key));
        let text = format!(
            r#"{{"openapi":"3.1.0","servers":[{{"url":{value}}}],"paths":{{{path}:{{"post":{{"operationId":{name},
            "security":[{{"s":[]}}],
            "parameters":[{{"name":{name},"in":"path","example":{value}}},{{"name":{name},"in":"query","required":true,"example":{value}}},
            {{"name":{name},"in":"header","required":true,"schema":{{"default":{value}}}}}],
            "requestBody":{{"content":{{"application/json":{{"schema":{{"type":"object","properties":{{{key}:{{"example":{value}}}}}}}}}}}}}}}}}}},
            "components":{{"securitySchemes":{{"s":{{"type":"apiKey","in":"cookie","name":{name}}}}}}}}}"#
        );
        check(openapi(text.as_bytes(), &Options::default()));
    }

    #[test]
    fn odd_collections_are_plans(path in odd(), name in odd(), value in odd(), script in odd()) {
        let url = json(&format!("http://h/{path}?{name}={value}"));
        let (name, value) = (json(&name), json(&value));
        let script = json(&format!("pm.environment.set(\"x\", pm.response.json().a);\n{script}"));
        let text = format!(
            r#"{{"info":{{"name":{name}}},"variable":[{{"key":{name},"value":{value}}}],"item":[{{"name":{name},
            "event":[{{"listen":"test","script":{{"exec":{script}}}}}],
            "request":{{"method":"PUT","url":{url},"header":[{{"key":{name},"value":{value}}}],
            "auth":{{"type":"apikey","apikey":[{{"key":"key","value":{name}}},{{"key":"value","value":{value}}}]}},
            "body":{{"mode":"raw","raw":{value}}}}}}},{{"request":{url}}}]}}"#
        );
        check(postman(text.as_bytes(), &Options::default()));
    }

    #[test]
    fn odd_logs_are_plans_however_they_are_cut(paths in proptest::collection::vec(odd(), 1..6), cut in 1usize..50) {
        let line = |path: &String| format!("h - - [01/Jan/2024:00:00:00 +0000] \"GET /{path} HTTP/1.1\" 200 1\n");
        let text: String = paths.iter().map(line).collect();
        let whole = access_log(text.as_bytes(), &Options::default());
        let mut log = AccessLog::default();
        text.as_bytes().chunks(cut).for_each(|piece| log.feed(piece));
        prop_assert_eq!(&log.finish(&Options::default()), &whole);
        check(whole);
    }

    #[test]
    fn no_secret_is_in_a_plan(place in 0..9, before in "[a-z]{0,4}", path in odd()) {
        let entry = |body: &str, kind: &str, name: &str, value: &str| Entry {
            path: format!("{before}/{path}"),
            field: (name.to_owned(), value.to_owned()),
            body: body.to_owned(),
            kind: kind.to_owned(),
            response: String::new(),
        };
        let form = "application/x-www-form-urlencoded";
        let secret = match place {
            0 => entry(&format!("user=a&password={SECRET}"), form, "X-A", "b"),
            1 => entry(&format!("{{\"user\":{{\"password\":\"{SECRET}\"}}}}"), "application/json", "X-A", "b"),
            2 => entry("", form, "Authorization", &format!("Bearer {SECRET}")),
            3 => entry("", form, "authorization", SECRET),
            4 => entry("", form, "Cookie", &format!("sid={SECRET}; a=b")),
            5 => entry("", form, "X-Api-Key", SECRET),
            6 => entry(&format!("a=1&api_key={SECRET}"), form, "X-A", "b"),
            7 => entry(
                &format!("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{SECRET}\r\n--b--"),
                "multipart/form-data; boundary=b",
                "X-A",
                "b",
            ),
            _ => entry(&format!("[{{\"client_secret\":\"{SECRET}\"}}]"), "application/vnd.x+json", "X-A", "b"),
        };
        // It comes again where nothing says that it is secret.
        let again = entry(&format!("note={SECRET}"), form, "X-Note", &format!("see {SECRET}"));
        let mut in_path = again.clone();
        in_path.path = format!("{SECRET}/x?y={SECRET}");
        let entries = if place == 4 { vec![secret] } else { vec![secret, again, in_path] };
        let plan = check(har(har_of(&entries).as_bytes(), &Options::default())).expect("a plan");
        prop_assert!(!plan.contains(SECRET), "{}", plan);
        prop_assert!(plan.contains("${env:"), "{}", plan);
        let command = |one: &Entry| format!(
            "curl -g {} -H {} -H {} --data-raw {}\n",
            shell(&format!("http://h/{}", one.path)),
            shell(&format!("{}: {}", one.field.0, one.field.1)),
            shell(&format!("Content-Type: {}", one.kind)),
            shell(&one.body)
        );
        let text: String = entries.iter().map(command).collect();
        let plan = check(curl(text.as_bytes(), &Options::default())).expect("a plan");
        prop_assert!(!plan.contains(SECRET), "{}", plan);
    }
}
