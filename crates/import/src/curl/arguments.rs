//! The arguments of curl: those that say what is sent, those that a plan has too, and those that are
//! about what curl does with the response, which are dropped.

use std::str::FromStr;

use candor_plan::values::{HostPort, PositiveNanos, Resolve};
use toml_edit::Value;

use super::words::Word;
use crate::error::{ImportError, Position};
use crate::recorded::is_method;

/// Options without a value that do not change the request.
const IGNORED: [&str; 33] = [
    "basic",
    "compressed-ssh",
    "create-dirs",
    "disable",
    "fail",
    "fail-early",
    "fail-with-body",
    "globoff",
    "include",
    "ipv4",
    "ipv6",
    "junk-session-cookies",
    "no-buffer",
    "no-keepalive",
    "no-progress-meter",
    "no-sessionid",
    "parallel",
    "path-as-is",
    "progress-bar",
    "proto-default",
    "remote-header-name",
    "remote-name",
    "remote-name-all",
    "remove-on-error",
    "show-error",
    "silent",
    "show-headers",
    "styled-output",
    "tcp-fastopen",
    "tcp-nodelay",
    "trace-time",
    "verbose",
    "xattr",
];

/// The same with a value.
const IGNORED_WITH_VALUE: [&str; 27] = [
    "ciphers",
    "cookie-jar",
    "dump-header",
    "happy-eyeballs-timeout-ms",
    "keepalive-time",
    "limit-rate",
    "max-filesize",
    "max-redirs",
    "output",
    "output-dir",
    "parallel-max",
    "proto",
    "retry",
    "retry-delay",
    "retry-max-time",
    "speed-limit",
    "speed-time",
    "stderr",
    "time-cond",
    "trace",
    "trace-ascii",
    "write-out",
    "tls-max",
    "tls13-ciphers",
    "interface",
    "libcurl",
    "rate",
];

/// Options without a value that a plan cannot follow: these are said.
const REFUSED: [(&str, &str); 9] = [
    ("anyauth", "authentication that the server chooses"),
    ("digest", "Digest authentication"),
    ("http3", "HTTP/3"),
    ("http3-only", "HTTP/3"),
    ("location", "redirects are not followed: a request or a step for each place is needed"),
    (
        "location-trusted",
        "redirects are not followed: a request or a step for each place is needed",
    ),
    ("negotiate", "Negotiate authentication"),
    ("netrc", "credentials of the .netrc file"),
    ("ntlm", "NTLM authentication"),
];

/// The same with a value.
const REFUSED_WITH_VALUE: [(&str, &str); 7] = [
    ("aws-sigv4", "signatures of AWS"),
    ("config", "a file with more options"),
    ("preproxy", "a proxy"),
    ("proxy", "a proxy"),
    ("proxy-header", "a proxy"),
    ("proxy-user", "a proxy"),
    ("socks5", "a proxy"),
];

const SHORT: [(char, &str); 38] = [
    ('0', "http1.0"),
    ('1', "tlsv1"),
    ('2', "sslv2"),
    ('4', "ipv4"),
    ('6', "ipv6"),
    ('A', "user-agent"),
    ('D', "dump-header"),
    ('E', "cert"),
    ('F', "form"),
    ('G', "get"),
    ('H', "header"),
    ('I', "head"),
    ('J', "remote-header-name"),
    ('K', "config"),
    ('L', "location"),
    ('N', "no-buffer"),
    ('O', "remote-name"),
    ('S', "show-error"),
    ('T', "upload-file"),
    ('U', "proxy-user"),
    ('X', "request"),
    ('Z', "parallel"),
    ('a', "append"),
    ('b', "cookie"),
    ('c', "cookie-jar"),
    ('d', "data"),
    ('e', "referer"),
    ('f', "fail"),
    ('g', "globoff"),
    ('i', "include"),
    ('k', "insecure"),
    ('m', "max-time"),
    ('n', "netrc"),
    ('o', "output"),
    ('r', "range"),
    ('s', "silent"),
    ('u', "user"),
    ('x', "proxy"),
];
const SHORT_TOO: [(char, &str); 7] = [
    ('v', "verbose"),
    ('w', "write-out"),
    ('y', "speed-time"),
    ('Y', "speed-limit"),
    ('z', "time-cond"),
    ('#', "progress-bar"),
    ('q', "disable"),
];

/// What one curl command sends.
#[derive(Debug, Clone, Default)]
pub(super) struct Command {
    pub(super) urls: Vec<Word>,
    pub(super) method: Option<String>,
    pub(super) header: Vec<(String, String)>,
    pub(super) data: Vec<Data>,
    pub(super) is_json: bool,
    pub(super) form: Vec<(String, String)>,
    pub(super) user: Option<String>,
    pub(super) upload: Option<String>,
    pub(super) is_get: bool,
    pub(super) is_head: bool,
    pub(super) has_expansion: bool,
    pub(super) settings: Vec<(&'static str, Value)>,
    pub(super) remarks: Vec<String>,
}

/// One `-d` or a relative of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Text(String),
    Encoded {
        name: String,
        value: String,
    },
    /// `is_stripped`: without ends of lines.
    File {
        name: String,
        is_stripped: bool,
    },
}

impl Command {
    /// The bytes that a request has from it.
    pub(super) fn size(&self) -> usize {
        let pairs = self.header.iter().chain(&self.form);
        let pairs: usize = pairs.map(|(name, value)| name.len() + value.len()).sum();
        let data = self.data.iter().map(|data| match data {
            Data::Text(text) | Data::File { name: text, .. } => text.len(),
            Data::Encoded { name, value } => name.len() + value.len(),
        });
        pairs + data.sum::<usize>()
    }

    pub(super) fn default_type(&self) -> &'static str {
        if self.is_json { "application/json" } else { "application/x-www-form-urlencoded" }
    }

    fn add_header(&mut self, name: &str, value: &str) {
        self.header.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a URL. curl would expand brackets and braces; browsers escape them with a backslash.
    fn add_url(&mut self, word: &Word, url: &str) {
        let mut text = url.to_owned();
        for c in ["[", "]", "{", "}"] {
            text = text.replace(&format!("\\{c}"), c);
        }
        self.urls.push(Word { text, ..word.clone() });
    }

    /// Joins cookies in one field, as curl does (RFC 6265 section 5.4).
    fn add_cookies(&mut self, cookies: &str) {
        match self.header.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
            Some((_, value)) => *value += &format!("; {cookies}"),
            None => self.add_header("Cookie", cookies),
        }
    }

    fn leave_out(&mut self, option: &str, why: &str) {
        self.remarks.push(format!("Left out: curl's {option}: {why}"));
    }
}

/// The requests of one command line, apart where it has `--next`; `None` if it is not curl's.
pub(super) fn parse(words: &[Word]) -> Result<Option<Vec<Command>>, ImportError> {
    // A prompt that was copied too.
    let start = usize::from(
        words.first().is_some_and(|word| ["$", "%", ">", "#"].contains(&word.text.as_str())),
    );
    let Some((program, words)) = words[start..].split_first() else { return Ok(None) };
    let name = program.text.rsplit(['/', '\\']).next().unwrap_or_default();
    if name != "curl" && name != "curl.exe" {
        return Ok(None);
    }
    let mut commands = vec![Command::default()];
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        let command = commands.last_mut().expect("there is always one");
        command.has_expansion |= word.has_expansion;
        let text = word.text.as_str();
        if let Some(file) = redirection(word) {
            if file.is_empty() {
                words.next();
            }
        } else if only_urls || !text.starts_with('-') || text == "-" {
            command.add_url(word, text);
        } else if text == "--" {
            only_urls = true;
        } else if text.strip_prefix("--") == Some("next") || text == "-:" {
            commands.push(Command::default());
        } else if let Some(long) = text.strip_prefix("--") {
            let mut next = || value_of(&mut words, word);
            option(command, long, word, &mut next)?;
        } else {
            short(command, word, &mut words)?;
        }
    }
    for command in &mut commands {
        if command.urls.is_empty() {
            return refuse(program.at, "there is no URL; add one");
        }
        let has_accept = command.header.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        if command.is_json && !has_accept {
            command.add_header("Accept", "application/json");
        }
    }
    Ok(Some(commands))
}

/// What follows `>`, `2>`, `>>` or `<` in a word that redirects.
fn redirection(word: &Word) -> Option<&str> {
    let file = word.text.trim_start_matches(|c: char| c.is_ascii_digit());
    file.strip_prefix(">>").or(file.strip_prefix(['>', '<']))
}

/// `-sXPOST`: letters together, the last of which may have its value behind it.
fn short<'w>(
    command: &mut Command,
    word: &Word,
    words: &mut impl Iterator<Item = &'w Word>,
) -> Result<(), ImportError> {
    let mut letters = word.text[1..].chars();
    while let Some(letter) = letters.next() {
        let known = SHORT.iter().chain(&SHORT_TOO).find(|(short, _)| *short == letter);
        let Some((_, long)) = known else {
            let problem = format!("the option -{} is not known; remove it", letter.escape_debug());
            return refuse(word.at, &problem);
        };
        let rest = letters.as_str().to_owned();
        let mut took_rest = false;
        let mut next = || match rest.is_empty() {
            true => value_of(words, word),
            false => {
                took_rest = true;
                Ok(rest.clone())
            }
        };
        option(command, long, word, &mut next)?;
        if took_rest {
            return Ok(());
        }
    }
    Ok(())
}

fn value_of<'w>(
    words: &mut impl Iterator<Item = &'w Word>,
    option: &Word,
) -> Result<String, ImportError> {
    match words.next() {
        Some(word) => Ok(word.text.clone()),
        None => refuse(option.at, "the last option has no value; add it"),
    }
}

fn refuse<T>(at: Position, problem: &str) -> Result<T, ImportError> {
    Err(ImportError::Curl { at, problem: problem.to_owned() })
}

/// One option by its long name; `next` takes its value.
fn option(
    command: &mut Command,
    name: &str,
    word: &Word,
    next: &mut dyn FnMut() -> Result<String, ImportError>,
) -> Result<(), ImportError> {
    match name {
        "request" => {
            let method = next()?;
            if !is_method(&method) {
                return refuse(word.at, "the method is not a word; use e.g. POST");
            }
            command.method = Some(method);
        }
        "url" => {
            let url = next()?;
            command.add_url(word, &url);
        }
        "header" => header(command, &next()?),
        "user-agent" => command.add_header("User-Agent", &next()?),
        "referer" => command.add_header("Referer", next()?.trim_end_matches(";auto")),
        "cookie" => {
            let cookie = next()?;
            match cookie.contains('=') {
                true => command.add_cookies(&cookie),
                false => {
                    command.leave_out("the cookies of a file", "write them as a Cookie header")
                }
            }
        }
        "data" | "data-ascii" => data(command, &next()?, true),
        "data-binary" => data(command, &next()?, false),
        "data-raw" => command.data.push(Data::Text(next()?)),
        "data-urlencode" => encoded(command, &next()?),
        "json" => {
            data(command, &next()?, false);
            command.is_json = true;
        }
        "form" | "form-string" => {
            let field = next()?;
            let (field_name, value) = field.split_once('=').unwrap_or((&field, ""));
            // `;type=` belongs to a file, or to a text that says so.
            let value = match name {
                "form" => value.split(";type=").next().unwrap_or_default().trim_matches('"'),
                _ => value,
            };
            command.form.push((field_name.to_owned(), value.to_owned()));
        }
        "user" => command.user = Some(next()?),
        "oauth2-bearer" => {
            let value = format!("Bearer {}", next()?);
            command.add_header("Authorization", &value);
        }
        "upload-file" => match next()? {
            name if ["-", "."].contains(&name.as_str()) => command.leave_out(STDIN, TO_A_FILE),
            name => command.upload = Some(name),
        },
        "range" => {
            let value = format!("bytes={}", next()?);
            command.add_header("Range", &value);
        }
        "get" => command.is_get = true,
        "head" => command.is_head = true,
        "compressed" => command.add_header("Accept-Encoding", "deflate, gzip, br, zstd"),
        _ => return setting(command, name, word, next),
    }
    Ok(())
}

/// Options that a plan has at its top, and those that it has not.
fn setting(
    command: &mut Command,
    name: &str,
    word: &Word,
    next: &mut dyn FnMut() -> Result<String, ImportError>,
) -> Result<(), ImportError> {
    let is_set = |command: &mut Command, key, value: Value| command.settings.push((key, value));
    match name {
        "insecure" => is_set(command, "insecure", true.into()),
        "http1.1" | "http1.0" | "no-alpn" => is_set(command, "h1", true.into()),
        "http2" => is_set(command, "h2", true.into()),
        "http2-prior-knowledge" => is_set(command, "h2-prior", true.into()),
        "tlsv1.2" => is_set(command, "tls-min", "1.2".into()),
        "tlsv1.3" => is_set(command, "tls-min", "1.3".into()),
        "cacert" | "key" | "unix-socket" => {
            let key = ["cacert", "key", "unix-socket"].into_iter().find(|key| *key == name);
            let value = next()?;
            is_set(command, key.expect("one of the three"), value.into());
        }
        "cert" => {
            let value = next()?;
            // A password may follow the name of the file.
            is_set(command, "cert", value.split(':').next().unwrap_or_default().into());
        }
        "connect-timeout" | "max-time" => {
            let value = next()?;
            let key = if name == "max-time" { "timeout" } else { "connect-timeout" };
            let time = format!("{value}s");
            match PositiveNanos::from_str(&time) {
                Ok(_) => is_set(command, key, time.into()),
                Err(_) => {
                    return refuse(word.at, "the time is not a number of seconds; use e.g. 2.5");
                }
            }
        }
        "resolve" => {
            let value = next()?;
            let value = value.trim_start_matches('+');
            match Resolve::from_str(value) {
                Ok(_) => is_set(command, "resolve", value.into()),
                Err(_) => command.leave_out("resolve", "it is not HOST:PORT:ADDRESS"),
            }
        }
        "connect-to" => {
            let value = next()?;
            // HOST1:PORT1:HOST2:PORT2; the plan has one server anyway.
            let parts: Vec<&str> = value.rsplitn(3, ':').collect();
            match parts.as_slice() {
                [port, host, _] if HostPort::from_str(&format!("{host}:{port}")).is_ok() => {
                    is_set(command, "connect-to", format!("{host}:{port}").into());
                }
                _ => command.leave_out("connect-to", "it names no host and port"),
            }
        }
        _ if IGNORED.contains(&name) || name.starts_with("no-") || name.starts_with("tlsv1") => {}
        _ if IGNORED_WITH_VALUE.contains(&name) => {
            next()?;
        }
        _ => {
            let find = |table: &[(&str, &'static str)]| {
                table.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
            };
            match (find(&REFUSED), find(&REFUSED_WITH_VALUE)) {
                (Some(why), _) => command.leave_out(name, why),
                (None, Some(why)) => {
                    next()?;
                    command.leave_out(name, why);
                }
                (None, None) => {
                    // Of a word that has more: a quotation mark in the wrong place, or a value.
                    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '.';
                    let name: String = word.text.chars().take_while(is_name).take(40).collect();
                    let problem = format!("the option {name} is not known; remove it");
                    return refuse(word.at, &problem);
                }
            }
        }
    }
    Ok(())
}

fn header(command: &mut Command, text: &str) {
    match text.split_once(':') {
        // `Name:` removes one of curl's own, which a plan does not have.
        Some((_, value)) if value.trim().is_empty() => {}
        Some((name, value)) => command.add_header(name.trim(), value.trim()),
        None => match text.strip_suffix(';') {
            Some(name) => command.add_header(name, ""),
            None => command.leave_out("a header", "it has no colon, or is in a file"),
        },
    }
}

const STDIN: &str = "standard input";
const TO_A_FILE: &str = "write it to a file and use body-file";

fn data(command: &mut Command, text: &str, is_stripped: bool) {
    match text.strip_prefix('@') {
        Some("-") => command.leave_out(STDIN, TO_A_FILE),
        Some(name) => command.data.push(Data::File { name: name.to_owned(), is_stripped }),
        None => command.data.push(Data::Text(text.to_owned())),
    }
}

/// `content`, `=content`, `name=content`; `@file` and `name@file` would have to be read.
fn encoded(command: &mut Command, text: &str) {
    match text.find(['=', '@']) {
        Some(at) if text[at..].starts_with('=') => {
            let (name, value) = (text[..at].to_owned(), text[at + 1..].to_owned());
            command.data.push(Data::Encoded { name, value });
        }
        Some(_) => command.leave_out("data-urlencode with a file", "write its content instead"),
        None => command.data.push(Data::Encoded { name: String::new(), value: text.to_owned() }),
    }
}
