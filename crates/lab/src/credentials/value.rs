//! The text of a credential: what a server, a command or a file says, and what of it a header field can have.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use candor_engine::EngineError;
use candor_plan::units::MAX_DURATION_NS;
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::Value;

use super::MOST_BYTES;

/// The longest value of the header field.
const MOST_FIELD_BYTES: usize = 16 << 10;

/// A credential as it was taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// The value of the header field.
    pub(super) field: String,
    /// Where the scheme ends in it.
    pub(super) token_at: usize,
    /// How long it is good for, if it says so.
    pub(super) lives: Option<Duration>,
    /// With which the next one can be had.
    pub(super) refresh: Option<String>,
}

/// Why a credential cannot be taken.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server cannot be reached.
    Engine(EngineError),
    /// Anything else. No text of a server is in it.
    Because(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Engine(error) => write!(formatter, "{error}"),
            Fault::Because(why) => formatter.write_str(why),
        }
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Fault::Because(why)
    }
}

/// What a token server responds with (RFC 6749 5.1), and a command may print.
#[derive(Deserialize)]
struct Response {
    access_token: Option<String>,
    token_type: Option<String>,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
}

impl Taken {
    /// Reads a text: JSON, or the credential itself.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        match text.starts_with('{') {
            true => Taken::of_json(bytes),
            false => Taken::of_text(text),
        }
    }

    /// Reads JSON.
    pub(super) fn of_json(bytes: &[u8]) -> Result<Self, Fault> {
        let no_token =
            || Fault::from("the body is no JSON with an access_token (RFC 6749 5.1)".to_owned());
        let said: Response = serde_json::from_slice(bytes).map_err(|_| no_token())?;
        let token = said.access_token.ok_or_else(no_token)?;
        // Another type has another way to be sent (RFC 6749 7.1).
        if said.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err("its token_type is not Bearer, which alone is supported".to_owned().into());
        }
        let lives = said.expires_in.as_ref().and_then(seconds);
        let refresh = said.refresh_token.filter(|token| !token.is_empty());
        Ok(Taken { lives, refresh, ..Taken::of_text(token.trim())? })
    }

    /// A token, or a whole value with its scheme.
    fn of_text(text: &str) -> Result<Self, Fault> {
        let because = |why: &str| Err(Fault::from(why.to_owned()));
        if text.is_empty() {
            return because("it is empty");
        }
        if text.len() > MOST_FIELD_BYTES {
            return because("it is longer than 16 KiB, which few servers take as a header field");
        }
        if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            return because(
                "it has a line end, or another character that no header field may have",
            );
        }
        let (field, token_at) = match text.split_once(' ') {
            Some((scheme, _)) => (text.to_owned(), scheme.len() + 1),
            None => (format!("Bearer {text}"), "Bearer ".len()),
        };
        Ok(Taken { field, token_at, lives: None, refresh: None })
    }
}

/// Seconds, as a number or, as some servers write them, as a text. What is no time is none.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let most = MAX_DURATION_NS as f64 / 1e9;
    seconds.filter(|one| *one >= 0.0).map(|one| Duration::from_secs_f64(one.min(most)))
}

/// What the file has in it.
pub(super) fn of_file(path: &Path) -> Result<Taken, Fault> {
    let name = path.display();
    let unreadable = |error: std::io::Error| Fault::from(format!("cannot read {name}: {error}"));
    // A pipe would be waited for: here, and when it is read.
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(nonblock).open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("{name} is not a file").into());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("{name} is longer than 64 KiB").into());
    }
    Taken::read(&bytes).map_err(|fault| Fault::from(format!("{name}: {fault}")))
}

/// What tells a file from itself after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    changed: (i64, i64),
}

/// The stamp of the file at a path; `None`: there is none.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(path).ok()?;
    Some(Stamp {
        file: (data.dev(), data.ino()),
        bytes: data.size(),
        changed: (data.mtime(), data.mtime_nsec()),
    })
}
