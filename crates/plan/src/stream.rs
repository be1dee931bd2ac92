//! Streams of events: responses whose parts are measured one by one.

use serde::{Deserialize, Serialize};

/// How the response to a request is divided into events, and what is asked of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Streaming {
    /// What an event is.
    pub form: StreamForm,
    /// A regular expression: an event that it matches is an error.
    pub error: Option<String>,
    /// The text of the event that ends a response. It is not counted as an event itself.
    pub end: Option<String>,
    /// How the tokens of a response are counted; `None`: they are not.
    pub tokens: Option<Tokens>,
}

/// What an event of a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamForm {
    /// Server-sent events (text/event-stream): comments are no events
    Sse,
    /// Lines, as of newline-delimited JSON; empty ones are no events
    Ndjson,
    /// Chunks of HTTP/1.1, DATA frames of HTTP/2
    Chunks,
}

/// How the tokens of a response are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// Each event is one.
    Events,
    /// The number at this place of an event, such as `json:$.usage.completion_tokens`; the last event that has
    /// one decides.
    At(String),
}
