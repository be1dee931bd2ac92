//! Streams of events: responses whose parts are measured one by one.

use candor_memory::{Pattern, Source};
use serde::{Deserialize, Serialize};

use crate::error::{PlanError, conflict, need, value};
use crate::redact::without_refused;
use crate::targets::{HttpVersion, Target};
use crate::units::NS_PER_S;

/// How the response to a request is divided into events, and what is asked of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Streaming {
    /// What an event is.
    pub form: StreamForm,
    /// A regular expression: an event that it matches is an error.
    pub error: Option<String>,
    /// The text of the event that ends a response, which is not counted as an event itself; among messages of a
    /// WebSocket, a regular expression in the last one.
    pub end: Option<String>,
    /// Where the text of a token may stand in an event: an event that has one, and not an empty one, is a token. None:
    /// where tokens are counted, each event is one.
    #[serde(default)]
    pub token: Vec<String>,
    /// How the tokens of a response are counted. `None`: its events that are tokens, if `token` says which these are,
    /// or not at all.
    pub tokens: Option<Tokens>,
    /// Where an event says how many tokens the request had; the last event that has a number decides.
    #[serde(default)]
    pub input_tokens: Option<String>,
    /// Whether the next request of its user goes on with the stream: after the time that the server asked for, with the
    /// id of the last event.
    #[serde(default)]
    pub reconnect: bool,
}

impl Streaming {
    /// How long a user waits before it reconnects, unless the server says another time: that of Chromium (WHATWG HTML
    /// 9.2.2 asks for a few seconds).
    pub const RETRY_NS: u64 = 3 * NS_PER_S;
    /// The longest time that a server may ask for.
    pub const MOST_RETRY_NS: u64 = 3600 * NS_PER_S;

    /// A stream of this form, of which nothing is asked.
    pub fn new(form: StreamForm) -> Self {
        Streaming {
            form,
            error: None,
            end: None,
            token: Vec::new(),
            tokens: None,
            input_tokens: None,
            reconnect: false,
        }
    }

    /// Whether it can be read, from this target.
    pub(super) fn check(&self, target: &Target) -> Result<(), PlanError> {
        if target.http == HttpVersion::Upgrade {
            let why = "the first response is not read as a stream there; use --h2c";
            return Err(conflict("--h2c-upgrade", "--stream", why));
        }
        need(
            !self.reconnect || self.form == StreamForm::Sse,
            "a stream",
            "of SSE reconnects alone",
        )?;
        if self.form == StreamForm::Messages && self.end.is_none() {
            let problem =
                "messages: nothing says which message ends a reply; add --stream-end REGEX";
            return Err(value("--stream", problem));
        }
        if let Some(expression) = &self.error {
            if expression.is_empty() {
                let problem =
                    "the expression is empty and matches every event; write e.g. '^event: error'";
                return Err(value("--stream-error", problem));
            }
            if let Err(problem) = Pattern::new(expression) {
                return Err(value(
                    "--stream-error",
                    without_refused(&format!("{expression:?}: {problem}"), expression),
                ));
            }
        }
        if self.end.as_ref().is_some_and(|text| text.trim().is_empty()) {
            let problem = "no event has an empty text; write e.g. '[DONE]'";
            return Err(value("--stream-end", problem));
        }
        let counted = match &self.tokens {
            Some(Tokens::At(place)) => Some(place),
            Some(Tokens::Events) | None => None,
        };
        check_place("--tokens", counted, "; or use events")?;
        self.token.iter().try_for_each(|rule| check_place("--token", Some(rule), ""))?;
        check_place("--input-tokens", self.input_tokens.as_ref(), "")
    }

    /// Whether its tokens are counted.
    pub fn counts_tokens(&self) -> bool {
        !self.token.is_empty() || self.tokens.is_some()
    }
}

/// An interface of language models whose streams are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelApi {
    /// /v1/chat/completions, as of OpenAI, vLLM, llama.cpp, Ollama
    OpenaiChat,
    /// /v1/completions of the same
    OpenaiCompletions,
    /// /v1/responses of OpenAI
    OpenaiResponses,
    /// /v1/messages of Anthropic
    AnthropicMessages,
}

impl ModelApi {
    /// What its streams are.
    pub fn streaming(self) -> Streaming {
        const CHAT: &[&str] = &["content", "reasoning_content", "reasoning"];
        const MESSAGES: &[&str] = &["text", "thinking", "partial_json"];
        let usage = |of: &str, output: &str, input: &str| {
            [format!("json:$.{of}{output}_tokens"), format!("json:$.{of}{input}_tokens")]
        };
        let texts = |of: &str, names: &[&str]| -> Vec<String> {
            names.iter().map(|name| format!("json:$.{of}{name}")).collect()
        };
        let (end, token, [output, input]) = match self {
            ModelApi::OpenaiChat => (
                Some("[DONE]"),
                texts("choices[0].delta.", CHAT),
                usage("usage.", "completion", "prompt"),
            ),
            ModelApi::OpenaiCompletions => (
                Some("[DONE]"),
                texts("choices[0].", &["text"]),
                usage("usage.", "completion", "prompt"),
            ),
            ModelApi::OpenaiResponses => {
                (None, texts("", &["delta"]), usage("response.usage.", "output", "input"))
            }
            // The two stand in events of their own.
            ModelApi::AnthropicMessages => (
                None,
                texts("delta.", MESSAGES),
                ["json:$.usage.output_tokens", "json:$.message.usage.input_tokens"]
                    .map(str::to_owned),
            ),
        };
        Streaming {
            error: Some("^event: error".to_owned()),
            end: end.map(str::to_owned),
            token,
            tokens: Some(Tokens::At(output)),
            input_tokens: Some(input),
            ..Streaming::new(StreamForm::Sse)
        }
    }
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
    /// Messages of a WebSocket: a reply has several, the last one with --stream-end
    Messages,
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

/// A rule that looks into events.
fn check_place(option: &'static str, rule: Option<&String>, or: &str) -> Result<(), PlanError> {
    let Some(rule) = rule else { return Ok(()) };
    let problem = match Source::compile(rule) {
        Ok(source) if source.is_in_body() => return Ok(()),
        Ok(_) => format!("tokens are counted in events; use json: or regex:{or}"),
        Err(problem) => format!("{problem}{or}"),
    };
    let problem = without_refused(&format!("{rule:?}: {problem}"), rule);
    Err(value(option, problem))
}
