//! Streams of events: what of a response is an event, and what is asked of it.

use crate::error::{PlanError, without_effect};
use crate::options::{Options, RequestOptions, StreamsOptions};
use crate::work::{ModelApi, Request, Streaming, Tokens};

/// The stream of the request of `table`. Missing keys are taken from the top level, and then from the interface.
pub(super) fn streaming(
    options: &Options,
    table: &RequestOptions,
) -> Result<Option<Streaming>, PlanError> {
    let above = &options.streams;
    let known = table.llm.or(above.llm).map(ModelApi::streaming);
    let Some(form) = table.stream.or(above.stream).or(known.as_ref().map(|one| one.form)) else {
        let RequestOptions { stream_error, stream_end, tokens, token, input_tokens, .. } = table;
        let given = [stream_error, stream_end, tokens, &token.first().cloned(), input_tokens];
        return needless(given).map(|()| None);
    };
    let known = known.unwrap_or_else(|| Streaming::new(form));
    let or = |own: &Option<String>, above: &Option<String>, known: Option<String>| {
        own.clone().or_else(|| above.clone()).or(known)
    };
    let tokens = or(&table.tokens, &above.tokens, None).map(|rule| match rule.trim() {
        "events" => Tokens::Events,
        _ => Tokens::At(rule),
    });
    Ok(Some(Streaming {
        form,
        error: or(&table.stream_error, &above.stream_error, known.error),
        end: or(&table.stream_end, &above.stream_end, known.end),
        token: [&table.token, &above.token, &known.token]
            .into_iter()
            .find(|rules| !rules.is_empty())
            .cloned()
            .unwrap_or_default(),
        tokens: tokens.or(known.tokens),
        input_tokens: or(&table.input_tokens, &above.input_tokens, known.input_tokens),
    }))
}

/// What the top level asks of events needs a request with events.
pub(super) fn check(options: &Options, requests: &[Request]) -> Result<(), PlanError> {
    if requests.iter().any(|one| one.stream.is_some()) {
        return Ok(());
    }
    let StreamsOptions { stream_error, stream_end, tokens, token, input_tokens, .. } =
        &options.streams;
    needless([stream_error, stream_end, tokens, &token.first().cloned(), input_tokens])
}

fn needless(given: [&Option<String>; 5]) -> Result<(), PlanError> {
    let names = ["--stream-error", "--stream-end", "--tokens", "--token", "--input-tokens"];
    let given: [_; 5] = std::array::from_fn(|at| (names[at], given[at].is_some()));
    without_effect(given, "there is no stream of events; add --stream sse, ndjson or chunks")
}
