//! Redaction: the only place that decides which of the user's input results may contain.
//!
//! Results end up in repositories, tickets and CI logs. So the user's input reaches a document, a
//! page or a trace only through [`Secrets`], and everything not known to be harmless is hidden.
//!
//! - A header field's value is shown if the field is on [`HARMLESS_FIELDS`].
//! - A URL keeps scheme, host, path and the names of its parameters.
//! - A body is shown as its length and [`hash`].
//! - A command keeps its program, the names of its options, and values that are numbers, addresses or
//!   files ([`Secrets::command`]).
//!
//! Single exchanges (`candor try`), errors and imported plans would be of no use if all of that were hidden. They hide
//! what is known to be secret instead: [`SecretKind`] says what is one, and [`Hidden`] keeps such values out of any
//! text.
//!
//! A command line of our own is a [`Typed`], which cannot be read except through these rules.
//! `--show-secrets` is [`Secrets::Shown`]: everything as it was typed.

mod hidden;
mod refused;
mod secret;
mod typed;

pub use hidden::{Hidden, LEAST_OF_COOKIE};
pub use refused::{columns, refused, without_refused};
pub(crate) use refused::{has_no_secret, name_of_request, outside_holes};
pub use secret::{SecretKind, is_random};
pub use typed::{Kind, Typed};

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use secret::sounds_secret;

use crate::words;

/// Replaces a hidden value.
pub const REDACTED: &str = "[redacted]";

/// Replaces a hidden value of a URL's parameter.
pub const ELIDED: char = '…';

/// Fields whose values do not identify the sender, in lower case.
const HARMLESS_FIELDS: [&str; 43] = [
    ":authority",
    "accept",
    "accept-charset",
    "accept-datetime",
    "accept-encoding",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "date",
    "dnt",
    "expect",
    "grpc-timeout",
    "host",
    "http2-settings",
    "if-modified-since",
    "if-unmodified-since",
    "keep-alive",
    "max-forwards",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "range",
    "save-data",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "sec-gpc",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "want-digest",
    "x-requested-with",
];

/// Long options with one dash, e.g. of the JVM and the BEAM. In any other word with one dash,
/// everything after the first letter may be a value.
const LONG_WITH_ONE_DASH: [&str; 14] = [
    "boot",
    "classpath",
    "config",
    "cp",
    "eval",
    "jar",
    "mode",
    "name",
    "noinput",
    "noshell",
    "pa",
    "pz",
    "server",
    "sname",
];

/// Values that switch something.
const SWITCHES: [&str; 8] = ["true", "false", "on", "off", "yes", "no", "auto", "none"];

/// Whether the user's input is shown in full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Secrets {
    /// Values that may be secret are hidden.
    #[default]
    Hidden,
    /// Everything is shown (`--show-secrets`).
    Shown,
}

impl Secrets {
    /// The value for `--show-secrets`.
    pub fn shown_if(show: bool) -> Self {
        if show { Secrets::Shown } else { Secrets::Hidden }
    }

    /// The value of a header field.
    pub fn header<'a>(self, name: &str, value: &'a str) -> &'a str {
        let name = name.trim().to_ascii_lowercase();
        let harmless = HARMLESS_FIELDS.contains(&name.as_str()) && !has_secret(value);
        if self == Secrets::Shown || harmless { value } else { REDACTED }
    }

    /// Whether this value of this name (of a parameter, a member of JSON, a column, a variable) is hidden where single
    /// exchanges are looked at. The value may be unknown, and then is empty.
    pub fn hides(self, name: &str, value: &str) -> bool {
        let is_secret =
            || SecretKind::of_name(name).is_some() || SecretKind::of(name, value).is_some();
        self == Secrets::Hidden && is_secret()
    }

    /// The value of a header field of an exchange that is looked at, of a request or a response.
    pub fn seen_header<'a>(self, name: &str, value: &'a str) -> &'a str {
        let is_harmless = HARMLESS_FIELDS.contains(&name.trim().to_ascii_lowercase().as_str());
        let is_hidden = has_secret(value)
            || SecretKind::of_field(name, value).is_some()
            || !is_harmless && self.hides(name, value);
        if self == Secrets::Hidden && is_hidden { REDACTED } else { value }
    }

    /// A URL, even an invalid one: `http://[redacted]@host/path?name=…`.
    pub fn url(self, text: &str) -> String {
        if self == Secrets::Shown {
            return text.to_owned();
        }
        let start = text.find("://").map_or(0, |at| at + 3);
        let (before, rest) = text.split_at(start);
        let mut end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        // `user:pass/word@host`: text that is not a port may be the beginning of a password.
        if let (Some((_, port)), Some(at)) = (rest[..end].split_once(':'), rest.rfind('@'))
            && !rest[..end].contains('@')
            && !rest[..end].starts_with('[')
            && !port.bytes().all(|byte| byte.is_ascii_digit())
        {
            let behind = rest[at..].find(['/', '?', '#']).map_or(rest.len(), |length| at + length);
            end = end.max(behind);
        }
        let (authority, path) = rest.split_at(end);
        let path = self.path(path);
        match authority.rfind('@') {
            Some(at) => format!("{before}{REDACTED}{}{path}", &authority[at..]),
            // What stands in the place of a port and is none may be a password whose host is missing.
            None => {
                let address = authority.rfind(']').map_or(0, |at| at + 1);
                let (host, port) = authority.split_at(
                    authority[address..].find(':').map_or(authority.len(), |at| address + at),
                );
                let is_of_address = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
                let port = match host.chars().chain(port.chars()).all(is_of_address) {
                    true => port.to_owned(),
                    false => refused(port),
                };
                format!("{before}{host}{port}{path}")
            }
        }
    }

    /// A path with the names of its query's parameters. A parameter without a name is hidden whole.
    pub fn path(self, text: &str) -> Cow<'_, str> {
        if self == Secrets::Shown || !text.contains(['?', '#', ';']) {
            return text.into();
        }
        let (text, fragment) = match text.split_once('#') {
            Some((text, _)) => (text, format!("#{ELIDED}")),
            None => (text, String::new()),
        };
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        let mut shown: String = path.split_inclusive('/').map(segment).collect();
        if let Some(query) = query {
            let all: Vec<_> = query.split('&').map(parameter).collect();
            shown = format!("{shown}?{}", all.join("&"));
        }
        (shown + &fragment).into()
    }

    /// The words of a command.
    ///
    /// It shows the program, plain words before the first option (e.g. `serve`), the names of
    /// options and of `NAME=VALUE`, values that are numbers, addresses, files or placeholders, and
    /// a short word after a long option. It shows nothing after a name that sounds like a secret's.
    pub fn command(self, words: &[String]) -> Vec<String> {
        if self == Secrets::Shown {
            return words.to_vec();
        }
        let mut place = Place::Begin;
        let program = |word: &String| match word.contains("://") {
            true => self.url(word),
            false => word.clone(),
        };
        let mut shown: Vec<String> = words.iter().take(1).map(program).collect();
        shown.extend(words.iter().skip(1).map(|word| {
            let (text, next) = command_word(word, &place);
            place = next;
            text
        }));
        shown
    }

    /// One value of one of our own command lines.
    fn value(self, kind: Kind, text: &str) -> String {
        match (self, kind) {
            (Secrets::Shown, _) | (_, Kind::Plain) => text.to_owned(),
            (_, Kind::Hidden) => REDACTED.to_owned(),
            (_, Kind::Url) => self.url(text),
            (_, Kind::Name) => subprotocol(text).to_owned(),
            // HTTP/2's own fields begin with a colon.
            (_, Kind::Header) => match text.char_indices().skip(1).find(|(_, c)| *c == ':') {
                Some((at, _)) => {
                    let (name, value) = (&text[..at], text[at + 1..].trim());
                    format!("{name}: {}", self.header(name, value))
                }
                None => REDACTED.to_owned(),
            },
            (_, Kind::Setting) => match text.split_once('=') {
                Some((name, _)) => format!("{name}={REDACTED}"),
                None => REDACTED.to_owned(),
            },
            (_, Kind::Command) => self.command_line(text),
            (_, Kind::Auth) => match text.split_once(':') {
                Some(("oauth2", url)) => format!("oauth2:{}", self.url(url)),
                // An argument may be the credential itself.
                Some(("cmd", command)) => match words::split(command) {
                    Ok(all) if all.len() == 1 => format!("cmd:{}", self.command(&all).concat()),
                    Ok(all) => format!("cmd:{} {REDACTED}", self.command(&all[..1]).concat()),
                    Err(_) => format!("cmd:{REDACTED}"),
                },
                Some(("file" | "aws-sigv4", _)) => text.to_owned(),
                Some((way @ ("basic" | "bearer"), _)) => format!("{way}:{REDACTED}"),
                _ => REDACTED.to_owned(),
            },
        }
    }

    /// A command in one text, as [`Secrets::command`] shows it. The text may also be a URL or a
    /// file name.
    pub fn command_line(self, text: &str) -> String {
        match (self, words::split(text)) {
            (Secrets::Shown, _) => text.to_owned(),
            (_, Ok(words)) if words.len() == 1 => self.command(&words).concat(),
            (_, Ok(words)) => words::join(&self.command(&words)),
            (_, Err(_)) => REDACTED.to_owned(),
        }
    }
}

/// Whether a value contains `Bearer` or `Basic` credentials (RFC 6750, RFC 7617), or a token that is known by its form.
fn has_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    ["bearer ", "basic "].iter().any(|scheme| lower.contains(scheme))
        || value.split([' ', ',', ';', '=', '"']).any(|word| SecretKind::of_value(word).is_some())
}

/// The name of a subprotocol. Some clients put a token in it, as in `bearer.TOKEN`.
pub(crate) fn subprotocol(name: &str) -> &str {
    let is_word = |part: &str| {
        part.len() <= 24
            && !sounds_secret(part)
            && !is_random(part)
            && part.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)
            })
    };
    if name.split('.').all(is_word) { name } else { REDACTED }
}

/// How the value of an option, or of the key of the same name in a plan or a suite, is shown; `None`: nothing is known
/// to be secret in it.
pub fn kind_of_option(name: &str) -> Option<Kind> {
    let name = name.replace('_', "-");
    match name.as_str() {
        "auth" => Some(Kind::Auth),
        "header" | "headers" => Some(Kind::Header),
        "subprotocol" => Some(Kind::Name),
        "out" | "path" | "proxy" | "target-ready" | "url" | "watch" => Some(Kind::Url),
        "build" | "command" | "profile-command" | "run" | "target" => Some(Kind::Command),
        "env" | "form" | "target-env" => Some(Kind::Setting),
        "arguments" | "body" | "files" | "json" | "script-arg" | "stream-end" | "stream-error"
        | "when" => Some(Kind::Hidden),
        name if name.ends_with("-url") => Some(Kind::Url),
        _ => None,
    }
}

/// A segment of a path: parameters (`;jsessionid=…`) are treated as a query's.
fn segment(text: &str) -> String {
    let (text, slash) = match text.strip_suffix('/') {
        Some(text) => (text, "/"),
        None => (text, ""),
    };
    let mut parts = text.split(';');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push(';');
        shown += &parameter(part);
    }
    shown + slash
}

fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, "")) => format!("{name}="),
        Some((name, _)) => format!("{name}={ELIDED}"),
        None if text.is_empty() => String::new(),
        None => ELIDED.to_string(),
    }
}

/// The position of a word in a command.
enum Place {
    /// Before the first option.
    Begin,
    /// After this option, or after this word, which may take a value.
    Behind(String),
    /// After a value.
    Later,
}

/// A word in the form to show, and the position of the next one.
fn command_word(word: &str, place: &Place) -> (String, Place) {
    // The word after such a name is its value, even if it looks like an option.
    if let Place::Behind(name) = place
        && sounds_secret(name)
    {
        return (REDACTED.to_owned(), after_word(word));
    }
    if let Some(name) = word.strip_prefix("--") {
        return match name.split_once('=') {
            Some((name, value)) => {
                (format!("--{name}={}", value_of(&format!("--{name}"), value)), Place::Later)
            }
            None => (word.to_owned(), Place::Behind(word.to_owned())),
        };
    }
    if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
        return match is_short_option(letters) {
            true => (word.to_owned(), Place::Behind(word.to_owned())),
            false => {
                let first = letters.chars().next().unwrap_or_default();
                (format!("-{first}{REDACTED}"), Place::Behind(word.to_owned()))
            }
        };
    }
    if let Some((name, value)) = word.split_once('=')
        && is_setting(name, value)
    {
        let next = if matches!(place, Place::Begin) { Place::Begin } else { Place::Later };
        return (format!("{name}={}", value_of(name, value)), next);
    }
    let text = match place {
        Place::Begin if is_plain_word(word) => word.to_owned(),
        Place::Begin | Place::Later => unnamed(word),
        Place::Behind(option) => value_of(option, word),
    };
    let next = match (place, after_word(word)) {
        (Place::Begin, Place::Later) if text == word => Place::Begin,
        (_, next) => next,
    };
    (text, next)
}

/// The position of the word after this one, which is not an option. In `Bearer abc` and `password
/// abc`, it comes after a secret's name.
fn after_word(word: &str) -> Place {
    match sounds_secret(word) || word.eq_ignore_ascii_case("basic") {
        true => Place::Behind("secret".to_owned()),
        false => Place::Later,
    }
}

/// `-p`, `-c4`, `-jar`.
fn is_short_option(letters: &str) -> bool {
    let mut rest = letters.chars();
    rest.next();
    let rest = rest.as_str();
    rest.is_empty() || is_number(rest) || LONG_WITH_ONE_DASH.contains(&letters)
}

/// The value of an option or variable.
fn value_of(name: &str, value: &str) -> String {
    let is_short_word = value.len() <= 16 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    match sounds_secret(name) {
        true => REDACTED.to_owned(),
        false if name.starts_with("--") && is_short_word => value.to_owned(),
        false => unnamed(value),
    }
}

/// A value by its shape alone.
fn unnamed(value: &str) -> String {
    match value.contains("://") {
        true if !value.contains(char::is_whitespace) => Secrets::Hidden.url(value),
        false if is_harmless(value) => value.to_owned(),
        _ => REDACTED.to_owned(),
    }
}

/// Whether this is a variable or a property, e.g. `N=` or `log.level=`, and not base64, which ends
/// in `=` too.
fn is_setting(name: &str, value: &str) -> bool {
    let is = |letter: fn(&u8) -> bool| {
        name.bytes().all(|byte| letter(&byte) || byte.is_ascii_digit() || b"_-.".contains(&byte))
    };
    !name.is_empty()
        && !value.trim_matches('=').is_empty()
        && (is(u8::is_ascii_lowercase) || is(u8::is_ascii_uppercase))
}

fn is_plain_word(word: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    word.len() <= 24
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(is_of_word)
}

fn is_harmless(value: &str) -> bool {
    SWITCHES.contains(&value) || is_number(value) || is_address(value) || is_file(value)
}

/// A number, a list or a range, perhaps with a unit: `4`, `0-3`, `1.5`, `64MiB`.
fn is_number(value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.starts_with(|c: char| c.is_ascii_digit())
        && value.len() - digits.len() <= 3
        && digits.len() <= 7
        && digits.chars().all(|c| c.is_ascii_digit() || ".,-".contains(c))
}

/// `127.0.0.1`, `[::1]:80`, `localhost:8080`, `127.0.0.1:{port}`.
fn is_address(value: &str) -> bool {
    if let Some((host, port)) = value.rsplit_once(':')
        && port.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(is_plain_word)
    {
        return is_address(host.trim_start_matches('[').trim_end_matches(']'));
    }
    let named = value
        .strip_prefix("localhost")
        .is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_number));
    named || value.parse::<IpAddr>().is_ok() || value.parse::<SocketAddr>().is_ok()
}

/// A path that begins like one, a name with a short ending, or a placeholder: `{pid}`.
fn is_file(value: &str) -> bool {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "._-/{}".contains(c);
    let begins = ["/", "./", "../", "{"].iter().any(|begin| value.starts_with(begin));
    let ends = value.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    (begins || ends) && value.chars().all(is_of_path)
}

/// Distinguishes hidden values, e.g. the bodies of two results: 16 bits of FNV-1a, as four
/// hexadecimal digits.
///
/// The hash is short on purpose. An attacker who knows the rest of a text can test guesses at a
/// password in it against the hash. One wrong guess in 65,536 passes, so the hash singles out no guess
/// from a long list. It does not prove that two texts are the same, and it reveals at most 16 bits.
pub fn hash(bytes: &[u8]) -> String {
    folded(fnv(FNV_START, bytes))
}

/// The 16 bits of a [`fnv`] that are printed.
pub(crate) fn folded(hash: u64) -> String {
    format!("{:04x}", (hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48)) & 0xffff)
}

/// Where [`fnv`] begins.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits: whether two texts are the same. All 64 bits would reveal a short text, so only 16 of
/// them are printed.
pub fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether something is missing in these words, so that they cannot be typed again as they are.
pub fn is_shortened(words: &[String]) -> bool {
    words.iter().any(|word| word.contains(REDACTED) || word.contains(ELIDED))
}

#[cfg(test)]
mod tests;
