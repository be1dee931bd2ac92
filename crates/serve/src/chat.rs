//! `/v1/chat/completions`, as servers of OpenAI's API respond: a number of tokens at known times.
//!
//! The tokens mean nothing. Their number is `max_tokens`, their times come from the query: what a
//! client reads of a body that it cannot choose must not depend on it.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::alarm::Alarm;
use crate::events::{Ending, cut_at};
use crate::origin::Origin;
use crate::produced::{End, Out};
use crate::timetable::{Timetable, each_parameter};

/// Tokens of a completion that asks for no number.
const DEFAULT_TOKENS: u64 = 16;
/// The most tokens of a completion, which is held in memory if it is not streamed.
const MAX_TOKENS: u64 = 100_000;

/// The largest body: its JSON takes a multiple of it in memory.
const MAX_BODY_BYTES: usize = 4 << 20;

/// What a request asks for; other fields are ignored.
#[derive(Debug, Deserialize)]
struct Request {
    model: String,
    messages: Vec<Value>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// A completion.
#[derive(Debug)]
pub(crate) struct Chat {
    request: Request,
    tokens: u64,
    times: Timetable,
    end: Ending,
}

impl Chat {
    /// The request's body, and the parameters `first`, `every`, `stall` and `end` of its query.
    ///
    /// # Errors
    ///
    /// The first thing that is not understood or out of its range.
    pub(crate) fn parse(body: &[u8], query: &str) -> Result<Chat, String> {
        if body.len() > MAX_BODY_BYTES {
            return Err(format!("the body has {} bytes; the most is {MAX_BODY_BYTES}", body.len()));
        }
        let request: Request = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let asked = request.max_completion_tokens.or(request.max_tokens);
        let tokens = asked.unwrap_or(DEFAULT_TOKENS);
        if !(1..=MAX_TOKENS).contains(&tokens) {
            return Err(format!("`max_tokens` is {tokens}; it must be from 1 to {MAX_TOKENS}"));
        }
        let mut chat =
            Chat { request, tokens, times: Timetable::default(), end: Ending::default() };
        each_parameter(query, |name, value| {
            if name == "end" {
                chat.end = Ending::parse(value)?;
                return Ok(true);
            }
            chat.times.take(name, value)
        })?;
        if !chat.streams() && !matches!(chat.end, Ending::Plain | Ending::Done) {
            return Err("`end` needs `stream: true`".to_owned());
        }
        Ok(chat)
    }

    /// Whether its tokens are events.
    pub(crate) fn streams(&self) -> bool {
        self.request.stream
    }

    /// Sends it as events: the role, the tokens, the end, the usage if asked for, `[DONE]`.
    pub(crate) async fn run(self, origin: Origin, out: Out) -> End {
        let alarm = Alarm::default();
        let usage = self.request.stream_options.as_ref().is_some_and(|asked| asked.include_usage);
        let mut index = 0;
        let role = json!({"role": "assistant", "content": ""});
        let deltas = (0..self.tokens).map(|token| json!({"content": word(token)}));
        for (token, delta) in std::iter::once((0, role)).chain((0..).zip(deltas)) {
            let part = origin.part(index, self.times.due(token)).due(&alarm).await;
            out.part(event(&self.chunk(origin, Some((delta, None)), usage)), part).await;
            index += 1;
        }
        match self.end {
            Ending::Plain | Ending::Done => {}
            Ending::Cut => {
                cut_at(&alarm, origin.at(self.times.due(self.tokens))).await;
                return End::Cut;
            }
            Ending::Error => {
                alarm.until(origin.at(self.times.due(self.tokens))).await;
                out.bytes(event(&failure("broken off, as the request demands", "server_error")))
                    .await;
                return End::Complete;
            }
        }
        let last = self.times.due(self.tokens - 1);
        let finish = self.chunk(origin, Some((json!({}), Some("length"))), usage);
        out.part(event(&finish), origin.part(index, last)).await;
        if usage {
            let mut chunk = self.chunk(origin, None, usage);
            chunk["usage"] = self.usage();
            out.part(event(&chunk), origin.part(index + 1, last)).await;
        }
        out.bytes("data: [DONE]\n\n").await;
        End::Complete
    }

    /// The whole completion, once its last token is due.
    pub(crate) async fn whole(&self, origin: Origin) -> Value {
        Alarm::default().until(origin.at(self.times.due(self.tokens - 1))).await;
        let content: String = (0..self.tokens).map(word).collect();
        json!({
            "id": id(origin),
            "object": "chat.completion",
            "created": CREATED,
            "model": self.request.model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "length",
            }],
            "usage": self.usage(),
        })
    }

    fn chunk(
        &self,
        origin: Origin,
        choice: Option<(Value, Option<&'static str>)>,
        usage: bool,
    ) -> Value {
        let choice = choice
            .map(|(delta, finish)| json!({"index": 0, "delta": delta, "finish_reason": finish}));
        let mut chunk = json!({
            "id": id(origin),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.request.model,
            "choices": Vec::from_iter(choice),
        });
        if usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    /// A word of a message counts as a token.
    fn usage(&self) -> Value {
        let texts = self.request.messages.iter().filter_map(|message| message["content"].as_str());
        let prompt = texts.map(|text| text.split_whitespace().count() as u64).sum::<u64>();
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": self.tokens,
            "total_tokens": prompt + self.tokens,
        })
    }
}

/// An error in the form of the API.
pub(crate) fn failure(message: &str, kind: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

/// When completions claim to be made, in seconds since 1970: always the same, so that the same request
/// has the same response.
const CREATED: u64 = 1_700_000_000;

fn id(origin: Origin) -> String {
    format!("chatcmpl-{}", origin.stream)
}

/// The content of a token.
fn word(token: u64) -> String {
    format!(" t{token}")
}

fn event(json: &Value) -> bytes::Bytes {
    format!("data: {json}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let body = |tokens: u64| format!(r#"{{"model":"m","messages":[],"max_tokens":{tokens}}}"#);
        let parse = |body: &str, query: &str| Chat::parse(body.as_bytes(), query);
        assert_eq!(parse(&body(3), "first=1ms&every=2ms").unwrap().tokens, 3);
        for (body, query, says) in [
            (body(0), "", "from 1 to 100000"),
            (body(100_001), "", "from 1 to 100000"),
            (body(1), "speed=3", "`speed`"),
            (body(1), "end=cut", "`stream: true`"),
            ("{}".to_owned(), "", "model"),
            (format!(r#"{{"model":"m","messages":{}"#, "[".repeat(100_000)), "", "recursion limit"),
            (" ".repeat(MAX_BODY_BYTES + 1), "", "the most is 4194304"),
        ] {
            let error = parse(&body, query).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
