//! One request of a plan, and the response that it must get.

pub use candor_grpc::Kind as CallKind;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::delivery::{Delivery, MADE_ANEW};
use super::stream::Streaming;
use super::template::{Names, Template, TemplateError};
use crate::error::{PlanError, exclude, need};
use crate::holes;
use crate::kept::Kept;
use crate::redact::{Hidden, Secrets, hash};
use crate::targets::{Credential, HttpVersion, Target};
use crate::url::parse_path;
use crate::values::{Header, Method, Typed, ValueError, is_small, refuse};

/// Which message of the server answers a message of a WebSocket, where it has a rule of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OwnReply {
    /// None: it is done when it was sent.
    Nothing,
    /// The next one with this regular expression in it.
    With(String),
    /// The same, and nothing is sent: the user waits for it. It may have come before.
    Awaited(String),
}

impl OwnReply {
    /// The expression.
    pub fn pattern(&self) -> Option<&str> {
        match self {
            OwnReply::Nothing => None,
            OwnReply::With(pattern) | OwnReply::Awaited(pattern) => Some(pattern),
        }
    }
}

/// One request shape and the response that it must get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The name in reports; the method and path if the user gave none.
    pub name: String,
    /// Where it goes: its place among the targets of the plan, whose own is the first.
    #[serde(default)]
    pub target: u32,
    /// Method, sent as given.
    pub method: String,
    /// Path and query, sent as given; begins with `/`, or is `*` for OPTIONS.
    pub path: String,
    /// Header fields in order. No `Host` among them means the authority of the target; no `Content-Length` means one is
    /// made from the body.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Kept<u8>,
    /// Whether method, path, header values and body are templates ([`template`](crate::template)),
    /// filled anew for each request.
    #[serde(default)]
    pub holes: bool,
    /// Whether the body is sent as it is, even so: it comes from a file, or is a message that was encoded.
    #[serde(default)]
    pub literal_body: bool,
    /// How it leaves.
    pub delivery: Delivery,
    /// The condition for a right response.
    pub expect: Expect,
    /// How its response is divided into events; `None`: it is one whole.
    #[serde(default)]
    pub stream: Option<Streaming>,
    /// The call of gRPC that it is; `None`: it is a plain request.
    #[serde(default)]
    pub call: Option<Call>,
    /// Of a message of a WebSocket: which message answers it; `None`: as in all of the plan.
    #[serde(default)]
    pub reply: Option<OwnReply>,
    /// Share in the weighted order, at least 1.
    pub weight: u32,
    /// In a result: what replaces the values that may be secret. Null in a plan.
    pub redacted: Option<Redacted>,
}

impl Request {
    /// Whether its response comes in parts that are measured: events, or the messages of a call that streams them.
    pub fn has_parts(&self) -> bool {
        self.stream.is_some() || self.call.is_some_and(|call| call.kind.server_streams())
    }

    /// The credential that it has from its target, if it has no field of that name itself.
    pub fn credential<'t>(&self, target: &'t Target) -> Option<&'t Credential> {
        let is_own = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        target.auth.as_ref().filter(|_| !self.headers.iter().any(is_own))
    }

    /// It cannot be sent as it is.
    pub(crate) fn wrong(&self, problem: String) -> PlanError {
        PlanError::Request { name: self.name.clone(), problem }
    }

    /// Whether its values fit each other.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let wrong = |problem: String| Err(self.wrong(problem));
        let method = &self.method;
        match self.path.as_str() {
            "*" if method == "OPTIONS" => {}
            "*" => {
                return wrong(format!(
                    "path * is for OPTIONS, not {method}; write a path that begins with /"
                ));
            }
            path => {
                let is_path = parse_path(path).is_ok_and(|parsed| parsed == *path);
                let is_path =
                    if self.holes { is_hole(path) || is_path } else { is_path && !has_blank(path) };
                need(is_path, "a request's path", "begins with / and has no blanks")?;
            }
        }
        let is_method = method.parse::<Method>().is_ok() || self.holes && is_hole(method);
        need(is_method, "a request's method", "is a word")?;
        let body_bytes = self.body.count();
        for (name, text) in &self.headers {
            need(Header::new(name, text).is_ok(), "a request's header", "is one line")?;
            // A length that differs from the body's would desynchronise the connection (RFC 9112
            // section 6.3): every response after the first would be counted for the wrong request.
            if name.eq_ignore_ascii_case("content-length") && text.parse() != Ok(body_bytes) {
                return wrong(format!(
                    "Content-Length {text:?} is not the length of the body, {body_bytes}; leave the header out"
                ));
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                let problem = "bodies are sent with a Content-Length; leave Transfer-Encoding out, or use --chunked SIZE";
                return wrong(problem.to_owned());
            }
        }
        let hosts = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        if hosts.count() > 1 {
            // RFC 9112 3.2: a server answers more than one with 400.
            return wrong("two Host fields make a request invalid; leave one out".to_owned());
        }
        let ranges = &self.expect.status.ranges;
        let is_range = |&(low, high): &(u16, u16)| 100 <= low && low <= high && high <= 999;
        let are_ranges = !ranges.is_empty() && ranges.iter().all(is_range);
        need(are_ranges, "a request's statuses", "are ranges from 100 to 999")?;
        need(is_small(self.weight), "a request's weight", "is from 1 to 1,000,000")?;
        self.delivery.check(body_bytes)
    }

    /// Whether its text can be made anew each time, with these names, for this target.
    pub(super) fn check_holes(
        &self,
        target: &Target,
        is_scripted: bool,
        number: u32,
        names: Names<'_>,
    ) -> Result<(), PlanError> {
        let wrong = |problem: String| Err(self.wrong(problem));
        if let Err(TemplateError(problem)) = Template::compile(self, number as usize, names) {
            return wrong(problem);
        }
        const FIXED: [&str; 4] = ["connection", "content-length", "transfer-encoding", "upgrade"];
        let fixed =
            |(name, _): &&(String, String)| FIXED.iter().any(|one| name.eq_ignore_ascii_case(one));
        match self.headers.iter().find(fixed) {
            Some((name, value)) if holes::has_holes(value) => {
                return wrong(format!(
                    "{name} has the same value in every request; leave ${{…}} out of it"
                ));
            }
            Some((name, _)) if name.eq_ignore_ascii_case("content-length") => {
                return wrong(format!(
                    "the length of a body with ${{…}} differs; leave {name} out"
                ));
            }
            _ => {}
        }
        self.check_made("${…}", target, is_scripted)
    }

    /// Whether it can be made anew each time, because of `why`.
    pub(super) fn check_made(
        &self,
        why: &'static str,
        target: &Target,
        is_scripted: bool,
    ) -> Result<(), PlanError> {
        self.delivery.check_filled(why)?;
        let others = [
            ("--script", is_scripted),
            ("--early-data", target.has_early_data()),
            ("--h2c-upgrade", target.http == HttpVersion::Upgrade),
        ];
        exclude(others, why, MADE_ANEW)
    }

    /// Leaves out what may be secret.
    pub(super) fn redact(&mut self, secrets: Secrets) {
        let query = self.path.split_once('?').map(|(_, query)| query);
        let query_hash =
            query.filter(|query| !query.is_empty()).map(|query| hash(query.as_bytes()));
        self.redacted = Some(Redacted { query_hash });
        self.path = secrets.path(&self.path).into_owned();
        for (name, value) in &mut self.headers {
            *value = secrets.header(name, value).to_owned();
        }
        self.body = self.body.redacted();
        if let BodyExpect::Exact(body) = &mut self.expect.body {
            *body = body.redacted();
        }
    }

    /// Whether something was left out of it.
    pub(super) fn is_left_out(&self) -> bool {
        let body = matches!(&self.expect.body, BodyExpect::Exact(body) if body.is_left_out());
        self.redacted.is_some() || self.body.is_left_out() || body
    }

    /// What it sends in places with telling names.
    pub(super) fn hide(&self, hidden: &mut Hidden) {
        for (name, value) in &self.headers {
            hidden.field(name, value);
        }
        hidden.pairs(self.path.split_once('?').map_or("", |(_, query)| query));
        if !self.body.is_left_out() {
            let body = self.body.whole();
            match std::str::from_utf8(body) {
                Ok(body) => hidden.content(body),
                // A form with files.
                Err(_) if body.starts_with(b"--") => hidden.content(&String::from_utf8_lossy(body)),
                Err(_) => {}
            }
        }
    }

    /// Whether a list of URLs says what is sent.
    pub fn is_of_list(&self) -> bool {
        self.path == OF_LIST
    }
}

/// The call that a request is. Its method is the request's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// Who sends how many messages.
    pub kind: CallKind,
    /// How many the request has.
    pub messages: u32,
}

/// The path of a request that stands for those of a list of URLs.
pub(crate) const OF_LIST: &str = "${path urls.path}";

/// Whether all of it is one hole, or several.
fn is_hole(text: &str) -> bool {
    text.starts_with("${") && !has_blank(&holes::without_holes(text))
}

fn has_blank(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// What replaces the secret values of a request in a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Redacted {
    /// Distinguishes queries: four hexadecimal digits, so one pair in 65,536 looks the same. Null
    /// without a query.
    pub query_hash: Option<String>,
}

/// The condition for a right response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expect {
    /// Status codes that are right.
    pub status: StatusSet,
    /// The condition for the body.
    pub body: BodyExpect,
}

/// The condition for the body of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BodyExpect {
    /// Anything.
    Any,
    /// Exactly this many bytes.
    Length(u64),
    /// Exactly these bytes.
    Exact(Kept<u8>),
}

/// A set of status codes, as inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusSet {
    /// Inclusive ranges within 100 to 999, not empty.
    pub ranges: Vec<(u16, u16)>,
}

impl StatusSet {
    /// The default: a status below 400 is right.
    pub fn below_400() -> Self {
        StatusSet { ranges: vec![(100, 399)] }
    }

    /// The default where redirects are followed: a status below 300, or 304, which is the response to a condition.
    pub fn where_redirects_are_followed() -> Self {
        StatusSet { ranges: vec![(100, 299), (304, 304)] }
    }

    /// The set without `status`, if anything is left.
    pub fn without(&self, status: u16) -> Option<Self> {
        let parts = |&(low, high): &(u16, u16)| match (low..=high).contains(&status) {
            true => [(low, status - 1), (status + 1, high)],
            false => [(low, high), (1, 0)],
        };
        let ranges: Vec<(u16, u16)> =
            self.ranges.iter().flat_map(parts).filter(|(low, high)| low <= high).collect();
        (!ranges.is_empty()).then_some(StatusSet { ranges })
    }

    /// Whether `status` is right.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= status && status <= high)
    }
}

impl FromStr for StatusSet {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let ranges: Result<_, _> = text.split(',').map(|part| status_range(part.trim())).collect();
        Ok(StatusSet { ranges: ranges? })
    }
}

impl Typed for StatusSet {
    const EXPECTING: &'static str = "statuses such as \"2xx,304\"";
}

fn status_range(text: &str) -> Result<(u16, u16), ValueError> {
    let code = |text: &str| {
        let three_digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|code| three_digits && *code >= 100)
    };
    let range = match (text.as_bytes(), text.split_once('-')) {
        ([class @ b'1'..=b'9', b'x' | b'X', b'x' | b'X'], _) => {
            let low = u16::from(class - b'0') * 100;
            Some((low, low + 99))
        }
        (_, Some((low, high))) => code(low.trim()).zip(code(high.trim())),
        _ => code(text).map(|code| (code, code)),
    };
    match range.filter(|(low, high)| low <= high) {
        Some(range) => Ok(range),
        None => refuse(format!("\"{text}\" is not a status; use e.g. 200, 2xx or 200-299,304")),
    }
}

/// `100-399`, or several joined by commas.
impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (low, high)) in self.ranges.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match low == high {
                true => write!(f, "{comma}{low}")?,
                false => write!(f, "{comma}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

/// `any`, `N bytes` or `exactly the given N bytes`.
impl fmt::Display for BodyExpect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyExpect::Any => f.write_str("any"),
            BodyExpect::Length(length) => write!(f, "{length} bytes"),
            BodyExpect::Exact(body) => write!(f, "exactly the given {} bytes", body.count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        let ranges = |text: &str| text.parse::<StatusSet>().unwrap().ranges;
        assert_eq!(ranges("200"), [(200, 200)]);
        assert_eq!(ranges("2xx"), [(200, 299)]);
        assert_eq!(ranges("200-299, 304"), [(200, 299), (304, 304)]);
        for bad in ["", "20", "99", "099", "2x", "0xx", "299-200", "200-", "2000", "200,,304", "ok"]
        {
            let refused = bad.parse::<StatusSet>().unwrap_err().to_string();
            assert!(refused.contains("use e.g. 200, 2xx"), "{bad}");
        }
    }

    #[test]
    fn statuses_are_written_as_they_are_read() {
        for text in ["200", "100-399", "200-299,304"] {
            assert_eq!(text.parse::<StatusSet>().unwrap().to_string(), text);
        }
    }
}
