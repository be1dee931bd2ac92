//! Requests made at random, each with the command for curl that makes it, as a shell would need it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A request as curl sends it, without the fields that it adds by itself.
#[derive(Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) target: Vec<u8>,
    /// Names in lower case, sorted.
    pub(crate) header: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{} {}", self.method, self.target.escape_ascii())?;
        self.header
            .iter()
            .try_for_each(|(name, value)| write!(f, "\n{name}: {}", value.escape_ascii()))?;
        write!(f, "\n\n{}\n", self.body.escape_ascii())
    }
}

/// A command, and what it makes.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    /// Without the URL's server, which is `http://SERVER`.
    pub(crate) text: String,
    pub(crate) sent: Sent,
    /// The content of the file `FILE`, if it reads one.
    pub(crate) file: Option<Vec<u8>>,
    pub(crate) secret: Secret,
}

/// What of the command is secret.
#[derive(Debug, Clone)]
pub(crate) struct Secret {
    /// Empty if there is none but cookies.
    pub(crate) value: String,
    /// The value of the variable `BASIC_CREDENTIALS`.
    pub(crate) basic: String,
    /// That of `COOKIE`.
    pub(crate) cookie: String,
}

impl Secret {
    /// What a user who knows the secret sets this variable to.
    pub(crate) fn variable(&self, name: &str) -> &str {
        match name {
            "BASIC_CREDENTIALS" => &self.basic,
            "COOKIE" => &self.cookie,
            _ => &self.value,
        }
    }
}

/// A word of a shell, written in one of its ways.
fn word(text: &str, how: u8) -> String {
    match how {
        _ if text.is_empty() => "''".to_owned(),
        0 => format!("'{}'", text.replace('\'', r"'\''")),
        1 => {
            let escaped = text.chars().map(|c| match c {
                '"' | '\\' | '$' | '`' => format!("\\{c}"),
                c => c.to_string(),
            });
            format!("\"{}\"", escaped.collect::<String>())
        }
        2 => {
            let escaped = text.bytes().map(|byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b'\n' => "\\n".to_owned(),
                b' '..=b'~' => char::from(byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
        // A backslash and an end of a line are nothing.
        _ => text
            .split('\n')
            .map(|line| {
                let escaped = line.chars().map(|c| match c {
                    // A blank of a page from which a command was copied is one here.
                    c if c.is_whitespace() => format!("'{c}'"),
                    c if c.is_alphanumeric() => c.to_string(),
                    c => format!("\\{c}"),
                });
                escaped.collect::<String>()
            })
            .collect::<Vec<_>>()
            .join("'\n'"),
    }
}

fn escaped(text: &[u8], kept: &str, blank: &str) -> String {
    let one = |byte: &u8| match *byte {
        b' ' => blank.to_owned(),
        byte if byte.is_ascii_alphanumeric() || kept.contains(char::from(byte)) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.iter().map(one).collect()
}

/// Any text that a command line can have.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z0-9]{1,6}".boxed(),
        3 => "[ -~]{0,6}".boxed(),
        1 => select(vec![
            "'", "\"", "\\", "\n", "\r\n", "\t", "$HOME", "${seq}", "${", "}", "$${x}", "{{y}}", "`id`", "é", "\u{1F600}", "#",
            "%", "%41", "+", "&", "=", ";", "@", "password", "--data", "\u{2028}", "1.50",
        ])
        .prop_map(str::to_owned)
        .boxed(),
    ];
    // A pair whose name has that word would be a secret that the test does not know.
    vec(piece, 0..4).prop_map(|pieces| {
        let text = pieces.concat();
        if text.contains("password") { text.replace('=', " ") } else { text }
    })
}

/// A segment of a path, a query, as they stand in a URL.
fn part() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9]{1,4}".boxed(),
        2 => any::<u8>().prop_map(|byte| format!("%{byte:02X}")).boxed(),
        1 => any::<u8>().prop_map(|byte| format!("%{byte:02x}")).boxed(),
        2 => select(vec!["-", "_", "~", "!", "$", "'", "(", ")", "*", "+", ",", ";", ":", "@", "[1]", "{a,b}", "${x}", "|"])
            .prop_map(str::to_owned)
            .boxed(),
    ];
    vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["note", "n1", "text", "items[]", "a.b", "x-y", "z"]).prop_map(str::to_owned)
}

/// What curl says of a body.
#[derive(Debug, Clone)]
enum Body {
    None,
    /// `--data-binary`, `--data-raw` or `-d`, with this type.
    Text(String, u8, Option<&'static str>),
    Bytes(Vec<u8>),
    Pairs(Vec<(String, String)>),
    /// `--json`, or another type.
    Json(serde_json::Value, bool, Option<&'static str>),
    Parts(Vec<(String, String, bool)>),
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f32>().prop_map(|number| serde_json::Value::from(f64::from(number))),
        text().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            vec((name(), inner), 0..4).prop_map(|all| all.into_iter().collect()),
        ]
    })
}

fn body() -> impl Strategy<Value = Body> {
    let kind = select(vec![
        None,
        Some("text/plain"),
        Some("application/json"),
        Some("application/x-www-form-urlencoded"),
    ]);
    prop_oneof![
        2 => Just(Body::None),
        3 => (text(), 0u8..3, kind.clone()).prop_map(|(text, how, kind)| Body::Text(text, how, kind)),
        1 => vec(any::<u8>(), 0..40).prop_map(Body::Bytes),
        2 => vec((name(), text()), 1..4).prop_map(Body::Pairs),
        2 => (json(), any::<bool>(), kind).prop_map(|(value, is_wide, kind)| Body::Json(value, is_wide, kind)),
        2 => vec((name(), text(), any::<bool>()), 1..4).prop_map(Body::Parts),
    ]
}

/// Where the secret is.
fn place() -> impl Strategy<Value = Option<(u8, bool)>> {
    prop_oneof![Just(None), (0u8..8, any::<bool>()).prop_map(Some)]
}

/// Words, words that stand in names too, tokens, and texts with all that has to be escaped. Browsers write `*` and `~`
/// in forms in another way than curl, so that a variable would have to have the escapes of the request.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["password", "swordfish", "note", "hunter22"]).prop_map(str::to_owned),
        "[A-Za-z0-9]{8}[0-9]{2}[A-Z][a-z]".prop_map(|text| format!("{text}-x_{text}")),
        "[a-z0-9 !-)+-}é]{6,12}[0-9]".prop_map(|text| text.trim().to_owned()),
    ]
}

pub(crate) fn command() -> impl Strategy<Value = Command> {
    let url = (vec(part(), 0..4), prop::option::of(vec(part(), 1..3)));
    let fields = select(vec![
        "X-Note",
        "X-A",
        "x-lower",
        "If-Match",
        "Referer",
        "Accept-Language",
        "Origin",
        "Cache-Control",
    ]);
    let field = (fields.prop_map(str::to_owned), text());
    let header = (vec(field, 0..3), prop::option::of(text()), vec(any::<u8>(), 12));
    let method =
        select(vec![None, Some("PUT"), Some("PATCH"), Some("DELETE"), Some("PURGE"), Some("GET")]);
    (url, method, header, body(), place(), secret()).prop_map(
        |(url, method, header, body, place, secret)| made(url, method, header, body, place, secret),
    )
}

type Url = (Vec<String>, Option<Vec<String>>);
type Header = (Vec<(String, String)>, Option<String>, Vec<u8>);

fn made(
    (mut segments, mut query): Url,
    method: Option<&str>,
    (fields, cookie, ways): Header,
    mut body: Body,
    place: Option<(u8, bool)>,
    secret: String,
) -> Command {
    let ways = std::cell::RefCell::new(ways.into_iter().cycle());
    let word = |text: &str| word(text, ways.borrow_mut().next().unwrap_or(0) % 4);
    // What a field of a header can have.
    let clean = |text: &str| {
        text.replace(|c: char| c.is_control() || c == '\u{2028}', "_").trim().to_owned()
    };
    let mut header: Vec<(String, Vec<u8>)> = Vec::new();
    let mut words = vec!["curl".to_owned(), "-g".to_owned()];
    // A path without dots, which curl would remove.
    segments.iter_mut().for_each(|one| *one = one.replace("%2e", "dot").replace("%2E", "dot"));
    let secret = place.map(|place| (place, clean(&secret)));
    let basic = STANDARD.encode(format!("ann:{}", secret.as_ref().map_or("", |(_, value)| value)));
    let mut cookies =
        cookie.map(|text| clean(&text).replace([';', '='], "_")).map(|text| format!("a={text}"));
    if let Some(((place, comes_again), value)) = &secret {
        let pair = ("password".to_owned(), value.clone());
        match place {
            0 => query
                .get_or_insert_default()
                .push(format!("api_key={}", escaped(value.as_bytes(), "-_.~", "%20"))),
            1 => {
                words.extend(["-H".to_owned(), word(&format!("X-Api-Key: {value}"))]);
                header.push(("x-api-key".to_owned(), value.clone().into_bytes()));
            }
            2 => {
                words.extend(["-H".to_owned(), word(&format!("Authorization: Bearer {value}"))]);
                header.push(("authorization".to_owned(), format!("Bearer {value}").into_bytes()));
            }
            3 => {
                words.extend(["-u".to_owned(), word(&format!("ann:{value}"))]);
                header.push(("authorization".to_owned(), format!("Basic {basic}").into_bytes()));
            }
            4 => cookies = Some(format!("sid={}", value.replace([';', '='], "_"))),
            5 => body = Body::Pairs(vec![("user".to_owned(), "ann".to_owned()), pair]),
            6 => {
                let kind = match &body {
                    Body::Json(_, _, kind) | Body::Text(_, _, kind) => *kind,
                    _ => None,
                };
                body = Body::Json(
                    serde_json::json!({"user": "ann", "b": [{"password": value}]}),
                    true,
                    kind,
                );
            }
            _ => body = Body::Parts(vec![(pair.0, pair.1, false)]),
        }
        if *comes_again {
            match &mut body {
                Body::Pairs(pairs) => pairs.push(("note".to_owned(), value.clone())),
                Body::Parts(parts) => parts.push(("note".to_owned(), value.clone(), true)),
                Body::Json(serde_json::Value::Object(object), ..) => {
                    object.insert("note".to_owned(), value.as_str().into());
                }
                _ => segments.push(escaped(value.as_bytes(), "-_~", "%20")),
            }
        }
    }
    if let Some(cookies) = &cookies {
        words.extend(["-b".to_owned(), word(cookies)]);
        header.push(("cookie".to_owned(), cookies.clone().into_bytes()));
    }
    for (name, value) in &fields {
        let value = clean(value);
        // An empty one has a mark of its own.
        let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        words.extend(["-H".to_owned(), word(&field)]);
        header.push((name.to_ascii_lowercase(), value.into_bytes()));
    }
    let mut target = format!("/{}", segments.join("/"));
    if let Some(query) = &query {
        target += &format!("?{}", query.join("&"));
    }
    let has_body = !matches!(body, Body::None);
    let mut file = None;
    let (kind, bytes) = match body {
        Body::None => (None, Vec::new()),
        Body::Text(text, how, kind) => {
            // `@` is a file, but for `--data-raw`.
            let text = if how < 2 { text.trim_start_matches('@').to_owned() } else { text };
            words.extend([
                ["-d", "--data-binary", "--data-raw"][usize::from(how)].to_owned(),
                word(&text),
            ]);
            if let Some(kind) = kind {
                words.extend(["-H".to_owned(), word(&format!("Content-Type: {kind}"))]);
            }
            (Some(kind.unwrap_or("application/x-www-form-urlencoded")), text.into_bytes())
        }
        Body::Bytes(bytes) => {
            words.extend(["--data-binary".to_owned(), "@FILE".to_owned()]);
            words.extend(["-H".to_owned(), word("Content-Type: application/octet-stream")]);
            file = Some(bytes.clone());
            (Some("application/octet-stream"), bytes)
        }
        Body::Pairs(pairs) => {
            for (name, value) in &pairs {
                words.extend(["--data-urlencode".to_owned(), word(&format!("{name}={value}"))]);
            }
            let written = pairs
                .iter()
                .map(|(name, value)| format!("{name}={}", escaped(value.as_bytes(), "-_.~", "+")));
            let text = written.collect::<Vec<_>>().join("&");
            (Some("application/x-www-form-urlencoded"), text.into_bytes())
        }
        Body::Json(value, is_wide, Some(kind)) => {
            let text = if is_wide { format!("{value:#}") } else { value.to_string() };
            words.extend(["--data-binary".to_owned(), word(&text)]);
            words.extend(["-H".to_owned(), word(&format!("Content-Type: {kind}"))]);
            (Some(kind), text.into_bytes())
        }
        Body::Json(value, is_wide, None) => {
            let text = if is_wide { format!("{value:#}") } else { value.to_string() };
            words.extend(["--json".to_owned(), word(&text)]);
            header.push(("accept".to_owned(), b"application/json".to_vec()));
            (Some("application/json"), text.into_bytes())
        }
        Body::Parts(parts) => {
            let mut text = String::new();
            for (name, value, is_typed) in &parts {
                let quoted = format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
                match is_typed {
                    true => {
                        words.extend([
                            "-F".to_owned(),
                            word(&format!("{name}={quoted};type=text/x-a; b=c")),
                        ]);
                        text += &format!(
                            "--BOUNDARY\r\nContent-Disposition: form-data; name=\"{name}\"\r\nContent-Type: text/x-a; b=c\r\n\r\n{value}\r\n"
                        );
                    }
                    false => {
                        words
                            .extend(["--form-string".to_owned(), word(&format!("{name}={value}"))]);
                        text += &format!(
                            "--BOUNDARY\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                        );
                    }
                }
            }
            (
                Some("multipart/form-data; boundary=BOUNDARY"),
                (text + "--BOUNDARY--\r\n").into_bytes(),
            )
        }
    };
    header.extend(kind.map(|kind| ("content-type".to_owned(), kind.as_bytes().to_vec())));
    header.sort();
    if let Some(method) = method {
        words.extend(["-X".to_owned(), method.to_owned()]);
    }
    let method = method.unwrap_or(if has_body { "POST" } else { "GET" }).to_owned();
    words.push(word(&format!("http://SERVER{target}")));
    let value = secret.map(|(_, value)| value).unwrap_or_default();
    let secret = Secret { value, basic, cookie: cookies.unwrap_or_default() };
    let separator = if ways.borrow_mut().next().unwrap_or(0) % 2 == 0 { " " } else { " \\\n  " };
    let sent = Sent { method, target: target.into_bytes(), header, body: bytes };
    Command { text: words.join(separator) + "\n", sent, file, secret }
}
