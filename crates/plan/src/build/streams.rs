//! Streams of events: what of a response is an event, and what is asked of it.

use crate::error::PlanError;
use crate::model::Request;
use crate::options::{Options, RequestOptions};
use crate::stream::{Streaming, Tokens};

/// The stream of the request of `table`. Missing keys are taken from the top level.
pub(super) fn streaming(
    options: &Options,
    table: &RequestOptions,
) -> Result<Option<Streaming>, PlanError> {
    let above = &options.streams;
    let Some(form) = table.stream.or(above.stream) else {
        let own = [&table.stream_error, &table.stream_end, &table.tokens];
        return needless(own).map(|()| None);
    };
    let or = |own: &Option<String>, above: &Option<String>| own.clone().or_else(|| above.clone());
    let tokens = or(&table.tokens, &above.tokens).map(|rule| match rule.trim() {
        "events" => Tokens::Events,
        _ => Tokens::At(rule),
    });
    Ok(Some(Streaming {
        form,
        error: or(&table.stream_error, &above.stream_error),
        end: or(&table.stream_end, &above.stream_end),
        tokens,
    }))
}

/// What the top level asks of events needs a request with events.
pub(super) fn check(options: &Options, requests: &[Request]) -> Result<(), PlanError> {
    let above = &options.streams;
    match requests.iter().any(|one| one.stream.is_some()) {
        true => Ok(()),
        false => needless([&above.stream_error, &above.stream_end, &above.tokens]),
    }
}

fn needless(given: [&Option<String>; 3]) -> Result<(), PlanError> {
    let names = ["--stream-error", "--stream-end", "--tokens"];
    match names.into_iter().zip(given).find(|(_, given)| given.is_some()) {
        Some((option, _)) => Err(PlanError::Value {
            option,
            problem: "there is no stream of events; add --stream sse, ndjson or chunks".to_owned(),
        }),
        None => Ok(()),
    }
}
