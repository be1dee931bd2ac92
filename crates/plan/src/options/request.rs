//! The options of one request: a `[[request]]` table of a plan.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::TargetName;
use super::journey::{Repeat, captures};
use crate::values::{
    CallName, FormField, Header, Method, PositiveNanos, RequestPath, Size, SmallCount, headers,
    json, one_or_many, typed,
};
use crate::work::journey::{Capture, Think};
use crate::work::{ModelApi, OwnReply, StatusSet, StreamForm};

/// One `[[request]]` table of a plan. Missing keys are taken from the top level.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RequestOptions {
    /// Name in reports.
    pub name: Option<String>,
    /// Like `--method`.
    pub method: Option<Method>,
    /// Path and query; by default the URL's.
    pub path: Option<RequestPath>,
    /// An absolute URL, instead of a path: it goes to the target with this scheme, host and port.
    pub url: Option<String>,
    /// The target that it goes to, by its name.
    pub target: Option<TargetName>,
    /// Like `--header`; replaces headers of the same name from the top level.
    #[serde(alias = "headers", deserialize_with = "headers")]
    pub header: Vec<Header>,
    /// Like `--body`.
    pub body: Option<String>,
    /// The body, as a value that is sent as JSON.
    #[serde(deserialize_with = "json")]
    pub json: Option<String>,
    /// Like `--body-file`.
    pub body_file: Option<PathBuf>,
    /// Like `--form`.
    #[serde(deserialize_with = "one_or_many")]
    pub form: Vec<FormField>,
    /// Like `--chunked`.
    pub chunked: Option<Size>,
    /// Like `--expect-continue`; `false` turns it off for this request.
    pub expect_continue: Option<bool>,
    /// Like `--pieces`.
    pub pieces: Option<SmallCount>,
    /// Like `--piece-gap`.
    pub piece_gap: Option<PositiveNanos>,
    /// Like `--break-off-after`.
    pub break_off_after: Option<Size>,
    /// Like `--call`.
    pub call: Option<CallName>,
    /// Share under `--order weighted`.
    pub weight: Option<SmallCount>,
    /// Like `--expect-status`.
    #[serde(deserialize_with = "typed")]
    pub expect_status: Option<StatusSet>,
    /// Like `--expect-body-bytes`.
    pub expect_body_bytes: Option<Size>,
    /// Like `--expect-body`.
    pub expect_body: Option<PathBuf>,
    /// Of a message of a WebSocket: `false`, or the regular expression that its reply has in it.
    #[serde(deserialize_with = "own_reply")]
    pub reply: Option<OwnReply>,
    /// Nothing is sent: it is done with the next message of the server that has this regular expression in it.
    pub wait: Option<String>,
    /// Like `--stream`.
    pub stream: Option<StreamForm>,
    /// Like `--stream-error`.
    pub stream_error: Option<String>,
    /// Like `--stream-end`.
    pub stream_end: Option<String>,
    /// Like `--tokens`.
    pub tokens: Option<String>,
    /// Like `--token`.
    #[serde(deserialize_with = "one_or_many")]
    pub token: Vec<String>,
    /// Like `--input-tokens`.
    pub input_tokens: Option<String>,
    /// Like `--llm`.
    pub llm: Option<ModelApi>,
    /// In a step: how long the user thinks before it.
    #[serde(deserialize_with = "typed")]
    pub think: Option<Think>,
    /// In a step: how often it is made.
    pub repeat: Option<Repeat>,
    /// In a step: it is made only if this text is not empty.
    pub when: Option<String>,
    /// In a step: variables, and where their values are in the response.
    #[serde(deserialize_with = "captures")]
    pub capture: Vec<Capture>,
    /// In a step: each user makes it once, in all iterations together, or after them.
    #[serde(deserialize_with = "once")]
    pub once: Option<Once>,
}

impl RequestOptions {
    /// Whether it has a body of its own.
    pub fn has_body(&self) -> bool {
        let RequestOptions { body, json, body_file, form, .. } = self;
        body.is_some() || json.is_some() || body_file.is_some() || !form.is_empty()
    }
}

/// When a user makes a step that it makes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once {
    /// In its turn.
    InTurn,
    /// When the user has ended its last iteration.
    AtEnd,
}

/// `true`, `"end"`, or whose once it is.
fn once<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Once>, D::Error> {
    struct Said;

    impl Visitor<'_> for Said {
        type Value = Option<Once>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter
                .write_str("true, or \"user\": once for each user; or \"end\": once at its end")
        }

        fn visit_bool<E: Error>(self, once: bool) -> Result<Option<Once>, E> {
            Ok(once.then_some(Once::InTurn))
        }

        fn visit_str<E: Error>(self, whose: &str) -> Result<Option<Once>, E> {
            match whose {
                "user" => Ok(Some(Once::InTurn)),
                "end" => Ok(Some(Once::AtEnd)),
                "run" => Err(E::custom(
                    "no value is shared by the users of a run; use once = true, once for each user, or --auth for a \
                     credential that all requests have",
                )),
                _ => Err(E::custom(format_args!(
                    "`{whose}` is not one who makes a step; use once = true, once for each user"
                ))),
            }
        }
    }

    input.deserialize_any(Said)
}

/// `false`, or an expression.
fn own_reply<'de, D: Deserializer<'de>>(input: D) -> Result<Option<OwnReply>, D::Error> {
    struct Own;

    impl Visitor<'_> for Own {
        type Value = OwnReply;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("false, or the regular expression that the reply has in it")
        }

        fn visit_bool<E: Error>(self, has_one: bool) -> Result<OwnReply, E> {
            match has_one {
                false => Ok(OwnReply::Nothing),
                true => Err(E::custom("each message has a reply without this key; leave it out")),
            }
        }

        fn visit_str<E: Error>(self, pattern: &str) -> Result<OwnReply, E> {
            Ok(OwnReply::With(pattern.to_owned()))
        }
    }

    input.deserialize_any(Own).map(Some)
}
